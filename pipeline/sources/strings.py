"""strings: finds those that are not of an encoding, when examples are read: later nobody knows where they are from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pipeline.nest import Nest, parts_of
from pipeline.on_error import set_on
from pipeline.queues.rows import Rows

# In these no part of a character is a line end: many strings are looked at by one call.
_JOINED = {"utf-8", "utf8", "ascii"}


def check_block(block: Any, encoding: str, named: Callable[[int], str] | None) -> None:
    """Raise UnicodeDecodeError for a string of a block that is not of an encoding.

    Args:
        block: The block, in the structure of the examples.
        encoding: The encoding.
        named: Returns what an example of the block is called, such as its file and line, which the error names.
    """
    nest = None if parts_of(block) is None else Nest(block, True)
    for i, component in enumerate([block] if nest is None else nest.flatten(block)):
        error = wrong_string(component, encoding)
        if error is not None:
            row = row_of_wrong(component, encoding)
            example = f"row {row} of a block" if named is None else named(row)
            if named is not None:
                set_on(error, "record_key", os.fsencode(example))
            raise told(error, f"in {example}" if nest is None else f"in component {nest.names[i]!r} of {example}")


def wrong_string(component: Any, encoding: str) -> UnicodeDecodeError | None:
    """The error of the first string in a component of an example or of a block that is not of an encoding."""
    if isinstance(component, (bytes, str)):
        return _wrong([component], encoding)
    if isinstance(component, Rows) and component.dtype.kind == "S":
        component = np.asarray(component)
    if isinstance(component, np.ndarray):
        if component.dtype.kind not in "SO":
            return None
        return _wrong(component.reshape(-1).tolist(), encoding)
    return _wrong(component, encoding) if isinstance(component, (list, tuple)) else None


def told(error: UnicodeDecodeError, where: str) -> UnicodeDecodeError:
    """The error, which says where the string is and what it is."""
    error.reason += f", {where}: {error.object!r:.80}"
    return error


def _wrong(values: Any, encoding: str) -> UnicodeDecodeError | None:
    # Arrays of objects may be joined too: as the addresses of these.
    if encoding.lower() in _JOINED and all(issubclass(kind, bytes) for kind in set(map(type, values))):
        try:
            b"\n".join(values).decode(encoding)
            return None
        except UnicodeDecodeError:
            pass
    for each in values:
        if isinstance(each, bytes):
            try:
                each.decode(encoding)
            except UnicodeDecodeError as error:
                return error.with_traceback(None)
        elif isinstance(each, (np.ndarray, list, tuple)):
            inner = wrong_string(each, encoding)
            if inner is not None:
                return inner
    return None


def row_of_wrong(component: Any, encoding: str) -> int:
    """The row of a component of a block that has the first wrong string."""
    rows: Iterator[Any] = iter(np.asarray(component) if isinstance(component, Rows) else component)
    return next(i for i, row in enumerate(rows) if wrong_string(row, encoding) is not None)
