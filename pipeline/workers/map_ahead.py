"""map_ahead: applies a function to items in processes, threads or another executor, in chunks, in order."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pipeline.dtypes import integer
from pipeline.iterators import why_async
from pipeline.keywords import tells_keywords
from pipeline.queues.base import QueueBase
from pipeline.workers.ahead import Buffer, MapAhead

if TYPE_CHECKING:
    from concurrent.futures import Executor

# Bytes of results in flight.
BUFFER_BYTES = 128 << 20


@tells_keywords
def map_ahead(
    function: Callable[[Any], Any],
    items: Iterable[Any] | Callable[[], Any] | QueueBase,
    executor: Executor | None = None,
    *,
    workers: Executor | None = None,
    chunksize: int = 32,
    buffersize: int | None = None,
    buffer_bytes: int = BUFFER_BYTES,
) -> MapAhead:
    """Apply a function to items in workers, ahead of the consumer of its results.

    With it, a decode function that holds the GIL uses more than one core:

        source = pipeline.map_ahead(decode, paths, workers=pipeline.processes(4))
        with pipeline.shuffle_batch(source, 128, capacity=10_000, min_after_dequeue=5_000) as batches:
            for images, labels in batches:
                train_step(images, labels)

    Items go to a worker in chunks; the examples of a chunk come back stacked, as one block. They are delivered in the
    order of the items.

    Args:
        function: Called with each item, returns an example: an array, number, bytes or object, or a list, tuple or
            dict of them. Processes must be able to import it: define it at the top level of a module.
            `pipeline.processes` gets it once, other executors with each chunk.
        items: An iterable, which may be endless; or a queue, such as that of a producer, whose elements are the items;
            or a function without arguments that returns the next item, such as one that reads from a reader, until it
            raises OutOfRangeError or StopIteration. The thread that takes examples reads them, as items are needed. Of
            a sequence, a deterministic loop can save and find again where it stands.
        executor: The same as `workers`, which may be given third.
        workers: `pipeline.processes(n)`, `pipeline.threads(n)`, or any `concurrent.futures.Executor`, which you shut
            down yourself.
        chunksize: The number of items sent to a worker at once; they should take it some milliseconds. Use 1 if items
            arrive slowly. If it is the batch size of `batch`, large arrays that come from processes become the batch
            without another copy.
        buffersize: The most chunks in flight. None: four for each worker if the executor says how many it has, else
            four for each processor.
        buffer_bytes: The most bytes of arrays in flight, judging by the size of the last chunk; but each worker has
            something to do, and one chunk is ready beside these.

    Returns:
        A source for `batch`, `shuffle_batch` and so on, for which one reading thread is enough; also an iterator over
        the examples. The end of the loop, and `close`, cancel the chunks that no worker has begun. An error of the
        function names the item in a note; the next call goes on with the next item. If a chunk cannot be sent, or what
        the function made of it, each of its items is tried again alone. If a worker of `pipeline.processes` dies, that
        is an AbortedError that names the item it was at and the signal; the next call goes on, and the function is
        called again with the other items of the chunk.
        See `MapAhead.block` for the errors. Thread safe.

    Raises:
        TypeError: `function` is not callable, is async, yields, or cannot be sent to the processes, `items` is not
            iterable, there is not exactly one of `workers` and `executor`, or it is not an executor.
        ValueError: `chunksize`, `buffersize` or `buffer_bytes` is less than 1.

    Examples:
        >>> workers = pipeline.threads(2)
        >>> with pipeline.batch(pipeline.map_ahead(lambda number: number**2, range(6), workers), 3) as batches:
        ...     [numbers.tolist() for numbers in batches]
        [[0, 1, 4], [9, 16, 25]]
    """
    check_function("map_ahead: function", function)
    if (executor is None) is (workers is None):
        given = "not both" if executor is not None else "such as workers=pipeline.processes(4)"
        raise TypeError(f"map_ahead: workers, or executor, must say who calls the function, {given}")
    executor = check_executor("map_ahead: executor" if workers is None else "map_ahead: workers", executor or workers)
    count = getattr(executor, "_max_workers", None) or max(2, os.cpu_count() or 1)
    sizes = {
        "chunksize": integer(chunksize, "map_ahead: chunksize"),
        "buffersize": 4 * count if buffersize is None else integer(buffersize, "map_ahead: buffersize"),
        "buffer_bytes": integer(buffer_bytes, "map_ahead: buffer_bytes"),
    }
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"map_ahead: {name} must be at least 1, got {size}")
    _check_pickle(function, executor)
    buffer = Buffer(count, sizes["buffersize"], sizes["buffer_bytes"])
    if (why := why_async(items)) is not None:
        raise TypeError(f"map_ahead: items must be iterable, not {items!r:.80}: {why}")
    try:
        return MapAhead(function, items, executor, sizes["chunksize"], buffer)
    except TypeError:
        raise TypeError(f"map_ahead: items must be iterable, not {items!r:.80}") from None


def check_function(what: str, function: Any) -> None:
    """Raise TypeError for what cannot make one example of an item."""
    if not callable(function):
        raise TypeError(f"{what} must be callable, not {function!r:.80}")
    for call in (function, type(function).__call__):
        if inspect.iscoroutinefunction(call):
            raise TypeError(f"{what} must return an example, and {function!r:.80} is async: nobody awaits it here")
        if inspect.isgeneratorfunction(call) or inspect.isasyncgenfunction(call):
            raise TypeError(f"{what} must return an example, and {function!r:.80} yields: it would give a generator")


def check_executor(what: str, executor: Any) -> Executor:
    """Return the executor; TypeError if it is none."""
    if not callable(getattr(executor, "submit", None)):
        raise TypeError(
            f"{what} must be a concurrent.futures.Executor, not {executor!r:.80}: such as pipeline.processes(4), "
            "pipeline.threads(4), or one of your own"
        )
    return executor  # type: ignore[no-any-return]


def _check_pickle(function: Any, executor: Any) -> None:
    """Raise TypeError now for a function that cannot be sent to processes, instead of an error for each chunk."""
    check = getattr(executor, "check", None)
    if check is not None:
        check(function)
        return
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
