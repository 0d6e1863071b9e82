"""Crossing: from the threads that call a source to the queue, in the order of the calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pipeline._tickets import Window
from pipeline._turns import Baton
from pipeline.batches.arrivals import Arrivals
from pipeline.batches.calls import Call
from pipeline.batches.source import CHECK_INTERVAL, loop_left
from pipeline.queues.base import QueueBase
from pipeline.queues.typed import TypedQueue

# Calls that may be finished before the one that is due: with fewer, a slow call stops the others.
_WINDOW = 4096
_WINDOW_BYTES = 64 << 20


class Crossing:
    """Stores what calls gave when it is due: at once, or after those before it, by the thread that stores these.

    Args:
        arrivals: Stores a call.
        put: Puts the values of an example into the queue, with its number.
        threads: How many there are.
        example_bytes: Of an example, about.
        baton: Is told until when there is room.
        stopped: Whether to wait no more.

    Attributes:
        put: That function.
        stopped: That function.
        window: Between the threads; None if there is only one.

    Thread safety: every method may be called from any thread.
    """

    def __init__(
        self,
        arrivals: Arrivals,
        put: Callable[[Sequence[Any]], None],
        threads: int,
        example_bytes: int,
        baton: Baton,
        stopped: Callable[[], bool],
    ) -> None:
        self.put = put
        self.stopped = stopped
        self.window: Window[Any] | None = None
        if threads > 1:
            self.window = Window(max(16 * threads, min(_WINDOW, _WINDOW_BYTES // example_bytes)))
        self._arrivals = arrivals
        self._baton = baton

    def hand_over(self, call: Call) -> None:
        """Store a call, now or when it is due. Raises what `Arrivals.store` raises, for this call or another."""
        if self.window is None:
            self._arrivals.store(call)
        elif self.window.offer(call.place, call):
            self.store_due()

    def store_due(self) -> None:
        """Store what is due, and what follows it: calls, and the values of examples, each a tuple."""
        assert self.window is not None
        due = self.window.take()
        while due is not None:
            if type(due) is tuple:
                self.put(due)
            else:
                self._arrivals.store(due)
            due = None  # it may be large
            due = self.window.take()

    def wait_for_room(self, place: int) -> None:
        """Wait until a call may begin when so many have begun; the holder of the baton does.

        Raises:
            OutOfRangeError: The loop was left, or has stopped.
        """
        window = self.window
        if window is None:
            return
        if not window.has_room(place):
            while not window.wait_for_room(place, CHECK_INTERVAL):
                if self.stopped():
                    raise loop_left()
        self._baton.room_until = window.due + window.room

    def wake(self) -> None:
        """End all waits: the loop was left."""
        if self.window is not None:
            self.window.wake()


def put_into(queue: QueueBase, many: bool) -> Callable[[Any], None]:
    """What puts a tuple of components, or of blocks of them, into a queue. Nobody else may know the tuple."""
    if isinstance(queue, TypedQueue) and queue.holds_large:
        return queue._enqueue_many_given if many else queue._enqueue_given
    return queue.enqueue_many if many else queue.enqueue
