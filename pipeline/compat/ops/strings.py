"""String ops that look at each element alone: case, space, length, numbers and base64."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import numpy as np

from pipeline.compat.core.dtypes import float32, int32, string
from pipeline.compat.core.tensor import Tensor
from pipeline.compat.ops.inputs import check_allowed, dtype_of, renamed
from pipeline.compat.ops.text import bad, one_of, plain, unary

_SPACE = b" \t\n\v\f\r"
_DIGITS = frozenset(b"0123456789")
_URL_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """The strings in lower case: of ASCII letters, or with `encoding="utf-8"` of all."""
    return _case("StringLower", input, encoding, name, bytes.lower, str.lower)


def upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """The strings in upper case: of ASCII letters, or with `encoding="utf-8"` of all."""
    return _case("StringUpper", input, encoding, name, bytes.upper, str.upper)


def _case(op_type: str, value: Any, encoding: Any, name: str | None, narrow: Any, wide: Any) -> Tensor:
    encoding = plain(encoding, "encoding")

    def function(value: bytes) -> bytes:
        if encoding == "":
            return narrow(value)  # type: ignore[no-any-return]
        if encoding != "utf-8":
            raise bad(f"only utf-8 or '' (no encoding) is supported, received {encoding}")
        return wide(value.decode("utf-8", "replace")).encode()  # type: ignore[no-any-return]

    return unary(op_type, value, function, name, attrs={"encoding": encoding.encode()})


def strip(input: Any, name: str | None = None) -> Tensor:
    """The strings without ASCII white space at their ends."""
    return unary("StringStrip", input, lambda value: value.strip(_SPACE), name)


def length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """The length of each string as int32, in bytes or with `unit="UTF8_CHAR"` in characters."""
    unit = one_of(unit, ("BYTE", "UTF8_CHAR"), "unit", "StringLength")
    function = len if unit == "BYTE" else _characters
    return unary("StringLength", input, function, name, int32, attrs={"unit": unit.encode()})


def _characters(value: bytes) -> int:
    """Bytes that do not continue a character."""
    return len(value) - sum(0x80 <= byte < 0xC0 for byte in value)


def to_number(string_tensor: Any = None, out_type: Any = float32, name: str | None = None, input: Any = None) -> Tensor:
    """The numbers that strings stand for: float32, float64, int32, int64, uint32 or uint64.

    Raises:
        InvalidArgumentError: When run: a string is no such number.
    """
    value = renamed("input", input, "string_tensor", string_tensor)
    dtype = dtype_of(out_type)
    check_allowed("out_type", dtype, ("float32", "float64", "int32", "int64", "uint32", "uint64"))

    def function(value: bytes) -> Any:
        number = float_of(value) if dtype.is_floating else int_of(value)
        if number is not None:
            if dtype.is_floating:
                with np.errstate(over="ignore"):
                    return dtype.np.type(number)
            limits = np.iinfo(dtype.np)
            if limits.min <= number <= limits.max:
                return number
        raise bad(f"StringToNumberOp could not correctly convert string: {value.decode(errors='replace')}")

    return unary("StringToNumber", value, function, name, dtype, argument="string_tensor", attrs={"out_type": dtype})


def float_of(value: bytes) -> float | None:
    """The number that a text stands for in C: with hexadecimal ones, without Python's underscores; or None."""
    value = value.strip(_SPACE)
    if b"_" in value or not value.isascii():
        return None
    try:
        return float(value)
    except ValueError:
        pass
    if b"x" not in value.lower():
        return None
    try:
        return float.fromhex(value.decode())
    except (ValueError, OverflowError):
        return None


def int_of(value: bytes) -> int | None:
    """The whole number that a text of decimal digits stands for, or None."""
    value = value.strip(_SPACE)
    digits = value[1:] if value[:1] in (b"-", b"+") else value
    return int(value) if digits and _DIGITS.issuperset(digits) else None


def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """The strings in base64 with `-` and `_`, with `=` at the end if `pad`."""
    pad = bool(pad)

    def function(value: bytes) -> bytes:
        encoded = base64.urlsafe_b64encode(value)
        return encoded if pad else encoded.rstrip(b"=")

    return unary("EncodeBase64", input, function, name, string, attrs={"pad": pad})


def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """The strings that base64 with `-` and `_` stands for, with or without `=` at its end.

    Raises:
        InvalidArgumentError: When run: a string is no base64.
    """
    return unary("DecodeBase64", input, _from_base64, name)


def _from_base64(value: bytes) -> bytes:
    if len(value) % 4 == 1:
        raise bad("Base64 string length cannot be 1 modulo 4.")
    body = value
    if value and len(value) % 4 == 0:
        body = value[:-2] if value.endswith(b"==") else value[:-1] if value.endswith(b"=") else value
    if not _URL_SAFE.issuperset(body) or len(body) % 4 == 1:
        raise bad("Invalid character found in base64.")
    try:
        return base64.urlsafe_b64decode(body + b"=" * (-len(body) % 4))
    except binascii.Error as error:
        raise bad("Invalid character found in base64.") from error
