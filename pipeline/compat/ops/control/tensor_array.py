"""TensorArray: a list of tensors of one dtype that loops write and read."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, as_shape
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.arrays.sequences import range as sequence
from pipeline.compat.ops.arrays.shaping import shape as shape_of
from pipeline.compat.ops.control.flow import identity_of
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.nesting import map_structure
from pipeline.compat.values.static import constant_value
from pipeline.errors import invalid, show

_FLOW = np.float32(0)
_CLEARED = object()


class _Elements:
    """The elements of one TensorArray in one run. Thread safe: `lock` guards them.

    Every element must fit `shape`; if they are `alike`, `shape` becomes that of the first one written.
    """

    def __init__(self, name: str, size: int, dynamic: bool, clear: bool, alike: bool, shape: TensorShape) -> None:
        self.name, self.dynamic, self.clear, self.alike = name, dynamic, clear, alike
        self.shape = shape
        self.values: list[Any] = [None] * size
        self.lock = threading.Lock()

    def write(self, index: int, value: Any) -> None:
        with self.lock:
            if self.dynamic and index >= len(self.values):
                self.values += [None] * (index + 1 - len(self.values))
            if not 0 <= index < len(self.values):
                raise invalid(
                    f"TensorArray {self.name}: Tried to write to index {index} but array is not resizeable and size "
                    f"is: {len(self.values)}"
                )
            if self.values[index] is not None:
                raise invalid(
                    f"TensorArray {self.name}: Could not write to TensorArray index {index} because it has already "
                    "been written to."
                )
            shape = np.shape(value)
            if not self._fits(shape):
                known = ",".join("?" if each is None else str(each) for each in self.shape.sizes or ())
                raise invalid(
                    f"TensorArray {self.name}: Could not write to TensorArray index {index} because the value shape is "
                    f"{show(shape)} which is incompatible with the TensorArray's inferred element shape: [{known}] "
                    "(consider setting infer_shape=False)."
                )
            if self.alike and not self.shape.is_fully_defined():
                self.shape = as_shape(shape)
            self.values[index] = value

    def _fits(self, shape: tuple[int, ...]) -> bool:
        known = self.shape.sizes
        return known is None or (
            len(known) == len(shape) and all(a is None or a == b for a, b in zip(known, shape, strict=True))
        )

    def read(self, index: int, zeros: Any) -> Any:
        with self.lock:
            if not 0 <= index < len(self.values):
                raise invalid(f"Tried to read from index {index} but array size is: {len(self.values)}")
            value = self.values[index]
            if value is _CLEARED:
                raise invalid(
                    f"TensorArray {self.name}: Could not read index {index} twice because it was cleared after a "
                    "previous read (perhaps try setting clear_after_read = false?)."
                )
            if value is None:
                if zeros is None:
                    raise invalid(
                        f"TensorArray {self.name}: Could not read from TensorArray index {index}: it was not written"
                    )
                value = zeros
            if self.clear:
                self.values[index] = _CLEARED
            return value


class TensorArray:
    """A list of tensors. Every write returns a new object, which stands for the list after that write.

    Args:
        dtype: The dtype of the elements.
        size: An int32 scalar.
        dynamic_size: Whether writes beyond the end make it longer.
        clear_after_read: Whether an element can be read only once (the default).
        tensor_array_name: What error messages call it.
        handle: The handle of an existing list, instead of `size`.
        flow: The flow that goes with `handle`.
        infer_shape: Check that all elements have the same shape.
        element_shape: That shape, as far as it is known.
        colocate_with_first_write_call: Without effect.
        name: Name of the op.

    Raises:
        ValueError: Neither or both of `size` and `handle` are given.
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: Any = None,
        clear_after_read: Any = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if handle is None and size is None:
            raise ValueError("Argument `size` must be provided if handle is not provided.")
        if handle is not None and size is not None:
            raise ValueError("Cannot provide both a `handle` and `size` arguments at the same time.")
        if handle is not None and flow is None:
            raise ValueError("flow must not be None if handle is not None.")
        self.dtype = dtypes.as_dtype(dtype).base_dtype
        self._dynamic, self._size, self._infer_shape = bool(dynamic_size), size, infer_shape
        # Shared by all objects that stand for this list: what one learns of the shape holds for the others.
        self._shape = [as_shape(element_shape)]
        clear = clear_after_read is None or bool(clear_after_read)
        with name_scope(name, "TensorArray", [handle, size, flow]) as scope:
            if handle is not None:
                self.handle, self.flow = handle, flow
                return
            count = convert_to_tensor(size, dtypes.int32, name="size")
            shape = self.element_shape
            dynamic, label = self._dynamic, tensor_array_name or scope[:-1]

            def kernel(_: Any, size: Any) -> Any:
                return _Elements(label, int(size), dynamic, clear, infer_shape, shape), _FLOW

            attrs = {"dtype": self.dtype, "dynamic_size": dynamic, "clear_after_read": clear}
            outputs = [(dtypes.resource, [2]), (dtypes.float32, [])]
            made = node("TensorArrayV3", [count], outputs, kernel, scope, attrs=attrs, stateful=True)
            self.handle, self.flow = made.outputs

    @property
    def element_shape(self) -> TensorShape:
        """What is known of the shape of the elements."""
        return self._shape[0]

    @property
    def dynamic_size(self) -> bool:
        """Whether writes beyond the end make it longer."""
        return self._dynamic

    def _after(self, flow: Tensor) -> TensorArray:
        """This list after the operation that gave `flow`."""
        array = object.__new__(TensorArray)
        array.__dict__.update(self.__dict__)
        array.flow = flow
        return array

    def _seen(self, shape: TensorShape) -> None:
        if not shape.is_compatible_with(self.element_shape):
            raise ValueError(f"Inconsistent shapes: saw {shape} but expected {self.element_shape} ")
        if self._infer_shape:
            self._shape[0] = self.element_shape.merge_with(shape)

    def _value(self, value: Any) -> Tensor:
        return convert_to_tensor(value, preferred_dtype=self.dtype, name="value")

    def _must_fit(self, value: Any) -> None:
        """Raise InvalidArgumentError, at run time, for a value of another dtype."""
        found = dtypes.string.np if isinstance(value, bytes) else value.dtype
        if found != self.dtype.np:
            raise invalid(f"TensorArray dtype is {self.dtype.name} but Op is trying to write dtype {found}.")

    def _op(
        self, op_type: str, name: Any, inputs: list[tuple[str, Any]], kernel: Any, dtype: Any, shape: Any
    ) -> Tensor:
        with name_scope(name, op_type, [inputs]) as scope:
            tensors = [convert_to_tensor(value, name=parameter) for parameter, value in inputs]
            attrs = {"dtype" if dtype is self.dtype else "T": self.dtype}
            inputs_of = [self.handle, *tensors, self.flow]
            return tensor_node(op_type, inputs_of, kernel, dtype, shape, scope, attrs=attrs, stateful=True)

    def identity(self) -> TensorArray:
        """Return the same list, by a new Identity node."""
        return self._after(identity_of(self.flow))

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """Return one element."""
        zeros = self._zeros()

        def kernel(_: Any, elements: _Elements, index: Any, __: Any) -> Any:
            return elements.read(int(index), zeros)

        return self._op("TensorArrayReadV3", name, [("index", index)], kernel, self.dtype, self.element_shape)

    def _zeros(self) -> Any:
        shape = self.element_shape
        if not shape.is_fully_defined() or self.dtype == dtypes.string:
            return None
        return np.zeros(shape.as_list(), self.dtype.np)

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Set one element, which must not be set yet; return the list after that."""
        with name_scope(name, "TensorArrayWrite", [self.handle, index, value]):
            value = self._value(value)
            self._seen(value.get_shape())

            def kernel(_: Any, elements: _Elements, index: Any, value: Any, __: Any) -> Any:
                self._must_fit(value)
                elements.write(int(index), value)
                return _FLOW

            inputs = [("index", index), ("value", value)]
            return self._after(self._op("TensorArrayWriteV3", name, inputs, kernel, dtypes.float32, []))

    def stack(self, name: str | None = None) -> Tensor:
        """Return all elements, stacked along a new first axis."""
        with name_scope(name, "TensorArrayStack", [self.handle]):
            size = self.size()
            value = self.gather(sequence(0, size), name=name)
            if not self._dynamic and self._size is not None:
                known = self._size if isinstance(self._size, int) else constant_value(self._size)
                value.set_shape(as_shape([None if known is None else int(known)]).concatenate(self.element_shape))
            return value

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Return some elements, stacked along a new first axis."""
        dtype, zeros, known = self.dtype, self._zeros(), self.element_shape

        def kernel(_: Any, elements: _Elements, indices: Any, __: Any) -> Any:
            values = [elements.read(int(index), zeros) for index in indices]
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

        shape = as_shape([None]).concatenate(self.element_shape)
        return self._op("TensorArrayGatherV3", name, [("indices", indices)], kernel, self.dtype, shape)

    def concat(self, name: str | None = None) -> Tensor:
        """Return all elements, concatenated along their first axis."""
        dtype, known = self.dtype, self.element_shape

        def kernel(_: Any, elements: _Elements, __: Any) -> Any:
            zeros = self._zeros() if any(each is None for each in elements.values) else None
            values = [elements.read(index, zeros) for index in range(len(elements.values))]
            if not values:
                return np.zeros((0, *(size or 0 for size in (known.sizes or ())[1:])), dtype.np), np.zeros(0, np.int64)
            return np.concatenate(values), np.array([len(each) for each in values], np.int64)

        made = self._several("TensorArrayConcatV3", name, kernel)
        shape = self.element_shape
        if shape.ndims is not None:
            made.set_shape(as_shape([self._length(shape)]).concatenate(shape[1:]))
        return made

    def _several(self, op_type: str, name: str | None, kernel: Any) -> Tensor:
        attrs = {"dtype": self.dtype}
        outputs = [(self.dtype, None), (dtypes.int64, [None])]
        return node(op_type, [self.handle, self.flow], outputs, kernel, name, attrs=attrs, stateful=True).outputs[0]

    def _length(self, shape: TensorShape) -> int | None:
        """The number of rows of all elements together; None if it is not static."""
        if not self._infer_shape:
            return None
        count = constant_value(self.size())
        first = shape.as_list()[0]
        return None if count is None or first is None else int(count) * first

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Set all elements to the rows of `value`; return the list after that."""
        with name_scope(name, "TensorArrayUnstack", [self.handle, value]):
            sizes: Any = shape_of(value)
            count = sizes[0]
            return self.scatter(sequence(0, count), value, name=name)

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Set the elements at `indices` to the rows of `value`; return the list after that."""
        with name_scope(name, "TensorArrayScatter", [self.handle, value, indices]):
            value = self._value(value)
            self._seen(value.get_shape()[1:])

            def kernel(_: Any, elements: _Elements, indices: Any, value: Any, __: Any) -> Any:
                self._must_fit(value)
                for index, each in zip(indices, value, strict=True):
                    elements.write(int(index), each)
                return _FLOW

            inputs = [("indices", indices), ("value", value)]
            return self._after(self._op("TensorArrayScatterV3", name, inputs, kernel, dtypes.float32, []))

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements, an int32 scalar."""
        if not self._dynamic and self._size is not None:
            return convert_to_tensor(self._size, dtypes.int32)

        def kernel(_: Any, elements: _Elements, __: Any) -> Any:
            return np.int32(len(elements.values))

        return self._op("TensorArraySizeV3", name, [], kernel, dtypes.int32, [])

    def close(self, name: str | None = None) -> Operation:
        """Return an op that frees the elements."""

        def kernel(_: Any, elements: _Elements) -> None:
            elements.values.clear()

        return node("TensorArrayCloseV3", [self.handle], [], kernel, name, stateful=True)


def with_flows(structure: Any) -> Any:
    """Return `structure` with flow tensors in place of TensorArrays."""
    return map_structure(lambda each: each.flow if isinstance(each, TensorArray) else each, structure)


def flows(leaves: list[Any], tensors: list[Tensor]) -> list[Any]:
    """Return `tensors` with a TensorArray in place of each flow; `leaves` has a TensorArray in the same places."""
    return [
        leaf._after(tensor) if isinstance(leaf, TensorArray) else tensor
        for leaf, tensor in zip(leaves, tensors, strict=True)
    ]
