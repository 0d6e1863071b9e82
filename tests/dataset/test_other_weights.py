"""A mix's state continues with other weights and inputs; elements already read stay read."""

import json

import chains
import numpy as np
import pytest
from dataset_contract import stream

import pipeline

ALL = [np.full(n, i) for i, n in enumerate(np.random.default_rng(0).integers(1, 12, 240), 1)]
PARTS = {"a": ALL[:120], "b": ALL[120:200], "c": ALL[200:], "d": [np.full(5, i) for i in range(241, 260)]}


def mixed(weights, by, names="ab"):
    return pipeline.mix({name: named_stream(name) for name in names}, weights, by=by, seed=1)


def named_stream(name):
    """A stream with a distinct recipe."""

    def items():
        yield from PARTS[name]

    items.__qualname__ = f"stream_{name}"
    return pipeline.dataset(items)


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
    """Return all tokens, without padding, sorted."""
    arrays = [np.zeros(0), *(each["tokens"] if isinstance(each, dict) else each for each in elements)]
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
        with iter(add(mixed([6, 1], by))) as again:  # without `allow`
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


AT_ONCE = ("nothing", "batch", "prefetch")  # steps with no buffer, so an input may be removed at any time


@pytest.mark.parametrize("by", [None, len], ids=["examples", "tokens"])
@pytest.mark.parametrize("behind", AT_ONCE)
def test_an_input_is_left_out(behind, by):
    add = BEHIND[behind]
    for count in (0, 1, 7):
        found, state = saved(add(mixed([2, 3, 4], by, "abc")), count)
        with iter(add(mixed({"c": 1, "a": 5}, by, "ca"))) as other:
            other.load_state_dict(state, allow={"weights"})
            state = json.loads(json.dumps(other.state_dict()))
        with iter(add(mixed({"c": 1, "a": 5}, by, "ca"))) as again:  # without `allow`
            again.load_state_dict(state)
            following = [next(again) for _ in range(4)]
            state = json.loads(json.dumps(again.state_dict()))
        assert not set(tokens_in(following)) & set(range(121, 201))
        with iter(add(mixed({"d": 1, "c": 1, "a": 5}, by, "dca"))) as more:
            more.load_state_dict(state, allow={"weights"})
            following += list(more)
        b_read = [x for x in tokens_in(found) if 120 < x <= 200]
        left = tokens_in([*PARTS["a"], *PARTS["c"], *PARTS["d"]])
        assert tokens_in([*found, *following]) == sorted(left + b_read)


def resumed(state, data, allow=()):
    with iter(data) as iterator:
        iterator.load_state_dict(state, allow=allow)
        return list(iterator)


def jitter(x):
    return x + float(pipeline.example_rng().random())


def by_chance(x):
    return pipeline.example_rng().random() < 0.6


