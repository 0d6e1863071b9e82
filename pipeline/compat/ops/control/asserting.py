"""Assert and check_numerics: ops that raise InvalidArgumentError if values are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import bool as bool_
from pipeline.compat.graph.dtypes import int32, string
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.kernels.formatting import summarize as summarized
from pipeline.compat.ops.control.cond import cond
from pipeline.compat.ops.control.flow import no_op
from pipeline.compat.ops.making.inputs import FLOATS, first_input, fixed_input
from pipeline.compat.values.convert import convert_n, convert_to_tensor
from pipeline.errors import invalid


def assert_node(condition: Any, data: Any, summarize: int | None, name: str) -> Operation:
    """Make a bare Assert op: if the condition is false, it raises InvalidArgumentError with `data` in the text."""
    entries = 3 if summarize is None else summarize

    def kernel(run: Any, holds: Any, *values: Any) -> None:
        if np.ndim(holds):
            raise invalid(f"In[0] should be a scalar: {list(np.shape(holds))}")
        if not holds:
            shown = " ".join(f"[{summarized(value, entries)}]" for value in values)
            raise invalid(f"assertion failed: {shown}")

    with name_scope(name, values=[condition]) as scope:
        inputs = [fixed_input("Assert", "condition", condition, bool_)]
        if not isinstance(data, (list, tuple)):
            raise TypeError(f"Expected list for 'data' argument to 'Assert' Op, not {data}.")
        inputs += [convert_to_tensor(each, name=f"data_{i}") for i, each in enumerate(data)]
        attrs = {"T": [each.dtype.base_dtype for each in inputs[1:]], "summarize": entries}
        return node("Assert", inputs, [], kernel, name=scope, attrs=attrs, stateful=True)


def Assert(condition: Any, data: Any, summarize: int | None = None, name: str | None = None) -> Operation:
    """Return an op that raises InvalidArgumentError if `condition` is false.

    Args:
        condition: A bool scalar.
        data: A list of tensors to show in the error message.
        summarize: Number of elements to show per tensor; 3 by default, all if negative.
        name: Name of the op.
    """
    with name_scope(name, "Assert", [condition]):
        tensors = convert_n(data)
        if all(each.dtype.base_dtype in (string, int32) for each in tensors):
            return assert_node(condition, data, summarize, "Assert")

        condition = convert_to_tensor(condition, name="Condition")
        guarded = cond(condition, no_op, lambda: assert_node(condition, data, summarize, "Assert"), name="AssertGuard")
        return guarded.op  # type: ignore[no-any-return]


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """Return the tensor; at run time raise InvalidArgumentError with `message` if an element is infinite or NaN."""

    def kernel(value: Any) -> Any:
        if not np.all(np.isfinite(value)):
            found = [what for what, test in (("Inf", np.isinf), ("NaN", np.isnan)) if np.any(test(value))]
            raise invalid(f"{message} : Tensor had {' and '.join(found)} values")
        return value

    with name_scope(name, "CheckNumerics", [tensor]) as scope:
        tensor = first_input("tensor", tensor, FLOATS)
        dtype = tensor.dtype.base_dtype
        attrs = {"T": dtype, "message": message}
        return tensor_node("CheckNumerics", [tensor], kernel, dtype, tensor.shape, name=scope, attrs=attrs)
