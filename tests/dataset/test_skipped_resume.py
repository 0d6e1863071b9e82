"""Datasets resume at any place also where errors are skipped, and above a share of what another thread reads."""

import json

import pytest

import pipeline


def no_fours(number):
    if number % 5 == 4:
        raise ValueError("a four")
    return number


def stream(n):
    return pipeline.dataset(range(n)).filter(lambda number: number >= 0)


def skipping(source, workers=None):
    return source.map(no_fours, on_error="skip", workers=workers)


DATASETS = {
    "map of a stream": lambda: skipping(stream(90)),
    "workers": lambda: skipping(stream(90), 2),
    "map of a sequence": lambda: skipping(pipeline.dataset(range(90))),
    "shuffle": lambda: skipping(stream(40)).shuffle(5, seed=1),
    "zip": lambda: pipeline.zip(skipping(stream(40)), skipping(pipeline.dataset(range(40)))),
    "mix": lambda: pipeline.mix([skipping(stream(30)), skipping(pipeline.dataset(range(30)))], [0.7, 0.3], seed=1),
    "interleave": lambda: pipeline.interleave([skipping(stream(20)), skipping(pipeline.dataset(range(20)))]),
    "prefetch": lambda: skipping(stream(40)).prefetch(3),
    "map": lambda: skipping(stream(40)).map(lambda number: number + 1),
    "batch": lambda: skipping(stream(40)).batch(3).map(lambda batch: batch.tolist()),
    "share": lambda: skipping(stream(40)).shard(1, 3),
    "share of a prefetch": lambda: stream(40).prefetch(3).shard(1, 3),
    "prefetch of a share": lambda: stream(40).prefetch(3).shard(1, 3).prefetch(2),
    "map of a share": lambda: stream(40).prefetch(3).shard(1, 3).map(lambda number: number + 1),
}


@pytest.mark.parametrize("name", DATASETS)
def test_a_resume_gives_the_elements_that_were_left(name):
    data = DATASETS[name]()
    whole = list(data)
    assert whole
    for k in range(len(whole) + 1):
        with iter(data) as before, iter(data) as after:
            assert [next(before) for _ in range(k)] == whole[:k]
            after.load_state_dict(json.loads(json.dumps(before.state_dict())))
            assert list(after) == whole[k:], k
