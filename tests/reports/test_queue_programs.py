"""Verdicts on programs of queues: their own threads, queue runners, batch functions and TensorFlow 1's sessions.

Functions take a permit per call, so a step without permits is at work for as long as the test likes. Private names: the
model, and the function that judges it.
"""

import contextlib
import re
import threading
from collections import deque

import numpy as np
import pytest
from helpers import run_in_thread, run_script, wait_until

import pipeline
import pipeline.compat.v1 as tf
from pipeline import QueueStats
from pipeline.reports.model import Edge, Stage, Tank
from pipeline.reports.report import Report
from pipeline.reports.verdict import judge


class Gate:
    """A function's permits. At the end of a test it is open."""

    def __init__(self):
        self._permits, self._open = threading.Semaphore(0), False

    def allow(self, number):
        self._permits.release(number)

    def open(self):
        self._open = True
        self._permits.release()

    def wait(self):
        self._permits.acquire()
        if self._open:
            self._permits.release()


@pytest.fixture
def gate():
    made = Gate()
    yield made
    made.open()


def judged(name, gate=None):
    """Return the report, and its verdict on the loop with this name, once the run is long enough for one.

    A session numbers its queues by process, so the name may lack the number before it. With a gate, calls end in the
    meantime: of a source, only those are counted.
    """
    found = []

    def look():
        if gate is not None:
            gate.allow(3)
        report = pipeline.report()
        found[:] = (
            (report, each)
            for each in report.verdicts
            if re.fullmatch(rf"(_\d+_)?{name}", report.stage(each.loop).name) and each.kind not in ("short", "start")
        )
        return found

    wait_until(look, "a verdict")
    return found[0]


def queues(*names, capacity=2):
    return [pipeline.FIFOQueue(capacity, ["int64"], [()], name=name) for name in names]


@contextlib.contextmanager
def running(*runners):
    with pipeline.Coordinator() as coord:
        for queue, ops in runners:
            pipeline.QueueRunner(queue, ops).create_threads(coord=coord, start=True)
        yield coord


def drain(queue):
    with contextlib.suppress(pipeline.OutOfRangeError):
        while True:
            queue.dequeue()


def test_a_queue_runner_that_is_always_at_work(gate):
    numbers, rows = queues("numbers", "rows")

    def load():
        number = numbers.dequeue()
        gate.wait()
        rows.enqueue(number)

    with running((numbers, [lambda: numbers.enqueue(1)]), (rows, [load] * 2)) as coord:
        gate.allow(1)
        consumer = run_in_thread(drain, rows)
        report, verdict = judged("rows")
        gate.open()
        coord.request_stop()
        consumer.result()
    assert (report.stage(verdict.stage).name, verdict.kind) == ("load", "function")
    assert verdict.cause.startswith("Bottleneck: `load` (2 threads, ")
    assert verdict.starved or verdict.advice.startswith(f"Try `[load] * {verdict.value}` in `QueueRunner`")
    assert report.stage(verdict.loop).kind == "loop"
    assert "your loop" in str(report)


def test_a_consumer_that_is_slower_than_its_queue(gate):
    (rows,) = queues("rows")

    def consume():
        while True:
            rows.dequeue()
            gate.wait()

    with running((rows, [lambda: rows.enqueue(1)])) as coord:
        consumer = run_in_thread(consume)
        _, verdict = judged("rows")
        coord.request_stop()
        gate.open()
        assert isinstance(consumer.exception(), pipeline.OutOfRangeError)
    assert verdict.kind == "consumer"
    assert verdict.advice == "Queue 'rows' keeps up; change nothing in it."


def test_threads_of_the_program_that_fill_a_queue_too_slowly():
    """An iterator that the program keeps changes nothing."""
    kept = iter(pipeline.dataset(range(100)))
    next(kept)
    (rows,) = queues("rows")
    rows.enqueue(1)
    consumer = run_in_thread(drain, rows)
    _, verdict = judged("rows")
    rows.close()
    consumer.result()
    assert verdict.kind == "queue"
    assert verdict.cause.startswith("Bottleneck: the code that fills queue 'rows': ")


def test_a_run_that_has_ended_keeps_its_report():
    """There is nothing else to report."""
    program = """
import pipeline

rows = pipeline.FIFOQueue(2, ["int64"], [()], name="rows")
number = pipeline.limit_epochs(iter(range(5)), 5)

def load():
    rows.enqueue(number())

with pipeline.Coordinator() as coord:
    pipeline.QueueRunner(rows, [load]).create_threads(coord=coord, start=True)
    for row in rows:
        pass
report = pipeline.report()
print([(stage.kind, stage.name, stage.state) for stage in report.stages])
print(report.verdict.text)
"""
    stages, text = run_script(program).stdout.splitlines()
    assert stages == "[('function', 'load', 'ended'), ('queue', 'rows', 'closed'), ('loop', 'rows', 'ended')]"
    assert text.startswith("Too short to judge (")
    assert text.endswith(" took longest. Let it run for 1 s or more.")


