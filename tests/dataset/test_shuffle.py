"""shuffle: everything, by number; or a pool of a size."""

import pytest
from dataset_contract import check, states_of, stream

import pipeline

SOURCES = {"list": pipeline.dataset(range(30)), "stream": stream(range(30))}


@pytest.mark.parametrize("size", [2, 7, 30, 100])
@pytest.mark.parametrize("source", SOURCES)
def test_a_pool(source, size):
    data = SOURCES[source].shuffle(size, seed=1)
    found = list(data)
    check(data, found)
    assert sorted(found) == list(range(30))
    assert found != list(range(30))
    assert all(x <= i + size - 1 for i, x in enumerate(found))  # no element comes before it is in the pool


@pytest.mark.parametrize("source", SOURCES)
def test_a_pool_of_one_changes_nothing(source):
    check(SOURCES[source].shuffle(1, seed=1), range(30))


def test_the_order_depends_on_the_seed_alone():
    assert list(SOURCES["list"].shuffle(7, seed=1)) == list(SOURCES["stream"].shuffle(7, seed=1))
    assert list(SOURCES["list"].shuffle(7, seed=1)) != list(SOURCES["list"].shuffle(7, seed=2))


def test_everything():
    data = SOURCES["list"].shuffle(seed=1)
    check(data, list(data))
    assert sorted(data) == list(range(30))
    assert len({tuple(data.epoch(i)) for i in range(5)}) == 5


@pytest.mark.parametrize("size", [None, 7])
def test_a_seed_that_was_drawn_is_in_the_state(size):
    data = SOURCES["list"].shuffle(size)
    found = list(data)
    assert list(data) == found  # one recipe has one seed
    states, _ = states_of(data)
    other = SOURCES["list"].shuffle(size)
    with iter(other) as iterator:
        iterator.load_state_dict(states[11])
        assert list(iterator) == found[11:]
    assert list(other.epoch(1)) == list(data.epoch(1))  # later epochs agree too
