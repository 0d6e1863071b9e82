"""cache: states saved while filling, partly filled or full load in every other phase, in random chains."""

import itertools
import json
import random
import shutil

import chains
import pytest
from dataset_contract import check_resumed_again, states_of, stream

import pipeline


def rest(data, state):
    with iter(data) as iterator:
        iterator.load_state_dict(state)
        return [chains.plain(each) for each in iterator]


def broken_off(data, count):
    """Return the state after some elements, and close the iterator."""
    with iter(data) as iterator:
        for _ in range(count):
            next(iterator)
        return json.loads(json.dumps(iterator.state_dict()))


class Cached:
    """The chain with this seed, with caches added, rebuilt for each phase.

    Args:
        seed: The seed.
        directory: For its files.
        kept: "memory" or "folder".
        mode: "alone", "threads" or "processes", for its functions.
    """

    def __init__(self, seed, directory, kept, mode):
        self._seed, self._directory, self._workers = seed, directory, chains.workers_of(mode)
        self._folder = "" if kept == "memory" else str(directory / "kept")

    def data(self):
        return chains.summed(self._seed, self.chain())

    def chain(self):
        return chains.of_seed(self._seed, self._directory, self._workers, self._folder)

    def without(self):
        return chains.summed(self._seed, chains.of_seed(self._seed, self._directory, self._workers))

    def forget(self):
        for each in self._directory.glob("kept-*"):
            shutil.rmtree(each)


@pytest.mark.filterwarnings("ignore:.*do not fill a batch")
@pytest.mark.parametrize("kept", ["memory", "folder"])
@pytest.mark.parametrize("seed", [*range(20), *(pytest.param(i, marks=pytest.mark.slow) for i in range(20, 300))])
def test_states_of_one_phase_load_in_the_others(seed, kept, tmp_path):
    rng = random.Random(seed)
    cached = Cached(seed, tmp_path, kept, rng.choice(["alone", "alone", "threads"]))
    chain = cached.chain()
    if ".cache()" not in chain.text:
        pytest.skip("nothing is cached")
    data = chains.summed(seed, chain)
    filling = states_of(data)
    expected = [chains.plain(each) for each in data]
    if chain.expected is not None:  # caches change no element
        assert expected == [chains.plain(each) for each in cached.without()]
    full = states_of(data)
    assert [each["fingerprint"] for each in full] == [each["fingerprint"] for each in filling]
    assert [each["delivered"] for each in full] == [each["delivered"] for each in filling]
    for k in {0, len(expected), *(rng.randrange(len(expected) + 1) for _ in range(4))}:
        assert rest(data, filling[k]) == rest(data, full[k]) == expected[k:]
        for state in (filling[k], full[k]):
            cached.forget()
            assert rest(cached.data(), state) == expected[k:]
        cached.forget()
        part = cached.data()
        state = broken_off(part, k)
        assert rest(part, state) == expected[k:]
        assert rest(part, state) == expected[k:]
    cached.forget()
    check_resumed_again(cached.data(), expected)


SOURCES = {
    "a stream": lambda: stream(range(30)),
    "an index": lambda: pipeline.dataset(list(range(30))),
    "a thread": lambda: pipeline.dataset(list(range(30))).prefetch(1),
    "workers": lambda: stream(range(30)).map(chains.double, workers=2),
    "a pool": lambda: stream(range(30)).shuffle(5, seed=1),
}


@pytest.mark.parametrize("name", SOURCES)
def test_the_next_iterator_goes_on_where_one_was_left(name, tmp_path):
    expected = list(SOURCES[name]())
    for folder in (None, tmp_path / "c"):
        data = SOURCES[name]().cache(folder)
        for count in (1, 12, 7, 20):
            with iter(data) as iterator:
                assert list(itertools.islice(iterator, count)) == expected[:count]
        assert list(data) == list(data) == expected


def test_two_iterators_in_turn():
    data = stream(range(30)).cache()
    one, other = iter(data), iter(data)
    with one, other:
        assert [next(one) for _ in range(10)] == [next(other) for _ in range(10)]
        assert list(data.shuffle(seed=1)) == list(pipeline.dataset(list(range(30))).shuffle(seed=1))
        assert list(one) == list(other) == list(range(10, 30))


def test_a_cache_in_two_places():
    data = stream(range(30)).filter(lambda x: x % 3).cache()
    expected = [x for x in range(30) if x % 3]
    assert list(pipeline.zip(data, data)) == list(zip(expected, expected, strict=True))
    assert list(data.concatenate(data)) == expected * 2
    assert len(pipeline.zip(data, data.shuffle(seed=1))) == 20


def test_caches_of_caches(tmp_path):
    inner = stream(range(30)).map(chains.plus_draw, seed=1).cache(tmp_path / "a")
    outer = inner.map(chains.plus_draw, seed=2).cache(tmp_path / "b").shuffle(seed=3)
    first, full = list(outer), states_of(outer)
    assert list(outer) == first
    shutil.rmtree(tmp_path / "a")
    again = stream(range(30)).map(chains.plus_draw, seed=1).cache(tmp_path / "a")
    outer = again.map(chains.plus_draw, seed=2).cache(tmp_path / "b").shuffle(seed=3)
    assert rest(outer, full[4]) == first[4:]
    assert not (tmp_path / "a").exists()


def test_other_batches_and_hosts(tmp_path):
    data = stream(range(30)).filter(lambda x: x % 3).cache(tmp_path / "c")
    state = broken_off(data.batch(4), 2)
    with iter(data.batch(3)) as iterator:
        iterator.load_state_dict(state, allow={"batch_size"})
        assert next(iterator).tolist() == [13, 14, 16]
    state = broken_off(data.shard(0, 2), 3)
    assert rest(data, state) == [x for x in range(30) if x % 3][6:]
    assert list(data) == [x for x in range(30) if x % 3]
    assert rest(data.shard(1, 3), state) == [x for x in range(30) if x % 3][7::3]


def test_endless_repeats_of_nothing_end():
    data = stream(range(3)).filter(lambda x: x > 5).cache().repeat()
    for _ in range(2):  # while filling, and full
        with pytest.raises(ValueError, match="repeat: there are no elements"):
            next(iter(data))
