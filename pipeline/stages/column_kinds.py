"""Convert a cache's columns to bytes and back, by column kind.

A kind is plain data, `[name, ...]`. Arrays with one shape are kept unchanged, and Python numbers as an array. Texts,
bytes, number lists and arrays with several shapes have a part "values" and a part "ends"; arrays also have a part
"shapes". Odd values have the kind "plain", or "pickle" in memory and where the user allows it.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._calls import all_of
from pipeline._ragged import cut_arrays, cut_texts, join_arrays, join_texts, like_arrays
from pipeline.stages.block import Numbers
from pipeline.stages.plain_values import dtype_of, dtype_text, packed, unpacked

Kind = list[Any]

PICKLE: Kind = ["pickle"]
PLAIN: Kind = ["plain"]

_CRC = 4  # checksum bytes

# Python number types by stored dtype.
_NUMBERS: dict[type, str] = {bool: "|b1", int: "<i8", float: "<f8"}
_LISTED = ("<i8", int), ("<f8", float)

_PARTS = {"array": ("values",), "number": ("values",), "ragged": ("values", "ends", "shapes")}


def kind_of(column: Any, odd: Kind) -> Kind:
    """Return the best kind for a column's values; `odd` if no other one fits."""
    if type(column) is np.ndarray and not column.dtype.hasobject:
        return _of_arrays(column.dtype, column.shape[1:]) or odd
    column = list(column)
    first, types = column[0], frozenset(map(type, column))
    if len(types) > 1:
        return odd
    (only,) = types
    if only in _NUMBERS:
        return ["number", _NUMBERS[only]] if only is not int or _fits(column) else odd
    if only is str or only is bytes:
        return [only.__name__]
    if only is list:
        return _of_lists(column) or odd
    if issubclass(only, np.generic) and all(each.dtype == first.dtype for each in column):
        return _of_arrays(first.dtype, ()) or odd
    alike = like_arrays(column) if only is np.ndarray else None
    if alike is None:
        return odd
    kind = _of_arrays(first.dtype, first.shape)
    if kind is None:
        return odd
    return kind if alike else ["ragged", kind[1], first.ndim]


def wider(one: Kind, other: Kind, odd: Kind) -> Kind:
    """Return a kind that fits the values in both columns; `odd` if no other one does."""
    if one == other:
        return one
    names = {one[0], other[0]}
    if names <= {"array", "ragged"} and one[1] == other[1]:
        dims = [len(each[2]) if each[0] == "array" else each[2] for each in (one, other)]
        if dims[0] == dims[1] > 0:
            return ["ragged", one[1], dims[0]]
    return odd


def _of_arrays(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Kind | None:
    text = dtype_text(dtype)
    return None if text is None else ["array", text, list(shape)]


def _fits(numbers: Sequence[int]) -> bool:
    return not numbers or (min(numbers) >= -(1 << 63) and max(numbers) < 1 << 63)


def _of_lists(column: Sequence[list[Any]]) -> Kind | None:
    inner = [value for each in column for value in each]
    for dtype, kind in _LISTED:
        if all_of(inner, frozenset({kind})) and (kind is float or _fits(inner)):
            return ["list", dtype]
    return None


def encoded(kind: Kind, column: Any) -> dict[str, NDArray[Any]]:
    """Encode a column's values as contiguous arrays, by part. Ends count from the first value here."""
    name = kind[0]
    if name in ("array", "number") and (type(column) is np.ndarray or type(column[0]) is not np.ndarray):
        return {"values": np.ascontiguousarray(column, dtype_of(kind[1]))}
    values = list(column)
    if name == "array":
        return {"values": join_arrays(values)[0]}
    if name == "ragged":
        return dict(zip(parts_of(kind), join_arrays(values), strict=True))
    if name == "list":
        joined = np.array([value for each in values for value in each], kind[1]), _ends(values)
    elif name == "pickle":
        joined = join_texts(list(map(_pickled, values)))
    elif name == "plain":
        joined = join_texts(list(map(_packed, values)))
    else:
        joined = join_texts(values)
    return dict(zip(parts_of(kind), joined, strict=True))


def _ends(parts: Sequence[Any]) -> NDArray[np.int64]:
    return np.cumsum([len(each) for each in parts], dtype=np.int64)


def _packed(value: Any) -> bytes:
    try:
        return packed(value)
    except TypeError as error:
        text = f"cache: {error} is not kept in a folder: make an array, number, text, dict, list or dataclass of it, or"
        raise TypeError(f"{text} pass allow_pickle=True if only you can write to the folder") from None


def _pickled(value: Any) -> bytes:
    """Pickle a value behind its checksum, because loading a damaged pickle could run anything."""
    try:
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        text = f"cache: a {type(value).__qualname__} cannot be kept, as it cannot be pickled: {error}"
        raise TypeError(f"{text}. Make an array, number or text of it before cache") from error
    return zlib.crc32(data).to_bytes(_CRC, "little") + data


def _unpickled(data: bytes) -> Any:
    if zlib.crc32(data[_CRC:]) != int.from_bytes(data[:_CRC], "little"):
        raise ValueError("a pickled value has another checksum")
    return pickle.loads(data[_CRC:])


def parts_of(kind: Kind) -> tuple[str, ...]:
    """Return a column's part names."""
    return _PARTS.get(kind[0], ("values", "ends"))


def array_of(kind: Kind, data: NDArray[np.uint8], rows: int) -> NDArray[Any]:
    """Return an array or number column as one array."""
    dtype, shape = dtype_of(kind[1]), tuple(kind[2]) if kind[0] == "array" else ()
    return data.view(dtype).reshape(rows, *shape) if data.size else np.empty((rows, *shape), dtype)


def reader_of(kind: Kind, parts: dict[str, NDArray[np.uint8]]) -> Callable[[Numbers], list[Any]]:
    """Return a function that reads a column with ends, by row."""
    name, data, ends = kind[0], parts["values"], parts["ends"].view(np.int64)
    if name in ("str", "bytes"):
        return lambda rows: cut_texts(data, ends, rows, name == "str")
    if name in ("pickle", "plain"):
        read = _unpickled if name == "pickle" else unpacked
        return lambda rows: list(map(read, cut_texts(data, ends, rows, False)))
    values = data.view(dtype_of(kind[1]))
    if len(ends) and ends[-1] != len(values):
        raise ValueError(f"the last value ends at {ends[-1]} of {len(values)}")
    shapes = ends.reshape(-1, 1) if name == "list" else parts["shapes"].view(np.int64).reshape(-1, kind[2])
    if name == "ragged":
        return lambda rows: cut_arrays(values, ends, shapes, rows)
    return lambda rows: [values[a:b].tolist() for a, b in _spans(ends, rows)]


def _spans(ends: Numbers, rows: Numbers) -> Any:
    """Return where rows begin and end."""
    begins = np.where(rows, ends[rows - 1], 0)
    return zip(begins.tolist(), ends[rows].tolist(), strict=True)
