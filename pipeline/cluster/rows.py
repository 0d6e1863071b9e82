"""RowQueueActor: the actor behind a RemoteQueue."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.cluster.actors import POLL
from pipeline.errors import DeadlineExceededError
from pipeline.queues.kinds import FIFOQueue, RandomShuffleQueue
from pipeline.workers.chunks import FailedItem

# Seconds that rows wait for a program to say that it has received them, and that a block waits for one to ask again for
# room. After that it must have died.
HOLD = 60.0


@dataclasses.dataclass
class _Block:
    """Rows of one request.

    Attributes:
        reference: Ray's, to all of them.
        left: How many are in the queue, or handed out and not received yet, or being enqueued.
        open: True if others of them are yet to be enqueued.
    """

    reference: Any
    left: int = 0
    open: bool = True


@dataclasses.dataclass
class _Handed:
    """Delivered rows: block, index within it, and time."""

    blocks: NDArray[np.int64]
    rows: NDArray[np.int64]
    since: float

    def runs(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Consecutive rows of one block."""
        starts = [0, *(np.flatnonzero(np.diff(self.blocks)) + 1).tolist(), len(self.blocks)]
        for begin, end in itertools.pairwise(starts):
            if begin < end:
                yield int(self.blocks[begin]), self.rows[begin:end]


class RowQueueActor:
    """The actor behind a RemoteQueue: a queue of which row of which block comes next, and the references to the blocks.

    A request is one call of a program, in one or several calls of this actor. The program draws a number for
    it, so it can `withdraw` what it asked for when Ctrl-C ends the wait for an answer: here the call goes on. Rows
    that were handed out stay here until the program says that it has received them, or else go back after HOLD.

    Args:
        what: The options in which all users of the queue by this name must agree: capacity, dtypes, ...
        capacity, min_after_dequeue, seed: Of the queue; `min_after_dequeue` is None for one in order.
    """

    def __init__(self, what: Any, capacity: int, min_after_dequeue: int | None, seed: int | None) -> None:
        self._what = what
        form: tuple[Any, Any] = (["int64", "int64"], [(), ()])
        self._queue = (
            FIFOQueue(capacity, *form)
            if min_after_dequeue is None
            else RandomShuffleQueue(capacity, min_after_dequeue, *form, seed=seed)
        )
        self._lock = threading.Lock()
        self._blocks: dict[int, _Block] = {}  # by request, as the other two
        self._handed: dict[int, _Handed] = {}
        self._withdrawn: dict[int, float] = {}  # when, of those that were not there, or not yet
        self._to_ask: dict[int, float] = {}  # when the programs were told whose blocks found no room for all rows

    def what(self) -> Any:
        """Return its options."""
        return self._what

    def enqueue(self, request: int, first: int, end: int, block: Any = None) -> Any:
        """Enqueue rows of a block, as many as fit within POLL; return the next one, or a FailedItem.

        Args:
            request: Whose rows they are.
            first, end: Which rows.
            block: All rows; None: those that came with an earlier call. If they are no longer here, as that was long
                ago, None is returned: they shall come again.
        """
        self._give_up_old()
        deadline = time.monotonic() + POLL
        # This actor owns it, so it outlives who enqueues it.
        reference = None if block is None else importlib.import_module("ray").put(block)
        with self._lock:
            if reference is not None and self._withdrawn.pop(request, None) is None:
                self._blocks[request] = _Block(reference)
            self._to_ask.pop(request, None)
            held = self._blocks.get(request)
            if held is None:  # a block that was withdrawn before it came: nobody waits for an answer
                return None if block is None else end
            held.left += end - first
        row, failed = first, None
        try:
            while row < end and held.open:
                self._queue.enqueue((request, row), timeout=max(0.0, deadline - time.monotonic()))
                row += 1
        except DeadlineExceededError:
            pass
        except Exception as error:
            failed = FailedItem(error)
        with self._lock:
            held.left -= end - row
            held.open = held.open and row < end and failed is None
            if held.open:
                self._to_ask[request] = time.monotonic()
            self._let_go(request, held)
        return failed or row

    def dequeue(self, request: int, n: int, up_to: bool, timeout: float) -> Any:
        """Dequeue n rows, or at the end fewer: references and the rows of each; or a FailedItem.

        A request that has got rows, and has not said that it received them, gets the same again.
        """
        self._give_up_old()
        with self._lock:
            handed = self._handed.get(request)
            if handed is not None:
                handed.since = time.monotonic()
                return self._referred(handed)
        try:
            taken = (self._queue.dequeue_up_to if up_to else self._queue.dequeue_many)(n, timeout=timeout)
        except Exception as error:
            with self._lock:
                self._withdrawn.pop(request, None)
            return FailedItem(error)
        blocks, rows = (np.asarray(each) for each in taken)
        handed = _Handed(blocks, rows, time.monotonic())
        with self._lock:
            if self._withdrawn.pop(request, None) is not None:
                self._give_back(handed)
                return []
            if len(rows):
                self._handed[request] = handed
            return self._referred(handed)

    def received(self, request: int) -> None:
        """Record the receipt of requested rows."""
        with self._lock:
            handed = self._handed.pop(request, None)
            for block, rows in () if handed is None else handed.runs():
                held = self._blocks[block]
                held.left -= len(rows)
                self._let_go(block, held)

    def withdraw(self, request: int) -> None:
        """The program does not want any more what it asked for: rows go back, and others are not enqueued."""
        with self._lock:
            held, handed = self._blocks.get(request), self._handed.pop(request, None)
            self._to_ask.pop(request, None)
            if held is not None:
                held.open = False
                self._let_go(request, held)
            elif handed is not None:
                self._give_back(handed)
            else:  # the call goes on, or is yet to come
                self._withdrawn[request] = time.monotonic()

    def size(self) -> int:
        """How many rows are there."""
        self._give_up_old()
        return int(self._queue.size())

    def close(self, cancel_pending_enqueues: bool) -> None:
        """Close the queue."""
        self._queue.close(cancel_pending_enqueues)

    def is_closed(self) -> bool:
        """Return whether it is closed."""
        return bool(self._queue.is_closed())

    def _referred(self, handed: _Handed) -> list[tuple[Any, NDArray[np.int64]]]:
        return [(self._blocks[block].reference, rows) for block, rows in handed.runs()]

    def _give_back(self, handed: _Handed) -> None:
        """Rows are in front of the queue again; of a shuffle queue, among the others."""
        self._queue._give_back((handed.blocks, handed.rows))

    def _give_up_old(self) -> None:
        """Give up programs that have died: rows on their way to them go back, what was taken first in front, and no row
        of theirs waits any longer.
        """
        until = time.monotonic() - HOLD
        with self._lock:
            for request in [each for each, handed in self._handed.items() if handed.since <= until][::-1]:
                self._give_back(self._handed.pop(request))
            for request in [each for each, since in self._withdrawn.items() if since <= until]:
                del self._withdrawn[request]
            for request in [each for each, since in self._to_ask.items() if since <= until]:
                if not self._blocks[request].left:  # else those in the queue need it
                    del self._to_ask[request], self._blocks[request]

    def _let_go(self, request: int, held: _Block) -> None:
        if not held.left and not held.open:
            self._blocks.pop(request, None)
