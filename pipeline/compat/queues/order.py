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

import numpy as np
from numpy.typing import NDArray

from pipeline._tickets import Window
from pipeline.compat.queues.course import Course
from pipeline.errors import CancelledError, OpError
from pipeline.explain.workers import current_worker

# Who waits for the baton looks this often (seconds) whether there is still a queue to fill.
_CHECK_INTERVAL = 0.05


class Work(Protocol):
    """What the threads do again and again."""

    def take(self, limit: int) -> Any:
        """Take something, of no more than so many elements. One thread at a time does so."""

    def count(self, taken: Any) -> int:
        """Return how many elements were taken, where they are counted."""

    def pick(self, taken: Any, wanted: NDArray[np.bool_]) -> Any:
        """Return those of them that are wanted; None if none is."""

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
        course: How far they have filled their queue. It knows the lanes: one for all threads, or one for each. Lanes
            take turns.
        threads: How many threads there are.
        ends: Classes of errors that mean that a lane has no more.

    Attributes:
        course: As given.
    """

    def __init__(self, course: Course, threads: int, ends: tuple[type[OpError], ...]) -> None:
        course.begin()
        self.course = course
        self._threads, self._ends = threads, ends
        self._lanes = course.lanes
        self._batons = [threading.Lock() for _ in self._lanes.over]
        for baton in (each for lane, each in enumerate(self._batons) if lane != self._lanes.turn):
            baton.acquire()
        self._begun = 0
        self._at_end = 0  # threads that are
        self._ending = threading.Lock()
        self._window: Window[_Call] | None = None
        self._failure: tuple[BaseException, Sequence[bytes | str] | None] | None = None  # and the keys of its records

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
            follow = self._run if self._threads > 1 else self._run_alone
            end = self._lanes.over[lane] or follow(lane, _Call(work))
            if end is not None:
                self._note_end()
        except BaseException as error:
            self._fail(error)
            raise
        if end is not None:
            raise end

    def _run_alone(self, lane: int, call: _Call) -> Exception | None:
        """As `_run`, for the only thread."""
        self._check_failed()
        call.take(self.course, whole=False)
        if isinstance(call.error, self._ends):
            self._lanes.over[lane] = call.error
            return call.error
        call.make()
        if not call.empty:
            call.store(self.course)
        return None

    def _run(self, lane: int, call: _Call) -> Exception | None:
        """Take, make and hand over; return the error that means that there is no more."""
        self._wait_for_turn(lane)
        try:
            if self._lanes.over[lane] is not None:
                return self._lanes.over[lane]
            ticket = self._next_ticket()
            call.take(self.course, whole=self._window is None)
            if self._window is None:
                self._window = self._opened(call)
            end = call.error if isinstance(call.error, self._ends) else None
            if end is not None:
                self._lanes.over[lane] = end
        finally:
            self._pass_on()
        if end is None:
            call.make()
        self._hand_over(ticket, None if end is not None or call.empty else call)
        return end

    def _note_end(self) -> None:
        """Note that one more thread is at the end, and so has nothing left to store."""
        with self._ending:
            self._at_end += 1
            if self._at_end == self._threads:
                self.course.end()

    def _wait_for_turn(self, lane: int) -> None:
        while not self._batons[lane].acquire(timeout=_CHECK_INTERVAL):
            if self.course.queue.is_closed():  # the thread whose turn it is may have ended
                raise CancelledError(None, None, "Enqueue operation was cancelled")
        if self._failure is not None:
            self._pass_on()
            self._check_failed()

    def _next_ticket(self) -> int:
        window = self._window
        if window is not None and not window.wait_for_room(self._begun):
            self._check_failed()
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
                due.store(self.course)

    def _pass_on(self) -> None:
        lanes, count = self._lanes, len(self._batons)
        if count > 1:
            following = ((lanes.turn + step) % count for step in range(1, count + 1))
            lanes.turn = next((lane for lane in following if lanes.over[lane] is None), lanes.turn)
        try:
            self._batons[lanes.turn].release()
        except RuntimeError:  # free already, after a failure
            if self._failure is None:
                raise

    def _fail(self, error: BaseException) -> None:
        """Let every thread end by this error; forget what was not stored."""
        if self._failure is not None:
            return
        worker = current_worker()
        self._failure = error, None if worker is None else worker.keys
        if self._window is not None:
            self._window.drop()
        for baton in self._batons:
            with contextlib.suppress(RuntimeError):
                baton.release()

    def _check_failed(self) -> None:
        """Raise what another thread met, if one did. Whichever thread reports it first names the same record."""
        if self._failure is not None:
            error, keys = self._failure
            worker = current_worker()
            if worker is not None:
                worker.keys = keys
            raise error


class _Call:
    """One round of a thread, with the keys of the records that it read, so that an error can name them."""

    __slots__ = ("_made", "_numbers", "_unit", "error", "keys", "value", "work")

    def __init__(self, work: Work) -> None:
        self.work = work
        self.value: Any = None
        self.error: Exception | None = None
        self.keys: Sequence[bytes | str] | None = None
        self._made = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing to store: it was stored before a state was saved."""
        return self.value is None and self.error is None

    def take(self, course: Course, whole: bool) -> None:
        try:
            taken = self.work.take(course.next_units())
        except Exception as error:
            self.error = error
            course.failed()
        else:
            self._unit, self.value, self._numbers = course.took(self.work, taken, whole)
        self._note_keys()

    def make(self) -> None:
        if self._made or self.value is None or self.error is not None:
            return
        self._made = True
        try:
            self.value = self.work.make(self.value)
        except Exception as error:
            self.error = error

    def store(self, course: Course) -> None:
        worker = current_worker()
        if worker is not None:
            worker.keys = self.keys
        if self.error is not None:
            raise self.error
        course.store(self.work, self.value, self._unit, self._numbers)

    def _note_keys(self) -> None:
        worker = current_worker()
        self.keys = None if worker is None else worker.keys
