"""`verify` finds nothing in a sound ledger, and finds each thing that somebody has changed behind the desk's back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, delete, func, insert, select, update

from askless.desk.live import feedback, tickets
from askless.desk.live.configure import configure
from askless.desk.live.desks import Desks
from askless.desk.live.erase import erase
from askless.desk.live.types import NewQuery
from askless.desk.live.verify import ERASED, RESTED, verify
from askless.errors import InvalidInput, UnknownDesk
from askless.ledger import events as kinds
from askless.ledger import schema
from askless.ledger.database import Database
from live_admin import ADMIN, NAME, answer_all, ask, toy
from toy_desk import some_texts

TEXTS = some_texts(70, seed=5)
e, q, t = schema.events.c, schema.queries.c, schema.tickets.c


@pytest.fixture
def desks(database: Database) -> Iterator[Desks]:
    """A desk with all kinds of a life: audits, a skip, an answer taken back, feedback, shadow mode, another policy."""
    with toy(database, audit_rate=0.3) as desks:
        ask(desks, TEXTS[:40])
        answer_all(desks, 6)
        ticket = desks.run(NAME, lambda desk: tickets.next_ticket(desk, "eve")).result()
        assert ticket is not None
        desks.run(NAME, lambda desk: tickets.skip(desk, ticket.id, "eve")).result()
        desks.run(NAME, lambda desk: tickets.undo(desk, ticket.id, "eve")).result()
        desks.run(NAME, lambda desk: tickets.answer(desk, ticket.id, "odd", "eve")).result()
        desks.run(NAME, lambda desk: tickets.undo(desk, ticket.id, "eve")).result()
        answer_all(desks)
        ask(desks, TEXTS[40:50])
        answered = next(text for text in TEXTS if status(database, text) == "answered")
        guessed = next(text for text in TEXTS if status(database, text) == "guessed")
        for key in (answered, guessed):
            desks.run(NAME, lambda desk, key=key: feedback.feedback(desk, key, "b", "client")).result()  # type: ignore[misc]
        desks.run(NAME, lambda desk: tickets.skip(desk, waiting(database), "bob")).result()
        answer_all(desks, 1)
        desks.run(NAME, lambda desk: configure(desk, {"mode": "shadow", "policy": "ghc:0.9"}, ADMIN)).result()
        ask(desks, TEXTS[50:60])
        desks.run(NAME, lambda desk: configure(desk, {"mode": "live", "when_able": "offer"}, ADMIN)).result()
        ask(desks, TEXTS[60:])
        answer_all(desks, 8)
        yield desks


def status(database: Database, key: str) -> str | None:
    with database.read() as connection:
        return connection.execute(select(q.status).where(q.key == key)).scalar()


def waiting(database: Database) -> int:
    with database.read() as connection:
        return int(connection.execute(select(t.id).where(t.status == "open").limit(1)).scalar_one())


def test_a_sound_ledger_is_sound_and_everything_was_checked(desks: Desks) -> None:
    steps: list[tuple[int, int]] = []
    found = verify(desks.database, NAME, progress=lambda done, total: steps.append((done, total)))
    assert found.sound, [str(difference) for difference in found.differences]
    assert found.same == found.decisions >= 60
    assert not found.skipped
    assert steps[-1] == (found.events, found.events)


def test_guesses_with_probabilities_are_made_again_after_erasures_too(database: Database) -> None:
    texts = [text for text in some_texts(130, seed=4) if text[0] != "?"]
    with toy(database, "self-tuning") as desks:
        for start in range(0, 80, 20):
            ask(desks, texts[start : start + 20])
            answer_all(desks)
        erase(desks, NAME, texts[5:15], ADMIN)
        ask(desks, texts[80:])
    found = verify(database, NAME)
    assert found.sound, [str(difference) for difference in found.differences]
    assert found.same >= len(texts) - 80
    assert found.same + found.skipped[ERASED] + found.skipped[RESTED] == found.decisions
    with database.read() as connection:
        last = select(q.probability).where(q.status == "guessed", q.key.in_(texts[80:]))
        assert len([p for p in connection.execute(last).scalars() if p is not None]) > 10


def last_event(connection: Connection, kind: str, **payload: object) -> int:
    rows = connection.execute(select(e.id, e.payload).where(e.kind == kind).order_by(e.id.desc())).all()
    return next(row.id for row in rows if all(row.payload.get(k) == v for k, v in payload.items()))


def change_a_label(connection: Connection) -> str:
    id = connection.execute(select(q.id).where(q.status == "guessed").limit(1)).scalar_one()
    connection.execute(update(schema.queries).where(q.id == id).values(label="z"))
    return f"query {id}: the label"


def change_a_decision(connection: Connection) -> str:
    id = last_event(connection, kinds.DECIDED, action="guess")
    payload = connection.execute(select(e.payload).where(e.id == id)).scalar_one()
    connection.execute(update(schema.events).where(e.id == id).values(payload=payload | {"label": "z"}))
    return f"event {id}"


def change_an_answer(connection: Connection) -> str:
    id = last_event(connection, kinds.ANSWERED)
    connection.execute(update(schema.events).where(e.id == id).values(payload={"label": "z"}))
    return "the events say 'z'"


def change_what_was_seen(connection: Connection) -> str:
    id = last_event(connection, kinds.DECIDED)
    connection.execute(update(schema.events).where(e.id == id).values(seen=1))
    return f"event {id}"


def delete_an_answer(connection: Connection) -> str:
    id = last_event(connection, kinds.ANSWERED)
    connection.execute(delete(schema.events).where(e.id == id))
    return f"is {id}, and the events say"


def delete_a_verdict(connection: Connection) -> str:
    connection.execute(delete(schema.events).where(e.id == last_event(connection, kinds.AUDITED)))
    return "was to be compared"


def delete_a_receipt(connection: Connection) -> str:
    connection.execute(delete(schema.events).where(e.id == last_event(connection, kinds.RECEIVED)))
    return "which no event before it received"


def delete_the_last_event(connection: Connection) -> str:
    id = connection.execute(select(func.max(e.id)).where(e.kind == kinds.DECIDED)).scalar_one()
    connection.execute(delete(schema.events).where(e.id >= id))
    return "query"


def open_a_ticket_again(connection: Connection) -> str:
    id = connection.execute(select(t.id).where(t.status == "answered").limit(1)).scalar_one()
    connection.execute(update(schema.tickets).where(t.id == id).values(status="open"))
    return f"ticket {id}"


def change_a_vector(connection: Connection) -> str:
    ids = connection.execute(select(e.query).where(e.kind == kinds.ANSWERED)).scalars().all()
    other = connection.execute(select(q.vector).where(q.key.like("d%")).limit(1)).scalar_one()
    connection.execute(update(schema.queries).where(q.id.in_(ids), q.key.like("a%")).values(vector=other))
    return "with what it knew"


def add_a_label(connection: Connection) -> str:
    connection.execute(update(schema.labels).where(schema.labels.c.name == "a").values(name="zebra"))
    return "zebra"


TAMPERS = (
    change_a_label,
    change_a_decision,
    change_an_answer,
    change_what_was_seen,
    delete_an_answer,
    delete_a_verdict,
    delete_a_receipt,
    delete_the_last_event,
    open_a_ticket_again,
    change_a_vector,
    add_a_label,
)
TABLES = (schema.queries, schema.events, schema.tickets, schema.labels)  # each after those it refers to


def test_what_was_changed_is_found(desks: Desks) -> None:
    database = desks.database
    with database.read() as connection:
        sound = {table: [dict(row) for row in connection.execute(select(table)).mappings()] for table in TABLES}
    for tamper in TAMPERS:
        with database.write() as connection:
            expected = tamper(connection)
        found = verify(database, NAME)
        told = [str(difference) for difference in found.differences]
        assert any(expected in line for line in told), (tamper, expected, told)
        with database.write() as connection:  # as it was
            for table in reversed(TABLES):
                connection.execute(delete(table))
            for table in TABLES:
                connection.execute(insert(table), sound[table])
    assert verify(database, NAME).sound


def test_desks_that_cannot_be_verified_are_named(database: Database) -> None:
    with pytest.raises(UnknownDesk, match="nowhere"):
        verify(database, "nowhere")
    with toy(database) as desks:
        desks.submit(NAME, [NewQuery("x", "a1")], "client").result()
    with database.write() as connection:
        connection.execute(update(schema.events).where(e.kind == kinds.CONFIGURED).values(payload={"policy": "chc"}))
    with pytest.raises(InvalidInput, match="askless label"):
        verify(database, NAME)
