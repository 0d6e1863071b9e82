"""States of deterministic loops near the end of the input, or where it failed: the right batches or an error."""

import pytest

import pipeline


def joined():
    sources = [list(range(18)), list(range(100, 137))]
    return pipeline.shuffle_batch_join(sources, 1, capacity=32, min_after_dequeue=5, seed=3, deterministic=True)


def test_a_join_ends_although_the_pool_of_the_state_is_whole_before_its_sources_are_used_up():
    states, want = [], []
    with joined() as loop:
        for batch in loop:
            want.append(batch.tolist())
            states.append(loop.state_dict())
    for moment, state in enumerate(states, 1):
        with joined() as loop:
            loop.load_state_dict(state)
            assert [batch.tolist() for batch in loop] == want[moment:]


def failing(fails_at):
    """A shuffled loop over the numbers from 0 to 99 whose function fails at one of them."""
    numbers = pipeline.range_input_producer(100, num_epochs=1, shuffle=False)

    def example():
        number = numbers.dequeue()
        if number == fails_at:
            raise KeyError("no such row")
        return number

    return pipeline.shuffle_batch(example, 2, capacity=32, min_after_dequeue=10, seed=3, deterministic=True)


def until_the_error(loop):
    """The batches of a loop that fails, and the states after each, and at the start, that it gives."""
    batches, states = [], [loop.state_dict()]
    try:
        for batch in loop:
            batches.append(batch.tolist())
            states.append(state_or_error(loop))
    except KeyError:
        return batches, states
    raise AssertionError("the loop did not fail")


def state_or_error(loop):
    try:
        return loop.state_dict()
    except pipeline.FailedPreconditionError as error:
        return str(error)


def test_a_batch_drawn_from_what_an_error_left_in_the_pool_has_no_state():
    batches, states = until_the_error(failing(20))
    assert len(batches) == 10
    assert all("drawn from what its pool had left" in text for text in states[6:])
    with failing(None) as whole:
        want = [batch.tolist() for batch in whole]
    for moment, state in enumerate(states[:6]):  # draws 0 to 9 need the elements 0 to 19
        with failing(None) as loop:
            loop.load_state_dict(state)
            assert [batch.tolist() for batch in loop] == want[moment:]


def test_no_batch_comes_from_a_pool_that_could_not_be_restored():
    with failing(None) as loop:
        drawn = {int(number) for _ in range(10) for number in next(loop)}
        state = loop.state_dict()
    in_pool = sorted(set(range(30)) - drawn)
    loop = failing(in_pool[5])
    loop.load_state_dict(state)
    with pytest.raises(KeyError):
        next(loop)
