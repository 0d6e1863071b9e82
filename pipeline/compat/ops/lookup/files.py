"""Reads the keys and values of a lookup table from a text file."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph.dtypes import DType, string
from pipeline.errors import OutOfRangeError, invalid
from pipeline.files.limits import MAX_RECORD_BYTES
from pipeline.files.opening import read_whole

WHOLE_LINE = -2
LINE_NUMBER = -1


def entries(
    filename: bytes, columns: tuple[int, int], dtypes: tuple[DType, DType], size: int, delimiter: bytes, offset: int
) -> tuple[list[Any], list[Any]]:
    """Return the keys and the values in the lines of a file.

    Args:
        filename: The file's name.
        columns: The column of the key and that of the value: a column index, WHOLE_LINE or LINE_NUMBER.
        dtypes: The dtypes of keys and values.
        size: How many lines to read, -1 for all.
        delimiter: The character between columns.
        offset: Added to values that are line numbers.

    Raises:
        InvalidArgumentError: There are fewer lines, a line is empty or lacks columns, or a number cannot be parsed.
        OutOfRangeError: The file is empty.
        NotFoundError: There is no such file.
    """
    if len(delimiter) != 1:
        raise invalid("delimiter should be only 1 char")
    shown = filename.decode(errors="replace")
    found: tuple[list[Any], list[Any]] = [], []
    lines = _lines(filename)
    if not lines:
        raise OutOfRangeError(None, None, "Read less bytes than requested")
    place = 0
    for number, (line, length) in enumerate(lines if size < 0 else lines[:size]):
        place += length
        if not line:
            raise invalid(f"Invalid content in {shown}: empty line found at position {place}.")
        fields = line.split(delimiter) if max(columns) >= 0 else []
        if max(columns) >= len(fields) and fields:
            text = f"Invalid number of columns in {shown} line {number} ({line.decode(errors='replace')}) "
            raise invalid(f"{text}: expected at least {max(columns) + 1} got {len(fields)}")
        for taken, column, dtype, first in zip(found, columns, dtypes, (0, offset), strict=True):
            if column == LINE_NUMBER:
                taken.append(first + number)
            else:
                taken.append(_value(line if column == WHOLE_LINE else fields[column], dtype, number))
    if len(lines) < size:
        raise invalid(f"Invalid vocab_size in {shown}: expected {size} but got {len(lines)}")
    return found


def _value(text: bytes, dtype: DType, number: int) -> Any:
    if dtype == string:
        return text
    try:
        return dtype.np.type(text).item()
    except ValueError:
        shown = text.decode(errors="replace")
        raise invalid(f"Field {shown} in line {number} is not a valid {dtype.name}.") from None


def _lines(filename: bytes) -> list[tuple[bytes, int]]:
    """Each line without its line end, and its length with it."""
    lines = read_whole(filename, MAX_RECORD_BYTES).split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return [(line.removesuffix(b"\r"), len(line) + 1) for line in lines]
