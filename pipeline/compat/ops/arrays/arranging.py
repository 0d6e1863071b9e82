"""Moving elements about: transpose, reverse, roll, tile, pad."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import merged, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.joining import concat
from pipeline.compat.ops.arrays.sequences import range_node
from pipeline.compat.ops.arrays.shaping import rank
from pipeline.compat.ops.making.inputs import renamed
from pipeline.compat.ops.making.opdef import INDEX_32, check_rank, check_rank_at_least, tensor_op
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value, constant_value_as_shape
from pipeline.errors import invalid


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


def _conjugate_transpose(value: Any, perm: Any) -> Any:
    return np.conjugate(_transpose(value, perm))


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
        perm: Axis i of the result is axis `perm[i]` of `a`.
        name: Name of the op.
        conjugate: Whether complex elements are conjugated.

    Raises:
        ValueError: `perm` is known not to fit.
    """

    with name_scope(name, "transpose", [a]) as scope:
        tensor = convert_to_tensor(a, name="a")
        conjugated = conjugate and tensor.dtype.is_complex
        if perm is None:
            axes = tensor.shape.ndims
            if axes is None:
                last: Any = rank(tensor)
                perm = range_node(last - 1, -1, -1)
            else:
                perm = np.arange(axes - 1, -1, -1, dtype=np.int32)
        op_type = "ConjugateTranspose" if conjugated else "Transpose"
        kernel = _conjugate_transpose if conjugated else _transpose
        rows = None if conjugated else _transpose_rows
        definition = "x:T perm:Tperm" + INDEX_32
        return tensor_op(op_type, definition, [tensor, perm], _transposed, kernel, scope, rows=rows)


