"""The numbers of elements beside a queue, batches that are counted once, and blocks that are moved into a queue."""

import gc
import random
import sys
import threading
import weakref

import numpy as np
import pytest
from helpers import run_in_thread, wait_until
from tracing import ArrayBytes

import pipeline
from pipeline._blocks import Blocks, mixed_ids
from pipeline._delivery import History, Outlet
from pipeline._random import lockstep_pool
from pipeline._trail import Delivered, Trail


def nothing(*_):
    return None


def trail_beside(queue, *args):
    return Trail(queue.enqueue, queue.enqueue_many, lambda: queue.stats().enqueued, queue.is_closed, *args)


def trail_alone():
    """A trail beside nothing: elements that are put in are never interrupted."""
    return Trail(nothing, nothing, nothing, nothing)


def numbers_of(count, seed=0):
    return np.array([random.Random(seed + i).getrandbits(63) for i in range(count)], np.int64)


def outlet_after(trail, delivered=None):
    return Outlet(History(delivered or Delivered(0, 0, 0, 0)), trail, nothing)


def counted(outlet, *args):
    """The fingerprint after one more batch."""
    outlet.follow(outlet.fetch(), *args)
    outlet.left = True
    return outlet


@pytest.mark.parametrize("sizes", [[1], [3, 0, 5], [300, 1, 700], [256, 256]])
def test_the_fingerprint_is_that_of_the_numbers(sizes):
    """In blocks and one by one, while batches of any size are taken; the trail grows, and its places come again."""
    numbers = numbers_of(sum(sizes))
    trail = trail_alone()
    delivered = History(Delivered(0, 0, 0, 0))
    outlet, expected = Outlet(delivered, trail, nothing), Delivered(0, 0, 0, 0)
    for _ in range(3):
        begin = taken = 0
        for i, size in enumerate(sizes):
            if i % 2:
                for number in numbers[begin : begin + size].tolist():
                    trail.put_one((None, number))
            else:
                trail.put_many((None, numbers[begin : begin + size]))
            begin += size
            while begin - taken >= 7:
                counted(outlet, 7, 0, 7, 7)
                expected = expected.after(numbers[taken : taken + 7], 7)
                taken += 7
        counted(outlet, begin - taken, 0, begin - taken, begin - taken)
        expected = expected.after(numbers[taken:begin], begin - taken)
    assert delivered.newest.value == expected.value
    assert (delivered.newest.batches, delivered.newest.elements) == (expected.batches, expected.elements)


@pytest.mark.parametrize(("begin", "end"), [(0, 10), (0, 0), (10, 10), (2, 5), (9, 10), (0, 1)])
def test_the_fingerprint_of_a_share(begin, end):
    numbers = numbers_of(30)
    trail = trail_alone()
    trail.put_many((None, numbers))
    delivered = expected = Delivered(4, 40, 20, 12345)
    outlet = outlet_after(trail, delivered)
    history = History(delivered)
    outlet = Outlet(history, trail, nothing)
    for i in range(3):
        counted(outlet, 10, begin, end, 10)
        expected = expected.after(numbers[i * 10 + begin : i * 10 + end], 10)
    assert (history.newest.value, history.newest.own) == (expected.value, expected.own)


def test_what_does_not_fit_leaves_no_number():
    queue = pipeline.FIFOQueue(100, "float32", shapes=[(2,)])
    trail = trail_beside(queue)
    numbers = numbers_of(6)
    trail.put_one((np.zeros(2, np.float32), int(numbers[0])))
    wrong = np.zeros((4, 3), np.float32)
    values = (wrong, numbers[:4])
    with pytest.raises(pipeline.InvalidArgumentError):
        trail.put_many(values)
    assert values[0] is wrong  # it can be tried again, row by row
    with pytest.raises(pipeline.InvalidArgumentError):
        trail.put_one((wrong, 7))
    trail.put_many((np.zeros((5, 2), np.float32), numbers[1:]))
    history = History(Delivered(0, 0, 0, 0))
    outlet = Outlet(history, trail, queue.dequeue_many, 6)
    assert outlet.fetch().shape == (6, 2)
    counted(outlet, 6, 0, 6, 6)
    assert history.newest.value == Delivered(0, 0, 0, 0).after(numbers, 6).value


