"""`askless desk`: what each command does to the database, what it shows, and what it refuses."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner, Result

from askless.cli.desk import app as desk_app
from askless.cli.desk_screen import _print_labels
from askless.cli.keys import app as keys_app
from askless.cli.ledger import app as ledger_app
from askless.cli.main import app
from askless.desk.live import tickets
from askless.desk.live.desks import Desks
from askless.desk.live.feedback import feedback
from askless.desk.live.settings import LiveSettings
from askless.desk.live.types import LabelRow, Mode, NewQuery, QueryStatus, WhenAble
from askless.errors import AsklessError, InvalidInput, Refused, Unknown, UnknownDesk
from askless.ledger.database import Database

DOCS = (Path(__file__).parents[1] / "docs" / "cli.md").read_text(encoding="utf-8")
EXAMPLES = [("where is my parcel", "track"), ("my parcel is late", "track"), ("block my card", "block")]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ASKLESS_DATABASE", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoked(*arguments: str, typed: str | None = None) -> Result:
    result = CliRunner().invoke(app, ["desk", *arguments], input=typed)
    if isinstance(result.exception, AsklessError):
        raise result.exception
    return result


def desk(*arguments: str) -> str:
    result = invoked(*arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


@contextlib.contextmanager
def opened() -> Iterator[Desks]:
    with Database("askless.db") as database:
        desks = Desks(database, listen=False)
        try:
            yield desks
        finally:
            desks.close()


def settings() -> LiveSettings:
    with opened() as desks:
        return desks.run("shop", lambda live: live.settings).result()


@pytest.fixture(scope="module")
def made_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A desk that guesses soon, with three examples from a file; made once, to copy."""
    folder = tmp_path_factory.mktemp("shop")
    with contextlib.chdir(folder):
        desk("create", "shop", "--policy", "ghc:0.8")
        with Path("answered.csv").open("w", newline="", encoding="utf-8") as out:
            rows = ((str(k), *row) for k, row in enumerate(EXAMPLES))
            csv.writer(out).writerows([("id", "question", "topic"), *rows])
        desk("import", "shop", "answered.csv", "--text", "question", "--label", "topic")
    return folder


@pytest.fixture
def shop(folder: Path, made_shop: Path) -> Path:
    return shutil.copytree(made_shop, folder, dirs_exist_ok=True)


# -- settings ----------------------------------------------------------------------------------------------


def test_a_desk_is_made_as_it_was_asked_for() -> None:
    desk("create", "shop", "--mode", "shadow", "--audit-rate", "0.1", "--costs=-2,1,-30", "--when-able", "offer")
    found = settings()
    assert (found.mode, found.audit_rate, found.when_able) == (Mode.SHADOW, 0.1, WhenAble.OFFER)
    assert (found.costs.call, found.costs.right, found.costs.wrong) == (-2, 1, -30)
    assert (found.policy, found.embedder) == ("self-tuning", "wordllama")


def test_a_setting_changes_and_the_others_stay() -> None:
    desk("create", "shop", "--audit-rate", "0.1")
    desk("set", "shop", "--policy", "ghc:0.7", "--lease-seconds", "60", "--retention-days", "90", "--erase-examples")
    found = settings()
    assert found.share_examples is False
    assert "examples hidden from clients" in desk("show", "shop")
    desk("set", "shop", "--share-examples")
    assert settings() == replace(found, share_examples=True)
    assert "examples shown to clients" in desk("show", "shop")
    assert (found.policy, found.audit_rate, found.lease_seconds) == ("ghc:0.7", 0.1, 60)
    assert (found.retention_days, found.retain_examples) == (90, False)
    desk("set", "shop", "--retention-days", "0")
    assert settings().retention_days is None
    (option,) = (p for p in typer.main.get_command(desk_app).commands["set"].params if p.name == "retention_days")  # type: ignore[attr-defined]
    assert "0 keeps them for ever" in option.help


def test_the_policy_of_the_users_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    desk("create", "shop", "--policy", "toy_desk_policy:Drifting")
    assert settings().policy == "toy_desk_policy:Drifting"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("create", "shop", "--policy", "no-such"), "no-such"),
        (("create", "shop", "--mode", "dark"), "live or shadow"),
        (("create", "shop", "--costs", "a"), "costs|Costs"),
        (("create", "shop", "--audit-rate", "1.5"), "audit rate"),
        (("create", "shop", "--embedder", "no-such"), "no-such"),
    ],
)
def test_what_cannot_be_had_makes_no_desk(arguments: tuple[str, ...], said: str) -> None:
    desk("create", "other")
    with pytest.raises(InvalidInput, match=said):
        invoked(*arguments)
    with opened() as desks:
        assert [row.name for row in desks.rows()] == ["other"]