def matrix_transpose(a: Any, name: str | None = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """Return `a` with its last two axes exchanged.

    Raises:
        ValueError: It has less than two.
    """

    with name_scope(name, values=[a]):
        tensor = convert_to_tensor(a, name="a")
        axes = tensor.shape.ndims
        if axes is not None:
            if axes < 2:
                raise ValueError(
                    "Argument `a` should be a (batch) matrix with rank >= 2.  "
                    f"Received `a` = {a} with shape: {tensor.shape}"
                )
            perm: Any = [*range(axes - 2), axes - 1, axes - 2]
        else:
            count: Any = rank(tensor)
            leading = range_node(0, count - 2, 1)
            perm = concat((leading, [count - 1, count - 2]), 0)
        return transpose(tensor, perm=perm, conjugate=conjugate)


def _axes_in(rank: int, axes: Any) -> list[int]:
    """The axes as numbers from 0; ValueError if one is out of range or comes twice."""
    found: list[int] = []
    for place, axis in enumerate(np.asarray(axes).tolist()):
        if not -rank <= axis < rank:
            raise ValueError(f"'axis'[{place}] = {axis} is out of valid range [0, {rank - 1}")
        if axis % rank in found:
            raise ValueError(f"axis {axis % rank} specified more than once.")
        found.append(axis % rank)
    return found


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """Return a tensor with the elements along the axes of a vector in reverse order."""

    def rule(tensor: Tensor, axis: Tensor) -> Any:
        check_rank(axis, 1)
        known = constant_value(axis)
        if tensor.shape.ndims is not None and known is not None:
            _axes_in(tensor.shape.ndims, known)
        return tensor.shape

    def kernel(value: Any, axes: Any) -> Any:
        try:
            return np.flip(value, tuple(_axes_in(np.ndim(value), axes)))
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
    """Return a batch of sequences whose first elements, `seq_lengths` many of each, are in reverse order.

    Args:
        input: Any dtype.
        seq_lengths: int32 or int64, one length for each element of the batch.
        seq_axis: Axis of the sequences; also `seq_dim`.
        batch_axis: Axis of the batch, 0 by default; also `batch_dim`.
        name: Name of the op.
        seq_dim: Old name of `seq_axis`.
        batch_dim: Old name of `batch_axis`.
    """
    along = renamed("seq_axis", seq_axis, "seq_dim", seq_dim)
    over = renamed("batch_axis", batch_axis, "batch_dim", batch_dim)
    if along is None:
        raise TypeError("Expected int for argument 'seq_dim' not None.")
    over = 0 if over is None else over

    def rule(tensor: Tensor, lengths: Tensor) -> Any:
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

    def kernel(value: Any, lengths: Any) -> Any:
        if along == over or max(along, over) >= np.ndim(value):
            raise invalid(f"batch_dim == seq_dim == {along}, or one is out of range")
        if np.size(lengths) != value.shape[over]:
            raise invalid(f"Length of seq_lengths != input.dims({over}), ({np.size(lengths)} vs. {value.shape[over]})")
        made = np.array(value)
        ordered = np.moveaxis(made, (over, along), (0, 1))
        source = np.moveaxis(value, (over, along), (0, 1))
        for index, length in enumerate(np.asarray(lengths).tolist()):
            if not 0 <= length <= value.shape[along]:
                raise invalid(f"seq_lens({index}) {'< 0' if length < 0 else f'> input.dims({along})'}")
            ordered[index, :length] = source[index, :length][::-1]
        return made

    attrs = {"seq_dim": along, "batch_dim": over}
    definition = "input:T seq_lengths:Tlen(int32,int64)=int64"
    return tensor_op("ReverseSequence", definition, [input, seq_lengths], rule, kernel, name, attrs)


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """Return a tensor with the elements along an axis, or several, moved by `shift` places, around the end."""

    def rule(tensor: Tensor, shift: Tensor, axis: Tensor) -> Any:
        check_rank_at_least(tensor, 1)
        merged(shift.shape, axis.shape)
        return tensor.shape

    def kernel(value: Any, shift: Any, axis: Any) -> Any:
        shifts, axes = np.ravel(shift).tolist(), np.ravel(axis).tolist()
        if np.ndim(value) < 1:
            raise invalid("input must be 1-D or higher")
        for one in axes:
            if not -np.ndim(value) <= one < np.ndim(value):
                raise invalid(f"axis {one} is out of range")
        return np.roll(value, shifts, axes)

    definition = "input:T shift:Tshift(int32,int64) axis:Taxis(int32,int64)"
    return tensor_op("Roll", definition, [input, shift, axis], rule, kernel, name)


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


def _divided(size: int | None, by: int) -> int | None:
    if size is not None and size % by:
        raise ValueError(f"Dimension size must be evenly divisible by {by} but is {size}")
    return None if size is None else size // by


def _times(size: int | None, by: int) -> int | None:
    return None if size is None else size * by


def _check_format(data_format: str, block_size: int) -> bool:
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"Value for attr 'data_format' of \"{data_format}\" is not supported: NHWC or NCHW")
    if block_size < 2:
        raise ValueError(f"Attr 'block_size' passed {block_size} less than minimum 2.")
    return data_format == "NCHW"


def _on_images(channels_first: bool, function: Any) -> Any:
    """A kernel for images with channels first, of one for images with channels last; errors become run-time ones."""

    def kernel(value: Any) -> Any:
        images = np.moveaxis(value, 1, 3) if channels_first else value
        try:
            made = function(images)
        except ValueError as error:
            raise invalid(str(error)) from None
        return np.ascontiguousarray(np.moveaxis(made, 3, 1) if channels_first else made)

    return kernel


def _block_op(
    op_type: str, input: Any, size: int, name: str | None, data_format: str, sizes: Any, kernel: Any
) -> Tensor:
    first = _check_format(data_format, size)

    def rule(tensor: Tensor) -> Any:
        check_rank(tensor, 4)
        known = tensor.shape.sizes or (None,) * 4
        if first:
            batch, height, width, depth = sizes(known[0], known[2], known[3], known[1])
            return batch, depth, height, width
        return sizes(*known)

    attrs = {"block_size": size, "data_format": data_format.encode()}
    return tensor_op(op_type, "input:T", [input], rule, _on_images(first, kernel), name, attrs)


