"""Methods of the two clients, made from the functions that build their calls: each call is written once.

A function that takes the desk first and returns a `Call` (or yields several) becomes a method that sends it, with
the same parameters, types and docstring.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from askless.client.call import Call

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=Callable[..., Any])


class Sending(Protocol):
    """A client that waits for its answers."""

    def _named(self) -> str:
        """The desk that the calls are about."""
        ...

    def send(self, call: Call[T]) -> T:
        """Send a call, and again where that is safe."""
        ...


class SendingLater(Protocol):
    """A client whose answers are awaited."""

    async def _named(self) -> str:
        """The desk that the calls are about."""
        ...

    async def send(self, call: Call[T]) -> T:
        """Send a call, and again where that is safe."""
        ...


def sends(
    build: Callable[Concatenate[str, P], Call[T]], *, of_service: bool = False
) -> Callable[Concatenate[Sending, P], T]:
    """A method that sends the one call; one that is `of_service` is about no desk, so none need be known."""

    def method(self: Sending, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.send(build("" if of_service else self._named(), *args, **kwargs))

    return _like(build, method)


def sends_later(
    build: Callable[Concatenate[str, P], Call[T]], *, of_service: bool = False
) -> Callable[Concatenate[SendingLater, P], Coroutine[Any, Any, T]]:
    """As `sends`, and it is awaited."""

    async def method(self: SendingLater, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.send(build("" if of_service else await self._named(), *args, **kwargs))

    return _like(build, method)


def steps(
    build: Callable[Concatenate[str, P], Generator[Call[Any], Any, T]],
) -> Callable[Concatenate[Sending, P], T]:
    """A method that sends one call after the other."""

    def method(self: Sending, /, *args: P.args, **kwargs: P.kwargs) -> T:
        calls = build(self._named(), *args, **kwargs)
        try:
            call = next(calls)
            while True:
                call = calls.send(self.send(call))
        except StopIteration as end:
            value: T = end.value
            return value

    return _like(build, method)


def steps_later(
    build: Callable[Concatenate[str, P], Generator[Call[Any], Any, T]],
) -> Callable[Concatenate[SendingLater, P], Coroutine[Any, Any, T]]:
    """A method that sends one call after the other and is awaited."""

    async def method(self: SendingLater, /, *args: P.args, **kwargs: P.kwargs) -> T:
        calls = build(await self._named(), *args, **kwargs)
        try:
            call = next(calls)
            while True:
                call = calls.send(await self.send(call))
        except StopIteration as end:
            value: T = end.value
            return value

    return _like(build, method)


def _like(build: Callable[..., Any], method: M) -> M:
    """The method with the name, the docstring and the parameters of the function, `self` in the place of the desk."""
    functools.update_wrapper(method, build)
    del method.__dict__["__wrapped__"]  # its signature, without `self`, would be taken for the method's
    desk, *rest = inspect.signature(build).parameters.values()
    itself = desk.replace(name="self", annotation=desk.empty, kind=desk.POSITIONAL_ONLY)
    method.__dict__["__signature__"] = inspect.Signature([itself, *rest])
    return method
