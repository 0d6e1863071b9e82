"""SparseTensors in batch functions: a queue holds their handles, and the dequeued handles become one SparseTensor."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline import errors
from pipeline.compat.graph import dtypes
from pipeline.compat.graph.node import node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.input.keep_input import if_kept
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
    """Where the SparseTensors of one component are kept: the op that stores them first, and the rank of one of them."""

    map_op: Operation
    rank: int | None

    def agrees(self, other: Origin | None) -> bool:
        """Whether the handles of both can be in one component."""
        if other is None or self.map_op is not other.map_op:
            return False
        return self.rank is None or other.rank is None or self.rank == other.rank


def stored(
    entries: Sequence[Sequence[Any]], enqueue_many: bool, keep_input: Tensor
) -> tuple[list[list[Tensor]], list[Origin | None]]:
    """Replace the SparseTensors of every entry by handles, int64 of shape [1] for an example.

    Returns:
        The entries, and for each component its origin, None for a dense one.

    Raises:
        ValueError: The entries differ in number of components or in which of them are sparse.
    """
    first, origins = _stored_entry(entries[0], enqueue_many, keep_input, [])
    dense = [first]
    for entry in entries[1:]:
        tensors, others = _stored_entry(entry, enqueue_many, keep_input, origins)
        alike = len(others) == len(origins) and all(
            other is None if origin is None else origin.agrees(other)
            for origin, other in zip(origins, others, strict=True)
        )
        if not alike:
            raise ValueError(f"Inconsistent SparseTensors list: {entries[0]} vs. {entry}")
        dense.append(tensors)
    return dense, origins


def _stored_entry(
    entry: Sequence[Any], enqueue_many: bool, keep_input: Tensor, shared: Sequence[Origin | None]
) -> tuple[list[Tensor], list[Origin | None]]:
    shared = shared or [None] * len(entry)
    pairs = list(zip(entry, shared, strict=False))  # what the first entry does not have is dropped
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
    """What a SparseTensor has in the rows that are kept; its shape stays."""
    indices: Any = sparse.indices
    places = reshape(where(gather(keep_rows, indices[:, 0])), [-1])
    return SparseTensor(gather(indices, places), gather(sparse.values, places), identity(sparse.dense_shape))


def _ones(sparse: SparseTensor) -> Any:
    with name_scope("Shape"):
        shape: Any = cast(sparse.dense_shape, dtypes.int32)
    return ones(shape[0:1], dtypes.int64)


def _origin(sparse: SparseTensor, handles: Tensor, shared: Origin | None, enqueue_many: bool) -> Origin:
    rank = sparse.dense_shape.shape.with_rank(1).as_list()[0]
    if rank is not None and enqueue_many:
        rank -= 1
    return Origin(_storing_op(handles) if shared is None else shared.map_op, rank)


def _storing_op(handles: Tensor) -> Operation:
    """The op that gave the handles, which may be in the branch of a condition."""
    merged = (tensor.op for tensor in handles.op.inputs)
    return next((op for op in merged if op.type in ADD_TYPES), handles.op)


def restored(dequeued: Any, origins: Sequence[Origin | None]) -> Any:
    """Turn dequeued handles back: a SparseTensor of one more dimension for each component that was sparse.

    All components are evaluated when one of them is, so that no SparseTensor stays behind in its table.
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


ADD_TYPES = ("AddSparseToTensorsMap", "AddManySparseToTensorsMap")

_Parts = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # indices, values, dense shape


