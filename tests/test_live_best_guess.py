"""What a desk would guess for a query that waits."""

from __future__ import annotations

import pytest

from askless.desk.live import tickets
from askless.desk.live.best_guess import best_guess
from askless.desk.live.desks import Desks
from askless.desk.live.exchange import GivenExample
from askless.desk.live.give import give
from askless.desk.live.settings import LiveSettings
from askless.desk.live.types import NewQuery, Outcome, WhenAble
from askless.ledger.database import Database

EXAMPLES = [
    GivenExample("Are you open on Sunday?", "opening hours"),
    GivenExample("When do you close?", "opening hours"),
    GivenExample("I forgot my password", "reset password"),
]
ALIKE = LiveSettings(policy="similarity-threshold:0.95", when_able=WhenAble.OFFER)


def ask(desks: Desks, key: str, text: str) -> Outcome:
    (found,) = desks.submit("desk", [NewQuery(key, text)], "asker").result()
    return found


def test_what_it_would_guess_by_itself_is_what_it_guesses_next(database: Database) -> None:
    with Desks(database, listen=False) as desks:
        desks.create("desk", ALIKE, "admin")
        first, second = ask(desks, "1", "Do you sell gift cards?"), ask(desks, "2", "Do you sell gift cards?")
        give(desks, "desk", EXAMPLES, "admin")
        assert first.ticket is not None
        number = first.ticket
        desks.run("desk", lambda desk: tickets.answer(desk, number, "gift cards", "expert", answer="Yes.")).result()
        found = desks.run("desk", lambda desk: best_guess(desk, second.query)).result()
        next_one = ask(desks, "3", "Do you sell gift cards?")
    assert found is not None
    assert found.sure
    assert (found.label, found.answer) == (next_one.label, next_one.answer) == ("gift cards", "Yes.")
    assert found.probability == next_one.probability
    assert [(e.key, e.label) for e in found.evidence] == [("1", "gift cards")]


def test_what_it_would_not_guess_is_the_first_offer_with_its_example(database: Database) -> None:
    with Desks(database, listen=False) as desks:
        desks.create("desk", LiveSettings(), "admin")
        give(desks, "desk", EXAMPLES, "admin")
        outcome = ask(desks, "1", "What are your opening hours on Sunday?")
        number = outcome.ticket
        assert number is not None
        first = desks.run("desk", lambda desk: tickets.show(desk, number)).result().offers[0]
        found = desks.run("desk", lambda desk: best_guess(desk, outcome.query)).result()
    assert found is not None
    assert not found.sure
    assert (found.label, found.probability) == (first.label, first.probability)
    assert [e.text for e in found.evidence] == [first.example]


@pytest.mark.parametrize("settings", [LiveSettings(audit_rate=0.5), LiveSettings(mode="shadow")])  # type: ignore[arg-type]
def test_a_blind_desk_keeps_it_to_itself(database: Database, settings: LiveSettings) -> None:
    with Desks(database, listen=False) as desks:
        desks.create("desk", settings, "admin")
        give(desks, "desk", EXAMPLES, "admin")
        outcome = ask(desks, "1", "Do you sell gift cards?")
        assert desks.run("desk", lambda desk: best_guess(desk, outcome.query)).result() is None


def test_nothing_known_is_no_guess(database: Database) -> None:
    with Desks(database, listen=False) as desks:
        desks.create("desk", LiveSettings(), "admin")
        outcome = ask(desks, "1", "Do you sell gift cards?")
        assert desks.run("desk", lambda desk: best_guess(desk, outcome.query)).result() is None
        assert desks.run("desk", lambda desk: best_guess(desk, outcome.query + 1)).result() is None
