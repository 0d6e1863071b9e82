"""slice and strided_slice; a strided slice as a NumPy index, and its static shape."""

from __future__ import annotations

from operator import getitem
from typing import Any, NamedTuple

import numpy as np

from pipeline.compat.graph.dimensions import Sizes
from pipeline.compat.graph.shapes import merged, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import once_a_shape
from pipeline.compat.ops.arrays.filling import ones_like
from pipeline.compat.ops.making.opdef import check_rank, tensor_op
from pipeline.compat.values.static import constant_value, constant_value_as_shape
from pipeline.errors import invalid


class Masks(NamedTuple):
    """Bit masks for positions in a slice specification with a special meaning."""

    begin: int
    end: int
    ellipsis: int
    new_axis: int
    shrink: int


def numpy_index(masks: Masks, begin: Any, end: Any, strides: Any) -> tuple[Any, ...]:
    """Return the NumPy index for the slice.

    Raises:
        ValueError: A stride is 0, there are two ellipses, or an axis to be dropped has a negative stride.
    """
    if masks.ellipsis & (masks.ellipsis - 1):
        raise ValueError("Multiple ellipses in slice spec not allowed")
    index: list[Any] = []
    for place, (first, last, step) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << place
        if masks.ellipsis & bit:
            index.append(Ellipsis)
        elif masks.new_axis & bit:
            index.append(None)
        elif step == 0:
            raise ValueError(f"strides[{place}] must be non-zero")
        elif masks.shrink & bit:
            if step < 0:
                raise ValueError("only stride 1 allowed on non-range indexing.")
            index.append(first)
        else:
            index.append(slice(None if masks.begin & bit else first, None if masks.end & bit else last, step))
    return tuple(index)


def out_of_bounds(index: tuple[Any, ...], shape: tuple[int | None, ...]) -> str | None:
    """Return an error text for an index outside an array with this shape, or None."""
    taken = sum(part is not None and part is not Ellipsis for part in index)
    if taken > len(shape):
        if not shape:
            return "Attempting to slice scalar input."
        return f"Index out of range using input dim {len(shape)}; input has only {len(shape)} dims"
    axis = 0
    for part in index:
        if part is Ellipsis:
            axis += len(shape) - taken
        elif part is not None:
            size = shape[axis]
            if not isinstance(part, slice) and size is not None and not -size <= part < size:
                return f"slice index {part} of dimension {axis} out of bounds."
            axis += 1
    return None


def _length(part: slice, size: int | None) -> int | None:
    return None if size is None else len(range(*part.indices(size)))


def static_shape(sizes: Sizes, masks: Masks, begin: Any, end: Any, strides: Any, count: int | None) -> Sizes:
    """Return a strided slice's static shape.

    Args:
        sizes: The tensor's shape.
        masks: The slice's masks.
        begin: A list of ints, or None if unknown.
        end: As `begin`.
        strides: As `begin`.
        count: Length of the specification, if it is known.

    Raises:
        ValueError: The slice is known to be wrong.
    """
    if sizes is None or strides is None or count is None:
        return None
    unknown = begin is None or end is None
    index = numpy_index(masks, [0] * count if unknown else begin, [0] * count if unknown else end, strides)
    # With unknown bounds the index shows only which axes are complete and which are dropped.
    wrong = out_of_bounds(index, tuple(None for _ in sizes) if unknown else sizes)
    if wrong:
        raise ValueError(wrong)
    taken = sum(part is not None and part is not Ellipsis for part in index)
    result: list[int | None] = []
    axis = 0
    for part in index:
        if part is None:
            result.append(1)
        elif part is Ellipsis:
            result.extend(sizes[axis : axis + len(sizes) - taken])
            axis += len(sizes) - taken
        else:
            if isinstance(part, slice):
                full = part.start is None and part.stop is None
                result.append(None if unknown and not full else _length(part, sizes[axis]))
            axis += 1
    return (*result, *sizes[axis:])


def _sliced(tensor: Tensor, begin: Tensor, size: Tensor) -> Any:
    check_rank(begin, 1)
    check_rank(size, 1)
    merged(begin.shape, size.shape)
    first, wanted = constant_value_as_shape(begin).sizes, constant_value_as_shape(size)
    given = constant_value(size)
    if wanted.sizes is None:
        return unknown_shape(begin.shape.num_elements() if begin.shape.ndims == 1 else tensor.shape.ndims)
    sizes = tensor.shape.sizes
    if sizes is not None and len(sizes) != len(wanted.sizes):
        raise ValueError(f"Shape must be rank {len(wanted.sizes)} but is rank {len(sizes)}")
    if given is None or first is None or sizes is None:
        return wanted
    result: list[int | None] = []
    for axis, (start, count, total) in enumerate(zip(first, given, sizes, strict=True)):
        if int(count) != -1:
            result.append(int(count))
        else:
            if total is not None and start is not None and total < start:
                raise ValueError(f"Subtracting {start} from dimension {axis} of size {total} gives a negative size")
            result.append(None if total is None or start is None else total - start)
    return result


