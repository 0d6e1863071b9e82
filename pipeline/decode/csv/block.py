"""Decode many CSV records into columns in compiled code, and unusual records singly in Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._csv import CsvTable, Cut
from pipeline._lines import all_bytes
from pipeline.decode.csv.record import RecordFormat, to_bytes
from pipeline.memory import keep_pages

_WIDEST = 1 << 16  # columns; a CsvTable describes each, even unselected ones


def decode_block(records: Iterable[Any], form: RecordFormat) -> list[NDArray[Any]]:
    """Return the columns in many records, a Cut or any others, as arrays.

    Raises:
        InvalidArgumentError: A record is malformed; `error.record` is its index.
        TypeError: A record is neither str nor bytes.
    """
    lines: Cut | tuple[bytes, ...]
    if isinstance(records, Cut):
        lines = records
    elif not all_bytes(lines := tuple(records)):
        lines = tuple(to_bytes(lines))
    keep_pages()
    arrays: list[NDArray[Any]] = [np.empty(len(lines), column.dtype) for column in form.columns]
    table = _table(form, arrays)
    at = 0
    while at < len(lines):
        if table is not None:
            at = table.fill(lines, at)
        if at < len(lines):
            for array, value in zip(arrays, form.decode(lines[at], at), strict=True):
                array[at] = value
            at += 1
    return arrays


def _table(form: RecordFormat, arrays: Sequence[NDArray[Any]]) -> CsvTable | None:
    """Return the compiled decoder; None if numbers may contain the delimiter, or for too many columns."""
    width = form.fields
    if form.delim in b' \r\n"-.+' or form.delim.isalnum() or width > _WIDEST or (form.quotes and b'"' in form.na):
        return None
    wanted: list[NDArray[Any] | None] = [None] * width
    defaults: list[Any] = [None] * width
    texts = [False] * width
    for place, array, column in zip(form.select or range(len(arrays)), arrays, form.columns, strict=True):
        wanted[place], defaults[place], texts[place] = array, column.default, column.text
    return CsvTable(wanted, defaults, form.delim, form.quotes, form.na, form.exact, form.lenient, texts)
