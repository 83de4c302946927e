"""Erasing: no byte of a text is left, the counts stay, and the desk decides as if it had never had the example."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import event, func, select

from askless.desk.live import erase as erasing
from askless.desk.live import feedback, read
from askless.desk.live.configure import configure
from askless.desk.live.desks import Desks
from askless.desk.live.erase import Erased, erase, retention
from askless.desk.live.statistics import statistics
from askless.desk.live.types import NewQuery, TicketStatus
from askless.desk.live.verify import ERASED, RESTED, verify
from askless.embed.cache import CachedEmbedder, CacheUnusable, EmbeddingCache
from askless.errors import Conflicting, NotErased, Unavailable, UnknownQuery
from askless.ledger import schema
from askless.ledger.database import Database
from askless.policies.named import make_policy
from askless.types import Costs, Guess
from live_admin import ADMIN, NAME, answer_all, ask, decisions, embedders, query_row, toy
from postgres import Cluster
from toy_desk import Letters, some_texts

TEXTS = [text for text in some_texts(70, seed=2) if text[0] != "?"]
PROBES = Letters().embed([f"{letter}probe{k}" for letter in "abcd" for k in range(10)])
NEEDLE = "a needle that nobody else would write 5150"


@pytest.fixture
def desks(database: Database) -> Iterator[Desks]:
    with toy(database) as desks:
        yield desks


def files_with(folder: Path, needle: bytes) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and needle in path.read_bytes()]


def test_no_byte_of_the_text_is_left_in_an_sqlite_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKLESS_CACHE", str(tmp_path / "cache"))
    with Database(tmp_path / "askless.db") as database:
        database.prepare()
        with toy(database) as desks:
            ask(desks, TEXTS)
            needles = {"k1": NEEDLE, "k2": f"{NEEDLE} {'x' * 9000}"}  # the second over several pages
            desks.submit(NAME, [NewQuery(key, text) for key, text in needles.items()], "client").result()
            desks.run(NAME, lambda desk: feedback.feedback(desk, "k1", "my own words of it", "client")).result()
            answer_all(desks)
            vectors = [query_row(database, key).vector for key in needles]
            assert files_with(tmp_path, NEEDLE.encode())
            assert files_with(tmp_path, vectors[0])
            assert erase(desks, NAME, list(needles), ADMIN) == Erased(2)
            assert erase(desks, NAME, list(needles), ADMIN) == Erased(0, 2)
            for needle in (NEEDLE.encode(), b"my own words of it", b"x" * 100, *vectors):
                assert files_with(tmp_path, needle) == []
            desks.run(NAME, lambda desk: None).result()
    for needle in (NEEDLE.encode(), *vectors):
        assert files_with(tmp_path, needle) == []


def test_no_row_of_postgresql_holds_the_text(postgres: Cluster) -> None:
    """What SQL can reach, and what the files of the tables hold once VACUUM has been through them."""
    with Database(postgres.new()) as database:
        database.prepare()
        with toy(database) as desks:
            ask(desks, TEXTS)
            desks.submit(NAME, [NewQuery("k", NEEDLE)], "client").result()
            answer_all(desks)
            erase(desks, NAME, ["k"], ADMIN)
            with database.read() as connection:
                for table in schema.metadata.sorted_tables:
                    rows = connection.execute(select(table)).all()
                    assert NEEDLE not in repr(rows), table.name


def test_the_embedding_cache_forgets(desks: Desks) -> None:
    ask(desks, [NEEDLE, "b2"])
    cache = EmbeddingCache()
    assert set(cache.get(Letters.id, [NEEDLE, "b2"])) == {NEEDLE, "b2"}
    erase(desks, NAME, [NEEDLE], ADMIN)
    assert set(cache.get(Letters.id, [NEEDLE, "b2"])) == {"b2"}


@pytest.mark.parametrize("policy", ["ghc:0.8", "self-tuning", "amp:0.9"])
@pytest.mark.parametrize("seed", range(2))
def test_the_desk_decides_as_if_it_had_never_had_them(tmp_path: Path, policy: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    with Database(tmp_path / "askless.db") as database:
        database.prepare()
        with toy(database, "always-ask") as desks:
            ask(desks, TEXTS)
            answer_all(desks, 45)
            desks.run(NAME, lambda desk: configure(desk, {"policy": policy}, ADMIN)).result()
            learned = desks.run(NAME, lambda desk: list(desk.fold.examples)).result()
            gone = set(rng.choice(learned, 20, replace=False).tolist())
            with database.read() as connection:
                rows = connection.execute(
                    select(schema.queries.c.id, schema.queries.c.key, schema.queries.c.text)
                ).all()
            texts = {row.id: row.text for row in rows}
            erase(desks, NAME, [row.key for row in rows if row.id in gone], ADMIN)
            expected = make_policy(policy, costs=Costs())
            for id in learned:
                if id not in gone:
                    expected.learn(Letters().embed([texts[id]])[0], texts[id][0])
            found = [expected.decide(x) for x in PROBES]
            wanted = [d.label if isinstance(d, Guess) else None for d in found]
            assert [label for label, _ in decisions(desks, PROBES)] == wanted
        with Desks(database, listen=False, embedders=embedders) as again:
            assert [label for label, _ in decisions(again, PROBES)] == wanted


def test_counts_stay_and_open_tickets_close(desks: Desks, database: Database) -> None:
    desks.run(NAME, lambda desk: configure(desk, {"policy": "chc"}, ADMIN)).result()
    ask(desks, TEXTS[:30])
    answer_all(desks, 12)
    ask(desks, TEXTS[30:40])
    before = statistics(database, desks.row(NAME).id, Costs())
    with database.read() as connection:
        opened = select(schema.queries.c.key).join(schema.tickets, schema.tickets.c.query == schema.queries.c.id)
        waiting = connection.execute(opened.where(schema.tickets.c.status == TicketStatus.OPEN)).scalars().all()
    answered = [text for text in TEXTS[:40] if query_row(database, text).example]
    erase(desks, NAME, [waiting[0], *answered[:4]], ADMIN)
    after = statistics(database, desks.row(NAME).id, Costs())
    assert dataclasses.replace(after, waiting=before.waiting, withdrawn=before.withdrawn) == before
    assert (after.waiting, after.withdrawn) == (before.waiting - 1, before.withdrawn + 1)
    for key in [waiting[0], *answered[:4]]:
        row = query_row(database, key)
        assert (row.text, row.vector, row.example) == (None, None, False)
        assert row.erased_at is not None
    assert query_row(database, answered[0]).label == answered[0][0]
    ask(desks, TEXTS[40:])
    found = verify(database, NAME)
    assert found.sound, [str(d) for d in found.differences]
    assert found.skipped[ERASED] == 5
    assert found.same + sum(found.skipped.values()) == found.decisions
    assert found.skipped[RESTED] > 0


def test_an_unknown_key_erases_nothing(desks: Desks, database: Database) -> None:
    ask(desks, ["a1"])
    with pytest.raises(UnknownQuery, match="nothing was erased"):
        erase(desks, NAME, ["a1", "a2"], ADMIN)
    assert query_row(database, "a1").text == "a1"


def test_a_reader_that_holds_the_log_is_told_and_a_second_call_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "_PATIENCE", 0.2)
    with Database(tmp_path / "askless.db") as database, toy_in(database) as desks:
        ask(desks, [NEEDLE])
        database.engine.dispose()
        event.listen(database.engine, "connect", lambda raw, _: raw.execute("PRAGMA busy_timeout=50"))
        with database.read() as reader:
            reader.execute(select(func.count()).select_from(schema.queries)).scalar_one()
            with pytest.raises(Unavailable, match="traces"):
                erase(desks, NAME, [NEEDLE], ADMIN)
        assert erase(desks, NAME, [NEEDLE], ADMIN) == Erased(0, 1)


def test_several_erase_at_once_and_each_waits_for_its_turn(
    database: Database, desks: Desks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the ledger's log nor the cache's can be emptied by two at a time."""
    monkeypatch.setenv("ASKLESS_CACHE", str(tmp_path / "cache"))
    cache = EmbeddingCache()
    CachedEmbedder(Letters(), cache).embed(TEXTS)
    ask(desks, TEXTS[:40])
    with ThreadPoolExecutor(4) as many:
        found = list(many.map(lambda key: erase(desks, NAME, [key], ADMIN), TEXTS[:40]))
    assert found == [Erased(1)] * 40
    assert not any(query_row(database, key).text for key in TEXTS[:40])


