"""RemoteQueue when Ctrl-C or a death ends the wait for an answer; its actor lives in this process, without Ray.

Private names: that the actor forgets received rows only shows in a long run's memory.
"""

import sys
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pipeline
from pipeline.cluster import queue as queues
from pipeline.cluster import rows as actors
from pipeline.workers.chunks import FailedItem


@pytest.fixture(autouse=True)
def ray(monkeypatch):
    """Ray's object store, as far as the actor needs it."""
    stub = types.SimpleNamespace(
        put=lambda block: [block], get=lambda references: [each for (each,) in references], is_initialized=lambda: True
    )
    monkeypatch.setitem(sys.modules, "ray", stub)
    return stub


@pytest.fixture
def calls():
    """Threads for calls that continue in the actor."""
    with ThreadPoolExecutor(2) as threads:
        yield threads


def actor(capacity=10, min_after_dequeue=None):
    return actors.RowQueueActor("what", capacity, min_after_dequeue, 1)


def rows_in(found):
    return [row for _, rows in found for row in rows.tolist()]


def wait_for(rows, size):
    while rows.size() < size:
        pass


def test_rows_that_were_received_leave_nothing_behind():
    rows = actor()
    assert rows.enqueue(1, 0, 3, np.arange(3)) == 3
    assert rows.enqueue(2, 0, 2, np.arange(2)) == 2
    assert rows_in(rows.dequeue(3, 4, False, 0.0)) == [0, 1, 2, 0]
    rows.received(3)
    rows.received(3)
    assert list(rows._blocks) == [2]
    rows.dequeue(4, 1, False, 0.0)
    rows.received(4)
    assert not rows._blocks
    assert not rows._handed


def test_a_request_that_comes_again_gets_the_same_rows():
    rows = actor()
    rows.enqueue(1, 0, 5, np.arange(5))
    first = rows.dequeue(2, 2, False, 0.0)
    assert rows_in(rows.dequeue(2, 2, False, 0.0)) == rows_in(first) == [0, 1]
    assert rows_in(rows.dequeue(3, 2, False, 0.0)) == [2, 3]


def test_an_enqueue_that_is_withdrawn_while_it_waits(calls):
    rows = actor(4)
    goes_on = calls.submit(rows.enqueue, 1, 0, 10, np.arange(10))
    wait_for(rows, 4)
    rows.withdraw(1)
    assert rows_in(rows.dequeue(2, 2, False, 0.0)) == [0, 1]
    rows.received(2)
    sent = goes_on.result()
    assert sent in (4, 5)  # the waiting row may have found room
    assert rows_in(rows.dequeue(3, sent - 2, False, 0.0)) == list(range(2, sent))
    rows.received(3)
    assert not rows._blocks
    assert not rows.size()


def test_an_enqueue_that_is_withdrawn_between_two_calls_or_before_the_first():
    rows = actor(4)
    rows.withdraw(2)
    assert rows.enqueue(2, 0, 3, np.arange(3)) == 3
    assert rows.size() == 0
    assert not rows._withdrawn
    rows.enqueue(1, 0, 3, np.arange(6))
    rows.withdraw(1)
    assert rows_in(rows.dequeue(3, 3, False, 0.0)) == [0, 1, 2]
    rows.received(3)
    assert not rows._blocks


def test_an_enqueue_that_fails_leaves_nothing_behind(calls):
    rows = actor(2)
    goes_on = calls.submit(rows.enqueue, 1, 0, 5, np.arange(5))
    wait_for(rows, 2)
    rows.close(True)
    failed = goes_on.result()
    assert isinstance(failed, FailedItem)
    assert isinstance(failed.error, pipeline.CancelledError)
    rows.dequeue(2, 2, False, 0.0)
    rows.received(2)
    assert not rows._blocks


def test_a_dequeue_that_is_withdrawn_while_it_waits(calls):
    rows = actor()
    goes_on = calls.submit(rows.dequeue, 1, 4, False, 20.0)
    rows.withdraw(1)
    rows.enqueue(2, 0, 8, np.arange(8))
    assert goes_on.result() == []
    assert rows.size() == 8
    assert rows_in(rows.dequeue(3, 8, False, 0.0)) == list(range(8))


