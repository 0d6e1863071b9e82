"""example_rng: what its numbers depend on; no two functions, inputs, epochs or draws share them."""

import contextlib
import itertools
import json

import numpy as np
import pytest
from dataset_contract import stream

import pipeline


def draw():
    return int(pipeline.example_rng().integers(1 << 60))


def drawn(x):
    """Return a new number per call."""
    return draw()


def noted(x):
    """Return the element and a new number."""
    return *(x if isinstance(x, tuple) else (x,)), draw()


def uniform(x):
    return float(x), pipeline.example_rng().random()


NUMBERS = pipeline.dataset(range(50))
DRAWS = NUMBERS.map(drawn, seed=1)


def all_draws(elements):
    return [int(number) for each in elements for number in np.ravel(each)]


def test_two_functions_of_a_chain_draw_independently():
    found = np.array(list(pipeline.dataset(range(4000)).map(uniform, seed=1).map(lambda x: (*x, *uniform(0)[1:]))))
    assert abs(np.corrcoef(found[:, 1], found[:, 2])[0, 1]) < 0.05
    assert not set(found[:, 1]) & set(found[:, 2])


@pytest.mark.parametrize("workers", [None, 2])
def test_draws_of_a_filter_say_nothing_of_those_behind_it(workers):
    def kept(x):
        return pipeline.example_rng().random() < 0.5

    data = pipeline.dataset(range(4000)).filter(kept, seed=1, workers=workers).map(uniform, workers=workers)
    found = np.array([value for _, value in data])
    assert 1800 < len(found) < 2200
    counts, _ = np.histogram(found, bins=10, range=(0, 1))
    assert counts.min() > 150
    assert counts.max() < 250


def test_functions_with_one_seed_or_several_draw_differently():
    chains = [NUMBERS.map(noted, seed=seed).map(noted, seed=other).map(noted) for seed, other in [(1, 1), (1, 2)]]
    for chain in chains:
        draws = [number for _, *numbers in chain for number in numbers]
        assert len(set(draws)) == 150


@pytest.mark.parametrize("workers", [None, 2, "processes"])
def test_a_second_call_continues_the_first(workers):
    with contextlib.ExitStack() as stack:
        executor = stack.enter_context(pipeline.processes(1)) if workers == "processes" else workers
        twice = list(NUMBERS.map(twice_at_once, seed=1, workers=executor))
    once = list(NUMBERS.map(both_at_once, seed=1))
    assert twice == once
    assert len(set(all_draws(once))) == 100


def twice_at_once(x):
    return draw(), draw()


def both_at_once(x):
    return tuple(pipeline.example_rng().integers(1 << 60, size=2).tolist())


def test_an_element_that_is_sampled_twice_is_augmented_twice():
    weights = [1] * 50
    for data in (
        NUMBERS.map(noted, seed=1).sample(weights, 400, seed=2),
        NUMBERS.sample(weights, 400, seed=2).map(noted, seed=1),
        NUMBERS.map(noted, seed=1).prefetch(2).sample(weights, 400, seed=2),
    ):
        found = list(data)
        assert len({number for number, _ in found}) <= 50
        assert len({value for _, value in found}) == 400
        assert list(data) == found


JOINED = {
    "zip": lambda: pipeline.zip(DRAWS, DRAWS),
    "mix": lambda: pipeline.mix([DRAWS, DRAWS], seed=3),
    "interleave": lambda: pipeline.interleave([DRAWS, DRAWS], block_length=3),
    "concatenate": lambda: DRAWS.concatenate(DRAWS),
    "nested interleave": lambda: pipeline.interleave(pipeline.dataset(range(2)).map(lambda i: DRAWS)),
    "repeat": lambda: DRAWS.repeat(2),
    "epochs": lambda: itertools.chain(DRAWS, DRAWS.epoch(1)),
    "streams": lambda: pipeline.mix([DRAWS.filter(bool), DRAWS.filter(bool)], seed=3),
    "workers": lambda: pipeline.zip(DRAWS, NUMBERS.map(drawn, seed=1, workers=2)),
    "joins in joins": lambda: pipeline.mix([pipeline.zip(DRAWS), pipeline.zip(DRAWS)], seed=3),
}


