"""Options of Arrow sources: defaults for missing values, dtypes, and row filters."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import numpy_dtype, utf8
from pipeline.errors import invalid
from pipeline.sources.arrow_types import arrow_types, holds_objects, is_bytes, is_clock, is_list, is_time, stored
from pipeline.sources.extras import chosen, codes_of, needs


def casts_of(schema: Any, dtypes: Mapping[str, Any] | None, where: str) -> dict[str, Any]:
    """Return Arrow types for column dtypes, by name.

    Args:
        schema: The columns.
        dtypes: By column, "struct/field" or "list/item".
        where: Prefix for error messages.

    Raises:
        InvalidArgumentError: There is no such column, or it cannot have the dtype.
        TypeError: They have no names, or are not dtypes.
    """
    kinds = _named(schema, dtypes, "dtypes", where)
    return {name: _cast(name, kind, (dtypes or {})[name], where) for name, kind in kinds.items()}


def _named(schema: Any, given: Any, option: str, where: str) -> dict[str, Any]:
    """Return the types of the columns named by an option."""
    if given is not None and not isinstance(given, Mapping):
        what = "dtypes" if option == "dtypes" else "values"
        raise TypeError(f"{where}: {option} must be a dict of {what} by column, not {given!r:.80}")
    if not given:
        return {}
    kinds = _kinds(schema)
    return {name: kinds[name] for name in chosen(list(kinds), list(given), f"{where}: {option}")}


def _cast(name: str, kind: Any, given: Any, where: str) -> Any:
    pyarrow, dtype = needs("pyarrow", where), numpy_dtype(given, f"{where}: dtypes of column {name!r}")
    what = f"{where}: column {name!r} of type {kind} cannot be {dtype}"
    if is_list(kind) or arrow_types().is_struct(kind) or arrow_types().is_map(kind):
        inner = f"{name}/item" if is_list(kind) else f"{name}/field"
        raise invalid(f"{what}: dtypes= takes what is in it, as in {{{inner!r}: float}}")
    try:
        if dtype.kind in "UT":
            target = pyarrow.large_string()
        else:
            target = pyarrow.large_binary() if dtype.kind == "S" else pyarrow.from_numpy_dtype(dtype)
        pyarrow.array([], kind).cast(target)
    except pyarrow.ArrowException as error:
        raise invalid(f"{what}: {error}") from error
    return target


def fillings(schema: Any, defaults: Mapping[str, Any] | None, where: str) -> dict[str, Any]:
    """Return defaults for columns and struct fields, as Arrow scalars.

    Raises:
        InvalidArgumentError: There is no such column, or a default does not fit it.
        TypeError: They have no names.
    """
    kinds = _named(schema, defaults, "defaults", where)
    return {name: _filling(name, kind, (defaults or {})[name], where) for name, kind in kinds.items()}


def _kinds(fields: Any, before: str = "") -> dict[str, Any]:
    """Return each column's and struct field's type; for a dictionary, its values' type."""
    found = {}
    for field in fields:
        name, kind = before + field.name, stored(field.type)
        found[name] = kind
        if arrow_types().is_struct(kind):
            found |= _kinds(kind, f"{name}/")
        while is_list(kind) and not holds_objects(kind):
            name, kind = f"{name}/item", stored(kind.value_type)
            found[name] = kind
    return found


def _filling(name: str, kind: Any, given: Any, where: str) -> Any:
    """Return one column's default; NaT for times means no default, so missing values stay missing."""
    pyarrow, value = needs("pyarrow", where), None
    timed = is_time(kind) or is_clock(kind)
    if timed and (type(given).__name__ == "NaTType" or isinstance(given, (np.datetime64, np.timedelta64))):
        return _time_of(name, kind, given, where)
    with contextlib.suppress(pyarrow.ArrowException, TypeError, ValueError, OverflowError):
        value = pyarrow.scalar(given, None if arrow_types().is_null(kind) else kind)
    cut = value is not None and arrow_types().is_integer(kind) and value.as_py() != given  # such as 1.5
    cut = cut or (timed and isinstance(given, float))
    if value is None or not value.is_valid or cut:
        raise invalid(f"{where}: {given!r:.80} is not a valid default for column {name!r} of {kind}")
    return value


def _time_of(name: str, kind: Any, given: Any, where: str) -> Any:
    """Return the default for a column of times or dates, from a NumPy scalar or pandas' NaT."""
    pyarrow, unit = needs("pyarrow", where), "D" if arrow_types().is_date(kind) else kind.unit
    numpy_kind = "timedelta64" if arrow_types().is_duration(kind) or is_clock(kind) else "datetime64"
    own = given if isinstance(given, np.generic) else np.array("NaT", numpy_kind)[()]
    if own.dtype.name.startswith(numpy_kind):
        if np.isnat(own):
            return pyarrow.scalar(None, kind)
        value = own.astype(f"{numpy_kind}[{unit}]")
        if value == own:
            return _scalar(value, kind)
    raise invalid(f"{where}: {given!r:.80} is not a valid default for column {name!r} of {kind}")


def _scalar(value: Any, kind: Any) -> Any:
    pyarrow = needs("pyarrow", "arrow")
    if is_clock(kind):  # Arrow casts no durations to times of day
        return pyarrow.array([int(value.astype(np.int64))]).cast(f"int{kind.bit_width}").view(kind)[0]
    return pyarrow.array(np.array([value]))[0].cast(kind)


