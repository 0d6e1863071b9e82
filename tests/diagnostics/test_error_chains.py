"""An error's `__cause__` and `__context__` chains end, for every source and any number of raises."""

import contextlib
import itertools

import pytest
from orchestration import fresh_collection, no_thread_left

import pipeline
from pipeline import Coordinator, FIFOQueue, OutOfRangeError, QueueRunner


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


class Broken(Exception):
    """Raised by a source."""


def failing(n=3):
    yield from range(n)
    raise Broken(n)


def fails_at_three(i):
    if i == 3:
        raise Broken(i)
    return i


def batch(coord):
    return pipeline.batch(failing(), 2, coord=coord)


def shuffle_batch(coord):
    return pipeline.shuffle_batch(failing(), 2, 9, 1, seed=1, num_threads=3, coord=coord)


def batch_join(coord):
    return pipeline.batch_join([failing(), failing(2)], 2, coord=coord)


def shuffle_batch_join(coord):
    return pipeline.shuffle_batch_join([failing(), failing(2)], 2, 9, 1, seed=1, coord=coord)


def buckets(coord):
    return pipeline.bucket_by_sequence_length(lambda example: example, failing(), 1, [2], coord=coord)


def nested(coord):
    return pipeline.batch(itertools.chain.from_iterable(pipeline.batch(failing(), 2)), 2, coord=coord)


def nested_under_one_coordinator(coord):
    inner = pipeline.batch(failing(), 2, coord=coord)
    return pipeline.batch(itertools.chain.from_iterable(inner), 2, coord=coord)


def wrapped_by_the_source(coord):
    inner = pipeline.batch(failing(), 1)

    def rows():
        try:
            yield from inner
        except Broken as error:
            raise RuntimeError("wrapped") from error

    return pipeline.batch(rows(), 2, coord=coord)


def with_threads(coord):
    return pipeline.batch(pipeline.dataset(range(9)).map(fails_at_three, workers=2), 2, coord=coord)


def failed_queue(coord):
    """Return a queue whose runner failed."""
    queue = FIFOQueue(9, "int64", [()])
    rows = failing()
    QueueRunner(queue, [lambda: queue.enqueue(next(rows))]).create_threads(coord=coord, daemon=True, start=True)
    return queue


LOOPS = [batch, shuffle_batch, batch_join, shuffle_batch_join, buckets, nested]
LOOPS += [nested_under_one_coordinator, wrapped_by_the_source, with_threads]


def check_chain(error, within=()):
    """Check that no error is a cause or context of itself, by any path."""
    assert all(error is not each for each in within), [*within, error]
    for other in (error.__cause__, error.__context__):
        if other is not None:
            check_chain(other, (*within, error))


@pytest.mark.parametrize("make", LOOPS)
def test_of_loops(make):
    errors = []

    def check(call, *handling):
        """Check a call's error immediately, because raising it again may break a cycle."""
        try:
            call()
        except Exception as error:
            errors.append(error)
            check_chain(error)
            for each in handling:
                check(each)

    with contextlib.ExitStack() as stack:
        coord = Coordinator()
        batches = make(coord)
        stack.callback(coord.request_stop)
        for call in (lambda: list(batches), lambda: next(batches), batches.close, coord.join):
            # Like a program that stops everything after an error.
            check(call, batches.close, coord.raise_requested_exception)
    assert errors
    for error in errors:
        check_chain(error)


@pytest.mark.parametrize("call", ["join", "raise_requested_exception", "request_stop"])
def test_of_a_coordinator_that_is_asked_where_the_end_is_handled(call):
    coord = Coordinator()
    queue = failed_queue(coord)
    ask, args = getattr(coord, call), ()
    if call == "request_stop":
        with pytest.raises(Broken) as first:
            coord.join()
        args = (first.value,)
    coord.wait_for_stop()
    errors = []
    for _ in range(3):
        try:
            while True:
                queue.dequeue()
        except OutOfRangeError as end:
            errors.append(end)
            with pytest.raises(Broken) as caught:
                ask(*args)
            errors.append(caught.value)
    assert errors[0].__cause__ is errors[1]
    for error in errors:
        check_chain(error)


def test_a_context_of_its_own_stays():
    coord = Coordinator()
    with coord.stop_on_exception():
        try:
            raise KeyError("first")
        except KeyError:
            raise Broken("second")  # noqa: B904

    def join():
        try:
            raise OutOfRangeError(None, None, "end")
        except OutOfRangeError:
            coord.join()

    with pytest.raises(Broken) as caught:
        join()
    assert isinstance(caught.value.__context__, KeyError)
