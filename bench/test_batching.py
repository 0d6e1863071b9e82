"""Measure batches from every kind of source compared with a loop in plain Python and NumPy."""

import itertools

import numpy as np
import pytest

from pipeline import batch, shuffle_batch

N = 128
BATCHES = 50
ROW = np.ones(4, np.float32)


class Rows:
    """Endless blocks of array rows."""

    def __init__(self, data):
        self._data = data
        self._at = 0

    def block(self, n):
        begin = self._at
        end = min(begin + n, len(self._data))
        self._at = end % len(self._data)
        return [self._data[begin:end]]


def by_hand(examples):
    """Collect examples and stack them, as in a loop without a pipeline."""
    for _ in range(BATCHES):
        np.stack(list(itertools.islice(examples, N)))


def drain(batches):
    for _ in itertools.islice(batches, BATCHES):
        pass


def gather(data, indices):
    for each in indices:
        data.take(each, axis=0)


SOURCES = {
    "callable": lambda: lambda: ROW,
    "generator": lambda: (ROW for _ in itertools.repeat(None)),
}


@pytest.mark.parametrize("who", ["ours", "numpy"])
@pytest.mark.parametrize("kind", SOURCES)
def test_examples_one_by_one(measure, kind, who):
    source, group = SOURCES[kind](), f"batch of {N} x f32[4] from a {kind}, per example"
    if who == "numpy":
        measure(
            group,
            lambda: by_hand(source if kind == "generator" else (source() for _ in itertools.repeat(None))),
            N * BATCHES,
        )
        return
    with batch(source, N, capacity=8 * N) as batches:
        next(batches)
        measure(group, lambda: drain(batches), N * BATCHES)


@pytest.mark.parametrize("who", ["ours", "take"])
@pytest.mark.parametrize("width", [4, 784])
@pytest.mark.parametrize("kind", ["in order", "shuffled"])
def test_rows_in_blocks(measure, kind, width, who):
    data = np.ones((60_000, width), np.float32)
    group = f"batch of {N} x f32[{width}], blocks, {kind}, per example"
    if who == "take":
        order = np.random.default_rng(1).permutation(len(data)) if kind == "shuffled" else np.arange(len(data))
        indices = [order[i : i + N] for i in range(0, N * BATCHES, N)]
        measure(group, lambda: gather(data, indices), N * BATCHES)
        return
    made = batch(Rows(data), N, capacity=4096) if kind == "in order" else shuffle_batch(Rows(data), N, 20_000, 10_000)
    with made as batches:
        next(batches)
        measure(group, lambda: drain(batches), N * BATCHES)