class Codes:
    """Category numbers.

    Args:
        schema: The columns, as they are read.
        codes: Category names, by column, "struct/field" or "list/item"; or None.
        dtypes: Column dtypes; a column has either a dtype or codes.
        where: Prefix for error messages.

    Attributes:
        names: The names, by column.

    Raises:
        InvalidArgumentError: There is no such column, it holds no strings, or a name is listed twice.
        TypeError: They are not lists of names by column.
    """

    def __init__(self, schema: Any, codes: Any, dtypes: Mapping[str, Any] | None, where: str) -> None:
        pyarrow, self.names = needs("pyarrow", where), codes_of(codes, dtypes, where)
        self._values = {}
        for name, kind in _named(schema, self.names, "codes", where).items():
            if not (is_bytes(kind) or arrow_types().is_null(kind)):
                raise invalid(f"{where}: column {name!r} of type {kind} cannot have codes, which are for strings")
            listed = [utf8(each, f"{where}: codes of column {name!r}") for each in self.names[name]]
            self._values[name] = pyarrow.array(listed, pyarrow.large_binary())

    def of(self, column: Any, name: str, where: str) -> NDArray[np.int64]:
        """Return the codes for a column of strings without missing values.

        Raises:
            InvalidArgumentError: A string has no code.
        """
        compute, values = needs("pyarrow.compute", where), self._values[name]
        numbers = compute.index_in(column.cast(values.type), values)
        if numbers.null_count:
            other = column[compute.index(numbers.is_null(), True).as_py()].cast(values.type).as_py()
            text = f"{other.decode(errors='backslashreplace')!r:.80} is not one of the {len(values):,} codes"
            raise invalid(f"{where}: column {name!r}: {text}")
        array: NDArray[np.int64] = numbers.to_numpy(zero_copy_only=False).astype(np.int64)
        return array


def facts_of(fill: Mapping[str, Any], codes: Mapping[str, Sequence[str]] | None = None) -> dict[str, Any]:
    """Return any defaults, and the code names, as plain data."""
    facts: dict[str, Any] = {"defaults": {name: _as_text(value) for name, value in fill.items()}} if fill else {}
    return facts | ({"codes": {name: list(names) for name, names in codes.items()}} if codes else {})


def _as_text(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # nanoseconds, unsupported by Python
        return str(value.cast("string"))


class Where:
    """A row filter: a pyarrow expression over columns, as they are read.

    Args:
        expression: The expression.
        schema: All available columns, as they are read.
        where: Prefix for error messages.

    Attributes:
        columns: The columns it needs.

    Raises:
        TypeError: It is not an expression.
        InvalidArgumentError: It needs another column, or is not a condition.
    """

    def __init__(self, expression: Any, schema: Any, where: str) -> None:
        pyarrow, compute = needs("pyarrow", where), needs("pyarrow.compute", where)
        if not isinstance(expression, compute.Expression):
            text = "must be an expression such as pyarrow.compute.field('x') > 3"
            raise TypeError(f"{where}: where {text}, got {type(expression).__name__} {expression!r:.80}")
        self.expression, self._where = expression, where
        fields = [field for field in schema if schema.get_field_index(field.name) >= 0]  # columns with unique names
        try:
            pyarrow.schema(fields).empty_table().filter(expression)
        except (pyarrow.ArrowException, TypeError) as error:
            names = ", ".join(map(repr, schema.names))
            raise invalid(f"{where}: where={expression}: {error}; the columns are {names}") from error
        # At least one, so the row count is known.
        self.columns = [field.name for field in self._needed([], fields) or fields[:1]]

    def _needed(self, others: Sequence[Any], fields: Sequence[Any]) -> list[Any]:
        """Return the `fields` needed by the expression, in addition to `others`."""
        pyarrow = needs("pyarrow", self._where)
        with contextlib.suppress(pyarrow.ArrowException):
            pyarrow.schema(others).empty_table().filter(self.expression)
            return []
        if len(fields) == 1:
            return list(fields)
        left, right = fields[: len(fields) // 2], fields[len(fields) // 2 :]
        first = self._needed([*others, *right], left)
        return [*first, *self._needed([*others, *first], right)]

    def rows(self, table: Any, place: str) -> NDArray[np.int64]:
        """Return the indices of the rows in a Table that satisfy the expression.

        Raises:
            InvalidArgumentError: It cannot be computed; `place` is the location of the rows.
        """
        pyarrow, dataset = needs("pyarrow", place), needs("pyarrow.dataset", place)
        try:
            scanner = dataset.Scanner.from_batches(
                table.to_batches(), schema=table.schema, columns={"kept": self.expression}, use_threads=False
            )
            kept = scanner.to_table()["kept"]
        except (pyarrow.ArrowException, TypeError) as error:
            raise invalid(f"{place}: where={self.expression} cannot be computed: {error}") from error
        return np.flatnonzero(kept.fill_null(False).to_numpy())

    def facts(self) -> dict[str, Any]:
        """Return its identity as plain data."""
        text = str(self.expression)
        if "..." in text:  # long value lists are shortened
            import hashlib

            text += " " + hashlib.blake2b(pickle.dumps(self.expression), digest_size=8).hexdigest()
        return {"where": text}
