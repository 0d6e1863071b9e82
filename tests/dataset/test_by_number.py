"""Indexing: d[i] equals the iterated element, for every indexed chain, with and without workers."""

import collections
import threading

import chains
import numpy as np
import pytest

import pipeline

ROWS = np.arange(46).reshape(23, 2)


def drawn(x):
    return np.append(x, pipeline.example_rng().integers(1000))


def again(pair):
    return [*np.ravel(pair[0]), pair[1]]


CHAINS = {
    "batch": lambda d: d.batch(4),
    "batch, all full": lambda d: d.batch(4, drop_remainder=True),
    "batch padded": lambda d: d.map(lambda x: np.arange(x[0] % 5)).batch(4, pad=0),
    "batch of batches": lambda d: d.batch(2, drop_remainder=True).batch(3, drop_remainder=True),
    "batch skip": lambda d: d.batch(2).skip(3).map(drawn, seed=1),
    "batch shuffle": lambda d: d.batch(4).shuffle(seed=1).map(drawn, seed=1),
    "batch sample": lambda d: d.batch(4).sample([1, 2, 3, 4, 5, 6], 20, seed=1),
    "batch shard enumerate": lambda d: d.batch(2).shard(1, 3).enumerate(),
    "batch enumerate skip": lambda d: d.batch(2).enumerate().skip(2).enumerate(),
    "batch map repeat": lambda d: d.batch(4).map(drawn, seed=1).repeat(2).map(drawn, seed=2),
    "window": lambda d: d.window(4, 2),
    "window with rest": lambda d: d.window(4, 3, drop_remainder=False).shuffle(seed=3),
    "window apart": lambda d: d.window(2, 5).concatenate(d.batch(2)),
    "zip": lambda d: pipeline.zip(d, d.skip(2).map(drawn, seed=1)),
    "zip shuffle batch": lambda d: pipeline.zip(d, d).shuffle(seed=1).batch(4),
    "map sample": lambda d: d.map(drawn, seed=1).sample(np.arange(23), 60, seed=2).map(drawn, seed=3),
    "map prefetch sample": lambda d: d.map(drawn, seed=1).prefetch(2).sample(np.arange(23), 60, seed=2),
    "map sample prefetch sample skip": lambda d: (
        d.map(drawn, seed=1).sample(np.arange(23), 40, seed=2).prefetch(2).sample([1] * 40, seed=3).skip(2)
    ),
    "map take sample": lambda d: d.map(drawn, seed=1).take(9).sample(np.arange(9), 60, seed=2).enumerate(),
    "sample skip": lambda d: d.map(drawn, seed=1).sample(np.arange(23), 60, seed=2).skip(5).map(drawn, seed=3),
    "enumerate sample": lambda d: d.enumerate().sample(np.arange(23), 60, seed=2),
    "map skip map skip": lambda d: d.map(drawn, seed=1).skip(3).map(drawn, seed=2).skip(4).map(drawn, seed=3),
    "map skip enumerate shuffle": lambda d: d.map(drawn, seed=1).skip(3).enumerate().shuffle(seed=1).map(again),
    "prefetch": lambda d: d.map(drawn, seed=1).skip(2).prefetch(3).map(drawn, seed=2).shard(1, 2).prefetch(2).skip(1),
    "prefetch shuffle": lambda d: d.map(drawn, seed=1).prefetch(2).shuffle(seed=1).prefetch(0).take(9),
    "shuffle shuffle": lambda d: d.shuffle(seed=1).map(drawn, seed=1).shuffle(seed=2).take(9).map(drawn, seed=2),
}


# Chains whose workers would be idle.
REFUSED = (
    *("batch shuffle", "batch sample", "window with rest", "zip shuffle batch"),
    *("enumerate sample", "map skip enumerate shuffle"),
)


@pytest.mark.parametrize("epoch", [0, 2])
@pytest.mark.parametrize("source", ["arrays", "map", "skip"])
@pytest.mark.parametrize("name", CHAINS)
def test_elements_by_number_are_those_of_the_loop(name, source, epoch):
    data = {"arrays": ROWS, "map": list(ROWS), "skip": np.concatenate([ROWS[:3], ROWS])}[source]
    data = pipeline.dataset(data)
    data = {"arrays": data, "map": data.map(lambda x: x + 1), "skip": data.skip(3)}[source]
    chain = CHAINS[name](data).epoch(epoch)
    expected = [chains.plain(each) for each in chain]
    assert len(chain) == len(expected) > 0
    order = np.random.default_rng(1).permutation(len(expected))
    assert [chains.plain(chain[int(i)]) for i in order] == [expected[i] for i in order]
    assert chains.plain(chain[-1]) == expected[-1]
    with pytest.raises(IndexError):
        chain[len(chain)]


@pytest.mark.parametrize("name", CHAINS)
def test_workers_make_what_is_chosen(name):
    """The chains above with workers in their first function give the same elements, computed in threads."""
    threads = collections.Counter()

    def working(x):
        threads[threading.current_thread().name] += 1
        return x

    data = pipeline.dataset(ROWS)
    expected = [chains.plain(each) for each in CHAINS[name](data.map(working))]
    threads.clear()
    if name in REFUSED:
        with pytest.raises(ValueError, match="gets its input from workers"):
            CHAINS[name](data.map(working, workers=2))
        return
    assert [chains.plain(each) for each in CHAINS[name](data.map(working, workers=2))] == expected
    assert threads
    assert threading.current_thread().name not in threads


def test_draws_with_replacement_are_examples_of_their_own():
    """Augmentation after class balancing differs for each draw of a row, in any order."""

    def draw(x):
        return int(pipeline.example_rng().integers(1 << 40))

    data = pipeline.dataset(np.zeros(2)).map(draw, seed=1)
    draws = list(data.sample([1, 1], 50, seed=1))
    assert len(set(draws)) == 50
    assert draws == list(pipeline.dataset(np.zeros(2)).sample([1, 1], 50, seed=1).map(draw, seed=1))


def test_functions_run_for_what_is_asked_for_only():
    seen = []
    data = pipeline.dataset(range(100)).map(lambda x: seen.append(x) or x)
    assert data.batch(5)[3].tolist() == [15, 16, 17, 18, 19]
    assert data.window(3, 1)[7].tolist() == [7, 8, 9]
    assert seen == [15, 16, 17, 18, 19, 7, 8, 9]


def test_what_is_not_indexed_says_so():
    stream = pipeline.dataset(lambda: iter([1])).batch(2)
    with pytest.raises(TypeError, match="is a stream and cannot be indexed"):
        stream[0]
    with pytest.raises(TypeError, match="is a stream and cannot be indexed"):
        pipeline.dataset([1, 2]).batch(2, max_wait=1)[0]
