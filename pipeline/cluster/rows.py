"""RowQueueActor: the actor behind a RemoteQueue."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.cluster.actors import POLL
from pipeline.errors import DeadlineExceededError
from pipeline.locks import Lock
from pipeline.queues.kinds import FIFOQueue, RandomShuffleQueue
from pipeline.workers.chunks import FailedItem

# Seconds to wait for a program to confirm received rows, and for a block's program to ask again for room. After this
# time the program counts as dead.
HOLD = 60.0


@dataclasses.dataclass
class _Block:
    """One request's rows.

    Attributes:
        reference: Ray's reference to all rows.
        left: Number of rows in the queue, delivered but not confirmed, or being enqueued.
        open: True if more of its rows will be enqueued.
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
        """Yield consecutive rows from one block."""
        starts = [0, *(np.flatnonzero(np.diff(self.blocks)) + 1).tolist(), len(self.blocks)]
        for begin, end in itertools.pairwise(starts):
            if begin < end:
                yield int(self.blocks[begin]), self.rows[begin:end]


class RowQueueActor:
    """The actor behind a RemoteQueue: a queue with (block, row) indices, and references to the blocks.

    A request is one call in a program, in one or several calls to this actor. The program draws its number, and can
    `withdraw` the request when Ctrl-C ends the wait for an answer, because here the call continues. Delivered rows are
    kept until the program confirms their receipt, or go back after HOLD.

    Args:
        what: The options that must be equal for all of the queue's users: capacity, dtypes, ...
        capacity, min_after_dequeue, seed: For the queue; `min_after_dequeue` is None for a FIFO queue.
    """

    def __init__(self, what: Any, capacity: int, min_after_dequeue: int | None, seed: int | None) -> None:
        self._what = what
        form: tuple[Any, Any] = (["int64", "int64"], [(), ()])
        self._queue = (
            FIFOQueue(capacity, *form)
            if min_after_dequeue is None
            else RandomShuffleQueue(capacity, min_after_dequeue, *form, seed=seed)
        )
        self._lock = Lock()
        self._blocks: dict[int, _Block] = {}  # by request, like the other two
        self._handed: dict[int, _Handed] = {}
        self._withdrawn: dict[int, float] = {}  # time of withdrawal, for absent or future requests
        self._to_ask: dict[int, float] = {}  # time of the answer to programs whose blocks had no room for all rows

    def what(self) -> Any:
        """Return its options."""
        return self._what

    def enqueue(self, request: int, first: int, end: int, block: Any = None) -> Any:
        """Enqueue a block's rows, as many as fit within POLL; return the next one, or a FailedItem.

        Args:
            request: The request with these rows.
            first, end: The range of rows.
            block: All rows; None for the rows from an earlier call. If these are gone after a long time, None is
                returned, and they must be sent again.
        """
        self._give_up_old()
        deadline = time.monotonic() + POLL
        # This actor owns the block, so it outlives its enqueuing program.
        reference = None if block is None else importlib.import_module("ray").put(block)
        with self._lock:
            if reference is not None and self._withdrawn.pop(request, None) is None:
                self._blocks[request] = _Block(reference)
            self._to_ask.pop(request, None)
            held = self._blocks.get(request)
            if held is None:  # the block was withdrawn before it arrived, so nothing waits for an answer
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
        """Dequeue n rows, or fewer at the end: references and each one's rows; or a FailedItem.

        A request that got rows but has not confirmed them gets the same rows again.
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
        """Cancel a request: delivered rows go back, and its other rows are not enqueued."""
        with self._lock:
            held, handed = self._blocks.get(request), self._handed.pop(request, None)
            self._to_ask.pop(request, None)
            if held is not None:
                held.open = False
                self._let_go(request, held)
            elif handed is not None:
                self._give_back(handed)
            else:  # the call continues, or has not arrived yet
                self._withdrawn[request] = time.monotonic()

    def size(self) -> int:
        """Return the number of rows in the queue."""
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
        """Put rows back at the front; in a shuffle queue, among the others."""
        self._queue._give_back((handed.blocks, handed.rows))

    def _give_up_old(self) -> None:
        """Abandon requests from dead programs.

        Rows on their way to them go back, the earliest in front, and none of their own rows waits any longer.
        """
        until = time.monotonic() - HOLD
        with self._lock:
            for request in [each for each, handed in self._handed.items() if handed.since <= until][::-1]:
                self._give_back(self._handed.pop(request))
            for request in [each for each, since in self._withdrawn.items() if since <= until]:
                del self._withdrawn[request]
            for request in [each for each, since in self._to_ask.items() if since <= until]:
                if not self._blocks[request].left:  # otherwise the rows in the queue need it
                    del self._to_ask[request], self._blocks[request]

    def _let_go(self, request: int, held: _Block) -> None:
        if not held.left and not held.open:
            self._blocks.pop(request, None)
