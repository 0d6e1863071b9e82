"""What `function=` and `workers=` of the batch functions make of a source: one whose examples workers make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pipeline.batches.source import is_iterable
from pipeline.errors import OutOfRangeError
from pipeline.nest import map_values
from pipeline.queues.base import QueueBase
from pipeline.runners.enqueue_ops import op_name
from pipeline.sources.source import TableCursor, gathered, rows_of
from pipeline.sources.stream import StreamCursor
from pipeline.workers.items import PlacedItems, is_sequence, items_of
from pipeline.workers.map_ahead import check_executor, map_ahead

# A chunk is a batch, unless that is too little to be worth the way to a worker, or keeps one worker busy for long.
_LEAST, _MOST = 8, 256


def mapped(
    source: Any,
    function: Callable[[Any], Any] | None,
    workers: Any,
    num_threads: int | None,
    chunksize: int,
    at_once: bool,
) -> Any:
    """A source whose examples workers make of those of another one.

    Args:
        source: What `check_source` lets pass.
        function, workers, num_threads: As for `batch`; there is a function, or there are workers.
        chunksize: See `chunk_of`.
        at_once: Without workers, whoever asks for an example may call the function; the source need not know its place.

    Raises:
        TypeError: There is no function, and the source is no dataset; or `map_ahead` does not take them.
    """
    if function is None:
        if isinstance(source, (np.ndarray, list, tuple, range)) or not (is_iterable(source) and is_sequence(source)):
            raise TypeError(
                "workers: pass function= too, which workers call with each example of the source; without it, the "
                "source is a dataset, an object with __getitem__ and __len__, and workers make its items"
            )
        function, source = source.__getitem__, range(len(source))
    gives_blocks = hasattr(source, "block") and not callable(source) and not hasattr(type(source), "__iter__")
    if at_once and workers is None and not isinstance(source, QueueBase):
        return applied(function, _rows(source) if gives_blocks else items_of(source))
    if workers is None:
        from pipeline.workers.threads import AtOnce, Threads  # 2 ms of import time, for those who pass a function only

        workers = AtOnce() if num_threads == 0 else Threads(num_threads or 1)
        chunksize = 1 if num_threads == 0 else chunksize  # an error is to come before the next call
    items = _placed(source) if gives_blocks else source
    return map_ahead(function, items, workers=check_executor("workers", workers), chunksize=chunksize)


def applied(function: Callable[[Any], Any], items: Iterator[Any]) -> Callable[[], Any]:
    """A source that calls a function with the next item for each example."""

    def example() -> Any:
        item = next(items)
        try:
            made = function(item)
        except (StopIteration, OutOfRangeError) as error:  # these would look like the end of the input
            raise RuntimeError(f"the function raised {type(error).__name__}") from error
        if made is None:
            raise ValueError("the function returned None, which is not an example")
        return made

    example.__qualname__ = op_name(function)
    return example


def _placed(source: Any) -> Iterator[Any]:
    """The examples of what gives blocks, with their places if it knows them."""
    if isinstance(source, StreamCursor):
        source.inside = True
    if isinstance(source, (StreamCursor, TableCursor)):
        return PlacedItems(source, rows_of, _MOST)
    return _rows(source)


def _rows(source: Any) -> Iterator[Any]:
    """The examples of what gives blocks."""
    while True:
        try:
            block = source.block(_MOST)
        except OutOfRangeError:
            return
        yield from rows_of(map_values(gathered, block))


def chunk_of(batch_size: int, enqueue_many: bool) -> int:
    """How many items of a source workers take at once."""
    if enqueue_many:  # each is a block
        return 1
    return min(max(batch_size, _LEAST), _MOST)
