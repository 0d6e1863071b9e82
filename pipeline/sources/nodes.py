"""Source nodes: table rows, and parts such as files, in an order."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline._batch import AgainMemory
from pipeline._block import bounds
from pipeline.diagnostics.ends import raise_why
from pipeline.errors import CancelledError, FailedPreconditionError, OutOfRangeError, StateMismatchError, invalid
from pipeline.files.identity import file_identity, names_of
from pipeline.files.remote import REMOTE_AHEAD, forget, prepare
from pipeline.on_error import ending
from pipeline.orders.numbered import Numbered
from pipeline.orders.seeds import Seed
from pipeline.sources.extras import Once
from pipeline.stages.block import Block, Columns, Examples, Names, Numbers, as_columns, join_values
from pipeline.stages.index import ENDLESS, Index, InOrder
from pipeline.stages.node import Node
from pipeline.stages.run import Run
from pipeline.stages.stream import Stream, whole
from pipeline.tracebacks import from_handler

# Bits in an example's number that count examples within a part.
_INSIDE = 36

# Maximum number of examples made together from a piece.
_MOST = 1024

# The same if they are views of rows already read.
_VIEWED = 1 << 14

_ENDS_BEFORE = "it ends before its saved position: it has fewer examples than when the state was saved"


class Rows:
    """Rows or examples as columns: the base class of tables and parts.

    Attributes:
        kind: Name of the source's public function.
        unit: Name for the rows, groups or parts, in the plural.
        most: Number of rows to request at once.
        one_by_one: True if examples are made one at a time, so they may differ in shape.
        lighter: See `Node.lighter`.
    """

    kind: str
    unit: str = "rows"
    most: int = _MOST
    one_by_one = False
    lighter = Node.lighter

    def facts(self) -> dict[str, Any]:
        """Return the identity of the rows, as plain data."""
        raise NotImplementedError

    def identities(self) -> Mapping[str, Sequence[Any]]:
        """Return identities of a table's files, by name, as far as states list them."""
        return {}

    def files(self) -> Sequence[str]:
        """Return the names of all files to read; see `Node.files`."""
        return ()

    def data(self) -> Sequence[Any]:
        """Return the in-memory objects to read; see `Node.data`."""
        return ()

    def functions(self) -> tuple[Any, ...]:
        """Return the user functions that make examples; see `Node.functions`."""
        return ()


class Gathers(Protocol):
    """Copies rows by index. Several threads may call it at once."""

    def take(self, numbers: NDArray[np.int64]) -> list[NDArray[Any]]:
        """Return rows by index, one array per column."""

    def runs(self, starts: NDArray[np.int64], size: int) -> list[NDArray[Any]] | None:
        """Return `size` neighbours from each row on, as arrays with one more dimension; None if it cannot."""


class Table(Rows):
    """Rows with random access. Several threads may call it at once.

    Attributes:
        sizes: Rows per group, if a group's rows must be read together; else None.
        at_hand: True if rows are in memory, and only need gathering.
        large: True if rows may be large arrays: each iterator reuses the memory of dropped ones.
        ahead: True if rows may be made before they are requested: making them calls no user function.
        views: True if neighbours in a group are views of it.
        by_epoch: True if each epoch has its own rows: row i in epoch e has the number `e * len(table) + i`.
        takes_workers: See `Node.takes_workers`.
    """

    sizes: Sequence[int] | None = None
    at_hand = large = ahead = views = by_epoch = False
    takes_workers = ""

    def __len__(self) -> int:
        raise NotImplementedError

    def take(self, numbers: NDArray[np.int64]) -> Any:
        """Return rows by index as columns; with `sizes`, all from one group."""
        raise NotImplementedError

    def loose(self, numbers: NDArray[np.int64]) -> Any:
        """Return rows with varying shapes as `Examples`, or as columns with objects for arrays of several shapes.

        Only if `one_by_one`.
        """
        return Examples([_only(self.take(numbers[i : i + 1])) for i in range(len(numbers))])

    def gatherer(self) -> tuple[Gathers, Any] | None:
        """Return an object that gathers rows with equal dtypes and shapes, and their structure, as in `Columns`.

        Every iterator calls it once, before its first row.

        Returns:
            None if `take` must make the rows.

        Raises:
            FailedPreconditionError: The rows have changed since the table was made.
        """
        return None

    def named(self, number: int) -> str | None:
        """Return a row's name for errors, such as its file; None to use its index."""
        return None

    def fetch(self, source: OfTable) -> Node | None:
        """Return a recipe to run instead of this table's source, if workers make its rows."""
        return None

    def rows(self, numbers: NDArray[np.int64]) -> Columns | Examples:
        """Return rows by index."""
        return _values(self.loose if self.one_by_one else self.take, numbers, self.one_by_one)


