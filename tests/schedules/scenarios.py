"""Scenarios: small programs with threads and an assertion for every order of their steps.

A scenario gets the schedule and a generator for its sizes. A leftover thread or an endless wait fails by itself, as a
deadlock.
"""

import itertools
import threading

import pytest
from schedule_parts import scheduled_queues
from stress.check import explain
from stress.queues import Subject, calls, plan
from stress.words import Call, Record

import pipeline
from pipeline.datasets import iterator
from pipeline.errors import CancelledError, DeadlineExceededError, OutOfRangeError
from pipeline.runners import coordinator, runner
from pipeline.stages import crew, prefetch
from pipeline.sync import ending, stop_flag
from pipeline.workers import pool, threads

QUICK = 0.09  # permitted virtual seconds: less than the shortest poll, which would hide a lost wake-up


class Odd(Exception):
    """Raised by functions in scenarios."""


def started(function, *args):
    """Run a function in a thread that is part of the schedule."""
    thread = threading.Thread(target=function, args=args, name=function.__name__, daemon=True)
    thread.start()
    return thread


def joined(*running):
    for each in running:
        each.join()


def taken(batches, found, stop=None):
    """Take elements until the end, or until the iterator is closed; note these, and how it ended."""
    try:
        found.extend(batches)
        found.append("end")
    except CancelledError:
        found.append("closed")
    except Odd:
        found.append("odd")


# Queues --------------------------------------------------------------------------------------------------------------