def test_a_dequeue_that_is_withdrawn_when_it_has_rows_or_none():
    rows = actor(5)
    rows.enqueue(1, 0, 5, np.arange(5))
    rows.dequeue(2, 3, False, 0.0)
    rows.enqueue(3, 0, 3, np.arange(5, 8))  # the queue is full, and takes those back
    rows.withdraw(2)
    rows.withdraw(4)
    assert isinstance(rows.dequeue(4, 50, False, 0.0), FailedItem)
    assert not rows._withdrawn
    rows.close(False)
    assert rows.size() == 8
    assert rows_in(rows.dequeue(5, 9, True, 0.0)) == [0, 1, 2, 3, 4, 0, 1, 2]


def test_a_shuffle_queue_takes_rows_back():
    rows = actor(50, 10)
    rows.enqueue(1, 0, 50, np.arange(50))
    for request in range(2, 6):
        rows.dequeue(request, 8, False, 0.0)
        rows.withdraw(request)
    rows.close(False)
    assert sorted(rows_in(rows.dequeue(9, 50, False, 0.0))) == list(range(50))


def test_rows_of_programs_that_have_died_come_again(monkeypatch):
    rows = actor()
    rows.enqueue(1, 0, 6, np.arange(6))
    rows.dequeue(2, 2, False, 0.0)
    rows.dequeue(3, 2, False, 0.0)
    rows.withdraw(4)
    assert rows.size() == 2
    monkeypatch.setattr(actors, "HOLD", 0.0)
    assert rows.size() == 6
    assert not rows._withdrawn
    assert rows_in(rows.dequeue(5, 6, False, 0.0)) == list(range(6))


def test_rows_that_a_program_was_killed_with_do_not_stay(monkeypatch):
    """Otherwise its block would stay, with no caller to ask for room."""
    monkeypatch.setattr(actors, "POLL", 0.0)
    rows, block = actor(4), np.arange(9)
    assert rows.enqueue(1, 0, 9, block) == 4
    monkeypatch.setattr(actors, "HOLD", -1.0)
    assert rows.size() == 4
    assert list(rows._blocks) == [1]  # the queue has rows from it
    monkeypatch.setattr(actors, "HOLD", 60.0)
    assert rows_in(rows.dequeue(2, 4, False, 0.0)) == [0, 1, 2, 3]
    rows.received(2)
    assert list(rows._blocks) == [1]  # it may ask again
    monkeypatch.setattr(actors, "HOLD", -1.0)
    assert rows.size() == 0
    assert not rows._blocks
    assert not rows._to_ask
    assert rows.enqueue(1, 4, 9) is None  # it was not dead
    assert rows.enqueue(1, 4, 9, block) == 8
    assert rows_in(rows.dequeue(3, 4, False, 0.0)) == [4, 5, 6, 7]


@pytest.mark.parametrize("ends", [actors.RowQueueActor.withdraw, lambda rows, request: rows.enqueue(request, 4, 6)])
def test_who_no_longer_waits_for_room_is_not_given_up(monkeypatch, ends):
    monkeypatch.setattr(actors, "POLL", 0.0)
    rows = actor(4)
    rows.enqueue(1, 0, 6, np.arange(6))
    rows.dequeue(2, 2, False, 0.0)
    ends(rows, 1)
    assert not rows._to_ask
    monkeypatch.setattr(actors, "HOLD", -1.0)
    assert rows.size() in (4, 6)


# RemoteQueue's side ---------------------------------------------------------------------------------------------------


class Method(types.SimpleNamespace):
    """An actor method, for callers that do not wait for an answer."""

    def __init__(self, method):
        super().__init__(name=method.__name__, remote=method, options=lambda num_returns: self)


class Remote:
    """An actor whose calls outlive Ctrl-C, as in Ray; `strikes` names the calls during which the caller gets it."""

    def __init__(self, rows, calls, monkeypatch, ray):
        self.rows, self.calls, self.ray, self.strikes = rows, calls, ray, []
        monkeypatch.setattr(queues, "ask", self.ask)
        monkeypatch.setattr(queues, "connect", lambda *args: ray)

    def queue(self):
        made = queues.RemoteQueue.__new__(queues.RemoteQueue)
        made._set(self, "name", (["int64"], [()], None))
        return made

    def __getattr__(self, name):
        return Method(getattr(self.rows, name))

    def ask(self, ray, what, method, *args):
        call = self.calls.submit(method.remote, *args)
        if method.name in self.strikes:
            self.strikes.remove(method.name)
            self.struck = call
            if method.name == "enqueue":
                wait_for(self.rows, 4)
            raise KeyboardInterrupt
        if isinstance(call.result(), FailedItem):
            raise call.result().error
        return call.result()


