"""ProducerQueue: a producer's queue. An iterator computes its elements directly, bypassing the queue."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._queue import CALLS
from pipeline.diagnostics.ends import end_of_input, with_end
from pipeline.diagnostics.live import note_input, queues
from pipeline.diagnostics.workers import WorkerGroup, current_worker
from pipeline.diagnostics.workers import this_thread as worker_of_thread
from pipeline.errors import DeadlineExceededError, FailedPreconditionError, OutOfRangeError, invalid
from pipeline.hooks import loop_of_thread
from pipeline.locks import Lock
from pipeline.orders.numbered import Numbered, at_least_one
from pipeline.queues.causes import InputUsedUp
from pipeline.queues.kinds import FIFOQueue
from pipeline.queues.texts import insufficient
from pipeline.runners.coordinator import Coordinator
from pipeline.runners.runner import QueueRunner
from pipeline.stats import QueueStats

_READY = 256  # scalars to prepare at once


def _none() -> None:
    """Stand in for a dead reference."""


class _Hand(FIFOQueue):
    """A queue for producer rows requested by index."""

    _listed = False


class ProducerQueue(FIFOQueue):
    """A producer's queue. Before its thread has begun, an iterator needs neither the thread nor the queue: the next
    elements are computed from their numbers, under a lock. If the thread begins later, it continues after them.

    Attributes:
        numbered: The element numbers.
        runner: The thread's runner, until an iterator starts it or the queue is closed.
    """

    starts_itself = True
    _listed = False  # until `number`, as reports read `numbered`
    numbered: Numbered
    runner: QueueRunner | None = None
    _starting = Lock()
    _before = 0  # elements taken or skipped before the thread began
    _passed = 0  # elements skipped, to continue at a saved state
    # The Coordinator of the iterator that took from it last, and the runner thread that did so on its behalf.
    _noted: tuple[Callable[[], Any], Callable[[], Any]] = (_none, _none)
    _hand: FIFOQueue | None = None
    # The number following the prepared elements, and these elements in reverse order. The pair is replaced as a whole,
    # because Ctrl-C may strike anywhere. The number is -1 until an iterator asks for an element.
    _ready: tuple[int, list[Any]] = (-1, [])

    def number(
        self, kind: str, rows: Any, numbered: Numbered, digest: Callable[[], str], threaded: bool = False
    ) -> None:
        """Set the elements.

        Args:
            kind: The function that made the producer.
            rows: Returns rows for an array with row numbers.
            numbered: The elements' row numbers.
            digest: Returns a digest for the rows.
            threaded: True if an iterator has to start the thread.
        """
        self._taking = Lock()
        self._threaded = threaded
        self._kind = kind
        self._rows = rows
        self.numbered = numbered
        self._digest = digest
        queues.add(self)

    def block(self, n: int) -> Any:
        """Dequeue the available rows: at least 1, at most `n`. It waits only for the first.

        Returns:
            An array with rank 1 or more; its first dimension counts the rows.

        Raises:
            OutOfRangeError: All epochs are over.
            ValueError: `n` is less than 1.
        """
        n = at_least_one(n)
        if self.runner is not None:
            taken = self._directly(lambda: self._computed(n, False, lambda hand: hand.dequeue_many(hand.size())))
            if taken:
                return taken[0]
        available = min(self.size(), n)
        if available > 1:
            try:
                return super().dequeue_up_to(available, timeout=0)
            except DeadlineExceededError:  # another thread took some
                pass
        return super().dequeue_many(1)

    def row_numbers(self, n: int) -> NDArray[Any]:
        """Return the next row numbers, as `block` does for a range from 0, with any integer dtype."""
        taken: list[NDArray[Any]] = []
        if self.runner is not None:
            n = at_least_one(n)
            taken = self._directly(lambda: self._advance(n, False))
        return taken[0] if taken else self.block(n)

    def dequeue(self, name: str | None = None, *, timeout: float | None = None) -> Any:
        """Dequeue as FIFOQueue does; without the thread if an iterator asks first."""
        if self.runner is not None:
            coord, (last, worker) = loop_of_thread.coord, self._noted
            if coord is not None and last() is coord and worker() is worker_of_thread.worker:
                with self._taking:  # same as `_directly`, in a third of the time
                    # It was in memory. It stays so until its thread counts the taken elements, unless it is used
                    # otherwise.
                    if self._ready[0] >= 0 and not (self.is_closed() or self.size()):
                        return self._next_element()
            taken = self._directly(self._next_element)
            if taken:
                return taken[0]
        return super().dequeue(name, timeout=timeout)

    def dequeue_many(self, n: int, name: str | None = None, *, timeout: float | None = None, out: Any = None) -> Any:
        """Dequeue as FIFOQueue does; without the thread if an iterator asks first."""
        if self.runner is not None:
            count = self._count(n, CALLS["dequeue_many"])
            taken = self._directly(lambda: self._computed(count, True, lambda hand: hand.dequeue_many(count, out=out)))
            if taken:
                return taken[0]
        return super().dequeue_many(n, name, timeout=timeout, out=out)

    def dequeue_up_to(self, n: int, name: str | None = None, *, timeout: float | None = None, out: Any = None) -> Any:
        """Dequeue as FIFOQueue does; without the thread if an iterator asks first."""
        if self.runner is not None:
            count = self._count(n, CALLS["dequeue_up_to"])
            taken = self._directly(
                lambda: self._computed(count, False, lambda hand: hand.dequeue_up_to(min(count, hand.size()), out=out))
            )
            if taken:
                return taken[0]
        return super().dequeue_up_to(n, name, timeout=timeout, out=out)

    @property
    def at_hand(self) -> bool:
        """True if an iterator gets elements without waiting for a thread."""
        runner = self.runner
        return runner is not None and not (runner._begun or self._threaded or self.is_closed() or self.size())

    def _directly(self, take: Callable[[], Any]) -> list[Any]:
        """Return the result of `take` in a list, if an iterator asks and the thread has not begun, or an iterator asked
        before.
        Otherwise return an empty list: elements pass through the queue, and the thread starts if an iterator asks.

        Raises:
            OutOfRangeError: As `take`.
        """
        coord = loop_of_thread.coord
        if coord is None and self._ready[0] < 0:
            return []
        with self._taking:
            if self.at_hand:
                if coord is not None:
                    self._note(coord)
                return [take()]
        if coord is not None:
            with self._starting:
                runner, self.runner = self.runner, None
            note_input(self)
            if runner is not None and not runner._begun and (self._ready[0] < 0 or not self.is_closed()):
                runner.create_threads(coord=coord, daemon=True, start=True)
        return []

    def close(
        self, cancel_pending_enqueues: bool = False, name: str | None = None, *, timeout: float | None = None
    ) -> None:
        super().close(cancel_pending_enqueues, name, timeout=timeout)
        # No thread will be started from now on. Runner and queue refer to each other, so they would wait for a garbage
        # collection, which is rare and does not know how large they are.
        self.runner = None

    close.__doc__ = FIFOQueue.close.__doc__

    def _note(self, coord: Coordinator) -> None:
        """Record the iterator thread that takes from this queue, and close the queue with the iterator if another did
        before."""
        worker, (last, other) = current_worker(), self._noted
        if last() is not coord or other() is not worker:
            note_input(self)
            coord.close_on_stop(self)
            self._noted = weakref.ref(coord), _none if worker is None else weakref.ref(worker)

    def taken_before(self) -> int:
        """Return how many elements were taken since the last call; the thread asks before each epoch and skips them."""
        with self._taking:
            taken, self._ready = max(0, self._following), (-1, [])
            self._before += taken
            return taken

    def stats(self) -> QueueStats:
        """Return statistics as FIFOQueue does. Elements taken by an iterator count as if they had passed through the
        queue."""
        stats = super().stats()
        following = self._following
        if following < 0 and not self._before:
            return stats
        directly = (self._before if following < 0 else following - stats.dequeued) - self._passed
        return stats._replace(enqueued=stats.enqueued + directly, dequeued=stats.dequeued + directly)

    def progress(self) -> tuple[int, int | None, int]:
        """Return how many elements were taken, how many all epochs have (None: endless), and how many one epoch has."""
        return self._position(), self.numbered.total, self.numbered.length

    # By index. The caller holds the lock.

    @property
    def _following(self) -> int:
        """Number of the next element; -1 until an iterator asks for one."""
        end, made = self._ready
        return end - len(made)

    def _next_element(self) -> Any:
        """Return the next element. OutOfRangeError past the last epoch."""
        return (self._ready[1] or self._make_ready()).pop()

    def _make_ready(self) -> list[Any]:
        """Prepare the next elements. Scalars are made in batches: singly they take 5 us each, this way 0.1."""
        first = self._position()
        numbers = self.numbered.numbers(first, _READY if self.shapes == [()] else 1)
        if not len(numbers):
            raise self._ended(1, 0, first)
        made = list(self._handed(numbers, lambda hand: hand.dequeue_many(len(numbers))))[::-1]
        self._ready = first + len(made), made
        return made

    def _computed(self, n: int, whole: bool, take: Callable[[FIFOQueue], Any]) -> Any:
        """Return the result of `take` for the next elements: n, or up to n unless `whole`."""
        before = self._ready
        try:
            return self._handed(self._advance(n, whole), take)
        except BaseException:  # for example, `out` does not fit
            self._ready = before
            raise

    def _handed(self, numbers: NDArray[np.int64], take: Callable[[FIFOQueue], Any]) -> Any:
        """Pass rows through a queue, for the same results as from this one."""
        hand, self._hand = self._hand, None  # dropped with its contents after an error
        if hand is None:
            hand = _Hand(-1, self.dtypes, self.shapes, name=self.name)
        if len(numbers):
            hand.enqueue_many((self._rows[numbers],))
        taken = take(hand)
        self._hand = hand
        return taken

    def _advance(self, n: int, whole: bool) -> NDArray[np.int64]:
        """Take the row numbers for the next n elements; OutOfRangeError if there are fewer, or none."""
        first = self._position()
        numbers = self.numbered.numbers(first, n)
        if len(numbers) < (n if whole else min(n, 1)):
            raise self._ended(n, len(numbers), first)
        self._ready = first + len(numbers), []
        return numbers

    def _ended(self, requested: int, left: int, taken: int) -> OutOfRangeError:
        """Return the queue's error for the end."""
        numbered, group = self.numbered, WorkerGroup(self, 1)
        why = None if numbered.length else f"the input of '{self.name}' has no rows"
        group.reached_end(end_of_input(f"Reached limit of {numbered.num_epochs}", numbered.num_epochs, why))
        cause, stats = InputUsedUp(group), self.stats()._replace(enqueued=numbered.total or 0, dequeued=taken)
        text = cause.text([group], stats)
        return with_end(insufficient(self._kind_name, self.name, requested, left, f"\n{text}"), cause.end)

    # For states.

    def _facts(self) -> dict[str, Any]:
        """Return everything that determines the elements, as plain data."""
        return {"name": self.name, "kind": self._kind, "digest": self._digest(), **self.numbered.facts()}

    def _position(self) -> int:
        """Return how many elements were taken or skipped."""
        following = self._following
        return self._before + super().stats().dequeued if following < 0 else following

    def _go_to(self, position: int, seeds: tuple[int, int] | None) -> None:
        """Continue from a position in the order given by these seeds.

        Raises:
            FailedPreconditionError: The thread has begun: its elements come first.
            InvalidArgumentError: There is no such position.
        """
        total = self.numbered.total
        if position < 0 or (total is not None and position > total):
            known = "" if total is None else f": all epochs together have {total:,}"
            raise invalid(f"'{self.name}' cannot resume at element {position:,}{known}")
        with self._taking:
            if not self.at_hand:
                text = f"'{self.name}' cannot resume at element {position:,}: its thread has begun, or it is closed"
                raise FailedPreconditionError(None, None, text)
            if seeds is not None:
                self.numbered.reseed(seeds)
            self._passed += position - self._position()
            self._ready = position, []
