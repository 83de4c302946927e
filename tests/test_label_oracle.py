"""Dry runs of `askless label` on the sample: the same calls and mistakes as the simulator on the same order."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from askless.cli.main import main
from askless.datasets.sample import support_questions
from askless.embed.wordllama import WordLlama
from askless.policies.named import make_policy
from askless.simulate import simulate
from askless.trace import Trace

SAMPLE = Path(__file__).parents[1] / "src" / "askless" / "datasets" / "support_questions.csv"


@pytest.fixture(scope="module")
def play() -> Callable[[str, int], Trace]:
    texts, labels = support_questions()
    X = WordLlama().embed(texts)

    def run(spec: str, seed: int) -> Trace:
        order = np.random.default_rng(seed).permutation(len(texts))
        return simulate(make_policy(spec, space="sphere"), X[order], [labels[k] for k in order])

    return run


@pytest.fixture
def dry_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[str, pd.DataFrame]]:
    monkeypatch.setenv("ASKLESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def run(*options: str) -> tuple[str, pd.DataFrame]:
        with pytest.raises(SystemExit) as left:
            main(["label", str(SAMPLE), "--oracle", "label", "--out", "out.csv", "--force", *options])
        assert left.value.code == 0
        return capsys.readouterr().out, pd.read_csv("out.csv", dtype=str, keep_default_na=False)

    return run


def figures(out: str) -> tuple[int, int]:
    found = re.search(r"Dry run: ([\d,]+) questions, ([\d,]+) wrong guesses", out)
    assert found is not None, out
    return int(found[1].replace(",", "")), int(found[2].replace(",", ""))


@pytest.mark.parametrize(("spec", "seed"), [("ghc:0.8", 0), ("similarity-threshold:0.75", 1), ("amp:0.95", 2)])
def test_calls_and_mistakes_are_the_simulators(
    spec: str, seed: int, play: Callable[[str, int], Trace], dry_run: Callable[..., tuple[str, pd.DataFrame]]
) -> None:
    out, frame = dry_run("--policy", spec, "--shuffle", str(seed), "--no-second-pass")
    facts = play(spec, seed).summary()
    assert figures(out) == (facts["calls"], facts["mistakes"])
    assert f"Regret {facts['regret']:,.0f};" in out
    assert (frame["source"] == "expert").sum() == facts["calls"]
    guessed = frame[frame["source"] == "guess"]
    assert (guessed["askless_label"] != guessed["label"]).sum() == facts["mistakes"]
    assert list(frame.columns[:2]) == ["text", "label"]  # the truth stays where it was
    assert not list(Path().glob("*.askless"))  # and no ledger


def test_the_second_pass_pays_on_the_sample(
    play: Callable[[str, int], Trace], dry_run: Callable[..., tuple[str, pd.DataFrame]]
) -> None:
    saved = []
    for seed in range(3):
        out, _ = dry_run("--policy", "ghc:0.8", "--shuffle", str(seed))
        calls, mistakes = figures(out)
        facts = play("ghc:0.8", seed).summary()
        assert facts["calls"] <= calls <= facts["calls"] + 15
        saved.append(facts["regret"] - 2 * calls - 11 * mistakes)
    assert np.mean(saved) > 0.0


def test_audits_measure_the_error_rate(dry_run: Callable[..., tuple[str, pd.DataFrame]]) -> None:
    out, _ = dry_run("--policy", "ghc:0.8", "--shuffle", "0", "--audit-rate", "0.5", "--no-second-pass")
    found = re.search(
        r"Of (\d+) guesses that were audited (\d+) were wrong.*interval ([\d.]+)% to ([\d.]+)%", " ".join(out.split())
    )
    assert found is not None, out
    audited, wrong, low, high = int(found[1]), int(found[2]), float(found[3]), float(found[4])
    left = figures(out)[1]
    guessed = int(re.search(r"guessed +(\d+)", out)[1])  # type: ignore[index]
    assert low <= 100.0 * left / guessed <= high  # what the audits say holds for the guesses that nobody checked
    assert f"and {wrong} that audits put right" in out
    assert audited > 100


def test_a_limit_holds_and_the_rest_is_guessed(dry_run: Callable[..., tuple[str, pd.DataFrame]]) -> None:
    out, frame = dry_run("--policy", "ghc:0.8", "--max-questions", "150", "--shuffle", "0")
    assert figures(out)[0] == 150
    assert (frame["askless_label"] != "").all()
    assert set(frame["source"]) == {"expert", "guess", "guess-forced"}


def test_rows_that_the_oracle_does_not_know_are_skipped(
    dry_run: Callable[..., tuple[str, pd.DataFrame]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text("text,truth\nblock my card,block\nwhere is it,\n", encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["label", "t.csv", "--oracle", "truth", "--out", "o.csv"])
    frame = pd.read_csv("o.csv", dtype=str, keep_default_na=False)
    assert list(frame["source"]) == ["expert", "skipped"]
    assert "left without a label" in capsys.readouterr().out
