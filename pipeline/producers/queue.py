"""ProducerQueue: the queue of a producer. A deterministic loop asks it for elements by number instead."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._queue import CALLS
from pipeline._turns import Ready
from pipeline.diagnostics.causes import InputUsedUp
from pipeline.diagnostics.ends import end_of_input, with_end
from pipeline.diagnostics.live import note_input, queues
from pipeline.diagnostics.workers import WorkerGroup, WorkerRecord, current_worker
from pipeline.diagnostics.workers import this_thread as worker_of_thread
from pipeline.errors import DeadlineExceededError, OutOfRangeError, invalid
from pipeline.producers.numbered import Numbered, at_least_one
from pipeline.pulls import Book, Turn, in_use, this_thread
from pipeline.queues.kinds import FIFOQueue
from pipeline.queues.texts import insufficient
from pipeline.runners.coordinator import Coordinator
from pipeline.runners.current_loop import loop_of_thread
from pipeline.runners.runner import QueueRunner
from pipeline.stats import QueueStats

_READY = 256  # scalars that are made ready at once


class _Hand(FIFOQueue):
    """What the rows of a producer pass through when they are asked for by number: taking from it is no pull."""

    _listed = False

    def _pulling(self) -> None:
        return None


class ProducerQueue(FIFOQueue):
    """The queue of a producer. As long as nobody has started its thread, a loop over batches needs neither thread nor
    queue: the next elements are computed from their numbers. If the thread begins later, it goes on after them.

    So they are within a turn of a deterministic loop, whether the thread runs or not. The loop sees to it that one turn
    at a time pulls; others hold a lock.

    Attributes:
        runner: What runs the thread, until a loop has started it or the queue is closed.
        owner: What records the reads of the one function that may take from it; None for anybody.
    """

    starts_itself = True
    _listed = False  # until `number`: a report looks at what is numbered
    last_ids: Any = None
    runner: QueueRunner | None = None
    owner: Book | None = None
    _starting = threading.Lock()
    _before = 0  # elements that were taken before the thread began
    _noted: weakref.ref[WorkerRecord] | None = None  # the thread of a loop that took from it last
    _hand: FIFOQueue | None = None

    def number(
        self, kind: str, rows: Any, numbered: Numbered, digest: Callable[[], str], threaded: bool = False
    ) -> None:
        """Say what the elements are.

        Args:
            kind: The function that made the producer.
            rows: Gives rows for an array of row numbers.
            numbered: The row numbers of the elements.
            digest: Gives a digest of the rows.
            threaded: A loop is to start the thread.
        """
        self._taking = threading.RLock()  # reentrant: a signal handler may take from it
        self._threaded = threaded
        self._kind = kind
        self._rows = rows
        self._numbered = numbered
        self._digest = digest
        self._ready = Ready()
        queues.add(self)

    def block(self, n: int) -> Any:
        """Dequeue the rows available now: at least 1, at most `n`. It waits only for the first.

        Returns:
            An array of rank 1 or more; its first dimension counts the rows.

        Raises:
            OutOfRangeError: All epochs are over.
            ValueError: `n` is less than 1.
        """
        n = at_least_one(n)
        turn = this_thread.turn
        if turn is not None:
            return self._up_to(turn, n)
        if self.runner is not None or self.owner is not None:
            taken = self._directly(lambda: self._pulled(n, False, lambda hand: hand.dequeue_many(hand.size())))
            if taken:
                return taken[0]
        available = min(self.size(), n)
        if available > 1:
            try:
                return super().dequeue_up_to(available, timeout=0)
            except DeadlineExceededError:  # another thread took some of them
                pass
        return super().dequeue_many(1)

    def row_numbers(self, n: int) -> NDArray[Any]:
        """As `block`, outside of turns, for a range from 0 on: of any dtype of integers."""
        taken: list[NDArray[Any]] = []
        if self.runner is not None or self.owner is not None:
            n = at_least_one(n)
            taken = self._directly(lambda: self._advance(n, False))
        return taken[0] if taken else self.block(n)

    def dequeue(self, name: str | None = None, *, timeout: float | None = None) -> Any:
        """As FIFOQueue; without its thread if a loop over batches asks first."""
        turn = this_thread.turn
        if turn is not None:
            return self._ready.take(self, turn)
        if self.runner is not None or self.owner is not None:
            noted = self._noted
            if noted is not None and noted() is worker_of_thread.worker:  # as `_directly`, in a third of the time
                with self._taking:
                    # It was at hand. Then it is until its thread asks how many were taken, unless it is used otherwise.
                    if self._ready.next >= 0 and self.owner is None and not (self.is_closed() or self.size()):
                        return self._ready.take_directly(self)
            taken = self._directly(lambda: self._ready.take_directly(self))
            if taken:
                return taken[0]
        return super().dequeue(name, timeout=timeout)

    def dequeue_many(self, n: int, name: str | None = None, *, timeout: float | None = None, out: Any = None) -> Any:
        """As FIFOQueue; without its thread if a loop over batches asks first."""
        turn = this_thread.turn
        if turn is not None:
            count = self._count(n, CALLS["dequeue_many"])
            return self._pull(turn, count, True, lambda hand: hand.dequeue_many(count, out=out))
        if self.runner is not None or self.owner is not None:
            count = self._count(n, CALLS["dequeue_many"])
            taken = self._directly(lambda: self._pulled(count, True, lambda hand: hand.dequeue_many(count, out=out)))
            if taken:
                return taken[0]
        return super().dequeue_many(n, name, timeout=timeout, out=out)

    def dequeue_up_to(self, n: int, name: str | None = None, *, timeout: float | None = None, out: Any = None) -> Any:
        """As FIFOQueue; without its thread if a loop over batches asks first."""
        turn = this_thread.turn
        if turn is not None:
            return self._up_to(turn, self._count(n, CALLS["dequeue_up_to"]), out)
        if self.runner is not None or self.owner is not None:
            count = self._count(n, CALLS["dequeue_up_to"])
            taken = self._directly(lambda: self._pulled(count, False, _up_to(count, out)))
            if taken:
                return taken[0]
        return super().dequeue_up_to(n, name, timeout=timeout, out=out)

    @property
    def at_hand(self) -> bool:
        """Whether a loop over batches gets elements without waiting for a thread."""
        runner = self.runner
        return (
            runner is not None
            and self.owner is None
            and not (runner._begun or self._threaded or self.is_closed() or self.size())
        )

    def _directly(self, take: Callable[[], Any]) -> list[Any]:
        """What `take` computes, in a list, if a loop asks and the thread has not begun, or if one has asked before.
        Else nothing; then elements come through the queue, and the thread starts if a loop asks.

        Raises:
            FailedPreconditionError: A deterministic loop owns it.
            OutOfRangeError: What `take` raises.
        """
        if self.owner is not None:
            raise in_use(self)
        coord = loop_of_thread.coord
        if coord is None and self._ready.next < 0:
            return []
        if self.at_hand:
            with self._taking:
                if self.at_hand:
                    if coord is not None:
                        self._note(coord)
                    return [take()]
        if coord is not None:
            with self._starting:
                runner, self.runner = self.runner, None
            note_input(self)
            if runner is not None and not runner._begun and (self._ready.next < 0 or not self.is_closed()):
                runner.create_threads(coord=coord, daemon=True, start=True)
        return []

    def close(
        self, cancel_pending_enqueues: bool = False, name: str | None = None, *, timeout: float | None = None
    ) -> None:
        super().close(cancel_pending_enqueues, name, timeout=timeout)
        self.over()

    close.__doc__ = FIFOQueue.close.__doc__

    def over(self) -> None:
        """Forget the runner, as no thread will be started any more. The two refer to each other, and would wait for a
        garbage collection, which comes seldom and does not know how large they are."""
        self.runner = None

    def _note(self, coord: Coordinator) -> None:
        """Note that a thread of a loop takes from this, and have it closed with the loop, if another did before."""
        worker, noted = current_worker(), self._noted
        if worker is None or noted is None or noted() is not worker:
            note_input(self)
            coord.close_on_stop(self)
            self._noted = None if worker is None else weakref.ref(worker)

    def taken_before(self) -> int:
        """For the thread, before each epoch: how many elements were taken since it last asked; they come no more."""
        with self._taking:
            if self.owner is not None:
                return 0
            taken, self._ready.next = max(0, self._ready.next), -1
            self._before += taken
            return taken

    def stats(self) -> QueueStats:
        """As FIFOQueue. Elements that a loop has taken without the queue count as if they had come through it, but for
        those of a deterministic loop, which may have begun anywhere."""
        stats = super().stats()
        following = self._ready.next
        if self.owner is not None or (following < 0 and not self._before):
            return stats
        directly = self._before if following < 0 else following - stats.dequeued
        return stats._replace(enqueued=stats.enqueued + directly, dequeued=stats.dequeued + directly)

    def progress(self) -> tuple[int, int | None, int]:
        """Return how many elements were taken, how many there are in all epochs (None: no end), and in one."""
        following = self._ready.next
        taken = self._before + super().stats().dequeued if following < 0 else following
        return taken, self._numbered.total, self._numbered.length

    # By number.

    def _up_to(self, turn: Turn, n: int, out: Any = None) -> Any:
        return self._pull(turn, n, False, _up_to(n, out))

    def _pull(self, turn: Turn, n: int, whole: bool, take: Callable[[FIFOQueue], Any]) -> Any:
        with turn.pulling(self):
            return self._pulled(n, whole, take)

    def _pulled(self, n: int, whole: bool, take: Callable[[FIFOQueue], Any]) -> Any:
        before = self._position()
        try:
            return self._handed(self._advance(n, whole), take)
        except BaseException:  # `out` does not fit, say
            self._go_to(before)
            raise

    def _make_ready(self) -> None:
        """Make the next elements ready. Scalars come by the hundred: one by one they take 5 us each, so 0.1."""
        first = self._position()[0]
        numbers = self._numbered.numbers(first, _READY if self.shapes == [()] else 1)
        if not len(numbers):
            raise self._ended(1, 0, first)
        many = self._handed(numbers, lambda hand: hand.dequeue_many(len(numbers)))
        self._ready.fill(first, numbers.tolist(), list(many))

    def _handed(self, numbers: NDArray[np.int64], take: Callable[[FIFOQueue], Any]) -> Any:
        """Let rows pass through a queue of their own, so that they come out just as from this one."""
        hand, self._hand = self._hand, None  # after an error it is gone, with what is in it
        if hand is None:
            hand = _Hand(-1, self.dtypes, self.shapes, name=self.name)
        if len(numbers):
            hand.enqueue_many((self._rows[numbers],))
        taken = take(hand)
        self._hand = hand
        return taken

    def _advance(self, n: int, whole: bool) -> NDArray[np.int64]:
        """Take the row numbers of the next `n` elements; OutOfRangeError if there are not as many, or none."""
        first = self._position()[0]
        numbers = self._numbered.numbers(first, n)
        if len(numbers) < (n if whole else min(n, 1)):
            raise self._ended(n, len(numbers), first)
        self._ready.next = first + len(numbers)
        self.last_ids = numbers
        return numbers

    def _element(self, number: int) -> Any:
        """Return the element of a number, which is not counted as taken. OutOfRangeError past the last epoch."""
        return self._numbered_element(number)[1]

    def _numbered_element(self, number: int) -> tuple[int, Any]:
        """As `_element`, with the number of its row."""
        numbers = self._numbered.numbers(number, 1)
        if not len(numbers):
            raise self._ended(1, 0, number)
        return int(numbers[0]), self._handed(numbers, lambda hand: hand.dequeue())

    def _elements(self, first: int, count: int) -> Any:
        """Return so many elements from a number on, or as many as there are."""
        numbers = self._numbered.numbers(first, count)
        return self._handed(numbers, lambda hand: hand.dequeue_many(len(numbers)))

    def _epoch(self, number: int) -> int:
        """Return the epoch of an element."""
        return number // self._numbered.length

    def _ended(self, requested: int, left: int, taken: int) -> OutOfRangeError:
        """Return the error that the queue would give at its end."""
        numbered, group = self._numbered, WorkerGroup(self, 1)
        why = None if numbered.length else f"the input of '{self.name}' has no rows"
        group.reached_end(end_of_input(f"Reached limit of {numbered.num_epochs}", numbered.num_epochs, why))
        cause, stats = InputUsedUp(group), self.stats()._replace(enqueued=numbered.total or 0, dequeued=taken)
        text = cause.text([group], stats)
        return with_end(insufficient(self._kind_name, self.name, requested, left, f"\n{text}"), cause.end)

    # A Positioned.

    def _facts(self) -> dict[str, Any]:
        return {"name": self.name, "kind": self._kind, "digest": self._digest(), **self._numbered.facts()}

    def _position(self) -> list[int]:
        if self._ready.next < 0:
            self._ready.next = self._before + super().stats().dequeued
        return [self._ready.next]

    def _go_to(self, position: Sequence[int]) -> None:
        (number,) = map(int, position)
        total = self._numbered.total
        if number < 0 or (total is not None and number > total):
            known = "" if total is None else f": all epochs together have {total:,}"
            raise invalid(f"'{self.name}' cannot resume at element {number:,}{known}")
        self._ready.next = number

    def _skip(self, count: int, n: int = 1, whole: bool = True) -> None:
        """Drop what `count` pulls of `n` elements give; the last one may give fewer unless `whole`."""
        (first,), total = self._position(), self._numbered.total
        wanted, left = count * n, None if total is None else total - first
        if left is not None and wanted > left:
            if whole or left <= wanted - n:
                rest = left % n if whole else 0
                raise self._ended(n, rest, first + left - rest)
            wanted = left
        self._ready.next = first + wanted

    def _no_state(self) -> str | None:
        return None

    def _reseed(self, seeds: Sequence[int]) -> bool:
        """Shuffle with the seeds of a saved run if those here were drawn by chance; return whether they were."""
        drawn = self._drawn()
        if drawn:
            self._numbered.reseed(seeds)
            self._ready.forget()
        return drawn

    def _drawn(self) -> bool:
        """Whether its seeds were drawn by chance."""
        return self._numbered.shuffle is not None and self._numbered.shuffle.drawn


def _up_to(n: int, out: Any) -> Callable[[FIFOQueue], Any]:
    """What takes from a queue, without waiting, what it has of `n` elements."""
    return lambda hand: hand.dequeue_up_to(min(n, hand.size()), out=out)
