"""repeat opens a pass when it comes, however many there are."""

import numpy as np
import pytest

import pipeline
from pipeline.datasets.origins.sequence import OfSequence

MANY = 10**12


def test_many_passes_are_as_cheap_as_one(monkeypatch):
    opened = []
    index = OfSequence.index
    monkeypatch.setattr(OfSequence, "index", lambda self, *pass_: opened.append(pass_) or index(self, *pass_))
    data = pipeline.dataset(range(3)).repeat(MANY)
    assert list(data.take(4)) == [0, 1, 2, 0]
    assert list(data.skip(2 * MANY).take(2)) == [2 * MANY % 3, (2 * MANY + 1) % 3]
    assert next(iter(data.shard(5, 7).batch(2))).tolist() == [5 % 3, 12 % 3]
    assert len(opened) < 20_000  # as elements are chosen a few thousand at a time


@pytest.mark.parametrize("n", [1, 2, 5, 100])
def test_passes_by_number_are_those_in_order(n):
    data = pipeline.arrays(np.arange(7), shuffle=True, seed=1)
    straight = list(data.repeat(n).filter(lambda x: True))
    assert list(data.repeat(n)) == straight
    assert list(data.repeat(n).take(6 * n)) == straight[: 6 * n]
    assert [each for batch in data.repeat(n).batch(4) for each in batch.tolist()] == straight
    assert sorted(data.repeat(n).shuffle(seed=2)) == sorted(straight)
    assert len({tuple(straight[7 * k : 7 * k + 7]) for k in range(n)}) > n / 2  # each pass has its order
