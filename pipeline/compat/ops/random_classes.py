"""Random numbers of classes, gamma and Poisson distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline import errors
from pipeline.compat.core import dtypes
from pipeline.compat.core.convert import constant, convert_to_tensor
from pipeline.compat.core.graph import name_scope
from pipeline.compat.core.node import tensor_node
from pipeline.compat.core.seeds import get_seed
from pipeline.compat.core.shapes import TensorShape, broadcast_static_shape
from pipeline.compat.core.static import constant_value, constant_value_as_shape
from pipeline.compat.core.tensor import Tensor
from pipeline.compat.ops.random_ops import binary, drawing, sizes_of


def multinomial(
    logits: Any, num_samples: Any, seed: Any = None, name: str | None = None, output_dtype: Any = None
) -> Tensor:
    """Class numbers drawn with the log-probabilities `logits` (batch, classes).

    Args:
        logits: 2-D, floating, not necessarily normalised.
        num_samples: 0-D int32, samples a row.
        output_dtype: int64 (default) or int32.
    """
    with name_scope(name, "multinomial", [logits]):
        return _categorical(logits, num_samples, output_dtype, seed)


def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: Any = None, name: str | None = None) -> Tensor:
    """As `multinomial`, under its later name."""
    with name_scope(name, "categorical", [logits]):
        return _categorical(logits, num_samples, dtype, seed)


def draw_classes(generator: np.random.Generator, logits: Any, samples: Any, dtype: Any) -> Any:
    """`samples` class numbers for each row of `logits`."""
    if np.ndim(logits) != 2:
        raise errors.InvalidArgumentError(None, None, f"logits should be a matrix, got shape {list(np.shape(logits))}")
    if samples < 0:
        raise errors.InvalidArgumentError(None, None, f"num_samples should be nonnegative, got {samples}")
    rows, classes = logits.shape
    if rows and samples and not classes:
        raise errors.InvalidArgumentError(None, None, f"num_classes should be positive, got {classes}")
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
    with name_scope(None, "Multinomial") as scope:
        samples = convert_to_tensor(samples, dtypes.int32, name="num_samples")
        rows = logits.get_shape().with_rank(2).sizes[0] if logits.get_shape().ndims is not None else None
        count = constant_value(samples)
        if count is not None and count < 0:
            raise ValueError(f"Dimension size, given by scalar input 1, must be non-negative but is {count}")
        kernel = drawing(lambda generator, values, count: draw_classes(generator, values, count, dtype.np), seeds)
        attrs = {"T": logits.dtype, "output_dtype": dtype, "seed": seeds[0], "seed2": seeds[1]}
        static = TensorShape([rows, None if count is None else int(count)])
        return tensor_node(
            "Multinomial", [logits, samples], kernel, dtype, static, name=scope, attrs=attrs, stateful=True
        )


def random_poisson(
    lam: Any, shape: Any, dtype: Any = dtypes.float32, seed: Any = None, name: str | None = None
) -> Tensor:
    """`shape` draws for each rate in `lam`: the result has shape `shape + lam.shape`."""
    with name_scope(name, "random_poisson", [lam, shape]):
        shape = convert_to_tensor(shape, dtypes.int32, name="shape")
        seeds = get_seed(seed)
        dtype = dtypes.as_dtype(dtype)
        with name_scope(None, "RandomPoissonV2") as scope:
            lam = convert_to_tensor(lam, name="rate")

            def draw(generator: np.random.Generator, sizes: Any, rates: Any) -> Any:
                return np.asarray(generator.poisson(rates, sizes_of(sizes) + np.shape(rates))).astype(dtype.np)

            static = constant_value_as_shape(shape).concatenate(lam.get_shape())
            kernel = drawing(draw, seeds)
            attrs = {"S": shape.dtype, "R": lam.dtype, "dtype": dtype, "seed": seeds[0], "seed2": seeds[1]}
            return tensor_node(
                "RandomPoissonV2", [shape, lam], kernel, dtype, static, name=scope, attrs=attrs, stateful=True
            )


def random_gamma(
    shape: Any, alpha: Any, beta: Any = None, dtype: Any = dtypes.float32, seed: Any = None, name: str | None = None
) -> Tensor:
    """`shape` draws from each gamma distribution of `alpha` and `beta` (inverse scale), which broadcast."""
    dtype = dtypes.as_dtype(dtype)
    with name_scope(name, "random_gamma", [shape, alpha, beta]):
        shape = convert_to_tensor(shape, dtypes.int32, name="shape")
        alpha = convert_to_tensor(alpha, dtype, name="alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype, name="beta")
        static = broadcast_static_shape(alpha.get_shape(), beta.get_shape())
        sizes = [_shape_of(each) for each in (alpha, beta)]
        common = tensor_node("BroadcastArgs", sizes, _broadcast_sizes, dtypes.int32, [static.ndims])
        alpha = tensor_node("BroadcastTo", [alpha, common], _broadcast_to, dtype, static)
        seeds = get_seed(seed)

        def draw(generator: np.random.Generator, sizes: Any, alphas: Any) -> Any:
            return np.asarray(generator.standard_gamma(alphas, sizes_of(sizes) + np.shape(alphas))).astype(dtype.np)

        attrs = {"S": shape.dtype, "T": dtype, "seed": seeds[0], "seed2": seeds[1]}
        full = constant_value_as_shape(shape).concatenate(static)
        numbers = tensor_node(
            "RandomGamma", [shape, alpha], drawing(draw, seeds), dtype, full, attrs=attrs, stateful=True
        )
        scaled = binary("RealDiv", np.divide, numbers, beta, "truediv")
        with name_scope(None, "Maximum") as scope:
            tiny = constant(np.finfo(dtype.np).tiny, dtype, name="x")
            return binary("Maximum", np.maximum, tiny, scaled, scope)


def _shape_of(tensor: Tensor) -> Tensor:
    shape = tensor.get_shape()
    if shape.is_fully_defined():
        return constant(shape.as_list(), dtypes.int32, name="Shape")
    return tensor_node(
        "Shape", [tensor], lambda value: np.asarray(np.shape(value), np.int32), dtypes.int32, [shape.ndims]
    )


def _broadcast_sizes(first: Any, second: Any) -> Any:
    return np.asarray(np.broadcast_shapes(tuple(first.tolist()), tuple(second.tolist())), np.int32)


def _broadcast_to(value: Any, sizes: Any) -> Any:
    return np.broadcast_to(value, tuple(sizes.tolist()))
