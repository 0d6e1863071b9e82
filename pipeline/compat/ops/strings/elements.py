"""Elementwise string ops: case, strip, length, numbers, base64, hash buckets, as_string."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import DType, float32, int32, int64, string
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.hashing import fingerprint, murmur
from pipeline.compat.ops.making.inputs import check_allowed, dtype_of, renamed
from pipeline.compat.ops.making.text import encoded, objects, one_of, plain, scalar_or, string_op
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.errors import invalid

_SPACE = b" \t\n\v\f\r"
_DIGITS = frozenset(b"0123456789")
_URL_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Convert strings to lower case: ASCII letters only, or all letters with `encoding="utf-8"`."""
    return _case("StringLower", input, encoding, name, bytes.lower, str.lower)


def upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Convert strings to upper case: ASCII letters only, or all letters with `encoding="utf-8"`."""
    return _case("StringUpper", input, encoding, name, bytes.upper, str.upper)


def _case(op_type: str, value: Any, encoding: Any, name: str | None, narrow: Any, wide: Any) -> Tensor:
    encoding = plain(encoding, "encoding")

    def function(value: bytes) -> bytes:
        if encoding == "":
            return narrow(value)  # type: ignore[no-any-return]
        if encoding != "utf-8":
            raise invalid(f"only utf-8 or '' (no encoding) is supported, received {encoding}")
        return wide(value.decode("utf-8", "replace")).encode()  # type: ignore[no-any-return]

    return string_op(op_type, value, function, name, attrs={"encoding": encoding.encode()})


def strip(input: Any, name: str | None = None) -> Tensor:
    """Strip ASCII whitespace from both ends of strings."""
    return string_op("StringStrip", input, lambda value: value.strip(_SPACE), name)


def length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Return each string's length as int32, in bytes or, with `unit="UTF8_CHAR"`, in characters."""
    unit = one_of(unit, ("BYTE", "UTF8_CHAR"), "unit", "StringLength")
    function = len if unit == "BYTE" else _characters
    return string_op("StringLength", input, function, name, int32, attrs={"unit": unit.encode()})


def _characters(value: bytes) -> int:
    """Return the number of bytes that begin a UTF-8 character."""
    return len(value) - sum(0x80 <= byte < 0xC0 for byte in value)


def to_number(string_tensor: Any = None, out_type: Any = float32, name: str | None = None, input: Any = None) -> Tensor:
    """Parse strings as numbers.

    Args:
        string_tensor: Old name for `input`.
        out_type: float32, float64, int32, int64, uint32 or uint64.
        name: Name of the op.
        input: Strings with any shape.

    Raises:
        InvalidArgumentError: At run time, if a string is not a number with this dtype.
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
        raise invalid(f"StringToNumberOp could not correctly convert string: {value.decode(errors='replace')}")

    return string_op(
        "StringToNumber", value, function, name, dtype, argument="string_tensor", attrs={"out_type": dtype}
    )


def float_of(value: bytes) -> float | None:
    """Parse a float as C does, with hexadecimal floats and without Python's underscores; None if it is not one."""
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
    """Parse a decimal integer; None if it is not one."""
    value = value.strip(_SPACE)
    digits = value[1:] if value[:1] in (b"-", b"+") else value
    return int(value) if digits and _DIGITS.issuperset(digits) else None


def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """Encode strings as URL-safe base64 (`-` and `_`), padded with `=` if `pad`."""
    pad = bool(pad)

    def function(value: bytes) -> bytes:
        encoded = base64.urlsafe_b64encode(value)
        return encoded if pad else encoded.rstrip(b"=")

    return string_op("EncodeBase64", input, function, name, string, attrs={"pad": pad})


def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """Decode URL-safe base64 (`-` and `_`), padded or not.

    Raises:
        InvalidArgumentError: At run time, if a string is not base64.
    """
    return string_op("DecodeBase64", input, _from_base64, name)


def _from_base64(value: bytes) -> bytes:
    if len(value) % 4 == 1:
        raise invalid("Base64 string length cannot be 1 modulo 4.")
    body = value
    if value and len(value) % 4 == 0:
        body = value[:-2] if value.endswith(b"==") else value[:-1] if value.endswith(b"=") else value
    if not _URL_SAFE.issuperset(body) or len(body) % 4 == 1:
        raise invalid("Invalid character found in base64.")
    try:
        return base64.urlsafe_b64decode(body + b"=" * (-len(body) % 4))
    except binascii.Error as error:
        raise invalid("Invalid character found in base64.") from error


