"""The dataset that a batch function means: sources, a pool, batches, and who runs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.batches.fit import Fit
from pipeline.batches.request import Request
from pipeline.datasets.dataset import Dataset
from pipeline.datasets.iterator import DatasetIterator
from pipeline.datasets.node import Node
from pipeline.datasets.origins.callable import OfCallable
from pipeline.datasets.origins.parts import OfParts
from pipeline.datasets.origins.producer import OfProducer
from pipeline.datasets.origins.table import OfTable
from pipeline.datasets.transforms.batch import Batch
from pipeline.datasets.transforms.interleave import Interleave
from pipeline.datasets.transforms.map import Map
from pipeline.datasets.transforms.prefetch import Prefetched
from pipeline.datasets.transforms.several import Several
from pipeline.datasets.transforms.shuffle import Shuffle
from pipeline.datasets.transforms.steps import CallSettings
from pipeline.datasets.transforms.unbatch import Unbatch
from pipeline.producers.queue import ProducerQueue
from pipeline.producers.slices import SliceSource
from pipeline.queues.base import QueueBase
from pipeline.sources.of_any import dataset

# Rows of a table that a source of a join gives in its turn.
_TURN = 16

# A list with a source among so many items is one of sources. To look at 20,000 examples took longer than to batch them.
_LOOKED_AT = 64

_SEVERAL = "expected one source of examples, not a list of them: that is for batch_join and shuffle_batch_join"


class PoolOptions:
    """What a pool is asked for.

    Args:
        min_after_dequeue: How many examples stay in it when one is drawn.
        seed: Of the draws.
    """

    def __init__(self, min_after_dequeue: int, seed: int | None) -> None:
        self.min_after_dequeue, self.seed = min_after_dequeue, seed


def batches_of(sources: Sequence[Any], request: Request, pool: PoolOptions | None = None) -> DatasetIterator[Any]:
    """Return an iterator over the batches of a source, or of several that are joined."""
    examples, at_once = examples_of(sources, request)
    if pool is not None:
        examples = Shuffle(examples, _pool_size(request, pool), pool.seed)
    pad = 0 if request.dynamic_pad else None
    whole = not request.allow_smaller_final_batch
    made: Node = Batch(examples, request.batch_size, whole, pad, None, None, tensors=True)
    room = request.capacity - (0 if pool is None else pool.min_after_dequeue)
    return run(ahead(made, sources, request, at_once, room // request.batch_size), request)


def _pool_size(request: Request, pool: PoolOptions) -> int:
    """Return how many examples to draw from: in TensorFlow there are at least so many before a batch is drawn.

    An order that is fixed must not depend on the batch size, so it draws from what there is for the last of a batch.
    """
    return pool.min_after_dequeue + (1 if request.ordered else request.batch_size)


def run(made: Node, request: Request) -> DatasetIterator[Any]:
    """Return the iterator over a recipe."""
    return DatasetIterator(made, 0, None, request.name, request.coord)


def ahead(made: Node, sources: Sequence[Any], request: Request, at_once: bool, room: int) -> Node:
    """Return batches that a thread prepares, unless the own thread is to make them or threads fill a queue already.

    Rows that lie in memory are gathered in the own thread too: to hand them from thread to thread takes longer.
    """
    if request.inline or at_once or (len(sources) == 1 and not request.enqueue_many and _at_hand(sources[0])):
        return made
    return Prefetched(made, max(1, room))


def examples_of(sources: Sequence[Any], request: Request) -> tuple[Node, bool]:
    """Return the examples of a source, or of several, and whether threads of their own take them."""
    nodes = [_source(each, request) for each in sources]
    threads = [node for node in nodes for _ in range(_threads(node, request))]
    at_once = not (request.ordered or request.inline) and len(threads) > 1
    if at_once:  # a block counts as 1, of however many examples
        room = 2 * len(threads) if request.enqueue_many else request.capacity
        found: Node = Several(threads, room if room > 0 else 2**31 - 1)
    elif len(nodes) > 1:
        tables = all(isinstance(node, (OfTable, OfParts)) for node in nodes) and not request.enqueue_many
        found = Interleave(nodes, False, len(nodes), _TURN if tables else 1)
    else:
        (found,) = nodes
    if request.enqueue_many:
        found = Unbatch(found, tensors=True)
    if request.shapes is not None or request.on_error == "skip":
        fit = Fit(request.shapes, request.dynamic_pad)
        found = Map(found, fit, CallSettings(on_error=request.on_error, max_errors=request.max_errors))
    return found, at_once


def _threads(node: Node, request: Request) -> int:
    """Return how many threads make the examples of a source at once: of functions as many as are asked for."""
    return request.num_threads or 1 if isinstance(node, OfCallable) else 1


def _source(given: Any, request: Request) -> Node:
    if isinstance(given, (SliceSource, ProducerQueue)):
        if request.on_error == "raise":
            return OfProducer(given, recorded=request.ordered)
        one = given if isinstance(given, SliceSource) else given.dequeue  # so that a row that fails is left out alone
        return OfCallable(one, request.ordered, request.on_error, request.max_errors)
    if isinstance(given, (list, tuple)) and any(map(_is_source, given[:_LOOKED_AT])):
        raise TypeError(_SEVERAL)
    node = dataset(given)._node
    if isinstance(node, OfCallable):
        return OfCallable(node.function, request.ordered, request.on_error, request.max_errors)
    if isinstance(node, OfParts):
        return node.skipping(request.on_error, request.max_errors)
    return node


def _is_source(thing: Any) -> bool:
    return callable(thing) or isinstance(thing, (QueueBase, Dataset))


def _at_hand(given: Any) -> bool:
    """Whether examples lie in memory, so that nothing is waited for."""
    if isinstance(given, (SliceSource, ProducerQueue)):
        return given.at_hand
    if isinstance(given, Dataset):
        node = given._node
        return isinstance(node, OfTable) and bool(getattr(node.table, "at_hand", False))
    return isinstance(given, (np.ndarray, list, tuple, range)) or (
        isinstance(given, dict) and all(isinstance(each, np.ndarray) for each in given.values())
    )
