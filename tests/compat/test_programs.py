"""The project's founding programs: after changing the import line they behave as on TensorFlow."""

import ast
import json
import pathlib
import re
import subprocess
import sys

import pytest

PROGRAMS = pathlib.Path(__file__).parent / "programs"
ROOT = pathlib.Path(__file__).parents[2]
LIMIT = 120  # Seconds; a program takes one or two.

# Runs the program, then code that inspects its variables and stores the findings in `report`.
FRAME = """
import json, os, runpy, sys, threading
sys.path.insert(0, {root!r})
state = runpy.run_path({program!r}, run_name="__main__")
report = None
{look}
sys.stdout.flush()
print("report", json.dumps(report), flush=True)
"""

THREADS = 'report = [[t.name, t.is_alive(), t.daemon] for t in state["threads"]]'


def run(program, directory, look="", end="", changes=()):
    """Run a program in a directory; return its output lines and the report. `end` is code that ends the process."""
    source = (PROGRAMS / program).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    copy = directory / program
    copy.write_text(source, encoding="utf-8")
    frame = FRAME.format(root=str(ROOT), program=str(copy), look=look) + end
    command = [sys.executable, "-c", frame]
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=LIMIT, check=False, cwd=directory
    )
    assert done.returncode == 0, done.stdout + done.stderr
    *lines, last = done.stdout.splitlines()
    assert last.startswith("report "), done.stdout
    return lines, json.loads(last.removeprefix("report "))


def close_on_stop(queue):
    return f"QueueRunnerThread-{queue}-close_on_stop"


def test_coordinator_batch(tmp_path):
    lines, threads = run("coordinator_batch.py", tmp_path, THREADS)
    assert lines[0] == "image size (5, 224, 224, 3),label size :(5,)"
    assert lines[1:8:2] == ["************"] * 4
    labels = []
    for line in lines[2:8:2]:
        shape, _, values = line.partition(") [")
        assert shape == "(3, 224, 224, 3"
        labels += [int(value) for value in values.rstrip("]").split()]
    # Two threads enqueue them, and one may be slow: an element may be late, and the others one position early.
    places = list(_places(labels))
    assert len(set(places)) == 9, labels
    assert all(place <= where + 1 for where, place in enumerate(places)), labels
    assert lines[8:] == [
        "done! now lets kill all the threads……",
        "all threads are asked to stop!",
        "all threads are stopped!",
    ]
    assert len(threads) == 5
    assert not any(alive for _, alive, _ in threads)
    assert all(daemon for _, _, daemon in threads)
    assert sorted(name for name, _, _ in threads) == sorted(
        [
            "QueueRunnerThread-input_producer/input_producer-input_producer/input_producer/input_producer_EnqueueMany",
            close_on_stop("input_producer/input_producer"),
            "QueueRunnerThread-batch/fifo_queue-batch/fifo_queue_enqueue",
            "QueueRunnerThread-batch/fifo_queue-batch/fifo_queue_enqueue",
            close_on_stop("batch/fifo_queue"),
        ]
    )


def _places(labels):
    """Yield each label's position in two epochs of 0 to 4: its first occurrence belongs to the first epoch."""
    seen = set()
    for label in labels:
        yield label + 5 * (label in seen)
        seen.add(label)


def test_coordinator_threads(tmp_path):
    lines, _ = run("coordinator_threads.py", tmp_path)
    # Threads that print at once may share a line.
    numbers = [int(number) for line in lines for number in line]
    assert set(numbers) == set(range(10))
    assert numbers.count(1) == 2
    assert all(numbers.count(number) >= 2 for number in range(10))


def test_epoch_template(tmp_path):
    look = """
report = [[[x.decode() for x in batch] for batch in state["seen"]], [t.is_alive() for t in state["threads"]]]
"""
    lines, (seen, alive) = run("epoch_template.py", tmp_path, look)
    assert lines == ["Done training -- epoch limit reached"]
    assert seen == [["a", "b"], ["c", "a"], ["b", "c"]]
    assert not any(alive)


def test_epoch_template_without_the_local_initializer(tmp_path):
    # The producer may have failed before the first look at the coordinator, so the loop does not look at it.
    changes = [(", tf.local_variables_initializer()]", "]"), ("while not coord.should_stop():", "while True:")]
    with pytest.raises(AssertionError) as caught:
        run("epoch_template.py", tmp_path, changes=changes)
    text = str(caught.value)
    assert "Done training -- epoch limit reached" in text
    last = [line for line in text.splitlines() if "FailedPreconditionError" in line][-1]
    assert re.search(r"FailedPreconditionError.*epochs", last)
    assert "coord.join(threads)" in text


