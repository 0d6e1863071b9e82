"""The types of scalar fields (double, int64, bytes, ...): which values each takes, and their bytes and text."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pipeline.errors import invalid
from pipeline.proto.text import quoted
from pipeline.proto.wire import (
    FIXED32,
    FIXED64,
    LEN,
    VARINT,
    WireError,
    pack_field,
    pack_tag,
    pack_varint,
    pack_varints,
    signed,
    unpack_varints,
    varint,
)


class ScalarType:
    """The type of a scalar field.

    Attributes:
        name: Its name in protocol buffers.
        wire: The wire type of one value.
        default: The value of a field that is not set.
        dtype: Of an array of values.
    """

    def __init__(self, name: str, wire: int, default: Any, dtype: Any = object) -> None:
        self.name, self.wire, self.default = name, wire, default
        self.dtype: np.dtype[Any] = np.dtype(dtype)

    def check(self, value: Any) -> Any:
        """Return a value as the field holds it; TypeError or ValueError if it does not fit."""
        raise NotImplementedError

    def check_all(self, values: Iterable[Any]) -> list[Any]:
        """Return the values of a repeated field, each checked."""
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise TypeError(
                f"a repeated field of type {self.name} takes a list, not {type(values).__name__} {values!r:.80}"
            )
        return [self.check(value) for value in values]

    def pack(self, number: int, value: Any) -> bytes:
        """Return field `number` with one value."""
        raise NotImplementedError

    def pack_all(self, number: int, values: list[Any]) -> bytes:
        """Return field `number` with at least one value: numbers packed into one field, others each by itself."""
        return b"".join([self.pack(number, value) for value in values])

    def read(self, data: bytes, at: int, end: int) -> Any:
        """Return the one value between two places."""
        raise NotImplementedError

    def read_all(self, data: bytes, wire: int, at: int, end: int) -> list[Any]:
        """Return the values between two places: several if numbers are packed."""
        return [self.read(data, at, end)]

    def text(self, value: Any) -> str:
        """Return a value as protocol buffer text."""
        return str(value)

    def refused(self, value: Any) -> TypeError:
        """The error for a value of the wrong type."""
        return TypeError(f"a field of type {self.name} does not take {type(value).__name__} {value!r:.80}")


class Real(ScalarType):
    """float and double: a number too large for a float becomes infinity."""

    def __init__(self, name: str, wire: int, letter: str, digits: int) -> None:
        super().__init__(name, wire, 0.0, f"<{letter}")
        self._struct = struct.Struct(f"<{letter}")
        self._digits = digits  # that are always right; three more give every number back

    def check(self, value: Any) -> float:
        try:
            return float(self._struct.unpack(self._struct.pack(value))[0])
        except (TypeError, struct.error) as error:
            raise self.refused(value) from error
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")

    def check_all(self, values: Iterable[Any]) -> list[Any]:
        if not isinstance(values, np.ndarray):
            if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
                return super().check_all(values)
            values = np.asarray(list(values))
        if values.ndim != 1 or (values.dtype.kind not in "biuf" and values.size):
            raise TypeError(
                f"a repeated field of type {self.name} takes a list of numbers, "
                f"not one of {values.dtype} with shape {list(values.shape)}"
            )
        with np.errstate(over="ignore"):
            checked: list[Any] = values.astype(self.dtype).tolist()
        return checked

    def pack(self, number: int, value: float) -> bytes:
        return pack_tag(number, self.wire) + self._struct.pack(value)

    def pack_all(self, number: int, values: list[float]) -> bytes:
        return pack_field(number, np.array(values, self.dtype).tobytes())

    def read(self, data: bytes, at: int, end: int) -> float:
        return float(self._struct.unpack_from(data, at)[0])

    def read_all(self, data: bytes, wire: int, at: int, end: int) -> list[float]:
        if (end - at) % self.dtype.itemsize:
            size = f"take {end - at} bytes, which is not a multiple of {self.dtype.itemsize}"
            raise WireError(f"the {self.name}s at byte {at} {size}")
        values: list[float] = np.frombuffer(data, self.dtype, (end - at) // self.dtype.itemsize, at).tolist()
        return values

    def text(self, value: float) -> str:
        """The fewest digits that give the number back, of two choices: 6 or 9 for a float, 15 or 17 for a double."""
        short = f"{value:.{self._digits}g}"
        same = value != value or self.dtype.type(short) == value
        return short if same else f"{value:.{9 if self._digits == 6 else 17}g}"


class Integer(ScalarType):
    """int32 and int64: a varint; a negative number takes ten bytes."""

    def __init__(self, name: str, bits: int) -> None:
        super().__init__(name, VARINT, 0, f"i{bits // 8}")
        self._low, self._high = -(1 << bits - 1), 1 << bits - 1

    def check(self, value: Any) -> int:
        if isinstance(value, np.ndarray) or not hasattr(value, "__index__"):
            raise self.refused(value)
        number = operator.index(value)
        if not self._low <= number < self._high:
            raise ValueError(f"Value out of range: {number} does not fit in {self.name}")
        return number

    def check_all(self, values: Iterable[Any]) -> list[Any]:
        whole = isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu"
        if whole and np.can_cast(values.dtype, self.dtype):  # type: ignore[attr-defined]
            listed: list[Any] = values.tolist()  # type: ignore[attr-defined]
            return listed
        return super().check_all(values)

    def pack(self, number: int, value: int) -> bytes:
        return pack_tag(number, VARINT) + pack_varint(value)

    def pack_all(self, number: int, values: list[int]) -> bytes:
        return pack_field(number, pack_varints(values))

    def read(self, data: bytes, at: int, end: int) -> int:
        return signed(varint(data, at, end)[0])

    def read_all(self, data: bytes, wire: int, at: int, end: int) -> list[int]:
        if wire == LEN:
            values: list[int] = unpack_varints(data, at, end).tolist()
            return values
        return [self.read(data, at, end)]


class Enumeration(Integer):
    """An enum: an int32 whose text is a name.

    Args:
        name_of: The name of a number, or None if it has none.
    """

    def __init__(self, name_of: Callable[[int], str | None]) -> None:
        super().__init__("enum", 32)
        self._name_of = name_of

    def text(self, value: int) -> str:
        return self._name_of(value) or str(value)


class Boolean(Integer):
    """bool."""

    def __init__(self) -> None:
        super().__init__("bool", 64)
        self.default, self.dtype = False, np.dtype(bool)

    def check(self, value: Any) -> bool:
        return bool(value)

    def read(self, data: bytes, at: int, end: int) -> bool:
        return bool(varint(data, at, end)[0])

    def read_all(self, data: bytes, wire: int, at: int, end: int) -> list[Any]:
        return list(map(bool, super().read_all(data, wire, at, end)))

    def text(self, value: bool) -> str:
        return "true" if value else "false"


class Bytes(ScalarType):
    """bytes."""

    def __init__(self) -> None:
        super().__init__("bytes", LEN, b"")

    def check(self, value: Any) -> bytes:
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise self.refused(value)
        return bytes(value)  # np.bytes_ is a bytes too

    def pack(self, number: int, value: bytes) -> bytes:
        return pack_field(number, value)

    def read(self, data: bytes, at: int, end: int) -> bytes:
        return data[at:end]

    def text(self, value: bytes) -> str:
        return quoted(value)


def check_text(value: str | bytes, what: str) -> str:
    """Return a text; `what` names it in the InvalidArgumentError for what is not UTF-8, or cannot be: other libraries
    could not read the message."""
    try:
        text = value.decode() if isinstance(value, bytes) else str(value)
        text.encode()
    except UnicodeError:
        raise invalid(f"{what} must be text that is UTF-8, got {value!r:.80}") from None
    return text


class String(ScalarType):
    """string: UTF-8 on the wire."""

    def __init__(self) -> None:
        super().__init__("string", LEN, "")

    def check(self, value: Any) -> str:
        if not isinstance(value, (str, bytes)):
            raise self.refused(value)
        return check_text(value, f"a field of type {self.name}")

    def pack(self, number: int, value: str) -> bytes:
        return pack_field(number, value.encode())

    def read(self, data: bytes, at: int, end: int) -> str:
        return data[at:end].decode()

    def text(self, value: str) -> str:
        return quoted(value.encode())


FLOAT, DOUBLE = Real("float", FIXED32, "f", 6), Real("double", FIXED64, "d", 15)
INT32, INT64, BOOL = Integer("int32", 32), Integer("int64", 64), Boolean()
BYTES, STRING = Bytes(), String()
