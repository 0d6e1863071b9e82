"""A loop that is over holds nothing once nobody has it: arrays of gigabytes must not wait for a garbage collection."""

import contextlib
import gc
import weakref

import numpy as np
import pytest
from helpers import wait_until
from orchestration import fresh_collection

import pipeline
from pipeline.errors import CancelledError, FailedPreconditionError
from pipeline.explain import live
from pipeline.producers.queue import ProducerQueue


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection():  # slices stay on the list of queue runners, and would be started by other tests
        yield


class Items:
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, number):
        return self.rows[number]


def same(row):
    return row


def shuffled(source, **options):
    return pipeline.shuffle_batch(source, 10, capacity=200, min_after_dequeue=100, seed=1, **options)


def slices(rows):
    return pipeline.slice_input_producer([rows], num_epochs=1, seed=1)


def buckets(rows, **options):
    return pipeline.bucket_by_sequence_length(len, (row[:2] for row in rows), 10, [3], **options)


LOOPS = {
    "array": lambda rows: pipeline.batch(rows, 10),
    "array, no thread": lambda rows: pipeline.batch(rows, 10, num_threads=0),
    "list": lambda rows: pipeline.batch(list(rows), 10, num_threads=0),
    "shuffled": shuffled,
    "generator": lambda rows: pipeline.batch((row for row in rows), 10),
    "callable": lambda rows: pipeline.batch(iter(rows).__next__, 10),
    "items": lambda rows: pipeline.batch(Items(rows), 10),
    "arrays": lambda rows: pipeline.batch(pipeline.arrays(rows, shuffle=True, seed=1), 10),
    "slices": lambda rows: pipeline.batch(slices(rows), 10),
    "two generators": lambda rows: pipeline.batch_join([(row for row in rows), (row for row in rows)], 10),
    "buckets": buckets,
    "function": lambda rows: pipeline.batch(rows, 10, function=same),
    "function, 2 threads": lambda rows: pipeline.batch(rows, 10, function=same, num_threads=2),
    "function, no thread": lambda rows: pipeline.batch(rows, 10, function=same, num_threads=0),
    "workers": lambda rows: pipeline.batch(rows, 10, function=same, workers=pipeline.threads(2)),
    "keep_input": lambda rows: pipeline.batch(rows, 10, keep_input=lambda _: True),
    "skip": lambda rows: pipeline.batch((row for row in rows), 10, on_error="skip"),
    "in order": lambda rows: pipeline.batch(rows, 10, deterministic=True),
    "in order, shuffled": lambda rows: shuffled(rows, deterministic=True),
    "in order, of a generator": lambda rows: shuffled((row for row in rows), deterministic=True),
    "in order, of slices": lambda rows: shuffled(slices(rows), deterministic=True),
    "in order, buckets": lambda rows: buckets(rows, deterministic=True),
    "in order, function": lambda rows: pipeline.batch(rows, 10, function=same, deterministic=True),
    "in order, of items": lambda rows: pipeline.batch(Items(rows), 10, deterministic=True),
}


def queues():
    """Those that are alive, but not those of producers: they stay on the list of queue runners."""
    return [number for number, queue in live.queues.numbered() if not isinstance(queue, ProducerQueue)]


def to_the_end(loop):
    with loop:
        assert sum(1 for _ in loop) >= 99


def left_early(loop):
    with loop:
        next(loop)


def abandoned(loop):
    next(loop)


def check_holds_nothing(make, leave):
    numbers = np.arange(4000.0)
    known, rows = weakref.ref(numbers), numbers.reshape(1000, 4)
    del numbers
    gc.collect()
    gc.disable()
    before = queues()
    try:
        leave(make(rows))
        del rows
        wait_until(lambda: known() is None, "the last thread to end, which has said so already")
        wait_until(lambda: queues() == before, "its queue to go too")
    finally:
        gc.enable()


@pytest.mark.parametrize("leave", [to_the_end, left_early, abandoned])
@pytest.mark.parametrize("kind", LOOPS)
def test_a_loop_that_is_over_holds_nothing(kind, leave):
    check_holds_nothing(LOOPS[kind], leave)


@pytest.mark.parametrize("leave", [to_the_end, left_early, abandoned])
@pytest.mark.parametrize("source", [list, Items, slices])
def test_a_loop_with_a_coordinator_of_yours_holds_nothing(source, leave):
    """It does not wait for its threads, nor for others of that Coordinator."""
    coord = pipeline.Coordinator()
    check_holds_nothing(lambda rows: shuffled(source(rows), deterministic=True, coord=coord), leave)
    coord.request_stop()
    coord.join()


def test_what_another_loop_reads_stays_its_own():
    rows = np.arange(400.0).reshape(100, 4)
    source, seen = slices(rows), []
    with pipeline.batch(source, 10, deterministic=True) as loop:
        seen.append(next(loop))
        with pipeline.batch(source, 10, deterministic=True) as other, pytest.raises(FailedPreconditionError):
            next(other)
        with pytest.raises(FailedPreconditionError):
            source.block(1)
        seen += loop
    with pytest.raises(FailedPreconditionError):
        source.block(1)
    assert sorted(np.concatenate(seen)[:, 0]) == list(rows[:, 0])


PRODUCERS = {
    "strings": lambda: pipeline.string_input_producer([f"file{i}" for i in range(30)], num_epochs=1, seed=1),
    "without an end": lambda: pipeline.string_input_producer([f"file{i}" for i in range(30)], seed=1),
    "rows": lambda: pipeline.input_producer(np.arange(30), num_epochs=1, seed=1),
    "numbers": lambda: pipeline.range_input_producer(30, num_epochs=1, seed=1),
    "slices": lambda: pipeline.slice_input_producer([np.arange(30)], num_epochs=1, seed=1).queue,
    "with a thread": lambda: pipeline.input_producer(np.arange(30), num_epochs=1, cancel_op=lambda: None),
}


@pytest.mark.parametrize("kind", PRODUCERS)
class TestProducersAreForgotten:
    """The list of queue runners does not keep a producer that nobody refers to: one for each epoch would pile up."""

    @pytest.mark.parametrize("options", [{}, {"num_threads": 0}, {"deterministic": True}], ids=str)
    @pytest.mark.parametrize("most", [1, 1000])
    def test_with_the_loop(self, kind, options, most):
        producer = PRODUCERS[kind]()
        with pipeline.batch(producer, 5, **options) as batches:
            for i, _ in enumerate(batches):
                if i == most or i == 10:
                    break
        known = weakref.ref(producer)
        del producer, batches, _
        wait_until(lambda: known() is None, "the producer to be forgotten, without a garbage collection")
        assert pipeline.start_queue_runners() == []

    def test_without_a_loop(self, kind):
        known = weakref.ref(PRODUCERS[kind]())
        gc.collect()
        assert known() is None
        assert pipeline.start_queue_runners() == []

    def test_what_somebody_refers_to_is_started(self, kind):
        producer, coord = PRODUCERS[kind](), pipeline.Coordinator()
        gc.collect()
        threads = pipeline.start_queue_runners(coord=coord)
        assert len(threads) == 2
        assert len({*producer.dequeue_many(20).tolist()}) == 20
        coord.request_stop()
        with contextlib.suppress(CancelledError):  # only that with a `cancel_op` is still open
            producer.close(cancel_pending_enqueues=True)
        coord.join(threads)
