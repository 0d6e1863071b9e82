"""`variable[...]`, which has `assign`: it sets the part of the variable that the slice takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.brackets import getitem
from pipeline.compat.ops.arrays.strided import Masks, numpy_index, out_of_bounds
from pipeline.compat.ops.variables.updates import argument, update
from pipeline.errors import invalid

_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def sliced(variable: Any, ref: Tensor, key: Any) -> Tensor:
    """Return `variable[key]`; if it is a strided slice, with the method `assign(value, name=None)`."""
    taken = getitem(variable.value(), key)
    if taken.op.type == "StridedSlice":
        taken.assign = _assigner(ref, taken)
    return taken


def _assigner(ref: Tensor, taken: Tensor) -> Callable[..., Tensor]:
    bounds = taken.op.inputs[1:4]
    attrs = {name: taken.op.attrs[name] for name in _MASKS}
    masks = Masks(*attrs.values())

    def change(held: Any, begin: Any, end: Any, strides: Any, value: Any) -> Any:
        held = np.array(held)
        try:
            index = numpy_index(masks, *(np.asarray(each).tolist() for each in (begin, end, strides)))
            wrong = out_of_bounds(index, held.shape)
        except ValueError as error:
            wrong = str(error)
        if wrong:
            raise invalid(wrong)
        try:
            held[index] = value
        except ValueError:
            raise invalid(
                "Assign to a slice needs a value that can be repeated to its shape: expected "
                f"{list(held[index].shape)}, got {list(np.shape(value))}"
            ) from None
        return held

    def assign(val: Any, name: str | None = None) -> Tensor:
        """Set this part of the variable; return the ref tensor, which then has the new value."""
        with name_scope(name or f"{taken.op.name}/_assign") as scope:
            value = argument(val, "StridedSliceAssign", "value", ref.dtype.base_dtype)
            kinds = {"Index": bounds[0].dtype.base_dtype, **attrs}
            return update("StridedSliceAssign", ref, [*bounds, value], change, ref.get_shape(), scope, kinds)

    return assign
