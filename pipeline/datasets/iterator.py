"""DatasetIterator: one pass over a dataset. It hands out elements, saves and loads states, and ends cleanly."""

from __future__ import annotations

import copy
import os
import threading
import time
import weakref
from _thread import get_ident
from collections import deque
from collections.abc import Callable, Collection
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeVar

from pipeline import hooks, spans
from pipeline.datasets.parts import facts_of_parts
from pipeline.diagnostics.frames import tell
from pipeline.diagnostics.live import LoopFacts, LoopTimes, ended, loops
from pipeline.dtypes import integer, seconds
from pipeline.errors import CancelledError, DeadlineExceededError, FailedPreconditionError, OutOfRangeError, OpError, invalid
from pipeline.logs import logger
from pipeline.nest import refuse_missing_in
from pipeline.stages.block import handed_out
from pipeline.stages.checksum import Sum, batches_after
from pipeline.stages.draws import this_thread
from pipeline.stages.node import Node, measured, name_of_recipe, note_written, opened
from pipeline.stages.run import Run, Stops
from pipeline.stages.selection import arranged
from pipeline.stages.stream import Stream
from pipeline.tracebacks import from_handler, show_users

if TYPE_CHECKING:
    from concurrent.futures import Future

    from pipeline.monitoring.report import Report
    from pipeline.workers.threads import Threads

_log = logger("pipeline.batches")

_AGAIN = "iter(dataset) gives another one, and `for e in range(3): for batch in dataset.epoch(e)` three passes"
_SMALLER = "To get them too, leave out drop_remainder=True, or pass allow_smaller_final_batch=True"

T_co = TypeVar("T_co", covariant=True)

# How many elements ago a state can be of.
BEHIND = 64

# Seconds between two looks of a wait.
_LOOK = 1.0

_END: Any = object()


class Record(NamedTuple):
    """What was handed out.

    Attributes:
        batches: How many elements, which are batches after `batch`.
        examples: How many examples these consist of.
        value: The sum of their bytes, if there is a checksum.
        state: The state of the stream after them.
    """

    batches: int
    examples: int
    value: int
    state: Any


