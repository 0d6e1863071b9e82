"""map_fn and scan: one operation runs part of the graph for each tensor row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline import errors
from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import control_dependencies, name_scope
from pipeline.compat.graph.shapes import TensorShape, as_shape, unknown_shape
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.arrays.joining import concat
from pipeline.compat.ops.control.cond import Context
from pipeline.compat.ops.control.flow import variables_as_tensors
from pipeline.compat.session.plan import Subplan
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.nesting import assert_same_structure, flatten, pack_as
from pipeline.errors import invalid, show

_SCALARS = "Elements in elems must be 1+ dimensional Tensors, not scalars"


class _Body(Context):
    """Operations on each row; they run only within the operation made by `each_row`.

    Attributes:
        given: Outer tensors it uses, and their stand-ins inside.
        before: Outer operations it waits for.
    """

    def __init__(self) -> None:
        super().__init__()
        self.given: list[tuple[Tensor, Tensor]] = []
        self.before: list[Operation] = []

    def add_control(self, op: Operation) -> None:
        """Run a control input from outside once, before the first row."""
        self.before += [each for each in op.control_inputs if each not in self.ops]
        op.control_inputs[:] = [each for each in op.control_inputs if each in self.ops]

    def capture(self, tensor: Tensor) -> Tensor:
        """Bring `tensor` inside."""
        inside = self.stand_in(tensor.dtype, tensor.get_shape(), "Captured")
        self.given.append((tensor, inside))
        return inside

    def stand_in(self, dtype: DType, shape: Any, op_type: str = "Given") -> Tensor:
        """Return a tensor set by each body run; "Captured" may be set to a variable's Cell."""
        with control_dependencies(None):
            made = tensor_node(op_type, [], None, dtype, shape)
        self.own(made.op)
        self.graph.prevent_fetching(made.op)
        return made


def _each_row(
    rows: list[Tensor], start: list[Tensor], step: Callable[..., list[Any]], kinds: list[DType], infer: bool, back: bool
) -> list[Tensor]:
    """Make the operation that calls `step` for each row, and return the stacked results.

    Args:
        rows: Tensors with equal row counts.
        start: The first state. Each result is the next row's state; without `start`, rows are independent.
        step: Takes a state and a row, two lists; returns tensors.
        kinds: Result dtypes.
        infer: True if all results have the same shape.
        back: Begin with the last row.
    """
    count = _static_count(rows)
    body = _Body()
    with body.entered():
        states = [body.stand_in(each.dtype.base_dtype, each.get_shape()) for each in start]
        inside = [body.stand_in(each.dtype.base_dtype, each.get_shape()[1:]) for each in rows]
        returned = zip(step(states, inside), kinds, strict=True)
        made = [body.value(convert_to_tensor(each, preferred_dtype=kind)) for each, kind in returned]
    for one, other in zip(states, made, strict=False):
        if not _within(other.get_shape(), one.get_shape()):
            raise ValueError(f"fn is given the shape {one.get_shape()}, but returns {other.get_shape()}")
    plan = Subplan([*states, *inside, *(each for _, each in body.given)], made)
    shapes = [each.get_shape() if infer else unknown_shape() for each in made]

    def kernel(run: Any, *values: Any) -> Any:
        given = values[len(start) :]
        state: Sequence[Any] = values[: len(start)]
        parts, outside = given[: len(rows)], given[len(rows) :]
        if not all(map(np.ndim, parts)):
            raise invalid(_SCALARS)
        if len({len(each) for each in parts}) > 1:
            raise invalid(f"elems must have the same number of rows, not {', '.join(str(len(each)) for each in parts)}")
        order = range(len(parts[0]))
        results: list[list[Any]] = [[] for _ in kinds]
        for at in reversed(order) if back else order:
            if run.cancelled:
                raise errors.CancelledError(None, None, "The loop was cancelled")
            if run.remaining() == 0:
                raise errors.DeadlineExceededError(None, None, "Timed out waiting for notification")
            found = plan.run(run, [*state, *(each[at] for each in parts), *outside])
            state = found if start else ()
            for into, each in zip(results, found, strict=True):
                into.append(each)
        stacked = [
            _stacked(each[::-1] if back else each, kind, shape, infer)
            for each, kind, shape in zip(results, kinds, shapes, strict=True)
        ]
        return stacked if len(stacked) > 1 else stacked[0]

    op = node(
        "EachRow",
        [*start, *rows, *(each for each, _ in body.given)],
        [(kind, as_shape([count]).concatenate(shape)) for kind, shape in zip(kinds, shapes, strict=True)],
        kernel,
        stateful=True,
        blocking=any(each.blocking for each in body.ops),
        control_inputs=list(dict.fromkeys(body.before)),
        # Variables are read where the body uses them, so it sees its own assignments.
        ref_inputs=tuple(range(len(start) + len(rows), len(start) + len(rows) + len(body.given))),
    )
    return op.outputs


