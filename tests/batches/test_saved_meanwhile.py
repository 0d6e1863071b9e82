"""States that one thread saves while others take batches, which without the interpreter's lock run at the same time."""

import pytest
from helpers import run_in_thread

import pipeline


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
