"""slice_input_producer: examples are rows of arrays, in an order made by a producer's thread."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pipeline._rows import Gatherer, gathers
from pipeline.dtypes import refuse_missing, strings_as_bytes
from pipeline.errors import InvalidArgumentError, invalid
from pipeline.foreign import numpy_of
from pipeline.keywords import tells_keywords
from pipeline.locks import Lock
from pipeline.memory import in_memory
from pipeline.orders.numbered import Numbered, at_least_one, digest
from pipeline.producers.producers import range_input_producer
from pipeline.producers.queue import ProducerQueue
from pipeline.queues.rows import Rows
from pipeline.runners.runner import QueueRunner


class SliceSource:
    """A source whose examples have one row from each array: a call returns one example, `block` several.

    Thread safety: you may call every method from every thread; each row number is delivered once.

    Attributes:
        queue: The queue with the row numbers.
    """

    def __init__(self, arrays: Sequence[NDArray[Any]], queue: ProducerQueue) -> None:
        self._arrays = held = list(arrays)
        self._shortest = min(map(len, arrays))
        self._must_check = self._shortest < len(arrays[0])
        self._lock = Lock()
        self._left: NDArray[np.int64] | None = None  # row numbers dequeued after an invalid one
        self._digest = functools.cache(lambda: digest(held))
        known = tuple(array[: self._shortest] for array in held)
        self._gatherer = Gatherer(known) if gathers(known, self._shortest) else None
        self.queue = queue
        self.__qualname__ = queue.name

    @property
    def name(self) -> str:
        """The queue's name."""
        return self.queue.name

    @property
    def numbered(self) -> Numbered:
        """The example numbers."""
        return self.queue.numbered

    @property
    def at_hand(self) -> bool:
        """True if an iterator waits for neither thread nor disk: rows are in memory, and their numbers computed."""
        return self.queue.at_hand and in_memory(self._arrays)

    @property
    def dtypes(self) -> list[np.dtype[Any]]:
        """Each component's dtype; object for strings."""
        return [array.dtype for array in self._arrays]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Each component's shape in an example."""
        return [array.shape[1:] for array in self._arrays]

    def __len__(self) -> int:
        """Row count: the number of examples per epoch."""
        return len(self._arrays[0])

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        count, epochs = len(self._arrays), self.queue.numbered.num_epochs
        what = f"{count} array{'s' if count > 1 else ''} of {len(self):,} rows"
        return f"<slice_input_producer '{self.name}': {what}, num_epochs={epochs}>"

    def __iter__(self) -> Iterator[Any]:
        """Raise TypeError: unpacking the source would read whole examples."""
        self._refuse()

    def __getitem__(self, index: Any) -> Any:
        """Raise TypeError: a component alone would lose the rest of its example."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise TypeError(
            f"'{self.name}': the components of a slice_input_producer come together. Call it for the next example, "
            "as in `image, label = source()`, or pass it to a batch function as it is"
        )

    def __call__(self) -> list[Any]:
        """Return the next example: a list with one row per array.

        Raises:
            OutOfRangeError: All epochs are over.
            InvalidArgumentError: An array lacks a row with this number.
        """
        return [part[0] for part in self.block(1)]

    def block(self, n: int) -> list[NDArray[Any]]:
        """Return the next examples: at least 1, at most `n`. It waits only for the first.

        Returns:
            A list with one new array per component; their first dimension counts the examples.

        Raises:
            OutOfRangeError: All epochs are over.
            InvalidArgumentError: An array lacks a row with this number. Earlier rows are already delivered, later ones
                follow.
            ValueError: `n` is less than 1.
        """
        return self.rows_at(self.row_numbers(n))

    def rows(self, n: int) -> list[Rows | NDArray[Any]]:
        """Return the same as `block`, but without copying numeric rows: a queue gathers them itself."""
        numbers = self.row_numbers(n)
        return [array[numbers] if array.dtype.hasobject else Rows(array, numbers) for array in self._arrays]

    def rows_at(self, numbers: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the rows with these numbers from all arrays."""
        numbers = np.ascontiguousarray(numbers, np.int64)
        if self._gatherer is not None:
            return self._gatherer.take(numbers)
        return [np.asarray(Rows(array, numbers)) for array in self._arrays]

    def row_numbers(self, n: int) -> NDArray[Any]:
        """Return the same as `block`, but only the row numbers."""
        return self._in_range(n) if self._must_check else self.queue.row_numbers(n)

    def _in_range(self, n: int) -> NDArray[np.int64]:
        """Return the next row numbers valid for all arrays; InvalidArgumentError if the first is out of range."""
        n = at_least_one(n)
        with self._lock:
            rows, self._left = self._left, None
        if rows is None:
            rows = self.queue.row_numbers(n)
        bad = np.flatnonzero(rows >= self._shortest)
        end = min(n, int(bad[0]) if len(bad) else len(rows))
        self._put_back(rows[max(end, 1) :])
        if end == 0:
            raise self._no_row(int(rows[0]))
        return rows[:end]

    def _no_row(self, number: int) -> InvalidArgumentError:
        return invalid(f"indices = {number} is not in [0, {self._shortest})")

    def _put_back(self, rows: NDArray[np.int64]) -> None:
        if len(rows):
            with self._lock:
                self._left = rows if self._left is None else np.concatenate([self._left, rows])

    # For states.

    def _facts(self) -> dict[str, Any]:
        """Return everything that determines the examples, as plain data."""
        return {**self.queue._facts(), "kind": "slice_input_producer", "digest": self._digest()}

    def _position(self) -> int:
        """Return how many row numbers were taken and delivered, or skipped."""
        left = self._left
        return self.queue._position() - (0 if left is None else len(left))

    def _go_to(self, position: int, seeds: tuple[int, int] | None) -> None:
        """Continue from a position in the order given by these seeds.

        Raises:
            FailedPreconditionError, InvalidArgumentError: As for a ProducerQueue.
        """
        self.queue._go_to(position, seeds)
        self._left = None


@tells_keywords
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
    """Create a source of examples from arrays: example i is row i from each.

    For native programs, `pipeline.arrays` does more. Rows in memory need no thread in `batch` and `shuffle_batch`.

    Args:
        tensor_list: Your arrays, with rank 1 or more, in a list or tuple. Do not change them. The first one sets the
            length.
        num_epochs, shuffle, seed, shared_name: As for `input_producer`.
        capacity: How many row numbers its thread prepares.
        name: Name for the queue with row numbers, `input_producer` by default.
        collection: List to put the QueueRunner on; None for the process-wide one.

    Returns:
        The source. A call returns one example, `block(n)` up to n.

    Raises:
        ValueError: There are no arrays or no rows, one has rank 0, or `num_epochs` is less than 1.
        TypeError: `tensor_list` is not a list or tuple, or `num_epochs` is not an integer.

    Examples:
        >>> images, labels = np.zeros((6, 28, 28), np.uint8), np.arange(6)
        >>> source = pipeline.slice_input_producer([images, labels], num_epochs=1, shuffle=False)
        >>> with pipeline.batch(source, 3) as batches:
        ...     for pixels, numbers in batches:
        ...         print(pixels.shape, numbers)
        (3, 28, 28) [0 1 2]
        (3, 28, 28) [3 4 5]
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
    where = f"slice_input_producer: item {index}"
    refuse_missing(value, where)
    array = numpy_of(value)
    if array.ndim == 0:
        raise ValueError(
            f"{where} must have rank 1 or more, got the scalar {value!r:.40}; put a single array into a list"
        )
    return strings_as_bytes(array, where)
