"""CSV fields as dates, times, and category numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import numpy_dtype, utf8
from pipeline.errors import InvalidArgumentError, invalid
from pipeline.sources.extras import codes_of

# A year with more than four digits needs a month: 20240131 and 1706659200 are not years.
_TIME = re.compile(rb"-?(?:\d{4}|\d{5,}(?=-))(-\d\d(-\d\d([T ]\d\d(:\d\d(:\d\d(\.\d{1,18})?)?)?)?)?)?")


class Values:
    """A column's field conversion.

    Attributes:
        kind: Its name in states.
    """

    kind: str

    def of(self, fields: list[bytes]) -> NDArray[Any]:
        """Return the values; an error's `record` is the index of its field."""
        raise NotImplementedError


class Times(Values):
    """Fields as `datetime64`: ISO 8601 dates and times without a time zone; NaT for an empty field.

    Args:
        dtype: The dtype, with a unit.
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype, self.kind = dtype, dtype.name

    def of(self, fields: list[bytes]) -> NDArray[Any]:
        for i, field in enumerate(fields):
            if field and not _TIME.fullmatch(field):
                raise _wrong(i, f"{field!r:.80} is not a date or time such as 2024-01-31 or 2024-01-31T12:30:00")
        try:
            exact = np.array([field or b"NaT" for field in fields]).astype(np.datetime64)
            made = exact.astype(self._dtype)
        except (ValueError, OverflowError):
            made, exact = np.empty(0, self._dtype), np.empty(0, np.datetime64)
        if len(made) == len(fields) and ((made.astype(exact.dtype) == exact) | np.isnat(exact)).all():
            return made
        if len(fields) == 1:
            raise _wrong(0, f"{fields[0]!r:.80} is not a {self._dtype}: it is out of range, or has a finer unit")
        for i, field in enumerate(fields):
            try:
                self.of([field])
            except InvalidArgumentError as error:
                vars(error)["record"] = i
                raise
        return np.concatenate([self.of([field]) for field in fields])  # their units have no common unit


class Codes(Values):
    """Fields as their index in a list of names, int64.

    Args:
        names: The names.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._numbers = {utf8(each, "csv: codes"): i for i, each in enumerate(names)}
        self.kind = f"codes of {list(names)}"

    def of(self, fields: list[bytes]) -> NDArray[Any]:
        try:
            return np.array([self._numbers[field] for field in fields], np.int64)
        except KeyError as error:
            field = error.args[0]
            text = field.decode(errors="backslashreplace")
            raise _wrong(fields.index(field), f"{text!r:.80} is not one of the {len(self._numbers):,} codes") from None


def values_of(dtypes: Mapping[str, Any], codes: Any, columns: Sequence[str], where: str) -> dict[str, Values]:
    """Return conversions for some columns' fields.

    Args:
        dtypes: The given dtypes, by column.
        codes: Category names, by column; or None.
        columns: The columns to read.
        where: Prefix for error messages.

    Raises:
        InvalidArgumentError, TypeError: Codes are not names by column, a column has a dtype too, or a unit is missing.
    """
    found: dict[str, Values] = {}
    for name in columns:
        dtype = None if name not in dtypes else numpy_dtype(dtypes[name], f"csv: dtypes of column {name!r}")
        if dtype is not None and dtype.kind == "M":
            if np.datetime_data(dtype)[0] == "generic":
                raise invalid(f"{where}: dtypes of column {name!r}: datetime64 needs a unit, such as 'datetime64[D]'")
            found[name] = Times(dtype)
    for name, listed in codes_of(codes, dtypes, where).items():
        if name in columns:
            found[name] = Codes(listed)
    return found


def _wrong(i: int, why: str) -> InvalidArgumentError:
    error = invalid(why)
    vars(error)["record"] = i
    return error
