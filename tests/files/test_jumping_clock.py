"""The system clock jumps by a day: nothing ends early, hangs, lasts a negative time or believes old files."""

import contextlib
import io
import json
import logging
import os
import threading
import time
import traceback
from pathlib import Path

import failing_disk
import numpy as np
import pytest
from failing_disk import moved_clock
from helpers import wait_until

import pipeline
from pipeline.command.cli import main

DAY = 86_400.0
SOON = 0.05  # seconds of a timeout that ends
LATE = 3600.0  # seconds of a timeout that must not end

# The clock's jump when a case begins, and at each reading from then on.
JUMPS = {
    "forward": (DAY, 0.0),
    "back": (-DAY, 0.0),
    "forward at each reading": (0.0, DAY),
    "back at each reading": (0.0, -DAY),
}


def ends_in_time(call, error):
    """A call with the timeout SOON ends by an error, and not before."""
    began = time.monotonic()
    with pytest.raises(error):
        call()
    assert time.monotonic() - began > SOON / 2  # the queues' clock has ticks of some milliseconds


def strange(value, place=""):
    """Return the negative figures in a report, and times as long as the jump, each with its place."""
    if isinstance(value, float):
        most = DAY / 2 if place.endswith(("seconds", "_s")) else float("inf")
        return [] if 0 <= value < most else [f"{place} is {value}"]
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    return [each for key, part in parts for each in strange(part, f"{place}/{key}")]


# Cases: each is called before the jump, and yields; the rest of it comes afterwards ---------------------------------


def queue_that_is_empty(folder):
    queue = pipeline.FIFOQueue(1, ["int32"])
    yield
    ends_in_time(lambda: queue.dequeue(timeout=SOON), pipeline.DeadlineExceededError)
    assert not strange(queue.stats()._asdict()), queue.stats()


def queue_that_is_full(folder):
    queue = pipeline.FIFOQueue(1, ["int32"])
    queue.enqueue(1)
    yield
    ends_in_time(lambda: queue.enqueue(2, timeout=SOON), pipeline.DeadlineExceededError)
    assert not strange(queue.stats()._asdict()), queue.stats()


def element_within_the_timeout(folder):
    queue, found = pipeline.FIFOQueue(1, ["int32"]), []
    thread = threading.Thread(target=lambda: found.append(int(queue.dequeue(timeout=LATE))))
    thread.start()
    wait_until(lambda: queue.stats().waiting_dequeues == 1, "a waiting call")
    yield
    assert queue.stats().waiting_dequeues == 1
    queue.enqueue(7)
    thread.join()
    assert found == [7]


def join_with_a_thread_that_stays(folder):
    coord, release = pipeline.Coordinator(), threading.Event()
    thread = threading.Thread(target=release.wait, daemon=True)
    thread.start()
    coord.request_stop()
    yield
    ends_in_time(lambda: coord.join([thread], stop_grace_period_secs=SOON), RuntimeError)
    release.set()


def join_with_a_thread_that_ends(folder):
    coord = pipeline.Coordinator()
    thread = threading.Thread(target=coord.wait_for_stop, args=(LATE,))
    thread.start()
    yield
    coord.request_stop()
    coord.join([thread], stop_grace_period_secs=LATE)


def wait_for_stop(folder):
    coord = pipeline.Coordinator()
    yield
    began = time.monotonic()
    assert not coord.wait_for_stop(SOON)
    assert time.monotonic() - began > SOON / 2


def looper(folder):
    coord, calls = pipeline.Coordinator(), []

    def call():
        calls.append(1)
        if len(calls) == 3:
            coord.request_stop()

    yield
    coord.join([pipeline.types.LooperThread.loop(coord, 0.001, call)])
    assert len(calls) == 3


def monitor(folder):
    with pipeline.monitor(show=False, interval=0.001) as watched:
        seen = []
        watched.listeners.append(seen.append)
        data = pipeline.dataset(range(400)).map(str).shuffle(10, seed=1).batch(10).prefetch(2)
        with iter(data) as batches:
            next(batches)
            yield
            wanted = len(seen) + 3
            wait_until(lambda: len(seen) >= wanted, "three looks")
            assert len(list(batches)) == 39
            report = watched.report()
    found = strange([each.to_dict() for each in (*seen, report)])
    assert not found, found[:4]


