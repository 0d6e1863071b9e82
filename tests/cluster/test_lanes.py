"""Distribution of served batches to consumers; the actor lives in this process, without Ray."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers import LIMIT, wait_until

from pipeline.cluster import actors
from pipeline.cluster.actors import Lanes
from pipeline.errors import FailedPreconditionError
from pipeline.workers.chunks import FailedItem


@pytest.fixture
def lanes():
    return Lanes(1, 100)


@pytest.fixture
def waiting(lanes, monkeypatch):
    """Starts a `take` call that waits in the actor for long; only `_asking` shows that it has begun."""
    monkeypatch.setattr(actors, "POLL", LIMIT)
    with ThreadPoolExecutor(2) as threads:

        def start(consumer, *arguments):
            before = lanes._asking.get(consumer)
            call = threads.submit(lanes.take, consumer, *arguments)
            wait_until(lambda: lanes._asking.get(consumer) is not before, "the call to begin")
            return call

        yield start


def come(lanes):
    return lanes.come()[1]


def put(lanes, count):
    for number in range(count):
        assert lanes.put(number, [f"batch {number}"])


def is_refused(found):
    assert isinstance(found, FailedItem)
    assert isinstance(found.error, FailedPreconditionError)
    assert "has taken over" in str(found.error)


@pytest.mark.parametrize("consumer", [0, "name"])
def test_of_two_that_live_the_last_takes_over(lanes, consumer):
    put(lanes, 4)
    first, second = come(lanes), come(lanes)
    assert lanes.take(consumer, 0, first, None)[0] == 0
    assert lanes.take(consumer, 0, first, 0)[0] == 1
    assert lanes.take(consumer, 0, second, None)[0] == 1  # as if it had returned
    for done in 1, None:
        is_refused(lanes.take(consumer, 0, first, done))
    assert [lanes.take(consumer, 0, second, done)[0] for done in (1, 2)] == [2, 3]


def test_two_that_never_ask_at_the_same_time_share_no_batch(lanes):
    """Otherwise each would silently get about half the batches, as if it were alone."""
    put(lanes, 10)
    tickets = [come(lanes), come(lanes)]
    done, found = [None, None], [[], []]
    for _, each in itertools.product(range(12), (0, 1)):
        batch = lanes.take(0, 0, tickets[each], done[each])
        if isinstance(batch, tuple):
            done[each] = batch[0]
            found[each].append(batch[0])
    assert found == [[0], list(range(10))]


def test_a_call_of_one_that_died_takes_no_batch(lanes, waiting):
    """It is still waiting when its consumer returns, and a batch it took would be lost."""
    dead = waiting(0, 0, come(lanes), None)
    back = waiting(0, 0, come(lanes), None)
    put(lanes, 2)
    assert dead.result() is False
    assert back.result() == (0, ["batch 0"])


def test_a_call_that_ctrl_c_left_takes_no_batch(lanes, waiting):
    ticket = come(lanes)
    left = waiting(0, 0, ticket, None)
    again = waiting(0, 0, ticket, None)
    put(lanes, 2)
    assert (left.result(), again.result()) == (False, (0, ["batch 0"]))


def test_consumers_of_other_names_are_left_alone(lanes, waiting):
    calls = [waiting(name, 0, come(lanes), None) for name in ("one", "other")]
    put(lanes, 2)
    assert sorted(call.result()[0] for call in calls) == [0, 1]


def test_one_that_has_not_asked_yet_takes_nothing_over(lanes):
    put(lanes, 2)
    first = come(lanes)
    come(lanes)
    assert [lanes.take(0, 0, first, done)[0] for done in (None, 0)] == [0, 1]
