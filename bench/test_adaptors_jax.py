"""Measure the cost of `pipeline.jax` compared with `jax.device_put`, in the environment of `make test-jax`."""

import time

import numpy as np
import pytest

import pipeline

jax = pytest.importorskip("jax", reason="JAX is large: make test-jax installs it")

ROUNDS = 300


@pytest.mark.parametrize("label", ["int32", "int64"])
def test_beside_device_put(benchmark, label):
    """Measure only the conversion, with batches made beforehand; the minimum of alternating pairs."""
    batch = {"image": np.zeros((128, 64), np.float32), "label": np.zeros(128, label)}
    loader = pipeline.jax.DataLoader(pipeline.batch(list(np.arange(3)), 1))
    convert = loader._conversion(batch)
    least = {"device_put": 1e9, "loader": 1e9}
    for _ in range(ROUNDS):
        for name, put in (("device_put", jax.device_put), ("loader", convert)):
            began = time.thread_time_ns()
            for _ in range(20):
                put(batch)
            least[name] = min(least[name], (time.thread_time_ns() - began) / 20_000)
    benchmark.group = "a batch of 128 to JAX"
    benchmark.extra_info.update(beside_us=least["loader"] - least["device_put"], **least)
    benchmark(convert, batch)
