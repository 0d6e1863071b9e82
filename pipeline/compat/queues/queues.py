"""Queue classes for a graph: their methods add operations; the queues themselves live in sessions."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from pipeline.compat.graph import dtypes as types
from pipeline.compat.graph.dtypes import as_dtype
from pipeline.compat.graph.scopes import get_default_graph, get_seed, name_scope, shared_seed
from pipeline.compat.graph.shapes import TensorShape, as_shape, unknown_shape
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.queues import ops
from pipeline.compat.queues.arguments import as_bool, as_int, as_list, as_names, as_shapes, as_text
from pipeline.compat.queues.in_session import QueueSpec


class QueueBase:
    """Operations shared by all kinds of queue.

    Make a queue with a subclass or with `from_list`.

    Args:
        dtypes: List of component DTypes.
        shapes: List of component shapes, or None.
        names: List of component names, or None.
        queue_ref: The queue handle's tensor.

    Thread safety: the operations may run in several threads of a session at the same time.
    """

    def __init__(self, dtypes: Any, shapes: Any, names: Any, queue_ref: Any) -> None:
        self._dtypes = dtypes
        if shapes is not None and len(shapes) != len(dtypes):
            raise ValueError(
                "Queue shapes must have the same length as dtypes, "
                f"received len(shapes)={len(shapes)}, len(dtypes)={len(dtypes)}"
            )
        self._shapes = [unknown_shape() for _ in dtypes] if shapes is None else [as_shape(each) for each in shapes]
        if names is not None and len(names) != len(dtypes):
            raise ValueError(
                f"Queue names must have the same length as dtypes,received len(names)={len(names)},"
                f"len(dtypes)={len(dtypes)}"
            )
        self._names = names
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.rpartition("/")[2]

    @staticmethod
    def from_list(index: Any, queues: list[QueueBase]) -> QueueBase:
        """Make a queue whose operations use `queues[index]`.

        Args:
            index: An integer scalar, as a number or tensor.
            queues: Non-empty list of queues with equal dtypes and names.

        Raises:
            TypeError: `queues` is not such a list.
        """
        if not isinstance(queues, list) or not queues or not all(isinstance(each, QueueBase) for each in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if not all(each.dtypes == first.dtypes for each in queues[1:]):
            raise TypeError("Queues do not have matching component dtypes.")
        if not all(each.names == first.names for each in queues[1:]):
            raise TypeError("Queues do not have matching component names.")
        shapes = [functools.reduce(_common, each) for each in zip(*(queue.shapes for queue in queues), strict=True)]
        selected = ops.select(index, [each.queue_ref for each in queues])
        return QueueBase(dtypes=first.dtypes, shapes=shapes, names=first.names, queue_ref=selected)

    @property
    def queue_ref(self) -> Tensor:
        """The tensor with the queue's handle."""
        return self._queue_ref  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        """The name of the queue's operation."""
        return self._queue_ref.op.name  # type: ignore[no-any-return]

    @property
    def dtypes(self) -> list[Any]:
        """The DType of each component."""
        return self._dtypes  # type: ignore[no-any-return]

    @property
    def shapes(self) -> list[TensorShape]:
        """The shape of each component."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The name of each component, or None."""
        return self._names  # type: ignore[no-any-return]

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Return an operation that enqueues one element.

        Args:
            vals: A list or tuple of the components, a single component by itself, or a dict if the queue has names.
            name: Name of the operation.

        Raises:
            ValueError: A tensor's static shape or dtype does not fit; there are no values; a dict for a queue without
                names, or no dict for one with names.
            TypeError: A value does not fit its dtype.
        """
        with name_scope(name, f"{self._name}_enqueue", [vals]) as scope:
            tensors = self._tensors(vals)
            for tensor, shape in zip(tensors, self._shapes, strict=False):
                tensor.shape.assert_is_compatible_with(shape)
            return ops.enqueue(self._queue_ref, tensors, scope)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Return an operation that enqueues one element per row of the components.

        Args, Raises: As in `enqueue`; each component's first dimension counts the elements.
        """
        with name_scope(name, f"{self._name}_EnqueueMany", [vals]) as scope:
            tensors = self._tensors(vals)
            rows = tensors[0].shape.with_rank_at_least(1)[0]
            for tensor, shape in zip(tensors, self._shapes, strict=False):
                rows = rows.merge_with(tensor.shape.with_rank_at_least(1)[0])
                tensor.shape[1:].assert_is_compatible_with(shape)
            return ops.enqueue_many(self._queue_ref, tensors, scope)

    def dequeue(self, name: str | None = None) -> Any:
        """Dequeue one element; return its tensor, a list for several components, or a dict if the queue has names."""
        outputs = zip(self._types(), self._shapes, strict=True)
        return self._result(ops.dequeue(self._queue_ref, list(outputs), self._named(name, "Dequeue")))

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Dequeue `n` elements; return their tensors, stacked.

        Args:
            n: An int32 scalar, as a number or tensor.
            name: Name of the operation.

        Raises:
            ValueError: `n` is None, or known to be negative.
            TypeError: `n` is not an int32.
        """
        name = self._named(name, "DequeueMany")
        return self._result(ops.dequeue_many("Many", self._queue_ref, n, self._types(), self._shapes, name))

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """Dequeue as `dequeue_many` does, but take the rest if the queue is closed with fewer than `n` elements."""
        name = self._named(name, "DequeueUpTo")
        return self._result(ops.dequeue_many("UpTo", self._queue_ref, n, self._types(), self._shapes, name))

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Return an operation that closes the queue, after waiting enqueues or, if it cancels them, at once."""
        cancel = as_bool(cancel_pending_enqueues, "cancel_pending_enqueues")
        return ops.close(self._queue_ref, cancel, self._named(name, "Close"))

    def size(self, name: str | None = None) -> Tensor:
        """Return the queue's size as an int32 scalar."""
        return ops.size(self._queue_ref, self._named(name, "Size"))

    def is_closed(self, name: str | None = None) -> Tensor:
        """Return whether the queue is closed, as a bool scalar."""
        return ops.is_closed(self._queue_ref, self._named(name, "Is_Closed"))

    def _named(self, name: str | None, what: str) -> str:
        return f"{self._name}_{what}" if name is None else name

    def _types(self) -> list[types.DType]:
        return [as_dtype(each) for each in self._dtypes]

    def _tensors(self, vals: Any) -> list[Tensor]:
        """Return the components in `vals`, in order, as tensors."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(vals.keys(), key=str):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  "
                    f"Dictionary: {sorted(vals.keys(), key=str)},Queue: {sorted(self._names, key=str)}"
                )
            vals = [vals[key] for key in self._names]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a Queue with names")
            if not isinstance(vals, (list, tuple)):
                vals = [vals]
        return [
            ops.component(value, dtype, i) for i, (value, dtype) in enumerate(zip(vals, self._types(), strict=False))
        ]

    def _result(self, tensors: Sequence[Tensor]) -> Any:
        if self._names:
            return dict(zip(self._names, tensors, strict=True))
        return tensors[0] if len(tensors) == 1 else list(tensors)


class FIFOQueue(QueueBase):
    """A queue whose elements leave in the order in which they were enqueued.

    Args:
        capacity: Maximum number of elements; negative or None for no limit.
        dtypes: DType of the components, or a list with one per component.
        shapes: Fully defined component shapes; None allows any shape, and makes `dequeue_many` unavailable.
        names: Component names; elements are then dicts.
        shared_name: All sessions share the queue with this name.
        name: Name of the operation.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str | None = "fifo_queue",
    ) -> None:
        kinds = as_list(dtypes)
        known = as_shapes(shapes)
        labels = as_names(names, kinds)
        graph = get_default_graph()
        with graph.control_dependencies(None), graph.device("CPU"):  # TensorFlow does this for FIFOQueue alone
            ref = _make("FIFOQueue", capacity, kinds, known, shared_name, name)
        super().__init__(kinds, known, labels, ref)