def queue_history(schedule, draw, classes=None, model=None):
    """Two to four threads call queues of all kinds: one order of the model's steps explains their results."""
    made = plan(draw.randrange(10**6))._replace(width=0)
    subject = Subject(made, scheduled_queues(schedule) if classes is None else classes)
    count = draw.randint(2, 4)
    todo = [calls(made, draw, 16 // count, count, i, [None, None, None, 0], False) for i in range(count)]
    tickets, records = itertools.count(), []

    def make(thread, call):
        began = next(tickets)
        outcome = subject.make(call)
        records.append(Record(thread, call, began, next(tickets), outcome))
        return outcome

    def caller(thread):
        for call in todo[thread]:
            make(thread, call)

    running = [started(caller, i) for i in range(count)]
    schedule.sleep(1)  # until all have ended or wait
    make(count, Call("close_now"))
    joined(*running)
    while make(count, Call("dequeue_up_to", n=3)).end == "ok":
        pass
    make(count, Call("stats"))
    problem = explain(sorted(records, key=lambda each: each.began), made.model() if model is None else model(made))
    assert problem is None, f"{made}\n{problem}"


# Iterators -----------------------------------------------------------------------------------------------------------


def prefetched(schedule, draw):
    """A prefetch returns its input, and each state leads to the next element."""
    n, ahead = draw.randrange(6), draw.randint(1, 3)
    data = pipeline.dataset(list(range(n))).prefetch(ahead)
    with iter(data) as batches:
        for i in range(n):
            assert next(batches) == i
            assert batches.delivered[0] == i + 1
            assert batches.state_dict()["state"] == i + 1
        assert next(batches, None) is None


def prefetch_closed(schedule, draw):
    """Another thread closes: the consumer gets the first elements, and then the end or an error, at once."""
    n, late = draw.randint(1, 6), draw.randrange(3)
    batches = iter(pipeline.dataset(list(range(n))).prefetch(draw.randint(1, 2)))
    found = []

    def close():
        for _ in range(late):
            schedule.point()
        batches.close()

    running = started(taken, batches, found), started(close)
    joined(*running)
    assert found[:-1] == list(range(len(found) - 1))
    assert found[-1] in ("end", "closed")
    assert found[-1] == "closed" or len(found) == n + 1 or batches.delivered[0] == len(found) - 1


def slow_prefetch_closed(schedule, draw):
    """A close wakes the thread waiting for slow input at once."""
    slow, times = draw.randrange(2), {}

    def source():
        for i in range(2):
            if i == slow:
                schedule.sleep(5)
            yield i

    batches = iter(pipeline.dataset(source).prefetch(1))
    found = []

    def consuming():
        taken(batches, found)
        times["ended"] = schedule.now

    def closing():
        schedule.sleep(1.03)  # between two polls of the waiting thread
        times["closed"] = schedule.now
        batches.close()

    joined(started(consuming), started(closing))
    assert found == [*range(slow), "closed"]
    assert times["ended"] - times["closed"] < 0.05


def prefetch_fails(schedule, draw):
    """The input's error follows the elements before it, and then the end."""
    n = draw.randrange(5)

    def source():
        yield from range(n)
        raise Odd

    with iter(pipeline.dataset(source).prefetch(draw.randint(1, 3))) as batches:
        found = []
        taken(batches, found)
        assert found == [*range(n), "odd"]
        assert next(batches, None) is None


def prefetch_times_out(schedule, draw):
    """A timeout loses nothing."""
    n, slow = draw.randint(1, 4), draw.randrange(4)

    def source():
        for i in range(n):
            if i == slow:
                schedule.sleep(5)
            yield i

    with iter(pipeline.dataset(source).prefetch(draw.randint(1, 2))) as batches:
        found, late = [], 0
        while len(found) < n:
            try:
                found.append(batches.next(timeout=0.5))
            except DeadlineExceededError:
                late += 1
        assert found == list(range(n))
        assert (late > 0) == (slow < n)


def shared_iterator(schedule, draw):
    """Threads with a common iterator: each element goes to exactly one."""
    n = draw.randint(1, 7)
    data = pipeline.dataset(list(range(n)))
    batches = iter(data.prefetch(2) if draw.random() < 0.5 else data)
    found = [[], []]
    joined(*(started(taken, batches, each) for each in found))
    assert sorted(each for part in found for each in part if each != "end") == list(range(n))
    assert all(part[:-1] == sorted(part[:-1]) and part[-1] == "end" for part in found)


def workers(schedule, draw):
    """Threads compute in order, even after failures; with on_error='skip' the rest is complete."""
    n, bad = draw.randint(1, 8), draw.randrange(10)
    skips = draw.random() < 0.5

    def function(number):
        schedule.point()
        if number == bad:
            raise Odd
        return number * 10

    data = pipeline.dataset(list(range(n))).map(function, workers=2, on_error="skip" if skips else "raise")
    found = []
    with iter(data.prefetch(1) if draw.random() < 0.3 else data) as batches:
        taken(batches, found)
        assert batches.num_errors == (skips and bad < n)
    good = [i * 10 for i in range(n) if i != bad]
    assert found == ([*good, "end"] if skips or bad >= n else [*(i * 10 for i in range(bad)), "odd"])


def unordered_workers(schedule, draw):
    """Each unordered result arrives once."""
    n = draw.randint(1, 8)

    def function(number):
        schedule.point()
        return number

    with iter(pipeline.dataset(list(range(n))).map(function, workers=2, ordered=False)) as batches:
        assert sorted(batches) == list(range(n))


def workers_closed(schedule, draw):
    """Another thread closes an iterator with workers: all threads end."""
    n = draw.randint(1, 6)

    def function(number):
        schedule.point()
        return number

    batches = iter(pipeline.dataset(list(range(n))).map(function, workers=2))
    found = []
    joined(started(taken, batches, found), started(batches.close))
    assert found[:-1] == list(range(len(found) - 1))
    assert found[-1] in ("end", "closed")


def executor(schedule, draw):
    """Every future in an executor ends, with its result or cancelled, and so do its threads."""
    n, cancels = draw.randint(1, 5), draw.random() < 0.3
    made = pipeline.threads(2)
    futures = []

    def submitting(first):
        for i in range(first, first + n):
            try:
                futures.append((i, made.submit(lambda number: number + 1, i)))
            except RuntimeError:
                return
            if draw.random() < 0.2:
                made.rest()

    running = started(submitting, 0), started(submitting, 100)
    if draw.random() < 0.3:
        made.shutdown(wait=False, cancel_futures=cancels)
    joined(*running)
    for i, future in futures:
        if future.cancelled():
            assert cancels
        else:
            assert future.result() == i + 1
    made.shutdown()
    assert len(made.numbers()) == 0


def bounded_executor(schedule, draw):
    """At most as many threads run as there are workers."""
    count, running, most = draw.choice([1, 2]), [], []
    made = pipeline.threads(count)

    def function():
        running.append(1)
        most.append(len(running))
        schedule.point()
        running.pop()

    def submitting():
        for each in [made.submit(function) for _ in range(2)]:
            each.result()

    joined(*(started(submitting) for _ in range(3)))
    made.shutdown()
    assert max(most) <= count
    assert len(most) == 6


# Flags, coordinators and runners -------------------------------------------------------------------------------------


def flag(schedule, draw):
    """Setting a flag wakes every waiting thread."""
    made, found = stop_flag.StopFlag(), []

    def waiting():
        found.append(made.wait())

    running = [started(waiting) for _ in range(draw.randint(1, 3))]
    made.set()
    joined(*running)
    assert found == [True] * len(running)
    assert made.wait(0)


def coordinator_stops(schedule, draw):
    """`join` raises the first reported error, and all threads end."""
    coord, reported = pipeline.Coordinator(), []

    def failing(number):
        if draw.random() < 0.5:
            coord.wait_for_stop(0.001)
        with coord.stop_on_exception():
            raise Odd(number)

    def waiting():
        assert coord.wait_for_stop()
        reported.append(coord.stopped.error)

    threads_of = [started(failing, i) for i in range(2)] + [started(waiting)]
    for each in threads_of:
        coord.register_thread(each)
    with pytest.raises(Odd) as raised:
        coord.join()
    assert coord.stopped.error is raised.value
    assert reported == [raised.value]


def coordinator_closes(schedule, draw):
    """A queue in `close_on_stop` is closed, whether the stop comes before, after or meanwhile."""
    coord = pipeline.Coordinator()
    queue = scheduled_queues(schedule)["FIFOQueue"](2, "int64", [()])
    found = []

    def consuming():
        try:
            while True:
                found.append(int(queue.dequeue()))
        except OutOfRangeError:
            found.append("end")

    def tying():
        coord.close_on_stop(queue)

    running = started(consuming), started(tying), started(coord.request_stop)
    joined(*running)
    assert found == ["end"]


def queue_runner(schedule, draw):
    """Threads fill a queue until their inputs end; the last one closes it, and no element is lost or doubled."""
    n, count = draw.randrange(4), draw.randint(1, 3)
    queue = scheduled_queues(schedule)["FIFOQueue"](draw.randint(1, 2), "int64", [()])
    inputs = [iter(range(100 * i, 100 * i + n)) for i in range(count)]

    def enqueue(numbers):
        number = next(numbers, None)
        if number is None:
            raise OutOfRangeError(None, None, "the input has ended")
        queue.enqueue(number)

    made = pipeline.QueueRunner(queue, [lambda each=each: enqueue(each) for each in inputs])
    coord = pipeline.Coordinator() if draw.random() < 0.5 else None
    running = made.create_threads(coord=coord, start=True)
    found = []
    try:
        while True:
            found.append(int(queue.dequeue()))
    except OutOfRangeError:
        pass
    if coord is not None:
        coord.request_stop()
        coord.join()
    joined(*running)
    assert sorted(found) == [100 * i + k for i in range(count) for k in range(n)]


def queue_runner_fails(schedule, draw):
    """A thread fails: the queue is closed, the others stop, and `join` raises the error."""
    coord = pipeline.Coordinator()
    queue = scheduled_queues(schedule)["FIFOQueue"](1, "int64", [()])
    at = draw.randrange(4)
    numbers = itertools.count()

    def enqueue():
        number = next(numbers)
        if number == at:
            raise Odd
        queue.enqueue(number)

    pipeline.QueueRunner(queue, [enqueue, enqueue]).create_threads(coord=coord, start=True)
    found = []
    try:
        while True:
            found.append(int(queue.dequeue()))
    except OutOfRangeError:
        pass
    assert len(set(found)) == len(found)
    with pytest.raises(Odd):
        coord.join()


FILES = tuple(
    each.__file__ for each in (stop_flag, ending, pool, threads, prefetch, crew, iterator, coordinator, runner)
)
# By name: the scenario, its permitted virtual seconds, and the files whose lines may switch threads.
ALL = {
    each.__name__: each
    for each in (
        queue_history,
        prefetched,
        prefetch_closed,
        slow_prefetch_closed,
        prefetch_fails,
        prefetch_times_out,
        shared_iterator,
        workers,
        unordered_workers,
        workers_closed,
        executor,
        bounded_executor,
        flag,
        coordinator_stops,
        coordinator_closes,
        queue_runner,
        queue_runner_fails,
    )
}
SLOW = {"prefetch_times_out", "queue_history", "slow_prefetch_closed"}  # time passes in them


def quick(name):
    """Return a scenario's permitted virtual seconds; None permits any number."""
    return None if name in SLOW else QUICK
