"""A typed client of the service, for ordinary code and for code that awaits.

    from askless.client import Client

    with Client("http://127.0.0.1:8400", key, desk="support") as client:
        print(client.ask("How do I reset my password?", wait=60).answer)

It needs httpx alone: `pip install 'askless[client]'`.
"""

from __future__ import annotations

try:
    import httpx as _httpx  # noqa: F401
except ImportError as error:
    from askless.errors import MissingExtra

    raise MissingExtra("The client needs httpx: pip install 'askless[client]'.") from error

from askless.client.aio import AsyncClient
from askless.client.errors import (
    BadRequest,
    Conflict,
    NotAllowed,
    NotFound,
    ServiceError,
    TooMany,
    Unreachable,
)
from askless.client.insights import (
    Bucket,
    Conflicts,
    Contested,
    ErrorRate,
    Estimate,
    LabelLoad,
    Side,
    Statistics,
)
from askless.client.results import (
    Answered,
    Delivery,
    Desk,
    Evidence,
    Example,
    Job,
    Key,
    Label,
    Offer,
    Outcome,
    Page,
    QueryRow,
    Ticket,
    Webhook,
)
from askless.client.retries import Retries
from askless.client.signature import verify_signature
from askless.client.sync import Client

__all__ = [
    "Answered",
    "AsyncClient",
    "BadRequest",
    "Bucket",
    "Client",
    "Conflict",
    "Conflicts",
    "Contested",
    "Delivery",
    "Desk",
    "ErrorRate",
    "Estimate",
    "Evidence",
    "Example",
    "Job",
    "Key",
    "Label",
    "LabelLoad",
    "NotAllowed",
    "NotFound",
    "Offer",
    "Outcome",
    "Page",
    "QueryRow",
    "Retries",
    "ServiceError",
    "Side",
    "Statistics",
    "Ticket",
    "TooMany",
    "Unreachable",
    "Webhook",
    "verify_signature",
]
