"""while_loop: operations that run again and again while a bool scalar is true."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pipeline import errors
from pipeline.compat.graph import dtypes
from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.graph.scopes import add_to_collection, control_dependencies, name_scope
from pipeline.compat.graph.shapes import TensorShape, as_shape
from pipeline.compat.graph.tensor import Operation, Tensor, caller, new_tensor
from pipeline.compat.ops.control.contexts import Context, merge, passing, switch
from pipeline.compat.ops.control.flow import identity_of, variables_as_tensors
from pipeline.compat.ops.control.tensor_array import TensorArray, flows, with_flows
from pipeline.compat.ops.making.opdef import check_scalar
from pipeline.compat.ops.math.logic import logical_and
from pipeline.compat.session.plan import Subplan
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.nesting import assert_same_structure, flatten, is_nested, map_structure, pack_as
from pipeline.compat.values.sparse_tensor import IndexedSlices, SparseTensor
from pipeline.errors import invalid


class Loop(Context):
    """A loop under construction; see Context.

    One hidden operation runs the whole loop, so that no plan has a cycle: it takes the values of the Enter nodes, runs
    the plans of condition and body, and hands the final values to the Exit nodes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._before: list[Operation] = []

    def add_control(self, op: Operation) -> None:
        """A control input from outside the loop runs once, before the loop."""
        inside = [each for each in op.control_inputs if each in self.ops]
        self._before += [each for each in op.control_inputs if each not in self.ops and each not in self._before]
        op.control_inputs[:] = inside

    def capture(self, tensor: Tensor) -> Tensor:
        """Bring `tensor` in through an Enter."""
        return passing("Enter", tensor)

    def build(self, cond: Any, body: Any, loop_vars: Any, invariants: Any, same_structure: bool) -> Any:
        """Build the loop; return the body's results with the values after the last iteration."""
        leaves = flatten(loop_vars, composites=True)
        loop_vars = map_structure(_as_tensor, loop_vars)
        variables = flatten(with_flows(loop_vars), composites=True)
        shapes = [each.get_shape() for each in variables] if invariants is None else _shapes(loop_vars, invariants)
        with self.entered():
            result, exits = self._build(cond, body, loop_vars, leaves, variables, shapes)
        for op in (each.op for each in exits):
            if self.outer is not None:
                self.graph.prevent_fetching(op)
        packed = pack_as(result, flows(flatten(result, composites=True), exits), composites=True)
        return packed if same_structure or len(exits) > 1 else packed[0]

    def _build(
        self,
        cond: Any,
        body: Any,
        loop_vars: Any,
        leaves: list[Any],
        variables: list[Tensor],
        shapes: list[TensorShape],
    ) -> tuple[Any, list[Tensor]]:
        outside = [each if self.outer is None else self.outer.value(each) for each in variables]
        with control_dependencies(None):
            enters = [_enter(each, shape) for each, shape in zip(outside, shapes, strict=True)]
        for each in enters:
            self.own(each.op)
        merges = [merge([each, each]) for each in enters]
        args = pack_as(loop_vars, flows(leaves, merges), composites=True)
        pivot = _loop_cond(convert_to_tensor(cond(*args)))
        switches = [switch(each, pivot) for each in merges]
        inner = [identity_of(each[1]) for each in switches]
        args = pack_as(loop_vars, flows(leaves, inner), composites=True)
        result = body(*args)
        if not is_nested(result):
            result = [result]
        result = variables_as_tensors(result)
        assert_same_structure(list(args), list(result))
        after = [convert_to_tensor(each) for each in flatten(with_flows(result), composites=True)]
        if len(after) != len(merges):
            raise ValueError(
                "Number of inputs and outputs of 'body' must match 'loop_vars'. "
                f"Got {len(merges)} for the number of inputs/outputs, and {len(after)} for 'loop_vars'."
            )
        following = [_next(one, other) for one, other in zip(merges, after, strict=True)]
        runner = self._runner(enters, merges, pivot, inner, following)
        exits = [
            passing("Exit", each, shape=one[0].get_shape()) for each, one in zip(runner.outputs, switches, strict=True)
        ]
        return result, exits

    def _runner(
        self,
        enters: list[Tensor],
        merges: list[Tensor],
        pivot: Tensor,
        inner: list[Tensor],
        following: list[Tensor],
    ) -> Operation:
        """The operation that runs the loop: part of the plans, but not of the graph's list of operations."""
        captured = list(dict.fromkeys(self.captured.values()))
        after = [each.op.inputs[0] for each in following]

        def plans() -> tuple[Subplan, Subplan]:
            condition = Subplan([*merges, *captured], [pivot.op.inputs[0]])
            return condition, Subplan([*inner, *captured], after)

        wrong = _other_dtype(merges, following)
        op = Operation()
        op.graph, op.type, op.name = self.graph, "While", merges[0].op.name
        op.attrs, op.stateful, op.rows, op.handle = {"ops": tuple(self.ops)}, True, None, False
        op.blocking = any(each.blocking for each in self.ops)
        op.inputs = [*enters, *captured]
        # Captured refs are read where the body uses them, so that the body sees what it assigns.
        op.ref_inputs = tuple(range(len(enters), len(op.inputs)))
        op.control_inputs = list(self._before)
        op.made_at, op._id, op._device = caller(), self.graph.version, ""
        op.kernel = _running(plans, len(enters), wrong)
        op.outputs = [new_tensor(op, i, each.dtype, each.get_shape()) for i, each in enumerate(merges)]
        self.own(op)
        return op


