"""DType: tensor element types, and their NumPy dtypes."""

from __future__ import annotations

import builtins
import contextlib
from typing import Any

import numpy as np


class DType:
    """A tensor's element type; equal to everything `as_dtype` converts to the same type.

    Args:
        type_enum: Anything `as_dtype` accepts; there is one DType object per type.

    Attributes:
        name: Such as "float32"; with "_ref" for a variable's output.
        np: NumPy dtype of the values; `object` for strings.
    """

    name: str
    np: np.dtype[Any]
    _enum: int
    _is_ref_dtype: bool
    _other: DType
    __slots__ = ("_enum", "_is_ref_dtype", "_other", "name", "np")

    def __new__(cls, type_enum: Any = None) -> DType:
        return as_dtype(type_enum)

    @classmethod
    def _make(cls, name: str, numpy_type: Any, enum: int) -> DType:
        plain, ref = object.__new__(cls), object.__new__(cls)
        for dtype, suffix, offset in ((plain, "", 0), (ref, "_ref", 100)):
            dtype.name, dtype.np, dtype._enum = name + suffix, np.dtype(numpy_type), enum + offset
            dtype._is_ref_dtype = offset > 0
        plain._other, ref._other = ref, plain
        return plain

    @property
    def as_numpy_dtype(self) -> Any:
        """The NumPy scalar type; `object` for strings."""
        return object if self.np.kind == "O" else self.np.type

    @property
    def base_dtype(self) -> DType:
        """The type without "_ref"."""
        return self._other if self._is_ref_dtype else self

    @property
    def _as_ref(self) -> DType:
        return self if self._is_ref_dtype else self._other

    @property
    def real_dtype(self) -> DType:
        """The type of the real part."""
        return {"complex64": float32, "complex128": float64}.get(self.base_dtype.name, self)

    @property
    def as_datatype_enum(self) -> int:
        """The type's number in TensorFlow's protocol buffers."""
        return self._enum

    @property
    def is_numpy_compatible(self) -> builtins.bool:
        """True if values are NumPy arrays."""
        return self.base_dtype.name not in ("resource", "variant")

    @property
    def is_bool(self) -> builtins.bool:
        """True if this is bool."""
        return self.np.kind == "b"

    @property
    def is_floating(self) -> builtins.bool:
        """True if this is a floating-point type."""
        return self.np.kind == "f" or self.base_dtype.name == "bfloat16"

    @property
    def is_complex(self) -> builtins.bool:
        """True if this is a complex type."""
        return self.np.kind == "c"

    @property
    def is_integer(self) -> builtins.bool:
        """True if this is an integer type, except quantised ones."""
        return self.np.kind in "iu" and not self.is_quantized

    @property
    def is_unsigned(self) -> builtins.bool:
        """True if this is an unsigned integer type."""
        return self.np.kind == "u" and not self.is_quantized

    @property
    def is_quantized(self) -> builtins.bool:
        """True if this is qint8, quint8, qint16, quint16 or qint32."""
        return self.name.startswith(("qint", "quint"))

    @property
    def size(self) -> int:
        """Bytes per element; 0 for types without a fixed size, such as strings."""
        return self.np.itemsize if self.np.kind != "O" else 0

    @property
    def min(self) -> Any:
        """The smallest value; TypeError if the type has none."""
        return self._limit("min")

    @property
    def max(self) -> Any:
        """The largest value; TypeError if the type has none."""
        return self._limit("max")

    @property
    def limits(self) -> tuple[Any, Any]:
        """The pixel value range in images with this type: 0 to the largest integer, or 0 to 1."""
        return self.limits_of(clip_negative=True)

    def limits_of(self, clip_negative: builtins.bool = True) -> tuple[Any, Any]:
        """Return `limits`, but from the smallest value if `clip_negative` is false."""
        if self.is_bool:
            return 0, 1
        if self.is_floating:
            return (0 if clip_negative else -1), 1
        low, high = self.min, self.max
        return (0 if clip_negative else low), high

    def _limit(self, which: str) -> Any:
        if self.is_floating:
            return getattr(_finfo(self.np), which)
        if self.np.kind in "iu":
            return getattr(np.iinfo(self.np), which)
        raise TypeError(f"Cannot find {which}imum value of {self!r}.")

    def is_compatible_with(self, other: Any) -> builtins.bool:
        """Return whether values of `other` may be used where this type is expected."""
        other = as_dtype(other)
        return self._enum in (other._enum, other.base_dtype._enum)

    def __eq__(self, other: object) -> builtins.bool:
        if other is None:
            return False
        if other.__class__ is not DType:
            try:
                other = as_dtype(other)
            except TypeError:
                return False
        return self is other

    def __ne__(self, other: object) -> builtins.bool:
        return not self == other

    def __hash__(self) -> int:
        return self._enum

    def __int__(self) -> int:
        return self._enum

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


