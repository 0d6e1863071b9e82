"""NodeDef, GraphDef and AttrValue: the messages for printing and saving a graph in TensorFlow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.compat.graph.dtypes import DType, as_dtype, string
from pipeline.compat.graph.shapes import TensorShape
from pipeline.proto.fields import MessageField, MessageListField, PartMap, Scalar, Scalars
from pipeline.proto.message import Message
from pipeline.proto.scalar_types import BOOL, BYTES, FLOAT, INT32, INT64, STRING
from pipeline.proto.tensor import DATA_TYPE, TensorProto, TensorShapeProto, shape_message
from pipeline.proto.wire import signed

if TYPE_CHECKING:
    from pipeline.compat.graph.tensor import Operation

_PRODUCER = 27  # about the graph version in TensorFlow 1.15


class _ListValue(Message):
    s = Scalars(2, BYTES)
    i = Scalars(3, INT64)
    f = Scalars(4, FLOAT)
    b = Scalars(5, BOOL)
    type = Scalars(6, DATA_TYPE)
    shape = MessageListField(7, TensorShapeProto)
    tensor = MessageListField(8, TensorProto)


class AttrValue(Message):
    """An attribute's value: exactly one field is set."""

    list = MessageField(1, _ListValue, oneof="value")
    s = Scalar(2, BYTES, oneof="value")
    i = Scalar(3, INT64, oneof="value")
    f = Scalar(4, FLOAT, oneof="value")
    b = Scalar(5, BOOL, oneof="value")
    type = Scalar(6, DATA_TYPE, oneof="value")
    shape = MessageField(7, TensorShapeProto, oneof="value")
    tensor = MessageField(8, TensorProto, oneof="value")
    ListValue = _ListValue


class NodeDef(Message):
    """An operation: its name, type (`op`), input names, device and attributes."""

    name = Scalar(1, STRING)
    op = Scalar(2, STRING)
    input = Scalars(3, STRING)
    device = Scalar(4, STRING)
    attr = PartMap(5, AttrValue)


class _VersionDef(Message):
    producer = Scalar(1, INT32)
    min_consumer = Scalar(2, INT32)


class GraphDef(Message):
    """A graph's operations."""

    node = MessageListField(1, NodeDef)
    versions = MessageField(4, _VersionDef)


def node_def(op: Operation, add_shapes: bool = False, largest: int | None = None) -> NodeDef:
    """Return an operation's definition.

    Args:
        op: The operation.
        add_shapes: Add the output shapes as attribute `_output_shapes`.
        largest: Omit the elements of arrays with more than this many.
    """
    made = NodeDef(name=op.name, op=op.type, device=op.device)
    made.input.extend([each.name.removesuffix(":0") for each in op.inputs] + [f"^{c.name}" for c in op.control_inputs])
    for key, value in sorted(op.attrs.items()):
        constant = op.type == "Const" and key == "value"
        if constant:  # an object array, because NumPy's bytes arrays lose trailing zeros
            value = np.array(value, object) if isinstance(value, bytes) else np.asarray(value)
        made.attr[key].MergeFrom(_attr_value(value, largest))
    if add_shapes and op.outputs:
        made.attr["_output_shapes"].MergeFrom(_attr_value([each.shape for each in op.outputs], largest))
    return made


def graph_def(ops: Iterable[Operation], add_shapes: bool = False, largest: int | None = None) -> GraphDef:
    """Return definitions for several operations; see `node_def`."""
    made = GraphDef(versions=_VersionDef(producer=_PRODUCER))
    for op in ops:
        made.node.items.append(node_def(op, add_shapes, largest))
    return made


def attribute(value: Any) -> Any:
    """Return a value from `Operation.attrs` as `Operation.get_attr` does."""
    if isinstance(value, (list, tuple)):
        return [attribute(each) for each in value]
    if isinstance(value, TensorShape):
        return value.as_proto()
    return value.encode() if isinstance(value, str) else value


def _attr_value(value: Any, largest: int | None) -> AttrValue:
    made = AttrValue()
    if isinstance(value, (list, tuple)):
        made.list.SetInParent()
        for each in value:
            field, found = _field(each, largest)
            if field:
                getattr(made.list, field).append(found)
        return made
    field, found = _field(value, largest)
    return AttrValue(**{field: found}) if field else made


def _field(value: Any, largest: int | None) -> tuple[str, Any]:
    """Return the AttrValue field for a value, and its content; "" if no field can hold the value."""
    if isinstance(value, DType):
        return "type", value.as_datatype_enum
    if isinstance(value, TensorShape):
        return "shape", value.as_proto()
    if isinstance(value, (bool, np.bool_)):
        return "b", bool(value)
    if isinstance(value, (int, np.integer)):
        return "i", signed(int(value) & 0xFFFF_FFFF_FFFF_FFFF)
    if isinstance(value, (float, np.floating)):
        return "f", float(value)
    if isinstance(value, (str, bytes)):
        return "s", value.encode() if isinstance(value, str) else value
    return ("tensor", _tensor(value, largest)) if isinstance(value, np.ndarray) else ("", None)


def _tensor(array: np.ndarray[Any, Any], largest: int | None) -> TensorProto:
    try:
        dtype = string if array.dtype.kind in "OS" else as_dtype(array.dtype)
    except TypeError:
        return TensorProto()
    made = TensorProto(dtype=dtype.as_datatype_enum, tensor_shape=shape_message(array.shape))
    if largest is None or array.size <= largest:
        if dtype == string:
            made.string_val.extend(each for each in array.ravel().tolist() if isinstance(each, bytes))
        else:
            made.tensor_content = np.ascontiguousarray(array).tobytes()
    return made
