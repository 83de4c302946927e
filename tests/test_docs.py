"""The documents tell the truth: their Python runs and prints what they say, their links and figures hold."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import io
import re
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import askless
from askless.cli.main import main
from askless.datasets.sample import support_questions
from askless.embed.cache import EmbeddingCache
from askless.embed.wordllama import WordLlama
from askless.errors import InvalidInput
from askless.policies.base import PolicyBase
from askless.policies.named import POLICIES, make_policy
from askless.simulate import simulate
from askless.trace import Trace

ROOT = Path(__file__).parents[1]
MARKDOWN = sorted(p for folder in (".", "docs", "benchmarks") for p in (ROOT / folder).glob("*.md"))
WITH_PYTHON = (
    "README.md",
    "docs/policies.md",
    "docs/geometry.md",
    "docs/streams.md",
    "docs/theory.md",
    "docs/embedders.md",
    "docs/datasets.md",
    "docs/selftuning.md",
)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


# -- Python in the documents --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """A block of Python, and what it prints according to the ```text block right below it."""

    code: str
    prints: str


def blocks(text: str) -> list[Block]:
    pattern = r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?"
    return [Block(*match) for match in re.findall(pattern, text, re.MULTILINE | re.DOTALL)]


@pytest.mark.parametrize("name", WITH_PYTHON)
def test_python_runs_and_prints_what_is_shown(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # files that a block writes go there
    found = blocks(text_of(name))
    assert len(found) == text_of(name).count("```python")
    namespace: dict[str, Any] = {"__name__": "docs"}
    for block in found:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.code, f"<{name}>", "exec", dont_inherit=True), namespace)  # noqa: S102
        assert printed.getvalue() == block.prints, block.code


def test_the_readme_begins_with_few_lines_of_python() -> None:
    lines = [line for line in blocks(text_of("README.md"))[0].code.splitlines() if line]
    assert len(lines) <= 13


def test_the_python_of_the_readme_takes_texts_of_which_nothing_is_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ["", "where is my parcel", "😡", "block my card"]
    monkeypatch.setattr("askless.datasets.sample.support_questions", lambda: (texts, list("abcd")))
    namespace: dict[str, Any] = {"__name__": "docs"}
    for block in blocks(text_of("README.md"))[:2]:
        exec(compile(block.code, "<README.md>", "exec", dont_inherit=True), namespace)  # noqa: S102
    assert sorted(example.label for example in namespace["policy"].examples()) == ["b", "d"]
    assert "😡: one for the expert\n" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "file"), [("docs/policies.md", "my_policy.py"), ("docs/embedders.md", "trigrams.py")])
def test_what_is_shown_as_a_file_runs_alone(name: str, file: str) -> None:
    (block,) = (block for block in blocks(text_of(name)) if block.code.startswith(f"# {file}\n"))
    made: dict[str, Any] = {"__name__": "file"}
    exec(compile(block.code, file, "exec", dont_inherit=True), made)  # noqa: S102
    if file == "trigrams.py":
        assert np.isnan(made["Trigrams"]("64").embed(["a text", "?"])).all(axis=1).tolist() == [False, True]


def test_the_embedder_of_the_docs_is_taken_by_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = text_of("docs/embedders.md")
    (own,) = (block for block in blocks(text) if block.code.startswith("# trigrams.py\n"))
    (tmp_path / "trigrams.py").write_text(own.code, encoding="utf-8")
    (tmp_path / "questions.csv").write_text("text,label\nWhere is my parcel?,parcel\nBlock my card,card\n")
    command = re.search(r"^askless (label .*trigrams:.*)$", text, re.MULTILINE)
    assert command is not None
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKLESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    said = said_by(capsys, *command[1].split(), "--oracle", "label", "--text", "text", "--policy", "always-ask")
    del sys.modules["trigrams"]
    assert "Dry run: 2 questions" in said
    with EmbeddingCache(tmp_path / "cache") as cache:
        assert list(cache.size().texts) == ["trigrams/1_1024"]


