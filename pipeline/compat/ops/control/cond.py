"""cond: runs one of two branches; Context: gives branches stand-ins for outer tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pipeline._steps import DEAD
from pipeline.compat.graph import dtypes
from pipeline.compat.graph.node import node
from pipeline.compat.graph.scopes import control_dependencies, get_default_graph, name_scope
from pipeline.compat.graph.shapes import TensorShape, unknown_shape
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.control.flow import identity_of, variables_as_tensors, with_dependencies
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.nesting import assert_same_structure, flatten, pack_as
from pipeline.errors import invalid, show


class Context:
    """Base class for cond branches and for map_fn and scan bodies.

    Attributes:
        outer: The enclosing context, or None.
        ops: Operations made inside, including nested contexts.
        captured: Outer tensors and their stand-ins inside.
    """

    def __init__(self) -> None:
        self.graph = get_default_graph()
        self.outer: Context | None = self.graph._control_flow_context
        self.ops: set[Operation] = set()
        self.captured: dict[Tensor, Tensor] = {}

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Add the operations in the `with` block to this context."""
        graph = self.graph
        old, graph._control_flow_context = graph._control_flow_context, self
        try:
            yield
        finally:
            graph._control_flow_context = old

    def own(self, op: Operation) -> None:
        """Record an operation as made inside this context and all enclosing ones."""
        context: Context | None = self
        while context is not None:
            context.ops.add(op)
            context = context.outer

    def add_op(self, op: Operation) -> None:
        """Add a new operation and replace its outer inputs by their stand-ins."""
        if not all(each.op in self.ops for each in op.inputs):
            with name_scope(f"{op.name}/"):
                op.inputs = [self.value(each) for each in op.inputs]
        self.add_control(op)
        self.own(op)
        self.graph.prevent_fetching(op)

    def add_control(self, op: Operation) -> None:
        """Make an operation wait until the context is entered."""
        raise NotImplementedError

    def value(self, tensor: Tensor) -> Tensor:
        """Return the stand-in for `tensor` inside, made on first use."""
        if tensor.op in self.ops:
            return tensor
        if tensor not in self.captured:
            outside = tensor if self.outer is None else self.outer.value(tensor)
            with control_dependencies(None):
                inside = self.capture(outside)
            self.own(inside.op)
            self.graph.prevent_fetching(inside.op)
            self.captured[tensor] = self.captured[outside] = inside
        return self.captured[tensor]

    def capture(self, tensor: Tensor) -> Tensor:
        """Make the node that brings `tensor` inside."""
        raise NotImplementedError


class Branch(Context):
    """One branch in a cond.

    Args:
        pred: The scalar condition.
        pivot: `pred`, alive in this branch only.
        branch: 1 for the branch taken if `pred` is true, 0 for the other.
    """

    def __init__(self, pred: Tensor, pivot: Tensor, branch: int) -> None:
        super().__init__()
        self.pred, self.pivot, self.branch = pred, pivot, branch
        self.ops.update((pred.op, pivot.op))

    def add_control(self, op: Operation) -> None:
        """Wait for the pivot, because an operation without inputs from inside would run in either case."""
        if not op.inputs and not any(each in self.ops for each in op.control_inputs):
            op.control_inputs.append(self.pivot.op)

    def capture(self, tensor: Tensor) -> Tensor:
        """Bring `tensor` in through a Switch."""
        return switch(tensor, self.pred)[self.branch]


def _switch(_: Any, value: Any, pred: Any) -> tuple[Any, Any]:
    try:
        return (DEAD, value) if pred else (value, DEAD)
    except ValueError:
        raise invalid(f"The second input must be a scalar, but it has shape {show(pred.shape)}") from None


