"""Barrier: joins components that arrive separately into elements, by key."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType, as_dtype
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import get_default_graph, name_scope
from pipeline.compat.graph.shapes import as_shape, unknown_shape
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.making.inputs import fixed_input
from pipeline.compat.values.static import constant_value
from pipeline.errors import CancelledError, OutOfRangeError, invalid, show

_FIRST = -(1 << 63)
_numbers = itertools.count()


class BarrierTakeMany(NamedTuple):
    """The result of `take_many`: keys, components, and for each element an index that is smaller for older keys."""

    indices: Any
    keys: Any
    values: list[Any]


class _Elements:
    """The elements of a barrier in one session. Thread safe.

    `condition` guards everything and is notified of every change.
    """

    def __init__(self, kinds: Sequence[DType], shapes: Sequence[Any], name: str) -> None:
        self._count, self._kinds, self._shapes = len(kinds), kinds, shapes
        self._name = f"_{next(_numbers)}_{name}"
        self.condition = threading.Condition()
        self._incomplete: dict[bytes, tuple[int, dict[int, Any]]] = {}
        self._ready: list[tuple[int, bytes, dict[int, Any]]] = []
        self._takers: list[object] = []  # the calls that wait for elements, first come first served
        self._next = _FIRST
        self._closed = self._cancelled = False

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of complete and of incomplete elements."""
        with self.condition:
            return len(self._ready), len(self._incomplete)

    def insert(self, component: int, keys: Any, values: Any) -> None:
        if not 0 <= component < self._count:
            raise invalid(f"The component ID is out of range {component} > num_components (= {self._count})")
        if np.ndim(keys) != 1 or not np.ndim(values) or len(keys) != len(values):
            raise invalid("keys and values must be vectors of the same length")
        shape = self._shapes[component]
        if not shape.is_compatible_with(values.shape[1:]):
            got, wanted = list(values.shape[1:]), [-1 if each is None else each for each in shape.sizes]
            raise invalid(f"Shape mismatch in tuple component {component + 2}. Expected {wanted}, got {got}")
        if not np.size(values) and len(keys):
            raise invalid(
                f"Tensors with no elements are not supported {self._name}: received shape {show(values.shape)}"
            )
        with self.condition:
            self._check_open(keys)
            new = False
            for key, value in zip(keys, values, strict=True):
                if key not in self._incomplete:
                    self._incomplete[key] = self._next, {}
                    new = True
                index, parts = self._incomplete[key]
                if component in parts:
                    raise invalid(
                        f"Key {key.decode(errors='replace')} already has a value for component {component} in barrier "
                        f"{self._name}"
                    )
                parts[component] = value
                if len(parts) == self._count:
                    del self._incomplete[key]
                    self._ready.append((index, key, parts))
            if new:
                self._next += 1
            self._ready.sort(key=lambda each: each[0])
            self.condition.notify_all()

    def _check_open(self, keys: Any) -> None:
        if self._cancelled:
            raise CancelledError(
                None,
                None,
                f"Barrier {self._name} is closed.  Pending enqueues cancelled: 1.  Number of new insertions: "
                f"{len(keys)}.  Number of incomplete keys: {len(self._incomplete)}.",
            )
        for at, key in enumerate(keys if self._closed else ()):
            if key not in self._incomplete:
                raise CancelledError(
                    None,
                    None,
                    f"Barrier {self._name} is closed, but attempted to insert a brand new key: "
                    f"{key.decode(errors='replace')}.  Pending enqueues cancelled: 0.  Insertion index: {at}.  Number "
                    f"of incomplete keys: {len(self._incomplete)}.",
                )

    def take(self, run: Any, number: int, small: bool) -> list[Any]:
        if number < 0:
            raise invalid(f"num_elements must be >= 0, got {number}")
        turn = object()
        with self.condition:
            self._takers.append(turn)
            try:
                run.wait_for(self.condition, lambda: self._takers[0] is turn and self._can_take(number, small))
                if len(self._ready) < number or self._closed:
                    number = self._available(number, small)
                taken, self._ready = self._ready[:number], self._ready[number:]
            finally:
                self._takers.remove(turn)
                self.condition.notify_all()
        indices = np.array([each[0] for each in taken], np.int64)
        keys = np.empty(len(taken), object)
        keys[:] = [each[1] for each in taken]
        columns = [_stacked([each[2][i] for each in taken], kind) for i, kind in enumerate(self._kinds)]
        return [indices, keys, *columns]

    def _can_take(self, number: int, small: bool) -> bool:
        """Whether to stop waiting: there are enough, or the barrier is closed and too few can come or fewer will do."""
        if len(self._ready) >= number:
            return True
        return self._closed and (small or len(self._ready) + len(self._incomplete) < number)

    def _available(self, number: int, small: bool) -> int:
        """How many elements to take from a closed barrier; OutOfRangeError if there are too few."""
        if not self._closed:
            return number
        wanted = min(number, len(self._ready)) if small else number
        there = len(self._ready) + (0 if small else len(self._incomplete))
        if there < max(wanted, 1):
            raise OutOfRangeError(
                None,
                None,
                f"Barrier '{self._name}' is closed and has insufficient elements (requested {wanted}, total size "
                f"{there})",
            )
        return wanted

    def close(self, cancel: bool) -> None:
        with self.condition:
            if self._closed and (self._cancelled or not cancel):
                raise CancelledError(None, None, f"Barrier '{self._name}' is already closed.")
            self._closed, self._cancelled = True, cancel
            if cancel:
                self._incomplete.clear()
            self.condition.notify_all()


