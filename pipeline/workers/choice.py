"""threads and processes: executors for `workers=`. Any executor from concurrent.futures works too."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from pipeline.diagnostics.clocks import processors
from pipeline.dtypes import MOST_WORKERS, at_least, texts
from pipeline.workers.processes import Processes
from pipeline.workers.threads import Threads

METHODS = ("forkserver", "spawn", "fork")

_NO_PRELOAD = {
    "spawn": "each process that is spawned imports all",
    "fork": "a forked process has what the program has imported",
}


def threads(count: int | None = None, *, setup: Callable[[], Any] | None = None) -> Threads:
    """Run functions in threads, as `workers=` for `map`, `filter`, `flat_map`.

    For functions that wait or release the GIL, as image decoders and NumPy do.
    `workers=4` is short for `threads(4)`. If a function iterates over a dataset
    with the same workers, its own thread computes the elements.

    Args:
        count: Number of threads; by default one per processor.
        setup: A function to call once in each thread.

    Returns:
        An executor. Its threads end with the iterator, or its `with` block.

    Raises:
        ValueError: `count` is less than 1.
        TypeError: `count` is not an integer, or `setup` is not callable.

    Thread safety: you may call it, and the result's methods, from any thread.

    Examples:
        >>> squares = pipeline.dataset([1, 2]).map(np.square, workers=2)
        >>> list(squares.batch(2))
        [array([1, 4])]
    """
    return Threads(_checked("threads", count, setup), setup)


def processes(
    count: int | None = None,
    *,
    setup: Callable[[], Any] | None = None,
    method: str = "forkserver",
    preload: Sequence[str] | None = None,
) -> Processes:
    """Run functions in processes, as `workers=` for `map`, `filter`, `flat_map`.

    Use processes for functions that compute in Python. Put your program's
    code under `if __name__ == "__main__":`, because each process imports it.
    Processes end with a `with` block, or after a minute without work.

    Args:
        count: Number of processes; by default one per processor.
        setup: A function to call once per process, for example to load a model.
        method: "forkserver", "spawn", or "fork": copies of your program, fast
            to start, but they can hang on a lock held by another thread.
        preload: Modules for the fork server; by default the imported ones.

    Raises:
        ValueError: A value is wrong, or not for this method, system or Python.
        TypeError: `setup` does not pickle, or an argument has the wrong type.

    Thread safety: you may call it, and the result's methods, from any thread.

    Examples:
        >>> words = pipeline.dataset(["one", "three"])
        >>> list(words.map(len, workers=pipeline.processes(2)))
        [3, 5]
    """
    if method not in METHODS:
        raise ValueError(f"processes: method must be 'forkserver', 'spawn' or 'fork', got {method!r:.80}")
    if method == "fork":
        _check_fork()
    number = _checked("processes", count, setup)
    if preload is not None:
        preload = tuple(texts(preload, "processes: preload"))
        if method != "forkserver":
            raise ValueError(f"processes: preload is for method='forkserver': {_NO_PRELOAD[method]}")
    return Processes(number, setup, method, preload)


def _check_fork() -> None:
    if sys.platform == "darwin":
        raise ValueError("processes: method='fork' is not for macOS, whose libraries may crash in a forked process")
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        raise ValueError("processes: method='fork' needs the GIL. Without it, threads compute in parallel: workers=n")


def _checked(name: str, count: int | None, setup: Any) -> int:
    if setup is not None and not callable(setup):
        raise TypeError(f"{name}: setup must be callable, not {setup!r:.80}")
    if count is None:
        return processors()
    return at_least(1, count, f"{name}: count", MOST_WORKERS)
