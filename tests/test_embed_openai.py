"""The OpenAI embeddings API, against a real server on this machine that behaves well, and badly."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from askless.embed.named import make_embedder
from askless.embed.openai_api import OpenAIEmbedder
from askless.embed.rows import EmbeddingFailed
from askless.embed.run import embed_texts
from askless.errors import InvalidInput

pytest.importorskip("openai", reason="needs the extra openai: pip install 'askless[openai]'")

DIM = 5


def vector_of(text: str, dim: int = DIM) -> list[float]:
    """What the server says of a text: of a norm other than 1."""
    return [float(x) for x in np.random.default_rng(list(text.encode())).normal(size=dim) * 3.0]


def unit(text: str, dim: int = DIM) -> np.ndarray:
    vector = np.array(vector_of(text, dim))
    return vector / np.linalg.norm(vector)


class Server(ThreadingHTTPServer):
    """Answers as the API does; `script` holds what to do instead in the next requests, one function each."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.requests, self.most, self.longest = [], [], 10**9, 10**9

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def batches(self) -> list[list[str]]:
        return [body["input"] for _, body, _ in self.requests]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, body, {k.lower(): v for k, v in self.headers.items()}))
        if self.server.script:
            act = self.server.script[0] if self.server.script[0].__name__ == "forever" else self.server.script.pop(0)
            act(self, body)
        elif len(body["input"]) > self.server.most:
            self.fail(413, "batch size is too large")
        elif any(len(text) > self.server.longest for text in body["input"]):
            self.fail(400, "This model's maximum context length is 8192 tokens.")
        else:
            self.answer(body, [vector_of(text, body.get("dimensions", DIM)) for text in body["input"]])

    def answer(self, body, vectors, order=None):
        items = [{"object": "embedding", "index": n, "embedding": v} for n, v in enumerate(vectors)]
        items = items if order is None else [items[n] for n in order]
        self.send(200, {"object": "list", "data": items, "model": body["model"], "usage": {"prompt_tokens": 1}})

    def fail(self, status, message, code=None, **headers):
        error = {"message": message, "type": "error", "param": None, "code": code}
        self.send(status, {"error": error}, **headers)

    def send(self, status, content, **headers):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if isinstance(content, bytes) else "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    monkeypatch.setenv("OPENAI_BASE_URL", server.address)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def do(status, message="no", code=None, **headers):
    return lambda handler, body: handler.fail(status, message, code, **headers)


def give(vectors):
    return lambda handler, body: handler.answer(body, vectors)


def always(act):
    def forever(handler, body):
        act(handler, body)

    return forever


# -- as it should be ----------------------------------------------------------------------------------------


def test_rows_are_the_servers_vectors_over_their_norm(server):
    embedder = make_embedder("openai:my-model:latest")
    texts = ["one", "two 🦄", "مرحبا", "one"]
    rows = embedder.embed(texts)
    assert rows.dtype == np.float32
    assert np.allclose(rows, [unit(text) for text in texts], atol=1e-6)
    assert embedder.dim == DIM
    assert embedder.id == f"openai/my-model:latest@127.0.0.1:{server.server_port}"
    ((path, body, headers),) = server.requests
    assert (path, body["model"], body["encoding_format"]) == ("/v1/embeddings", "my-model:latest", "float")
    assert "dimensions" not in body
    assert headers["authorization"] == "Bearer a-key"


def test_blank_texts_are_not_sent(server):
    rows = make_embedder("openai:m").embed(["", "one", " \n\t", "\ud800", "a\ud800", "two"])
    assert server.batches == [["one", "a", "two"]]
    assert np.isnan(rows).all(axis=1).tolist() == [True, False, True, True, False, False]
    assert np.allclose(rows[[1, 4, 5]], [unit("one"), unit("a"), unit("two")], atol=1e-6)


def test_blank_texts_alone_and_no_texts_still_have_a_dimension(server):
    assert make_embedder("openai:m").embed([""]).shape == (1, DIM)
    assert embed_texts(make_embedder("openai:m"), []).shape == (0, DIM)
    assert all(text.strip() for batch in server.batches for text in batch)


