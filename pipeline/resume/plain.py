"""Plain data for states: values that JSON can hold, and whether they survive a round trip."""

from __future__ import annotations

from typing import Any


def not_plain(value: Any, place: str, same: bool) -> str | None:
    """Return a value that is not plain data, such as a NumPy number made by a framework; None if all is plain.

    Args:
        value: Data in a state.
        place: Its path in the state, such as "['at'][1]"; "" for the whole state.
        same: Require an exact round trip through JSON, where tuples become lists and other keys become strings.
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
