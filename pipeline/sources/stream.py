"""Sources of examples that come one after the other, file by file; a place in them is what the files say it is."""

from __future__ import annotations

import functools
import inspect
import os
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from pipeline.datasets.origins.parts import OfParts
from pipeline.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError, StateMismatchError
from pipeline.explain.ends import end_of_input
from pipeline.files.identity import Opened, file_identity, names_of
from pipeline.nest import length, map_values
from pipeline.on_error import ending
from pipeline.producers.numbered import at_least_one
from pipeline.pulls import Book, in_use, this_thread
from pipeline.sources.extras import Once
from pipeline.sources.order import Epochs, Order
from pipeline.sources.source import Source, ahead, as_length, gathered, rows_of
from pipeline.sources.strings import check_block

_ENDS_BEFORE = "it ends before its saved position: it has fewer examples than when the state was saved"


class Parts(Protocol):
    """Parts, such as files, each with pieces of several examples. A piece has a length and takes slices.

    Attributes:
        kind: What the function that makes such sources is called.
        unit: What the parts are called, in the plural.
        most: How many examples to make at once.
        names: The names of the parts that are files, in order; else one name of no file for each.
        of_files: Whether they are files.
        no_state: Why it cannot go back to a place; None if it can.
        rows: How many examples all parts have; None, or not there, if that is not known.
    """

    kind: str
    unit: str
    most: int
    names: Sequence[str]
    of_files: bool
    no_state: str | None

    def block(self, piece: Any) -> Any:
        """Make a block of a piece, or of a slice of one; several threads may do so at once."""

    def facts(self) -> dict[str, Any]:
        """What decides the examples; plain data.

        `singly` and `loose`, of a piece, as of a Table. A method `listed` may return the examples of a piece as a list,
        where they may differ in structure. A method `named` may return what an example is called, such as
        its file and line, by the piece, or a slice of one, and its place there.
        """


class Stream(Parts, Protocol):
    """Parts that are read one after the other."""

    def read(self, part: int, epoch: int, place: Any) -> Generator[tuple[Any, Any]]:
        """Yield the pieces of a part, each after the place where it begins.

        A place is plain data, not None; `place` is where to begin, or None.
        """


class Columns:
    """A piece that is a block already."""

    def __init__(self, block: Any) -> None:
        self.block = block

    def __len__(self) -> int:
        return length(self.block)

    def __getitem__(self, rows: slice) -> Columns:
        return Columns(map_values(lambda column: column[rows], self.block))


class About(NamedTuple):
    """What a source of parts and the places in it share.

    Attributes:
        parts: The examples.
        order: How often, and in which order of the parts.
        names: Returns what states check of the names of files.
    """

    parts: Parts
    order: Order
    names: Callable[[], dict[str, Any]]

    def facts(self) -> dict[str, Any]:
        """Return what decides the examples, besides their order; plain data."""
        return {**self.parts.facts(), **self.names()}


class PartsSource(Source):
    """The examples of parts, one part after the other.

    Args:
        parts: The examples.
        epochs: How often, and in which order of the parts.
        place: The class of places in them.

    Raises:
        ValueError, TypeError: As Order.
    """

    def __init__(self, parts: Parts, epochs: Epochs, place: Callable[[About, int], PartsCursor]) -> None:
        self.name = self.__qualname__ = parts.kind
        self.parts = parts
        self.order = Order(len(parts.names), None, epochs, parts.unit)
        about = About(parts, self.order, Once(functools.partial(names_of, parts.names) if parts.of_files else dict))
        self._make = functools.partial(place, about)
        super().__init__(OfParts(parts, about.facts, self.order, self.total, self._make))

    def cursor(self, round_number: int = 0) -> PartsCursor:
        """As `Source.cursor`."""
        return self._make(round_number)

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self.parts.names):,} {self.parts.unit}, num_epochs={self.order.num_epochs}>"

    def __len__(self) -> int:
        """How many examples all epochs have. TypeError if they do not end, or nobody knows."""
        if self.order.num_epochs is None:
            raise TypeError(f"{self.name}: with num_epochs=None there is no number of examples")
        if self.total is None:
            raise TypeError(f"{self.name}: the number of examples is known only at their end")
        return as_length(self.total, f"{self.name}: the number of examples")

    def __bool__(self) -> bool:
        return True  # not whether there are examples, which may not be known

    @property
    def total(self) -> int | None:
        """As `Source.total`."""
        rows, epochs = getattr(self.parts, "rows", None), self.order.num_epochs
        return None if rows is None or epochs is None else rows * epochs