def test_an_order_of_the_servers_own_is_put_right(server):
    server.script.append(lambda handler, body: handler.answer(body, [vector_of(t) for t in body["input"]], [2, 0, 1]))
    assert np.allclose(make_embedder("openai:m").embed(["a", "b", "c"]), [unit("a"), unit("b"), unit("c")], atol=1e-6)


def test_batches_are_bounded_by_count_and_by_size(server):
    texts = [f"text {n}" for n in range(600)] + ["x" * 150_000, "y" * 150_000, "é" * 120_000, "short"]
    rows = make_embedder("openai:m").embed(texts)
    assert np.allclose(rows, [unit(text) for text in texts], atol=1e-6)
    assert [text for batch in server.batches for text in batch] == texts
    assert max(len(batch) for batch in server.batches) <= 256
    assert all(sum(len(t.encode()) for t in batch) <= 200_000 for batch in server.batches if len(batch) > 1)
    assert len(server.batches) <= 7


def test_a_server_that_takes_small_batches_only_gets_them(server):
    server.most = 32
    texts = [f"text {n}" for n in range(200)]
    assert np.allclose(make_embedder("openai:m").embed(texts), [unit(text) for text in texts], atol=1e-6)
    assert sum(len(batch) for batch in server.batches if len(batch) <= 32) == 200


def test_dimensions_are_asked_for_and_named_in_the_id(server):
    embedder = OpenAIEmbedder("m", dimensions=3)
    assert (embedder.id.rpartition(":")[2], embedder.dim) == ("3", 3)
    assert np.allclose(embedder.embed(["a"]), [unit("a", 3)], atol=1e-6)
    assert server.requests[0][1]["dimensions"] == 3


def test_a_server_of_ones_own_needs_no_key(server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    assert make_embedder("openai:m").embed(["a"]).shape == (1, DIM)


# -- passing trouble ----------------------------------------------------------------------------------------


def test_429_then_success_waits_as_long_as_the_server_says(server):
    server.script.append(do(429, "slow down", Retry_After="1"))
    start = time.monotonic()
    assert np.allclose(make_embedder("openai:m").embed(["a"]), [unit("a")], atol=1e-6)
    assert 0.9 < time.monotonic() - start < 6.0
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [500, 503, 408])
def test_an_error_of_the_server_then_success(server, status):
    server.script.append(do(status))
    assert np.allclose(make_embedder("openai:m").embed(["a"]), [unit("a")], atol=1e-6)
    assert len(server.requests) == 2


def test_a_timeout_then_success(server):
    server.script.append(lambda handler, body: time.sleep(1.0))
    assert np.allclose(OpenAIEmbedder("m", timeout=0.4).embed(["a"]), [unit("a")], atol=1e-6)
    assert len(server.requests) == 2


# -- lasting trouble ----------------------------------------------------------------------------------------


def refusal(act, server, texts=("a",), **options) -> str:
    server.script.append(always(act))
    with pytest.raises(EmbeddingFailed) as found:
        OpenAIEmbedder("m", **({"retries": 1} | options)).embed(list(texts))
    assert "\n" not in str(found.value)
    return str(found.value)


def test_a_quota_that_is_used_up(server):
    start = time.monotonic()
    says = refusal(do(429, "You exceeded your current quota", "insufficient_quota"), server, retries=6)
    assert "refuses more requests (429)" in says
    assert "You exceeded your current quota" in says
    assert "quota of the account" in says
    assert len(server.requests) == 1  # no pause mends it
    assert time.monotonic() - start < 2.0


@pytest.mark.parametrize("content", [b"<html>slow down</html>", {"error": "slow"}, [1], {"error": {"code": None}}])
def test_any_other_429_is_passing(server, content):
    server.script.append(lambda handler, body: handler.send(429, content))
    assert np.allclose(make_embedder("openai:m").embed(["a"]), [unit("a")], atol=1e-6)
    assert len(server.requests) == 2


def test_a_wrong_key(server):
    says = refusal(do(401, "Incorrect API key provided"), server)
    assert "refused the key" in says
    assert "OPENAI_API_KEY" in says
    assert "a-key" not in says
    assert len(server.requests) == 1


def test_an_unknown_model(server):
    says = refusal(do(404, "model 'm' not found"), server)
    assert "has no model 'm'" in says
    assert "OPENAI_BASE_URL" in says


