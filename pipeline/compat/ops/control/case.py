"""case: the first condition that holds chooses the function."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph.scopes import control_dependencies, name_scope
from pipeline.compat.ops.control.cond import _assert_at_most, _checked_pairs, _last_as_default, _nested


def case(
    pred_fn_pairs: Any,
    default: Any = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """The results of the first function whose predicate is true.

    Args:
        pred_fn_pairs: Pairs of a boolean scalar and a function, or a dict of these.
        default: The function for when no predicate is true; without one that is an error.
        exclusive: Check that no more than one is true.

    Raises:
        TypeError: Pairs that are none, predicates that are no boolean tensors, functions that cannot be called.
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
