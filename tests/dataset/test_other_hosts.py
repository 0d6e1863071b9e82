"""A state continues with any number of hosts, without losing, repeating or reordering examples.

If only the host that saved a state can continue from it, the error names the step.
"""

import itertools
import json

import numpy as np
import pytest
from dataset_contract import states_of, stream
from steps import STREAMED

import pipeline
from pipeline.stages.node import nodes_of

COUNT = 120
SOURCES = {
    "arrays": lambda: pipeline.arrays(np.arange(COUNT)),
    "shuffled": lambda: pipeline.arrays(np.arange(COUNT)).shuffle(seed=1),
    "stream": lambda: stream(range(COUNT)),
    "filtered in workers": lambda: stream(range(2 * COUNT)).filter(is_even, workers=2).map(half),
    "pool": lambda: stream(range(COUNT)).shuffle(20, seed=2),
}
# Steps after shard that continue with other hosts, for host i of n.
CONTINUE = {
    "nothing": lambda data, i, n: data.shard(i, n),
    "equal": lambda data, i, n: data.shard(i, n, drop_remainder=True),
    "map": lambda data, i, n: data.shard(i, n).map(itself),
    "workers": lambda data, i, n: data.shard(i, n).map(itself, workers=2).map(itself).prefetch(3),
    "workers before": lambda data, i, n: data.map(itself, workers=2).shard(i, n),
    "batch": lambda data, i, n: data.shard(i, n).batch(3),
    "batch, workers": lambda data, i, n: data.shard(i, n).batch(2).map(itself, workers=2).prefetch(1),
    "batch before": lambda data, i, n: data.batch(4).shard(i, n).map(itself, workers=2),
    "batch around": lambda data, i, n: data.batch(2).shard(i, n).batch(2, collate=list),
    "whole batches": lambda data, i, n: data.shard(i, n).map(itself, workers=2).batch(2, drop_remainder=True),
    "twice": lambda data, i, n: data.shard(i, n).shard(0, 1).map(itself),
}
HOSTS = [(4, 2), (2, 3), (4, 1)]


def is_even(x):
    return x % 2 == 0


def half(x):
    return x // 2


def itself(x):
    return x


def numbers(element):
    return np.ravel(element).tolist()


def saved(iterator):
    return json.loads(json.dumps(iterator.state_dict()))


def rounds_of(datasets, state, count):
    """Return some turns' examples from all hosts, and each host's state after them."""
    elements, states = taken_in_turn(datasets, state, count)
    return [x for each in elements for x in each], states


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("step", CONTINUE)
@pytest.mark.parametrize("hosts", HOSTS, ids=str)
def test_other_hosts_continue(source, step, hosts):
    def share(count):
        return [CONTINUE[step](SOURCES[source](), i, count) for i in range(count)]

    was, now = hosts
    alone, _ = rounds_of([CONTINUE[step](SOURCES[source](), 0, 1)], None, None)
    for count in (0, 1, 5):
        before, states = rounds_of(share(was), None, count)
        for state in (states[0], states[-1]):
            after, _ = rounds_of(share(now), state, None)
            found = before + after
            assert len(found) == len(set(found))
            assert len(found) == COUNT if step not in ("equal", "whole batches") else len(found) > COUNT - 2 * now
            if "batch" not in step or step == "batch before":
                assert found == alone[: len(found)]


def test_a_state_goes_from_hosts_to_hosts_to_hosts():
    def share(count, size):
        return [stream(range(COUNT)).map(itself, workers=2).shard(i, count).batch(size) for i in range(count)]

    first, states = rounds_of(share(4, 3), None, 2)
    with iter(share(2, 5)[1]) as iterator:
        iterator.load_state_dict(states[3], allow={"batch_size"})
        state = saved(iterator)  # before anything is read
    second, states = rounds_of(share(2, 5), state, 3)
    third, states = rounds_of(share(3, 5), states[0], 1)
    fourth, _ = rounds_of(share(1, 5), states[2], None)
    assert [len(part) for part in (first, second, third, fourth)] == [24, 30, 15, 51]
    assert sorted(first + second + third + fourth) == list(range(COUNT))