def test_a_run_that_has_ended_keeps_the_time_of_its_threads():
    """Otherwise a function that computed would seem to have waited."""
    program = """
import time
import pipeline

rows = pipeline.FIFOQueue(2, ["int64"], [()], name="rows")
number = pipeline.limit_epochs(iter(range(30)), 30)

def load():
    row, end = number(), time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
    rows.enqueue(row)

runner = pipeline.QueueRunner(rows, [load])
with pipeline.Coordinator() as coord:
    runner.create_threads(coord=coord, start=True)
    for row in rows:
        pass
(function,) = (stage for stage in pipeline.report().stages if stage.kind == "function")
print(function.state, function.wanted > 0.8 * function.busy)
"""
    assert run_script(program).stdout == "ended True\n"


def test_a_session_that_has_ended_keeps_its_report_with_a_reader(tmp_path):
    """The reader's file is open, but neither its queue nor its function works any more."""
    (tmp_path / "lines.txt").write_text("1\n2\n3\n")
    program = f"""
import numpy as np
import pipeline
import pipeline.compat.v1 as tf

def parse(line):
    return np.int64(line)

_, line = tf.TextLineReader().read(tf.train.string_input_producer([{str(tmp_path / "lines.txt")!r}]))
number = tf.py_func(parse, [line], tf.int64)
number.set_shape([])
batch = tf.train.batch([number], 2)
with tf.Session() as session:
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)
    session.run(batch)
    print([stage.name for stage in pipeline.report().stages])
    coord.request_stop()
    coord.join(threads)
report = pipeline.report()
print([stage.name for stage in report.stages])
print(report.verdict is not None)
"""
    running, ended, judged = run_script(program).stdout.splitlines()
    assert "'parse'" in running
    assert "TextLineReader" in running
    assert (ended, judged) == (running, "True")


def test_a_function_read_by_the_threads_of_a_batch_function(gate):
    def read():
        gate.wait()
        return np.int64(1)

    with pipeline.shuffle_batch(read, 2, 20, 4, num_threads=3) as batches:
        gate.allow(6)
        consumer = run_in_thread(deque, batches, 0)
        report, verdict = judged("shuffle_batch", gate)
        gate.open()
        batches.close()
        consumer.exception()
    assert report.stage(verdict.stage).name == "read"
    assert verdict.starved or verdict.advice.startswith(f"Try `num_threads={verdict.value}`")
    assert "shuffle(min_after_dequeue=4)" in report.details()


def test_a_python_function_in_a_session(gate):
    def load(number):
        gate.wait()
        return number

    with tf.Graph().as_default(), tf.Session() as session:
        number = tf.train.range_input_producer(10, shuffle=False).dequeue()
        loaded = tf.py_func(load, [number], tf.int32)
        loaded.set_shape([])
        batch = tf.train.batch([loaded], 2, num_threads=2, capacity=4)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        gate.allow(3)
        session.run(batch)
        taker = run_in_thread(session.run, batch)
        report, verdict = judged("batch/fifo_queue")
        gate.open()
        taker.result()
        coord.request_stop()
        coord.join(threads)
    assert report.stage(verdict.stage).name == "load"
    assert verdict.starved or verdict.advice.startswith(f"Try `num_threads={verdict.value}` in `batch`")


def test_a_thread_with_the_identifier_of_one_that_has_ended():
    """Identifiers are used again, most often at once, so the queue is not that of the ended one's dataset."""
    ended = iter(pipeline.dataset(range(3)).prefetch(1))
    assert [*ended] == [0, 1, 2]
    (rows,) = queues("rows")
    taker = run_in_thread(rows.dequeue)
    wait_until(lambda: rows.stats().waiting_dequeues, "the thread to wait")
    found = {(stage.kind, stage.name): stage.id for stage in pipeline.report().stages}
    assert ("loop", "rows") in found
    rows.enqueue(1)
    assert taker.result() == 1
    assert repr(ended).startswith("<DatasetIterator")  # it is alive until here


# Hand-made models


