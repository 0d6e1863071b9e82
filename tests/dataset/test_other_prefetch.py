"""A state loads with another `prefetch`, or none, anywhere in the recipe: the same elements come."""

import json

import numpy as np
import pytest
from steps import STREAMED, same, sequence

import pipeline


def is_odd(x):
    return int(np.sum(x)) % 2 == 1


def text(folder):
    (folder / "a.txt").write_text("".join(f"{i}\n" for i in range(20)))
    return pipeline.text(str(folder / "a.txt")).map(int)


SOURCES = {
    "numbers": lambda folder: pipeline.dataset(range(20)),
    "filter": lambda folder: pipeline.dataset(range(40)).filter(is_odd),
    "flat map": lambda folder: pipeline.dataset(range(7)).flat_map(lambda x: [x] * (x % 4)),
    "text": text,
    "lines": lambda folder: (text(folder), pipeline.text(str(folder / "a.txt")))[1],
    "shuffle": lambda folder: pipeline.dataset(range(40)).filter(is_odd).shuffle(5, seed=1),
    "workers": lambda folder: pipeline.dataset(range(40)).map(abs, workers=2).filter(is_odd),
}
CHAINS = {name: step.over_itself for name, step in STREAMED.items()} | {
    "alone": lambda data: data,
    "repeat, batch": lambda data: data.repeat(3).batch(7),
    "repeat a pool": lambda data: data.shuffle(5, seed=1).repeat(2).batch(7),
    "map in workers": lambda data: data.map(same, workers=2),
    "batch, skip": lambda data: data.batch(2).skip(1),
    "pack whole": lambda data: data.map(sequence).pack(4, method="first_fit", long="error"),
}


def plain(element):
    return json.dumps(
        element, default=lambda value: str(value) if isinstance(value, bytes) else np.asarray(value).tolist()
    )


SLOW = ("flat map", "text", "shuffle")


@pytest.mark.parametrize("source", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in SOURCES])
@pytest.mark.parametrize("chain", CHAINS)
def test_every_place(source, chain, tmp_path):
    def made(n):
        data = SOURCES[source](tmp_path)
        return CHAINS[chain](data if n is None else data.prefetch(n))

    for saved in (5, None):
        with iter(made(saved)) as iterator:
            states, elements = [iterator.state_dict()], []
            for element in iterator:
                elements.append(plain(element))
                states.append(iterator.state_dict())
        for k in range(0, len(states), 2):
            for here in {5: (None, 2), None: (5,)}[saved]:
                with iter(made(here)) as resumed:
                    resumed.load_state_dict(json.loads(json.dumps(states[k])))
                    assert [plain(element) for element in resumed] == elements[k:], (saved, here, k)
