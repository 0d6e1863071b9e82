"""threads and processes: who calls a function. Any executor of concurrent.futures will do as well."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from pipeline.dtypes import integer
from pipeline.workers.processes import Processes
from pipeline.workers.threads import Threads

METHODS = ("forkserver", "spawn")


def threads(count: int | None = None, *, setup: Callable[[], Any] | None = None) -> Threads:
    """Threads that call a function, for `workers=` of `map_ahead` and the batch functions.

    For functions that wait, or that release the interpreter's lock, such as most of NumPy on large arrays, zlib and the
    image decoders. On a free-threaded Python, for all functions.

    Args:
        count: How many; None is the number of processors that this process may use.
        setup: Called by each thread before anything else.

    Returns:
        An executor. Its threads start when there is something to do, and end with the loop that uses them; within a
        `with` block of their own, with that block.

    Raises:
        ValueError: `count` is less than 1.
        TypeError: `count` is not an integer, or `setup` is not callable.

    Thread safety: any thread may call it, and the methods of the result.
    """
    return Threads(_checked("threads", count, setup), setup)


def processes(
    count: int | None = None,
    *,
    setup: Callable[[], Any] | None = None,
    method: str = "forkserver",
    preload: Sequence[str] | None = None,
) -> Processes:
    """Processes that call a function, for `workers=` of `map_ahead` and the batch functions.

    For functions in Python that hold the interpreter's lock. Large arrays that the function returns come back through
    shared memory: a worker writes each into its place among those of neighbouring items, and nothing else copies it
    until it is in a batch. The memory has no name, so nothing is left behind, whatever is killed.

        if __name__ == "__main__":  # each worker imports the program
            with pipeline.batch(paths, 64, function=decode, workers=pipeline.processes(4)) as batches:
                for images, labels in batches:
                    train_step(images, labels)

    They start when there is something to do. After a loop they wait for the next one, for a minute at most: another
    epoch, or another loop with functions of the same modules, begins at once, unless the file of such a module has
    changed meanwhile. Within a `with` block of their own they end with that block. They also end when the program does,
    or is killed.

    Args:
        count: How many; None is the number of processors that this process may use.
        setup: Called by each process before anything else, for example to open a file or to load a model into a global
            variable. If it fails, the loop ends with its error.
        method: How processes start: "forkserver" or "spawn". ("fork" copies a process while its threads hold locks.)
        preload: Modules that the fork server imports once, so that no process has to, such as ("torch",). None, the
            default, is the libraries that the program and the modules of the functions have imported. Modules of your
            own that you do not name here are imported by each process, so that what they open or draw is its own.

    Returns:
        An executor. Processes must be able to import the function and `setup`: these are defined at the top level of a
        module. It is sent to each process once, with the data that it may carry, such as a dataset.

    Raises:
        ValueError: `count` is less than 1, there is no such method, or `preload` is given with "spawn".
        TypeError: `count` is not an integer, `setup` is not callable or cannot be sent to processes, or `preload` is
            not names of modules.

    Thread safety: any thread may call it, and the methods of the result.
    """
    if method not in METHODS:
        raise ValueError(f"processes: method must be 'forkserver' or 'spawn', got {method!r:.80}")
    number = _checked("processes", count, setup)
    if preload is not None:
        if isinstance(preload, (str, bytes)) or not all(isinstance(each, str) for each in preload):
            raise TypeError(f"processes: preload must be names of modules, such as ('torch',), got {preload!r:.80}")
        if method != "forkserver":
            raise ValueError("processes: preload is for method='forkserver': each process that is spawned imports all")
        preload = tuple(preload)
    return Processes(number, setup, method, preload)


def _checked(name: str, count: int | None, setup: Any) -> int:
    if setup is not None and not callable(setup):
        raise TypeError(f"{name}: setup must be callable, not {setup!r:.80}")
    if count is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    number = integer(count, f"{name}: count")
    if number < 1:
        raise ValueError(f"{name}: count must be at least 1, got {count}")
    return number