def function(name="load", busy=1.0, **more):
    settings = {"in_workers": True, "made_by": "pipeline.threads", "taken": busy, "more": "`num_threads={}` in `batch`"}
    given = {"threads": 2, "elements": 950, "rate": 95.0, "cpu": 0.0, "wanted": 0.0, **more}
    return Stage(1, "function", name, busy=busy, settings=settings, **given)


def verdict(filler, waits_in, empty=0.0, full=0.0, minimum=0, lock=None):
    """Return the verdict on a function, its queue, and the loop that takes from it."""
    stats = QueueStats(20, 0, False, 1000, 950, 20, 0, 0, 0.0, 0.0, empty * 10, full * 10, 10.0, 0, 0)
    tank = Tank(stats, minimum, 1.0, full, empty)
    queue = Stage(2, "queue", "rows", elements=950, rate=95.0, waits_in=waits_in, waits_out=full, tank=tank)
    given = {"busy": 1 - waits_in, "waits_in": waits_in, "age_s": 10.0, "settings": {"kind": "queue"}}
    loop = Stage(-2, "loop", "rows", elements=950, rate=95.0, **given)
    report = Report(10.0, lock is not None, (filler, queue, loop), (Edge(1, 2), Edge(2, -2)), 4, lock)
    (found,) = judge(report, "queue")
    return found


def test_one_thread_that_waits_for_io():
    got = verdict(function(threads=1, busy=0.99), waits_in=0.95)
    assert got.text.startswith(
        "Bottleneck: `load` (1 thread, 99% busy, waiting for I/O). Try `num_threads=4` in `batch`: 3 to 4 times as fast"
    )


def test_threads_whose_clocks_are_unknown():
    got = verdict(function(cpu=None, wanted=None), waits_in=0.9)
    assert got.text == (
        "Bottleneck: `load` (2 threads, 100% busy). Try `num_threads=8` in `batch`: up to 4 times as fast, if it waits "
        "for I/O."
    )


def test_threads_that_take_turns_at_the_gil():
    got = verdict(function(cpu=0.98, wanted=1.0), waits_in=0.9, lock=0.98)
    assert got.text == (
        "Bottleneck: `load` (2 threads, 100% busy, computing); its 2 threads take turns at Python's lock (GIL). Call "
        "it in processes: `pipeline.dataset(...).map(f, workers=pipeline.processes(n))`."
    )


def test_a_function_that_computes_may_hold_the_gil():
    got = verdict(function(threads=1, cpu=0.98, wanted=1.0), waits_in=0.9)
    assert got.advice == ("Try `num_threads=4` in `batch`: up to 4 times as fast, if it releases Python's lock (GIL).")


@pytest.mark.parametrize(
    ("waits_in", "cpu", "kind"), [(0.0, 0.94, "function"), (0.0, 0.5, "consumer"), (0.14, 0.5, "function")]
)
def test_a_function_that_is_always_busy_before_a_loop_that_seldom_waits(waits_in, cpu, kind):
    """The loop waits for the GIL wherever it is, so it may seem busy. It has no clock."""
    got = verdict(function(threads=1, busy=0.96, cpu=cpu, wanted=cpu), waits_in=waits_in)
    assert got.kind == kind


def test_one_thread_that_holds_the_gil_while_its_loop_seldom_waits():
    got = verdict(function(threads=1, busy=0.96, cpu=0.96, wanted=0.96), waits_in=0.02)
    assert got.text == (
        "Bottleneck: `load` (1 thread, 96% busy, computing); it holds Python's lock (GIL). Call it in processes: "
        "`pipeline.dataset(...).map(f, workers=pipeline.processes(n))`."
    )


def test_a_short_function_hands_over_many_elements():
    got = verdict(function(rate=500_000.0, cpu=1.0, wanted=1.0), waits_in=0.9)
    assert got.advice == "To go faster, hand over many elements at a time with `enqueue_many`."


def test_a_queue_that_is_empty_and_full_by_turns():
    got = verdict(function(busy=0.6), waits_in=0.4, empty=0.4, full=0.4)
    assert (got.kind, got.knob, got.value) == ("queue", "capacity", 80)
    assert got.text == (
        "Bottleneck: queue 'rows' is too small: it was empty 40% of the time, and full 40% of the time. Try "
        "`capacity=80`: up to 1.7 times as fast."
    )


def test_a_shuffle_queue_that_fills():
    got = verdict(function(busy=0.6), waits_in=0.4, empty=0.4, full=0.4, minimum=10)
    assert (got.kind, got.knob) == ("pool", "min_after_dequeue")
    assert got.advice == "A smaller `min_after_dequeue` starts sooner and shuffles less."
