"""Any model of the sentence-transformers library, those of the paper with what each of them needs."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askless.embed.rows import EmbeddingFailed, as_texts, encodable, unit_rows
from askless.errors import InvalidInput, MissingExtra

POOLINGS = ("mean", "cls", "lasttoken")
_SECONDS = 10.0  # for the hub's first answer
_AT_ONCE = 32  # texts that go through the network together; sentence-transformers sorts them by length first


@dataclass(frozen=True)
class Preset:
    """A model with the prompt and the pooling that its card asks for."""

    model: str
    prompt: str
    pooling: str
    dim: int
    summary: str


# The paper's three models (its appendix on text embedding models). All are compared by cosine, hence unit vectors.
PRESETS = {
    # The card: every text starts with "query: " or "passage: ", and "query: " where nothing is retrieved; the mean
    # over the tokens; the first 512 of them. The paper names no prompt.
    "e5-large": Preset("intfloat/e5-large", "query: ", "mean", 1024, "the paper's E5; English, 335 M parameters"),
    # The card: every text starts with its task, here "clustering: " as in the paper; the mean over the tokens. The
    # card also asks to run code from the hub; transformers has the architecture itself since, and runs that.
    "nomic": Preset(
        "nomic-ai/nomic-embed-text-v1", "clustering: ", "mean", 768, "the paper's Nomic; English, 137 M parameters"
    ),
    # The card: an instruction before the text; the last token, which its tokenizer makes the end-of-text sign; at
    # most 4,096 tokens. The instruction is the paper's.
    "mistral-e5": Preset(
        "intfloat/e5-mistral-7b-instruct",
        "Instruct: Given a web search query, retrieve relevant search queries that paraphrase the query.\nQuery: ",
        "lasttoken",
        4096,
        "the paper's Mistral-E5; 7 B parameters, wants a graphics card with 16 GB or more",
    ),
}


class SentenceTransformers:
    """Unit vectors of a transformer: a folder that holds one, or a name on the Hugging Face hub.

    `prompt` is put before every text; without it the model's own default prompt is, if it has one. `pooling` (mean,
    cls or lasttoken) makes one vector out of those of the tokens; without it the model's own is used. Texts longer
    than the model takes are cut off there. A text without a single known token (an empty one, or one of signs the
    tokenizer does not know) gets a row of NaN, whatever the prompt. Code that comes with a model is never run.

    The id names the model, its version (the hub's commit, or a digest of the folder's files), pooling and prompt.
    """

    def __init__(
        self,
        name: str | os.PathLike[str],
        *,
        prompt: str | None = None,
        pooling: str | None = None,
        revision: str | None = None,
        device: str | None = None,
    ) -> None:
        if pooling is not None and pooling not in POOLINGS:
            raise InvalidInput(f"pooling is one of {', '.join(POOLINGS)}; found {pooling!r}.")
        self._model = _load(os.fspath(name), revision, device)
        self._pooling = _pooled(self._model, pooling)
        self._prompt = _default_prompt(self._model) if prompt is None else prompt
        self._dim = int(self._model.get_embedding_dimension())
        self._name, self._revision = os.fspath(name), revision
        self._id: str | None = None

    @property
    def id(self) -> str:
        """Names model, version, pooling and prompt; vectors of different ids never mix."""
        if self._id is None:  # not before it is asked for: a folder's files are read for it
            self._id = _identity(self._name, self._revision, self._pooling, self._prompt)
        return self._id

    @property
    def dim(self) -> int:
        """The dimension of its vectors."""
        return self._dim

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, of norm 1; NaN rows where the model knows no token of the text."""
        texts = [encodable(text) for text in as_texts(texts)]
        rows = np.full((len(texts), self._dim), np.nan, dtype=np.float32)
        known = [row for row, text in enumerate(texts) if self._knows(text)]
        if known:
            rows[known] = unit_rows(
                self._model.encode(
                    [texts[row] for row in known],
                    prompt=self._prompt,
                    batch_size=_AT_ONCE,
                    show_progress_bar=False,
                    convert_to_numpy=True,
                )
            )
        return rows

    def _knows(self, text: str) -> bool:
        """Whether one token of the text is neither unknown nor a mark of the tokenizer's own."""
        if not text.strip():
            return False
        tokenizer = self._model.tokenizer
        nothing = {*tokenizer.all_special_ids, tokenizer.unk_token_id}
        most = self._model.max_seq_length
        cut = {"truncation": True, "max_length": most} if most else {}
        return not nothing.issuperset(tokenizer(text, add_special_tokens=False, verbose=False, **cut)["input_ids"])


def preset(name: str, model: str | None = None) -> SentenceTransformers:
    """One of `PRESETS`; `model` names another model or folder that is used in the same way."""
    chosen = PRESETS[name]
    return SentenceTransformers(model or chosen.model, prompt=chosen.prompt, pooling=chosen.pooling)


