"""Traces of every kind of pipeline: waits, batches and running threads. `traces.sound` checks all promises."""

import pathlib
import sys
import threading

import numpy as np
import pytest
from helpers import LIMIT, run_in_thread, wait_until
from traces import load, names, sound, spans, traced, waits

import pipeline
import pipeline.compat.v1 as tf
from pipeline.errors import DeadlineExceededError
from pipeline.reports import activities
from pipeline.reports import spans as noted

sampled = pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="stacks are not sampled here")


def rows(count=600):
    """Numbers, each in a row."""

    def numbers():
        for i in range(count):
            yield np.full(4, i)

    return numbers


def firsts(loop):
    """Return the numbers in each batch from a loop over `rows`."""
    with loop as taken:
        return [batch[:, 0].tolist() for batch in taken]


def agree(events, queue, stats):
    """Check that a trace's waits match the queue's statistics."""
    for side, seconds in (("enqueue", stats.enqueue_wait_s), ("dequeue", stats.dequeue_wait_s)):
        found = waits(events, queue, side)
        assert sum(each["args"]["waited_us"] for each in found) == pytest.approx(seconds * 1e6, abs=1e-3 * len(found))
        assert all(each["dur"] >= each["args"]["waited_us"] for each in found)


def test_waits_of_a_prefetch_are_exact(tmp_path):
    """Its thread waits for room while the loop takes nothing, and the loop for elements while its function waits."""
    gate = threading.Event()

    def held(number):
        assert number < 6 or gate.wait(LIMIT)
        return number

    def body():
        with iter(pipeline.dataset(range(8)).map(held).prefetch(2)) as numbers:
            ahead = numbers.report().stages[2].id
            found = [next(numbers)]
            wait_until(lambda: numbers.report().stage(ahead).tank.stats.waiting_enqueues, "the thread to wait for room")
            found += [next(numbers) for _ in range(5)]
            with pytest.raises(DeadlineExceededError):
                numbers.next(timeout=0.001)
            gate.set()
            return [*found, *numbers]

    events, found = traced(tmp_path / "t.json", body)
    assert found == list(range(8))
    assert waits(events, "range/prefetch", "enqueue")
    assert waits(events, "range/prefetch", "dequeue")
    assert "elements in 'range/prefetch'" in {each["name"] for each in events if each["ph"] == "C"}


def test_the_consumer_has_spans_for_next_and_for_the_time_between(tmp_path):
    def body():
        with pipeline.batch(rows(), 100, name="numbers") as loop:
            next(loop)
            (ahead,) = [stage.id for stage in loop.report().stages if stage.tank]
            wait_until(lambda: loop.report().stage(ahead).tank.stats.waiting_enqueues, "the thread to wait for room")
            return [*loop]  # the thread has waited, so that it has a track

    events, _ = traced(tmp_path / "t.json", body)
    (main,) = {each["tid"] for each in spans(events, "next")}
    assert names(events)[main] == threading.current_thread().name
    tracks = {name.removesuffix(": samples") for name in names(events).values()}
    assert tracks == {names(events)[main], "numbers/prefetch"}  # not the thread that waits for a stop
    assert len(spans(events, "next")) == 7  # the last one finds the end
    between = [each["name"] for each in spans(events, "consumer")]
    assert between == ["between batches of 'numbers'"] * 6


@sampled
def test_what_a_thread_does_between_exact_spans_is_sampled(tmp_path):
    done, seen = threading.Event(), threading.Event()

    def busy():
        """Runs until it was seen."""
        while not seen.is_set():
            sum(range(1000))
        if done.is_set():
            raise pipeline.errors.OutOfRangeError(None, None, "the end")
        return 1

    loop = pipeline.batch(busy, 1, name="numbers")
    with loop:
        seen.set()
        next(loop)
        seen.clear()
        call = run_in_thread(lambda: [*loop])
        with pipeline.trace(tmp_path / "t.json", interval=0.001) as trace:
            wait_until(lambda: trace._tracer.samples > 5, "samples")  # until its end a trace does not show them
        done.set()
        seen.set()
        call.result()
    events = sound(load(tmp_path / "t.json")["traceEvents"])
    found = [each for each in spans(events, "function") if each["name"].endswith("busy")]
    assert found
    assert all(each["args"]["sampled"] and __file__ in each["args"]["place"] for each in found)


def test_queue_runners_of_your_own(tmp_path):
    def body():
        queue = pipeline.FIFOQueue(4, "int64", shapes=[()], name="mine")
        coord = pipeline.Coordinator()
        runner = pipeline.QueueRunner(queue, [lambda: queue.enqueue(7)] * 2)
        threads = runner.create_threads(coord=coord, start=True)
        for _ in range(50):
            queue.dequeue_many(10)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=LIMIT)
        return queue.stats()

    events, stats = traced(tmp_path / "t.json", body)
    assert waits(events, "mine", "enqueue")
    assert waits(events, "mine", "dequeue")
    agree(events, "mine", stats)


def test_the_drop_in(tmp_path):
    """A session's queue runners, and a dequeue by `Session.run`."""

    def body():
        with tf.Graph().as_default(), tf.Session() as sess:
            numbers = tf.train.range_input_producer(300, shuffle=False, num_epochs=1)
            taken = tf.train.batch([numbers.dequeue()], 10, name="graph_batch")
            sess.run(tf.local_variables_initializer())
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(sess, coord)
            found = [number for _ in range(30) for number in sess.run(taken)]
            coord.request_stop()
            coord.join(threads, stop_grace_period_secs=LIMIT)
            return found

    events, found = traced(tmp_path / "t.json", body)
    assert found == list(range(300))
    queues = {each["args"]["queue"] for each in spans(events, "wait")}
    assert any("input_producer" in name for name in queues) or any("graph_batch" in name for name in queues)
    assert any("graph_batch" in each["name"] for each in events if each["ph"] == "C")


def test_readers(tmp_path):
    """The queue of names has its level."""
    (tmp_path / "lines.txt").write_text("".join(f"{i}\n" for i in range(200_000)))
    reader = pipeline.TextLineReader(name="lines")

    def body():
        files = pipeline.string_input_producer([str(tmp_path / "lines.txt")], num_epochs=1, name="files")
        loop = pipeline.batch(lambda: np.array(reader.read_up_to(files, 20_000).values), 5000, enqueue_many=True)
        with loop as taken:
            return sum(1 for _ in taken)

    events, count = traced(tmp_path / "t.json", body)
    assert count == 40
    assert "elements in 'files'" in {each["name"] for each in events if each["ph"] == "C"}


def test_nothing_is_noted_while_nobody_traces(tmp_path):
    traced(tmp_path / "t.json", lambda: firsts(pipeline.batch(rows(), 30, capacity=32)))
    noted.events.clear()
    firsts(pipeline.batch(rows(), 30, capacity=32))
    assert not noted.on
    assert not noted.events


def test_parts_that_a_trace_names_exist():
    """The private tables have all of them."""
    package = pathlib.Path(pipeline.__file__).parent
    assert [part for part in activities._PARTS if not (package / part).exists()] == []
    assert pathlib.Path(activities._NEXT).exists()
