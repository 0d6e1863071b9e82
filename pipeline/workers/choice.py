"""threads and processes: who calls a function. Any executor of concurrent.futures will do as well."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from pipeline.dtypes import MOST_WORKERS, at_least, texts
from pipeline.workers.processes import Processes
from pipeline.workers.threads import Threads

METHODS = ("forkserver", "spawn")


def threads(count: int | None = None, *, setup: Callable[[], Any] | None = None) -> Threads:
    """Run functions in threads, as `workers=` for `map`, `filter` and `flat_map`; `workers=4` is short for it.

    For functions that wait, or release the GIL, such as image decoders and NumPy on large arrays.

    Args:
        count: How many threads; by default one for each processor.
        setup: Called once in each thread.

    Returns:
        An executor. Its threads start when there is work, and end with the iterator, or with their `with` block.

    Raises:
        ValueError: `count` is less than 1.
        TypeError: `count` is not an integer, or `setup` is not callable.

    Thread safety: you may call it, and the result's methods, from any thread.

    Examples:
        >>> list(pipeline.dataset(range(4)).map(np.square, workers=pipeline.threads(2)).batch(4))
        [array([0, 1, 4, 9])]
    """
    return Threads(_checked("threads", count, setup), setup)


def processes(
    count: int | None = None,
    *,
    setup: Callable[[], Any] | None = None,
    method: str = "forkserver",
    preload: Sequence[str] | None = None,
) -> Processes:
    """Run functions in processes, as `workers=` for `map`, `filter` and `flat_map`.

    For Python functions that hold the GIL. Large arrays return through shared memory.

        if __name__ == "__main__":  # each process imports the program
            decoded = pipeline.dataset(paths).map(decode, workers=pipeline.processes(4))
            for images, labels in decoded.batch(64):
                train_step(images, labels)

    Processes start when there is work, and wait up to a minute for the next iterator. In a `with` block they end with
    it.

    Args:
        count: How many processes; by default one for each processor.
        setup: Called once in each process, for example to load a model. If it fails, your iterator raises its error.
        method: "forkserver" or "spawn".
        preload: Modules for the fork server to import once, such as ("torch",). By default the libraries your program
            has imported. Each process imports your other modules.

    Returns:
        An executor. Your function must be at a module's top level. It is sent to each process once.

    Raises:
        ValueError: `count` is less than 1, there is no such method, or `preload` is given with "spawn".
        TypeError: `count` is not an integer, `setup` cannot be sent, or `preload` does not name modules.

    Thread safety: you may call it, and the result's methods, from any thread.

    Examples:
        >>> with pipeline.processes(2) as workers:
        ...     list(pipeline.dataset(["one", "three"]).map(len, workers=workers))
        [3, 5]
    """
    if method not in METHODS:
        raise ValueError(f"processes: method must be 'forkserver' or 'spawn', got {method!r:.80}")
    number = _checked("processes", count, setup)
    if preload is not None:
        preload = tuple(texts(preload, "processes: preload"))
        if method != "forkserver":
            raise ValueError("processes: preload is for method='forkserver': each process that is spawned imports all")
    return Processes(number, setup, method, preload)


def _checked(name: str, count: int | None, setup: Any) -> int:
    if setup is not None and not callable(setup):
        raise TypeError(f"{name}: setup must be callable, not {setup!r:.80}")
    if count is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return at_least(1, count, f"{name}: count", MOST_WORKERS)
