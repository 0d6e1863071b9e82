"""The loop over batches: starts the threads that read the sources, hands out batches, stops the threads."""

from __future__ import annotations

import operator
import threading
import weakref
from collections.abc import Collection, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from pipeline import spans
from pipeline._delivery import Next
from pipeline.batches.content import combined
from pipeline.batches.crew import Crew, Opening, abandon, asked_meanwhile
from pipeline.batches.feed import Feed
from pipeline.batches.inline import Inline
from pipeline.batches.ordered import OrderedFeed
from pipeline.batches.snapshot import CLOSED, FAILED, READ_ONCE, fingerprint_text, load, no_order, state_of, what_to_say
from pipeline.batches.source import is_iterable, loop_left
from pipeline.batches.stays import StaysHere
from pipeline.batches.taken import note_taken
from pipeline.errors import FailedPreconditionError, OutOfRangeError
from pipeline.explain.frames import warn
from pipeline.explain.live import LoopFacts, LoopTimes, loops, noted_inputs
from pipeline.explain.workers import WorkerGroup
from pipeline.logs import is_heard, logger
from pipeline.queues.base import QueueBase
from pipeline.runners.coordinator import Coordinator
from pipeline.runners.current_loop import loop_of_thread
from pipeline.runners.registry import start_registered

if TYPE_CHECKING:
    from pipeline.watch.model import Report

T_co = TypeVar("T_co", covariant=True)  # a batch

# What reports show of a request.
SETTINGS = "batch_size", "num_threads", "capacity", "min_after_dequeue", "enqueue_many", "deterministic"

# Any, as typeshed says "perhaps None": a type checker knows the attributes, and asks for no check that is in vain.
MaybeNone: TypeAlias = Any

_log = logger("pipeline.batches")


