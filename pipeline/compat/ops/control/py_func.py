"""py_func and numpy_function: Python functions as operations."""

from __future__ import annotations

import itertools
import traceback
from typing import Any

import numpy as np

from pipeline import errors
from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.node import node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.errors import invalid

_numbers = itertools.count()
# The run's error for each function error; the first match counts.
_FAILURES: tuple[tuple[Any, Any], ...] = (
    ((ValueError, TypeError), errors.InvalidArgumentError),
    (StopIteration, errors.OutOfRangeError),
    (MemoryError, errors.ResourceExhaustedError),
    (NotImplementedError, errors.UnimplementedError),
)
_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def py_func(func: Any, inp: Any, Tout: Any, stateful: bool = True, name: str | None = None) -> Any:
    """Return the results of `func(*inp)`, called in every run with NumPy values (bytes for strings).

    Args:
        func: Returns a value, or a list of values, with exactly the dtypes `Tout`. Runs in several threads may call
            it at the same time.
        inp: Tensors or Python values.
        Tout: A dtype or a list of dtypes; for an empty list the operation itself is returned.
        stateful: True if the same inputs may give different results.
        name: Name of the op.

    Raises:
        ValueError: `func` is not callable.
        TypeError: `Tout` is not a dtype.
        InvalidArgumentError: At run time, if `func` raises ValueError or TypeError, or returns other dtypes.
        OutOfRangeError: At run time, if `func` raises StopIteration.
        OpError: At run time, if `func` raises anything else.
    """
    return _function(func, inp, Tout, stateful, name)


def numpy_function(
    func: Any = None, inp: Any = None, Tout: Any = None, stateful: bool = True, name: str | None = None
) -> Any:
    """Call a Python function as `py_func` does."""
    return _function(func, inp, Tout, stateful, name)


def _function(func: Any, inp: Any, declared: Any, stateful: bool, name: str | None) -> Any:
    if not callable(func):
        raise ValueError(f"Expected func to be callable. Received func={func} of type {type(func)}.")
    several = isinstance(declared, (list, tuple))
    kinds = [dtypes.as_dtype(each) for each in (declared if several else [declared])]
    token = f"pyfunc_{next(_numbers)}"
    op_type = "PyFunc" if stateful else "PyFuncStateless"
    with name_scope(name, op_type, [inp]) as scope:
        inputs = [convert_to_tensor(each, name=f"input_{i}") for i, each in enumerate(inp)]
        call = _calling(func, token, kinds)
        attrs = {"token": token, "Tin": [each.dtype.base_dtype for each in inputs], "Tout": kinds}
        outputs = [(each, None) for each in kinds]
        # A stateless function is called once if its inputs are constant.
        kernel = (lambda _, *values: call(*values)) if stateful else call
        kernel.__name__ = str(getattr(func, "__name__", type(func).__name__))  # for reports
        op: Operation = node(op_type, inputs, outputs, kernel, scope, attrs=attrs, stateful=stateful)
    tensors: list[Tensor] = list(op.outputs)
    if not several:
        return tensors[0]
    # A stateless function without results gives an empty list instead of the operation, as in TensorFlow.
    return tensors if tensors or not stateful else op


def _calling(func: Any, token: str, kinds: list[DType]) -> Any:
    """Return the kernel that calls the function and checks its results."""

    def kernel(*values: Any) -> Any:
        try:
            results = _results(func(*[_argument(each) for each in values]), kinds)
        except Exception as error:
            raise _failed(error) from error
        if len(results) != len(kinds):
            raise invalid(f"{token} returns {len(results)} values, but expects to see {len(kinds)} values.")
        for number, (result, kind) in enumerate(zip(results, kinds, strict=True)):
            found = _kind(result)
            if found != kind:
                names = [_NAMES.get(each.name, each.name) for each in (found, kind)]
                raise invalid(f"{number}-th value returned by {token} is {names[0]}, but expects {names[1]}")
        return results[0] if len(results) == 1 else results

    return kernel


def _argument(value: Any) -> Any:
    """Return the value as the function's own: a NumPy scalar, bytes, or a copied array."""
    return value.copy() if getattr(value, "ndim", 0) else value[()] if isinstance(value, np.ndarray) else value


def _results(returned: Any, kinds: list[DType]) -> list[Any]:
    if returned is None:
        return []
    parts = list(returned) if isinstance(returned, (list, tuple)) else [returned]
    return [_value(each) for each in parts]


def _value(result: Any) -> Any:
    if isinstance(result, str):
        return result.encode()
    if isinstance(result, bytes):
        return result
    array = np.asarray(result, order="C")
    if array.dtype.kind in "SUO":
        return _strings(array)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    # A copy, because the function may continue to use its result.
    return array.copy() if array.ndim else array[()]


def _strings(array: Any) -> Any:
    parts = [_bytes(each, array.dtype) for each in array.reshape(-1).tolist()]
    if not array.ndim:
        return parts[0]
    result = np.empty(array.shape, object)
    result.reshape(-1)[:] = parts
    return result


def _bytes(value: Any, dtype: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        # NumPy encodes text arrays as ASCII; a single string may be any text.
        return value.encode("ascii") if dtype.kind == "U" else value.encode()
    raise errors.InternalError(None, None, f"Unsupported object type {type(value).__name__}")


def _kind(value: Any) -> DType:
    if isinstance(value, bytes) or getattr(value, "dtype", None) == np.dtype(object):
        return dtypes.as_dtype("string")
    return dtypes.as_dtype(value.dtype)


def _failed(error: Exception) -> Exception:
    if isinstance(error, errors.InternalError) and error.op is None:
        return error
    kind = next((failure for classes, failure in _FAILURES if isinstance(error, classes)), errors.UnknownError)
    if isinstance(error, errors.OpError):
        kind = errors.UnknownError
    lines = "".join(traceback.format_tb(error.__traceback__))
    text = f"{type(error).__name__}: {error}\nTraceback (most recent call last):\n\n{lines}"
    return kind(None, None, f"{text}\n")
