"""Vectors from a server that speaks the OpenAI embeddings API: OpenAI's own, or one of yours."""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from askless.embed.rows import EmbeddingFailed, as_texts, encodable, excerpt, unit_rows
from askless.errors import InvalidInput, MissingExtra

_OPENAI = "https://api.openai.com/v1"
_MOST_TEXTS = 256  # in one request; OpenAI takes 2,048, others fewer, and a batch that is refused is halved
_MOST_BYTES = 200_000  # in one request; a token has a byte or more, and OpenAI takes 300,000 tokens
_TOO_MUCH = (400, 413, 422)  # what servers answer to a batch, or a text, that is too long
_PROBE = "askless"  # the text that finds the dimension out where there is no other
_NO_KEY = "none"  # a server of one's own needs no key, but the client wants one to send


class OpenAIEmbedder:
    """Unit vectors of `model`, from the server whose address is in OPENAI_BASE_URL (OpenAI's where it is not set).

    The key is read from OPENAI_API_KEY. Texts go out in batches; a request that fails for a passing reason (429,
    5xx, no answer in time) is sent again up to `retries` times, after the pause that the server asks for or a
    growing one; not so where the quota of the account is used up, which no pause mends. Blank texts are not sent,
    since servers refuse them: they get rows of NaN. `dimensions` asks for shorter vectors, of models that have them.

    The id names the model and the server's host: the same name may mean other weights elsewhere.
    """

    def __init__(
        self,
        model: str,
        *,
        dimensions: int | None = None,
        base_url: str | None = None,
        timeout: float = 60.0,
        retries: int = 6,
    ) -> None:
        if not isinstance(model, str) or not model.strip():
            raise InvalidInput(f"Expected a model's name, as in openai:text-embedding-3-small; found {model!r}.")
        if dimensions is not None and dimensions < 1:
            raise InvalidInput(f"dimensions is the length of the vectors, at least 1; found {dimensions!r}.")
        self.model = model
        self._asked = dimensions
        self._dim = dimensions
        self._address = base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI
        self._host = _host(self._address)
        self._client = _client(self._address, timeout, retries)
        weakref.finalize(self, self._client.close)  # what the client does itself where it makes its own connections

    @property
    def id(self) -> str:
        """Names the model, the server's host, and the dimension where one was asked for."""
        return f"openai/{self.model}@{self._host}" + ("" if self._asked is None else f":{self._asked}")

    @property
    def dim(self) -> int:
        """The dimension of its vectors; found out by a request where no text was embedded yet."""
        if self._dim is None:
            (probe,) = self._split([_PROBE])
            self._dim = probe.shape[1]
        return self._dim

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, of norm 1; NaN rows for blank texts."""
        texts = [encodable(text) for text in as_texts(texts)]
        sent = [row for row, text in enumerate(texts) if text.strip()]
        made = [vectors for batch in _batches(texts, sent) for vectors in self._split([texts[row] for row in batch])]
        rows = np.full((len(texts), self.dim), np.nan, dtype=np.float32)
        if made:
            rows[sent] = np.vstack(made)
        return rows

    def _split(self, texts: list[str]) -> Iterator[NDArray[np.float32]]:
        """The vectors of a batch; one that the server refuses is sent in halves, down to the text it refuses."""
        import openai

        try:
            yield self._vectors(texts)
            return
        except openai.APIStatusError as error:
            if error.status_code not in _TOO_MUCH or len(texts) == 1:
                self._explain(error, texts)
        half = len(texts) // 2
        yield from self._split(texts[:half])
        yield from self._split(texts[half:])

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        """One request."""
        import openai

        more = {} if self._asked is None else {"dimensions": self._asked}
        try:
            reply = self._client.embeddings.create(model=self.model, input=texts, encoding_format="float", **more)
        except openai.APIStatusError:
            raise
        except (openai.OpenAIError, ValueError) as error:  # ValueError: an answer that is no JSON, or has no vectors
            self._explain(error, texts)
        return self._checked(reply, len(texts))

    def _checked(self, reply: Any, count: int) -> NDArray[np.float32]:
        """The reply's vectors in the order of the texts, whatever order the server gave them in."""
        data = getattr(reply, "data", None)
        items = data if isinstance(data, list) else []
        found: dict[Any, Any] = {getattr(item, "index", None): getattr(item, "embedding", None) for item in items}
        if not isinstance(data, list) or not all(_is_vector(vector) for vector in found.values()):
            raise EmbeddingFailed(f"{self._host} answered with something other than vectors. {self._check_address()}")
        if len(items) != count or set(found) != set(range(count)):
            raise EmbeddingFailed(
                f"{self._host} gave {len(items)} vectors for {count} texts, or numbered them wrongly; expected one for "
                "each. The server does not keep to the OpenAI API: try another version of it."
            )
        vectors = [found[index] for index in range(count)]
        if not all(vectors):
            raise EmbeddingFailed(
                f"{self._host} gave an empty vector for {self.model}; expected finite numbers. Look into the server's "
                "log, and whether the model is one that embeds."
            )
        wrong = next((len(v) for v in vectors if len(v) != (self._dim or len(vectors[0]))), None)
        if wrong is not None:
            raise EmbeddingFailed(
                f"{self._host} gave a vector of {wrong} dimensions for {self.model}; expected "
                f"{self._dim or len(vectors[0])}, as before. Its model was exchanged, or does not take `dimensions`."
            )
        rows = unit_rows(np.array(vectors, dtype=np.float64))
        if np.isnan(rows).any():
            raise EmbeddingFailed(
                f"{self._host} gave a vector of zeros, NaN or infinity for {self.model}; expected finite numbers. "
                "Look into the server's log; models in half precision are known to overflow."
            )
        self._dim = rows.shape[1]
        return rows

    def _explain(self, error: Exception, texts: list[str]) -> NoReturn:
        """Raise what the client's error means, and what to do."""
        import openai

        said = " ".join(str(getattr(error, "message", error)).split())
        said = re.sub(r"^Error code: \d+ - ", "", said)[:300].rstrip(".")
        if isinstance(error, openai.APITimeoutError):
            hint = f"{self._host} did not answer in time (tried {self._client.max_retries + 1} times). Try again later."
        elif isinstance(error, openai.APIConnectionError):
            hint = f"{self._host} cannot be reached: {error.__cause__ or said}. {self._check_address()}"
        elif isinstance(error, openai.RateLimitError):
            hint = f"{self._host} refuses more requests (429): {said}. Wait, or see to the quota of the account."
        elif isinstance(error, (openai.AuthenticationError, openai.PermissionDeniedError)):
            hint = f"{self._host} refused the key: {said}. Set OPENAI_API_KEY to one that may use {self.model}."
        elif isinstance(error, openai.NotFoundError):
            hint = f"{self._host} has no model {self.model!r}, or not at this address: {said}. {self._check_address()}"
        elif isinstance(error, openai.APIStatusError) and error.status_code in _TOO_MUCH:
            hint = (
                f"{self._host} refused the text {excerpt(texts[0])} of {len(texts[0]):,} characters: {said}. "
                "If it is too long, shorten it, or use a model that takes longer texts."
            )
        else:
            hint = f"{self._host} gave no vectors: {said}. {self._check_address()}"
        raise EmbeddingFailed(hint) from error

    def _check_address(self) -> str:
        return f"The address is {_without_password(self._address)} (OPENAI_BASE_URL); it ends in /v1 on most servers."