def test_a_cache_that_cannot_be_written_to_is_said_and_nothing_is_erased(
    database: Database, desks: Desks, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unusable(texts: list[str]) -> None:
        raise CacheUnusable("The cache /srv/cache cannot be used.") from sqlite3.OperationalError("readonly database")

    ask(desks, TEXTS[:2])
    monkeypatch.setattr(EmbeddingCache, "path", Path(__file__))
    monkeypatch.setattr(EmbeddingCache, "forget", lambda self, texts: unusable(texts))
    with pytest.raises(NotErased, match=r"nothing was erased \(readonly database\)") as refused:
        erase(desks, NAME, [TEXTS[0]], ADMIN)
    assert "/srv" not in str(refused.value)
    assert query_row(database, TEXTS[0]).text == TEXTS[0]


def toy_in(database: Database) -> Desks:
    database.prepare()
    return toy(database)


def test_what_is_old_is_erased_and_examples_as_the_desk_is_set(desks: Desks, database: Database) -> None:
    ask(desks, TEXTS[:30])
    answer_all(desks, 12)
    taught = [text for text in TEXTS[:30] if query_row(database, text).example]
    now = datetime.now(UTC)
    assert retention(desks, NAME, now + timedelta(days=99)) == Erased(0)  # not set
    desks.run(NAME, lambda desk: configure(desk, {"retention_days": 30}, ADMIN)).result()
    assert retention(desks, NAME, now + timedelta(days=29)) == Erased(0)
    assert retention(desks, NAME, now + timedelta(days=31)) == Erased(30 - len(taught))
    assert [text for text in TEXTS[:30] if query_row(database, text).text is not None] == taught
    desks.run(NAME, lambda desk: configure(desk, {"retain_examples": False}, ADMIN)).result()
    assert retention(desks, NAME, now + timedelta(days=31), portion=2) == Erased(len(taught))
    assert len(taught) > 4, "in more than two portions"
    assert [text for text in TEXTS[:30] if query_row(database, text).text is not None] == []
    assert {label for label, _ in decisions(desks, PROBES)} == {None}
    assert verify(database, NAME).sound


def test_what_is_old_goes_in_portions_which_another_setting_stops(
    desks: Desks, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(desks, TEXTS[:30])
    desks.run(NAME, lambda desk: configure(desk, {"retention_days": 30}, ADMIN)).result()
    left = []

    def scrubbed(database: Database) -> None:
        """After each portion; after the second the setting is taken back."""
        left.append([text for text in TEXTS[:30] if query_row(database, text).text is not None])
        if len(left) == 2:
            desks.run(NAME, lambda desk: configure(desk, {"retention_days": None}, ADMIN)).result()

    monkeypatch.setattr(erasing, "scrub", scrubbed)
    assert retention(desks, NAME, datetime.now(UTC) + timedelta(days=31), portion=7) == Erased(14)
    assert left == [TEXTS[7:30], TEXTS[14:30]], "the oldest first"


def test_an_erased_query_waits_for_nothing(desks: Desks, database: Database) -> None:
    (waiting,) = ask(desks, ["a1"])
    assert waiting.waits
    erase(desks, NAME, ["a1"], ADMIN)
    with database.read() as connection:
        found = read.outcome(connection, desks.row(NAME).id, "a1")
    assert (found.status, found.erased, found.waits, found.ticket, found.reason) == ("asked", True, False, None, None)
    assert found.event > waiting.event
    events = len(recorded(database))
    for text in ("a1", "b1"):
        with pytest.raises(Conflicting, match="'a1' was erased; send this one under another id"):
            desks.submit(NAME, [NewQuery("new", "b2"), NewQuery("a1", text)], "client").result()
    assert len(recorded(database)) == events  # nothing of such a batch is taken


def recorded(database: Database) -> list[int]:
    with database.read() as connection:
        return list(connection.execute(select(schema.events.c.id)).scalars())


def test_erasing_says_so_while_another_still_reads_what_was_there(
    postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from askless.desk.live import erase as module

    monkeypatch.setattr(module, "_PATIENCE", 0.2)
    with Database(postgres.new()) as database:
        database.prepare()
        with toy(database) as desks:
            ask(desks, TEXTS[:3])
            with database.read() as connection:
                connection.execute(select(func.count()).select_from(schema.queries)).scalar()
                with pytest.raises(Unavailable, match="traces stay"):
                    erase(desks, NAME, [TEXTS[0]], ADMIN)
            assert erase(desks, NAME, [TEXTS[0]], ADMIN) == Erased(0, 1)
