"""The titles in docs/errors.md are real messages: each is raised here, and so is each "second line"."""

import gzip
import logging
import os
import re
import signal
import threading

import numpy as np
import pytest
from helpers import start_blocked, wait_blocked, wait_until
from orchestration import fresh_collection, no_thread_left
from page_programs import ROOT

import pipeline
import pipeline.compat.v1 as tf
from pipeline._queue import CALLS  # the core passes these call numbers to its hooks
from pipeline.queues.waits import CHECK_INTERVAL

TEXT = (ROOT / "docs" / "errors.md").read_text()
TITLES = re.findall(r"^### `(.*)`$", TEXT, re.MULTILINE)
# TensorFlow only, as the page explains: closed sessions, a C++ warning, and eager execution.
TENSORFLOWS = {
    "Dequeue operation was cancelled",
    "Skipping cancelled enqueue attempt with queue not closed",
    "Input pipelines based on Queues are not supported when eager execution is enabled",
}


@pytest.fixture(autouse=True)
def _fresh(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with fresh_collection(), no_thread_left():
        yield


def pattern(shown):
    """Return the pattern for a text on the page: numbers and quoted names are examples, "..." matches anything."""
    parts = re.split(r"('[^' ]*')|(\d[\d,]*)|(\.\.\.)|(\[[\d,]+\])", shown)
    named, number, gap, shape = parts[1::5], parts[2::5], parts[3::5], parts[4::5]
    text = re.escape(parts[0])
    for each in zip(named, number, gap, shape, parts[5::5], strict=True):
        text += r"'[^']*'" if each[0] else r"[\d,]+" if each[1] else ".*" if each[2] else r"\[[\d,]*\]"
        text += re.escape(each[4])
    return re.compile(text)


def closed_with(*rows):
    queue = pipeline.FIFOQueue(10, "int64", [()], name="q")
    for row in rows:
        queue.enqueue(row)
    queue.close()
    return queue


def insufficient():
    closed_with(1).dequeue_many(32)


def closed():
    closed_with().enqueue(1)


def already_closed():
    closed_with().close()


def enqueue_cancelled():
    queue = pipeline.FIFOQueue(1, "int64", [()])
    queue.enqueue(1)
    call = start_blocked(queue, "enqueue", 2)
    queue.close(cancel_pending_enqueues=True)
    call.result()


def never_started():
    pipeline.string_input_producer(["a.csv"]).dequeue()


def timed_out():
    pipeline.FIFOQueue(1, "int64", [()]).dequeue(timeout=0.01)


def still_running():
    queue, coord = pipeline.FIFOQueue(1, "int64", [()], name="files"), pipeline.Coordinator()
    thread = threading.Thread(target=queue.dequeue, daemon=True)
    thread.start()
    wait_blocked(queue, dequeues=1)
    try:
        coord.request_stop()
        coord.join([thread], stop_grace_period_secs=0.01)
    finally:
        queue.enqueue(1)
        thread.join(60)


def rows_differ():
    list(pipeline.dataset([{"ids": np.zeros(3)}, {"ids": np.zeros(4)}]).batch(2))


def unknown_shapes():
    queue = pipeline.FIFOQueue(3, "float32")
    queue.enqueue(np.zeros(3))
    queue.dequeue_many(1)


def shape_mismatch():
    pipeline.FIFOQueue(3, ["int64", "int64"], [(), (3, 3)]).enqueue((1, np.zeros((3, 4), np.int64)))


def unknown_rank():
    with tf.Graph().as_default():
        tf.train.batch([tf.placeholder("float32")], 2)


def undefined_shapes():
    pipeline.FIFOQueue(3, "float32", [(None, 3)])


def no_names():
    pipeline.string_input_producer([])


def fields():
    pipeline.decode_csv([b"1,2,3,4"], [[0]] * 5)


def record(data, end=None, flipped=False):
    from pipeline.files.crc32c import crc_function
    from pipeline.files.tfrecord import framed

    whole = framed(data, crc_function())
    with open("a.tfrecord", "wb") as file:
        file.write(whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:] if flipped else whole[:end])
    list(pipeline.tfrecord("a.tfrecord"))


def corrupted():
    pytest.importorskip("google_crc32c")
    record(b"some data", flipped=True)


def truncated():
    pytest.importorskip("google_crc32c")
    record(b"x" * 100, end=60)


