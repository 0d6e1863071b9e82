"""Plain values as bytes and back, without pickle: reading never runs code, whoever wrote the bytes.

A record is a checksum, the length of a JSON text, the text, and the bytes of arrays and `bytes` objects. In the text,
lists, dicts with text keys, texts, numbers and None stand for themselves; everything else is `{"": [name, ...]}`.
"""

from __future__ import annotations

import ast
import dataclasses
import datetime
import decimal
import enum
import functools
import importlib
import json
import sys
import uuid
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline._calls import all_of
from pipeline.errors import FailedPreconditionError
from pipeline.nest import ListValue

_MARK = ""
_MARKED = b'{"":'  # begins every description in a text
_HEAD = 12  # bytes: the checksum and the text's length

_CONSTANT: frozenset[type] = frozenset({str, int, float, bool, type(None)})
_TEXT: frozenset[type] = frozenset({str})

_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode

# The library whose dtypes, such as bfloat16, have no description in NumPy's format.
_OTHER_DTYPES = "ml_dtypes"


def packed(value: Any) -> bytes:
    """Return a value as bytes.

    Raises:
        TypeError: It contains an object that is not plain; the message names its class.
    """
    record = _Record()
    try:
        text = _encode(_described(value, record))
    except RecursionError:
        raise TypeError("a value that contains itself, or is nested too deeply") from None
    except ValueError as error:  # an integer with thousands of digits
        raise TypeError(str(error)) from None
    encoded = text.encode("utf-8", "surrogatepass")
    data = b"".join((len(encoded).to_bytes(8, "little"), encoded, *record.parts))
    return zlib.crc32(data).to_bytes(4, "little") + data


def unpacked(data: bytes) -> Any:
    """Return the value in the result of `packed`.

    Raises:
        ValueError: The bytes are damaged.
        FailedPreconditionError: A class is not imported.
    """
    if zlib.crc32(data[4:]) != int.from_bytes(data[:4], "little"):
        raise ValueError("a value has another checksum")
    end = _HEAD + int.from_bytes(data[4:_HEAD], "little")
    try:
        encoded = data[_HEAD:end]
        text = encoded.decode("utf-8", "surrogatepass")
        if _MARKED not in encoded:
            return json.loads(text)  # its decoder is made already
        return json.loads(text, object_hook=functools.partial(_made, data[end:]))
    except FailedPreconditionError:
        raise
    except Exception as error:  # a forged text may raise anything
        raise ValueError(f"a value cannot be read: {type(error).__name__}: {error}") from error


class _Record:
    """The bytes that follow a value's text."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self._size = 0

    def add(self, data: bytes) -> int:
        """Append bytes; return where they begin."""
        begin, self._size = self._size, self._size + len(data)
        self.parts.append(data)
        return begin


def _described(value: Any, record: _Record) -> Any:
    """Return a value as JSON can hold it."""
    kind = type(value)
    if kind in _CONSTANT:
        return value
    if kind is list:
        return value if all_of(value, _CONSTANT) else [_described(each, record) for each in value]
    if kind is dict and all_of(value, _TEXT) and _MARK not in value:
        if all_of(value.values(), _CONSTANT):
            return value
        return {key: _described(each, record) for key, each in value.items()}
    write = _WRITERS.get(kind) or _writer_of(kind)
    parts = None if write is None else write(value, record)
    if parts is None:
        raise TypeError(f"a value of the class {kind.__qualname__}")
    return {_MARK: parts}


def _made(data: bytes, found: dict[str, Any]) -> Any:
    """Return the value of a JSON object, whose parts are made already."""
    if _MARK not in found:
        return found
    name, *parts = found[_MARK]
    return _READERS[name](data, *parts)


# Containers, bytes and Python's other plain values -------------------------------------------------------------------


def _items(name: str) -> Callable[[Any, _Record], list[Any]]:
    return lambda value, record: [name, *[_described(each, record) for each in value]]


def _pairs(value: dict[Any, Any], record: _Record) -> list[Any]:
    return ["dict", *[[_described(key, record), _described(each, record)] for key, each in value.items()]]


def _bytes(value: bytes, record: _Record) -> list[Any]:
    begin = record.add(value)
    return ["np.bytes_" if type(value) is np.bytes_ else "bytes", begin, begin + len(value)]


def _moment(value: datetime.datetime | datetime.time, _: _Record) -> list[Any] | None:
    """A time zone's rules are code; a fixed offset is a number."""
    if value.fold or type(value.tzinfo) not in (type(None), datetime.timezone):
        return None
    return [type(value).__name__, value.isoformat()]


