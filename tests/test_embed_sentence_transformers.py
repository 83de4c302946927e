"""Transformers as embedders: prompt, pooling and norm against the network's own hidden states, without a network."""

from __future__ import annotations

import json
import logging
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from askless.embed.named import make_embedder
from askless.embed.rows import EmbeddingFailed
from askless.embed.sentence_transformers import PRESETS, SentenceTransformers, preset
from askless.errors import InvalidInput
from askless.types import Embedder

EXTRA = "needs the extra sentence-transformers: pip install 'askless[sentence-transformers]'"
torch = pytest.importorskip("torch", reason=EXTRA)
pytest.importorskip("sentence_transformers", reason=EXTRA)

WORDS = ["where", "is", "my", "parcel", "query", "clustering", "instruct", ":", ".", "?", "how", "do", "i", "change"]
WORDS += ["the", "pin", "a", "b"]
TEXTS = ["where is my parcel ?", "how do i change the pin", "a", "parcel parcel parcel", "where zzz is"]


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def save_transformer(folder: Path, seed: int = 0) -> Path:
    """A transformer of two layers and twenty-odd words, with random weights."""
    from transformers import BertConfig, BertModel, BertTokenizer

    torch.manual_seed(seed)
    folder.mkdir(parents=True)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    BertTokenizer(vocab=str(folder / "vocab.txt"), model_max_length=32).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
    )
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return save_transformer(tmp_path_factory.mktemp("models") / "tiny")


def save_sentence_transformer(folder: Path, transformer: Path, pooling: str) -> Path:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    first = Transformer(str(transformer), max_seq_length=16)
    SentenceTransformer(modules=[first, Pooling(8, pooling)], device="cpu").save(str(folder))
    return folder


def by_hand(folder: Path, text: str, pooling: str, longest: int = 32) -> np.ndarray:
    """One text at a time, so without padding: the last layer's states, pooled and over their norm."""
    from transformers import AutoModel, AutoTokenizer

    tokens = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt", truncation=True, max_length=longest)
    with torch.no_grad():
        states = AutoModel.from_pretrained(folder).eval()(**tokens).last_hidden_state[0].double().numpy()
    pooled = {"mean": states.mean(axis=0), "cls": states[0], "lasttoken": states[-1]}[pooling]
    return pooled / np.linalg.norm(pooled)


@pytest.mark.parametrize("pooling", ["mean", "cls", "lasttoken"])
@pytest.mark.parametrize("prompt", ["", "query: "])
def test_rows_are_the_pooled_states_over_their_norm(plain, pooling, prompt):
    embedder = SentenceTransformers(plain, prompt=prompt, pooling=pooling, device="cpu")
    rows = embedder.embed(TEXTS)
    expected = [by_hand(plain, prompt + text, pooling) for text in TEXTS]
    assert rows.dtype == np.float32
    assert np.allclose(rows, expected, atol=1e-5)
    assert np.allclose(np.linalg.norm(rows.astype(np.float64), axis=1), 1.0, atol=1e-6)


def test_the_poolings_and_prompts_differ():
    # Otherwise the test above would say little.
    assert len({(p.prompt, p.pooling) for p in PRESETS.values()}) == 3


@pytest.mark.parametrize("pooling", ["mean", "cls", "lasttoken"])
def test_a_models_own_pooling_and_length_are_used_where_none_is_given(plain, tmp_path, pooling):
    own = save_sentence_transformer(tmp_path / "own", plain, pooling)
    embedder = SentenceTransformers(own, device="cpu")
    long = "parcel " * 40
    assert np.allclose(embedder.embed(["my pin", long])[0], by_hand(plain, "my pin", pooling), atol=1e-5)
    assert np.allclose(embedder.embed([long])[0], by_hand(plain, long, pooling, longest=16), atol=1e-5)
    assert f":{pooling}" in embedder.id


def test_a_models_own_default_prompt_is_used_where_none_is_given(plain, tmp_path):
    folder = save_sentence_transformer(tmp_path / "prompted", plain, "mean")
    settings = json.loads((folder / "config_sentence_transformers.json").read_text(encoding="utf-8"))
    settings.update(prompts={"here": "clustering: "}, default_prompt_name="here")
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings), encoding="utf-8")
    row = SentenceTransformers(folder, device="cpu").embed(["my pin"])[0]
    assert np.allclose(row, by_hand(plain, "clustering: my pin", "mean"), atol=1e-5)
    bare = SentenceTransformers(folder, prompt="", device="cpu").embed(["my pin"])[0]
    assert np.allclose(bare, by_hand(plain, "my pin", "mean"), atol=1e-5)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_brings_its_prompt_and_its_pooling(plain, name):
    embedder = make_embedder(f"{name}:{plain}")
    chosen = PRESETS[name]
    assert np.allclose(embedder.embed(TEXTS)[0], by_hand(plain, chosen.prompt + TEXTS[0], chosen.pooling), atol=1e-5)
    assert not np.allclose(embedder.embed(TEXTS), SentenceTransformers(plain).embed(TEXTS), atol=1e-3)


def test_the_presets_are_the_papers():
    assert {p.model for p in PRESETS.values()} == {
        "intfloat/e5-large",
        "nomic-ai/nomic-embed-text-v1",
        "intfloat/e5-mistral-7b-instruct",
    }
    prompt = PRESETS["mistral-e5"].prompt
    assert re.fullmatch(r"Instruct: Given a web search query, .* that paraphrase the query\.\nQuery: ", prompt)


