"""Random numbers of an example depend on its place where the function stands, however it is read."""

import numpy as np
import pytest

import pipeline

SELECTIONS = {
    "shard": lambda dataset: dataset.shard(1, 3),
    "skip": lambda dataset: dataset.skip(5),
    "shuffle": lambda dataset: dataset.shuffle(seed=2),
    "shard, skip": lambda dataset: dataset.shard(0, 2).skip(1),
}


def same(element):
    return element


def drawn(element):
    return int(element) * 1000 + int(pipeline.example_rng().integers(0, 1000))


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("select", SELECTIONS.values(), ids=SELECTIONS)
def test_one_example_has_one_draw(select, workers):
    dataset = select(pipeline.dataset(np.arange(12)).map(same)).map(drawn, seed=1, workers=workers)
    wanted = [dataset[i] for i in range(len(dataset))]
    assert list(dataset) == wanted
    assert list(dataset.take(3)) == wanted[:3]
    assert list(dataset.skip(1)) == wanted[1:]
    assert list(dataset.shard(1, 2)) == wanted[1::2]
    assert list(select(pipeline.dataset(np.arange(12))).map(drawn, seed=1)) == wanted
    for n in range(len(wanted) + 1):
        first, second = iter(dataset), iter(dataset)
        for _ in range(n):
            next(first)
        second.load_state_dict(first.state_dict())
        assert list(second) == wanted[n:]
