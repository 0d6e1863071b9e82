"""SparseTensors stored in a session by handle: ops that add them to a map and take them out."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline import errors
from pipeline.compat.graph import dtypes
from pipeline.compat.graph.node import node
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.values.sparse_tensor import SparseTensor
from pipeline.locks import Lock

ADD_TYPES = ("AddSparseToTensorsMap", "AddManySparseToTensorsMap")

_Parts = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # indices, values, dense shape


class SparseTensorsMap:
    """SparseTensors by handle; thread safe. Taking one removes it."""

    def __init__(self) -> None:
        self._lock = Lock()
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
    """Store a SparseTensor; return its handle, an int64 scalar. Ops with the same shared name share a map."""
    return _add(
        "AddSparseToTensorsMap", sparse, (), lambda sparse_map, *parts: np.int64(sparse_map.add(parts)), shared_name
    )


def add_many_sparse(sparse: SparseTensor, shared_name: str | None = None) -> Tensor:
    """Store the rows of a SparseTensor with rank 2 or more; return their handles, an int64 vector."""
    return _add("AddManySparseToTensorsMap", sparse, (None,), _add_rows, shared_name)


def take_many_sparse(map_op: Operation, handles: Tensor, rank: int | None = None) -> SparseTensor:
    """Take SparseTensors from an op's map; return them as one, with a leading dimension for their count.

    Args:
        handles: Their handles, an int64 vector.
        rank: The result's rank, if it is known.

    Raises:
        TypeError: The op adds nothing to a map.
    """
    if map_op.type not in ADD_TYPES:
        raise TypeError(f"sparse_map_op must be one of {' or '.join(ADD_TYPES)}. Instead, found `{map_op.type}`.")
    dtype = map_op.get_attr("T")
    shared_name = map_op.get_attr("shared_name") or map_op.name
    if isinstance(shared_name, bytes):
        shared_name = shared_name.decode()
    key = _key(shared_name)

    def kernel(run: Any, given: NDArray[np.int64]) -> _Parts:
        return _together(run.state(key, SparseTensorsMap).take(given.tolist()))

    outputs = [(dtypes.int64, (None, rank)), (dtype, (None,)), (dtypes.int64, (rank,))]
    attrs = {"dtype": dtype, "container": "", "shared_name": shared_name}
    operation = node("TakeManySparseFromTensorsMap", [handles], outputs, kernel, attrs=attrs, stateful=True)
    return SparseTensor(*operation.outputs)


def _add(op_type: str, sparse: SparseTensor, shape: tuple[None, ...], add: Any, shared_name: str | None) -> Tensor:
    key: list[Any] = []  # the op's name, once it exists

    def kernel(run: Any, *parts: NDArray[Any]) -> Any:
        return add(run.state(key[0], SparseTensorsMap), *parts)

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


def _add_rows(
    sparse_map: SparseTensorsMap, indices: NDArray[Any], values: NDArray[Any], shape: NDArray[Any]
) -> NDArray[np.int64]:
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
        handles[row] = sparse_map.add((indices[which, 1:], values[which], shape[1:]))
    return handles


def _together(parts: list[_Parts]) -> _Parts:
    """Make one SparseTensor from the parts, as large in each dimension as the largest part."""
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
