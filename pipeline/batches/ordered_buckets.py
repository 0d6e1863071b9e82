"""OrderedBucketFeed: bucket_by_sequence_length in the order of tickets, with a state."""

from __future__ import annotations

import collections
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline._delivery import Outlet
from pipeline._random import lockstep_end, lockstep_pool
from pipeline._trail import Delivered
from pipeline.batches.bucket_feed import Bucket, BucketFeed
from pipeline.batches.content import content_of
from pipeline.batches.counting import counting_outlet
from pipeline.batches.layout import ExampleLayout, facts_of_queue
from pipeline.batches.ledger import other_examples
from pipeline.batches.ordered import OrderedFeed
from pipeline.queues.base import QueueBase
from pipeline.queues.typed import TypedQueue
from pipeline.runners.enqueue_ops import op_name

Numbers = NDArray[np.int64]


class Moment(NamedTuple):
    """Which elements the buckets held when a batch had been made.

    Attributes:
        element: The number of the first element that had not entered a bucket.
        ended: The input had ended.
        counts: How many elements had entered each bucket, and how many had left it.
    """

    element: int
    ended: bool
    counts: Sequence[tuple[int, int]]


class OrderedBucket(Bucket):
    """A bucket that knows the numbers of its elements. One thread at a time puts elements in.

    Args:
        queue, batch_size, min_after_dequeue: As for Bucket.
        seeds: Of the queue's draws.

    Attributes:
        entered: How many elements have entered it.
        left: How many have left it.
    """

    def __init__(self, queue: QueueBase, batch_size: int, min_after_dequeue: int, seeds: tuple[int, int]) -> None:
        super().__init__(queue, batch_size, min_after_dequeue)
        self.entered = self.left = 0
        self.held_back = min_after_dequeue
        self._seeds = seeds
        self._lock = threading.Lock()  # guards the numbers: the consumer looks them up
        self._numbers: list[int] = []  # of the elements that entered, from the `_first`-th on
        self._first = 0
        self._awaited: collections.deque[int] = collections.deque()  # what it held when a state was saved
        self._places: Numbers | None = None  # of the first of these, those in the pool
        self._last_in_pool = -1  # the number of the last of those

    def put_in(self, components: Sequence[Any], number: int) -> Any:
        """As `put`, with the number of the element."""
        self.queue.enqueue(components)
        with self._lock:
            self._numbers.append(number)
        self.entered += 1
        return self.queue.dequeue_many(self.batch_size) if self.entered - self.left >= self._needed else None

    def put_again(self, components: Sequence[Any], number: int) -> None:
        """Put in what it held when a state was saved. StateMismatchError if it did not."""
        if not self._awaited or self._awaited.popleft() != number:
            raise other_examples()
        self.queue.enqueue(components)
        if number == self._last_in_pool:
            assert isinstance(self.queue, TypedQueue)
            assert self._places is not None
            self.queue._arrange(self._places)

    def held(self, entered: int, left: int) -> Numbers:
        """The numbers of the elements that it held at a moment: the pool by place, then the others in order."""
        arrivals, _ = self._arrivals(entered, left)
        with self._lock:
            return np.array([self._numbers[i - self._first] for i in arrivals.tolist()], np.int64)

    def oldest(self, entered: int, left: int) -> int | None:
        """The least number of what it held at a moment; None if that was nothing."""
        arrivals, _ = self._arrivals(entered, left)
        with self._lock:
            return self._numbers[int(arrivals.min()) - self._first] if len(arrivals) else None

    def forget_before(self, entered: int, left: int) -> None:
        """Drop the numbers that are not needed for that moment, or later ones."""
        arrivals, _ = self._arrivals(entered, left)
        first = int(arrivals.min()) if len(arrivals) else entered
        with self._lock:
            del self._numbers[: max(0, first - self._first)]
            self._first = max(first, self._first)

    def go_on_from(self, entered: int, left: int, numbers: Numbers) -> None:
        """Begin with these elements in it, as `held` gave them, once `put_again` has put them in."""
        arrivals, in_pool = self._arrivals(entered, left)
        if len(arrivals) != len(numbers):
            raise other_examples()
        self.entered, self.left = entered, left
        self._first = int(arrivals.min()) if len(arrivals) else entered
        known = np.full(entered - self._first, -1)
        known[arrivals - self._first] = numbers
        self._numbers = known.tolist()
        self._awaited.extend(np.sort(numbers).tolist())
        if self.held_back and left:
            assert isinstance(self.queue, TypedQueue)
            self.queue._skip_draws(left)
            if in_pool:
                self._places, self._last_in_pool = np.argsort(numbers[:in_pool]), int(numbers[:in_pool].max())

    def _arrivals(self, entered: int, left: int) -> tuple[Numbers, int]:
        """The elements it held, numbered as they entered it, pool first; and how many were in the pool."""
        held_back = self.held_back
        if not held_back:
            return np.arange(left, entered), 0
        if held_back + left > entered:  # the input has ended, or the pool was never full
            pool = lockstep_end(*self._seeds, held_back, entered, left)
        else:
            pool = lockstep_pool(*self._seeds, held_back, left)
        return np.concatenate([pool, np.arange(held_back + left, entered)]), len(pool)


