"""What a route asks of its caller: a role, and the sight of the desk in its path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path, Request

from askless.service import patterns
from askless.service.errors import Problem
from askless.service.keys import Caller, Role
from askless.service.state import Service

DeskName = Annotated[str, Path(pattern=patterns.DESK, description="The name of the desk.", examples=["support"])]


@dataclass(frozen=True, slots=True)
class AtDesk:
    """A caller that may act at the desk in the path."""

    caller: Caller
    desk: str

    @property
    def who(self) -> str:
        """The name that events are recorded under."""
        return self.caller.name


async def the_service(request: Request) -> Service:
    """The service that the request came to."""
    service: Service = request.app.state.service
    return service


async def the_caller(request: Request) -> Caller:
    """Who calls, as the gate found."""
    caller: Caller = request.state.caller
    return caller


def _role(role: Role) -> Callable[[Caller], Caller]:
    async def allowed(caller: Annotated[Caller, Depends(the_caller)]) -> Caller:
        if not caller.may(role):
            raise Problem(403, f"This needs a key with the role {role}; {caller.name!r} is of the role {caller.role}.")
        return caller

    return allowed  # type: ignore[return-value]  # FastAPI awaits it


def _at_desk(role: Role) -> Callable[[Caller, str], AtDesk]:
    async def allowed(caller: Annotated[Caller, Depends(the_caller)], desk: DeskName) -> AtDesk:
        if not caller.sees(desk):
            raise no_desk(desk)
        if not caller.may(role):
            raise Problem(403, f"This needs a key with the role {role}; {caller.name!r} is of the role {caller.role}.")
        return AtDesk(caller, desk)

    return allowed  # type: ignore[return-value]  # FastAPI awaits it


def no_desk(desk: str) -> Problem:
    """The same answer for a desk that is not there and for one that the key does not open."""
    return Problem(404, f"There is no desk {desk!r}.")


TheService = Annotated[Service, Depends(the_service)]
AnyCaller = Annotated[Caller, Depends(the_caller)]
AdminCaller = Annotated[Caller, Depends(_role(Role.ADMIN))]
Client = Annotated[AtDesk, Depends(_at_desk(Role.CLIENT))]
Expert = Annotated[AtDesk, Depends(_at_desk(Role.EXPERT))]
Admin = Annotated[AtDesk, Depends(_at_desk(Role.ADMIN))]
