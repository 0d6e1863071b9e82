"""multinomial and categorical: class numbers drawn by their log-probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.seeds import get_seed
from pipeline.compat.graph.shapes import TensorShape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.random.generators import RandomKernel
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value
from pipeline.errors import invalid


def multinomial(
    logits: Any, num_samples: Any, seed: Any = None, name: str | None = None, output_dtype: Any = None
) -> Tensor:
    """Return class numbers, drawn with the log-probabilities `logits`.

    Args:
        logits: [batch, classes], floats, not necessarily normalised.
        num_samples: How many to draw for each row, an int32 scalar.
        seed: Seed of the op.
        name: Name of the scope.
        output_dtype: int64 (the default) or int32.
    """
    with name_scope(name, "multinomial", [logits]):
        return _categorical(logits, num_samples, output_dtype, seed)


def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: Any = None, name: str | None = None) -> Tensor:
    """Draw class numbers: `multinomial` under its later name."""
    with name_scope(name, "categorical", [logits]):
        return _categorical(logits, num_samples, dtype, seed)


def _draw(generator: np.random.Generator, logits: Any, samples: Any, dtype: Any) -> Any:
    """Draw `samples` class numbers for each row of `logits`."""
    if np.ndim(logits) != 2:
        raise invalid(f"logits should be a matrix, got shape {list(np.shape(logits))}")
    if samples < 0:
        raise invalid(f"num_samples should be nonnegative, got {samples}")
    rows, classes = logits.shape
    if rows and samples and not classes:
        raise invalid(f"num_classes should be positive, got {classes}")
    drawn = np.empty((rows, int(samples)), dtype)
    for row in range(rows):
        weights = np.asarray(logits[row], np.float64)
        finite = np.isfinite(weights)
        top = weights[finite].max() if finite.any() else 0.0
        total = np.cumsum(np.where(finite, np.exp(weights - top, where=finite, out=np.zeros_like(weights)), 0.0))
        picked = np.searchsorted(total, generator.random(int(samples)) * total[-1], side="right")
        drawn[row] = np.minimum(picked, classes - 1)
    return drawn


def _categorical(logits: Any, samples: Any, dtype: Any, seed: Any) -> Tensor:
    logits = convert_to_tensor(logits, name="logits")
    dtype = dtypes.int64 if dtype is None else dtypes.as_dtype(dtype)
    if dtype not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"Argument `dtype` got invalid value {dtype!r}. Accepted dtypes are (tf.int32, tf.int64).")
    seeds = get_seed(seed)
    with name_scope(None, "Multinomial", [logits, samples]) as scope:
        samples = convert_to_tensor(samples, dtypes.int32, name="num_samples")
        rows = logits.get_shape().with_rank(2).sizes[0] if logits.get_shape().ndims is not None else None
        count = constant_value(samples)
        if count is not None and count < 0:
            raise ValueError(f"Dimension size, given by scalar input 1, must be non-negative but is {count}")
        kernel = RandomKernel(lambda generator, values, count: _draw(generator, values, count, dtype.np), seeds)
        attrs = {"T": logits.dtype, "output_dtype": dtype, "seed": seeds[0], "seed2": seeds[1]}
        static = TensorShape([rows, None if count is None else int(count)])
        return tensor_node(
            "Multinomial", [logits, samples], kernel, dtype, static, name=scope, attrs=attrs, stateful=True
        )
