"""Whether callers with a client's key see the examples behind a guess: other askers' texts, and their own ids."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from askless.desk.live.types import Outcome
from askless.service.guard import AtDesk
from askless.service.keys import Role
from askless.service.state import Service

_REMEMBERED = 1.0  # seconds: asking a desk's worker for each query would slow all of them down


class Sharing:
    """Which desks share their examples, as each desk said a second ago at most."""

    def __init__(self) -> None:
        self._said: dict[str, tuple[bool, float]] = {}  # and until when that counts

    async def with_clients(self, service: Service, desk: str) -> bool:
        """Whether the desk's examples are shown to callers with a client's key."""
        now = asyncio.get_running_loop().time()
        shared, until = self._said.get(desk, (False, now))
        if now >= until:
            shared = await service.change(desk, lambda live: live.settings.share_examples)
            self._said[desk] = shared, now + _REMEMBERED
        return shared


@asynccontextmanager
async def sharing(app: Any) -> AsyncIterator[dict[str, Sharing]]:
    """The lifespan of routes that clients call: gives their requests the state `sharing`."""
    yield {"sharing": Sharing()}


async def sees_examples(known: Sharing, service: Service, at: AtDesk, outcomes: Sequence[Outcome]) -> bool:
    """Whether the caller may see the examples behind these outcomes: experts always do."""
    if at.caller.may(Role.EXPERT) or not any(outcome.evidence for outcome in outcomes):
        return True
    return await known.with_clients(service, at.desk)
