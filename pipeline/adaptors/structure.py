"""What a function does to each component of a batch, made one function for batches of this structure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

from pipeline._next import Changes
from pipeline.nest import is_dataclass, make_like, parts_of

Change = Callable[[Any], Any]  # of a component, or of a batch


def itself(value: Any) -> Any:
    """No change."""
    return value


def mapping(example: Any, change_of: Callable[[Any, str], Change], name: str = "") -> Change:
    """Return a function that changes each component of batches, and keeps their structure.

    Args:
        example: A batch; the function takes those of the same structure: dicts, lists, tuples, named tuples and
            dataclasses, inside each other.
        change_of: Called with each component and its name, such as "image/size/0" ("" for a bare one); returns what
            is done to it in every batch; `itself` for nothing.
        name: The name of `example` itself.
    """
    parts = parts_of(example)
    if parts is None:
        return change_of(example, name)
    keys = _keys(example)
    names = [f"{name}/{key}" if name else str(key) for key in keys]
    changes = [mapping(part, change_of, each) for part, each in zip(parts, names, strict=True)]
    alike = changes[0] if len(set(changes)) == 1 else None
    if alike is itself:
        return itself
    if type(example) in (tuple, dict) and changes and all(map(in_c, changes)):
        return Changes(tuple(changes) if type(example) is tuple else dict(zip(keys, changes, strict=True)))
    if isinstance(example, dict):
        return _of_dict(dict(zip(keys, changes, strict=True)))
    if is_dataclass(example):
        return _of_dataclass(type(example), list(zip(keys, changes, strict=True)))
    return _of_sequence(type(example), changes, alike)


def in_c(change: Change) -> bool:
    """Whether a change is made without a step of Python, in which Ctrl-C could strike."""
    return isinstance(change, (BuiltinFunctionType, Changes))


def _keys(example: Any) -> list[Any]:
    if isinstance(example, dict):
        return list(example)
    if is_dataclass(example):
        return [field.name for field in dataclasses.fields(example)]
    return list(range(len(example)))


def _of_dict(changes: dict[Any, Change]) -> Change:
    pairs = [(key, change) for key, change in changes.items() if change is not itself]

    def changed(batch: Any) -> Any:
        made = {**batch}
        for key, change in pairs:
            made[key] = change(made[key])
        return made

    return changed


def _of_sequence(kind: type[Any], changes: list[Change], alike: Change | None) -> Change:
    if kind is tuple and alike is not None:
        return lambda batch: tuple(map(alike, batch))
    return lambda batch: make_like(kind, [change(part) for change, part in zip(changes, batch, strict=True)])


def _of_dataclass(kind: type[Any], changes: list[tuple[str, Change]]) -> Change:
    def changed(batch: Any) -> Any:
        made = object.__new__(kind)
        for key, change in changes:
            object.__setattr__(made, key, change(getattr(batch, key)))  # it may be frozen
        return made

    return changed
