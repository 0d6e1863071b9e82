"""What the batch functions have in common: from their arguments to a loop over batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pipeline.batches.feed import Feed, Plan
from pipeline.batches.keep_input import Keep
from pipeline.batches.layout import Layout
from pipeline.batches.loop import Batches
from pipeline.errors import invalid
from pipeline.on_error import Skips
from pipeline.queues.base import QueueBase
from pipeline.queues.components import parse_capacity
from pipeline.queues.kinds import FIFOQueue, PaddingFIFOQueue, PaddingShuffleQueue, RandomShuffleQueue
from pipeline.queues.seeds import get_seed
from pipeline.threads.coordinator import Coordinator


class Pool(NamedTuple):
    """How the queue of a loop is made: in order, or a pool from which examples are drawn.

    Attributes:
        capacity: In examples.
        minimum: What stays in the pool; None for no pool, but a queue in order.
        seed: Of the draws.
        shapes, pad: As given by the user.
        shared_name, name: Of the queue.
    """

    capacity: int
    minimum: int | None
    seed: int | None
    shapes: Sequence[Any] | None
    pad: bool
    shared_name: str | None
    name: str

    def queue(self, layout: Layout) -> QueueBase:
        """The queue for examples of that layout."""
        shapes = layout.padded_shapes(self.shapes) if self.pad else layout.fixed_shapes(self.shapes)
        named: dict[str, Any] = {"shared_name": self.shared_name, "name": self.name}
        if self.minimum is None:
            kind = PaddingFIFOQueue if self.pad else FIFOQueue
            return kind(self.capacity, layout.dtypes, shapes, **named)
        shuffled = PaddingShuffleQueue if self.pad else RandomShuffleQueue
        return shuffled(self.capacity, self.minimum, layout.dtypes, shapes, seed=self.seed, **named)


class Options(NamedTuple):
    """The arguments that all batch functions share."""

    batch_size: int
    enqueue_many: bool
    smaller: bool
    keep_input: Any
    on_error: str
    max_errors: int | None
    coord: Coordinator | None


def loop(sources: Sequence[Any], num_threads: int | None, pool: Pool, options: Options) -> Batches:
    """A loop over batches.

    Args:
        sources: The sources of a join, or a single one.
        num_threads: The threads of a single source; None for a join, which has one for each.
        pool: How the queue is made.
        options: The rest.

    Raises:
        TypeError, ValueError: Arguments that make no sense.
    """
    most = parse_capacity(pool.capacity)
    keep = Keep(options.keep_input, bool(options.enqueue_many))
    plan = Plan(
        sources=sources,
        num_threads=1 if num_threads is None else num_threads,
        joined=num_threads is None,
        batch_size=options.batch_size,
        rows=most,
        many=bool(options.enqueue_many),
        single=keep.asks,
        smaller=bool(options.smaller),
        make_queue=pool.queue,
        keep=keep,
        skips=Skips(options.on_error, options.max_errors),
        name=pool.name,
    ).checked()
    # The block in a thread's hand is beside the queue; a batch may be larger than the queue.
    plan = plan._replace(rows=max(most, plan.batch_size))
    return start(plan, options.coord)


def start(plan: Plan, coord: Coordinator | None, feed: Callable[[Plan, Coordinator], Feed] = Feed) -> Batches:
    """A loop that does what `plan` says, with a Coordinator of its own or the one that is given."""
    return Batches(feed(plan, Coordinator() if coord is None else coord), coord is None)


def check_minimum(capacity: int | None, min_after_dequeue: int) -> None:
    """Raise ValueError for a pool that could never give anything."""
    if capacity is not None and capacity <= min_after_dequeue:
        raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}.")
    _check_not_negative(min_after_dequeue)


def check_joined_minimum(capacity: int | None, min_after_dequeue: int) -> None:
    """As `check_minimum`, with the error that the queue of a join gives."""
    limit = parse_capacity(capacity)
    _check_not_negative(min_after_dequeue)
    if min_after_dequeue >= limit:
        raise invalid(f"min_after_dequeue {min_after_dequeue} must be < capacity {limit}")


def _check_not_negative(min_after_dequeue: int) -> None:
    if min_after_dequeue < 0:
        raise invalid(f"min_after_dequeue {min_after_dequeue} must be >= 0")


def seed_of(seed: int | None) -> int | None:
    """The seed for a queue that is made later: with a global seed, it is the call of the batch function that counts."""
    if seed is not None:
        return int(seed)
    pair = get_seed(None)
    return None if pair == (0, 0) else pair[1]
