"""The global seed, the two generator seeds of an operation by TensorFlow's rules, and a step's saved seeds."""

from __future__ import annotations

import os
import random
from typing import Any

from pipeline.dtypes import integer, whole
from pipeline.locks import Lock

_LARGEST = 2**31 - 1
_DEFAULT_GRAPH_SEED = 87654321

# Reentrant: a signal handler may create a queue. Held during a fork, so a child never finds it locked by a thread that
# only exists in the parent.
_lock = Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
_global_seed: int | None = None
_op_seeds = random.Random()


def set_random_seed(seed: int | None) -> None:
    """Set this process's global seed; None removes it.

    With a global seed, operations without their own seed are reproducible too: each takes the next seed when it is
    created. Thread safe.

    Args:
        seed: A number, truncated to an int, or None.

    Raises:
        TypeError, ValueError: `seed` is not a finite number.

    Examples:
        >>> pipeline.set_random_seed(1)
        >>> first = list(pipeline.dataset(range(100)).shuffle())
        >>> pipeline.set_random_seed(1)
        >>> list(pipeline.dataset(range(100)).shuffle()) == first
        True
        >>> pipeline.set_random_seed(None)
    """
    global _global_seed, _op_seeds
    with _lock:
        _global_seed = None if seed is None else whole(seed, "seed")
        _op_seeds = random.Random(_global_seed)


def get_seed(op_seed: int | None) -> tuple[int, int]:
    """Return the two seeds for an operation's generator; (0, 0) means random ones."""
    with _lock:
        if _global_seed is not None:
            first = _global_seed
            second = _op_seeds.randint(0, _LARGEST) if op_seed is None else whole(op_seed, "seed")
        elif op_seed is not None:
            first, second = _DEFAULT_GRAPH_SEED, whole(op_seed, "seed")
        else:
            return 0, 0
    first, second = first % _LARGEST, second % _LARGEST
    return (0, _LARGEST) if (first, second) == (0, 0) else (first, second)


def given_seed(seeds: Any) -> int | None:
    """Return the original seed for a pair, if it was given without a global seed; otherwise None."""
    known = isinstance(seeds, (list, tuple)) and len(seeds) == 2 and seeds[0] == _DEFAULT_GRAPH_SEED
    return int(seeds[1]) if known else None


def generator_seeds(op_seed: int | tuple[int, int] | None) -> tuple[int, int]:
    """Return seeds as `get_seed` does, but with entropy instead of (0, 0); a pair is returned unchanged."""
    if isinstance(op_seed, tuple):
        return op_seed
    return entropy_if_zero(get_seed(op_seed))


def entropy_if_zero(seeds: tuple[int, int]) -> tuple[int, int]:
    """Return the seeds, with (0, 0) replaced by entropy from the operating system."""
    if seeds != (0, 0):
        return seeds
    entropy = os.urandom(16)
    first, second = int.from_bytes(entropy[:8], "little"), int.from_bytes(entropy[8:], "little")
    return first >> 1, second >> 1  # 63 bits: states hold them, and not all formats take more


class Seed:
    """A stage's seeds.

    Without a given seed, one is drawn when it is first needed or pickled. A `set_random_seed` call counts if it comes
    before the stage is written.

    Thread safety: any thread may read it; if two draw at the same time, one wins.

    Args:
        given: The seed, or None.
        kind: Name of the seeded object, for errors.

    Raises:
        TypeError: The seed is not an integer.

    Attributes:
        drawn: True if it is random: no seed was given, and the process has none.
    """

    def __init__(self, given: int | None, kind: str) -> None:
        known = get_seed(None if given is None else integer(given, f"{kind}: seed"))
        self.drawn = known == (0, 0)
        self._pairs = [] if self.drawn else [known]

    @property
    def pair(self) -> tuple[int, int]:
        """The stage's two seeds."""
        if not self._pairs:
            self._pairs.append(entropy_if_zero((0, 0)))
        return self._pairs[0]

    def adopt(self, pair: tuple[int, int]) -> None:
        """Take over a saved run's seeds, if these are random."""
        if self.drawn:
            self._pairs = [pair]

    def __getstate__(self) -> dict[str, Any]:
        return {"drawn": self.drawn, "_pairs": [self.pair]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


class LateSeed(Seed):
    """A seed that takes nothing from the process's sequence until it is needed.

    Args:
        kind: Name of the seeded object.
    """

    def __init__(self, kind: str) -> None:
        self.drawn = True
        self._pairs = []

    @property
    def pair(self) -> tuple[int, int]:
        """The stage's two seeds."""
        if not self._pairs:
            self._pairs.append(entropy_if_zero(get_seed(None)))
        return self._pairs[0]
