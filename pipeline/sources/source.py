"""Source: examples that can be read again and again; TableSource: those that are rows with numbers."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.datasets.dataset import Dataset
from pipeline.datasets.origins.table import OfTable
from pipeline.dtypes import integer
from pipeline.errors import OutOfRangeError
from pipeline.explain.ends import end_of_input
from pipeline.nest import Nest, map_values, parts_of
from pipeline.producers.numbered import at_least_one
from pipeline.pulls import Book, in_use, this_thread
from pipeline.queues.rows import Rows
from pipeline.sources.extras import Once
from pipeline.sources.order import Epochs, Order
from pipeline.sources.strings import check_block

if TYPE_CHECKING:
    from pipeline.producers.queue import Hand

# Rows that an iterator over single examples takes at once.
_AHEAD = 256


def ahead(given: Any) -> int:
    """How many examples to take at once of a table or stream if they are wanted one by one."""
    return 1 if getattr(given, "singly", False) and not hasattr(given, "loose") else _AHEAD


class Cursor(Protocol):
    """A place in a source. Thread safe: each example is delivered once.

    Attributes:
        ahead: How many examples to take at once if they are wanted one by one.
        encoding: What strings have to be of, if that is checked when they are read.
    """

    ahead: int
    encoding: str | None

    def block(self, n: int) -> Any:
        """Take the next examples: at least 1, at most `n`, as arrays. OutOfRangeError at the end."""

    def examples(self, n: int) -> Iterator[Any]:
        """As `block`, but one by one: their shapes may differ."""


class Source(Dataset[Any]):
    """A source of examples: a dataset, which the batch functions take too.

    A loop over batches reads it in blocks; `iter` of the loop begins again, with other random orders if it is shuffled.

    Thread safety: you may call every method from every thread.
    """

    name: str
    order: Order

    @property
    def total(self) -> int | None:
        """The number of examples of all epochs; None if there is no end, or nobody knows."""
        return None

    def cursor(self, round_number: int = 0) -> Cursor:
        """Return a place at the start of the examples: its method `block(n)` takes up to n of them, as arrays.

        A function that threads call takes blocks from a cursor, made once, to work on them before they are batched.

        Args:
            round_number: How often the source has been read before; only random orders depend on it.
        """
        raise NotImplementedError


class Table(Protocol):
    """Rows that can be asked for by number. Several threads may ask at once.

    Attributes:
        kind: What the function that makes such sources is called.
        sizes: How many rows each group has, where the rows of a group can only be had together; else None.
        unit: What rows or groups are called, in the plural.
        most: How many rows to ask for at once.
    """

    kind: str
    sizes: Sequence[int] | None
    unit: str
    most: int

    def __len__(self) -> int:
        """How many rows there are."""

    def take(self, numbers: NDArray[np.int64]) -> Any:
        """Return the rows of these numbers as a block; with `sizes`, they are all of one group."""

    def facts(self) -> dict[str, Any]:
        """What tells the rows from others; plain data. A method `files` may tell the files from changed ones.

        An attribute `singly` may say that rows are made one by one, so that they can be had where shapes differ. If it
        costs less to make several at once, a method `loose` does as `take`, with objects for arrays of several shapes.
        `at_hand` says that any rows lie in memory, and only have to be gathered. A method `named` may return what the
        row of a number is called, such as its file; else it is "row" and the number.
        """


class TableSource(Source):
    """The rows of a table. A sequence too: `source[i]` is example number i of all epochs, `len(source)` their number.

    Args:
        table: The rows.
        epochs: How often and in which order.

    Raises:
        ValueError, TypeError: As Order.
    """

    order_kind = Order

    def __init__(self, table: Table, epochs: Epochs) -> None:
        self.name = self.__qualname__ = table.kind
        self.table = table
        self.order = self.order_kind(len(table), table.sizes, epochs, table.unit)
        self.facts = Once(table.facts)  # it takes time if there are many rows, or files
        self.files: Callable[[], dict[str, Any]] = Once(getattr(table, "files", dict))
        super().__init__(OfTable(table, self.facts, self.order))

    def __len__(self) -> int:
        """How many examples all epochs have. TypeError if they do not end, or are more than `len` can return."""
        if self.total is None:
            raise TypeError(f"{self.name}: with num_epochs=None there is no number of examples")
        return as_length(self.total, f"{self.name}: the number of examples")

    def __getitem__(self, index: int) -> Any:
        """Return example number `index`. IndexError if there is none, TypeError if it is not an integer."""
        number, total = integer(index, f"{self.name}: an index"), self.total
        if number < 0 and total is not None:
            number += total
        if number < 0 or (total is not None and number >= total):
            raise IndexError(f"{self.name}: there is no example {index}")
        return next(rows_of(map_values(gathered, self.table.take(self.order.numbered().numbers(number, 1)))))

    def __repr__(self) -> str:
        return f"<{self.name}: {self.order.length:,} examples, num_epochs={self.order.num_epochs}>"

    @property
    def total(self) -> int | None:
        """The number of examples of all epochs; None if there is no end."""
        return None if self.order.num_epochs is None else self.order.num_epochs * self.order.length

    def cursor(self, round_number: int = 0) -> TableCursor:
        """As `Source.cursor`."""
        return TableCursor(self, round_number)


class TableCursor:
    """A place in the rows of a table: `block` takes examples from there on.

    Thread safety: you may call every method from every thread; each example is delivered once.

    Attributes:
        owner: The book of the deterministic loop that takes them; then nobody else may.
        encoding: What strings have to be of, if that is checked when they are read.
    """

    columns = ("next",)
    encoding: str | None = None
    last_ids: Any = None
    owner: Book | None = None

    def __init__(self, source: TableSource, round_number: int) -> None:
        self.name = self.__qualname__ = source.name
        self._source = source
        self.ahead, self.singly = ahead(source.table), getattr(source.table, "singly", False)
        self._numbered = source.order.numbered()
        self._begin = round_number * (source.total or 0)  # the first element of this round
        self._next = 0
        self._lock = threading.Lock()

    def block(self, n: int) -> Any:
        """Take the next examples: at least 1, at most `n`.

        Returns:
            A block, in the structure of the examples: arrays whose first dimension counts them.

        Raises:
            OutOfRangeError: All epochs are over.
            ValueError: `n` is less than 1.
        """
        return map_values(gathered, self.rows(n))

    def examples(self, n: int) -> Iterator[Any]:
        """As `block`, but one by one: their shapes may differ."""
        return self._examples_of(self._pull(n))

    def rows(self, n: int) -> Any:
        """As `block`, but rows of arrays may be left for the queue to gather."""
        return self._rows_of(self._pull(n))

    def _pull(self, n: int) -> NDArray[np.int64]:
        """Take the next examples as row numbers: what `_rows_of` makes a block of, as it does of a slice of them."""
        n, turn = min(at_least_one(n), self._most), this_thread.turn
        if turn is not None:
            with turn.pulling(self, "rows", n):
                self.last_ids = numbers = self._advance(n)
        elif self.owner is not None:
            raise in_use(self)
        else:
            with self._lock:
                numbers = self._advance(n)
        return numbers

    def _advance(self, n: int) -> NDArray[np.int64]:
        numbers = self._numbers(self._next, n)
        if not len(numbers):
            raise self._ended()
        self._next += len(numbers)
        return numbers

    def _ended(self) -> OutOfRangeError:
        order = self._source.order
        why = None if order.length else f"{self.name} has no rows"
        return end_of_input(f"{self.name}: there are no more examples", order.num_epochs, why)

    # For loops that read in their own thread.

    @property
    def at_hand(self) -> bool:
        """Whether a loop over batches waits for nobody and no disk: rows are in memory, their numbers computed."""
        return self.owner is None and getattr(self._source.table, "at_hand", False)

    def hand(self) -> Hand:
        """What takes rows for such a loop."""
        from pipeline.producers.queue import Hand  # with all of queues and threads: 15 ms

        return Hand(self, self._rows_of, self.rows)

    def hand_over(self, n: int, hand: Hand) -> bool:
        """Put the row numbers of the next examples into a hand; return False within a turn, which notes its pulls."""
        if this_thread.turn is not None:
            return False
        if self.owner is not None:
            raise in_use(self)
        with self._lock:
            numbers = self._numbers(self._next, min(at_least_one(n), self._most))
            if not len(numbers):
                raise self._ended()
            following, count = self._next + len(numbers), hand.count + len(numbers)
            hand.numbers, hand.count = numbers, count
            self._next = following  # at once: Ctrl-C never strikes between
        return True

    # A Positioned.

    def _facts(self) -> dict[str, Any]:
        return {"name": self.name, "kind": self.name, **self._source.facts(), **self._source.order.facts()}

    def _files(self) -> dict[str, Any]:
        """What tells the files that are read from changed ones, by name."""
        return self._source.files()

    def _position(self) -> list[int]:
        return [self._next]

    def _earlier(self, position: Sequence[int], count: int) -> list[int]:
        """Where it was so many examples before a position."""
        return [position[0] - count]

    def _go_to(self, position: Sequence[int]) -> None:
        (self._next,) = map(int, position)

    def _skip(self, count: int, what: str = "rows", n: int = 1) -> None:
        """Drop what `count` pulls of up to `n` rows give."""
        total = self._total()
        if n > 1:  # the end of an epoch or a group may cut a block short
            for _ in range(count):
                self._advance(n)
        elif total is not None and self._next + count > total:
            raise self._ended()
        else:
            self._next += count

    def _no_state(self) -> str | None:
        return None

    def _reseed(self, seeds: Sequence[int]) -> bool:
        """Shuffle with the seeds of a saved run if those here were drawn by chance; return whether they were."""
        shuffle = self._source.order.shuffle  # later rounds go on with them too
        drawn = shuffle is not None and shuffle.drawn
        if drawn:
            self._numbered.reseed(seeds)
        return drawn

    # For loops that draw row numbers before they make examples of them.

    @property
    def _most(self) -> int:
        """How many rows to ask for at once."""
        return self._source.table.most

    @property
    def _by_number(self) -> bool:
        """Whether any rows may be asked for together."""
        return self._source.table.sizes is None

    def _total(self) -> int | None:
        """The number of elements in all epochs; None if there is no end."""
        return self._source.total

    def _numbers(self, first: int, count: int) -> NDArray[np.int64]:
        """Return the row numbers of up to `count` elements from number `first` on; none at the end."""
        total = self._total()
        if total is not None:
            count = min(count, total - first)
        return self._numbered.numbers(self._begin + first, count)

    def _rows_of(self, numbers: NDArray[np.int64]) -> Any:
        """Return the rows of these numbers as a block."""
        block = self._source.table.take(numbers)
        if self.encoding is not None:
            check_block(block, self.encoding, self._named(numbers))
        return block

    def _examples_of(self, numbers: NDArray[np.int64]) -> Iterator[Any]:
        """Return the rows of these numbers one by one."""
        return rows_of(map_values(gathered, getattr(self._source.table, "loose", self._rows_of)(numbers)))

    def _named(self, numbers: NDArray[np.int64]) -> Callable[[int], str]:
        """Return what names each of these rows, by its place among them."""
        named = getattr(self._source.table, "named", "row {}".format)
        return lambda i: named(int(numbers[i]))


def as_length(number: int, what: str) -> int:
    """Return a number that `len` is to return; TypeError for one that it cannot, as for things without a length."""
    if number > sys.maxsize:
        raise TypeError(f"{what} is {number:,}, which is more than len() can return")
    return number


def gathered(column: Any) -> Any:
    """Rows that a queue would gather, as an array; any other column as it is."""
    return np.asarray(column) if isinstance(column, Rows) else column


def rows_of(block: Any) -> Iterator[Any]:
    """Yield the rows of a block."""
    if parts_of(block) is None:
        yield from block
        return
    nest = Nest(block, True)
    for values in zip(*nest.flatten(block), strict=True):
        yield nest.pack(values)
