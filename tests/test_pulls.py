"""The turns in which recorded functions read, and `example_rng` where no dataset calls."""

import numpy as np
import pytest
from helpers import run_in_thread

import pipeline
from pipeline import pulls


class Thing:
    """Something to read from."""

    name = "thing"
    owner = None
    last_ids = (5, 1)


class Book:
    """Writes down what is read for the first time."""

    seeds = (0, 0)

    def __init__(self):
        self.log = []

    def adopt(self, thing):
        thing.owner = self
        self.log.append(thing)


@pytest.fixture
def turn():
    """The turn of this thread, until the end of the test."""
    pulls.this_thread.turn = turn = pulls.Turn(Book())
    turn.begin(7)
    yield turn
    pulls.this_thread.turn = None


def test_a_read_within_a_read_does_not_count(turn):
    outer, inner = Thing(), Thing()
    with turn.pulling(outer), turn.pulling(inner):
        pass
    assert (turn.ticket, turn.pulls, turn.book.log) == (7, 1, [outer, inner])
    assert turn.element() == 5


def test_what_two_reads_give_is_no_element_of_either(turn):
    thing = Thing()
    for _ in range(2):
        with turn.pulling(thing):
            pass
    assert (turn.pulls, turn.book.log, turn.element()) == (2, [thing], None)
    turn.begin(8)
    assert (turn.ticket, turn.pulls) == (8, 0)


def test_a_read_ends_after_an_error(turn):
    with pytest.raises(KeyError), turn.pulling(Thing()):
        raise KeyError
    assert turn.pulls == 1


def test_each_thread_has_its_own_turn(turn):
    assert run_in_thread(pulls.current_turn).result() is None
    assert pulls.current_turn() is turn


# example_rng ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def draw():
    """A function that sets what `example_rng` is keyed by."""
    yield lambda *key: setattr(pulls.this_thread, "draw", key)
    pulls.this_thread.draw = None


def test_example_rng_outside_of_loops():
    said = "^example_rng: to be called in a function of a dataset, such as that of map"
    with pytest.raises(pipeline.FailedPreconditionError, match=said):
        pipeline.example_rng()


def test_example_rng_is_the_same_for_the_same_example(draw):
    draw(1, 2, 3)
    first, again = pipeline.example_rng(), pipeline.example_rng()
    assert isinstance(first, np.random.Generator)
    assert first.random(5).tolist() == again.random(5).tolist()
    assert first.random() == again.random()


def test_example_rng_differs_by_seed_and_by_example(draw):
    seen = set()
    keys = [(1, 2, 3), (1, 2, 4), (1, 3, 3), (2, 2, 3), (1, 2, 0), (0, 0, 0), (2**63 - 1, 2**63 - 1, 2**63 - 1)]
    for key in keys:
        draw(*key)
        seen.add(tuple(pipeline.example_rng().random(4)))
    assert len(seen) == len(keys)


def test_example_rngs_do_not_overlap(draw):
    """What one example takes, however much, another does not get: the counters are 2**64 blocks apart."""
    draw(1, 2, 3)
    many = pipeline.example_rng().integers(0, 2**64, 100_000, np.uint64)
    draw(1, 2, 4)
    assert not np.isin(pipeline.example_rng().integers(0, 2**64, 1000, np.uint64), many).any()


def test_example_rng_is_apart_from_the_draws(draw):
    """A pool draws from Philox with the same seeds."""
    draw(1, 2, 0)
    own = pipeline.example_rng().bit_generator.random_raw(100)
    draws = np.random.Philox(key=[1, 2], counter=[0, 0, 0, 0]).random_raw(10_000)
    assert not np.isin(own, draws).any()


def test_example_rng_of_each_thread(draw):
    draw(1, 2, 3)
    error = run_in_thread(pipeline.example_rng).exception()
    assert isinstance(error, pipeline.FailedPreconditionError)