class StreamSource(PartsSource):
    """The examples of a stream; see PartsSource."""

    def __init__(self, stream: Stream, epochs: Epochs) -> None:
        super().__init__(stream, epochs, _StreamCursor)


class PartsCursor:
    """A place in parts: `block` takes examples from there on. What a read raises ends it.

    Thread safety: you may call every method from every thread; each example is delivered once. One thread at a time
    reads, several make blocks of what was read.

    Attributes:
        owner: The book of the deterministic loop that takes them; then nobody else may.
        inside: What takes from it says where it is, so that it has to know its files.
        encoding: What strings have to be of, if that is checked when they are read.
    """

    columns = ("epoch", "part", "example", "place", "offset")
    last_ids: Any = None
    owner: Book | None = None
    inside = False
    encoding: str | None = None

    def __init__(self, about: About, round_number: int) -> None:
        self.name = self.__qualname__ = about.parts.kind
        self._about, self._parts, self._order = about, about.parts, about.order
        self.ahead, self.singly = ahead(about.parts), getattr(about.parts, "singly", False)
        self._numbered = about.order.numbered()
        self._first_epoch = round_number * (about.order.num_epochs or 0)
        self._lock = threading.Lock()
        self._opened = Opened()
        self._failed = False
        self._taken = 0
        self._seek(0, 0, None, 0)

    def _seek(self, epoch: int, part: int, place: Any, offset: int) -> None:
        self._epoch, self._part, self._place, self._offset = epoch, part, place, offset
        self._pieces: Generator[tuple[Any, Any]] | None = None  # of the part, from `place` on
        self._piece: Any = None  # whose examples from `offset` on come next
        self._empty = True  # whether the epoch has had no example so far

    def block(self, n: int) -> Any:
        """Take the next examples: at least 1, at most `n`.

        Returns:
            A block, in the structure of the examples: arrays whose first dimension counts them.

        Raises:
            OutOfRangeError: All epochs are over, or a read has failed before.
            OpError: A read fails.
            ValueError: `n` is less than 1.
        """
        return map_values(gathered, self.rows(n))

    def recall(self) -> None:
        """Give up what is prepared ahead, as the loop was left; here it is nothing."""

    def close(self) -> None:
        """Close files, and end threads and processes of the stream; no other thread takes examples. Whoever takes some
        later goes on where this was."""
        pieces, self._pieces = self._pieces, None
        if pieces is not None and inspect.getgeneratorstate(pieces) != inspect.GEN_RUNNING:
            pieces.close()  # else this is a signal handler: they end as soon as whoever reads has let go of them

    def examples(self, n: int) -> Iterator[Any]:
        """As `block`, but one by one: their shapes may differ."""
        return self._examples_of(self._pull(n))

    def rows(self, n: int) -> Any:
        """As `block`, but rows of arrays may be left for the queue to gather."""
        return self._rows_of(self._pull(n))

    def _pull(self, n: int) -> Any:
        """Take the next examples as a piece: what `_rows_of` makes a block of, as it does of a slice of it."""
        n, turn = min(at_least_one(n), self._parts.most), this_thread.turn
        if turn is not None:
            with turn.pulling(self, "rows", n):
                self.last_ids = None
                first = self._taken
                taken = self._next(n)
                self.last_ids = first, len(taken)
        elif self.owner is not None:
            raise in_use(self)
        else:
            with self._lock:
                taken = self._next(n)
        return taken

    def _rows_of(self, piece: Any) -> Any:
        block = self._parts.block(piece)
        if self.encoding is not None:
            check_block(block, self.encoding, self._named(piece))
        return block

    def _examples_of(self, piece: Any) -> Iterator[Any]:
        """Return the examples of a piece one by one."""
        listed = getattr(self._parts, "listed", None)
        if listed is not None:
            return iter(listed(piece))
        return rows_of(map_values(gathered, getattr(self._parts, "loose", self._rows_of)(piece)))

    def _named(self, piece: Any) -> Callable[[int], str] | None:
        """Return what names each example of a piece, by its place in it; None if they have no names."""
        named = getattr(self._parts, "named", None)
        return None if named is None else functools.partial(named, piece)

    def _next(self, n: int) -> Any:
        if self._failed:
            raise OutOfRangeError(None, None, f"{self.name}: a read has failed before")
        try:
            while self._piece is None or self._offset >= len(self._piece):
                self._read_on()
        except OutOfRangeError:
            raise
        except BaseException as error:
            self._fail(error)
            raise
        first, self._offset = self._offset, min(self._offset + n, len(self._piece))
        self._taken += self._offset - first
        self._empty = False
        return self._piece[first : self._offset]

    def _fail(self, error: BaseException) -> None:
        """A read has failed: there is nothing after it."""
        self._failed = True
        ending(error)

    def _read_on(self) -> None:
        """Get the next piece, of this part or the next one."""
        order, pieces = self._order, self._pieces
        if pieces is None:
            if order.num_epochs is not None and self._epoch >= order.num_epochs:
                raise end_of_input(f"{self.name}: there are no more examples", order.num_epochs)
            epoch = self._first_epoch + self._epoch
            (part,) = self._numbered.numbers(epoch * order.length + self._part, 1)
            if self._place is not None and (reason := self._no_state()):
                text = f"{self.name}: the loop that took examples of this has closed it, and it cannot go on: {reason}"
                raise FailedPreconditionError(None, None, text)
            self._note_file(int(part))
            self._piece, pieces = None, self._open(int(part), epoch)
            self._pieces = pieces
        found = next(pieces, None)
        goes_on = self._piece is None and self._place is not None
        if goes_on and (found is None or len(found[1]) < self._offset) and self._pieces is pieces:
            raise StateMismatchError([(self.name, self._place, None)], f"{self.name}: {_ENDS_BEFORE}")
        if found is not None:
            # A part that is gone on with begins at the piece that was not used up.
            self._offset = self._offset if goes_on else 0
            self._place, self._piece = found
        elif self._pieces is pieces:  # else a signal handler has closed them
            self._next_part()

    def _open(self, part: int, epoch: int) -> Generator[tuple[Any, Any]]:
        """The pieces of a part, from `_place` on."""
        raise NotImplementedError

    def _next_part(self) -> None:
        order = self._order
        part, epoch, empty = self._part + 1, self._epoch, self._empty
        if part == order.length:
            if empty and order.num_epochs is None:
                raise InvalidArgumentError(
                    None, None, f"{self.name}: there are no examples, and num_epochs=None would look for one forever"
                )
            part, epoch, empty = 0, epoch + 1, True
        self._seek(epoch, part, None, 0)
        self._empty = empty

    def _note_file(self, part: int) -> None:
        if (self.owner is not None or self.inside) and self._parts.of_files:
            name = self._parts.names[part]
            first = self._first_epoch + self._epoch == 0
            number = self._part if first else None
            self._opened.note(os.fsencode(name), file_identity(name), number, self._place is not None)

    # A Positioned.

    def _facts(self) -> dict[str, Any]:
        about = {"name": self.name, "kind": self.name, **self._parts.facts()}
        return {**about, **self._about.names(), **self._order.facts()}

    def _files(self) -> dict[str, list[Any]]:
        """What tells the files that were read from changed ones, by name."""
        return self._opened.listed()

    def _remember_files(self, files: Mapping[str, Sequence[Any]]) -> str | None:
        """Count the files of a saved run as read; return what differs, if it can be seen by their sizes."""
        return self._opened.remember(files, self._names)

    def _names(self, first: int, count: int) -> list[str]:
        return [self._parts.names[part] for part in self._numbered.numbers(first, count).tolist()]

    def _position(self) -> list[Any]:
        return [self._epoch, self._part, self._taken, self._place, self._offset]

    def _earlier(self, position: Sequence[Any], count: int) -> list[Any]:
        """Where it was so many examples before a position after them, all of one block."""
        epoch, part, taken, place, offset = position
        return [epoch, part, taken - count, place, offset - count]

    def _go_to(self, position: Sequence[Any]) -> None:
        epoch, part, self._taken, place, offset = position
        self._seek(epoch, part, place, offset)
        self._failed = False

    def _skip(self, count: int, what: str = "rows", n: int = 1) -> None:
        """Drop what `count` pulls of up to `n` examples give."""
        while count > 0:
            # One by one they are skipped many at a time.
            count -= len(self._next(count)) if n == 1 else len(self._next(n)) and 1

    def _no_state(self) -> str | None:
        return self._parts.no_state

    def _reseed(self, seeds: Sequence[int]) -> bool:
        """Shuffle with the seeds of a saved run if those here were drawn by chance; return whether they were."""
        shuffle = self._order.shuffle
        drawn = shuffle is not None and shuffle.drawn
        if drawn:
            self._numbered.reseed(seeds)
        return drawn


class _StreamCursor(PartsCursor):
    """A place in a stream: its parts are read one after the other."""

    def __init__(self, about: About, round_number: int) -> None:
        super().__init__(about, round_number)
        self._stream: Any = about.parts

    def _open(self, part: int, epoch: int) -> Generator[tuple[Any, Any]]:
        pieces: Generator[tuple[Any, Any]] = self._stream.read(part, epoch, self._place)
        return pieces
