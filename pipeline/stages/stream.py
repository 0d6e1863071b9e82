"""Stream: examples in order, with a state. Rest and Ahead: a block's unread rest, and its state.

One rule makes all states: after k examples of a block, a stage's state is [input state before the block, k].
To resume, the stage opens its input at this state, makes the block again and drops k examples.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from pipeline.diagnostics.wording import named
from pipeline.errors import FailedPreconditionError, OpError, StateMismatchError, invalid
from pipeline.stages.batch_rows import BatchRows
from pipeline.stages.block import Block, failed, joined
from pipeline.tracebacks import from_handler

MOST = 2**62  # the largest example count
_AT_ONCE = 1024  # examples skipped at a time


class Stream:
    """Examples in order, for one thread at a time."""

    def take(self, n: int) -> Block | None:
        """Return the next examples: at least 1 and at most n. None at the end and afterwards.

        A block contains no error: the call after its last example raises it, and so does each later call.
        """
        raise NotImplementedError

    def drop(self, n: int) -> int:
        """Skip the next n examples; return their number, smaller only at the end.

        Sources do not make them. So `drop(1)` skips a single example that made `take` fail, if its source could not
        make it; after any other error it fails likewise.
        """
        left = n
        while left and (block := self.take(min(left, _AT_ONCE))) is not None:
            left -= len(block)
        return n - left

    def state(self) -> Any:
        """Return the state after the last example taken, as plain data.

        The iterator calls this after each element, so it is cheap.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close files and end threads. A `take` in another thread ends with a CancelledError."""

    def begin(self) -> None:
        """Start the threads that read ahead, if there are any."""

    def into(self, rows: BatchRows) -> None:
        """Offer the memory of the batches that the reader makes of the examples, to stages that compute these."""

    def wait(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds for the next example; return whether it, or the end, has arrived."""
        raise cannot_wait()


class Stage(Stream):
    """A stream with one input.

    Attributes:
        source: The input.
    """

    def __init__(self, source: Stream) -> None:
        self.source = source

    def state(self) -> Any:
        """Return the input's state, because the stage holds no examples."""
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
    """A skipped error at its position among a stage's outputs.

    Args:
        error: The error.
        note: Counts the error, or raises it if there were too many.
    """

    __slots__ = ("error", "note")

    def __init__(self, error: Exception, note: Callable[[Exception], object]) -> None:
        self.error, self.note = error, note


class Unit:
    """A stage's outputs for one input block.

    Args:
        parts: Blocks and skipped errors, made on request.
        count: The most examples to expect; None if unknown.
    """

    __slots__ = ("count", "parts")

    def __init__(self, parts: Iterator[Block | Skipped], count: int | None = None) -> None:
        self.parts, self.count = parts, count


class Maker(Stage):
    """A stage that makes units for `Rest` to deliver. Its state is the next unit's beginning."""

    def make(self, n: int) -> Unit | None:
        """Take from the input and return a unit with about n examples (any number is allowed); None at the end.

        An error takes the unit's place, even if part of its input was taken.
        """
        raise NotImplementedError

    def take(self, n: int) -> Block | None:
        raise AssertionError("Rest hands out the units")


class Rest(Stream):
    """Delivers a maker's units, n examples at a time.

    Args:
        maker: The maker, at a unit's beginning.
        drop: Number of examples in this unit to drop first: they were delivered before the state was saved.
        once: The reason if there are no states within a unit, because it could not be made again; else None.
    """

    def __init__(self, maker: Maker, drop: int = 0, once: str | None = None) -> None:
        self._maker, self._once = maker, once
        self._unit: Unit | None = None
        self._block: Block | None = None  # the unit's current block, if some examples are left
        self._at = 0  # examples delivered from this block
        self._part: Block | Skipped | None = None  # the part after this block, if it was peeked at
        self._before: Any = None  # the maker's state at the unit's beginning
        self._given = 0  # examples delivered from the unit
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
            return Unit(iter((failed(error),)))  # raised by every later call too, and after a resume

    def state(self) -> Any:
        if self._unit is None and self._block is None:
            return [self._maker.state(), self._drop]
        if self._once is not None:
            return [FailedPreconditionError(None, None, self._once), 0]
        return [self._before, self._given]

    def begin(self) -> None:
        self._maker.begin()

    def into(self, rows: BatchRows) -> None:
        if self._unit is None and self._block is None:
            rows.begin(self._drop)
            self._maker.into(rows)

    def close(self) -> None:
        self._maker.close()
        self._unit = None


