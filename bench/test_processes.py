"""Measure a Python function in two processes: `map(workers=)` compared with handwritten code."""

import itertools
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import pipeline

N = 128
BATCHES = 50


def decode(number):
    """Take about 50 us in Python."""
    values = []
    for _ in range(192):
        number = (number * 1_103_515_245 + 12_345) & 0x7FFFFFFF
        values.append(number / 0x7FFFFFFF)
    return np.array(values, np.float32)


def cheap(number):
    """Take about 2 us, so that transfer to the process and back counts."""
    return np.full(192, number, np.float32)


@pytest.fixture(scope="module")
def executor():
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as made:
        yield made


def by_hand(executor, function):
    rows = executor.map(function, range(N * BATCHES), chunksize=N)
    for _ in range(BATCHES):
        np.stack(list(itertools.islice(rows, N)))


def drain(batches):
    for _ in itertools.islice(batches, BATCHES):
        pass


@pytest.mark.parametrize("who", ["ours", "python"])
@pytest.mark.parametrize("function", [decode, cheap])
def test_function_in_two_processes(measure, executor, function, who):
    group = f"{function.__name__} f32[192] in 2 processes, batches of {N}, per example"
    if who == "python":
        measure(group, lambda: by_hand(executor, function), N * BATCHES)
        return
    made = pipeline.dataset(itertools.count()).map(function, workers=pipeline.processes(2)).batch(N).prefetch(2)
    with iter(made) as batches:
        next(batches)
        measure(group, lambda: drain(batches), N * BATCHES)
