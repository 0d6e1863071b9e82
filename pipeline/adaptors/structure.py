"""Batches as structures: a function's results in place of their components."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.nest import ListValue, is_dataclass, make_like


def mapped(function: Callable[[Any, str], Any], batch: Any, name: str = "") -> Any:
    """Replace a batch's components by a function's results, in the same structure.

    Args:
        function: Called with each component and its name, such as "image/size/0" ("" for a bare one).
        batch: Components in dicts, lists, tuples, named tuples and dataclasses, inside each other.
        name: The name for `batch` itself.
    """
    kind = type(batch)
    if kind is np.ndarray:
        return function(batch, name)
    if isinstance(batch, dict):
        return {key: mapped(function, part, f"{name}/{key}" if name else str(key)) for key, part in batch.items()}
    if isinstance(batch, (list, tuple)) and not isinstance(batch, ListValue):
        parts = [mapped(function, part, f"{name}/{i}" if name else str(i)) for i, part in enumerate(batch)]
        return tuple(parts) if kind is tuple else make_like(kind, parts)
    if not is_dataclass(batch):
        return function(batch, name)
    made = object.__new__(kind)
    for field in dataclasses.fields(batch):
        part = mapped(function, getattr(batch, field.name), f"{name}/{field.name}" if name else field.name)
        object.__setattr__(made, field.name, part)  # the class may be frozen
    return made