def _stacked(values: list[Any], kind: DType, shape: TensorShape, infer: bool) -> Any:
    if not values:
        return np.zeros((0, *(size or 0 for size in shape.sizes or ())), kind.np)
    first = np.shape(values[0])
    for place, value in enumerate(values):
        found = dtypes.string.np if isinstance(value, bytes) else value.dtype
        if found != kind.np:
            raise invalid(f"fn must return {kind.name}, but returned {found}.")
        if np.shape(value) != first:
            hint = " (consider setting infer_shape=False)" if infer else ""
            raise invalid(
                f"The rows have inconsistent shapes.  Index 0 has shape: {show(first)} but index {place} has shape: "
                f"{show(np.shape(value))}{hint}"
            )
    return np.stack([np.asarray(value, object) for value in values] if kind == dtypes.string else values)


def _static_count(tensors: list[Tensor]) -> Any:
    """Return the row count as a Dimension; ValueError if tensors are known to differ."""
    if any(each.get_shape().ndims == 0 for each in tensors):
        raise ValueError(_SCALARS)
    sizes = [each.get_shape().with_rank_at_least(1)[0] for each in tensors]
    for each in sizes[1:]:
        sizes[0].assert_is_compatible_with(each)
    return sizes[0]


def _within(shape: TensorShape, general: TensorShape) -> bool:
    """Return whether every tensor with shape `shape` also fits `general`."""
    if general.sizes is None:
        return True
    if shape.sizes is None or len(shape.sizes) != len(general.sizes):
        return False
    return all(two is None or one == two for one, two in zip(shape.sizes, general.sizes, strict=True))


def _check_callable(fn: Any) -> None:
    if not callable(fn):
        raise TypeError(f"{fn!r} is not callable. Please provide a callable function.")


def map_fn(
    fn: Any,
    elems: Any,
    dtype: Any = None,
    parallel_iterations: Any = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """Return the results of `fn` for each row, stacked.

    Args:
        fn: Called once with a row's stand-ins, nested as `elems`; returns tensors.
        elems: A tensor, or nested tensors with equal row counts.
        dtype: Dtypes for the results of `fn`, in its structure; as in `elems` by default.
        infer_shape: True if all results have the same shape.
        parallel_iterations, back_prop, swap_memory: Without effect.
        name: Scope name.
        fn_output_signature: New name for `dtype`.

    Raises:
        TypeError: `fn` is not callable.
        ValueError: `elems` contains no tensor, or a scalar; row counts differ, or `fn` returns another structure.
    """
    _check_callable(fn)
    signature = dtype if fn_output_signature is None else fn_output_signature
    elems = variables_as_tensors(elems)
    flat = flatten(elems)
    if not flat:
        text = "elems must be a Tensor or (possibly nested) sequence of Tensors."
        raise ValueError(f"{text} Got {elems}, which does not contain any Tensors.")
    with name_scope(name, "map", flat):
        tensors = [convert_to_tensor(each, name="elem") for each in flat]
        like = elems if signature is None else signature
        kinds = [each.dtype for each in tensors] if signature is None else map(dtypes.as_dtype, flatten(signature))

        def step(_: Any, row: list[Tensor]) -> list[Any]:
            value = variables_as_tensors(fn(pack_as(elems, row)))
            assert_same_structure(like, value)
            return flatten(value)

        return pack_as(like, _each_row(tensors, [], step, [each.base_dtype for each in kinds], infer_shape, False))


def scan(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Return all values of `accumulated = fn(accumulated, row)`, one per row, stacked.

    Args:
        fn: Called once with stand-ins for `accumulated` and a row.
        elems: A tensor, or nested tensors with equal row counts.
        initializer: The first `accumulated`, not part of the result; by default the first row, as part of the result.
        infer_shape: True if all results have the same shape.
        reverse: Start with the last row.
        parallel_iterations, back_prop, swap_memory: Without effect.
        name: Scope name.

    Raises:
        TypeError: `fn` is not callable.
        ValueError: The row counts differ, or `fn` returns another structure or shape than its argument's.
    """
    _check_callable(fn)
    like = elems if initializer is None else initializer
    flat = flatten(elems)
    with name_scope(name, "scan", flat):
        tensors: list[Any] = [convert_to_tensor(each, name="elem") for each in flat]
        _static_count(tensors)

        def step(accumulated: list[Tensor], row: list[Tensor]) -> list[Any]:
            value = variables_as_tensors(fn(pack_as(like, accumulated), pack_as(elems, row)))
            assert_same_structure(like, value)
            return flatten(value)

        first: list[Any] = []
        if initializer is None:
            first = [each[-1:] if reverse else each[:1] for each in tensors]
            start = [each[-1] if reverse else each[0] for each in tensors]
            tensors = [each[:-1] if reverse else each[1:] for each in tensors]
        else:
            start = [convert_to_tensor(each) for each in flatten(initializer)]
        made = _each_row(tensors, start, step, [each.dtype.base_dtype for each in start], infer_shape, reverse)
        if first:
            pairs = zip(first, made, strict=True)
            made = [concat([rows, one] if reverse else [one, rows], 0) for one, rows in pairs]
        return pack_as(like, made)
