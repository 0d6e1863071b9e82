"""gather and gather_nd: slices picked by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.shapes import unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.opdef import check_rank_at_least, check_scalar, tensor_op
from pipeline.compat.values.static import constant_value
from pipeline.errors import invalid, show
from pipeline.queues.rows import Rows

_INDICES = "(int16,int32,int64)"


def _gathered(params: Tensor, indices: Tensor, axis: Tensor, batch_dims: int) -> Any:
    place = constant_value(axis)
    rank, inner = params.shape.ndims, indices.shape.ndims
    if place is None:
        return None if rank is None or inner is None else unknown_shape(rank + inner - 1 - max(batch_dims, 0))
    place = int(place)
    check_rank_at_least(params, place + 1 if place >= 0 else -place)
    if rank is None or inner is None:
        return None
    place %= rank
    batch = batch_dims + inner if batch_dims < 0 else batch_dims
    if batch > inner:
        raise ValueError(f"batch_dims ({batch}) must be less than or equal to rank(indices) ({inner})")
    if batch > place:
        raise ValueError(f"batch_dims ({batch}) must be less than or equal to axis ({place})")
    sizes, picked = params.shape.as_list(), indices.shape.as_list()
    for at in range(batch):
        sizes[at] = picked[at] if sizes[at] is None else sizes[at]
    return [*sizes[:place], *picked[batch:], *sizes[place + 1 :]]


def _check_indices(indices: Any, size: int) -> str | None:
    wrong = (indices < 0) | (indices >= size)
    if not wrong.any():
        return None
    at = np.argwhere(wrong)[0]
    place = show(at) if len(at) else ""
    return f"indices{place} = {np.asarray(indices)[tuple(at)]} is not in [0, {size})"


def _take(params: Any, indices: Any, place: int, batch: int) -> Any:
    size = params.shape[place]
    wrong = _check_indices(indices, size)
    if wrong:
        raise invalid(wrong)
    if not batch:
        return np.take(params, indices, place)
    # Merge the batch axes into one, then gather from each element with its own indices.
    lead = params.shape[:batch]
    if indices.shape[:batch] != lead:
        raise invalid(
            f"params.shape[{batch - 1}]: {list(lead)} should be equal to indices.shape: {list(indices.shape[:batch])}"
        )
    count = int(np.prod(lead, dtype=np.int64))
    flat_params = params.reshape((count, *params.shape[batch:]))
    flat_indices = indices.reshape((count, *indices.shape[batch:]))
    shape = (*params.shape[:place], *indices.shape[batch:], *params.shape[place + 1 :])
    if not count:
        return np.empty(shape, params.dtype)
    parts = [np.take(one, at, place - batch) for one, at in zip(flat_params, flat_indices, strict=True)]
    return np.stack(parts).reshape(shape)


def _constant(params: Any) -> bool:
    return isinstance(params, np.ndarray) and not (params.flags.writeable or params.dtype.hasobject)


def _gather_rows(is_row: tuple[bool, ...], params: Any, indices: Any, axis: Any) -> Any:
    place, rank = int(axis), np.ndim(params) - is_row[0]
    place += rank if place < 0 else 0
    if is_row[2] or not 0 <= place < rank:
        return None
    if is_row[:2] == (True, False):
        place += 1
    elif is_row[:2] != (False, True) or place:
        return None
    indices = np.asarray(indices)
    if _check_indices(indices, np.shape(params)[place]):
        return None
    if place == 0 and indices.ndim == 1 and _constant(params):
        return Rows(params, indices)
    return np.take(params, indices, place)


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int | None = 0,
) -> Tensor:
    """Return the slices of `params` along `axis` at `indices`.

    Args:
        params: Any dtype.
        indices: int16, int32 or int64, any shape.
        validate_indices: Not used.
        name: Name of the op.
        axis: Axis in `params`; `batch_dims` by default.
        batch_dims: Number of leading axes `params` and `indices` share.

    Raises:
        InvalidArgumentError: An index is out of range, at run time.
    """
    leading = batch_dims or 0
    if axis is None:
        axis = leading

    def rule(params: Tensor, indices: Tensor, axis: Tensor) -> Any:
        return _gathered(params, indices, axis, leading)

    def kernel(params: Any, indices: Any, axis: Any) -> Any:
        params, indices = np.asarray(params), np.asarray(indices)
        check_scalar(axis, "axis must be scalar, but its shape is {}")
        place = int(axis)
        if not -params.ndim <= place < params.ndim:
            raise invalid(f"Expected axis in the range [{-params.ndim}, {params.ndim}), but got {place}")
        batch = leading + indices.ndim if leading < 0 else leading
        return _take(params, indices, place % params.ndim, batch)

    definition = "params:Tparams indices:Tindices" + _INDICES + " axis:Taxis(int32,int64)"
    attrs = {"batch_dims": leading}
    rows = None if leading else _gather_rows
    return tensor_op("GatherV2", definition, [params, indices, axis], rule, kernel, name, attrs, rows)


def _nd_gathered(params: Tensor, indices: Tensor, batch: int) -> Any:
    check_rank_at_least(indices, 1 + batch)
    check_rank_at_least(params, 1 + batch if batch else 0)
    rank, places = params.shape.ndims, indices.shape.sizes
    if rank is None or places is None or places[-1] is None:
        return None
    if batch + places[-1] > rank:
        raise ValueError(
            f"indices.shape[-1] must be <= params.rank, but saw indices shape: {indices.shape} and params shape: "
            f"{params.shape}"
        )
    return [*places[:-1], *params.shape.as_list()[batch + places[-1] :]]


def check_places(indices: Any, shape: tuple[int, ...]) -> None:
    """Raise InvalidArgumentError if an index, a vector along the last axis of `indices`, is outside `shape`."""
    depth = indices.shape[-1]
    wrong = ((indices < 0) | (indices >= np.array(shape[:depth], np.int64))).any(-1)
    if wrong.any():
        at = np.argwhere(wrong)[0]
        found = ", ".join(map(str, indices[tuple(at)]))
        raise invalid(f"indices{show(at)} = [{found}] does not index into shape {show(shape)}")


def _gather_nd(params: Any, indices: Any) -> Any:
    depth = indices.shape[-1]
    if depth > np.ndim(params):
        raise invalid(f"index innermost dimension length must be <= params rank; saw: {depth} vs. {np.ndim(params)}")
    params = np.asarray(params)
    check_places(indices, params.shape)
    if depth == 0:
        return np.broadcast_to(params, (*indices.shape[:-1], *params.shape))
    return params[tuple(np.moveaxis(indices, -1, 0))]


def _gather_nd_of_batches(params: Any, indices: Any, batch: int) -> Any:
    lead = indices.shape[:batch]
    if np.shape(params)[:batch] != lead:
        raise invalid(
            f"params and indices must have the same leading axes, got {show(np.shape(params))} and {show(lead)}"
        )
    pairs = [(params[at], indices[at]) for at in np.ndindex(lead)]
    if not pairs:
        return np.empty((*indices.shape[:-1], *params.shape[batch + indices.shape[-1] :]), params.dtype)
    made = np.stack([_gather_nd(*pair) for pair in pairs])
    return made.reshape((*lead, *made.shape[1:]))


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """Return the slices of `params` at positions given by vectors along the last axis of `indices`.

    Args:
        params: Any dtype.
        indices: int16, int32 or int64; the last axis has one index per leading axis in `params`.
        name: Name of the op.
        batch_dims: Number of leading axes both share.

    Raises:
        ValueError: `batch_dims` is negative, or not less than a rank.
    """
    if not isinstance(batch_dims, int):
        raise TypeError(f"Argument `batch_dims` must be an int; got {batch_dims}")
    if batch_dims < 0:
        raise ValueError("tf.gather_nd does not allow negative batch_dims.")

    def rule(params: Tensor, indices: Tensor) -> Any:
        return _nd_gathered(params, indices, batch_dims)

    def kernel(params: Any, indices: Any) -> Any:
        return _gather_nd_of_batches(params, indices, batch_dims) if batch_dims else _gather_nd(params, indices)

    definition = "params:Tparams indices:Tindices" + _INDICES
    return tensor_op("GatherNd", definition, [params, indices], rule, kernel, name)
