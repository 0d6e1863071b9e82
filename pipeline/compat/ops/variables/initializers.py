"""Variable initializers: callables that take a shape and a dtype and return a tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.graph.node import node
from pipeline.compat.graph.scopes import get_default_graph
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.arrays.filling import ones, zeros
from pipeline.compat.ops.random.numbers import random_normal, random_uniform, truncated_normal
from pipeline.compat.values.constants import constant


class Initializer:
    """Base class for initializers: `initializer(shape, dtype)` returns a tensor; `dtype` defaults to its own."""

    dtype: DType
    _options: tuple[str, ...] = ()

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """Return the initial values."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Return its constructor arguments."""
        return {**{option: getattr(self, option) for option in self._options}, "dtype": self.dtype.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """Make an initializer from a `get_config` result."""
        return cls(**config)


def _float(dtype: Any) -> DType:
    found = dtypes.as_dtype(dtype)
    if not found.is_floating:
        raise ValueError(f"Argument `dtype` is expected to be floating point. Received: {found}.")
    return found


class zeros_initializer(Initializer):
    """Zeros; for bool False, for strings empty ones."""

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return zeros(shape, dtype or self.dtype)


class ones_initializer(Initializer):
    """Ones."""

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return ones(shape, dtype or self.dtype)


class constant_initializer(Initializer):
    """A constant. TypeError unless `value` is a scalar, list, tuple or array."""

    _options = ("value",)

    def __init__(self, value: Any = 0, dtype: Any = dtypes.float32, verify_shape: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value={value} of type: {type(value).__name__}. "
                "Expected Python scalar, list or tuple of values, or numpy.ndarray."
            )
        self.value, self.dtype, self._verify_shape = value, dtypes.as_dtype(dtype), verify_shape

    def __call__(
        self, shape: Any, dtype: Any = None, partition_info: Any = None, verify_shape: bool | None = None
    ) -> Tensor:
        verify = self._verify_shape if verify_shape is None else verify_shape
        return constant(self.value, dtype or self.dtype, shape, verify_shape=verify)


class random_uniform_initializer(Initializer):
    """Uniform random numbers in [minval, maxval)."""

    _options = ("minval", "maxval", "seed")

    def __init__(self, minval: Any = 0.0, maxval: Any = None, seed: Any = None, dtype: Any = dtypes.float32) -> None:
        self.minval, self.maxval, self.seed, self.dtype = minval, maxval, seed, dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return random_uniform(shape, self.minval, self.maxval, dtype or self.dtype, self.seed)


class _Normal(Initializer):
    _options = ("mean", "stddev", "seed")
    _draw: Callable[..., Tensor]

    def __init__(self, mean: Any = 0.0, stddev: Any = 1.0, seed: Any = None, dtype: Any = dtypes.float32) -> None:
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, _float(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return type(self)._draw(shape, self.mean, self.stddev, dtype or self.dtype, self.seed)


class random_normal_initializer(_Normal):
    """Normal random numbers."""

    _draw = staticmethod(random_normal)


class truncated_normal_initializer(_Normal):
    """Normal random numbers, redrawn if more than two standard deviations from the mean."""

    _draw = staticmethod(truncated_normal)


class glorot_uniform_initializer(Initializer):
    """Uniform random numbers with variance 1 / (mean of a layer's inputs and outputs); get_variable's default."""

    _options = ("seed",)

    def __init__(self, seed: Any = None, dtype: Any = dtypes.float32) -> None:
        # TensorFlow drops `dtype` here, too.
        self.seed, self.dtype = seed, dtypes.float32

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        fan_in, fan_out = _fans(shape)
        limit = math.sqrt(3.0 * (1.0 / max(1.0, (fan_in + fan_out) / 2.0)))
        return random_uniform(shape, -limit, limit, dtype or self.dtype, self.seed)


def _fans(shape: Any) -> tuple[int, int]:
    """Return a layer's input and output counts for weights with this shape; its last two axes are the channels."""
    if len(shape) < 2:
        size = int(shape[0]) if len(shape) else 1
        return size, size
    field = math.prod(int(each) for each in shape[:-2])
    return int(shape[-2]) * field, int(shape[-1]) * field


def without_uninitialized(name: str, value: Tensor) -> Tensor:
    """Return `value` with each variable it depends on replaced by the variable's initialised value.

    Variables are initialised in any order, so one must not read another directly.
    """
    return _safe_tensor(name.rstrip("/"), value, {})


def _safe_tensor(name: str, tensor: Tensor, done: dict[Operation, Operation]) -> Tensor:
    op = tensor.op
    if op not in done:
        done[op] = _safe_op(name, op, done)
    new = done[op]
    if new is op:
        return tensor
    return new.outputs[0] if op.type == "VariableV2" else new.outputs[tensor.value_index]


def _safe_op(name: str, op: Operation, done: dict[Operation, Operation]) -> Operation:
    if op.type == "IsVariableInitialized":
        return op
    if op.type == "VariableV2":
        for variable in [*_all(GraphKeys.GLOBAL_VARIABLES), *_all(GraphKeys.LOCAL_VARIABLES)]:
            if variable.name == f"{op.name}:0":
                return variable.initialized_value().op  # type: ignore[no-any-return]
        return op
    inputs = [_safe_tensor(name, each, done) for each in op.inputs]
    if all(new is old for new, old in zip(inputs, op.inputs, strict=True)):
        return op
    ref_switch = op.type == "RefSwitch"
    outputs = [(each.dtype.base_dtype if ref_switch else each.dtype, each.get_shape()) for each in op.outputs]
    return node(
        "Switch" if ref_switch else op.type,
        inputs,
        outputs,
        op.kernel,
        name=f"{op.name}_{name}/".replace(":", "_"),
        attrs=op.attrs,
        stateful=op.stateful,
        blocking=op.blocking,
        rows=op.rows,
        ref_inputs=() if ref_switch else op.ref_inputs,
    )


def _all(key: str) -> list[Any]:
    return get_default_graph().get_collection(key)
