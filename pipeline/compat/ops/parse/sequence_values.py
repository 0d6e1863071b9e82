"""The kernel of the SequenceExample parsers: context features and the steps of feature lists to arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.compat.ops.making.text import objects, one_or_all
from pipeline.compat.ops.parse.features import Asked, Defaults
from pipeline.decode.example.features import Wanted
from pipeline.decode.example.locate import FoundList, find_lists
from pipeline.decode.example.padding import check_padding
from pipeline.errors import invalid, show
from pipeline.proto.wire import LEN, WireError, fields

Sparse = tuple[Any, Any, Any]


class Sequences:
    """The kernel of ParseSequenceExampleV2: parses one SequenceExample or a block of them."""

    def __init__(self, context: Asked, steps: Asked, defaults: Defaults) -> None:
        self._context = defaults
        self._steps = steps.wanted()
        self._missing_allowed = {one.key for one in steps.dense if one.allow_missing}
        self._sparse = len(context.sparse), len(steps.sparse)

    def __call__(self, serialized: Any, names: Any, *keys_and_defaults: Any) -> Any:
        single = isinstance(serialized, bytes)
        if not single and serialized.ndim > 1:
            raise invalid(f"Expected serialized to be a scalar or vector, got shape: {show(serialized.shape)}")
        block = [serialized] if single else serialized.tolist()
        called = [b"<unknown>"] * len(block)
        if np.size(names):
            called = [names] if isinstance(names, bytes) else np.ravel(names).tolist()
            if len(called) != len(block):
                raise invalid("Expected debug_name to have the same shape as serialized")
        shown_names = [one.decode(errors="replace") for one in called]
        lists, steps = [], []
        for data, name in zip(block, shown_names, strict=True):
            try:
                lists.append(find_lists(data))
                steps.append(find_steps(data))
            except WireError as error:
                raise invalid(f"Invalid protocol message input, example id: {name}: {error}") from error
        context = [
            _context(one, [row.get(one.key) for row in lists], shown_names, single)
            for one in self._context.wanted(keys_and_defaults[7:])
        ]
        sequences, lengths = [], []
        for one in self._steps:
            rows = [row.get(one.key) for row in steps]
            if one.form == "any":
                sequences.append(_sparse_steps(one, rows, shown_names, single))
                continue
            dense, counts = self._dense_steps(one, rows, shown_names, single)
            sequences.append(dense)
            lengths.append(counts)
        return one_or_all([*_in_order(context, self._sparse[0]), *_in_order(sequences, self._sparse[1]), *lengths])

    def _dense_steps(
        self, one: Wanted, rows: Sequence[list[FoundList] | None], names: Sequence[str], single: bool
    ) -> tuple[Any, Any]:
        values = []
        for row, name in zip(rows, names, strict=True):
            if row is None and one.name not in self._missing_allowed:
                raise invalid(
                    f"Name: {name}, Feature list '{one.name}' is required but could not be found.  Did you mean to "
                    "include it in feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?"
                )
            values.append([_step(one, place, i, name) for i, place in enumerate(row or ())])
            for i, step in enumerate(values[-1]):
                if len(step) != one.size:
                    raise invalid(
                        f"Name: {name}, Key: {one.name}, Index: {i}.  Number of values != expected.  "
                        f"values size: {len(step)} but output shape: {show(one.shape)}"
                    )
        counts = np.array([len(row) for row in values], np.int64)
        check_padding(one.name, counts, one.size * one.kind.dtype.itemsize, "steps")
        longest = int(counts.max(initial=0))
        filler = b"" if one.kind.dtype.hasobject else 0
        dense = np.full((len(values), longest, one.size), filler, one.kind.dtype)
        for i, row in enumerate(values):
            for j, step in enumerate(row):
                dense[i, j] = step
        dense = dense.reshape(len(values), longest, *one.shape)
        return (dense[0], counts[0]) if single else (dense, counts)


def _in_order(values: list[Any], sparse: int) -> list[Any]:
    """The outputs in the order of the op: all indices, values and shapes of the sparse ones, then the dense ones."""
    parts = values[:sparse]
    return [one[i] for i in range(3) for one in parts] + values[sparse:]


def _context(one: Wanted, found: Sequence[FoundList | None], names: Sequence[str], single: bool) -> Any:
    rows = []
    for place, name in zip(found, names, strict=True):
        if place is None and one.default is not None:
            rows.append(one.default)
            continue
        if place is None or not place[0]:
            rows.append(np.empty(0, one.kind.dtype))
            continue
        if place[0] != one.kind.number:
            raise invalid(
                f"Name: {name}, Context feature: {one.name}.  Data types don't match. Expected type: {one.kind.name}"
            )
        rows.append(_read(one, place, name))
    if one.form == "any":
        return _ragged([[row] for row in rows], single, steps=False, kind=one.kind.dtype)
    sizes = [len(row) for row in rows] or [0]
    for size in sizes:
        if size != one.size:
            raise invalid(
                f"Inconsistent max number of elements for feature {one.name}: expected {one.size}, "
                f"but found {max(sizes)}"
            )
    array = np.array(rows, one.kind.dtype).reshape(len(rows), *one.shape)
    if not single:
        return array
    return array[0]


def _sparse_steps(one: Wanted, rows: Sequence[list[FoundList] | None], names: Sequence[str], single: bool) -> Sparse:
    values = [
        [_step(one, place, i, name) for i, place in enumerate(row or ())] for row, name in zip(rows, names, strict=True)
    ]
    return _ragged(values, single, kind=one.kind.dtype)


def _ragged(rows: Sequence[Sequence[Any]], single: bool, steps: bool = True, kind: Any = None) -> Sparse:
    """Vectors as a sparse tensor with the axes row, step, index; `single` drops the row, not `steps` the step."""
    places, parts = [], []
    for i, row in enumerate(rows):
        for j, step in enumerate(row):
            index = np.empty((len(step), 3), np.int64)
            index[:, 0], index[:, 1], index[:, 2] = i, j, np.arange(len(step))
            places.append(index)
            parts.append(step if isinstance(step, np.ndarray) else objects(step))
    indices = np.concatenate(places) if places else np.empty((0, 3), np.int64)
    values = np.concatenate(parts) if parts else np.empty(0, kind)
    longest = max((len(step) for row in rows for step in row), default=0)
    shape = np.array([len(rows), max(map(len, rows), default=0), longest], np.int64)
    kept = ([1, 2] if steps else [2]) if single else ([0, 1, 2] if steps else [0, 2])
    return np.ascontiguousarray(indices[:, kept]), values, shape[kept]


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
    """Find the feature lists of a SequenceExample by name; a step without values has the field number 0.

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
    """Read one entry of the map into `found`."""
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
