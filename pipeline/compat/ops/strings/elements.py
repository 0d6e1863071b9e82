"""String ops that look at each element alone: case, space, length, numbers and base64."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import float32, int32, int64, string
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.hashing import fingerprint, murmur, sip
from pipeline.compat.ops.making.inputs import check_allowed, dtype_of, renamed
from pipeline.compat.ops.making.text import encoded, objects, one_of, plain, scalar_or, unary
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.errors import invalid

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
            raise invalid(f"only utf-8 or '' (no encoding) is supported, received {encoding}")
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
        raise invalid(f"StringToNumberOp could not correctly convert string: {value.decode(errors='replace')}")

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
    """The bucket of each string, int64 from 0 to `num_buckets - 1`; the `_fast` one spreads them better."""
    string_tensor = renamed("input", input, "string_tensor", string_tensor)
    return _bucket("StringToHashBucket", string_tensor, num_buckets, murmur, name, argument="string_tensor")


def to_hash_bucket_fast(input: Any, num_buckets: Any, name: str | None = None) -> Tensor:
    """The bucket of each string by its FarmHash fingerprint, int64 from 0 to `num_buckets - 1`."""
    return _bucket("StringToHashBucketFast", input, num_buckets, fingerprint, name)


def to_hash_bucket_strong(input: Any, num_buckets: Any, key: Any, name: str | None = None) -> Tensor:
    """The bucket of each string by its SipHash under a key of two numbers, int64 from 0 to `num_buckets - 1`."""
    if not isinstance(key, (list, tuple)):
        raise TypeError(f"Expected list for 'key' argument to 'string_to_hash_bucket_strong' Op, not {key!r}.")
    words = [_whole(word, "key") for word in key]

    def function(value: bytes) -> int:
        if len(words) != 2:
            raise invalid("Key must have 2 elements")
        return sip(value, (words[0], words[1]))

    return _bucket("StringToHashBucketStrong", input, num_buckets, function, name, key=words)


def _bucket(
    op_type: str,
    value: Any,
    num_buckets: Any,
    function: Callable[[bytes], int],
    name: str | None,
    argument: str = "input",
    **attrs: Any,
) -> Tensor:
    buckets = _whole(num_buckets, "num_buckets")
    if buckets < 1:
        raise ValueError(f"Attr 'num_buckets' of '{op_type}' Op passed {buckets} less than minimum 1.")
    attrs["num_buckets"] = buckets
    return unary(op_type, value, lambda one: function(one) % buckets, name, int64, argument, attrs)


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
    """Each value as text.

    Args:
        input: Numbers, booleans or strings.
        precision: Digits after the point, for floats.
        scientific: Write floats with an exponent.
        shortest: Write floats as `%g` does.
        width: At least so many characters.
        fill: What stands before a short text: "0", " " or "+"; "-" puts it to the left.
        name: The op's name.

    Returns:
        Strings of the input's shape.

    Raises:
        InvalidArgumentError: When run: the settings do not fit together or do not fit the dtype.
    """
    with name_scope(name, "AsString") as scope:
        tensor = convert_to_tensor(input, name="input")
        dtype = tensor.dtype.base_dtype
        flag = encoded(fill).decode()

        def checked() -> str:
            """The format of the dtype."""
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
            form = "%" + flag
            if width > -1:
                form += str(width)
            if precision > -1:
                form += f".{precision}"
            if dtype.is_floating or dtype.is_complex:
                return form + ("e" if scientific else "g" if shortest else "f")
            return form + ("s" if dtype == string else "d")

        def kernel(values: Any) -> Any:
            form = checked()
            array = np.asarray(values, dtype.np)
            return scalar_or(
                objects([_written(one, form, width) for one in array.ravel().tolist()]).reshape(array.shape)
            )

        attrs = {"precision": precision, "scientific": scientific, "shortest": shortest, "width": width, "fill": flag}
        return tensor_node("AsString", [tensor], kernel, string, tensor.shape, name=scope, attrs=attrs, rows=True)


def _written(value: Any, form: str, width: int) -> bytes:
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, bytes):
        return form.encode() % value if width > -1 else value
    if isinstance(value, complex):
        return b"(" + _written(value.real, form, width) + b"," + _written(value.imag, form, width) + b")"
    if isinstance(value, float) and not math.isfinite(value):
        form = form.replace("%0", "%")
        if "#" in form:
            form = form.replace("#", "")
    return (form % float(value) if form[-1] != "d" else form % value).encode()
