"""Judge: how many workers of which kind, from what a loop waited for. It tries one change at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

HERE, THREADS, PROCESSES = "here", "threads", "processes"

# Threads that wait for something else than a processor.
MOST_THREADS = 32

# The share of its time that a loop waits for results, from which more workers are tried; below the other, fewer.
_WAITS, _RARELY = 0.1, 0.02

# How busy workers are where more of them may help.
_BUSY = 0.7

# How many times as fast a change has to make the loop.
_GAIN = 1.1

# The processor time in a second of the function, from which it computes.
_COMPUTES = 0.5

# Periods in which what was tried in vain is not tried again; twice as many each time.
_PATIENCE = 32


class Choice(NamedTuple):
    """Workers.

    Attributes:
        kind: HERE, which is the thread of the loop; THREADS; or PROCESSES.
        number: How many.
    """

    kind: str
    number: int

    def __str__(self) -> str:
        return "None" if self.kind == HERE else f"pipeline.{self.kind}({self.number})"


class Chosen:
    """The workers that were found best for a function, where the next loop begins."""

    def __init__(self) -> None:
        self.choice = Choice(HERE, 1)


class Period(NamedTuple):
    """What a loop did for a while.

    Attributes:
        rate: Examples in a second.
        waited: The share of the time that it waited for results, or made them.
        busy: How many workers were at work, on average.
        cpu: The processor time that the function took in a second of its own.
    """

    rate: float
    waited: float
    busy: float
    cpu: float


class Judge:
    """Chooses workers, up and down.

    Args:
        choice: Where to begin.
        processors: How many there are: as many threads that compute, and processes, at most.
        processes: Returns for how many processes there is memory; 0 if they cannot call the function. It is called when
            processes are to be tried, as it may take long.
    """

    def __init__(self, choice: Choice, processors: int, processes: Callable[[], int]) -> None:
        self.choice = choice
        self._processors, self._room = processors, processes
        self._processes = -1  # at most; -1 while nobody has asked
        self._before: tuple[Choice, Period] | None = None  # what is tried came after this
        self._refused: dict[Choice, tuple[int, int]] = {}  # until which period, and for how many
        self._alone = 1.0  # processor time in a second of the function, while one thread calls it alone
        self._count = 0

    def after(self, period: Period) -> Choice:
        """Return the workers for the next period."""
        self._count += 1
        if self._before is not None:
            self._compare(*self._before, period)
        else:
            self._try(period)
        return self.choice

    def refuse(self, kind: str) -> None:
        """Workers of a kind cannot start: have none of them."""
        assert kind == PROCESSES
        self._processes = 0
        if self.choice.kind == kind:
            self.choice, self._before = Choice(HERE, 1), None

    def _compare(self, before: Choice, past: Period, period: Period) -> None:
        if self.choice.kind == before.kind and self.choice.number < before.number:
            better = period.waited < _WAITS / 2
        else:
            better = period.waited < _WAITS or period.rate >= _GAIN * past.rate
        self._before = None
        if not better:
            patience = 2 * self._refused.get(self.choice, (0, _PATIENCE // 2))[1]
            self._refused[self.choice] = self._count + patience, patience
            self.choice = before

    def _try(self, period: Period) -> None:
        for choice in self._others(period):
            if self._may_try(choice):
                self._before, self.choice = (self.choice, period), choice
                return

    def _may_try(self, choice: Choice) -> bool:
        return self._refused.get(choice, (0, 0))[0] <= self._count

    def _most_processes(self) -> int:
        if self._processes < 0:
            self._processes = min(self._room(), self._processors)
        return self._processes

    def _others(self, period: Period) -> list[Choice]:
        """Return what may be better, best first."""
        kind, count = self.choice
        if count == 1 and kind != PROCESSES:
            self._alone = period.cpu
        if period.waited < _RARELY:
            fewer = count - 1
            return [Choice(kind, fewer)] if fewer and period.busy < _BUSY * fewer else []
        if period.waited < _WAITS or period.busy < _BUSY * count:
            return []
        computes = self._alone >= _COMPUTES
        threads = self._processors if computes else MOST_THREADS
        most = self._most_processes() if kind == PROCESSES else threads
        found = [Choice(kind if kind != HERE else THREADS, min(2 * count, most))] if count < most else []
        if kind != PROCESSES and computes and not (found and self._may_try(found[0])) and self._most_processes() > 1:
            found.append(Choice(PROCESSES, self._most_processes()))
        if kind != HERE:  # workers may have seemed to help because of what else the machine did
            found.append(Choice(HERE, 1))
        return found
