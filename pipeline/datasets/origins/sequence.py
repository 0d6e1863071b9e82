"""OfSequence: the items of a list, or of anything else with a length and items by number."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from pipeline._flow import items_at
from pipeline._next import Meter
from pipeline.datasets.node import Node, Opening
from pipeline.errors import invalid
from pipeline.flow.block import Block, Columns, Examples, Numbers
from pipeline.flow.stream import Stream
from pipeline.flow.table import Index, Indexed
from pipeline.producers.numbered import digest


class OfSequence(Node):
    """The items of a list, or of anything else with a length and items by number."""

    kind = "sequence"
    stage = "source"

    def __init__(self, items: Any) -> None:
        try:
            len(items)
        except OverflowError:
            kind = type(items).__name__
            raise invalid(f"dataset: the {kind} must have at most {sys.maxsize:,} items, and has more") from None
        self.items = items
        self.note_place()

    @property
    def indexed(self) -> bool:
        return True

    def length(self) -> int | None:
        return len(self.items)

    def options(self) -> dict[str, Any]:
        return {"type": type(self.items).__name__, "length": len(self.items), "sample": _sample(self.items)}

    def open(self, shared: Opening, epoch: int) -> Stream:
        return shared.gauged(self, Indexed(_Items(self.items, shared.meter(self)), len(self.items)))

    def index(self, shared: Opening, epoch: int) -> Index | None:
        return _Items(self.items, shared.meter(self))

    def call(self) -> str:
        return f"pipeline.{self.text()}"

    def text(self) -> str:
        return f"dataset({type(self.items).__name__} of {len(self.items):,})"

    def label(self) -> str:
        return type(self.items).__name__


class _Items:
    def __init__(self, items: Any, meter: Meter | None) -> None:
        self._items, self._meter = items, meter

    def __len__(self) -> int:
        return len(self._items)

    def block(self, numbers: Numbers) -> Block:
        return Block(ItemValues(self._items, numbers, self._meter), numbers, numbers)


class ItemValues:
    """Items of a sequence, not asked for yet."""

    __slots__ = ("items", "meter", "numbers")

    def __init__(self, items: Any, numbers: Numbers, meter: Meter | None) -> None:
        self.items, self.numbers, self.meter = items, numbers, meter

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, which: slice) -> ItemValues:
        return ItemValues(self.items, self.numbers[which], self.meter)

    def made(self) -> Columns | Examples:
        return self._made() if self.meter is None else self.meter.make(len(self), self._made)

    def _made(self) -> Columns | Examples:
        items, numbers = self.items, self.numbers
        if type(items) in (list, tuple):
            if isinstance(numbers, range):
                found = list(items[numbers.start : numbers.stop : numbers.step])
                if len(found) != len(numbers):
                    kind = type(items).__name__
                    raise invalid(
                        f"dataset: the {kind} became shorter while it was read: it has {len(items)} items now"
                    )
                return Examples(found)
            return Examples(items_at(items, numbers))
        listed = list(numbers) if isinstance(numbers, range) else numbers.tolist()
        together = getattr(type(items), "__getitems__", None)
        if together is not None:
            found = list(together(items, listed))
            if len(found) != len(listed):
                name = type(items).__name__
                raise invalid(f"{name}.__getitems__ returned {len(found)} items for {len(listed)} numbers")
            return Examples(found)
        return Examples([items[number] for number in listed])

    def name(self, i: int) -> str | None:
        return None


def _sample(items: Any) -> str:
    """Return a digest of some items that are plain values."""
    if type(items) not in (list, tuple, range):
        return ""
    picked = [items[i] for i in range(0, len(items), max(1, len(items) // 64))][:64]
    plain = [each if isinstance(each, (str, bytes, int, float, bool)) else type(each).__name__ for each in picked]
    return digest([np.array([repr(each) for each in plain], object)]) if plain else ""


def sequence_of(given: Any) -> bool:
    """Whether something has its items by number."""
    kind = type(given)
    return hasattr(kind, "__len__") and hasattr(kind, "__getitem__") and not hasattr(kind, "keys")
