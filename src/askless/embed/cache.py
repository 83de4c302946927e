"""Vectors on disk, so that no text is embedded twice."""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from askless.embed.cache_file import CacheFile, TracesStay, inode, is_damage, move_aside
from askless.embed.rows import as_embedder, as_texts, checked_rows
from askless.errors import AsklessError, InvalidInput
from askless.types import Embedder

FILE_NAME = "embeddings.sqlite"
VARIABLE = "ASKLESS_CACHE"  # the environment variable that names the folder

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class CacheSize(NamedTuple):
    """What a cache holds: texts by embedder id, and bytes on the disk."""

    texts: dict[str, int]
    bytes: int


class CacheUnusable(AsklessError, OSError):
    """A cache that cannot be opened when that is what matters: to erase from it, or to measure it."""


class EmbeddingCache:
    """Vectors by embedder id and text, in the file `embeddings.sqlite` of a folder.

    The folder is `path`, or what ASKLESS_CACHE names, or the user's cache folder. The file holds the SHA-256 of
    a text, never the text. Any number of processes may share it, and one that is killed does no harm. A damaged
    file is moved aside; where the folder cannot be used everything works without the cache. Each is logged
    once, as a warning.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.folder = _folder(path)
        self._file: CacheFile | None = None
        self._lock = threading.RLock()
        self._unusable: str | None = None
        self._abandoned: list[CacheFile] = []  # of a parent process: neither used nor closed here

    @property
    def path(self) -> Path:
        """The file; its folder is made when the first vector is looked for."""
        return self.folder / FILE_NAME

    def get(self, embedder_id: str, texts: Iterable[str]) -> dict[str, NDArray[np.float32] | None]:
        """The stored vectors of these texts, None for a text of no known token; texts not stored are left out."""
        keys = {_key(text): text for text in texts}
        nothing: dict[bytes, bytes | None] = {}
        found = self._try(lambda file: file.read(embedder_id, list(keys)), nothing)
        return {keys[key]: None if v is None else np.frombuffer(v, dtype="<f4") for key, v in found.items()}

    def put(self, embedder_id: str, vectors: Mapping[str, NDArray[np.float32] | None]) -> None:
        """Store vectors, None for a text of no known token; what is stored already stays."""
        rows = {_key(t): None if v is None else np.asarray(v, dtype="<f4").tobytes() for t, v in vectors.items()}
        self._try(lambda file: file.write(embedder_id, rows), None)

    def dim(self, embedder_id: str) -> int | None:
        """The dimension of this embedder's vectors, where one is stored."""
        width = self._try(lambda file: file.width(embedder_id), None)
        return None if width is None else width // 4

    def forget(self, texts: Iterable[str]) -> int:
        """Erase these texts' vectors, of every embedder, from the disk; the number erased.

        Raises CacheUnusable where that cannot be done: an erasure never fails in silence.
        """
        keys = [_key(text) for text in as_texts(texts if isinstance(texts, str) else list(texts))]
        return self._must(lambda file: file.erase_texts(keys))

    def clear(self, embedder_id: str | None = None) -> int:
        """Erase one embedder's vectors, or all, and give the room back; the number erased."""
        return self._must(lambda file: file.erase_embedder(embedder_id))

    def size(self) -> CacheSize:
        """What the cache holds, and its bytes on the disk."""
        return self._must(lambda file: CacheSize(file.counts(), file.size()))

    def close(self) -> None:
        """Let go of the file; the next call opens it again."""
        with self._lock:
            if self._file is not None and self._file.process == os.getpid():
                self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _try(self, use: Callable[[CacheFile], _T], otherwise: _T) -> _T:
        """The result, or `otherwise` where the cache cannot be used, which is said once."""
        if self._unusable is not None:
            return otherwise
        try:
            return self._mended(use)
        except (sqlite3.Error, OSError) as error:
            self._unusable = str(error)
            _log.warning("The cache %s cannot be used (%s); going on without it. %s", self.path, error, _ELSEWHERE)
            self.close()
            return otherwise

    def _must(self, use: Callable[[CacheFile], _T]) -> _T:
        try:
            return self._mended(use)
        except TracesStay as error:
            raise CacheUnusable(
                f"What was to go from the cache {self.path} is erased, but traces stay in its log while another "
                "process reads it. Erase it again in a moment to remove those too."
            ) from error
        except (sqlite3.Error, OSError) as error:
            raise CacheUnusable(f"The cache {self.path} cannot be used: {error}. {_ELSEWHERE}") from error

    def _mended(self, use: Callable[[CacheFile], _T]) -> _T:
        """The result from the file, or from a new one where the file is damaged."""
        with self._lock:
            found = inode(self.path) if self._file is None else self._file.inode
            try:
                return use(self._opened())
            except sqlite3.Error as error:
                if not is_damage(error):
                    raise
                self.close()
                aside = move_aside(self.path, found)
                if aside is not None:
                    _log.warning(
                        "The cache %s is damaged (%s): moved to %s; a new one is begun.", self.path, error, aside
                    )
                return use(self._opened())

    def _opened(self) -> CacheFile:
        if self._file is not None and self._file.process != os.getpid():
            self._abandoned.append(self._file)
            self._file = None
        if self._file is None:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = CacheFile(self.path)
        return self._file


