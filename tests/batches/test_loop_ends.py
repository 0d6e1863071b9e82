"""However a program leaves a loop over batches, its threads end, it ends, and it prints nothing but errors."""

import itertools
import os
import sys
import threading

import numpy as np
import pytest
from helpers import run_in_thread, run_script, wait_until
from orchestration import fresh_collection, no_thread_left

from pipeline import FIFOQueue, batch, csv
from pipeline.errors import OutOfRangeError
from pipeline.explain.workers import WorkerGroup


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


LOOPS = {
    "generator": "batch(itertools.count(), 2, 3)",
    "shuffled": "shuffle_batch(itertools.count(), 2, 20, 10, 2)",
    "joined": "batch_join([itertools.count(), lambda: 1], 2)",
    "queue": "batch(filled(), 2, 3)",
    "kept": "batch(itertools.count(), 2, keep_input=lambda i: i % 2)",
    "buckets": "bucket_by_sequence_length(lambda n: n % 30, itertools.count(), 2, [10, 20], 2)",
}
BEFORE = """
import itertools
import pipeline
from pipeline import *

def filled():
    queue = FIFOQueue(9, "int32", [()])
    queue.enqueue_many(range(4))
    return queue

"""
LEFT = {
    "by break": "with {loop} as batches:\n    for value in batches:\n        break\n",
    "by the end of the program": "batches = {loop}\nnext(batches)\n",
    "as garbage": "next({loop})\n",
    "unused": "batches = {loop}\n",
}


@pytest.mark.parametrize("left", LEFT)
def test_a_program_ends_silently(left):
    script = BEFORE + "".join(LEFT[left].format(loop=loop) for loop in LOOPS.values())
    done = run_script(script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_error_in_the_body_is_all_that_is_printed():
    done = run_script(BEFORE + f"with {LOOPS['generator']} as batches:\n    for value in batches:\n        1 / 0\n")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback (most recent call last):")
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert done.stderr.count("Traceback") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="lists the open files of a process")
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("num_threads", [0, 2])
@pytest.mark.parametrize("fails", [False, True], ids=["left early", "failed"])
def test_a_loop_that_is_over_has_closed_its_files(fails, num_threads, deterministic, tmp_path):
    def function(row):
        if fails and row["a"] == 30 and go.wait():
            raise ValueError("row 30")
        return row

    def open_here():
        paths = (f"/proc/self/fd/{each}" for each in os.listdir("/proc/self/fd"))
        return [os.path.realpath(each) for each in paths].count(str(file))

    go = threading.Event()
    file = tmp_path / "rows.csv"
    file.write_text("a\n" + "".join(f"{i}\n" for i in range(200_000)))
    loop = batch(csv(file), 4, function=function, num_threads=num_threads, deterministic=deterministic)
    next(loop)
    assert open_here() == 1
    go.set()
    if fails:
        with pytest.raises(ValueError, match="row 30"):
            list(loop)
    else:
        loop.close()
    assert open_here() == 0


def test_each_thread_of_a_loop_in_order_ends_by_an_error_of_its_own(monkeypatch):
    """Without the interpreter's lock several threads must not raise the same one: each changes its traceback."""
    ends, note, lock, calls = [], WorkerGroup.reached_end, threading.Lock(), itertools.count()

    def reached_end(group, error):
        ends.append(error)
        note(group, error)

    def source():
        with lock:
            if (number := next(calls)) == 40:
                raise OutOfRangeError(None, None, "no more")
            return number

    monkeypatch.setattr(WorkerGroup, "reached_end", reached_end)
    with batch(source, 4, num_threads=4, deterministic=True) as batches:
        assert len(list(batches)) == 10
    assert [str(error) for error in ends] == ["no more"] * 4
    assert len({*map(id, ends)}) == 4


def test_a_generator_that_waits_is_not_asked_again_once_the_loop_is_left():
    asked, go = [], threading.Event()

    def slow():
        yield 0
        while True:
            asked.append(1)
            go.wait(30)
            yield 1

    batches = batch(slow(), 1, 4)
    next(batches)
    wait_until(lambda: asked, "a thread to wait in the generator")
    closing = run_in_thread(batches.close)
    wait_until(batches.queue.is_closed, "the queue to be closed")
    go.set()
    assert closing.result() is None
    assert len(asked) == 1


def test_loops_in_a_row_over_one_queue():
    """What a loop had taken when it was left is gone; the next loop gets the rest."""
    queue = FIFOQueue(1000, "int64", [()])
    queue.enqueue_many(np.arange(1000))
    queue.close()
    with batch(queue, 5, capacity=10) as batches:
        first = next(batches).tolist()
    with batch(queue, 5, capacity=10, allow_smaller_final_batch=True) as batches:
        rest = [value for part in batches for value in part.tolist()]
    assert first == [0, 1, 2, 3, 4]
    assert rest == list(range(rest[0], 1000))
    assert rest[0] < 100


def test_a_loop_in_a_loop():
    inner = batch(range(12), 2)
    with batch(inner, 3, enqueue_many=True) as batches:
        assert [value.tolist() for value in batches] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
    assert inner.coord.joined
