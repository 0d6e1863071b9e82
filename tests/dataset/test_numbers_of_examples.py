"""An example's random numbers depend on its number in the source, wherever it is chosen and however it is read."""

import contextlib

import numpy as np
import pytest
from chains import plain
from steps import STEPS, same

import pipeline

FOLLOWED = {name: step for name, step in STEPS.items() if name != "checksum"}  # steps that a function may follow
SELECTIONS = {
    "shard": lambda dataset: dataset.shard(1, 3),
    "skip": lambda dataset: dataset.skip(5),
    "shuffle": lambda dataset: dataset.shuffle(seed=2),
    "shuffle(n)": lambda dataset: dataset.shuffle(4, seed=2),
    "shard, skip": lambda dataset: dataset.shard(0, 2).skip(1),
    "sort": lambda dataset: dataset.sort(5, lambda element: -int(np.ravel(element)[0])),
    "filter": lambda dataset: dataset.filter(lambda element: int(element) % 3 > 0),
}


def drawn(element):
    return plain(element), int(pipeline.example_rng().integers(0, 1 << 40))


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("name", FOLLOWED)
def test_one_example_has_one_draw(name, workers):
    dataset = FOLLOWED[name].over(pipeline.dataset(np.arange(12)).map(same)).map(drawn, seed=1, workers=workers)
    wanted = list(dataset)
    with contextlib.suppress(TypeError):  # raised by datasets without numbers
        assert [dataset[i] for i in range(len(dataset))] == wanted
    assert list(dataset.take(3)) == wanted[:3]
    assert list(dataset.skip(1)) == wanted[1:]
    assert list(dataset.shard(1, 2)) == wanted[1::2]
    for n in range(len(wanted) + 1):
        first, second = iter(dataset), iter(dataset)
        for _ in range(n):
            next(first)
        second.load_state_dict(first.state_dict())
        assert list(second) == wanted[n:]


@pytest.mark.parametrize("name", [name for name in SELECTIONS if name != "filter"])
def test_a_choice_before_a_function_changes_no_draw(name):
    select = SELECTIONS[name]
    chosen = list(select(pipeline.dataset(np.arange(12))).map(drawn, seed=1))
    assert set(chosen) <= set(pipeline.dataset(np.arange(12)).map(drawn, seed=1))
    assert list(select(pipeline.dataset(np.arange(12)).map(drawn, seed=1))) == chosen


def test_hosts_draw_what_one_would_draw():
    data = pipeline.dataset(range(12))
    whole = set(data.map(drawn, seed=1))
    assert whole == {each for host in range(3) for each in data.shard(host, 3).map(drawn, seed=1)}
    assert len({draw for _, draw in whole}) == 12


def numbers(first, last):
    return pipeline.dataset(range(first, last))


def yes(x):
    return True


def rng_of(x):
    return int(pipeline.example_rng().integers(0, 1 << 62))


def recipes(x):
    return numbers(0, 3).map(rng_of, seed=1)


JOINED = {name: step.over_itself for name, step in FOLLOWED.items()} | {
    "three": lambda data: data.concatenate(data).concatenate(data),
    "concatenate, right": lambda data: data.concatenate(data.concatenate(data)),
    "repeat, repeat": lambda data: data.repeat(2).repeat(2),
    "concatenate, repeat": lambda data: data.concatenate(data).repeat(2),
    "repeat, concatenate": lambda data: data.repeat(2).concatenate(data),
    "unbatch, concatenate": lambda data: data.batch(2).unbatch().concatenate(data),
    "flat_map, concatenate": lambda data: data.flat_map(lambda x: [x, x]).concatenate(data),
    "mix, repeat": lambda data: pipeline.mix(
        [data.filter(yes), data.flat_map(lambda x: [x, x])], [1, 1], seed=1
    ).repeat(2),
    "mix of mixes": lambda data: pipeline.mix([pipeline.mix([data, data], [1, 1], seed=1), data], [2, 1], seed=1),
    "interleave of interleaves": lambda data: pipeline.interleave(
        [pipeline.interleave([data, data]), data, data.repeat(2)]
    ),
    "sample, concatenate": lambda data: data.sample(np.ones(16), 20, seed=1).concatenate(data.repeat(3)),
}


@pytest.mark.parametrize("first", [lambda data: data, lambda data: data.filter(yes)], ids=["indexed", "stream"])
@pytest.mark.parametrize("name", JOINED)
def test_no_two_elements_draw_alike(name, first):
    """Inputs and epochs may be joined in any way, and repeatedly."""
    indexed = name.startswith(("sample", "shuffle()"))
    drawn = list(JOINED[name](numbers(0, 16) if indexed else first(numbers(0, 16))).map(rng_of, seed=1))
    assert len(set(drawn)) == len(drawn) > 2


def test_recipes_that_functions_make_draw_each_their_own():
    data = numbers(0, 4).map(recipes)
    nested = pipeline.interleave(numbers(0, 4).map(lambda x: pipeline.interleave(data)))
    joined = pipeline.interleave([pipeline.interleave(data), pipeline.interleave(data)])
    for each in (nested, joined, pipeline.interleave(data).concatenate(pipeline.interleave(data))):
        drawn = list(each)
        assert len(set(drawn)) == len(drawn) >= 24


def test_errors_name_examples_of_later_passes_too():
    """Their numbers are mixed, so the note names the source's example."""
    twice = numbers(0, 4).filter(yes).repeat(2)
    for data in (twice, twice.map(abs).prefetch(1)):
        with pytest.raises(ZeroDivisionError) as raised:
            list(data.map(lambda x: 1 // (x - 3)))
        assert "<lambda>: example 3" in getattr(raised.value, "__notes__", ["<lambda>: example 3"])