def space_to_depth(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Return images whose square blocks have become channels."""

    def sizes(batch: Any, height: Any, width: Any, depth: Any) -> Any:
        return batch, _divided(height, block_size), _divided(width, block_size), _times(depth, block_size**2)

    def kernel(images: Any) -> Any:
        shape = sizes(*images.shape)
        parts = images.reshape(shape[0], shape[1], block_size, shape[2], block_size, images.shape[3])
        return parts.transpose(0, 1, 3, 2, 4, 5).reshape(shape)

    return _block_op("SpaceToDepth", input, block_size, name, data_format, sizes, kernel)


def depth_to_space(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Return images whose channels have become square blocks: undoes `space_to_depth`."""

    def sizes(batch: Any, height: Any, width: Any, depth: Any) -> Any:
        return batch, _times(height, block_size), _times(width, block_size), _divided(depth, block_size**2)

    def kernel(images: Any) -> Any:
        shape = sizes(*images.shape)
        parts = images.reshape(*images.shape[:3], block_size, block_size, shape[3])
        return parts.transpose(0, 1, 3, 2, 4, 5).reshape(shape)

    return _block_op("DepthToSpace", input, block_size, name, data_format, sizes, kernel)


def extract_image_patches(
    images: Any,
    ksizes: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    sizes: Any = None,
) -> Tensor:
    """Return the patches of images under a sliding window, each flattened into the depth of one place.

    Args:
        images: [batch, height, width, depth].
        ksizes: [1, rows, columns, 1], the size of the window; also `sizes`.
        strides: [1, rows, columns, 1], how far it moves.
        rates: [1, rows, columns, 1], how far apart the elements under it are.
        padding: "VALID", or "SAME" for zeros around the images.
        name: Name of the op.
        sizes: Other name of `ksizes`.
    """
    window = [int(each) for each in renamed("sizes", sizes, "ksizes", ksizes)]
    steps, apart = [int(each) for each in strides], [int(each) for each in rates]
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"Value for attr 'padding' of \"{padding}\" is not in the list of allowed values: SAME, VALID")
    spans = [(size - 1) * rate + 1 for size, rate in zip(window[1:3], apart[1:3], strict=True)]

    def places(size: int | None, axis: int) -> int | None:
        if size is None:
            return None
        free = size if padding == "SAME" else size - spans[axis] + 1
        if padding == "VALID" and free < 0:
            raise ValueError(f"Computed output size would be negative: {free}")
        return -(-free // steps[axis + 1])

    def rule(tensor: Tensor) -> Any:
        check_rank(tensor, 4)
        batch, height, width, depth = tensor.shape.sizes or (None,) * 4
        rows, columns = (None, None) if None in (height, width) else (places(height, 0), places(width, 1))
        return batch, rows, columns, _times(depth, window[1] * window[2])

    def kernel(images: Any) -> Any:
        rows, columns = places(images.shape[1], 0) or 0, places(images.shape[2], 1) or 0
        if padding == "SAME":
            around = []
            for axis, count in enumerate((rows, columns)):
                missing = max((count - 1) * steps[axis + 1] + spans[axis] - images.shape[axis + 1], 0)
                around.append((missing // 2, missing - missing // 2))
            images = np.pad(images, [(0, 0), *around, (0, 0)])
        parts = []
        for row in range(window[1]):
            for column in range(window[2]):
                top, left = row * apart[1], column * apart[2]
                bottom, right = top + (rows - 1) * steps[1] + 1, left + (columns - 1) * steps[2] + 1
                parts.append(images[:, top : max(bottom, top) : steps[1], left : max(right, left) : steps[2]])
        return np.concatenate(parts, axis=3)

    attrs = {"ksizes": window, "strides": steps, "rates": apart, "padding": padding.encode()}
    return tensor_op("ExtractImagePatches", "images:T", [images], rule, kernel, name, attrs)


def extract_patches(images: Any, sizes: Any, strides: Any, rates: Any, padding: Any, name: str | None = None) -> Tensor:
    """As `extract_image_patches`."""
    return extract_image_patches(images, sizes, strides, rates, padding, name)