@pytest.mark.parametrize("width", [60, 80])
def test_a_label_is_shown_whole_and_its_answer_cut(width: int) -> None:
    names = ["card arrived damaged", "a label with a rather long name", "x" * 70]
    at = datetime.now(UTC)
    rows = [LabelRow(n, name, "An answer that goes on and on. " * 9, 3, at) for n, name in enumerate(names)]
    shown = io.StringIO()
    _print_labels(Console(file=shown, width=width), rows[:2])
    lines = shown.getvalue().splitlines()
    assert len(lines) == 3
    assert all(name in line and "…" in line for name, line in zip(names, lines[1:], strict=False))
    assert all(len(line.rstrip()) <= width for line in lines)
    shown.truncate(0)
    _print_labels(Console(file=shown, width=width), rows)  # one too long for the line goes on in the next
    assert shown.getvalue().count("x") - 1 == 70  # but for the x of "examples"


def test_nothing_to_set_is_said() -> None:
    desk("create", "shop")
    with pytest.raises(InvalidInput, match="--audit-rate"):
        invoked("set", "shop")


@pytest.mark.parametrize(
    "arguments", [("show", "x"), ("set", "x", "--mode", "live"), ("pause", "x"), ("delete", "x"), ("statistics", "x")]
)
def test_an_unknown_desk_is_named(arguments: tuple[str, ...]) -> None:
    desk("create", "shop")
    with pytest.raises(UnknownDesk, match="'x'"):
        invoked(*arguments)


def test_a_paused_desk_takes_nothing_until_it_is_resumed(shop: Path) -> None:
    def submit() -> QueryStatus:
        with opened() as desks:
            return desks.submit("shop", [NewQuery("q", "where is my parcel")], "me").result()[0].status

    desk("pause", "shop")
    assert "paused" in desk("list")
    with pytest.raises(Refused):
        submit()
    desk("resume", "shop")
    assert submit() is QueryStatus.GUESSED


def test_delete_asks_first(shop: Path) -> None:
    result = invoked("delete", "shop", typed="n\n")
    assert result.exit_code == 1
    assert "shop" in desk("list")
    assert invoked("delete", "shop", typed="y\n").exit_code == 0
    assert "There are no desks" in desk("list")


# -- examples in, labels out ---------------------------------------------------------------------------------


def test_an_import_is_learned_once(shop: Path) -> None:
    with opened() as desks:
        before = desks.run("shop", lambda live: live.fold.last_event).result()
    desk("import", "shop", "answered.csv", "--text", "question", "--label", "topic")
    with opened() as desks:
        assert desks.run("shop", lambda live: live.fold.last_event).result() == before
    shown = desk("show", "shop")
    assert "known before 3" in shown
    assert "track 2" in shown
    assert "block 1" in shown


