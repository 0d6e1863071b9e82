"""matmul: matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import broadcast_static_shape, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import quiet
from pipeline.compat.ops.making.inputs import check_allowed, next_input
from pipeline.compat.ops.making.opdef import check_rank, check_rank_at_least
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.errors import invalid, show

_ALLOWED = ("bfloat16", "float16", "float32", "float64", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def _product(x: Any, y: Any) -> Any:
    for at, value in enumerate((x, y)):
        if np.ndim(value) < 2:
            raise invalid(f"In[{at}] ndims must be >= 2: {np.ndim(value)}")
    try:
        return np.matmul(x, y)
    except ValueError:
        raise invalid(f"Matrix size-incompatible: In[0]: {show(np.shape(x))}, In[1]: {show(np.shape(y))}") from None


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
    """Return the product of two matrices, or of two matrix batches with broadcast leading axes.

    Args:
        a: [..., n, k], real numbers.
        b: [..., k, m], same dtype.
        transpose_a, transpose_b, adjoint_a, adjoint_b: Transpose `a` or `b` first.
        a_is_sparse, b_is_sparse: Allow matrices only; no effect on the result.
        output_type: Result dtype, if it differs from the inputs'.
        name: Name of the op.

    Raises:
        ValueError: The shapes do not fit, or a matrix is both transposed and adjoint.
        TypeError: The dtypes differ or are not numeric.
    """
    with name_scope(name, "MatMul", [a, b]) as scope:
        for flip, adjoint, which in ((transpose_a, adjoint_a, "a"), (transpose_b, adjoint_b, "b")):
            if flip and adjoint:
                raise ValueError(f"Only one of `transpose_{which}` and `adjoint_{which}` can be True.")
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, preferred_dtype=a.dtype.base_dtype, name="b")
        batched = any(each.shape.ndims is None or each.shape.ndims > 2 for each in (a, b))
        batched = batched and not a_is_sparse and not b_is_sparse
        op_type, names = ("BatchMatMulV2", "xy") if batched else ("MatMul", "ab")
        check_allowed(names[0], a.dtype.base_dtype, (*_ALLOWED, "int16") if batched else _ALLOWED)
        b = next_input(op_type, names[1], b, a.dtype, names[0])
        product = _node(op_type, a, b, bool(transpose_a or adjoint_a), bool(transpose_b or adjoint_b), scope)
        return product if output_type is None else cast(product, output_type)


def _node(op_type: str, a: Tensor, b: Tensor, flip_a: bool, flip_b: bool, name: str) -> Tensor:
    batched = op_type != "MatMul"
    for each in (a, b):
        (check_rank_at_least if batched else check_rank)(each, 2)
    left, right = a.shape.sizes, b.shape.sizes
    shape = unknown_shape() if batched else unknown_shape(2)
    if left is not None and right is not None:
        (rows, inner), (other, columns) = left[-2:][:: -1 if flip_a else 1], right[-2:][:: -1 if flip_b else 1]
        if inner is not None and other is not None and inner != other:
            raise ValueError(f"Dimensions must be equal, but are {inner} and {other} for a product of matrices")
        shape = broadcast_static_shape(left[:-2], right[:-2]).concatenate([rows, columns])

    def kernel(x: Any, y: Any) -> Any:
        x = np.swapaxes(x, -1, -2) if flip_a and np.ndim(x) > 1 else x
        return _product(x, np.swapaxes(y, -1, -2) if flip_b and np.ndim(y) > 1 else y)

    flips = ("adj_x", "adj_y") if batched else ("transpose_a", "transpose_b")
    attrs = {"T": a.dtype.base_dtype, **dict(zip(flips, (flip_a, flip_b), strict=True))}
    return tensor_node(op_type, [a, b], quiet(kernel), a.dtype.base_dtype, shape, name=name, attrs=attrs)
