"""One order, whatever waits: functions, the consumer, blocks that are short. `make resume` does it longer."""

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


class ShortBlocks:
    """Gives the numbers 0 to 499 in blocks as short as it likes."""

    def __init__(self):
        self._next, self._random = 0, random.Random()

    def block(self, n):
        if self._next == 500:
            raise StopIteration
        first, self._next = self._next, min(500, self._next + self._random.randint(1, min(n, 40)))
        return np.arange(first, self._next)


@pytest.mark.parametrize("threads", [0, 1, 2, 8])
def test_short_blocks(threads):
    """Elements count one by one, whatever the blocks that they came in."""
    loop = pipeline.shuffle_batch(ShortBlocks(), 10, 200, 60, threads, seed=resumable.SEED, deterministic=True)
    with loop:
        numbers = [number for batch in loop for number in batch.tolist()]
    drawn, _ = resumable.lockstep.play(*resumable.SEEDS, 60, range(500))
    assert numbers == drawn
