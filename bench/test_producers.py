"""Measure array rows as examples: slice_input_producer alone and with shuffle_batch, compared with NumPy's gather.

Each operation is one example: an image and its label. The baseline only gathers batches, with random indices drawn
beforehand. Ours also shuffles the epochs, and with shuffle_batch draws from a buffer, in another thread.
"""

from itertools import cycle, islice

import numpy as np
import pytest

import pipeline
from pipeline.producers.slices import slice_input_producer

N, ROWS, BATCHES = 128, 15_000, 500


def arrays(shape):
    rng = np.random.default_rng(1)
    return rng.random((ROWS, *shape), np.float32), np.arange(ROWS, dtype=np.int32)


def gather(images, labels):
    """Gather the same number of batches as the others."""
    rng = np.random.default_rng(1)
    batches = cycle([rng.integers(0, ROWS, N) for _ in range(BATCHES)])

    def work():
        for rows in islice(batches, BATCHES):
            images.take(rows, axis=0)
            labels.take(rows)

    return work


@pytest.fixture(autouse=True)
def _fresh():
    pipeline.reset()
    yield
    pipeline.reset()


@pytest.mark.parametrize("shape", [(4,), (784,)], ids=str)
@pytest.mark.parametrize("capacity", [32, 4096])
@pytest.mark.parametrize("which", ["ours", "take"])
def test_slices(measure, which, capacity, shape):
    group = f"blocks of {N} of a slice producer, f32{list(shape)}, capacity {capacity}"
    data = arrays(shape)
    if which == "take":
        measure(group, gather(*data), N * BATCHES, rounds=10, warmup_rounds=1)
        return
    source = slice_input_producer(data, capacity=capacity, seed=1)
    coord = pipeline.Coordinator()
    threads = pipeline.start_queue_runners(coord=coord)

    def work():
        taken = 0
        while taken < N * BATCHES:
            taken += len(source.block(N)[1])

    try:
        measure(group, work, N * BATCHES, rounds=10, warmup_rounds=1)
    finally:
        coord.request_stop()
        coord.join(threads)


@pytest.mark.parametrize("shape", [(4,), (784,)], ids=str)
@pytest.mark.parametrize("capacity", [32, 4096])
@pytest.mark.parametrize("which", ["ours", "take"])
def test_shuffled(measure, which, capacity, shape):
    group = f"slice producer and shuffle_batch({N}), f32{list(shape)}, capacity {capacity}"
    data = arrays(shape)
    if which == "take":
        measure(group, gather(*data), N * BATCHES, rounds=10, warmup_rounds=1)
        return
    source = slice_input_producer(data, capacity=capacity, seed=1)
    with pipeline.shuffle_batch(source, N, 20_000, 10_000, seed=1) as batches:

        def work():
            for _ in islice(batches, BATCHES):
                pass

        measure(group, work, N * BATCHES, rounds=10, warmup_rounds=1)
