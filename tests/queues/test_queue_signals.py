"""Ctrl-C in the main thread, blocked in any queue call."""

import os
import signal
import subprocess
import sys

import pytest
from helpers import LIMIT, run_script

SCRIPT = """
import sys, threading, time
import numpy as np
from pipeline import FIFOQueue, PaddingFIFOQueue, PriorityQueue, RandomShuffleQueue

queue = {make}
{before}

def tell_when_blocked():
    pause = threading.Event()
    while not (queue.stats().waiting_enqueues + queue.stats().waiting_dequeues > {others}):
        pause.wait(0.001)
    print("blocked", flush=True)

threading.Thread(target=tell_when_blocked, daemon=True).start()
try:
    {call}
except KeyboardInterrupt:
    print("interrupted")
stats = queue.stats()
print(stats.waiting_enqueues, stats.waiting_dequeues)
queue.close(True)
print(*[np.asarray(element).ravel()[-1] for element in queue])
"""
FIFO = "FIFOQueue(3, np.int32, shapes=())"
FULL = "queue.enqueue_many([[1, 2, 3]])"
TWO = "queue.enqueue_many([[1, 2]])"
WAITING = (
    FULL
    + """
def wait_for_room():
    try:
        queue.enqueue(4)
    except Exception:  # the end of the script cancels it
        pass

threading.Thread(target=wait_for_room, daemon=True).start()
while queue.stats().waiting_enqueues == 0:
    threading.Event().wait(0.001)
"""
)

CASES = {
    "enqueue": (FIFO, FULL, "queue.enqueue(4)", 0, "1 2 3"),
    "enqueue_many": (FIFO, TWO, "queue.enqueue_many([[3, 4, 5]])", 0, "1 2 3"),
    "dequeue": (FIFO, "", "queue.dequeue()", 0, ""),
    "dequeue with timeout": (FIFO, "", "queue.dequeue(timeout=1000)", 0, ""),
    "dequeue_many": (FIFO, TWO, "queue.dequeue_many(5)", 0, "1 2"),
    "dequeue_up_to": (FIFO, TWO, "queue.dequeue_up_to(5)", 0, "1 2"),
    "iteration": (FIFO, "", "list(queue)", 0, ""),
    "padded": (
        "PaddingFIFOQueue(9, np.int32, [(None,)])",
        "queue.enqueue([[1, 2]])",
        "queue.dequeue_many(2)",
        0,
        "2",
    ),
    "by priority": (
        "PriorityQueue(9, np.int32, shapes=())",
        "queue.enqueue((1, 7))",
        "queue.dequeue_many(2)",
        0,
        "7",
    ),
    "shuffled": (
        "RandomShuffleQueue(9, 0, np.int32, shapes=())",
        "queue.enqueue(7)",
        "queue.dequeue_many(2)",
        0,
        "7",
    ),
    "no dtypes": ("FIFOQueue(9)", "", "queue.dequeue_many(2)", 0, ""),
}


def interrupt(make, before, call, others):
    """Run the script, send SIGINT once the call is blocked, and return its later output."""
    script = SCRIPT.format(make=make, before=before, call=call, others=others)
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            assert line == "blocked\n", process.stderr.read()
            os.kill(process.pid, signal.SIGINT)
            out, errors = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, "")
    return out.splitlines()


@pytest.mark.parametrize("case", CASES)
def test_a_blocked_call_is_interrupted_and_loses_nothing(case):
    make, before, call, others, left = CASES[case]
    assert interrupt(make, before, call, others) == ["interrupted", "0 0", left]


def test_a_blocked_close_is_interrupted():
    said, waiting, left = interrupt(FIFO, WAITING, "queue.close()", 1)
    assert (said, waiting) == ("interrupted", "1 0")  # the enqueue before it waits on
    assert left == "1 2 3"


def test_a_handler_that_returns_lets_the_call_go_on():
    before = "import signal\nsignal.signal(signal.SIGINT, lambda *_: (print('heard'), queue.enqueue(1)))"
    assert interrupt(FIFO, before, "print(queue.dequeue())", 0) == ["heard", "1", "0 0", ""]


def test_interrupts_at_any_moment():
    """Ctrl-C again and again, anywhere in the call: no attempt is left behind, and the counts agree."""
    done = run_script("""
import os, signal, threading
import numpy as np
from pipeline import FIFOQueue

queue = FIFOQueue(-1, np.int64, shapes=())
stop = threading.Event()
armed = False

def handle(*_):
    global armed
    if armed:
        armed = False
        raise KeyboardInterrupt

def interrupt():
    while not stop.wait(0.0005):
        os.kill(os.getpid(), signal.SIGINT)

def produce():
    while not stop.wait(0.001):
        queue.enqueue_many([range(3)])

threads = [threading.Thread(target=interrupt), threading.Thread(target=produce)]
interrupts = 0
signal.signal(signal.SIGINT, handle)
for thread in threads:
    thread.start()
while interrupts < 300:
    try:
        armed = True
        queue.dequeue_many(4)
        armed = False
    except KeyboardInterrupt:
        interrupts += 1
stop.set()
for thread in threads:
    thread.join()
stats = queue.stats()
assert stats.waiting_dequeues == 0, stats
assert stats.enqueued - stats.dequeued == stats.size, stats
assert len(queue.dequeue_many(stats.size)) == stats.size
""")
    assert (done.returncode, done.stderr) == (0, "")
