"""Batches with random access contain the rows that NumPy would take, wherever indices are chosen ahead."""

import collections
import functools

import numpy as np
import pytest
from helpers import told

import pipeline

Point = collections.namedtuple("Point", "x y")
ROWS = 20_000
ARRAYS = [
    np.arange(ROWS, dtype=np.float32).reshape(-1, 2),
    np.arange(ROWS, dtype=np.int16),
    np.arange(ROWS * 3, dtype=np.uint8).reshape(-1, 3),
    np.arange(ROWS * 400).reshape(-1, 400),
    np.array([b"%d" % i for i in range(ROWS)], object),
    np.arange(ROWS).astype("datetime64[s]"),
    np.arange(2 * ROWS, dtype=np.float64)[::2],
    np.zeros((ROWS, 0), np.float32),
]


@functools.cache
def order_of(count, shuffle):
    """Return the indices in the order they are taken per example."""
    return np.array([int(i) for i in pipeline.arrays(np.arange(count), shuffle=shuffle, seed=1)])


@pytest.mark.parametrize("array", ARRAYS, ids=[f"{each.dtype}{list(each.shape)}" for each in ARRAYS])
@pytest.mark.parametrize("size", [100, 3000, ROWS + 1])
@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_are_rows_in_the_order_of_the_source(array, size, shuffle):
    rows = np.arange(len(array))
    order = order_of(len(array), shuffle)
    batches = list(pipeline.arrays((array, rows), shuffle=shuffle, seed=1).batch(size))
    assert [len(number) for _, number in batches[:-1]] == [size] * (len(batches) - 1)
    assert (np.concatenate([number for _, number in batches]) == order).all()
    found = np.concatenate([values for values, _ in batches])
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert (found == array[order]).all()


@pytest.mark.parametrize(
    "pack",
    [lambda a, b: (a, b), lambda a, b: {"a": a, "b": b}, lambda a, b: {"n": (a, {"b": b})}, Point, lambda a, b: a],
    ids=["tuple", "dict", "nested", "named", "one"],
)
def test_batches_have_the_structure_of_the_source(pack):
    a, b = np.arange(10.0), np.arange(20).reshape(10, 2)
    (batch,) = pipeline.arrays(pack(a, b)).batch(10)
    expected = pack(a, b)
    assert type(batch) is type(expected)
    assert repr(batch) == repr(expected)


@pytest.mark.parametrize(
    "options", [{}, {"shuffle": True}, {"shard": (1, 3)}, {"num_epochs": 3, "shuffle": True}], ids=told
)
@pytest.mark.parametrize("whole", [False, True])
def test_states_within_numbers_that_were_chosen_ahead(options, whole):
    dataset = pipeline.arrays(np.arange(9000), seed=3, **options).batch(700, drop_remainder=whole)
    straight = iter(dataset)
    expected, states = [], [straight.state_dict()]
    for batch in straight:
        expected.append(batch.tolist())
        states.append(straight.state_dict())
    for k, state in enumerate(states):
        resumed = iter(dataset)
        resumed.load_state_dict(state)
        assert [batch.tolist() for batch in resumed] == expected[k:]
        assert [batch.tolist() for batch in dataset.skip(k)] == expected[k:]


@pytest.mark.parametrize("of", [lambda n: np.arange(n), lambda n: list(range(n))], ids=["arrays", "list"])
def test_what_goes_out_does_not_depend_on_who_batches(of):
    """With a function for single examples in between, the order and the batches stay the same."""
    dataset = pipeline.arrays(of(5000)) if type(of(1)) is not list else pipeline.dataset(of(5000))
    short, long = dataset.shuffle(100, seed=1).batch(64), dataset.shuffle(100, seed=1).map(int).batch(64)
    for one, other in zip(short, long, strict=True):
        assert one.tolist() == other.tolist()
