"""Hosts that share a dataset together give a single host's elements; a random draw per host is an error."""

import numpy as np
import pytest

import pipeline

NUMBERS = pipeline.dataset(range(40))


def lucky(x):
    return pipeline.example_rng().random() < 0.5


def jittered(x):
    return x + pipeline.example_rng().random()


def twice(x):
    return [x] * int(pipeline.example_rng().integers(3))


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize(
    "chain",
    [
        lambda **seed: NUMBERS.filter(lucky, **seed),
        lambda **seed: NUMBERS.flat_map(twice, **seed).map(lambda x: x),
        lambda **seed: NUMBERS.map(jittered, **seed).filter(bool).batch(2),
        lambda **seed: NUMBERS.filter(lucky, **seed).shuffle(5, seed=1).prefetch(2),
    ],
    ids=["filter", "flat_map", "map, filter", "filter, shuffle"],
)
def test_draws_that_decide_who_gets_what_need_a_seed(chain, workers):
    for i in range(2):
        with pytest.raises(pipeline.FailedPreconditionError, match="each host of shard would draw different numbers"):
            list(chain(workers=workers).shard(i, 2))
    whole = [np.asarray(each).tolist() for each in chain(seed=3)]
    hosts = [[np.asarray(each).tolist() for each in chain(seed=3, workers=workers).shard(i, 2)] for i in range(2)]
    assert hosts == [whole[0::2], whole[1::2]]
    list(chain().shard(0, 1))  # a single host has no others


def test_draws_of_what_a_host_keeps_need_none():
    for data in (NUMBERS.map(jittered), NUMBERS.map(jittered, workers=2).enumerate()):
        assert len(list(data.shard(1, 2))) <= 20
    for i in range(2):
        assert len(list(NUMBERS.shard(i, 2).filter(lucky).take(3))) == 3


def test_the_seed_of_the_process_is_one():
    pipeline.set_random_seed(7)
    try:
        hosts = []
        for i in range(2):
            pipeline.set_random_seed(7)
            hosts.append(list(NUMBERS.filter(lucky).shard(i, 2)))
        pipeline.set_random_seed(7)
        whole = list(NUMBERS.filter(lucky))
        assert hosts == [whole[0::2], whole[1::2]]
    finally:
        pipeline.set_random_seed(None)


SOURCES = {
    "arrays": lambda **options: pipeline.arrays(np.arange(10), **options),
    "text": lambda **options: pipeline.text([__file__, pipeline.__file__], **options),
}


@pytest.mark.parametrize("name", SOURCES)
def test_random_orders_of_sources_that_hosts_share_need_a_seed(name):
    with pytest.raises(ValueError, match=r"^shuffle: with shard=\(1, 2\) and no seed .*pass seed="):
        SOURCES[name](shuffle=True, shard=(1, 2))
    hosts = [list(SOURCES[name](shuffle=True, shard=(i, 2), seed=1)) for i in range(2)]
    assert sorted(hosts[0] + hosts[1]) == sorted(SOURCES[name]())
    SOURCES[name](shuffle=True, shard=(0, 1))
    SOURCES[name](shard=(0, 2)).shuffle(3)  # a host shuffles its own elements


def test_datasets_of_a_function_need_a_seed_where_they_draw():
    def nested(function, **seed):
        return pipeline.interleave(pipeline.dataset(range(6)).map(lambda i: NUMBERS.filter(function, **seed)))

    for draws in (lambda: nested(lucky), lambda: pipeline.interleave(NUMBERS.map(lambda i: NUMBERS.shuffle()))):
        with pytest.raises(pipeline.FailedPreconditionError, match="each host of shard would draw different numbers"):
            list(draws().shard(1, 2))
    for data in (lambda: nested(bool), lambda: nested(lucky, seed=3)):
        whole = list(data())
        assert [list(data().shard(i, 2)) for i in range(2)] == [whole[0::2], whole[1::2]]
