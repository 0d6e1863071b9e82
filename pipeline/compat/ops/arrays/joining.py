"""concat, split, stack and unstack along an existing or a new axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dimensions import Dimension
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.identities import identity
from pipeline.compat.ops.arrays.shaping import expand_dims
from pipeline.compat.ops.making.inputs import list_input
from pipeline.compat.ops.making.opdef import INDEX_32, check_rank, check_scalar, op, tensor_op
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.packing import pack
from pipeline.compat.values.static import constant_value
from pipeline.errors import invalid, show


def _concatenated(values: list[Tensor], axis: Tensor) -> Any:
    known = [tensor.shape.sizes for tensor in values if tensor.shape.sizes is not None]
    if axis.shape.sizes not in (None, ()):
        raise ValueError(f"Shape must be rank 0 but is rank {axis.shape.ndims}")
    if not known:
        return None
    rank = len(known[0])
    if not rank:
        raise ValueError("Can't concatenate scalars (use tf.stack instead)")
    for sizes in known:
        if len(sizes) != rank:
            raise ValueError(f"Shape must be rank {rank} but is rank {len(sizes)}")
    place = constant_value(axis)
    if place is None:
        return unknown_shape(rank)
    least = place + 1 if place >= 0 else -place
    if rank < least:
        raise ValueError(f"Shape must be at least rank {least} but is rank {rank}")
    return _joined(known, int(place) % rank, len(known) == len(values))


def _joined(known: list[tuple[int | None, ...]], place: int, complete: bool) -> list[int | None]:
    """Return the shape after joining along an axis; the joined size is unknown unless the list is complete."""
    rank = len(known[0])
    total: int | None = 0 if complete else None
    merged: list[int | None] = [None] * rank
    for sizes in known:
        for at, size in enumerate(sizes):
            if at == place:
                total = None if total is None or size is None else total + size
            elif size is not None:
                if merged[at] not in (None, size):
                    raise ValueError(f"Dimension {at} in both shapes must be equal, but are {merged[at]} and {size}")
                merged[at] = size
    merged[place] = total
    return merged


def _concat(*values: Any) -> Any:
    *parts, axis = values
    if np.ndim(axis):
        if np.size(axis) != 1:
            raise invalid(f"axis tensor should be a scalar integer, but got shape {show(np.shape(axis))}")
        axis = axis.ravel()[0]
    rank = np.ndim(parts[0])
    place = int(axis)
    if not rank:
        raise invalid("ConcatOp : Can't concatenate scalars (use tf.stack instead)")
    if not -rank <= place < rank:
        raise invalid(f"ConcatOp : Expected concatenating dimensions in the range [{-rank}, {rank}), but got {place}")
    try:
        return np.concatenate(parts, place)
    except ValueError:
        raise invalid(_unlike([np.shape(part) for part in parts], place % rank)) from None


def _unlike(shapes: list[tuple[int, ...]], axis: int) -> str:
    """Return a text naming the first shape that does not fit the first one."""
    first = shapes[0]
    for i, shape in enumerate(shapes):
        pair = f"shape[0] = {show(first)} vs. shape[{i}] = {show(shape)}"
        if len(shape) != len(first):
            return f"ConcatOp : Ranks of all input tensors should match: {pair}"
        for at, (one, other) in enumerate(zip(first, shape, strict=True)):
            if at != axis and one != other:
                return f"ConcatOp : Dimension {at} in both shapes must be equal: {pair}"
    raise AssertionError(shapes)


def _concat_rows(is_row: tuple[bool, ...], *values: Any) -> Any:
    *parts, axis = values
    if is_row[-1]:
        return None
    count = next(len(part) for part, row in zip(parts, is_row, strict=False) if row)
    blocks = [
        part if row else np.broadcast_to(part, (count, *np.shape(part)))
        for part, row in zip(parts, is_row, strict=False)
    ]
    place = int(axis)
    return np.concatenate(blocks, place + 1 if place >= 0 else place)


def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Concatenate tensors with equal dtype and rank along `axis`.

    Raises:
        ValueError: The other sizes differ, or `axis` is out of range.
        TypeError: The dtypes differ.
    """
    if not isinstance(values, (list, tuple)):
        if isinstance(axis, (list, tuple)):
            raise ValueError(
                f"`axis` must be an integer, got a list of {len(axis)}. tf.concat(axis, values) is the order of before "
                "TensorFlow 1.0: now it is tf.concat(values, axis)."
            )
        values = [values]
    if len(values) == 1:
        with name_scope(name, values=[values, axis]):
            axis = convert_to_tensor(axis, dtype=dtypes.int32, name="concat_dim")
            axis.shape.with_rank(0)
            return identity(values[0], name=name)  # type: ignore[no-any-return]
    if not values:
        raise ValueError("List argument 'values' to 'ConcatV2' Op with length 0 shorter than minimum length 2.")
    definition = "values:*T axis:Tidx" + INDEX_32
    return tensor_op("ConcatV2", definition, [list(values), axis], _concatenated, _concat, name, rows=_concat_rows)


