"""EagerValue: what the function of a `py_function` gets for a tensor, with the methods that programs use of one."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import DType, as_dtype
from pipeline.compat.graph.shapes import TensorShape


class EagerValue:
    """A tensor's value: `numpy()`, `dtype`, `shape`, operators, and what else a NumPy value has.

    Args:
        value: An array, a NumPy scalar, or bytes.
    """

    __array_priority__ = 100  # NumPy leaves the operators to this class

    def __init__(self, value: Any) -> None:
        self._value = value

    def numpy(self) -> Any:
        """Return the value as NumPy has it; bytes for a string."""
        return self._value

    @property
    def dtype(self) -> DType:
        """The DType."""
        return as_dtype("string" if isinstance(self._value, bytes) else self._value.dtype)

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return TensorShape(np.shape(self._value))

    def get_shape(self) -> TensorShape:
        """Return the shape."""
        return self.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return np.ndim(self._value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self._value, object if dtype is None and isinstance(self._value, bytes) else dtype)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("Scalar tensor has no `len()`")
        return len(self._value)

    def __iter__(self) -> Iterator[EagerValue]:
        if not self.ndim:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return iter([EagerValue(each) for each in self._value])

    def __getitem__(self, key: Any) -> EagerValue:
        return EagerValue(self._value[_plain(key)])

    def __bool__(self) -> bool:
        return bool(self._value)

    def __int__(self) -> int:
        return int(self._value)

    def __float__(self) -> float:
        return float(self._value)

    def __index__(self) -> int:
        return operator.index(self._value)

    def __repr__(self) -> str:
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={self._value!r}>"

    def __format__(self, form: str) -> str:
        return format(self._value, form) if not self.ndim else repr(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copying and pickling ask an object without a value
            raise AttributeError(name)
        return getattr(self._value, name)

    __hash__ = None  # type: ignore[assignment]


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_plain(each) for each in value)
    return value.numpy() if isinstance(value, EagerValue) else value


def _other(value: Any, own: Any) -> Any:
    """The other operand: a Python number or a list gets the dtype of the value, as in TensorFlow."""
    if isinstance(value, EagerValue):
        return value.numpy()
    if isinstance(value, (int, float, complex, list, tuple)) and isinstance(own, (np.ndarray, np.generic)):
        if isinstance(value, float) and own.dtype.kind in "iu":
            raise TypeError(
                f"Cannot convert {value!r} to a tensor of dtype {own.dtype}: cast the tensor to a float first"
            )
        return np.asarray(value, own.dtype)
    return value


def _binary(function: Callable[..., Any], reflected: bool = False) -> Callable[[EagerValue, Any], EagerValue]:
    def method(self: EagerValue, other: Any) -> EagerValue:
        mine, theirs = self.numpy(), _other(other, self.numpy())
        return EagerValue(function(theirs, mine) if reflected else function(mine, theirs))

    return method


def _unary(function: Callable[..., Any]) -> Callable[[EagerValue], EagerValue]:
    return lambda self: EagerValue(function(self.numpy()))


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor"):
    _function, _short = getattr(operator, _name), _name.rstrip("_")
    setattr(EagerValue, f"__{_short}__", _binary(_function))
    setattr(EagerValue, f"__r{_short}__", _binary(_function, reflected=True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(EagerValue, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in ("neg", "abs", "invert"):
    setattr(EagerValue, f"__{_name}__", _unary(getattr(operator, _name)))
