"""Webhooks of a desk, and what became of each delivery. For admins."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from askless.desk.live.types import Happening
from askless.service import outbox
from askless.service.errors import problems
from askless.service.guard import Admin, TheService
from askless.service.outbox import Delivery, Webhook
from askless.service.schemas import Body, Cursor, Limit, Number
from askless.service.shown import moment
from askless.service.state import Service

router = APIRouter(prefix="/desks/{desk}", tags=["webhooks"])

Kind = Literal["ticket.created", "query.answered", "audit.failed"]
DeliveryStatus = Literal["pending", "sent", "dead"]


class NewWebhookBody(Body):
    """Where to send what happens at the desk."""

    url: str = Field(max_length=outbox.LONGEST_URL, pattern=outbox.URL, examples=["https://example.com/hooks/askless"])
    kinds: list[Kind] = Field(
        default=[kind.value for kind in Happening],
        min_length=1,
        max_length=10,
        description="What it is told of; everything where absent.",
    )
    secret: (
        Annotated[
            str, Field(min_length=outbox.SHORTEST_SECRET, max_length=outbox.LONGEST_SECRET, pattern=outbox.SECRET)
        ]
        | None
    ) = Field(default=None, description="What requests are signed with. Made where absent.")


class WebhookOut(BaseModel):
    """A webhook, without its secret."""

    id: int
    url: str
    kinds: list[Kind]
    created_at: datetime


class NewWebhookOut(WebhookOut):
    """A webhook that was just made, with its secret: it is shown this once."""

    secret: str


class WebhooksOut(BaseModel):
    """The webhooks of a desk."""

    items: list[WebhookOut]


class DeliveryOut(BaseModel):
    """One happening on its way to one webhook; `query` is the caller's own id."""

    id: int
    webhook: int
    kind: Kind
    event: int
    query: str
    status: DeliveryStatus
    attempts: int
    next_at: datetime | None
    last_error: str | None
    created_at: datetime
    sent_at: datetime | None


class DeliveryPage(BaseModel):
    """Some deliveries, the newest first, and where to go on."""

    items: list[DeliveryOut]
    next: str | None


@router.get("/webhooks", summary="List webhooks", response_model=WebhooksOut)
async def list_all(service: TheService, at: Admin) -> Response:
    """The webhooks of the desk; never their secrets."""
    desk = await _number(service, at.desk)
    return JSONResponse({"items": [_hook(hook) for hook in await service.read(outbox.listed, desk)]})


@router.post("/webhooks", summary="Add a webhook", status_code=201, response_model=NewWebhookOut)
async def create(service: TheService, at: Admin, body: NewWebhookBody) -> Response:
    """Add a webhook. The secret that its requests are signed with is in this answer and nowhere else."""
    desk = await _number(service, at.desk)

    def making() -> tuple[Webhook, str]:
        with service.database.write() as connection:
            return outbox.create(connection, desk, body.url, body.kinds, body.secret, datetime.now(UTC))

    hook, secret = await service.work(making)
    return JSONResponse({**_hook(hook), "secret": secret}, 201)


@router.delete("/webhooks/{number:int}", summary="Delete a webhook", status_code=204, responses=problems(404))
async def delete(service: TheService, at: Admin, number: Number) -> Response:
    """Delete a webhook; what was still to be sent to it is dropped."""
    desk = await _number(service, at.desk)

    def removing() -> None:
        with service.database.write() as connection:
            outbox.remove(connection, desk, number)

    await service.work(removing)
    return Response(status_code=204)


@router.get("/deliveries", summary="List deliveries", response_model=DeliveryPage)
async def list_deliveries(
    service: TheService, at: Admin, status: DeliveryStatus | None = None, cursor: Cursor = None, limit: Limit = 50
) -> Response:
    """What was sent, is still to be sent (pending), or was refused too often (dead): the newest first."""
    desk = await _number(service, at.desk)
    before = int(cursor) if cursor and cursor.isascii() and cursor.isdecimal() and len(cursor) < 19 else None
    found = await service.read(outbox.page, desk, status=status, before=before, limit=limit + 1)
    shown = [_delivery(row) for row in found[:limit]]
    return JSONResponse({"items": shown, "next": str(shown[-1]["id"]) if len(found) > limit else None})


@router.post(
    "/deliveries/{number:int}/resend",
    summary="Send a delivery again",
    response_model=DeliveryOut,
    responses=problems(404),
)
async def resend(service: TheService, at: Admin, number: Number) -> Response:
    """Send a delivery again from the beginning, a dead one too."""
    desk = await _number(service, at.desk)

    def sending() -> Delivery:
        with service.database.write() as connection:
            return outbox.resend(connection, desk, number, datetime.now(UTC))

    return JSONResponse(_delivery(await service.work(sending)))


async def _number(service: Service, desk: str) -> int:
    """The desk's number; a problem where there is no such desk."""
    row = await service.work(service.desks.row, desk)
    return int(row.id)


def _hook(hook: Webhook) -> dict[str, Any]:
    return {"id": hook.id, "url": hook.url, "kinds": list(hook.kinds), "created_at": moment(hook.created_at)}


def _delivery(row: Delivery) -> dict[str, Any]:
    times = {"created_at": moment(row.created_at), "sent_at": moment(row.sent_at)}
    return asdict(row) | times | {"next_at": moment(row.next_at) if row.status == outbox.PENDING else None}
