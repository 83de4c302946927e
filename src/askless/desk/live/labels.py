"""The labels of a desk: made, answered, renamed, merged, deleted. Each is an operation of the desk's worker.

Renaming and merging reach everything that stands: examples, answered and guessed queries, guesses and suggestions of
tickets. What was written into events stays as it was; a replay follows the renaming as the desk did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, and_, case, delete, func, insert, select, update

from askless.desk.live.desk import LiveDesk
from askless.desk.live.names import answer_text, label_name
from askless.desk.live.types import LabelRow, TicketStatus
from askless.errors import Conflicting, UnknownLabel
from askless.ledger import events as kinds
from askless.ledger import schema

_labels, _queries, _tickets = schema.labels, schema.queries, schema.tickets


def rows(connection: Connection, desk: int) -> list[LabelRow]:
    """All labels of a desk with the number of their examples, in the order of their names."""
    found = connection.execute(_select(desk).order_by(func.lower(_labels.c.name), _labels.c.name))
    return [LabelRow(*row) for row in found]


def find(connection: Connection, desk: int, label: int | str) -> LabelRow:
    """The label with that number or of that name."""
    wanted = _labels.c.id == label if isinstance(label, int) else _labels.c.name == label_name(label)
    row = connection.execute(_select(desk).where(wanted)).one_or_none()
    if row is None:
        shown = f"the number {label}" if isinstance(label, int) else f"the name {label!r}"
        raise UnknownLabel(f"No label of this desk has {shown}; list its labels to see those that it has.")
    return LabelRow(*row)


def create(desk: LiveDesk, name: str, answer: str | None, who: str | None) -> LabelRow:
    """A label without examples; the same name and answer again change nothing, a name in other capitals is refused."""
    name, answer = label_name(name), answer_text(answer)
    known = _named(desk, name)
    if known is not None:
        if known.answer == answer:
            return known
        raise Conflicting(
            f"The label {name!r} is there already, with another answer text. Change the answer of that label (over "
            f"HTTP: PATCH .../labels/{known.id}), or choose another name."
        )
    _refuse_twin(desk, name)
    row = {"desk": desk.row.id, "name": name, "answer": answer, "created_at": desk.entry.at}
    desk.record(kinds.LABEL_MADE, payload={"label": name, "answer": answer}, who=who)
    desk.entry.connection.execute(insert(_labels), row)
    return find(desk.entry.connection, desk.row.id, name)


def set_answer(desk: LiveDesk, label: int | str, answer: str | None, who: str | None) -> LabelRow:
    """Another answer text for a label; None takes it away."""
    known, answer = _known(desk, label), answer_text(answer)
    if known.answer != answer:
        desk.record(kinds.LABEL_CHANGED, payload={"label": known.name, "answer": answer}, who=who)
        desk.entry.connection.execute(update(_labels).where(_labels.c.id == known.id).values(answer=answer))
    return _known(desk, known.id)


def rename(desk: LiveDesk, label: int | str, to: str, who: str | None) -> LabelRow:
    """Another name for a label; a name in use is refused."""
    known, to = _known(desk, label), label_name(to)
    if to == known.name:
        return known
    if _named(desk, to) is not None:
        raise Conflicting(
            f"The name {to!r} is in use already. To make one label of the two, merge {known.name!r} into {to!r}."
        )
    _refuse_twin(desk, to, but=known.name)
    desk.record(kinds.RENAMED, payload={"label": known.name, "to": to}, who=who)
    desk.entry.connection.execute(update(_labels).where(_labels.c.id == known.id).values(name=to))
    _follow(desk, known.name, to)
    return _known(desk, known.id)


def merge(desk: LiveDesk, label: int | str, into: int | str, who: str | None) -> LabelRow:
    """All that has the one label has the other from here on; the first is gone, the answer text is the second's."""
    known, target = _known(desk, label), _known(desk, into)
    if known.id == target.id:
        raise Conflicting(f"The label {known.name!r} cannot be merged into itself; name another.")
    desk.record(kinds.MERGED, payload={"label": known.name, "into": target.name}, who=who)
    desk.entry.connection.execute(delete(_labels).where(_labels.c.id == known.id))
    _follow(desk, known.name, target.name)
    return _known(desk, target.id)


def delete_label(desk: LiveDesk, label: int | str, who: str | None) -> int:
    """Delete a label: its examples are forgotten, and how many those were.

    Queries keep what they were answered. Open tickets lose it as guess and suggestion.
    """
    known, connection = _known(desk, label), desk.entry.connection
    desk.record(kinds.LABEL_DELETED, payload={"label": known.name}, who=who)
    connection.execute(delete(_labels).where(_labels.c.id == known.id))
    mine = and_(_queries.c.desk == desk.row.id, _queries.c.label == known.name, _queries.c.example.is_(True))
    connection.execute(update(_queries).where(mine).values(example=False))
    opened = and_(_tickets.c.desk == desk.row.id, _tickets.c.status == TicketStatus.OPEN)
    guessed = {"guess": None, "probability": None}
    connection.execute(update(_tickets).where(opened, _tickets.c.guess == known.name).values(guessed))
    connection.execute(update(_tickets).where(opened, _tickets.c.suggested == known.name).values(suggested=None))
    return known.examples


def known_or_made(desk: LiveDesk, name: str, who: str | None) -> str:
    """The name of a label as it is kept; one that the desk has not is made, without an answer text."""
    name = label_name(name)
    if name not in desk.fold.labels:
        create(desk, name, None, who)
    return name


def _follow(desk: LiveDesk, old: str, new: str) -> None:
    """What stands under the old name stands under the new one."""
    connection = desk.entry.connection
    for column in (_queries.c.label, _tickets.c.guess, _tickets.c.suggested):
        table = column.table
        at_desk = and_(table.c.desk == desk.row.id, column == old)
        connection.execute(update(table).where(at_desk).values({column.name: new}))


def _known(desk: LiveDesk, label: int | str) -> LabelRow:
    return find(desk.entry.connection, desk.row.id, label)


def _named(desk: LiveDesk, name: str) -> LabelRow | None:
    found: Sequence[Any] = desk.entry.connection.execute(_select(desk.row.id).where(_labels.c.name == name)).all()
    return LabelRow(*found[0]) if found else None


def _refuse_twin(desk: LiveDesk, name: str, but: str | None = None) -> None:
    """Refuse a name that a label has already but for capitals: nobody could tell the two apart."""
    same = (known for known in desk.fold.labels if known != but and known.casefold() == name.casefold())
    twin = next(same, None)
    if twin is not None:
        raise Conflicting(
            f"The label {name!r} differs from the label {twin!r} only in capital and small letters. Use {twin!r}, or "
            "choose another name."
        )


def _select(desk: int) -> Any:
    examples = func.count(case((_queries.c.example.is_(True), 1)))
    mine = and_(_queries.c.desk == _labels.c.desk, _queries.c.label == _labels.c.name)
    columns = (_labels.c.id, _labels.c.name, _labels.c.answer, examples, _labels.c.created_at)
    joined = select(*columns).select_from(_labels.outerjoin(_queries, mine))
    return joined.where(_labels.c.desk == desk).group_by(_labels.c.id)
