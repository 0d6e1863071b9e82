"""assert_equal, assert_less and similar functions: check values, at graph construction where possible."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.kernels.errors import prefix
from pipeline.compat.ops.control.asserting import Assert
from pipeline.compat.ops.control.flow import no_op
from pipeline.compat.ops.math import comparing
from pipeline.compat.ops.math.reducing import reduce_all
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import get_static_value
from pipeline.errors import invalid


def _shown(item: Any) -> str:
    value = get_static_value(item) if isinstance(item, Tensor) else None
    return str(item if value is None else value)


def _comparison(sign: str, default: str, compare: Any, static: Any) -> Any:
    """Make the assert function for `x sign y`: `compare` makes the op, `static` compares arrays at once."""

    def function(
        x: Any, y: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None
    ) -> Operation:
        with name_scope(name, default, [x, y]):
            x = convert_to_tensor(x, name="x")
            y = convert_to_tensor(y, name="y")
            if data is None:
                data = [f"Condition x {sign} y did not hold element-wise:"]
                data += [f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
            if message is not None:
                data = [message, *data]
            condition = reduce_all(compare(x, y))
            left, right = get_static_value(x), get_static_value(y)
            if left is not None and right is not None and not np.all(static(left, right)):
                raise invalid("\n".join(_shown(each) for each in data))
            return Assert(condition, data, summarize=summarize)

    function.__name__ = default
    function.__doc__ = (
        f"Return an op that raises InvalidArgumentError unless `x {sign} y` for all elements, broadcast. "
        "If both are constant, the error is raised at once. `data` replaces what the error shows."
    )
    return function


assert_less = _comparison("<", "assert_less", comparing.less, np.less)
assert_less_equal = _comparison("<=", "assert_less_equal", comparing.less_equal, np.less_equal)
assert_greater = _comparison(">", "assert_greater", comparing.greater, np.greater)
assert_greater_equal = _comparison(">=", "assert_greater_equal", comparing.greater_equal, np.greater_equal)
assert_none_equal = _comparison("!=", "assert_none_equal", comparing.not_equal, np.not_equal)
_assert_equal = _comparison("==", "assert_equal", comparing.equal, np.equal)


def assert_equal(
    x: Any, y: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None
) -> Operation:
    """Return an op that raises InvalidArgumentError unless x == y for all elements; see `assert_less`."""
    with name_scope(name, "assert_equal", [x, y]):
        if x is y:
            return no_op()
    return _assert_equal(x, y, data, summarize, message, name)  # type: ignore[no-any-return]


def _with_zero(sign: str, default: str, check: Any, zero_first: bool, join: bool = False) -> Any:
    """Make the assert function for `x sign 0` from a comparison; `join` merges the two texts."""

    def function(
        x: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None
    ) -> Operation:
        message = prefix(message)
        with name_scope(name, default, [x]):
            x = convert_to_tensor(x, name="x")
            if data is None:
                texts = [f"Condition x {sign} 0 did not hold element-wise:", f"x ({x.name}) = "]
                data = [message, *(["".join(texts)] if join else texts), x]
            zero = convert_to_tensor(0, dtype=x.dtype.base_dtype)
            pair = (zero, x) if zero_first else (x, zero)
            return check(*pair, data=data, summarize=summarize)  # type: ignore[no-any-return]

    function.__name__ = default
    function.__doc__ = (
        f"Return an op that raises InvalidArgumentError unless `x {sign} 0` for all elements; see `assert_less`."
    )
    return function


assert_negative = _with_zero("<", "assert_negative", assert_less, False)
assert_positive = _with_zero(">", "assert_positive", assert_less, True)
assert_non_negative = _with_zero(">=", "assert_non_negative", assert_less_equal, True)
# The error shows one text where the others show two, as in TensorFlow.
assert_non_positive = _with_zero("<=", "assert_non_positive", assert_less_equal, False, join=True)
