"""Counted, Placed: streams whose elements, or whose positions, are numbered one after the other."""

from __future__ import annotations

from typing import Any

from pipeline.flow.block import Block
from pipeline.flow.stream import Element, Stream, elements_of, gives_elements, place, seek_later, shorter, whole


class Counted:
    """A stream whose elements are numbered one after the other, whatever their numbers were."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._count = 0
        if gives_elements(stream):
            self._inner = elements_of(stream)
            self.element = self._element

    def _element(self) -> Element | None:
        found = self._inner()
        self._count += found is not None
        return found

    def take(self, n: int) -> Block | None:
        block = self._stream.take(n)
        if block is None:
            return None
        first = self._count
        self._count += len(block)
        return Block(block.values, block.ids, range(first, self._count))

    def skip(self, n: int) -> int:
        skipped = self._stream.skip(n)
        self._count += skipped
        return skipped

    def position(self) -> Any:
        return place(self._count, self._stream.position())

    def seek(self, position: Any) -> None:
        count, inner = position
        seek_later(self._stream, inner)
        self._count = whole(count)

    def close(self) -> None:
        self._stream.close()


class Placed:
    """A stream whose position is how many elements came before, as where they are had by number.

    Args:
        stream: The elements.
        keep: Whether they keep their numbers; else these are their places here.
    """

    def __init__(self, stream: Stream, keep: bool) -> None:
        self._stream, self._keep = stream, keep
        self._start = stream.position()
        self._next = 0

    def take(self, n: int) -> Block | None:
        block = self._stream.take(n)
        if block is None:
            return None
        first = self._next
        self._next += len(block)
        return block if self._keep else Block(block.values, block.ids, range(first, self._next))

    def skip(self, n: int) -> int:
        skipped = self._stream.skip(n)
        self._next += skipped
        return skipped

    def position(self) -> int:
        return self._next

    def seek(self, position: Any) -> None:
        if isinstance(self._start, Exception):
            raise self._start
        number = whole(position)
        seek_later(self._stream, self._start)
        if number and self._stream.skip(number) < number:
            raise shorter()
        self._next = number

    def close(self) -> None:
        self._stream.close()