class RandomShuffleQueue(QueueBase):
    """A queue whose elements leave in random order.

    Args:
        capacity, dtypes, shapes, names, shared_name, name: As in FIFOQueue.
        min_after_dequeue: Minimum number of elements left in the queue by a dequeue while it is open.
        seed: Random seed; see `set_random_seed`.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str | None = "random_shuffle_queue",
    ) -> None:
        kinds = as_list(dtypes)
        known = as_shapes(shapes)
        labels = as_names(names, kinds)
        first, second = get_seed(seed)
        if seed is None and first and shared_name:
            second = shared_seed(first, shared_name)
        ref = _make(
            "RandomShuffleQueue",
            capacity,
            kinds,
            known,
            shared_name,
            name,
            min_after_dequeue=min_after_dequeue,
            seeds=(first, second),
        )
        super().__init__(kinds, known, labels, ref)


class PaddingFIFOQueue(QueueBase):
    """A FIFOQueue for elements with varying shapes, padded to the largest in each batch.

    Args:
        capacity, dtypes, names, shared_name, name: As in FIFOQueue.
        shapes: List with one shape per component; dimensions may be None.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str | None = "padding_fifo_queue",
    ) -> None:
        kinds = as_list(dtypes)
        known = as_shapes(shapes, partial=True)
        labels = as_names(names, kinds)
        if known is None or len(known) != len(kinds):
            raise ValueError(
                "Shapes must be provided for all components, but received "
                f"{len(kinds)} dtypes and {len(known or ())} shapes."
            )
        ref = _make("PaddingFIFOQueue", capacity, kinds, known, shared_name, name)
        super().__init__(kinds, known, labels, ref)