# By class: how to describe a value. The description begins with a name in `_READERS`.
_WRITERS: dict[type, Callable[[Any, _Record], list[Any] | None]] = {
    tuple: _items("tuple"),
    set: _items("set"),
    frozenset: _items("frozenset"),
    ListValue: _items("ListValue"),
    dict: _pairs,
    bytes: _bytes,
    np.bytes_: _bytes,
    complex: lambda value, _: ["complex", value.real, value.imag],
    datetime.datetime: _moment,
    datetime.time: _moment,
    datetime.date: lambda value, _: ["date", value.isoformat()],
    datetime.timedelta: lambda value, _: ["timedelta", value.days, value.seconds, value.microseconds],
    decimal.Decimal: lambda value, _: ["Decimal", str(value)],
    uuid.UUID: lambda value, _: ["UUID", value.hex],
    np.str_: lambda value, _: ["np.str_", "".join(value)],  # str() drops trailing zeros
    np.ndarray: lambda value, record: _array(value, record),
}


def _writer_of(kind: type) -> Callable[[Any, _Record], list[Any] | None] | None:
    if issubclass(kind, np.generic):
        return _scalar
    if issubclass(kind, enum.Enum):
        return _member
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _named_tuple
    return _instance if hasattr(kind, "__dataclass_fields__") and not hasattr(kind, "__array__") else None


# Arrays ---------------------------------------------------------------------------------------------------------------


def dtype_text(dtype: np.dtype[Any]) -> str | None:
    """Return a dtype's description; None for object arrays, and others that bytes do not describe."""
    if dtype.hasobject or not dtype.itemsize:
        return None
    if dtype.isbuiltin == 2 and dtype.type.__module__ == _OTHER_DTYPES:
        return f"{_OTHER_DTYPES}.{dtype.name}"
    described = np.lib.format.dtype_to_descr(dtype)
    if np.lib.format.descr_to_dtype(described) != dtype:
        return None
    return described if isinstance(described, str) else repr(described)


def dtype_of(text: str) -> np.dtype[Any]:
    """Return the dtype of a description.

    Raises:
        ValueError: There is no such dtype, or it would hold objects.
    """
    try:
        library, _, name = text.rpartition(".")
        if library == _OTHER_DTYPES:
            found: np.dtype[Any] = np.dtype(vars(importlib.import_module(library))[name])
        else:
            described: Any = ast.literal_eval(text) if text.startswith(("[", "(")) else text
            found = np.lib.format.descr_to_dtype(described)
    except ImportError:
        raise
    except Exception as error:  # NumPy parses it as Python, so any exception can come up
        raise ValueError(f"there is no dtype {text!r:.60}") from error
    if found.hasobject:
        raise ValueError(f"a dtype of objects, {text!r:.60}")
    return found


def _array(value: Any, record: _Record) -> list[Any] | None:
    if value.dtype == object:
        return ["objects", list(value.shape), *[_described(each, record) for each in value.flat]]
    text = dtype_text(value.dtype)
    return None if text is None else ["array", text, list(value.shape), record.add(value.tobytes())]


def _scalar(value: Any, record: _Record) -> list[Any] | None:
    text = dtype_text(value.dtype)
    return None if text is None else ["scalar", text, record.add(np.asarray(value).tobytes())]


def _as_array(data: bytes, text: str, shape: list[int], begin: int) -> Any:
    return np.ndarray(shape, dtype_of(text), data, begin).copy()


