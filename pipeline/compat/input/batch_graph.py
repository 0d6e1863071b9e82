"""What the batch functions share: from lists of tensors over a queue to the tensors of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.input.components import as_components, common_dtypes, common_shapes
from pipeline.compat.input.fullness import summarize_fraction
from pipeline.compat.input.keep_input import as_keep_input, enqueue_kept
from pipeline.compat.input.sparse import restored, stored
from pipeline.compat.queues.queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from pipeline.compat.queues.runner import QueueRunner, add_queue_runner


class Pool:
    """What is asked of the queue of `batch` and `batch_join`."""

    def __init__(self, capacity: int, shapes: Any, shared_name: str | None, dynamic_pad: bool) -> None:
        self.shapes = shapes
        self._capacity, self._shared_name = capacity, shared_name
        self._kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue

    def check(self) -> None:
        """Raise ValueError for numbers that do not go together."""

    def queue(self, dtypes: Sequence[Any], shapes: Any) -> Any:
        """Make the queue."""
        return self._kind(capacity=self._capacity, dtypes=dtypes, shapes=shapes, shared_name=self._shared_name)

    def summarize(self, queue: Any) -> None:
        """Make the summary of how full it is."""
        summarize_fraction(f"fraction_of_{int(self._capacity)}_full", queue, self._capacity)


class ShufflePool(Pool):
    """What is asked of the queue of `shuffle_batch` and `shuffle_batch_join`; only the first is checked."""

    def __init__(
        self, capacity: int, shapes: Any, shared_name: str | None, minimum: int, seed: int | None, checked: bool
    ) -> None:
        super().__init__(capacity, shapes, shared_name, False)
        self._minimum, self._seed, self._checked = minimum, seed, checked

    def check(self) -> None:
        """Raise ValueError for numbers that do not go together."""
        if self._checked and self._capacity <= self._minimum:
            raise ValueError(f"capacity {self._capacity} must be bigger than min_after_dequeue {self._minimum}.")

    def queue(self, dtypes: Sequence[Any], shapes: Any) -> Any:
        """Make the queue."""
        return RandomShuffleQueue(
            capacity=self._capacity,
            min_after_dequeue=self._minimum,
            dtypes=dtypes,
            shapes=shapes,
            seed=self._seed,
            shared_name=self._shared_name,
        )

    def summarize(self, queue: Any) -> None:
        """Make the summary of how full it is above the minimum."""
        name = f"fraction_over_{int(self._minimum)}_of_{int(self._capacity - self._minimum)}_full"
        summarize_fraction(name, queue, self._capacity, self._minimum)


def batches(
    tensors: Any,
    keep_input: Any,
    batch_size: Any,
    threads: int,
    pool: Pool,
    enqueue_many: bool,
    smaller: bool,
    name: str | None,
    default_name: str,
) -> Any:
    """Make batches of what `threads` threads evaluate."""
    given = in_order(tensors)
    with name_scope(name, default_name, [*given, keep_input]) as scope:
        pool.check()
        components = as_components(given)
        if not components:
            raise ValueError("Expected at least one tensor in batch().")
        results = _batches([components], keep_input, batch_size, threads, pool, enqueue_many, smaller, scope)
        return like(tensors, results)


def batches_of_several(
    tensors_list: Sequence[Any],
    keep_input: Any,
    batch_size: Any,
    pool: Pool,
    enqueue_many: bool,
    smaller: bool,
    name: str | None,
    default_name: str,
) -> Any:
    """Make batches of what one thread for each entry of the list evaluates."""
    if not tensors_list:
        raise ValueError("Expected at least one set of tensors")
    if isinstance(tensors_list[0], dict):
        if any(entry.keys() != tensors_list[0].keys() for entry in tensors_list[1:]):
            raise ValueError("All dictionaries in tensors_list must have the same keys")
        entries = [in_order(entry) for entry in tensors_list]
    else:
        entries = list(tensors_list)
    with name_scope(name, default_name, [*(tensor for entry in entries for tensor in entry), keep_input]) as scope:
        entries = [as_components(entry) for entry in entries]
        results = _batches(entries, keep_input, batch_size, 1, pool, enqueue_many, smaller, scope)
        return like(tensors_list[0], results)


def _batches(
    entries: Sequence[Sequence[Any]],
    keep_input: Any,
    batch_size: Any,
    threads: int,
    pool: Pool,
    enqueue_many: bool,
    smaller: bool,
    scope: str,
) -> Any:
    """Make the queue, its runner, the summary and the dequeue op; returns the tensors of a batch."""
    keep = as_keep_input(keep_input, enqueue_many)
    dense, sparse = stored(entries, enqueue_many, keep)
    dtypes = common_dtypes(dense)
    shapes = common_shapes(dense, enqueue_many) if pool.shapes is None else pool.shapes
    queue = pool.queue(dtypes, shapes)
    enqueue = queue.enqueue_many if enqueue_many else queue.enqueue
    enqueue_ops = [enqueue_kept(enqueue, entry, keep) for entry in dense]
    add_queue_runner(QueueRunner(queue, enqueue_ops * threads))
    pool.summarize(queue)
    dequeue = queue.dequeue_up_to if smaller else queue.dequeue_many
    return restored(dequeue(batch_size, name=scope), sparse)


def in_order(tensors: Any) -> Any:
    """The tensors of a dict by the text of its keys; what is no dict, as it is."""
    return [tensors[key] for key in sorted(tensors, key=str)] if isinstance(tensors, dict) else tensors


def like(given: Any, results: Any) -> Any:
    """Name the results as the tensors were; the dequeue op gives a single one bare."""
    if not isinstance(given, dict):
        return results
    values = [results] if len(given) == 1 else results
    return {key: values[i] for i, key in enumerate(sorted(given, key=str))}
