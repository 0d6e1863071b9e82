"""Random numbers: `example_rng`, and uniform draws by index."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._calls import Draw as Draw
from pipeline._random import philox
from pipeline.errors import FailedPreconditionError

# Separates `example_rng` words from shuffles and other draws with the same seeds.
_OF_EXAMPLES = 0x9E3779B97F4A7C15


class NoDraws:
    """Replaces a `Draw` in functions that must not draw: `example_rng` raises the reason."""

    made = None
    number = 0

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def resume(self, output: int) -> None:
        """As in `Draw`."""

    def __iter__(self) -> Iterator[int]:
        raise FailedPreconditionError(None, None, f"example_rng: {self.reason}")


class _OfThread(threading.local):
    """The current thread's state.

    Attributes:
        draw: `example_rng`'s state; None outside a dataset's functions.
        serving: The clock of the iterator this thread works for; None for others.
        within: Keys for the executors waiting for this thread.
    """

    draw: Any = None
    serving: Any = None
    within: frozenset[int] = frozenset()


this_thread = _OfThread()


def example_rng() -> np.random.Generator:
    """Return the current example's random generator.

    It draws the same numbers in every run, in any worker, and after a resume.

    Within one call to your function, `example_rng()` always returns the same generator, so a second use continues
    where the first one stopped. Two functions in a dataset never draw the same numbers.

    Returns:
        A NumPy Generator. Its key is the seed, the epoch, the example's number, and the function's position in the
        dataset. The seed is from `map(f, seed=)`, the nearest seed upstream, or `set_random_seed`.

    Raises:
        FailedPreconditionError: You called it outside a dataset's function.

    Thread safety: each thread has its own.

    Examples:
        >>> def noisy(x):
        ...     return x + pipeline.example_rng().random()
        >>> data = pipeline.dataset(range(100)).map(noisy, seed=1, workers=2)
        >>> list(data) == list(data)
        True
    """
    draw = this_thread.draw
    if draw is None:
        text = "example_rng: it works only inside a function passed to map, filter or flat_map"
        raise FailedPreconditionError(None, None, text)
    if draw.made is not None:
        return draw.made  # type: ignore[no-any-return]
    seed, seed2, number, which, epoch = draw  # an error for NoDraws
    # An array, because NumPy turns a list with a number above 2**63 into floats, and close seeds would become equal.
    key = np.array([seed ^ _OF_EXAMPLES, seed2], np.uint64)
    made = np.random.Generator(np.random.Philox(key=key, counter=[0, number, which, epoch]))
    draw.made = made
    return made


def uniform(pair: tuple[int, int], numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the draws with these indexes, from 0 up to 1, with 32 random bits each.

    Args:
        pair: The two seeds.
        numbers: Draw indexes. A draw does not depend on the others.
    """
    first = int(numbers.min()) // 4
    words = philox(*pair, first, int(numbers.max()) + 1 - 4 * first)
    return (words[numbers - 4 * first].astype(np.float64) + 0.5) / 4294967296.0
