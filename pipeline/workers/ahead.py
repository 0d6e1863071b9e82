"""MapAhead, the source that `map_ahead` returns: keeps an executor busy with chunks, returns their results in order."""

from __future__ import annotations

import itertools
import operator
import reprlib
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline._delivery import Steps
from pipeline.errors import AbortedError, CancelledError, FailedPreconditionError, OutOfRangeError, invalid
from pipeline.explain.live import mappings
from pipeline.explain.wording import named
from pipeline.on_error import ending, name_item
from pipeline.pulls import Book, in_use, this_thread
from pipeline.workers.chunks import Block, FailedItem, WorkerDied, example_at, split
from pipeline.workers.in_flight import BROKEN, Chunk, InFlight
from pipeline.workers.items import (
    CHECK_INTERVAL,
    Elements,
    LoopLeft,
    PlacedItems,
    is_sequence,
    item_note,
    items_of,
    note_taken,
)

if TYPE_CHECKING:
    from concurrent.futures import Executor  # 0.8 ms of import time, for users of an executor only


class Buffer(NamedTuple):
    """How much may be in flight.

    Attributes:
        workers: How many workers there are; each has something to do in any case.
        chunks_at_most: The most chunks.
        bytes_at_most: The most bytes of results, judging by the last ones.
    """

    workers: int
    chunks_at_most: int
    bytes_at_most: int

    def chunks(self, chunk_bytes: int | None) -> int:
        """How many chunks may be in flight if each has so many bytes; None: while that is not known."""
        enough = 2 * self.workers if chunk_bytes is None else self.bytes_at_most // max(1, chunk_bytes)
        return min(self.chunks_at_most, max(self.workers + 1, enough))