def _load(name: str, revision: str | None, device: str | None) -> Any:
    """The model of a folder; or that of the hub, from this machine where it was fetched before, else fetched now."""
    if not name.strip():
        raise InvalidInput("Expected a model's name or folder, as in sentence-transformers:intfloat/e5-base-v2.")
    library = _library()
    folder = Path(name).expanduser()
    is_folder = folder.exists() or name.startswith((".", "/", "~", "\\"))
    if is_folder and not any((folder / file).exists() for file in ("modules.json", "config.json")):
        raise EmbeddingFailed(f"No model is in {name!r}: a folder with modules.json or config.json was expected.")
    from safetensors import SafetensorError

    # The libraries have no error of their own: what a missing or broken model raises depends on where they stop.
    failures = (OSError, ValueError, RuntimeError, ImportError, KeyError, AttributeError, TypeError, SafetensorError)
    options = {"revision": revision, "device": device, "trust_remote_code": False}
    with _quiet():
        try:
            return library.SentenceTransformer(str(folder) if is_folder else name, local_files_only=True, **options)
        except failures as error:
            if is_folder:
                raise EmbeddingFailed(f"The model in {name!r} cannot be loaded: {_first_line(error)}") from error
        try:
            _ask_hub(name, revision)
            return library.SentenceTransformer(name, **options)
        except failures as error:
            written = next((p for p, chosen in PRESETS.items() if chosen.model == name), "sentence-transformers")
            raise EmbeddingFailed(
                f"The model {name!r} is not on this machine and cannot be fetched: {_first_line(error)} "
                f"Check the name; without a network, run `hf download {name} --local-dir FOLDER` where there is "
                f"one and write {written}:FOLDER, or use wordllama or minilm."
            ) from error


def _ask_hub(name: str, revision: str | None) -> None:
    """Make sure that the hub has the model: this fails at once where loading it would try for minutes."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    try:
        HfApi().model_info(name, revision=revision, timeout=_SECONDS)
    except RepositoryNotFoundError as error:
        raise OSError("the Hugging Face hub has no public model of that name.") from error
    except HfHubHTTPError.__bases__ as error:  # the roots of what the HTTP library and the system raise
        raise OSError(f"the Hugging Face hub cannot be reached ({_first_line(error)[:-1]}).") from error


def _library() -> Any:
    try:
        with _quiet():
            import sentence_transformers
    except ImportError as error:
        if error.name not in ("sentence_transformers", "torch", "transformers"):
            raise EmbeddingFailed(f"sentence-transformers is installed, but cannot be imported: {error}.") from error
        raise MissingExtra(
            "This embedder needs sentence-transformers, which is not installed: "
            "pip install 'askless[sentence-transformers]'"
        ) from None
    return sentence_transformers


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the libraries' bars and advice off the terminal while a model is loaded; their settings are put back."""
    try:
        from transformers.utils import logging as noise
    except ImportError:
        yield
        return
    hub = logging.getLogger("huggingface_hub")
    shown, level, hub_level = noise.is_progress_bar_enabled(), noise.get_verbosity(), hub.level
    noise.disable_progress_bar()
    noise.set_verbosity_error()
    hub.setLevel(logging.ERROR)
    try:
        yield
    finally:
        hub.setLevel(hub_level)
        noise.set_verbosity(level)
        if shown:
            noise.enable_progress_bar()


def _pooled(model: Any, wanted: str | None) -> str:
    """The name of the model's pooling, which is `wanted` from now on where that is given."""
    for index, module in enumerate(model):
        if hasattr(module, "pooling_mode"):
            if wanted is not None and module.pooling_mode != wanted:
                model[index] = type(module)(module.embedding_dimension, wanted)
            mode = model[index].pooling_mode
            return mode if isinstance(mode, str) else "+".join(mode)
    if wanted is not None:
        raise InvalidInput(f"This model makes its vectors without pooling tokens; found pooling={wanted!r}.")
    return "own"


def _default_prompt(model: Any) -> str:
    name = model.default_prompt_name
    return "" if name is None else str(model.prompts.get(name, ""))


def _identity(name: str, revision: str | None, pooling: str, prompt: str) -> str:
    folder = Path(name).expanduser()
    if folder.is_dir():
        title, version = folder.resolve().name, _digest_of_files(folder)
    else:
        title, version = name, _commit(name, revision)
    parts = [f"sentence-transformers/{title}@{version[:12]}", pooling]
    if prompt:
        parts.append(f"prompt-{hashlib.sha256(prompt.encode()).hexdigest()[:8]}")
    return ":".join(parts)


def _commit(name: str, revision: str | None) -> str:
    """The commit of the hub that the files on this machine came from: the name of their folder."""
    from huggingface_hub import try_to_load_from_cache

    for file in ("config.json", "modules.json"):
        found = try_to_load_from_cache(name, file, revision=revision)
        if isinstance(found, str):
            return Path(found).parent.name
    raise EmbeddingFailed(f"The version of {name!r} is not known: its files are not where the hub's client keeps them.")


def _digest_of_files(folder: Path) -> str:
    """A digest of what decides the vectors: every file but the documents, by name and content."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_file() and path.suffix.lower() != ".md" and not any(part.startswith(".") for part in inside.parts):
            with path.open("rb") as file:
                total.update(f"{inside.as_posix()}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()


def _first_line(error: BaseException) -> str:
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return line if line.endswith((".", "!", "?")) else f"{line}."
