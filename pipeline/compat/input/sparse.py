"""SparseTensors in batch functions: a queue holds their handles, and dequeued handles become one SparseTensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.input.keep_input import if_kept
from pipeline.compat.input.sparse_map import ADD_TYPES, add_many_sparse, add_sparse, take_many_sparse
from pipeline.compat.ops.arrays.filling import ones
from pipeline.compat.ops.arrays.gathering import gather
from pipeline.compat.ops.arrays.identities import identity
from pipeline.compat.ops.arrays.masking import where
from pipeline.compat.ops.arrays.shaping import expand_dims, reshape, squeeze
from pipeline.compat.ops.control.flow import with_dependencies
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.values.constants import constant
from pipeline.compat.values.sparse_tensor import SparseTensor


class Origin(NamedTuple):
    """The store for one component's SparseTensors: the first op that stores them, and their rank."""

    map_op: Operation
    rank: int | None

    def agrees(self, other: Origin | None) -> bool:
        """Return whether the handles from both can be in one component."""
        if other is None or self.map_op is not other.map_op:
            return False
        return self.rank is None or other.rank is None or self.rank == other.rank


def stored(
    sources: Sequence[Sequence[Any]], enqueue_many: bool, keep_input: Tensor
) -> tuple[list[list[Tensor]], list[Origin | None]]:
    """Replace each source's SparseTensors by handles, int64 with shape [1].

    Returns:
        The sources, and each component's origin; None for a dense one.

    Raises:
        ValueError: The sources differ in their component count, or in which components are sparse.
    """
    first, origins = _stored_source(sources[0], enqueue_many, keep_input, [])
    dense = [first]
    for source in sources[1:]:
        tensors, others = _stored_source(source, enqueue_many, keep_input, origins)
        alike = len(others) == len(origins) and all(
            other is None if origin is None else origin.agrees(other)
            for origin, other in zip(origins, others, strict=True)
        )
        if not alike:
            raise ValueError(f"Inconsistent SparseTensors list: {sources[0]} vs. {source}")
        dense.append(tensors)
    return dense, origins


def _stored_source(
    source: Sequence[Any], enqueue_many: bool, keep_input: Tensor, shared: Sequence[Origin | None]
) -> tuple[list[Tensor], list[Origin | None]]:
    shared = shared or [None] * len(source)
    pairs = list(zip(source, shared, strict=False))  # components missing from the first source are dropped
    tensors = [
        _handles(tensor, origin, enqueue_many, keep_input) if isinstance(tensor, SparseTensor) else tensor
        for tensor, origin in pairs
    ]
    origins = [
        _origin(tensor, handles, origin, enqueue_many) if isinstance(tensor, SparseTensor) else None
        for (tensor, origin), handles in zip(pairs, tensors, strict=True)
    ]
    return [
        tensor if origin is None else expand_dims(tensor, [-1]) for tensor, origin in zip(tensors, origins, strict=True)
    ], origins


def _handles(sparse: SparseTensor, origin: Origin | None, enqueue_many: bool, keep_input: Tensor) -> Tensor:
    shared_name = None if origin is None else origin.map_op.name
    if keep_input.shape.ndims == 1:
        return add_many_sparse(_of_rows(sparse, keep_input), shared_name)
    if not enqueue_many:
        return if_kept(  # type: ignore[no-any-return]
            keep_input, lambda: add_sparse(sparse, shared_name), lambda: constant(-1, dtypes.int64)
        )
    handles = if_kept(keep_input, lambda: add_many_sparse(sparse, shared_name), lambda: -1 * _ones(sparse))
    handles.set_shape([None])
    return handles  # type: ignore[no-any-return]


def _of_rows(sparse: SparseTensor, keep_rows: Tensor) -> SparseTensor:
    """Return the selected rows from a SparseTensor, with the same shape."""
    indices: Any = sparse.indices
    places = reshape(where(gather(keep_rows, indices[:, 0])), [-1])
    return SparseTensor(gather(indices, places), gather(sparse.values, places), identity(sparse.dense_shape))


def _ones(sparse: SparseTensor) -> Any:
    with name_scope("Shape", values=[sparse]):
        shape: Any = cast(sparse.dense_shape, dtypes.int32)
    return ones(shape[0:1], dtypes.int64)


def _origin(sparse: SparseTensor, handles: Tensor, shared: Origin | None, enqueue_many: bool) -> Origin:
    rank = sparse.dense_shape.shape.with_rank(1).as_list()[0]
    if rank is not None and enqueue_many:
        rank -= 1
    return Origin(_storing_op(handles) if shared is None else shared.map_op, rank)


def _storing_op(handles: Tensor) -> Operation:
    """Return the op that made the handles; it may be in a condition's branch."""
    merged = (tensor.op for tensor in handles.op.inputs)
    return next((op for op in merged if op.type in ADD_TYPES), handles.op)


def restored(dequeued: Any, origins: Sequence[Origin | None]) -> Any:
    """Turn dequeued handles into SparseTensors again, one with an extra dimension per sparse component.

    Evaluating one component evaluates all, so no SparseTensor stays behind in its map.
    """
    if not any(origins):
        return dequeued
    several = isinstance(dequeued, Sequence)
    tensors = [
        tensor
        if origin is None
        else take_many_sparse(origin.map_op, squeeze(tensor, [1]), None if origin.rank is None else origin.rank + 1)
        for tensor, origin in zip(dequeued if several else [dequeued], origins, strict=True)
    ]
    values = [tensor.values if isinstance(tensor, SparseTensor) else tensor for tensor in tensors]
    together = [
        SparseTensor(*(with_dependencies(values, part) for part in (tensor.indices, tensor.values, tensor.dense_shape)))
        if isinstance(tensor, SparseTensor)
        else with_dependencies(values, tensor)
        for tensor in tensors
    ]
    return together if several else tensors[0]
