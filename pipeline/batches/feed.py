"""What the threads of a loop over batches do: take examples from the sources and put them into the queue."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline._delivery import Outlet
from pipeline.batches.iterables import starts_over
from pipeline.batches.keep_input import KeepInput, kept_rows
from pipeline.batches.layout import ExampleLayout, ToComponents
from pipeline.batches.lengths import number_of_batches
from pipeline.batches.mapped import read_by
from pipeline.batches.request import Request
from pipeline.batches.short_way import mover
from pipeline.batches.skipping import careful_store, careful_take
from pipeline.batches.source import (
    CHECK_INTERVAL,
    OpenSource,
    is_iterable,
    loop_left,
    open_source,
    recall,
    weakly,
)
from pipeline.errors import CancelledError, DeadlineExceededError, OutOfRangeError
from pipeline.explain.reads import Noted, first_reads, note_again, noted
from pipeline.nest import length
from pipeline.on_error import SKIPPED, Skips
from pipeline.producers.queue import Hand
from pipeline.queues.base import QueueBase
from pipeline.queues.kinds import FIFOQueue
from pipeline.queues.typed import TypedQueue
from pipeline.runners.coordinator import Coordinator
from pipeline.runners.enqueue_ops import op_name
from pipeline.sources.source import TableCursor
from pipeline.sources.stream import PartsCursor

# Sources that give their items whoever asks, and at any place.
_SEQUENCES = np.ndarray, list, tuple, range

# Batches of rows in memory that are gathered at once, unless that is more than a block: it costs 15 us to begin.
AHEAD = 32


class Feed:
    """What the threads share. They hold this, not the loop, so that an abandoned loop can be collected as garbage.

    Args:
        request: What the batch function was asked for.

    Raises:
        TypeError, ValueError: Arguments that make no sense.

    Attributes:
        queue: What the loop takes its batches from.
        ops: The enqueue ops. Each belongs to one thread.
        coord: The Coordinator of the threads.
        layout: The layout of the examples, once the first one has come.
        skips: What `on_error="skip"` has left out.
        round: How often the sources have been read before.
        opened: Whether `open` has returned.
        outlet: What batches leave by, so that Ctrl-C loses none; it is there once the feed is open.
        seeds_drawn: Whether chance decides what is drawn from the queue, if anything is.
    """

    queue: QueueBase  # not before there is an example
    ops: Sequence[Callable[[], None]]
    round = 0  # how often the sources have been read before
    opened = False
    _hand: Hand | None = None  # what takes rows in memory, which Ctrl-C must not lose
    _first: list[tuple[Any, Noted]]  # the first example, until it is stored
    outlet: Outlet
    _found: tuple[list[OpenSource], int, Any, Noted] | None = None  # the open sources, and the first example
    _kept: list[list[Any]]  # of each source, until then: the example that it gave last, if Ctrl-C could lose that
    one_by_one = False  # every example is looked at, so that blocks of them are of no use

    def __init__(self, request: Request) -> None:
        self._keep = KeepInput(request.keep_input, request.enqueue_many)
        self.skips = Skips(request.on_error, request.max_errors)
        self.seeds_drawn = request.seed is None
        self._planned = request.checked()
        self.request = request = self._planned.for_round(0)
        self.coord = Coordinator() if request.coord is None else request.coord
        self.layout: ExampleLayout | None = None
        self._left = False
        self._kept = [[] for _ in request.sources]
        # The block in a thread's hand is beside the queue; a batch may be larger than the queue.
        self._block_rows = None if self.one_by_one or self._keep.asks else self._most_rows()

    @property
    def kind(self) -> str:
        """The name of the batch function."""
        shuffled = "" if self.request.min_after_dequeue is None else "shuffle_"
        return f"{shuffled}batch{'_join' if self.request.joined else ''}"

    @property
    def functions(self) -> str:
        """The names of the sources."""
        return ", ".join(map(op_name, self.request.sources))

    @property
    def starts_over(self) -> bool:
        """Whether the sources begin with their first example each time they are opened."""
        return all(is_iterable(source) and starts_over(source) for source in self._planned.sources)

    def cut_short(self) -> Exception | None:
        """The error to raise at the end of the input if it has fewer examples than it had; None if nobody knows."""
        return None

    def number_of_batches(self) -> int:
        """How many batches one time through the sources gives; TypeError if that is not known."""
        flags = {"keeps_all": self._keep.all, "skips": self.skips.active, "buckets": self.one_by_one}
        return number_of_batches(self._planned, **flags)

    def again(self, number: int | None = None) -> Feed:
        """A feed like this one that reads the sources from their first example; see `starts_over`.

        Args:
            number: How often they count as read before; None: once more than here.
        """
        other = copy.copy(self)
        other.round = self.round + 1 if number is None else number
        other.request = self._planned.for_round(other.round)
        other.coord = Coordinator() if self.request.coord is None else self.coord
        other.layout, other._left = other._found, other.opened = None, False
        other._hand, other._kept = None, [[] for _ in self.request.sources]
        for name in ("queue", "outlet"):  # `leave` asks whether there is one
            other.__dict__.pop(name, None)
        return other

    def left_over(self) -> tuple[int, int]:
        """At the end of the input: how many examples became no batch, and how many were read."""
        if self.layout is None:  # no example came
            return 0, 0
        stats = self.queue.stats()
        return stats.size, stats.enqueued

    @property
    def enough(self) -> int:
        """How many elements there must be in the queue for a batch."""
        return self.request.batch_size + (self.request.min_after_dequeue or 0)

    @property
    def first_op(self) -> int:
        """The number of the op that is called first, if they take turns."""
        return 0

    def open(self) -> None:
        """Get the first example, make the queue for it, and the ops. After Ctrl-C go on with the first example that
        there was; once this has returned, do nothing.

        Raises:
            OutOfRangeError: There is no example.
            Exception: What a source raised.
        """
        if not self.opened:
            self._open()
            self.outlet = self._make_outlet()
            self.opened, self._found, self._kept = True, None, []  # whoever refers to large arrays has them copied

    def _open(self) -> None:
        if self._keep.none:
            self._park()
            return
        opened, index, first, known = self._found or self._first_example(self._open_sources())
        self.queue = self._make_queue()
        self._first, copies = [(first, known)], self.request.num_threads or 1
        self.ops = [self._op(each, i, self._first if i == index else None) for i, each in enumerate(opened * copies)]

    def _open_sources(self) -> list[OpenSource]:
        request, self.layout = self.request, None
        alone = request.joined or request.num_threads in (0, 1)
        sources = request.sources
        if self._nothing_to_wait_for():
            request = self._without_threads()
            self._hand = self._hand or (None if request.enqueue_many else sources[0].hand())
            if self._hand is not None:
                self._hand.put_back(0)
                sources = [self._hand]
        room = self._room if request.inline else None
        return [
            open_source(source, request.enqueue_many, alone, self._rows_for(source), room, weakly(self._stopped))
            for source in sources
        ]

    def take(self) -> Any:
        """The next batch, which is on its way until `outlet.left`; OutOfRangeError at the end."""
        taken, layout = self.outlet.draw(), self.layout
        return taken if layout is None else layout.rebuild(taken)

    def taken_by(self, number: int) -> Sequence[str] | None:
        """What the items are called that an op has just taken, with `num_threads=0`; None if that is not known."""
        taken: Callable[[], Sequence[str] | None] | None = getattr(self.request.sources[number], "taken", None)
        return None if taken is None else taken()

    def put_right(self) -> bool:
        """Ctrl-C has struck while an op was called, with `num_threads=0`: have come again what it took and did not
        store. Return whether that is possible."""
        request, stored = self.request, self.queue.stats().enqueued
        if self._hand is not None:
            self._first.clear()
            return self._hand.put_back(stored)
        (source, *others), looked_at = request.sources, self.one_by_one or not self._keep.all or self.skips.active
        if others or request.joined or request.enqueue_many or looked_at or type(source) not in _SEQUENCES:
            return False
        following = open_source(source[stored:], False, True, None, None, weakly(self._stopped))
        self.ops = [self._op(following, 0, None)]
        return True

    def _make_outlet(self) -> Outlet:
        whole = self.layout is None or self.layout.whole
        return Outlet(None, None, self._dequeue(), self.request.batch_size, whole=whole)

    def _dequeue(self) -> Callable[[int], Any]:
        return self.queue.dequeue_up_to if self.request.allow_smaller_final_batch else self.queue.dequeue_many

    def stop(self) -> None:
        """Let waits for the next example end soon."""
        self._left = True
        recall(self.request.sources)

    def close_op(self) -> None:
        """What to do at the end of the input: close the queue."""
        self.queue.close()

    def leave(self) -> None:
        """Close the queue, so that threads waiting to enqueue end as at the end of the input."""
        self._left, self.ops = True, ()
        if hasattr(self, "queue"):  # not while it waits for the first example
            self.queue.close(cancel_pending_enqueues=True)
        recall(self.request.sources)

    def after_fork(self) -> None:
        """In the child of a fork: a thread that had the lock is not there."""
        if self.opened:
            self.outlet.after_fork()

    def put_away(self) -> None:
        """Close what the sources hold open; no thread reads any more."""
        for read in map(read_by, self.request.sources):
            if isinstance(read, PartsCursor):
                read.close()

    def _rows_for(self, source: Any) -> int | None:
        """The largest block of use from a source; None to take its examples one by one, as their shapes may differ. Of
        rows that are looked at, or may be left out, it has one: a block tells which arrays vary, an array does not."""
        if not isinstance(source, (PartsCursor, TableCursor)):
            return self._block_rows
        if self.one_by_one or self.request.dynamic_pad or (self.request.ragged is not None and source.singly):
            return None
        return 1 if self.skips.active or self._keep.asks else self._block_rows

    def _layout_of_queue(self, layout: ExampleLayout) -> ExampleLayout:
        """The layout of what a queue holds for an example."""
        return layout

    def _more_shapes(self, layout: ExampleLayout) -> list[Any]:
        """The shapes of what a queue with this layout holds beside the components of an example: scalars."""
        assert self.layout is not None
        return [()] * (len(layout.dtypes) - len(self.layout.dtypes))

    def _make_queue(self) -> QueueBase:
        assert self.layout is not None
        return self.request.make_queue(self.layout)

    def _room(self) -> int:
        """How many rows a block may have, if the queue is to hold no more than its capacity, or a batch needs."""
        most = self._most_rows()
        return most if self.layout is None else max(1, most - self.queue.size())

    def _most_rows(self) -> int:
        """How many rows a block may have, if nothing waits in the queue."""
        request = self.request
        if not request.inline:
            return max(request.capacity, request.batch_size)
        ahead = AHEAD if getattr(request.sources[0], "at_hand", False) else 1
        return max(request.capacity, (request.min_after_dequeue or 0) + ahead * request.batch_size)

    def _nothing_to_wait_for(self) -> bool:
        """Whether all rows lie in memory, ready to be gathered: to hand each batch from a thread to another would take
        longer than to gather it."""
        (source, *others), looked_at = self.request.sources, self.one_by_one or self._keep.asks or self.skips.active
        return not (others or self.request.joined or looked_at) and getattr(source, "at_hand", False)

    def _without_threads(self) -> Request:
        """Read the source in the thread that asks for batches; return the request for that."""
        self.request = self.request._replace(num_threads=0)
        self._block_rows = self._most_rows()
        return self.request

    @property
    def _missing(self) -> Callable[[], int]:
        """Tells how many examples to take from a source now: -1, without end, for a thread; those that are missing for
        a batch, or one at a time where sources take turns."""
        if not self.request.inline:
            return lambda: -1
        if self.request.joined:
            return lambda: 1
        enough, size = self.enough, self.queue.size
        return lambda: max(1, enough - size())

    def _stopped(self) -> bool:
        return self._left or self.coord.should_stop()

    def _park(self) -> None:
        """Nothing is kept: one thread waits, at no cost, for the end of the loop."""
        self.queue = queue = FIFOQueue(0, ["bool"], [()], name=self.request.name)

        def parked() -> None:
            while not self._stopped():
                try:
                    # There is never room. A thread is woken; nobody wakes a loop that reads by itself.
                    queue.enqueue(True, timeout=CHECK_INTERVAL if self.request.inline else None)
                except DeadlineExceededError:
                    pass
                except CancelledError:
                    break
            raise loop_left()

        parked.__qualname__ = "parked"
        self.ops = [parked]

    def _first_example(self, opened: list[OpenSource]) -> tuple[list[OpenSource], int, Any, Noted]:
        """The open sources, the number of the first that has an example, that example, which decides the layout, and
        what was read for it. Kept for the next try of `open`."""
        for i, source in enumerate(opened):
            kept, take = self._kept[i], source.take
            if source.keeping is not None:
                take = functools.partial(source.keeping, kept)
            take = take if source.iterator else careful_take(take, self.skips, source.many)
            try:
                while not self._left:
                    with first_reads():
                        first = take()
                        # A block without rows may not even have the right dtypes.
                        if first is not SKIPPED and not (source.many and length(first) == 0):
                            self.layout = ExampleLayout(first, source.many, self.request.finish)
                            self._found = opened, i, first, noted()
                            return self._found
                        kept.clear()
                    if self._stopped():
                        break
            except (OutOfRangeError, StopIteration):
                continue
        raise OutOfRangeError(None, None, "the source of the batches gave no example")

    def _op(self, source: OpenSource, index: int, first: list[tuple[Any, Noted]] | None) -> Callable[[], None]:
        """The enqueue op of one thread: moves one or many examples, or blocks, from the source to the queue."""
        skips = self.skips
        take = source.take if source.iterator else careful_take(source.take, skips, source.many)
        large = isinstance(self.queue, TypedQueue) and self.queue.holds_large
        store = careful_store(self._store_of(source.many, index), skips, source.many, large)
        move = self._mover(source, index)

        def move_one() -> None:
            try:
                if first:  # this thread has not read it
                    example, known = first.pop()
                    note_again(known, skips.active)
                else:
                    example = take()
            except StopIteration:
                raise OutOfRangeError(None, None, "the source of the batches is used up") from None
            if example is SKIPPED:
                return
            held = [example]
            del example  # so that whoever takes it out of `held` has the only reference
            store(held)

        def enqueue() -> None:
            if self._left:
                raise loop_left()
            try:
                if first or move is None:
                    move_one()
                else:
                    move()
            except CancelledError:
                if not self._left:
                    raise
                raise loop_left() from None
            except StopIteration as error:  # would look like the end of the loop
                raise RuntimeError("a function that was asked about an example raised StopIteration") from error

        enqueue.__qualname__ = source.name
        return enqueue

    def _mover(self, source: OpenSource, index: int) -> Callable[[], None] | None:
        """What moves the examples of a source if each is small and only has to be put into the queue, else None."""
        layout, queue = self.layout, self.queue
        if source.many or self.one_by_one or self.skips.active or not self._keep.all:
            return None
        if not isinstance(queue, TypedQueue) or queue.holds_large:
            return None
        assert layout is not None
        to_components = self._to_components(False, index)
        at_once = self.request.inline and self.request.min_after_dequeue is None
        return mover(source, queue, layout, to_components, self.coord.should_stop, self._missing, at_once)

    def _store_of(self, many: bool, index: int) -> Callable[[list[Any]], None]:
        """What stores the only item of a list, an example or a block of them, or what `keep_input` keeps of it."""
        keep, to_components, put, queue = self._keep, self._to_components(many, index), self._put_of(many), self.queue
        if keep.all and isinstance(queue, TypedQueue) and queue.holds_large:
            # Given away: they are copied only if somebody else has them. That is the caller too, of a function that
            # gets them: CPython 3.10 keeps what it calls with until the call is over. So the tuple is made here.
            give = queue._enqueue_many_given if many else queue._enqueue_given
            return lambda held: give((*to_components(held.pop()),))
        if keep.all:
            return lambda held: put(to_components(held.pop()))

        def store_kept(held: list[Any]) -> None:
            (example,) = held
            verdict = keep.verdict(example, many)
            if verdict is True:
                put(to_components(example))
            elif verdict is not False:
                rows = kept_rows(to_components(example), verdict)
                if verdict.any():
                    put(rows)

        return store_kept

    def _to_components(self, many: bool, index: int) -> ToComponents:
        """How the examples of source number `index` are taken apart."""
        assert self.layout is not None
        return self.layout.joined(index, many) if self.request.joined else self.layout.to_components

    def _put_of(self, many: bool) -> Callable[[Sequence[Any]], None]:
        """What puts the components of an example, or block, where batches are made of them."""
        assert self.layout is not None
        if many:
            return self.queue.enqueue_many
        enqueue = self.queue.enqueue
        if len(self.layout.dtypes) > 1:
            return enqueue

        def put_single(components: Sequence[Any]) -> None:
            (component,) = components
            # A bare value needs no tuple around it; a container would be taken for one of components.
            enqueue((component,) if isinstance(component, (list, tuple, dict)) else component)

        return put_single
