"""A state saved with workers loads without them, and the reverse, wherever choices are made."""

import itertools
import json
import pickle

import chains
import pytest

import pipeline

PARTS = {
    "repeat": lambda data: data.repeat(2),
    "take": lambda data: data.take(5),
    "skip": lambda data: data.skip(1),
    "shard": lambda data: data.shard(0, 2),
    "window": lambda data: data.window(2, 1),
    "batch": lambda data: data.batch(2, drop_remainder=True),
    "concatenate": lambda data: data.concatenate(data),
    "shuffle": lambda data: data.shuffle(3, seed=1),
    "zip": lambda data: pipeline.zip(data, data),
    "map": lambda data: data.map(lambda x: x),
    "enumerate": lambda data: data.enumerate(),
    "prefetch": lambda data: data.prefetch(2),
}


# A third of the pairs, with each part in both positions; the others run every night.
PAIRS = [
    pytest.param(before, last, marks=[pytest.mark.slow] * ((i + j) % 3 != 0))
    for (i, before), (j, last) in itertools.product(enumerate(PARTS), repeat=2)
]


@pytest.mark.parametrize(("before", "last"), PAIRS)
def test_states_load_with_other_workers(before, last):
    def recipe(first, workers):
        data = pipeline.dataset(range(9)).map(int, workers=workers)
        return PARTS[last](PARTS[before](first(data)))

    for first in (lambda data: data, PARTS["repeat"], PARTS["zip"], PARTS["skip"]):
        expected = [chains.plain(each) for each in recipe(first, None)]
        for one, other in itertools.permutations([None, 2]):
            with iter(recipe(first, one)) as iterator:
                states = [iterator.state_dict(), *(iterator.state_dict() for _ in iterator)]
            for k in {0, 1, len(expected) // 2, len(expected)} & set(range(len(states))):
                with iter(recipe(first, other)) as again:
                    again.load_state_dict(json.loads(json.dumps(states[k])))
                    assert [chains.plain(each) for each in again] == expected[k:]


def warm():
    """An importable setup, for processes."""


WORKERS = {
    "a number": lambda: 2,
    "auto": lambda: "auto",
    "threads": lambda: pipeline.threads(2, setup=warm),
    "processes": lambda: pipeline.processes(2, setup=warm),
    "a method": lambda: pipeline.processes(1, method="spawn"),
}


@pytest.mark.parametrize("kind", WORKERS)
@pytest.mark.parametrize("used", [False, True])
def test_a_recipe_pickles_with_its_workers(kind, used):
    """Also after running: workers in the recipe are a description, so the copy starts its own.

    Maps that share them still do.
    """
    workers = WORKERS[kind]()
    data = pipeline.dataset([-1, 2]).map(abs, workers=workers).map(float, workers=workers)
    if used:
        assert list(data) == [1.0, 2.0]
    again = pickle.loads(pickle.dumps(data))
    assert list(again) == [1.0, 2.0]
    assert repr(again) == repr(data)


def test_copies_of_workers_are_as_they_were():
    made = pipeline.processes(3, method="spawn")
    one, other = pickle.loads(pickle.dumps((made, made)))
    assert one is other
    assert repr(one) == repr(made)
