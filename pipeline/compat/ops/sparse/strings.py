"""Sparse tensors as strings: three serialized tensors each."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType, as_dtype
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.sparse import listed
from pipeline.compat.ops.making.opdef import check_rank, op
from pipeline.compat.ops.sparse.form import as_sparse, parts_of
from pipeline.compat.ops.strings.tensors import packed, parsed
from pipeline.compat.values.placeholders import runtime_name
from pipeline.compat.values.sparse_tensor import SparseTensor
from pipeline.errors import InvalidArgumentError, invalid
from pipeline.proto.wire import LEN, WireError, fields, pack_varint, varint

_PARTS = "sparse_indices:int64 sparse_values:T sparse_shape:int64"


def serialize_sparse(sp_input: Any, name: str | None = None, out_type: Any = dtypes.string) -> Tensor:
    """A sparse tensor as three strings: a vector of strings.

    Args:
        sp_input: A SparseTensor.
        name: Name of the op.
        out_type: Must be tf.string.
    """
    sparse = as_sparse(sp_input)
    dtype = sparse.values.dtype.base_dtype
    _only_strings(out_type)
    made = op(
        "SerializeSparse",
        _PARTS,
        parts_of(sparse),
        lambda *tensors: [(dtypes.string, [3])],
        lambda indices, values, shape: _strings(indices, values, shape, dtype),
        name,
        {"out_type": dtypes.string},
    )
    return made.outputs[0]


def serialize_many_sparse(sp_input: Any, name: str | None = None, out_type: Any = dtypes.string) -> Tensor:
    """Each row of a sparse tensor as three strings: a matrix of strings.

    Args:
        sp_input: A SparseTensor of rank 2 or more.
        name: Name of the op.
        out_type: Must be tf.string.
    """
    sparse = as_sparse(sp_input)
    dtype = sparse.values.dtype.base_dtype
    _only_strings(out_type)

    def kernel(indices: Any, values: Any, shape: Any) -> Any:
        if len(shape) < 2:
            raise invalid(f"Rank of input SparseTensor should be > 1, but saw rank: {len(shape)}")
        rows, count = indices[:, 0], int(shape[0])
        if len(rows) and (rows.min() < 0 or rows.max() >= count):
            raise invalid(f"Received unexpected row index: an index of the SparseTensor is out of range [0, {count})")
        result = np.empty((count, 3), object)
        for row in range(count):
            inside = rows == row
            result[row] = _strings(indices[inside][:, 1:], values[inside], shape[1:], dtype)
        return result

    return op(
        "SerializeManySparse",
        _PARTS,
        parts_of(sparse),
        lambda *tensors: [(dtypes.string, [None, 3])],
        kernel,
        name,
        {"out_type": dtypes.string},
    ).outputs[0]


def _only_strings(out_type: Any) -> None:
    if as_dtype(out_type) is not dtypes.string:
        raise ValueError(f"sparse tensors are serialized as tf.string, not as {as_dtype(out_type).name}")


def _strings(indices: Any, values: Any, shape: Any, dtype: DType) -> Any:
    result = np.empty(3, object)
    result[:] = [_content(indices, dtypes.int64), _content(values, dtype), _content(shape, dtypes.int64)]
    return result


def _content(array: Any, dtype: DType) -> bytes:
    """A TensorProto; strings stand in its content, too: first their lengths, then their bytes."""
    if dtype is not dtypes.string:
        return packed(np.ascontiguousarray(array), dtype)
    data = b"".join(pack_varint(len(each)) for each in array) + b"".join(array)
    size = pack_varint(len(array))
    dim = b"\x12" + pack_varint(len(size) + 1) + b"\x08" + size
    shape = b"\x12" + pack_varint(len(dim)) + dim
    return b"\x08\x07" + shape + (b'"' + pack_varint(len(data)) + data if data else b"")


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """One sparse tensor of several: their number is the first size, the others are the largest of theirs.

    Args:
        serialized_sparse: The strings, [N, 3], as `serialize_sparse` and `serialize_many_sparse` give them.
        dtype: The DType of the values.
        rank: The rank of the result, if it is known.
        name: Name of the op.

    Raises:
        InvalidArgumentError: When run: no such strings, another dtype, or sparse tensors of several ranks.
    """
    return _deserialize("DeserializeManySparse", serialized_sparse, dtype, rank, name)


def _deserialize(op_type: str, strings: Any, dtype: Any, rank: int | None, name: str | None) -> SparseTensor:
    kind = as_dtype(dtype).base_dtype
    many = op_type == "DeserializeManySparse"

    def rule(given: Tensor) -> Any:
        if many:
            check_rank(given, 2)
        return [(dtypes.int64, [None, None]), (kind, [None]), (dtypes.int64, [None])]

    def kernel(given: Any) -> Any:
        if not given.ndim or given.shape[-1] != 3 or (many and given.ndim != 2):
            raise invalid(f"Serialized sparse should have 3 as the last dimension: shape is {listed(given.shape)}")
        if 0 in given.shape[:-1]:
            raise invalid(
                "Serialized sparse should have at least 1 serialized tensor, but has a zero dimension "
                f"{listed(given.shape)}"
            )
        parts = [_parsed(i, each, kind) for i, each in enumerate(given.reshape(-1, 3))]
        return _together(parts, given.shape[:-1])

    made = op(op_type, "serialized_sparse:string", [strings], rule, kernel, name, {"dtype": kind})
    indices, values, shape = made.outputs
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


def _parsed(number: int, strings: Any, dtype: DType) -> Any:
    indices, values, shape = strings
    try:
        places, sizes = parsed(indices, dtypes.int64), parsed(shape, dtypes.int64)
        if dtype is dtypes.string:
            found: Any = _string_values(values)
        else:
            found = parsed(values, dtype)
    except (InvalidArgumentError, WireError) as error:
        if "Type mismatch" in str(error):
            seen = str(error).partition("parsed tensor (")[2].partition(")")[0]
            raise invalid(
                f"Requested SparseTensor of type {runtime_name(dtype)} but SparseTensor[{number}].values.dtype() == "
                f"{runtime_name(as_dtype(seen))}"
            ) from None
        raise invalid("Could not parse serialized proto") from error
    places = np.asarray(places)
    if places.ndim != 2 or places.shape[1] != len(sizes) or len(found) != len(places):
        raise invalid(f"SparseTensor[{number}]: its indices, values and shape do not fit together")
    return places, np.asarray(found), sizes


def _string_values(data: bytes) -> Any:
    """The strings of a TensorProto, whose content has the lengths of all in front."""
    for number, kind, at, end in fields(data, 0, len(data)):
        if number == 4 and kind == LEN:
            return _from_content(data, at, end)
    return parsed(data, dtypes.string)


def _from_content(data: bytes, at: int, end: int) -> Any:
    count = 0
    for number, kind, begin, after in fields(data, 0, len(data)):
        if number == 2 and kind == LEN:
            for _, _, one, last in fields(data, begin, after):
                count = next((varint(data, a, b)[0] for which, _, a, b in fields(data, one, last) if which == 1), 0)
    lengths = []
    for _ in range(count):
        size, at = varint(data, at, end)
        lengths.append(size)
    result = np.empty(count, object)
    for i, size in enumerate(lengths):
        result[i], at = data[at : at + size], at + size
    return result


def _together(parts: list[Any], outer: tuple[int, ...]) -> Any:
    rank = len(parts[0][2])
    for i, (_, _, sizes) in enumerate(parts):
        if len(sizes) != rank:
            raise invalid(
                f"Inconsistent rank across SparseTensors: rank prior to SparseTensor[{i}] was: {rank + len(outer)} "
                f"but rank of SparseTensor[{i}] is: {len(sizes) + len(outer)}"
            )
    counts = [len(values) for _, values, _ in parts]
    indices = np.empty((sum(counts), len(outer) + rank), np.int64)
    numbers = np.repeat(np.arange(len(parts)), counts)
    for axis, column in enumerate(np.unravel_index(numbers, outer) if outer else ()):
        indices[:, axis] = column
    indices[:, len(outer) :] = np.concatenate([places for places, _, _ in parts])
    largest = np.max([sizes for _, _, sizes in parts], axis=0).astype(np.int64) if rank else np.empty(0, np.int64)
    shape = np.concatenate([np.array(outer, np.int64), largest])
    return [indices, np.concatenate([values for _, values, _ in parts]), shape]