def to_hash_bucket(
    string_tensor: Any = None, num_buckets: Any = None, name: str | None = None, input: Any = None
) -> Tensor:
    """Return a bucket per string, int64 in [0, num_buckets); `to_hash_bucket_fast` spreads better."""
    string_tensor = renamed("input", input, "string_tensor", string_tensor)
    return _bucket("StringToHashBucket", string_tensor, num_buckets, murmur, name, argument="string_tensor")


def to_hash_bucket_fast(input: Any, num_buckets: Any, name: str | None = None) -> Tensor:
    """Return a bucket per string from its FarmHash fingerprint, int64 in [0, num_buckets)."""
    return _bucket("StringToHashBucketFast", input, num_buckets, fingerprint, name)


def _bucket(
    op_type: str,
    value: Any,
    num_buckets: Any,
    function: Callable[[bytes], int],
    name: str | None,
    argument: str = "input",
) -> Tensor:
    buckets = _whole(num_buckets, "num_buckets")
    if buckets < 1:
        raise ValueError(f"Attr 'num_buckets' of '{op_type}' Op passed {buckets} less than minimum 1.")
    attrs = {"num_buckets": buckets}
    return string_op(op_type, value, lambda one: function(one) % buckets, name, int64, argument, attrs)


def _whole(value: Any, attr: str) -> int:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__index__"):
        raise TypeError(f"Expected int for argument '{attr}' not {value!r}.")
    return int(value)


def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Convert each value to a string.

    Args:
        input: Numbers, bools or strings.
        precision: Digits after the decimal point, for floats.
        scientific: Write floats with an exponent.
        shortest: Write floats as `%g` does.
        width: Minimum number of characters.
        fill: Pads up to `width`: "0" or " " on the left, "-" with blanks on the right; "+" always writes the sign.
        name: Name of the op.

    Returns:
        Strings shaped like the input.

    Raises:
        InvalidArgumentError: At run time, if the settings do not fit each other or the dtype.
    """
    with name_scope(name, "AsString", [input]) as scope:
        tensor = convert_to_tensor(input, name="input")
        dtype = tensor.dtype.base_dtype
        flag = encoded(fill).decode()

        def kernel(values: Any) -> Any:
            template = _template(dtype, flag, width, precision, (scientific, shortest))
            array = np.asarray(values, dtype.np)
            texts = [_formatted(one, template, width) for one in array.ravel().tolist()]
            return scalar_or(objects(texts).reshape(array.shape))

        attrs = {"precision": precision, "scientific": scientific, "shortest": shortest, "width": width, "fill": flag}
        return tensor_node("AsString", [tensor], kernel, string, tensor.shape, name=scope, attrs=attrs, rows=True)


def _template(dtype: DType, flag: str, width: int, precision: int, notation: tuple[bool, bool]) -> str:
    """Return the %-template for values with the dtype; InvalidArgumentError if the settings do not fit."""
    scientific, shortest = notation
    if scientific and shortest:
        raise invalid("Cannot select both scientific and shortest notation")
    if len(flag) > 1:
        raise invalid(f'Fill string must be one or fewer characters: "{flag}"')
    if flag not in ("", " ", "+", "-", "0", "#"):
        raise invalid(f'Fill argument not supported: "{flag}"')
    if not (dtype.is_floating or dtype.is_complex or dtype == string):
        if scientific or shortest:
            raise invalid(f"scientific and shortest format not supported for datatype {dtype.name}")
        if precision >= 0:
            raise invalid(f"precision not supported for datatype {dtype.name}")
    signed = dtype.is_floating or dtype.is_complex or dtype == string or np.dtype(dtype.np).kind != "u"
    template = "%" + (flag if signed or flag not in ("+", " ") else "")  # C writes no sign before unsigned numbers
    if width > -1:
        template += str(width)
    if precision > -1:
        template += f".{precision}"
    if dtype.is_floating or dtype.is_complex:
        return template + ("e" if scientific else "g" if shortest else "f")
    return template + ("s" if dtype == string else "d")


def _formatted(value: Any, form: str, width: int) -> bytes:
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, bytes):
        return form.encode() % value if width > -1 else value
    if isinstance(value, complex):
        return b"(" + _formatted(value.real, form, width) + b"," + _formatted(value.imag, form, width) + b")"
    if isinstance(value, float) and not math.isfinite(value):
        form = form.replace("%0", "%")
        if "#" in form:
            form = form.replace("#", "")
    return (form % float(value) if form[-1] != "d" else form % value).encode()
