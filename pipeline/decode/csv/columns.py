"""A block of CSV records as columns, all records at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.csv.fields import Fields, find_fields
from pipeline.decode.csv.numerals import number, numbers

__all__ = ["columns_of", "number", "texts"]


def texts(values: Iterable[Any]) -> list[bytes]:
    """The values as bytes; TypeError for one that is neither str nor bytes."""
    for value in values:
        if not isinstance(value, (str, bytes)):
            raise TypeError(f"a CSV record or default must be bytes or str, not {type(value).__name__} {value!r:.80}")
    return [value.encode() if isinstance(value, str) else bytes(value) for value in values]


def columns_of(lines: list[bytes], layout: Any) -> list[NDArray[Any]] | None:
    """The columns of a block as arrays, or None where it takes a look at each record, which then finds errors too."""
    select = layout.select
    width = len(layout.columns) if select is None else select[-1] + 1
    found = find_fields(lines, layout.delim, layout.quotes, width, select is None)
    if found is None:
        return None
    fields, escaped = found
    if select is not None:
        fields = fields.columns(select)
    missing = fields.begins == fields.ends
    if layout.na:
        missing |= fields.equal(layout.na)
    lacking = np.flatnonzero(missing.any(axis=0)).tolist()
    if any(layout.columns[i].default is None for i in lacking):
        return None
    if lacking:
        fields = fields._replace(ends=np.where(missing, fields.begins, fields.ends))
    arrays: list[Any] = [None] * len(layout.columns)
    for dtype in {column.dtype for column in layout.columns}:
        which = [i for i, column in enumerate(layout.columns) if column.dtype == dtype]
        same = fields if len(which) == len(arrays) else fields.columns(which)
        values = _strings(same, escaped) if dtype.hasobject else numbers(same, dtype)
        if values is None:
            return None
        for i, array in zip(which, values, strict=True):
            arrays[i] = array
    for i in lacking:
        arrays[i][missing[:, i]] = layout.columns[i].default
    return arrays


def _strings(fields: Fields, escaped: bool) -> list[NDArray[Any]]:
    values = fields.cut()
    if escaped:
        values[:] = [value.replace(b'""', b'"') for value in values]
    return list(values.reshape(fields.begins.shape).T.copy())
