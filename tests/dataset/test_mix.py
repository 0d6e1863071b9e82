"""mix: elements of several datasets, drawn by weight."""

import numpy as np
import pytest
from dataset_contract import check, stream

import pipeline

A, B = pipeline.dataset(range(0, 60)), stream(range(100, 130))


@pytest.mark.parametrize("stop", ["all_exhausted", "first_exhausted"])
def test_a_resume_anywhere(stop):
    data = pipeline.mix([A, B, pipeline.dataset([-1])], [0.6, 0.3, 0.1], seed=1, stop=stop)
    found = list(data)
    check(data, found)
    for which in (A, B):
        mine = [x for x in found if (x < 100) == (which is A) and x >= 0]
        assert mine == list(which)[: len(mine)]
    if stop == "all_exhausted":
        assert sorted(found) == sorted([*A, *B, -1])


def test_weights_are_kept():
    counts = np.zeros(2)
    data = pipeline.mix([A.repeat().map(lambda x: 0), B.repeat().map(lambda x: 1)], [0.7, 0.3], seed=1)
    for each in data.take(4000):
        counts[each] += 1
    assert abs(counts[0] / 4000 - 0.7) < 0.03


def test_equal_weights_and_none():
    only = pipeline.mix([A, B], [1, 0], seed=1)
    assert list(only) == list(A)
    assert sorted(pipeline.mix([A, B], seed=1)) == sorted([*A, *B])


def test_epochs_draw_anew():
    data = pipeline.mix([A, B], seed=1)
    assert list(data.epoch(1)) != list(data)
    check(data.epoch(1), list(data.epoch(1)))
    assert list(data.repeat(2)) == [*data, *data.epoch(1)]


def test_an_unknown_stop():
    with pytest.raises(ValueError, match="stop must be 'all_exhausted' or 'first_exhausted'"):
        pipeline.mix([A], stop="never")
