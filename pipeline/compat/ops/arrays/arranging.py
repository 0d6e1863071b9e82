"""Move elements: transpose, reverse, tile."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import once_a_shape
from pipeline.compat.ops.arrays.sequences import range_node
from pipeline.compat.ops.arrays.shaping import rank
from pipeline.compat.ops.making.inputs import renamed
from pipeline.compat.ops.making.opdef import INDEX_32, check_rank, tensor_op
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value, constant_value_as_shape
from pipeline.errors import invalid
from pipeline.images.parts import mirrored


def _transposed(tensor: Tensor, perm: Tensor) -> Any:
    known = constant_value(perm)
    sizes = tensor.shape.sizes
    if known is None:
        rank = tensor.shape.ndims if sizes is not None else perm.shape.num_elements()
        return unknown_shape(rank)
    if perm.shape.ndims != 1:
        raise ValueError(f"Shape must be rank 1 but is rank {perm.shape.ndims}")
    order = [int(axis) for axis in known]
    if sizes is None:
        return unknown_shape(len(order))
    if len(order) != len(sizes):
        raise ValueError(f"Dimension must be {len(sizes)} but is {len(order)}")
    for axis in order:
        if not -len(sizes) <= axis < len(sizes):
            raise ValueError(f"perm dim {axis} is out of range of input rank {len(sizes)}")
    return [sizes[axis] for axis in order]


def _transpose(value: Any, perm: Any) -> Any:
    order, rank = np.asarray(perm).tolist(), np.ndim(value)
    if len(order) != rank:
        raise invalid(f"transpose expects a vector of size {rank}. But input(1) is a vector of size {len(order)}")
    if any(not -rank <= axis < rank for axis in order):
        raise invalid(f"perm {order} is out of range [0 .. {rank})")
    if len({axis % rank for axis in order}) != rank:
        missing = next(axis for axis in range(rank) if axis not in {each % rank for each in order})
        raise invalid(f"{missing} is missing from {{{','.join(map(str, order))}}}.")
    return np.transpose(value, order)


_quick_transpose = once_a_shape(_transpose, lambda shape, perm: tuple(perm.tolist()), np.transpose)


def _transpose_rows(is_row: tuple[bool, ...], value: Any, perm: Any) -> Any:
    rank = value.ndim - 1
    order = [axis % rank + 1 for axis in np.asarray(perm).tolist()] if rank else []
    if is_row != (True, False) or len(set(order)) != rank:
        return None
    return np.transpose(value, (0, *order))


def transpose(a: Any, perm: Any = None, name: str | None = "transpose", conjugate: bool = False) -> Tensor:
    """Return `a` with its axes in the order `perm` (an int32 or int64 vector), reversed by default.

    Args:
        a: Any dtype.
        perm: Axis i in the result is axis `perm[i]` in `a`.
        name: Name of the op.
        conjugate: Without effect on real elements; complex ones are rejected.

    Raises:
        ValueError: `perm` is known not to fit.
    """
    with name_scope(name, "transpose", [a]) as scope:
        tensor = convert_to_tensor(a, name="a")
        if conjugate and tensor.dtype.is_complex:
            raise TypeError(f"transpose does not conjugate here, got {tensor.dtype.name} with conjugate=True")
        if perm is None:
            axes = tensor.shape.ndims
            if axes is None:
                last: Any = rank(tensor)
                perm = range_node(last - 1, -1, -1)
            else:
                perm = np.arange(axes - 1, -1, -1, dtype=np.int32)
        definition = "x:T perm:Tperm" + INDEX_32
        return tensor_op(
            "Transpose", definition, [tensor, perm], _transposed, _quick_transpose, scope, rows=_transpose_rows
        )


def _axes_in(rank: int, axes: Any) -> list[int]:
    """Return the axes counted from 0; ValueError if one is out of range or given twice."""
    found: list[int] = []
    for place, axis in enumerate(np.asarray(axes).tolist()):
        if not -rank <= axis < rank:
            raise ValueError(f"'axis'[{place}] = {axis} is out of valid range [0, {rank - 1}")
        if axis % rank in found:
            raise ValueError(f"axis {axis % rank} specified more than once.")
        found.append(axis % rank)
    return found


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """Return a tensor with the elements reversed along each axis in the vector `axis`."""

    def rule(tensor: Tensor, axis: Tensor) -> Any:
        check_rank(axis, 1)
        known = constant_value(axis)
        if tensor.shape.ndims is not None and known is not None:
            _axes_in(tensor.shape.ndims, known)
        return tensor.shape

    def kernel(value: Any, axes: Any) -> Any:
        try:
            over = _axes_in(np.ndim(value), axes)
            return mirrored(value, over[0]) if len(over) == 1 else np.flip(value, tuple(over))
        except ValueError as error:
            raise invalid(str(error)) from None

    def rows(is_row: tuple[bool, ...], value: Any, axes: Any) -> Any:
        if is_row != (True, False):
            return None
        return np.flip(value, tuple(axis + 1 for axis in _axes_in(value.ndim - 1, axes)))

    definition = "tensor:T axis:Tidx" + INDEX_32
    return tensor_op("ReverseV2", definition, [tensor, axis], rule, kernel, name, rows=rows)


def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """Return a batch of sequences with the first `seq_lengths[i]` elements of sequence i reversed.

    Args:
        input: Any dtype.
        seq_lengths: int32 or int64, one length per sequence in the batch.
        seq_axis: Sequence axis; also `seq_dim`.
        batch_axis: Batch axis, 0 by default; also `batch_dim`.
        name: Name of the op.
        seq_dim: Old name for `seq_axis`.
        batch_dim: Old name for `batch_axis`.
    """
    along = renamed("seq_axis", seq_axis, "seq_dim", seq_dim)
    over = renamed("batch_axis", batch_axis, "batch_dim", batch_dim)
    if along is None:
        raise TypeError("Expected int for argument 'seq_dim' not None.")
    over = 0 if over is None else over

    def rule(tensor: Tensor, lengths: Tensor) -> Any:
        return _reversed_shape(tensor, lengths, along, over)

    def kernel(value: Any, lengths: Any) -> Any:
        return _reverse_sequences(value, np.asarray(lengths), along, over)

    attrs = {"seq_dim": along, "batch_dim": over}
    definition = "input:T seq_lengths:Tlen(int32,int64)=int64"
    return tensor_op("ReverseSequence", definition, [input, seq_lengths], rule, kernel, name, attrs)


def _reversed_shape(tensor: Tensor, lengths: Tensor, along: int, over: int) -> Any:
    check_rank(lengths, 1)
    sizes = tensor.shape.sizes
    if sizes is None:
        return None
    if over >= len(sizes):
        raise ValueError(f"batch_dim must be < input rank: {over} vs. {len(sizes)}")
    if along >= len(sizes):
        raise ValueError(f"seq_dim must be < input rank: {along} vs. {len(sizes)}")
    count = lengths.shape.num_elements()
    if count is not None and sizes[over] not in (None, count):
        raise ValueError(f"Dimensions must be equal, but are {sizes[over]} and {count}")
    made = list(sizes)
    made[over] = sizes[over] if sizes[over] is not None else count
    return made


def _reverse_sequences(value: Any, lengths: Any, along: int, over: int) -> Any:
    """Reverse each sequence's first elements; `along` is the sequence axis, `over` the batch axis."""
    if along == over or max(along, over) >= np.ndim(value):
        raise invalid(f"batch_dim == seq_dim == {along}, or one is out of range")
    if np.size(lengths) != value.shape[over]:
        raise invalid(f"Length of seq_lengths != input.dims({over}), ({np.size(lengths)} vs. {value.shape[over]})")
    made = np.array(value)
    target = np.moveaxis(made, (over, along), (0, 1))
    source = np.moveaxis(value, (over, along), (0, 1))
    for index, length in enumerate(lengths.tolist()):
        if not 0 <= length <= value.shape[along]:
            raise invalid(f"seq_lens({index}) {'< 0' if length < 0 else f'> input.dims({along})'}")
        target[index, :length] = source[index, :length][::-1]
    return made


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """Return a tensor repeated `multiples[i]` times along axis i."""

    def rule(tensor: Tensor, multiples: Tensor) -> Any:
        check_rank(multiples, 1)
        times = constant_value_as_shape(multiples)
        sizes = tensor.shape.sizes
        if times.sizes is None:
            return None if sizes is None else [0 if size == 0 else None for size in sizes]
        if sizes is None:
            sizes = (None,) * len(times.sizes)
        if len(sizes) != len(times.sizes):
            raise ValueError(f"Shape must be rank {len(sizes)} but is rank {len(times.sizes)}")
        pairs = zip(sizes, times.sizes, strict=True)
        return [0 if 0 in pair else None if None in pair else pair[0] * pair[1] for pair in pairs]  # type: ignore[operator]

    def kernel(value: Any, multiples: Any) -> Any:
        if np.size(multiples) != np.ndim(value):
            raise invalid(
                f"Expected multiples argument to be a vector of length {np.ndim(value)} "
                f"but got length {np.size(multiples)}"
            )
        if np.any(np.asarray(multiples) < 0):
            raise invalid(f"Expected multiples >= 0, but got {np.asarray(multiples)}")
        return np.tile(value, tuple(np.asarray(multiples).tolist()))

    def rows(is_row: tuple[bool, ...], value: Any, multiples: Any) -> Any:
        if is_row != (True, False) or np.size(multiples) != value.ndim - 1:
            return None
        return np.tile(value, (1, *np.asarray(multiples).tolist()))

    definition = "input:T multiples:Tmultiples" + INDEX_32
    return tensor_op("Tile", definition, [input, multiples], rule, kernel, name, rows=rows)
