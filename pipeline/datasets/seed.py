"""Seed: where the two seeds of a random order are kept, which all recipes made from one share."""

from __future__ import annotations

from typing import Any

from pipeline.dtypes import integer
from pipeline.queues.seeds import entropy_if_zero, get_seed


class Seed:
    """The seeds of one stage.

    A seed that was not given is drawn once, when it is first needed or pickled. `set_random_seed` counts when the stage
    is written.

    Thread safety: any thread may ask; of two that ask first at once, one wins.

    Args:
        given: The seed, if there is one.
        kind: What is seeded, for errors.

    Raises:
        TypeError: The seed is not an integer.

    Attributes:
        drawn: Whether chance decides it: no seed was given, and the process has none.
    """

    def __init__(self, given: int | None, kind: str) -> None:
        known = get_seed(None if given is None else integer(given, f"{kind}: seed"))
        self.drawn = known == (0, 0)
        self._pairs = [] if self.drawn else [known]

    @property
    def pair(self) -> tuple[int, int]:
        """The two seeds."""
        if not self._pairs:
            self._pairs.append(entropy_if_zero((0, 0)))
        return self._pairs[0]

    def adopt(self, pair: tuple[int, int]) -> None:
        """Take the seeds of a saved run, if chance draws them."""
        if self.drawn:
            self._pairs = [pair]

    def __getstate__(self) -> dict[str, Any]:
        return {"drawn": self.drawn, "_pairs": [self.pair]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


class LateSeed(Seed):
    """A seed that few need: it is drawn only when it is first asked for, and takes no part in the process's seeds before.

    Args:
        kind: What is seeded.
    """

    def __init__(self, kind: str) -> None:
        self.drawn = True
        self._pairs = []

    @property
    def pair(self) -> tuple[int, int]:
        """The two seeds."""
        if not self._pairs:
            self._pairs.append(entropy_if_zero(get_seed(None)))
        return self._pairs[0]
