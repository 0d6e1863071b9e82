"""Helpers for sources: lazily imported libraries, whole pieces, rows as blocks."""

from __future__ import annotations

import functools
import importlib
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline._batch import stack
from pipeline.capabilities import ArrowTable
from pipeline.dtypes import native, object_vector, texts
from pipeline.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, invalid, show
from pipeline.locks import Lock
from pipeline.nest import ListValue, Nest, is_nested
from pipeline.sources.strings import as_objects
from pipeline.stages.collate import as_array, telling

E = TypeVar("E", bound=Exception)
R = TypeVar("R")

# Modules with a differently named distribution.
_DISTRIBUTIONS = {"lance": "pylance", "vortex": "vortex-data"}

MANY = 1 << 62  # for tables with blocks of any size


def needs(module: str, function: str, *, hint: str = "") -> Any:
    """Import a module needed by a function.

    Args:
        module: The module.
        function: The function that needs it.
        hint: Its own requirements, for the error if it is installed but cannot be imported.

    Raises:
        ImportError: It or one of its own imports is not installed; the message names the install command.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package, missing = module.partition(".")[0], error.name or ""
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{missing}."):
            distribution = _DISTRIBUTIONS.get(package, package)
            raise ImportError(f"{function} needs {distribution}: pip install {distribution}") from error
        raise ImportError(f"{function}: {package} is installed, but cannot be imported: {error}{hint}") from error


def hint_of(given: Any) -> str:
    """Return the end of an error for something that is no dataset, if it is an iterator over one; else ""."""
    return "; an iterator is read once: pass the dataset that it comes from" if hasattr(given, "__next__") else ""


def read_by(function: str, name: str, call: Callable[[], R]) -> R:
    """Call a function of a Rust library that reads a file.

    Raises:
        DataLossError: It failed, or panicked.
    """
    try:
        return call()
    except BaseException as error:
        panic = type(error).__name__ == "PanicException"  # not an Exception
        if not (isinstance(error, (OSError, ValueError, RuntimeError)) or panic):
            raise
        text = str(error).partition("\n")[0]  # the rest is the library's trace
        raise DataLossError(None, None, f"{function}: '{name}' cannot be read: {text}") from error


def names_of(columns: Any, where: str) -> list[str] | None:
    """Return the requested column names, or None for all; TypeError if it is not a list of names."""
    if columns is None:
        return None
    if isinstance(columns, (str, bytes)):
        raise TypeError(f"{where}: columns must be a list of names, such as [{columns!r}], not {columns!r}")
    return texts(columns, f"{where}: columns")


def chosen(names: Sequence[str], columns: Sequence[str] | None, where: str) -> list[str]:
    """Return the columns to read: each requested one once, or all.

    Raises:
        InvalidArgumentError: There is no such column, or none, or several have its name.
        TypeError: `columns` is not a list of names.
    """
    wanted = names_of(columns, where)
    wanted = list(names) if wanted is None else wanted
    count = Counter(names)
    missing = [name for name in wanted if name not in count]
    if missing or not wanted:
        what = f"there is no column {missing[0]!r}" if missing else "no columns are chosen"
        raise invalid(f"{where}: {what}; the columns are {', '.join(map(repr, names))}")
    twice = next((name for name in wanted if count[name] > 1), None)
    if twice is not None:
        raise invalid(f"{where}: there are {count[twice]} columns {twice!r}: rename them, or leave them out")
    return list(dict.fromkeys(wanted))


def codes_of(codes: Any, dtypes: Mapping[str, Any] | None, where: str) -> dict[str, list[str]]:
    """Return category names, by column.

    Args:
        codes: The argument `codes`, or None.
        dtypes: Column dtypes; a column has either a dtype or codes.
        where: Prefix for error messages.

    Raises:
        InvalidArgumentError: A list is empty or has a name twice, or a column has a dtype too.
        TypeError: They are not lists of names by column.
    """
    if codes is not None and not isinstance(codes, Mapping):
        raise TypeError(f"{where}: codes must be a dict of lists of names by column, not {codes!r:.80}")
    found = {name: texts(given, f"{where}: codes of column {name!r}") for name, given in (codes or {}).items()}
    for name, listed in found.items():
        if len(set(listed)) < len(listed) or not listed:
            raise invalid(f"{where}: codes of column {name!r} must be names, each once, got {listed!r:.80}")
        if name in (dtypes or {}):
            raise invalid(f"{where}: column {name!r} has codes, which are int64, and dtypes= too: leave one out")
    return found


def of_record(error: E, key: str) -> E:
    """Attach the name of a record, such as "rows.csv:7", to an error, for queues' messages."""
    vars(error)["record_key"] = os.fsencode(key)
    return error


