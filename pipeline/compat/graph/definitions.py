"""Definitions of operations, as TensorFlow's protocol buffers say and print them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.shape_proto import TensorShapeProto
from pipeline.compat.graph.shapes import TensorShape
from pipeline.proto.text import escaped

if TYPE_CHECKING:
    from pipeline.compat.graph.tensor import Operation

_ENUM_NAMES = {"float32": "FLOAT", "float64": "DOUBLE", "float16": "HALF"}


class TypeEnum(int):
    """A DType as the number of TensorFlow's enum, which prints as its name."""

    dtype: DType

    @classmethod
    def of(cls, dtype: DType) -> TypeEnum:
        """The number of a DType."""
        number = cls(dtype.as_datatype_enum)
        number.dtype = dtype
        return number

    def text(self) -> str:
        """Such as DT_FLOAT."""
        base = self.dtype.base_dtype.name
        return f"DT_{_ENUM_NAMES.get(base, base.upper())}{'_REF' if self.dtype._is_ref_dtype else ''}"


class ListValue:
    """A list of values, each list but the one that is used being empty."""

    def __init__(self) -> None:
        self.s: list[bytes] = []
        self.i: list[int] = []
        self.f: list[float] = []
        self.b: list[bool] = []
        self.type: list[TypeEnum] = []
        self.shape: list[TensorShapeProto] = []


class AttrValue:
    """The value of an attribute: the field that is set is `s`, `i`, `f`, `b`, `type`, `shape`, `tensor` or `list`."""

    def __init__(self, value: Any) -> None:
        self.s, self.i, self.f, self.b = b"", 0, 0.0, False
        self.type: Any = 0
        self.shape: Any = None
        self.tensor: Any = None
        self.list = ListValue()
        if isinstance(value, (list, tuple)):
            self._field = "list"
            for each in value:
                field, item = _field(each)
                getattr(self.list, field).append(item)
        else:
            self._field, item = _field(value)
            setattr(self, self._field, item)

    def WhichOneof(self, _: str) -> str:
        """The name of the field that is set."""
        return self._field

    def lines(self) -> list[str]:
        """The text."""
        if self._field != "list":
            return _lines(self._field, getattr(self, self._field))
        inner = [line for field, items in vars(self.list).items() for item in items for line in _lines(field, item)]
        return ["list {", *("  " + line for line in inner), "}"]

    def __repr__(self) -> str:
        return "".join(line + "\n" for line in self.lines())


def _field(value: Any) -> tuple[str, Any]:
    """The field for a value, and what stands in it."""
    if isinstance(value, DType):
        return "type", TypeEnum.of(value)
    if isinstance(value, TensorShape):
        return "shape", TensorShapeProto(value.sizes)
    if isinstance(value, (bool, np.bool_)):
        return "b", bool(value)
    if isinstance(value, (int, np.integer)):
        return "i", int(value)
    if isinstance(value, (float, np.floating)):
        return "f", float(value)
    if isinstance(value, (str, bytes)):
        return "s", value.encode() if isinstance(value, str) else value
    return "tensor", value


def _lines(field: str, item: Any) -> list[str]:
    if field == "shape":
        return ["shape {", *("  " + line for line in item.lines()), "}"]
    if field == "tensor":
        value = np.asarray(item)
        shape = TensorShapeProto(value.shape)
        return ["tensor {", f"  # {value.dtype} {list(value.shape)}", "  tensor_shape {"] + [
            *("    " + line for line in shape.lines()),
            "  }",
            "}",
        ]
    if field == "type":
        return [f"type: {item.text()}"]
    if field == "s":
        return [f's: "{escaped(item)}"']
    if field == "b":
        return [f"b: {'true' if item else 'false'}"]
    if field == "f":
        return [f"f: {np.float32(item):g}" if item != int(item) else f"f: {int(item)}"]
    return [f"{field}: {item}"]


def attribute(value: Any) -> Any:
    """What `get_attr` returns for a value that an operation keeps."""
    if isinstance(value, (list, tuple)):
        return [attribute(each) for each in value]
    if isinstance(value, TensorShape):
        return TensorShapeProto(value.sizes)
    return value.encode() if isinstance(value, str) else value


class NodeDef:
    """The definition of an operation.

    Attributes:
        name, op, input, device: Its name, its type, what it takes, and where.
        attr: Its attributes, a dict of AttrValue.
    """

    def __init__(self, name: str, op: str, inputs: Sequence[str], attr: dict[str, Any], device: str = "") -> None:
        self.name, self.op, self.input, self.device = name, op, list(inputs), device
        self.attr = {key: AttrValue(value) for key, value in sorted(attr.items())}

    @classmethod
    def of(cls, op: Operation) -> NodeDef:
        """The definition of `op`."""
        inputs = [each.name.removesuffix(":0") for each in op.inputs] + [f"^{each.name}" for each in op.control_inputs]
        return cls(op.name, op.type, inputs, op.attrs, op.device)

    def lines(self) -> list[str]:
        """The text."""
        lines = [f'name: "{self.name}"', f'op: "{self.op}"', *(f'input: "{each}"' for each in self.input)]
        if self.device:
            lines.append(f'device: "{self.device}"')
        for key, value in self.attr.items():
            lines += ["attr {", f'  key: "{key}"', "  value {", *("    " + line for line in value.lines()), "  }", "}"]
        return lines

    def __repr__(self) -> str:
        return "".join(line + "\n" for line in self.lines())


class GraphDef:
    """The definitions of a graph's operations."""

    def __init__(self, node: list[NodeDef]) -> None:
        self.node = node

    def __repr__(self) -> str:
        return "".join("node {\n" + "".join(f"  {line}\n" for line in each.lines()) + "}\n" for each in self.node)
