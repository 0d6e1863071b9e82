"""matmul and tensordot."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, broadcast_static_shape, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import quiet
from pipeline.compat.ops.arrays.arranging import transpose
from pipeline.compat.ops.arrays.shaping import reshape
from pipeline.compat.ops.making.inputs import check_allowed, next_input
from pipeline.compat.ops.making.opdef import check_rank, check_rank_at_least, tensor_op
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value
from pipeline.errors import invalid, show

_ALLOWED: tuple[str, ...] = (
    "bfloat16",
    "float16",
    "float32",
    "float64",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
)
_ALLOWED += ("complex64", "complex128")


def _inner(left: int | None, right: int | None) -> None:
    if left is not None and right is not None and left != right:
        raise ValueError(f"Dimensions must be equal, but are {left} and {right} for a product of matrices")


def _product(x: Any, y: Any) -> Any:
    for at, value in enumerate((x, y)):
        if np.ndim(value) < 2:
            raise invalid(f"In[{at}] ndims must be >= 2: {np.ndim(value)}")
    try:
        return np.matmul(x, y)
    except ValueError:
        raise invalid(f"Matrix size-incompatible: In[0]: {show(np.shape(x))}, In[1]: {show(np.shape(y))}") from None


def _plain(a: Tensor, b: Tensor, flip_a: bool, flip_b: bool, name: str) -> Tensor:
    """Make the node MatMul, for two matrices."""
    check_rank(a, 2)
    check_rank(b, 2)
    left = (a.shape.sizes or (None, None))[:: -1 if flip_a else 1]
    right = (b.shape.sizes or (None, None))[:: -1 if flip_b else 1]
    _inner(left[1], right[0])
    attrs = {"T": a.dtype.base_dtype, "transpose_a": flip_a, "transpose_b": flip_b}

    def kernel(x: Any, y: Any) -> Any:
        return _product(x.T if flip_a else x, y.T if flip_b else y)

    shape = TensorShape([left[0], right[1]])
    return tensor_node("MatMul", [a, b], quiet(kernel), a.dtype.base_dtype, shape, name=name, attrs=attrs)


def _batches(a: Tensor, b: Tensor, flip_a: bool, flip_b: bool, name: str) -> Tensor:
    """Make the node BatchMatMulV2, for batches whose leading axes broadcast. Flipped matrices are conjugated too."""
    check_rank_at_least(a, 2)
    check_rank_at_least(b, 2)
    p, q = a.shape.sizes, b.shape.sizes
    shape = unknown_shape()
    if p is not None and q is not None:
        left, right = (p[-2:][::-1] if flip_a else p[-2:]), (q[-2:][::-1] if flip_b else q[-2:])
        _inner(left[1], right[0])
        shape = broadcast_static_shape(p[:-2], q[:-2]).concatenate([left[0], right[1]])

    def kernel(x: Any, y: Any) -> Any:
        x = np.conj(np.swapaxes(x, -1, -2)) if flip_a and np.ndim(x) > 1 else x
        return _product(x, np.conj(np.swapaxes(y, -1, -2)) if flip_b and np.ndim(y) > 1 else y)

    attrs = {"T": a.dtype.base_dtype, "adj_x": flip_a, "adj_y": flip_b}
    return tensor_node("BatchMatMulV2", [a, b], quiet(kernel), a.dtype.base_dtype, shape, name=name, attrs=attrs)


def _conj(x: Tensor) -> Tensor:
    """The complex conjugate; a real matrix as it is."""
    if not x.dtype.is_complex:
        return x
    dtype = x.dtype.base_dtype
    with name_scope(None, "Conj", [x]) as scope:
        return tensor_node("Conj", [x], np.conj, dtype, x.shape, name=scope, attrs={"T": dtype}, rows=True)


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return the product of two matrices, or of batches of matrices whose leading axes are broadcast.

    Args:
        a: [..., n, k].
        b: [..., k, m], of the same dtype.
        transpose_a: Whether to transpose `a` first.
        transpose_b: Whether to transpose `b` first.
        adjoint_a: Whether to transpose and conjugate `a` first.
        adjoint_b: Whether to transpose and conjugate `b` first.
        a_is_sparse: Allows matrices only; no effect on the result.
        b_is_sparse: See `a_is_sparse`.
        output_type: The dtype of the result, if it is not that of the inputs.
        name: Name of the op.

    Raises:
        ValueError: The shapes do not fit, or a matrix is to be both transposed and adjoint.
        TypeError: The dtypes differ or are not numeric.
    """
    with name_scope(name, "MatMul", [a, b]) as scope:
        for flip, adjoint, which in ((transpose_a, adjoint_a, "a"), (transpose_b, adjoint_b, "b")):
            if flip and adjoint:
                raise ValueError(f"Only one of `transpose_{which}` and `adjoint_{which}` can be True.")
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, preferred_dtype=a.dtype.base_dtype, name="b")
        batched = any(each.shape.ndims is None or each.shape.ndims > 2 for each in (a, b))
        if batched and not a_is_sparse and not b_is_sparse:
            a, b = _conj(a) if transpose_a else a, _conj(b) if transpose_b else b
        else:
            batched = False
            a, b = _conj(a) if adjoint_a else a, _conj(b) if adjoint_b else b
        op_type, names = ("BatchMatMulV2", "xy") if batched else ("MatMul", "ab")
        check_allowed(names[0], a.dtype.base_dtype, (*_ALLOWED, "int16") if batched else _ALLOWED)
        b = next_input(op_type, names[1], b, a.dtype, names[0])
        make = _batches if batched else _plain
        product = make(a, b, bool(transpose_a or adjoint_a), bool(transpose_b or adjoint_b), scope)
        if output_type is not None:
            return cast(product, output_type)  # type: ignore[no-any-return]
        return product