# -- texts of every kind ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", " ", "\n\t \u3000", "zzz", "🦄", "\x00", "\ud800", "[CLS]", "مرحبا"])
def test_a_text_without_a_known_token_has_no_direction_whatever_the_prompt(plain, text):
    embedder = preset("e5-large", str(plain))
    rows = embedder.embed(["parcel", text, "pin"])
    assert np.isnan(rows[1]).all()
    assert np.isfinite(rows[[0, 2]]).all()


def test_texts_of_every_kind(plain):
    embedder = SentenceTransformers(plain, device="cpu")
    megabyte = "parcel " * 150_000
    rows = embedder.embed(
        ["parcel \ud800 pin", "parcel  pin", "pin 🦄", "مرحبا pin", megabyte, "a \x00 b", "parcel  pin"]
    )
    assert np.isfinite(rows).all()
    assert np.array_equal(rows[0], rows[1])  # without the half of a pair
    assert np.array_equal(rows[1], rows[6])
    assert np.allclose(rows[4], by_hand(plain, "parcel " * 40, "mean"), atol=1e-5)  # cut off at the model's length
    assert embedder.embed([]).shape == (0, 8)


def test_what_is_no_text_is_refused(plain):
    embedder = SentenceTransformers(plain, device="cpu")
    for texts in ("hello", ["hello", None]):
        with pytest.raises(InvalidInput, match="texts"):
            embedder.embed(texts)


# -- ids ----------------------------------------------------------------------------------------------------


def test_the_id_names_model_version_pooling_and_prompt(plain, tmp_path):
    embedder = SentenceTransformers(plain, device="cpu")
    assert isinstance(embedder, Embedder)
    assert re.fullmatch(r"sentence-transformers/tiny@[0-9a-f]{12}:mean", embedder.id)
    assert embedder.dim == 8

    copied = tmp_path / "elsewhere" / "tiny"
    shutil.copytree(plain, copied)
    (copied / "README.md").write_text("of no consequence", encoding="utf-8")
    assert SentenceTransformers(copied, device="cpu").id == embedder.id

    other_weights = save_transformer(tmp_path / "tiny", seed=1)
    ids = {
        embedder.id,
        SentenceTransformers(other_weights, device="cpu").id,
        SentenceTransformers(plain, pooling="cls", device="cpu").id,
        SentenceTransformers(plain, prompt="query: ", device="cpu").id,
        SentenceTransformers(plain, prompt="passage: ", device="cpu").id,
    }
    assert len(ids) == 5


def test_a_model_of_the_hub_is_found_on_this_machine_and_named_by_its_commit(plain, tmp_path, monkeypatch):
    from huggingface_hub import constants

    commit = "0123456789abcdef0123456789abcdef01234567"
    home = tmp_path / "models--maker--tiny"
    shutil.copytree(plain, home / "snapshots" / commit)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(commit, encoding="utf-8")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *a, **k: pytest.fail("the hub was asked"))
    embedder = make_embedder("sentence-transformers:maker/tiny")
    assert embedder.id == f"sentence-transformers/maker/tiny@{commit[:12]}:mean"
    assert np.allclose(embedder.embed(["my pin"])[0], by_hand(plain, "my pin", "mean"), atol=1e-5)


# -- what goes wrong ----------------------------------------------------------------------------------------


def test_a_model_that_cannot_be_fetched_is_one_sentence(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(
        EmbeddingFailed, match=r"'intfloat/e5-large' is not on this machine .* e5-large:FOLDER"
    ) as found:
        make_embedder("sentence-transformers:intfloat/e5-large")  # the same as the preset
    assert "\n" not in str(found.value)


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(EmbeddingFailed, match=r"No model is in .*modules\.json or config\.json"):
        SentenceTransformers(tmp_path)
    with pytest.raises(EmbeddingFailed, match="No model is in"):
        make_embedder(f"sentence-transformers:{tmp_path}/missing")


def test_a_broken_model_is_refused(plain, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(plain, broken)
    (broken / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(EmbeddingFailed, match=r"broken' cannot be loaded: .+"):
        SentenceTransformers(broken)


def test_code_that_comes_with_a_model_is_never_run(plain, tmp_path):
    armed = tmp_path / "armed"
    shutil.copytree(plain, armed)
    config = json.loads((armed / "config.json").read_text(encoding="utf-8"))
    config |= {"model_type": "unheard-of", "auto_map": {"AutoConfig": "code.Config", "AutoModel": "code.Model"}}
    (armed / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (armed / "code.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w').close()", encoding="utf-8")
    with pytest.raises(EmbeddingFailed, match="cannot be loaded"):
        SentenceTransformers(armed)
    assert not (tmp_path / "run").exists()


def test_an_unknown_pooling_is_refused(plain):
    with pytest.raises(InvalidInput, match="pooling is one of mean, cls, lasttoken; found 'max'"):
        SentenceTransformers(plain, pooling="max")


def test_loading_leaves_the_libraries_settings_as_they_were(plain, capfd):
    from transformers.utils import logging as noise

    before = noise.is_progress_bar_enabled(), noise.get_verbosity(), logging.getLogger("huggingface_hub").level
    SentenceTransformers(plain, device="cpu").embed(TEXTS)
    after = noise.is_progress_bar_enabled(), noise.get_verbosity(), logging.getLogger("huggingface_hub").level
    assert after == before
    assert capfd.readouterr() == ("", "")