def _of_objects(_: bytes, shape: list[int], *items: Any) -> Any:
    array = np.empty(len(items), object)
    for i, each in enumerate(items):
        array[i] = each
    return array.reshape(shape)


# Values of the program's classes --------------------------------------------------------------------------------------


def _name_of(kind: type) -> str | None:
    """Return a class's name, if `_class_of` finds it."""
    name = f"{kind.__module__}:{kind.__qualname__}"
    try:
        return name if _class_of(name) is kind else None
    except FailedPreconditionError:
        return None


def _class_of(name: str) -> Any:
    """Return a class of an imported module. Nothing is imported, and no attribute is computed."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    try:
        for part in path.split("."):
            found = vars(found)[part]
    except (TypeError, KeyError):
        text = f"cache: there are values of the class {path} of {module}, which is not imported here"
        raise FailedPreconditionError(None, None, f"{text}: import it, or pass rebuild=True") from None
    return found


def _member(value: Any, _: _Record) -> list[Any] | None:
    name = _name_of(type(value))
    return None if name is None or value.name not in type(value).__members__ else ["enum", name, value.name]


def _of_member(_: bytes, name: str, member: str) -> Any:
    kind = _class_of(name)
    if not issubclass(kind, enum.Enum):
        raise ValueError(f"{name} is not an Enum")
    return vars(kind)["_member_map_"][member]


def _named_tuple(value: Any, record: _Record) -> list[Any] | None:
    name = _name_of(type(value))
    return None if name is None else ["namedtuple", name, *[_described(each, record) for each in value]]


def _of_named_tuple(_: bytes, name: str, *items: Any) -> Any:
    kind = _class_of(name)
    if not issubclass(kind, tuple) or len(kind._fields) != len(items):
        raise ValueError(f"{name} has other fields")
    return tuple.__new__(kind, items)


def _instance(value: Any, record: _Record) -> list[Any] | None:
    kind, fields = type(value), _fields_of(type(value))
    name, whole = _name_of(kind), all(hasattr(value, field) for field in fields)
    others = set(getattr(value, "__dict__", ())).difference(fields)
    own: Any = kind.__new__
    if name is None or own is not object.__new__ or others or not whole:
        return None
    return ["dataclass", name, [_described(getattr(value, field), record) for field in fields]]


def _of_instance(_: bytes, name: str, values: list[Any]) -> Any:
    """No function of the class is called."""
    kind = _class_of(name)
    made = object.__new__(kind)
    for field, value in zip(_fields_of(kind), values, strict=True):
        object.__setattr__(made, field, value)
    return made


def _fields_of(kind: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


# By name: how to make a value from the record's bytes and the parts of its description.
_READERS: dict[str, Callable[..., Any]] = {
    "tuple": lambda _, *items: items,
    "set": lambda _, *items: set(items),
    "frozenset": lambda _, *items: frozenset(items),
    "ListValue": lambda _, *items: ListValue(items),
    "dict": lambda _, *pairs: dict(pairs),
    "bytes": lambda data, begin, end: data[begin:end],
    "complex": lambda _, real, imaginary: complex(real, imaginary),
    "datetime": lambda _, text: datetime.datetime.fromisoformat(text),
    "time": lambda _, text: datetime.time.fromisoformat(text),
    "date": lambda _, text: datetime.date.fromisoformat(text),
    "timedelta": lambda _, *parts: datetime.timedelta(*parts),
    "Decimal": lambda _, text: decimal.Decimal(text),
    "UUID": lambda _, text: uuid.UUID(text),
    "np.str_": lambda _, text: np.str_(text),
    "np.bytes_": lambda data, begin, end: np.bytes_(data[begin:end]),
    "array": _as_array,
    "scalar": lambda data, text, begin: _as_array(data, text, [1], begin)[0],
    "objects": _of_objects,
    "enum": _of_member,
    "namedtuple": _of_named_tuple,
    "dataclass": _of_instance,
}
