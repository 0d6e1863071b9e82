"""Edited states with a valid checksum: each is refused with an error that explains it, or loaded.

None ends the process, waits forever, or raises an error from inside.
"""

import copy
import hashlib
import itertools
import json
import random

import chains
import numpy as np
import pytest

import pipeline
from pipeline.errors import DataLossError, FailedPreconditionError, InvalidArgumentError

ODD = [True, None, -1, 3, 2**70, 10**12, 2**63 - 1, 1.5, "x", [], {}, [1, 2]]
NOT_EDITED = {"checksum", "recipe", "made_by", "format", "version"}
CHAINS = 40
EDITS = 400  # per chain


def edited(state, path, value):
    """Return a state with another value at a path, and a valid checksum."""
    other = copy.deepcopy(state)
    inner = other
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    text = json.dumps({key: each for key, each in other.items() if key != "checksum"}, sort_keys=True)
    other["checksum"] = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return other


def paths(value, before=()):
    """The places in a state."""
    if before:
        yield before
    if isinstance(value, dict):
        for key, each in value.items():
            if before or key not in NOT_EDITED:
                yield from paths(each, (*before, key))
    elif isinstance(value, list):
        for i, each in enumerate(value[:4]):
            yield from paths(each, (*before, i))


def states_of(make):
    """Return states at some moments; none if a source cannot be saved."""
    with iter(make()) as iterator:
        try:
            yield iterator.state_dict()
            for _ in itertools.islice(iterator, 4):
                pass
            yield iterator.state_dict()
            for _ in itertools.islice(iterator, 36):
                pass
            yield iterator.state_dict()
        except FailedPreconditionError:
            return


def refuse_or_go_on(make, state):
    with iter(make()) as iterator:
        try:
            iterator.load_state_dict(state)
            for _ in itertools.islice(iterator, 3):
                pass
        except (InvalidArgumentError, DataLossError):
            pass  # a StateMismatchError is one
        except ValueError as error:
            notes = getattr(error, "__notes__", ["float: example"])
            if "float: example" not in " ".join(notes):  # of a line that begins elsewhere
                raise


def try_all(make, rng):
    edits = [(state, path, value) for state in states_of(make) for path in paths(state) for value in ODD]
    for state, path, value in rng.sample(edits, min(EDITS, len(edits))):
        try:
            refuse_or_go_on(make, edited(state, path, value))
        except Exception as error:
            raise AssertionError(f"{'.'.join(map(str, path))} = {value!r} in {state['state']}") from error


@pytest.mark.parametrize("seed", range(1, CHAINS + 1))
def test_chains(seed, tmp_path):
    chain = chains.of_seed(seed, tmp_path)
    try_all(lambda: chain.data, random.Random(seed))


def from_producer():
    rows = pipeline.slice_input_producer([np.arange(30)], num_epochs=2, seed=1, collection=[])
    return pipeline.dataset(rows).batch(4)


def from_function():
    numbers = pipeline.range_input_producer(30, num_epochs=2, shuffle=False, collection=[])
    return pipeline.dataset(lambda: int(numbers.dequeue())).shuffle(5, seed=2)


def from_shuffle_batch():
    rows = pipeline.slice_input_producer([np.arange(30)], num_epochs=2, seed=1, collection=[])
    return pipeline.shuffle_batch(rows, 4, 20, 5, seed=3, deterministic=True)


def from_batches_by_index():
    return pipeline.arrays(np.arange(500), shuffle=True, seed=4).batch(7)


@pytest.mark.parametrize("make", [from_producer, from_function, from_shuffle_batch, from_batches_by_index])
def test_sources(make):
    try_all(make, random.Random(make.__name__))


@pytest.mark.parametrize("odd", [np.int64(1), np.float32(1), b"x", {1, 2}, np.arange(2), 1j])
def test_other_than_plain_data(odd):
    """States converted by a framework: the error has the location."""
    iterator = iter(pipeline.dataset(range(5)).filter(lambda number: True).batch(2))
    state = iterator.state_dict()
    assert state["state"] == [[0, 1], 0]
    state["state"][0] = odd
    with pytest.raises(TypeError, match=r"state\['state'\]\[0\] is .*, of type "):
        iterator.load_state_dict(state)
    state["state"][0] = [0, 1]
    iterator.load_state_dict(state)
    assert [batch.tolist() for batch in iterator] == [[0, 1], [2, 3], [4]]
