"""Pool: which elements a shuffle queue holds that draws in lockstep, and which of them is the oldest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pipeline._random import lockstep_end, lockstep_on, lockstep_pool

# Draws between two looks at which element is the oldest, at least.
_LOOK = 1024

# Looks ahead, at most, to which the draws in between are made: with more, a scan back takes less.
_NEAR = 8


class Pool:
    """What follows from the seeds, the number of draws and the length of the input alone.

    Args:
        seeds: Of the draws.
        held_back: How many elements stay in the pool; None for a queue in order.

    Thread safety: any thread may ask.
    """

    def __init__(self, seeds: tuple[int, int], held_back: int | None) -> None:
        self._seeds = seeds
        self._held_back = held_back
        # The oldest element after each number of draws that is a multiple of this. The scan of a pool of 10**6 takes
        # 57 ms, so it is made once in so many draws; at multiples, so that all runs give the same states. The first
        # scan is of all draws that matter, 10 to 15 a place; the next ones go on from the pool at the last look.
        self._look = max(held_back or 0, _LOOK)
        self._oldest: dict[int, int] = {}
        self._looked: tuple[int, NDArray[np.int64]] | None = None  # after how many draws, and what the pool held

    def held(self, draws: int, total: int | None) -> NDArray[np.int64] | None:
        """The element at each place after so many draws; None for a queue in order.

        Args:
            draws: How many.
            total: How many elements there are; None while that is not known.
        """
        held_back = self._held_back
        if held_back is None:
            return None
        if total is not None and held_back + draws > total:
            return lockstep_end(*self._seeds, held_back, total, draws)
        return lockstep_pool(*self._seeds, held_back, draws)

    def place(self, draws: int, total: int | None) -> tuple[int, bool]:
        """Which element then comes next, and whether there is none because the input has ended."""
        after = draws + (self._held_back or 0)
        if self._held_back is not None and total is not None and after > total:
            return total, True
        return after, False

    def oldest(self, draws: int, total: int | None) -> int:
        """A number that no element in the pool is below."""
        held_back = self._held_back
        if held_back is None:
            return draws
        if total is not None:  # from there on, draws are others than in a pool that stays full
            draws = min(draws, max(0, total - held_back))
        draws = draws // self._look * self._look
        known = self._oldest.get(draws)
        if known is None:
            known = int(self._at_look(draws, held_back).min()) if held_back else draws
            self._oldest[draws] = known
        return known

    def _at_look(self, draws: int, held_back: int) -> NDArray[np.int64]:
        """What the pool holds after so many draws, found from the last look if it is not far from there."""
        before, pool = self._looked or (0, None)
        more = draws - before
        if pool is not None and 0 <= more <= _NEAR * self._look:
            pool = lockstep_on(*self._seeds, pool, before, more)
        else:
            pool = lockstep_pool(*self._seeds, held_back, draws)
        self._looked = draws, pool
        return pool

    def look(self, first: int, last: int) -> int:
        """`oldest` after the draws `first`. Makes the next looks, after `last`, ahead; forgets those before `first`."""
        for draws in [draws for draws in list(self._oldest) if draws + self._look <= first]:
            self._oldest.pop(draws, None)
        oldest, *_ = [
            self.oldest(draws, None) for draws in (first, last, last + self._look)
        ]  # each from the one before
        return oldest