def _only(made: Any) -> Any:
    values = made if isinstance(made, Examples) else as_columns(made, 1)
    return next(values.examples())


def _values(make: Callable[[Any], Any], which: Any, one_by_one: bool) -> Columns | Examples:
    made = make(which)
    if isinstance(made, Examples):
        return made
    found = as_columns(made, len(which))
    return Examples(list(found.examples())) if one_by_one else found


class Parts(Rows):
    """Parts, such as files, each with pieces of several examples. A piece has a length and supports slices.

    Attributes:
        names: File names of the parts, in order; else one placeholder name per part.
        of_files: True if they are files.
        no_state: Why it has no states; None if it has.
        count: Example count over all parts; None if unknown.
        live: True if other programs write the files meanwhile, as with pipes.
        takes_index: See `Node.takes_index`.
    """

    names: Sequence[str]
    live = takes_index = False
    of_files = True
    no_state: str | None = None
    count: int | None = None

    def read(self, part: int, epoch: int, place: Any) -> Generator[tuple[Any, Any]]:
        """Yield a part's pieces, each after its start place.

        A place is plain data, not None: in a file a count, such as bytes. Reading starts at `place`, or at the start if
        it is None. A FailedPreconditionError instead of a place explains why there is no state here.
        """
        raise NotImplementedError

    def block(self, piece: Any) -> Any:
        """Return the examples in a piece, or a slice of it, as columns. Several threads may call it at once.

        If `one_by_one`, it may return `Examples`.
        """
        raise NotImplementedError

    def loose(self, piece: Any) -> Any:
        """Return a piece's examples as `block` does, with objects for arrays of several shapes.

        Only if `one_by_one`.
        """
        return self.block(piece)

    def named(self, piece: Any, i: int) -> str | None:
        """Return a name for example i in a piece, such as its file and line, for errors."""
        return None

    def rows(self, piece: Any) -> Columns | Examples:
        """Return a piece's examples."""
        return _values(self.loose if self.one_by_one else self.block, piece, self.one_by_one)


class OfSource(Node):
    """A dataset read by a source, such as `arrays` or `csv`.

    Args:
        kind: The function.
        facts: Returns, as plain data, everything affecting the examples except their order.
        order: Number and order of epochs.
    """

    stage = "source"

    def __init__(self, kind: str, facts: Callable[[], dict[str, Any]], order: Any) -> None:
        self.kind = self.name = kind
        self._facts, self.order = facts, order
        self._seed = None if order.shuffle is None else OrderSeed(order.shuffle)
        self.note_place()

    def seed(self) -> Seed | None:
        return self._seed

    def is_share(self) -> bool:
        return bool(self.order.numbered().shard != (0, 1))

    def options(self) -> dict[str, Any]:
        return {**self._facts(), **{key: value for key, value in self.order.facts().items() if key != "seeds"}}

    def numbered(self, run: Run) -> Numbered:
        """Return the order of rows or parts, given this iterator's seeds."""
        numbered: Numbered = self.order.numbered()
        if self._seed is not None and numbered.shuffle is not None:
            numbered.shuffle = copy.copy(numbered.shuffle)
            numbered.reseed(run.seeds.pair(self._seed))
        return numbered

    def call(self) -> str:
        return f"pipeline.{self.kind}(...)"

    def text(self) -> str:
        shuffle = ", shuffle=True" if self.order.shuffle is not None else ""
        epochs = "" if self.order.num_epochs == 1 else f", num_epochs={self.order.num_epochs}"
        return f"{self.kind}({self.about()}{shuffle}{epochs})"

    def about(self) -> str:
        """Describe the amount of data."""
        raise NotImplementedError


