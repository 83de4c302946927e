"""The sample desk of `askless serve --sample`: a shop with a bank card, its answers, and questions it knows already."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from askless.desk.live.desk import LiveDesk
    from askless.desk.live.desks import Desks

DESK = "support"
EXAMPLES_A_LABEL = 12  # of the sample's questions; the rest can be posted to see what the desk does
LEFT_OUT = frozenset({"delivery abroad"})  # so that there is something to ask

# What the lines to paste say: a question that is asked, the expert's answer, and one like it, which is guessed then.
ASKED = "Do you ship to Norway?"
LABEL = "delivery abroad"
ANSWER = "We deliver to all of Europe within five days."
GUESSED = "Do you ship to Sweden?"

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


def sample_examples() -> list[tuple[str, str]]:
    """Texts with their labels: the first of each label in the project's sample, without what is left out."""
    from askless.datasets.sample import support_questions

    taken: dict[str, int] = {}
    kept = []
    for text, label in zip(*support_questions(), strict=True):
        taken[label] = taken.get(label, 0) + 1
        if label not in LEFT_OUT and taken[label] <= EXAMPLES_A_LABEL:
            kept.append((text, label))
    return kept


def fill(desks: Desks, who: str | None) -> None:
    """Give the desk its labels with their answers, and its examples."""
    from askless.cli.progress import bar
    from askless.desk.live.exchange import GivenExample
    from askless.desk.live.give import give
    from askless.desk.live.labels import create

    def make_labels(live: LiveDesk) -> None:
        for label, answer in ANSWERS.items():
            create(live, label, answer, who)

    examples = [GivenExample(text, label) for text, label in sample_examples()]
    with bar("making the sample desk", len(examples)) as show:
        desks.run(DESK, make_labels).result()
        give(desks, DESK, examples, who, progress=show)
