"""StagingArea and MapStagingArea: small buffers between pipeline stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes as tf_dtypes
from pipeline.compat.graph.dtypes import as_dtype
from pipeline.compat.graph.node import node
from pipeline.compat.graph.scopes import get_default_graph, name_scope
from pipeline.compat.graph.shapes import TensorShape, as_shape, unknown_shape
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.kernels.staging import Buffer, StagingMap
from pipeline.compat.ops.control.flow import no_op
from pipeline.compat.ops.making.inputs import fixed_input
from pipeline.compat.ops.making.text import one_or_all
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.errors import invalid, show


def _scalar(name: str, value: Any) -> int:
    if np.ndim(value):
        raise invalid(f"{name} must be scalar, got shape {show(np.shape(value))}")
    return int(value)


class _Area:
    """Base of both kinds."""

    def __init__(
        self,
        dtypes: Sequence[Any],
        shapes: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        if shared_name is None:
            self._name = get_default_graph().unique_name(type(self).__name__)
        elif isinstance(shared_name, str):
            self._name = shared_name
        else:
            raise ValueError(f"shared_name must be a string, got {shared_name}")
        self._dtypes = [as_dtype(each) for each in dtypes]
        if shapes is not None and len(shapes) != len(dtypes):
            raise ValueError("StagingArea shapes must be the same length as dtypes")
        if names is not None and len(names) != len(dtypes):
            raise ValueError("StagingArea names must be the same length as dtypes")
        self._shapes = [unknown_shape() for _ in dtypes] if shapes is None else [as_shape(each) for each in shapes]
        self._names, self._capacity, self._memory_limit = names, capacity, memory_limit
        self._key = "staging area", get_default_graph()._container, self._name
        with name_scope(f"{self._name}_root"):
            no_op()

    @property
    def name(self) -> str:
        """The name; within a session, equal names mean the same area."""
        return self._name

    @property
    def dtypes(self) -> list[Any]:
        """The dtype of each component."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The static shape of each component."""
        return self._shapes

    @property
    def names(self) -> Sequence[str] | None:
        """The name of each component, or None."""
        return self._names

    @property
    def capacity(self) -> int:
        """The maximum number of elements; 0 for no limit."""
        return self._capacity

    @property
    def memory_limit(self) -> int:
        """The maximum size in bytes; 0 for no limit."""
        return self._memory_limit

    def _make(self) -> Any:
        raise NotImplementedError

    def _node(
        self,
        op_type: str,
        inputs: list[Tensor],
        outputs: list[Any],
        kernel: Callable[..., Any],
        name: str,
        blocking: bool = False,
    ) -> Operation:
        key, make = self._key, self._make
        attrs = {
            "dtypes": self._dtypes,
            "capacity": self._capacity,
            "memory_limit": self._memory_limit,
            "container": key[1],
            "shared_name": self._name,
        }

        def with_state(run: Any, *values: Any) -> Any:
            return kernel(run, run.state(key, make), *values)

        return node(op_type, inputs, outputs, with_state, name, attrs, stateful=True, blocking=blocking)

    def _count(self, op_type: str, name: str, count: Callable[[Any], int] = len) -> Tensor:
        kernel = lambda run, held: np.int32(count(held))  # noqa: E731
        return self._node(op_type, [], [(tf_dtypes.int32, ())], kernel, name).outputs[0]

    def _clear(self, op_type: str, name: str) -> Operation:
        return self._node(op_type, [], [], lambda run, held: held.clear(), name)

    def _components(self, values: Any, indices: Sequence[int] | None) -> tuple[list[Tensor], list[int]]:
        """Return the checked tensors to put, and their component indices."""
        if isinstance(values, dict):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(values).issubset(self._names):
                raise ValueError(
                    "Keys in dictionary to put do not match names of staging area. Dictionary: "
                    f"{sorted(values)}Queue: {sorted(self._names)}"
                )
            found = [(i, values[name]) for i, name in enumerate(self._names) if name in values]
            chosen, given = [i for i, _ in found], [value for _, value in found]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a staging area with names")
            if indices is None:
                raise ValueError("Indices must be supplied when inserting a list of tensors")
            if len(indices) != len(values):
                raise ValueError(f"Number of indices {len(indices)} doesn't match number of values {len(values)}")
            chosen, given = list(indices), list(values)
        if len(given) > len(self._dtypes):
            raise ValueError(f"Unexpected number of inputs {len(given)} vs {len(self._dtypes)}")
        tensors = []
        for value, i in zip(given, chosen, strict=True):
            if value.dtype != self._dtypes[i]:
                raise ValueError(
                    f"Datatypes do not match. Received val.dtype {value.dtype!s} and dtype {self._dtypes[i]!s}"
                )
            value.get_shape().assert_is_compatible_with(self._shapes[i])
            tensors.append(convert_to_tensor(value, self._dtypes[i], name=f"component_{i}"))
        return tensors, chosen

    def _returned(self, tensors: list[Tensor], indices: Sequence[int]) -> Any:
        no_op()  # TensorFlow makes one here to find the current device
        for tensor, i in zip(tensors, indices, strict=True):
            tensor.set_shape(self._shapes[i])
        if self._names:
            return {self._names[i]: tensor for tensor, i in zip(tensors, indices, strict=True)}
        return tensors

    def _outputs(self, indices: Sequence[int]) -> list[Any]:
        return [(self._dtypes[i], None) for i in indices]


