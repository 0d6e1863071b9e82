"""Products of matrices and tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline import errors
from pipeline.compat.core.convert import convert_to_tensor
from pipeline.compat.core.graph import name_scope
from pipeline.compat.core.node import tensor_node
from pipeline.compat.core.shapes import TensorShape, broadcast_static_shape, unknown_shape
from pipeline.compat.core.tensor import Tensor
from pipeline.compat.ops.elementwise import quiet, shown
from pipeline.compat.ops.inputs import REALS, check_allowed, first_input, list_input, next_input

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


def _rank(tensor: Tensor, rank: int, at_least: bool = False) -> None:
    have = tensor.shape.ndims
    if have is not None and (have < rank if at_least else have != rank):
        raise ValueError(f"Shape must be {'at least ' if at_least else ''}rank {rank} but is rank {have}")


def _product(x: Any, y: Any) -> Any:
    for at, value in enumerate((x, y)):
        if np.ndim(value) < 2:
            raise errors.InvalidArgumentError(None, None, f"In[{at}] ndims must be >= 2: {np.ndim(value)}")
    try:
        return np.matmul(x, y)
    except ValueError:
        text = f"Matrix size-incompatible: In[0]: {shown(x)}, In[1]: {shown(y)}"
        raise errors.InvalidArgumentError(None, None, text) from None


def _plain(a: Tensor, b: Tensor, flip_a: bool, flip_b: bool, name: str) -> Tensor:
    """Make MatMul, of two matrices."""
    _rank(a, 2)
    _rank(b, 2)
    left = (a.shape.sizes or (None, None))[:: -1 if flip_a else 1]
    right = (b.shape.sizes or (None, None))[:: -1 if flip_b else 1]
    _inner(left[1], right[0])
    attrs = {"T": a.dtype.base_dtype, "transpose_a": flip_a, "transpose_b": flip_b}

    def kernel(x: Any, y: Any) -> Any:
        return _product(x.T if flip_a else x, y.T if flip_b else y)

    shape = TensorShape([left[0], right[1]])
    return tensor_node("MatMul", [a, b], quiet(kernel), a.dtype.base_dtype, shape, name=name, attrs=attrs)


def _batches(a: Tensor, b: Tensor, flip_a: bool, flip_b: bool, name: str) -> Tensor:
    """Make BatchMatMulV2, of many matrices, whose leading axes are broadcast; flipped ones are conjugated too."""
    _rank(a, 2, at_least=True)
    _rank(b, 2, at_least=True)
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
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the product of two matrices, or of batches of them along leading axes that are broadcast.

    Args:
        a: [..., n, k].
        b: [..., k, m], of the same dtype.
        transpose_a: Whether to transpose `a` first.
        transpose_b: Whether to transpose `b` first.
        adjoint_a: Whether to transpose and conjugate `a` first.
        adjoint_b: Whether to transpose and conjugate `b` first.
        a_is_sparse: Taken, and without effect on the result.
        b_is_sparse: Taken, and without effect on the result.
        output_type: The dtype of the result, if it is not that of the inputs.
        grad_a: Without effect.
        grad_b: Without effect.
        name: Name of the op.

    Raises:
        ValueError: The shapes do not fit, or a matrix is to be transposed in two ways.
        TypeError: The dtypes differ, or are no numbers.
    """
    from pipeline.compat.ops.complex_numbers import conj

    with name_scope(name, "MatMul") as scope:
        for flip, adjoint, which in ((transpose_a, adjoint_a, "a"), (transpose_b, adjoint_b, "b")):
            if flip and adjoint:
                raise ValueError(f"Only one of `transpose_{which}` and `adjoint_{which}` can be True.")
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, preferred_dtype=a.dtype.base_dtype, name="b")
        batched = any(each.shape.ndims is None or each.shape.ndims > 2 for each in (a, b))
        if batched and not a_is_sparse and not b_is_sparse:
            a, b = conj(a) if transpose_a else a, conj(b) if transpose_b else b
        else:
            batched = False
            a, b = conj(a) if adjoint_a else a, conj(b) if adjoint_b else b
        op_type, names = ("BatchMatMulV2", "xy") if batched else ("MatMul", "ab")
        check_allowed(names[0], a.dtype.base_dtype, (*_ALLOWED, "int16") if batched else _ALLOWED)
        b = next_input(op_type, names[1], b, a.dtype, names[0])
        make = _batches if batched else _plain
        product = make(a, b, bool(transpose_a or adjoint_a), bool(transpose_b or adjoint_b), scope)
        if output_type is not None:
            from pipeline.compat.ops.casting import cast

            return cast(product, output_type)  # type: ignore[no-any-return]
        return product


