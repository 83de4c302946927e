"""The data sets that askless knows: what they are, where they come from, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from askless.datasets import formats
from askless.datasets.fetch import NotFetched, Progress, RemoteFile, fetch, verify
from askless.datasets.folder import data_folder
from askless.datasets.sample import support_questions
from askless.errors import InvalidInput, UnreadableFile

_GITHUB = "https://raw.githubusercontent.com"
_BANKING = f"{_GITHUB}/PolyAI-LDN/task-specific-datasets/master/banking_data"
_HWU = f"{_GITHUB}/xliuhw/NLU-Evaluation-Data/master/AnnotatedData/NLU-Data-Home-Domain-Annotated-All.csv"
_COMQA = "https://qa.mpi-inf.mpg.de/comqa"
_HUB = "https://huggingface.co/datasets"
_FORUMS = {  # the commit of each forum's questions
    "mathematica": "90fceea13679c63fe563ded68f3b6f06e50061de",
    "physics": "79531abbd1fb92d06c6d6315a0cbbbf5bb247ea4",
    "stats": "65ac3a16b8e91f9cee4c9828cc7c335575432a2a",
}
_LINKS = f"{_HUB}/BeIR/cqadupstack-qrels/resolve/13595a9f221256a9a21e91c8b0fed3563382b6a7"
_FORUM_ROWS = {"mathematica": 17_509, "physics": 39_355, "stats": 42_921}


@dataclass(frozen=True, slots=True)
class LabelledTexts:
    """Texts with a label each, and the split each belongs to ("all" where there are none).

    `unlabelled` counts the rows of a user's file that were left out because they have no label that anybody stands for,
    and `remarks` say what else a person should know of how the file was read. A text of such a file may be blank.
    """

    texts: list[str]
    labels: list[str]
    split: list[str]
    name: str
    unlabelled: int = 0
    remarks: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set; `rows` and `labels` are what its makers or the paper count, None where nobody does."""

    name: str
    what: str
    rows: int | None
    labels: int | None
    files: tuple[RemoteFile, ...]
    read: Callable[[Sequence[Path]], formats.Rows]
    licence: str
    home: str
    citation: str

    def paths(self, folder: Path) -> list[Path]:
        """Where its own files belong."""
        return [folder / file.path for file in self.files]

    def prepared(self, folder: Path) -> Path:
        """Where a table of it belongs, which is read in place of its own files: text, label, split."""
        return folder / f"{self.name}.csv"

    def missing(self, folder: Path) -> list[RemoteFile]:
        """The files that are not there; none where the prepared table is."""
        if self.prepared(folder).is_file():
            return []
        return [file for file in self.files if not (folder / file.path).is_file()]


def _support(_: Sequence[Path]) -> formats.Rows:
    texts, labels = support_questions()
    return ((text, label, formats.WHOLE) for text, label in zip(texts, labels, strict=True))


def _forum_files(forum: str) -> tuple[RemoteFile, ...]:
    home = f"{_HUB}/mteb/cqadupstack-{forum}/resolve/{_FORUMS[forum]}"
    return (
        RemoteFile(f"cqadupstack/{forum}/corpus.jsonl", f"{home}/corpus.jsonl"),
        RemoteFile(f"cqadupstack/{forum}/queries.jsonl", f"{home}/queries.jsonl"),
        RemoteFile(f"cqadupstack/{forum}/qrels/test.tsv", f"{_LINKS}/{forum}/test.tsv"),
    )


def _cqadupstack(name: str, forums: Sequence[str], what: str) -> Dataset:
    return Dataset(
        name,
        what,
        sum(_FORUM_ROWS[forum] for forum in forums),
        None,
        tuple(file for forum in forums for file in _forum_files(forum)),
        formats.cqadupstack,
        "CC BY-SA, as Stack Exchange's content; see the licence at its home",
        "http://nlp.cis.unimelb.edu.au/resources/cqadupstack/",
        "D. Hoogeveen, K. Verspoor, T. Baldwin. CQADupStack: a benchmark data set for community question-answering "
        "research. ADCS 2015.",
    )


def _quora(name: str, what: str, labels: int | None, largest: int | None) -> Dataset:
    return Dataset(
        name,
        what,
        None,
        labels,
        (
            RemoteFile(
                "quora/quora_duplicate_questions.tsv",
                "http://qim.fs.quoracdn.net/quora_duplicate_questions.tsv",
                "b3350dbb1d98db1f5abca85d736ba514bf4da253fae53939303d79fe921ec7c8",
            ),
        ),
        partial(formats.quora, largest=largest),
        "Quora's terms of service: not for commercial use",
        "https://quoradata.quora.com/First-Quora-Dataset-Release-Question-Pairs",
        "S. Iyer, N. Dandekar, K. Csernai. First Quora dataset release: question pairs. 2017. Groups as in "
        "W. Réveillard et al. Minimizing human intervention in online classification. AISTATS 2026, appendix F.2.",
    )