class OrderSeed(Seed):
    """The seeds for a source's order."""

    def __init__(self, shuffle: Any) -> None:
        self._shuffle = shuffle
        self.drawn = shuffle.drawn

    @property
    def pair(self) -> tuple[int, int]:
        seeds: tuple[int, int] = self._shuffle.seeds
        return seeds

    def adopt(self, pair: tuple[int, int]) -> None:
        if self.drawn:
            self._shuffle.seeds = pair

    def __getstate__(self) -> dict[str, Any]:
        return {"_shuffle": self._shuffle, "drawn": self.drawn}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


class OfTable(OfSource):
    """A table's rows.

    Args:
        table: The rows.
        facts, order: As for OfSource.
    """

    def __init__(self, table: Table, facts: Callable[[], dict[str, Any]], order: Any) -> None:
        super().__init__(table.kind, facts, order)
        self.table = table
        self.indexed = table.sizes is None
        self.takes_workers, self.lighter = table.takes_workers, table.lighter
        self._fetch = table.fetch(self)

    @property
    def works_ahead(self) -> bool:
        return self._fetch is not None

    def run_as(self) -> Node:
        return self._fetch or self

    def about(self) -> str:
        return f"{len(self.table):,} {self.table.unit}"

    def files(self) -> Sequence[str]:
        return self.table.files()

    def data(self) -> Sequence[Any]:
        return self.table.data()

    def functions(self) -> tuple[Any, ...]:
        return self.table.functions()

    def shares_equally(self) -> bool:
        return bool(self.order.rows % self.order.numbered().shard[1] == 0)

    def length(self) -> int | None:
        epochs = self.order.num_epochs
        return min(ENDLESS, int(self.order.length * (ENDLESS if epochs is None else epochs)))

    def name_of(self, number: int) -> str | None:
        rows = len(self.table)
        return self.table.named(number % rows) if rows else None

    def index(self, run: Run) -> Index:
        if len(self.table) != self.order.rows:  # such as a PyTorch Dataset after examples were added
            text = (
                f"{self.call()}: there were {self.order.rows:,} {self.table.unit} when the dataset was made, and there "
                f"are {len(self.table):,} now: make a new dataset"
            )
            raise FailedPreconditionError(None, None, text)
        run.files.of_table(self.table)
        length = self.length() or 0
        begin = run.epoch * (0 if length == ENDLESS else length)
        rows = TableRows if self.table.sizes is None else GroupRows
        return rows(self.table, self.numbered(run), begin, length)

    def stream(self, run: Run, state: Any = None) -> Stream:
        return InOrder(self.index(run), state)


