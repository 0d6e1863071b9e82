"""Order: threads of a queue runner that fill their queue in the order in which they took what they put in.

A thread holds the baton while it takes something from queues and readers, and gets a ticket. What it makes of that, it
makes without. A window stores the results in the order of the tickets: a thread whose result is not due leaves it there
and goes on with the next.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import Any, Protocol

from pipeline._tickets import Window
from pipeline.errors import CancelledError, OpError
from pipeline.explain.workers import current_worker
from pipeline.queues.base import QueueBase

# Who waits for the baton looks this often (seconds) whether there is still a queue to fill.
_CHECK_INTERVAL = 0.05


class Work(Protocol):
    """What the threads do again and again."""

    def take(self) -> Any:
        """Take something. One thread at a time does so."""

    def make(self, taken: Any) -> Any:
        """Make of it what is to be stored."""

    def store(self, made: Any) -> None:
        """Store it. One thread at a time does so, in the order of `take`."""

    def room(self, made: Any, threads: int) -> int:
        """Return how many results like this one may wait for the one that is due, if so many threads make them."""


class Order:
    """The order of the threads of a runner that were made together.

    After an error the queue holds what was taken before it and nothing else, and the error ends every thread.

    Args:
        queue: What they fill.
        threads: How many threads there are.
        lanes: How many different things they do: one, or each thread its own. Lanes take turns.
        ends: Classes of errors that mean that a lane has no more.
    """

    def __init__(self, queue: QueueBase, threads: int, lanes: int, ends: tuple[type[OpError], ...]) -> None:
        self._queue, self._threads, self._ends = queue, threads, ends
        self._batons = [threading.Lock() for _ in range(lanes)]
        for baton in self._batons[1:]:
            baton.acquire()
        self._lane = 0  # whose turn it is
        self._over: list[Exception | None] = [None] * lanes
        self._begun = 0
        self._window: Window[_Call] | None = None
        self._failure: BaseException | None = None

    @property
    def lanes(self) -> int:
        """How many lanes there are."""
        return len(self._batons)

    def run(self, lane: int, work: Work) -> None:
        """Do the work once.

        Args:
            lane: The number of the lane.
            work: What to do.

        Raises:
            OpError: The lane has no more.
            Exception: What went wrong, here or in another thread.
        """
        try:
            end = self._run(lane, _Call(work))
        except BaseException as error:
            self._fail(error)
            raise
        if end is not None:
            raise end

    def _run(self, lane: int, call: _Call) -> Exception | None:
        """Take, make and hand over; return the error that means that there is no more."""
        self._wait_for_turn(lane)
        try:
            if self._over[lane] is not None:
                return self._over[lane]
            ticket = self._next_ticket()
            call.take()
            if self._window is None:
                self._window = self._opened(call)
            end = call.error if isinstance(call.error, self._ends) else None
            if end is not None:
                self._over[lane] = end
        finally:
            self._pass_on()
        if end is None:
            call.make()
        self._hand_over(ticket, call if end is None else None)
        return end

    def _wait_for_turn(self, lane: int) -> None:
        while not self._batons[lane].acquire(timeout=_CHECK_INTERVAL):
            if self._queue.is_closed():  # the thread whose turn it is may have ended
                raise CancelledError(None, None, "Enqueue operation was cancelled")
        if self._failure is not None:
            self._pass_on()
            raise self._failure

    def _next_ticket(self) -> int:
        window = self._window
        if window is not None and not window.wait_for_room(self._begun):
            assert self._failure is not None
            raise self._failure
        self._begun += 1
        return self._begun - 1

    def _opened(self, first: _Call) -> Window[_Call]:
        """The window: its size depends on that of the first result, which is made before there are others."""
        first.make()
        return Window(16 * self._threads if first.error is not None else first.work.room(first.value, self._threads))

    def _hand_over(self, ticket: int, call: _Call | None) -> None:
        window = self._window
        assert window is not None
        if window.offer(ticket, call):
            while (due := window.take()) is not None:
                due.store()

    def _pass_on(self) -> None:
        lanes = len(self._batons)
        if lanes > 1:
            following = ((self._lane + step) % lanes for step in range(1, lanes + 1))
            self._lane = next((lane for lane in following if self._over[lane] is None), self._lane)
        try:
            self._batons[self._lane].release()
        except RuntimeError:  # free already, after a failure
            if self._failure is None:
                raise

    def _fail(self, error: BaseException) -> None:
        """Let every thread end by this error; forget what was not stored."""
        if self._failure is not None:
            return
        self._failure = error
        if self._window is not None:
            self._window.drop()
        for baton in self._batons:
            with contextlib.suppress(RuntimeError):
                baton.release()


class _Call:
    """One round of a thread, with the keys of the records that it read, so that an error can name them."""

    __slots__ = ("_made", "error", "keys", "value", "work")

    def __init__(self, work: Work) -> None:
        self.work = work
        self.value: Any = None
        self.error: Exception | None = None
        self.keys: Sequence[bytes] | None = None
        self._made = False

    def take(self) -> None:
        try:
            self.value = self.work.take()
        except Exception as error:
            self.error = error
        self._note_keys()

    def make(self) -> None:
        if self._made or self.error is not None:
            return
        self._made = True
        try:
            self.value = self.work.make(self.value)
        except Exception as error:
            self.error = error

    def store(self) -> None:
        worker = current_worker()
        if worker is not None:
            worker.keys = self.keys
        if self.error is not None:
            raise self.error
        self.work.store(self.value)

    def _note_keys(self) -> None:
        worker = current_worker()
        self.keys = None if worker is None else worker.keys