def said_by(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command prints, which must succeed."""
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    printed = capsys.readouterr()
    assert left.value.code == 0, printed.err
    return printed.out


def test_the_policy_of_the_docs_runs_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = text_of("docs/policies.md")
    own = [block for block in blocks(text) if block.code.startswith("# my_policy.py\n")]
    (tmp_path / "my_policy.py").write_text(own[0].code, encoding="utf-8")
    command = re.search(r"^askless (simulate .*my_policy:.*)$", text, re.MULTILINE)
    assert command is not None
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))  # the command adds the folder, for this policy alone
    said = said_by(capsys, *command[1].split())
    del sys.modules["my_policy"]
    assert "my_policy:NearestMean:radius=0.9" in said
    assert "ghc:0.6" in said


# -- what the documents name --------------------------------------------------------------------------------


def slug(heading: str) -> str:
    """The anchor that a heading gets on GitHub."""
    words = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return words.replace(" ", "-")


def prose(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(path.read_text(encoding="utf-8"))):
        if re.match(r"https?://", target):
            continue
        file, _, anchor = target.partition("#")
        there = path.parent / file if file else path
        assert there.exists(), f"{path.name} links to {target}, which does not exist"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", prose(there.read_text(encoding="utf-8")), re.MULTILINE)
            assert anchor in map(slug, headings), f"{path.name} links to {target}, which is no heading"


def test_every_document_can_be_found_from_the_readme() -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", text_of("README.md"))
    assert {str(path.relative_to(ROOT)) for path in MARKDOWN} - {"README.md"} <= set(targets)


def sections() -> dict[str, str]:
    parts = re.split(r"^## (.*)$", text_of("docs/policies.md"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("name", sorted({named.class_name for named in POLICIES.values()}))
def test_every_policy_and_parameter_is_documented(name: str) -> None:
    cls: type[PolicyBase] = getattr(askless, name)
    section, shared = sections()[name], sections()["Which one"]
    parameters = inspect.signature(cls).parameters
    for parameter in parameters:
        assert f"`{parameter}`" in section or f"| `{parameter}` |" in shared, f"{name} has {parameter}"
    for parameter, default in re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", section, re.MULTILINE):
        assert parameters[parameter].default == eval(default), parameter  # noqa: S307


def test_every_make_target_is_documented() -> None:
    targets = set(re.findall(r"^([a-z]+):.*$", text_of("Makefile"), re.MULTILINE))
    assert {"run", "test", "bench"} <= targets
    assert targets == set(re.findall(r"^\| `make (\w+)` \|", text_of("CONTRIBUTING.md"), re.MULTILINE))
    assert "\nmake run\nmake test\n" in text_of("README.md")


def test_the_version_is_the_same_everywhere() -> None:
    version = tomllib.loads(text_of("pyproject.toml"))["project"]["version"]
    assert f'version: "{version}"\n' in text_of("CITATION.cff")
    assert re.findall(r"^## \[(\d\S*)\]", text_of("CHANGELOG.md"), re.MULTILINE)[0] == version


# -- the README's comparison --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def play() -> Callable[[str, int], Trace]:
    """Run a policy on the sample in the order that `askless demo` has with this seed."""
    texts, labels = support_questions()
    X = WordLlama().embed(texts)

    @cache
    def run(spec: str, seed: int) -> Trace:
        order = np.random.default_rng(seed).permutation(len(texts))
        return simulate(make_policy(spec, space="sphere"), X[order], [labels[k] for k in order], seed=seed)

    return run


def test_the_table_of_policies_is_right(play: Callable[[str, int], Trace]) -> None:
    rows = re.findall(
        r"^\| `([\w.:-]+)`[^|]*\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", text_of("README.md"), re.MULTILINE
    )
    assert {"always-ask", "ghc:0.8"} <= {row[0] for row in rows}
    for spec, *figures in rows:
        facts = play(spec, 0).summary()
        assert figures == [f"{facts[key]:,.0f}" for key in ("calls", "mistakes", "regret")], spec
    regrets = {spec: regret for spec, _, _, regret in rows}
    shown = ("always-ask", "similarity-threshold:0.75", "ghc:0.8", "self-tuning")
    told = "{} for always asking, {} for a similarity threshold, {} for GHC and {} for SelfTuning."
    assert told.format(*(regrets[spec] for spec in shown)) in text_of("README.md")  # instead of the picture


def test_the_lines_of_python_give_the_figure_of_the_table(play: Callable[[str, int], Trace]) -> None:
    facts = play("self-tuning", 0).summary()
    expected = f"{facts['calls'] + facts['guesses']} questions, {facts['calls']} of them to the expert\n"
    assert blocks(text_of("README.md"))[0].prints == expected


def test_the_ten_orders_are_right(play: Callable[[str, int], Trace]) -> None:
    readme = " ".join(text_of("README.md").split())
    pattern = r"`(\S+)` (?:lies )?between ([\d,]+) and ([\d,]+), mean (\d[\d,]*\d)"
    found = re.findall(pattern, readme)
    assert len(found) == 3
    for spec, *figures in found:
        regrets = [play(spec, seed).regret[-1] for seed in range(10)]
        assert figures == [f"{value:,.0f}" for value in (min(regrets), max(regrets), np.mean(regrets))], spec


def test_the_demo_prints_the_figures_of_the_readme(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = said_by(capsys, "demo", "--no-animation", "--out", str(tmp_path))
    printed, readme = " ".join(said.split()), " ".join(text_of("README.md").split())
    claim = re.search(
        r"the default guesses ([\d.]+%) of the questions, (\d+%) of the last 200, "
        r"and ([\d.]+%) of its guesses are wrong; in all that costs (\d+%) less",
        readme,
    )
    assert claim is not None
    assert f"automated {claim[1]} " in printed
    assert f"; {claim[2]} of the last 200" in printed
    assert f" {claim[3]} of the guesses" in printed
    assert f"if asked every time: {claim[4]} less" in printed


# -- the README's figures and picture -----------------------------------------------------------------------


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmarks are not installed: they are found from the root of the repository."""
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.readme")


def cells(name: str, value: float, reached: str = "yes", quick: str = "False") -> dict[str, str]:
    fixed = {"size": "3 labels", "measure": "one over other", "sense": "at most", "bound": "2", "unit": "s"}
    on = {"numpy": "2.0", "numba": "0.61", "scipy": "1.13", "python": "3.11.7", "cpus": "2", "date": "2026-01-01"}
    return (
        {"name": name, "value": str(value), "reached": reached, "quick": quick, "ours": "0.003", "other": "0.002"}
        | fixed
        | on
    )


def test_the_figures_are_those_of_the_rows(bench: Any) -> None:
    rows = bench.read_rows(bench.OUT)
    assert set(bench.HEADLINES) <= set(rows)
    for name, chosen in (("README.md", bench.HEADLINES), ("benchmarks/README.md", None)):
        expected = f"{bench.BEGIN}\n{bench.section(rows.values(), chosen)}{bench.END}\n"
        assert expected in text_of(name), "run `.venv/bin/python -m benchmarks.readme`"


def test_a_missed_bound_is_named_and_marked(bench: Any) -> None:
    section = bench.section([cells("fast", 1.5), cells("slow", 2.5, "no"), cells("small", 1.0, "", "True")])
    assert "2 cores, 2026-01-01" in section
    assert "Of 2 bounds, 1 is missed: `slow`." in section
    lines = {line.split("`")[1]: line for line in section.splitlines() if line.startswith("| `")}
    assert set(lines) == {"fast", "slow"}  # a quick run says nothing about the bounds
    assert lines["fast"].endswith("| **1.5** (3 ms against 2 ms) | at most 2 | reached |")
    assert lines["slow"].endswith("| **2.5** (3 ms against 2 ms) | at most 2 | **missed** |")
    few = bench.section([cells("fast", 1.5), cells("slow", 2.5, "no"), cells("other", 1.9)], ["other"])
    assert [line.split("`")[1] for line in few.splitlines() if line.startswith("| `")] == ["slow", "other"]
    assert "Of 3 bounds, 1 is missed: `slow`." in few
    assert "Every one of 2 bounds is reached." in bench.section([cells("fast", 1.5), cells("other", 1.9)])


def test_only_the_section_is_rewritten(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = tmp_path / "README.md"
    every = tmp_path / "every.md"
    monkeypatch.setattr(bench, "README", readme)
    monkeypatch.setattr(bench, "EVERY", every)
    every.write_text("<!-- bench -->\n<!-- /bench -->\n", encoding="utf-8")
    monkeypatch.setattr(bench, "OUT", tmp_path / "rows.csv")
    readme.write_text("before\n<!-- bench -->\nold\n<!-- /bench -->\nafter\n", encoding="utf-8")
    assert bench.main() == 0
    assert "no rows in rows.csv" in capsys.readouterr().out
    assert readme.read_text(encoding="utf-8") == "before\n<!-- bench -->\n<!-- /bench -->\nafter\n"
    assert bench.replaced(readme.read_text(encoding="utf-8"), "new\n").count("new\n<!-- /bench -->\nafter") == 1
    with pytest.raises(InvalidInput, match="no section"):
        bench.replaced("before\nafter\n", "new\n")
    readme.write_text("no markers", encoding="utf-8")
    assert bench.main() == 2
    assert readme.read_text(encoding="utf-8") == "no markers"


def test_the_picture_can_be_made_again(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("picture", ROOT / "docs" / "picture.py")
    assert spec is not None
    assert spec.loader is not None
    picture = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(picture)
    picture.draw(cells=12).savefig(tmp_path / "new.png", dpi=160)
    new, old = (path.read_bytes() for path in (tmp_path / "new.png", picture.OUT))
    size = slice(16, 24)  # of a PNG file: width and height
    assert new[:4] == old[:4] == b"\x89PNG"
    assert new[size] == old[size]
