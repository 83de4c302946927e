"""Embedders by name: `wordllama`, `minilm`, `e5-large`, `sentence-transformers:NAME`, `openai:MODEL`, `vectors:FILE`.

One of your own is `module:Class`. Others come as plug-ins: an installed package that has an entry point of the group
`askless.embedders` adds its name to these. A library is imported when an embedder that needs it is asked for.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from askless.embed.rows import as_embedder
from askless.embed.sentence_transformers import PRESETS, SentenceTransformers, preset
from askless.errors import AsklessError, InvalidInput
from askless.inputs import as_module
from askless.types import Embedder

DEFAULT_EMBEDDER = "wordllama"
GROUP = "askless.embedders"


@dataclass(frozen=True)
class NamedEmbedder:
    """One name: how to write it, what it gives, and the extra of askless that it needs, if any."""

    name: str
    usage: str
    summary: str
    extra: str | None
    make: Callable[[str | None], Embedder]  # from what stands after the colon


def _wordllama(argument: str | None) -> Embedder:
    from askless.embed.wordllama import WordLlama

    if argument is None:
        return WordLlama()
    if not argument.isdecimal():
        raise InvalidInput(f"wordllama takes a dimension of 64, 128 or 256, as in wordllama:128; found {argument!r}.")
    return WordLlama(int(argument))


def _minilm(argument: str | None) -> Embedder:
    from askless.embed.minilm import MiniLM

    if argument is not None:
        raise InvalidInput(f"minilm takes nothing after its name; found {argument!r}. Write minilm.")
    return MiniLM()


def _sentence_transformers(argument: str | None) -> Embedder:
    known = {chosen.model.lower(): name for name, chosen in PRESETS.items()}
    if argument is None:
        raise InvalidInput("sentence-transformers needs a model: sentence-transformers:NAME, or :FOLDER.")
    if argument.lower() in known:  # with the prompt that the model was trained with
        return preset(known[argument.lower()])
    return SentenceTransformers(argument)


def _preset(name: str) -> Callable[[str | None], Embedder]:
    def make(argument: str | None) -> Embedder:
        if argument is not None and not Path(argument).expanduser().is_dir():
            raise InvalidInput(
                f"There is no such folder: {argument!r}. {name} alone fetches its model from the Hugging Face hub, "
                f"{name}:FOLDER reads it from a folder, and sentence-transformers:NAME is for another model."
            )
        return preset(name, argument)

    return make


def _openai(argument: str | None) -> Embedder:
    from askless.embed.openai_api import OpenAIEmbedder

    if argument is None:
        raise InvalidInput("openai needs a model: openai:MODEL, as in openai:text-embedding-3-small.")
    return OpenAIEmbedder(argument)


def _vectors(argument: str | None) -> Embedder:
    from askless.embed.vectors import Vectors

    if argument is None:
        raise InvalidInput("vectors needs a file: vectors:FILE, as in vectors:questions.parquet.")
    return Vectors.read(argument)


_TRANSFORMERS = "sentence-transformers"
EMBEDDERS: dict[str, NamedEmbedder] = {
    named.name: named
    for named in (
        NamedEmbedder(
            "wordllama", "wordllama or wordllama:128", "averaged token vectors; small, fast, offline", None, _wordllama
        ),
        NamedEmbedder("minilm", "minilm", "all-MiniLM-L6-v2, a small transformer; offline", "minilm", _minilm),
        NamedEmbedder(
            "sentence-transformers",
            "sentence-transformers:NAME",
            "any model of the Hugging Face hub, or one in a folder",
            _TRANSFORMERS,
            _sentence_transformers,
        ),
        *(NamedEmbedder(name, name, chosen.summary, _TRANSFORMERS, _preset(name)) for name, chosen in PRESETS.items()),
        NamedEmbedder("openai", "openai:MODEL", "a server that speaks the OpenAI embeddings API", "openai", _openai),
        NamedEmbedder("vectors", "vectors:FILE", "vectors made elsewhere, from a file", None, _vectors),
    )
}


def make_embedder(spec: str = DEFAULT_EMBEDDER, *, texts: Sequence[str] | None = None) -> Embedder:
    """The embedder that a text such as `wordllama:128` or `openai:text-embedding-3-small` describes.

    What stands after the first colon goes to the embedder: a dimension, a model's name, a folder, a file. A name
    that is none of askless's and no plug-in's is a module, `module:Class` or `module:Class:argument`.
    `texts` are the rows of the user's file, in order: `vectors:FILE.npy` needs them, since such a file holds
    none; the others do without.
    """
    if not isinstance(spec, str) or not spec.strip():
        raise InvalidInput(f"An embedder is named by a text such as 'wordllama'; found {spec!r}.")
    name, colon, rest = spec.strip().partition(":")
    argument = rest.strip() if colon else None
    if argument == "":
        raise InvalidInput(f"Nothing stands after the colon of {spec.strip()!r}. {_names()}.")
    key = name.lower().replace("_", "-")
    if key == "vectors" and argument is not None and texts is not None:
        from askless.embed.vectors import Vectors

        return Vectors.read(argument, texts)
    if key in EMBEDDERS:
        return EMBEDDERS[key].make(argument)
    plugins = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name in plugins:
        return _from_plugin(plugins[name], argument)
    close = difflib.get_close_matches(key, [*EMBEDDERS, *plugins], n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    class_name, _, rest = (argument or "").partition(":")
    if class_name.isidentifier() and all(part.isidentifier() for part in name.split(".")):
        return _from_module(name, class_name, rest or None, hint)
    raise InvalidInput(f"No embedder is named {name!r}.{hint} {_names(*plugins)}.")


def _names(*plugins: str) -> str:
    known = ", ".join([*(named.usage for named in EMBEDDERS.values()), *plugins])
    return f"The embedders are {known}; write module:Class for one of your own, or install a plug-in ({GROUP})"


def _from_module(module: str, name: str, argument: str | None, hint: str) -> Embedder:
    """What a class or function of the user's own makes."""
    factory = getattr(as_module(module, "embedder", hint), name, None)
    if factory is None:
        raise InvalidInput(f"The module {module} has no class {name!r}; write module:Class for an embedder in it.")
    return _made(factory, argument, f"{module}:{name}")


def _from_plugin(entry: EntryPoint, argument: str | None) -> Embedder:
    """What the entry point makes, called with what stands after the colon, or with nothing."""
    source = f"The plug-in {entry.name!r} ({entry.value})"
    try:
        factory = entry.load()
    except (ImportError, AttributeError) as error:
        raise InvalidInput(f"{source} cannot be loaded: {error}. Mend or remove its package.") from error
    return _made(factory, argument, source)


def _made(factory: Any, argument: str | None, source: str) -> Embedder:
    """What the class or function `source` makes of what stands after its name."""
    if not callable(factory):
        raise InvalidInput(f"{source} is no class or function that makes an embedder; found {factory!r}.")
    try:
        embedder = factory() if argument is None else factory(argument)
    except AsklessError:
        raise
    except (TypeError, ValueError, OSError, ImportError) as error:
        raise InvalidInput(f"{source} could not be made: {error}.") from error
    return as_embedder(embedder, f"{source} made")
