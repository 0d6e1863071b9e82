"""Chunk: examples on their way through workers. Task: those that were sent to some. Pending: the chunks of a block."""

from __future__ import annotations

import functools
from collections import deque
from concurrent.futures import Future
from typing import Any

from pipeline.stages.block import Block
from pipeline.stages.segment import Made
from pipeline.sync.stop_flag import StopFlag


class Chunk:
    """Examples passing through a stage's segments.

    Attributes:
        parts: Their results in order: blocks, skipped errors, and `Task`s still with workers.
        segment: Index of the next segment.
        inputs: Number of input examples in it.
        load: Time it took in all segments, as a multiple of a chunk's target duration.
        bytes: Bytes of its inputs and results in all segments.
    """

    __slots__ = ("bytes", "inputs", "load", "parts", "segment")

    def __init__(self, parts: list[Any], segment: int, inputs: int) -> None:
        self.parts, self.segment, self.inputs = parts, segment, inputs
        self.load, self.bytes = 0.0, 0

    def due(self) -> bool:
        """Return whether workers have nothing left to do in this segment."""
        return all(not isinstance(each, Task) or each.future.done() for each in self.parts)

    def has_tasks(self) -> bool:
        """Return whether parts of it were sent to workers and not received."""
        return any(isinstance(each, Task) for each in self.parts)


class Task:
    """A block sent to workers.

    Attributes:
        block: The block.
        future: The workers' result.
        cancelled: Number of times workers got the block before and cancelled it.
    """

    __slots__ = ("_watched", "block", "cancelled", "future")

    def __init__(self, block: Block, future: Future[Made], cancelled: int) -> None:
        self.block, self.future, self.cancelled = block, future, cancelled
        self._watched = False

    def watch(self, bell: StopFlag) -> None:
        """Set a flag when the task is done."""
        if not self._watched:
            self._watched = True
            self.future.add_done_callback(functools.partial(_ring, bell))


class Pending:
    """The outputs of one input block, in one or several chunks.

    Attributes:
        before: The input's state before the block.
        chunks: The chunks, in order.
        complete: True if there are no more chunks.
        count: Limit for the outputs; None if unknown.
    """

    __slots__ = ("before", "chunks", "complete", "count")

    def __init__(self, before: Any, count: int | None) -> None:
        self.before, self.count, self.complete = before, count, False
        self.chunks: deque[Chunk] = deque()


def _ring(bell: StopFlag, future: object) -> None:
    bell.set()
