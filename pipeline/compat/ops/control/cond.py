"""cond: operations that run only if a scalar is true, or only if it is false."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.compat.graph.scopes import get_default_graph, name_scope
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.control.contexts import Branch, merge, switch
from pipeline.compat.ops.control.flow import identity_of, with_dependencies
from pipeline.compat.ops.control.tensor_array import flows, with_flows
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.nesting import assert_same_structure, flatten, map_structure, pack_as


def cond(
    pred: Any,
    true_fn: Any = None,
    false_fn: Any = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Any = None,
    fn2: Any = None,
) -> Any:
    """The results of `true_fn()` if the scalar `pred` is true, of `false_fn()` if not.

    Both functions are called, and build operations that run only in their case.

    Args:
        strict: Leave a result that is a list of one as it is.
        fn1, fn2: Older names of the functions.

    Raises:
        TypeError: A Python bool; a function that is none; results of other structures.
        ValueError: No results, or results of other dtypes.
    """
    if fn1 is not None:
        if true_fn is not None:
            raise TypeError("cond(): 'true_fn' and 'fn1' may not be set simultaneously.")
        true_fn = fn1
    elif true_fn is None:
        raise TypeError("cond(): 'true_fn' argument required")
    if fn2 is not None:
        if false_fn is not None:
            raise TypeError("cond(): 'false_fn' and 'fn2' may not be set simultaneously.")
        false_fn = fn2
    elif false_fn is None:
        raise TypeError("cond(): 'false_fn' argument required")
    for each, which in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if not callable(each):
            raise TypeError(f"'{which}' must be callable.")
    with name_scope(name, "cond", [pred]):
        if isinstance(pred, bool):
            raise TypeError("'pred' must not be a Python bool.")
        return _cond(pred, true_fn, false_fn, strict)


def _cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], strict: bool) -> Any:
    with name_scope("Switch") as scope:
        data, condition = (convert_to_tensor(pred, name=name) for name in ("data", "pred"))
        alive_if_false, alive_if_true = switch(data, condition, scope)
    pivots = identity_of(alive_if_true, "switch_t"), identity_of(alive_if_false, "switch_f")
    with name_scope("pred_id") as scope:
        pred = identity_of(convert_to_tensor(pred, name="input"), scope)
    for each in (alive_if_true, *pivots, pred):
        get_default_graph().prevent_fetching(each.op)
    results = []
    for function, which, pivot, branch in ((true_fn, "true_fn", pivots[0], 1), (false_fn, "false_fn", pivots[1], 0)):
        context = Branch(pred, pivot, branch)
        with context.entered():
            given = _as_tensors(function())
            if given is None:
                raise ValueError(f"'{which}' must have a return value.")
            outputs = [_output(context, each) for each in flatten(with_flows(given), composites=True)]
            pack_as(given, outputs, composites=True)  # takes the names that TensorFlow takes for sparse results
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
    return pack_as(given, flows(flatten(given, composites=True), merged), composites=True)


def _as_tensors(result: Any) -> Any:
    """A branch's result with the values of variables in place of the variables."""
    if result is None:
        return None
    return map_structure(lambda each: each.value() if hasattr(each, "_variable") else each, result)


def _single(result: Any) -> Any:
    if isinstance(result, (list, tuple)) and len(result) == 1 and not hasattr(result, "_fields"):
        return result[0]
    return result


def _output(context: Branch, result: Any) -> Tensor:
    """What a branch gives to the Merge: an operation becomes the pivot after it."""
    if isinstance(result, Operation):
        return with_dependencies([result], context.pivot)  # type: ignore[no-any-return]
    return context.value(convert_to_tensor(result))