def _split_axis(tensor: Tensor, dim: Tensor) -> int | None:
    axis, rank = constant_value(dim), tensor.shape.ndims
    if axis is None or rank is None:
        return None
    if not -rank <= int(axis) < rank:
        raise ValueError(f"Dimension {int(axis)} must be in the range [{-rank}, {rank})")
    return int(axis) % rank


def _with_size(tensor: Tensor, axis: int, size: int | None) -> Any:
    sizes = tensor.shape.as_list()
    sizes[axis] = size
    return sizes


def _unknown_like(tensor: Tensor) -> Any:
    return unknown_shape(tensor.shape.ndims)


def split(value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split") -> Any:
    """Split a tensor along `axis` into a list of parts.

    Args:
        value: The tensor.
        num_or_size_splits: The number of equal parts, an int; or their sizes, with at most one -1.
        axis: Axis to split.
        num: The number of parts, if it does not follow from the sizes.
        name: Name of the op.

    Raises:
        ValueError: The parts do not fit, or their number is not known.
    """
    if isinstance(value, (int, np.integer)) and isinstance(axis, Tensor) and axis.shape.ndims != 0:
        raise ValueError(
            f"`axis` must be an integer, got {axis}. tf.split(axis, number, value) is the order of before TensorFlow "
            "1.0: now it is tf.split(value, number, axis)."
        )
    if isinstance(num_or_size_splits, (int, np.integer, Dimension)):
        return _split_evenly(value, int(num_or_size_splits), axis, name)
    splits = convert_to_tensor(num_or_size_splits)
    if splits.shape.ndims == 0:
        raise ValueError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split. "
            f"Argument provided: {num_or_size_splits}"
        )
    if num is None:
        num = splits.shape.sizes[0] if splits.shape.sizes else None
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {num_or_size_splits}")
    return _split_by_sizes(value, splits, axis, int(num), name)


def _check_split_axis(axis: int, rank: int) -> None:
    if not -rank <= axis < rank:
        raise invalid(f"-input rank(-{rank}) <= split_dim < input rank ({rank}), but got {axis}")


