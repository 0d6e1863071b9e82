"""Request: the checked arguments of one batch function call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pipeline.batches.determinism import is_deterministic
from pipeline.dtypes import MOST_WORKERS, integer, truth, whole
from pipeline.errors import invalid
from pipeline.on_error import Skips
from pipeline.queues.components import parse_capacity
from pipeline.runners.coordinator import Coordinator


class Request(NamedTuple):
    """The batch functions' common arguments, under their parameter names; see `batch`.

    Attributes:
        num_threads: Threads to read the source; for a join None (one per source) or 0.
        ordered: True if the order depends only on the input and the seeds.
    """

    batch_size: int
    num_threads: int | None
    capacity: int
    enqueue_many: bool
    shapes: Sequence[Any] | None
    dynamic_pad: bool
    allow_smaller_final_batch: bool
    name: str
    ordered: bool
    on_error: str
    max_errors: int | None
    coord: Coordinator | None

    @property
    def inline(self) -> bool:
        """True if the calling thread reads the source."""
        return self.num_threads == 0


def checked(
    *,
    batch_size: int,
    num_threads: int | None,
    capacity: int,
    enqueue_many: bool,
    shapes: Sequence[Any] | None,
    dynamic_pad: bool,
    allow_smaller_final_batch: bool,
    name: str,
    deterministic: bool | None,
    on_error: str,
    max_errors: int | None,
    coord: Coordinator | None,
    joined: bool = False,
) -> Request:
    """Return the checked arguments; TypeError or ValueError for wrong ones."""
    if coord is not None and not isinstance(coord, Coordinator):
        raise TypeError(f"coord must be a Coordinator or None, got {coord!r:.80}")
    room = parse_capacity(capacity)
    if room == 0:
        raise ValueError(f"capacity must be >= 1 (or -1: unbounded), got {capacity}")
    Skips(on_error, max_errors)  # raises
    threads = None if num_threads is None else integer(num_threads, "num_threads")
    if joined and threads:
        raise ValueError(f"num_threads must be None, for one thread per source, or 0 for none, got {num_threads}")
    if threads is not None and threads < 0:
        raise ValueError(f"num_threads must be at least 1, or 0 to read in your own thread, got {threads}")
    if threads is not None and threads > MOST_WORKERS:
        raise ValueError(f"num_threads must be at most {MOST_WORKERS:,}, got {threads:,}")
    return Request(
        checked_size(batch_size),
        threads,
        room,
        truth(enqueue_many, "enqueue_many"),
        shapes,
        truth(dynamic_pad, "dynamic_pad"),
        truth(allow_smaller_final_batch, "allow_smaller_final_batch"),
        name,
        is_deterministic(deterministic),
        on_error,
        max_errors,
        coord,
    )


def checked_size(batch_size: int) -> int:
    """Return the batch size as an int; raise if it is not one."""
    size = integer(batch_size, "batch_size")
    if size < 1:
        raise ValueError(f"batch_size must be >= 1, got {batch_size}")
    if size > 2**31 - 1:
        raise invalid(f"batch_size must be less than 2**31, got {size}")
    return size


def batch_capacity(capacity: int | None, batch_size: int) -> int:
    """Return the given capacity, or room for a few batches: 32 examples starved batches with 128."""
    return max(32, 4 * checked_size(batch_size)) if capacity is None else capacity


def pool_capacity(capacity: int | None, min_after_dequeue: int, num_threads: int, batch_size: int) -> int:
    """Return the given capacity, or TensorFlow's advice: a few batches more than the buffer keeps."""
    if capacity is not None:
        return capacity
    batches = integer(num_threads, "num_threads") + 3
    return integer(min_after_dequeue, "min_after_dequeue") + batches * checked_size(batch_size)


def check_min_after_dequeue(capacity: int | None, min_after_dequeue: int) -> int:
    """Return it as an int; ValueError for a buffer that could never deliver, TypeError for other types."""
    kept = whole(min_after_dequeue, "min_after_dequeue")
    if capacity is not None and whole(capacity, "capacity") <= kept:
        raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}.")
    _check_not_negative(kept)
    return kept


def check_joined_min_after_dequeue(capacity: int | None, min_after_dequeue: int) -> int:
    """Check as `check_min_after_dequeue`, with the error raised by a join's queue in TensorFlow."""
    limit, kept = parse_capacity(capacity), whole(min_after_dequeue, "min_after_dequeue")
    _check_not_negative(kept)
    if kept >= limit:
        raise invalid(f"min_after_dequeue {min_after_dequeue} must be < capacity {limit}")
    return kept


def _check_not_negative(min_after_dequeue: int) -> None:
    if min_after_dequeue < 0:
        raise invalid(f"min_after_dequeue {min_after_dequeue} must be >= 0")