def _running(plans: Callable[[], tuple[Subplan, Subplan]], count: int, wrong: str) -> Callable[..., Any]:
    # Each session has its own plans, because plans hold objects of the session.
    key = object()

    def kernel(run: Any, *values: Any) -> Any:
        if wrong:
            raise invalid(wrong)
        condition, step = run.state(key, plans)
        variables, captured = list(values[:count]), values[count:]
        while True:
            goes_on = condition.run(run, [*variables, *captured])[0]
            check_scalar(goes_on, "The condition of the loop must be a scalar, but it has shape {}")
            if not goes_on:
                return variables[0] if count == 1 else variables
            if run.cancelled:
                raise errors.CancelledError(None, None, "The loop was cancelled")
            if run.remaining() == 0:
                raise errors.DeadlineExceededError(None, None, "Timed out waiting for notification")
            variables = step.run(run, [*variables, *captured])

    return kernel


def _other_dtype(merges: list[Tensor], following: list[Tensor]) -> str:
    """The error text if a loop variable changes its dtype, else ""."""
    for one, other in zip(merges, following, strict=True):
        if one.dtype.base_dtype != other.dtype.base_dtype:
            return (
                f"Input 1 of node {one.op.name} was passed {other.dtype.base_dtype.name} from {other.name} "
                f"incompatible with expected {one.dtype.base_dtype.name}."
            )
    return ""


def _as_tensor(value: Any) -> Any:
    if isinstance(value, (TensorArray, SparseTensor, IndexedSlices)):
        return value
    return convert_to_tensor(value)


def _shapes(loop_vars: Any, invariants: Any) -> list[TensorShape]:
    """The shape invariants of the loop variables, one for each tensor."""
    given = _flat_shapes(invariants)
    leaves = flatten(loop_vars)
    if len(given) != len(leaves):
        raise ValueError("while_loop: 'shape_invariants' must have the same structure as 'loop_vars'")
    shapes: list[TensorShape] = []
    for leaf, shape in zip(leaves, given, strict=True):
        if isinstance(leaf, SparseTensor):
            rank = as_shape(shape).ndims
            shapes += [as_shape([None, rank]), as_shape([None]), as_shape([rank])]
        elif isinstance(leaf, IndexedSlices):
            shapes += [as_shape(shape), as_shape([None])]
        elif shape is None:
            shapes.append(leaf.get_shape())
        elif isinstance(shape, TensorShape):
            shapes.append(shape)
        else:
            raise TypeError(f"'shape_invariants' must be TensorShapes. Received {shape!r}.")
    return shapes


def _flat_shapes(invariants: Any) -> list[Any]:
    if isinstance(invariants, TensorShape) or not is_nested(invariants):
        return [invariants]
    return flatten(invariants)


def _within(shape: TensorShape, general: TensorShape) -> bool:
    """Whether every tensor of shape `shape` also fits `general`."""
    if general.sizes is None:
        return True
    if shape.sizes is None or len(shape.sizes) != len(general.sizes):
        return False
    return all(two is None or one == two for one, two in zip(shape.sizes, general.sizes, strict=True))


