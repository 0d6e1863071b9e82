"""Stream: examples in order, with a state. Rest and Ahead: what a stage holds of a block, and the state of that.

One rule makes all states: a stage that has handed out k examples of a block is at [the state of its input before that
block, k]. To resume there, it opens its input at that state, makes the block again and drops k examples.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from pipeline.diagnostics.wording import named
from pipeline.errors import FailedPreconditionError, OpError, StateMismatchError, invalid
from pipeline.stages.block import Block, failed, joined
from pipeline.tracebacks import from_handler

_MOST = 2**62  # examples that anything counts
_AT_ONCE = 1024  # examples that are left out together


class Stream:
    """Examples in order. One thread at a time uses a stream."""

    def take(self, n: int) -> Block | None:
        """Return the next examples: at least 1 and at most n. None at the end, and from then on.

        The block has no error: an error is raised by the call after its last example, and by each later one.
        """
        raise NotImplementedError

    def drop(self, n: int) -> int:
        """Leave out the next examples, n at most; return how many: fewer only at the end.

        Sources do not make them. So where `take` has failed as an example of a source cannot be made, `drop(1)` leaves
        out that one; after any other error it fails likewise.
        """
        left = n
        while left and (block := self.take(min(left, _AT_ONCE))) is not None:
            left -= len(block)
        return n - left

    def state(self) -> Any:
        """Return the state after what was taken, as plain data. It is cheap: the iterator asks after each element."""
        raise NotImplementedError

    def close(self) -> None:
        """Close files, and end threads. Another thread may be in `take`, which then ends with a CancelledError."""

    def begin(self) -> None:
        """Start the threads that work ahead, if there are any."""

    def wait(self, timeout: float) -> bool:
        """Wait for the next example, `timeout` seconds at most; return whether it, or the end, is there."""
        raise cannot_wait()


class Stage(Stream):
    """A stream with one input.

    Attributes:
        source: The input.
    """

    def __init__(self, source: Stream) -> None:
        self.source = source

    def state(self) -> Any:
        """Return the state of the input: the stage holds nothing."""
        return self.source.state()

    def close(self) -> None:
        self.source.close()


class Several(Stream):
    """A stream with several inputs.

    Attributes:
        sources: The inputs.
    """

    def __init__(self, sources: list[Any]) -> None:
        self.sources = sources

    def state(self) -> Any:
        return [each.state() for each in self.sources]

    def close(self) -> None:
        for source in self.sources:
            source.close()


class Skipped:
    """An error that is skipped, in its place among the outputs of a stage.

    Args:
        error: The error.
        note: Counts it; raises it if it must not be skipped.
    """

    __slots__ = ("error", "note")

    def __init__(self, error: Exception, note: Callable[[Exception], object]) -> None:
        self.error, self.note = error, note


class Unit:
    """What a stage makes of one block of its input.

    Args:
        parts: Makes it when it is asked for: blocks, and errors that are skipped.
        count: How many examples there will be at most; None if that is not known.
    """

    __slots__ = ("count", "parts")

    def __init__(self, parts: Iterator[Block | Skipped], count: int | None = None) -> None:
        self.parts, self.count = parts, count


class Maker(Stage):
    """A stage that makes units of its input, which `Rest` hands out. Its state is where the next unit begins."""

    def make(self, n: int) -> Unit | None:
        """Take from the input; n examples are wanted, and any number may come. None at the end.

        What it raises comes in the place of the unit, also where some of the input was taken.
        """
        raise NotImplementedError

    def take(self, n: int) -> Block | None:
        raise AssertionError("Rest hands out the units")


class Rest(Stream):
    """Hands out the units of a maker, n examples at a time.

    Args:
        maker: The maker, at the beginning of a unit.
        drop: How many examples of that unit to drop first: they were handed out before the state was saved.
        once: Why there is no state within a unit, which another time would be another one; None if there is.
    """

    def __init__(self, maker: Maker, drop: int = 0, once: str | None = None) -> None:
        self._maker, self._once = maker, once
        self._unit: Unit | None = None
        self._block: Block | None = None  # the last block of the unit, while some of it is left
        self._at = 0  # examples of that block that were handed out
        self._part: Block | Skipped | None = None  # the part of the unit after that block, if it was looked at
        self._before: Any = None  # where the unit begins
        self._given = 0  # examples of the unit that were handed out
        self._drop = drop

    def take(self, n: int) -> Block | None:
        while self._drop:
            block = self._next(self._drop)
            if block is None:
                raise shorter()
            self._drop -= len(block)
        block = self._next(n)
        if self._once is not None and self._block is None and self._unit is not None:
            self._part = next(self._unit.parts, None)
            if self._part is None:
                self._unit = None
        return block

    def _next(self, n: int) -> Block | None:
        while self._block is None:
            if self._unit is None:
                self._before, self._given = self._maker.state(), 0
                self._unit = self._made(n)
                if self._unit is None:
                    return None
            part = next(self._unit.parts, None) if self._part is None else self._part
            self._part = None
            if part is None:
                self._unit = None
            elif type(part) is Skipped:
                if not self._drop:
                    part.note(part.error)
            elif len(part) or part.error is not None:  # type: ignore[arg-type]
                self._block, self._at = part, 0  # type: ignore[assignment]
        block, begin = self._block, self._at
        end = min(begin + n, len(block))
        if begin == end:
            raise block.error  # type: ignore[misc]
        if end < len(block) or block.error is not None:
            self._at = end
            block = block.part(begin, end)
            block.error = None
        else:
            self._block = None
            block = block.part(begin, end) if begin else block
        self._given += end - begin
        if self._unit is not None and self._unit.count == self._given:
            self._unit = None
        return block

    def _made(self, n: int) -> Unit | None:
        try:
            return self._maker.make(n)
        except Exception as error:
            if from_handler(error):
                raise
            return Unit(iter((failed(error),)))  # so that it comes again, and the state leads to it

    def state(self) -> Any:
        if self._unit is None and self._block is None:
            return [self._maker.state(), self._drop]
        if self._once is not None:
            return [FailedPreconditionError(None, None, self._once), 0]
        return [self._before, self._given]

    def begin(self) -> None:
        self._maker.begin()

    def close(self) -> None:
        self._maker.close()
        self._unit = None


class Ahead(Stage):
    """A stream whose examples can be looked at before they are taken.

    Args:
        source: The stream, at the state before some example.
        skip: How many examples to leave out first.
    """

    def __init__(self, source: Stream, skip: int = 0) -> None:
        super().__init__(source)
        self._held: list[tuple[Any, Block]] = []  # blocks, each after the state before it
        self._offset = 0  # examples of the first block that were taken
        self._size = 0  # examples that are held and not taken
        self._failed: tuple[Any, Exception] | None = None  # the state before the error of the stream, and the error
        self._skip = skip

    def look(self, n: int, after: int = 0) -> Block | None:
        """Return up to n examples, which stay here, or those of them that come after some.

        There are fewer before an error and at the end. None at the end, or if there are no more than `after`.

        Raises:
            Exception: The next example cannot be made.
        """
        self._pass()
        while self._size < n and self._failed is None:
            before = self.source.state()
            try:
                block = self.source.take(n - self._size)
            except Exception as error:
                if from_handler(error):
                    raise
                self._failed = before, error
                break
            if block is None:
                break
            self._held.append((before, block))
            self._size += len(block)
        if not self._size and self._failed is not None:
            raise self._failed[1]
        return self._between(after, min(n, self._size)) if self._size > after else None

    def _pass(self) -> None:
        """Leave out the examples before the first one."""
        if self._skip:
            if self.source.drop(self._skip) < self._skip:
                raise shorter()
            self._skip = 0

    def look_whole(self, n: int) -> Block | None:
        """Return n examples, or fewer at the end; raise an error that comes among them."""
        block = self.look(n)
        if self._failed is not None and self._size < n:
            raise self._failed[1]
        return block

    def _between(self, begin: int, end: int) -> Block:
        """Return those of the examples that are held from one up to another."""
        found, at = [], -self._offset
        for _, block in self._held:
            first, size = at, len(block)
            at += size
            if at <= begin:
                continue
            whole = begin <= first and at <= end
            found.append(block if whole else block.part(max(0, begin - first), min(size, end - first)))
            if at >= end:
                break
        return joined(found)

    def drop(self, n: int) -> int:
        """Leave out the next examples: first those that were looked at."""
        count = min(n, self._size)
        self._size -= count
        end = self._offset + count
        while self._held and end >= len(self._held[0][1]):
            end -= len(self._held.pop(0)[1])
        self._offset = end
        if count < n:
            self._pass()
            count += self.source.drop(n - count)
            self._failed = None
        return count

    def take(self, n: int) -> Block | None:
        if self._failed is None and not self._held:
            self._pass()
            return self.source.take(n)
        if self._held and self._offset + n < len(self._held[0][1]):
            begin, self._offset = self._offset, self._offset + n
            self._size -= n
            return self._held[0][1].part(begin, self._offset)
        block = self.look(n)
        if block is not None:
            self.drop(len(block))
        return block

    def state(self) -> Any:
        if self._held:
            return [self._held[0][0], self._offset]
        return [self.source.state() if self._failed is None else self._failed[0], self._skip]


def exactly(stream: Stream, n: int) -> list[Block]:
    """Return blocks with the next n examples; with fewer at the end."""
    found = []
    while n and (block := stream.take(n)) is not None:
        found.append(block)
        n -= len(block)
    return found


def unknown_in(state: Any) -> str | None:
    """Return why a state cannot be saved: what one of its parts says instead of a state."""
    if isinstance(state, FailedPreconditionError):
        return state.message
    if isinstance(state, (list, tuple)):
        return next((reason for each in state if (reason := unknown_in(each)) is not None), None)
    return None


def cannot_wait() -> FailedPreconditionError:
    """Return the error of a timeout where no thread prepares elements."""
    text = "next(timeout=): the dataset makes elements in your own thread: end it with .prefetch(1)"
    return FailedPreconditionError(None, None, text)


def shorter() -> StateMismatchError:
    """Return the error of an input that ends before the place of a state."""
    text = "the input ends before the place where the state was saved: it has fewer examples than then"
    return StateMismatchError([("examples", None, None)], text)


@contextlib.contextmanager
def fitting() -> Iterator[None]:
    """Let what raises within it, as a state is another one than it expects, raise InvalidArgumentError."""
    try:
        yield
    except OpError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, MemoryError) as error:
        raise invalid(f"load_state_dict: the state does not fit this recipe: {named(error)}") from error


def whole(number: Any, most: int = _MOST) -> int:
    """Return a number of a state: a count, at most `most`.

    Raises:
        InvalidArgumentError: It is something else, as in a state that was edited.
    """
    if type(number) is not int or not 0 <= number <= most:
        text = f"a number from 0 to {most:,}" if most < _MOST else "a number of examples"
        raise invalid(f"load_state_dict: the state is damaged: {number!r:.40} is not {text}")
    return number
