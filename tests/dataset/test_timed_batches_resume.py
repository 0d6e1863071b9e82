"""A state after `batch(max_wait=...)` is where its last batch ended, although recomputed batches have other sizes."""

import itertools
import json
import threading

import pytest

import pipeline

COUNT = 24
CHAINS = {
    "nothing": lambda data: data,
    "map": lambda data: data.map_batches(lambda batch: batch),
    "map in workers": lambda data: data.map_batches(lambda batch: batch, workers=2),
    "map that skips": lambda data: data.map(lambda batch: batch, on_error="skip"),
    "two maps": lambda data: data.map(lambda batch: batch).map(lambda batch: batch),
    "filter": lambda data: data.filter(lambda batch: True),
    "prefetch": lambda data: data.map(lambda batch: batch).prefetch(1),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_resume(chain):
    gates = [threading.Event() for _ in range(COUNT)]

    def numbers():
        for i in range(COUNT):
            gates[i].wait()
            yield i

    data = CHAINS[chain](pipeline.dataset(numbers).batch(4, max_wait=0.01, collate=list))
    with iter(data) as iterator:
        found, states = [], []
        for first in range(0, 8, 2):  # two at a time
            gates[first].set()
            gates[first + 1].set()
            while sum(map(len, found)) < first + 2:
                found.append(next(iterator))
                states.append((sum(map(len, found)), json.loads(json.dumps(iterator.state_dict()))))
        for gate in gates:
            gate.set()
    assert list(itertools.chain.from_iterable(found)) == list(range(8))
    for taken, state in states:
        with iter(data) as resumed:
            resumed.load_state_dict(state)
            assert list(itertools.chain.from_iterable(resumed)) == list(range(taken, COUNT))