def _enter(tensor: Tensor, shape: TensorShape) -> Tensor:
    if not _within(tensor.get_shape(), shape):
        raise ValueError(
            f"The shape invariant specified for {tensor.name} is not compatible with the initial shape of the loop "
            f"variable. It enters the loop with shape {tensor.get_shape()}, but the specified shape invariant is "
            f"{shape}."
        )
    return passing("Enter", tensor, shape=shape)


def _loop_cond(goes_on: Tensor) -> Tensor:
    if goes_on.dtype.base_dtype != dtypes.bool:
        raise TypeError(
            f"Input 'input' of 'LoopCond' Op has type {goes_on.dtype.name} that does not match expected type of bool."
        )
    if goes_on.get_shape().ndims not in (None, 0):
        raise ValueError(f"Shape must be rank 0 but is rank {goes_on.get_shape().ndims} for a LoopCond")
    return passing("LoopCond", goes_on, shape=[])


def _next(merged: Tensor, after: Tensor) -> Tensor:
    following = passing("NextIteration", after)
    if not _within(after.get_shape(), merged.get_shape()):
        entered = merged.op.inputs[0].op.inputs[0]
        raise ValueError(
            f"Input tensor '{entered.name}' enters the loop with shape {merged.get_shape()}, but has shape "
            f"{after.get_shape()} after one iteration. To allow the shape to vary across iterations, use the "
            "`shape_invariants` argument of tf.while_loop to specify a less-specific shape."
        )
    return following


def while_loop(
    cond: Any,
    body: Any,
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Run `loop_vars = body(*loop_vars)` while `cond(*loop_vars)` is true; return the last `loop_vars`.

    Args:
        cond: Returns a bool scalar.
        body: Returns the next values, in the structure of `loop_vars`.
        loop_vars: A list or tuple of tensors, sparse tensors, or nested structures of them.
        shape_invariants: Shapes that hold in every iteration; by default those of `loop_vars`.
        parallel_iterations: Without effect: iterations run one after another.
        back_prop: Without effect.
        swap_memory: Without effect.
        name: Name of the scope.
        maximum_iterations: An integer scalar.
        return_same_structure: Keep a result that is a list of one as a list.

    Raises:
        TypeError: A function is not callable, or `parallel_iterations` < 1.
        ValueError: There are no loop variables, or their shapes or structure change.
    """
    if not callable(cond):
        raise TypeError("'cond' must be callable.")
    if not callable(body):
        raise TypeError("'body' must be callable.")
    if parallel_iterations < 1:
        raise TypeError("'parallel_iterations' must be a positive integer.")
    if is_nested(loop_vars):
        loop_vars = variables_as_tensors(loop_vars)
    with name_scope(name, "while", loop_vars):
        if not loop_vars:
            raise ValueError("'loop_vars' must be provided.")
        limited = maximum_iterations is not None
        if limited:
            single = len(loop_vars) == 1 and not return_same_structure
            cond, body, loop_vars = _limited(cond, body, loop_vars, maximum_iterations, single)
            if shape_invariants is not None:
                inner = shape_invariants[0] if single else shape_invariants
                shape_invariants = (as_shape([]), inner)
        loop = Loop()
        if loop.outer is None:
            add_to_collection(GraphKeys.WHILE_CONTEXT, loop)
        result = loop.build(cond, body, loop_vars, shape_invariants, return_same_structure)
        return result[1] if limited else result


def _limited(cond: Any, body: Any, loop_vars: Sequence[Any], limit: Any, single: bool) -> tuple[Any, Any, Any]:
    """Condition, body and variables of the loop with a counter that ends it after `limit` iterations."""
    limit = convert_to_tensor(limit, name="maximum_iterations")
    if limit.get_shape().ndims != 0:
        raise ValueError(f"'maximum_iterations' must be a scalar. Received shape: {limit.get_shape()}")
    counter = constant(0, limit.dtype, name="iteration_counter")

    def both(count: Any, variables: Any) -> Any:
        below = count < limit
        return logical_and(below, cond(variables) if single else cond(*variables))

    def counting(count: Any, variables: Any) -> Any:
        following = count + 1
        return following, body(variables) if single else body(*variables)

    return both, counting, (counter, loop_vars[0] if single else loop_vars)