def test_explicit_queue_runner(tmp_path):
    look = """
import numpy as np
data = state["data"].astype(np.float32)
report = {
    "rows": [bool(np.array_equal(row, data[i])) for i, (row, _) in enumerate(state["taken"])],
    "targets": [int(target) == state["target"][i] for i, (_, target) in enumerate(state["taken"])],
    "types": sorted({str(row.dtype) + " " + str(target.dtype) for row, target in state["taken"]}),
    "threads": [[t.name, t.is_alive()] for t in state["enqueue_threads"]],
}
report["targets"] = [bool(same) for same in report["targets"]]
"""
    _, report = run("explicit_queue_runner.py", tmp_path, look)
    assert report["rows"] == [True] * 100
    assert report["targets"] == [True] * 100
    assert report["types"] == ["float32 int32"]
    names = [name for name, _ in report["threads"]]
    assert sorted(names) == sorted(
        ["QueueRunnerThread-fifo_queue-fifo_queue_EnqueueMany"] * 4 + [close_on_stop("fifo_queue")]
    )
    assert not any(alive for _, alive in report["threads"])


def test_fifo_queue(tmp_path):
    look = """
import pipeline.compat.v1 as tf
session = tf.get_default_session()
ended = []
def third():
    try:
        ended.append(float(session.run(state["x"])))
    except tf.errors.CancelledError as error:
        ended.append(type(error).__name__)
thread = threading.Thread(target=third, daemon=True)
thread.start()
thread.join(0.3)
report = [float(state["first"]), float(state["second"]), thread.is_alive()]
session.close()
thread.join(120)
report += ended
"""
    _, report = run("fifo_queue.py", tmp_path, look)
    assert report == [1.0, 2.0, True, "CancelledError"]


def test_queue_runner_counter(tmp_path):
    look = """
sess, dequeue = state["sess"], state["q"].dequeue()
report = [[t.name, t.is_alive(), t.daemon] for t in state["threads"]], float(sess.run(state["counter"]))
assert all(repr(t).startswith("<Thread(QueueRunnerThread-fifo_queue-") for t in state["threads"])
first = sess.run(dequeue)
while sess.run(dequeue) <= first:  # the threads go on counting and storing
    pass
"""
    lines, (threads, counted) = run("queue_runner_counter.py", tmp_path, look, end="os._exit(0)")
    numbers = [float(line) for line in lines]
    assert len(numbers) == 20
    assert all(number.is_integer() and 0 <= number <= counted for number in numbers)
    assert _threads_behind(numbers) <= 2
    # The counting threads advance between two numbers: most differ, as on TensorFlow.
    assert len(set(numbers)) >= 7, numbers
    assert sorted(threads) == sorted(
        [["QueueRunnerThread-fifo_queue-AssignAdd:0", True, False]] * 2
        + [["QueueRunnerThread-fifo_queue-fifo_queue_enqueue", True, False]] * 2
    )


def _threads_behind(numbers):
    """Return the fewest threads that can have stored these numbers, if each thread's numbers never fall."""
    last = []  # per thread; a number is assigned to the thread with the nearest one below
    for number in numbers:
        fitting = [each for each in last if each <= number]
        if fitting:
            last.remove(max(fitting))
        last.append(number)
    return len(last)


@pytest.mark.parametrize(("program", "count"), [("thread_counts_plain.py", 13), ("thread_counts_coordinator.py", 26)])
def test_thread_counts(tmp_path, program, count):
    lines, _ = run(program, tmp_path)
    assert lines[0] == "data: [[0 0 0]"
    assert lines[1] == " [0 0 0]]"
    assert lines[3] == f"Counts of thread: {count + 1}"
    assert lines[4] == "starting"
    names = re.findall(r"\(QueueRunnerThread-([^,]*),", lines[2])
    queues = ["input_producer"] + [f"input_producer_{number}" for number in range(1, 13)]
    expected = [f"{queue}-{queue}/{queue}_EnqueueMany" for queue in queues]
    if count == 26:
        expected += [f"{queue}-close_on_stop" for queue in queues]
    assert sorted(names) == sorted(expected)


def test_two_csv_files(tmp_path):
    files = {"data1.csv": 4, "data2.csv": 3}
    for number, (name, rows) in enumerate(files.items(), 1):
        text = "".join(f"{number}.5,{row},{10 * number + row}\n" for row in range(rows))
        (tmp_path / name).write_text("x,y,label\n" + text)
    look = """
import pipeline.compat.v1 as tf
report = {
    "x": [[row.tolist() for row in features] for features, _ in state["taken"]],
    "labels": [int(label) for _, labels in state["taken"] for label in labels],
    "types": sorted({str((f.dtype, f.shape, l.dtype, l.shape)) for f, l in state["taken"]}),
    "alive": [t.is_alive() for t in state["threads"]],
}
with tf.Session() as sess:
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    report["keys"] = [sess.run(state["key"]).decode() for _ in range(10)]
    coord.request_stop()
    coord.join(threads)
"""
    _, report = run("two_csv_files.py", tmp_path, look)
    assert not any(report["alive"])
    assert [ast.literal_eval(re.sub(r"dtype\((.*?)\)", r"\1", kind)) for kind in report["types"]] == [
        ("float32", (3, 2), "int32", (3,))
    ]
    rows = [row for batch in report["x"] for row in batch]
    assert rows == [[label // 10 + 0.5, label % 10] for label in report["labels"]]
    first, second = [10, 11, 12, 13], [20, 21, 22]
    for start in range(0, 294, 7):
        assert report["labels"][start : start + 7] in (first + second, second + first)
    keys = {f"{name}:{line}" for name, rows in files.items() for line in range(2, 2 + rows)}
    assert set(report["keys"]) <= keys