class TableRows(Index):
    """A table's rows by their position in its order.

    Args:
        table: The rows.
        numbered: Their order, through all epochs.
        begin: The position in that order of element 0.
        length: Number of elements.
    """

    of_sources = True

    def __init__(self, table: Table, numbered: Numbered, begin: int, length: int) -> None:
        self._table, self._numbered, self._begin, self._length = table, numbered, begin, length
        self._count = max(1, len(table))
        self._orders: dict[int, Any] = {}
        found = table.gatherer()
        self._gatherer: Gathers | None = None
        self._structure: Any = None
        if found is not None and length:
            self._gatherer, self._structure = found
        self.of_numbers = found is not None
        self._memory = AgainMemory(mixed=True) if table.large else None
        self.ahead = table.ahead or self.of_numbers
        self._plain = numbered.shuffle is None and numbered.shard == (0, 1) and not begin and length <= numbered.length

    def __len__(self) -> int:
        return self._length

    def block(self, places: Numbers) -> Block:
        if self._plain and self._gatherer is not None:  # positions are row indices
            return Block(Columns(self._gatherer.take(places), len(places), self._structure), places)
        if not len(places):
            return Block(Examples([]), places)
        epochs, rows = self._rows_of(places)
        numbers = rows if epochs is None else rows + epochs * self._count
        if self._gatherer is not None:
            return Block(Columns(self._gatherer.take(rows), len(rows), self._structure), numbers)
        names = Names(lambda i: self._table.named(int(rows[i])))
        values, error = made_before_error(self._made, numbers if self._table.by_epoch else rows)
        return Block(values, numbers[: len(values)], error, names)

    def _made(self, rows: NDArray[np.int64]) -> Columns | Examples:
        if self._memory is None:
            return self._table.rows(rows)
        with self._memory:
            return self._table.rows(rows)

    def runs(self, starts: Numbers, size: int) -> Block | None:
        numbered = self._numbered
        if self._gatherer is None or numbered.shuffle is not None or numbered.shard != (0, 1):
            return None
        low, high = bounds(starts)
        epoch = (self._begin + low) // numbered.length
        if (self._begin + high + size - 1) // numbered.length != epoch:
            return None
        offset = self._begin - epoch * numbered.length
        arrays = self._gatherer.runs(starts + offset if offset else starts, size)
        if arrays is None:
            return None
        numbers = starts + self._begin if self._begin else starts
        return Block(Columns(arrays, len(starts), self._structure), numbers, sizes=size)

    def _rows_of(self, places: Numbers) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
        """Return each position's epoch and row; None for the first epoch overall."""
        wanted = self._begin + places if self._begin else places
        numbered, length = self._numbered, self._numbered.length
        low, high = bounds(wanted)
        index, count = numbered.shard
        epoch = low // length
        if high // length == epoch:
            inner = wanted - epoch * length if epoch else wanted
            if numbered.shuffle is not None:
                rows = self._order_of(epoch)[inner]
            else:
                rows = inner if (index, count) == (0, 1) else index + inner * count
            return (np.int64(epoch) if epoch else None), np.ascontiguousarray(rows)  # type: ignore[return-value]
        epochs, inner = np.divmod(wanted, length)
        if numbered.shuffle is None:
            return epochs, np.ascontiguousarray(index + inner * count)
        rows = np.empty(len(wanted), np.int64)
        for epoch in sorted(set(epochs.tolist())):
            mine = epochs == epoch
            rows[mine] = self._order_of(epoch)[inner[mine]]
        return epochs, rows

    def _order_of(self, epoch: int) -> NDArray[np.int64]:
        """Return an epoch's rows in order; the last two orders are cached."""
        if epoch not in self._orders:
            order = self._numbered.order(epoch)
            if order is None:
                index, count = self._numbered.shard
                order = index + np.arange(self._numbered.length) * count
            self._orders = {**dict(list(self._orders.items())[-1:]), epoch: order}
        return self._orders[epoch]  # type: ignore[no-any-return]


class GroupRows(Index):
    """A table's rows in groups, each read as a whole, in order."""

    of_sources = True

    def __init__(self, table: Table, numbered: Numbered, begin: int, length: int) -> None:
        self._table, self._numbered, self._begin, self._length = table, numbered, begin, length
        self.ahead = table.ahead
        self._count = max(1, len(table))
        self._least = _VIEWED if table.views and numbered.shuffle is None else 1

    def __len__(self) -> int:
        return self._length

    def block(self, places: Numbers) -> Block:
        """Return examples at consecutive positions, up to a group's end; more than requested if they are views."""
        begin = int(places[0])
        first, count = self._begin + begin, max(len(places), min(self._least, self._length - begin))
        rows = self._numbered.numbers(first, min(count, self._table.most))
        epoch = first // self._numbered.length
        names = Names(lambda i: self._table.named(int(rows[i])))
        values, error = made_before_error(self._table.rows, rows)
        return Block(values, rows[: len(values)] + epoch * self._count, error, names)


def made_before_error(make: Callable[[Any], Columns | Examples], which: Any) -> tuple[Columns | Examples, Any]:
    """Make rows together, up to the first error; return them and the error."""
    try:
        return make(which), None
    except Exception as raised:
        if from_handler(raised) is not None:
            raise
        if len(which) < 2:
            return Examples([]), raised
    half = len(which) // 2
    first, error = made_before_error(make, which[:half])
    if error is not None:
        return first, error
    second, error = made_before_error(make, which[half:])
    return (join_values([first, second]) if len(second) else first), error


