"""TensorArray: the rows that a loop of map_fn or scan reads and writes, each once."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, as_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.sequences import range as sequence
from pipeline.compat.ops.arrays.shaping import shape as shape_of
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.nesting import map_structure
from pipeline.compat.values.static import constant_value
from pipeline.errors import invalid, show

_FLOW = np.float32(0)


class _Elements:
    """The elements of one TensorArray in one run. If they are `alike`, they have the shape of the first one written."""

    def __init__(self, name: str, size: int, alike: bool, shape: TensorShape) -> None:
        self.name, self.alike, self.shape = name, alike, shape
        self.values: list[Any] = [None] * size

    def write(self, index: int, value: Any) -> None:
        shape = np.shape(value)
        if not self.shape.is_compatible_with(shape):
            known = ",".join("?" if each is None else str(each) for each in self.shape.sizes or ())
            raise invalid(
                f"TensorArray {self.name}: Could not write to TensorArray index {index} because the value shape is "
                f"{show(shape)} which is incompatible with the TensorArray's inferred element shape: [{known}] "
                "(consider setting infer_shape=False)."
            )
        if self.alike and not self.shape.is_fully_defined():
            self.shape = as_shape(shape)
        self.values[index] = value

    def read(self, index: int) -> Any:
        value, self.values[index] = self.values[index], None
        return value


class TensorArray:
    """A list of tensors. Every write returns a new object, which stands for the list after that write.

    Args:
        dtype: The dtype of the elements.
        size: An int32 scalar.
        infer_shape: Check that all elements have the same shape.
        element_shape: That shape, as far as it is known.
    """

    def __init__(self, dtype: DType, size: Any, infer_shape: bool = True, element_shape: Any = None) -> None:
        self.dtype = dtype.base_dtype
        self._size, self._infer_shape = size, infer_shape
        # Shared by all objects that stand for this list: what one learns of the shape holds for the others.
        self._shape = [as_shape(element_shape)]
        with name_scope(None, "TensorArray", [size]) as scope:
            count = convert_to_tensor(size, dtypes.int32, name="size")
            shape = self._shape[0]

            def kernel(_: Any, size: Any) -> Any:
                return _Elements(scope[:-1], int(size), infer_shape, shape), _FLOW

            attrs = {"dtype": self.dtype, "dynamic_size": False, "clear_after_read": True}
            outputs = [(dtypes.resource, [2]), (dtypes.float32, [])]
            made = node("TensorArrayV3", [count], outputs, kernel, scope, attrs=attrs, stateful=True)
            self.handle, self.flow = made.outputs

    def after(self, flow: Tensor) -> TensorArray:
        """Return this list after the operation that gave `flow`."""
        array = object.__new__(TensorArray)
        array.__dict__.update(self.__dict__)
        array.flow = flow
        return array

    def _seen(self, shape: TensorShape) -> None:
        if not shape.is_compatible_with(self._shape[0]):
            raise ValueError(f"Inconsistent shapes: saw {shape} but expected {self._shape[0]} ")
        if self._infer_shape:
            self._shape[0] = self._shape[0].merge_with(shape)

    def _value(self, value: Any) -> Tensor:
        return convert_to_tensor(value, preferred_dtype=self.dtype, name="value")

    def _must_fit(self, value: Any) -> None:
        """Raise InvalidArgumentError, at run time, for a value of another dtype."""
        found = dtypes.string.np if isinstance(value, bytes) else value.dtype
        if found != self.dtype.np:
            raise invalid(f"TensorArray dtype is {self.dtype.name} but Op is trying to write dtype {found}.")

    def _op(self, op_type: str, inputs: list[tuple[str, Any]], kernel: Any, dtype: Any, shape: Any) -> Tensor:
        with name_scope(None, op_type, [inputs]) as scope:
            tensors = [convert_to_tensor(value, name=parameter) for parameter, value in inputs]
            attrs = {"dtype" if dtype is self.dtype else "T": self.dtype}
            inputs_of = [self.handle, *tensors, self.flow]
            return tensor_node(op_type, inputs_of, kernel, dtype, shape, scope, attrs=attrs, stateful=True)

    def read(self, index: Any) -> Tensor:
        """Return one element, which is gone then."""

        def kernel(_: Any, elements: _Elements, index: Any, __: Any) -> Any:
            return elements.read(int(index))

        return self._op("TensorArrayReadV3", [("index", index)], kernel, self.dtype, self._shape[0])

    def write(self, index: Any, value: Any) -> TensorArray:
        """Set one element; return the list after that."""
        with name_scope(None, "TensorArrayWrite", [self.handle, index, value]):
            value = self._value(value)
            self._seen(value.get_shape())

            def kernel(_: Any, elements: _Elements, index: Any, value: Any, __: Any) -> Any:
                self._must_fit(value)
                elements.write(int(index), value)
                return _FLOW

            inputs = [("index", index), ("value", value)]
            return self.after(self._op("TensorArrayWriteV3", inputs, kernel, dtypes.float32, []))

    def stack(self) -> Tensor:
        """Return all elements, stacked along a new first axis."""
        with name_scope(None, "TensorArrayStack", [self.handle]):
            value = self._gather(sequence(0, convert_to_tensor(self._size, dtypes.int32)))
            known = self._size if isinstance(self._size, int) else constant_value(self._size)
            value.set_shape(as_shape([None if known is None else int(known)]).concatenate(self._shape[0]))
            return value

    def _gather(self, indices: Any) -> Tensor:
        dtype, known = self.dtype, self._shape[0]

        def kernel(_: Any, elements: _Elements, indices: Any, __: Any) -> Any:
            values = [elements.read(int(index)) for index in indices]
            if not values:
                return np.zeros((0, *(size or 0 for size in known.sizes or ())), dtype.np)
            if dtype == dtypes.string:
                values = [np.asarray(value, object) for value in values]
            first = np.shape(values[0])
            for place, value in enumerate(values):
                if np.shape(value) != first:
                    raise invalid(
                        f"TensorArray has inconsistent shapes.  Index 0 has shape: {show(first)} but index {place} "
                        f"has shape: {show(np.shape(value))}"
                    )
            return np.stack(values)

        shape = as_shape([None]).concatenate(known)
        return self._op("TensorArrayGatherV3", [("indices", indices)], kernel, self.dtype, shape)

    def unstack(self, value: Any) -> TensorArray:
        """Set all elements to the rows of `value`; return the list after that."""
        with name_scope(None, "TensorArrayUnstack", [self.handle, value]):
            sizes: Any = shape_of(value)
            indices = sequence(0, sizes[0])
            with name_scope(None, "TensorArrayScatter", [self.handle, value, indices]):
                value = self._value(value)
                self._seen(value.get_shape()[1:])

                def kernel(_: Any, elements: _Elements, indices: Any, value: Any, __: Any) -> Any:
                    for index, each in zip(indices, value, strict=True):
                        elements.write(int(index), each)
                    return _FLOW

                inputs = [("indices", indices), ("value", value)]
                return self.after(self._op("TensorArrayScatterV3", inputs, kernel, dtypes.float32, []))


def with_flows(structure: Any) -> Any:
    """Return `structure` with flow tensors in place of TensorArrays."""
    return map_structure(lambda each: each.flow if isinstance(each, TensorArray) else each, structure)


def flows(leaves: list[Any], tensors: list[Tensor]) -> list[Any]:
    """Return `tensors` with a TensorArray in place of each flow; `leaves` has a TensorArray in the same places."""
    return [
        leaf.after(tensor) if isinstance(leaf, TensorArray) else tensor
        for leaf, tensor in zip(leaves, tensors, strict=True)
    ]
