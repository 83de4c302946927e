"""Policies by name: what a text makes, and what is said about one that makes nothing."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import textwrap

import pytest

from askless.errors import InvalidInput
from askless.policies.active_perceptron import ActivePerceptron
from askless.policies.center_based import CenterBased
from askless.policies.conservative_hull import ConservativeHull
from askless.policies.generalized_hull import GeneralizedHull
from askless.policies.named import POLICIES, make_policy, names_table, policy_class, spec_name
from askless.policies.sequential_kmeans import SequentialKMeans
from askless.policies.similarity_threshold import SimilarityThreshold
from askless.types import Policy


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    """Puts a module of the user's own on the path and returns its name."""

    def write(source, name="somebodys_policies"):
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(source))
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    return write


@pytest.mark.parametrize(
    ("spec", "cls", "parameters"),
    [
        ("generalized-hull:tau=0.9,distance=nearest", GeneralizedHull, {"tau": 0.9, "distance": "nearest"}),
        (
            "generalized-hull: tau = 0.5 , space = euclidean",
            GeneralizedHull,
            {"tau": 0.5, "space": "euclidean"},
        ),
        ("conservative-hull:refine=true,n_labels=3", ConservativeHull, {"refine": True, "n_labels": 3}),
        ("ghc:0.8", GeneralizedHull, {"tau": 0.8, "distance": "hull"}),
        ("ghc:0.8,distance=nearest", GeneralizedHull, {"tau": 0.8, "distance": "nearest"}),
        ("ghc", GeneralizedHull, {"tau": 0.9}),
        ("ghc:1", GeneralizedHull, {"tau": 1.0}),
        ("ghc-nearest:0.7", GeneralizedHull, {"tau": 0.7, "distance": "nearest"}),
        ("chc", ConservativeHull, {"refine": False}),
        ("cc:5,n_labels=4", CenterBased, {"constant": 5.0, "n_labels": 4, "horizon": 10_000}),
        ("cc:labels_given=True,sigma=2e-1", CenterBased, {"labels_given": True, "sigma": 0.2}),
        ("skm:n_labels=2", SequentialKMeans, {"n_labels": 2}),
        ("amp:0.95", ActivePerceptron, {"tau": 0.95}),
        ("similarity-threshold:0.7", SimilarityThreshold, {"threshold": 0.7}),
        ("GeneralizedHull:tau=0.3", GeneralizedHull, {"tau": 0.3}),
        ("  GHC:0.3 ", GeneralizedHull, {"tau": 0.3}),
    ],
)
def test_a_text_makes_the_policy_it_describes(spec, cls, parameters):
    policy = make_policy(spec)
    assert type(policy) is cls
    assert {name: policy.params()[name] for name in parameters} == parameters


@pytest.mark.parametrize("name", POLICIES)
def test_every_name_makes_a_policy_and_its_example_too(name):
    for spec in (name, POLICIES[name].example):
        policy = make_policy(spec, space="euclidean", n_labels=3, horizon=500)
        assert isinstance(policy, Policy)
        assert (policy.space, policy.n_labels) == ("euclidean", 3)
        assert type(policy) is policy_class(name)
        assert POLICIES[name].class_name == type(policy).__name__


def test_names_are_the_classes_in_kebab_case():
    for name, named in POLICIES.items():
        if name == spec_name(named.load()):
            kebab = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", named.class_name).lower()
            assert kebab.replace("k-means", "kmeans") == name
    assert len({spec_name(named.load()) for named in POLICIES.values()}) == 9


def test_name_and_class_lead_to_each_other():
    for name in POLICIES:
        cls = policy_class(name)
        assert policy_class(spec_name(cls)) is cls
        assert policy_class(cls.__name__) is cls
        assert spec_name(make_policy(name, n_labels=3)) == spec_name(cls)


