"""What `map_ahead` gives: results of an executor's workers in the order of the items, a bounded number ahead."""

from __future__ import annotations

import collections
import contextlib
import operator
import reprlib
import threading
import weakref
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.errors import AbortedError, CancelledError, OutOfRangeError
from pipeline.explain.wording import named
from pipeline.threads.stop_flag import StopFlag
from pipeline.workers.chunks import Failed, Run, handle, row, split

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future  # 0.8 ms, that only those wait for who use it

# A thread that waits for a worker looks as often (seconds) whether its loop was left.
LOOK = 0.1

BROKEN = "A worker was killed (as the system does where memory is short), crashed, or could not import the function."


class Chunk(NamedTuple):
    """Items that were given to the executor; `number` is that of the first one."""

    number: int
    items: list[Any]
    future: Future[list[Run | Failed]]

    def __str__(self) -> str:
        last = self.number + len(self.items) - 1
        return f"item {last}" if last == self.number else f"items {self.number} to {last}"


class _Flight:
    """The chunks that are in flight, in order. It does not know who takes them, who may be garbage.

    Attributes:
        chunks: Replaced as a whole, by the one thread that takes; others may look.
        bell: Rings when a chunk is done, and when a wait may be in vain.
    """

    def __init__(self) -> None:
        self.chunks: tuple[Chunk, ...] = ()
        self.bell = StopFlag()

    def ring(self, _: object = None) -> None:
        self.bell.set()

    def cancel(self) -> None:
        for chunk in self.chunks:
            chunk.future.cancel()
        self.ring()


