"""The dataset behind a batch function: sources, a shuffle buffer, batches, and threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.batches.fit import Fit
from pipeline.batches.merged import Merged
from pipeline.batches.of_any import dataset
from pipeline.batches.origins import OfProducer, OfRows
from pipeline.batches.request import Request
from pipeline.datasets.dataset import Dataset
from pipeline.datasets.iterator import DatasetIterator
from pipeline.queues.base import QueueBase
from pipeline.sources.callables import OfCallable
from pipeline.sources.nodes import OfParts, OfTable
from pipeline.sources.sequence import STORED, OfSequence
from pipeline.stages.functions import CallSettings, Map
from pipeline.stages.groups import Batch
from pipeline.stages.interleave import Interleave
from pipeline.stages.node import Node
from pipeline.stages.pool import Shuffle
from pipeline.stages.prefetch import Prefetched
from pipeline.stages.unbatch import Unbatch

# Maximum numbers of blocks and examples that a thread makes ahead.
_BLOCKS, _EXAMPLES = 2, 32

# Rows per turn for a table in a join.
_TURN = 16

# Search this many items for a nested source. Checking 20,000 examples took longer than batching them.
_LOOKED_AT = 64

_SEVERAL = "expected one source of examples, not a list of them: that is for batch_join and shuffle_batch_join"


class PoolOptions:
    """The options of a shuffle buffer.

    Args:
        min_after_dequeue: Examples left in it after each draw.
        seed: Seed for the draws.
    """

    def __init__(self, min_after_dequeue: int, seed: int | None) -> None:
        self.min_after_dequeue, self.seed = min_after_dequeue, seed


def batches_of(sources: Sequence[Any], request: Request, pool: PoolOptions | None = None) -> DatasetIterator[Any]:
    """Return an iterator over batches from one source, or from several joined ones."""
    inputs = [source_of(each, request) for each in sources]
    examples = examples_of(inputs, request)
    if pool is not None:
        examples = Shuffle(examples, _pool_size(request, pool), pool.seed, _pool_options(request, pool))
    pad = 0 if request.dynamic_pad else None
    whole = not request.allow_smaller_final_batch
    made: Node = Batch(examples, request.batch_size, whole, pad, None, None, tensors=True)
    room = request.capacity - (0 if pool is None else pool.min_after_dequeue)
    return run(ahead(made, inputs, request, room // request.batch_size), request)


def _pool_size(request: Request, pool: PoolOptions) -> int:
    """Return the buffer size: TensorFlow holds at least this many examples before it draws a batch.

    A deterministic order must not depend on the batch size, so its buffer holds only one more than the minimum.
    """
    return pool.min_after_dequeue + (1 if request.ordered else request.batch_size)


def _pool_options(request: Request, pool: PoolOptions) -> dict[str, Any]:
    """Return the arguments for the buffer size."""
    found: dict[str, Any] = {"min_after_dequeue": pool.min_after_dequeue}
    return found | ({"deterministic": True} if request.ordered else {"batch_size": request.batch_size})


def run(made: Node, request: Request) -> DatasetIterator[Any]:
    """Return the iterator over a recipe."""
    return DatasetIterator(made, 0, request.name, request.coord)


def ahead(made: Node, inputs: Sequence[Node], request: Request, room: int) -> Node:
    """Return batches prepared by a thread, or computed by the calling thread.

    The calling thread also gathers rows in memory, because handing them from thread to thread takes longer.
    """
    if request.inline or (len(inputs) == 1 and not request.enqueue_many and _at_hand(inputs[0])):
        return made
    return Prefetched(made, max(1, room))


def examples_of(inputs: Sequence[Node], request: Request) -> Node:
    """Return the examples from one source, or from several."""
    taken = [node for node in inputs for _ in range(_threads(node, request))]
    if len(taken) > 1 and not (request.ordered or request.inline):
        room = _BLOCKS if request.enqueue_many else max(_BLOCKS, min(_EXAMPLES, request.capacity // len(taken)))
        found: Node = Merged(taken, room)
    elif len(inputs) > 1:
        tables = all(isinstance(node, (OfTable, OfParts)) for node in inputs) and not request.enqueue_many
        found = Interleave(inputs, False, len(inputs), _TURN if tables else 1)
    else:
        (found,) = inputs
    if request.enqueue_many:
        found = Unbatch(found, tensors=True)
    if request.shapes is not None or request.on_error == "skip":
        fit = Fit(request.shapes, request.dynamic_pad)
        found = Map(found, fit, CallSettings(on_error=request.on_error, max_errors=request.max_errors))
    return found


def _threads(node: Node, request: Request) -> int:
    """Return how many threads read a source at once: for functions, the requested number."""
    return request.num_threads or 1 if isinstance(node, OfCallable) else 1


def source_of(given: Any, request: Request) -> Node:
    """Return the node of a source."""
    if isinstance(given, (list, tuple)) and any(map(_is_source, given[:_LOOKED_AT])):
        raise TypeError(_SEVERAL)
    node = dataset(given)._node
    if isinstance(node, OfCallable):
        node = OfCallable(node.function, request.on_error, request.max_errors)
        node.more = "" if request.num_threads is None else "`num_threads={}`"
        return node
    if isinstance(node, (OfParts, OfProducer, OfRows)):
        return node.skipping(request.on_error, request.max_errors)
    return node


def _is_source(thing: Any) -> bool:
    return callable(thing) or isinstance(thing, (QueueBase, Dataset))


def _at_hand(node: Node) -> bool:
    """Return whether examples are in memory and need no waiting."""
    if isinstance(node, (OfProducer, OfRows)):
        return bool(node.producer.at_hand)
    if isinstance(node, OfTable):
        return node.table.at_hand
    return isinstance(node, OfSequence) and type(node.items) in STORED
