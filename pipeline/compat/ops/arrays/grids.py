"""linspace; and meshgrid and sequence_mask, which TensorFlow too builds from other ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import as_dtype
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays import shaping
from pipeline.compat.ops.arrays.filling import ones
from pipeline.compat.ops.arrays.sequences import range_node
from pipeline.compat.ops.arrays.shaping import expand_dims, reshape, size
from pipeline.compat.ops.arrays.stacking import stack
from pipeline.compat.ops.making.opdef import check_rank, tensor_op
from pipeline.compat.ops.math.arithmetic import maximum
from pipeline.compat.ops.math.reducing import reduce_max
from pipeline.compat.values.casts import cast_node
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value
from pipeline.errors import invalid


def linspace(start: Any, stop: Any, num: Any, name: str | None = None) -> Tensor:
    """Return `num` numbers from `start` to `stop`, both included, in equal steps.

    Args:
        start: A floating-point scalar.
        stop: Of the same dtype.
        num: An integer.
        name: Name of the op.

    Raises:
        InvalidArgumentError: `num` is negative, at run time.
    """

    def rule(start: Tensor, stop: Tensor, num: Tensor) -> Any:
        for each in (start, stop, num):
            check_rank(each, 0)
        known = constant_value(num)
        return (None if known is None else int(known),)

    def kernel(start: Any, stop: Any, num: Any) -> Any:
        if num < 0:
            raise invalid(f"num must not be negative, got {num}")
        return np.linspace(start, stop, int(num), dtype=np.asarray(start).dtype)

    definition = "start:T(float32,float64)=float32 stop:T num:Tidx(int32,int64)=int32"
    return tensor_op("LinSpace", definition, [start, stop, num], rule, kernel, name)


def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Return the coordinates of a grid: for each vector a tensor that repeats its elements along its own axis.

    Args:
        args: Vectors of one dtype.
        indexing: "xy" (the first two axes are exchanged) or "ij".
        name: Name of the scope.
    """
    indexing, name = kwargs.pop("indexing", "xy"), kwargs.pop("name", "meshgrid")
    if kwargs:
        raise TypeError(f"'{next(iter(kwargs))}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'")
    with name_scope(name, "meshgrid", args):
        axes = len(args)
        if not axes:
            return []
        alone = (1,) * axes
        made: list[Any] = [reshape(stack(each), (*alone[:at], -1, *alone[at + 1 :])) for at, each in enumerate(args)]
        sizes = [size(each) for each in args]
        dtype = convert_to_tensor(args[0]).dtype.base_dtype
        if indexing == "xy" and axes > 1:
            made[0] = reshape(made[0], (1, -1, *alone[2:]))
            made[1] = reshape(made[1], (-1, 1, *alone[2:]))
            sizes[:2] = sizes[1::-1]
        everywhere: Any = ones(sizes, dtype)
        return [each * everywhere for each in made]


def _all_axes(tensor: Tensor) -> Tensor:
    count = tensor.shape.ndims
    if count is not None:
        return constant(np.arange(count, dtype=np.int32))
    return range_node(0, shaping.rank(tensor), 1)


def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = dtypes.bool, name: str | None = None) -> Tensor:
    """Return a row for each length: that many True (or ones), then False (or zeros).

    Args:
        lengths: Integers, any shape.
        maxlen: Length of the rows; the largest of `lengths` by default.
        dtype: Of the result.
        name: Name of the scope.

    Raises:
        ValueError: `maxlen` is not a scalar.
    """
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            maxlen = reduce_max(lengths, _all_axes(lengths))
            maxlen = maximum(constant(0, maxlen.dtype.base_dtype), maxlen)
        else:
            maxlen = convert_to_tensor(maxlen)
        if maxlen.shape.ndims not in (None, 0):
            raise ValueError(
                f"Argument `maxlen` must be scalar for sequence_mask, received `maxlen` = {maxlen} with shape "
                f"'{maxlen.shape}' instead"
            )
        kind = maxlen.dtype.base_dtype
        numbers: Any = range_node(constant(0, kind), maxlen, constant(1, kind))
        made: Any = numbers < cast_node(expand_dims(lengths, -1), kind)
        if dtype is None or as_dtype(dtype).base_dtype is dtypes.bool:
            return made  # type: ignore[no-any-return]
        return cast_node(made, as_dtype(dtype))