class _Table:
    """SparseTensors by handle; thread safe. Those that are taken are gone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[int, _Parts] = {}
        self._numbers = itertools.count()

    def add(self, parts: _Parts) -> int:
        with self._lock:
            handle = next(self._numbers)
            self._kept[handle] = parts
        return handle

    def take(self, handles: list[int]) -> list[_Parts]:
        with self._lock:
            missing = [handle for handle in handles if handle not in self._kept]
            if missing:
                raise _invalid(f"Unable to find SparseTensor: {missing[0]} in map")
            return [self._kept.pop(handle) for handle in handles]


def add_sparse(sparse: SparseTensor, shared_name: str | None = None) -> Tensor:
    """Keep a SparseTensor; returns its handle, an int64 scalar. Ops of one shared name have one table."""
    return _add("AddSparseToTensorsMap", sparse, (), lambda table, *parts: np.int64(table.add(parts)), shared_name)


def add_many_sparse(sparse: SparseTensor, shared_name: str | None = None) -> Tensor:
    """Keep the rows of a SparseTensor, of rank 2 or more; returns their handles, an int64 vector."""
    return _add("AddManySparseToTensorsMap", sparse, (None,), _add_rows, shared_name)


def take_many_sparse(map_op: Operation, handles: Tensor, rank: int | None = None) -> SparseTensor:
    """Take SparseTensors out of the table of the op that added them; returns them as one, their number in front.

    Args:
        handles: Their handles, an int64 vector.
        rank: Rank of the result, if it is known.

    Raises:
        TypeError: The op adds nothing to a table.
    """
    if map_op.type not in ADD_TYPES:
        raise TypeError(f"sparse_map_op must be one of {' or '.join(ADD_TYPES)}. Instead, found `{map_op.type}`.")
    dtype = map_op.get_attr("T")
    shared_name = map_op.get_attr("shared_name") or map_op.name
    if isinstance(shared_name, bytes):
        shared_name = shared_name.decode()
    key = _key(shared_name)

    def kernel(run: Any, given: NDArray[np.int64]) -> _Parts:
        return _together(run.state(key, _Table).take(given.tolist()))

    outputs = [(dtypes.int64, (None, rank)), (dtype, (None,)), (dtypes.int64, (rank,))]
    attrs = {"dtype": dtype, "container": "", "shared_name": shared_name}
    operation = node("TakeManySparseFromTensorsMap", [handles], outputs, kernel, attrs=attrs, stateful=True)
    return SparseTensor(*operation.outputs)


def _add(op_type: str, sparse: SparseTensor, shape: tuple[None, ...], add: Any, shared_name: str | None) -> Tensor:
    key: list[Any] = []  # the name of the op, which is known when there is one

    def kernel(run: Any, *parts: NDArray[Any]) -> Any:
        return add(run.state(key[0], _Table), *parts)

    operation = node(
        op_type,
        [sparse.indices, sparse.values, sparse.dense_shape],
        [(dtypes.int64, shape)],
        kernel,
        attrs={"T": sparse.values.dtype.base_dtype, "container": "", "shared_name": shared_name or ""},
        stateful=True,
    )
    key.append(_key(shared_name or operation.name))
    return operation.outputs[0]


def _key(shared_name: str) -> tuple[str, str]:
    return "SparseTensorsMap", shared_name


def _add_rows(table: _Table, indices: NDArray[Any], values: NDArray[Any], shape: NDArray[Any]) -> NDArray[np.int64]:
    if len(shape) < 2:
        raise _invalid(f"Rank of input SparseTensor should be > 1, but saw rank: {len(shape)}")
    count = int(shape[0])
    rows = indices[:, 0]
    if len(rows) and not (rows.min() >= 0 and rows.max() < count):
        raise _invalid(f"Received unexpected row index: an index of the SparseTensor is out of range [0, {count})")
    order = np.argsort(rows, kind="stable")
    bounds = np.searchsorted(rows[order], np.arange(count + 1)).tolist()
    handles = np.empty(count, np.int64)
    for row in range(count):
        which = order[bounds[row] : bounds[row + 1]]
        handles[row] = table.add((indices[which, 1:], values[which], shape[1:]))
    return handles


def _together(parts: list[_Parts]) -> _Parts:
    """One SparseTensor of the parts, as large in each dimension as the largest of them."""
    if not parts:
        raise _invalid("Must have at least 1 serialized SparseTensor, but input matrix has 0 rows")
    rank = len(parts[0][2])
    for i, (_, _, shape) in enumerate(parts):
        if len(shape) != rank:
            raise _invalid(
                f"Inconsistent rank across SparseTensors: rank prior to SparseTensor[{i}] was: {rank + 1} "
                f"but rank of SparseTensor[{i}] is: {len(shape) + 1}"
            )
    counts = [len(values) for _, values, _ in parts]
    indices = np.empty((sum(counts), rank + 1), np.int64)
    indices[:, 0] = np.repeat(np.arange(len(parts)), counts)
    indices[:, 1:] = np.concatenate([part for part, _, _ in parts])
    values = np.concatenate([part for _, part, _ in parts])
    largest = np.max([shape for _, _, shape in parts], axis=0)
    return indices, values, np.concatenate([np.array([len(parts)], np.int64), largest.astype(np.int64)])


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)
