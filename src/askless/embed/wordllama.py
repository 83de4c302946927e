"""The default embedder: averaged token vectors, small enough that its weights come inside its wheel."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askless.embed.rows import as_texts, encodable
from askless.errors import InvalidInput

_MODEL = "l2_supercat"
_STORED_DIM = 256  # the only weights inside the wheel; smaller dimensions are their first columns
_DIMS = (64, 128, 256)
_TEXTS_AT_ONCE = 1024
_SHORT = 64  # tokens
_LONGEST_BLOCK = 1 << 15  # tokens pooled at once, so that one very long text does not fill the memory


class WordLlama:
    """Unit vectors that average the vectors of a text's tokens. Needs no network and no graphics card.

    A text of which the model knows no token (an empty one, or one of spaces and of signs that it can only
    spell byte by byte) gets a row of NaN: whatever direction it had would say nothing about the text. A
    text's vector does not depend on the texts embedded beside it.
    """

    def __init__(self, dim: int = 256) -> None:
        if dim not in _DIMS:
            raise InvalidInput(f"WordLlama has vectors of 64, 128 or 256 dimensions; found dim={dim!r}.")
        self._dim = int(dim)
        self._tokenizer, self._vectors = _load(self._dim)
        self._known = _known_tokens(self._tokenizer, len(self._vectors))
        self._version = version("wordllama")  # the weights come in the wheel

    @property
    def id(self) -> str:
        """Names model, dimension and the version of its wheel; vectors of different ids never mix."""
        return f"wordllama/{_MODEL}_{self._dim}@{self._version}"

    @property
    def dim(self) -> int:
        """The dimension of its vectors."""
        return self._dim

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, of norm 1; NaN rows where the model knows no token of the text."""
        texts = as_texts(texts)
        rows = np.full((len(texts), self._dim), np.nan, dtype=np.float32)
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            block = [encodable(text) for text in texts[start : start + _TEXTS_AT_ONCE]]
            found = self._tokenizer.encode_batch(block, add_special_tokens=False)
            self._fill(rows[start : start + len(block)], [encoding.ids for encoding in found])
        return rows

    def _fill(self, rows: NDArray[np.float32], spelled: list[list[int]]) -> None:
        """The directions of texts with these tokens; a row without one stays as it is."""
        sizes = np.array([len(tokens) for tokens in spelled], dtype=np.intp)
        order = np.argsort(-sizes, kind="stable")
        for row in order[sizes[order] > _SHORT].tolist():
            tokens = np.array(spelled[row], dtype=np.intp)
            if self._known[tokens].any():
                rows[row] = _units(self._total(tokens)[None])
        short = order[sizes[order] <= _SHORT]
        known, totals = self._totals([spelled[row] for row in short.tolist()], sizes[short])
        rows[short[known]] = _units(totals[known])

    def _totals(
        self, spelled: list[list[int]], sizes: NDArray[np.intp]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Whether a token of each text is known, and the sum of its tokens, for short texts, the longest first.

        First tokens are added together, then second ones, and so on: the sums of `_total`, to the last bit, without
        a call of numpy for each text.
        """
        tokens = np.fromiter(chain.from_iterable(spelled), np.intp, sizes.sum())
        starts, known = np.cumsum(sizes) - sizes, np.zeros(len(spelled), dtype=np.bool_)
        totals = np.zeros((len(spelled), self._dim))
        for k in range(sizes.max(initial=0)):
            count = int(np.searchsorted(-sizes, -k))  # of those with more than k tokens
            there = tokens[starts[:count] + k]
            known[:count] |= self._known[there]
            totals[:count] += self._vectors[there]
        return known, totals

    def _total(self, tokens: NDArray[np.intp]) -> NDArray[np.float64]:
        """The sum of the tokens of a long text."""
        total = np.zeros(self._dim)
        for start in range(0, len(tokens), _LONGEST_BLOCK):
            total += self._vectors[tokens[start : start + _LONGEST_BLOCK]].sum(axis=0, dtype=np.float64)
        return total


def _units(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each sum over its norm; where all tokens cancel out exactly there is no direction either, and NaN."""
    norms = np.array([math.sqrt(total @ total) for total in totals])  # one by one: each depends on its text alone
    with np.errstate(invalid="ignore"):
        found: NDArray[np.float64] = totals / norms[:, None]
    return found


def _load(dim: int) -> tuple[Any, NDArray[np.float32]]:
    """The tokenizer, and one row a token.

    The loader looks for the tokenizer in a folder `tokenizer` of its package, where the package has
    `tokenizers`, and then asks the network; with the package's own folder as cache it finds both files where
    they are.
    """
    with _root_logger_kept():
        import wordllama

        folder = Path(wordllama.__file__).parent
        model = wordllama.WordLlama.load(
            _MODEL, cache_dir=folder, dim=_STORED_DIM, trunc_dim=dim, disable_download=True
        )
    model.tokenizer.no_padding()
    return model.tokenizer, model.embedding


def _known_tokens(tokenizer: Any, size: int) -> NDArray[np.bool_]:
    """Which tokens carry meaning: all but spaces, control tokens, and the bytes that spell unknown signs."""
    known = np.zeros(size, dtype=np.bool_)
    for token, index in tokenizer.get_vocab(with_added_tokens=True).items():
        spelled = token.startswith("<") and token.endswith(">") and len(token) > 2
        if index < size and token.strip("▁ \n\t\r") and not spelled:
            known[index] = True
    return known


@contextmanager
def _root_logger_kept() -> Iterator[None]:
    """Importing wordllama sets up the root logger; a library has no say in that, so it is put back."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers
