"""Make elementwise ops with one or two inputs from a kernel and its dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline import errors
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, broadcast_static_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import Kernel, quiet
from pipeline.compat.ops.making.inputs import first_input, next_input
from pipeline.errors import invalid, show


def broadcast_shape(op_type: str, scope: str, x: Tensor, y: Tensor) -> TensorShape:
    """Return the broadcast static shape of two inputs; ValueError if they cannot be broadcast."""
    try:
        return broadcast_static_shape(x.shape, y.shape)
    except ValueError:
        a, b = x.shape.sizes or (), y.shape.sizes or ()
        left, right = next(
            (p, q) for p, q in zip(a[::-1], b[::-1], strict=False) if p != q and None not in (p, q) and 1 not in (p, q)
        )
        raise ValueError(
            f"Dimensions must be equal, but are {left} and {right} for '{scope.rstrip('/')}' (op: '{op_type}') "
            f"with input shapes: {show(a)}, {show(b)}."
        ) from None


def _checked(kernel: Kernel) -> Kernel:
    """Return the kernel with an error that shows the shapes, for inputs whose static shapes may not fit."""

    def run(x: Any, y: Any) -> Any:
        try:
            return kernel(x, y)
        except errors.OpError:
            raise
        except ValueError:
            raise invalid(f"Incompatible shapes: {show(np.shape(x))} vs. {show(np.shape(y))}") from None

    return run


def binary_rows(kernel: Kernel) -> Kernel:
    """Return the row block kernel for an op that broadcasts two inputs.

    A block has the row axis first. If a row has a lower rank than the other input, broadcasting would put size-1 axes
    before it; here they go after the row axis.
    """

    def rows(is_row: tuple[bool, ...], x: Any, y: Any) -> Any:
        rank_x, rank_y = np.ndim(x) - is_row[0], np.ndim(y) - is_row[1]
        if is_row[0] and rank_x < rank_y:
            x = x.reshape((x.shape[0],) + (1,) * (rank_y - rank_x) + x.shape[1:])
        if is_row[1] and rank_y < rank_x:
            y = y.reshape((y.shape[0],) + (1,) * (rank_x - rank_y) + y.shape[1:])
        return kernel(x, y)

    return rows


def binary_node(op_type: str, x: Tensor, y: Tensor, kernel: Kernel, scope: str, result: DType | None = None) -> Tensor:
    """Make the node for an op that broadcasts two converted inputs with equal dtypes.

    Args:
        op_type: The node's type.
        x: The first input.
        y: The second input.
        kernel: Computes the result from both values.
        scope: The node's name, as returned by `name_scope`.
        result: Output dtype; by default as `x`.
    """
    dtype = x.dtype.base_dtype
    shape = broadcast_shape(op_type, scope, x, y)
    attrs = {"T": dtype}
    certain = shape.is_fully_defined() and x.shape.is_fully_defined() and y.shape.is_fully_defined()
    return tensor_node(
        op_type,
        [x, y],
        kernel if certain else _checked(kernel),
        result or dtype,
        shape,
        name=scope,
        attrs=attrs,
        rows=binary_rows(kernel),
    )


def binary(
    op_type: str,
    kernel: Kernel,
    allowed: tuple[str, ...] | None,
    doc: str,
    *,
    integers: Kernel | None = None,
    result: DType | None = None,
    names: tuple[str, str] = ("x", "y"),
) -> Callable[..., Tensor]:
    """Return the public function for an op that broadcasts two inputs with equal dtypes.

    Args:
        op_type: The node's type, and its name unless the caller gives one.
        kernel: Computes the result from two values, in their dtype or in `result`.
        allowed: Names of accepted dtypes; None for all.
        doc: The function's docstring.
        integers: Kernel for integers, if they need another.
        result: Output dtype, if it differs from the inputs'.
        names: Names of the inputs.
    """
    # Integer kernels stay bare, because ufuncs do not warn when integers wrap. Division does, and wraps itself in
    # quiet.
    floats = quiet(kernel)
    exact = integers or kernel

    def apply(x: Any, y: Any, name: str | None = None) -> Tensor:
        with name_scope(name, op_type, [x, y]) as scope:
            first = first_input(names[0], x, allowed)
            second = next_input(op_type, names[1], y, first.dtype, names[0])
            chosen = exact if first.dtype.base_dtype.np.kind in "iu" else floats
            return binary_node(op_type, first, second, chosen, scope, result)

    return _named(apply, op_type, doc)


def unary(
    op_type: str,
    kernel: Kernel,
    allowed: tuple[str, ...] | None,
    doc: str,
    *,
    integers: Kernel | None = None,
    result: DType | None = None,
    argument: str = "x",
) -> Callable[..., Tensor]:
    """Return the public function for an elementwise op with one input; arguments as in `binary`."""
    floats = quiet(kernel)
    exact = integers or kernel

    def make(value: Any, name: str | None) -> Tensor:
        with name_scope(name, op_type, [value]) as scope:
            x = first_input(argument, value, allowed)
            dtype = x.dtype.base_dtype
            chosen = exact if dtype.np.kind in "iu" else floats
            attrs = {"T": dtype}
            return tensor_node(op_type, [x], chosen, result or dtype, x.shape, name=scope, attrs=attrs, rows=True)

    if argument == "features":

        def apply(features: Any, name: str | None = None) -> Tensor:
            return make(features, name)

        return _named(apply, op_type, doc)

    def apply_x(x: Any, name: str | None = None) -> Tensor:
        return make(x, name)

    return _named(apply_x, op_type, doc)


def _named(function: Callable[..., Tensor], op_type: str, doc: str) -> Callable[..., Tensor]:
    name = "".join(f"_{each.lower()}" if each.isupper() else each for each in op_type).lstrip("_")
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function
