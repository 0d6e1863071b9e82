"""Live queues: results from the elements present are delivered, although the queue stays open."""

import functools
import itertools
import threading
from concurrent.futures import Executor, Future

import numpy as np
import pytest
from helpers import run_in_thread, wait_blocked
from orchestration import threads_since

import pipeline


def double(number):
    return 2 * number


def even(number):
    return number % 2 == 0


CHAINS = {
    "map": (lambda d: d.map(double, workers=2), [0, 2, 4, 6]),
    "processes": (lambda d: d.map(double, workers=pipeline.processes(1)), [0, 2, 4, 6]),
    "unordered": (lambda d: d.map(double, workers=2, ordered=False), [0, 2, 4, 6]),
    "filter": (lambda d: d.filter(even, workers=2), [0, 2]),
    "two": (lambda d: d.map(double, workers=2).map(double, workers=2), [0, 4, 8, 12]),
    "behind prefetch": (lambda d: d.prefetch(2).map(double, workers=2), [0, 2, 4, 6]),
    "before prefetch": (lambda d: d.map(double, workers=2).prefetch(2), [0, 2, 4, 6]),
}


def soon(iterator, n):
    """Return the next n elements; they must not wait for others."""
    return run_in_thread(lambda: [int(next(iterator)) for _ in range(n)]).result()


@pytest.fixture
def queue():
    queue = pipeline.FIFOQueue(100, ["int64"], [()])
    yield queue
    queue.close(cancel_pending_enqueues=True)


@pytest.mark.parametrize(("chain", "expected"), CHAINS.values(), ids=CHAINS)
def test_results_do_not_wait_for_more_inputs(queue, chain, expected):
    queue.enqueue_many(range(4))
    with iter(chain(pipeline.dataset(queue))) as found:
        assert sorted(soon(found, len(expected))) == expected
        queue.enqueue_many(range(4))
        assert sorted(soon(found, len(expected))) == expected
        queue.close()
        assert list(found) == []


@pytest.mark.parametrize(("chain", "expected"), CHAINS.values(), ids=CHAINS)
def test_max_wait_behind_workers(queue, chain, expected):
    queue.enqueue_many(range(4))
    with iter(chain(pipeline.dataset(queue)).batch(100, max_wait=0.01)) as batches:
        found = []
        while len(found) < len(expected):
            found += batches.next(timeout=60).tolist()
        assert sorted(found) == expected


def test_inputs_go_to_other_workers_while_the_first_one_is_busy(queue):
    meet = threading.Barrier(2)

    def met(number):
        meet.wait(60)
        return number

    with iter(pipeline.dataset(queue).map(met, workers=2)) as found:
        queue.enqueue(0)
        later = threading.Timer(0.05, queue.enqueue, [1])
        later.start()
        assert soon(found, 2) == [0, 1]
        later.join()


def test_inputs_for_all_workers_are_read_while_the_caller_is_busy(monkeypatch):
    """If inputs were read for only one chunk at a time, the caller would wait for every third batch."""
    monkeypatch.setattr("time.perf_counter", lambda: 0.0)  # no input is slow to arrive
    came, made, more = [], [], threading.Condition()

    def note(counts, number):
        with more:
            counts.append(number)
            more.notify()

    def numbers():
        for number in itertools.count():
            note(came, number)
            yield number

    def large(number):
        note(made, number)
        return np.full(1 << 20, number, np.uint8)  # a chunk has at most four of them

    def all_read(given):
        return len(made) >= given and len(came) >= len(made) + 8

    read = 0
    with iter(pipeline.dataset(numbers()).map(large, workers=2).batch(8)) as batches:
        for i in range(16):
            next(batches)
            with more:
                # The workers got what had been read, up to two chunks each; inputs for half as many are read ahead.
                assert more.wait_for(functools.partial(all_read, min(read, 8 * i + 16)), 60)
                read = len(came)


def test_a_queue_whose_first_element_comes_late(queue, monkeypatch):
    """Reports leave out a slow start of functions and sources, and here is neither."""
    clock = itertools.count()
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    queue.enqueue_many(range(3))
    queue.close()
    assert list(pipeline.dataset(queue)) == [0, 1, 2]


def test_no_thread_waits_for_a_queue(queue):
    begun = threads_since()
    queue.enqueue_many(range(4))
    with iter(pipeline.dataset(queue).batch(3, max_wait=0.01)) as batches:
        assert batches.next().tolist() == [0, 1, 2]
        assert batches.next().tolist() == [3]
        assert not begun()
        with pytest.raises(pipeline.DeadlineExceededError):
            batches.next(timeout=0.02)
        queue.enqueue(4)
        queue.close()
        assert [batch.tolist() for batch in batches] == [[4]]


def test_a_generator_behind_prefetch_may_wait_for_the_results_before():
    got = threading.Event()

    def waiting():
        yield 1
        assert got.wait(60)
        yield 2

    with iter(pipeline.dataset(waiting).prefetch(1).map(double, workers=2)) as found:
        assert next(found) == 2
        got.set()
        assert list(found) == [4]


