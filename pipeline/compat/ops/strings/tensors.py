"""serialize_tensor and parse_tensor: tensors to and from the bytes of TensorFlow's TensorProto."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import DType, as_dtype, string
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import scalar
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.inputs import dtype_of
from pipeline.compat.ops.making.text import objects, text
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.errors import ResourceExhaustedError, invalid, show
from pipeline.files.limits import MAX_RECORD_BYTES
from pipeline.proto.wire import LEN, VARINT, WireError, fields, pack_field, pack_varint, signed, varint

# TensorProto is read and written by hand here, 20 times as fast as by the message in proto/tensor.py (5 us, 100 us for
# 3 by 4 floats): serialize_sparse does it for every example.

# The fields of TensorProto that hold single values, with the NumPy dtype of a packed field; None for varints.
_VALUES: dict[int, Any] = {
    5: "<f4",
    6: "<f8",
    7: None,
    9: "<f4",
    10: None,
    11: None,
    12: "<f8",
    13: None,
    16: None,
    17: None,
}
_CONTENT, _STRINGS = 4, 8


def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """Serialize a tensor of any dtype and shape to a string, which `parse_tensor` reads."""
    with name_scope(name, "SerializeTensor", [tensor]) as scope:
        given = convert_to_tensor(tensor, name="tensor")
        dtype = given.dtype.base_dtype

        def kernel(value: Any) -> bytes:
            return packed(np.asarray(value, dtype.np), dtype)

        return tensor_node("SerializeTensor", [given], kernel, string, scalar(), name=scope, attrs={"T": dtype})


def packed(array: np.ndarray[Any, Any], dtype: DType) -> bytes:
    """Return the array as the bytes of a TensorProto."""
    sizes = b"".join(pack_field(2, b"\x08" + pack_varint(size) if size else b"") for size in array.shape)
    head = b"\x08" + pack_varint(dtype.as_datatype_enum) + pack_field(2, sizes)
    if dtype == string:
        return head + b"".join(pack_field(_STRINGS, one) for one in array.ravel().tolist())
    content = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return head + (pack_field(_CONTENT, content) if content else b"")


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """Parse a serialized tensor.

    Args:
        serialized: A string scalar.
        out_type: The dtype of the tensor.
        name: Name of the op.

    Raises:
        InvalidArgumentError: At run time: the string is not a tensor, or has another dtype.
        ResourceExhaustedError: At run time: the tensor is too large; see `parsed`.
    """
    with name_scope(name, "ParseTensor", [serialized]) as scope:
        dtype = dtype_of(out_type)
        tensor = text(serialized, "serialized", "ParseTensor")

        def kernel(data: Any) -> Any:
            if not isinstance(data, bytes):
                raise invalid(f"Expected `serialized` to be a scalar, got shape: {show(data.shape)}")
            return parsed(data, dtype)

        return tensor_node("ParseTensor", [tensor], kernel, dtype, None, name=scope, attrs={"out_type": dtype})


def parsed(data: bytes, dtype: DType) -> Any:
    """Return the value of a TensorProto.

    Raises:
        InvalidArgumentError: The bytes are not a TensorProto, or have another dtype.
        ResourceExhaustedError: The bytes hold only the first values of an array that is larger than the limit.
    """
    try:
        found, shape, values = _read(data, dtype)
    except (WireError, ValueError) as error:
        raise invalid(f"Could not parse `serialized` as TensorProto: {error}") from error
    if found != dtype.as_datatype_enum:
        try:
            other = as_dtype(found).name
        except TypeError:
            raise invalid("Could not parse `serialized` as TensorProto: it has no known dtype") from None
        raise invalid(f"Type mismatch between parsed tensor ({other}) and dtype ({dtype.name})")
    size = math.prod(shape)
    if any(each < 0 for each in shape) or size * max(1, dtype.np.itemsize) >= 1 << 63:
        raise invalid(f"Could not parse `serialized` as TensorProto: there is no shape {show(tuple(shape))}")
    if len(values) > size or (size and not len(values) and dtype == string):
        raise invalid(
            f"Could not parse `serialized` as TensorProto: {len(values)} values for shape {show(tuple(shape))}"
        )
    if len(values) < size:  # the last value repeats to the end
        if size * dtype.np.itemsize > MAX_RECORD_BYTES:
            why = f"a TensorProto of {len(data):,} bytes stands for {size:,} equal values, more than the limit of"
            raise ResourceExhaustedError(None, None, f"{why} {MAX_RECORD_BYTES:,} bytes")
        last = values[-1:] if len(values) else np.zeros(1, dtype.np)
        values = np.concatenate([values, np.repeat(last, size - len(values))])
    if not shape:
        return values[0]
    try:
        return values.reshape(shape)
    except ValueError as error:  # NumPy has no such number of dimensions
        raise invalid(f"Could not parse `serialized` as TensorProto: {error}") from error


def stored_dtype(data: bytes) -> DType | None:
    """Return the dtype of a serialized tensor; None if it has none that is known.

    Raises:
        WireError: The bytes are not a message.
    """
    for number, kind, at, end in fields(data, 0, len(data)):
        if number == 1 and kind == VARINT:
            try:
                return as_dtype(varint(data, at, end)[0])
            except TypeError:
                return None
    return None


def _read(data: bytes, dtype: DType) -> tuple[int, list[int], Any]:
    """The number of the dtype, the shape, and the values as a vector."""
    found, shape, parts, strings = 0, [], [], []
    for number, kind, at, end in fields(data, 0, len(data)):
        if number == 1 and kind == VARINT:
            found = varint(data, at, end)[0]
        elif number == 2 and kind == LEN:
            shape = [_size(data, begin, after) for which, _, begin, after in fields(data, at, end) if which == 2]
        elif number == _CONTENT and kind == LEN and dtype != string:
            parts.append(np.frombuffer(data[at:end], dtype.np.newbyteorder("<")).astype(dtype.np))
        elif number == _STRINGS:
            strings.append(data[at:end])
        elif number in _VALUES:
            parts.append(_numbers(data, at, end, kind, _VALUES[number], dtype))
    if dtype == string:
        return found, shape, objects(strings)
    return found, shape, np.concatenate(parts) if parts else np.empty(0, dtype.np)


def _size(data: bytes, at: int, end: int) -> int:
    sizes = [varint(data, begin, after)[0] for which, _, begin, after in fields(data, at, end) if which == 1]
    return signed(sizes[-1]) if sizes else 0


def _numbers(data: bytes, at: int, end: int, kind: int, stored: Any, dtype: DType) -> Any:
    if stored is not None:
        values: Any = np.frombuffer(data[at:end], stored)
        return values.view(stored.replace("f", "c")[:2] + str(2 * int(stored[2]))) if dtype.is_complex else values
    numbers = []
    while at < end:
        value, at = varint(data, at, end)
        numbers.append(signed(value))
    if dtype.is_floating:  # half and bfloat16 are stored as their bits
        return np.array(numbers, np.int64).astype(np.uint16).view(dtype.np)
    array = np.array(numbers, np.int64)
    return array.view(np.uint64) if dtype.name == "uint64" else array.astype(dtype.np)