def _stacked(values: list[Any], kind: DType) -> Any:
    if values and isinstance(values[0], bytes):
        result = np.empty(len(values), object)
        result[:] = values
        return result
    return np.stack(values) if values else np.empty(0, kind.np)


class Barrier:
    """Holds elements by key; an element is complete once all its components have been inserted.

    Args:
        types: The dtypes of the components.
        shapes: Their shapes; None for any shapes.
        shared_name: Barriers with the same shared name are the same in a session.
        name: Name of the operation.

    Raises:
        ValueError: A shape is empty, or their number is not that of the types.
    """

    def __init__(self, types: Any, shapes: Any = None, shared_name: str | None = None, name: str = "barrier") -> None:
        kinds = types if isinstance(types, (list, tuple)) else [types]
        self._types = [as_dtype(each) for each in kinds]
        if shapes is None:
            self._shapes = [unknown_shape() for _ in self._types]
        else:
            given = shapes if isinstance(shapes, (list, tuple)) and _nested(shapes) else [shapes]
            self._shapes = [as_shape(each) for each in given]
            if len(self._shapes) != len(self._types):
                raise ValueError(
                    f"List of shapes and types must have the same length, got {len(self._shapes)} and "
                    f"{len(self._types)}"
                )
            for i, shape in enumerate(self._shapes):
                if shape.num_elements() == 0:
                    raise ValueError(f"Empty tensors are not supported, but received shape '{shape}' at index {i}")
        kinds, shapes = self._types, self._shapes
        key: Any = ("barrier", get_default_graph()._container, shared_name) if shared_name else object()

        def kernel(run: Any) -> Any:
            return run.state(key, lambda: _Elements(kinds, shapes, shared_name or self._name))

        attrs = {
            "component_types": self._types,
            "shapes": self._shapes,
            "capacity": -1,
            "container": get_default_graph()._container,
            "shared_name": shared_name or "",
        }
        self._barrier_ref = tensor_node(
            "Barrier", [], kernel, dtypes.string._as_ref, (2,), name, attrs=attrs, stateful=True
        )
        self._name = self._barrier_ref.op.name.split("/")[-1]

    @property
    def barrier_ref(self) -> Tensor:
        """The tensor that stands for the barrier."""
        return self._barrier_ref

    @property
    def name(self) -> str:
        """The name of the operation."""
        return self._barrier_ref.op.name

    def insert_many(self, component_index: int, keys: Any, values: Any, name: str | None = None) -> Operation:
        """Return an operation that inserts one component of several elements.

        Args:
            component_index: Which component.
            keys: [n], the keys, strings.
            values: [n, ...], the component of each element.
            name: Name of the operation.

        Raises:
            InvalidArgumentError: At run time: a key has this component already, or a shape does not fit.
            CancelledError: At run time: the barrier is closed and a key is new.
        """
        with name_scope(name or f"{self._name}_BarrierInsertMany") as scope:
            op_type = "BarrierInsertMany"
            names = fixed_input(op_type, "keys", keys, dtypes.string)
            kind = self._types[component_index] if 0 <= component_index < len(self._types) else self._types[0]
            given = fixed_input(op_type, "values", values, kind)
            a, b = names.shape.sizes, given.shape.sizes
            if a is not None and b and None not in (a[0], b[0]) and a[0] != b[0]:
                raise ValueError(f"Dimension 0 in both shapes must be equal, but are {a[0]} and {b[0]}.")
            kernel = lambda run, held, k, v: held.insert(component_index, k, v)  # noqa: E731
            attrs = {"T": kind, "component_index": component_index}
            return node(op_type, [self._barrier_ref, names, given], [], kernel, scope, attrs, stateful=True)

    def take_many(
        self, num_elements: Any, allow_small_batch: bool = False, timeout: int | None = None, name: str | None = None
    ) -> BarrierTakeMany:
        """Return complete elements and remove them, those with the oldest keys first; the run waits for them.

        Args:
            num_elements: How many.
            allow_small_batch: Take fewer if the barrier is closed.
            timeout: Without effect; set a timeout for the run.
            name: Name of the operation.

        Raises:
            OutOfRangeError: At run time: the barrier is closed and has too few elements.
        """
        with name_scope(name or f"{self._name}_BarrierTakeMany") as scope:
            count = fixed_input("BarrierTakeMany", "num_elements", num_elements, dtypes.int32)
            known = None if allow_small_batch else constant_value(count)
            rows = None if known is None else int(known)
            outputs: list[Any] = [(dtypes.int64, [rows]), (dtypes.string, [rows])]
            outputs += [
                (kind, as_shape([rows]).concatenate(shape))
                for kind, shape in zip(self._types, self._shapes, strict=True)
            ]
            kernel = lambda run, held, n: held.take(run, int(n), allow_small_batch)  # noqa: E731
            attrs = {
                "component_types": self._types,
                "allow_small_batch": allow_small_batch,
                "wait_for_incomplete": False,
                "timeout_ms": -1 if timeout is None else timeout,
            }
            inputs = [self._barrier_ref, count]
            made = node("BarrierTakeMany", inputs, outputs, kernel, scope, attrs, blocking=True)
            return BarrierTakeMany(made.outputs[0], made.outputs[1], made.outputs[2:])

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Return an operation that closes the barrier to new keys.

        Args:
            cancel_pending_enqueues: Drop incomplete elements as well.
            name: Name of the operation.

        Raises:
            CancelledError: At run time: the barrier is closed already.
        """
        attrs = {"cancel_pending_enqueues": cancel_pending_enqueues}
        return node(
            "BarrierClose",
            [self._barrier_ref],
            [],
            lambda run, held: held.close(cancel_pending_enqueues),
            name or f"{self._name}_BarrierClose",
            attrs,
            stateful=True,
        )

    def ready_size(self, name: str | None = None) -> Tensor:
        """Return the number of complete elements."""
        return self._size("BarrierReadySize", 0, name)

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """Return the number of elements that lack components."""
        return self._size("BarrierIncompleteSize", 1, name)

    def _size(self, op_type: str, which: int, name: str | None) -> Tensor:
        kernel = lambda run, held: np.int32(held.sizes[which])  # noqa: E731
        scope = name or f"{self._name}_{op_type}"
        return tensor_node(op_type, [self._barrier_ref], kernel, dtypes.int32, (), scope, stateful=True)


def _nested(shapes: Any) -> bool:
    return any(not isinstance(each, int) and each is not None for each in shapes)