class AtOnce(Executor):
    def submit(self, function, /, *args):
        future = Future()
        future.set_result(function(*args))
        return future


def test_results_go_out_before_inputs_that_are_slow_to_come(monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))
    got = []

    def slow():
        for i in range(6):
            assert len(got) >= i - 1  # the function was called for all, and only the last result waits here
            yield i

    for result in pipeline.dataset(slow).map(double, workers=AtOnce()):
        got.append(result)
    assert got == [0, 2, 4, 6, 8, 10]


@pytest.mark.parametrize("workers", ["at once", "auto"])
def test_a_batch_does_not_wait_for_inputs_of_the_next_ones(monkeypatch, workers):
    """Claiming 64 inputs at once, at 20 ms each, would deliver eight batches of 8 every 1.3 s."""
    clock = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])
    got = []

    def slow():
        for i in range(400):
            clock[0] += 0.02
            assert len(got) >= i // 8 - 1
            yield i

    executor = AtOnce() if workers == "at once" else "auto"
    for batch in pipeline.dataset(slow).map(double, workers=executor).batch(8):
        got.append(batch)
    np.testing.assert_array_equal(np.concatenate(got), 2 * np.arange(400))


@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "unordered"])
def test_skipped_errors_do_not_end_an_input_that_is_slow_to_come(monkeypatch, ordered):
    clock = itertools.count()
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))

    def odd(number):
        if number % 4 != 3:
            raise ValueError(number)
        return number

    def slow():
        yield from range(12)

    options = {"workers": AtOnce(), "ordered": ordered}
    assert list(pipeline.dataset(slow).map(odd, on_error="skip", **options)) == [3, 7, 11]
    assert list(pipeline.dataset(slow).map(double).filter(lambda x: x % 8 == 6, **options)) == [6, 14, 22]


def test_a_timeout_loses_nothing(queue):
    with iter(pipeline.dataset(queue).map(double, workers=2).batch(3).prefetch(1)) as batches:
        queue.enqueue_many(range(2))
        with pytest.raises(pipeline.DeadlineExceededError):
            batches.next(timeout=0.05)
        queue.enqueue(2)
        assert batches.next(timeout=60).tolist() == [0, 2, 4]


def _queue(kind, *args, **options):
    return getattr(pipeline, kind)(500, *args, **options)


@pytest.mark.parametrize(
    ("queue", "rows"),
    [
        (lambda: _queue("FIFOQueue", "int32", [(2,)]), [np.arange(200, dtype=np.int32).reshape(100, 2)]),
        (lambda: _queue("FIFOQueue", "string", [()]), [[b"%d" % i for i in range(100)]]),
        (
            lambda: _queue("FIFOQueue", ["int32", "string"], [(), ()], names=["a", "b"]),
            {"a": np.arange(100, dtype=np.int32), "b": [b"x"] * 100},
        ),
        (
            lambda: _queue("RandomShuffleQueue", 10, ["int32", "float32"], [(), (2,)], seed=1),
            [np.arange(100, dtype=np.int32), np.ones((100, 2), np.float32)],
        ),
    ],
)
def test_batches_of_a_queue_that_is_full_are_those_of_one_that_fills_slowly(queue, rows):
    full, slow = queue(), queue()
    full.enqueue_many(rows)
    full.close()
    slow.enqueue_many(rows)
    slow.close()
    at_once = list(pipeline.dataset(full).batch(7))
    alone = pipeline.dataset(slow)
    one_by_one = list(pipeline.dataset(list(alone)).batch(7))  # a loop over a queue takes single elements
    assert len(at_once) == len(one_by_one) == 15
    for batch, other in zip(at_once, one_by_one, strict=True):
        assert type(batch) is type(other)
        np.testing.assert_equal(batch, other)


def test_objects_of_a_queue_that_is_full_keep_their_structure():
    queue = pipeline.FIFOQueue(10, [object], [()])
    for i in range(4):
        queue.enqueue([{"x": np.full(2, i), "y": i}])
    queue.close()
    first, second = pipeline.dataset(queue).batch(2)
    assert first["x"].tolist() == [[0, 0], [1, 1]]
    assert second["y"].tolist() == [2, 3]


def test_a_batch_waits_for_no_more_of_a_queue_than_it_needs():
    queue = pipeline.RandomShuffleQueue(100, 10, "int32", [()], seed=1)
    queue.enqueue_many(np.arange(13, dtype=np.int32))
    batches = iter(pipeline.dataset(queue).batch(3))
    assert len(next(batches)) == 3  # 10 stay, because it is open
    assert queue.size() == 10
    batch = run_in_thread(next, batches)
    wait_blocked(queue, dequeues=1)
    queue.enqueue_many(np.arange(2, dtype=np.int32))
    queue.enqueue(5)
    assert len(batch.result()) == 3
    assert queue.size() == 10
