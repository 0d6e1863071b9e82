"""Held: elements of a stream that are kept for later, in an order that depends on what they are."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.flow.block import Block
from pipeline.flow.pool import light
from pipeline.flow.segment import GRID
from pipeline.flow.stream import Ahead, Stream, seek_later, shorter, whole


class Element(NamedTuple):
    """One element.

    Attributes:
        arrival: Its number in the stream.
        block: A block of it alone.
        example: The element itself.
    """

    arrival: int
    block: Block
    example: Any


class Arrivals:
    """The elements of a stream, one by one. A position is where it stands, and where those that are held can be found.

    Args:
        stream: The elements.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = Ahead(stream)
        self._examples: list[Any] = []  # of what is looked at
        self._block: Block | None = None
        self._at = 0  # which of them is next
        self._entries: dict[int, Any] = {}  # positions by the number of the arrival, each GRID arrivals
        self.count = 0

    def next(self) -> Element | None:
        """Return the next element; None at the end."""
        if self._block is None and not self._look():
            return None
        block = self._block
        assert block is not None
        i = self._at
        found = Element(self.count, block[i : i + 1], self._examples[i])
        self.count += 1
        self._at += 1
        self._stream.drop(1)
        if self._at == len(self._examples):
            self._block = None
        return found

    def _look(self) -> bool:
        if self.count % GRID == 0 or not self._entries:
            self._entries[self.count] = self._stream.position()
        blocks = self._stream.look(1)
        if not blocks:
            return False
        blocks = self._stream.look(min(self._stream.size, GRID - self.count % GRID))
        made = blocks[0].made()
        self._block = Block(made, blocks[0].ids, blocks[0].numbers)
        self._examples, self._at = list(made.examples()), 0
        return True

    def position(self, held: Sequence[Sequence[int]], count: int, ended: bool) -> Any:
        """Return the position, with what is needed to find these arrivals again, and how many elements came of them."""
        at = self._stream.position()
        if isinstance(at, Exception):
            return at
        begins = sorted(self._entries)
        wanted = itertools.chain.from_iterable(held)
        needed = {begins[int(np.searchsorted(begins, arrival, "right")) - 1] for arrival in wanted}
        for begin in [each for each in begins[:-1] if each not in needed]:
            del self._entries[begin]
        entries = [[begin, light(self._entries[begin])] for begin in sorted(needed)]
        counts = {"arrivals": self.count, "count": count, "ended": ended}
        return {**counts, "entries": entries, "stream": at, "held": held}

    def seek(self, position: dict[str, Any], held: Collection[int]) -> dict[int, Element]:
        """Go to a position; return the elements that were held there."""
        found: dict[int, Element] = {}
        self._block, self._entries = None, {}
        wanted = sorted(map(whole, held))
        if wanted:
            seek_later(self._stream, position["stream"])  # so that pools further up know their journals
        entries = [[whole(begin), at] for begin, at in [*position["entries"], [position["arrivals"], None]]]
        for (begin, at), (end, _) in itertools.pairwise(entries):
            self._entries[begin] = at
            mine = [each for each in wanted if begin <= each < end]
            seek_later(self._stream, at)
            arrival = begin
            for each in mine:
                if self._stream.skip(each - arrival) < each - arrival or (block := self._stream.take(1)) is None:
                    raise shorter()
                (example,) = block.made().examples()
                found[each] = Element(each, block, example)
                arrival = each + 1
        seek_later(self._stream, position["stream"])
        self.count = position["arrivals"]
        return found

    def close(self) -> None:
        self._stream.close()