class OfParts(OfSource):
    """Examples from files, or from other parts, one part after another.

    Args:
        parts: The parts.
        facts, order: As for OfSource.
        stream: The stream class.

    Attributes:
        errors: `on_error` and `max_errors`: the policy for a failing part, if later parts are readable.
    """

    joins_files = True

    def __init__(self, parts: Parts, order: Any, stream: type[PartsStream]) -> None:
        self._names: Callable[[], dict[str, Any]] = dict
        if parts.of_files:
            self._names = Once(_NamesOf(parts.names))
        super().__init__(parts.kind, _FactsOf(parts, self._names), order)
        self.parts, self._stream = parts, stream
        self.takes_index, self.lighter = parts.takes_index, parts.lighter
        self.errors: tuple[str, int | None] = ("raise", None)

    @property
    def live(self) -> bool:
        return self.parts.live

    def idle_shuffle(self) -> str | None:
        if self.order.shuffle is None or len(self.parts.names) != 1:
            return None
        return f"shuffle=True orders {self.parts.unit}, but there is only one, so it changes nothing"

    def skipping(self, on_error: str, max_errors: int | None) -> OfParts:
        """Return the same source with this policy for the rest of a failing part, if anything follows it."""
        other = copy.copy(self)
        other.errors = on_error, max_errors
        return other

    def about(self) -> str:
        return f"{len(self.parts.names):,} {self.parts.unit}"

    def total(self) -> int | None:
        """Return the example count over all epochs; None if it is infinite or unknown."""
        count, epochs = self.parts.count, self.order.num_epochs
        return None if count is None or epochs is None else count * epochs

    def length(self) -> int | None:
        return ENDLESS if self.order.num_epochs is None else self.total()

    def no_state(self) -> str | None:
        reason = self.parts.no_state
        return None if reason is None else f"{self.name} cannot be rewound: {reason}"

    def files(self) -> Sequence[str]:
        return self.parts.names if self.parts.of_files else self.parts.files()

    def data(self) -> Sequence[Any]:
        return self.parts.data()

    def functions(self) -> tuple[Any, ...]:
        return self.parts.functions()

    def name_of(self, number: int) -> str | None:
        part, inside = divmod(number, 1 << _INSIDE)
        names = self.parts.names
        return f"example {inside} of {names[part % len(names)]}" if names else None

    def stream(self, run: Run, state: Any = None) -> Stream:
        return self._stream(self, run, state)


