"""The signature of webhooks, against values computed by another program and against forgeries."""

from __future__ import annotations

import subprocess

import pytest

from askless.client import verify_signature
from askless.client.signature import sign

SECRET, BODY, AT = "whsec-0123456789abcdef", '{"id":1,"text":"Grüße\u2028"}'.encode(), 1_700_000_000


def test_what_is_signed_is_verified():
    assert verify_signature(SECRET, sign(SECRET, BODY, AT), BODY, now=AT)


def test_the_signature_is_that_of_openssl():
    message = str(AT).encode() + b"." + BODY
    said = subprocess.run(
        ["openssl", "dgst", "-sha256", "-hmac", SECRET], input=message, capture_output=True, check=True
    ).stdout.decode()
    assert sign(SECRET, BODY, AT) == f"t={AT},v1={said.split()[-1]}"


def test_another_body_secret_or_time_is_refused():
    header = sign(SECRET, BODY, AT)
    assert not verify_signature(SECRET, header, BODY + b" ", now=AT)
    assert not verify_signature(SECRET + "x", header, BODY, now=AT)
    assert not verify_signature(SECRET, header.replace(str(AT), str(AT + 1)), BODY, now=AT)


def test_an_old_request_is_refused_unless_any_age_will_do():
    header = sign(SECRET, BODY, AT)
    assert verify_signature(SECRET, header, BODY, now=AT + 300)
    assert not verify_signature(SECRET, header, BODY, now=AT + 301)
    assert not verify_signature(SECRET, header, BODY, now=AT - 301)  # from the future
    assert verify_signature(SECRET, header, BODY, 1000, now=AT + 999)
    assert verify_signature(SECRET, header, BODY, None, now=AT + 10**9)
    assert not verify_signature(SECRET, header, BODY)  # by this machine's clock it is years old


@pytest.mark.parametrize(
    "header",
    [None, "", "t=,v1=", "v1=abc", f"t={AT}", "t=x,v1=y", "t=-1,v1=", "t=٣,v1=a", f"t={'9' * 400},v1=a", "=,=,=", "ü"],
)
def test_a_header_that_is_none_is_refused(header):
    assert verify_signature(SECRET, header, BODY, None) is False


@pytest.mark.parametrize("body", [BODY.decode(), bytearray(BODY), memoryview(BODY)])
def test_a_body_may_be_text_or_other_bytes(body):
    assert verify_signature(SECRET, sign(SECRET, BODY, AT), body, now=AT)
    assert not verify_signature(SECRET, sign(SECRET, BODY + b" ", AT), body, now=AT)


@pytest.mark.parametrize("body", [None, {"id": 1}, 7, "\ud800"])
def test_what_is_no_body_is_refused(body):
    assert verify_signature(SECRET, sign(SECRET, b"", AT), body, now=AT) is False


@pytest.mark.parametrize("header", [b"t=1,v1=a", 7, f"t={AT},v1=\ud800"])
def test_what_is_no_header_is_refused(header):
    assert verify_signature(SECRET, header, BODY, now=AT) is False


def test_a_secret_that_is_missing_opens_nothing():
    assert verify_signature("", sign("", BODY, AT), BODY, now=AT) is False
    assert verify_signature(None, sign("", BODY, AT), BODY, now=AT) is False
    assert verify_signature("\ud800", sign(SECRET, BODY, AT), BODY, now=AT) is False
