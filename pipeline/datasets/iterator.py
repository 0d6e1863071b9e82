"""DatasetIterator: runs a recipe. It gives elements, says where it stands, goes on from there, and ends cleanly."""

from __future__ import annotations

import contextlib
import copy
import operator
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeVar

from pipeline import spans
from pipeline._flow import fold_on
from pipeline._meter import Gauge, Meter
from pipeline.datasets.node import Node, Opening, facts_of, nodes_of, seeds_of
from pipeline.datasets.parts import facts_of_parts, measured, name_of_recipe
from pipeline.datasets.seed import Seed
from pipeline.errors import DeadlineExceededError, FailedPreconditionError, StateMismatchError, invalid
from pipeline.explain.live import LoopFacts, LoopTimes, ended, loops
from pipeline.flow.segment import position_of
from pipeline.flow.stream import Element, elements_of, seek_later
from pipeline.runners.current_loop import loop_of_thread

if TYPE_CHECKING:
    import asyncio

    from pipeline.watch.model import Report

T_co = TypeVar("T_co", covariant=True)

# How many elements ago a state can be of.
BEHIND = 64


# For traces: an element whose queue is not known.
_TAKEN = spans.Taken(None, 1, 0, lambda first, count: None)


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
    """What a thread made for a task of asyncio, until somebody picks it up.

    Attributes:
        element: The element.
        record: What counts it as delivered.
        error: What was raised instead; StopIteration at the end.
    """

    element: Any
    record: Record | None
    error: Exception | None = None


