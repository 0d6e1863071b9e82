"""Plain data, of which states consist: what JSON can hold, and whether it gives that back as it was."""

from __future__ import annotations

from typing import Any


def not_plain(value: Any, place: str, same: bool) -> str | None:
    """Return what is not plain data, such as the NumPy number that a framework has made of an integer; None if all is.

    Args:
        value: The data of a state.
        place: Where it is in the state, such as "['at'][1]"; "" for all of it.
        same: Whether JSON has to give it back as it was: it makes lists of tuples, and strings of keys that are none.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return None
    if isinstance(value, dict):
        inner = [(f"{place}[{key!r:.80}]", each) for key, each in value.items()]
        if keys := [key for key in value if not isinstance(key, str if same else (str, int))]:
            return f"a key of state{place} is {keys[0]!r:.80}"
    elif isinstance(value, list if same else (list, tuple)):
        inner = [(f"{place}[{i}]", each) for i, each in enumerate(value)]
    else:
        return f"state{place} is {value!r:.80}, of type {type(value).__module__}.{type(value).__qualname__}"
    return next((odd for where, each in inner if (odd := not_plain(each, where, same)) is not None), None)