@pytest.mark.parametrize("by", [None, lambda x: 1 + int(x) % 7], ids=["examples", "tokens"])
def test_inputs_that_stay_draw_the_random_numbers_that_they_would_have_drawn(by):
    parts = {name: stream(range(100 * i, 100 * i + 60)).filter(by_chance).map(jitter) for i, name in enumerate("abc")}
    whole = pipeline.mix(parts, [1, 1, 1], by=by, seed=3)
    for count in (0, 3, 20, 41):
        _, state = saved(whole, count)
        expected = [x for x in resumed(state, whole) if not 100 <= x < 200]
        data = pipeline.mix({"c": parts["c"], "a": parts["a"]}, [1, 1], by=by, seed=3)
        found = resumed(state, data, {"weights"})
        assert sorted(found) == sorted(expected)
        for name in range(3):
            assert [x for x in found if x // 100 == name] == [x for x in expected if x // 100 == name]


@pytest.mark.parametrize("by", [None, len], ids=["examples", "tokens"])
@pytest.mark.parametrize(
    "behind", [each for each in BEHIND if each not in (*AT_ONCE, "threads", "concat", "tokens", "shuffle")]
)
def test_an_input_that_a_buffer_holds_cannot_be_left_out_before_it_has_come_out(behind, by):
    add = BEHIND[behind]
    found, state = saved(add(mixed([2, 3, 4], by, "abc")), 5)
    text = r"mix: input 'b' was left out, but later steps .* hold its elements: keep it with weight 0"
    with iter(add(mixed([1, 1], by, "ac"))) as other, pytest.raises(pipeline.StateMismatchError, match=text):
        other.load_state_dict(state, allow={"weights"})
    with iter(add(mixed([1, 0, 1], by, "abc"))) as other:
        other.load_state_dict(state, allow={"weights"})
        while True:
            found.append(next(other))
            state = json.loads(json.dumps(other.state_dict()))
            with iter(add(mixed([1, 1], by, "ac"))) as fewer:
                try:
                    fewer.load_state_dict(state, allow={"weights"})
                except pipeline.StateMismatchError:
                    continue
                found += list(fewer)
                break
    b_read = [x for x in tokens_in(found) if 120 < x <= 200]
    assert b_read
    assert len(b_read) == len([x for x in tokens_in(ALL[120:200]) if x in set(b_read)])
    assert [x for x in tokens_in(found) if not 120 < x <= 200] == tokens_in([*PARTS["a"], *PARTS["c"]])


def test_an_input_can_be_left_out_once_a_pool_holds_none_of_its_elements():
    def pooled(weights, names="abc"):
        parts = {name: pipeline.dataset(range(4000 * i, 4000 * i + 4000)) for i, name in enumerate("abc")}
        return pipeline.mix({name: parts[name] for name in names}, weights, seed=1).shuffle(16, seed=2)

    found, state = saved(pooled([1, 1, 1]), 30)
    with pytest.raises(pipeline.StateMismatchError, match="'b' was left out, but later steps may still hold"):
        resumed(state, pooled([1, 1], "ac"), {"weights"})
    with iter(pooled([1, 0, 1])) as other:
        other.load_state_dict(state, allow={"weights"})
        found += [next(other) for _ in range(2500)]
        state = other.state_dict()
    found += resumed(state, pooled([1, 1], "ac"), {"weights"})
    others = [x for x in found if not 4000 <= x < 8000]
    assert sorted(others) == [*range(4000), *range(8000, 12000)]
    read = [x for x in found if 4000 <= x < 8000]
    assert sorted(read) == [*range(4000, 4000 + len(read))]


def test_inputs_without_names_are_told_apart_by_their_recipes():
    a, b, c = (pipeline.arrays(np.arange(100 * i, 100 * i + 40)) for i in range(3))
    found, state = saved(pipeline.mix([a, b, c], seed=1), 30)
    text = "mix: it had 3 inputs and has 2, and input 1 is new: .* give the datasets names"
    with pytest.raises(pipeline.StateMismatchError, match=text):
        resumed(state, pipeline.mix([a, pipeline.arrays(np.arange(7))], seed=1), {"weights"})
    found += resumed(state, pipeline.mix([a, c], seed=1), {"weights"})
    assert [x for x in sorted(found) if x // 100 != 1] == [*range(40), *range(200, 240)]
    _, state = saved(pipeline.mix([a, a, c], seed=1), 10)
    assert resumed(state, pipeline.mix([a, a], seed=1), {"weights"})
    text = "mix: inputs 0, 1 were identical, so it is unclear which one was left out: keep all, and give weight 0"
    with pytest.raises(pipeline.StateMismatchError, match=text):
        resumed(state, pipeline.mix([a, c], seed=1), {"weights"})


def test_seeds_that_chance_drew_stay_with_their_inputs():
    def parts(names):
        shared = pipeline.dataset(range(300, 340)).shuffle()
        inner = pipeline.mix([pipeline.dataset(range(i, i + 20)).shuffle() for i in (0, 20)])
        made = {
            "a": shared.filter(is_even),
            "b": pipeline.dataset(range(100, 140)).shuffle().map(jitter).map(int),
            "c": inner.shuffle(4),
            "d": shared.filter(is_odd),
            "e": pipeline.dataset(range(200, 240)).shuffle(),
        }
        return pipeline.mix({name: made[name] for name in names}, by=count_one)

    for names in ("acde", "de", "ecd", "dc"):
        found, state = saved(parts("abcde"), 25)
        left = resumed(state, parts(names), {"weights"})
        ranges = {"a": range(300, 340, 2), "c": range(40), "d": range(301, 340, 2), "e": range(200, 240)}
        for name in names:
            assert sorted(x for x in [*found, *left] if x in ranges[name]) == list(ranges[name])


def is_even(x):
    return x % 2 == 0


def is_odd(x):
    return x % 2 == 1


def count_one(x):
    return 1


@pytest.mark.parametrize("by", [None, len], ids=["examples", "tokens"])
def test_an_input_goes_and_another_comes(by):
    found, state = saved(mixed([1, 1, 1], by, "abc"), 20)
    found += resumed(state, mixed({"d": 2, "c": 1, "a": 1}, by, "dca"), {"weights"})
    rest = [x for x in tokens_in(found) if not 120 < x <= 200]
    assert rest == tokens_in([*PARTS["a"], *PARTS["c"], *PARTS["d"]])


@pytest.mark.parametrize("by", [None, len], ids=["examples", "tokens"])
@pytest.mark.parametrize("step", ["nothing", "concat", "shuffle"])
def test_weights_change_between_rounds_of_all_hosts(step, by):
    add = BEHIND[step]

    def share(weights, i, n):
        return add(mixed(weights, by)).shard(i, n)

    for count in (1, 4):
        hosts = [saved(share([1, 5], i, 3), count) for i in range(3)]
        for _, state in hosts:
            found = [each for elements, _ in hosts for each in elements]
            for i in range(2):
                found += resumed(state, share([5, 1], i, 2), {"weights"})
            assert tokens_in(found) == tokens_in([*PARTS["a"], *PARTS["b"]])


def test_an_error_of_another_host_comes_after_this_hosts_element():
    def fail(x):
        if x == 4:
            raise LookupError
        return x

    data = pipeline.mix([stream(range(9)).map(fail)], seed=1).shard(0, 3)
    iterator = iter(data)
    assert [next(iterator), next(iterator)] == [0, 3]
    state = iterator.state_dict()
    with pytest.raises(LookupError):
        next(iterator)
    with iter(pipeline.mix([stream(range(9)).map(fail)], seed=1).shard(0, 3)) as again:
        again.load_state_dict(state)
        with pytest.raises(LookupError):
            next(again)


@pytest.mark.parametrize(("other", "allow", "text"), [
    (lambda: mixed([2, 1], len), (), "mix: weights"),
    (lambda: mixed([1, 1, 1], len, "abc"), (), r"mix had 2 inputs and has 3: pass allow=\{'weights'\}"),
    (lambda: mixed([1], len, "a"), (), r"mix had 2 inputs and has 1: pass allow=\{'weights'\}"),
    (lambda: mixed([1, 5], None), {"weights"}, "mix: by"),
    (lambda: mixed([1, 1], len, "cd"), {"weights"}, "mix: none of the 2 inputs .* is left"),
    (lambda: pipeline.mix({"a": named_stream("a"), "x": named_stream("b")}, by=len, seed=1), {"weights"},
     "mix: input 'x' was called 'b' .*, and would start again under the new name: call it 'b'"),
    (lambda: pipeline.mix([named_stream("a"), named_stream("b")], by=len, seed=1), {"weights"}, "mix: names"),
])  # fmt: skip
def test_what_is_refused(other, allow, text):
    _, state = saved(mixed([1, 5], len), 3)
    with iter(other()) as iterator, pytest.raises(pipeline.StateMismatchError, match=text):
        iterator.load_state_dict(state, allow=allow)


LAST_HELD = {
    "shuffle": lambda data: data.shuffle(6, seed=3),
    "sort": lambda data: data.sort(5, lambda each: -each),
    "best_fit": lambda data: data.map(lambda each: np.full(each % 3 + 1, each)).pack(5, method="best_fit"),
    "window": lambda data: data.window(3, drop_remainder=False),
    "threads": lambda data: data.map(lambda each: each, workers=2),
    "batch": lambda data: data.batch(4),
}


@pytest.mark.parametrize("behind", LAST_HELD)
def test_more_inputs_behind_the_last_elements_come_whole_or_are_refused(behind):
    parts = [range(1, 4), range(11, 15), range(21, 26)]

    def make(count):
        inputs = [pipeline.dataset(part) for part in parts[:count]]
        return LAST_HELD[behind](pipeline.mix(inputs, [1] * count, seed=1))

    def numbers(elements):
        rows = [np.ravel(each["tokens"] if isinstance(each, dict) else each) for each in elements]
        return {int(number) for number in np.concatenate([np.zeros(1), *rows])} - {0}

    count = len(list(make(2)))
    for k in range(count + 1):
        found, state = saved(make(2), k)
        with iter(make(3)) as iterator:
            refused = ""
            try:
                iterator.load_state_dict(state, allow={"weights"})
            except pipeline.StateMismatchError as error:
                refused = str(error)
            if refused:
                assert "inputs had ended" in refused
                assert k
                continue
            assert numbers([*found, *iterator]) == {number for part in parts for number in part}
        with iter(make(2)) as iterator:  # with the same inputs it always continues
            iterator.load_state_dict(state)
            assert numbers([*found, *iterator]) == {number for part in parts[:2] for number in part}