class StagingArea(_Area):
    """A first-in-first-out buffer; its elements have several components. Each session has its own.

    Args:
        dtypes: Component dtypes.
        shapes: Component shapes, or None.
        names: Component names, or None; with names, elements are dicts.
        shared_name: The area's name; within a session, equal names mean the same area.
        capacity: Maximum number of elements, 0 for no limit; `put` waits for room.
        memory_limit: Maximum size in bytes, 0 for no limit.

    Raises:
        ValueError: `dtypes`, `shapes` and `names` differ in length.
    """

    def _make(self) -> Any:
        return Buffer(self._capacity, self._memory_limit)

    def put(self, values: Any, name: str | None = None) -> Operation:
        """Return an operation that adds an element: a tensor, a list of tensors, or a dict.

        Raises:
            ValueError: The components do not fit.
        """
        with name_scope(name, f"{self._name}_put") as scope:
            if not isinstance(values, (list, tuple, dict)):
                values = [values]
            tensors, _ = self._components(values, list(range(len(values))))
            return self._node("Stage", tensors, [], lambda run, held, *v: held.put(run, v), scope, blocking=True)

    def get(self, name: str | None = None) -> Any:
        """Return the first element and remove it; a dict if the components have names. The run waits for it."""
        kernel = lambda run, held: one_or_all(list(held.get(run)))  # noqa: E731
        indices = list(range(len(self._dtypes)))
        made = self._node("Unstage", [], self._outputs(indices), kernel, name or f"{self._name}_get", blocking=True)
        return self._returned(made.outputs, indices)

    def peek(self, index: Any, name: str | None = None) -> Any:
        """Return the element at an index without removing it; the run waits for it."""
        with name_scope(name or f"{self._name}_peek") as scope:
            at = fixed_input("StagePeek", "index", index, tf_dtypes.int32)
            kernel = lambda run, held, i: one_or_all(list(held.peek(run, _scalar("index", i))))  # noqa: E731
            indices = list(range(len(self._dtypes)))
            made = self._node("StagePeek", [at], self._outputs(indices), kernel, scope, blocking=True)
        return self._returned(made.outputs, indices)

    def size(self, name: str | None = None) -> Tensor:
        """Return the element count."""
        return self._count("StageSize", name or f"{self._name}_size")

    def clear(self, name: str | None = None) -> Operation:
        """Return an operation that drops all elements."""
        return self._clear("StageClear", name or f"{self._name}_clear")


