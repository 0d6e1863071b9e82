"""concatenate: one dataset after the other."""

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


def test_elements_of_equal_numbers_are_told_apart():
    one, other = pipeline.arrays(np.arange(3)), pipeline.arrays(np.arange(3, 6))
    fingerprints = set()
    for data in (one.concatenate(other), other.concatenate(one), one.concatenate(one)):
        with iter(data) as iterator:
            list(iterator)
            fingerprints.add(iterator.fingerprint())
    assert len(fingerprints) == 1  # the first 3 rows of the first, then those of the second: places, not values
    with iter(one.concatenate(other).shuffle(seed=1)) as iterator:
        assert sorted(iterator) == [0, 1, 2, 3, 4, 5]
