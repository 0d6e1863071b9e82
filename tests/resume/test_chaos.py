"""One order despite random waits in functions and the consumer, and short blocks. `make resume` runs longer."""

import itertools
import random

import numpy as np
import pytest
import resumable
from endurance.chaos import ends

import pipeline


@pytest.mark.parametrize("kind", resumable.LOOPS)
def test_one_order(kind, folder):
    rng = random.Random()
    assert len({ends(kind, folder, threads, rng) for threads in (0, 1, 4, 8)}) == 1


@pytest.mark.parametrize("threads", [0, 1, 2, 8])
def test_short_blocks(threads):
    """Elements count singly, in blocks of any size."""
    rows, chance = iter(range(500)), random.Random()

    def block():
        return np.array(list(itertools.islice(rows, chance.randint(1, 40))) or [next(rows)])

    loop = pipeline.shuffle_batch(
        block, 10, 200, 60, threads, seed=resumable.SEED, enqueue_many=True, deterministic=True
    )
    with loop:
        numbers = [number for batch in loop for number in batch.tolist()]
    drawn, _ = resumable.lockstep.play(*resumable.SEEDS, 60, range(500))
    assert numbers == drawn
