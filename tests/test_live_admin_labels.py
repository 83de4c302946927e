"""Labels and examples of a live desk: changed by events, followed by all that stands, the same after a restart."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import select

from askless.desk.live import examples, feedback, labels, tickets
from askless.desk.live.configure import configure, pause, resume, settings_of
from askless.desk.live.desks import Desks
from askless.desk.live.types import QueryStatus
from askless.desk.live.verify import verify
from askless.errors import Conflicting, InvalidInput, Refused, UnknownExample, UnknownLabel, UnknownQuery
from askless.ledger import schema
from askless.ledger.database import Database
from askless.policies.named import make_policy
from askless.types import Costs, Guess
from live_admin import ADMIN, NAME, answer_all, ask, decisions, embedders, query_row, toy
from toy_desk import Letters, some_texts

TEXTS = [text for text in some_texts(60, seed=1) if text[0] != "?"]
PROBES = Letters().embed([f"{letter}probe{k}" for letter in "abcd" for k in range(8)])


@pytest.fixture
def desks(database: Database) -> Iterator[Desks]:
    with toy(database) as desks:
        yield desks


def run(desks: Desks, operation: object, *arguments: object, **others: object) -> object:
    """Have an operation of the administration run."""
    return desks.run(NAME, lambda desk: operation(desk, *arguments, **others)).result()  # type: ignore[operator]


def named(desks: Desks) -> dict[str, tuple[str | None, int]]:
    with desks.database.read() as connection:
        return {row.name: (row.answer, row.examples) for row in labels.rows(connection, desks.row(NAME).id)}


def check(desks: Desks) -> None:
    """The ledger is sound, and a desk that is opened anew decides alike."""
    found = verify(desks.database, NAME)
    assert found.sound, [str(difference) for difference in found.differences]
    with Desks(desks.database, listen=False, embedders=embedders) as others:
        assert decisions(others, PROBES) == decisions(desks, PROBES)


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\nb", "a\x00b", "a\u202eb", 3, None])
def test_a_bad_name_is_refused_and_nothing_made(desks: Desks, name: object) -> None:
    with pytest.raises(InvalidInput):
        run(desks, labels.create, name, None, ADMIN)
    assert named(desks) == {}


def test_names_are_kept_without_white_space_and_composed(desks: Desks) -> None:
    run(desks, labels.create, "  Cafe\u0301 \t", " Yes.\nWe do. ", ADMIN)
    assert named(desks) == {"Caf\u00e9": ("Yes.\nWe do.", 0)}
    run(desks, labels.create, "Caf\u00e9", "Yes.\nWe do.", ADMIN)  # the same again
    with pytest.raises(Conflicting, match="another answer text"):
        run(desks, labels.create, "Caf\u00e9", "No.", ADMIN)
    run(desks, labels.set_answer, "Caf\u00e9", "No.", ADMIN)
    assert named(desks) == {"Caf\u00e9": ("No.", 0)}
    run(desks, labels.set_answer, "Caf\u00e9", None, ADMIN)
    assert named(desks) == {"Caf\u00e9": (None, 0)}
    with pytest.raises(UnknownLabel, match="nothing"):
        run(desks, labels.set_answer, "nothing", "x", ADMIN)
    with pytest.raises(UnknownLabel, match="77"):
        run(desks, labels.rename, 77, "x", ADMIN)
    check(desks)


def test_a_new_name_is_everybodys(desks: Desks) -> None:
    ask(desks, TEXTS)
    answer_all(desks, 20)
    before, counts = decisions(desks, PROBES), named(desks)
    with pytest.raises(Conflicting, match="merge"):
        run(desks, labels.rename, "a", "b", ADMIN)
    run(desks, labels.rename, "a", "first", ADMIN)
    assert decisions(desks, PROBES) == [("first" if label == "a" else label, p) for label, p in before]
    assert named(desks) == {"first" if name == "a" else name: found for name, found in counts.items()}
    assert "a" not in {query_row(desks.database, text).label for text in TEXTS}
    check(desks)


def test_merged_labels_are_one_for_policy_queries_and_tickets(desks: Desks) -> None:
    ask(desks, TEXTS)
    answer_all(desks, 20)
    counts = named(desks)
    guessed = next(text for text in TEXTS if query_row(desks.database, text).status == QueryStatus.GUESSED)
    run(desks, feedback.feedback, guessed, "b", "client")
    run(desks, labels.merge, "b", "a", ADMIN)
    found = named(desks)
    assert "b" not in found
    assert found["a"][1] == counts["a"][1] + counts["b"][1]
    assert {label for label, _ in decisions(desks, PROBES)} <= {"a", "c", "d", None}
    with desks.database.read() as connection:
        assert (
            connection.execute(
                select(schema.tickets.c.suggested).where(schema.tickets.c.why == "feedback")
            ).scalar_one()
            == "a"
        )
    with pytest.raises(Conflicting, match="itself"):
        run(desks, labels.merge, "a", "a", ADMIN)
    check(desks)


def test_a_deleted_label_is_forgotten_and_queries_keep_their_answer(desks: Desks) -> None:
    ask(desks, TEXTS)
    answer_all(desks, 24)
    had = named(desks)["c"][1]
    assert had > 0
    assert run(desks, labels.delete_label, "c", ADMIN) == had
    assert "c" not in named(desks)
    assert "c" not in {label for label, _ in decisions(desks, PROBES)}
    rows = [query_row(desks.database, text) for text in TEXTS]
    assert sum(row.label == "c" and row.status == QueryStatus.ANSWERED for row in rows) == had
    assert not any(row.example for row in rows if row.label == "c")
    check(desks)
    run(desks, labels.create, "c", None, ADMIN)  # and may come again
    check(desks)


def test_a_corrected_example_counts_for_its_new_label(desks: Desks) -> None:
    ask(desks, TEXTS)
    answer_all(desks, 20)
    key = next(text for text in TEXTS if query_row(desks.database, text).example and text[0] == "a")
    counts = named(desks)
    run(desks, examples.relabel, key, "new", ADMIN)
    assert named(desks)["new"] == (None, 1)
    assert named(desks)["a"][1] == counts["a"][1] - 1
    run(desks, examples.relabel, key, "new", ADMIN)  # the same again
    guessed = next(text for text in TEXTS if query_row(desks.database, text).status == QueryStatus.GUESSED)
    run(desks, examples.relabel, guessed, "b", ADMIN)
    row = query_row(desks.database, guessed)
    assert (row.status, row.label, row.example, row.probability) == (QueryStatus.ANSWERED, "b", True, None)
    check(desks)


def test_what_waits_is_answered_at_its_ticket_and_a_guess_cannot_be_forgotten(desks: Desks) -> None:
    waiting = ask(desks, ["a1"])[0]
    with pytest.raises(Conflicting, match=f"ticket {waiting.ticket}"):
        run(desks, examples.relabel, "a1", "a", ADMIN)
    with pytest.raises(UnknownExample):
        run(desks, examples.forget, "a1", ADMIN)
    with pytest.raises(UnknownQuery):
        run(desks, examples.forget, "nothing", ADMIN)


def test_a_forgotten_example_is_as_if_it_had_never_been(desks: Desks, database: Database) -> None:
    ask(desks, TEXTS[:30])
    answer_all(desks)
    keys = [text for text in TEXTS[:30] if query_row(database, text).example]
    for key in keys[::2]:
        run(desks, examples.forget, key, ADMIN)
        run(desks, examples.forget, key, ADMIN)
    assert query_row(database, keys[0]).label == keys[0][0]
    desks.create("other", settings_of(desks, NAME), ADMIN)
    ask(desks, keys[1::2], "other")
    answer_all(desks, name="other")
    assert decisions(desks, PROBES) == decisions(desks, PROBES, "other")
    check(desks)


def test_examples_come_in_pages(desks: Desks) -> None:
    ask(desks, TEXTS)
    answer_all(desks, 20)
    with desks.database.read() as connection:
        desk, found, cursor = desks.row(NAME).id, [], None
        while True:
            page = examples.page(connection, desk, cursor=cursor, limit=7)
            assert len(page.rows) <= 7
            found += page.rows
            cursor = page.cursor
            if cursor is None:
                break
        assert [row.key for row in found] == [text for text in TEXTS if query_row(desks.database, text).example]
        assert all(row.label == "a" for row in examples.page(connection, desk, label="a").rows)
        assert [row.key for row in examples.page(connection, desk, search=found[3].key.upper()).rows] == [found[3].key]
        for wrong in ({"limit": 0}, {"cursor": "x"}):
            with pytest.raises(InvalidInput):
                examples.page(connection, desk, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", ["chc", "self-tuning", "amp:0.9", "similarity-threshold:0.9"])
def test_another_policy_knows_all_examples_in_their_order(desks: Desks, policy: str) -> None:
    run(desks, configure, {"policy": "always-ask"}, ADMIN)
    ask(desks, TEXTS)
    answer_all(desks, 30)
    counts = named(desks)
    changes = {"policy": policy, "costs": "-1,1,-5", "audit_rate": 0.1, "lease_seconds": 60}
    assert run(desks, configure, changes, ADMIN) == settings_of(desks, NAME)
    assert named(desks) == counts
    t, q = schema.tickets.c, schema.queries.c
    with desks.database.read() as connection:
        answered = select(q.text, q.label).join(schema.tickets, t.query == q.id).where(q.example).order_by(t.closed)
        taught = connection.execute(answered).all()
    assert len(taught) == 30
    expected = make_policy(policy, costs=Costs(-1, 1, -5))
    for (text, label), x in zip(taught, Letters().embed([text for text, _ in taught]), strict=True):
        assert text[0] == label
        expected.learn(x, label)
    found = [expected.decide(x) for x in PROBES]
    assert [label for label, _ in decisions(desks, PROBES)] == [
        d.label if isinstance(d, Guess) else None for d in found
    ]
    check(desks)


def test_settings_that_cannot_be_had_change_nothing(desks: Desks) -> None:
    before = settings_of(desks, NAME)
    for wrong in ({"policy": "nothing"}, {"costs": "1,2"}, {"audit_rate": 2.0}, {"colour": "red"}, {"mode": "odd"}):
        with pytest.raises(InvalidInput):
            run(desks, configure, wrong, ADMIN)
    with pytest.raises(InvalidInput, match="embed"):
        run(desks, configure, {"embedder": "flipped"}, ADMIN)
    assert settings_of(desks, NAME) == before


def test_a_paused_desk_takes_answers_and_no_queries(desks: Desks) -> None:
    (waiting,) = ask(desks, ["a1"])
    run(desks, pause, ADMIN)
    with pytest.raises(Refused):
        ask(desks, ["a2"])
    assert ask(desks, ["a1"])[0].key == "a1"  # known already
    desks.run(NAME, lambda desk: tickets.answer(desk, waiting.ticket or 0, "a", "eve")).result()
    run(desks, resume, ADMIN)
    ask(desks, ["a2"])
    check(desks)
