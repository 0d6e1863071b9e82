"""Stream: elements one after the other, with a position that can be saved and gone back to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np

from pipeline.diagnostics.wording import named
from pipeline.errors import (
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    OpError,
    StateMismatchError,
    invalid,
)
from pipeline.flow.block import Block, Examples, join
from pipeline.flow.ids import PartHashes, summed

_MOST = 2**62  # elements that anything counts

# Elements that are taken at once where they are dropped.
_DROPPED = 1024

# One element, the fingerprint of the examples that it consists of, and how many these are.
Element: TypeAlias = "tuple[Any, int, int]"


class Stream(Protocol):
    """A running part of a dataset. One thread at a time uses it.

    A position is plain data (JSON): where the next element comes from.
    """

    def take(self, n: int) -> Block | None:
        """Return the next elements: at least 1, at most n. None at the end, and from then on."""

    def skip(self, n: int) -> int:
        """Drop up to n elements, without making them where possible; return how many, fewer only at the end."""

    def position(self) -> Any:
        """Return where the next element comes from; or, not raised, the error that says why nobody knows."""

    def seek(self, position: Any) -> None:
        """Let the element that came next at a position be the next one."""

    def close(self) -> None:
        """Close files and end threads."""


class ChoosingStream(Stream, Protocol):
    """A stream whose `take` only chooses the numbers of elements, and does not make any.

    Elements that were taken and are not needed cost nothing to go back from.

    Attributes:
        chooses: True.
        by_row: Whether all are rows of one table, by numbers that are their ids too. It may be missing. Without it, a
            position is the number of the next element.
    """

    chooses: bool


def nowhere(reason: str) -> FailedPreconditionError:
    """What a stream has in place of a position: the error for whoever asks for a state."""
    return FailedPreconditionError(None, None, reason)


def place(*parts: Any) -> Any:
    """Return a position that is made of others; or the error that one of them is."""
    for part in parts:
        if type(part) is FailedPreconditionError:
            return part
    return list(parts)


def is_by_row(stream: Stream) -> bool:
    """Whether a stream chooses among the rows of one table."""
    return bool(getattr(stream, "by_row", False))


def is_lazy(stream: Stream) -> bool:
    """Whether taking elements of a stream makes none of them, so that it may go on as far as one likes."""
    return bool(getattr(stream, "chooses", False) or getattr(stream, "lazy", False))


def elements_of(stream: Stream) -> Callable[[], Element | None]:
    """Return what gives the elements of a stream one by one; None at the end.

    A stream may have a method `element` for that. One batch then is 2 us where it is 5 us as a block of one batch with
    an array of its fingerprint.
    """
    own: Callable[[], Element | None] | None = getattr(stream, "element", None)
    if own is not None:
        return own

    return lambda: alone(stream.take(1))


def alone(block: Block | None) -> Element | None:
    """Return the only element of a block; None for None."""
    if block is None:
        return None
    (found,) = block.made().examples()
    return found, *summed(block.ids)


def lend(stream: Stream) -> bool:
    """Ask a stream of blocks for these themselves, where it would copy each; return whether it does that.

    What it gives then is as it was only until the next `take`: generators may fill one array again and again.
    """
    asked: Callable[[], bool] | None = getattr(getattr(stream, "stream", stream), "lend", None)
    return asked is not None and asked()


def lend_rows(stream: Stream) -> bool:
    """As `lend`, of the rows of such blocks, as `Unbatched` gives them: always columns."""
    asked: Callable[[], bool] | None = getattr(getattr(stream, "stream", stream), "lend_rows", None)
    return asked is not None and asked()


def gives_elements(stream: Stream) -> bool:
    """Whether a stream, as that of batches, has elements one by one. A prefetch has what it gets."""
    inner = getattr(stream, "stream", stream)
    return bool(getattr(inner, "gives_elements", hasattr(inner, "element")))


def block_of(element: Element | None, number: int) -> Block | None:
    """Return one element as a block; `number` is that of the next one."""
    if element is None:
        return None
    found, value, size = element
    ids = PartHashes(np.array([value], np.uint64), np.array([size], np.int64))
    return Block(Examples([found]), ids, range(number - 1, number))


def dropped(stream: Stream, n: int) -> int:
    """Drop up to n elements by taking them, for streams that have no shorter way."""
    left = n
    while left and (block := stream.take(min(left, _DROPPED))) is not None:
        left -= len(block)
    return n - left


def shorter() -> StateMismatchError:
    """The error of an input that ends before the place where a state was saved."""
    text = "the input ends before the place where the state was saved: it has fewer examples than then"
    return StateMismatchError([("examples", None, None)], text)


def take_all(stream: Stream, n: int) -> list[Block]:
    """Take n elements, or as many as there are."""
    blocks = []
    while n and (block := stream.take(n)) is not None:
        blocks.append(block)
        n -= len(block)
    return blocks


def later(position: Any, n: int) -> Any:
    """Return the position n elements after another one, which `seek_later` understands."""
    if type(position) is int:  # elements by their number
        return position + n
    if not n or isinstance(position, Exception):  # which says why there is none
        return position
    if isinstance(position, dict) and "draws" in position:  # of a pool
        return {**position, "draws": position["draws"] + n}
    if isinstance(position, dict) and "later" in position:
        return {"at": position["at"], "later": position["later"] + n}
    return {"at": position, "later": n}


def seek_later(stream: Stream, position: Any) -> None:
    """Go to a position, or so many elements after one.

    Raises:
        InvalidArgumentError: It is no position of such a stream.
    """
    if isinstance(position, dict) and "later" in position:
        ahead = whole(position["later"])
        _seek(stream, position.get("at"))
        if stream.skip(ahead) < ahead:
            raise shorter()
    else:
        _seek(stream, position)


def _seek(stream: Stream, position: Any) -> None:
    try:
        stream.seek(position)
    except OpError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, MemoryError) as error:
        raise invalid(f"load_state_dict: the position of the state does not fit this recipe: {named(error)}") from error


def whole(number: Any, most: int | None = None) -> int:
    """Return a number of a position: how many of something, at most so many.

    Raises:
        InvalidArgumentError: It is something else, as in a state that was edited.
    """
    most = _MOST if most is None else most
    if type(number) is not int or not 0 <= number <= most:
        text = f"a number from 0 to {most:,}" if most < _MOST else "a number of elements"
        raise invalid(f"load_state_dict: the position of the state is damaged: {number!r:.40} is not {text}")
    return number


class Ahead:
    """A stream, and elements of it that were looked at and not taken yet.

    Args:
        stream: The stream; nobody else takes from it.
        at_once: How many elements to take at least, where that makes none of them: few blocks are joined faster.

    Attributes:
        lazy: Whether taking elements makes none of them.
    """

    def __init__(self, stream: Stream, at_once: int = 1) -> None:
        self._stream = stream
        self.lazy = is_lazy(stream)
        self._at_once = at_once if self.lazy else 1
        self._blocks: list[tuple[Any, Block]] = []  # each after the position of its first element, or why there is none
        self._at: Any = None  # the position of what was fetched last
        self._offset = 0  # elements of the first block that were taken
        self.size = 0  # elements that were looked at
        self._error: tuple[Exception, Any] | None = None  # of the one after them, and its position

    def ready(self, n: int) -> list[Block]:
        """As `look`, but up to an element that fails: `raise_error` says whether that is why there are fewer."""
        if self._error is None and self.size < n:
            try:
                self._fetch(n)
            except (DeadlineExceededError, CancelledError):
                raise
            except Exception as error:
                self._error = error, self._at
        return self.look(min(n, self.size))

    def raise_error(self) -> None:
        """Raise the error of the element after those that were looked at, if it has failed."""
        if self._error is not None:
            (error, _), self._error = self._error, None
            raise error

    def look(self, n: int) -> list[Block]:
        """Return the next n elements, or as many as there are; they come again."""
        self._fetch(n)
        found, left, offset = [], min(n, self.size), self._offset
        for _, block in self._blocks:
            if not left:
                break
            part = block[offset : offset + left] if offset or left < len(block) else block
            found.append(part)
            left, offset = left - len(part), 0
        return found

    def look_at(self, number: int) -> Block | None:
        """Return the element after so many others alone, or None where there is none; it comes again."""
        self._fetch(number + 1)
        left = self.size - number  # from the end, where it mostly is
        if left < 1:
            return None
        for _, block in reversed(self._blocks):
            if left <= len(block):
                at = len(block) - left
                found: Block = block[at : at + 1] if len(block) > 1 else block
                return found
            left -= len(block)
        raise AssertionError(number)

    def _fetch(self, n: int) -> None:
        """Have n elements here, or as many as there are."""
        while self.size < n:
            self.raise_error()
            self._at = self._stream.position()
            block = self._stream.take(max(n - self.size, self._at_once))
            if block is None:
                break
            self._blocks.append((self._at, block))
            self.size += len(block)

    def drop(self, n: int) -> None:
        """Take elements that were looked at."""
        self.size -= n
        n += self._offset
        while self._blocks and n >= len(self._blocks[0][1]):
            n -= len(self._blocks.pop(0)[1])
        self._offset = n

    def take(self, n: int) -> Block | None:
        blocks = self.look(n) if self.size else []
        if not blocks:
            self.raise_error()
            return self._stream.take(n)
        taken = join(blocks)
        self.drop(len(taken))
        return taken

    def skip(self, n: int) -> int:
        first = min(n, self.size)
        self.drop(first)
        if n == first:
            return n
        self.raise_error()
        return first + self._stream.skip(n - first)

    def position(self) -> Any:
        if not self._blocks and self._error is None:
            return self._stream.position()
        return later(self._blocks[0][0] if self._blocks else self._error[1], self._offset)  # type: ignore[index]

    def seek(self, position: Any) -> None:
        self._blocks, self._offset, self.size, self._error = [], 0, 0, None
        seek_later(self._stream, position)

    def close(self) -> None:
        self._stream.close()
