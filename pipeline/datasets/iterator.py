"""Iterator over a dataset, with checkpoints and clean shutdown."""

from __future__ import annotations

import atexit
import contextlib
import copy
import functools
import heapq
import itertools
import math
import sys
import threading
import time
from _thread import get_ident
from collections import deque
from collections.abc import Callable, Collection
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from pipeline import hooks
from pipeline._meter import Meter
from pipeline.datasets import mistakes
from pipeline.datasets.parts import facts_of_parts, unit_of
from pipeline.datasets.record import Record
from pipeline.diagnostics.earlier import note_pass, passes_before
from pipeline.diagnostics.frames import is_running, tell, whereabouts
from pipeline.diagnostics.live import LoopFacts, LoopTimes, loops, number, without_threads
from pipeline.diagnostics.starts import NOTICED
from pipeline.diagnostics.together import Turns
from pipeline.dtypes import integer, seconds
from pipeline.errors import (
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    OutOfRangeError,
    invalid,
)
from pipeline.keywords import tells_keywords
from pipeline.locks import Lock
from pipeline.logs import logger
from pipeline.nest import refuse_missing_in
from pipeline.reports import spans
from pipeline.stages.checksum import Sum
from pipeline.stages.draws import this_thread
from pipeline.stages.node import Node, Recipe, measured, name_of_recipe, nodes_of, note_written, opened, running
from pipeline.stages.run import Measured, Run, Stops
from pipeline.stages.selection import arranged
from pipeline.stages.stream import Stream, cannot_wait, unknown_in
from pipeline.sync.ending import wait_for_end
from pipeline.tracebacks import from_handler, show_users

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

    from pipeline.reports.report import Report
    from pipeline.workers.threads import Threads

_log = logger("pipeline.batches")

_AGAIN = "iter(dataset) makes a new one, and `for e in range(3): for batch in dataset.epoch(e)` runs three epochs"
_WITHOUT = "leave out drop_remainder=True"
_SMALLER = "pass allow_smaller_final_batch=True"

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")

# Number of past states kept by an iterator.
BEHIND = 64

# Seconds between checks for `close`.
_LOOK = 0.1

# Timeout for threads when the program exits, in seconds.
_AT_EXIT = 0.5

_END: Any = object()


