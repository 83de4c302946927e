"""The sample: a shop with a bank card, what it answers, questions that it knows already, and others to send to it."""

from __future__ import annotations

from random import Random

EXAMPLES_A_LABEL = 12  # of the sample's questions; the rest can be sent to see what the desk does

ANSWERS = {
    "card not arrived": "Cards take up to ten days by post. After that, order a new one in the app under Cards.",
    "card arrived damaged": "We are sorry. Order a new card in the app under Cards; it is free of charge.",
    "activate card": "Open the app, choose Cards, then Activate, and type the four digits on the back.",
    "block card": "Open the app, choose Cards, then Block. It takes effect at once.",
    "unblock card": "Open the app, choose Cards, then Unblock.",
    "increase limit": "Ask for a higher limit in the app under Cards, Limits. We answer within two days.",
    "decrease limit": "Lower your limit in the app under Cards, Limits. It takes effect at once.",
    "change pin": "Change your PIN in the app under Cards, PIN, or at any of our cash machines.",
    "reset password": "Choose Forgot password on the login page; we send you a link.",
    "close account": "Close your account in the app under Profile. We delete your data after 30 days.",
    "update address": "Change your address in the app under Profile, Address.",
    "cancel order": "Open the order in the app and choose Cancel. That works until it is sent.",
    "reinstate order": "A cancelled order can be placed again for 24 hours: open it and choose Order again.",
    "track order": "Open the order in the app: it shows where your parcel is.",
    "missing item": "Tell us which item is missing in the app, under the order; we send it within two days.",
    "wrong item": "Keep it until our driver collects it; the right item is on its way once you report it in the app.",
    "return item": "Print the label in the app, under the order, and hand the parcel in within 30 days.",
    "refund status": "Refunds arrive five working days after your parcel reaches us.",
    "charged twice": "One of the two is a reservation that goes away within three days. If not, write to us again.",
    "payment declined": "Check your limit and the expiry date of your card in the app, then try again.",
    "unknown charge": "Block your card in the app at once, then report the payment under its entry.",
    "discount code fails": "A code works once and until its date. Type it without spaces.",
    "request invoice": "Every order in the app has its invoice under Documents.",
    "enable notifications": "Turn notifications on in the app under Profile, Notifications.",
    "disable notifications": "Turn notifications off in the app under Profile, Notifications.",
    "stop membership": "End your membership in the app under Profile, Membership. It runs to the end of the month.",
    "speak to a human": "Call us from Monday to Friday, 8 to 18 o'clock.",
    "opening hours": "Our shops are open from Monday to Saturday, 9 to 19 o'clock.",
    "back in stock": "Choose Tell me on the page of the item, and we write when it is back.",
    "foreign fees": "Payments abroad are free; a cash machine abroad costs 1 %.",
    "mobile wallet": "Open the app, choose Cards, then Add to wallet.",
    "warranty repair": "The warranty lasts two years. Report the fault in the app, under the order.",
}
# What the desk is not told, so that there is something to ask.
LEFT_OUT = {"delivery abroad": "We deliver to all of Europe within five days."}


def sample_examples() -> list[tuple[str, str]]:
    """Texts with their labels: the first of each label in the project's sample, without what is left out."""
    return [(text, label) for text, label, place in _placed() if _is_example(label, place)]


def sample_questions() -> list[tuple[str, str]]:
    """Texts that are no examples, with the labels that are right for them."""
    return [(text, label) for text, label, place in _placed() if not _is_example(label, place)]


def mixed_questions(count: int, few: bool, random: Random) -> list[tuple[str, str]]:
    """So many questions in a mixed order. With `few` they are of a few labels only: a desk without examples sees each
    of them often enough to learn it.
    """
    asked = sample_questions()
    if few:
        chosen = ["track order", "reset password", "card not arrived", "payment declined", "update address"]
        asked = [(text, label) for text, label in asked if label in chosen]
    else:  # what is left out comes for certain: it is seen to be learned
        new = [pair for pair in asked if pair[1] in LEFT_OUT]
        known = [pair for pair in asked if pair[1] not in LEFT_OUT]
        asked = new + random.sample(known, max(0, min(count - len(new), len(known))))
    return random.sample(asked, min(count, len(asked)))


def answer_of(label: str) -> str | None:
    """The sample's answer text for a label."""
    return (ANSWERS | LEFT_OUT).get(label)


def _is_example(label: str, place: int) -> bool:
    return label not in LEFT_OUT and place < EXAMPLES_A_LABEL


def _placed() -> list[tuple[str, str, int]]:
    """Each text with its label, and how many of that label come before it."""
    from askless.datasets.sample import support_questions

    seen: dict[str, int] = {}
    found = []
    for text, label in zip(*support_questions(), strict=True):
        found.append((text, label, seen.get(label, 0)))
        seen[label] = seen.get(label, 0) + 1
    return found
