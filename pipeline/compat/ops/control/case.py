"""case: run the function of the first predicate that is true."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import control_dependencies, name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.stacking import stack
from pipeline.compat.ops.control.asserting import Assert
from pipeline.compat.ops.control.cond import cond
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.math.comparing import less_equal
from pipeline.compat.ops.math.reducing import reduce_sum
from pipeline.compat.values.constants import constant


def case(
    pred_fn_pairs: Any,
    default: Any = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Return the results of the first function whose predicate is true.

    Args:
        pred_fn_pairs: Pairs of a bool scalar and a function, or a dict from one to the other.
        default: The function to call if no predicate is true; without one, that is an error at run time.
        exclusive: Check at run time that at most one predicate is true.
        strict: Keep a result that is a list of one as a list.
        name: Name of the scope.

    Raises:
        TypeError: An entry is not a pair, a predicate is not a bool tensor, or a function is not callable.
        ValueError: There are no pairs.
        InvalidArgumentError: At run time: no predicate is true, or with `exclusive` more than one.
    """
    pairs = _checked_pairs(pred_fn_pairs)
    predicates, actions = [list(each) for each in zip(*pairs, strict=True)] or ([], [])
    with name_scope(name, "case", [predicates]):
        chosen = default
        if chosen is None:
            chosen, predicates, actions = _last_as_default(predicates, actions)
        for predicate, action in reversed(list(zip(predicates, actions, strict=True))):
            chosen = _nested(predicate, action, chosen, strict)
        if not exclusive:
            return chosen()
        with control_dependencies([_assert_at_most(predicates, 1, "Input error: exclusive=True")]):
            return chosen()


def _nested(predicate: Tensor, action: Any, otherwise: Any, strict: bool) -> Callable[[], Any]:
    return lambda: cond(predicate, action, otherwise, strict=strict)


def _checked_pairs(pairs: Any) -> list[tuple[Tensor, Any]]:
    if isinstance(pairs, Mapping):
        pairs = sorted(pairs.items(), key=lambda pair: pair[0].name)
    elif not isinstance(pairs, (list, tuple)):
        raise TypeError(f"'pred_fn_pairs' must be a list, tuple, or dict. Received: {type(pairs)}")
    if not pairs:
        raise ValueError("case: 'pred_fn_pairs' has to have at least one pair")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in 'pred_fn_pairs' must be a 2-tuple. Received {pair}.")
        predicate, action = pair
        if not isinstance(predicate, Tensor):
            raise TypeError(f"pred must be a Tensor, got: {predicate}")
        if predicate.dtype.base_dtype != dtypes.bool:
            raise TypeError(f"pred must be Tensor of type bool: {predicate.name}")
        if not callable(action):
            raise TypeError(f"fn for pred {predicate.name} must be callable.")
    return list(pairs)


def _last_as_default(predicates: list[Any], actions: list[Any]) -> tuple[Any, list[Any], list[Any]]:
    """Without a default the last action takes its place, and checks that its predicate is the true one."""
    last = len(predicates) - 1

    def action() -> Any:
        text = (
            f"Implementation error: selected default action #{last} was called, but some of other predicates are True: "
        )
        stacked = stack(predicates, name="preds_c")
        nothing = ("Input error: None of conditions evaluated as True:", stacked)
        checks = [_assert_at_most(predicates[:last], 0, text), Assert(predicates[last], data=nothing)]
        with control_dependencies(checks):
            return actions[last]()

    return action, predicates[:last], actions[:last]


def _assert_at_most(predicates: list[Any], count: int, text: str) -> Any:
    stacked = stack(predicates, name="preds_c")
    true = reduce_sum(cast(stacked, dtypes.int32), name="num_true_conds")
    condition = less_equal(true, constant(count, name="n_true_conds"))
    names = ", ".join(each.name for each in predicates)
    data = [f"{text}: more than {count} conditions ({names}) evaluated as True:", stacked]
    return Assert(condition, data=data, summarize=len(predicates))
