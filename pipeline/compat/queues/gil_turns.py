"""Turns at the GIL: of the threads of queue runners whose elements are cheap, one computes at a time.

Such a thread holds the GIL nearly all the time, but gives it up ten times an element: in each decoder, file and large
array operation. Eight of them then switch ten times an element, which doubles the CPU time of each. So a thread keeps
others waiting for a slice of time, or until it would wait itself. Threads whose elements are expensive need no turn:
they spend their time in kernels, without the GIL.
"""

from __future__ import annotations

import collections
import sys
import threading
import time
from collections.abc import Callable

# Seconds of CPU time of an element below which its thread takes turns.
_CHEAP = 200e-6
# Seconds that a thread keeps its turn.
_SLICE = 2e-3
# Seconds of one turn after which others go on without one: whoever has it may wait for a slow disk.
_PATIENCE = 10e-3
# Elements after which a thread that takes no turns tries again, and how many it measures then.
_PERIOD, _MEASURED = 256, 4


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
        self._waiting: collections.deque[_Waiter] = collections.deque()

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

    def hand_on(self) -> None:
        """End the turn that this thread has; the thread that has waited longest gets it."""
        with self._lock:
            self._turn += 1
            if not self._waiting:
                self._taken = False
                return
            waiter = self._waiting.popleft()
            waiter.has_turn = True
        waiter.woken.release()


class _Held(threading.local):
    turns: GilTurns | None = None


_held = _Held()


def about_to_wait() -> None:
    """Hand on the turn that this thread has, if any: it is about to wait for something else than the GIL."""
    turns = _held.turns
    if turns is not None:
        _held.turns = None
        turns.hand_on()


class TakingTurns:
    """Calls a function, which makes one element, in turn with other threads as long as that is cheap.

    It is for one thread, which ends its last turn by `about_to_wait`.

    Args:
        call: The function.
        turns: Shared with the other threads.
    """

    def __init__(self, call: Callable[[], object], turns: GilTurns) -> None:
        self._call, self._turns = call, turns
        self._free = not getattr(sys, "_is_gil_enabled", lambda: True)()  # takes no turns for now
        self._count = 0
        self._cheapest = 0.0
        self._until = 0.0

    def __call__(self) -> object:
        """Make an element."""
        self._count += 1
        if self._free and self._count < _PERIOD:
            return self._call()
        if time.monotonic() > self._until:
            about_to_wait()
        if _held.turns is None:
            if not self._turns.take():
                self._free, self._count = True, 0
                return self._call()
            _held.turns = self._turns
            self._until = time.monotonic() + _SLICE
        return self._call() if self._free is False and self._count > _MEASURED else self._measured()

    def _measured(self) -> object:
        """Make an element and measure it; if even the cheapest of some is expensive, take no more turns for a while."""
        if self._count >= _PERIOD:
            self._free, self._count = False, 1
        begin = time.thread_time()
        try:
            return self._call()
        finally:
            cost = time.thread_time() - begin
            self._cheapest = cost if self._count == 1 else min(cost, self._cheapest)
            if self._count == _MEASURED and self._cheapest > _CHEAP:
                self._free, self._count = True, 0
                about_to_wait()
