"""Running sums and products along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline import errors
from pipeline.compat.core.convert import convert_to_tensor
from pipeline.compat.core.dtypes import int32
from pipeline.compat.core.graph import name_scope
from pipeline.compat.core.node import tensor_node
from pipeline.compat.core.tensor import Tensor
from pipeline.compat.ops.elementwise import Kernel, quiet
from pipeline.compat.ops.inputs import ANY_NUMBER, FLOATS, INDEX, check_allowed, first_input


def _scan(
    op_type: str, x: Any, axis: Any, exclusive: Any, reverse: Any, name: str | None, one: Any, accumulate: Kernel
) -> Tensor:
    """Make the node of a scan; `one` is what an exclusive one starts with."""
    exclusive, reverse = bool(exclusive), bool(reverse)

    def kernel(value: Any, at: Any) -> Any:
        rank = np.ndim(value)
        if np.ndim(at):
            raise errors.InvalidArgumentError(None, None, f"ScanOp: axis must be a scalar, not {np.shape(at)}")
        if not -rank <= at < rank:
            raise errors.InvalidArgumentError(
                None, None, f"ScanOp: Expected scan axis in the range [{-rank}, {rank}), but got {at}"
            )
        step = np.flip(value, at) if reverse else value
        result = accumulate(step, int(at))
        if exclusive:
            shifted = np.moveaxis(np.full_like(result, one), at, 0)
            shifted[1:] = np.moveaxis(result, at, 0)[:-1]
            result = np.moveaxis(shifted, 0, at)
        return np.flip(result, at) if reverse else result

    with name_scope(name, op_type) as scope:
        x = convert_to_tensor(x, name="x")
        axis = first_input("axis", axis, INDEX, int32)
        dtype = x.dtype.base_dtype
        check_allowed("x", dtype, FLOATS if op_type == "CumulativeLogsumexp" else ANY_NUMBER)
        attrs = {"T": dtype, "Tidx": axis.dtype.base_dtype, "exclusive": exclusive, "reverse": reverse}
        return tensor_node(op_type, [x, axis], quiet(kernel), dtype, x.shape, name=scope, attrs=attrs)


def _sums(value: Any, axis: int) -> Any:
    return np.cumsum(value, axis, dtype=value.dtype)


def _products(value: Any, axis: int) -> Any:
    return np.cumprod(value, axis, dtype=value.dtype)


def _log_sums(value: Any, axis: int) -> Any:
    return np.logaddexp.accumulate(value, axis)


def cumsum(x: Any, axis: Any = 0, exclusive: Any = False, reverse: Any = False, name: str | None = None) -> Tensor:
    """Return the running sums of x along an axis.

    Args:
        x: A tensor of numbers.
        axis: The axis, an integer.
        exclusive: Whether each sum leaves its own element out.
        reverse: Whether to go from the end.
        name: Name of the op.
    """
    return _scan("Cumsum", x, axis, exclusive, reverse, name, 0, _sums)


def cumprod(x: Any, axis: Any = 0, exclusive: Any = False, reverse: Any = False, name: str | None = None) -> Tensor:
    """Return the running products of x along an axis; arguments as `cumsum`."""
    return _scan("Cumprod", x, axis, exclusive, reverse, name, 1, _products)


def cumulative_logsumexp(
    x: Any, axis: Any = 0, exclusive: Any = False, reverse: Any = False, name: str | None = None
) -> Tensor:
    """Return the logarithms of the running sums of exp(x) along an axis; arguments as `cumsum`."""
    return _scan("CumulativeLogsumexp", x, axis, exclusive, reverse, name, -np.inf, _log_sums)
