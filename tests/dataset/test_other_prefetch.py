"""A state loads with another `prefetch`, or none, anywhere in the recipe: the same elements come."""

import json

import numpy as np
import pytest

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
CHAINS = {
    "alone": lambda data: data,
    "batch": lambda data: data.batch(2),
    "take": lambda data: data.take(9),
    "skip": lambda data: data.skip(3),
    "shard": lambda data: data.shard(1, 2),
    "repeat": lambda data: data.repeat(2),
    "repeat, batch": lambda data: data.repeat(3).batch(7),
    "repeat a pool": lambda data: data.shuffle(5, seed=1).repeat(2).batch(7),
    "concatenate": lambda data: data.concatenate(data),
    "zip": lambda data: pipeline.zip(data, data),
    "mix": lambda data: pipeline.mix([data, data], [1, 2], seed=1),
    "interleave": lambda data: pipeline.interleave([data, data]),
    "window": lambda data: data.window(3),
    "unbatch": lambda data: data.batch(3).unbatch(),
    "shuffle": lambda data: data.shuffle(4, seed=2),
    "sort": lambda data: data.sort(4, str),
    "map": lambda data: data.map(lambda x: x),
    "map in workers": lambda data: data.map(lambda x: x, workers=2),
    "filter": lambda data: data.filter(lambda x: True),
    "checksum": lambda data: data.checksum(),
    "batch, skip": lambda data: data.batch(2).skip(1),
    "bucket": lambda data: data.map(lambda x: np.full(int(x) % 3 + 1, int(x))).bucket([2, 3], [2, 2, 2]),
    "pack whole": lambda data: data.map(lambda x: np.full(int(x) % 3 + 1, int(x))).pack(
        4, method="first_fit", long="error"
    ),
    "pack": lambda data: data.map(lambda x: {"x": np.full(int(x) % 3 + 1, int(x))}).pack(4),
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