def _contracted(a: Tensor, b: Tensor, axes: Any) -> tuple[list[int], list[int]] | int:
    """Return the axes of each tensor to sum over, not negative; a number if the rank of `a` is unknown."""
    axes = constant_value(axes) if isinstance(axes, Tensor) else axes
    if axes is None:
        raise ValueError("`axes` must be known when the graph is made.")
    if np.ndim(axes) == 0:
        if axes < 0:
            raise ValueError(f"`axes` must be at least 0. Received: {axes}.")
        rank = a.shape.ndims
        if rank is None:
            return int(axes)
        if axes > rank:
            raise ValueError(f"`axes` must not be larger than the number of dimensions of tensor {a}.")
        return list(range(rank - int(axes), rank)), list(range(int(axes)))
    if len(axes) != 2:
        raise ValueError(f"`axes` must be an integer or have length 2. Received {axes}.")
    first, second = ([int(axis) for axis in np.atleast_1d(each)] for each in axes)
    if len(first) != len(second):
        raise ValueError(f"Different number of contraction axes `a` and `b`, {len(first)} != {len(second)}.")
    return _not_negative(a, first), _not_negative(b, second)


def _not_negative(tensor: Tensor, axes: list[int]) -> list[int]:
    rank = tensor.shape.ndims
    return axes if rank is None else [axis + rank if axis < 0 else axis for axis in axes]


def _free(tensor: Tensor, axes: list[int]) -> list[int]:
    """The axes that are not summed over."""
    return [at for at in range(tensor.shape.ndims or 0) if at not in axes]


def _as_matrix(x: Tensor, axes: list[int], flipped: bool) -> Tensor:
    """Return a tensor of static shape as a matrix, with the axes to sum over last (first if flipped)."""
    sizes = [size or 0 for size in x.shape.as_list()]
    free = _free(x, axes)
    rows, summed = prod(sizes[at] for at in free), prod(sizes[at] for at in axes)
    order, shape = ([*axes, *free], [summed, rows]) if flipped else ([*free, *axes], [rows, summed])
    moved = x if order == list(range(len(sizes))) else transpose(x, order)
    return moved if moved.shape.as_list() == shape else reshape(moved, shape)


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Any:
    """Return the product of two tensors, summed over some axes of both.

    Tensors of static shapes are multiplied as matrices, as TensorFlow does; others by one operation.

    Args:
        a: A tensor.
        b: Another of the same dtype.
        axes: How many of the last axes of `a` and of the first of `b`; or two lists of axes.
        name: Name of the ops.

    Raises:
        ValueError: The axes do not fit.
    """
    with name_scope(name, "Tensordot", [a, b, axes]) as scope:
        a, b = convert_to_tensor(a, name="a"), convert_to_tensor(b, name="b")
        summed = _contracted(a, b, axes)
        kept = None
        if not isinstance(summed, int) and a.shape.ndims is not None and b.shape.ndims is not None:
            kept = [
                each.shape.as_list()[at] for each, own in zip((a, b), summed, strict=True) for at in _free(each, own)
            ]
        if kept is None or not (a.shape.is_fully_defined() and b.shape.is_fully_defined()):
            return _of_any_shape(a, b, summed, kept, scope)
        product = matmul(_as_matrix(a, summed[0], False), _as_matrix(b, summed[1], True))  # type: ignore[index]
        if product.shape.is_fully_defined() and product.shape.as_list() == kept:
            return product
        return reshape(product, kept, name=scope)


def _of_any_shape(a: Tensor, b: Tensor, axes: Any, kept: list[int | None] | None, name: str) -> Tensor:
    def kernel(a: Any, b: Any) -> Any:
        try:
            return np.tensordot(a, b, axes)
        except (ValueError, IndexError) as error:
            raise invalid(
                f"tensordot of {list(np.shape(a))} and {list(np.shape(b))} over axes {axes}: {error}"
            ) from None

    return tensor_op("Tensordot", "a:T b:T", [a, b], lambda a, b: kept, kernel, name)