def test_defaults_apply_where_the_class_takes_them_and_the_text_does_not_set_them():
    policy = make_policy("cc:horizon=7", space="euclidean", n_labels=2, horizon=99, dtype="float32")
    assert (policy.horizon, policy.space, policy.n_labels) == (7, "euclidean", 2)
    assert make_policy("cc", n_labels=2, horizon=99).horizon == 99
    assert make_policy("ghc", dtype="float32").params()["dtype"] == "float32"
    assert make_policy("ghc:n_labels=none", n_labels=5).n_labels is None
    assert make_policy("cc", n_labels=2, horizon=None).horizon == 10_000
    assert make_policy("ghc-nearest", distance="hull").distance == "nearest"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gch-nearest:0.9", "No policy is named 'gch-nearest'. Did you mean 'ghc-nearest'?"),
        ("generalised-hull:tau=0.9", "Did you mean 'generalized-hull'?"),
        ("zzz", "No policy is named 'zzz'. The names are self-tuning, conservative-hull, generalized-hull, "),
        ("", "No policy is named ''."),
        (":Class", "No policy is named ''."),
        ("..x:Class", "No policy is named '..x'."),
        (
            "ghc:taw=0.9",
            "ghc has no parameter 'taw'. Did you mean 'tau'? It takes tau, distance, space, n_labels, dtype.",
        ),
        ("chc:tau=0.9", "chc has no parameter 'tau'. It takes refine, space, n_labels, dtype."),
        ("skm:5", "Expected parameter=value after skm; found '5'. It takes space, n_labels, labels_given."),
        ("ghc:", "Expected parameter=value after ghc; found ''."),
        ("ghc:tau=", "Expected parameter=value after ghc; found 'tau='."),
        ("ghc:0.9,0.8", "Expected parameter=value after ghc; found '0.8'."),
        ("ghc:0.9,tau=0.8", "tau is set twice in ghc:0.9,tau=0.8"),
        ("ghc-nearest:0.9,distance=hull", "ghc-nearest sets distance=nearest already"),
        ("ghc:1.5", "tau lies in [0, 1]; found 1.5."),
        ("ghc:high", "tau lies in [0, 1]; found 'high'."),
        ("ghc:nan", "tau lies in [0, 1]; found nan."),
        ("chc:refine=no", "refine is True or False; found 'no'."),
        ("chc:refine=1,n_labels=2", "refine is True or False; found 1."),
        ("cc:5,labels_given=yes", "labels_given is True or False; found 'yes'."),
        ("cc:5", "Give n_labels, or labels_given=True"),
        ("ghs:Class", "No policy and no module is named 'ghs'. Did you mean 'ghc'?"),
        ("no.such.module:Class", "No policy and no module is named 'no.such.module'."),
        ("collections:nothing", "The module collections has no class 'nothing'; it holds no policy."),
        (
            "collections:OrderedDict",
            "collections:OrderedDict is no policy: it lacks decide, observe, learn, forget",
        ),
        (
            "askless.policies.base:PolicyBase",
            "askless.policies.base:PolicyBase is no policy: it lacks decide,",
        ),
    ],
)
def test_a_text_that_makes_nothing_is_refused_in_one_sentence_or_two(spec, message):
    with pytest.raises(InvalidInput) as caught:
        make_policy(spec)
    assert message in str(caught.value)


@pytest.mark.parametrize("spec", [None, 3, b"ghc"])
def test_what_is_no_text_is_refused(spec):
    with pytest.raises(InvalidInput, match=r"named by a text such as 'ghc:0\.9'"):
        make_policy(spec)


def test_policy_class_never_imports_a_module_of_the_users(own_module):
    name = own_module("raise SystemExit('imported')")
    for spec in (name, f"{name}:Policy"):
        with pytest.raises(InvalidInput, match="No policy is named"):
            policy_class(spec)
    assert name not in sys.modules


OWN = """
    from askless.policies.generalized_hull import GeneralizedHull

    class Mine(GeneralizedHull):
        def __init__(self, tau, nickname="", **others):
            super().__init__(tau, **others)
            self.nickname = nickname
"""


def test_a_class_of_the_users_own(own_module):
    name = own_module(OWN)
    policy = make_policy(f"{name}:Mine:0.4,nickname=joe", space="euclidean", n_labels=6, horizon=5)
    assert (policy.tau, policy.nickname, policy.space, policy.n_labels) == (0.4, "joe", "euclidean", 6)
    assert spec_name(policy) == f"{name}:Mine"
    assert make_policy(f"{name}:Mine:tau=0.4,distance=nearest").distance == "nearest"
    with pytest.raises(InvalidInput, match=f"{name}:Mine needs a value for tau; write {name}:Mine:tau=value"):
        make_policy(f"{name}:Mine")
    with pytest.raises(InvalidInput, match="has no class 'Mein'; its policies are GeneralizedHull, Mine"):
        make_policy(f"{name}:Mein")


def test_a_module_that_fails_to_import_says_what_it_lacks(own_module):
    name = own_module("import a_library_that_nobody_has")
    with pytest.raises(InvalidInput, match=f"{name} cannot be imported: No module named 'a_library_that_nobody_has'"):
        make_policy(f"{name}:Mine")
    name = own_module("from collections import nothing_of_the_kind", "another_module")
    with pytest.raises(InvalidInput, match="cannot be imported: cannot import name 'nothing_of_the_kind'"):
        make_policy(f"{name}:Mine")


def test_the_table_shows_every_example_with_its_meaning():
    lines = names_table().splitlines()
    assert len(lines) == len(POLICIES) + 1
    for line, named in zip(lines, POLICIES.values(), strict=False):
        assert line.startswith(f"{named.example} ")
        assert line.endswith(named.summary)
        assert len(line) < 110
    assert len({line.index(named.summary) for line, named in zip(lines, POLICIES.values(), strict=False)}) == 1


def test_the_names_load_nothing_heavy():
    code = "import sys, askless.policies.named as n; n.names_table(); print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded = {module.split(".")[0] for module in out.split()}
    assert not loaded & {"numba", "scipy", "matplotlib", "pandas", "sklearn", "rich", "typer"}
    assert "askless.policies.generalized_hull" not in out.split()


def test_every_policy_of_the_table_takes_space_and_the_number_of_labels():
    for named in POLICIES.values():
        parameters = inspect.signature(named.load()).parameters
        assert parameters["space"].default == "sphere"
        assert parameters["n_labels"].default is None
