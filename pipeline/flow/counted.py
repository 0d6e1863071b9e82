"""Counted: a stream whose elements are numbered one after the other, whatever their numbers were."""

from __future__ import annotations

from typing import Any

from pipeline.flow.block import Block
from pipeline.flow.stream import Stream, seek_later


class Counted:
    """A stream whose elements are numbered one after the other, whatever their numbers were."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._count = 0

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
        return [self._count, self._stream.position()]

    def seek(self, position: Any) -> None:
        self._count, inner = position
        seek_later(self._stream, inner)

    def close(self) -> None:
        self._stream.close()
