"""Blocks of images: space to depth and to batch and back, and patches of a sliding window."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline import errors
from pipeline.compat.core import dtypes
from pipeline.compat.core.convert import convert_to_tensor
from pipeline.compat.core.graph import name_scope
from pipeline.compat.core.static import constant_value
from pipeline.compat.core.tensor import Tensor
from pipeline.compat.ops.inputs import renamed
from pipeline.compat.ops.opdef import INDEX_32, check_rank, check_rank_at_least, tensor_op


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
            raise errors.InvalidArgumentError(None, None, str(error)) from None
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


_BLOCKS = "input:T block_shape:Tblock_shape" + INDEX_32


def _batched(shape: Any, block: list[int], pairs: Any, back: bool) -> Any:
    """The shape of what space_to_batch_nd, or batch_to_space_nd, gives."""
    axes = len(block)
    if len(shape) < axes + 1:
        raise ValueError(f"Shape must be at least rank {axes + 1} but is rank {len(shape)}")
    if any(each < 1 for each in block):
        raise ValueError("block_shape must be positive")
    product = int(np.prod(block, dtype=np.int64))
    made = [_divided(shape[0], product) if back else _times(shape[0], product)]
    for at, (size, by) in enumerate(zip(shape[1 : axes + 1], block, strict=True)):
        if pairs is None or size is None:
            made.append(None)
            continue
        before, after = (int(each) for each in pairs[at])
        if before < 0 or after < 0:
            raise ValueError("crops cannot be negative" if back else "paddings cannot be negative")
        changed = size * by - before - after if back else _divided(size + before + after, by)
        if changed is not None and changed < 0:
            raise ValueError(f"cropped_size[{at}]={changed} must be non-negative")
        made.append(changed)
    return [*made, *shape[axes + 1 :]]


def _batch_rule(back: bool) -> Any:
    def rule(tensor: Tensor, block: Tensor, pairs: Tensor) -> Any:
        known, sizes = constant_value(block), tensor.shape.sizes
        count = block.shape.num_elements() if block.shape.sizes is not None else None
        if count is not None:
            check_rank_at_least(tensor, count + 1)
        if sizes is None or count is None:
            return None
        if known is None:
            return (None,) * (count + 1) + sizes[count + 1 :]
        return _batched(sizes, [int(each) for each in known], constant_value(pairs), back)

    return rule


def space_to_batch_nd(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Tensor:
    """Return a tensor, padded with zeros, whose blocks along the axes behind the first have gone into the first.

    Args:
        input: Any dtype.
        block_shape: A vector, the size of a block along each axis from the second on.
        paddings: A row (before, behind) for each of them.
        name: Name of the op.
    """

    def kernel(value: Any, block: Any, paddings: Any) -> Any:
        sizes, axes = np.asarray(block).tolist(), np.size(block)
        try:
            shape = _batched(value.shape, sizes, paddings, False)
        except ValueError as error:
            raise errors.InvalidArgumentError(None, None, str(error)) from None
        rest = value.ndim - axes - 1
        padded = np.pad(value, [(0, 0), *np.asarray(paddings).tolist(), *[(0, 0)] * rest])
        split = [size for pair in zip(shape[1 : axes + 1], sizes, strict=True) for size in pair]
        parts = padded.reshape(value.shape[0], *split, *value.shape[axes + 1 :])
        inner = [2 * at + 2 for at in range(axes)]
        outer = [2 * at + 1 for at in range(axes)]
        return parts.transpose(*inner, 0, *outer, *range(2 * axes + 1, parts.ndim)).reshape(shape)

    definition = _BLOCKS + " paddings:Tpaddings" + INDEX_32
    return tensor_op("SpaceToBatchND", definition, [input, block_shape, paddings], _batch_rule(False), kernel, name)


def batch_to_space_nd(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """Return a tensor whose first axis has become blocks along the next ones, then cropped: undoes the padded form."""

    def kernel(value: Any, block: Any, crops: Any) -> Any:
        sizes, axes = np.asarray(block).tolist(), np.size(block)
        try:
            shape = _batched(value.shape, sizes, crops, True)
        except ValueError as error:
            raise errors.InvalidArgumentError(None, None, str(error)) from None
        parts = value.reshape(*sizes, shape[0], *value.shape[1:])
        order = [axes]
        for at in range(axes):
            order += [axes + 1 + at, at]
        whole = [size * by for size, by in zip(value.shape[1 : axes + 1], sizes, strict=True)]
        merged = parts.transpose(*order, *range(2 * axes + 1, parts.ndim))
        merged = merged.reshape(shape[0], *whole, *value.shape[axes + 1 :])
        kept = [
            slice(before, size - after) for size, (before, after) in zip(whole, np.asarray(crops).tolist(), strict=True)
        ]
        return merged[(slice(None), *kept)]

    definition = _BLOCKS + " crops:Tcrops" + INDEX_32
    return tensor_op("BatchToSpaceND", definition, [input, block_shape, crops], _batch_rule(True), kernel, name)


def space_to_batch(
    input: Any, paddings: Any, block_size: Any = None, name: str | None = None, block_shape: Any = None
) -> Tensor:
    """As `space_to_batch_nd`, for square blocks of images."""
    return space_to_batch_nd(input, _square(block_shape, block_size), paddings, name)


def batch_to_space(input: Any, crops: Any, block_size: Any, name: str | None = None, block_shape: Any = None) -> Tensor:
    """As `batch_to_space_nd`, for square blocks of images."""
    return batch_to_space_nd(input, _square(block_shape, block_size), crops, name)


def _square(block_shape: Any, block_size: Any) -> Any:
    block = renamed("block_shape", block_shape, "block_size", block_size)
    return block if isinstance(block, (Tensor, list, tuple, np.ndarray)) else np.array([block, block], np.int64)


def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return paddings that make sizes divisible by those of blocks, and the crops that take them away again."""
    from pipeline.compat.ops.filling import zeros
    from pipeline.compat.ops.joining import stack

    with name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        sizes: Any = convert_to_tensor(input_shape, dtype=dtypes.int32, name="input_shape")
        block: Any = convert_to_tensor(block_shape, dtype=dtypes.int32, name="block_shape")
        block.shape.assert_is_fully_defined()
        block.shape.assert_has_rank(1)
        axes = block.shape.as_list()[0]
        if axes == 0:
            return zeros([0, 2], dtypes.int32), zeros([0, 2], dtypes.int32)
        sizes.shape.assert_is_compatible_with([axes])
        if base_paddings is not None:
            base: Any = convert_to_tensor(base_paddings, dtype=dtypes.int32, name="base_paddings")
            base.shape.assert_is_compatible_with([axes, 2])
        else:
            base = zeros([axes, 2], dtypes.int32)
        known = [constant_value(each) for each in (sizes, block, base)]
        if all(each is not None for each in known):
            sizes, block, base = known
        before, after = base[:, 0], base[:, 1]
        full = sizes + before + after
        extra = (block - full % block) % block
        end = after + extra
        paddings = stack([[before[at], end[at]] for at in range(axes)], name="paddings")
        crops = stack([[0, extra[at]] for at in range(axes)], name="crops")
        return paddings, crops


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