class MapStagingArea(_Area):
    """A buffer with elements by key; components can be put and taken separately. Each session has its own.

    See `StagingArea` for the other arguments.

    Args:
        ordered: `get` without a key returns elements in key order.
    """

    def __init__(
        self,
        dtypes: Sequence[Any],
        shapes: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        ordered: bool = False,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._ordered = ordered
        self._kind = "OrderedMap" if ordered else "StagingMap"

    def _make(self) -> Any:
        return StagingMap(len(self._dtypes), self._ordered, self._capacity, self._memory_limit)

    def put(self, key: Any, vals: Any, indices: Sequence[int] | None = None, name: str | None = None) -> Operation:
        """Return an operation that adds components to an element.

        Args:
            key: An int64 scalar.
            vals: Tensors, or a dict of tensors.
            indices: Component indices if `vals` is a list.
            name: Name of the operation.

        Raises:
            ValueError: The components do not fit.
        """
        with name_scope(name, f"{self._name}_put") as scope:
            tensors, chosen = self._components(vals, indices)
            op_type = f"{self._kind}Stage"
            where = [
                fixed_input(op_type, "key", key, tf_dtypes.int64),
                fixed_input(op_type, "indices", chosen, tf_dtypes.int32),
            ]

            def kernel(run: Any, held: Any, key: Any, indices: Any, *values: Any) -> None:
                held.put(run, _scalar("key", key), np.ravel(indices).tolist(), values)

            return self._node(op_type, where + tensors, [], kernel, scope, blocking=True)

    def get(self, key: Any = None, indices: Any = None, name: str | None = None) -> Any:
        """Return an element's key and components, and remove them; the run waits for them.

        Args:
            key: An int64 scalar; by default the next element's key.
            indices: Component indices or names; all by default.
            name: Name of the operation.
        """
        if key is not None:
            return key, self._take("Unstage", key, indices, name or f"{self._name}_get", False)
        chosen = self._chosen(indices)
        with name_scope(name or f"{self._name}_get_nokey") as scope:
            op_type = f"{self._kind}UnstageNoKey"
            which = fixed_input(op_type, "indices", chosen, tf_dtypes.int32)

            def kernel(run: Any, held: Any, indices: Any) -> Any:
                found, values = held.take(run, None, np.ravel(indices).tolist())
                return [np.int64(found), *values]

            outputs = [(tf_dtypes.int64, None), *self._outputs(chosen)]
            made = self._node(op_type, [which], outputs, kernel, scope, blocking=True)
        no_op()
        return made.outputs[0], self._returned(made.outputs[1:], chosen)

    def peek(self, key: Any, indices: Any = None, name: str | None = None) -> Any:
        """Return an element's components without removing them; the run waits for them."""
        return self._take("Peek", key, indices, name or f"{self._name}_pop", True)

    def _take(self, what: str, key: Any, indices: Any, name: str, keep: bool) -> Any:
        chosen = self._chosen(indices)
        with name_scope(name) as scope:
            op_type = f"{self._kind}{what}"
            where = [
                fixed_input(op_type, "key", key, tf_dtypes.int64),
                fixed_input(op_type, "indices", chosen, tf_dtypes.int32),
            ]

            def kernel(run: Any, held: Any, key: Any, indices: Any) -> Any:
                return one_or_all(held.take(run, _scalar("key", key), np.ravel(indices).tolist(), keep)[1])

            made = self._node(op_type, where, self._outputs(chosen), kernel, scope, blocking=True)
        return self._returned(made.outputs, chosen)

    def _chosen(self, indices: Any) -> list[int]:
        if indices is None:
            return list(range(len(self._dtypes)))
        if not isinstance(indices, (tuple, list)):
            raise TypeError(f"Invalid indices type {type(indices)}")
        if not indices:
            raise ValueError("Empty indices")
        if all(isinstance(each, str) for each in indices):
            if self._names is None:
                raise ValueError(
                    f"String indices provided {indices}, but this Staging Area was not created with names."
                )
            names = list(self._names)
            if not set(indices).issubset(names):
                raise ValueError(f"Named index not in Staging Area names {self._names}")
            return [names.index(each) for each in indices]
        if not all(isinstance(each, int) for each in indices):
            raise TypeError(f"Mixed types in indices {indices}. May only be str or int")
        for each in indices:
            self._dtypes[each]  # IndexError if there is none
        return list(indices)

    def size(self, name: str | None = None) -> Tensor:
        """Return the complete element count."""
        return self._count(f"{self._kind}Size", name or f"{self._name}_size")

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """Return the count of elements that lack components."""
        return self._count(
            f"{self._kind}IncompleteSize", name or f"{self._name}_incomplete_size", lambda held: held.incomplete
        )

    def clear(self, name: str | None = None) -> Operation:
        """Return an operation that drops all elements."""
        return self._clear(f"{self._kind}Clear", name or f"{self._name}_clear")