class MapAhead(Iterator[Any]):
    """A source for the batch functions; an iterator over the examples; a context manager that closes it.

    Threads of a loop over batches take blocks from it, and a loop that is left cancels what no worker has begun. An
    error of the function belongs to one item: asked again, the source goes on with the item behind it. After an error
    of the items themselves, or of the executor, every further call is a CancelledError with that error as its cause.

    Thread safety: every method may be called from every thread; each example is delivered once.
    """

    def __init__(
        self, function: Callable[[Any], Any], items: Iterator[Any], executor: Executor, chunksize: int, buffersize: int
    ) -> None:
        """Made by `map_ahead`."""
        self._function = function
        self._items: Iterator[Any] | None = items  # until they end
        self._executor = executor
        self._chunksize = chunksize
        self._buffersize = buffersize
        self._pulled: list[Any] = []  # items that are to be the next chunk
        self._count = 0  # of the items before them
        self._turn = threading.Lock()  # held by the one thread that takes
        self._flight = _Flight()
        self._runs: collections.deque[Run | Failed] = collections.deque()
        self._last: Exception | None = None  # what ended the items, to be raised when all before it is delivered
        self._told: Exception | None = None  # the same, once it was raised
        self._closed = False
        self.__qualname__ = getattr(function, "__qualname__", type(function).__qualname__)
        # At the end of the program it is the executor's to say what becomes of them.
        weakref.finalize(self, self._flight.cancel).atexit = False

    def __iter__(self) -> MapAhead:
        return self

    def __next__(self) -> Any:
        """Return the next example.

        Raises:
            StopIteration: The items are used up, or `close` was called.
            Exception: As `block`.
        """
        try:
            return self()
        except OutOfRangeError:
            raise StopIteration from None

    def __call__(self) -> Any:
        """Return the next example; raises what `block` raises."""
        return self.take(0, _never)

    def block(self, n: int) -> Any:
        """Return the next examples, at least 1 and at most `n`, waiting only for the first.

        Returns:
            A list with a column for each component, or a dict of them for dicts. A column is an array whose first
            dimension counts the examples, or a list of values that are not NumPy's.

        Raises:
            OutOfRangeError: The items are used up, or `close` was called.
            Exception: What the function raised for the item that is next; a note names the item, and the `__cause__`
                of what comes from a process has the traceback there. Or what the iterator of the items raised.
            AbortedError: A process of the executor died, or the executor was shut down.
            CancelledError: Such an error was raised before, which is its `__cause__`.
            ValueError: `n` is not above 0.
        """
        n = operator.index(n)
        if n < 1:
            raise ValueError(f"map_ahead: a block has at least 1 example, got n = {n}")
        return self.take(n, _never)

    def take(self, n: int, stopped: Callable[[], bool]) -> Any:
        """As `block`, or a single example for n = 0; OutOfRangeError if it has to wait and `stopped()`."""
        with self._turn:
            while self._closed or not self._runs:
                self._advance(stopped)
            run = self._runs.popleft()
            if isinstance(run, Failed):
                raise run.error
            block, rest = split(run, n or 1)
            if rest is not None:
                self._runs.appendleft(rest)
            return block if n else row(run, 0)

    def recall(self) -> None:
        """Cancel what no worker has begun; whoever asks for examples afterwards has it begun anew."""
        self._flight.cancel()

    def close(self) -> None:
        """End the input: cancel what no worker has begun, and drop what was not taken. Does not wait for workers."""
        self._closed = True
        self.recall()

    def __enter__(self) -> MapAhead:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _advance(self, stopped: Callable[[], bool]) -> None:
        """Get the results of the next chunk, if it comes to that; only the one thread that takes calls it."""
        if self._told is not None:
            raise CancelledError(None, None, f"map_ahead: ended before by {named(self._told)}") from self._told
        flight = self._flight
        self._check(stopped)
        self._fill()
        if not flight.chunks:
            if self._last is None:
                raise OutOfRangeError(None, None, "map_ahead: the items are used up")
            self._told = self._last
            raise self._told
        first = flight.chunks[0]
        while not first.future.done():
            flight.bell.clear()
            self._check(stopped)
            if not first.future.done():
                flight.bell.wait(LOOK)
        if not first.future.cancelled():
            self._receive(first, flight.chunks[1:])

    def _check(self, stopped: Callable[[], bool]) -> None:
        """Raise OutOfRangeError if nobody wants more examples."""
        if self._closed or stopped():
            self._flight.cancel()  # also what was added since others did that
            raise OutOfRangeError(None, None, "map_ahead: it was closed, or the loop that took its examples was left")

    def _fill(self) -> None:
        """Give the executor what it may have, but let no result wait for items that are not there yet."""
        flight = self._flight
        for i, chunk in enumerate(flight.chunks):
            if chunk.future.cancelled():
                again = self._submit(chunk.number, chunk.items)
                flight.chunks = flight.chunks[:i] + again + (flight.chunks[i + 1 :] if again else ())
                if not again:
                    return
        while len(flight.chunks) < self._buffersize and not (flight.chunks and flight.chunks[0].future.done()):
            items = self._pull()
            chunks = flight.chunks + self._submit(self._count, items) if items else flight.chunks
            if len(chunks) == len(flight.chunks):
                return
            count = self._count + len(items)
            # Without a call in between, after which Ctrl-C might come and some items be lost.
            flight.chunks, self._pulled, self._count = chunks, [], count

    def _pull(self) -> list[Any]:
        """The items of the next chunk; none at their end."""
        pulled = self._pulled
        try:
            while self._items is not None and len(pulled) < self._chunksize:
                pulled.append(next(self._items))
        except (StopIteration, OutOfRangeError):
            self._items = None
        except Exception as error:
            self._items, self._last = None, error
        return pulled

    def _submit(self, number: int, items: list[Any]) -> tuple[Chunk, ...]:
        """The chunk of these items; none if the executor does not take it, which ends the input."""
        try:
            future = self._executor.submit(handle, self._function, items)
        except RuntimeError as error:
            self._abort(f"the executor does not take item {number} and those behind it: {named(error)}", error)
            return ()
        future.add_done_callback(self._flight.ring)
        return (Chunk(number, items, future),)

    def _receive(self, chunk: Chunk, others: tuple[Chunk, ...]) -> None:
        """Keep the results of a chunk, or raise why it has none."""
        from concurrent.futures import BrokenExecutor

        flight, error = self._flight, chunk.future.exception()
        if error is None:
            runs, number = collections.deque[Run | Failed](), chunk.number
            for run in chunk.future.result():
                runs.append(run)
                if isinstance(run, Failed):
                    item = reprlib.repr(chunk.items[number - chunk.number])
                    _note(run.error, f"item {number}", f"map_ahead: item {number}, {item}")
                number += 1 if isinstance(run, Failed) else run.size
            flight.chunks, self._runs = others, runs  # with no call in between either
            return
        flight.chunks = others
        if isinstance(error, BrokenExecutor):
            flight.chunks = ()
            self._abort(f"the executor broke at {chunk}: {named(error)}\n{BROKEN}", error)
            return
        if not isinstance(error, Exception):  # not meant for this process: what interrupted a worker
            other = RuntimeError(f"map_ahead: a worker left {chunk} because of {named(error)}")
            other.__cause__, error = error, other
        _note(error, str(chunk), f"map_ahead: {chunk}")
        raise error

    def _abort(self, text: str, cause: BaseException) -> None:
        """End the input with an error, which is raised when what came before is delivered."""
        error = AbortedError(None, None, f"map_ahead: {text}")
        error.__cause__ = cause
        self._items, self._pulled, self._last = None, [], error


def _note(error: Exception, key: str, text: str) -> None:
    """Say in an error which item it is about, also in the message of a queue that it closes."""
    with contextlib.suppress(Exception):  # an error of the user's may have no room for it
        error.record_key = key  # type: ignore[attr-defined]
    if hasattr(error, "add_note"):
        error.add_note(text)


def _never() -> bool:
    return False
