"""cond: one of two branches runs, depending on a bool scalar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.compat.graph.scopes import get_default_graph, name_scope
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.control.contexts import Branch, merge, switch
from pipeline.compat.ops.control.flow import identity_of, variables_as_tensors, with_dependencies
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.nesting import assert_same_structure, flatten, pack_as


def cond(
    pred: Any,
    true_fn: Any = None,
    false_fn: Any = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Any = None,
    fn2: Any = None,
) -> Any:
    """Return the results of `true_fn()` if the scalar `pred` is true, else those of `false_fn()`.

    Both functions are called now and build their operations; at run time only one branch runs.

    Args:
        pred: A bool scalar.
        true_fn: Called without arguments; returns tensors, operations or nested structures of them.
        false_fn: The same; its results must have the same structure and dtypes.
        strict: Keep a result that is a list of one as a list.
        name: Name of the scope.
        fn1: Old name of `true_fn`.
        fn2: Old name of `false_fn`.

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
    """A branch that may be given under an old name."""
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
            pack_as(given, outputs, composites=True)  # uses up the same op names as TensorFlow for sparse results
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
    """The input of the Merge; for an operation, the branch's pivot once the operation has run."""
    if isinstance(result, Operation):
        return with_dependencies([result], context.pivot)  # type: ignore[no-any-return]
    return context.value(convert_to_tensor(result))
