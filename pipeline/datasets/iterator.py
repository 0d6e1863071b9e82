"""DatasetIterator: runs a recipe. It gives elements, says where it stands, goes on from there, and ends cleanly."""

from __future__ import annotations

import contextlib
import copy
import enum
import functools
import threading
import time
from _thread import get_ident
from collections import deque
from collections.abc import Callable, Collection, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

from pipeline import spans
from pipeline._flow import fold_on
from pipeline._next import Gauge, Meter, Next, ReadyBatches
from pipeline.datasets.node import Node, Opening, facts_of, measured, name_of_recipe, nodes_of, note_written, seeds_of
from pipeline.datasets.parts import facts_of_parts
from pipeline.datasets.seed import Seed
from pipeline.diagnostics.frames import tell
from pipeline.diagnostics.live import LoopFacts, LoopTimes, ended, loops
from pipeline.dtypes import integer, seconds, truth
from pipeline.errors import CancelledError, FailedPreconditionError, OutOfRangeError, StateMismatchError, invalid
from pipeline.flow.run import serving
from pipeline.flow.stream import Element, elements_of, nowhere, seek_later
from pipeline.logs import logger
from pipeline.nest import refuse_missing_in
from pipeline.queues.seeds import given_seed
from pipeline.runners.current_loop import loop_of_thread
from pipeline.runners.stop_flag import StopFlag
from pipeline.tracebacks import show_users

if TYPE_CHECKING:
    import asyncio

    from pipeline.monitoring.report import Report
    from pipeline.runners.coordinator import Coordinator

_log = logger("pipeline.batches")

_ANEW = "iter(dataset) gives another one, and `for e in range(3): for batch in dataset.epoch(e)` three passes"
_SMALLER = "To get them too, leave out drop_remainder=True, or pass allow_smaller_final_batch=True"

T_co = TypeVar("T_co", covariant=True)

# How many elements ago a state can be of.
BEHIND = 64


class Record(NamedTuple):
    """What was delivered.

    Attributes:
        batches: How many elements, which are batches behind `batch`.
        examples: How many examples these consist of.
        value: The fingerprint of their order.
        position: Where the next element comes from; or the error that says why that is not known.
    """

    batches: int
    examples: int
    value: int
    position: Any


class _Made(NamedTuple):
    """What was made and nobody has got.

    Attributes:
        element: The element.
        record: What counts it as delivered.
        error: What was raised instead; StopIteration at the end.
    """

    element: Any
    record: Record | None
    error: Exception | None = None


class _Over(Exception):
    """The pass is over."""


class _Phase(enum.Enum):
    """Where an iterator is with its stream. It changes under the lock; `close`, at any time, has a flag of its own.

    NEW -> BROKEN -> OPEN: the stream is being opened, and is open. OPEN -> BROKEN: an interrupt struck within it, or a
    state was loaded: the next element goes on or opens it again. Any of these -> ENDED, for ever. In the child of a
    fork, NEW, BROKEN, OPEN -> ABANDONED if a thread was within.
    """

    NEW = enum.auto()
    BROKEN = enum.auto()
    OPEN = enum.auto()
    ENDED = enum.auto()
    ABANDONED = enum.auto()