def _finfo(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return np.finfo(dtype)
    import ml_dtypes

    limits: Any = ml_dtypes.finfo
    return limits(dtype)


_make = DType._make
float32 = _make("float32", np.float32, 1)
float64 = double = _make("float64", np.float64, 2)
int32 = _make("int32", np.int32, 3)
uint8 = _make("uint8", np.uint8, 4)
int16 = _make("int16", np.int16, 5)
int8 = _make("int8", np.int8, 6)
string = _make("string", object, 7)
complex64 = _make("complex64", np.complex64, 8)
int64 = _make("int64", np.int64, 9)
bool = _make("bool", np.bool_, 10)
qint8 = _make("qint8", np.int8, 11)
quint8 = _make("quint8", np.uint8, 12)
qint32 = _make("qint32", np.int32, 13)
qint16 = _make("qint16", np.int16, 15)
quint16 = _make("quint16", np.uint16, 16)
uint16 = _make("uint16", np.uint16, 17)
complex128 = _make("complex128", np.complex128, 18)
float16 = half = _make("float16", np.float16, 19)
resource = _make("resource", object, 20)
variant = _make("variant", object, 21)
uint32 = _make("uint32", np.uint32, 22)
uint64 = _make("uint64", np.uint64, 23)

_ALL = [value for value in dict(globals()).values() if value.__class__ is DType]
_BY_ENUM: dict[int, DType] = {each._enum: each for one in _ALL for each in (one, one._as_ref)}
_BY_NAME: dict[str, DType] = {each.name: each for each in _BY_ENUM.values()}
_BY_NAME.update({"half": float16, "double": float64, "float": float32, "half_ref": float16._as_ref})
_BY_NAME.update({"float_ref": float32._as_ref, "double_ref": float64._as_ref})
_BY_NUMPY: dict[Any, DType] = {
    each.np: each for each in reversed(_ALL) if not each.is_quantized and each.is_numpy_compatible
}
# Without int, str and others, because TensorFlow does not accept them as dtypes.
_PYTHON: dict[Any, DType] = {float: float32, object: string}
_PYTHON[builtins.bool] = bool


def __getattr__(name: str) -> DType:
    """Return bfloat16 if the package ml_dtypes is installed."""
    if name != "bfloat16":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        made = _bfloat16()
    except ImportError as error:  # `hasattr` would let it pass
        raise AttributeError(str(error)) from None
    globals()["bfloat16"] = made
    return made


def _bfloat16() -> DType:
    try:
        import ml_dtypes
    except ImportError:
        raise ImportError("bfloat16 needs ml_dtypes: pip install ml_dtypes") from None
    made = _BY_NAME.get("bfloat16")
    if made is None:
        made = DType._make("bfloat16", ml_dtypes.bfloat16, 14)
        _BY_ENUM.update({14: made, 114: made._as_ref})
        _BY_NAME.update({"bfloat16": made, "bfloat16_ref": made._as_ref})
        _BY_NUMPY[made.np] = made
    return made


def as_dtype(type_value: Any) -> DType:
    """Return the DType for a DType, a name, a TensorFlow enum number, or a NumPy dtype or scalar type.

    Raises:
        TypeError: The DType does not exist.
    """
    if type_value.__class__ is DType:
        return type_value
    found: DType | None = None
    if isinstance(type_value, str):
        found = _BY_NAME.get(type_value)
        if found is None and type_value == "bfloat16":
            found = _bfloat16()
    elif isinstance(type_value, int):
        found = _BY_ENUM.get(type_value)
    elif isinstance(type_value, type) and type_value in _PYTHON:
        found = _PYTHON[type_value]
    else:
        found = _of_numpy(_numpy_dtype(type_value))
    if found is None:
        raise TypeError(f"Cannot convert the argument `type_value`: {type_value!r} to a TensorFlow DType.")
    return found


def _numpy_dtype(value: Any) -> np.dtype[Any] | None:
    """Return the NumPy dtype a value is, has, or names as a scalar class; None if there is none."""
    if isinstance(value, np.dtype):
        return value
    # NumPy scalar classes have a `dtype` too, but it is a descriptor.
    given = value if isinstance(value, type) else getattr(value, "dtype", None)
    if isinstance(given, np.dtype) or (isinstance(given, type) and issubclass(given, np.generic)):
        with contextlib.suppress(TypeError):  # np.generic and similar classes
            return np.dtype(given)
    return None


def _of_numpy(numpy_type: np.dtype[Any] | None) -> DType | None:
    if numpy_type is None:
        return None
    if numpy_type.kind in "SU":
        return string
    found = _BY_NUMPY.get(numpy_type if numpy_type.isnative else numpy_type.newbyteorder("="))
    return _bfloat16() if found is None and numpy_type.name == "bfloat16" else found
