"""OfSequence: items from a list, or from any object with a length and items."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline._calls import items_at
from pipeline.capabilities import GivesSeveral
from pipeline.errors import invalid
from pipeline.nest import kept, without_mappings
from pipeline.orders.numbered import digest
from pipeline.stages.block import Block, Examples, Numbers
from pipeline.stages.index import ENDLESS, Index
from pipeline.stages.node import Node
from pipeline.stages.run import Run

# Types with items in memory, so reading them calls no user code.
STORED = (list, tuple, range)

_PLAIN = (bool, int, float, complex, str, bytes)


class OfSequence(Node):
    """Items from a list, or from any object with a length and items.

    Args:
        items: The sequence.
        workers: Workers to fetch the items, as for `map`; None fetches them in the consuming thread.

    Raises:
        TypeError: The workers cannot fetch the items.
        ValueError: There are too many items, or a wrong number of workers.
    """

    kind = "sequence"
    stage = "source"
    indexed = True

    def __init__(self, items: Any, workers: Any = None) -> None:
        try:
            fits = len(items) < ENDLESS
        except OverflowError:
            fits = False
        if not fits:
            raise invalid(f"dataset: the {type(items).__name__} must have fewer than 2**62 items, and has more")
        self.items = items
        self.note_place()
        if type(items) not in STORED:
            self.takes_workers = "pipeline.dataset"
        self._fetch: Node | None = None
        if workers is not None:
            from pipeline.sources.fetched import Fetch, ItemNumbers, ItemOf  # executors take 3 ms to import

            self._fetch = Fetch(ItemNumbers(len(items)), ItemOf(items), workers, self)

    @property
    def works_ahead(self) -> bool:
        return self._fetch is not None

    def run_as(self) -> Node:
        return self._fetch or self

    def is_plain(self) -> bool:
        """Return whether the items are plain values, such as numbers and strings."""
        if type(self.items) in (list, tuple):
            return type(self.items[0]) in _PLAIN if self.items else False
        return type(self.items) is range

    def lends(self) -> bool:
        return type(self.items) in (list, tuple)

    def length(self) -> int | None:
        return len(self.items)

    def options(self) -> dict[str, Any]:
        return {"type": type(self.items).__name__, "length": len(self.items), "sample": _sample(self.items)}

    def data(self) -> list[Any]:
        return [self.items]

    def index(self, run: Run) -> Index:
        return Items(self.items)

    def call(self) -> str:
        return f"pipeline.{self.text()}"

    def text(self) -> str:
        return f"dataset({type(self.items).__name__} of {len(self.items):,})"

    def label(self) -> str:
        return type(self.items).__name__


class Items(Index):
    """A sequence's items."""

    of_sources = True

    def __init__(self, items: Any) -> None:
        self._items, self._length = items, len(items)
        self._together = isinstance(items, GivesSeveral)
        self.ahead = type(items) in STORED

    def __len__(self) -> int:
        return self._length

    def block(self, places: Numbers) -> Block:
        items = self._items
        if type(items) in (list, tuple):
            if len(items) < self._length:
                kind = type(items).__name__
                raise invalid(f"dataset: the {kind} became shorter while it was read: it has {len(items)} items now")
            found = without_mappings(items_at(items, np.ascontiguousarray(places)))
            return Block(Examples(found), places)
        listed = places.tolist()
        if self._together:
            found = list(items.__getitems__(listed))
            if len(found) != len(listed):
                name = type(items).__name__
                raise invalid(f"{name}.__getitems__ returned {len(found)} items for {len(listed)} numbers")
            return Block(Examples([kept(each, False) for each in found]), places)
        found, error = [], None
        try:
            for place in listed:
                found.append(kept(items[place], False))
        except Exception as raised:
            error = raised
        return Block(Examples(found), places[: len(found)], error)


def _sample(items: Any) -> str:
    """Digest a sample of plain-valued items."""
    if type(items) not in STORED:
        return ""
    picked = [items[i] for i in range(0, len(items), max(1, len(items) // 64))][:64]
    plain = [each if isinstance(each, (str, bytes, int, float, bool)) else type(each).__name__ for each in picked]
    return digest([np.array([repr(each) for each in plain], object)]) if plain else ""


def sequence_of(given: Any) -> bool:
    """Return True if an object has items by index."""
    kind = type(given)
    return hasattr(kind, "__len__") and hasattr(kind, "__getitem__") and not hasattr(kind, "keys")
