"""The command line: help and documents agree, a mistake is one line, the commands do their work."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pexpect
import pytest
import typer.main
from typer.testing import CliRunner

from askless.cli.main import app, main
from askless.datasets.sample import support_questions
from askless.policies.named import POLICIES

DOCS = (Path(__file__).parent.parent / "docs" / "cli.md").read_text(encoding="utf-8")
ASKLESS = [sys.executable, "-c", "from askless.cli.main import main; main()"]
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
QUICK = ["--rounds", "60", "--runs", "2", "--dim", "3"]

TOY = """
from askless.types import Always, Ask, Guess

class Toy:
    '''Guesses the label it learned last, and asks in every third round.'''

    def __init__(self, every=3):
        self.every, self.seen, self.last = every, 0, 0
    def decide(self, x):
        return Ask(Always()) if self.seen % self.every == 0 else Guess(self.last)
    def observe(self, x, decision):
        self.seen += 1
    def learn(self, x, label, id=None):
        self.last = label
        return self.seen
    def forget(self, id):
        pass
    def relabel(self, id, label):
        pass
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a policy in it, and a path of modules that is put back afterwards."""
    (tmp_path / "toys.py").write_text(TOY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("toys", None)


def failure(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    said = capsys.readouterr()
    return left.value.code, said.err


def section(command):
    found = re.search(rf"^## askless {command}$(.*?)(?=^## |\Z)", DOCS, re.MULTILINE | re.DOTALL)
    assert found is not None, f"docs/cli.md has no section on askless {command}"
    return found.group(1)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_option_is_in_the_documents(command):
    text = section(command)
    for parameter in COMMANDS[command].params:
        for name in parameter.opts:
            assert f"| `{name}` |" in text, f"docs/cli.md does not have {name} of askless {command}"
        if parameter.default not in (None, False) and not callable(parameter.default):
            assert f"| `{parameter.opts[0]}` | `{parameter.default}` |" in text
    documented = set(re.findall(r"^\| `(--[a-z-]+)`", text, re.MULTILINE)) - {"--help"}
    options = (parameter for parameter in COMMANDS[command].params if parameter.param_type_name == "option")
    assert documented == {name for parameter in options for name in parameter.opts}


def test_the_options_before_a_command_and_the_policies_are_in_the_documents():
    for parameter in typer.main.get_command(app).params:
        assert all(name in DOCS for name in parameter.opts)
    for name in POLICIES:
        assert f"`{name}`" in DOCS


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_help_has_an_example(command):
    result = CliRunner().invoke(app, [*command, "--help"])
    assert result.exit_code == 0
    assert "Example" in result.output
    assert "askless " + " ".join(command or ["demo"]) in result.output


def test_version_is_the_packages():
    from importlib.metadata import version

    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"askless {version('askless')}\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["simulate", "--policy", "ghx:0.9"], "ghx"),
        (["simulate", "--policy", "absent_module:Policy"], "absent_module"),
        (["simulate", "--costs", "1,2"], "call,right,wrong"),
        (["simulate", "--costs", "1,-1,-10"], "wrong <= call <= right"),
        (["simulate", "--space", "torus"], "torus"),
        (["simulate", "--distribution", "normal"], "normal"),
        (["simulate", "--error-rate", "2"], "error_rate"),
        (["simulate", "--delay", "-1"], "delay"),
        (["simulate", "--runs", "0"], "--runs"),
        (["simulate", "--jobs", "0"], "n_jobs"),
        (["simulate", "--seed", "-1"], "seed"),
        (["simulate", "--labels", "1", "--error-rate", "0.1", "--policy", "skm"], "only one"),
        (["simulate", "--out", "toys.py"], "--out"),
        (["demo", "--speed", "0"], "--speed"),
        (["demo", "--costs", "a,b,c"], "call,right,wrong"),
        (["demo", "--out", "toys.py"], "--out"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(folder, capsys, arguments, words):
    extra = ["--rounds", "20", "--runs", "1"] if arguments[0] == "simulate" and "--runs" not in arguments else []
    code, said = failure(capsys, *arguments, *extra)
    assert code == 2
    assert said.startswith("askless: ")
    assert said.count("\n") == 1
    assert words in said
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == ["toys.py"]


def test_ctrl_c_is_quiet(capsys, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("askless.simulate.simulate_many", interrupted)
    assert failure(capsys, "simulate", "--policy", "always-ask") == (130, "")


def test_simulate_compares_policies_and_writes_its_files(folder):
    out = folder / "results"
    out.mkdir()
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    arguments = [
        "simulate",
        "--policy",
        "toys:Toy",
        "--policy",
        "toys:Toy:every=2",
        "--out",
        str(out),
        *QUICK,
    ]
    result = CliRunner().invoke(app, [*arguments, "--costs", "-1,1,-4"])
    assert result.exit_code == 0, result.output
    assert (out / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert sorted(path.name for path in out.iterdir()) == [
        "notes.txt",
        "plot.png",
        "summary.csv",
        "traces.csv",
    ]
    traces = pd.read_csv(out / "traces.csv")
    assert len(traces) == 2 * 2 * 60
    summary = pd.read_csv(out / "summary.csv")
    last = traces.groupby(["policy", "run"], sort=False).last().reset_index()
    assert (last["regret"] == 2 * last["calls"] + 5 * last["mistakes"]).all()
    assert last[["policy", "calls", "mistakes", "regret"]].equals(summary[["policy", "calls", "mistakes", "regret"]])
    assert last["calls"].tolist() == [20, 20, 30, 30]
    mean = last.loc[last["policy"] == "toys:Toy", "regret"].mean()
    assert re.search(rf"toys:Toy +│ +20 ± 0 .*{mean:,.0f} ±", result.output)


@pytest.mark.parametrize("name", ["plot.png", "summary.csv", "traces.csv"])
def test_simulate_leaves_the_files_of_others_alone(folder, capsys, name):
    (folder / "mine").mkdir()
    (folder / "mine" / name).write_bytes(b"policy,mine\n")
    code, said = failure(capsys, "simulate", "--policy", "always-ask", "--out", "mine", *QUICK)
    assert (code, said.count("\n")) == (2, 1)
    assert f"has {name}, which no simulation wrote; choose another with --out" in said
    assert [path.name for path in (folder / "mine").iterdir()] == [name]
    assert (folder / "mine" / name).read_bytes() == b"policy,mine\n"


def test_simulate_replaces_its_own_files(folder, capsys):
    for rounds in ("30", "40"):
        arguments = ["simulate", "--policy", "always-ask", "--out", "a/b", *QUICK, "--rounds", rounds]
        assert failure(capsys, *arguments) == (0, "")
    assert pd.read_csv(folder / "a" / "b" / "traces.csv")["round"].max() == 40


def test_the_number_of_jobs_and_the_order_of_policies_change_nothing(folder):
    runner = CliRunner()
    specs = ["--policy", "toys:Toy:every=4", "--policy", "skm"]
    for name, extra in {"one": ["--jobs", "1"], "two": ["--jobs", "2"]}.items():
        result = runner.invoke(app, ["simulate", *specs, "--out", name, *QUICK, *extra])
        assert result.exit_code == 0, result.output
    for file in ("traces.csv", "summary.csv"):
        assert (folder / "one" / file).read_bytes() == (folder / "two" / file).read_bytes()


def test_options_reach_the_run(folder):
    runner, results = CliRunner(), []
    for extra in (
        [],
        ["--first-examples"],
        ["--open-world"],
        ["--delay", "7"],
        ["--error-rate", "0.3"],
        ["--seed", "9"],
    ):
        arguments = ["simulate", "--policy", "similarity-threshold:0.9", *QUICK, *extra]
        result = runner.invoke(app, arguments)
        assert result.exit_code == 0, result.output
        results.append(result.output.split("similarity-threshold:0.9")[1].splitlines()[0])
    assert len(set(results)) == len(results)


def test_demo_runs_as_a_command_without_a_terminal(folder):
    (folder / "askless-demo").mkdir()
    (folder / "askless-demo" / "notes.txt").write_text("mine", encoding="utf-8")
    done = subprocess.run([*ASKLESS, "demo"], capture_output=True, text=True, cwd=folder, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert "\x1b" not in said
    assert "policy self-tuning" in said
    assert "The hardest labels" in said
    assert "A mistake" in said
    for name in ("plot.png", "trace.csv", "notes.txt"):
        assert (folder / "askless-demo" / name).stat().st_size > 0
    trace = pd.read_csv(folder / "askless-demo" / "trace.csv")
    calls, mistakes = int(trace["calls"].iloc[-1]), int(trace["mistakes"].iloc[-1])
    assert re.search(rf"questions to the expert +{calls} ", said)
    assert re.search(rf"wrong guesses +{mistakes} ", said)
    regret = 2 * calls + 11 * mistakes
    assert re.search(rf"regret +{regret:,} +{2 * len(trace):,} if asked every time", said)
    assert regret < 0.8 * 2 * len(trace)
    for text in re.findall(r"^ +\d+%  “(.*)”$", said, re.MULTILINE):
        assert text in set(trace.loc[trace["action"] == "ask", "text"])  # evidence is what the expert answered


@pytest.mark.parametrize("name", ["plot.png", "trace.csv"])
def test_demo_leaves_the_files_of_others_alone(folder, capsys, name):
    (folder / "mine").mkdir()
    (folder / "mine" / name).write_bytes(b"round,mine\n")
    code, said = failure(capsys, "demo", "--no-animation", "--policy", "always-ask", "--out", "mine")
    assert (code, said.count("\n")) == (2, 1)
    assert f"has {name}, which no demonstration wrote; choose another with --out" in said
    assert [path.name for path in (folder / "mine").iterdir()] == [name]
    assert (folder / "mine" / name).read_bytes() == b"round,mine\n"


def test_demo_replaces_its_own_files_and_makes_no_folder_for_nothing(folder, capsys):
    for seed in ("0", "1"):
        arguments = ["demo", "--no-animation", "--policy", "always-ask", "--seed", seed, "--out", "a/b"]
        assert failure(capsys, *arguments) == (0, "")
    trace = pd.read_csv(folder / "a" / "b" / "trace.csv")
    order = np.random.default_rng(1).permutation(len(trace))
    texts, _ = support_questions()
    assert trace["text"].tolist() == [texts[k] for k in order]
    assert failure(capsys, "demo", "--no-animation", "--policy", "no-such", "--out", "c/d")[0] == 2
    assert not (folder / "c").exists()


def terminal(folder, *arguments):
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    command = [*ASKLESS[1:], "demo", "--policy", "similarity-threshold:0.9", *arguments]
    return pexpect.spawn(
        ASKLESS[0],
        command,
        cwd=str(folder),
        env=environment,
        encoding="utf-8",
        dimensions=(40, 100),
        timeout=60,
    )


def test_demo_shows_the_run_on_a_terminal(folder):
    child = terminal(folder, "--speed", "40", "--out", "shown")
    child.expect("askless demo")
    child.expect("always asking")
    child.expect("The hardest labels")
    child.expect("plot.png")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert (folder / "shown" / "plot.png").exists()


def test_ctrl_c_in_the_demo_leaves_the_terminal_clean(folder):
    child = terminal(folder, "--speed", "0.2")
    child.expect("always asking")
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert "Traceback" not in child.before
    assert child.before.count("askless: interrupted; nothing was written.") == 1
    assert "\x1b[?25h" in child.before  # the cursor is shown again
    assert not (folder / "askless-demo").exists()


def test_help_loads_nothing_heavy():
    code = """
import sys
from askless.cli.main import main
try:
    main(["simulate", "--help"])
except SystemExit:
    pass
heavy = {"numba", "scipy", "matplotlib", "pandas", "sklearn", "wordllama", "joblib"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