@pytest.mark.parametrize("join", JOINED)
def test_inputs_that_are_joined_draw_differently(join):
    draws = all_draws(JOINED[join]())
    assert len(draws) == len(set(draws)) == 100


def test_joins_of_joins_draw_differently():
    one = pipeline.zip(DRAWS, DRAWS)
    draws = all_draws(pipeline.mix([one, one.shuffle(7, seed=1), pipeline.interleave([one, one])], seed=3))
    assert len(draws) == len(set(draws)) == 400


BEHIND = {
    "zip": lambda: pipeline.zip(NUMBERS, NUMBERS),
    "mix": lambda: pipeline.mix([NUMBERS, NUMBERS], seed=3),
    "interleave": lambda: pipeline.interleave([NUMBERS, NUMBERS], block_length=3),
    "concatenate": lambda: NUMBERS.concatenate(NUMBERS),
    "nested interleave": lambda: pipeline.interleave(pipeline.dataset(range(2)).map(lambda i: NUMBERS)),
    "repeat": lambda: NUMBERS.repeat(2),
    "flat_map": lambda: NUMBERS.flat_map(lambda x: [x] * 3),
    "unbatch": lambda: NUMBERS.batch(7).unbatch(),
    "window": lambda: NUMBERS.window(5, 1),
    "batch": lambda: NUMBERS.batch(3),
    "bucket": lambda: NUMBERS.map(lambda x: [x] * (x % 4 + 1)).bucket([2, 3], [2, 3, 2]),
    "pack": lambda: NUMBERS.map(lambda x: [x] * (x % 9)).pack(2),
    "pack whole": lambda: NUMBERS.map(lambda x: [x] * (x % 9)).pack(9, method="first_fit", long="error"),
    "a generator": lambda: stream(range(50)),
}


@pytest.mark.parametrize("source", BEHIND)
def test_every_element_has_draws_of_its_own(source):
    data = BEHIND[source]()
    draws = list(data.map(drawn, seed=1))
    assert len(draws) == len(set(draws)) == sum(1 for _ in data)


@pytest.mark.parametrize("source", BEHIND)
def test_draws_are_the_same_with_workers_and_after_a_resume(source):
    data = BEHIND[source]().map(drawn, seed=1)
    draws = list(data)
    assert list(BEHIND[source]().map(drawn, seed=1, workers=2)) == draws
    assert list(BEHIND[source]().prefetch(3).map(drawn, seed=1).prefetch(2)) == draws
    for k in (1, 7, len(draws) - 1):
        with iter(data) as iterator, iter(BEHIND[source]().map(drawn, seed=1, workers=2)) as resumed:
            assert list(itertools.islice(iterator, k)) == draws[:k]
            resumed.load_state_dict(json.loads(json.dumps(iterator.state_dict())))
            assert list(resumed) == draws[k:]


def test_seeds_and_epochs_choose_other_numbers():
    draws = [list(NUMBERS.map(drawn, seed=seed).epoch(epoch)) for seed in (1, 2) for epoch in (0, 1)]
    assert len({number for each in draws for number in each}) == 200


def test_the_seed_is_that_of_map_or_the_nearest_one_upstream():
    own = list(NUMBERS.shuffle(seed=5).map(noted, seed=1))
    assert list(NUMBERS.shuffle(seed=5).map(noted)) != own
    assert sorted(own) == sorted(NUMBERS.map(noted, seed=1))
    assert sorted(NUMBERS.shuffle(seed=5).map(noted)) == sorted(NUMBERS.map(noted, seed=5))
    shuffled = NUMBERS.shuffle(seed=5)
    for behind in (shuffled.batch(10), pipeline.zip(NUMBERS, shuffled)):
        assert list(behind.map(drawn)) == list(behind.map(drawn, seed=5))


def test_functions_elsewhere_change_no_draws():
    draws = list(NUMBERS.map(noted, seed=1))
    assert [each[:2] for each in NUMBERS.map(noted, seed=1).map(noted)] == draws
    assert list(NUMBERS.map(noted, seed=1).filter(bool).prefetch(2)) == draws
    assert list(NUMBERS.prefetch(2).map(noted, seed=1)) == draws
