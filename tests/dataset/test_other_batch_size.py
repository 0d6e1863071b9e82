"""allow={"batch_size"} continues at the same example or raises an error; no example is lost or repeated."""

import json

import numpy as np
import pytest

import pipeline

COUNT = 24
SOURCES = {
    "numbers": lambda: pipeline.dataset(range(COUNT)),
    "arrays": lambda: pipeline.arrays(np.arange(COUNT)),
    "map": lambda: pipeline.dataset(range(COUNT)).map(lambda x: x),
    "map in workers": lambda: pipeline.dataset(range(COUNT)).map(lambda x: x, workers=2),
    "filter": lambda: pipeline.dataset(range(2 * COUNT)).filter(lambda x: x % 2 == 0).map(lambda x: x // 2),
    "prefetch": lambda: pipeline.dataset(range(COUNT)).filter(lambda x: True).prefetch(4),
}
CONTINUE = {
    "nothing": lambda data: data,
    "prefetch(2)": lambda data: data.prefetch(2),
    "prefetch(9)": lambda data: data.prefetch(9),
    "checksum": lambda data: data.checksum(),
    "map_batches": lambda data: data.map_batches(lambda batch: batch),
    "map in workers": lambda data: data.map(lambda batch: batch, workers=2),
    "map, prefetch": lambda data: data.map(lambda batch: batch).prefetch(9),
    "workers twice": lambda data: (
        data.map(lambda batch: batch, workers=2).map(lambda batch: batch).map(lambda batch: batch, workers=2)
    ),
    "unbatch": lambda data: data.unbatch(),
}
REFUSED = {
    "take": lambda data: data.take(100),
    "skip": lambda data: data.skip(0),
    "repeat": lambda data: data.repeat(1),
    "concatenate": lambda data: data.concatenate(pipeline.dataset([])),
    "map that skips": lambda data: data.map(lambda batch: batch, on_error="skip"),
    "filter": lambda data: data.filter(lambda batch: True),
    "flat_map": lambda data: data.flat_map(lambda batch: [batch]),
    "enumerate": lambda data: data.enumerate(),
    "shuffle": lambda data: data.shuffle(3, seed=1),
    "sort": lambda data: data.sort(3, len),
    "zip": lambda data: pipeline.zip(data, data),
    "window": lambda data: data.window(1),
    "batch": lambda data: data.batch(2, collate=list),
    "prefetch, take": lambda data: data.prefetch(9).map(lambda batch: batch).take(100),
}


def states(make):
    """Return the states after each example count."""
    found = {}
    with iter(make(2)) as iterator:
        for _ in range(COUNT // 2 - 1):
            found[iterator.delivered[1]] = json.loads(json.dumps(iterator.state_dict()))
            if next(iterator, None) is None:
                break
    return found


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("chain", CONTINUE)
@pytest.mark.parametrize("n", [1, 3, 4])
def test_continues(source, chain, n):
    def make(n):
        return CONTINUE[chain](SOURCES[source]().batch(n))

    for k, state in states(make).items():
        with iter(make(n)) as iterator:
            iterator.load_state_dict(state, allow={"batch_size"})
            loaded = iterator.state_dict()
            assert [number for batch in iterator for number in np.ravel(batch).tolist()] == list(range(k, COUNT))
        with iter(make(n)) as iterator:  # here the state belongs to the batches
            iterator.load_state_dict(loaded)
            assert [number for batch in iterator for number in np.ravel(batch).tolist()] == list(range(k, COUNT))


@pytest.mark.parametrize("source", ["numbers", "filter"])
@pytest.mark.parametrize("chain", REFUSED)
def test_refuses(source, chain):
    def make(n):
        return REFUSED[chain](SOURCES[source]().batch(n))

    for state in list(states(make).values())[::4]:
        with iter(make(3)) as iterator:
            with pytest.raises(
                pipeline.StateMismatchError, match="batch_size was 2 when the state was saved and is 3 now: allow="
            ):
                iterator.load_state_dict(state, allow={"batch_size"})
            assert next(iterator) is not None  # from the beginning
        with iter(make(2)) as iterator:  # the size may differ, but does not
            iterator.load_state_dict(state, allow={"batch_size"})
            assert iterator.state_dict() == state


@pytest.mark.parametrize("chain", CONTINUE)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_smaller_batches_take_a_remainder_that_larger_ones_drop(source, chain, n):
    def make(n):
        return CONTINUE[chain](SOURCES[source]().batch(n, drop_remainder=True))

    with iter(make(10)) as iterator:
        found = [np.ravel(next(iterator)) for _ in range(20 if chain == "unbatch" else 2)]
        assert np.concatenate(found).tolist() == list(range(20))
        state = json.loads(json.dumps(iterator.state_dict()))
    with iter(make(n)) as iterator:
        iterator.load_state_dict(state, allow={"batch_size"})
        rest = [number for batch in iterator for number in np.ravel(batch).tolist()]
    assert rest == list(range(20, COUNT - (COUNT - 20) % n))