class DatasetIterator(Recipe, Generic[T_co]):
    """Iterate over a dataset once. As a context manager, it ends its threads and closes its files.

    For another pass call `iter(dataset)` again, or iterate over `dataset.epoch(i)` for epoch i's order.

    After Ctrl-C, or an exception in a signal handler, the next call continues after the last element. A `for` loop
    loses nothing. `x = next(iterator)` may lose an element if Ctrl-C arrives just before Python assigns it.

    Thread safety: threads may share an iterator; each element goes to one thread.

    Attributes:
        grace: Seconds `close` waits for `next` in another thread, and for threads to end; 10 by default.

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
    _stream: Stream | None = None

    def __init__(self, node: Node, epoch: int, name: str | None = None, stops: Stops | None = None) -> None:
        """Use `iter(dataset)`.

        Args:
            node: The recipe.
            epoch: The epoch's index.
            name: Name in reports; None for its source's name.
            stops: The user's Coordinator: it ends the iterator when it stops, and receives its errors.
        """
        self._node, self._arranged, self._epoch = node, arranged(node), epoch
        self._waits = self._arranged.waits
        self._lock = Lock()  # held in `next`
        self._owner: int | None = None  # the thread with the lock
        self._name = name or name_of_recipe(node)
        self._smaller = _WITHOUT if name is None else _SMALLER  # batch functions name their iterators
        self._measured = measured(node)
        self._run = self._new_run(stops)
        self._sum = None if node.summed is None else Sum(node.summed)
        self._summed = Measured(number(), Meter(), "checksum")
        self._records: deque[Record] = deque(maxlen=BEHIND + 1)  # for delivered elements, and the one before them
        self._made: Record | None = None  # for the last computed element
        self._handed = 0  # elements returned to callers of `next`
        self._taker: int | None = None  # the thread that got the last one
        self._interrupted = False  # an exception may have left the stream at any position after `_made`
        self._loaded: dict[str, Any] | None = None  # a loaded state, until the stream is open
        self._loops: mistakes.Loops | None = None  # over the dataset, unless a certain epoch was requested
        self._resumed = False  # it began at a loaded state
        self._in_loop = False  # a `for` loop has begun; it ends if its own thread closes the iterator
        self._late = False  # an earlier loop has read a single-pass source to its end
        self._over = False
        self._complete = False  # over without an error
        self._closed = False
        self._informed: set[int] = set()  # threads that called `close` or got a CancelledError
        self._forked = False
        self._times, self._waited, self._taken_at = LoopTimes(), 0.0, 0.0
        self._turns: Turns | None = None
        self._before: LoopFacts | None = None  # of the short passes before this one
        self._first: LoopFacts | None = None  # when the first element was there, unless it was soon
        self._threads: Threads | None = None  # for `async for`
        self._asked = itertools.count()
        self._left: list[tuple[int, Future[Any]]] = []  # elements whose waiting tasks were cancelled
        loops.add(self)

    def _new_run(self, stops: Stops | None) -> Run:
        run = Run(self._name, self._measured, stops)
        run.epoch = self._epoch
        return run

    def __iter__(self) -> DatasetIterator[T_co]:
        if self._closed and not self._over and get_ident() in self._informed:
            raise self._is_closed()
        if self._over:
            tell(_log, f"{self._name}: this iterator has ended and has no more elements: {_AGAIN}")
        self._in_loop = True
        return self

    def __next__(self) -> T_co:
        """Return the next element.

        Raises:
            StopIteration: The epoch is over.
            FailedPreconditionError: You have closed the iterator.
            CancelledError: Another thread has closed the iterator.
            Exception: Your function raised it. The iterator has ended then.
        """
        handed = self._handed
        try:
            found = self._traced(None) if spans.on else self._next(None)
        except BaseException as error:
            self._take_back(handed)
            if isinstance(error, Exception):
                show_users(error)
            raise
        if found is not _END:  # in this order, as Python 3.10 looks for signals in jumps
            return found  # type: ignore[no-any-return]
        raise StopIteration

    def next(self, timeout: float | None = None) -> T_co:
        """Return the next element.

        Args:
            timeout: Seconds to wait; None for no limit. A timeout needs a thread preparing elements, so end the dataset
                with `.prefetch(1)`. A dataset over a queue has one.

        Raises:
            StopIteration: The epoch is over.
            DeadlineExceededError: The time is up. Nothing is lost: call `next` again.
            FailedPreconditionError: The dataset computes elements in your own thread.
            Exception: Your function raised it. The iterator has ended then.
        """
        left = None if timeout is None else seconds(timeout, "next: timeout")
        if left is not None and left < 0:
            raise invalid(f"next: timeout must be at least 0 seconds, got {timeout!r:.80}")
        if left is not None and not self._waits:
            raise cannot_wait()
        handed = self._handed
        try:
            found = self._traced(left) if spans.on else self._next(left)
        except BaseException as error:
            self._take_back(handed)
            if isinstance(error, Exception):
                show_users(error)
            raise
        if found is _END:
            raise StopIteration
        return found  # type: ignore[no-any-return]

    def _traced(self, timeout: float | None) -> Any:
        began, taken = spans.begin("next", f"next of '{self._name}'", loop=self._name), False
        try:
            found = self._next(timeout)
            taken = found is not _END
            return found
        finally:
            spans.end(began, f"between batches of '{self._name}'" if taken else "")

    def _next(self, timeout: float | None) -> Any:
        """Return the next element; _END at the end."""
        if self._owner is not None:  # a thread is in `next`, possibly this one
            self._not_within("next")
        if self._left:
            return self._of_left()
        with self._lock:
            self._owner = get_ident()
            try:
                return self._make(timeout, True)
            finally:
                self._owner = None

    def _take_back(self, handed: int) -> None:
        """Requeue the element of an interrupted call of `next`, unless another thread has already continued.

        Args:
            handed: Number of elements delivered when the call began.
        """
        if self._handed == handed or self._taker != get_ident():
            return
        with self._lock:
            if self._taker == get_ident() and not self._over and self._node.no_state() is None:
                self._made, self._interrupted, self._taker = self._records[-2], True, None
                self._records.pop()

    def _alone(self, function: Callable[..., R], *args: Any) -> R:
        """Call a function with the lock for `next`: other threads wait, and nested calls raise an error."""
        with self._lock:
            self._owner = get_ident()
            try:
                return function(*args)
            finally:
                self._owner = None

    def _make(self, timeout: float | None, delivers: bool) -> Any:
        """Return the next element; _END at the end.

        Args:
            timeout: Seconds to wait; None for no limit.
            delivers: Deliver the element now; if False, return its record with it.
        """
        if self._over or self._closed:
            return self._after_the_end()
        began, late = time.perf_counter(), False
        coord, outer = None, None
        try:
            if self._interrupted:
                self._recover()
            if this_thread.within:
                self._run.clock.within |= this_thread.within
            stream = self._stream or self._open()
            coord = self._run.clock.coord
            if coord is not None:
                outer, hooks.loop_of_thread.coord = hooks.loop_of_thread.coord, coord
            if timeout is not None or self._waits:
                late = not self._wait(stream, timeout)
            if late:
                text = f"{self._name}: no element within the timeout; nothing was lost"
                raise DeadlineExceededError(None, None, text)
            self._interrupted = True
            block = stream.take(1)
            if self._closed:
                self._run.clock.stop()  # as `close` is about to
            if self._closed or self._run.clock.stops_with is not None:
                self._run.clock.check()
            if block is None:
                self._finish()
                return _END
            element = block.values.first()
            refuse_missing_in(element, "an example")
            if self._sum is not None:
                self._summed.meter.call(self._sum.add, element)
            if self._times.first_at is None:
                self._note_first(self._waited + time.perf_counter() - began)
            batches, examples, value, _ = self._made  # type: ignore[misc]
            value = value if self._sum is None else self._sum.value
            record = Record(batches + 1, examples + block.first_size(), value, stream.state())
        except Exception as error:
            if late:
                raise
            raised = from_handler(error)
            if raised is not None:
                raise raised from raised.__cause__
            failed, stops = self._end_by(error), self._run.clock.stops_with
            if isinstance(error, CancelledError) and stops is not None and stops.should_stop():
                return _END
            raise failed from error.__cause__
        finally:
            if coord is not None:
                hooks.loop_of_thread.coord = outer
            self._taken_at = time.perf_counter()
            self._waited += self._taken_at - began
        if delivers:  # no calls from here to `return`, so no signal handler runs in between
            self._records += (record,)
            self._handed += 1
            self._taker = self._owner
        self._made, self._interrupted = record, False
        return element if delivers else (element, record)

    def _note_first(self, waited: float) -> None:
        """Note for reports that the first element is there."""
        times = self._times
        times.first_at = time.monotonic()
        if times.begun_at is not None and times.first_at - times.begun_at >= NOTICED:
            for each in self._measured.values():
                each.meter.forget_longest()
            self._first = without_threads(self._facts())._replace(taken=(1, waited))

    def _wait(self, stream: Stream, timeout: float | None) -> bool:
        """Wait for the next element; return whether it arrived in time. Can be called again after an interrupt."""
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while not (found := stream.wait(max(0.0, min(_LOOK, deadline - time.monotonic())))):
            self._run.clock.check()
            if time.monotonic() >= deadline:
                break
        return found

    def _recover(self) -> None:
        """Reopen the stream after the last element, because an interrupt may have left it at any position.

        Raises:
            FailedPreconditionError: The recipe has no states.
        """
        if self._made is not None:
            reason = self._node.no_state() or unknown_in(self._made.state)
            if reason is not None:
                text = f"{self._name}: the iterator was interrupted and cannot continue: {reason}. Make a new one"
                raise FailedPreconditionError(None, None, text)
            if self._sum is not None:
                self._sum.value = self._made.value
        self._close_stream()
        self._run.clock.stop()  # also ends threads of a stream still being opened
        self._run = self._run.again()
        if self._closed:  # `close` may have stopped the run before
            self._run.clock.stop()
        self._wait_for_threads()
        self._interrupted = False

    def _not_within(self, what: str) -> None:
        """Reject calls from a function running inside `next`, because they would deadlock."""
        if self._owner == get_ident() or (this_thread.serving is not None and this_thread.serving is self._run.clock):
            raise FailedPreconditionError(None, None, f"{what} was called inside next() of the same iterator")

    def _after_the_end(self) -> Any:
        """Return _END after the end, and once in a `for` loop closed by its own thread.

        Raises:
            CancelledError: Another thread has closed it: once per thread.
            FailedPreconditionError: It is closed, and the loop has ended.
        """
        if self._over or not self._closed:
            return _END
        if get_ident() not in self._informed:
            self._informed.add(get_ident())
            raise CancelledError(None, None, f"{self._name}: the iterator was closed by another thread")
        if self._in_loop:
            self._in_loop = False
            return _END
        raise self._is_closed()

    def _is_closed(self) -> FailedPreconditionError:
        return FailedPreconditionError(None, None, f"{self._name}: this iterator is closed: {_AGAIN}")

    def _open(self) -> Stream:
        """Open the stream after the last element."""
        if self._forked:
            text = (
                f"{self._name}: this iterator was opened before os.fork() and works only in the process that opened "
                "it. Make a new one here; to continue, load the state of this one into it"
            )
            raise FailedPreconditionError(None, None, text)
        if self._times.begun_at is None:
            self._times.begin()
            self._turns = Turns(self)
            self._before = passes_before(self._node)
            self._late = mistakes.were_read(self._node)
            mistakes.look(self._node, self._epoch, self._name)
            self._resumed = self._loaded is not None
            if self._loops is not None and not self._resumed:
                self._loops.begin(self._node, self._name)
        self._interrupted = True
        if any(each.starts_runners for each in running(self._node)):  # also for sources opened later
            self._run.start_runners()
        if self._loaded is None:
            stream = opened(self._arranged, self._run, None if self._made is None else self._made.state)
        else:
            self._run.files.saved = self._loaded["files"]
            stream = opened(self._arranged, self._run, copy.deepcopy(self._loaded["state"]))
        if self._made is None:
            self._made = Record(0, 0, 0, stream.state())
            self._records.append(self._made)
        self._stream, self._loaded, self._interrupted = stream, None, False
        return stream

    def _finish(self) -> None:
        """End the epoch."""
        mistakes.note_end(self._node, self._made is not None and self._made.batches > 0, self._late)
        self._over = self._complete = True
        self._note_end()
        self._close_stream()
        self._join()
        self._tell_dropped()

    def _end_by(self, error: Exception) -> Exception:
        """End by an error; return the one to raise."""
        if isinstance(error, (StopIteration, OutOfRangeError)):  # the caller would mistake it for the end
            other = RuntimeError(f"{self._name}: a function of the input raised {type(error).__name__}")
            other.__cause__, error = error, other
        stops = self._run.clock.stops_with
        cancelled = isinstance(error, CancelledError)
        note_written(self._node, error)
        self._note_end()
        self._close_stream()
        if stops is not None and not (cancelled and stops.should_stop()):
            stops.request_stop(error)
        if cancelled and self._closed:
            if any(each.ident in self._informed for each in self._run.clock.threads):
                self._wait_for_threads()  # a function of the dataset called `close`, which cannot wait for itself
            self._informed.add(get_ident())
        else:
            self._over = True  # last, so an interrupt above does not hide the error
        return error

    def _note_end(self) -> None:
        """Note the end for reports; a second call does nothing."""
        times = self._times
        if times.begun_at is not None and times.ended_at is None:
            left, turns = 0.0, self._turns
            if turns is not None:
                if self._owner is None:
                    left = turns.left(self, times.age(), self._handed)
                turns.end(self)
            times.end(left)
            note_pass(self, self._node, times.age(), self._facts)

    def _close_stream(self) -> None:
        """End the stream's threads and close its files. Can be called again after an interrupt."""
        stream = self._stream
        if stream is None:
            return
        if self._loops is not None:
            self._loops.end(self._handed, self._resumed)
        self._run.clock.stop()
        try:
            stream.close()
        except Exception as error:
            if from_handler(error) is None:
                self._stream = None
            raise
        self._stream = None

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if finalizing():  # a default argument, because module globals may be gone then
            return
        try:
            self._note_end()
            self._close_stream()
        finally:
            self._close_stream()  # again, in case a signal handler raised in the first call

    def _leave(self) -> None:
        """Close the files at exit, while module globals still exist, so the user's generators end.

        Keeps the lock, because `next` in a daemon thread would reopen the stream. Does nothing if a thread is in
        `next`.
        """
        if self._lock.acquire(blocking=False):
            self._interrupted = self._interrupted or self._stream is not None  # for `next` in a later exit handler
            self._close_stream()

    def _wait_for_threads(self) -> list[threading.Thread]:
        """Wait at most `grace` seconds for worker threads to end; return the ones still running."""
        threads, deadline = self._run.clock.threads, time.monotonic() + self.grace
        for thread in threads:
            wait_for_end(thread, deadline)
        return [thread for thread in threads if is_running(thread)]

    def _join(self) -> None:
        """Wait for all of this iterator's threads; reraise an error from its queue runners."""
        clock = self._run.clock
        if running := self._wait_for_threads():
            text = f"close: threads are still running after {self.grace:g} seconds"
            raise RuntimeError("\n".join([text, *map(whereabouts, running)]))
        coord, clock.coord = clock.coord, None
        if coord is not None and coord is not clock.stops_with:
            coord.request_stop()
            coord.join(stop_grace_period_secs=self.grace)

    def _tell_dropped(self) -> None:
        """Log dropped examples; warn if there was no batch, or no element, at all."""
        dropped = self.num_dropped
        batches, examples = self.delivered
        if not dropped:
            if not batches:
                mistakes.warn_of_nothing(self._node, self._measured, self._run.skipped, self._name)
            return
        text = f"the last {dropped:,} of {examples + dropped:,} examples do not fill a batch and are dropped. "
        text += f"To get them too, {self._smaller}"
        if batches:
            _log.info("%s: %s", self._name, text)
        else:
            tell(_log, f"{self._name}: {text}")

    async def __anext__(self) -> T_co:
        """Wait in a thread and return the next element. If the task is cancelled, the next call returns it."""
        import asyncio  # imported lazily: costs 15 ms

        from pipeline.workers.threads import Threads  # as above

        if self._threads is None:
            self._threads = Threads(1, abandons=True)
        if self._left:
            asked = heapq.heappop(self._left)
        elif self._ended:
            self._after_the_end()
            raise StopAsyncIteration
        else:
            asked = next(self._asked), self._threads.submit(self._alone, self._make, None, False)
        made = asyncio.wrap_future(asked[1])
        made.add_done_callback(_look)
        try:
            await asyncio.wait([made])
        finally:
            heapq.heappush(self._left, asked)
        found = self._delivered(heapq.heappop(self._left)[1])  # the oldest: a task may have been cancelled meanwhile
        if found is _END:
            raise StopAsyncIteration
        return found  # type: ignore[no-any-return]

    def _of_left(self) -> Any:
        """Return the oldest element with a cancelled task; _END at the end."""
        from concurrent.futures import wait

        wait([self._left[0][1]])  # popped only afterwards, so an interrupt does not lose it
        return self._delivered(heapq.heappop(self._left)[1])

    def _delivered(self, future: Future[Any]) -> Any:
        """Return an element computed for a task; _END at the end."""
        found = future.result()
        if found is _END:
            return found
        element, record = found
        late = bool(self._records) and self._records[-1].batches > record.batches
        self._records.append(record)
        if late:  # another thread was first
            self._records = deque(sorted(self._kept()), maxlen=BEHIND + 1)
        return element

    def __aiter__(self) -> DatasetIterator[T_co]:
        self._in_loop = True
        return self

    def start(self) -> None:
        """Open the input now instead of at the first `next`. A final `prefetch` starts to work.

        Without `.prefetch(n)` at the end, workers of `map` still start at the first `next`.
        """
        self._not_within("start")
        self._alone(self._begin)

    def _begin(self) -> None:
        if self._ended:
            return
        if self._interrupted:
            self._recover()
        (self._stream or self._open()).begin()
        if self._closed:  # by a signal handler, within `_open`
            self._close_stream()

    def close(self) -> None:
        """End the threads and close the files; a second call does nothing.

        A `for` loop in your thread ends then; `next` and another loop raise a FailedPreconditionError. Other threads
        get a CancelledError. The dataset's functions, and signal handlers within `next`, may call `close` too: the
        files are closed when `next` returns.

        Raises:
            RuntimeError: Another thread stays in `next` or in a dataset function for over `grace` seconds.
        """
        self._informed.add(get_ident())
        self._closed = True
        self._run.clock.stop()
        self._note_end()
        serving = this_thread.serving
        if self._owner == get_ident() or (serving is not None and serving is self._run.clock):
            return
        locked: list[bool] = []
        try:
            # One call, so no interrupt can arrive between taking the lock and recording it.
            locked.extend(itertools.starmap(self._lock.acquire, ((True, self.grace),)))
            if not locked[0]:
                raise RuntimeError(f"close: a thread is still in next after {self.grace:g} seconds")
            self._close_stream()
            if self._threads is not None:
                self._threads.shutdown(wait=False)
            self._join()
        finally:
            if True in locked:
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
        """Return the state after the last element you received, as plain data: a few kilobytes of JSON.

        Save it with your model, in one file; see `save_state`.

        Args:
            behind: Go back this many elements, at most 64, for batches you received but have not trained on.

        Raises:
            FailedPreconditionError: A source cannot be rewound; the message names it.
            TypeError, ValueError: `behind` is not an integer, or there were fewer elements.

        Thread safety: you may call it from any thread.

        See Also:
            `load_state_dict`; `save_state`, which writes a state to a file.
        """
        behind = integer(behind, "state_dict: behind")
        return self._saved(behind, self._complete and not behind)

    def _saved(self, behind: int, ended: bool) -> dict[str, Any]:
        """Return an earlier state.

        Args:
            behind: Number of elements to go back.
            ended: True if the epoch is known to be over.
        """
        loaded = self._loaded  # another thread may open the stream meanwhile
        if loaded is not None and not behind:
            return copy.deepcopy(loaded)
        reason = self._node.no_state()
        if reason is not None:
            raise FailedPreconditionError(None, None, reason)
        if not self._records:
            self._not_within("state_dict")
            self._alone(self._open_once)
        records = self._kept()
        if not 0 <= behind < len(records):
            raise invalid(f"state_dict: behind must be 0 to {len(records) - 1} here, got {behind}")
        record = records[-1 - behind]
        reason = unknown_in(record.state)
        if reason is not None:
            raise FailedPreconditionError(None, None, reason)
        from pipeline.datasets.state import state_of  # imported lazily: json costs 2 ms

        return state_of(self._node, self._run, record, self._sum is not None, ended)

    def _skip(self, n: int, size: int) -> None:
        """Skip the first elements, without computing them if the dataset is indexed.

        Args:
            n: Number of elements; there may be fewer.
            size: Examples per element.
        """
        if self._sum is not None:  # a fingerprint needs their contents
            for _ in itertools.islice(self, n):
                pass
        else:
            self._not_within("skip")
            self._alone(self._drop, n, size)

    def _drop(self, n: int, size: int) -> None:
        stream = self._stream or self._open()
        self._interrupted = True
        dropped = stream.drop(n)
        record = Record(dropped, dropped * size, 0, stream.state())
        self._records = deque([record], maxlen=BEHIND + 1)
        self._made, self._interrupted = record, False

    def _open_once(self) -> None:
        if not self._records:
            self._open()

    def load_state_dict(self, state: dict[str, Any], *, allow: Collection[str] = ()) -> None:
        """Continue from a state: the next element is the one that followed when you saved it.

        The recipe must be the same, except for workers, prefetch, and the hosts of `shard`.

        Args:
            state: A state from `state_dict`, in this process or another.
            allow: Differences to accept: "batch_size", "num_epochs", "mtime", and a mix's "weights". The mix may then
                have other inputs too, matched by name. Examples already read are not read again. "shard" has no effect.

        Raises:
            StateMismatchError: The state belongs to another dataset, to other files, or to another host with its own
                state. Nothing has changed.
            InvalidArgumentError, TypeError: `state` is not a state, or is damaged.
            FailedPreconditionError: The iterator has delivered an element, or is closed.
        """
        from pipeline.datasets.state import loaded_state  # as in `state_dict`

        self._not_within("load_state_dict")
        self._alone(self._load, functools.partial(loaded_state, state, self._node, self._epoch, allow))

    def get_state(self) -> bytes:
        """Return the state as JSON, as MaxText expects from an iterator.

        Raises:
            FailedPreconditionError: As `state_dict`.
        """
        from pipeline.resume.as_bytes import bytes_of_state  # with json, as in `state_dict`

        return bytes_of_state(self.state_dict())

    def set_state(self, state: bytes) -> None:
        """Continue from a state returned by `get_state`.

        Raises:
            TypeError, StateMismatchError, InvalidArgumentError, FailedPreconditionError: As `load_state_dict`.
        """
        from pipeline.resume.as_bytes import state_of_bytes  # with json, as in `state_dict`

        self.load_state_dict(state_of_bytes(state))

    def _load(self, loaded: Callable[[], dict[str, Any]]) -> None:
        """Load the state returned by `loaded`, which raises for a mismatch."""
        if self._ended or (self._loaded is None and len(self._records) > 1):
            text = "load_state_dict: this iterator has already begun. Load a state before the first element"
            raise FailedPreconditionError(None, None, text)
        found = loaded()
        self._interrupted = True  # until the state is complete, in case of an interrupt
        self._close_stream()
        self._run = self._new_run(self._run.clock.stops_with)
        mixes = [each.written for each in nodes_of(self._node) if each.mixes]
        if mixes:
            from pipeline.datasets.mixes import notes_of  # as in `state_dict`

            self._run.mixed = dict(zip(mixes, map(notes_of, found["mixes"]), strict=True))
        delivered = found["delivered"]
        value = int((found["fingerprint"] or "-0").partition("-")[2], 16)
        record = Record(delivered["batches"], delivered["elements"], value, found["state"])
        if self._node.summed is not None:
            self._sum = Sum(self._node.summed, value)
        self._loaded, self._made, self._interrupted = found, record, False
        self._records = deque([record], maxlen=BEHIND + 1)

    @tells_keywords
    def fingerprint(self) -> str:
        """Return a checksum over the contents and order of all examples so far: "<number>-<16 hex digits>".

        Equal examples in equal order have equal fingerprints, with any worker count and batch size, and after a
        resume. The dataset needs `.checksum()`.

        Raises:
            FailedPreconditionError: The dataset has no `.checksum()`.
        """
        if self._sum is None:
            text = "fingerprint: the dataset has no checksum: add .checksum() before the last batch"
            raise FailedPreconditionError(None, None, text)
        last = self._last()
        return f"{last.examples}-{last.value:016x}"

    @property
    def epoch(self) -> int:
        """The epoch's index, from 0."""
        return self._epoch

    @property
    def _begun(self) -> bool:
        """True if it has opened its input, delivered an element, or ended."""
        return self._stream is not None or self._ended or len(self._records) > 1

    @property
    def _ended(self) -> bool:
        """True if it is over or closed."""
        return self._over or self._closed

    def _kept(self) -> list[Record]:
        """Return the records. Without a GIL, `list` could meet another thread's append; a copy is made in one piece."""
        return list(self._records.copy())

    def _last(self) -> Record:
        records = self._kept()
        return records[-1] if records else Record(0, 0, 0, None)

    @property
    def delivered(self) -> tuple[int, int]:
        """A pair: the number of elements returned by `next`, and of the examples in them.

        Both include those before a resume.
        """
        last = self._last()
        return last.batches, last.examples

    def _last_size(self) -> int:
        """Return the number of examples in the last element; 0 if it is padding."""
        before, last = self._kept()[-2:]
        return last.examples - before.examples

    @property
    def num_dropped(self) -> int:
        """Number of examples dropped as a remainder."""
        return self._run.dropped

    @property
    def errors(self) -> list[Exception]:
        """The first hundred skipped errors."""
        return list(self._run.skipped.errors)

    @property
    def num_errors(self) -> int:
        """Number of examples skipped because of an error."""
        return self._run.skipped.count

    def report(self) -> Report:
        """Report what each step of your dataset does, which one is the bottleneck, and what to change.

        `print(iterator.report())` shows the verdict and one row per step. A short pass is judged together with the
        short passes over the same dataset before it. docs/monitoring.md explains the report.

        Thread safety: you may call it from any thread, at any time.

        See Also:
            `monitor`, which shows reports while the program runs; `trace`, for what each thread did.
        """
        from pipeline.reports.sampler import report  # dataclasses and the tables, only for reports

        return report(self)

    def _facts(self) -> LoopFacts:
        state, times = self._state(), self._times
        if state == "running" and self._owner is None and self._turns is not None and (idle := self._turns.idle(self)):
            state, times = "idle", times.until(idle)
        return LoopFacts(
            self._name,
            state,
            self.num_errors,
            self.num_dropped,
            times,
            *facts_of_parts(self._node, self._measured, None if self._sum is None else self._summed),
            (max(0, self._last().batches), self._waited),
            0.0 if self._turns is None else self._turns.elsewhere(self),
            unit_of(self._node),
            None if self._times.clocks is None else self._times.clocks.read(),
            self._times.thread,
            before=self._before,
            first=self._first,
        )

    def _after_fork(self) -> None:
        """Reset in a forked child, where the parent's threads do not exist."""
        self._lock, self._owner = Lock(), None
        if self._stream is not None or self._interrupted:
            self._stream, self._forked, self._interrupted = None, True, False

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
            "a DatasetIterator cannot be pickled: pickle the dataset and state_dict(), and load that state into an "
            "iterator there"
        )


@atexit.register
def _leave_all() -> None:
    """Close all iterators now, because later, generators would run in modules without their names.

    Threads preparing elements get half a second, because they must not be inside a library when the interpreter ends.
    """
    found = [each for _, each in loops.numbered()]
    with contextlib.ExitStack() as stack:  # all of them, even if one raises
        for each in found:
            stack.callback(each._leave)
    deadline = time.monotonic() + _AT_EXIT
    for each in found:
        for thread in each._run.clock.threads:
            wait_for_end(thread, deadline)


def _look(done: asyncio.Future[Any]) -> None:
    """Retrieve a future's error, because asyncio would log it otherwise, for example after a cancelled task."""
    if not done.cancelled():
        done.exception()
