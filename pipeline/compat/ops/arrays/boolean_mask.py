"""boolean_mask: the slices of a tensor where a mask is true."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import as_shape, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.gathering import gather
from pipeline.compat.ops.arrays.joining import concat
from pipeline.compat.ops.arrays.masking import where_v2
from pipeline.compat.ops.arrays.shaping import reshape, shape, squeeze
from pipeline.compat.ops.math.reducing import reduce_prod
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value


def boolean_mask(tensor: Any, mask: Any, name: str = "boolean_mask", axis: Any = None) -> Tensor:
    """Return the slices of a tensor for which the mask is true, along one axis.

    Args:
        tensor: Any dtype.
        mask: bool, of known rank; its shape is that of the axes of `tensor` from `axis` on.
        name: Name of the scope.
        axis: The first axis that the mask covers; 0 by default.

    Raises:
        ValueError: The mask is a scalar, its rank is not known, or the shapes do not fit.
    """
    with name_scope(name, values=[tensor, mask]):
        tensor = convert_to_tensor(tensor, name="tensor")
        mask = convert_to_tensor(mask, name="mask")
        covered = mask.shape.ndims
        if covered == 0:
            raise ValueError("mask cannot be scalar.")
        if covered is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None.  E.g. shape=[None] is "
                "ok, but shape=None is not."
            )
        axis = 0 if axis is None else axis
        known = constant_value(axis) if isinstance(axis, Tensor) else axis
        full = tensor.shape
        if known is not None:
            axis = int(known)
            full[axis : axis + covered].assert_is_compatible_with(mask.shape)
        sizes: Any = shape(tensor)
        count = reduce_prod(sizes[axis : axis + covered], [0])
        sizes_before: Any = shape(tensor)
        before = sizes_before[:axis]
        sizes_after: Any = shape(tensor)
        flat = reshape(tensor, concat([before, [count], sizes_after[axis + covered :]], 0))
        if known is not None:
            between = unknown_shape(1) if full.sizes is None else as_shape([full[axis : axis + covered].num_elements()])
            flat.set_shape(full[:axis].concatenate(between).concatenate(full[axis + covered :]))
        picked = squeeze(where_v2(reshape(mask, [-1])), axis=[1])
        return gather(flat, picked, axis=axis)
