"""A desk of the service for tests of its administration: texts whose first letter is their label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select

from askless.desk.live import tickets
from askless.desk.live.desks import Desks
from askless.desk.live.settings import LiveSettings
from askless.desk.live.types import NewQuery, Outcome
from askless.ledger import schema
from askless.ledger.database import Database
from askless.types import Embedder, Guess
from toy_desk import Letters

NAME = "toy"
ADMIN = "ann"


def embedders(spec: str) -> Embedder:
    made: dict[str, Embedder] = {"letters": Letters(), "flipped": Flipped(), "broken": Broken()}
    return made[spec]


class Flipped:
    """The same texts in another space of five dimensions; it knows the texts that begin with ? as well."""

    id, dim = "flipped/1", 5

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        rows[:, :4] = Letters().embed([text.replace("?", "a", 1) for text in texts])[:, ::-1]
        return rows


class Broken:
    """An embedder whose server is gone."""

    id, dim = "broken/1", 4

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        from askless.embed.rows import EmbeddingFailed

        raise EmbeddingFailed("The embedding server cannot be reached; start it.")


def toy(database: Database, policy: str = "ghc:0.8", name: str = NAME, **settings: Any) -> Desks:
    """Desks with one of that name."""
    desks = Desks(database, listen=False, embedders=embedders)
    desks.create(name, LiveSettings(policy=policy, embedder="letters", **settings), ADMIN)
    return desks


def ask(desks: Desks, texts: Sequence[str], name: str = NAME) -> list[Outcome]:
    """Submit texts under themselves as keys, one by one in their order."""
    return desks.submit(name, [NewQuery(text, text) for text in texts], "client").result()


def answer_all(desks: Desks, most: int | None = None, who: str = "eve", name: str = NAME) -> int:
    """Answer what waits with the first letter of the text; how many."""
    done = 0
    while done != most:
        ticket = desks.run(name, lambda desk: tickets.next_ticket(desk, who)).result()
        if ticket is None:
            break
        number, label = ticket.id, (ticket.text or "?")[0]
        desks.run(name, lambda desk: tickets.answer(desk, number, label, who)).result()  # noqa: B023
        done += 1
    return done


def decisions(desks: Desks, probes: NDArray[np.float32], name: str = NAME) -> list[tuple[str | None, Any]]:
    """What the desk would say of these vectors: the label of a guess or None, and its probability."""

    def decide(desk: Any) -> list[tuple[str | None, Any]]:
        found = [desk.fold.policy.decide(x) for x in probes]
        return [(str(d.label), d.probability) if isinstance(d, Guess) else (None, None) for d in found]

    return desks.run(name, decide).result()


def query_row(database: Database, key: str) -> Any:
    with database.read() as connection:
        return connection.execute(select(schema.queries).where(schema.queries.c.key == key)).one()