def switch(data: Tensor, pred: Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return a Switch's two outputs: `data` leaves through the second if `pred` is true, else through the first.

    Raises:
        TypeError: `pred` is not bool.
        ValueError: `pred` is not a scalar.
    """
    if pred.dtype.base_dtype != dtypes.bool:
        raise TypeError(
            f"Input 'pred' of 'Switch' Op has type {pred.dtype.name} that does not match expected type of bool."
        )
    if pred.get_shape().ndims not in (None, 0):
        raise ValueError(f"Shape must be rank 0 but is rank {pred.get_shape().ndims} for a Switch")
    ref = data.dtype._is_ref_dtype
    outputs = [(data.dtype, data.get_shape())] * 2
    refs = (0,) if ref else ()
    attrs = {"T": data.dtype.base_dtype}
    op_type = "RefSwitch" if ref else "Switch"
    # Stateful, so it is not evaluated before the run, when the branch is not known.
    made = node(op_type, [data, pred], outputs, _switch, name or "Switch", attrs=attrs, stateful=True, ref_inputs=refs)
    return made.outputs[0], made.outputs[1]


def _merge(_: Any, *values: Any) -> tuple[Any, Any]:
    for number, value in enumerate(values):
        if value is not DEAD:
            return value, dtypes.int32.np.type(number)
    raise AssertionError("every input of a Merge is dead")


def merge(tensors: list[Tensor], name: str | None = None) -> Tensor:
    """Return the value of the only tensor alive."""
    shapes = [each.get_shape() for each in tensors]
    ref = all(each.dtype._is_ref_dtype for each in tensors)
    dtype = tensors[0].dtype if ref else tensors[0].dtype.base_dtype
    outputs = [(dtype, _common(shapes)), (dtypes.int32, [])]
    attrs = {"T": dtype.base_dtype, "N": len(tensors)}
    op_type = "RefMerge" if ref else "Merge"
    refs = tuple(range(len(tensors))) if ref else ()
    made = node(op_type, tensors, outputs, _merge, name or op_type, attrs=attrs, stateful=True, ref_inputs=refs)
    return made.outputs[0]


def _common(shapes: list[TensorShape]) -> TensorShape:
    """Return the most specific shape compatible with all `shapes`."""
    first = shapes[0]
    if any(each.ndims is None or each.ndims != first.ndims for each in shapes):
        return unknown_shape()
    columns = zip(*(each.sizes for each in shapes), strict=True)
    return TensorShape([sizes[0] if all(size == sizes[0] for size in sizes) else None for sizes in columns])


def cond(
    pred: Any,
    true_fn: Any = None,
    false_fn: Any = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Any = None,
    fn2: Any = None,
) -> Any:
    """Return the results of `true_fn()` if the scalar `pred` is true, else of `false_fn()`.

    Both functions are called now and build their operations; at run time only one branch runs.

    Args:
        pred: A bool scalar.
        true_fn: Called without arguments; returns tensors, operations or nested structures of them.
        false_fn: The same; its results must have the same structure and dtypes.
        strict: Keep a single-element list result as a list.
        name: Scope name.
        fn1: Old name for `true_fn`.
        fn2: Old name for `false_fn`.

    Raises:
        TypeError: `pred` is a Python bool, a function is missing or not callable, or the structures differ.
        ValueError: A function returns nothing, or the dtypes differ.
    """
    true_fn = _renamed_function(true_fn, "true_fn", fn1, "fn1")
    false_fn = _renamed_function(false_fn, "false_fn", fn2, "fn2")
    for each, which in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if not callable(each):
            raise TypeError(f"'{which}' must be callable.")
    with name_scope(name, "cond", [pred]):
        if isinstance(pred, bool):
            raise TypeError("'pred' must not be a Python bool.")
        return _cond(pred, true_fn, false_fn, strict)


def _renamed_function(function: Any, name: str, old: Any, old_name: str) -> Any:
    """Return a branch that may be given under an old name."""
    if old is not None:
        if function is not None:
            raise TypeError(f"cond(): '{name}' and '{old_name}' may not be set simultaneously.")
        return old
    if function is None:
        raise TypeError(f"cond(): '{name}' argument required")
    return function


def _cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], strict: bool) -> Any:
    with name_scope("Switch", values=[pred]) as scope:
        data, condition = (convert_to_tensor(pred, name=name) for name in ("data", "pred"))
        alive_if_false, alive_if_true = switch(data, condition, scope)
    pivots = identity_of(alive_if_true, "switch_t"), identity_of(alive_if_false, "switch_f")
    with name_scope("pred_id", values=[pred]) as scope:
        pred = identity_of(convert_to_tensor(pred, name="input"), scope)
    for each in (alive_if_true, *pivots, pred):
        get_default_graph().prevent_fetching(each.op)
    results = []
    for function, which, pivot, branch in ((true_fn, "true_fn", pivots[0], 1), (false_fn, "false_fn", pivots[1], 0)):
        context = Branch(pred, pivot, branch)
        with context.entered():
            given = function()
            if given is None:
                raise ValueError(f"'{which}' must have a return value.")
            given = variables_as_tensors(given)
            outputs = [_output(context, each) for each in flatten(given, composites=True)]
            pack_as(given, outputs, composites=True)  # uses the same op names as TensorFlow for sparse results
            results.append((given, outputs))
    (given, if_true), (other, if_false) = results
    if not strict:
        given, other = _single(given), _single(other)
    assert_same_structure(given, other)
    if not if_true:
        raise ValueError("'true_fn' and 'false_fn' must return at least one result.")
    for one, two in zip(if_true, if_false, strict=True):
        if one.dtype.base_dtype != two.dtype.base_dtype:
            raise ValueError(
                "Outputs of 'true_fn' and 'false_fn' must have the same type(s). "
                f"Received {one.dtype.name} from 'true_fn' and {two.dtype.name} from 'false_fn'."
            )
    merged = [merge([two, one]) for one, two in zip(if_true, if_false, strict=True)]
    return pack_as(given, merged, composites=True)


def _single(result: Any) -> Any:
    if isinstance(result, (list, tuple)) and len(result) == 1 and not hasattr(result, "_fields"):
        return result[0]
    return result


def _output(context: Branch, result: Any) -> Tensor:
    """Return the Merge's input; for an operation, the branch's pivot once the operation has run."""
    if isinstance(result, Operation):
        return with_dependencies([result], context.pivot)  # type: ignore[no-any-return]
    return context.value(convert_to_tensor(result))
