"""bucket_by_sequence_length, saved after any of its batches and resumed."""

import itertools
import json
import random

import numpy as np
import pytest
from lockstep import play  # the oracle

import pipeline
import pipeline.batches.ledger
from pipeline.errors import StateMismatchError

BOUNDARIES = [5, 10, 14]


@pytest.fixture(autouse=True)
def short_journal(monkeypatch):
    """Small inputs have many entries, and are soon forgotten."""
    monkeypatch.setattr(pipeline.batches.ledger, "EVERY", 4)


def words(on_error, rows=41):
    queue = pipeline.range_input_producer(rows, num_epochs=2, seed=4)

    def example():
        number = int(queue.dequeue())
        if on_error == "skip" and number % 6 == 1:
            raise ValueError(number)
        value = np.full(number * 7 % 17 + 1, number)
        return value[:, None] if on_error == "skip" and number % 6 == 2 else value  # some do not fit

    return example


def make(held_back, threads, smaller=True, source=None, **options):
    on_error = options.get("on_error", "raise")
    return pipeline.bucket_by_sequence_length(
        len,
        source or words(on_error),
        [2, 6, 3, 4],
        BOUNDARIES,
        threads,
        capacity=random.choice([1, 3, 40]),
        deterministic=True,
        allow_smaller_final_batch=smaller,
        min_after_dequeue=held_back,
        seed=3,
        **options,
    )


OPTIONS = [{}, {"smaller": False}, {"keep_input": lambda value: value[0] % 3 != 0}, {"on_error": "skip"}]


@pytest.mark.parametrize("held_back", [0, 1, 7, 40])
@pytest.mark.parametrize("options", OPTIONS, ids=["whole", "full batches", "kept", "skipped"])
def test_every_moment(held_back, options):
    with make(held_back, 1, **options) as loop:
        states, whole = [loop.state_dict()], []
        for each in loop:
            whole.append(repr(each))
            states.append(loop.state_dict())
        fingerprint = loop.fingerprint()
    assert len(whole) > 9
    for done in range(len(whole) + 1):
        state = json.loads(json.dumps(states[done]))
        assert state == states[done]
        with make(held_back, random.choice([1, 2, 4]), **options) as loop:
            loop.load_state_dict(state)
            assert loop.state_dict() == state
            for expected in whole[done : done + 1]:
                assert repr(next(loop)) == expected
            middle = loop.state_dict()
            if done < len(whole):
                assert {**middle, "read": None} == {**states[done + 1], "read": None}  # that depends on time
        with make(held_back, random.choice([1, 3]), **options) as loop:
            loop.load_state_dict(middle)
            assert [repr(each) for each in loop] == whole[done + 1 :]
            assert loop.fingerprint() == fingerprint


def test_the_state_lists_what_each_bucket_holds_in_pool_order():
    with make(7, 1) as loop:
        taken = sum(len(lengths) for lengths, _ in itertools.islice(loop, 6))
        state = loop.state_dict()
    assert sum(left for _, left in state["buckets"]["counts"]) == state["delivered"]["elements"] == taken
    with pipeline.batch(words("raise"), 1, dynamic_pad=True) as loop:
        lengths = [each.shape[1] for each in loop]
    arrivals = [[], [], [], []]
    for number in range(state["buckets"]["element"]):
        arrivals[int(np.searchsorted(BOUNDARIES, lengths[number], "right"))].append(number)
    for i, (entered, left) in enumerate(state["buckets"]["counts"]):
        assert entered == len(arrivals[i])
        _, pool = play(87654321, 3 + i, 7, arrivals[i], left)
        held = np.cumsum(state["buckets"]["held"][i]).tolist()
        assert held == pool + arrivals[i][left + len(pool) :]


def test_behind():
    with make(7, 1) as loop:
        states = []
        for _ in itertools.islice(loop, 12):
            states.append(loop.state_dict())
        for behind in range(12):
            assert loop.state_dict(behind=behind)["buckets"] == states[-1 - behind]["buckets"]


def test_in_a_later_round():
    source = [np.full(number * 7 % 17 + 1, number) for number in range(50)]
    loop = make(7, 1, source=source)
    list(loop)
    again = iter(loop)
    first = repr(next(again))
    state = loop.state_dict()
    rest = [repr(each) for each in again]
    other = make(7, 2, source=source)
    other.load_state_dict(state)
    assert [repr(each) for each in other] == rest
    assert first not in rest


def test_another_length_is_found():
    with make(7, 1) as loop:
        next(loop)
        state = loop.state_dict()
    with pytest.raises(StateMismatchError, match="boundaries"):
        pipeline.bucket_by_sequence_length(len, words("raise"), [2, 6, 3], [5, 10], deterministic=True).load_state_dict(
            state
        )
    inner = words("raise")
    loop = make(7, 1, source=lambda: np.append(inner(), [0, 0, 0, 0]))
    loop.load_state_dict(state)
    with pytest.raises(StateMismatchError, match="other examples"):
        list(loop)


def test_a_function_of_another_name_is_told(caplog):
    def loop_by(input_length):
        return pipeline.bucket_by_sequence_length(
            input_length, words("raise"), 3, [5], dynamic_pad=True, deterministic=True
        )

    def half_of(word):
        return len(word) // 2

    with loop_by(len) as loop:
        next(loop)
        state = loop.state_dict()
    del caplog.records[:]
    with loop_by(len) as loop:
        loop.load_state_dict(state)
    assert not caplog.records
    with loop_by(half_of) as loop:
        loop.load_state_dict(state)
    assert "input_length was len, that of this one is test_a_function_of_another_name_is_told.<locals>.half_of" in (
        caplog.text
    )


def test_what_cannot_be_asked_for_is_forgotten():
    queue = pipeline.range_input_producer(5000, num_epochs=1, seed=4)
    loop = make(7, 1, source=lambda: np.zeros(int(queue.dequeue()) % 17 + 1))
    with loop:
        for _ in itertools.islice(loop, 1000):
            pass
        known = sum(len(bucket._numbers) for bucket in loop._latest._buckets)
    assert known < 2000


def test_shard_is_refused():
    with pytest.raises(ValueError, match="bucket_by_sequence_length takes no shard"):
        make(0, 1, shard=(0, 2))