_ALL = (
    Dataset(
        "support-questions",
        "questions to a shop and its bank card; comes with askless",
        863,
        33,
        (),
        _support,
        "Apache-2.0, as askless",
        "askless itself",
        "none is needed",
    ),
    Dataset(
        "banking77",
        "customers' questions to a bank",
        13_083,
        77,
        (
            RemoteFile(
                "banking77/train.csv",
                f"{_BANKING}/train.csv",
                "b06e26ac675513959a63135f11b94ea7786ed02da65db93a5650d8838cbc664b",
            ),
            RemoteFile(
                "banking77/test.csv",
                f"{_BANKING}/test.csv",
                "d12d6e3bc4c3103966ae786dc435913c0c563dfa328f5a3646d0e62cfeeb474d",
            ),
        ),
        formats.banking77,
        "CC BY 4.0",
        "https://github.com/PolyAI-LDN/task-specific-datasets",
        "I. Casanueva, T. Temcinas, D. Gerz, M. Henderson, I. Vulic. Efficient intent detection with dual sentence "
        "encoders. NLP for ConvAI at ACL 2020.",
    ),
    Dataset(
        "clinc150",
        "commands to an assistant, with out-of-scope ones (label oos)",
        23_700,
        151,
        (
            RemoteFile(
                "clinc150/data_full.json",
                f"{_GITHUB}/clinc/oos-eval/master/data/data_full.json",
                "36923c3705a59e08fe9c3883d8bc2dd966ef93e22cb78ac41171782a698d56e0",
            ),
        ),
        formats.clinc150,
        "CC BY 3.0",
        "https://github.com/clinc/oos-eval",
        "S. Larson et al. An evaluation dataset for intent classification and out-of-scope prediction. EMNLP 2019.",
    ),
    Dataset(
        "hwu64",
        "commands to a home robot; the 64 intents of the benchmark",
        None,
        64,
        (
            RemoteFile(
                "hwu64/NLU-Data-Home-Domain-Annotated-All.csv",
                _HWU,
                "5f6dbf6d38fc111217924945ac59c554e0b926d5aa836ecdd0d089d2ca48e1d9",
            ),
        ),
        formats.hwu64,
        "CC BY 4.0",
        "https://github.com/xliuhw/NLU-Evaluation-Data",
        "X. Liu, A. Eshghi, P. Swietojanski, V. Rieser. Benchmarking natural language understanding services for "
        "building conversational agents. IWSDS 2019.",
    ),
    _quora("quora", "Quora's pairs as groups of duplicates, two questions or more", None, None),
    _quora("quora-1200", "the 1,200 largest of those, from which the paper picked", 1_200, 1_200),
    Dataset(
        "comqa",
        "questions to WikiAnswers in clusters of paraphrases",
        11_214,
        4_834,
        (
            RemoteFile(
                "comqa/comqa_train.json",
                f"{_COMQA}/comqa_train.json",
                "aa25b2747221a6147737066fa7f8509414a6333e6eebb20d7970fc50166eba9c",
            ),
            RemoteFile(
                "comqa/comqa_dev.json",
                f"{_COMQA}/comqa_dev.json",
                "937f898f996e9a7317d311553cf5b43c4a53e0bb841ae8eed4d8cf15936fbc84",
            ),
            RemoteFile(
                "comqa/comqa_test.json",
                f"{_COMQA}/comqa_test.json",
                "b81e19c4108198781167ddb30d26172571e76cc8e684aabb181537a45e816867",
            ),
        ),
        formats.comqa,
        "not stated; ask at its home",
        "https://qa.mpi-inf.mpg.de/comqa/",
        "A. Abujabal, R. Saha Roy, M. Yahya, G. Weikum. ComQA: a community-sourced dataset for complex factoid "
        "question answering with paraphrase clusters. NAACL 2019.",
    ),
    _cqadupstack("cqadupstack", tuple(_FORUMS), "questions of the three forums below with their duplicates"),
    *(_cqadupstack(f"cqadupstack-{forum}", (forum,), f"questions of the {forum} forum") for forum in _FORUMS),
)
DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in _ALL}


def known_dataset(name: str) -> Dataset:
    """The data set of that name."""
    if name.lower() in DATASETS:
        return DATASETS[name.lower()]
    close = get_close_matches(name.lower(), DATASETS, n=1)
    hint = f"did you mean {close[0]!r}? They are" if close else "they are"
    raise InvalidInput(f"There is no data set {name!r}; {hint} {', '.join(DATASETS)}.")


def fetch_dataset(
    dataset: Dataset, data_dir: Path | None = None, *, force: bool = False, progress: Progress | None = None
) -> list[Path]:
    """Fetch the files of a data set that are not here, or with `force` all of them; those that were fetched."""
    folder = data_folder(data_dir)
    wanted = dataset.files if force else dataset.missing(folder)
    fetched = []
    for k, file in enumerate(wanted, start=1):
        try:
            fetched.append(fetch(file, folder, progress))
        except NotFetched as error:
            rest = ", ".join(f"{other.url} for {(folder / other.path).absolute()}" for other in wanted[k:])
            raise NotFetched(f"{error} After it: {rest}." if rest else str(error)) from error
    return fetched


def load_dataset(name: str, data_dir: Path | None = None) -> LabelledTexts:
    """The texts of a data set that is here, without spaces around them and without blank ones; nothing is fetched."""
    dataset, folder = known_dataset(name), data_folder(data_dir)
    if dataset.files and dataset.prepared(folder).is_file():
        rows = formats.prepared(dataset.prepared(folder))
    else:
        if dataset.missing(folder):
            raise UnreadableFile(_not_here(dataset, folder))
        paths = dataset.paths(folder)
        for path in paths:
            verify(path)
        rows = dataset.read(paths)
    kept = [(text.strip(), label, split) for text, label, split in rows if text.strip()]
    if not kept:
        raise UnreadableFile(f"The data set {dataset.name} in {folder} has no texts; fetch it again with --force.")
    texts, labels, split = (list(column) for column in zip(*kept, strict=True))
    return LabelledTexts(texts, labels, split, dataset.name)


def _not_here(dataset: Dataset, folder: Path) -> str:
    missing = ", ".join(str(folder / file.path) for file in dataset.missing(folder))
    return (
        f"The data set {dataset.name} is not here: expected {missing} (or {dataset.prepared(folder)} with the columns "
        f"text, label and split). Run `askless datasets fetch {dataset.name}`, or name the folder that has it with "
        "--data-dir."
    )
