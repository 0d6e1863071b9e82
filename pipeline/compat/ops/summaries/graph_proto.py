"""A graph as the bytes of a GraphDef message, for TensorBoard."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import DType, as_dtype, string
from pipeline.compat.graph.shapes import TensorShape
from pipeline.compat.graph.tensor import Operation
from pipeline.proto.wire import FIXED32, LEN, VARINT, pack_varint

_PRODUCER = 27
# Larger constants are left out: the graph is there to be looked at.
_LARGEST = 1024


def graph_bytes(graph: Any) -> bytes:
    """The GraphDef of a graph, with the shapes of all outputs."""
    versions = _number(1, _PRODUCER)
    return b"".join(_block(1, _node(op)) for op in graph.get_operations()) + _block(4, versions)


def _node(op: Operation) -> bytes:
    inputs = [each.name.removesuffix(":0") for each in op.inputs] + [f"^{each.name}" for each in op.control_inputs]
    attrs = dict(op.attrs)
    if op.outputs:
        attrs["_output_shapes"] = [each.shape for each in op.outputs]
    parts = [_block(1, op.name.encode()), _block(2, op.type.encode())]
    parts += [_block(3, each.encode()) for each in inputs]
    if op.device:
        parts.append(_block(4, op.device.encode()))
    for key, each in sorted(attrs.items()):
        value = _block(8, _tensor(each)) if op.type == "Const" and key == "value" else _value(each)
        parts.append(_block(5, _block(1, key.encode()) + _block(2, value)))
    return b"".join(parts)


def _value(value: Any) -> bytes:
    """An AttrValue."""
    if isinstance(value, (list, tuple)):
        return _block(1, b"".join(map(_in_list, value)))
    if isinstance(value, (bool, np.bool_)):
        return _number(5, int(value))
    if isinstance(value, np.ndarray):
        return _block(8, _tensor(value))
    return _in_list(value)


def _in_list(value: Any) -> bytes:
    if isinstance(value, DType):
        return _number(6, value.as_datatype_enum)
    if isinstance(value, TensorShape):
        return _block(7, _shape(value.sizes))
    if isinstance(value, (bool, int, np.integer)):
        return _number(5 if isinstance(value, bool) else 3, int(value))
    if isinstance(value, (float, np.floating)):
        return pack_varint(4 << 3 | FIXED32) + np.float32(value).tobytes()
    if isinstance(value, (str, bytes)):
        return _block(2, value.encode() if isinstance(value, str) else value)
    return b""


def _shape(sizes: Any) -> bytes:
    if sizes is None:
        return _number(3, 1)
    return b"".join(_block(2, _number(1, -1 if size is None else size)) for size in sizes)


def _tensor(value: Any) -> bytes:
    array = np.array(value, object) if isinstance(value, bytes) else np.asarray(value)
    try:
        dtype = string if array.dtype == object else as_dtype(array.dtype)
    except TypeError:
        return b""
    head = _number(1, dtype.as_datatype_enum) + _block(2, _shape(array.shape))
    if array.size > _LARGEST:
        return head
    if array.dtype == object:
        return head + b"".join(_block(8, each) for each in array.reshape(-1) if isinstance(each, bytes))
    return head + _block(4, np.ascontiguousarray(array).tobytes())


def _number(field: int, value: int) -> bytes:
    return pack_varint(field << 3 | VARINT) + pack_varint(value)


def _block(field: int, data: bytes) -> bytes:
    return pack_varint(field << 3 | LEN) + pack_varint(len(data)) + data