@pytest.mark.parametrize("held_back", [0, 1, 5, 300])
def test_numbers_are_drawn_as_the_elements_are(held_back):
    """Blocks of all sizes, some refused, some cut short by the end; batches of all sizes, until nothing is left."""
    random.seed(held_back)
    queue = pipeline.RandomShuffleQueue(1000, held_back, "int64", shapes=[()], seed=(7, 8), deterministic=True)
    trail = trail_beside(queue, (7, 8), held_back)
    history = History(Delivered(0, 0, 0, 0))
    expected, begin = Delivered(0, 0, 0, 0), 0
    for turn in range(60):
        numbers = numbers_of(random.choice([0, 1, 2, 50]), begin)
        if turn % 7 == 3:
            with pytest.raises(pipeline.InvalidArgumentError):
                trail.put_many((np.zeros((3, 2), np.int64), numbers_of(3)))
        if len(numbers) == 1:
            trail.put_one((numbers[0], int(numbers[0])))
        else:
            trail.put_many((numbers.copy(), numbers))
        begin += len(numbers)
        if turn == 59:
            queue.close()
        while queue.size() and (queue.is_closed() or queue.size() - held_back > 9):
            n = min(queue.size(), random.randint(1, 9))
            outlet = Outlet(history, trail, queue.dequeue_many, n)
            drawn = outlet.fetch()
            counted(outlet, n, n // 3, n, n)
            expected = expected.after(drawn[n // 3 :].copy(), n)
            assert history.newest.value == expected.value
    assert history.newest.elements == begin > 300


@pytest.mark.parametrize("held_back", [None, 40])
@pytest.mark.parametrize("size", [1, 3, 2500])
def test_fingerprints_are_known_whenever_they_are_asked_for(size, held_back):
    """Of blocks without numbers among others; also those of old batches, while numbers are added."""
    batches, order = 200 if size < 100 else 5, random.Random(size)
    total = size * batches + (held_back or 0)
    many, one = mixed_ids(3, total // 2 + 5000), numbers_of(total)
    given = np.concatenate([many, one])[:total]
    queue = (
        pipeline.FIFOQueue(total, "int64", shapes=[()])
        if held_back is None
        else pipeline.RandomShuffleQueue(total, held_back, "int64", shapes=[()], seed=(7, 8), deterministic=True)
    )
    trail = trail_beside(queue, *(() if held_back is None else ((7, 8), held_back)))
    history, kept = History(Delivered(0, 0, 0, 0)), []
    outlet, expected = Outlet(history, trail, queue.dequeue_many, size), [Delivered(0, 0, 0, 0)]
    trail.put_block((many[:total],), 3, min(total, len(many)))
    if total > len(many):
        trail.put_many((given[len(many) :].copy(), given[len(many) :].copy()))
    for _ in range(batches):
        drawn = outlet.fetch()
        counted(outlet, size, size // 3, size, size)
        kept.append(history.newest)
        expected.append(expected[-1].after(drawn[size // 3 :].copy(), size))
        if order.random() < 0.05:
            old = order.randrange(len(kept))
            assert kept[old].value == expected[old + 1].value
    assert [each.value for each in kept] == [each.value for each in expected[1:]]


def test_fingerprints_follow_what_was_counted_otherwise():
    """A batch whose numbers came with it, between others."""
    trail, numbers = trail_alone(), numbers_of(30)
    trail.put_many((None, numbers[:10]))
    trail.put_many((None, numbers[20:]))
    outlet = outlet_after(trail)
    counted(outlet, 10, 0, 10, 10)
    outlet.count(outlet.fetch(), numbers[10:20], 10)
    outlet.left = True
    counted(outlet, 10, 0, 10, 10)
    assert outlet.taken.value == Delivered(0, 0, 0, 0).after(numbers, 30).value


def test_a_loop_that_was_left_is_not_kept_by_its_fingerprints():
    """What was delivered is out of the garbage collector's sight, so it may not refer to the queue."""

    def used():
        queue = pipeline.FIFOQueue(10, "int64", shapes=[()])
        history = History(Delivered(0, 0, 0, 0))
        trail = Trail(queue.enqueue, queue.enqueue_many, lambda: history and queue.size(), queue.is_closed)
        outlet = Outlet(history, trail, queue.dequeue_many, 3)
        trail.put_many((np.arange(3), np.arange(3)))
        outlet.fetch()
        counted(outlet, 3, 0, 3, 3)
        return weakref.ref(queue)

    gone = used()
    gc.collect()
    assert gone() is None


def test_numbers_of_a_put_that_a_close_has_cut_short():
    """The last draws are from what has entered."""
    queue = pipeline.RandomShuffleQueue(10, 6, "int64", shapes=[()], seed=(7, 8), deterministic=True)
    trail = trail_beside(queue, (7, 8), 6)
    numbers = numbers_of(16)
    blocked = run_in_thread(trail.put_many, (numbers.copy(), numbers))
    history = History(Delivered(0, 0, 0, 0))
    outlet = Outlet(history, trail, queue.dequeue_many, 4)
    batches = [outlet.fetch().copy()]  # there is room for four more then, and for two no more
    counted(outlet, 4, 0, 4, 4)
    wait_until(lambda: queue.size() == 10, "the queue is full again")
    queue.close(cancel_pending_enqueues=True)
    for n in (4, 4, 2):
        outlet = Outlet(history, trail, queue.dequeue_many, n)
        batches.append(outlet.fetch().copy())
        counted(outlet, n, 0, n, n)
    assert isinstance(blocked.exception(), pipeline.CancelledError)
    assert history.newest.value == Delivered(0, 0, 0, 0).after(np.concatenate(batches), 14).value


def test_what_comes_after_the_end_has_no_numbers():
    """While its put fails, the rest of the pool is drawn from what had entered."""
    queue = pipeline.RandomShuffleQueue(100, 10, "int64", shapes=[()], seed=(7, 8), deterministic=True)
    history, expected = History(Delivered(0, 0, 0, 0)), Delivered(0, 0, 0, 0)

    def put_many(components):
        if queue.is_closed():
            take()
        queue.enqueue_many(components)

    def take():
        nonlocal expected
        (numbers,) = outlet.deliver()
        expected = expected.after(numbers, 4)
        outlet.left = True
        assert history.newest.value == expected.value

    trail = Trail(queue.enqueue, put_many, lambda: queue.stats().enqueued, queue.is_closed, (7, 8), 10)
    outlet = Outlet(history, trail, lambda: [queue.dequeue_many(4)])
    trail.put_many((np.arange(20), np.arange(20)))
    take()
    queue.close()
    take()
    for _ in range(3):
        with pytest.raises(pipeline.CancelledError):
            trail.put_many((np.arange(50), np.arange(50)))
    assert history.newest.elements == 20


def test_numbers_go_on_where_a_saved_run_was():
    seeds, held_back, numbers = (7, 8), 20, numbers_of(60)

    def drained(trail, queue, count, value=0):
        history = History(Delivered(0, 0, 0, value))
        outlet = Outlet(history, trail, queue.dequeue_many, count)
        taken = outlet.fetch().tolist()
        counted(outlet, count, 0, count, count)
        return taken, history.newest.value

    def loop():
        queue = pipeline.RandomShuffleQueue(100, held_back, "int64", shapes=[()], seed=seeds, deterministic=True)
        return trail_beside(queue, seeds, held_back), queue

    whole = loop()
    whole[0].put_many((numbers.copy(), numbers))
    drained(*whole, 15)
    places = lockstep_pool(*seeds, held_back, 15)
    resumed = trail, queue = loop()
    order = np.sort(places)
    with pytest.raises(RuntimeError, match="the pool has not 20 numbers"):
        trail.arrange(np.arange(held_back))
    trail.put_many((numbers[order].copy(), numbers[order]))
    for each in (queue._arrange, trail.arrange):
        each(np.argsort(places))
    queue._skip_draws(15)
    trail.skip_draws(15)
    trail.put_many((numbers[35:].copy(), numbers[35:]))
    assert drained(*resumed, 25, 5) == drained(*whole, 25, 5)


def test_elements_without_numbers_are_an_error():
    trail = trail_alone()
    trail.put_one((None, 1))
    outlet = outlet_after(trail)
    outlet.fetch()
    with pytest.raises(RuntimeError, match="2 elements have come without their numbers"):
        outlet.follow("own", 2, 0, 2, 2)
    with pytest.raises(ValueError, match="3 to 2 is no part of 5"):
        outlet.follow("own", 5, 3, 2, 5)
    with pytest.raises(ValueError, match="must be an int64 array"):
        trail.put_many((None, np.zeros(3)))
    outlet.follow("own", 1, 0, 1, 1)


def test_a_batch_is_counted_as_it_leaves():
    taken = iter(["first", "second", "third"])
    history = History(Delivered(0, 0, 0, 0))
    trail = trail_alone()
    trail.put_many((None, np.arange(6)))
    outlet = Outlet(history, trail, lambda: next(taken))
    assert outlet.fetch() == outlet.fetch() == "first"  # as if Ctrl-C had struck before it was counted
    for _ in range(3):  # and on its way
        assert outlet.left
        own = outlet.kept() if outlet.struck else (outlet.fetch() and outlet.follow("own", 2, 0, 2, 2)) or "own"
        assert (own, outlet.left, len(history.copy()), outlet.taken.elements) == ("own", False, 1, 2)
        outlet.give_back(0)
        assert outlet.struck
    assert run_in_thread(outlet.kept).result() == "own"  # of a thread that ends with it
    assert outlet.fetch() == "second"
    outlet.follow("own", 2, 0, 2, 2)
    outlet.left = True
    assert [each.elements for each in history.copy()] == [0, 2, 4]
    outlet.fetch()
    outlet.follow(None, 2, 2, 2, 2)  # nothing of it is this host's
    assert (outlet.left, history.newest.elements, history.newest.own) == (True, 6, 4)
    with pytest.raises(StopIteration):
        outlet.fetch()


def test_batches_leave_in_any_order():
    history = History(Delivered(0, 0, 0, 0))
    trail = trail_alone()
    trail.put_many((None, np.arange(8)))
    outlet = Outlet(history, trail, lambda n: [[0] * n], 2)
    go = threading.Event()

    def first():
        outlet.deliver()
        begun.set()
        assert go.wait(30)
        outlet.left = True

    begun = threading.Event()
    other = run_in_thread(first)
    assert begun.wait(30)
    outlet.deliver()
    assert [each.batches for each in history.copy()] == [0]
    outlet.left = True
    assert [each.batches for each in history.copy()] == [0, 1, 2]
    go.set()
    other.result()
    outlet.deliver()
    assert (len(history.copy()), outlet.taken.batches) == (3, 3)
    outlet.settle()  # another round begins
    outlet.left = True
    assert [each.elements for each in history.copy()] == [0, 2, 4, 6]


def test_one_thread_at_a_time_takes_and_counts():
    """Numbers come in the order of the queue, so nobody may take between another's take and its count."""
    inside, go, other_asks = threading.Event(), threading.Event(), threading.Event()
    taken = iter([[[0, 0]], [[0]]])  # of one component

    def take():
        inside.set()
        assert go.wait(30)
        return next(taken)

    trail = trail_alone()
    trail.put_many((None, np.arange(3)))
    outlet = Outlet(History(Delivered(0, 0, 0, 0)), trail, take)
    first = run_in_thread(outlet.deliver)
    assert inside.wait(30)
    assert outlet.lock.locked()

    def ask():
        other_asks.set()
        return outlet.deliver()

    second = run_in_thread(ask)
    assert other_asks.wait(30)
    go.set()
    assert (first.result(), second.result()) == ([[0, 0]], [[0]])
    assert not outlet.lock.locked()
    outlet.after_fork()
    with pytest.raises(StopIteration):
        outlet.deliver()
    assert not outlet.lock.locked()


def test_what_was_struck_goes_to_a_thread_that_waited_for_another():
    waits, ends = threading.Event(), threading.Event()

    def take():
        if not waits.is_set() and threading.current_thread() is not threading.main_thread():
            waits.set()
            assert ends.wait(30)
            raise pipeline.OutOfRangeError(None, None, "no more")
        return "batch"

    outlet = Outlet(None, None, take)
    waiting = run_in_thread(outlet.draw)
    assert waits.wait(30)
    assert outlet.draw() == "batch"
    outlet.give_back(0)
    ends.set()
    assert waiting.result() == "batch"
    assert not outlet.struck


def test_blocks():
    """With their numbers beside the queue."""
    put, length = [], len
    trail = Trail(nothing, put.append, nothing, nothing)
    blocks = Blocks(trail, None, length, lambda: False)
    turn, worker = (type("", (), {"ticket": 0, "keys": None})() for _ in range(2))
    sizes = [3, 0, 1, 2]
    assert blocks.move(iter([np.arange(size) for size in sizes]), turn, worker, 10, 100)
    assert (blocks.moved, blocks.rows, turn.ticket) == (4, 6, 14)
    numbers = np.concatenate([mixed_ids(10, 3), [12], mixed_ids(13, 2)])
    assert [values[0].tolist() for values in put] == [[0, 1, 2], [0], [0, 1]]
    assert all(len(values) == 1 for values in put)
    history = History(Delivered(0, 0, 0, 0))
    counted(Outlet(history, trail, nothing), 6, 0, 6, 6)
    assert history.newest.value == Delivered(0, 0, 0, 0).after(numbers, 6).value
    assert not blocks.move(iter([np.arange(2)] * 9), turn, worker, 14, 5)
    assert blocks.moved == 5


def test_blocks_stop():
    blocks = Blocks(trail_alone(), None, len, lambda: True)
    assert not blocks.move(iter([np.arange(2)]), None, None, 0, 5)
    assert blocks.moved == 0


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="references are not counted")
@pytest.mark.parametrize("many", [True, False])
def test_large_arrays_that_are_given_away_are_not_copied(many):
    """The queue keeps the array itself, as nothing else holds it: not the tuple that it came in."""
    queue = pipeline.FIFOQueue(100, "float32", shapes=[(6000,)])
    trail = Trail(queue._enqueue_given, queue._enqueue_many_given, nothing, nothing)
    numbers = numbers_of(4) if many else 5
    with ArrayBytes() as alive:
        values = (np.ones((4, 6000) if many else 6000, np.float32), numbers)
        size = alive()
        (trail.put_many if many else trail.put_one)(values)
        assert size > 20_000
        assert alive() == size
        queue.dequeue_many(4 if many else 1)
        assert alive() == 0


def test_a_queue_in_order_holds_nothing_but_the_components():
    with pipeline.batch(iter([(1.0, b"x")] * 6), 3, deterministic=True) as loop:
        next(loop)
        assert [dtype.kind for dtype in loop.queue.dtypes] == ["f", "S"]
        assert loop.fingerprint().startswith("3-")