def is_frame(kind: type[Any]) -> bool:
    """Return True for a table with named columns, such as a polars or pandas DataFrame or a pyarrow Table."""
    return hasattr(kind, "__dataframe__") or (issubclass(kind, ArrowTable) and hasattr(kind, "columns"))


def is_closed(stored: Any) -> bool:
    """Return True for an h5py Dataset with a closed file."""
    return not getattr(getattr(stored, "id", None), "valid", True)


def place_of(stored: Any) -> str:
    """Return an open h5py Dataset's location for errors, such as ", '/x' of 'a.h5',"; "" for other objects."""
    is_open = getattr(getattr(stored, "id", None), "valid", False) and hasattr(stored, "file")
    return f", {stored.name!r} of {stored.file.filename!r}," if is_open else ""


def closed(where: str) -> FailedPreconditionError:
    """Return the error for a dataset with a closed file."""
    text = f"{where} cannot be read because its file was closed: keep the file open while you read batches"
    return FailedPreconditionError(None, None, text)


def last_used(load: Callable[[int], Any], count: int = 2) -> Callable[[int], Any]:
    """Return a function that calls `load`, one call at a time, and caches the most recently used results."""
    kept: dict[int, Any] = {}
    lock = Lock()

    def loaded(number: int) -> Any:
        with lock:
            found = kept.pop(number) if number in kept else load(number)
            kept[number] = found  # most recently used
            if len(kept) > count:
                del kept[next(iter(kept))]
            return found

    return loaded


def stacked(values: list[Any], where: str, named: Callable[[int], str] | None = None, *, loose: bool = False) -> Any:
    """Make a column from values: an array, or a dict or tuple of arrays if they are nested.

    Args:
        values: The values.
        where: Their location, for errors.
        named: Returns a value's name, such as its file.
        loose: Let arrays with several shapes become a column of objects.

    Raises:
        InvalidArgumentError, TypeError, ValueError: They differ in shape, dtype or structure.
    """
    if is_nested(values[0], False):
        nest = Nest(values[0], False)
        try:
            columns = list(zip(*map(nest.flatten, values), strict=True))
        except ValueError as error:
            raise invalid(f"{where}: {error}") from error
        columns_of = zip(nest.names, columns, strict=True)
        stack_one = functools.partial(stacked, named=named, loose=loose)
        return nest.pack([stack_one(list(column), f"{where}: {name!r}") for name, column in columns_of], True)
    if isinstance(telling(values), ListValue):
        return object_vector(values)
    if isinstance(values[0], (bytes, str)):
        kind = str if isinstance(values[0], str) else bytes
        other = next((value for value in values if not isinstance(value, kind)), None)
        if other is not None:
            raise TypeError(f"{where}: expected {kind.__name__}, as in the first example, got {other!r:.80}")
        return object_vector(values)
    arrays = [as_array(value, where) for value in values]
    try:
        array = native(stack(arrays))
        return as_objects(array, where) if array.dtype.hasobject else array
    except InvalidArgumentError as error:
        other = next((i for i, array in enumerate(arrays) if array.shape != arrays[0].shape), None)
        if other is None:
            raise invalid(f"{where}: {error}") from error
        if loose:
            rows = np.empty(len(arrays), object)
            for i, array in enumerate(arrays):  # NumPy would convert nested arrays
                rows[i] = array
            return rows
        first, second = (("" if named is None else f"{named(i)} has ") + show(arrays[i].shape) for i in (0, other))
        hint = "make them equal, or use batch(n, pad=0)"
        raise invalid(f"{where}: examples differ in shape: {first} and {second}: {hint}") from error
    except TypeError as error:
        raise TypeError(f"{where}: {error}") from error


class Once:
    """A function without arguments, called once; its result is cached. It pickles as the function does.

    Thread safety: concurrent first calls may each call it.
    """

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._result: list[Any] = []

    def __call__(self) -> Any:
        if not self._result:
            self._result.append(self._function())
        return self._result[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return Once, (self._function,)


class RowSelection:
    """Rows by index, at least one. One check for neighbours serves all columns.

    Attributes:
        neighbours: The rows' slice; None if they are not neighbours in order.
    """

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        first, count = int(numbers[0]), len(numbers)
        neighbours = count == int(numbers[-1]) + 1 - first and (count < 3 or bool((np.diff(numbers) == 1).all()))
        self.neighbours = slice(first, first + count) if neighbours else None
        self._numbers = numbers

    def of(self, array: NDArray[Any]) -> Any:
        """Return an array's rows; neighbours are a view."""
        if self.neighbours is not None:
            return array[self.neighbours]
        return array.take(self._numbers, axis=0)
