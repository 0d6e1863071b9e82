"""Shuffle queues with deterministic=True: the order depends only on the order of arrival, not on the calls' timing."""

import contextlib
import threading
from itertools import chain

import numpy as np
import pytest
from helpers import plain, raises, run_in_thread, start_blocked
from hypothesis import given
from hypothesis import strategies as st
from lockstep import play

from pipeline import PaddingShuffleQueue, RandomShuffleQueue
from pipeline.errors import DeadlineExceededError, OutOfRangeError

SEEDS = (87654321, 5)  # for seed=5


def build(m, capacity=100, dtype=np.int64, shapes=()):
    return RandomShuffleQueue(capacity, m, dtype, shapes=shapes, seed=5, name="q", deterministic=True)


def order(m, n):
    return play(*SEEDS, m, range(n))[0]


def fill(queue, n):
    queue.enqueue_many([np.arange(n)])
    queue.close()


def rest(queue):
    return [int(value) for value in queue]


@pytest.mark.parametrize("m", range(8))
@pytest.mark.parametrize("n", range(20))
def test_all_small_sizes(m, n):
    queue = build(m)
    fill(queue, n)
    assert rest(queue) == order(m, n)


@pytest.mark.parametrize("m", range(6))
def test_a_consumer_that_always_waits_gets_tensorflows_draws(m):
    """With single elements in and out, an ordinary queue's pool never holds more than m + 1 elements either."""
    queue = RandomShuffleQueue(100, m, np.int64, shapes=(), seed=5)
    taken = []
    for i in range(30):
        queue.enqueue(i)
        if i >= m:
            taken.append(int(queue.dequeue()))
    queue.close()
    assert taken + rest(queue) == order(m, 30)


class Calls:
    """Makes any calls on a queue with consecutive elements, and records the results."""

    def __init__(self, m, capacity):
        self.queue, self.taken, self.next = build(m, capacity), [], 0

    def enqueue(self, n):
        n = min(n, self.queue.stats().capacity - self.queue.size())
        for _ in range(n):
            self.queue.enqueue(self.next)
            self.next += 1

    def enqueue_many(self, n):
        try:
            self.queue.enqueue_many([np.arange(self.next, self.next + n)], timeout=0)
            self.next += n
        except DeadlineExceededError as error:
            self.next += error.stored

    def dequeue(self, n):
        for _ in range(n):
            self.attempt("dequeue")

    def attempt(self, method, *args, **kwargs):
        with contextlib.suppress(DeadlineExceededError, OutOfRangeError):
            self.taken += np.atleast_1d(getattr(self.queue, method)(*args, timeout=0, **kwargs)).tolist()

    def dequeue_many(self, n):
        self.attempt("dequeue_many", n)

    def dequeue_up_to(self, n):
        self.attempt("dequeue_up_to", n)

    def give_back(self, n):
        n = min(n, len(self.taken))
        if n:
            # Like an interrupted batch function.
            self.queue._give_back((np.array(self.taken[len(self.taken) - n :]),))
            del self.taken[len(self.taken) - n :]


NAMES = ["enqueue", "enqueue_many", "dequeue", "dequeue_many", "dequeue_up_to", "give_back"]


@given(
    m=st.integers(0, 9),
    room=st.integers(1, 30),
    calls=st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 14)), max_size=40),
    ending=st.integers(1, 9),
)
def test_any_calls_give_the_one_order(m, room, calls, ending):
    made = Calls(m, m + room)
    for method, n in calls:
        getattr(made, method)(n)
        assert made.taken == order(m, made.next)[: len(made.taken)]
    made.queue.close()
    while made.queue.size():
        made.dequeue_many(ending)  # finds too few at last, and puts them back
        made.dequeue_up_to(ending)
    assert made.taken == order(m, made.next)


def test_a_timeout_spends_no_draw():
    queue = build(3)
    queue.enqueue_many([np.arange(8)])
    for _ in range(3):
        with raises(DeadlineExceededError):
            queue.dequeue_many(6, timeout=0)
        assert queue.size() == 8
    fill_rest = np.arange(8, 20)
    queue.enqueue_many([fill_rest])
    queue.close()
    assert plain(queue.dequeue_many(20)) == order(3, 20)


def test_what_was_put_back_may_leave_though_the_pool_is_not_full():
    queue = build(3)
    # Like an interrupted batch function.
    queue._give_back((np.array([7, 8]),))
    assert plain(queue.dequeue_many(2, timeout=0)) == [7, 8]
    with raises(DeadlineExceededError):
        queue.dequeue(timeout=0)


