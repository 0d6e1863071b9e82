"""Filling: an incomplete cache's elements in order, first stored ones, then computed ones."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from pipeline.diagnostics.frames import tell
from pipeline.errors import OpError
from pipeline.locks import Lock
from pipeline.logs import logger
from pipeline.stages.block import Block
from pipeline.stages.cache_store import Store
from pipeline.stages.index import InOrder
from pipeline.stages.kept_rows import KeptRows, RowWriter
from pipeline.stages.node import Node
from pipeline.stages.run import Run
from pipeline.stages.stream import Stream, unknown_in
from pipeline.tracebacks import from_handler

_log = logger("pipeline.batches")

# Elements computed at once when none is requested.
_AT_ONCE = 1024


class Keeps(Protocol):
    """A cache's step, as `Filling` needs it."""

    store: Store

    @property
    def source(self) -> Node:
        """The input."""

    def begun(self, run: Run, place: int) -> tuple[KeptRows, RowWriter | None]:
        """Return the stored rows and a writer; no writer if another stream has it, or if the place is stored."""

    def source_at(self, run: Run, rows: KeptRows) -> Stream:
        """Return the input's elements after the stored ones."""


class Filling(Stream):
    """Elements in order: stored ones, then computed ones, which are stored. The state is the next index.

    One stream writes. Other streams, including those in other processes, read stored elements up to the end, and
    compute the rest themselves.

    Args:
        node: The step.
        run: The iterator's run.
        place: Start position.
    """

    def __init__(self, node: Keeps, run: Run, place: int) -> None:
        self._node, self._run, self._next = node, run, place
        self._there: InOrder | None = None  # the stored elements
        self._source: Stream | None = None  # the input, once stored elements are used up
        self._at = 0  # index of the input's next element
        self._writer: RowWriter | None = None
        self._over = False
        self._error: Exception | None = None  # the reason why elements cannot be stored
        self._lock = Lock()  # guards against `stop_writing`

    def take(self, n: int) -> Block | None:
        with self._lock:
            while not self._over:
                if self._error is not None:
                    raise self._error
                if self._there is not None:
                    block = self._there.take(n)
                    if block is not None:
                        self._next += len(block)
                        return block
                    self._there = None
                if self._source is None:
                    self.begin_at_next()
                elif self._at == self._next:
                    block = self._compute(n)
                    self._next = self._at
                    return block
                else:
                    self._compute(min(_AT_ONCE, self._next - self._at))
            return None

    def drop(self, n: int) -> int:
        with self._lock:
            left = n
            if self._there is None and self._source is None and not self._over:
                self.begin_at_next()
            if self._there is not None:
                count = self._there.drop(left)
                self._next, left = self._next + count, left - count
            return n - left + (super().drop(left) if left else 0)

    def begin_at_next(self, private: bool = True) -> bool:
        """Continue with newly stored elements; otherwise open the input after them, with a writer.

        Args:
            private: Open the input even if another stream writes.

        Returns:
            True if either was possible.
        """
        node = self._node
        rows, writer = node.begun(self._run, self._next)
        if rows.count > self._next or rows.complete:
            self._over = rows.count <= self._next
            self._there = None if self._over else InOrder(rows.index, self._next)
            return True
        if writer is None and not private:
            return False
        try:
            self._source, self._at = node.source_at(self._run, rows), rows.count
        except BaseException:
            if writer is not None:
                writer.close()
            raise
        self._writer = writer
        if writer is not None:
            node.store.fills(self)
        return True

    def _compute(self, n: int) -> Block | None:
        """Compute up to n elements, and keep them; None at the end."""
        writer, self._writer = self._writer, None  # swapped first, so an interrupt leaves nothing half-stored
        source: Any = self._source
        try:
            try:
                block = source.take(n)
            except Exception as error:
                if from_handler(error) is None:
                    self._writer, writer = writer, None
                raise
            if writer is not None and self._keep(writer, block):
                self._writer, writer = writer, None
        finally:
            if writer is not None:
                writer.close()
        if block is None:
            self._over = True
            return None
        first, self._at = self._at, self._at + len(block)
        return Block(block.values, np.arange(first, self._at))

    def _keep(self, writer: RowWriter, block: Block | None) -> bool:
        """Keep elements; None for the end. Return whether more will follow."""
        source = self._node.source
        try:
            if block is not None:
                writer.add(block.values)
            if block is None or (source.indexed and self._at + len(block) == source.length()):
                writer.commit(None, True)
                return False
            if writer.due:
                self._commit(writer)
        except Exception as error:
            if from_handler(error) is None:
                self._error = error  # the input has moved past these lost elements
            raise
        return True

    def _commit(self, writer: RowWriter) -> None:
        """Finish a chunk, if the input can resume behind it."""
        state = self._source.state()  # type: ignore[union-attr]
        if writer.waits and self._node.source.no_state() is None and unknown_in(state) is None:
            writer.commit(state, False)

    def state(self) -> Any:
        return self._next

    def stop_writing(self) -> None:
        """Keep all computed elements, and stop writing."""
        with self._lock:
            writer, self._writer = self._writer, None
            if writer is None:
                return
            try:
                self._commit(writer)
            except OpError as error:  # such as a full disk; the elements are delivered anyway
                tell(_log, error.message)
            finally:
                writer.close()

    def close(self) -> None:
        with self._lock:
            try:
                self.stop_writing()
            finally:
                self._there, self._over = None, True
                source, self._source = self._source, None
                if source is not None:
                    source.close()
