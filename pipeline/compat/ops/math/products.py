"""Products of matrices and tensors."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from pipeline import errors
from pipeline.compat.graph.dtypes import int32
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, broadcast_static_shape, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import quiet
from pipeline.compat.ops.making.elementwise import shown
from pipeline.compat.ops.making.inputs import REALS, check_allowed, first_input, list_input, next_input, renamed
from pipeline.compat.ops.math.complex import conj
from pipeline.compat.ops.math.reducing import reduce_max, reduce_prod, reduce_sum
from pipeline.compat.ops.math.unary import abs as abs_
from pipeline.compat.ops.math.unary import sqrt
from pipeline.compat.values.convert import convert_to_tensor

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
    from pipeline.compat.ops.math.complex import conj

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
            from pipeline.compat.ops.math.casting import cast

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
    from pipeline.compat.ops.arrays.shaping import expand_dims, squeeze

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
    from pipeline.compat.ops.arrays.diagonals import matrix_diag_part
    from pipeline.compat.ops.math.reducing import reduce_sum

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
    from pipeline.compat.ops.arrays.shaping import squeeze
    from pipeline.compat.ops.math.arithmetic import pow as power

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
    from pipeline.compat.ops.math.casting import cast

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
        from pipeline.compat.ops.arrays.sequences import range as range_
        from pipeline.compat.ops.arrays.shaping import rank as rank_of

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
    from pipeline.compat.ops.arrays.arranging import transpose
    from pipeline.compat.ops.arrays.shaping import reshape

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
    from pipeline.compat.ops.arrays.arranging import transpose
    from pipeline.compat.ops.arrays.gathering import gather
    from pipeline.compat.ops.arrays.joining import concat, stack
    from pipeline.compat.ops.arrays.masking import where
    from pipeline.compat.ops.arrays.shaping import rank as rank_of
    from pipeline.compat.ops.arrays.shaping import reshape
    from pipeline.compat.ops.arrays.shaping import shape as shape_of

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
        from pipeline.compat.ops.arrays.sequences import range as range_
        from pipeline.compat.ops.arrays.uniques import setdiff1d

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
    from pipeline.compat.ops.arrays.joining import concat
    from pipeline.compat.ops.arrays.shaping import reshape

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
