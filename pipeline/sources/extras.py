"""Libraries that some sources need, imported when they are first used; and pieces that are read as a whole."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.queues.rows import Rows

# Rows of fewer bytes are gathered by the queue: one copy less.
_SMALL = 2048


def needs(module: str, function: str, extra: str) -> Any:
    """Import a module that a function needs; ImportError that names the extra if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{function} needs {package}: pip install 'queue-runner[{extra}]'") from error


def last_used(load: Callable[[int], Any], count: int = 2) -> Callable[[int], Any]:
    """Return a function that calls `load`, one call at a time, and keeps the results that were used last."""
    kept: dict[int, Any] = {}
    lock = threading.Lock()

    def loaded(number: int) -> Any:
        with lock:
            found = kept.pop(number) if number in kept else load(number)
            kept[number] = found  # the last one
            if len(kept) > count:
                del kept[next(iter(kept))]
            return found

    return loaded


def picked(array: NDArray[Any], numbers: NDArray[np.int64]) -> Any:
    """Return rows of an array that nobody changes: a view if they are neighbours, else as a queue takes them best."""
    first = int(numbers[0])
    if len(numbers) == int(numbers[-1]) + 1 - first and (len(numbers) < 3 or bool((np.diff(numbers) == 1).all())):
        return array[first : first + len(numbers)]
    small = not array.dtype.hasobject and array[:1].nbytes < _SMALL
    return Rows(array, numbers) if small else array.take(numbers, axis=0)
