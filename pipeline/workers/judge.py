"""Judge: choose the kind and number of workers from waiting times, one change at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

HERE, THREADS, PROCESSES = "here", "threads", "processes"

# Threads waiting for something other than a processor.
MOST_THREADS = 32

# If the loop waits for a larger share of its time, more workers are tried; below the second value, fewer.
_WAITS, _RARELY = 0.08, 0.02

# More workers may help if workers are busier than this.
_BUSY = 0.7

# Speed-up for which a change is kept, and speed-up that needs no second measurement.
_GAIN, _CLEAR = 1.1, 1.5

# Periods that must agree, because other programs may slow one; a period slower than _WORSE decides alone.
_LOOKS, _WORSE = 3, 0.85

# A rate's weight one period later: other programs may slow any period, and a loop may become slower.
_FADES = 0.95

# A loop waiting for more than this share works too little to estimate its own speed.
_MOSTLY = 0.9

# A function with more processor time per second counts as CPU-bound.
_COMPUTES = 0.5

# For shorter calls, in seconds, a worker costs as much as it gains.
_TINY = 5e-6

# Periods before a useless change is tried again, doubled each time, and their maximum: if it made no difference, and if
# it was slower. More threads slow down a CPU-bound function, but hardly one that waits.
_PATIENCE, _WARNED = (4, 128), (64, 1024)


class Choice(NamedTuple):
    """A kind of workers, and their number.

    Attributes:
        kind: HERE (the loop's thread), THREADS or PROCESSES.
        number: Number of workers.
    """

    kind: str
    number: int

    def __str__(self) -> str:
        return "None" if self.kind == HERE else f"pipeline.{self.kind}({self.number})"


class Chosen:
    """The best workers found for a function. The next loop starts with them.

    Attributes:
        choice: The chosen workers.
        count: Number of periods so far.
        refused: The period until which no others are tried, and the number of periods skipped.
        processes: The last loop's process executor, for the next loop; None if there was none.
    """

    def __init__(self, choice: Choice | None = None) -> None:
        self.choice = choice or Choice(HERE, 1)
        self.count = 0
        self.refused: dict[Choice, tuple[int, int]] = {}
        self.processes: Any = None


class Period(NamedTuple):
    """A loop's activity during a period.

    Attributes:
        rate: Examples per second.
        waited: Fraction of the time spent waiting for results, or computing them.
        busy: Average number of busy workers.
        cpu: The function's processor time per second.
    """

    rate: float
    waited: float
    busy: float
    cpu: float


class Judge:
    """Chooses workers, up and down.

    Args:
        chosen: The starting choice, and earlier findings.
        processors: Number of processors: the limit for CPU-bound threads, and for processes.
        processes: Returns how many processes fit in memory; 0 if they cannot call the function. It is called only
            before processes are tried, because it may take long.
    """

    def __init__(self, chosen: Chosen, processors: int, processes: Callable[[], int]) -> None:
        self.choice, self._known = chosen.choice, chosen
        self._processors, self._room = processors, processes
        self._threads = MOST_THREADS
        self._processes = -1  # limit; -1 until requested
        self._before: tuple[Choice, Period] | None = None  # the choice and period before the trial
        self._looks: list[float] = []  # rates during the trial
        self._doubted: tuple[Choice, float] | None = None  # the rejected choice, and the rate before it
        self._rates: dict[Choice, float] = {}  # best recent rates, decaying with age
        self._alone = 1.0  # the function's processor time per second in a single thread
        self._wanted = 0.0  # the loop's rate without waiting

    def after(self, period: Period) -> Choice:
        """Return the workers for the next period."""
        self._known.count += 1
        seen = self._rates.get(self.choice)
        self._rates[self.choice] = max(period.rate, _FADES * (seen or 0.0))
        if self._before is not None:
            self._compare(*self._before, period)
        else:
            self._confirm(period)
            if seen is not None:  # a single period is too noisy
                self._try(period)
        return self.choice

    def refuse_all(self) -> None:
        """Use no workers from now on, because none can start."""
        self._threads = self._processes = 0
        self.choice = self._known.choice = Choice(HERE, 1)
        self._before = None

    def refuse(self, kind: str) -> None:
        """Use no workers of this kind from now on, because they cannot start."""
        assert kind == PROCESSES
        self._processes = 0
        if self.choice.kind == kind:
            self.choice = self._known.choice = Choice(HERE, 1)
            self._before = None

    def _compare(self, before: Choice, past: Period, period: Period) -> None:
        self._looks.append(period.rate)
        base = max(self._rates[before], 1e-9)
        gain = max(self._looks) / base
        if self.choice.kind == before.kind and self.choice.number < before.number:
            better = period.waited < _WAITS / 2
        else:
            better = gain >= _GAIN or period.waited < _WAITS <= past.waited
            if not better and gain > _WORSE and len(self._looks) < _LOOKS:
                return
        self._before = None
        if not better:
            self._wanted = 0.0
            hurts = gain <= _WORSE and self._alone >= _COMPUTES
            self._refuse(self.choice, *(_WARNED if hurts else _PATIENCE))
            self.choice, self._doubted = before, (self.choice, base)
        elif gain >= _CLEAR and before.kind == HERE:
            self._refuse(before, *_WARNED)
        self._known.choice = self.choice

    def _refuse(self, choice: Choice, least: int, most: int) -> None:
        patience = min(max(least, 2 * self._known.refused.get(choice, (0, 0))[1]), most)
        self._known.refused[choice] = self._known.count + patience, patience

    def _confirm(self, period: Period) -> None:
        """Retry an undone change soon if the loop is as slow without it, because the change was not the reason."""
        if self._doubted is None:
            return
        (choice, rate), self._doubted = self._doubted, None
        if period.rate < _WORSE * rate:
            least, _ = _PATIENCE
            self._known.refused[choice] = self._known.count + least, 0

    def _try(self, period: Period) -> None:
        for choice in self._others(period):
            if self._may_try(choice):
                self._before, self.choice, self._looks = (self.choice, period), choice, []
                return

    def _may_try(self, choice: Choice) -> bool:
        return self._known.refused.get(choice, (0, 0))[0] <= self._known.count

    def _hold_up(self, period: Period) -> bool:
        """Return whether threads keep the GIL from the loop while results are ready: each wake-up costs it 5 ms."""
        slow = period.waited < _WAITS and period.rate < _WORSE * self._wanted
        return slow and self.choice.kind == THREADS and self._alone >= _COMPUTES

    def _most_processes(self) -> int:
        if self._processes < 0:
            self._processes = min(self._room(), self._processors)
        return self._processes

    def _others(self, period: Period) -> list[Choice]:
        """Return possibly better choices, best first."""
        kind, count = self.choice
        if count == 1 and kind != PROCESSES:
            self._alone = period.cpu
        if kind == HERE and period.waited < _MOSTLY:
            self._wanted = period.rate / (1 - period.waited)
        if self._hold_up(period) and self._most_processes():
            return [Choice(PROCESSES, self._most_processes())]
        if period.waited < _RARELY:
            fewer = count - 1
            return [Choice(kind, fewer)] if fewer and period.busy < _BUSY * fewer else []
        if period.waited < _WAITS or (period.busy < _BUSY * count and kind != HERE):
            return []
        if kind == HERE and period.busy < _TINY * period.rate:
            return []
        computes = self._alone >= _COMPUTES
        threads = min(self._threads, self._processors) if computes else self._threads
        most = self._most_processes() if kind == PROCESSES else threads
        found = [Choice(kind if kind != HERE else THREADS, min(2 * count, most))] if count < most else []
        if kind != PROCESSES and computes and not (found and self._may_try(found[0])) and self._most_processes() > 1:
            found.append(Choice(PROCESSES, self._most_processes()))
        if kind != HERE:  # other programs may have made workers look useful
            found.append(Choice(HERE, 1))
        return found