def _slice(value: Any, begin: Any, size: Any) -> Any:
    shape, first, counts = np.shape(value), begin.tolist(), size.tolist()
    if not len(shape) == begin.size == size.size:
        raise invalid(
            f"Expected begin and size arguments to be 1-D tensors of size {np.ndim(value)}, but got shapes "
            f"{list(np.shape(begin))} and {list(np.shape(size))} instead."
        )
    index = []
    for axis, (start, count, total) in enumerate(zip(first, counts, shape, strict=True)):
        if not 0 <= start <= total:
            raise invalid(f"Expected begin[{axis}] in [0, {total}], but got {start}")
        if count != -1 and not 0 <= count <= total - start:
            raise invalid(f"Expected size[{axis}] in [0, {total - start}], but got {count}")
        index.append(slice(start, total if count == -1 else start + count))
    return value[tuple(index)]


def _bounds(shape: tuple[int, ...], begin: Any, size: Any) -> tuple[slice, ...]:
    triples = zip(begin.tolist(), size.tolist(), shape, strict=True)
    return tuple(slice(start, total if count == -1 else start + count) for start, count, total in triples)


_quick_slice = once_a_shape(_slice, _bounds, getitem)


def _slice_rows(is_row: tuple[bool, ...], value: Any, begin: Any, size: Any) -> Any:
    if is_row != (True, False, False):
        return None
    pairs = zip(begin.tolist(), size.tolist(), value.shape[1:], strict=True)
    bounds = [(start, total if count == -1 else start + count, total) for start, count, total in pairs]
    if any(not 0 <= start <= stop <= total for start, stop, total in bounds):
        return None
    return value[(slice(None), *(slice(start, stop) for start, stop, _ in bounds))]


def slice_(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """Return the part of a tensor from `begin` with shape `size`; size -1 takes the rest.

    Args:
        input_: Any dtype.
        begin: The first element along each axis, an int32 or int64 vector.
        size: A vector with the same dtype.
        name: Name of the op.
    """
    definition = "input:T begin:Index(int32,int64) size:Index"
    return tensor_op("Slice", definition, [input_, begin, size], _sliced, _quick_slice, name, rows=_slice_rows)


class _StridedSlice:
    """Shape rule and kernels for one strided slice; `index` is its NumPy index once the bounds are known."""

    def __init__(self, masks: Masks) -> None:
        self.masks = masks
        self.index: tuple[Any, ...] | None = None

    def rule(self, tensor: Tensor, *bounds: Tensor) -> Any:
        count = None
        for each in bounds:
            check_rank(each, 1)
            count = each.shape.num_elements() if count is None else count
        known = [constant_value(each) for each in bounds]
        begin, end, strides = (None if each is None else np.asarray(each).tolist() for each in known)
        if begin is not None and end is not None and strides is not None:
            self.index = numpy_index(self.masks, begin, end, strides)
        return static_shape(tensor.shape.sizes, self.masks, begin, end, strides, count)

    def kernel(self, value: Any, *bounds: Any) -> Any:
        try:
            index = self.index or numpy_index(self.masks, *(np.asarray(each).tolist() for each in bounds))
            wrong = out_of_bounds(index, np.shape(value))
        except ValueError as error:
            wrong = str(error)
        if wrong:
            raise invalid(wrong)
        return value[index]

    def rows(self, is_row: tuple[bool, ...], value: Any, *_: Any) -> Any:
        index = self.index
        if index is None or is_row != (True, False, False, False) or out_of_bounds(index, value.shape[1:]):
            return None
        return value[(slice(None), *index)]


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return `input_[begin[0]:end[0]:strides[0], begin[1]:end[1]:strides[1], ...]`.

    Args:
        input_: Any dtype.
        begin: A vector, int16, int32 or int64.
        end: A vector with the same dtype.
        strides: A vector with the same dtype; ones by default.
        begin_mask: If bit i is set, axis i is taken from its first element.
        end_mask: If bit i is set, axis i is taken to its last element.
        ellipsis_mask: If bit i is set, position i covers all axes without their own position.
        new_axis_mask: If bit i is set, position i is a new axis with size 1.
        shrink_axis_mask: If bit i is set, only the element `begin[i]` is taken and the axis is dropped.
        var: Ignored.
        name: Name of the op.

    Raises:
        ValueError: The slice is known to be out of range.
        InvalidArgumentError: It is out of range at run time.
    """
    if strides is None:
        strides = ones_like(begin)
    masks = Masks(begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    made = _StridedSlice(masks)
    attrs = {f"{kind}_mask": mask for kind, mask in zip(("begin", "end", "ellipsis", "new_axis"), masks, strict=False)}
    attrs["shrink_axis_mask"] = shrink_axis_mask
    definition = "input:T begin:Index(int16,int32,int64) end:Index strides:Index"
    values = [input_, begin, end, strides]
    return tensor_op("StridedSlice", definition, values, made.rule, made.kernel, name, attrs, made.rows)
