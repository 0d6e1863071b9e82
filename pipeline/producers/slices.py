"""slice_input_producer: examples that are the rows of arrays, in the order that a thread produces."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import invalid
from pipeline.producers.producers import ProducerQueue, at_least_one, range_input_producer
from pipeline.queues.rows import Rows
from pipeline.threads.runner import QueueRunner


class SliceSource:
    """The rows of arrays, as a source of examples: a call gives one example, `block` many.

    Thread safety: every method may be called from every thread; each index is delivered once.

    Attributes:
        queue: The queue of the row numbers.
    """

    def __init__(self, arrays: Sequence[NDArray[Any]], queue: ProducerQueue) -> None:
        self._arrays = list(arrays)
        self._shortest = min(map(len, arrays))
        self._checked = self._shortest < len(arrays[0])
        self._lock = threading.Lock()
        self._held: NDArray[np.int64] | None = None  # dequeued, but behind one that was out of range
        self.queue = queue
        self.__qualname__ = queue.name

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self.queue.name

    @property
    def dtypes(self) -> list[np.dtype[Any]]:
        """The dtype of each component; strings are held as objects."""
        return [array.dtype for array in self._arrays]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shape of each component of an example."""
        return [array.shape[1:] for array in self._arrays]

    def __len__(self) -> int:
        """The number of components of an example."""
        return len(self._arrays)

    def __iter__(self) -> Iterator[Any]:
        """Not to be had, as an unpacking would read whole examples: raises TypeError."""
        self._whole()

    def __getitem__(self, index: Any) -> Any:
        """Not to be had, as a component by itself would lose its row: raises TypeError."""
        self._whole()

    def _whole(self) -> NoReturn:
        raise TypeError(
            f"'{self.name}': the components of a slice_input_producer come together. Call it for the next example, "
            "as in `image, label = source()`, or hand it to a batch function as it is"
        )

    def __call__(self) -> list[Any]:
        """Return the next example: a list with one row of each array.

        Raises:
            OutOfRangeError: All epochs are over.
            InvalidArgumentError: An array has no row of the number that came up.
        """
        return [part[0] for part in self.block(1)]

    def block(self, n: int) -> list[NDArray[Any]]:
        """Return the next examples, at least 1 and at most `n`, waiting only for the first: a list of arrays, copies.

        Raises:
            OutOfRangeError: All epochs are over.
            InvalidArgumentError: An array has no row of the number that came up; the rows before it were delivered,
                and those behind it will be.
            ValueError: `n` is not above 0.
        """
        return [np.asarray(part) for part in self.rows(n)]

    def rows(self, n: int) -> list[Rows | NDArray[Any]]:
        """As `block`, without copies of plain numbers: for a queue, which gathers the rows itself."""
        numbers = self._in_range(n) if self._checked else self.queue.block(n)
        return [
            array.take(numbers, axis=0) if array.dtype.hasobject else Rows(array, numbers) for array in self._arrays
        ]

    def _in_range(self, n: int) -> NDArray[np.int64]:
        """The next row numbers, up to the first that an array does not have; one at the beginning is an error."""
        n = at_least_one(n)
        with self._lock:
            rows, self._held = self._held, None
        if rows is None:
            rows = self.queue.block(n)
        bad = np.flatnonzero(rows >= self._shortest)
        end = min(n, int(bad[0]) if len(bad) else len(rows))
        self._hold(rows[max(end, 1) :])
        if end == 0:
            raise invalid(f"indices = {rows[0]} is not in [0, {self._shortest})")
        return rows[:end]

    def _hold(self, rows: NDArray[np.int64]) -> None:
        if len(rows):
            with self._lock:
                self._held = rows if self._held is None else np.concatenate([self._held, rows])


def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    *,
    collection: list[QueueRunner] | None = None,
) -> SliceSource:
    """Make a source of examples from arrays: example i is row i of each of them.

    A thread produces the row numbers, epoch after epoch, as `range_input_producer` does; `start_queue_runners` or the
    first batch starts it. Given to `batch` or `shuffle_batch`, rows move in blocks, of up to `capacity` rows.

    Args:
        tensor_list: The arrays, a list or tuple of at least one, each of rank 1 or more. They are not copied, except
            where they are of str; do not change them. The first one says how many rows there are: what others have
            beyond that is not used.
        num_epochs, shuffle, seed, shared_name: As for `input_producer`.
        capacity: Row numbers that are produced ahead. A large one, such as 4096, lets small rows move faster.
        name: Name of the queue of row numbers, `input_producer` by default.
        collection: The list that the QueueRunner is put on; None is the process-wide one.

    Returns:
        The source. Called, it returns one example, a list of rows; `block(n)` returns up to n examples, a list of
        arrays. A row number that another array does not have is an InvalidArgumentError when it comes up.

    Raises:
        ValueError: There are no arrays, or one has rank 0; `num_epochs` is not above 0; there are no rows and no last
            epoch.
        TypeError: `tensor_list` is not a list or tuple.
    """
    if tensor_list is None or (isinstance(tensor_list, (list, tuple)) and not tensor_list):
        raise ValueError("Expected at least one tensor in slice_input_producer().")
    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError(
            "slice_input_producer requires a list of arrays, even for one: "
            f"[array], not {type(tensor_list).__name__} {tensor_list!r:.40}"
        )
    arrays = [_array(value, i) for i, value in enumerate(tensor_list)]
    rows = np.int64(len(arrays[0]))
    queue = range_input_producer(rows, num_epochs, shuffle, seed, capacity, shared_name, name, collection=collection)
    return SliceSource(arrays, queue)


def _array(value: Any, index: int) -> NDArray[Any]:
    array = np.asarray(value)
    if array.ndim == 0:
        raise ValueError(
            f"slice_input_producer: item {index} must have rank 1 or more, got the scalar {value!r:.40}; "
            "a single array goes into a list of its own"
        )
    if array.dtype.kind in "SU" or (array.dtype == object and any(isinstance(each, str) for each in array.flat)):
        strings = np.empty(array.shape, object)
        flat = array.reshape(-1).tolist()
        strings.reshape(-1)[:] = [os.fsencode(each) if isinstance(each, str) else each for each in flat]
        return strings
    return array
