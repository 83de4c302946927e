"""A list on a page that is renewed while someone works in it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Generic, TypeVar

from nicegui.element import Element

T = TypeVar("T")


class Keyed(Generic[T]):
    """Children of an element by keys: what stays is changed in place, so that nobody loses their focus or their place.

    `make` builds one child and returns it with what changes it later.
    """

    def __init__(self, parent: Element, make: Callable[[T], tuple[Element, Callable[[T], None]]]) -> None:
        self._parent, self._make = parent, make
        self._shown: dict[Hashable, tuple[Element, Callable[[T], None]]] = {}
        self._items: dict[Hashable, T] = {}

    def show(self, items: Mapping[Hashable, T]) -> None:
        """Show these, in their order."""
        for key in [key for key in self._shown if key not in items]:
            self._shown.pop(key)[0].delete()
        for place, (key, item) in enumerate(items.items()):
            if key not in self._shown:
                with self._parent:
                    self._shown[key] = self._make(item)
            elif item != self._items[key]:
                self._shown[key][1](item)
            element = self._shown[key][0]
            if self._parent.default_slot.children[place] is not element:
                element.move(self._parent, place)
        self._items = dict(items)

    def elements(self) -> Iterator[tuple[Hashable, Element]]:
        """The children that are shown, by their keys."""
        for key, (element, _) in self._shown.items():
            yield key, element
