"""NodeDef, GraphDef and AttrValue: the messages for printing and saving a graph in TensorFlow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.compat.graph.dtypes import DType, as_dtype, string
from pipeline.compat.graph.shapes import TensorShape
from pipeline.decode.wire import signed
from pipeline.proto.schema import Message, Schema
from pipeline.proto.tensor import TENSORS, TensorProto, shape_message

if TYPE_CHECKING:
    from pipeline.compat.graph.tensor import Operation

_PRODUCER = 27  # about the graph version in TensorFlow 1.15


_SCHEMA = Schema(
    "graph",
    """
    message AttrValue {
        message ListValue {
            repeated bytes s = 2;
            repeated int64 i = 3;
            repeated float f = 4;
            repeated bool b = 5;
            repeated DataType type = 6;
            repeated TensorShapeProto shape = 7;
            repeated TensorProto tensor = 8;
        }
        oneof value {
            ListValue list = 1;
            bytes s = 2;
            int64 i = 3;
            float f = 4;
            bool b = 5;
            DataType type = 6;
            TensorShapeProto shape = 7;
            TensorProto tensor = 8;
        }
    }
    message NodeDef {
        string name = 1;
        string op = 2;
        repeated string input = 3;
        string device = 4;
        map<string, AttrValue> attr = 5;
    }
    message VersionDef {
        int32 producer = 1;
        int32 min_consumer = 2;
    }
    message GraphDef {
        repeated NodeDef node = 1;
        VersionDef versions = 4;
    }
    """,
    TENSORS,
)


@_SCHEMA.message
class AttrValue(Message):
    """An attribute's value: exactly one field is set."""


@_SCHEMA.message
class NodeDef(Message):
    """An operation: its name, type (`op`), input names, device and attributes."""


@_SCHEMA.message
class VersionDef(Message):
    """The versions of TensorFlow that wrote a graph and that can read it."""


@_SCHEMA.message
class GraphDef(Message):
    """A graph's operations."""


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
        _set_value(made.attr[key], value, largest)
    if add_shapes and op.outputs:
        _set_value(made.attr["_output_shapes"], [each.shape for each in op.outputs], largest)
    return made


def graph_def(ops: Iterable[Operation], add_shapes: bool = False, largest: int | None = None) -> GraphDef:
    """Return definitions for several operations; see `node_def`."""
    return GraphDef(versions={"producer": _PRODUCER}, node=[node_def(op, add_shapes, largest) for op in ops])


def attribute(value: Any) -> Any:
    """Return a value from `Operation.attrs` as `Operation.get_attr` does."""
    if isinstance(value, (list, tuple)):
        return [attribute(each) for each in value]
    if isinstance(value, TensorShape):
        return value.as_proto()
    return value.encode() if isinstance(value, str) else value


def _set_value(made: AttrValue, value: Any, largest: int | None) -> None:
    if isinstance(value, (list, tuple)):
        made.list.SetInParent()
        for each in value:
            field, found = _field(each, largest)
            if field:
                made.list.MergeFrom(AttrValue.ListValue(**{field: [found]}))
    else:
        field, found = _field(value, largest)
        if field:
            made.MergeFrom(AttrValue(**{field: found}))


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