@pytest.mark.parametrize("step", CONTINUE)
@pytest.mark.parametrize("source", ["shuffled", "filtered in workers", "pool"])
@pytest.mark.parametrize("hosts", [(7, 3), (7, 7), (50, 2)], ids=str)
def test_a_state_of_the_last_round_leads_to_what_is_left(source, step, hosts):
    """Also from a host without an element in the incomplete turn, even if its workers reached the end."""

    def share(count):
        return [CONTINUE[step](SOURCES[source](), i, count) for i in range(count)]

    was, now = hosts
    rounds, states = rounds_of(share(was), None, min(len(list(data)) for data in share(was)))
    alone, _ = rounds_of([CONTINUE[step](SOURCES[source](), 0, 1)], None, None)
    for state in (states[0], states[-1]):
        found = rounds + rounds_of(share(now), state, None)[0]
        assert len(found) == len(set(found))
        if step not in ("equal", "whole batches"):
            assert sorted(found) == sorted(alone)
        else:
            assert len(found) > COUNT - 2 * now


def test_programs_without_a_shard_are_one_host():
    data = stream(range(20))
    four = [data.batch(2).shard(i, 4, drop_remainder=True) for i in range(4)]
    first, states = rounds_of(four, None, 1)
    rest, states = rounds_of([data.batch(2).prefetch(1)], states[1], 2)
    last, _ = rounds_of([data.batch(2).shard(i, 2) for i in range(2)], states[0], None)
    assert first + rest + last == list(range(20))


def test_a_state_within_a_round_leads_one_host_on():
    """Without drop_remainder a host's state records its position within the turn, also for a program without shard."""
    for i in range(3):
        with iter(stream(range(20)).shard(i, 3)) as iterator:
            next(iterator)
            state = saved(iterator)
        with iter(stream(range(20))) as alone:
            alone.load_state_dict(state)
            assert saved(alone) == saved(alone)
            assert list(alone) == list(range(3, 20))


def test_enumerate_counts_on():
    for source in (pipeline.arrays(np.arange(24)), stream(range(24))):
        with iter(source.shard(1, 4).enumerate()) as iterator:
            assert [(i, int(x)) for i, x in itertools.islice(iterator, 3)] == [(0, 1), (1, 5), (2, 9)]
            state = saved(iterator)
        with iter(source.shard(1, 2).enumerate()) as iterator:
            iterator.load_state_dict(state)
            assert next(iterator) == (6, 13)


def odd_steps(name, source):
    """Return a step's parts that have one position per host, as their private nodes declare."""
    below = set(nodes_of(source._node))
    over = nodes_of(STREAMED[name].over_itself(source)._node)
    return [each for each in over if each not in below and not each.carries_on]


KINDS = {"stream": stream(range(COUNT)), "list": pipeline.dataset(range(COUNT))}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in STREAMED if name not in ("checksum", "shard")])
def test_each_step_goes_from_hosts_to_hosts_or_is_named(name, kind):
    """Steps before shard always do."""
    step, source = STREAMED[name], KINDS[kind]
    alone = [numbers_in(each) for each in step.over_itself(source)]
    first, states = taken_in_turn([step.over_itself(source).shard(i, 4) for i in range(4)], None, 2)
    rest, _ = taken_in_turn([step.over_itself(source).shard(i, 3) for i in range(3)], states[1], None)
    assert first + rest == alone
    first, states = taken_in_turn([step.over_itself(source.shard(i, 4)).map(itself) for i in range(4)], None, 2)
    after = [step.over_itself(source.shard(i, 3)).map(itself) for i in range(3)]
    if odd := odd_steps(name, source):
        with iter(after[0]) as other:
            with pytest.raises(pipeline.StateMismatchError) as caught:
                other.load_state_dict(states[2], allow={"shard"})
            assert str(caught.value) == (
                f"shard: there were 4 hosts when the state was saved and there are 3 now: {odd[0].call()} after shard "
                "works on the examples of one host. To resume, write shard after it, or continue with 4 hosts, each "
                "from its own state"
            )
            assert next(other) is not None  # from the beginning: nothing has changed
        return
    rest, _ = taken_in_turn(after, states[2], None)
    found = [x for each in first + rest for x in each[-1 if name == "enumerate" else 0 :]]
    assert sorted(found) == list(range(COUNT))


def test_one_host_is_singular():
    with iter(pipeline.dataset(range(COUNT)).shuffle(5, seed=1).map(itself)) as iterator:
        next(iterator)
        state = saved(iterator)
    with iter(pipeline.dataset(range(COUNT)).shard(0, 2).shuffle(5, seed=1).map(itself)) as other:
        with pytest.raises(pipeline.StateMismatchError, match=r"there was 1 host when .* and there are 2 now: "):
            other.load_state_dict(state, allow={"shard"})


