"""Tensor and Operation: the nodes in a graph, and the values that flow between them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from pipeline.compat.graph.default_session import session_for
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.shapes import TensorShape, as_shape, merged

if TYPE_CHECKING:
    from pipeline.compat.graph.graph import Graph

_OWN_FILES = __file__.rpartition("/compat/")[0] + "/"


class Tensor:
    """An operation's output; it has a value when a session runs the operation.

    Attributes:
        op: The operation.
        value_index: Its index among the outputs.
        dtype: DType of the values.
        assign: Sets this part of a variable; only slices of variables have it.
    """

    assign: Callable[..., Tensor]
    # Makes NumPy leave `array + tensor` to the tensor's reflected method.
    __array_priority__ = 100
    __slots__ = ("__weakref__", "_keras_mask", "_shape", "assign", "dtype", "op", "value_index")

    def __init__(self, op: Operation, value_index: int, dtype: DType, shape: TensorShape) -> None:
        self.op, self.value_index, self.dtype, self._shape = op, value_index, dtype, shape

    @property
    def name(self) -> str:
        """The operation's name and the output's index, such as "add:0"."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def graph(self) -> Graph:
        """The operation's graph."""
        return self.op.graph

    @property
    def device(self) -> str:
        """The requested device, such as "/device:CPU:0"; "" if there is none."""
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        """The static shape, as far as it is known."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """Return the static shape, as far as it is known."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Merge a shape into the static shape; ValueError if they contradict."""
        self._shape = merged(self._shape, as_shape(shape))

    @property
    def ndim(self) -> int | None:
        """The rank; None if it is unknown."""
        return self._shape.ndims

    def consumers(self) -> list[Operation]:
        """Return the operations with this tensor as an input."""
        return [op for op in self.graph.get_operations() if any(each is self for each in op.inputs)]

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Return the value, computed in `session` or in the default session."""
        return session_for(session, self.graph, "evaluate tensor", "eval").run(self, feed_dict)

    def _as_graph_element(self) -> Tensor:
        return self

    def experimental_ref(self) -> Any:
        """Return a key for dicts and sets."""
        return Reference(self)

    ref = experimental_ref

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self._shape} dtype={self.dtype.name}>"

    def __str__(self) -> str:
        shape = "" if self._shape.ndims is None else f", shape={self._shape}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name}{device})'

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __iter__(self) -> Iterator[Tensor]:
        _not_a_value(self, f"iterating over a `tf.Tensor` is not allowed: '{self.name}' has no value in a graph")

    def __len__(self) -> NoReturn:
        _not_a_value(self, f"len is not well defined for a symbolic Tensor '{self.name}'; call `x.shape` or tf.shape")

    def __bool__(self) -> NoReturn:
        _not_a_value(
            self,
            f"using a `tf.Tensor` as a Python `bool` is not allowed: '{self.name}' has no value in a graph. "
            "Use `if t is not None:` to test whether there is a tensor, and tf.cond for what depends on its value",
        )

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array.")

    @staticmethod
    def overload(operator: str, function: Callable[..., Any]) -> None:
        """Make `function` the tensor method `operator`."""
        setattr(Tensor, operator, function)


class Reference:
    """A tensor as a dict key; equal to other references to the same tensor."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def deref(self) -> Any:
        """Return the tensor."""
        return self._tensor

    def __hash__(self) -> int:
        return id(self._tensor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._tensor is other._tensor


def _not_a_value(tensor: Tensor, text: str) -> NoReturn:
    raise TypeError(text)


class Operation:
    """A graph node: an operation, its input tensors, and the operations it runs after.

    Made by `pipeline.compat.graph.node.node`.

    Attributes:
        graph: The operation's graph.
        name: Its name, unique in the graph.
        type: TensorFlow's name for this kind of operation.
        inputs: Input tensors.
        control_inputs: Operations that run before it.
        kernel: Function that computes the outputs.
    """

    __slots__ = (
        "__weakref__",
        "_device",
        "_id",
        "_outputs",
        "attrs",
        "blocking",
        "control_inputs",
        "graph",
        "handle",
        "inputs",
        "kernel",
        "made_at",
        "name",
        "ref_inputs",
        "rows",
        "stateful",
        "type",
    )

    graph: Graph
    name: str
    type: str
    inputs: list[Tensor]
    control_inputs: list[Operation]
    attrs: dict[str, Any]
    kernel: Callable[..., Any] | None
    stateful: bool
    blocking: bool
    handle: bool
    rows: Any
    ref_inputs: tuple[int, ...]
    made_at: tuple[str, int]
    _id: int
    _device: str
    _outputs: tuple[Tensor, ...]

    @property
    def outputs(self) -> list[Tensor]:
        """The outputs, as a new list each time, because functions return it and programs change it."""
        return list(self._outputs)

    @outputs.setter
    def outputs(self, tensors: list[Tensor]) -> None:
        self._outputs = tuple(tensors)

    @property
    def op_def(self) -> Any:
        """An object with the type as its `name`."""
        return _OpDef(self.type)

    @property
    def device(self) -> str:
        """The requested device, such as "/device:CPU:0"; "" if there is none."""
        return self._device

    @property
    def node_def(self) -> Any:
        """The definition, a NodeDef; it prints as protocol buffer text."""
        from pipeline.compat.graph.definitions import node_def  # few programs look at definitions

        return node_def(self)

    def get_attr(self, name: str) -> Any:
        """Return an attribute: a DType, number, bytes, TensorShapeProto or list; ValueError if there is none."""
        if name not in self.attrs:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        from pipeline.compat.graph.definitions import attribute  # as in `node_def`

        return attribute(self.attrs[name])

    def values(self) -> tuple[Tensor, ...]:
        """Return the outputs."""
        return self._outputs

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run the operation in `session`, or in the default session."""
        session_for(session, self.graph, "execute operation", "run").run(self, feed_dict)

    def _add_control_input(self, op: Operation) -> None:
        self.control_inputs.append(op)

    def _as_graph_element(self) -> Any:
        return self

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"

    def __str__(self) -> str:
        return str(self.node_def)


class _OpDef:
    def __init__(self, name: str) -> None:
        self.name = name


def caller() -> tuple[str, int]:
    """Return the file and line in the program being run: the innermost frame outside this package."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN_FILES):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def new_tensor(op: Operation, index: int, dtype: DType, shape: Any) -> Tensor:
    """Make an output for an operation."""
    return Tensor(op, index, dtype, as_shape(shape))
