"""slice_input_producer: a source of examples that are rows of arrays, in an order that a producer's thread makes."""

from __future__ import annotations

import contextlib
import functools
import mmap
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import refuse_missing, strings_as_bytes
from pipeline.errors import InvalidArgumentError, invalid
from pipeline.keywords import tells_keywords
from pipeline.producers.numbered import at_least_one, digest
from pipeline.producers.producers import range_input_producer
from pipeline.producers.queue import ProducerQueue
from pipeline.pulls import Book, this_thread
from pipeline.queues.rows import Rows
from pipeline.runners.runner import QueueRunner


class SliceSource:
    """A source of examples, each made of one row of each array: a call returns one example, `block` several.

    Thread safety: you may call every method from every thread; each row number is delivered once.

    Attributes:
        queue: The queue of the row numbers.
        owner: What records the reads of the one function that may take from it; None for anybody.
    """

    last_ids: Any = None
    _most = 1 << 62  # rows to ask for at once, by number

    def __init__(self, arrays: Sequence[NDArray[Any]], queue: ProducerQueue) -> None:
        self._arrays = held = list(arrays)
        self._shortest = min(map(len, arrays))
        self._must_check = self._shortest < len(arrays[0])
        self._lock = threading.Lock()
        self._left: NDArray[np.int64] | None = None  # row numbers dequeued after one that was out of range
        self._digest = functools.cache(lambda: digest(held))
        self.queue = queue
        self.__qualname__ = queue.name

    @property
    def name(self) -> str:
        """The queue's name."""
        return self.queue.name

    @property
    def owner(self) -> Book | None:
        return self.queue.owner

    @owner.setter
    def owner(self, book: Book | None) -> None:
        self.queue.owner = book

    def over(self) -> None:
        """Nobody will take from this any more; see `ProducerQueue.over`."""
        self.queue.over()

    @property
    def at_hand(self) -> bool:
        """Whether a loop over batches waits for nobody and no disk: rows are in memory, their numbers computed."""
        return self.queue.at_hand and self.in_memory

    @property
    def in_memory(self) -> bool:
        """Whether no array lies in a file."""
        return not any(map(_is_mapped, self._arrays))

    def columns(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays, as long as the shortest one."""
        return tuple(array[: self._shortest] for array in self._arrays)

    @property
    def dtypes(self) -> list[np.dtype[Any]]:
        """The dtype of each component; object for strings."""
        return [array.dtype for array in self._arrays]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shape of each component of an example."""
        return [array.shape[1:] for array in self._arrays]

    def __len__(self) -> int:
        """The number of rows, which is how many examples an epoch has."""
        return len(self._arrays[0])

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        count, epochs = len(self._arrays), self.queue._numbered.num_epochs
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
        """Return the next example: a list with one row of each array.

        Raises:
            OutOfRangeError: All epochs are over.
            InvalidArgumentError: An array has no row of this number.
        """
        return [part[0] for part in self.block(1)]

    def block(self, n: int) -> list[NDArray[Any]]:
        """Return the next examples: at least 1, at most `n`. It waits only for the first.

        Returns:
            A list with a new array for each component; their first dimension counts the examples.

        Raises:
            OutOfRangeError: All epochs are over.
            InvalidArgumentError: An array has no row of this number. The rows before it are already delivered, those
                after it come next.
            ValueError: `n` is less than 1.
        """
        return [np.asarray(part) for part in self.rows(n)]

    def rows(self, n: int) -> list[Rows | NDArray[Any]]:
        """As `block`, but rows of plain numbers are not copied: a queue gathers them itself."""
        return self.rows_of(self.row_numbers(n))

    def row_numbers(self, n: int) -> NDArray[Any]:
        """As `block`, but only the numbers of the rows."""
        turn = this_thread.turn
        if turn is None:
            return self._in_range(n) if self._must_check else self.queue.row_numbers(n)
        with turn.pulling(self):
            return self._taken(at_least_one(n))

    def rows_of(self, numbers: NDArray[np.int64]) -> list[Rows | NDArray[Any]]:
        """Return the rows of these numbers, as `rows` does."""
        return [array[numbers] if array.dtype.hasobject else Rows(array, numbers) for array in self._arrays]

    def _in_range(self, n: int) -> NDArray[np.int64]:
        """Return the next row numbers that all arrays have; InvalidArgumentError if the first is out of range."""
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

    def _missing(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return at which places there are numbers that an array has no row for."""
        return np.flatnonzero(numbers >= self._shortest) if self._must_check else numbers[:0]

    def _no_row(self, number: int) -> InvalidArgumentError:
        return invalid(f"indices = {number} is not in [0, {self._shortest})")

    def _put_back(self, rows: NDArray[np.int64]) -> None:
        if len(rows):
            with self._lock:
                self._left = rows if self._left is None else np.concatenate([self._left, rows])

    # A Positioned.

    def _facts(self) -> dict[str, Any]:
        return {**self.queue._facts(), "kind": "slice_input_producer", "digest": self._digest()}

    def _position(self) -> list[int]:
        (number,) = self.queue._position()
        if self._left is not None:  # taken from the queue before the loop, and not delivered
            number, self._left = number - len(self._left), None
            self.queue._go_to([number])
        return [number]

    def _go_to(self, position: Sequence[int]) -> None:
        self.queue._go_to(position)
        self._left = None

    def _skip(self, count: int, what: str = "rows", n: int = 1) -> None:
        """Drop what `count` pulls of up to `n` rows give."""
        if not self._must_check:
            self.queue._skip(count, n, False)
            return
        for _ in range(count):  # a row that is missing cuts a block short
            with contextlib.suppress(InvalidArgumentError):
                self._taken(n)

    def pass_over(self, n: int) -> int:
        """Leave out up to `n` rows, for a recorded function; return how many, fewer only at the end."""
        (first,), total = self._position(), self.queue._numbered.total
        passed = n if total is None else max(0, min(n, total - first))
        self._go_to([first + passed])
        return passed

    def _no_state(self) -> str | None:
        return None

    def _taken(self, n: int) -> NDArray[np.int64]:
        """Take the row numbers of the next elements, at most `n`; InvalidArgumentError if the first is out of range."""
        (first,) = self._position()
        numbers = self.queue._advance(n, False)
        bad = self._missing(numbers)
        if len(bad):
            numbers = numbers[: max(1, int(bad[0]))]
            self.queue._go_to([first + len(numbers)])
            if bad[0] == 0:
                raise self._no_row(int(numbers[0]))
        self.last_ids = numbers
        return numbers

    def _reseed(self, seeds: Sequence[int]) -> bool:
        """Shuffle with the seeds of a saved run if those here were drawn by chance; return whether they were."""
        return self.queue._reseed(seeds)

    def _drawn(self) -> bool:
        """Whether its seeds were drawn by chance."""
        return self.queue._drawn()


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

    Natively `pipeline.arrays` does more. Rows in memory need no thread in `batch` and `shuffle_batch`.

    Args:
        tensor_list: Your arrays, with rank 1 or more, in a list or tuple. Do not change them. The first one sets the
        length. num_epochs, shuffle, seed, shared_name: As for `input_producer`.
        capacity: How many row numbers its thread prepares.
        name: Name for the queue with row numbers, `input_producer` by default.
        collection: List to put the QueueRunner on; None for the process-wide one.

    Returns:
        The source. A call gives one example, `block(n)` up to n.

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


def _is_mapped(array: Any) -> bool:
    """Whether an array lies in a file."""
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base
    return isinstance(array, np.memmap | mmap.mmap)


def _array(value: Any, index: int) -> NDArray[Any]:
    where = f"slice_input_producer: item {index}"
    refuse_missing(value, where)
    array = np.asarray(value)
    if array.ndim == 0:
        raise ValueError(
            f"{where} must have rank 1 or more, got the scalar {value!r:.40}; put a single array into a list"
        )
    return strings_as_bytes(array, where)
