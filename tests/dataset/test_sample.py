"""sample: draws with replacement, by weight."""

import numpy as np
import pytest
from dataset_contract import check

import pipeline


def test_a_resume_anywhere():
    data = pipeline.dataset(range(5)).sample([1, 0, 2, 0, 3], 30, seed=1)
    found = list(data)
    assert set(found) == {0, 2, 4}
    check(data, found)
    check(data.epoch(1), list(data.epoch(1)))
    assert list(data.epoch(1)) != found


@pytest.mark.parametrize("weights", [[3, 2, 1], np.arange(5000.0)])
def test_a_state_is_for_its_weights(weights):
    data = pipeline.dataset(range(len(weights)))
    other = np.array(weights)
    other[[1, 2]] = other[[2, 1]]  # with the same sum
    with iter(data.sample(weights, 9, seed=1)) as iterator:
        next(iterator)
        state = iterator.state_dict()
    with iter(data.sample(np.array(weights) * 2, 9, seed=1)) as iterator:  # draws the same
        iterator.load_state_dict(state)
    with iter(data.sample(other, 9, seed=1)) as iterator, pytest.raises(ValueError, match="sample: its weights differ"):
        iterator.load_state_dict(state)


def test_classes_are_balanced():
    labels = np.repeat([0, 1], [990, 10])
    weights = 1 / np.bincount(labels)[labels]
    drawn = np.array(list(pipeline.dataset(labels).sample(weights, 2000, seed=1)))
    assert abs(drawn.mean() - 0.5) < 0.04


def test_as_many_as_there_are():
    assert len(list(pipeline.dataset(range(7)).sample([1] * 7, seed=1))) == 7
    assert list(pipeline.dataset(range(7)).sample([1] * 7, 0)) == []


def drawn(x):
    return x, float(pipeline.example_rng().random())


def test_a_prefetch_before_it_changes_no_example():
    data = pipeline.dataset(range(5)).map(drawn, seed=1)
    expected = list(data.sample([1] * 5, 30, seed=1))
    ahead = data.prefetch(2).sample([1] * 5, 30, seed=1)
    check(ahead, expected)
    check(ahead.skip(3), expected[3:])


@pytest.mark.parametrize("weights", [[1, 2], [1, -1, 1], [0, 0, 0], [1, float("nan"), 1]])
def test_wrong_weights(weights):
    with pytest.raises(ValueError, match="sample: "):
        pipeline.dataset(range(3)).sample(weights)