def damaged():
    data = gzip.compress(b"1\n" * 1000)
    with open("a.txt.gz", "wb") as file:
        file.write(data[:-8] + b"\0" * 8)  # another checksum
    list(pipeline.text("a.txt.gz"))


def too_long():
    with open("a.csv", "w") as file:
        file.write("1\n2\n" + "x" * 100)
    names = pipeline.FIFOQueue(1, "string", [()])
    names.enqueue("a.csv")
    pipeline.TextLineReader(max_record_bytes=50).read_up_to(names, 3)


def not_sent():
    lock = threading.Lock()
    pipeline.dataset([1]).map(lambda number: (lock, number)[1], workers=pipeline.processes(1))


def die(_):
    os.kill(os.getpid(), signal.SIGKILL)


def killed():
    with pipeline.processes(1) as workers:
        list(pipeline.dataset([1]).map(die, workers=workers))


def mismatch():
    state = iter(pipeline.dataset(range(100)).batch(100)).state_dict()
    iter(pipeline.dataset(range(100)).batch(50)).load_state_dict(state)


def not_rewound():
    iter(pipeline.dataset(iter(range(3)))).state_dict()


def uninitialized():
    with tf.Graph().as_default(), tf.Session() as session:
        names = tf.train.string_input_producer(["a.csv"], num_epochs=1)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        coord.join(threads)
        session.run(names.dequeue())


RAISED = {
    "FIFOQueue 'q' is closed and has insufficient elements": insufficient,
    "FIFOQueue 'q' is closed.": closed,
    "Queue 'q' is already closed.": already_closed,
    "Enqueue operation was cancelled": enqueue_cancelled,
    "Timed out waiting for notification": timed_out,
    "Coordinator stopped with threads still running": still_running,
    "component 'ids' has shape [3] in one example and [4] in another": rows_differ,
    "FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified shapes.": unknown_shapes,
    "Shape mismatch in tuple component 1. Expected [3,3], got [3,4]": shape_mismatch,
    "Cannot infer Tensor's rank": unknown_rank,
    "All shapes must be fully defined": undefined_shapes,
    "string_input_producer requires a non-null input tensor": no_names,
    "Expect 5 fields but have 4 in record 0": fields,
    "corrupted record at 12": corrupted,
    "is damaged: it cannot be decompressed beyond byte 523,264": damaged,
    "truncated record at 1024": truncated,
    "line 3 of a.csv has more than the limit of 1,073,741,824 bytes": too_long,
    "cannot be sent to other processes": not_sent,
    "a worker process was killed by SIGKILL": killed,
    "batch: batch_size was 100 when the state was saved and is 50 now": mismatch,
    "range_iterator is an iterator": not_rewound,
    "Attempting to use uninitialized value": uninitialized,
}


def test_each_title_is_raised_or_of_tensorflow():
    assert set(TITLES) == RAISED.keys() | TENSORFLOWS


@pytest.mark.parametrize("title", RAISED)
def test_a_title(title):
    with pytest.raises(Exception, match=pattern(title)) as caught:
        RAISED[title]()
    section = TEXT.partition(f"### `{title}`\n")[2].partition("\n### ")[0]
    kinds = {each.__name__ for each in type(caught.value).__mro__}
    assert kinds & set(re.findall(r"`(\w+Error)`", section)), f"{type(caught.value)} is not in: {section}"


# The hanging program --------------------------------------------------------------------------------------------------


def shown(heading):
    """Return the first text block below a heading."""
    return re.search(r"```(?:text)?\n(.*?)```", TEXT.partition(heading)[2], re.DOTALL)[1]


def test_runners_that_were_never_started():
    with pytest.raises(pipeline.errors.FailedPreconditionError) as caught:
        never_started()
    lines = shown("### The program hangs").replace("train.py", "...").splitlines()
    assert all(pattern(line).search(str(caught.value)) for line in lines)


def test_a_pool_that_fills(caplog):
    """`_about_to_wait` and `_still_waiting` are called like the core calls them, so that nothing waits."""
    queue = pipeline.RandomShuffleQueue(20_000, 10_000, "int64", (), name="examples")
    caplog.set_level(logging.INFO, "pipeline")
    queue._about_to_wait(CALLS["dequeue_many"])
    queue.enqueue_many([range(3120)])
    queue._still_waiting(CALLS["dequeue_many"], CHECK_INTERVAL)
    told = shown("### The program seems to hang").strip().replace("(312/s, about 22 s left)", "...")
    assert pattern(told).search(caplog.messages[0])