class Batches(StaysHere, Next[T_co], Iterator[T_co]):
    """The batches that threads prepare: an iterator, and a context manager that stops the threads however you leave it.

    The first batch starts the threads; with `num_threads=0` there are none, and `next` reads the source. The loop ends
    by itself when the input is used up. What a thread raises, the loop raises after the batches made before. Without
    `with`, the threads stop at the end of the input, by `close`, or when the iterator is garbage. Queue runners that
    were registered with `add_queue_runner` and never started belong to the first loop that starts.

    After the end, `iter` begins again if all sources are arrays, other sequences, iterables that are no iterators, or
    generator functions: `for epoch in range(3): for batch in loop: ...` reads them three times, in another random
    order each time if they are shuffled. Other sources, and loops that failed or are closed, give nothing, and warn.

    Examples at the end that fill no batch are dropped, unless `allow_smaller_final_batch`. The log says so once, as a
    RuntimeWarning does without a handler if there was no batch at all; `num_dropped` counts them.

    Thread safety: several threads may take batches from one iterator; each batch goes to one of them. A new
    round begins for a thread that has seen the end of the last one.

    For type checkers the class is generic: `Batches[T]` is an iterator over batches of the type T. The batch functions
    return `Batches[Any]`, because only the first example decides what a batch is.

    Attributes:
        queue: The queue of examples; None until you ask for the first batch, as the first example decides its dtypes.
        coord: The Coordinator of the threads. A loop that was given one never stops it: it closes only its own queue,
            and whoever owns the Coordinator joins the threads.
        num_dropped: Examples at the end that filled no batch, in all rounds; with `shard`, no batch of all hosts.
        grace: Seconds that the threads get to end when the loop is left; 10 by default.
    """

    grace = 10.0

    def __init__(self, feed: Feed) -> None:
        """Made by the batch functions.

        Args:
            feed: What the threads do; it knows their Coordinator, which is the loop's own unless the request has one.
        """
        self.coord = feed.coord
        self.queue: QueueBase | MaybeNone = None
        self._skips = feed.skips
        self._owner, self._name = feed.request.coord is None, feed.request.name
        self._lock = threading.RLock()  # guards the start and the end
        self._planned: Feed | None = feed  # until it is started
        self._latest = feed
        self._open: Feed | None = None  # from its start to its end
        self._taker: Feed | None = None  # what `next` takes from: once the threads have begun
        self._ended = self._closed = False
        self._opening = Opening()  # the last one; this one is none
        self._over: Feed | None = None  # whose input was used up
        self._seen = threading.local()  # `over`: the same, as far as a thread knows
        self._told: set[str] = set()  # what the log says once
        self.num_dropped = 0
        self._guard: weakref.finalize[[Feed, Coordinator | None], Batches[Any]] | None = None
        self._group: WorkerGroup | None = None
        self._crew: Crew | Inline | MaybeNone = None  # until the end
        self._times = LoopTimes()
        loops.add(self)

    @property
    def num_errors(self) -> int:
        """How many examples were dropped because of an error; see `on_error`."""
        return self._skips.count

    @property
    def errors(self) -> list[Exception]:
        """The first hundred of these errors; each has the text of its traceback as a note, from Python 3.11 on."""
        return list(self._skips.errors)

    def __repr__(self) -> str:
        return f"<Batches '{self._name}': {self._state}>"

    @property
    def _state(self) -> str:
        return "closed" if self._closed else "ended" if self._ended else "running" if self._taker else "not started"

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    def __len__(self) -> int:
        """How many batches one time through the sources gives.

        Raises:
            TypeError: It is not known, and why: a source is a function, a queue or an iterator, or has no end; blocks
                come from `enqueue_many`; `keep_input` or `on_error` may leave something out; there are buckets.
        """
        return self._latest.number_of_batches()

    def __bool__(self) -> bool:
        return True  # not whether there are batches, which may not be known

    def __iter__(self) -> Batches[T_co]:
        """Begin again after the end, if the sources can be read again; else change nothing."""
        if not self._ended:  # in the middle
            return self
        seen = getattr(self._seen, "over", None)
        with self._lock:
            over = self._over
            if self._closed or (self._owner and self._ended and over is None):
                self._say("in vain", CLOSED if self._closed else FAILED, True)
            elif over is seen and over is not None and (self._owner or not self.coord.should_stop()):
                if not over.starts_over:
                    self._say("once", READ_ONCE, True)
                    return self
                self._planned = self._latest = over.again()
                self.coord = self._planned.coord
                self._over, self._guard, self._ended = None, None, False
        return self

    def _next(self) -> T_co:
        """As `next`, for the first batch and in a run that is traced."""
        began = spans.begin(spans.NEXT_BEGINS, self._name) if spans.on else 0
        taker, before = self._taker, 0
        try:
            if taker is not None:
                before = taker.outlet.under_way()
                batch: T_co = taker.take()  # whoever names T knows the examples
            elif (taker := self._start()) is not None:
                batch = self._times.timed_first(taker.take)
            if taker is not None:
                if began:
                    note_taken(began, self._latest)
                taker.outlet.left = True  # and Ctrl-C does not strike any more before the return
                return batch
        except BaseException as error:
            if taker is not None:
                taker.outlet.give_back(before)
            if not isinstance(error, OutOfRangeError):
                spans.end(spans.NEXT_ENDS, began, None)
                raise
            self._end(taker)
        spans.end(spans.NEXT_ENDS, began, None)
        self._seen.over = self._over
        raise StopIteration

    def _ended_by(self, taker: Feed) -> None:
        self._end(taker)
        self._seen.over = self._over

    def __enter__(self) -> Batches[T_co]:
        if self._closed:
            raise FailedPreconditionError(None, None, f"{self._name}: {CLOSED}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.close()
        except Exception as other:
            if error is None:
                raise
            if other is not error:  # what broke the loop matters more
                _log.warning("while a loop over batches ended because of %r: %r", error, other)

    def close(self) -> None:
        """Stop the threads, close the queues and wait for the threads to end; does nothing the second time.

        One of these threads, in a function of yours, does not wait for itself: all end soon, and the loop at once.

        Raises:
            Exception: What a thread raised and the loop has not raised yet.
            RuntimeError: A thread does not end within `grace` seconds; the message names it. It may be one in `next`,
                as long as the source makes the first example.
        """
        self._closed = True
        if self._owner and self._group is not None and self._group.includes(threading.current_thread()):
            self._ended, self._taker = True, None
            self.coord.request_stop()
            return
        if (planned := self._planned) is not None and not self._ended:  # a start that waits for its source has the lock
            planned.stop()
            if self._owner:
                self.coord.request_stop()
            self._opening.wait(self._name, self.grace)
        with self._lock:
            if not (self._ended and (self.coord.joined if self._owner else self._open is None)):
                self._finish()

    # What a deterministic loop can do besides

    def start(self) -> None:
        """Begin to fill the queue now, not with the first `next`: for example while a model is restored.

        Returns when there is a first example. Does nothing once the loop has begun or ended. Load a state before.

        Raises:
            Exception: What the source raised.

        Thread safety: any thread may call it.
        """
        try:
            self._start()
        except OutOfRangeError:
            self._end(None)

    def state_dict(self, *, behind: int = 0) -> dict[str, Any]:
        """The state after the last batch that `next` returned, as plain data: JSON and msgpack take it as it is.

        It costs what the journal of the input costs, not what the pool holds, and waits for no thread. Its size is one
        or two kilobytes, and 0.2 more for each file that was read. Save it together with the model, in one file; see
        `save_state`.

        Args:
            behind: As of so many batches ago, at most 64, and none from before a load: for batches that wait elsewhere,
                as in a device prefetch.

        Raises:
            FailedPreconditionError: The loop is not deterministic, or its source cannot go back to a place.
            TypeError, ValueError: `behind` is not an integer, or negative, or there were not so many batches.

        Thread safety: any thread may call it.
        """
        return state_of(self._ordered("state_dict"), operator.index(behind))

    def load_state_dict(self, state: dict[str, Any], *, allow: Collection[str] = ()) -> None:
        """Go on from a state: the next batch is the one that came next when it was saved.

        The loop must have been made in the same way, but for `num_threads`, `capacity`, executors, `coord` and names.
        Everything that can be checked is, first; the rest (what the function reads) by the first batch. Nothing starts.

        Args:
            state: What `state_dict` returned, in this process or another.
            allow: Differences to accept: "batch_size" (the examples go on in the same order), "num_epochs", "shard"
                (another host's share, or another number of hosts, with the same global batch), "mtime" (of files that
                have no checksum in the state).

        Raises:
            StateMismatchError: It was saved by another loop, or over other files. Nothing has changed.
            InvalidArgumentError, TypeError: It is no state, or was saved by a later version.
            FailedPreconditionError: The loop is not deterministic, or has begun.
            TypeError, ValueError: `allow` is a str, not a collection of them, or names something else.

        Thread safety: any thread may call it. Nobody may change `state` meanwhile.
        """
        with self._lock:
            feed = self._ordered("load_state_dict")
            if feed is not self._planned or self._closed or self._ended:
                text = "load_state_dict: this loop has begun. Load a state before the first batch"
                raise FailedPreconditionError(None, None, text)
            load(feed, state, allow)

    def fingerprint(self, *, content: bool = False) -> str:
        """A short text for the order of all examples delivered so far: "<how many>-<16 hex digits>".

        It is the same for every number of threads and processes, batch size and way of resuming, if the order is.

        Args:
            content: Add "-<8 hex digits>" for the bytes of these examples, in a loop with `fingerprint="content"`. They
                do not depend on the batch size either, but for components that are padded.

        Raises:
            FailedPreconditionError: The loop is not deterministic, or was not to look at the bytes.

        Thread safety: any thread may call it.
        """
        feed = self._ordered("fingerprint")
        delivered = feed.delivered.newest
        text = fingerprint_text(delivered.own, delivered.value)
        if content and feed.request.fingerprint != "content":
            reason = 'fingerprint(content=True): pass fingerprint="content" to the batch function, so that bytes count'
            raise FailedPreconditionError(None, None, reason)
        return f"{text}-{combined(delivered.content):08x}" if content else text

    @property
    def delivered(self) -> tuple[int, int]:
        """How many batches and elements `next` has returned, in all rounds, and in the runs before a resume too.

        With `shard`, the elements are those of all hosts.

        Raises:
            FailedPreconditionError: The loop is not deterministic.

        Thread safety: any thread may ask for it.
        """
        delivered = self._ordered("delivered").delivered.newest
        return delivered.batches, delivered.elements

    def report(self) -> Report:
        """What the stages of this loop do, what holds it back, and what to turn: see docs/monitoring.md.

        `print(batches.report())` shows it as a table. Counters tell the most; within `with pipeline.monitor():` it
        also knows processors, the interpreter's lock and how full the queues were. It starts, blocks and changes
        nothing.

        Thread safety: any thread may call it at any time, also before the first batch and after the end.
        """
        from pipeline.watch.sampler import report  # dataclasses and the tables, for those who look

        return report(self)

    def _after_fork(self) -> None:
        """In the child of a fork: what other threads held is held for ever; queues say what the matter is."""
        self._lock = threading.RLock()
        self._latest.after_fork()
        if self._crew is not None:
            self._crew.after_fork()

    def _facts(self) -> LoopFacts:
        feed = self._latest
        settings = {name: getattr(feed.request, name) for name in SETTINGS}
        settings["in_turns"] = any(map(is_iterable, feed.request.sources)) and not feed.request.joined
        facts = self._name, feed.kind, self._state, self.queue, self._group, feed.request.sources, settings
        return LoopFacts(*facts, self.num_errors, self.num_dropped, self._times)

    def _ordered(self, what: str) -> OrderedFeed:
        feed = self._latest
        if not isinstance(feed, OrderedFeed):
            raise no_order(what, feed.request.inline)
        return feed

    def _start(self) -> Feed | None:
        """Get the first example, make the queue for it and start the threads; None after the end."""
        if self._closed:  # whoever closes it has the lock, and may wait for the `next` that this one is within
            return None
        if self._group is not None and self._group.includes(threading.current_thread()):
            raise asked_meanwhile(self._name, "makes examples: by its own source, by a finalizer, or")
        with self._lock:
            feed = self._planned
            if self._ended or self._taker is not None:
                return self._taker
            self._opening.check_over(self._name)
            if feed is not None and self._guard is None:  # before there are threads: Ctrl-C may strike among them
                self._guard = weakref.finalize(self, abandon, feed, self.coord if self._owner else None)
                self._guard.atexit = False
            outer, loop_of_thread.coord = loop_of_thread.coord, self.coord
            try:
                if feed is not None:  # else a signal handler raised while the threads began
                    self._open_feed(feed)
                taker = None if self._crew is None else self._crew.begin()  # None: a signal handler took all there was
                self._taker = None if self._ended else taker  # a thread may have closed it
            except Exception as error:
                if not isinstance(error, OutOfRangeError):  # as if it had happened in a thread
                    self.coord.request_stop(error)
                    self._finish()
                raise
            finally:
                loop_of_thread.coord = outer
            return self._taker

    def _open_feed(self, feed: Feed) -> None:
        start_registered(self.coord)
        self._opening = opening = Opening()
        with noted_inputs() as inputs, opening.under_way:
            if self._planned is not feed:  # a signal handler has opened it meanwhile
                return
            feed.open()
            ops = feed.ops  # a signal handler that closes the loop from here on has the feed drop them
            if self._ended:  # by its own source
                feed.leave()
                raise loop_left()
            self._times.begin()
            crew = Inline(feed) if feed.request.inline else Crew(feed, ops, weakref.ref(self), self._owner)
            crew.group.takes_from(inputs)
            self.queue, self._group, self._open = feed.queue, crew.group, feed
            self._planned, self._crew = None, crew  # Ctrl-C never strikes between the two

    def _end(self, taker: Feed | None) -> None:
        """End the round that `taker` was for, or the one that was about to start, and raise what a thread raised."""
        with self._lock:
            if taker is not None and taker is not self._taker and not self._ended:
                return  # another thread has begun a new round meanwhile
            said = self._note_end()
            over, self._over = self._over, None
            cut = None if over is None else over.cut_short()
            if cut is not None:
                over, said = None, []
                self.coord.request_stop(cut)
            self._finish()
            self._over = over
        for each in said:
            self._say(*each)

    def _note_end(self) -> list[tuple[str, str, bool]]:
        """If the input was used up, and not the loop left: count what filled no batch, and return what to say."""
        feed = self._open or self._planned
        if self._ended or self._closed or feed is None or self.coord.should_stop():
            return []
        self._over, (left, read) = feed, feed.left_over()
        self.num_dropped += left
        return what_to_say(feed, left, read, self._skips)

    def _say(self, subject: str, text: str, in_vain: bool) -> None:
        """Say something once for this loop: in the log, or, if nobody listens to it and a `for` was in vain, shown."""
        show, subject = (warn, "shown") if in_vain and not is_heard(_log) else (_log.warning, subject)
        if subject not in self._told:
            self._told.add(subject)
            show(f"{self._name}: {text}")

    def _finish(self) -> None:
        """Stop what was started and raise what a thread raised, each time; after Ctrl-C here `close` does it again."""
        with self._lock:
            self._ended, self._taker = True, None  # before the Coordinator knows: `next` ends from then on
            self._times.end()
            feed = self._open or self._planned
            if feed is not None:
                feed.leave()
            if self._owner:
                self.coord.request_stop()
            if self._guard is not None:
                self._guard.detach()  # it would keep the feed alive, and so this loop, by an error that the feed knows
            crew, self._crew, self._open = self._crew, None, None
            if crew is not None:
                crew.settle(self.grace)
            elif self._group is None:  # nobody has read more than the first example
                self._latest.put_away()
            if self._owner and not self.coord.joined:
                self.coord.join(stop_grace_period_secs=self.grace)
            self.coord.raise_requested_exception()
