"""map_ahead: applies a function to items in the processes or threads of an executor, in chunks, in order."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pipeline.dtypes import integer
from pipeline.workers.ahead import MapAhead

if TYPE_CHECKING:
    from concurrent.futures import Executor


def map_ahead(
    function: Callable[[Any], Any],
    items: Iterable[Any],
    executor: Executor,
    *,
    chunksize: int = 32,
    buffersize: int | None = None,
) -> MapAhead:
    """Apply a function to items in the workers of an executor, ahead of the consumer of its results.

    With it, a decode function that holds the GIL uses more than one core:

        with concurrent.futures.ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as executor:
            source = pipeline.map_ahead(decode, paths, executor)
            with pipeline.shuffle_batch(source, 128, capacity=10_000, min_after_dequeue=5_000) as batches:
                for images, labels in batches:
                    train_step(images, labels)

    Items go to a worker in chunks; the examples of a chunk come back stacked, as one block. They are delivered in the
    order of the items. `map_ahead` starts no process: the executor is yours, and you shut it down.

    Args:
        function: Called with each item, returns an example: an array, number, bytes or object, or a list, tuple or
            dict of them. Processes must be able to import it: define it at the top level of a module. It is sent along
            with each chunk, so it should not carry data.
        items: An iterable, which may be endless. The thread that takes examples reads it, as items are needed. Of a
            sequence, a deterministic loop can save and find again where it stands.
        executor: Any `concurrent.futures.Executor`.
        chunksize: The number of items sent to a worker at once; they should take it some milliseconds. Use 1 if items
            arrive slowly, and less than the default for examples of 100 KiB and more.
        buffersize: The most chunks in flight. None: four for each worker if the executor says how many it has, else
            four for each processor.

    Returns:
        A source for `batch`, `shuffle_batch` and so on, for which one reading thread is enough; also an iterator over
        the examples. The end of the loop, and `close`, cancel the chunks that no worker has begun. An error of the
        function (or of a chunk that cannot be pickled) names the item in a note; the next call goes on with the next
        item. See `MapAhead.block` for the errors. Thread safe.

    Raises:
        TypeError: `function` is not callable or cannot be sent to the executor's processes, `items` is not iterable, or
            `executor` is not an executor.
        ValueError: `chunksize` or `buffersize` is less than 1.

    Examples:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> with ThreadPoolExecutor(2) as executor:
        ...     with pipeline.batch(pipeline.map_ahead(lambda number: number**2, range(6), executor), 3) as batches:
        ...         [numbers.tolist() for numbers in batches]
        [[0, 1, 4], [9, 16, 25]]
    """
    if not callable(function):
        raise TypeError(f"map_ahead: function must be callable, not {function!r:.80}")
    if not callable(getattr(executor, "submit", None)):
        raise TypeError(f"map_ahead: executor must be a concurrent.futures.Executor, not {executor!r:.80}")
    if buffersize is None:
        buffersize = 4 * (getattr(executor, "_max_workers", None) or os.cpu_count() or 1)
    sizes = {
        "chunksize": integer(chunksize, "map_ahead: chunksize"),
        "buffersize": integer(buffersize, "map_ahead: buffersize"),
    }
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"map_ahead: {name} must be at least 1, got {size}")
    try:
        ahead = MapAhead(function, items, executor, **sizes)
    except TypeError:
        raise TypeError(f"map_ahead: items must be iterable, not {items!r:.80}") from None
    _check_pickle(function, executor)
    return ahead


def _check_pickle(function: Any, executor: Any) -> None:
    """Raise TypeError now for a function that cannot be pickled, instead of an error for each chunk."""
    module = sys.modules.get("concurrent.futures.process")
    if module is None or not isinstance(executor, module.ProcessPoolExecutor):
        return
    from multiprocessing.reduction import ForkingPickler  # loaded by now: the executor uses it

    try:
        ForkingPickler.dumps(function)
    except Exception as error:
        raise TypeError(
            f"map_ahead: {function!r:.80} cannot be sent to the processes of the executor ({error}): it must be "
            "defined at the top level of a module, not be a lambda or defined in a function"
        ) from error
