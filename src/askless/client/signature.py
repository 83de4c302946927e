"""Whether a webhook's request comes from the service: a signature over its time and its body."""

from __future__ import annotations

import hashlib
import hmac
import time

SIGNATURE_HEADER = "X-Askless-Signature"
DELIVERY_HEADER = "X-Askless-Delivery"
_BODY = (bytes, bytearray, memoryview, str)


def sign(secret: str, body: bytes, at: int) -> str:
    """The value of the header X-Askless-Signature: the time, and the HMAC-SHA256 of "time.body" under the secret."""
    digest = hmac.new(secret.encode(), str(at).encode() + b"." + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def verify_signature(
    secret: str, header: str | None, body: bytes | str, tolerance: float | None = 300, *, now: float | None = None
) -> bool:
    """Whether the header X-Askless-Signature was made with this secret, for this body, at most `tolerance` seconds ago.

    Give the body as it came, before any JSON is read: its bytes, or its text, which is taken as UTF-8. The age is what
    stops a request that someone recorded from being sent again later (None: any age). The comparison takes the same
    time whatever differs. What is no secret, header or body at all gives False: an empty secret too, for anyone could
    sign with that.
    """
    if not (isinstance(secret, str) and secret and isinstance(header, str) and isinstance(body, _BODY)):
        return False
    found = dict(part.strip().partition("=")[::2] for part in header.split(","))
    stamp = found.get("t", "")
    if not (stamp.isascii() and stamp.isdecimal() and len(stamp) <= 15):
        return False
    at = int(stamp)
    try:
        expected = sign(secret, body.encode() if isinstance(body, str) else bytes(body), at).encode()
        given = f"t={at},v1={found.get('v1', '')}".encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which no request and no secret of the service holds
        return False
    age = abs((time.time() if now is None else now) - at)
    return hmac.compare_digest(expected, given) and (tolerance is None or age <= tolerance)
