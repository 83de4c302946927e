"""Which URLs and kinds a webhook may have."""

from __future__ import annotations

import pytest

from askless.errors import InvalidInput
from askless.service import outbox


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "https://hooks.example.com:8443/a/b?c=d&e=%20#f",
        "http://127.0.0.1:65535/hook",
        "http://[::1]:8080/hook",
        "https://a",
        "https://example.com?x",
    ],
)
def test_a_plain_address_is_taken(url):
    assert outbox.checked_url(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com/hook",
        "ftp://example.com/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://",
        "http:///path",
        "http://user:password@example.com/",
        "http://example.com:0/",
        "http://example.com:65536/",
        "http://example.com:99999999/",
        "http://exa mple.com/",
        "http://example.com/a b",
        "http://example.com/\n",
        "http://example.com/\r\nX-Evil: 1",
        "http://bücher.example/",
        "http://example.com/" + "a" * 2_000,
    ],
)
def test_anything_else_is_refused_in_a_sentence(url):
    with pytest.raises(InvalidInput, match="begins with http:// or https://"):
        outbox.checked_url(url)
