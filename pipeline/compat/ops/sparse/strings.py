"""serialize_sparse and deserialize_many_sparse: a sparse tensor as three strings, each a serialized tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType, as_dtype
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.sparse import listed
from pipeline.compat.ops.making.opdef import check_rank, op
from pipeline.compat.ops.sparse.form import as_sparse, parts_of
from pipeline.compat.ops.strings.tensors import packed, parsed, stored_dtype
from pipeline.compat.values.placeholders import runtime_name
from pipeline.compat.values.sparse_tensor import SparseTensor
from pipeline.errors import InvalidArgumentError, invalid
from pipeline.proto.wire import LEN, WireError, fields, pack_varint, varint

_PARTS = "sparse_indices:int64 sparse_values:T sparse_shape:int64"


def serialize_sparse(sp_input: Any, name: str | None = None, out_type: Any = dtypes.string) -> Tensor:
    """Serialize a sparse tensor to a vector of three strings.

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
    """Serialize each row of a sparse tensor: strings [rows, 3].

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
    """The bytes of a TensorProto. Strings go into its content as well: first all lengths, then all bytes."""
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
    """Parse N serialized sparse tensors and stack them; sizes along other axes are the largest of theirs.

    Args:
        serialized_sparse: Strings [N, 3], made by `serialize_sparse` or `serialize_many_sparse`.
        dtype: The dtype of the values.
        rank: The static rank of the result.
        name: Name of the op.

    Raises:
        InvalidArgumentError: At run time: the strings are not sparse tensors, have another dtype, or differ in rank.
    """
    kind = as_dtype(dtype).base_dtype

    def rule(given: Tensor) -> Any:
        check_rank(given, 2)
        return [(dtypes.int64, [None, None]), (kind, [None]), (dtypes.int64, [None])]

    def kernel(given: Any) -> Any:
        if given.ndim != 2 or given.shape[1] != 3:
            raise invalid(f"Serialized sparse should have 3 as the last dimension: shape is {listed(given.shape)}")
        if not len(given):
            raise invalid(
                "Serialized sparse should have at least 1 serialized tensor, but has a zero dimension "
                f"{listed(given.shape)}"
            )
        return _stacked([_parsed(i, strings, kind) for i, strings in enumerate(given)])

    made = op(
        "DeserializeManySparse", "serialized_sparse:string", [serialized_sparse], rule, kernel, name, {"dtype": kind}
    )
    indices, values, shape = made.outputs
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


def _parsed(number: int, strings: Any, dtype: DType) -> Any:
    """Indices, values and shape of the sparse tensor in row `number`."""
    indices = np.asarray(_must_parse(parsed, strings[0], dtypes.int64))
    sizes = _must_parse(parsed, strings[2], dtypes.int64)
    stored = _must_parse(stored_dtype, strings[1])
    if stored is not None and stored != dtype:
        raise invalid(
            f"Requested SparseTensor of type {runtime_name(dtype)} but SparseTensor[{number}].values.dtype() == "
            f"{runtime_name(stored)}"
        )
    if dtype is dtypes.string:
        values = _must_parse(_string_values, strings[1])
    else:
        values = np.asarray(_must_parse(parsed, strings[1], dtype))
    if indices.ndim != 2 or indices.shape[1] != len(sizes) or len(values) != len(indices):
        raise invalid(f"SparseTensor[{number}]: its indices, values and shape do not fit together")
    return indices, values, sizes


def _must_parse(parse: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return parse(*arguments)
    except (InvalidArgumentError, WireError) as error:
        raise invalid("Could not parse serialized proto") from error


def _string_values(data: bytes) -> Any:
    """The strings of a TensorProto whose content begins with the lengths of all of them."""
    for number, kind, at, end in fields(data, 0, len(data)):
        if number == 4 and kind == LEN:
            return _from_content(data, at, end)
    return np.asarray(parsed(data, dtypes.string))


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


def _stacked(parts: list[Any]) -> Any:
    """Indices, values and shape of sparse tensors (parts of each) stacked along a new first axis."""
    rank = len(parts[0][2])
    for i, (_, _, sizes) in enumerate(parts):
        if len(sizes) != rank:
            raise invalid(
                f"Inconsistent rank across SparseTensors: rank prior to SparseTensor[{i}] was: {rank + 1} "
                f"but rank of SparseTensor[{i}] is: {len(sizes) + 1}"
            )
    counts = [len(values) for _, values, _ in parts]
    indices = np.empty((sum(counts), 1 + rank), np.int64)
    indices[:, 0] = np.repeat(np.arange(len(parts)), counts)
    indices[:, 1:] = np.concatenate([places for places, _, _ in parts])
    largest = np.max([sizes for _, _, sizes in parts], axis=0).astype(np.int64) if rank else np.empty(0, np.int64)
    shape = np.concatenate([np.array([len(parts)], np.int64), largest])
    return [indices, np.concatenate([values for _, values, _ in parts]), shape]
