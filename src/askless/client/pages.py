"""All items of what the service tells in pages, one page after the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, ParamSpec, TypeVar

from askless.client.results import Page

P = ParamSpec("P")
T = TypeVar("T")


def each(self: object, listed: Callable[P, Page[T]], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
    """All items of a method that returns a `Page`, with its parameters: each(client.queries, status="asked").

    A page is asked for once the items of the one before are used up; `limit` is the size of a page.
    """
    page = listed(*args, **kwargs)
    yield from page.items
    while page.next is not None:
        kwargs["cursor"] = page.next
        page = listed(*args, **kwargs)
        yield from page.items


async def each_later(
    self: object, listed: Callable[P, Coroutine[Any, Any, Page[T]]], /, *args: P.args, **kwargs: P.kwargs
) -> AsyncIterator[T]:
    """As `each`, for a method that is awaited: async for row in client.each(client.queries, status="asked")."""
    page = await listed(*args, **kwargs)
    for item in page.items:
        yield item
    while page.next is not None:
        kwargs["cursor"] = page.next
        page = await listed(*args, **kwargs)
        for item in page.items:
            yield item
