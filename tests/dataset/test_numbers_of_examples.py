"""Random numbers of an example depend on its number in the source, wherever it is chosen and however it is read."""

import contextlib

import numpy as np
import pytest

import pipeline

SELECTIONS = {
    "shard": lambda dataset: dataset.shard(1, 3),
    "skip": lambda dataset: dataset.skip(5),
    "shuffle": lambda dataset: dataset.shuffle(seed=2),
    "shuffle(n)": lambda dataset: dataset.shuffle(4, seed=2),
    "shard, skip": lambda dataset: dataset.shard(0, 2).skip(1),
    "sort": lambda dataset: dataset.sort(5, lambda element: -int(np.ravel(element)[0])),
    "filter": lambda dataset: dataset.filter(lambda element: int(element) % 3 > 0),
}


def same(element):
    return element


def drawn(element):
    return int(element), int(pipeline.example_rng().integers(0, 1 << 40))


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("select", SELECTIONS.values(), ids=SELECTIONS)
def test_one_example_has_one_draw(select, workers):
    dataset = select(pipeline.dataset(np.arange(12)).map(same)).map(drawn, seed=1, workers=workers)
    wanted = list(dataset)
    with contextlib.suppress(TypeError):  # which those raise that have no numbers
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
