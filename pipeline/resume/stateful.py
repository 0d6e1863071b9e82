"""Iterables that say their own place, by `state_dict` and `load_state_dict`: an iterator from a saved one on."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from pipeline.iterators import iterator_of


def iterator_at(source: Any, state: Any, iterate: Callable[[Any], Iterator[Any]] = iterator_of) -> Iterator[Any]:
    """Return an iterator that gives what came next when `source` gave this state.

    Args:
        source: The iterable.
        state: The result of its `state_dict`.
        iterate: Makes an iterator of it.
    """
    source.load_state_dict(copy.deepcopy(state))
    made = iterate(source)
    # Where `iter` begins anew and returns the object itself, it has forgotten what was loaded.
    if hasattr(type(source), "__next__") and _as_text(source.state_dict()) != _as_text(state):
        source.load_state_dict(copy.deepcopy(state))
    return made


def _as_text(value: Any) -> str | None:
    """Plain data as one text, whatever the order of keys; None for what JSON cannot hold."""
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None
