"""Logic of tensors of truth values, and the selection that Python's & | ^ ~ make by dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.core.dtypes import bool as bool_
from pipeline.compat.core.graph import name_scope
from pipeline.compat.core.node import tensor_node
from pipeline.compat.core.tensor import Tensor
from pipeline.compat.ops.elementwise import Kernel, binary_node
from pipeline.compat.ops.inputs import fixed_input


def _logical(op_type: str, kernel: Kernel, doc: str) -> Any:
    def apply(x: Any, y: Any, name: str | None = None) -> Tensor:
        with name_scope(name, op_type, [x, y]) as scope:
            first = fixed_input(op_type, "x", x, bool_)
            second = fixed_input(op_type, "y", y, bool_)
            return binary_node(op_type, first, second, kernel, scope)

    apply.__doc__ = doc
    return apply


logical_and = _logical("LogicalAnd", np.logical_and, "Return x and y, elementwise; both bool.")
logical_or = _logical("LogicalOr", np.logical_or, "Return x or y, elementwise; both bool.")


def logical_not(x: Any, name: str | None = None) -> Tensor:
    """Return not x, elementwise; x is bool."""
    with name_scope(name, "LogicalNot") as scope:
        x = fixed_input("LogicalNot", "x", x, bool_)
        return tensor_node("LogicalNot", [x], np.logical_not, bool_, x.shape, name=scope, rows=True)


def logical_xor(x: Any, y: Any, name: str | None = "LogicalXor") -> Tensor:
    """Return whether one of x and y is true, elementwise; both bool."""
    either = logical_or(x, y)
    return logical_and(either, logical_not(logical_and(x, y)), name=name)  # type: ignore[no-any-return]