class CachedEmbedder:
    """An embedder that looks into a cache first. It is an embedder itself, with the same id.

    Vectors of a dimension that differs from the stored ones are refused: the model behind the id has changed. An
    embedder whose attribute `cacheable` is False is asked every time: its vectors are in a file already.
    """

    def __init__(self, embedder: Embedder, cache: EmbeddingCache) -> None:
        self.embedder = as_embedder(embedder)
        self.cache = cache
        self._dim: int | None = None
        self._cacheable = bool(getattr(embedder, "cacheable", True))

    @property
    def id(self) -> str:
        """That of the embedder."""
        return self.embedder.id

    @property
    def dim(self) -> int:
        """The dimension of the stored vectors, or else the embedder's own, which may need a model or a server."""
        if self._dim is None:
            stored = self.cache.dim(self.id) if self._cacheable else None
            self._dim = stored or self.embedder.dim
        return self._dim

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, of norm 1; NaN rows where the model knows no token. Only new texts are embedded."""
        texts = as_texts(texts)
        if not self._cacheable:
            return checked_rows(self.embedder.embed(texts), len(texts), self.dim, self.id)
        known = self.cache.get(self.id, texts)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            made = self._made(new)
            self.cache.put(self.id, made)
            known.update(made)
        rows = np.full((len(texts), self.dim), np.nan, dtype=np.float32)
        for row, text in enumerate(texts):
            vector = known[text]
            if vector is not None:
                rows[row] = vector
        return rows

    def _made(self, texts: list[str]) -> dict[str, NDArray[np.float32] | None]:
        vectors = self.embedder.embed(texts)
        found = np.asarray(vectors).shape
        if found != (len(texts), self.dim) and found == (len(texts), self.embedder.dim):
            raise InvalidInput(
                f"{self.id} gives vectors of {found[1]} dimensions, and the cache holds some of {self.dim}: the model "
                f"behind that name has changed. Erase the old ones with EmbeddingCache().clear({self.id!r}), "
                f"or name another folder in {VARIABLE}."
            )
        rows = checked_rows(vectors, len(texts), self.dim, self.id)
        blank = np.isnan(rows[:, 0])
        return {text: None if blank[row] else rows[row] for row, text in enumerate(texts)}


_ELSEWHERE = f"Name another folder in {VARIABLE}."


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _folder(path: str | os.PathLike[str] | None) -> Path:
    given = path if path is not None else os.environ.get(VARIABLE) or None
    if given is None:
        import platformdirs

        return Path(platformdirs.user_cache_dir("askless", appauthor=False))
    folder = Path(given).expanduser()
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(
            f"The cache is kept in a folder; found the file {str(folder)!r}. Name a folder in {VARIABLE}."
        )
    return folder