class DatasetIterator(Generic[T_co]):
    """The elements of one pass of a dataset: an iterator, and a context manager that ends its threads.

    An ended iterator stays ended. `iter(dataset)` gives another one, with the same order under a seed, and
    `dataset.epoch(i)` the order of pass i.

    Thread safety: several threads may take elements; each goes to one of them.

    Attributes:
        grace: Seconds that threads get to end in `close`; 10 by default.
    """

    grace = 10.0

    def __init__(self, node: Node, epoch: int, seeds: Mapping[Seed, tuple[int, int]] | None = None) -> None:
        """Use `iter(dataset)`. `seeds` are those of an earlier iterator, which had loaded a state."""
        self._node, self._epoch = node, epoch
        self._lock = threading.Lock()
        self._owner: int | None = None  # the thread in `next`
        self._seeds: dict[Seed, tuple[int, int]] = dict(seeds or {})
        self._parts = measured(node)
        self._meter = Meter()  # of `next`
        self._times = LoopTimes()
        self._name = name_of_recipe(node)
        self._opening = Opening(self._name, self._seeds, self._parts)
        self._stream: Gauge | None = None
        self._element: Callable[[], Element | None] = lambda: None  # gives the next one of the stream
        self._loaded: Any = None  # the state, until the first element
        self._records: deque[Record] = deque(maxlen=2 * BEHIND)
        self._made = Record(0, 0, 0, None)  # of the last element that was made
        self._slot: deque[_Made] = deque()  # what was made for tasks of asyncio, until somebody picks it up
        self._left: deque[asyncio.Future[None]] = deque()  # what such tasks waited for that were cancelled
        self._ended = self._closed = self._struck = False
        loops.add(self)

    def __iter__(self) -> DatasetIterator[T_co]:
        return self

    def __next__(self) -> T_co:
        return self._take(None)

    def next(self, timeout: float | None = None) -> T_co:
        """Return the next element.

        Args:
            timeout: Seconds to wait; None for no limit. In your own thread it is looked at between two examples.

        Raises:
            StopIteration: The pass is over.
            DeadlineExceededError: The time is up. Nothing was lost: the next call goes on.
            Exception: What a function of yours raised; after that the iterator has ended.
        """
        if timeout is not None and not timeout >= 0:
            raise invalid(f"next: timeout must be a number of seconds, at least 0, got {timeout!r:.80}")
        return self._take(None if timeout is None else time.monotonic() + timeout)

    def _take(self, deadline: float | None) -> T_co:
        if self._owner == threading.get_ident():
            raise FailedPreconditionError(None, None, "next was called within next of the same iterator")
        with self._lock:
            while self._slot and (made := self._kept()) is not None:
                if not isinstance(made.error, StopIteration):
                    return self._given(made)
            self._owner = threading.get_ident()
            try:
                element = self._traced(deadline) if spans.on else self._taken(deadline)
            finally:
                self._owner = None
            self._records.append(self._made)
            return element

    def _traced(self, deadline: float | None) -> T_co:
        began = spans.begin(spans.NEXT_BEGINS, self._name)
        taken = None
        try:
            element = self._taken(deadline)
            taken = _TAKEN
        finally:
            spans.end(spans.NEXT_ENDS, began, taken)
        return element

    def _taken(self, deadline: float | None) -> T_co:
        if self._ended or self._closed:
            raise StopIteration
        opening, outer = self._opening, loop_of_thread.coord
        opening.deadline = deadline
        try:
            stream = self._stream
            if stream is None or self._struck:
                stream = self._running()
            coords = self._opening.coords
            loop_of_thread.coord = coords[0] if coords else None  # producers that are read from start with the iterator
            found = self._element()
            if found is None:
                self._end()
                raise StopIteration
            element, value, size = found
            last = self._made
            value = fold_on(last.value, value, size)
            self._made = Record(last.batches + 1, last.examples + size, value, position_of(stream))
            if self._times.first_at is None:
                self._times.first_at = time.monotonic()
        except (DeadlineExceededError, StopIteration):
            raise
        except Exception:
            with contextlib.suppress(Exception):  # a thread that failed of the same
                self._end()
            raise
        except BaseException:
            self._struck = not getattr(getattr(self._stream, "stream", None), "apart", False)
            raise
        finally:
            opening.deadline, loop_of_thread.coord = None, outer
        return element  # type: ignore[no-any-return]

    def _running(self) -> Gauge:
        """Return the stream, opened if need be, where the last element left it."""
        if self._struck:
            last = self._made if self._records else None
            if last is not None and isinstance(last.position, Exception):
                self._end()
                text = f"the iterator was interrupted, and cannot go on: {last.position}. Make a new one"
                raise FailedPreconditionError(None, None, text)
            self._opening.stop()
            if self._stream is not None:
                self._stream.close()
            self._opening = self._opening.again()
            self._stream, self._struck = None, False
            if last is not None:
                self._stream = self._opened(last.position)
                self._element = self._stream.element
        if self._stream is None:
            self._stream = self._open()
            self._element = self._stream.element
        return self._stream

    def _open(self) -> Gauge:
        self._times.begin()
        state, self._loaded = self._loaded, None
        if state is not None:
            self._opening.things.saved = state["things"]
        stream = self._measured()
        if state is None:
            self._made = Record(0, 0, 0, position_of(stream))
            self._records.append(self._made)
            return stream
        try:
            seek_later(stream, state["position"])
        except StateMismatchError:
            raise
        except (TypeError, ValueError, KeyError, IndexError) as error:
            raise invalid(f"load_state_dict: the position of the state does not fit this recipe: {error}") from error
        self._opening.remember(state["files"])
        return stream

    def _measured(self) -> Gauge:
        """Return the stream, so that the time in it counts: its meter is that of `next`."""
        stream = self._node.open(self._opening, self._epoch)
        if not isinstance(stream, Gauge):
            stream = Gauge(stream, elements_of(stream), self._meter)
        self._meter = stream.meter
        return stream

    def _opened(self, position: Any) -> Gauge:
        stream = self._measured()
        seek_later(stream, position)
        return stream

    def _end(self) -> None:
        self._ended = True
        self._times.end()
        ended.note(self)
        self._stop()

    def _stop(self) -> None:
        """End threads and close files; raise what a thread that fills a queue has raised."""
        self._opening.stop()
        if self._stream is not None:
            self._stream.close()
        if self._opening.coord is not None:
            self._opening.coord.join(stop_grace_period_secs=self.grace)

    async def __anext__(self) -> T_co:
        """Return the next element; a thread waits for it. If the awaiting task is cancelled, it comes next."""
        import asyncio  # 15 ms, which those need not wait for who do not await

        loop = asyncio.get_running_loop()
        while (made := self._kept()) is None:
            future = self._future_left(loop) or loop.run_in_executor(None, self._fetch)
            try:
                await asyncio.shield(future)
            except asyncio.CancelledError:
                self._left.append(future)
                raise
        if isinstance(made.error, StopIteration):
            raise StopAsyncIteration
        return self._given(made)

    def __aiter__(self) -> DatasetIterator[T_co]:
        return self

    def _future_left(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None] | None:
        """Return what a task waited for that was cancelled; None if there is nothing."""
        while self._left:
            future = self._left.popleft()
            if future.get_loop() is loop:
                return future
        return None

    def _fetch(self) -> None:
        """Make the next element, and keep it for whoever asks first."""
        with self._lock:
            self._owner = threading.get_ident()
            try:
                made = _Made(self._taken(None), self._made)
            except Exception as error:
                made = _Made(None, None, error)
            finally:
                self._owner = None
            self._slot.append(made)

    def _kept(self) -> _Made | None:
        """Return what was made for a task of asyncio and not picked up."""
        try:
            return self._slot.popleft()
        except IndexError:
            return None

    def _given(self, made: _Made) -> T_co:
        if made.error is not None:
            raise made.error
        assert made.record is not None
        self._records.append(made.record)
        return made.element  # type: ignore[no-any-return]

    def start(self) -> None:
        """Open the input now, and let its threads begin, not with the first `next`. Load a state before."""
        with self._lock:
            if not (self._ended or self._closed):
                self._running()

    def close(self) -> None:
        """End the threads and close the files; does nothing the second time.

        Raises:
            RuntimeError: Another thread is in `next`, and does not come out within `grace` seconds.
        """
        self._closed = True
        if self._times.begun_at is not None:
            self._times.end()
        self._opening.stop()
        if self._owner == threading.get_ident():
            return  # within a function that it calls: `next` ends it
        if not self._lock.acquire(timeout=self.grace):
            raise RuntimeError(f"close: a thread is still in next after {self.grace:g} seconds")
        try:
            self._stop()
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
        """Return the state after the last element that `next` returned, as plain data: a few kilobytes of JSON.

        Save it together with the model, in one file; see `save_state`.

        Args:
            behind: As of so many elements ago, at most 64: for batches that wait elsewhere, as in a device prefetch.

        Raises:
            FailedPreconditionError: A source cannot go back to a position; the message names it.
            TypeError, ValueError: `behind` is not an integer, or there were not so many elements.

        Thread safety: any thread may call it.
        """
        if self._loaded is not None and not behind:
            found: dict[str, Any] = copy.deepcopy(self._loaded)
            return found
        if not self._records:
            with self._lock:
                self._running()
        records = list(self._records)
        behind = operator.index(behind)
        if not 0 <= behind <= BEHIND or behind >= len(records):
            raise invalid(f"state_dict: behind must be 0 to {min(BEHIND, len(records) - 1)} here, got {behind}")
        record = records[-1 - behind]
        if isinstance(record.position, FailedPreconditionError):
            raise record.position
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
        """Go on from a state: the next element is the one that came next when it was saved.

        The dataset must have been made in the same way, but for workers and prefetch.

        Args:
            state: What `state_dict` returned, in this process or another.
            allow: Differences to accept: "batch_size", "num_epochs", "shard", "mtime".

        Raises:
            StateMismatchError: It was saved by another dataset, or over other files. Nothing has changed.
            InvalidArgumentError, TypeError: It is not a state, or is damaged.
            FailedPreconditionError: The iterator has begun.
        """
        from pipeline.datasets.state import check_state  # as in `state_dict`

        with self._lock:
            if self._stream is not None or self._closed or self._ended:
                text = "load_state_dict: this iterator has begun. Load a state before the first element"
                raise FailedPreconditionError(None, None, text)
            check_state(state, self._node, self._epoch, allow)
            for seed, pair in zip(seeds_of(self._node), state["seeds"], strict=True):
                if seed.drawn:
                    seed.adopt((pair[0], pair[1]))
                    self._seeds[seed] = pair[0], pair[1]
                elif list(seed.pair) != list(pair):
                    raise StateMismatchError([("seed", pair, list(seed.pair))])
            self._loaded = state
            delivered, text = state["delivered"], state["fingerprint"]
            self._records.clear()
            value = int(text.partition("-")[2], 16)
            self._made = Record(delivered["batches"], delivered["elements"], value, state["position"])
            self._records.append(self._made)

    def fingerprint(self, *, content: bool = False) -> str:
        """Return a short text for the order of all examples delivered so far: "<how many>-<16 hex digits>".

        It is the same for every number of workers, and in runs that were resumed, if the order is. Behind `checksum` it
        covers the bytes of the examples too.

        Args:
            content: Whether it has to cover their bytes.

        Raises:
            FailedPreconditionError: It has to, and there is no `checksum` in the recipe.
        """
        if content and not any(node.kind == "checksum" for node in nodes_of(self._node)):
            text = "fingerprint(content=True): the recipe has no checksum: add .checksum() to the dataset"
            raise FailedPreconditionError(None, None, text)
        last = self._records[-1] if self._records else self._made
        return f"{last.examples}-{last.value:016x}"

    @property
    def epoch(self) -> int:
        """Which pass it is, from 0."""
        return self._epoch

    @property
    def begun(self) -> bool:
        """Whether it has opened its input, or is closed."""
        return self._stream is not None or self.over

    @property
    def over(self) -> bool:
        """Whether it gives no element any more: it has ended, or is closed."""
        return self._ended or self._closed

    @property
    def seeds(self) -> dict[Seed, tuple[int, int]]:
        """The seeds of a loaded state, in the place of those of the recipe."""
        return dict(self._seeds)

    @property
    def delivered(self) -> tuple[int, int]:
        """How many elements `next` has returned, and how many examples these consist of, in earlier runs too."""
        last = self._records[-1] if self._records else self._made
        return last.batches, last.examples

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
        """What each part of the dataset does, which one limits the others, and what to turn: see docs/monitoring.md.

        `print(iterator.report())` shows it as a table. Counters tell the most; within `with pipeline.monitor():` it
        also knows processors, the interpreter's lock and how full the queues were. It starts, blocks and changes
        nothing.

        Thread safety: any thread may call it at any time, also before the first element and after the end.
        """
        from pipeline.watch.sampler import report  # dataclasses and the tables, for those who look

        return report(self)

    def _facts(self) -> LoopFacts:
        parts = facts_of_parts(self._node, self._parts)
        return LoopFacts(
            self._name,
            "dataset",
            self._state(),
            None,
            None,
            (),
            {},
            self.num_errors,
            self.num_dropped,
            self._times,
            parts,
            (self._meter.elements, self._meter.total),
        )

    def _after_fork(self) -> None:
        """In the child of a fork: whoever was in `next` is not there."""
        self._lock = threading.Lock()
        self._owner = None

    def _state(self) -> str:
        return "closed" if self._closed else "ended" if self._ended else "running" if self._stream else "not started"

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
            opening.stop()


def recipe_of(iterator: DatasetIterator[Any]) -> list[Any]:
    """Return the recipe that an iterator runs, as plain data."""
    return facts_of(iterator._node)
