"""A strided slice as a NumPy index, and the static shape of what it takes."""

from __future__ import annotations

from typing import Any, NamedTuple

from pipeline.compat.graph.dimensions import Sizes


class Masks(NamedTuple):
    """Bits for the places of a slice specification that are more than begin, end and stride."""

    begin: int
    end: int
    ellipsis: int
    new_axis: int
    shrink: int


def numpy_index(masks: Masks, begin: Any, end: Any, strides: Any) -> tuple[Any, ...]:
    """Return the NumPy index that takes the slice.

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
    """Return what is wrong with an index into an array of this shape, or None."""
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
    """Return the static shape of a strided slice.

    Args:
        sizes: The shape of the tensor.
        masks: Its masks.
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
    # With unknown bounds the index tells only which axes are taken in full and which are dropped.
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