def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Return the product of matrices [..., n, k] and vectors [..., k]; arguments as `matmul`."""
    from pipeline.compat.ops.shaping import expand_dims, squeeze

    with name_scope(name, "MatVec"):
        column = expand_dims(b, axis=-1)
        product = matmul(a, column, transpose_a, False, adjoint_a, False, a_is_sparse, b_is_sparse)
        return squeeze(product, axis=-1)


def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """Return the cross products of vectors of 3 along the last axis; both of one shape."""

    def kernel(x: Any, y: Any) -> Any:
        return np.cross(x, y).astype(x.dtype)

    with name_scope(name, "Cross") as scope:
        a = first_input("a", a, REALS)
        b = next_input("Cross", "b", b, a.dtype, "a")
        shape = a.shape.with_rank_at_least(1).merge_with(b.shape)
        if shape.sizes is not None and shape.sizes[-1] not in (None, 3):
            raise ValueError(f"Dimension must be 3 but is {shape.sizes[-1]}")
        return tensor_node("Cross", [a, b], quiet(kernel), a.dtype.base_dtype, shape, name=scope)


def trace(x: Any, name: str | None = None) -> Any:
    """Return the sums of the diagonals of matrices [..., n, m]."""
    from pipeline.compat.ops.diagonals import matrix_diag_part
    from pipeline.compat.ops.reducing import reduce_sum

    with name_scope(name, "Trace") as scope:
        x = convert_to_tensor(x, name="x")
        return reduce_sum(matrix_diag_part(x), [-1], name=scope)


def _labels(equation: str, ranks: list[int | None]) -> tuple[list[str], str, str]:
    """Return the labels of each input, those of the output, and the equation in full."""
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ranks):
        raise ValueError(f"Got {len(ranks)} inputs for equation '{equation}', expecting {len(inputs)}")
    if not arrow:
        letters = left.replace("...", "").replace(",", "")
        right = ("..." if "..." in left else "") + "".join(
            each for each in sorted(set(letters)) if letters.count(each) == 1
        )
    if not all(each.isalpha() for part in (*inputs, right) for each in part.replace("...", "")):
        raise ValueError(f"Invalid characters in equation '{equation}'")
    return inputs, right, f"{left}->{right}"


def _einsum_shape(inputs: list[str], output: str, shapes: list[TensorShape]) -> TensorShape:
    sizes: dict[str, int | None] = {}
    broadcast = TensorShape([])
    for labels, shape in zip(inputs, shapes, strict=True):
        have = shape.sizes
        named = labels.replace("...", "")
        if have is None:
            if "..." in labels:
                broadcast = unknown_shape()
            continue
        if len(have) < len(named) or ("..." not in labels and len(have) != len(named)):
            raise ValueError(f"Shape must be rank {len(named)} but is rank {len(have)}")
        before = labels.index("...") if "..." in labels else len(named)
        after = len(named) - before
        broadcast = broadcast_static_shape(broadcast, have[before : len(have) - after])
        for label, size in zip(named, have[:before] + have[len(have) - after :], strict=True):
            known = sizes.get(label)
            if known is not None and size is not None and known != size:
                raise ValueError(f"Dimensions must be equal, but are {known} and {size}")
            sizes[label] = size if known is None else known
    before = output.index("...") if "..." in output else len(output)
    front = TensorShape([sizes.get(each) for each in output[:before]])
    return front.concatenate(broadcast).concatenate([sizes.get(each) for each in output[before + 3 :]])


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """Return the sum of products that an equation such as "ij,jk->ik" stands for.

    Args:
        equation: Labels of each input's axes, and of the result's; "..." stands for axes that are broadcast.
        inputs: Tensors of one dtype.
        kwargs: `name`; `optimize` is taken, and without effect on the result.

    Raises:
        ValueError: The equation does not fit the shapes.
        TypeError: An unknown keyword.
    """
    name = kwargs.pop("name", None)
    kwargs.pop("optimize", None)
    if kwargs:
        raise TypeError(f"Invalid keyword arguments for einsum: {', '.join(kwargs)}")
    with name_scope(name, "einsum"), name_scope("Einsum") as scope:
        tensors = list_input("Einsum", "inputs", list(inputs))
        parts, output, full = _labels(equation, [each.shape.ndims for each in tensors])
        shape = _einsum_shape(parts, output, [each.shape for each in tensors])
        dtype = tensors[0].dtype.base_dtype

        def kernel(*values: Any) -> Any:
            try:
                # NumPy would repeat an axis of size 1 for a label.
                _einsum_shape(parts, output, [TensorShape(np.shape(value)) for value in values])
            except ValueError as error:
                raise errors.InvalidArgumentError(None, None, str(error)) from None
            return np.einsum(full, *values, optimize=len(values) > 2).astype(dtype.np, copy=False)

        attrs = {"N": len(tensors), "T": dtype, "equation": full.encode()}
        return tensor_node("Einsum", tensors, quiet(kernel), dtype, shape, name=scope, attrs=attrs)