class DatasetIterator(Next[T_co]):
    """Your dataset's elements, once: an iterator, and a context manager that ends its threads.

    An ended iterator stays ended. `iter(dataset)` gives another one, with the same order under a seed, and
    `dataset.epoch(i)` the order of pass i.

    Thread safety: your threads may share an iterator; each element goes to one thread.

    Attributes:
        grace: Seconds that threads get to end in `close`; 10 by default.

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

    def __init__(
        self,
        node: Node,
        epoch: int,
        seeds: Mapping[Seed, tuple[int, int]] | None = None,
        name: str | None = None,
        coord: Coordinator | None = None,
    ) -> None:
        """Use `iter(dataset)`.

        Args:
            node: The recipe.
            epoch: Which pass.
            seeds: Those of an earlier iterator, which had loaded a state.
            name: What reports call it; None for the name of its source.
            coord: The user's Coordinator, which ends it when it stops, and hears of its errors.
        """
        self._node, self._epoch = node, epoch
        self._lock = threading.RLock()  # not to enter it twice, but to know who is within: see `_mine`
        self._making = False  # whether a thread is within the stream
        self._seeds: dict[Seed, tuple[int, int]] = dict(seeds or {})
        self._parts = measured(node)
        self._meter = Meter(functools.partial(note_written, node))  # of `next`
        self._times = LoopTimes()
        self._name = name or name_of_recipe(node)
        self._opening = Opening(self._name, self._seeds, self._parts, coord)
        self._stream: Gauge | None = None
        self._element: Callable[[], Element | None] = lambda: None  # gives the next one of the stream
        # Gives batches that C hands over.
        self._at_hand: Callable[[], tuple[ReadyBatches, int, Callable[[Any, int], Any]] | None] = lambda: None
        self._done: Callable[[], None] | None = None  # tells the stream that the element is here
        self._loaded: Any = None  # the state, until the first element
        self._records: deque[Record] = deque(maxlen=2 * BEHIND)
        self._slot: list[_Made] = []  # what was made, until somebody picks it up
        self._handing = threading.RLock()  # held for a moment, while something goes from the slot to its caller or back
        self._began = 0  # elements that were delivered before the stream was opened
        self._left: deque[asyncio.Future[None]] = deque()  # what such tasks waited for that were cancelled
        self._phase = _Phase.NEW
        self._error: Exception | None = None  # that ended this, and that an interrupt hid
        self._closer: int | None = None  # the thread that called `close`, which asks for no lock
        loops.add(self)

    def __iter__(self) -> DatasetIterator[T_co]:
        if self._over:
            state = "is closed" if self._closed else "has ended"
            tell(_log, f"{self._name}: this iterator {state}, and gives nothing more: {_ANEW}")
        return self

    def next(self, timeout: float | None = None) -> T_co:
        """Return the next element.

        Args:
            timeout: Seconds to wait; None for no limit. In your own thread it is checked between two examples, and a
                call of your function or source is not interrupted. End the dataset with `.prefetch(1)` if one may take
                long: a thread then makes the call, and `next` returns in time.

        Raises:
            StopIteration: The epoch is over.
            DeadlineExceededError: The time is up. Nothing is lost: call again.
            Exception: What your function raised. The iterator has ended then.
        """
        left = None if timeout is None else seconds(timeout, "next: timeout")
        if left is not None and left < 0:
            raise invalid(f"next: timeout must be at least 0 seconds, got {timeout!r:.80}")
        try:
            return self._take(None if left is None else time.monotonic() + left)
        except Exception as error:
            show_users(error)
            raise

    def _take(self, deadline: float | None) -> T_co:
        self._not_within("next")
        if self._closer == get_ident():
            raise StopIteration
        held: list[_Made] = []  # what the caller has not yet: a list, as Ctrl-C may hide what a call returns
        try:
            with self._lock:
                self._settle(self._records)
                while not held:
                    if not self._slot:
                        self._make(deadline)
                    self._pick(held)
                    if held and isinstance(held[0].error, StopIteration):
                        held.clear()
                made = held[0]
                alone = not self._slot and self._opening.stops_with is None  # a Coordinator is asked for each element
                if alone and made.record is not None and (rows := self._at_hand()) is not None:
                    self._ready(*rows, self._meter, made.record)
                    if self._closed:  # asked last: `close` says so first, and then lets nothing be ready
                        self._unready()
            if self._closer is not None:
                self._close_late()
            if made.error is None:
                return made.element  # type: ignore[no-any-return]  # no call and no jump before it, where Ctrl-C strikes
        except BaseException:
            try:
                for lock in (self._handing, self._lock):
                    if _mine(lock):  # from Python 3.14 on Ctrl-C may strike when `with` has a lock, but no block yet
                        lock.release()
                self._give_back(held)  # Ctrl-C as the lock was let go
            finally:
                if self._closer is not None:
                    self._close_late()
            raise
        raise made.error

    def _not_within(self, what: str) -> None:
        """Refuse a call of a function that `next` calls, or of a signal handler that struck there: it would wait for
        itself."""
        mine = _mine(self._lock) or _mine(self._handing) or self._within()
        if mine or serving.bell is self._opening.bell:
            raise FailedPreconditionError(None, None, f"{what} was called within next of the same iterator")

    def _make(self, deadline: float | None, leave: StopFlag | None = None) -> None:
        """Make the next element, and put it into the slot."""
        self._making = True
        try:
            if spans.on:
                self._traced(deadline, leave)
            else:
                self._taken(deadline, leave)
        finally:
            self._making = False

    def _pick(self, held: list[_Made]) -> None:
        """Hold what is in the slot, if anything, and count it as delivered. Ctrl-C changes nothing."""
        try:
            with self._handing:
                if self._slot:
                    made = self._slot[0]
                    held.append(made)
                    if made.record is not None and made.record is not self._records[-1]:
                        self._records.append(made.record)
                    del self._slot[0]
        except BaseException:
            self._give_back(held)
            raise

    def _give_back(self, held: list[_Made]) -> None:
        """Let what its caller did not get come next. It counts as delivered still if others got some after it."""
        if not held:
            return
        self._unready()
        with self._handing:
            made = held[0]
            counted = any(record is made.record for record in self._records.copy())
            last = counted and self._newest() is made.record
            if not (self._slot and self._slot[0] is made):
                self._slot.insert(0, made._replace(record=None) if counted and not last else made)
            if last:
                self._records.pop()
            held.clear()

    def _last(self) -> Record:
        """Return the record of the last element that was made."""
        for made in reversed(self._slot):
            if made.record is not None:
                record: Record = made.record
                return record
        last: Record = self._records[-1]
        return last

    def _traced(self, deadline: float | None, leave: StopFlag | None) -> None:
        began = spans.begin(spans.NEXT_BEGINS, self._name)
        taken = False
        try:
            self._taken(deadline, leave)
            taken = True
        finally:
            spans.end(spans.NEXT_ENDS, began, taken)

    def _taken(self, deadline: float | None, leave: StopFlag | None) -> None:
        coord = self._opening.stops_with
        if coord is not None and coord.should_stop() and not self._over:
            self._end()
        if self._phase is _Phase.ENDED:
            if (hidden := self._error) is None:
                raise StopIteration
            self._end_by(hidden)
            if coord is not None:
                coord.request_stop(hidden)
            raise hidden
        if self._closed:
            with contextlib.suppress(Exception):
                self._end()
            raise CancelledError(None, None, f"{self._name}: the iterator was closed by another thread")
        stream = self._stream
        if stream is None or self._phase is not _Phase.OPEN:
            stream = self._running()
        opening, outer = self._opening, loop_of_thread.coord
        opening.deadline, opening.leave, opening.overdue = deadline, leave, None
        try:
            coords = opening.coords
            loop_of_thread.coord = coords[0] if coords else None  # producers that are read from start with the iterator
            last = self._last()
            found = self._element()
            if found is None:
                self._end()
                self._tell_dropped(last)
                raise _Over
            element, value, size = found
            refuse_missing_in(element, "an example")
            value = fold_on(last.value, value, size)
            record = Record(last.batches + 1, last.examples + size, value, stream.position())
            self._slot.append(_Made(element, record))
            if self._done is not None:
                self._done()
            if self._times.first_at is None:
                self._times.first_at = time.monotonic()
        except _Over:
            raise StopIteration from None
        except Exception as error:
            if error is opening.overdue:
                raise
            failed: Exception = error
            if isinstance(error, (StopIteration, OutOfRangeError)):  # it would look like the end
                failed = RuntimeError(f"{self._name}: a function of the input raised {type(error).__name__}")
                failed.__cause__ = error
            self._end_by(failed)
            if coord is not None:
                if isinstance(error, CancelledError) and coord.should_stop():
                    raise StopIteration from None
                coord.request_stop(error)
            if failed is not error:
                raise failed from error
            raise
        except BaseException:
            self._break()
            raise
        finally:
            opening.deadline = opening.leave = None
            loop_of_thread.coord = outer

    def _break(self) -> None:
        """Have the stream go on, or be opened again, before it gives anything."""
        if self._phase in (_Phase.NEW, _Phase.OPEN):
            self._phase = _Phase.BROKEN

    def _running(self) -> Gauge:
        """Return the stream, opened if need be, where the last element left it."""
        if self._phase is _Phase.ABANDONED:
            text = (
                f"{self._name}: this iterator was made before os.fork(), when a thread that is not in the child was in "
                "its next. Make a new one there; load_state_dict with the state of this one continues it"
            )
            raise FailedPreconditionError(None, None, text)
        if self._phase is not _Phase.OPEN:
            again = self._phase is _Phase.BROKEN
            self._break()  # until all of this is done
            try:
                if not (again and self._goes_on()):
                    self._open(again)
            except Exception as error:
                self._end_by(error)
                raise
            self._phase = _Phase.OPEN
        assert self._stream is not None
        return self._stream

    def _goes_on(self) -> bool:
        """Whether the stream goes on after an interrupt as if there had been none, but for elements that got lost."""
        if self._stream is None or not self._records:  # it struck before it was open
            return False
        go_on = getattr(self._stream.stream, "again", None)
        return go_on is not None and bool(go_on(self._last().batches - self._began))

    def _open(self, again: bool) -> None:
        """Open the stream; if that is done again, where the last element that was made has left it."""
        last = self._last() if self._records else None
        if again:
            if self._loaded is None and last is not None and isinstance(last.position, Exception):
                text = f"the iterator was interrupted, and cannot continue: {last.position}. Make a new one"
                raise FailedPreconditionError(None, None, text)
            self._opening.stop()
            if self._stream is not None:
                self._stream.close()
            self._opening = self._opening.again()
            if self._closed:  # meanwhile: `close` says so before it stops what it finds
                self._opening.stop()
        self._times.begin()
        if self._loaded is not None:
            self._opening.things.saved = self._loaded["things"]
        stream = self._node.open(self._opening, self._epoch)
        if not isinstance(stream, Gauge):
            stream = Gauge(stream, elements_of(stream), self._meter)
        self._stream, self._meter = stream, stream.meter  # the time in it counts: that is the meter of `next`
        self._element, self._done = stream.element, getattr(stream.stream, "done", None)
        self._at_hand = getattr(stream.stream, "ready", self._at_hand)
        self._began = 0 if last is None else last.batches
        if last is None:
            self._records.append(Record(0, 0, 0, stream.position()))
        elif self._loaded is None:
            seek_later(stream, last.position)
        else:
            self._go_to(stream, last.position, self._loaded["files"])
            self._loaded = None

    def _go_to(self, stream: Gauge, position: Any, files: Mapping[str, Any]) -> None:
        """Go to the position of a loaded state, over these files."""
        self._opening.remember(files)  # first: a bucket reads them on its way
        seek_later(stream, position)

    def _end(self) -> None:
        self._phase = _Phase.ENDED
        self._times.end()
        ended.note(self)
        self._stop()

    def _end_by(self, error: Exception) -> None:
        """End by an error; if an interrupt hides it meanwhile, the next call raises it."""
        self._error = error
        with contextlib.suppress(Exception):  # a thread that failed of the same
            self._end()
        self._error = None

    def _tell_dropped(self, last: Record) -> None:
        """Tell of examples at the end that were dropped; so that people see it where there was no batch at all."""
        dropped = self.num_dropped
        if not dropped:
            return
        text = f"the last {dropped:,} of {last.examples + dropped:,} examples fill no batch and are dropped. {_SMALLER}"
        if last.batches:
            _log.info("%s: %s", self._name, text)
        else:
            tell(_log, f"{self._name}: {text}")

    def _stop(self) -> None:
        """End threads and close files; raise what a thread that fills a queue has raised."""
        self._opening.stop()
        self._opening.grace[0] = self.grace
        if self._stream is not None:
            self._stream.close()
        coord = self._opening.coord
        if coord is not None and coord is not self._opening.stops_with:
            coord.join(stop_grace_period_secs=self.grace)

    async def __anext__(self) -> T_co:
        """Return the next element; a thread waits for it. If the awaiting task is cancelled, it comes next."""
        import asyncio  # 15 ms, which those need not wait for who do not await

        loop = asyncio.get_running_loop()
        if self._closer == get_ident():
            raise StopAsyncIteration
        held: list[_Made] = []
        self._pick(held)
        while not held:
            leave = StopFlag()
            future = self._future_left(loop) or loop.run_in_executor(None, self._fetch, leave)
            try:
                await asyncio.shield(future)
            except asyncio.CancelledError:
                self._left.append(future)
                leave.set()  # else the program could not end while nothing comes
                raise
            self._pick(held)
        (made,) = held
        if isinstance(made.error, StopIteration):
            raise StopAsyncIteration
        if made.error is not None:
            raise made.error
        return made.element  # type: ignore[no-any-return]

    def __aiter__(self) -> DatasetIterator[T_co]:
        return self

    def _future_left(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None] | None:
        """Return what a task waited for that was cancelled; None if there is nothing."""
        while self._left:
            future = self._left.popleft()
            if future.get_loop() is loop:
                return future
        return None

    def _fetch(self, leave: StopFlag) -> None:
        """Make the next element, and keep it for whoever asks first; give up waiting if `leave` is set."""
        with self._lock:
            self._settle(self._records)
            try:
                self._make(None, leave)
            except Exception as error:
                if error is not self._opening.overdue:
                    self._slot.append(_Made(None, None, error))
        if self._closed:
            self._close_late()

    def start(self) -> None:
        """Open the input now, not with the first `next`. A `prefetch` at the end begins to work.

        Workers of `map` alone begin with the first `next`: end the dataset with `.prefetch(n)` to begin now.
        """
        self._not_within("start")
        with self._lock:
            if self._over:
                return
            begin = getattr(self._running().stream, "begin", None)
            try:
                if begin is not None:
                    begin()
            except BaseException:
                self._break()
                raise

    def close(self) -> None:
        """End the threads and close the files; does nothing the second time.

        Your own loop has then come to its end. Those of other threads get a CancelledError. A function of the dataset,
        or a signal handler within `next`, may call it too: the files are closed when `next` returns.

        Raises:
            RuntimeError: Another thread is in `next`, and does not come out within `grace` seconds.
        """
        self._closer = get_ident()
        self._unready()
        if self._times.begun_at is not None:
            self._times.end()
        self._opening.stop()
        if _mine(self._lock) or serving.bell is self._opening.bell:
            return
        if not self._stop_within(self.grace):
            raise RuntimeError(f"close: a thread is still in next after {self.grace:g} seconds")

    def _close_late(self) -> None:
        """Close the files after a `close` within `next`; if another thread is there, it does so when it comes out."""
        with contextlib.suppress(Exception):
            self._stop_within(0)

    def _stop_within(self, seconds: float) -> bool:
        """End threads and close files if no other thread is in `next`, or leaves it within so many seconds; return
        whether that is so."""
        try:
            alone = self._lock.acquire(timeout=seconds)
            if alone:
                self._stop()
            return alone
        finally:  # Ctrl-C may strike before `alone` is known, and in here
            try:
                self._let_go()
            finally:
                self._let_go()

    def _let_go(self) -> None:
        """Release the lock, if this thread holds it."""
        if _mine(self._lock):
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
            behind: Go back so many elements, at most 64: for batches you hold back, as in a device prefetch.

        Raises:
            FailedPreconditionError: A source cannot be rewound; the message names it.
            TypeError, ValueError: `behind` is not an integer, or there were not so many elements.

        Thread safety: you may call it from any thread.
        """
        behind = integer(behind, "state_dict: behind")
        loaded = self._loaded  # once: another thread may open the stream meanwhile
        if loaded is not None and not behind:
            found: dict[str, Any] = copy.deepcopy(loaded)
            return found
        if not self._records:
            self._not_within("state_dict")
            with self._lock:
                self._running()
        records = self._history(self._records, 2 * BEHIND)
        if not 0 <= behind <= BEHIND or behind >= len(records):
            raise invalid(f"state_dict: behind must be 0 to {min(BEHIND, len(records) - 1)} here, got {behind}")
        record = records[-1 - behind]
        if isinstance(record.position, FailedPreconditionError):
            raise nowhere(record.position.message)  # anew: what is raised keeps the frames of its callers
        from pipeline.datasets.state import (
            state_of,  # with json: 2 ms, which a program without states need not wait for
        )

        return state_of(
            self._node,
            self._epoch,
            self._seeds,
            (record.batches, record.examples, record.value),
            record.position,
            self._opening,
        )

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
        from pipeline.datasets.state import check_state, position_here  # as in `state_dict`

        self._not_within("load_state_dict")
        with self._lock:
            if self._over or not self._untouched():
                text = "load_state_dict: this iterator has begun. Load a state before the first element"
                raise FailedPreconditionError(None, None, text)
            check_state(state, self._node, self._epoch, allow)
            for node in nodes_of(self._node):
                node.check_things(state["things"])
            position = position_here(state, self._node, allow)
            seeds = list(zip(seeds_of(self._node), state["seeds"], strict=True))
            for seed, pair in seeds:
                if not seed.drawn and list(seed.pair) != list(pair):
                    given = given_seed(pair), given_seed(seed.pair)  # one number, as users gave it
                    then, now = given if None not in given else (pair, list(seed.pair))
                    raise StateMismatchError([("seed", then, now)])
            delivered, text = state["delivered"], state["fingerprint"]
            record = Record(delivered["batches"], delivered["elements"], int(text.partition("-")[2], 16), position)
            records = deque([record], maxlen=2 * BEHIND)
            if self._stream is not None:  # `state_dict` or `start` has opened it
                self._break()
                stream, self._stream = self._stream, None
                self._opening.stop()
                stream.close()
            for seed, pair in seeds:
                if seed.drawn:
                    seed.adopt((pair[0], pair[1]))
                    self._seeds[seed] = pair[0], pair[1]
            self._loaded, self._records = state, records  # no call in between: Ctrl-C strikes in calls only

    def _untouched(self) -> bool:
        """Whether no element was made since it was opened, if it was, and it can be opened again."""
        if self._stream is None:
            return True
        last = self._last()
        return not self._slot and last.batches == self._began and not isinstance(last.position, Exception)

    def fingerprint(self, *, content: bool = False) -> str:
        """Return a short text for the order of all examples delivered so far: "<how many>-<16 hex digits>".

        It is the same for every number of workers, and in runs that were resumed, if the order is. Behind `checksum` it
        covers the examples' bytes too.

        Args:
            content: Whether it has to cover their bytes.

        Raises:
            FailedPreconditionError: It has to, and there is no `checksum` in the recipe.
        """
        if truth(content, "fingerprint: content") and not any(node.kind == "checksum" for node in nodes_of(self._node)):
            text = "fingerprint(content=True): the recipe has no checksum: add .checksum() to the dataset"
            raise FailedPreconditionError(None, None, text)
        last = self._newest()
        return f"{last.examples}-{last.value:016x}"

    @property
    def epoch(self) -> int:
        """Which pass it is, from 0."""
        return self._epoch

    @property
    def _begun(self) -> bool:
        """Whether it has opened its input, or gives nothing any more."""
        return self._stream is not None or self._over

    @property
    def _closed(self) -> bool:
        return self._closer is not None

    @property
    def _over(self) -> bool:
        """Whether it gives no element any more: it has ended, or is closed."""
        return self._closed or self._phase is _Phase.ENDED

    @property
    def delivered(self) -> tuple[int, int]:
        """How many elements `next` has returned, and how many examples these consist of, in earlier runs too."""
        last = self._newest()
        return last.batches, last.examples

    def _newest(self) -> Record:
        """Return what was delivered last."""
        return next(iter(self._history(self._records, 1)), Record(0, 0, 0, None))

    @property
    def num_dropped(self) -> int:
        """How many examples of a remainder were dropped."""
        return self._opening.dropped[0]

    @property
    def errors(self) -> list[Exception]:
        """The first hundred errors that were skipped."""
        return list(self._opening.skipped.errors)

    @property
    def num_errors(self) -> int:
        """How many examples were skipped because of an error."""
        return self._opening.skipped.count

    def report(self) -> Report:
        """Report what each part of your dataset does, which one is the bottleneck, and what to change.

        `print(iterator.report())` shows a table. Within `with pipeline.monitor():` it also knows who computes and who
        waits. docs/monitoring.md explains it.

        Thread safety: you may call it from any thread, at any time.
        """
        from pipeline.monitoring.sampler import report  # dataclasses and the tables, for those who look

        return report(self)

    def _facts(self) -> LoopFacts:
        parts = facts_of_parts(self._node, self._parts)
        return LoopFacts(
            self._name,
            self._state(),
            self.num_errors,
            self.num_dropped,
            self._times,
            parts,
            (self._meter.elements, self._meter.total),
        )

    def _after_fork(self) -> None:
        """In the child of a fork: whoever was in `next` is not there, nor what a function was making for it."""
        self._lock, self._handing = threading.RLock(), threading.RLock()
        if self._making and self._phase is not _Phase.ENDED:
            self._phase = _Phase.ABANDONED
        self._making = False
        self._forked()
        self._unready()  # a prefetch thread is not there either, and says so

    def _state(self) -> str:
        if self._over:
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

    def __del__(self) -> None:
        opening = getattr(self, "_opening", None)
        if opening is not None:
            try:
                opening.stop()
            finally:  # a signal handler may have raised in it
                opening.stop()


def _mine(lock: threading.RLock) -> bool:
    """Return whether this thread holds a lock. Nothing, not even a signal handler, comes between taking and knowing."""
    return bool(lock._is_owned())  # type: ignore[attr-defined]


def recipe_of(iterator: DatasetIterator[Any]) -> list[Any]:
    """Return the recipe that an iterator runs, as plain data."""
    return facts_of(iterator._node)
