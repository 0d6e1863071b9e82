"""Lists of JSON and similar formats: those that hold lists or objects are one value, whatever they hold."""

from __future__ import annotations

from typing import Any

from pipeline.nest import ListValue


def marked(value: Any) -> Any:
    """Return a value with a `ListValue` for each list that holds lists or objects.

    Which ones these are follows from the kinds of their items, not from their lengths, so an example never makes an
    array of what another one cannot.
    """
    if type(value) is dict:
        return {name: marked(each) for name, each in value.items()}
    if type(value) is list and any(type(each) in (list, dict) for each in value):
        return ListValue(value)
    return value