class PriorityQueue(QueueBase):
    """A queue whose elements leave by their first component, an int64 scalar, smallest first.

    Args:
        capacity, names, shared_name, name: As in FIFOQueue; `names` includes the priority's name.
        types: DTypes of the other components.
        shapes: Their shapes.
    """

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str | None = "priority_queue",
    ) -> None:
        kinds = as_list(types)
        known = as_shapes(shapes)
        ref = _make("PriorityQueue", capacity, kinds, known, shared_name, name)
        all_shapes = None if known is None else [as_shape(()), *known]
        super().__init__([as_dtype("int64"), *kinds], all_shapes, names, ref)


def _make(
    kind: str,
    capacity: Any,
    kinds: list[Any],
    shapes: list[TensorShape] | None,
    shared_name: str | None,
    name: str | None,
    *,
    min_after_dequeue: Any = None,
    seeds: tuple[int, int] | None = None,
) -> Tensor:
    """Make a new queue's handle; only a shuffle queue has `seeds`."""
    dtypes = [as_dtype(each) for each in kinds]
    if not dtypes and kind != "PriorityQueue":
        raise ValueError(f"Attr 'component_types' of '{kind}V2' Op passed list of length 0 less than minimum 1.")
    limit = -1 if capacity is None else as_int(capacity, "capacity")
    if shapes is not None and len(shapes) != len(dtypes):
        raise ValueError(
            "Queue shapes must have the same length as dtypes, "
            f"received len(shapes)={len(shapes)}, len(dtypes)={len(dtypes)}"
        )
    spec = QueueSpec(
        kind=kind,
        capacity=limit,
        dtypes=dtypes,
        shapes=shapes,
        graph=get_default_graph(),
        shared_name=as_text(shared_name, "shared_name"),
        min_after_dequeue=0 if min_after_dequeue is None else as_int(min_after_dequeue, "min_after_dequeue"),
        seeds=seeds or (0, 0),
    )
    attrs = _attrs(spec, shuffled=seeds is not None)
    if kind == "PriorityQueue":
        spec.dtypes = [types.int64, *dtypes]
        spec.shapes = None if shapes is None else [as_shape(()), *shapes]
    return ops.queue(f"{kind}V2", spec, attrs, name)


def _attrs(spec: QueueSpec, shuffled: bool) -> dict[str, Any]:
    """Return the attributes of a queue's operation; the components are the user's, without a priority."""
    attrs: dict[str, Any] = {
        "capacity": spec.capacity,
        "component_types": spec.dtypes,
        "container": spec.container,
        "shapes": spec.shapes or [],
        "shared_name": spec.shared_name,
    }
    if shuffled:
        attrs["min_after_dequeue"] = spec.min_after_dequeue
        attrs["seed"], attrs["seed2"] = spec.seeds
    return attrs


def _common(a: TensorShape, b: TensorShape) -> TensorShape:
    return a.most_specific_compatible_shape(b)
