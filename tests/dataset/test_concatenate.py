"""concatenate: datasets one after the other."""

import time

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


def test_a_slow_start_before_a_part_with_workers():
    """Reports leave out the start, and the workers begin after it."""

    def loads_a_model(number):
        if number == 0:
            time.sleep(0.2)
        return number

    first = pipeline.dataset(range(30)).map(loads_a_model)
    data = first.concatenate(pipeline.dataset(range(30)).map(loads_a_model, workers=2))
    assert list(data) == [*range(30), *range(30)]
