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


@pytest.mark.parametrize("host", ["169.254.0.1", "[fe80::1]", "[::ffff:a9fe:1]"])
def test_a_link_local_address_is_refused(host):
    with pytest.raises(InvalidInput, match="link-local"):
        outbox.checked_url(f"http://{host}/hook")


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "::1", "2001:db8::1", "localhost", ""])
def test_other_addresses_are_none_of_the_link(address):
    assert not outbox.is_link_local(address)


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
