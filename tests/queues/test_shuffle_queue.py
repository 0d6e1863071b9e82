"""RandomShuffleQueue: a seed's draws, and the elements left behind."""

from itertools import islice

import numpy as np
import pytest
from helpers import check_error, plain, raises, start_blocked, waiting
from reference import philox

from pipeline.errors import DeadlineExceededError, OutOfRangeError


def build(queues, *values, capacity=100, keep=0, seed=1):
    queue = queues.RandomShuffleQueue(capacity, keep, np.int32, shapes=(), seed=seed, name="q")
    queue.enqueue_many([np.array(values, np.int32)])
    return queue


def order(queues, seed, n=10):
    return plain(build(queues, *range(n), seed=seed).dequeue_many(n))


def test_philox_blocks():
    assert list(islice(philox(0, 0), 4)) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    draws = [2870909127, 3455438759, 4052121393, 1279227022, 15397477, 3296944994, 2768979786, 2402972633]
    assert list(islice(philox(87654321, 1), 8)) == draws


@pytest.mark.parametrize(("seed", "wanted"), [(1, [7, 8, 1, 3, 9, 4, 2, 6, 5, 0]), (7, [7, 1, 5, 6, 4, 3, 2, 0, 9, 8])])
def test_a_seed_gives_its_order(queues, seed, wanted):
    assert order(queues, seed) == wanted
    queue = build(queues, *range(10), seed=seed)
    assert [plain(queue.dequeue()) for _ in range(10)] == wanted


def test_a_global_seed(queues):
    queues.set_random_seed(3)
    assert order(queues, 1, 6) == [1, 0, 3, 5, 4, 2]
    assert order(queues, 1, 6) == [1, 0, 3, 5, 4, 2]  # every queue starts over
    queues.set_random_seed(None)
    assert order(queues, 1) == [7, 8, 1, 3, 9, 4, 2, 6, 5, 0]


def drawn(seed, seed2, n=10):
    """Return the order of 0..n-1 on the way out, from the generator alone."""
    rest, out = list(range(n)), []
    for word in islice(philox(seed, seed2), n):
        i = word % len(rest)
        out.append(rest[i])
        rest[i] = rest[-1]
        rest.pop()
    return out


@pytest.mark.parametrize(
    ("global_seed", "seed", "pair"),
    [
        (None, 0, (87654321, 0)),
        (None, 5, (87654321, 5)),
        (None, 2147483647, (87654321, 0)),
        (None, 2147483648, (87654321, 1)),
        (None, -1, (87654321, 2147483646)),
        (0, 0, (0, 2147483647)),
        (2147483647, 0, (0, 2147483647)),
        (0, 1, (0, 1)),
        (-1, 2, (2147483646, 2)),
        (2**40, 3, (2**40 % 2147483647, 3)),
    ],
)
def test_two_seeds_make_one(queues, global_seed, seed, pair):
    queues.set_random_seed(global_seed)
    assert order(queues, seed) == drawn(*pair)


def test_without_a_seed_orders_differ(queues):
    assert len({tuple(order(queues, None, 50)) for _ in range(3)}) == 3


def test_a_waiting_batch_draws_as_rows_arrive(queues):
    queue = build(queues, capacity=5, keep=3)
    call = start_blocked(queue, "dequeue_many", 8)
    queue.enqueue_many([list(range(11))])
    assert plain(call.result()) == [2, 3, 5, 4, 6, 8, 1, 10]
    assert queue.size() == 3


def test_a_batch_that_fails_at_close_is_put_back_behind(queues):
    queue = build(queues, 1, 2, 3, 4, 5, keep=3)
    call = start_blocked(queue, "dequeue_many", 6)
    assert queue.size() == 3
    queue.close()
    text = "RandomShuffleQueue 'q' is closed and has insufficient elements (requested 4, current size 3)"
    check_error(call.exception(), OutOfRangeError, text)
    assert plain(queue.dequeue_many(5)) == [4, 5, 2, 1, 3]


def test_what_was_put_back_goes_to_those_behind(queues):
    queue = build(queues, 1, 2, 3)
    calls = [start_blocked(queue, "dequeue_many", n) for n in (5, 2)]
    calls += [start_blocked(queue, "dequeue") for _ in range(2)]
    queue.close()
    assert isinstance(calls[0].exception(), OutOfRangeError)
    assert plain(calls[1].result()) == [2, 1]
    assert plain(calls[2].result()) == 3
    assert isinstance(calls[3].exception(), OutOfRangeError)


def test_the_minimum_stays(queues):
    queue = build(queues, 1, 2, 3, keep=3)
    call = start_blocked(queue, "dequeue")
    queue.enqueue(4)
    assert plain(call.result()) in (1, 2, 3, 4)
    assert queue.size() == 3
    with raises(DeadlineExceededError):
        queue.dequeue(timeout=0)


def test_a_waiting_batch_takes_what_may_leave(queues):
    queue = build(queues, 1, 2, 3, 4, 5, keep=3)
    call = start_blocked(queue, "dequeue_many", 4)
    assert queue.size() == 3
    queue.enqueue(6)
    assert (queue.size(), waiting(queue)) == (3, (0, 1))
    queue.enqueue(7)
    assert len(set(plain(call.result()))) == 4
    assert queue.size() == 3


def test_a_closed_queue_keeps_nothing_back(queues):
    queue = build(queues, 1, 2, 3, 4, 5, keep=3)
    call = start_blocked(queue, "dequeue_many", 5)  # two taken, three missing, three left
    queue.close()
    assert sorted(plain(call.result())) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("values", [(1, 2), (1, 2, 3, 4)])
def test_a_waiting_up_to_gets_all_at_close(queues, values):
    queue = build(queues, *values, keep=3)
    call = start_blocked(queue, "dequeue_up_to", 9)
    queue.close()
    assert sorted(plain(call.result())) == list(values)


def test_one_element_costs_a_draw(queues):
    queue = build(queues)
    for value in range(3):
        queue.enqueue(value)
        queue.dequeue()
    queue.enqueue_many([list(range(5))])
    words = list(islice(philox(87654321, 1), 4))
    assert plain(queue.dequeue()) == words[3] % 5


def test_draws_of_a_call_that_gave_up_are_spent(queues):
    queue = build(queues, 0, 1, 2)
    with raises(DeadlineExceededError):
        queue.dequeue_many(4, timeout=0)
    words = list(islice(philox(87654321, 1), 4))
    rest, taken = [0, 1, 2], []
    for word in words[:3]:
        i = word % len(rest)
        taken.append(rest[i])
        rest[i] = rest[-1]
        rest.pop()
    assert plain(queue.dequeue()) == taken[::-1][words[3] % 3]


def test_every_order_is_about_as_likely(queues):
    counts = {}
    for seed in range(600):
        first = order(queues, seed, 3)
        counts[tuple(first)] = counts.get(tuple(first), 0) + 1
    assert len(counts) == 6
    assert min(counts.values()) > 60
