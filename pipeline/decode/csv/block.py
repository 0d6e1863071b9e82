"""A block of CSV records decoded into columns, all records at once; falls back to one by one for the unusual ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.csv.fields import Fields, find_fields
from pipeline.decode.csv.numbers import numbers
from pipeline.decode.csv.record import RecordFormat
from pipeline.memory import keep_pages

FIELDS_AT_ONCE = 1 << 15  # so that intermediate arrays stay in the caches: two to three times as fast


def decode_block(lines: list[bytes], form: RecordFormat) -> list[NDArray[Any]]:
    """Return the columns of a block of records as arrays.

    Raises:
        InvalidArgumentError: A record is malformed; `error.record` is its index in `lines`.
    """
    keep_pages()
    step = max(FIELDS_AT_ONCE // len(form.columns), 1)
    parts = [_decode_part(lines[i : i + step], i, form) for i in range(0, len(lines), step)]
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return [np.empty(0, column.dtype) for column in form.columns]
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def _decode_part(lines: list[bytes], first: int, form: RecordFormat) -> list[NDArray[Any]]:
    arrays = _all_at_once(lines, form)
    if arrays is not None:
        return arrays
    # A record is unusual, or wrong: decoding one by one handles the first and reports the second.
    decoded = [form.decode(line, i) for i, line in enumerate(lines, first)]
    columns = zip(zip(*decoded, strict=True), form.columns, strict=True)
    return [_array(values, column.dtype) for values, column in columns]


def _all_at_once(lines: list[bytes], form: RecordFormat) -> list[NDArray[Any]] | None:
    """Return the columns, or None if each record needs a look by itself, which also finds errors."""
    select = form.select
    width = len(form.columns) if select is None else select[-1] + 1
    found = find_fields(lines, form.delim, form.quotes, width, select is None)
    if found is None:
        return None
    fields, escaped = found
    if select is not None:
        fields = fields.columns(select)
    missing = fields.begins == fields.ends
    if form.na:
        missing |= fields.equal(form.na)
    lacking = np.flatnonzero(missing.any(axis=0)).tolist()
    if any(form.columns[i].default is None for i in lacking):
        return None
    if lacking:
        fields = fields._replace(ends=np.where(missing, fields.begins, fields.ends))
    arrays: list[Any] = [None] * len(form.columns)
    for dtype in {column.dtype for column in form.columns}:
        which = [i for i, column in enumerate(form.columns) if column.dtype == dtype]
        same = fields if len(which) == len(arrays) else fields.columns(which)
        values = _strings(same, escaped) if dtype.hasobject else numbers(same, dtype)
        if values is None:
            return None
        for i, array in zip(which, values, strict=True):
            arrays[i] = array
    for i in lacking:
        arrays[i][missing[:, i]] = form.columns[i].default
    return arrays


def _strings(fields: Fields, escaped: bool) -> list[NDArray[Any]]:
    values = fields.cut()
    if escaped:
        values[:] = [value.replace(b'""', b'"') for value in values]
    return list(values.reshape(fields.begins.shape).T.copy())


def _array(values: Sequence[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    array: NDArray[Any] = np.empty(len(values), dtype)
    array[:] = values
    return array
