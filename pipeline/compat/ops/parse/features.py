"""Features requested from a parse op: the caller's dict as keys, dtypes, shapes and default tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pipeline.compat.graph.dtypes import DType, as_dtype, string
from pipeline.compat.graph.shapes import TensorShape, as_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.shaping import rank as rank_of
from pipeline.compat.ops.arrays.shaping import reshape
from pipeline.compat.ops.control.asserting import Assert
from pipeline.compat.ops.control.flow import with_dependencies
from pipeline.compat.ops.making.inputs import check_allowed
from pipeline.compat.ops.math.comparing import equal
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value
from pipeline.decode.example.features import FixedLenSequenceFeature, VarLenFeature, Wanted
from pipeline.decode.example.lists import LISTS
from pipeline.errors import invalid, show

TYPES = ("float32", "int64", "string")
_KINDS = {"string": LISTS[1], "float32": LISTS[2], "int64": LISTS[3]}
_KEPT = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-/")


class Dense(NamedTuple):
    """A feature returned as a dense tensor; with `rows`, any number of rows shaped `shape`."""

    key: str
    dtype: DType
    shape: TensorShape
    default: Any
    rows: bool
    allow_missing: bool


class Asked:
    """Features in the caller's dict, in output order: `sparse`, keys with dtypes, and `dense`."""

    def __init__(self, features: Mapping[str, Any] | None, kinds: tuple[Any, ...]) -> None:
        self.sparse: dict[str, DType] = {}
        self.dense: list[Dense] = []
        for key in sorted(features or ()):
            feature: Any = features[key]  # type: ignore[index]
            if not isinstance(feature, kinds):
                raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key '{key}'")
            if not feature.dtype:
                raise ValueError(f"Missing type for feature {key}. Received feature={feature}.")
            dtype = as_dtype(feature.dtype).base_dtype
            if isinstance(feature, VarLenFeature):
                self.sparse[key] = dtype
            else:
                self.dense.append(_dense(key, dtype, feature))

    def __len__(self) -> int:
        return len(self.sparse) + len(self.dense)

    @property
    def keys(self) -> list[str]:
        """All keys, in output order."""
        return [*self.sparse, *(one.key for one in self.dense)]

    def check(self, sparse: str, dense: str) -> None:
        """Raise TypeError for a dtype unsupported by features; `sparse` and `dense` name the op's arguments."""
        for one in self.dense:
            check_allowed(dense, one.dtype, TYPES)
        for dtype in self.sparse.values():
            check_allowed(sparse, dtype, TYPES)

    def wanted(self) -> list[Wanted]:
        """The same features in the decoder's form, without defaults."""
        asked = [
            Wanted(key, key.encode(), _KINDS[dtype.name], "any", (), 1, None) for key, dtype in self.sparse.items()
        ]
        for one in self.dense:
            shape = tuple(one.shape.sizes or ())
            form = "rows" if one.rows else "fixed"
            size = math.prod(shape)  # type: ignore[arg-type]
            asked.append(Wanted(one.key, one.key.encode(), _KINDS[one.dtype.name], form, shape, size, None))  # type: ignore[arg-type]
        return asked


def _dense(key: str, dtype: DType, feature: Any) -> Dense:
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}. Received feature={feature}.")
    shape = as_shape(feature.shape)
    if isinstance(feature, FixedLenSequenceFeature):
        return Dense(key, dtype, shape, feature.default_value, True, bool(feature.allow_missing))
    if shape.ndims and shape.sizes[0] is None:  # type: ignore[index]
        raise ValueError(
            f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature. "
            f"Received feature={feature}."
        )
    if not shape.is_fully_defined():
        raise ValueError(f"All dimensions of shape for feature {key} need to be known but received {feature.shape!s}.")
    return Dense(key, dtype, shape, feature.default_value, False, False)


def default_tensor(one: Dense) -> Tensor:
    """Return the op's input for a feature's default: empty if the feature is required, a scalar to pad rows with."""
    if one.default is None:
        if one.rows:
            return convert_to_tensor("" if one.dtype == string else 0, dtype=one.dtype)
        return constant([], dtype=one.dtype)
    if isinstance(one.default, Tensor) and not one.rows:
        return one.default
    prefix = "padding_" if one.rows else "key_"
    name = prefix + "".join(char if char in _KEPT else "_" for char in one.key)
    return reshape(convert_to_tensor(one.default, dtype=one.dtype, name=name), [] if one.rows else one.shape)


class Defaults:
    """The features with the values of their default tensors; constant ones are evaluated only once."""

    def __init__(self, asked: Asked, tensors: list[Tensor]) -> None:
        self._wanted = asked.wanted()
        self._first = len(asked.sparse)
        values = [constant_value(tensor) for tensor in tensors]
        self._fixed = self._filled(values) if all(value is not None for value in values) else None

    def wanted(self, values: tuple[Any, ...]) -> list[Wanted]:
        """Return the features with these default values.

        Raises:
            InvalidArgumentError: A default's shape is not its feature's.
        """
        return self._filled(values) if self._fixed is None else self._fixed

    def _filled(self, values: Any) -> list[Wanted]:
        dense = self._wanted[self._first :]
        filled = [_with_default(i, one, value) for i, (one, value) in enumerate(zip(dense, values, strict=True))]
        return self._wanted[: self._first] + filled


def _with_default(index: int, one: Wanted, value: Any) -> Wanted:
    if isinstance(value, bytes):
        array = np.empty(1, object)
        array[0] = value
        shape: tuple[int, ...] = ()
    else:
        array, shape = np.asarray(value, one.kind.dtype).reshape(-1), np.shape(value)
    if one.form == "rows":
        return one._replace(default=array)
    if not array.size and one.size:
        return one
    if shape != one.shape:
        raise invalid(
            f"def_value[{index}].shape() == {show(shape)} is not compatible with dense_shapes_[{index}] == "
            f"{show(one.shape)}"
        )
    return one._replace(default=array)


def scalar_serialized(serialized: Any, argument: str = "serialized") -> Tensor:
    """Return one serialised message as a tensor; if its rank is not static, it is checked at run time."""
    tensor = convert_to_tensor(serialized, name=argument)
    rank = tensor.shape.ndims
    if rank == 0:
        return tensor
    if rank is not None:
        raise ValueError(f"Input {argument} must be a scalar")
    check = Assert(
        equal(rank_of(tensor), 0), [f"Input {argument} must be a scalar"], name=f"{argument.capitalize()}IsScalar"
    )
    checked: Tensor = with_dependencies([check], tensor, name=f"{argument}Dependencies")
    checked.set_shape([])
    return checked
