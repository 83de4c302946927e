"""Whether a webhook's request comes from the service: a signature over its time and its body."""

from __future__ import annotations

import hashlib
import hmac
import time

SIGNATURE_HEADER = "X-Askless-Signature"
DELIVERY_HEADER = "X-Askless-Delivery"


def sign(secret: str, body: bytes, at: int) -> str:
    """The value of the header X-Askless-Signature: the time, and the HMAC-SHA256 of "time.body" under the secret."""
    digest = hmac.new(secret.encode(), str(at).encode() + b"." + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def verify_signature(
    secret: str, header: str | None, body: bytes, tolerance: float | None = 300, *, now: float | None = None
) -> bool:
    """Whether the header X-Askless-Signature was made with this secret, for this body, at most `tolerance` seconds ago.

    Give the body as it came, byte for byte, before any JSON is read. The age is what stops a request that someone
    recorded from being sent again later (None: any age). The comparison takes the same time whatever differs.
    """
    found = dict(part.strip().partition("=")[::2] for part in (header or "").split(","))
    stamp = found.get("t", "")
    if not (stamp.isascii() and stamp.isdecimal() and len(stamp) <= 15):
        return False
    at = int(stamp)
    expected = sign(secret, body, at)
    given = f"t={at},v1={found.get('v1', '')}"
    same = hmac.compare_digest(expected.encode(), given.encode(errors="surrogateescape"))
    age = abs((time.time() if now is None else now) - at)
    return same and (tolerance is None or age <= tolerance)
