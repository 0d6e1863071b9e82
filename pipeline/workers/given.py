"""Check values for `workers=`: None, a number of threads, "auto" or an executor."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

import numpy as np

from pipeline.dtypes import MOST_WORKERS, integer
from pipeline.workers.executor import Foreign, Workers
from pipeline.workers.judge import Chosen
from pipeline.workers.threads import Threads


def checked_workers(kind: str, workers: Any, function: Any) -> int | str | Executor:
    """Return a step's `workers` if they can call its function.

    Raises:
        TypeError: They are not workers, or the function cannot be sent to them.
        ValueError: The number of threads is out of range.
    """
    what = f"{kind}: workers"
    if isinstance(workers, str) and workers == "auto":
        return workers
    if isinstance(workers, (int, np.integer)) and not isinstance(workers, bool):
        count = integer(workers, what)
        if not 1 <= count <= MOST_WORKERS:
            hint = "; without workers= the thread that iterates runs it" if count < 1 else ""
            raise ValueError(f"{what} must be at least 1 and at most {MOST_WORKERS:,}, got {count:,}{hint}")
        return count
    if not callable(getattr(workers, "submit", None)):
        raise TypeError(
            f"{what} must be a number of threads, 'auto' or an executor such as pipeline.processes(4), not "
            f"{workers!r:.80}"
        )
    if isinstance(workers, Workers):
        try:
            workers.check(function)
        except TypeError as error:
            raise TypeError(f"{what}: {error}") from error
    return workers  # type: ignore[no-any-return]


def workers_of(given: Any, function: Any, name: str, chosen: Chosen) -> tuple[Workers, bool]:
    """Return the workers for a step's `workers=`, and whether they end with the stage.

    Args:
        given: A result of `checked_workers`.
        function: The step's function.
        name: Its name.
        chosen: The best choice so far for "auto".
    """
    if isinstance(given, int):
        return Threads(given, abandons=True), True
    if isinstance(given, str):
        from pipeline.workers.auto import Auto  # imported lazily: multiprocessing costs 10 ms

        return Auto(name, function, chosen), True
    return (given, False) if isinstance(given, Workers) else (Foreign(given), False)