def test_what_threads_are_doing():
    with pytest.raises(RuntimeError) as caught:
        still_running()
    blocked = shown("### `Coordinator stopped").splitlines()[1]
    assert pattern(blocked).search(str(caught.value))


# The second line with the reason why a queue is closed ----------------------------------------------------------------


def run_out(*ops, coord=None, queue):
    threads = pipeline.QueueRunner(queue, list(ops)).create_threads(coord=coord, start=True)
    for thread in threads:
        thread.join(60)


def ended(count):
    lock, rows = threading.Lock(), iter(range(count))
    queue = pipeline.FIFOQueue(2000, "int64", [()])

    def enqueue():
        with lock:
            row = next(rows, None)
            if row is None:
                raise pipeline.errors.OutOfRangeError(None, None, "")
            queue.enqueue(row)

    run_out(*[enqueue] * 4, queue=queue)
    return queue


def used_up():
    rows = pipeline.range_input_producer(1000, num_epochs=1)
    queue = pipeline.FIFOQueue(2000, "int64", [()])
    with pipeline.Coordinator() as coord:
        pipeline.start_queue_runners(coord=coord)
        run_out(*[lambda: queue.enqueue(rows.dequeue())] * 4, queue=queue)
    queue.dequeue_many(992)
    return queue


def failing(error, coord):
    queue = pipeline.FIFOQueue(20, "int64", [()])

    def enqueue():
        raise error

    run_out(enqueue, coord=coord, queue=queue)
    return queue


def runner_failed():
    return failing(ValueError("cannot reshape"), pipeline.Coordinator())


def earlier_runner_failed():
    coord = pipeline.Coordinator()
    files, queue = pipeline.FIFOQueue(9, "int64", [()], name="files"), pipeline.FIFOQueue(9, "int64", [()])

    def fail():
        raise ValueError("no such file")

    pipeline.QueueRunner(queue, [lambda: queue.enqueue(files.dequeue())]).create_threads(None, coord, start=True)
    wait_blocked(files, dequeues=1)
    run_out(fail, coord=coord, queue=files)
    wait_until(queue.is_closed, "the queue to be closed")
    return queue


def one_of_several_failed():
    lock, calls = threading.Lock(), iter(range(4))
    queue = pipeline.FIFOQueue(9, "int64", [()])

    def enqueue():
        with lock:
            number = next(calls)
        raise ValueError("bad") if number == 0 else pipeline.errors.OutOfRangeError(None, None, "")

    run_out(*[enqueue] * 4, queue=queue)
    return queue


def stopped():
    coord, queue = pipeline.Coordinator(), pipeline.FIFOQueue(9, "int64", [()])
    coord.close_on_stop(queue)
    coord.request_stop()
    wait_until(queue.is_closed, "the queue to be closed")
    return queue


def block_raised():
    with pytest.raises(KeyError), pipeline.FIFOQueue(9, "int64", [()]) as queue:
        raise KeyError("label")
    return queue


def reported():
    coord, queue = pipeline.Coordinator(), pipeline.FIFOQueue(9, "int64", [()])
    coord.close_on_stop(queue)
    coord.request_stop(KeyError("label"))
    wait_until(queue.is_closed, "the queue to be closed")
    return queue


def closed_by_hand():
    return closed_with()


def nothing_enqueued():
    return ended(0)


SECOND = [
    used_up,
    runner_failed,
    earlier_runner_failed,
    one_of_several_failed,
    stopped,
    block_raised,
    reported,
    closed_by_hand,
    nothing_enqueued,
]
ROWS = re.findall(r"^\| `(.*?)` \|", TEXT.partition("| second line |")[2].partition("\n\n")[0], re.MULTILINE)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(("row", "made"), list(zip(ROWS, SECOND, strict=True)), ids=[each.__name__ for each in SECOND])
def test_a_second_line(row, made):
    with pytest.raises(pipeline.errors.OutOfRangeError) as caught:
        made().dequeue_many(32)
    free = re.sub(r"(train|reader)\.py", "...", re.sub(r": (\w+Error): .*|(Thread-1|MainThread)", r"...", row))
    assert pattern(free).search(str(caught.value).splitlines()[1])