def trace(folder):
    with pipeline.trace(folder / "a.json", interval=0.001):
        with iter(pipeline.dataset(range(40)).map(str).batch(10).prefetch(2)) as batches:
            next(batches)
            yield
            assert len(list(batches)) == 3
    events = json.loads((folder / "a.json").read_text())["traceEvents"]
    times = [event[key] for event in events for key in ("ts", "dur") if key in event]
    assert times
    assert 0 <= min(times) <= max(times) < DAY * 1e6 / 2


def feed(folder):
    (folder / "a.txt").write_text("one\ntwo\n" * 500)
    yield
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["feed", str(folder / "a.txt"), "--format", "lines", "--json"]) == 0
    report = json.loads(out.getvalue())
    assert report["examples"] == 1000
    assert 0 <= report["first_batch_s"] <= report["seconds"] < DAY / 2


def cache(folder):
    def read(**options):
        return list(pipeline.text(folder / "a.txt").map(str.upper).cache(folder / "cache", **options))

    (folder / "a.txt").write_text("a\nb\nc\n")
    assert read() == ["A", "B", "C"]
    yield
    assert read(verify=True) == ["A", "B", "C"]
    (folder / "a.txt").write_text("x\ny\nz\n")
    with pytest.raises(pipeline.StateMismatchError, match=r"a\.txt' of pipeline\.text\(\.\.\.\) has changed"):
        read()
    assert read(rebuild=True) == ["X", "Y", "Z"]


def index(folder):
    def data():
        return list(pipeline.text(folder / "a.txt", index=True, index_folder=folder / "index"))

    (folder / "a.txt").write_text("a\nbb\nc\n")
    assert data() == ["a", "bb", "c"]
    yield
    assert data() == ["a", "bb", "c"]
    (folder / "a.txt").write_text("aa\nb\nc\n")  # of the same size
    assert data() == ["aa", "b", "c"]
    os.utime(folder / "a.txt", (time.time(), time.time()))
    assert data() == ["aa", "b", "c"]


def state(folder):
    data = pipeline.dataset(np.arange(40)).shuffle(10, seed=1).batch(10)
    with iter(data) as batches:
        first = next(batches).tolist()
        pipeline.save_state(folder / "state", batches.state_dict())
        rest = [batch.tolist() for batch in batches]
    yield
    with iter(data) as batches:
        batches.load_state_dict(pipeline.load_state(folder / "state"))
        assert [batch.tolist() for batch in batches] == rest
    assert first not in rest


def curves(folder):
    """Two writers of one second and one folder have two files, wherever the clock is."""
    import pipeline.compat.v1 as tf

    def write(step):
        with tf.summary.FileWriter(str(folder / "logs")) as writer:
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="x", simple_value=1.0)]), step)

    write(1)
    yield
    write(2)
    files = (folder / "logs").glob("events*")
    steps = sorted(event.step for path in files for event in tf.train.summary_iterator(str(path)) if event.step)
    assert steps == [1, 2]


CASES = {
    case.__name__: case
    for case in (
        queue_that_is_empty,
        queue_that_is_full,
        element_within_the_timeout,
        join_with_a_thread_that_stays,
        join_with_a_thread_that_ends,
        wait_for_stop,
        looper,
        monitor,
        trace,
        feed,
        cache,
        index,
        state,
        curves,
    )
}


def try_clock(name, root):
    """Call a case with each jump; return the faults found."""
    logging.disable()
    problems = []
    for jump, (by, each) in JUMPS.items():
        folder = Path(root, jump)
        folder.mkdir()
        try:
            with contextlib.ExitStack() as stack:
                stack.callback(moved_clock, 0)
                steps = CASES[name](folder)
                next(steps)
                before = time.time()
                moved_clock(by, each)
                assert abs(time.time() - before) > DAY / 2, "the clock does not move"
                for _ in steps:
                    pass
        except Exception as error:
            line = traceback.extract_tb(error.__traceback__)[-1].line
            problems.append(f"{jump}: {type(error).__name__}: {error!s:.400} ({line})")
    return problems


@pytest.mark.parametrize("name", CASES)
def test_a_clock_that_jumps(name, tmp_path):
    assert failing_disk.run("test_jumping_clock", "try_clock", name, str(tmp_path)) == []
