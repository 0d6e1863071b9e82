"""Lists in JSON and similar formats: a list with lists or objects is one value, whatever it holds."""

from __future__ import annotations

from typing import Any

from pipeline.nest import ListValue


def marked(value: Any) -> Any:
    """Replace each list containing lists or objects by a `ListValue`.

    The choice depends on item kinds, not lengths, so the examples agree on what becomes an array.
    """
    if type(value) is dict:
        return {name: marked(each) for name, each in value.items()}
    if type(value) is list and any(type(each) in (list, dict) for each in value):
        return ListValue(value)
    return value
