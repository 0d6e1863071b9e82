"""serialize_sparse and deserialize_many_sparse: a sparse tensor as three strings, each a serialised tensor."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType, as_dtype
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.sparse import listed
from pipeline.compat.ops.making.opdef import check_rank, op
from pipeline.compat.ops.sparse.form import as_sparse, parts_of
from pipeline.compat.values.placeholders import runtime_name
from pipeline.compat.values.sparse_tensor import SparseTensor
from pipeline.decode.wire import LEN, VARINT, WireError, fields, pack_field, pack_varint, signed, varint
from pipeline.errors import invalid

_PARTS = "sparse_indices:int64 sparse_values:T sparse_shape:int64"

# TensorProto fields. It is read and written by hand, 20 times as fast as with the message in proto/tensor.py (5 us, 100
# us for 3 by 4 floats), because serialize_sparse does it for every example.
_DTYPE, _SHAPE, _CONTENT = 1, 2, 4


def serialize_sparse(sp_input: Any, name: str | None = None, out_type: Any = dtypes.string) -> Tensor:
    """Serialise a sparse tensor to a vector of three strings.

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


def _only_strings(out_type: Any) -> None:
    if as_dtype(out_type) is not dtypes.string:
        raise ValueError(f"sparse tensors are serialized as tf.string, not as {as_dtype(out_type).name}")


def _strings(indices: Any, values: Any, shape: Any, dtype: DType) -> Any:
    result = np.empty(3, object)
    result[:] = [packed(indices, dtypes.int64), packed(values, dtype), packed(shape, dtypes.int64)]
    return result


def packed(array: Any, dtype: DType) -> bytes:
    """Return a TensorProto's bytes. String contents are all lengths first, then all bytes."""
    sizes = b"".join(pack_field(2, b"\x08" + pack_varint(size) if size else b"") for size in array.shape)
    if dtype is dtypes.string:
        content = b"".join(pack_varint(len(each)) for each in array) + b"".join(array)
    else:
        content = np.ascontiguousarray(array).astype(dtype.np.newbyteorder("<"), copy=False).tobytes()
    head = b"\x08" + pack_varint(dtype.as_datatype_enum) + pack_field(_SHAPE, sizes)
    return head + (pack_field(_CONTENT, content) if content else b"")


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Parse N serialised sparse tensors and stack them; sizes along other axes are the largest.

    Args:
        serialized_sparse: Strings [N, 3], each row made by `serialize_sparse`.
        dtype: Dtype for the values.
        rank: The result's static rank.
        name: Name of the op.

    Raises:
        InvalidArgumentError: At run time, if the strings are not sparse tensors, or their dtype or rank differs.
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
        return _stacked([parsed(i, strings, kind) for i, strings in enumerate(given)])

    made = op(
        "DeserializeManySparse", "serialized_sparse:string", [serialized_sparse], rule, kernel, name, {"dtype": kind}
    )
    indices, values, shape = made.outputs
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


def parsed(number: int, strings: Any, dtype: DType) -> Any:
    """Return indices, values and shape for the sparse tensor in row `number`."""
    try:
        indices, values, sizes = map(_read, strings)
    except WireError as error:
        raise invalid("Could not parse serialized proto") from error
    stored = values[0]
    if stored not in (None, dtype):
        raise invalid(
            f"Requested SparseTensor of type {runtime_name(dtype)} but SparseTensor[{number}].values.dtype() == "
            f"{runtime_name(stored)}"
        )
    try:
        places, shape = (_array(part, dtypes.int64) for part in (indices, sizes))
        kept = _array(values, dtype)
    except (ValueError, WireError) as error:
        raise invalid("Could not parse serialized proto") from error
    if places.ndim != 2 or shape.ndim != 1 or places.shape[1] != len(shape) or kept.shape != places.shape[:1]:
        raise invalid(f"SparseTensor[{number}]: its indices, values and shape do not fit together")
    return places, kept, shape


def _read(data: bytes) -> tuple[DType | None, list[int], bytes]:
    """Return a TensorProto's dtype (None if it is unknown), shape and content."""
    dtype, shape, content = None, [], b""
    for number, kind, at, end in fields(data, 0, len(data)):
        if number == _DTYPE and kind == VARINT:
            with contextlib.suppress(TypeError):
                dtype = as_dtype(varint(data, at, end)[0])
        elif number == _SHAPE and kind == LEN:
            shape = [_size(data, begin, after) for which, _, begin, after in fields(data, at, end) if which == 2]
        elif number == _CONTENT and kind == LEN:
            content = data[at:end]
    return dtype, shape, content


def _size(data: bytes, at: int, end: int) -> int:
    sizes = [varint(data, begin, after)[0] for which, _, begin, after in fields(data, at, end) if which == 1]
    return signed(sizes[-1]) if sizes else 0


def _array(part: tuple[DType | None, list[int], bytes], dtype: DType) -> Any:
    _, shape, content = part
    if dtype is not dtypes.string:
        return np.frombuffer(content, dtype.np.newbyteorder("<")).astype(dtype.np).reshape(shape)
    lengths, at = [], 0
    for _ in range(math.prod(shape)):
        size, at = varint(content, at, len(content))
        lengths.append(size)
    result = np.empty(len(lengths), object)
    for i, size in enumerate(lengths):
        result[i], at = content[at : at + size], at + size
    return result.reshape(shape)


def _stacked(parts: list[Any]) -> Any:
    """Return indices, values and shape for sparse tensors, given in parts, stacked along a new first axis."""
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
