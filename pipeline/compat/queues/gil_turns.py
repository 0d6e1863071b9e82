"""Take turns at the GIL: among runner threads with cheap elements, one computes at a time.

Such a thread holds the GIL almost all the time, but releases it about ten times per element: in each decoder, file and
large array operation. Eight threads then switch ten times per element, which triples their CPU time. So a thread keeps
the others waiting for a time slice, or until it would wait itself. If several threads run the same operation, only one
works and the others stand by. They would only wait for room in the queue with one element each, and switch once per
element. The working thread may instead hold as many elements as they would (`in_hand.py`). Threads with expensive
elements need no turns, because they spend their time in kernels without the GIL. Neither do threads waiting for a slow
disk, for example.
"""

from __future__ import annotations

import collections
import math
import sys
import threading
import time
from collections.abc import Callable

from pipeline.locks import Lock

# Threads take turns if an element takes at most _CHEAP seconds of CPU time, and waits at most _IDLE seconds for
# anything except a queue. A 96 x 96 JPEG costs 100 us with or without turns: most of it is in kernels, and two threads
# can run those at a time. CIFAR images cost 60 us with turns, and 220 us in 4 threads without.
_CHEAP, _IDLE = 80e-6, 200e-6
# Elements per measurement: the cheapest counts, because a thread's first ones cost more, and so do most on a busy
# machine. Then elements until the next measurement, with turns and without.
_MEASURED, _PERIOD, _PERIOD_FREE = 8, 2048, 512
# Seconds a thread keeps its turn.
_SLICE = 2e-3
# Seconds a consumer lets the thread with the turn continue, so that it finds several elements when it looks again.
_MOMENT = 1e-3
# Seconds into one turn after which others continue without one, because its thread may be waiting for a slow disk.
_PATIENCE = 10e-3
# Seconds a thread stands by while another one makes a single element, and the longest interval between two checks.
_STANDING_BY, _LONGEST = 20e-3, 100e-3
# Elements a thread makes without turns after it lost patience. On a busy machine the working thread may have had no
# core: two readers with 16 threads each, 32 x 32 px, took 118 us of CPU time per image, and 54 us with turns.
_SOON = 32


class _Waiter:
    def __init__(self) -> None:
        self.woken = threading.Lock()
        self.woken.acquire()
        self.has_turn = False


class GilTurns:
    """Schedules GIL turns among the threads of all runners in a session.

    Thread safety: all methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._taken = False
        self._turn = 0
        self._ended = -math.inf  # when the last turn ended
        self._waiting: collections.deque[_Waiter] = collections.deque()
        self._watching: list[threading.Lock] = []

    def take(self) -> bool:
        """Wait briefly for a turn; return whether this thread has it."""
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
        """Wait until another thread's turn ends, but only for a moment; also covers a turn about to begin."""
        with self._lock:
            if not self._taken and time.monotonic() - self._ended > _SLICE:
                return
            ended = threading.Lock()
            ended.acquire()
            self._watching.append(ended)
        ended.acquire(timeout=_MOMENT)

    def hand_on(self) -> None:
        """End this thread's turn and pass it to the thread that has waited longest."""
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
    """Measures element costs and decides whether the threads running an operation take turns.

    Thread safety: all methods may be called from any thread holding the GIL.

    Attributes:
        in_turns: True while the threads take turns.
        measured: True while elements are measured.
    """

    def __init__(self) -> None:
        self._measure()

    def _measure(self) -> None:
        self.in_turns = self.measured = True
        self._left = _MEASURED
        self._cheapest = self._shortest = math.inf

    def begins(self) -> None:
        """Record that a thread begins an element."""
        if not self.measured:
            self._left -= 1
            if self._left < 0:
                self._measure()

    def made(self, used_s: float, waited_s: float | None) -> None:
        """Record a measured element made during a turn.

        Args:
            used_s: CPU time, in seconds.
            waited_s: Seconds it took in addition; None if it waited for a queue.
        """
        self._cheapest = min(used_s, self._cheapest)
        if waited_s is not None:
            self._shortest = min(waited_s, self._shortest)
        self._left -= 1
        if self._left <= 0:
            self.in_turns = self._cheapest <= _CHEAP and not _IDLE < self._shortest < math.inf
            self.measured, self._left = False, _PERIOD if self.in_turns else _PERIOD_FREE


class FeederThreads:
    """Coordinates the threads running one operation in a session: during turns one works and the others stand by.

    Attributes:
        costs: Measured element costs.
    """

    def __init__(self) -> None:
        self.costs = Costs()
        self._place = threading.Lock()
        self._begun = 0
        self._waits = False

    def join(self) -> bool:
        """Become the working thread; return False if another one has the role but neither works nor waits."""
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
        """Record that the working thread begins an element."""
        self._begun += 1
        self._waits = False

    def waits(self) -> None:
        """Record that it waits for a queue, as the others would."""
        self._waits = True

    def leave(self) -> None:
        """Let another thread work."""
        self._waits = False
        self._place.release()


class _Held(threading.local):
    turns: GilTurns | None = None
    feeders: FeederThreads | None = None
    before: Callable[[], None] | None = None  # called before this thread waits for a queue


_held = _Held()


def before_waiting(call: Callable[[], None] | None) -> None:
    """Register a callback that runs once, before this thread waits for a queue."""
    _held.before = call


def about_to_wait() -> None:
    """Pass on this thread's turn, if any, because it is about to wait for something other than the GIL."""
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
    """Release this thread's turn and its role as feeder: it makes no more elements, or expensive ones."""
    about_to_wait()
    feeders = _held.feeders
    if feeders is not None:
        _held.feeders = None
        feeders.leave()


def gil_enabled() -> bool:
    """Return whether this Python has a GIL."""
    return getattr(sys, "_is_gil_enabled", lambda: True)()


class TakingTurns:
    """Calls a function that makes one element, taking turns with other threads where that is cheaper.

    For a single thread, whose last turn ends with `done`.

    Args:
        call: The function.
        turns: Shared with the other threads.
        feeders: Shared with the threads that call the same function.
        in_turn: Called instead while this thread works for all of them; it may make several elements.
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
