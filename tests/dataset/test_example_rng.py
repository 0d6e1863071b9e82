"""example_rng: numbers depend only on the seed, epoch, example and function."""

import itertools

import numpy as np
import pytest
from helpers import run_in_thread

import pipeline

SEED = 3
PAIR = [87654321, SEED]  # the seeds derived from SEED without a global seed


def drawn(function, count=1, seed=SEED, epoch=0):
    """Return the results for some examples."""
    return list(pipeline.dataset(range(count)).map(lambda _: function(), seed=seed).epoch(epoch))


def raw(count):
    return lambda: pipeline.example_rng().bit_generator.random_raw(count)


def test_outside_of_a_dataset():
    said = "^example_rng: it works only inside a function passed to map"
    with pytest.raises(pipeline.FailedPreconditionError, match=said):
        pipeline.example_rng()


def test_numbers_stay_the_same_between_versions():
    """A run that resumes after an upgrade goes on with the same numbers."""
    data = pipeline.dataset(range(4)).map(lambda _: int(pipeline.example_rng().integers(1000)), seed=1)
    assert list(data) == [137, 952, 61, 72]
    assert list(data.epoch(1)) == [830, 725, 561, 685]
    second = data.map(lambda _: int(pipeline.example_rng().integers(1000)), seed=2)
    assert list(second) == [132, 362, 858, 944]


def test_one_call_has_one_generator():
    """A second call continues the first."""

    def both():
        first, again = pipeline.example_rng(), pipeline.example_rng()
        assert isinstance(first, np.random.Generator)
        assert first is again
        return [first.random(), again.random()]

    ((one, other),) = drawn(both)
    assert one != other
    (together,) = drawn(lambda: pipeline.example_rng().random(2))
    assert together.tolist() == [one, other]


def test_it_differs_by_seed_epoch_and_example():
    seen = set()
    for seed, epoch in itertools.product([0, 1, 2, 1000, 2**31 - 2], [0, 1, 5]):
        seen.update(tuple(each) for each in drawn(raw(2), 4, seed, epoch))
    assert len(seen) == 5 * 3 * 4


def test_it_differs_by_function():
    data = pipeline.dataset(range(4)).map(lambda _: [tuple(raw(2)())], seed=1)
    for _ in range(2):
        data = data.map(lambda found: [*found, tuple(raw(2)())], seed=1)
    assert len({each for found in data for each in found}) == 12


def test_examples_do_not_overlap():
    """However much an example draws, another gets different numbers: their counters are 2**64 blocks apart."""
    first, *others = drawn(raw(100_000), 3)
    assert not np.isin(np.concatenate(others), first).any()


def test_it_is_apart_from_the_draws_of_shuffles():
    """Shuffles draw from Philox with the same seeds."""
    (own,) = drawn(raw(100))
    draws = np.random.Philox(key=PAIR, counter=[0, 0, 0, 0]).random_raw(10_000)
    assert not np.isin(own, draws).any()


def test_another_thread_has_none():
    (error,) = drawn(lambda: run_in_thread(pipeline.example_rng).exception())
    assert isinstance(error, pipeline.FailedPreconditionError)


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_a_function_that_is_a_source(threads):
    """Threads calling it at once never draw the same numbers."""
    calls = itertools.count()

    def example():
        if next(calls) >= 300:
            raise StopIteration
        return raw(1)()[0]

    with pipeline.batch(example, 50, num_threads=threads) as batches:
        found = np.concatenate(list(batches))
    assert len(np.unique(found)) == 300
