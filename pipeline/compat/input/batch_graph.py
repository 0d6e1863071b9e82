"""A batch function's graph: a queue for examples, its queue runner, a summary and the dequeue op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.input.components import as_components, common_dtypes, common_shapes
from pipeline.compat.input.fullness import summarize_fraction
from pipeline.compat.input.keep_input import as_keep_input, enqueue_kept
from pipeline.compat.input.sparse import restored, stored
from pipeline.compat.queues.queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from pipeline.compat.queues.runner import QueueRunner, add_queue_runner


class BatchArguments(NamedTuple):
    """Batch function options, under their parameter names.

    Attributes:
        function: Its name without "maybe_": "batch", "batch_join", "shuffle_batch" or "shuffle_batch_join".
        tensors: The example; a join has `tensors_list` instead.
    """

    function: str
    batch_size: Any
    capacity: Any
    enqueue_many: bool
    shapes: Any
    allow_smaller_final_batch: bool
    shared_name: str | None
    name: str | None
    tensors: Any = None
    tensors_list: Any = None
    keep_input: Any = True
    num_threads: int = 1
    dynamic_pad: bool = False
    min_after_dequeue: Any = None
    seed: int | None = None

    def sources(self) -> list[Any]:
        """The tensors of each source, in queue order.

        Raises:
            ValueError: A join has no sources, or dicts with different keys.
        """
        if not self.function.endswith("join"):
            return [in_order(self.tensors)]
        if not self.tensors_list:
            raise ValueError("Expected at least one set of tensors")
        first = self.tensors_list[0]
        if not isinstance(first, dict):
            return list(self.tensors_list)
        if any(each.keys() != first.keys() for each in self.tensors_list[1:]):
            raise ValueError("All dictionaries in tensors_list must have the same keys")
        return [in_order(each) for each in self.tensors_list]

    def check_capacity(self) -> None:
        """Raise ValueError where TensorFlow does: only `shuffle_batch` checks its numbers before there is a queue."""
        if self.function == "shuffle_batch" and self.capacity <= self.min_after_dequeue:
            raise ValueError(
                f"capacity {self.capacity} must be bigger than min_after_dequeue {self.min_after_dequeue}."
            )

    def with_more_threads(self) -> str:
        """See `more` of WorkerGroup."""
        if self.function.endswith("join"):
            return f"{{}} sources in `{self.function}`"
        return f"`num_threads={{}}` in `{self.function}`"

    def queue(self, dtypes: Sequence[Any], shapes: Any) -> Any:
        """Make the example queue."""
        if self.function.startswith("shuffle"):
            return RandomShuffleQueue(
                capacity=self.capacity,
                min_after_dequeue=self.min_after_dequeue,
                dtypes=dtypes,
                shapes=shapes,
                seed=self.seed,
                shared_name=self.shared_name,
            )
        kind = PaddingFIFOQueue if self.dynamic_pad else FIFOQueue
        return kind(capacity=self.capacity, dtypes=dtypes, shapes=shapes, shared_name=self.shared_name)

    def summarize(self, queue: Any) -> None:
        """Make the summary for the queue's fill level above `min_after_dequeue`."""
        if not self.function.startswith("shuffle"):
            summarize_fraction(f"fraction_of_{int(self.capacity)}_full", queue, self.capacity)
            return
        min_after_dequeue = self.min_after_dequeue
        name = f"fraction_over_{int(min_after_dequeue)}_of_{int(self.capacity - min_after_dequeue)}_full"
        summarize_fraction(name, queue, self.capacity, min_after_dequeue)


def batches(request: BatchArguments) -> Any:
    """Add everything a request needs to the graph; return a batch's tensors, structured like the examples."""
    sources = request.sources()
    tensors = [tensor for source in sources for tensor in source]
    with name_scope(request.name, request.function, [*tensors, request.keep_input]) as scope:
        request.check_capacity()
        sources = [as_components(source) for source in sources]
        if request.tensors_list is None and not sources[0]:
            raise ValueError("Expected at least one tensor in batch().")
        results = _dequeued(request, sources, scope)
        return like(request.tensors if request.tensors_list is None else request.tensors_list[0], results)


def _dequeued(request: BatchArguments, sources: Sequence[Sequence[Any]], scope: str) -> Any:
    """Make the queue, its runner, the summary and the dequeue op; return a batch's tensors."""
    many = request.enqueue_many
    keep = as_keep_input(request.keep_input, many)
    dense, sparse = stored(sources, many, keep)
    dtypes = common_dtypes(dense)
    shapes = common_shapes(dense, many) if request.shapes is None else request.shapes
    queue = request.queue(dtypes, shapes)
    enqueue = queue.enqueue_many if many else queue.enqueue
    enqueue_ops = [enqueue_kept(enqueue, source, keep) for source in dense]
    runner = QueueRunner(queue, enqueue_ops * request.num_threads)
    runner.more = request.with_more_threads()
    add_queue_runner(runner)
    request.summarize(queue)
    dequeue = queue.dequeue_up_to if request.allow_smaller_final_batch else queue.dequeue_many
    return restored(dequeue(request.batch_size, name=scope), sparse)


def in_order(tensors: Any) -> Any:
    """Return the tensors of a dict sorted by the text of their keys; anything else as is."""
    return [tensors[key] for key in sorted(tensors, key=str)] if isinstance(tensors, dict) else tensors


def like(given: Any, results: Any) -> Any:
    """Name the results like the tensors in a dict; a dequeue op returns a single one bare."""
    if not isinstance(given, dict):
        return results
    values = [results] if len(given) == 1 else results
    return {key: values[i] for i, key in enumerate(sorted(given, key=str))}