class OrderedBucketFeed(BucketFeed, OrderedFeed):
    """The same in the order of tickets: whoever stores an example takes the batch that it completes. Numbers go through
    the buckets, in a component after those of the element."""

    held_back = None
    _buckets: list[OrderedBucket]  # type: ignore[assignment]

    def _begin_round(self) -> None:
        super()._begin_round()
        self._buckets = []
        self._trim_at = 0  # how many elements are to enter before the next look at what can be forgotten

    def take(self) -> Any:
        outlet = self.outlet
        with outlet:
            own = outlet.kept() if outlet.struck else self._counted(outlet.fetch(), outlet)
        lengths, *rows = own
        assert self.layout is not None
        return lengths, self.layout.rebuild(rows if len(rows) > 1 else rows[0])

    def _counted(self, taken: Any, outlet: Outlet) -> Any:
        (*own, numbers), moment = taken
        outlet.count(own, numbers, len(numbers), moment, content_of(self.request, outlet.taken, own))
        return own

    def _make_outlet(self) -> Outlet:
        return counting_outlet(self.request.name, self.delivered, None, self.queue.dequeue)

    def elements_read(self) -> int:
        return self.least if self.arrivals is None else max(self.least, self.arrivals.count)

    def in_pool(self, delivered: Delivered, total: int | None) -> Numbers:
        assert self.loaded is not None  # nobody asks before
        return np.concatenate([np.empty(0, np.int64), *map(_undone, self.loaded["buckets"]["held"])])

    def place(self, delivered: Delivered, total: int | None) -> tuple[int, bool]:
        moment = self._moment(delivered)
        return moment.element, moment.ended

    def oldest(self, delivered: Delivered, total: int | None) -> int:
        moment = self._moment(delivered)
        each = [bucket.oldest(*counts) for bucket, counts in zip(self._buckets, moment.counts, strict=True)]
        return min([moment.element, *(number for number in each if number is not None)])

    def more_state(self, delivered: Delivered) -> dict[str, Any]:
        moment = self._moment(delivered)
        pairs = zip(self._buckets, moment.counts, strict=True) if self._buckets else ()
        return {
            "buckets": {
                "element": moment.element,
                "counts": [list(counts) for counts in moment.counts],
                "held": [np.diff(bucket.held(*counts), prepend=0).tolist() for bucket, counts in pairs],
            }
        }

    def more_facts(self) -> dict[str, Any]:
        return {
            "boundaries": list(self._boundaries),
            "sizes": list(self._sizes),
            "input_length": op_name(self._length),
        }

    def begin_at(self, seeds: tuple[int, int], delivered: Delivered, place: tuple[int, int], loaded: Any) -> None:
        saved = loaded["buckets"]
        ended = loaded["ended"] is not None
        moment = Moment(saved["element"], ended, [(entered, left) for entered, left in saved["counts"]])
        at = Delivered(delivered.batches, delivered.elements, delivered.own, delivered.value, moment, delivered.content)
        super().begin_at(seeds, at, place, loaded)

    def _moment(self, delivered: Delivered) -> Moment:
        """What had entered the buckets, in this round."""
        if delivered.moment is not None and delivered.elements > self.before:
            assert isinstance(delivered.moment, Moment)
            return delivered.moment
        return Moment(0, False, [(0, 0)] * len(self._sizes))

    def _make_queue(self) -> QueueBase:
        queue = super()._make_queue()
        if self.loaded is not None and self.loaded["buckets"]["held"]:
            saved = self.loaded["buckets"]
            for bucket, (entered, left), held in zip(self._buckets, saved["counts"], saved["held"], strict=True):
                bucket.go_on_from(entered, left, _undone(held))
        return queue

    def _layout_of_queue(self, layout: ExampleLayout) -> ExampleLayout:
        return layout.followed_by(np.dtype(np.int64))

    def _make_trail(self) -> None:
        """Numbers go through the buckets."""

    def _bucket(self, number: int, batch_size: int) -> OrderedBucket:
        bucket = super()._bucket(number, batch_size)
        seeds = self.request.reseeded(number).seed
        assert isinstance(seeds, tuple)
        return OrderedBucket(bucket.queue, batch_size, self.request.min_after_dequeue or 0, seeds)

    def _put_of(self, many: bool) -> Callable[[Sequence[Any]], None]:
        resume_at = 0 if self.replay is None else self.replay.resume_at
        known = weakref.ref(self)  # its arrivals keep what puts: a cycle would hold a loop that was left

        def put(components: Sequence[Any]) -> None:
            feed = known()
            assert feed is not None
            assert feed.arrivals is not None
            bucket, number = feed._bucket_of(components), feed.arrivals.count
            assert isinstance(bucket, OrderedBucket)
            if number < resume_at:
                bucket.put_again(components, number)
                return
            batch = bucket.put_in(components, number)
            if batch is not None:
                feed._ready(bucket, batch, Moment(number + 1, False, ()))

        return put

    def _ready(self, bucket: Bucket, batch: Any, moment: Moment) -> None:
        assert isinstance(bucket, OrderedBucket)
        bucket.left += len(batch[0])
        counts = [(each.entered, each.left) for each in self._buckets]
        self.queue.enqueue(((batch, moment._replace(counts=counts)),))

    def left_over(self) -> tuple[int, int]:
        left, _ = super().left_over()
        return left, self.delivered.newest.elements - self.before + left

    def _flushed(self, bucket: Bucket, batch: Any) -> None:
        assert self.arrivals is not None
        self._ready(bucket, batch, Moment(self.arrivals.count, True, ()))

    def _trim(self) -> None:
        first = self.delivered.oldest
        entered = sum(bucket.entered for bucket in self._buckets)
        if self.ledger is None or not self._buckets or first.elements < self.before or entered < self._trim_at:
            return
        # As often as keeps the scans of the pools cheap.
        self._trim_at = entered + (self.request.min_after_dequeue or 0) * len(self._buckets)
        for bucket, counts in zip(self._buckets, self._moment(first).counts, strict=True):
            bucket.forget_before(*counts)
        self.ledger.journal.forget(self.oldest(first, None))

    def _arrange(self, places: Numbers) -> None:
        """Each bucket does so by itself."""

    def _check_fits(self, values: Sequence[Any], many: bool) -> None:
        queue = self._bucket_of(values).queue
        assert isinstance(queue, TypedQueue)
        queue._convert(values, many)

    def close_op(self) -> None:
        self._note_total()
        BucketFeed.close_op(self)

    def _facts_of_layout(self) -> list[Any]:
        return facts_of_queue(self._buckets[0].queue)[1:-1]  # without the length and the number


def _undone(steps: Sequence[int]) -> Numbers:
    """Numbers from the steps between them."""
    return np.cumsum(np.array(steps, np.int64))