class _NamesOf:
    """Returns facts about file names, checked by states."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def __call__(self) -> dict[str, Any]:
        return names_of(self._names)


class _FactsOf:
    """Returns everything affecting the examples in parts, except the order."""

    def __init__(self, parts: Parts, names: Callable[[], dict[str, Any]]) -> None:
        self._parts, self._names = parts, names

    def __call__(self) -> dict[str, Any]:
        return {**self._parts.facts(), **self._names()}


class PartsStream(Stream):
    """Examples from parts, read one after another.

    The state is [the epoch, the part's index in its order, a piece's place, examples taken from that piece, examples in
    the part before it].
    """

    def __init__(self, node: OfParts, run: Run, state: Any) -> None:
        self.node, self.parts, self.order, self.run = node, node.parts, node.order, run
        self.name = node.name
        self.numbered = node.numbered(run)
        self.first_epoch = run.epoch * (self.order.num_epochs or 0)
        self._opened = run.files.of_parts(self.parts, self._names)
        self._failed: BaseException | None = None
        self._taken = False  # True once this epoch has had an example
        epoch, part, place, offset, before = (0, 0, None, 0, 0) if state is None else state
        self.epoch, self.part = whole(epoch), whole(part, self.order.length)
        self.place = whole(place) if self.parts.of_files and place is not None else place
        self._offset, self._before = whole(offset), whole(before)
        self._pieces: Generator[tuple[Any, Any]] | None = None  # pieces of the part, from `place` on
        self._piece: Any = None  # next: its examples from `_offset` on
        self._number = 0  # number of the part's first example
        self._prepared: list[bytes] = []  # remote files fetched ahead
        self._made: Columns | Examples | None = None  # examples made together from the piece
        self._made_at = 0  # their start in the piece
        self._error: Exception | None = None  # raised after these

    def take(self, n: int) -> Block | None:
        return self._block(n) if self._reach() else None

    def drop(self, n: int) -> int:
        left = n
        while left and self._reach():
            count = min(left, len(self._piece) - self._offset)
            self._offset, self._taken = self._offset + count, True
            left -= count
        return n - left

    def _reach(self) -> bool:
        """Fetch the piece with the next example; return False at the end."""
        if self._failed is not None:
            raise self._failed
        while self._piece is None or self._offset >= len(self._piece):
            try:
                self.run.clock.check()  # many examples may be skipped
                if not self._read_on():
                    return False
            except OutOfRangeError as error:
                raise_why(error)
                return False
            except CancelledError:
                raise
            except BaseException as error:
                self._fail(error)
        return True

    def _block(self, n: int) -> Block:
        """Return the piece's next examples."""
        piece, begin = self._piece, self._offset
        made = self._made
        if made is None or not self._made_at <= begin < self._made_at + len(made):
            if made is not None and self._error is not None and begin == self._made_at + len(made):
                raise self._error
            # Several times n, so few blocks must be joined; the first one ends at a batch boundary.
            count = n if self.parts.one_by_one or not begin else n * max(1, _MOST // n)
            count = min(count, self.parts.most, len(piece) - begin)
            made, self._error = made_before_error(self.parts.rows, piece[begin : begin + count])
            self._made, self._made_at = made, begin
            if not len(made):
                assert self._error is not None
                raise self._error
        at = begin - self._made_at
        end = min(at + n, len(made))
        values = made if not at and end == len(made) else made[at:end]
        first = self._number + self._before + begin
        self._offset, self._taken = begin + end - at, True
        names = Names(lambda i: self.parts.named(piece, i), begin)
        return Block(values, np.arange(first, first + end - at), names=names)

    def _fail(self, error: BaseException) -> None:
        """Raise a read error, now and on later calls: nothing follows it."""
        self._failed = error
        ending(error)
        raise error

    def _read_on(self) -> bool:
        """Get the next piece from this part or the next; return False at the end."""
        order, pieces = self.order, self._pieces
        if pieces is None:
            if order.num_epochs is not None and self.epoch >= order.num_epochs:
                return False
            epoch = self.first_epoch + self.epoch
            (part,) = self.numbered.numbers(epoch * order.length + self.part, 1)
            if self.place is not None and (reason := self.parts.no_state):
                text = f"{self.name}: it was closed with the iterator that read it and cannot continue: {reason}"
                raise FailedPreconditionError(None, None, text)
            if self.parts.of_files:
                self._prepare(epoch * order.length)
                self._note_file(int(part))
            self._number = ((epoch * len(self.parts.names) + int(part)) << _INSIDE) & (1 << 63) - 1
            self._piece, pieces = None, self.open(int(part), epoch)
            self._pieces = pieces
        resumed = self._piece is None and self.place is not None
        found = next(pieces, None)
        if resumed and (found is None or len(found[1]) < self._offset):
            raise StateMismatchError([(self.name, self.place, None)], f"{self.name}: {_ENDS_BEFORE}")
        self._made = None
        if found is None:
            self._next_part()
            return True
        if not resumed:
            self._before += self._offset
            self._offset = 0
        self.place, self._piece = found
        return True

    def open(self, part: int, epoch: int) -> Generator[tuple[Any, Any]]:
        """Return a part's pieces, from `place` on."""
        return self.parts.read(part, epoch, self.place)

    def _next_part(self) -> None:
        self.part += 1
        if self.part >= self.order.length:
            if not self._taken and self.order.num_epochs is None:
                text = f"{self.name}: there are no examples, and num_epochs=None would look for one forever"
                raise invalid(text)
            self.part, self.epoch, self._taken = 0, self.epoch + 1, False
        self.place, self._offset, self._before = None, 0, 0
        self._pieces = self._piece = None

    def _note_file(self, part: int) -> None:
        name = self.parts.names[part]
        number = self.part if self.first_epoch + self.epoch == 0 else None
        self._opened.note(os.fsencode(name), file_identity(name), number, self.place is not None)

    def _prepare(self, before: int) -> None:
        """Begin to fetch this file and later ones if they are remote, given the number of parts before the epoch.

        Skips the first if reading starts in its middle.
        """
        first = self.part + (self.place is not None)
        count = min(REMOTE_AHEAD, self.order.length - first)
        parts = self.numbered.numbers(before + first, count).tolist() if count > 0 else []
        names = [os.fsencode(self.parts.names[part]) for part in parts if "://" in self.parts.names[part]]
        if names:
            prepare(names)
        self._prepared = names

    def _names(self, first: int, count: int) -> list[str]:
        """Return part names, in the first epoch's order."""
        count = min(count, self.order.length - first)
        return [self.parts.names[part] for part in self.numbered.numbers(first, max(0, count)).tolist()]

    def state(self) -> Any:
        return [self.epoch, self.part, self.place, self._offset, self._before]

    def close(self) -> None:
        forget(self._prepared)
        pieces, self._pieces = self._pieces, None
        if pieces is not None:
            try:
                pieces.close()
            except ValueError:  # it is running, in another thread or below this call
                self._pieces = pieces
