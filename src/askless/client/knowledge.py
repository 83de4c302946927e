"""The calls about what a desk knows: labels, examples, conflicts, statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from askless.client.asking import LARGEST_BATCH, Steps, new_id, nothing
from askless.client.call import Call, json_of, path
from askless.client.insights import Conflicts, Statistics
from askless.client.results import Example, Label, Page, all_of, one, page_of

_label = one(Label)


def labels(desk: str) -> Call[tuple[Label, ...]]:
    """All labels with their answer texts and the number of their examples."""
    return Call("GET", path("desks", desk, "labels"), all_of(Label), harmless=True)


def create_label(desk: str, name: str, answer: str | None = None) -> Call[Label]:
    """A new label; `answer` is the text sent to those who ask. The same name and answer again change nothing."""
    return Call("POST", path("desks", desk, "labels"), _label, body={"name": name, "answer": answer}, harmless=True)


def change_label(desk: str, number: int, *, name: str | None = None, answer: str | None = None) -> Call[Label]:
    """Rename a label, or change its answer text, or both; an empty answer text takes it away."""
    body: dict[str, str | None] = {} if name is None else {"name": name}
    if answer is not None:
        body["answer"] = answer or None
    return Call("PATCH", path("desks", desk, "labels", number), _label, body=body, harmless=True)


def merge_labels(desk: str, number: int, into: int) -> Call[Label]:
    """Make two labels one: the examples of the first become examples of the second."""
    return Call("POST", path("desks", desk, "labels", number, "merge"), _label, body={"into": into})


def delete_label(desk: str, number: int) -> Call[None]:
    """Delete a label; its examples are forgotten."""
    return Call("DELETE", path("desks", desk, "labels", number), nothing)


def examples(
    desk: str,
    *,
    label: str | None = None,
    search: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Call[Page[Example]]:
    """A page of the examples that the policy has learned."""
    params = {"label": label, "search": search, "cursor": cursor, "limit": limit}
    return Call("GET", path("desks", desk, "examples"), page_of(Example), params=params, harmless=True)


def give_examples(desk: str, examples: Sequence[Mapping[str, str]]) -> Steps[int]:
    """Import examples that were known before, each {"text", "label"} and maybe its own "id"; how many were new.

    They are sent in requests of at most 1,000. Each bears an id, so what was sent twice counts once.
    """
    named = [{"id": new_id()} | dict(example) for example in examples]
    given = 0
    for start in range(0, len(named), LARGEST_BATCH):
        given += yield Call(
            "POST",
            path("desks", desk, "examples"),
            lambda response: int(json_of(response)["added"]),
            body={"examples": named[start : start + LARGEST_BATCH]},
            harmless=True,
        )
    return given


def relabel(desk: str, id: str, label: str) -> Call[Example]:
    """Correct the label of an example, or of a guess, which becomes an example."""
    return Call("PATCH", path("desks", desk, "examples", id), one(Example), body={"label": label}, harmless=True)


def forget(desk: str, id: str) -> Call[None]:
    """Decide from now on as if this example had never been learned; its query keeps its label."""
    return Call("DELETE", path("desks", desk, "examples", id), nothing, harmless=True)


def conflicts(desk: str) -> Call[Conflicts]:
    """Queries that lie in two hulls at once, the examples that cause it, and equal examples that disagree."""
    return Call("GET", path("desks", desk, "conflicts"), one(Conflicts), harmless=True)


def statistics(
    desk: str,
    *,
    call_price: float | None = None,
    mistake_price: float | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    bucket: str | None = None,
) -> Call[Statistics]:
    """Calls, guesses, the share automated, the audited error rate with its interval, the money saved.

    `bucket` is hour, day, week or month: the steps in which the share is told over time.
    """
    params = {
        "call_price": call_price,
        "mistake_price": mistake_price,
        "since": since and since.isoformat(),
        "until": until and until.isoformat(),
        "bucket": bucket,
    }
    return Call("GET", path("desks", desk, "statistics"), one(Statistics), params=params, harmless=True)
