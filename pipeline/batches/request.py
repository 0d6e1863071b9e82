"""Request: everything that one call of a batch function asks for, the queue of examples included."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pipeline.batches.finish import Finish
from pipeline.batches.layout import ExampleLayout
from pipeline.batches.mapped import chunk_of, mapped
from pipeline.batches.source import check_source
from pipeline.dtypes import integer, truth, whole
from pipeline.errors import invalid
from pipeline.queues.base import QueueBase
from pipeline.queues.components import parse_capacity
from pipeline.queues.kinds import FIFOQueue, PaddingFIFOQueue, PaddingShuffleQueue, RandomShuffleQueue
from pipeline.queues.seeds import get_seed
from pipeline.queues.typed import TypedQueue
from pipeline.runners.coordinator import Coordinator
from pipeline.sources.source import Source
from pipeline.workers.ahead import MapAhead

# Between the seeds of two rounds of a loop; those of its buckets are neighbours.
_BETWEEN_ROUNDS = 1_000_003


class Request(NamedTuple):
    """What a batch function was asked for, under the names of its parameters; `batch` says what they mean.

    Attributes:
        sources: One source, or those of a join.
        num_threads: Threads that read the one source; None: each source of a join has one. 0: the loop's own thread
            reads.
        joined: Whether this is a join.
        min_after_dequeue: None for a queue in order, from which nothing is drawn.
        seed: Of the draws; a pair after a state was loaded, or where the draws are in lockstep.
        seeded: Whether the caller gave a seed.
    """

    sources: Sequence[Any]
    num_threads: int | None
    batch_size: int
    capacity: int
    shapes: Sequence[Any] | None
    dynamic_pad: bool
    allow_smaller_final_batch: bool
    shared_name: str | None
    name: str
    enqueue_many: bool = False
    min_after_dequeue: int | None = None
    seed: int | tuple[int, int] | None = None
    seeded: bool = False
    keep_input: Any = True
    on_error: str = "raise"
    max_errors: int | None = None
    coord: Coordinator | None = None
    deterministic: bool | None = None
    shard: tuple[int, int] | None = None
    fingerprint: str = "order"
    function: Callable[[Any], Any] | None = None
    workers: Any = None
    ragged: str | Mapping[Any, str] | None = None
    encoding: str | None = None
    joined: bool = False

    def for_round(self, round_number: int) -> Request:
        """The request for one time through the sources: they are at their start, and each round has other draws."""
        sources = [each.cursor(round_number) if isinstance(each, Source) else each for each in self.sources]
        if self.encoding is not None and self.function is None and self.workers is None:
            for source, cursor in zip(self.sources, sources, strict=True):
                if isinstance(source, Source):
                    cursor.encoding = self.encoding  # it names the file and the line of a string that is wrong
        if self.function is not None or self.workers is not None:
            chunk = chunk_of(self.batch_size, self.enqueue_many)
            at_once = self.inline and not self.deterministic
            workers = self.function, self.workers, self.num_threads
            careful = self.on_error == "skip"
            placed = bool(self.deterministic)
            sources = [mapped(each, *workers, chunk, at_once, careful, placed) for each in sources]
        return self.reseeded(_BETWEEN_ROUNDS * round_number)._replace(sources=sources)

    def reseeded(self, step: int) -> Request:
        """The request with another seed, if it has one."""
        if isinstance(self.seed, tuple):
            return self._replace(seed=(self.seed[0], self.seed[1] + step))
        return self if self.seed is None else self._replace(seed=self.seed + step)

    @property
    def inline(self) -> bool:
        """Whether the thread that asks for a batch reads the sources."""
        return self.num_threads == 0

    @property
    def queue_capacity(self) -> int:
        """Of the queue: whoever fills it and takes from it must not wait for room."""
        return -1 if self.inline else self.capacity

    @property
    def finish(self) -> Finish | None:
        """What is done to the components of a batch, if anything."""
        if self.ragged is None and self.encoding is None:
            return None
        made = self.function is not None or self.workers is not None  # of one example each
        made = made or any(isinstance(source, MapAhead) for source in self.sources)
        varies = self.shapes is None and not self.dynamic_pad
        checked = all(getattr(source, "encoding", None) == self.encoding for source in self.sources)
        return Finish(self.ragged, self.encoding, varies, self.enqueue_many or not made, checked and not made)

    def checked(self) -> Request:
        """The request with its numbers as ints; TypeError or ValueError for sources or numbers that make no sense."""
        for source in self.sources:
            check_source(source)
        size = checked_size(self.batch_size)
        if self.fingerprint not in ("order", "content"):
            raise ValueError(f"fingerprint must be 'order' or 'content', got {self.fingerprint!r:.80}")
        if self.shard is not None:
            check_shard(self.shard)
        if self.coord is not None and not isinstance(self.coord, Coordinator):
            raise TypeError(f"coord must be a Coordinator or None, got {self.coord!r:.80}")
        if self.finish is not None:
            self.finish.check()
        capacity = parse_capacity(self.capacity)
        if capacity == 0:  # a queue may have it, as in TensorFlow, but then no example ever gets into it
            raise ValueError(f"capacity must be >= 1 (or -1: unbounded), got {self.capacity}")
        for option in ("enqueue_many", "dynamic_pad", "allow_smaller_final_batch"):
            truth(getattr(self, option), option)
        threads = None if self.num_threads is None else integer(self.num_threads, "num_threads")
        if self.joined and threads:
            raise ValueError(
                f"num_threads must be None, for a thread for each source, or 0 for none, got {self.num_threads}"
            )
        if threads is not None and threads < 0:
            raise ValueError(f"num_threads must be at least 1, or 0 to read in the loop's own thread, got {threads}")
        return self._replace(batch_size=size, capacity=capacity, num_threads=threads)

    def make_queue(self, layout: ExampleLayout) -> QueueBase:
        """Make the queue for examples of this layout."""
        padded = self.dynamic_pad
        shapes = layout.padded_shapes(self.shapes) if padded else layout.fixed_shapes(self.shapes)
        named: dict[str, Any] = {"shared_name": self.shared_name, "name": self.name}
        queue: TypedQueue
        if self.min_after_dequeue is None:
            kind = PaddingFIFOQueue if padded else FIFOQueue
            queue = kind(self.queue_capacity, layout.dtypes, shapes, **named)
        else:
            shuffled = PaddingShuffleQueue if padded else RandomShuffleQueue
            named |= {"seed": self.seed, "deterministic": bool(self.deterministic)}
            queue = shuffled(self.queue_capacity, self.min_after_dequeue, layout.dtypes, shapes, **named)
        queue.labels = layout.labels
        queue._keep_values()
        return queue


def checked_size(batch_size: int) -> int:
    """Return the size of batches as an int; raise for what is none."""
    size = integer(batch_size, "batch_size")
    if size < 1:
        raise ValueError(f"batch_size must be >= 1, got {batch_size}")
    if size > 2**31 - 1:
        raise invalid(f"batch_size must be less than 2**31, got {size}")
    return size


def check_shard(shard: Any) -> None:
    """Raise for what is not the number of a host and how many there are."""
    if not isinstance(shard, (tuple, list)) or len(shard) != 2:
        raise TypeError(f"shard must be (index, count), such as (0, 8), got {shard!r:.80}")
    index, count = (integer(each, "shard") for each in shard)
    if not 0 <= index < count:
        raise ValueError(f"shard must be (index, count) with 0 <= index < count, got {shard!r:.80}")


def batch_capacity(capacity: int | None, batch_size: int) -> int:
    """The capacity that was given, or what holds a few batches: 32 examples starved batches of 128."""
    return max(32, 4 * checked_size(batch_size)) if capacity is None else capacity


def pool_capacity(capacity: int | None, min_after_dequeue: int, num_threads: int, batch_size: int) -> int:
    """The capacity that was given, or what TensorFlow advises: some batches more than stay in the pool."""
    if capacity is not None:
        return capacity
    batches = integer(num_threads, "num_threads") + 3
    return integer(min_after_dequeue, "min_after_dequeue") + batches * checked_size(batch_size)


def check_min_after_dequeue(capacity: int | None, min_after_dequeue: int) -> None:
    """Raise ValueError for a pool that could never give anything, TypeError for what is no number."""
    kept = whole(min_after_dequeue, "min_after_dequeue")
    if capacity is not None and whole(capacity, "capacity") <= kept:
        raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}.")
    check_not_negative(kept)


def check_joined_min_after_dequeue(capacity: int | None, min_after_dequeue: int) -> None:
    """As `check_min_after_dequeue`, with the error that the queue of a join raises in TensorFlow."""
    limit, kept = parse_capacity(capacity), whole(min_after_dequeue, "min_after_dequeue")
    check_not_negative(kept)
    if kept >= limit:
        raise invalid(f"min_after_dequeue {min_after_dequeue} must be < capacity {limit}")


def check_not_negative(min_after_dequeue: int) -> None:
    """Raise InvalidArgumentError for a `min_after_dequeue` below 0."""
    if min_after_dequeue < 0:
        raise invalid(f"min_after_dequeue {min_after_dequeue} must be >= 0")


def seed_of(seed: int | None) -> int | None:
    """The seed of a queue that is made later: under a global seed, the order of the calls of batch functions counts."""
    if seed is not None:
        return integer(seed, "seed")
    pair = get_seed(None)
    return None if pair == (0, 0) else pair[1]
