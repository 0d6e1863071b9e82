"""Turns at the GIL: of the threads of queue runners whose elements are cheap, one computes at a time.

Such a thread holds the GIL nearly all the time, but gives it up ten times an element: in each decoder, file and large
array operation. Eight of them then switch ten times an element, which triples the CPU time of each. So a thread keeps
others waiting for a slice of time, or until it would wait itself. Of the threads that run the same operation, only one
does, and the others stand by: they would do nothing but wait for room in the queue, each with one element, and switch
once an element. The one that works may hold as many elements instead (`in_hand.py`). Threads whose elements are
expensive need no turn: they spend their time in kernels, without the GIL. Nor do those that wait, such as for a slow
disk.
"""

from __future__ import annotations

import collections
import math
import sys
import threading
import time
from collections.abc import Callable

# Seconds of CPU time of an element up to which threads take turns, and seconds that it may wait besides, but for a
# queue. A JPEG of 96 x 96 pixels costs 100 us with turns and without: most of that is in kernels, which two threads can
# run at a time. CIFAR's images cost 60 us with turns, and 220 us in 4 threads without.
_CHEAP, _IDLE = 80e-6, 200e-6
# Elements that are measured: the cheapest counts, as the first ones of a thread cost more, and on a busy machine most
# do. And elements that go by until others are measured, where threads take turns and where they do not.
_MEASURED, _PERIOD, _PERIOD_FREE = 8, 2048, 512
# Seconds that a thread keeps its turn.
_SLICE = 2e-3
# Seconds that a consumer lets the thread with the turn go on, so that several elements are there when it looks again.
_MOMENT = 1e-3
# Seconds of one turn after which others go on without one: whoever has it may wait for a slow disk.
_PATIENCE = 10e-3
# Seconds that a thread stands by while another one makes a single element, and the longest time between two looks.
_STANDING_BY, _LONGEST = 20e-3, 100e-3
# Elements that a thread makes without turns after it lost patience. On a busy machine the thread that works may have
# been without a processor: two readers with 16 threads each, 32 x 32 px, took 118 us of CPU time an image, and 54 us
# with turns.
_SOON = 32


class _Waiter:
    def __init__(self) -> None:
        self.woken = threading.Lock()
        self.woken.acquire()
        self.has_turn = False


