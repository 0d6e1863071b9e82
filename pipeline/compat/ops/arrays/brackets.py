"""`tensor[...]`: a Python index as a strided slice or a boolean mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dimensions import Dimension
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.indexing import strided_slice
from pipeline.compat.ops.arrays.joining import stack
from pipeline.compat.values.casts import cast_node
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor

newaxis = None
_INDEX_TYPES = (dtypes.int16, dtypes.int32, dtypes.int64)


def _check_index(index: Any) -> None:
    if isinstance(index, (int, np.integer, Dimension)):
        return
    found = getattr(index, "dtype", None)
    wrong = found is None
    if not wrong:
        try:
            wrong = dtypes.as_dtype(found).base_dtype not in _INDEX_TYPES
        except TypeError:
            wrong = True
        shape = index.shape
        wrong = wrong or bool(shape.ndims == 1 if isinstance(index, Tensor) else len(shape) == 1)
    if wrong:
        raise TypeError(
            "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 "
            f"tensors are valid indices, got {index!r}"
        )


def _bounds_dtype(part: slice) -> Any:
    found = {each.dtype.base_dtype for each in (part.start, part.stop, part.step) if isinstance(each, Tensor)}
    return next((dtype for dtype in (dtypes.int64, dtypes.int32, dtypes.int16) if dtype in found), None)


def _is_mask(key: Any) -> bool:
    if isinstance(key, Tensor):
        return key.dtype.base_dtype is dtypes.bool
    return isinstance(key, bool) or (isinstance(key, np.ndarray) and key.dtype == np.bool_)


def _given(bound: Any) -> bool:
    return bound is not None and not (isinstance(bound, Dimension) and bound.value is None)


def getitem(tensor: Any, key: Any) -> Tensor:
    """Return `tensor[key]`: a strided slice, or the elements where a boolean mask is true.

    Args:
        tensor: A tensor or variable.
        key: An int, scalar integer tensor, slice, Ellipsis, None or a tuple of these; or a boolean mask.

    Raises:
        TypeError: An index is something else.
        ValueError: The slice is known to be out of range.
    """
    tensor = convert_to_tensor(tensor)
    if _is_mask(key):
        # At the top this would cost every `import pipeline.compat.v1` 2 of its 34 ms: boolean_mask imports gather.
        from pipeline.compat.ops.arrays.masking import boolean_mask

        return boolean_mask(tensor, key)
    parts = key if isinstance(key, (list, tuple)) else [key]
    spec: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    masks = dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0)
    for place, part in enumerate(parts):
        bit = 1 << place
        if isinstance(part, slice):
            dtype = _bounds_dtype(part)
            bounds = (("begin_mask", part.start, 0), ("end_mask", part.stop, 0), ("", part.step, 1))
            for into, (mask, bound, default) in zip(spec, bounds, strict=True):
                if _given(bound):
                    _check_index(bound)
                    into.append(bound)
                else:
                    into.append(default if dtype is None else constant(default, dtype))
                    if mask:
                        masks[mask] |= bit
        elif part is Ellipsis or part is None:
            masks["new_axis_mask" if part is None else "ellipsis_mask"] |= bit
            for into, default in zip(spec, (0, 0, 1), strict=True):
                into.append(default)
        else:
            _check_index(part)
            masks["shrink_axis_mask"] |= bit
            spec[0].append(part)
            spec[1].append(part + 1)
            wide = isinstance(part, Tensor) and part.dtype.base_dtype in (dtypes.int16, dtypes.int64)
            spec[2].append(constant(1, part.dtype.base_dtype) if wide else 1)
    with name_scope(None, "strided_slice", [tensor]) as scope:
        begin, end, strides = _packed(spec)
        return strided_slice(tensor, begin, end, strides, **masks, name=scope)


def _packed(spec: tuple[list[Any], ...]) -> list[Tensor]:
    if not spec[0]:
        return [constant([], dtypes.int32)] * 3
    made = [stack(each) for each in spec]
    if any(each.dtype.base_dtype is dtypes.int64 for each in made):
        made = [each if each.dtype.base_dtype is dtypes.int64 else cast_node(each, dtypes.int64) for each in made]
    return made
