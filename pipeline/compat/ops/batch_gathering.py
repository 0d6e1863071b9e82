"""gather_nd with leading axes that tensor and indices share."""

from __future__ import annotations

from typing import Any

from pipeline.compat.core import dtypes
from pipeline.compat.core.convert import convert_to_tensor
from pipeline.compat.core.graph import name_scope
from pipeline.compat.core.tensor import Tensor
from pipeline.compat.ops.arranging import tile, transpose
from pipeline.compat.ops.casting import cast_node
from pipeline.compat.ops.filling import ones
from pipeline.compat.ops.gathering import gather_nd
from pipeline.compat.ops.joining import concat, stack, unstack
from pipeline.compat.ops.reducing import reduce_prod
from pipeline.compat.ops.sequences import meshgrid, range_node
from pipeline.compat.ops.shaping import rank, reshape, shape


def batch_gather_nd(params: Any, indices: Any, batch_dims: Any, name: str | None = None) -> Tensor:
    """Return the slices of each batch of `params` at the places that the batch of `indices` holds.

    The places of the batches themselves are put in front of the indices.
    """
    with name_scope(name, "BatchGatherND", [params, indices]):
        indices = convert_to_tensor(indices, name="indices")
        params = convert_to_tensor(params, name="params")
        if not isinstance(batch_dims, int):
            raise TypeError(f"Argument `batch_dims` must be an int; got {batch_dims}")
        if batch_dims < 0:
            raise ValueError("tf.gather_nd does not allow negative batch_dims.")
        for which, tensor in (("indices", indices), ("params", params)):
            if tensor.shape.ndims is not None and batch_dims >= tensor.shape.ndims:
                raise ValueError(
                    f"Argument `batch_dims` = {batch_dims} must be less than rank(`{which}`) = {tensor.shape.ndims}"
                )
        params_shape: Any = shape(params)
        indices_shape: Any = shape(indices)
        batch_shape = params_shape[:batch_dims]
        batch_size = reduce_prod(batch_shape, [0])
        inner_axes: Any = rank(indices)
        inner_axes = inner_axes - batch_dims - 1
        inner_shape = indices_shape[batch_dims:-1]
        ranges = []
        for size in unstack(batch_shape, axis=0):
            ranges.append(cast_node(range_node(0, cast_node(size, dtypes.int32), 1), indices.dtype.base_dtype))
        columns = [reshape(grid, shape=(-1,)) for grid in meshgrid(*ranges, indexing="ij")]
        grid = transpose(stack(columns, axis=0))
        grid_shape: Any = shape(grid)
        spread = [grid_shape[:1], ones(inner_axes, dtype=grid_shape.dtype), grid_shape[1:]]
        grid = reshape(grid, concat(spread, axis=0))
        grid = tile(grid, multiples=concat(((1,), inner_shape, (1,)), axis=0))
        flat_shape = concat(([batch_size], indices_shape[batch_dims:]), axis=0)
        flat = reshape(indices, shape=flat_shape)
        made = gather_nd(params, concat((grid, flat), axis=-1))
        made_shape: Any = shape(made)
        return reshape(made, shape=concat((batch_shape, made_shape[1:]), axis=0))
