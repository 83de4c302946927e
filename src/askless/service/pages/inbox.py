"""The inbox: one question at a time."""

from __future__ import annotations

from fastapi import Request
from nicegui import APIRouter

from askless.service.pages.frame import frame, sit
from askless.service.pages.parts import words

router = APIRouter()


@router.page("/{desk}/inbox")
async def inbox(request: Request, desk: str) -> None:
    """The question that is most useful to answer."""
    seat = await sit(request, desk)
    if seat is None:
        return
    with frame(seat, "inbox"):
        words("p", "soon")