@pytest.mark.parametrize("name", STREAMED)
@pytest.mark.parametrize("count", [COUNT, COUNT + 1])
def test_the_state_of_another_host_serves_where_all_are_at_one_place(name, count):
    """Counting steps continue if hosts get equally many; steps that look at elements have one state per host."""
    source = pipeline.dataset(range(count))
    data = [STREAMED[name].over_itself(source.shard(i, 2)) for i in range(2)]
    mine, odd = [numbers_in(each) for each in data[1]], odd_steps(name, source)
    serves = not odd or (count % 2 == 0 and all(each.by_number for each in odd))
    for k, state in enumerate(states_of(data[0])[:30]):
        if state["ended"]:  # unless all have equally many, another host may have one more
            break
        with iter(data[1]) as other:
            if serves:
                other.load_state_dict(state)
                assert [numbers_in(each) for each in other] == mine[k:]
                continue
            with pytest.raises(pipeline.StateMismatchError) as caught:
                other.load_state_dict(state)
            assert str(caught.value) == (
                f"shard: the state is that of host 0 of 2, but this is host 1: {odd[0].call()} after shard has a "
                "different position on each host. To resume, write shard after it, or load the state that host 1 saved"
            )


def numbers_in(element):
    return numbers(next(iter(element.values())) if isinstance(element, dict) else list(np.ravel(element)))


def taken_in_turn(datasets, state, count):
    """Return elements from all hosts in turn, and each host's state after them."""
    found, states = [], []
    for data in datasets:
        with iter(data) as iterator:
            if state is not None:
                iterator.load_state_dict(state)
            found.append([numbers_in(each) for each in itertools.islice(iterator, count)])
            states.append(saved(iterator))
    return [each for of_all in itertools.zip_longest(*found) for each in of_all if each is not None], states


def test_examples_that_a_map_leaves_out():
    """The map runs after the shard, although written before it, unless all hosts get equally many."""

    def rare(x):
        if x % 7 == 3:
            raise ValueError(x)
        return x

    def share(i, n, equal):
        return pipeline.dataset(range(COUNT)).map(rare, on_error="skip").shard(i, n, drop_remainder=equal)

    for n, hosts in ((2, "there are 3 now"), (1, "this is host 1")):
        with iter(share(0, 2, False)) as iterator:
            next(iterator)
            state = saved(iterator)
        with (
            iter(share(1, n + 1, False)) as other,
            pytest.raises(
                pipeline.StateMismatchError, match=rf"{hosts}: \.map\(\S*rare\) with on_error='skip' after shard"
            ),
        ):
            other.load_state_dict(state)
    before, states = rounds_of([share(i, 2, True) for i in range(2)], None, 9)
    after, _ = rounds_of([share(i, 3, True) for i in range(3)], states[0], None)
    assert before + after == [x for x in range(COUNT) if x % 7 != 3][: len(before + after)]


@pytest.mark.parametrize("shuffle", [False, True])
def test_shares_of_sources(shuffle):
    """With equal row counts, any host's state serves all hosts; with files it does not."""
    for rows in (48, 49):
        data = [pipeline.arrays(np.arange(rows), shuffle=shuffle, seed=1, shard=(i, 2), num_epochs=2) for i in range(2)]
        with iter(data[0].batch(4)) as iterator:
            next(iterator)
            state = saved(iterator)
        with iter(data[1].batch(4)) as other:
            if rows == 48:
                other.load_state_dict(state)
                assert np.concatenate(list(other)).tolist() == [int(x) for x in data[1]][4:]
                continue
            with pytest.raises(pipeline.StateMismatchError, match="does not give all hosts the same number"):
                other.load_state_dict(state)
    files = [pipeline.text([__file__, pipeline.__file__], shard=(i, 2)) for i in range(2)]
    with iter(files[0]) as iterator:
        next(iterator)
        state = saved(iterator)
    with (
        iter(files[1]) as other,
        pytest.raises(pipeline.StateMismatchError, match=r"host 0 of 2, but this is host 1: .* load the state"),
    ):
        other.load_state_dict(state)


@pytest.mark.parametrize("source", [stream(range(7)), pipeline.dataset(range(7))], ids=["stream", "list"])
def test_a_host_that_has_ended_does_not_know_whether_others_have(source):
    data = [source.shard(i, 2) for i in range(2)]
    ended = []
    for each in data:
        with iter(each) as iterator:
            list(iterator)
            ended.append(saved(iterator))
    for i, other in enumerate([*data, source.shard(2, 3)]):
        with iter(other) as iterator:
            iterator.load_state_dict(ended[0])
            assert list(iterator) == []
        with iter(other) as iterator:
            if i == 1:
                iterator.load_state_dict(ended[1])
                continue
            with pytest.raises(pipeline.StateMismatchError, match=r"one more element\. To resume, load the state"):
                iterator.load_state_dict(ended[1])
