"""A state of a mix goes on with other weights and more inputs: what was read stays read."""

import json

import chains
import numpy as np
import pytest
from dataset_contract import stream

import pipeline

ALL = [np.full(n, i) for i, n in enumerate(np.random.default_rng(0).integers(1, 12, 240), 1)]
PARTS = {"a": ALL[:120], "b": ALL[120:200], "c": ALL[200:]}


def mixed(weights, by, names="ab"):
    return pipeline.mix({name: stream(PARTS[name]) for name in names}, weights, by=by, seed=1)


BEHIND = {
    "nothing": lambda data: data,
    "batch": lambda data: data.batch(3, pad=0),
    "prefetch": lambda data: data.batch(2, pad=0).prefetch(2),
    "tokens": lambda data: data.batch(max_tokens=30),
    "shuffle": lambda data: data.shuffle(16, seed=3),
    "threads": lambda data: data.map(np.negative, workers=2),
    "concat": lambda data: data.pack(16),
    "best_fit": lambda data: data.pack(16, method="best_fit", buffer=8).batch(2),
    "bucket": lambda data: data.bucket(max_tokens=40),
}


def tokens_in(elements):
    """All tokens, without padding, sorted."""
    arrays = [each["tokens"] if isinstance(each, dict) else each for each in elements]
    tokens = np.abs(np.concatenate([np.ravel(each) for each in arrays]))
    return sorted(tokens[tokens > 0].tolist())


def saved(data, count):
    with iter(data) as iterator:
        found = [next(iterator) for _ in range(count)]
        return found, json.loads(json.dumps(iterator.state_dict()))


@pytest.mark.parametrize("by", [None, len], ids=["examples", "tokens"])
@pytest.mark.parametrize("behind", BEHIND)
def test_nothing_is_lost_or_doubled(behind, by):
    add = BEHIND[behind]
    for count in (0, 1, 5, 11):
        found, state = saved(add(mixed([1, 5], by)), count)
        with iter(add(mixed([6, 1], by))) as other:
            other.load_state_dict(state, allow={"weights"})
            found += [next(other) for _ in range(3)]
            state = json.loads(json.dumps(other.state_dict()))
        with iter(add(mixed([6, 1], by))) as again:  # which needs no word
            again.load_state_dict(state)
            found += [next(again)]
            state = again.state_dict()
        with iter(add(mixed({"a": 1, "b": 1, "c": 4}, by, "abc"))) as more:
            more.load_state_dict(state, allow={"weights"})
            found += list(more)
        assert tokens_in(found) == tokens_in(ALL)


@pytest.mark.parametrize("by", [None, len], ids=["examples", "tokens"])
def test_the_weights_change(by):
    found, state = saved(mixed([1, 0], by), 20)
    with iter(mixed([0, 1], by)) as other:
        other.load_state_dict(state, allow={"weights"})
        following = [next(other) for _ in range(20)]
    assert max(each[0] for each in found) <= 120 < min(each[0] for each in following)


@pytest.mark.parametrize("by", [None, len], ids=["examples", "tokens"])
def test_the_state_of_the_same_weights_goes_on_exactly(by):
    data = mixed([(0, [1, 2]), (30, [2, 1])], by).shuffle(8, seed=2)
    _, state = saved(mixed([3, 1], by).shuffle(8, seed=2), 10)
    with iter(data) as iterator:
        iterator.load_state_dict(state, allow={"weights"})
        states = [json.loads(json.dumps(iterator.state_dict()))]
        elements = []
        for element in iterator:
            elements.append(chains.plain(element))
            states.append(json.loads(json.dumps(iterator.state_dict())))
    for k in range(0, len(states), 17):
        with iter(data) as resumed:
            resumed.load_state_dict(states[k])
            assert resumed.state_dict() == states[k]
            assert [chains.plain(each) for each in resumed] == elements[k:]


def test_new_inputs_bring_their_own_seeds_and_mixes():
    one = pipeline.dataset(range(20)).shuffle(seed=1)
    inner = pipeline.mix([pipeline.dataset(range(20, 30)), pipeline.dataset(range(30, 40))], seed=5)
    found, state = saved(pipeline.mix([one], seed=3).shuffle(4, seed=2), 5)
    data = pipeline.mix([one, inner.shuffle(3)], seed=3).shuffle(4, seed=2)
    with iter(data) as iterator:
        iterator.load_state_dict(state, allow={"weights"})
        found += list(iterator)
    assert sorted(found) == list(range(40))


@pytest.mark.parametrize("allow", [(), {"weights"}])
@pytest.mark.parametrize("behind", ["nothing", "shuffle", "bucket"])
def test_fewer_inputs_are_refused_and_the_error_says_what_to_write(behind, allow):
    add = BEHIND[behind]
    found, state = saved(add(mixed([1, 5, 1], len, "abc")), 3)
    text = r"mix had 3 inputs and has 2: keep all, give weight 0 .* allow=\{'weights'\}"
    with iter(add(mixed([1, 5], len))) as other, pytest.raises(pipeline.StateMismatchError, match=text):
        other.load_state_dict(state, allow=allow)
    with iter(add(mixed([1, 5, 0], len, "abc"))) as other:
        other.load_state_dict(state, allow={"weights"})
        found += list(other)
    assert set(tokens_in(found)) >= set(range(1, 201))


@pytest.mark.parametrize(("other", "allow", "text"), [
    (lambda: mixed([2, 1], len), (), "mix: weights"),
    (lambda: mixed([1, 1, 1], len, "abc"), (), "mix"),
    (lambda: mixed([1, 5], None), {"weights"}, "mix: by"),
    (lambda: mixed([1], len, "a"), {"weights"}, "mix"),
    (lambda: mixed([1, 5], len, "ac"), {"weights"}, "mix: names"),
])  # fmt: skip
def test_what_is_refused(other, allow, text):
    _, state = saved(mixed([1, 5], len), 3)
    with iter(other()) as iterator, pytest.raises(pipeline.StateMismatchError, match=text):
        iterator.load_state_dict(state, allow=allow)
