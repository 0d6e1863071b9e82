"""shuffle: everything, by index; or through a buffer of a given size."""

import numpy as np
import pytest
from dataset_contract import check, states_of, stream
from tracing import memory_below

import pipeline

SOURCES = {"list": pipeline.dataset(range(30)), "stream": stream(range(30))}


@pytest.mark.parametrize("size", [2, 7, 29, 30, 31, 32, 100])
@pytest.mark.parametrize("source", SOURCES)
def test_a_pool(source, size):
    data = SOURCES[source].shuffle(size, seed=1)
    found = list(data)
    check(data, found)
    assert sorted(found) == list(range(30))
    assert found != list(range(30))
    assert all(x <= i + size - 1 for i, x in enumerate(found))  # no element comes before it is in the buffer


@pytest.mark.parametrize("source", SOURCES)
def test_a_pool_needs_memory_for_the_elements_there_are(source):
    data = SOURCES[source].shuffle(10**7, seed=1)
    expected = list(SOURCES["stream"].shuffle(100, seed=1))
    with memory_below(8_000_000):  # one number per position is 80 MB
        assert list(data) == expected
        with iter(data) as iterator, iter(data) as resumed:
            assert [next(iterator) for _ in range(9)] == expected[:9]
            resumed.load_state_dict(iterator.state_dict())
            assert list(resumed) == expected[9:]


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
    states = states_of(data)
    other = SOURCES["list"].shuffle(size)
    with iter(other) as iterator:
        iterator.load_state_dict(states[11])
        assert list(iterator) == found[11:]
    assert list(other.epoch(1)) == list(data.epoch(1))  # later epochs agree too


def draw(x):
    return int(x) * 1000 + int(pipeline.example_rng().integers(1000))


CHOSEN = {
    "take": lambda data: data.take(9),
    "skip": lambda data: data.skip(2),
    "shard": lambda data: data.shard(1, 2),
    "repeat": lambda data: data.repeat(2).skip(1),
    "concatenate": lambda data: data.concatenate(data).take(20),
    "prefetch": lambda data: data.take(9).prefetch(2),
}


@pytest.mark.parametrize("chosen", CHOSEN.values(), ids=CHOSEN)
@pytest.mark.parametrize("workers", [None, 2])
def test_elements_keep_their_numbers_in_a_pool(chosen, workers):
    """Later steps with numbers or draws per element use the position, wherever the buffer is."""

    def data(function):
        return chosen(pipeline.dataset(range(12)).map(int, workers=workers)).map(function, seed=1)

    numbered = list(chosen(pipeline.dataset(range(12)).map(int, workers=workers)).enumerate())
    assert [number for number, _ in numbered] == list(range(len(numbered)))
    shuffled = chosen(pipeline.dataset(range(12)).map(int, workers=workers)).enumerate().shuffle(3, seed=1)
    assert sorted(shuffled) == numbered
    assert list(shuffled) == list(chosen(pipeline.dataset(range(12)).map(int)).enumerate().shuffle(3, seed=1))
    assert sorted(data(draw).shuffle(3, seed=1)) == sorted(data(draw))


class Lost(Exception):
    """Raised by a source."""


def pieces(fails=None):
    """Elements in blocks of five; one block may be lost."""

    def blocks():
        for number in range(6):
            if number == fails:
                raise Lost
            yield np.arange(5 * number, 5 * number + 5)

    return pipeline.dataset(blocks).unbatch().shuffle(8, seed=1)


@pytest.mark.parametrize("n", [1, 2, 7, 12, 40])
def test_what_several_blocks_draw_is_the_same_for_all_batches(n):
    assert [int(row) for batch in pieces().batch(n) for row in batch] == [int(row) for row in pieces()]


@pytest.mark.parametrize("n", [1, 2, 7, 12])
def test_what_was_drawn_comes_before_the_error_of_the_input(n):
    whole = [int(row) for row in pieces()]
    drawn = 20 - 7  # the other elements before it wait in the buffer
    batches = iter(pieces(fails=4).batch(n))
    got = [row for _ in range(drawn // n) for row in next(batches).tolist()]
    assert got == whole[: len(got)]
    with pytest.raises(Lost):
        next(batches)


def test_the_error_comes_once_more_after_a_state():
    rows = iter(pieces(fails=4).batch(6))
    first, second = next(rows).tolist(), next(rows).tolist()
    resumed = iter(pieces(fails=4).batch(6))
    resumed.load_state_dict(rows.state_dict())
    for each in (rows, resumed):
        with pytest.raises(Lost):
            next(each)
    assert first + second == [int(row) for row in pieces()][:12]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("length", [1, 2, 4])
def test_states_of_small_buffers_load_with_and_without_workers(size, length):
    """With buffers left empty between two examples, and with buffers holding everything."""

    def made(**workers):
        return pipeline.arrays(np.arange(length)).map(int, **workers).enumerate().shuffle(size, seed=1)

    elements = list(made())
    for one in ({}, {"workers": 2}):
        with iter(made(**one)) as iterator:
            states = [iterator.state_dict(), *(iterator.state_dict() for _ in iterator)]
        for other in ({}, {"workers": 2}):
            for k, state in enumerate(states):
                with iter(made(**other)) as again:
                    again.load_state_dict(state)
                    assert list(again) == elements[k:]
