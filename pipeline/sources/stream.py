"""Sources of examples that come one after the other, file by file; a place in them is what the files say it is."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, Protocol

from pipeline.datasets.origins.parts import OfParts
from pipeline.diagnostics.ends import end_of_input
from pipeline.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError, StateMismatchError
from pipeline.files.identity import Opened, file_identity, names_of
from pipeline.flow.stream import whole
from pipeline.nest import length, map_values
from pipeline.on_error import ending
from pipeline.sources.extras import Once
from pipeline.sources.order import Epochs, Order
from pipeline.sources.source import Source, as_length

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
        """Make a block of a piece, or of a slice of one; several threads may do so at once.

        A block is columns; or Examples, if `one_by_one` says that they may differ.
        """

    def facts(self) -> dict[str, Any]:
        """What decides the examples; plain data.

        `one_by_one` and `loose`, of a piece, as of a Table. A method `named` may return what an example is called, such
        as its file and line, by the piece, or a slice of one, and its place there.
        """


class SequentialParts(Parts, Protocol):
    """Parts that are read one after the other."""

    def read(self, part: int, epoch: int, place: Any) -> Generator[tuple[Any, Any]]:
        """Yield the pieces of a part, each after the place where it begins.

        A place is plain data, not None; `place` is where to begin, or None.
        """


class BlockPiece:
    """A piece that is a block already."""

    def __init__(self, block: Any) -> None:
        self.block = block

    def __len__(self) -> int:
        return length(self.block)

    def __getitem__(self, rows: slice) -> BlockPiece:
        return BlockPiece(map_values(lambda column: column[rows], self.block))


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

    def __init__(self, stream: SequentialParts, epochs: Epochs) -> None:
        super().__init__(stream, epochs, _StreamCursor)


class PartsCursor:
    """A place in parts. What a read raises ends it.

    Thread safety: one thread at a time uses it.
    """

    def __init__(self, about: About, round_number: int) -> None:
        self.name = about.parts.kind
        self._parts, self._order = about.parts, about.order
        self._numbered = about.order.numbered()
        self._first_epoch = round_number * (about.order.num_epochs or 0)
        self._opened = Opened()
        self._failed = False
        self._taken = 0
        self._seek(0, 0, None, 0)

    def _seek(self, epoch: int, part: int, place: Any, offset: int) -> None:
        self._epoch, self._part, self._place, self._offset = epoch, part, place, offset
        self._pieces: Generator[tuple[Any, Any]] | None = None  # of the part, from `place` on
        self._piece: Any = None  # whose examples from `offset` on come next
        self._empty = True  # whether the epoch has had no example so far

    def recall(self) -> None:
        """Give up what is prepared ahead, and end waits, as the iterator was closed; here it is nothing."""

    def close(self) -> None:
        """Close files, and end threads and processes of the stream; no other thread takes examples. Whoever takes some
        later goes on where this was."""
        pieces, self._pieces = self._pieces, None
        if pieces is not None and inspect.getgeneratorstate(pieces) != inspect.GEN_RUNNING:
            pieces.close()  # else this is a signal handler: they end as soon as whoever reads has let go of them

    def pull(self, n: int) -> Any:
        """Take the next examples, at least 1 and at most `n`, as a piece. OutOfRangeError at the end."""
        n = min(n, self._parts.most)
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

    def rest(self) -> Any:
        """Return the examples that are left of the piece that `pull` gave some of; None if there are none."""
        piece = self._piece
        return None if piece is None or self._failed or self._offset >= len(piece) else piece[self._offset :]

    def later(self, position: list[Any], n: int) -> list[Any]:
        """Return the position n examples after another one, in one piece."""
        epoch, part, taken, place, offset = position
        return [epoch, part, taken + n, place, offset + n]

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
                text = f"{self.name}: the iterator that read it has closed it, and it cannot continue: {reason}"
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
        if self._parts.of_files:
            name = self._parts.names[part]
            first = self._first_epoch + self._epoch == 0
            number = self._part if first else None
            self._opened.note(os.fsencode(name), file_identity(name), number, self._place is not None)

    def names(self, first: int, count: int) -> list[str]:
        """Return the names of so many parts from a number on, in the order of the first epoch."""
        count = min(count, self._order.length - first)
        return [self._parts.names[part] for part in self._numbered.numbers(first, max(0, count)).tolist()]

    def _position(self) -> list[Any]:
        return [self._epoch, self._part, self._taken, self._place, self._offset]

    def _go_to(self, position: Sequence[Any]) -> None:
        epoch, part, taken, place, offset = position
        self._taken, part = whole(taken), whole(part, self._order.length)
        self._seek(whole(epoch, self._order.num_epochs), part, place, whole(offset))
        self._failed = False

    def _no_state(self) -> str | None:
        return self._parts.no_state


class _StreamCursor(PartsCursor):
    """A place in a stream: its parts are read one after the other."""

    def __init__(self, about: About, round_number: int) -> None:
        super().__init__(about, round_number)
        self._stream: Any = about.parts

    def _open(self, part: int, epoch: int) -> Generator[tuple[Any, Any]]:
        pieces: Generator[tuple[Any, Any]] = self._stream.read(part, epoch, self._place)
        return pieces