class MapAhead(Steps[Any], Iterator[Any]):
    """A source for the batch functions; also an iterator over the examples, and a context manager that closes it.

    The threads of a loop over batches take blocks from it. A loop that ends cancels the chunks that no worker has
    begun. An error of the function concerns one item: the next call goes on with the item after it. After an error of
    the items themselves, or of the executor, further calls raise a CancelledError with that error as its `__cause__`.

    Attributes:
        owner: The book of the deterministic loop that takes examples; then nobody else may.
        last_ids: The number of the first item that was delivered last, and how many they were.

    Thread safety: you may call every method from every thread; each example is delivered once.
    """

    name = "map_ahead"
    columns: Sequence[str] = ("item",)

    def __init__(
        self, function: Callable[[Any], Any], items: Any, executor: Executor, chunksize: int, buffer: Buffer
    ) -> None:
        """Use `map_ahead`, which checks the arguments."""
        self.owner: Book | None = None
        self.of_loop = False  # which made it of `function=`
        self.last_ids: tuple[int, int] | None = None
        self._function = function
        self._items: Iterator[Any] | None = items_of(items)  # None once they have ended
        self._sequence: Any = items if is_sequence(items) else None
        self._placed = items if isinstance(items, PlacedItems) else None
        if self._placed is not None:
            self.columns = ("item", *self._placed.source.columns)
        self._seeds: tuple[int, int] | None = None
        self._picked: list[int] | None = None  # the numbers of `_next_items`, if they are not in order
        self._delivered = 0  # items that were delivered, or failed
        self._executor = executor
        self._chunksize = chunksize
        self._buffer = buffer
        self._chunk_bytes: int | None = None  # of the last results
        self._next_items: list[Any] = []  # the items of the next chunk, as far as pulled
        self._next_number = 0  # of the first of them
        self._taking = threading.Lock()  # held by the one thread that takes examples
        self._in_flight = InFlight(executor, function)
        self._results: list[Block | FailedItem] = []  # the next one last
        self._final_error: Exception | None = None  # what ended the items; raised when all before it is delivered
        self._raised: Exception | None = None  # the same error, once it was raised
        self._closed = False
        self.__qualname__ = getattr(function, "__qualname__", type(function).__qualname__)
        # At exit, the executor decides what happens to its chunks.
        weakref.finalize(self, self._in_flight.cancel).atexit = False
        mappings.add(self)

    def __iter__(self) -> MapAhead:
        return self

    def _next(self) -> Any:
        """The next example, for `next`; StopIteration if the items are used up, or `close` was called."""
        try:
            return self()
        except OutOfRangeError:
            raise StopIteration from None

    def __call__(self) -> Any:
        """Return the next example; raises what `block` raises."""
        return self.take(0, _never)

    def block(self, n: int) -> Any:
        """Return the next examples: at least 1, at most `n`. It waits only for the first.

        Returns:
            A block: a list of the components, or a dict for dicts. A component is an array whose first dimension counts
            the examples, or a list of values that are not NumPy's.

        Raises:
            OutOfRangeError: The items are used up, or `close` was called.
            Exception: What the function raised for the next item; a note names the item, and if it comes from another
                process, its `__cause__` shows the traceback there. Or what the iterator of the items raised.
            AbortedError: A process of the executor died, or the executor was shut down.
            CancelledError: An earlier call raised an error that ended the input; it is the `__cause__`.
            ValueError: `n` is less than 1.
        """
        if (n := operator.index(n)) < 1:
            raise ValueError(f"map_ahead: a block has at least 1 example, got n = {n}")
        return self.take(n, _never)

    def take(self, n: int, stopped: Callable[[], bool], kept: list[Any] | None = None) -> Any:
        """As `block`, or a single example for n = 0. OutOfRangeError instead of a wait while `stopped()` is true. What
        is taken is put into `kept` at that moment: before it has been returned, Ctrl-C may strike."""
        if (turn := this_thread.turn) is not None:
            with turn.pulling(self, n):
                return self._take(n, stopped)
        if self.owner is not None:
            raise in_use(self)
        return self._take(n, stopped, kept)

    def _take(self, n: int, stopped: Callable[[], bool], kept: list[Any] | None = None) -> Any:
        with self._taking:
            while self._closed or not self._results:
                self._advance(stopped)
            results, first, kept = self._results, self._delivered, [] if kept is None else kept
            result = results[-1]
            if isinstance(result, FailedItem):
                results[-1:], self._delivered, self.last_ids = (), first + 1, None
                raise result.error
            count = min(result.size, n or 1)
            if self._picked is None:
                note_taken(range(first, first + count), self._placed)
            examples, rest = split(result, n or 1)
            if not n:
                examples = example_at(result, 0)
            left = () if rest is None else (rest,)
            # In one statement without a call: Ctrl-C in between would lose the rest.
            results[-1:], kept[:], self._delivered, self.last_ids = left, (examples,), first + count, (first, count)
            return examples

    @property
    def inner(self) -> Any:
        """What its items come from, if that knows its place; else None."""
        return None if self._placed is None else self._placed.source

    def recall(self) -> None:
        """Cancel the chunks that no worker has begun; a later call for examples submits them again."""
        self._in_flight.cancel()

    def close(self) -> None:
        """End the input: cancel the chunks that no worker has begun and drop the results. Does not wait for workers."""
        self._closed = True
        self.recall()

    def _after_fork(self) -> None:
        """In the child of a fork: whoever held the lock or had the chunks is not there. They are submitted again."""
        self._taking = threading.Lock()
        in_flight = self._in_flight
        in_flight.chunks = tuple(again for each in in_flight.chunks for again in in_flight.again(each, 0, None))

    def __enter__(self) -> MapAhead:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _advance(self, stopped: Callable[[], bool]) -> None:
        """Wait for the next chunk and receive its results. The caller holds `_taking`."""
        if self._raised is not None:
            raise CancelledError(None, None, f"map_ahead: already ended by {named(self._raised)}") from self._raised
        in_flight = self._in_flight
        self._check(stopped)
        self._fill(stopped)
        self._check(stopped)  # what was submitted after the loop ended has set threads to work again
        if not in_flight.chunks:
            if self._final_error is None:
                raise OutOfRangeError(None, None, "map_ahead: the items are used up")
            self._raised = self._final_error
            raise self._raised
        first = in_flight.chunks[0]
        while not first.future.done():
            in_flight.bell.clear()
            self._check(stopped)
            if not first.future.done():
                in_flight.bell.wait(CHECK_INTERVAL)
        if not first.future.cancelled():
            self._receive(first, in_flight.chunks[1:])

    def _check(self, stopped: Callable[[], bool]) -> None:
        """Raise OutOfRangeError if the source is closed or the loop that reads it has ended."""
        if self._closed or stopped():
            self._in_flight.cancel()  # including chunks submitted since the last cancel
            raise OutOfRangeError(None, None, "map_ahead: it was closed, or the loop that reads it has ended")

    def _fill(self, stopped: Callable[[], bool]) -> None:
        """Submit chunks until there are enough in flight, or a result is ready: it must not wait for slow items."""
        in_flight = self._in_flight
        for i, chunk in enumerate(in_flight.chunks):
            if chunk.future.cancelled():
                again = self._submit(chunk.numbers, chunk.items)
                in_flight.chunks = in_flight.chunks[:i] + again + (in_flight.chunks[i + 1 :] if again else ())
                if not again:
                    return
        most = self._buffer.chunks(self._chunk_bytes)
        while len(in_flight.chunks) < most and not (in_flight.chunks and in_flight.chunks[0].future.done()):
            items = self._pull_items(stopped)
            count = self._next_number + len(items)
            numbers = range(self._next_number, count) if self._picked is None else self._picked[-len(items) :]
            chunks = in_flight.chunks + self._submit(numbers, items) if items else in_flight.chunks
            if len(chunks) == len(in_flight.chunks):
                return
            # In one statement without a call: Ctrl-C in between would lose items.
            in_flight.chunks, self._next_items, self._next_number = chunks, [], count
            if self._picked is not None:
                self._picked.clear()

    def _pull_items(self, stopped: Callable[[], bool]) -> list[Any]:
        """Return the items of the next chunk; an empty list at their end."""
        pulled = self._next_items
        if isinstance(self._items, Elements):
            self._items.stopped = lambda: self._closed or stopped()
        try:
            if self._items is not None:
                pulled.extend(itertools.islice(self._items, self._chunksize - len(pulled)))  # Ctrl-C loses none
                if len(pulled) < self._chunksize:
                    self._items = None
        except (StopIteration, OutOfRangeError):
            self._items = None
        except LoopLeft:
            self._check(stopped)
        except Exception as error:
            ending(error)
            self._items, self._final_error = None, error
        return pulled

    def _submit(self, numbers: Sequence[int], items: list[Any]) -> tuple[Chunk, ...]:
        """Submit a chunk of these items; return it, or nothing if the executor rejects it, which ends the input."""
        try:
            return (self._in_flight.submit(numbers, items, self._seeds),)
        except RuntimeError as error:
            self._abort(f"the executor rejected item {numbers[0]} and those after it: {named(error)}", error)
            return ()

    def _receive(self, chunk: Chunk, others: tuple[Chunk, ...]) -> None:
        """Keep the results of a chunk. Of one that failed as a whole the items are made again, each alone."""
        from concurrent.futures import BrokenExecutor  # loaded by now: the user has an executor

        in_flight, error = self._in_flight, chunk.future.exception()
        if self._placed is not None:
            self._placed.forget(self._delivered)
        if error is None:
            made, at = chunk.future.result(), 0
            for result in made:
                if isinstance(result, FailedItem):
                    self._name_item(result.error, chunk.numbers[at], chunk.items[at])
                at += 1 if isinstance(result, FailedItem) else result.size
            self._chunk_bytes = sum(each.bytes for each in made if isinstance(each, Block))
            in_flight.chunks, self._results = others, made[::-1]  # without a call in between, as in _fill
            made.clear()  # who made it may still hold it: a queue copies arrays that somebody else has, too
            return
        if isinstance(error, BrokenExecutor):
            hint = "" if hasattr(self._executor, "rest") else f"\n{BROKEN}"  # ours says what it was
            self._abort(f"the executor broke at {chunk}: {named(error)}{hint}", error)
            in_flight.chunks = ()
            return
        known = isinstance(error, WorkerDied) and error.index is not None
        if len(chunk.items) > 1 and not known:  # such as a result that cannot be sent, of one item
            in_flight.chunks = in_flight.alone(chunk) + others
            return
        if isinstance(error, WorkerDied):
            self._bury(chunk, others, error)
            return
        if not isinstance(error, Exception):  # SystemExit or KeyboardInterrupt in a worker must not end this process
            other = RuntimeError(f"map_ahead: a worker abandoned {chunk} because of {named(error)}")
            other.__cause__, error = error, other
        self._name_item(error, chunk.numbers[0], chunk.items[0])
        in_flight.chunks, self._delivered = others, self._delivered + 1
        raise error

    def _bury(self, chunk: Chunk, others: tuple[Chunk, ...], error: WorkerDied) -> None:
        """Go on after a worker died: the item that it was at has failed, and the chunk's others are made again."""
        again = self._in_flight.again
        index = min(error.index or 0, len(chunk.items) - 1)
        ((numbers, items, future),) = again(chunk, index, index + 1)
        name = self._name_of(numbers[0]) or reprlib.repr(items[0])
        failed = AbortedError(None, None, f"map_ahead: a worker process {error.how} at item {numbers[0]}, {name}")
        done = type(future)()
        done.set_result([FailedItem(failed)])
        failed_chunk = (Chunk(numbers, items, done),)
        self._in_flight.chunks = again(chunk, 0, index) + failed_chunk + again(chunk, index + 1, None) + others

    def _name_item(self, error: Exception, number: int, item: Any) -> None:
        """Name the item that an error is about."""
        name = self._name_of(number)
        name_item(error, name or f"item {number}", item_note(self._function, number, name or reprlib.repr(item)))

    def _name_of(self, number: int) -> str | None:
        """What an item is called, if it has a name."""
        return None if self._placed is None else self._placed.name(number)

    def _abort(self, text: str, cause: BaseException) -> None:
        """End the input with an error; it is raised after everything before it is delivered."""
        error = AbortedError(None, None, f"map_ahead: {text}")
        error.__cause__ = cause
        ending(error)
        self._items, self._next_items, self._final_error = None, [], error

    # A Positioned. Whoever calls it sees to it that nobody takes meanwhile.

    def _facts(self) -> dict[str, Any]:
        own = {"name": self.name, "kind": "map_ahead"}
        if self._placed is not None:
            facts = self._placed.source._facts()
            return {**facts, "items": facts["kind"], **own}
        return {**own, "rows": self._total()}

    def _files(self) -> dict[str, Any]:
        return getattr(self.inner, "_files", dict)()

    def _remember_files(self, files: Any) -> Any:
        return getattr(self.inner, "_remember_files", lambda _: None)(files)

    def _reseed(self, seeds: Any) -> bool:
        return self._placed is not None and bool(self._placed.source._reseed(seeds))

    def _position(self) -> list[Any]:
        place = [] if self._placed is None else self._placed.place(self._delivered)
        return [self._delivered, *place]

    def _go_to(self, position: Sequence[Any]) -> None:
        reason = self._no_state()
        if reason is not None:
            raise FailedPreconditionError(None, None, f"map_ahead cannot go to an item: {reason}")
        (number, *place), sequence, placed = position, self._sequence, self._placed
        if placed is None and not 0 <= number <= len(sequence):
            raise invalid(f"map_ahead has no item {number:,} to go to: there are {len(sequence):,}")
        with self._taking:
            self._in_flight.cancel()
            self._in_flight.chunks = ()
            self._results.clear()
            self._next_items, self._next_number, self._delivered = [], number, number
            if placed is None:
                self._items = map(sequence.__getitem__, range(number, len(sequence)))
            else:
                placed.go_to(number, place)
                self._items = placed
            self._final_error = self._raised = None

    def _skip(self, count: int, n: int = 0) -> None:
        """Drop what `count` pulls of up to `n` examples give. Single examples are not made."""
        if n <= 1 and self._sequence is not None:
            if self._delivered + count > len(self._sequence):
                raise OutOfRangeError(None, None, "map_ahead: the items are used up")
            self._go_to([self._delivered + count])
            return
        if n <= 1 and self._placed is not None:
            self._go_to(self._position())
            self._placed.skip(count)
            self._delivered = self._next_number = self._delivered + count
            return
        for _ in range(count):
            try:
                self._take(n, _never)
            except OutOfRangeError:
                raise
            except Exception:
                if self._raised is not None:  # it has ended; else an item failed, which is a pull too
                    raise

    def _no_state(self) -> str | None:
        if self._placed is not None:
            reason: str | None = self._placed.source._no_state()
            return reason
        return "the items of map_ahead are an iterator, not a sequence" if self._sequence is None else None

    # For reports.

    def progress(self) -> tuple[int, int | None]:
        """Return how many items were delivered, and how many there are; None if nobody can say."""
        return self._delivered, self._total()

    def workers(self) -> list[int]:
        """Return the native numbers of the threads of the executor, or the numbers of its processes."""
        executor: Any = self._executor
        if hasattr(executor, "numbers"):
            return list(executor.numbers())
        if hasattr(executor, "_processes"):
            return list(executor._processes or ())
        return [each.native_id for each in tuple(getattr(executor, "_threads", ())) if each.native_id is not None]

    def settings(self) -> dict[str, Any]:
        """Return what it was made with, the workers of the executor included."""
        return {
            "workers": getattr(self._executor, "_max_workers", None),
            "processes": hasattr(self._executor, "_processes"),
            "made_by": getattr(self._executor, "made_by", type(self._executor).__name__),
            "chunksize": self._chunksize,
            "buffersize": self._buffer.chunks_at_most,
            **({"remote": self._executor.seen()} if hasattr(self._executor, "seen") else {}),
        }

    # For deterministic loops.

    def _total(self) -> int | None:
        """The number of items of a sequence; None of others."""
        return None if self._sequence is None else len(self._sequence)

    def _seeded(self, seed: int, seed2: int) -> None:
        """Let `example_rng` work in the function: by these seeds and the number of the item."""
        self._seeds = seed, seed2
        if self._no_state() is None:
            self._go_to(self._position())  # what is under way was begun without them

    def _over(self, numbers: Iterable[int]) -> MapAhead:
        """Return a MapAhead like this one, over the items of these numbers, in this order."""
        sequence, picked = self._sequence, list[int]()

        def pick(number: int) -> Any:
            item = sequence[number]
            picked.append(number)
            return item

        other = MapAhead(self._function, map(pick, numbers), self._executor, self._chunksize, self._buffer)
        other._seeds, other._picked = self._seeds, picked
        self._in_flight.cancel()
        self._in_flight.chunks = ()
        other._in_flight = self._in_flight  # so that `recall` cancels its chunks too
        return other


def _never() -> bool:
    return False