def _split_evenly(value: Any, count: int, axis: Any, name: str) -> Any:
    if count < 1:
        raise ValueError(f"Attr 'num_split' of 'Split' Op passed {count} less than minimum 1.")

    def rule(dim: Tensor, tensor: Tensor) -> Any:
        check_rank(dim, 0)
        place = _split_axis(tensor, dim)
        if place is None:
            shape = _unknown_like(tensor)
        else:
            size = tensor.shape.as_list()[place]
            if size is not None and size % count:
                raise ValueError(
                    f"Dimension size must be evenly divisible by {count} but is {size}\n\tNumber of ways to split "
                    "should evenly divide the split dimension"
                )
            shape = _with_size(tensor, place, None if size is None else size // count)
        return [(tensor.dtype.base_dtype, shape)] * count

    def kernel(axis: Any, value: Any) -> Any:
        check_scalar(axis, "split_dim must be a scalar but has shape {}")
        place = int(axis)
        _check_split_axis(place, np.ndim(value))
        if value.shape[place] % count:
            raise invalid(
                "Number of ways to split should evenly divide the split dimension, but got split_dim "
                f"{place} (size = {value.shape[place]}) and num_split {count}"
            )
        return np.split(value, count, place) if count > 1 else value

    return op("Split", "split_dim:int32 value:T", [axis, value], rule, kernel, name, {"num_split": count}).outputs


def _split_by_sizes(value: Any, splits: Tensor, axis: Any, count: int, name: str) -> Any:
    def rule(tensor: Tensor, sizes: Tensor, dim: Tensor) -> Any:
        if sizes.shape.sizes and sizes.shape.sizes[0] not in (None, count):
            raise ValueError("Length of size_splits should be equal to num_outputs")
        place = _split_axis(tensor, dim)
        if place is None:
            shapes = [_unknown_like(tensor)] * count
        else:
            known = constant_value(sizes)
            total = tensor.shape.as_list()[place]
            if known is None:
                parts: list[int | None] = [None] * count
            else:
                parts = [int(size) for size in known]
                _check_parts(parts, total)
                rest = None if total is None else total - sum(size for size in parts if size != -1)  # type: ignore[misc]
                parts = [rest if size == -1 else size for size in parts]
            if count == 1 and total is not None:
                parts = [total]
            shapes = [_with_size(tensor, place, size) for size in parts]
        return [(tensor.dtype.base_dtype, shape) for shape in shapes]

    def kernel(value: Any, sizes: Any, axis: Any) -> Any:
        check_scalar(axis, "split_dim must be a scalar but has shape {}")
        place, parts = int(axis), [int(size) for size in sizes]
        _check_split_axis(place, np.ndim(value))
        total = value.shape[place]
        try:
            _check_parts(list(parts), total)
        except ValueError as error:
            raise invalid(str(error)) from None
        rest = total - sum(size for size in parts if size != -1)
        ends = np.cumsum([rest if size == -1 else size for size in parts])
        made = np.split(value, ends[:-1], place)
        return made if count > 1 else made[0]

    definition = "value:T size_splits:Tlen(int8,int32,int64)=int64 split_dim:int32"
    return op("SplitV", definition, [value, splits, axis], rule, kernel, name, {"num_split": count}).outputs


def _check_parts(parts: list[int | None], total: int | None) -> None:
    if parts.count(-1) > 1:
        raise ValueError("size_splits can only have one -1")
    if any(size < -1 for size in parts):  # type: ignore[operator]
        raise ValueError("Split size at index must be >= 0")
    if total is None:
        return
    known = sum(size for size in parts if size != -1)  # type: ignore[misc]
    if known > total or (known != total and -1 not in parts):
        raise ValueError(f"can't split axis of size {total} into pieces of size [{','.join(map(str, parts))}]")


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Stack tensors with equal dtype and shape along a new axis.

    Raises:
        ValueError: The shapes differ, or `axis` is out of range.
        TypeError: The dtypes differ.
    """
    if axis == 0:
        try:
            # If no value is a tensor, this is a constant.
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError, NotImplementedError):
            pass
    first = convert_to_tensor(values[0], name=name).shape.sizes
    if first is not None and not -len(first) - 1 <= axis <= len(first):
        raise ValueError(f"Argument `axis` = {axis} not in range [{-len(first) - 1}, {len(first) + 1})")
    with name_scope(name, "Pack", [values, axis]) as scope:
        return pack(list_input("Pack", "values", values), axis, scope)


def parallel_stack(values: Any, name: str = "parallel_stack") -> Tensor:
    """Stack tensors with a known shape along a new first axis.

    Raises:
        TypeError: The dtypes differ.
        ValueError: The shapes differ, or the first tensor's is not known.
    """

    def rule(tensors: list[Tensor]) -> Any:
        shape = tensors[0].shape
        if not shape.is_fully_defined():
            raise ValueError("shape attr must be fully defined.")
        for each in tensors[1:]:
            shape.assert_is_compatible_with(each.shape)
        return [(tensors[0].dtype.base_dtype, [len(tensors), *shape.as_list()[1:]])]

    with name_scope(name, values=[values]):
        rows = [expand_dims(each, 0) for each in values]
        return op("ParallelConcat", "values:*T", [rows], rule, lambda *parts: np.concatenate(parts)).outputs[0]


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """Split a tensor along `axis` into slices without this axis.

    Raises:
        ValueError: `num` differs from the size, or is missing where the size is not known; `axis` is out of range.
    """
    if num is None:
        value = convert_to_tensor(value)
        sizes = value.shape.sizes
        num = None if sizes is None else sizes[_place(axis, sizes)]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {value.shape}")
    count = int(num)

    def rule(tensor: Tensor) -> Any:
        sizes = tensor.shape.sizes
        shape: Any = None
        if sizes is not None:
            place = _place(axis, sizes)
            if sizes[place] not in (None, count):
                raise ValueError(f"Dimension must be {count} but is {sizes[place]}")
            shape = sizes[:place] + sizes[place + 1 :]
        return [(tensor.dtype.base_dtype, shape)] * count

    def kernel(value: Any) -> Any:
        if not -np.ndim(value) <= axis < np.ndim(value) or np.shape(value)[axis] != count:
            raise invalid(f"Input shape axis {axis} must equal {count}, got shape {list(np.shape(value))}")
        parts = np.moveaxis(value, axis, 0)
        return [parts[index] for index in range(count)] if count != 1 else parts[0]

    def rows(is_row: tuple[bool, ...], value: Any) -> Any:
        place = axis + 1 if axis >= 0 else axis
        parts = np.moveaxis(value, place, 0)
        if len(parts) != count or not -value.ndim < place:
            return None
        return [parts[index] for index in range(count)] if count != 1 else parts[0]

    return op("Unpack", "value:T", [value], rule, kernel, name, {"num": count, "axis": axis}, rows).outputs


def _place(axis: int, sizes: tuple[int | None, ...]) -> int:
    if not -len(sizes) <= axis < len(sizes):
        raise ValueError(f"Argument `axis` = {axis} not in range [{-len(sizes)}, {len(sizes)})")
    return axis % len(sizes)