class GilTurns:
    """Whose turn it is, among the threads of all runners in a session.

    Thread safety: every method may be called from every thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._turn = 0
        self._ended = -math.inf  # when the last turn ended
        self._waiting: collections.deque[_Waiter] = collections.deque()
        self._watching: list[threading.Lock] = []

    def take(self) -> bool:
        """Wait for a turn, but not for long; return whether this thread has it."""
        with self._lock:
            if not self._taken:
                self._taken = True
                return True
            waiter = _Waiter()
            self._waiting.append(waiter)
        seen = -1
        while not waiter.woken.acquire(timeout=_PATIENCE):
            with self._lock:
                if waiter.has_turn:
                    return True
                if seen == self._turn:
                    self._waiting.remove(waiter)
                    return False
                seen = self._turn
        return True

    def watch(self) -> None:
        """Wait until the turn of another thread ends, but only for a moment: also one that is just about to begin."""
        with self._lock:
            if not self._taken and time.monotonic() - self._ended > _SLICE:
                return
            ended = threading.Lock()
            ended.acquire()
            self._watching.append(ended)
        ended.acquire(timeout=_MOMENT)

    def hand_on(self) -> None:
        """End the turn that this thread has; the thread that has waited longest gets it."""
        with self._lock:
            self._turn += 1
            self._ended = time.monotonic()
            for each in self._watching:
                each.release()
            self._watching = []
            if not self._waiting:
                self._taken = False
                return
            waiter = self._waiting.popleft()
            waiter.has_turn = True
        waiter.woken.release()


class Costs:
    """The costs of elements when threads take turns; decides whether all threads of an operation do, or none.

    Thread safety: every method may be called from every thread that holds the GIL.

    Attributes:
        in_turns: True if the threads take turns now.
        measured: True if elements are measured now.
    """

    def __init__(self) -> None:
        self._measure()

    def _measure(self) -> None:
        self.in_turns = self.measured = True
        self._left = _MEASURED
        self._cheapest = self._shortest = math.inf

    def begins(self) -> None:
        """Note that a thread begins an element."""
        if not self.measured:
            self._left -= 1
            if self._left < 0:
                self._measure()

    def made(self, used_s: float, waited_s: float | None) -> None:
        """Note a measured element, which was made in a turn.

        Args:
            used_s: Its CPU time, in seconds.
            waited_s: Seconds that it took besides; None if it waited for a queue.
        """
        self._cheapest = min(used_s, self._cheapest)
        if waited_s is not None:
            self._shortest = min(waited_s, self._shortest)
        self._left -= 1
        if self._left <= 0:
            self.in_turns = self._cheapest <= _CHEAP and not _IDLE < self._shortest < math.inf
            self.measured, self._left = False, _PERIOD if self.in_turns else _PERIOD_FREE


class FeederThreads:
    """The threads that run one operation in a session: in turns, one of them works and the others stand by.

    Attributes:
        costs: The costs of its elements.
    """

    def __init__(self) -> None:
        self.costs = Costs()
        self._place = threading.Lock()
        self._begun = 0
        self._waits = False

    def join(self) -> bool:
        """Become the one that works; return whether this thread does: not if another one neither works nor waits."""
        if self._place.acquire(blocking=False):
            return True
        pause, goes_on = _STANDING_BY, True
        while goes_on:
            seen = self._begun
            if self._place.acquire(timeout=pause):
                return True
            pause = min(2 * pause, _LONGEST)
            goes_on = self._waits or self._begun != seen
        return False

    def begins(self) -> None:
        """Note that the thread that works begins an element."""
        self._begun += 1
        self._waits = False

    def waits(self) -> None:
        """Note that it waits for a queue, as the others would."""
        self._waits = True

    def leave(self) -> None:
        """Let another thread work."""
        self._waits = False
        self._place.release()


class _Held(threading.local):
    turns: GilTurns | None = None
    feeders: FeederThreads | None = None
    before: Callable[[], None] | None = None  # to be called before it waits for a queue


_held = _Held()


def before_waiting(call: Callable[[], None] | None) -> None:
    """Have something called once before this thread waits for a queue."""
    _held.before = call


def about_to_wait() -> None:
    """Hand on the turn that this thread has, if any: it is about to wait for something else than the GIL."""
    before, _held.before = _held.before, None
    if before is not None:
        before()
    turns = _held.turns
    if turns is not None:
        _held.turns = None
        if _held.feeders is not None:
            _held.feeders.waits()
        turns.hand_on()


def done() -> None:
    """Leave the turn and the feeders of this thread to others: it makes no more elements, or expensive ones."""
    about_to_wait()
    feeders = _held.feeders
    if feeders is not None:
        _held.feeders = None
        feeders.leave()


def gil_enabled() -> bool:
    """Return whether this Python has a GIL."""
    return getattr(sys, "_is_gil_enabled", lambda: True)()


class TakingTurns:
    """Calls a function, which makes one element, in turn with other threads where that is cheaper.

    It is for one thread, which ends its last turn by `done`.

    Args:
        call: The function.
        turns: Shared with the other threads.
        feeders: Shared with those that call the same function.
        in_turn: Called in its stead when this thread works for all of them; it may make several elements.
    """

    def __init__(
        self,
        call: Callable[[], object],
        turns: GilTurns,
        feeders: FeederThreads,
        in_turn: Callable[[], object] | None = None,
    ) -> None:
        self._call, self._turns, self._feeders, self._in_turn = call, turns, feeders, in_turn or call
        self._impatient = 0  # elements to make before it takes a turn again
        self._until = 0.0

    def __call__(self) -> object:
        """Make an element."""
        costs = self._feeders.costs
        costs.begins()
        if self._impatient:
            self._impatient -= 1
            return self._call()
        if not costs.in_turns:
            done()
        elif not self._has_turn():
            done()
            self._impatient = _SOON - 1
            return self._call()
        if costs.measured:
            return self._measured(costs)
        return self._in_turn() if costs.in_turns else self._call()

    def _has_turn(self) -> bool:
        if _held.feeders is None:
            if not self._feeders.join():
                return False
            _held.feeders = self._feeders
        if time.monotonic() > self._until:
            about_to_wait()
        if _held.turns is None:
            if not self._turns.take():
                return False
            _held.turns = self._turns
            self._until = time.monotonic() + _SLICE
        self._feeders.begins()
        return True

    def _measured(self, costs: Costs) -> object:
        used, begin = time.thread_time(), time.monotonic()
        try:
            return self._call()
        finally:
            used = time.thread_time() - used
            waited_for_queue = _held.turns is None
            costs.made(used, None if waited_for_queue else time.monotonic() - begin - used)
