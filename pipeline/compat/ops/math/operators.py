"""Python operators on tensors, and ranges as tensors. Importing this module attaches them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.compat.graph.dtypes import bool as bool_
from pipeline.compat.graph.dtypes import int32
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.brackets import getitem
from pipeline.compat.ops.arrays.sequences import range as numbers
from pipeline.compat.ops.math import arithmetic, comparing, unary
from pipeline.compat.values.casts import cast_node
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import SparseTensor

Function = Callable[..., Any]


def _add(x: Any, y: Any, name: str) -> Any:
    if not isinstance(y, (Tensor, SparseTensor)):
        y = convert_to_tensor(y, preferred_dtype=x.dtype.base_dtype, name="y")
    return arithmetic.add_tensors(x, y, name)


def _multiply(x: Any, y: Any, name: str) -> Any:
    if _is_bool(x) or _is_bool(y):
        return cast_node(arithmetic.multiply(_as_int32(x), _as_int32(y), name=name), bool_)
    return arithmetic.multiply(x, y, name=name)


def _as_int32(value: Any) -> Tensor:
    with name_scope("Cast", values=[value]) as scope:
        return cast_node(convert_to_tensor(value, name="x"), int32, scope)


def _is_bool(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype.base_dtype is bool_


def _matmul(x: Any, y: Any, name: str) -> Any:
    # At the top this would cost every `import pipeline.compat.v1` 3 of its 34 ms: products imports most array ops.
    from pipeline.compat.ops.math.products import matmul

    return matmul(x, y, name=name)


def _by_dtype(logic: Function, bits: Function) -> Function:
    """Choose by the left operand's dtype: `logic` for bool, else `bits`, whose op keeps its own name."""

    def function(x: Any, y: Any, name: str) -> Any:
        return logic(x, y, name) if x.dtype.base_dtype is bool_ else bits(x, y)

    return function


def _invert(x: Any) -> Tensor:
    return comparing.logical_not(x) if x.dtype.base_dtype is bool_ else comparing.invert(x)


BINARY: dict[str, Function] = {
    "add": _add,
    "sub": arithmetic.subtract,
    "mul": _multiply,
    "div": arithmetic.div,
    "truediv": arithmetic.truediv,
    "floordiv": arithmetic.floordiv,
    "mod": arithmetic.mod,
    "pow": arithmetic.pow,
    "matmul": _matmul,
    "and": _by_dtype(comparing.logical_and, comparing.bitwise_and),
    "or": _by_dtype(comparing.logical_or, comparing.bitwise_or),
    "xor": _by_dtype(comparing.logical_xor, comparing.bitwise_xor),
}


def _forward(operator: str, function: Function) -> Function:
    reflected = f"__r{operator}__"

    def method(x: Any, y: Any) -> Any:
        with name_scope(None, operator, [x, y]) as scope:
            try:
                return function(x, y, name=scope)
            except (TypeError, ValueError):
                # The other operand may have a method for a tensor on its left.
                theirs = getattr(type(y), reflected, None)
                if theirs is None or isinstance(y, Tensor):
                    raise
                try:
                    result = theirs(y, x)
                except (TypeError, ValueError):
                    result = NotImplemented
                if result is NotImplemented:
                    raise
                return result

    return method


def _reflected(operator: str, function: Function) -> Function:
    def method(y: Any, x: Any) -> Any:
        with name_scope(None, operator, [x, y]) as scope:
            x = convert_to_tensor(x, y.dtype.base_dtype, name="x")
            return function(x, y, name=scope)

    return method


def _of_two(function: Function) -> Function:
    def method(x: Any, y: Any) -> Any:
        return function(x, y)

    return method


def _of_one(function: Function) -> Function:
    def method(x: Any) -> Any:
        return function(x)

    return method


def attach(overload: Callable[[str, Function], None]) -> None:
    """Define all operators by calling `overload(method_name, function)`, for tensors and for variables."""
    for operator, function in BINARY.items():
        overload(f"__{operator}__", _forward(operator, function))
        overload(f"__r{operator}__", _reflected(operator, function))
    overload("__lt__", _of_two(comparing.less))
    overload("__le__", _of_two(comparing.less_equal))
    overload("__gt__", _of_two(comparing.greater))
    overload("__ge__", _of_two(comparing.greater_equal))
    overload("__neg__", _of_one(unary.negative))
    overload("__abs__", _of_one(unary.abs))
    overload("__invert__", _of_one(_invert))
    overload("__getitem__", getitem)


def from_range(value: range, dtype: Any, name: str | None) -> Tensor:
    """Return a Python range as a tensor."""
    return numbers(value.start, value.stop, value.step, dtype=dtype, name=name)


attach(Tensor.overload)
