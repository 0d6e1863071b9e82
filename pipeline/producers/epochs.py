"""Counts the epochs of a producer, and shuffles the rows anew for each epoch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._random import permutation
from pipeline.diagnostics.ends import end_of_input
from pipeline.dtypes import integer
from pipeline.queues.seeds import entropy_if_zero, get_seed


class EpochLimit:
    """Counts epochs up to a limit.

    Thread safety: every thread may begin an epoch; a lock guards the count.

    Attributes:
        limit: The number of epochs, or None.
        begun: Epochs begun so far.

    Args:
        num_epochs: The number of epochs; None means no limit.

    Raises:
        ValueError: `num_epochs` is not above 0.
        TypeError: It is not an integer.
    """

    def __init__(self, num_epochs: int | None) -> None:
        self.limit = None if num_epochs is None else integer(num_epochs, "num_epochs")
        if self.limit is not None and self.limit <= 0:
            raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
        self._lock = threading.Lock()
        self.begun = 0

    def begin(self) -> int:
        """Begin the next epoch; return its number, from 0. OutOfRangeError if all epochs are over."""
        with self._lock:
            if self.limit is not None and self.begun >= self.limit:
                raise end_of_input(f"Reached limit of {self.limit}", epochs=self.limit)
            self.begun += 1
            return self.begun - 1


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Limit how often something is evaluated.

    Args:
        tensor: What to evaluate. A callable without arguments is called; an iterator returns its next item, to one
            thread at a time; anything else, such as an array, is itself the value.
        num_epochs: How many evaluations; None means no limit.
        name: Name of the result, for thread names; by default that of `tensor`.

    Returns:
        A callable without arguments that evaluates `tensor`, and after `num_epochs` evaluations raises OutOfRangeError
        at each call. A failed evaluation counts. With None, `tensor` itself.

    Thread safety: any thread may call the result; several may do so at once if `tensor` is thread safe.

    Raises:
        ValueError: `num_epochs` is not above 0.
        TypeError: `num_epochs` is not an integer, or `tensor` is a queue.

    Examples:
        >>> twice = pipeline.limit_epochs(7, num_epochs=2)
        >>> twice(), twice()
        (7, 7)
        >>> try:
        ...     twice()
        ... except pipeline.errors.OutOfRangeError:
        ...     print("the end")
        the end
    """
    if num_epochs is None:
        return tensor
    limit = EpochLimit(num_epochs)
    evaluate = _evaluation(tensor)

    def limited() -> Any:
        limit.begin()
        return evaluate()

    from pipeline.runners.enqueue_ops import op_name  # as in `_evaluation`

    limited.__qualname__ = name or (op_name(tensor) if callable(tensor) else "limit_epochs")
    return limited


def _evaluation(tensor: Any) -> Callable[[], Any]:
    from pipeline.queues.base import QueueBase  # 10 ms, which sources of examples need not wait for

    if isinstance(tensor, QueueBase):
        raise TypeError(f"limit_epochs: '{tensor.name}' is a queue; to limit its elements, pass its dequeue method")
    if callable(tensor):
        return tensor  # type: ignore[no-any-return]
    if not isinstance(tensor, Iterator):
        return lambda: tensor
    lock, iterator = threading.Lock(), tensor

    def next_item() -> Any:
        with lock:
            return next(iterator)

    return next_item


class EpochShuffle:
    """A new random order of the rows for each epoch.

    The same seeds give the orders of `tf.random_shuffle`: a Fisher-Yates shuffle with the words of a Philox generator.
    Each epoch uses up whole blocks of four words, so the order of any epoch can be had at once.

    Attributes:
        seeds: The two seeds of the generator.
        drawn: Whether they were drawn by chance: neither the operation has a seed nor the process.

    Args:
        rows: The number of rows.
        seed: Seed of the operation; see `set_random_seed` for the meaning of None.
    """

    def __init__(self, rows: int, seed: int | None = None) -> None:
        self._rows = rows
        self._blocks = max(0, -(-(rows - 1) // 4))  # one word for each row but the last, in blocks of four
        given = get_seed(seed)
        self.seeds = entropy_if_zero(given)
        self.drawn = self.seeds != given

    def order(self, epoch: int) -> NDArray[np.int64]:
        """Return the order of an epoch: a permutation of `rows` row numbers, int64."""
        return permutation(*self.seeds, epoch * self._blocks % (1 << 64), self._rows)