def test_a_bad_row_leaves_all_as_it_was(shop: Path) -> None:
    (shop / "bad.csv").write_text("text,label\nnew question,track\nanother,\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"Line 3 of bad.csv has a blank label.* --skip-blank: 1 row"):
        invoked("import", "shop", "bad.csv")
    assert "known before 3" in desk("show", "shop")
    said = desk("import", "shop", "bad.csv", "--skip-blank")
    assert "Gave 1 example to the desk shop. Left out 1 row with a blank text or label." in said
    assert "known before 4" in desk("show", "shop")


def test_a_blank_text_is_named_by_its_line_and_repeated_rows_are_counted(shop: Path) -> None:
    (shop / "bad.csv").write_text('text,label\n"new\nquestion",track\n\n ,track\n,\n', encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        invoked("import", "shop", "bad.csv")
    assert "Line 5 of bad.csv has a blank text." in str(caught.value)
    assert "--skip-blank: 2 rows" in str(caught.value)
    assert not re.search(r"[0-9a-f]{16}", str(caught.value))
    (shop / "twice.csv").write_text("text,label\n" + "new question,track\n" * 3 + "b,block\n", encoding="utf-8")
    said = desk("import", "shop", "twice.csv")
    assert "Gave 2 examples to the desk shop. Left out 2 rows that repeat another one." in said


def test_a_file_of_another_kind_can_be_imported(shop: Path) -> None:
    (shop / "odd.csv").write_bytes("text:label\ncafé, please:order\n".encode("cp1252"))
    said = desk("import", "shop", "odd.csv", "--encoding", "cp1252", "--delimiter", ":")
    assert "Gave 1 example to the desk shop." in said


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet"])
def test_an_export_can_be_imported_elsewhere(shop: Path, name: str) -> None:
    assert "Wrote 3 queries" in desk("export", "shop", name)
    desk("create", "twin", "--policy", "ghc:0.8")
    desk("import", "twin", name)
    desk("export", "twin", f"twin-{name}")
    if name.endswith(".jsonl"):
        one, two = ([json.loads(line) for line in (shop / f).read_text().splitlines()] for f in (name, f"twin-{name}"))
        pairs = {(row["id"], row["text"], row["label"]) for row in one}
        assert pairs == {(str(k), *row) for k, row in enumerate(EXAMPLES)}
        assert pairs == {(row["id"], row["text"], row["label"]) for row in two}


def test_an_export_replaces_nothing_unasked(shop: Path) -> None:
    (shop / "out.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidInput, match="--force"):
        invoked("export", "shop", "out.csv")
    assert (shop / "out.csv").read_text(encoding="utf-8") == "mine"
    desk("export", "shop", "out.csv", "--force")
    assert "where is my parcel" in (shop / "out.csv").read_text(encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"\.parquet"):
        invoked("export", "shop", "out.pdf")


def test_what_is_erased_is_gone_from_the_disk(shop: Path) -> None:
    needle = b"my parcel is late"
    assert any(needle in path.read_bytes() for path in shop.glob("askless.db*"))
    (shop / "answered.csv").unlink()
    asked = invoked("erase", "shop", "1", typed="n\n")
    assert asked.exit_code == 1
    assert "`askless ledger verify` can then not make again" in asked.stdout
    with pytest.raises(Unknown, match="'nope'"):
        invoked("erase", "shop", "1", "nope", "--yes")
    assert any(needle in path.read_bytes() for path in shop.glob("askless.db*"))
    assert "Erased 1 query" in desk("erase", "shop", "1", "--yes")
    assert not any(needle in path.read_bytes() for path in shop.iterdir())
    assert "1 had been erased before" in desk("erase", "shop", "1", "--yes")


def test_what_an_erasure_keeps_from_being_verified_is_said(shop: Path) -> None:
    with opened() as desks:
        desks.submit("shop", [NewQuery("q", EXAMPLES[0][0])], "me").result()
    verified = CliRunner().invoke(app, ["ledger", "verify"]).stdout
    assert "1 of 1 decision made again and the same; all as the events say." in verified
    desk("erase", "shop", "1", "--yes")
    verified = CliRunner().invoke(app, ["ledger", "verify"]).stdout
    assert "0 of 1 decision made again and the same; what could be compared is as the events say." in verified
    assert "not made again: 1, since an example that was erased since was still learned" in verified


def test_another_embedder_keeps_the_examples(shop: Path) -> None:
    before = desk("export", "shop", "before.csv")
    assert "Wrote 3" in before
    shown = desk("reembed", "shop", "wordllama:64")
    assert "wordllama:64" in shown
    assert settings().embedder == "wordllama:64"
    with opened() as desks:
        outcome = desks.submit("shop", [NewQuery("q", "where is my parcel")], "me").result()[0]
    assert (outcome.status, outcome.label) == (QueryStatus.GUESSED, "track")


# -- figures -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made_shadowed(made_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four queries in shadow mode, of which an expert answered three; one guess of those was wrong."""
    folder = shutil.copytree(made_shop, tmp_path_factory.mktemp("shadowed"), dirs_exist_ok=True)
    texts = ["where is my parcel", "my parcel is late", "block my card", "where is my parcel now"]
    with contextlib.chdir(folder):
        desk("set", "shop", "--mode", "shadow")
        with opened() as desks:
            found = desks.submit("shop", [NewQuery(f"q{k}", text) for k, text in enumerate(texts)], "me").result()
            for outcome, label in zip(found, ("track", "block", "block"), strict=False):
                assert outcome.ticket is not None
                answer = partial(tickets.answer, ticket=outcome.ticket, label=label, who="anna")
                desks.run("shop", answer).result()
    return folder


@pytest.fixture
def shadowed(folder: Path, made_shadowed: Path) -> Path:
    return shutil.copytree(made_shadowed, folder, dirs_exist_ok=True)


def test_the_error_rate_of_shadow_mode_is_shown(shadowed: Path) -> None:
    shown = desk("show", "shop")
    # the exact interval of Clopper and Pearson for 1 of 3
    assert "wrong guesses, in shadow mode 1 of 3: 33.3% (95 %: 0.8% to 90.6%)" in shown
    assert "received 4" in shown
    assert "answered by experts 3" in shown


def test_what_came_of_feedback_is_shown(shop: Path) -> None:
    assert "feedback" not in desk("show", "shop")
    with opened() as desks:
        queries = [NewQuery(f"f{k}", EXAMPLES[0][0]) for k in range(3)]
        assert {outcome.status for outcome in desks.submit("shop", queries, "me").result()} == {QueryStatus.GUESSED}
        for key, label in (("f0", EXAMPLES[0][1]), ("f1", "another label")):
            complaint = desks.run("shop", partial(feedback, key=key, right=None, who="me")).result()
            assert complaint.ticket is not None
            answer = partial(tickets.answer, ticket=complaint.ticket, label=label, who="anna")
            desks.run("shop", answer).result()
        desks.run("shop", partial(feedback, key="f2", right=None, who="me")).result()
    shown = desk("show", "shop")
    assert "answered after feedback 2, 1 of them wrong guesses" in shown
    assert "received 3 guessed 3, 100.0% of them answered by experts 2, 2 of them about questions with a label" in shown
    assert "waiting 1, 1 of them about questions with a label already" in shown


def test_statistics_with_prices_and_a_plot(shadowed: Path) -> None:
    shown = desk("statistics", "shop", "--call-price", "4", "--mistake-price", "40", "--plot", "p.png")
    assert "regret, if all were asked 6" in shown  # 3 of 4 queries have their answer, a question costs 2
    assert "money saved 0" in shown  # 3 calls made where 3 queries were answered, nothing guessed
    assert (shadowed / "p.png").read_bytes().startswith(b"\x89PNG")


def test_without_audits_the_money_saved_is_unknown_and_how_to_know_it_is_said(shop: Path) -> None:
    with opened() as desks:
        assert desks.submit("shop", [NewQuery("q", EXAMPLES[0][0])], "me").result()[0].status is QueryStatus.GUESSED
    shown = desk("statistics", "shop", "--call-price", "4", "--mistake-price", "40")
    assert "money saved unknown without audits; `askless desk set shop --audit-rate 0.05` turns them on" in shown
    assert "money saved" not in desk("statistics", "shop")


def test_statistics_of_a_span(shadowed: Path) -> None:
    assert "received 0" in desk("statistics", "shop", "--until", "2020-01-01")
    assert "received 4" in desk("statistics", "shop", "--since", "2020-01-01", "--by", "month")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--call-price", "4"), "--mistake-price"),
        (("--call-price", "-4", "--mistake-price", "1"), "at least 0"),
        (("--since", "yesterday"), "--since"),
        (("--by", "year"), "month"),
        (("--plot", "p.gif"), r"\.png"),
        (("--until", "2020-01-01", "--plot", "p.png"), "nothing to plot"),
    ],
)
def test_a_mistake_in_the_figures_is_said(shop: Path, arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        invoked("statistics", "shop", *arguments)
    assert not list(shop.glob("p.*"))


# -- help and documents ----------------------------------------------------------------------------------------

GROUPS = {"desk": desk_app, "keys": keys_app, "ledger": ledger_app}
COMMANDS = [
    (group, name, command)
    for group, found in GROUPS.items()
    for name, command in typer.main.get_command(found).commands.items()  # type: ignore[attr-defined]
]


@pytest.mark.parametrize(("group", "name", "command"), COMMANDS, ids=[f"{g} {n}" for g, n, _ in COMMANDS])
def test_every_command_has_an_example_and_stands_in_the_documents(
    group: str, name: str, command: typer.core.TyperCommand
) -> None:
    shown = CliRunner().invoke(app, [group, name, "--help"]).output
    assert f"askless {group} {name}" in shown.split("Example")[-1]
    section = re.search(rf"^## askless {group}$(.*?)(?=^## )", DOCS, re.MULTILINE | re.DOTALL)
    assert section is not None
    assert f"askless {group} {name}" in section[1]
    rows = [line.split(" | ") for line in section[1].splitlines() if line.startswith("| ")]
    for parameter in command.params:
        if parameter.name in ("database", "help"):
            continue
        names = [*parameter.opts, *parameter.secondary_opts]
        mine = [row for row in rows if f"`{name}`" in row[0] or "all" in row[0]]
        for option in names:
            assert any(f"`{option}`" in row[1] for row in mine), f"docs/cli.md does not have {option} of {group} {name}"


@pytest.mark.parametrize("group", GROUPS)
def test_the_documents_name_no_option_that_is_not_there(group: str) -> None:
    section = re.search(rf"^## askless {group}$(.*?)(?=^## )", DOCS, re.MULTILINE | re.DOTALL)
    assert section is not None
    documented = set(
        re.findall(r"`(--[a-z-]+)`", "".join(re.findall(r"^\| [^|]* \|[^|]*\|", section[1], re.MULTILINE)))
    )
    there = {
        option
        for of, _, command in COMMANDS
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
        if of == group and option.startswith("--")
    }
    assert documented <= there
