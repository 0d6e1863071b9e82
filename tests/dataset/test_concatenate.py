"""concatenate: datasets one after the other."""

import numpy as np
import pytest
from dataset_contract import check, stream

import pipeline

SOURCES = {"list": pipeline.dataset(range(3)), "stream": stream(range(3)), "empty": pipeline.dataset([])}
ITEMS = {"list": [0, 1, 2], "stream": [0, 1, 2], "empty": []}


@pytest.mark.parametrize("first", SOURCES)
@pytest.mark.parametrize("second", SOURCES)
def test_concatenate(first, second):
    both = SOURCES[first].concatenate(SOURCES[second])
    check(both, ITEMS[first] + ITEMS[second])
    check(both.concatenate(SOURCES[first]).skip(2), (ITEMS[first] + ITEMS[second] + ITEMS[first])[2:])


def test_elements_of_equal_numbers_draw_other_random_numbers():
    def draw(row):
        return pipeline.example_rng().random()

    one, other = pipeline.arrays(np.arange(3)), pipeline.arrays(np.arange(3, 6))
    assert len(set(one.concatenate(other).map(draw, seed=1))) == 6
    assert len(set(one.concatenate(one).map(draw, seed=1))) == 6
    assert sorted(one.concatenate(other).shuffle(seed=1)) == [0, 1, 2, 3, 4, 5]
