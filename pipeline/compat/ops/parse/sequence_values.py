"""Kernel of the SequenceExample parsers: context features and feature list steps to arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.compat.ops.making.text import objects, one_or_all
from pipeline.compat.ops.parse.features import Asked, Defaults
from pipeline.decode.example.features import Wanted
from pipeline.decode.example.locate import FoundList, find_lists
from pipeline.decode.wire import LEN, WireError, fields
from pipeline.errors import invalid, show

Sparse = tuple[Any, Any, Any]


class Sequences:
    """The ParseSequenceExampleV2 kernel for one SequenceExample."""

    def __init__(self, context: Asked, steps: Asked, defaults: Defaults) -> None:
        self._context = defaults
        self._steps = steps.wanted()
        self._missing_allowed = {one.key for one in steps.dense if one.allow_missing}
        self._sparse = len(context.sparse), len(steps.sparse)

    def __call__(self, serialized: Any, called: Any, *keys_and_defaults: Any) -> Any:
        if not isinstance(serialized, bytes):
            raise invalid(f"Expected serialized to be a scalar, got shape: {show(serialized.shape)}")
        called = called if isinstance(called, bytes) else (np.ravel(called).tolist() or [b"<unknown>"])[0]
        name = called.decode(errors="replace")
        try:
            found, steps = find_lists(serialized), find_steps(serialized)
        except WireError as error:
            raise invalid(f"Invalid protocol message input, example id: {name}: {error}") from error
        context = [_context(one, found.get(one.key), name) for one in self._context.wanted(keys_and_defaults[7:])]
        sequences, lengths = [], []
        for one in self._steps:
            places = steps.get(one.key)
            if one.form == "any":
                sequences.append(_sparse([_step(one, place, i, name) for i, place in enumerate(places or ())], one))
                continue
            dense = self._dense_steps(one, places, name)
            sequences.append(dense)
            lengths.append(np.int64(len(dense)))
        return one_or_all([*_in_order(context, self._sparse[0]), *_in_order(sequences, self._sparse[1]), *lengths])

    def _dense_steps(self, one: Wanted, places: list[FoundList] | None, name: str) -> Any:
        if places is None and one.name not in self._missing_allowed:
            raise invalid(
                f"Name: {name}, Feature list '{one.name}' is required but could not be found.  Did you mean to "
                "include it in feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?"
            )
        steps = [_step(one, place, i, name) for i, place in enumerate(places or ())]
        for i, step in enumerate(steps):
            if len(step) != one.size:
                raise invalid(
                    f"Name: {name}, Key: {one.name}, Index: {i}.  Number of values != expected.  "
                    f"values size: {len(step)} but output shape: {show(one.shape)}"
                )
        dense = np.empty((len(steps), one.size), one.kind.dtype)
        for i, step in enumerate(steps):
            dense[i] = step
        return dense.reshape(len(steps), *one.shape)


def _in_order(values: list[Any], sparse: int) -> list[Any]:
    """Return the outputs in the op's order: all indices, values and shapes of the sparse ones, then the dense ones."""
    parts = values[:sparse]
    return [one[i] for i in range(3) for one in parts] + values[sparse:]


def _context(one: Wanted, place: FoundList | None, name: str) -> Any:
    if place is None and one.default is not None:
        values = one.default
    elif place is None or not place[0]:
        values = np.empty(0, one.kind.dtype)
    elif place[0] != one.kind.number:
        raise invalid(
            f"Name: {name}, Context feature: {one.name}.  Data types don't match. Expected type: {one.kind.name}"
        )
    else:
        values = _read(one, place, name)
    if one.form == "any":
        indices, values, shape = _sparse([values], one)
        return np.ascontiguousarray(indices[:, 1:]), values, shape[1:]
    if len(values) != one.size:
        raise invalid(
            f"Inconsistent max number of elements for feature {one.name}: expected {one.size}, but found {len(values)}"
        )
    return np.array([values], one.kind.dtype).reshape(1, *one.shape)[0]


def _sparse(steps: Sequence[Any], one: Wanted) -> Sparse:
    """Return vectors as a sparse tensor with the axes step and index."""
    places, parts = [], []
    for i, step in enumerate(steps):
        index = np.empty((len(step), 2), np.int64)
        index[:, 0], index[:, 1] = i, np.arange(len(step))
        places.append(index)
        parts.append(step if isinstance(step, np.ndarray) else objects(step))
    indices = np.concatenate(places) if places else np.empty((0, 2), np.int64)
    values = np.concatenate(parts) if parts else np.empty(0, one.kind.dtype)
    return indices, values, np.array([len(steps), max(map(len, steps), default=0)], np.int64)


def _step(one: Wanted, place: FoundList, index: int, name: str) -> Any:
    if not place[0]:
        return np.empty(0, one.kind.dtype)
    if place[0] != one.kind.number:
        raise invalid(
            f"Name: {name}, Feature list: {one.name}, Index: {index}.  Data types don't match. "
            f"Expected type: {one.kind.name}"
        )
    return _read(one, place, name)


def _read(one: Wanted, place: FoundList, name: str) -> Any:
    try:
        values = one.kind.read(*place[1:])
    except WireError as error:
        raise invalid(f"Name: {name}, Key: {one.name}.  Can't parse serialized SequenceExample: {error}") from error
    return objects(values) if isinstance(values, list) else values


def find_steps(data: bytes) -> dict[bytes, list[FoundList]]:
    """Find a SequenceExample's feature lists by name; a step without values has field number 0.

    Raises:
        WireError: The bytes are not a SequenceExample.
    """
    found: dict[bytes, list[FoundList]] = {}
    for number, kind, at, end in fields(data, 0, len(data)):
        if number == 2 and kind == LEN:
            for which, inner, begin, after in fields(data, at, end):
                if which == 1 and inner == LEN:
                    _entry(data, begin, after, found)
    return found


def _entry(data: bytes, at: int, end: int, found: dict[bytes, list[FoundList]]) -> None:
    """Read one map entry into `found`."""
    key, steps = b"", []
    for number, kind, begin, after in fields(data, at, end):
        if number == 1 and kind == LEN:
            key = data[begin:after]
        elif number == 2 and kind == LEN:
            steps += [
                _step_place(data, start, stop)
                for which, inner, start, stop in fields(data, begin, after)
                if (which, inner) == (1, LEN)
            ]
    found[key] = steps


def _step_place(data: bytes, at: int, end: int) -> FoundList:
    chosen = (0, data, at, at)
    for number, kind, begin, after in fields(data, at, end):
        if number in (1, 2, 3) and kind == LEN:
            chosen = (number, data, begin, after)
    return chosen