class Ahead(Stage):
    """A stream that lets its reader peek at examples before taking them.

    Args:
        source: The stream.
        skip: The number of examples to skip first.
    """

    def __init__(self, source: Stream, skip: int = 0) -> None:
        super().__init__(source)
        self._held: list[tuple[Any, Block]] = []  # blocks, each with the state before it
        self._offset = 0  # examples taken from the first block
        self._size = 0  # examples held and not taken
        self._failed: tuple[Any, Exception] | None = None  # the stream's error, with the state before it
        self._skip = skip

    def look(self, n: int, after: int = 0) -> Block | None:
        """Return the next n examples without the first `after`, and keep them.

        There may be fewer before an error and at the end. None if there are no more than `after` before the end.

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
            else:
                if block is None:
                    break
                self._held.append((before, block))
                self._size += len(block)
        if not self._size and self._failed is not None:
            raise self._failed[1]
        return self._between(after, min(n, self._size)) if self._size > after else None

    def _pass(self) -> None:
        """Skip the examples before the first one."""
        if self._skip:
            if self.source.drop(self._skip) < self._skip:
                raise shorter()
            self._skip = 0

    def look_whole(self, n: int) -> Block | None:
        """Return n examples, or fewer at the end; raise any error among them."""
        block = self.look(n)
        if self._failed is not None and self._size < n:
            raise self._failed[1]
        return block

    def _between(self, begin: int, end: int) -> Block:
        """Return the held examples from one position up to another."""
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
        """Skip the next examples, beginning with the held ones."""
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
    """Return blocks with the next n examples together, fewer at the end."""
    found = []
    while n and (block := stream.take(n)) is not None:
        found.append(block)
        n -= len(block)
    return found


def unknown_in(state: Any) -> str | None:
    """Return the reason if some part of a state cannot be saved; else None."""
    if isinstance(state, FailedPreconditionError):
        return state.message
    if isinstance(state, (list, tuple)):
        return next((reason for each in state if (reason := unknown_in(each)) is not None), None)
    return None


def cannot_wait() -> FailedPreconditionError:
    """Return the error for a timeout that cannot be kept, because no thread prepares elements."""
    text = "next(timeout=): the dataset makes elements in your own thread: add .prefetch(1) at its end"
    return FailedPreconditionError(None, None, text)


def shorter() -> StateMismatchError:
    """Return the error for an input shorter than a state's position."""
    text = "the input ends before the saved position: it has fewer examples than when the state was saved"
    return StateMismatchError([("examples", None, None)], text)


@contextlib.contextmanager
def fitting() -> Iterator[None]:
    """Turn errors caused by a malformed state into InvalidArgumentError."""
    try:
        yield
    except OpError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, MemoryError) as error:
        raise invalid(f"load_state_dict: the state does not fit this recipe: {named(error)}") from error


def whole(number: Any, most: int = MOST) -> int:
    """Return a number in a state: a count, at most `most`.

    Raises:
        InvalidArgumentError: It is something else, as in an edited state.
    """
    if type(number) is not int or not 0 <= number <= most:
        text = f"a number from 0 to {most:,}" if most < MOST else "a number of examples"
        raise invalid(f"load_state_dict: the state is damaged: {number!r:.40} is not {text}")
    return number
