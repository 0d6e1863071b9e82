"""Norms of vectors and matrices, and products over chosen axes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from pipeline.compat.core.convert import convert_to_tensor
from pipeline.compat.core.dtypes import int32
from pipeline.compat.core.graph import name_scope
from pipeline.compat.core.node import tensor_node
from pipeline.compat.core.shapes import TensorShape
from pipeline.compat.core.tensor import Tensor
from pipeline.compat.ops.complex_numbers import conj
from pipeline.compat.ops.elementwise import quiet
from pipeline.compat.ops.inputs import renamed
from pipeline.compat.ops.linear import matmul
from pipeline.compat.ops.reducing import reduce_max, reduce_prod, reduce_sum
from pipeline.compat.ops.unary import abs as abs_
from pipeline.compat.ops.unary import sqrt


def _check_order(order: Any, axis: Any) -> tuple[Any, bool]:
    """Return the axes as a tuple, and whether they are those of matrices; ValueError for what is not supported."""
    wrong = f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}"
    if isinstance(axis, (tuple, list)) and len(axis) == 2:
        if not all(isinstance(each, int) for each in axis) or axis[0] == axis[1]:
            raise ValueError(wrong)
        if order not in ("euclidean", "fro", 1, 2, np.inf):
            raise ValueError(f"'ord' must be a supported matrix norm in ['euclidean', 'fro', 1, 2, inf], got {order}")
        return tuple(axis), True
    if not (isinstance(axis, int) or axis is None):
        raise ValueError(wrong)
    if order not in ("euclidean", 1, 2, np.inf) and (isinstance(order, str) or not np.isreal(order) or order <= 0):
        raise ValueError(f"'ord' must be a supported vector norm, got {order}")
    return (None if axis is None else (axis,)), False


def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: Any = None,
    name: str | None = None,
    keep_dims: Any = None,
) -> Any:
    """Return the norm of vectors or matrices.

    Args:
        tensor: Floats or complex numbers.
        ord: "euclidean", 1, 2, np.inf or another positive number; "fro" for matrices.
        axis: The axis of the vectors, the two axes of the matrices; None for all elements as one vector.
        keepdims: Whether the axes stay, with size 1.
        name: Name of the ops.
        keep_dims: See `keepdims`.

    Raises:
        ValueError: `ord` or `axis` is not supported.
    """
    from pipeline.compat.ops.arithmetic import pow as power
    from pipeline.compat.ops.shaping import squeeze

    keepdims = renamed("keepdims", keepdims, "keep_dims", keep_dims)
    axes, matrices = _check_order(ord, axis)
    with name_scope(name, "norm"):
        x: Any = convert_to_tensor(tensor)
        if matrices and ord == 2:
            result: Any = _spectral(x, axes)
        elif ord in ("fro", "euclidean", 2):
            result = sqrt(reduce_sum(x * conj(x), axes, keepdims=True))
        else:
            result = abs_(x)
            first = None if axes is None else axes[0]
            if ord == 1:
                result = reduce_sum(result, first, keepdims=True)
                if matrices:
                    result = reduce_max(result, axes[-1], keepdims=True)
            elif ord == np.inf:
                if matrices:
                    result = reduce_sum(result, axes[1], keepdims=True)
                result = reduce_max(result, first, keepdims=True)
            else:
                result = power(reduce_sum(power(result, ord), axes, keepdims=True), 1.0 / ord)
        return result if keepdims else squeeze(result, axes)


def _spectral(x: Tensor, axes: tuple[int, int]) -> Tensor:
    """Return the largest singular values, the axes kept with size 1; one node where TensorFlow has many."""
    dtype = x.dtype.real_dtype
    sizes = x.shape.sizes
    shape = None
    if sizes is not None:
        picked = [axis % len(sizes) for axis in axes]
        shape = TensorShape([1 if at in picked else size for at, size in enumerate(sizes)])

    def kernel(value: Any) -> Any:
        return np.linalg.norm(value, 2, axis=axes, keepdims=True).astype(dtype.np)

    return tensor_node("SpectralNorm", [x], quiet(kernel), dtype, shape)


def normalize(tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """Return the tensor over its norm, and the norm; arguments as `norm`."""
    from pipeline.compat.ops.casting import cast

    with name_scope(name, "normalize"):
        x: Any = convert_to_tensor(tensor)
        length = cast(norm(x, ord, axis, keepdims=True), x.dtype)
        return x / length, length


def _contracted(a: Tensor, b: Tensor, axes: Any) -> tuple[Any, Any]:
    """Return the axes of each tensor that are summed over."""
    if isinstance(axes, (int, np.integer)):
        if axes < 0:
            raise ValueError(f"`axes` must be at least 0. Received: {axes}.")
        rank = a.shape.ndims
        if rank is not None:
            if axes > rank:
                raise ValueError(f"`axes` must not be larger than the number of dimensions of tensor {a}.")
            return list(range(rank - int(axes), rank)), list(range(int(axes)))
        from pipeline.compat.ops.sequences import range as range_
        from pipeline.compat.ops.shaping import rank as rank_of

        dims: Any = rank_of(a)
        return range_(dims - axes, dims, dtype=int32), range_(axes, dtype=int32)
    if isinstance(axes, (list, tuple)):
        if len(axes) != 2:
            raise ValueError(f"`axes` must be an integer or have length 2. Received {axes}.")
        first, second = axes
        if isinstance(first, (int, np.integer)) and isinstance(second, (int, np.integer)):
            first, second = [first], [second]
        if len(first) != len(second):
            raise ValueError(f"Different number of contraction axes `a` and `b`, {len(first)} != {len(second)}.")
        return first, second
    pair: Any = convert_to_tensor(axes, name="axes", dtype=int32)
    return pair[0], pair[1]


def _as_matrix(x: Tensor, axes: Any, flipped: bool) -> tuple[Any, Any, Any]:
    """Return a matrix with the contracted axes last (first if flipped), and the sizes of the others twice.

    The sizes are a list where all are static, else a tensor; the second time what is static of them.
    """
    from pipeline.compat.ops.arranging import transpose
    from pipeline.compat.ops.shaping import reshape

    sizes = x.shape.sizes
    if sizes is None or not isinstance(axes, (list, tuple)) or not x.shape.is_fully_defined():
        return _as_dynamic_matrix(x, axes, flipped)
    axes = [int(axis) + len(sizes) if axis < 0 else int(axis) for axis in axes]
    free = [at for at in range(len(sizes)) if at not in axes]
    kept = [sizes[at] or 0 for at in free]
    rows, summed = prod(kept), prod([sizes[at] or 0 for at in axes])
    order, shape = ([*axes, *free], [summed, rows]) if flipped else ([*free, *axes], [rows, summed])
    moved = x if order == list(range(len(sizes))) else transpose(x, order)
    matrix = moved if moved.shape.as_list() == shape else reshape(moved, shape)
    return matrix, kept, kept


def _as_dynamic_matrix(x: Tensor, axes: Any, flipped: bool) -> tuple[Any, Any, Any]:
    from pipeline.compat.ops.arranging import transpose
    from pipeline.compat.ops.gathering import gather
    from pipeline.compat.ops.joining import concat, stack
    from pipeline.compat.ops.masking import where
    from pipeline.compat.ops.shaping import rank as rank_of
    from pipeline.compat.ops.shaping import reshape
    from pipeline.compat.ops.shaping import shape as shape_of

    sizes = x.shape.sizes
    static: Any = None
    if sizes is not None and isinstance(axes, (list, tuple)):
        axes = [axis + len(sizes) if axis < 0 else axis for axis in axes]
        rest = [at for at in range(len(sizes)) if at not in axes]
        static = [sizes[at] for at in rest]
        axes = convert_to_tensor(axes, dtype=int32, name="axes")
        free: Any = convert_to_tensor(rest, dtype=int32, name="free")
        shape = shape_of(x)
    else:
        from pipeline.compat.ops.sequences import range as range_
        from pipeline.compat.ops.uniques import setdiff1d

        shape = shape_of(x)
        rank: Any = rank_of(x)
        axes = convert_to_tensor(axes, dtype=int32, name="axes")
        axes = where(axes >= 0, axes, axes + rank)
        free = setdiff1d(range_(rank), axes)[0]
    kept, summed = gather(shape, free), gather(shape, axes)
    rows, inner = reduce_prod(kept), reduce_prod(summed)
    order = concat([axes, free] if flipped else [free, axes], 0)
    pair = stack([inner, rows] if flipped else [rows, inner])
    return reshape(transpose(x, order), pair), kept, static


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Any:
    """Return the product of two tensors, summed over axes of both.

    Args:
        a: A tensor.
        b: Another of the same dtype.
        axes: How many of the last axes of `a` and of the first of `b`; or two lists of axes.
        name: Name of the ops.

    Raises:
        ValueError: The axes do not fit.
    """
    from pipeline.compat.ops.joining import concat
    from pipeline.compat.ops.shaping import reshape

    with name_scope(name, "Tensordot") as scope:
        a, b = convert_to_tensor(a, name="a"), convert_to_tensor(b, name="b")
        first, second = _contracted(a, b, axes)
        left, kept_a, static_a = _as_matrix(a, first, False)
        right, kept_b, static_b = _as_matrix(b, second, True)
        product = matmul(left, right)
        if isinstance(kept_a, list) and isinstance(kept_b, list):
            if product.shape.is_fully_defined() and product.shape.as_list() == kept_a + kept_b:
                return product
            return reshape(product, kept_a + kept_b, name=scope)
        kept_a, kept_b = convert_to_tensor(kept_a, dtype=int32), convert_to_tensor(kept_b, dtype=int32)
        result = reshape(product, concat([kept_a, kept_b], 0), name=scope)
        if static_a is not None and static_b is not None:
            result.set_shape(static_a + static_b)
        return result