class DatasetIterator(Generic[T_co]):
    """Your dataset's elements, once: an iterator, and a context manager that ends its threads.

    An ended iterator stays ended. `iter(dataset)` gives another one, with the same order under a seed, and
    `dataset.epoch(i)` the order of pass i.

    After Ctrl-C, or an exception of a signal handler, the next call continues after the last element. If it strikes in
    the instant an element is handed over, that element may count as yours although you did not get it.

    Thread safety: your threads may share an iterator; each element goes to one thread.

    Attributes:
        grace: Seconds that `close` waits for another thread's `next`, and for threads to end; 10 by default.

    Examples:
        >>> squares = pipeline.dataset(range(5)).map(lambda number: number**2)
        >>> with iter(squares) as numbers:
        ...     first, state = next(numbers), numbers.state_dict()
        >>> resumed = iter(squares)
        >>> resumed.load_state_dict(state)
        >>> list(resumed)
        [1, 4, 9, 16]
    """

    grace = 10.0

    def __init__(self, node: Node, epoch: int, name: str | None = None, stops: Stops | None = None) -> None:
        """Use `iter(dataset)`.

        Args:
            node: The recipe.
            epoch: Which pass.
            name: What reports call it; None for the name of its source.
            stops: A Coordinator of the user's, which ends the iterator when it stops, and hears of its errors.
        """
        self._node, self._arranged, self._epoch = node, arranged(node), epoch
        self._lock = threading.RLock()  # held in `next`
        self._owner: int | None = None  # the thread that holds it
        self._name = name or name_of_recipe(node)
        self._measured = measured(node)
        self._run = self._new_run(stops)
        self._stream: Stream | None = None
        self._release: Any = None  # closes the stream when nobody refers to this any more
        self._batched = batches_after(node)
        self._sum = None if self._batched is None else Sum(self._batched)
        self._records: deque[Record] = deque(maxlen=BEHIND + 1)
        self._loaded: dict[str, Any] | None = None  # the state that was loaded, until the stream is open
        self._waiting = False  # whether a thread waits for the stream, in which nothing is lost
        self._lost: str | None = None  # why the iterator cannot continue after an interrupt
        self._over = False
        self._closer: int | None = None  # the thread that called `close`
        self._forked = False
        self._coord: Any = None  # of the queue runners that were started for it
        self._times, self._waited = LoopTimes(), 0.0
        self._threads: Threads | None = None  # for `async for`
        self._left: deque[Future[Any]] = deque()  # what tasks waited for that were cancelled
        loops.add(self)

    def _new_run(self, stops: Stops | None) -> Run:
        run = Run(self._name, self._measured, stops)
        run.epoch = self._epoch
        run.hook = _Starting(weakref.ref(self))
        return run

    def __iter__(self) -> DatasetIterator[T_co]:
        if self._ended:
            state = "is closed" if self._closed else "has ended"
            tell(_log, f"{self._name}: this iterator {state}, and gives nothing more: {_AGAIN}")
        return self

    def __next__(self) -> T_co:
        """Return the next element.

        Raises:
            StopIteration: The epoch is over.
            CancelledError: Another thread has closed the iterator.
            Exception: What your function raised. The iterator has ended then.
        """
        try:
            found = self._next(None)
        except Exception as error:
            show_users(error)
            raise
        if found is _END:
            raise StopIteration
        return found  # type: ignore[no-any-return]

    def next(self, timeout: float | None = None) -> T_co:
        """Return the next element.

        Args:
            timeout: Seconds to wait; None for no limit. It needs a thread that prepares elements: end the dataset with
                `.prefetch(1)`. A dataset of a queue has one.

        Raises:
            StopIteration: The epoch is over.
            DeadlineExceededError: The time is up. Nothing is lost: call again.
            FailedPreconditionError: The dataset makes elements in your own thread.
            Exception: What your function raised. The iterator has ended then.
        """
        left = None if timeout is None else seconds(timeout, "next: timeout")
        if left is not None and left < 0:
            raise invalid(f"next: timeout must be at least 0 seconds, got {timeout!r:.80}")
        try:
            found = self._next(left)
        except Exception as error:
            show_users(error)
            raise
        if found is _END:
            raise StopIteration
        return found  # type: ignore[no-any-return]

    def _next(self, timeout: float | None) -> Any:
        """Return the next element; _END at the end."""
        if spans.on:
            began, taken = spans.begin(spans.NEXT_BEGINS, self._name), False
            try:
                found = self._taken(timeout)
                taken = found is not _END
                return found
            finally:
                spans.end(spans.NEXT_ENDS, began, taken)
        return self._taken(timeout)

    def _taken(self, timeout: float | None) -> Any:
        self._not_within("next")
        if self._left:
            return self._left.popleft().result()
        with self._lock:
            if self._ended:
                return self._after_the_end()
            self._owner, began = get_ident(), time.perf_counter()
            outer = hooks.loop_of_thread.coord
            try:
                stream = self._stream or self._open()
                hooks.loop_of_thread.coord = self._coord
                if timeout is not None or self._arranged.waits:
                    self._wait(stream, timeout)
                block = stream.take(1)
                self._run.clock.check()
                if block is None:
                    self._finish()
                    return _END
                element = handed_out(block.values.first())
                refuse_missing_in(element, "an example")
                last = self._records[-1]
                size = 1 if block.sizes is None else int(block.sizes[0])
                if self._sum is not None:
                    self._sum.add(element)
                value = 0 if self._sum is None else self._sum.value
                if self._times.first_at is None:
                    self._times.first_at = time.monotonic()
                self._records.append(Record(last.batches + 1, last.examples + size, value, stream.state()))
                return element
            except DeadlineExceededError as error:
                if not self._waiting:
                    self._end_by(error)
                raise
            except Exception as error:
                if from_handler(error):
                    self._interrupted()
                    raise
                raise self._end_by(error) from error.__cause__
            except BaseException:
                self._interrupted()
                raise
            finally:
                hooks.loop_of_thread.coord = outer
                self._waited += time.perf_counter() - began
                self._waiting, self._owner = False, None

    def _wait(self, stream: Stream, timeout: float | None) -> None:
        """Wait for the next element. Whatever strikes here, nothing is lost."""
        self._waiting = True
        if timeout is None:
            while not stream.wait(_LOOK):
                self._run.clock.check()
        elif not stream.wait(timeout):
            self._run.clock.check()
            text = f"{self._name}: no element within the timeout; nothing was lost"
            raise DeadlineExceededError(None, None, text)
        self._waiting = False

    def _not_within(self, what: str) -> None:
        """Refuse a call of a function that `next` calls: it would wait for itself."""
        if self._owner == get_ident() or (this_thread.serving is not None and this_thread.serving is self._run.clock):
            raise FailedPreconditionError(None, None, f"{what} was called within next of the same iterator")

    def _after_the_end(self) -> Any:
        """Return _END once the pass is over; raise CancelledError where another thread has closed the iterator."""
        if self._closed and not self._over and self._closer != get_ident():
            raise CancelledError(None, None, f"{self._name}: the iterator was closed by another thread")
        return _END

    def _open(self) -> Stream:
        """Open the stream after the last element."""
        if self._forked:
            text = (
                f"{self._name}: this iterator was opened before os.fork(), and runs only in the process that opened it. "
                "Make a new one here; load_state_dict with the state of this one continues it"
            )
            raise FailedPreconditionError(None, None, text)
        if self._lost is not None:
            text = f"the iterator was interrupted, and cannot continue: {self._lost}. Make a new one"
            raise FailedPreconditionError(None, None, text)
        last = self._records[-1] if self._records else None
        self._times.begin()
        if self._loaded is None:
            stream = opened(self._arranged, self._run, None if last is None else last.state)
        else:
            stream = self._at_loaded(self._loaded)
        self._stream, self._loaded = stream, None
        self._release = weakref.finalize(self, _let_go, self._run.clock.stop, stream)
        if last is None:
            self._records.append(Record(0, 0, 0, stream.state()))
        return stream

    def _at_loaded(self, state: dict[str, Any]) -> Stream:
        """Open the stream at a state that was loaded."""
        self._run.files.saved = state["files"]
        try:
            return opened(self._arranged, self._run, copy.deepcopy(state["state"]))
        except OpError:
            raise
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, MemoryError) as error:
            text = f"load_state_dict: the state does not fit this recipe: {type(error).__name__}: {error}"
            raise invalid(text) from error

    def _interrupted(self) -> None:
        """Ctrl-C, or a signal handler, has struck: the next call opens the stream again, unless it struck in a wait."""
        if self._waiting:
            return
        if self._stream is not None and self._loaded is None:
            reason = self._node.no_state() or (_unknown_in(self._records[-1].state) if self._records else None)
            self._lost = reason
        self._close_stream()
        self._run = self._run.again()

    def _finish(self) -> None:
        """The pass is over."""
        self._over = True
        self._times.end()
        ended.note(self)
        self._close_stream()
        self._join()
        self._tell_dropped()

    def _end_by(self, error: Exception) -> Exception:
        """End by an error; return the one to raise."""
        if isinstance(error, (StopIteration, OutOfRangeError)):  # it would look like the end
            other = RuntimeError(f"{self._name}: a function of the input raised {type(error).__name__}")
            other.__cause__, error = error, other
        stops = self._run.clock.stops_with
        cancelled = isinstance(error, CancelledError)
        if not cancelled or not self._closed:
            self._over = True
        note_written(self._node, error)
        self._times.end()
        ended.note(self)
        self._close_stream()
        if stops is not None and not (cancelled and stops.should_stop()):
            stops.request_stop(error)
        return error

    def _close_stream(self) -> None:
        release, self._release, self._stream = self._release, None, None
        if release is not None:
            release()

    def _join(self) -> None:
        """Wait for the queue runners that were started for this; raise what one of them has raised."""
        coord, self._coord = self._coord, None
        if coord is not None and coord is not self._run.clock.stops_with:
            coord.request_stop()
            coord.join(stop_grace_period_secs=self.grace)

    def _tell_dropped(self) -> None:
        """Tell of examples at the end that were dropped: visibly where there was no batch at all."""
        dropped = self.num_dropped
        if not dropped:
            return
        batches, examples = self.delivered
        text = f"the last {dropped:,} of {examples + dropped:,} examples fill no batch and are dropped. {_SMALLER}"
        if batches:
            _log.info("%s: %s", self._name, text)
        else:
            tell(_log, f"{self._name}: {text}")

    async def __anext__(self) -> T_co:
        """Return the next element; a thread waits for it. If the awaiting task is cancelled, it comes next."""
        import asyncio  # 15 ms, which programs without it need not wait for

        from pipeline.workers.threads import Threads

        if self._threads is None:
            self._threads = Threads(1, abandons=True)
        future = self._left.popleft() if self._left else self._threads.submit(self._fetched)
        try:
            found = await asyncio.shield(asyncio.wrap_future(future))
        except asyncio.CancelledError:
            self._left.append(future)
            raise
        if found is _END:
            raise StopAsyncIteration
        return found  # type: ignore[no-any-return]

    def _fetched(self) -> Any:
        left, self._left = self._left, deque()  # else `_next` would wait for this call itself
        try:
            return self._next(None)
        finally:
            self._left = left

    def __aiter__(self) -> DatasetIterator[T_co]:
        return self

    def start(self) -> None:
        """Open the input now, not with the first `next`. A `prefetch` at the end begins to work.

        Workers of `map` alone begin with the first `next`: end the dataset with `.prefetch(n)` to begin now.
        """
        self._not_within("start")
        with self._lock:
            if not self._ended:
                (self._stream or self._open()).begin()

    def close(self) -> None:
        """End the threads and close the files; does nothing the second time.

        Your own loop has then come to its end. Those of other threads get a CancelledError. A function of the dataset,
        or a signal handler within `next`, may call it too: the files are closed when `next` returns.

        Raises:
            RuntimeError: Another thread is in `next`, and does not come out within `grace` seconds.
        """
        self._closer = get_ident()
        if self._times.begun_at is not None:
            self._times.end()
        self._run.clock.stop()
        serving = this_thread.serving
        if self._owner == get_ident() or (serving is not None and serving is self._run.clock):
            return
        if not self._lock.acquire(timeout=self.grace):
            raise RuntimeError(f"close: a thread is still in next after {self.grace:g} seconds")
        try:
            self._close_stream()
            if self._threads is not None:
                self._threads.shutdown(wait=False)
            self._join()
        finally:
            self._lock.release()

    def __enter__(self) -> DatasetIterator[T_co]:
        if self._closed:
            raise FailedPreconditionError(None, None, "this iterator is closed: make a new one with iter(dataset)")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def state_dict(self, *, behind: int = 0) -> dict[str, Any]:
        """Return the state after the last element you got: plain data, a few kilobytes as JSON.

        Save it together with your model, in one file; see `save_state`.

        Args:
            behind: Go back this many elements, at most 64: for batches you hold back, as in a device prefetch.

        Raises:
            FailedPreconditionError: A source cannot be rewound; the message names it.
            TypeError, ValueError: `behind` is not an integer, or there were fewer elements.

        Thread safety: you may call it from any thread.
        """
        behind = integer(behind, "state_dict: behind")
        loaded = self._loaded  # another thread may open the stream meanwhile
        if loaded is not None and not behind:
            return copy.deepcopy(loaded)
        reason = self._node.no_state()
        if reason is not None:
            raise FailedPreconditionError(None, None, reason)
        if not self._records:
            self._not_within("state_dict")
            with self._lock:
                if not self._records:
                    self._open()
        records = list(self._records)
        if not 0 <= behind < len(records):
            raise invalid(f"state_dict: behind must be 0 to {min(BEHIND, len(records) - 1)} here, got {behind}")
        record = records[-1 - behind]
        reason = _unknown_in(record.state)
        if reason is not None:
            raise FailedPreconditionError(None, None, reason)
        from pipeline.datasets.state import state_of  # with json: 2 ms, for programs that save states

        return state_of(self._node, self._run, record, self._sum is not None)

    def load_state_dict(self, state: dict[str, Any], *, allow: Collection[str] = ()) -> None:
        """Continue from a state: the next element is the one you would have got next when you saved it.

        Your dataset must have the same recipe, except for workers and prefetch.

        Args:
            state: What `state_dict` returned, in this process or another.
            allow: Differences to accept: "batch_size", "num_epochs", "shard", "mtime".

        Raises:
            StateMismatchError: Another dataset, or other files. Nothing has changed.
            InvalidArgumentError, TypeError: It is not a state, or is damaged.
            FailedPreconditionError: The iterator has given an element, or is closed.
        """
        from pipeline.datasets.state import loaded_state  # as in `state_dict`

        self._not_within("load_state_dict")
        with self._lock:
            if self._ended or (self._loaded is None and len(self._records) > 1) or (self._records and self._begun_late):
                text = "load_state_dict: this iterator has begun. Load a state before the first element"
                raise FailedPreconditionError(None, None, text)
            found = loaded_state(state, self._node, self._epoch, allow)
            self._close_stream()
            self._run = self._new_run(self._run.clock.stops_with)
            delivered = found["delivered"]
            value = int((found["fingerprint"] or "-0").partition("-")[2], 16)
            record = Record(delivered["batches"], delivered["elements"], value, found["state"])
            if self._batched is not None:
                self._sum = Sum(self._batched, value)
            self._loaded, self._records = found, deque([record], maxlen=BEHIND + 1)

    @property
    def _begun_late(self) -> bool:
        """Whether elements were handed out since the stream was opened."""
        return self._loaded is None and self._times.first_at is not None

    def fingerprint(self) -> str:
        """Return a short text for the bytes of all examples delivered so far: "<how many>-<16 hex digits>".

        It is the same for every number of workers, every batch size, and in runs that were resumed, if the examples and
        their order are. The dataset needs `.checksum()`.

        Raises:
            FailedPreconditionError: There is no `checksum` in the recipe.
        """
        if self._sum is None:
            text = "fingerprint: the dataset has no checksum: add .checksum() before the last batch"
            raise FailedPreconditionError(None, None, text)
        last = self._last()
        return f"{last.examples}-{last.value:016x}"

    @property
    def epoch(self) -> int:
        """Which pass it is, from 0."""
        return self._epoch

    @property
    def _begun(self) -> bool:
        """Whether it has opened its input, or gives nothing any more."""
        return self._stream is not None or self._ended

    @property
    def _closed(self) -> bool:
        return self._closer is not None

    @property
    def _ended(self) -> bool:
        """Whether it gives no element any more."""
        return self._over or self._closed

    def _last(self) -> Record:
        records = self._records
        return records[-1] if records else Record(0, 0, 0, None)

    @property
    def delivered(self) -> tuple[int, int]:
        """How many elements `next` has returned, and how many examples these consist of, in earlier runs too."""
        last = self._last()
        return last.batches, last.examples

    @property
    def num_dropped(self) -> int:
        """How many examples of a remainder were dropped."""
        return self._run.dropped

    @property
    def errors(self) -> list[Exception]:
        """The first hundred errors that were skipped."""
        return list(self._run.skipped.errors)

    @property
    def num_errors(self) -> int:
        """How many examples were skipped because of an error."""
        return self._run.skipped.count

    def report(self) -> Report:
        """Report what each step of your dataset does, which one is the bottleneck, and what to change.

        `print(iterator.report())` shows a table. Within `with pipeline.monitor():` it also knows who computes and who
        waits. docs/monitoring.md explains it.

        Thread safety: you may call it from any thread, at any time.
        """
        from pipeline.monitoring.sampler import report  # dataclasses and the tables, for those who look

        return report(self)

    def _facts(self) -> LoopFacts:
        return LoopFacts(
            self._name,
            self._state(),
            self.num_errors,
            self.num_dropped,
            self._times,
            facts_of_parts(self._node, self._measured),
            (max(0, self._last().batches), self._waited),
        )

    def _after_fork(self) -> None:
        """In the child of a fork: the threads of the parent are not there."""
        self._lock, self._owner = threading.RLock(), None
        if self._stream is not None:
            if self._release is not None:
                self._release.detach()
            self._stream, self._release, self._forked = None, None, True

    def _state(self) -> str:
        if self._ended:
            return "closed" if self._closed else "ended"
        return "running" if self._stream else "not started"

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    def __repr__(self) -> str:
        return f"<DatasetIterator of {self._node.kind}: {self._state()}, {self.delivered[0]:,} delivered>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            "a DatasetIterator cannot be pickled: pickle the dataset, and pass the state_dict() of this to "
            "load_state_dict of an iterator there"
        )


class _Starting:
    """Starts the queue runners that a source of an iterator may need. It does not keep the iterator alive."""

    def __init__(self, iterator: weakref.ref[DatasetIterator[Any]]) -> None:
        self._iterator = iterator

    def __call__(self) -> None:
        iterator, start = self._iterator(), hooks.start_runners
        if iterator is not None and start is not None and iterator._coord is None:
            clock = iterator._run.clock
            iterator._coord = start(clock.stops_with, clock.on_stop)


def _let_go(stop: Callable[[], None], stream: Stream) -> None:
    """End the threads of a stream, and close its files."""
    stop()
    stream.close()


def _unknown_in(state: Any) -> str | None:
    """Return why a state cannot be saved: what one of its parts says instead of a state."""
    if isinstance(state, FailedPreconditionError):
        return state.message
    if isinstance(state, (list, tuple)):
        return next((reason for each in state if (reason := _unknown_in(each)) is not None), None)
    return None


