"""States that one thread saves while others take batches, which without the interpreter's lock run at the same time."""

import itertools
import threading

import pytest
from helpers import LIMIT, run_in_thread

import pipeline
from pipeline.batches import calls as calls_module
from pipeline.batches import snapshot


@pytest.mark.parametrize("settings", [{}, {"num_threads": 2}, {"num_threads": 0}], ids=str)
def test_states_are_those_of_a_moment(settings):
    """Each names a number of batches, and the loop that it begins goes on with the next one."""
    found = []

    def save():
        for i in range(300):
            behind, before = i % 3, loop.delivered[0]
            state = loop.state_dict(behind=behind)
            found.append((before - behind, state, loop.delivered[0] - behind))

    def loop_over(numbers):
        return pipeline.batch(numbers, 4, deterministic=True, **settings)

    with loop_over(range(10**9)) as loop:
        for _ in range(3):
            next(loop)
        saving = run_in_thread(save)
        while saving.alive():
            next(loop)
        saving.result()
    for least, state, most in found:
        assert least <= state["delivered"]["batches"] <= most
    for _, state, _ in found[::100]:
        with loop_over(range(10**9)) as again:
            again.load_state_dict(state)
            assert next(again)[0] == 4 * state["delivered"]["batches"]


def test_a_state_that_many_batches_overtake(monkeypatch):
    """Between two steps of its thread others may take more batches than are remembered."""
    overtaken = []

    def delivered(feed, behind):
        found = last(feed, behind)
        if len(overtaken) < 2:
            overtaken.append([next(loop) for _ in range(1000)])
        return found

    last = snapshot._delivered
    monkeypatch.setattr(snapshot, "_delivered", delivered)
    with ordered_generator() as loop:
        next(loop)
        state = loop.state_dict()
        following = next(loop).tolist()
    assert len(overtaken) == 2
    with ordered_generator() as again:
        again.load_state_dict(state)
        assert next(again).tolist() == following


def ordered_generator():
    return pipeline.batch(pipeline.range_input_producer(10**6, shuffle=False).dequeue, 4, deterministic=True)


def test_calls_that_several_threads_take_out():
    calls = list(range(20_000))
    gate = threading.Barrier(4)

    def take():
        gate.wait(LIMIT)
        return list(calls_module.taken_out(calls))

    found = [each.result() for each in [run_in_thread(take) for _ in range(4)]]
    assert sorted(itertools.chain(*found)) == list(range(20_000))