def test_a_failed_out_puts_back_in_order():
    queue = PaddingShuffleQueue(100, 2, [np.int64], [(None,)], seed=5, deterministic=True)
    for i in range(6):
        queue.enqueue((np.full(2, i),))
    with raises(ValueError, "PaddingShuffleQueue"):
        queue.dequeue_many(3, out=np.zeros((3, 9), np.int64))  # found when they are padded
    queue.close()
    assert plain(queue.dequeue_many(6)[:, 0]) == order(2, 6)


def test_a_batch_that_fails_at_close_comes_next_in_order():
    queue = build(3)
    queue.enqueue_many([np.arange(6)])
    call = start_blocked(queue, "dequeue_many", 9)
    queue.close()
    assert isinstance(call.exception(), OutOfRangeError)
    assert plain(queue.dequeue_up_to(9)) == order(3, 6)


def test_an_up_to_that_waits_at_close_gets_what_it_had_first():
    queue = build(3)
    queue.enqueue_many([np.arange(6)])
    call = start_blocked(queue, "dequeue_up_to", 9)
    queue.close()
    assert plain(call.result()) == order(3, 6)


def test_a_dequeue_between_the_pieces_of_an_enqueue_many():
    queue = build(3, capacity=4)
    call = start_blocked(queue, "enqueue_many", [np.arange(50)])
    taken = [int(queue.dequeue()) for _ in range(40)]
    taken += plain(queue.dequeue_many(7))
    call.result()
    queue.close()
    assert taken + rest(queue) == order(3, 50)


@pytest.mark.parametrize("m", [0, 5, 1000, 20000])
def test_growing_and_shrinking_memory(m):
    queue = build(m, capacity=1 << 20)
    n = 3 * m + 5000
    taken, first = [], 0
    for block in (n // 3, n - n // 3):
        queue.enqueue_many([np.arange(first, first + block)])
        first += block
        taken += plain(queue.dequeue_many(max(0, queue.size() - m) // 2))
        with raises(DeadlineExceededError):
            queue.dequeue_many(n, timeout=0)
    queue.close()
    taken += plain(queue.dequeue_up_to(n))
    assert len(taken) == n
    assert taken == order(m, n)


def test_several_consumers_share_one_order():
    """Consumers get arbitrary elements; each one's are in order, and together they are the oracle's."""
    m, n = 50, 4000
    queue = build(m, capacity=80)
    calls = [run_in_thread(rest, queue) for _ in range(4)]
    for i in range(0, n, 37):
        queue.enqueue_many([np.arange(i, min(n, i + 37))])
    queue.close()
    places = {value: place for place, value in enumerate(order(m, n))}
    got = [[places[value] for value in call.result()] for call in calls]
    assert all(each == sorted(each) for each in got)
    assert sorted(chain(*got)) == list(range(n))


def test_consumers_that_give_up_lose_and_repeat_nothing():
    m, n = 20, 3000
    queue = build(m, capacity=64)

    def take():
        taken = []
        while True:
            try:
                taken += plain(queue.dequeue_many(30, timeout=0.0001))
            except DeadlineExceededError:
                continue
            except OutOfRangeError:
                return taken

    calls = [run_in_thread(take) for _ in range(3)]
    for i in range(0, n, 10):
        queue.enqueue_many([np.arange(i, i + 10)])
    queue.close()
    taken = chain(*[call.result() for call in calls])
    assert sorted([*taken, *rest(queue)]) == list(range(n))


@pytest.mark.parametrize("threads", [1, 3])
def test_the_order_does_not_depend_on_the_capacity_or_the_timing(threads):
    def run(capacity, size):
        queue, turn = build(7, capacity), threading.Lock()
        numbers = iter(range(500))

        def put():
            while True:
                with turn:  # arrivals in order, from any thread
                    number = next(numbers, None)
                    if number is None:
                        return
                    queue.enqueue(number)

        calls = [run_in_thread(put) for _ in range(threads)]
        taken = []
        for _ in range(493 // size):
            taken += plain(queue.dequeue_many(size))
        for call in calls:
            call.result()
        queue.close()
        return taken + rest(queue)

    for capacity, size in [(8, 1), (10, 7), (100, 32)]:
        assert run(capacity, size) == order(7, 500)


def test_a_padding_queue():
    queue = PaddingShuffleQueue(100, 3, [np.int64], [(None,)], seed=5, deterministic=True)
    for i in range(12):
        queue.enqueue((np.full(i + 1, i),))
    queue.close()
    assert plain(queue.dequeue_many(12)[:, 0]) == order(3, 12)


def test_statistics():
    queue = build(3)
    queue.enqueue_many([np.arange(10)])
    with raises(DeadlineExceededError):
        queue.dequeue_many(8, timeout=0)
    queue.dequeue_many(2)
    stats = queue.stats()
    assert (stats.size, stats.enqueued, stats.dequeued, stats.high_water) == (8, 10, 2, 10)