def _client(address: str, timeout: float, retries: int) -> Any:
    try:
        import openai
    except ImportError:
        raise MissingExtra("openai:MODEL needs openai, which is not installed: pip install 'askless[openai]'") from None
    key = os.environ.get("OPENAI_API_KEY")
    if not key and address == _OPENAI:
        raise EmbeddingFailed(
            "OpenAI wants a key: set OPENAI_API_KEY. For a server of your own set OPENAI_BASE_URL, "
            "as in http://localhost:11434/v1."
        )
    http = openai.DefaultHttpxClient(event_hooks={"response": [_stop_at_a_used_up_quota]})
    return openai.OpenAI(
        base_url=address, api_key=key or _NO_KEY, timeout=timeout, max_retries=retries, http_client=http
    )


def _stop_at_a_used_up_quota(response: Any) -> None:
    """Mark a refusal that waiting does not cure: to the client each 429 looks like too many requests at a time."""
    if response.status_code != 429:
        return
    response.read()
    try:
        error = response.json()["error"]
        causes = {str(error.get("code")), str(error.get("type"))}
    except (ValueError, LookupError, TypeError, AttributeError):  # not as OpenAI says it
        return
    if "insufficient_quota" in causes:
        response.headers["x-should-retry"] = "false"  # which the client obeys


def _is_vector(value: object) -> bool:
    return isinstance(value, list) and all(x is None or isinstance(x, (int, float)) for x in value)


def _host(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(
            f"OPENAI_BASE_URL is an address such as http://localhost:11434/v1; found {_without_password(address)!r}."
        )
    return parts.netloc.rpartition("@")[2].lower()


def _without_password(address: str) -> str:
    scheme, slashes, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{slashes}{host.rpartition('@')[2]}{slash}{path.partition('?')[0]}"


def _batches(texts: list[str], rows: list[int]) -> Iterator[list[int]]:
    """The rows in runs that one request may hold: by count and by bytes; a longer text goes alone."""
    batch: list[int] = []
    size = 0
    for row in rows:
        length = len(texts[row].encode("utf-8"))
        if batch and (len(batch) == _MOST_TEXTS or size + length > _MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += length
    if batch:
        yield batch