@pytest.fixture
def remote(calls, monkeypatch, ray):
    return Remote(actor(4), calls, monkeypatch, ray)


def test_ctrl_c_in_a_producer_that_waits_for_room(remote):
    remote.strikes = ["enqueue"]
    with pytest.raises(KeyboardInterrupt):
        remote.queue().enqueue_many(np.arange(10))
    other = remote.queue()
    assert other.dequeue_many(4, timeout=120).tolist() == [0, 1, 2, 3]
    sent = remote.struck.result()
    assert sent in (4, 5)
    assert remote.rows.size() == sent - 4
    if sent == 5:
        assert other.dequeue() == 4
    assert not remote.rows._blocks


@pytest.mark.parametrize("waits", [True, False])
def test_ctrl_c_in_a_consumer_that_waits_for_rows(remote, waits):
    remote.strikes = ["dequeue"]
    with pytest.raises(KeyboardInterrupt):
        remote.queue().dequeue_many(3)
    other = remote.queue()
    other.enqueue_many(np.arange(4))
    if waits:
        assert remote.struck.result() == []  # it took three rows and gave them back
    found = other.dequeue_many(4, timeout=120).tolist()
    assert (found if waits else sorted(found)) == [0, 1, 2, 3]  # another caller may get 3 first
    assert not remote.rows._blocks


def test_a_producer_that_was_stopped_for_long_goes_on(remote, monkeypatch):
    """The actor has given it up meanwhile, so it sends its rows again."""
    monkeypatch.setattr(actors, "POLL", 0.0)
    remote.queue().enqueue_many(np.arange(4))
    calls, ask = [], remote.ask

    def stopped_once(ray, what, method, *args):
        if method.name == "enqueue":
            calls.append(args)
        if len(calls) == 2:
            with monkeypatch.context() as later:
                later.setattr(actors, "HOLD", -1.0)
                assert remote.rows.size() == 4
            rows_in(remote.rows.dequeue(1, 4, False, 0.0))
            remote.rows.received(1)
        return ask(ray, what, method, *args)

    monkeypatch.setattr(queues, "ask", stopped_once)
    remote.queue().enqueue_many(np.arange(4, 8))
    assert [block is None for *_, block in calls] == [False, True, False]
    assert remote.queue().dequeue_many(4, timeout=120).tolist() == [4, 5, 6, 7]
    assert not remote.rows._blocks


def test_ctrl_c_while_blocks_are_fetched(remote, ray):
    queue = remote.queue()
    queue.enqueue_many(np.arange(4))
    fetch = ray.get

    def strike(references):
        ray.get = fetch
        raise KeyboardInterrupt

    ray.get = strike
    with pytest.raises(KeyboardInterrupt):
        queue.dequeue_many(3)
    assert queue.dequeue_many(4, timeout=120).tolist() == [0, 1, 2, 3]


def test_rows_that_took_long_are_asked_for_again(remote, ray, monkeypatch):
    """They were given back meanwhile, and another consumer has them."""
    queue = remote.queue()
    queue.enqueue_many(np.arange(4))
    fetch = ray.get

    def get(references):
        if not taken:
            with monkeypatch.context() as later:
                later.setattr(actors, "HOLD", -1.0)
                taken.append(rows_in(remote.rows.dequeue(1, 2, False, 0.0)))
            clock.monotonic = lambda: 1e9
        return fetch(references)

    taken, ray.get = [], get
    clock = types.SimpleNamespace(monotonic=lambda: 0.0)
    monkeypatch.setattr(queues, "time", clock)
    assert queue.dequeue_many(2).tolist() == [2, 3]
    assert taken == [[0, 1]]


def test_a_timeout_withdraws_what_was_not_enqueued(remote, monkeypatch):
    monkeypatch.setattr(actors, "POLL", 0.0)
    with pytest.raises(pipeline.DeadlineExceededError, match="4 of 6 rows are in it"):
        remote.queue().enqueue_many(np.arange(6), timeout=0.0)
    assert remote.queue().dequeue_many(4).tolist() == [0, 1, 2, 3]
    assert not remote.rows._blocks
