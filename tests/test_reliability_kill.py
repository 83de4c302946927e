"""kill -9 at random moments while callers ask and experts answer: nothing acknowledged is lost, nothing is doubled."""

from __future__ import annotations

import random
import time
from pathlib import Path

from sqlalchemy import func, select

from askless.datasets.sample import support_questions
from askless.ledger import schema
from askless.ledger.database import Database
from reliability import SOAK, Load, served
from reliability_checks import check_command, check_decisions, check_kept, check_verified, check_whole

KILLS = 10 if SOAK else 1
ANSWERS = 2_000 if SOAK else 60
SEED = 5


def test_what_was_acknowledged_outlives_every_kill(database_address: str, tmp_path: Path) -> None:
    """The checks after each kill look at the ledger while no process is there; the next start goes on from it.

    At the end every decision, those after each start included, is compared with a policy that never died.
    """
    draw = random.Random(SEED)
    moments = sorted(draw.sample(range(5, ANSWERS - 20), KILLS))
    with served(database_address, tmp_path) as [server]:
        with Load([server]) as load:
            for answers in moments:
                load.until(answers)
                time.sleep(draw.uniform(0.0, 0.1))
                server.kill()
                check_kept(database_address, load.told)
                server.start()
            load.until(ANSWERS)
            told = load.finish()
        check_kept(database_address, told)
        assert load.lost >= KILLS  # requests were under way each time
        probes = [told.queries[id] for id in draw.sample(sorted(told.queries), 20)]
        for outcome in probes:  # the same id again: what stands, and nothing new
            again = server.get(f"queries/{outcome['id']}").json()
            assert again["event"] >= outcome["event"]
            assert again["label"] == outcome["label"] or outcome["status"] == "asked"
        check_whole(database_address, told)
        check_command(database_address)


def test_a_start_from_a_snapshot_decides_as_one_from_the_events(tmp_path: Path) -> None:
    """A proper stop writes a snapshot once there are enough events; what is killed later starts from it."""
    address = str(tmp_path / "askless.db")
    with served(address, tmp_path) as [server]:
        given = [
            {"id": f"given {n}", "text": t, "label": b}
            for n, (t, b) in enumerate(zip(*support_questions(), strict=True))
        ]
        assert server.post("examples", {"examples": given[:700]}).is_success
        with Load([server], seed=1) as load:
            load.until(20)
            server.stop()
            assert snapshots(address) == 1
            server.start()
            load.until(30)
            server.kill()
            check_kept(address, load.told)
            server.start()
            load.until(40)
            told = load.finish()
        check_kept(address, told)
        check_verified(address)
        assert check_decisions(address) == len(told.queries)


def snapshots(address: str) -> int:
    with Database(address) as database, database.read() as connection:
        return int(connection.execute(select(func.count()).select_from(schema.snapshots)).scalar_one())
