"""Resume iterables with `state_dict` and `load_state_dict`."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from pipeline.iterators import iterator_of


def iterator_at(source: Any, state: Any, iterate: Callable[[Any], Iterator[Any]] = iterator_of) -> Iterator[Any]:
    """Return an iterator resumed from a state of `source`.

    Args:
        source: The iterable.
        state: A result from its `state_dict`.
        iterate: Makes an iterator from it.
    """
    source.load_state_dict(copy.deepcopy(state))
    made = iterate(source)
    # If `iter` restarts and returns the object itself, the loaded state is lost.
    if hasattr(type(source), "__next__") and _as_text(source.state_dict()) != _as_text(state):
        source.load_state_dict(copy.deepcopy(state))
    return made


def _as_text(value: Any) -> str | None:
    """Return plain data as one text, independent of key order; None if JSON cannot hold it."""
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None