def test_a_text_that_is_too_long_is_named(server):
    server.longest = 100
    texts = [f"text {n}" for n in range(50)] + ["parcel " * 50] + ["last"]
    with pytest.raises(EmbeddingFailed, match=r"refused the text 'parcel parcel .* of 350 characters: .*8192 tokens"):
        OpenAIEmbedder("m").embed(texts)


def test_a_server_that_does_not_answer(server):
    says = refusal(lambda handler, body: time.sleep(0.6), server, timeout=0.2)
    assert "did not answer in time (tried 2 times)" in says


def test_a_server_that_is_not_there(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://someone:secret@127.0.0.1:9/v1")
    embedder = OpenAIEmbedder("m", retries=0)
    assert embedder.id == "openai/m@127.0.0.1:9"
    with pytest.raises(EmbeddingFailed, match=r"127\.0\.0\.1:9 cannot be reached: .*refused.*OPENAI_BASE_URL") as found:
        embedder.embed(["a"])
    assert "secret" not in str(found.value)


def test_a_server_that_fails_for_ever(server):
    assert "gave no vectors: " in refusal(do(500, "out of memory"), server)


@pytest.mark.parametrize(
    ("vectors", "says"),
    [
        ([[1.0, 2.0]], "gave 1 vectors for 2 texts"),
        ([[1.0, 2.0]] * 3, "gave 3 vectors for 2 texts"),
        ([[1.0, 2.0], [1.0, 2.0, 3.0]], "a vector of 3 dimensions for m; expected 2"),
        ([[1.0, 2.0], [float("nan"), 1.0]], "zeros, NaN or infinity"),
        ([[1.0, 2.0], [float("inf"), 1.0]], "zeros, NaN or infinity"),
        ([[1.0, 2.0], [0.0, 0.0]], "zeros, NaN or infinity"),
        ([[], []], "an empty vector for m; expected finite numbers"),
        ([[1.0, 2.0], []], "an empty vector for m; expected finite numbers"),
    ],
)
def test_replies_that_are_not_what_was_asked_for(server, vectors, says):
    assert says in refusal(give(vectors), server, ["a", "b"])


def test_a_dimension_that_changes_between_requests(server):
    embedder = OpenAIEmbedder("m")
    embedder.embed(["a"])
    server.script.append(give([[1.0] * 7]))
    with pytest.raises(EmbeddingFailed, match=r"7 dimensions for m; expected 5, as before"):
        embedder.embed(["b"])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"<html>a page</html>", "OPENAI_BASE_URL"),
        ({"error": "none"}, "OPENAI_BASE_URL"),
        ([1, 2], "OPENAI_BASE_URL"),
        ({"data": "x"}, "OPENAI_BASE_URL"),
        ({"data": ["x"]}, "OPENAI_BASE_URL"),
        ({"data": [{"index": 0, "embedding": ["x"]}]}, "OPENAI_BASE_URL"),
        ({"data": []}, "0 vectors for 1 texts"),
        ({"data": [{"embedding": [1.0]}]}, "numbered them wrongly"),
        ({"data": [{"index": 0, "embedding": [1.0, None]}]}, "zeros, NaN or infinity"),
    ],
)
def test_an_answer_that_holds_no_vectors(server, content, says):
    assert says in refusal(lambda handler, body: handler.send(200, content), server)


# -- settings -----------------------------------------------------------------------------------------------


def test_openai_itself_wants_a_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(EmbeddingFailed, match=r"set OPENAI_API_KEY.*OPENAI_BASE_URL"):
        make_embedder("openai:text-embedding-3-small")
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    assert make_embedder("openai:text-embedding-3-small").id == "openai/text-embedding-3-small@api.openai.com"


def test_settings_that_cannot_be(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:11434")
    with pytest.raises(InvalidInput, match=r"such as http://localhost:11434/v1; found 'localhost:11434'"):
        make_embedder("openai:m")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:11434/v1")
    with pytest.raises(InvalidInput, match="at least 1; found 0"):
        OpenAIEmbedder("m", dimensions=0)
    with pytest.raises(InvalidInput, match="model's name"):
        OpenAIEmbedder(" ")
