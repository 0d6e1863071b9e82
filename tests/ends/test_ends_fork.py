"""Processes fork while threads are inside calls: no child hangs, and the parent loses nothing."""

import os

import pytest
from helpers import run_script

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

BUSY = """
import itertools, os, sys, threading, warnings
import numpy as np
from pipeline import FIFOQueue, RandomShuffleQueue, set_random_seed

warnings.simplefilter("ignore", DeprecationWarning)  # that a process with threads is forked: just that is tested
set_random_seed(1)
queue = FIFOQueue(64, [np.int64, object], shapes=[(), ()])
large = FIFOQueue(4, np.uint8, shapes=(2**20,))
numbers = itertools.count()
stop = threading.Event()
taken = []

def produce():
    while not stop.is_set():
        start = next(numbers) * 10
        queue.enqueue_many((range(start, start + 10), ["x"] * 10))

def consume():
    for number, _ in queue:
        taken.append(int(number))

def batches():
    row = np.ones((2, 2**20), np.uint8)
    while not stop.is_set():
        large.enqueue_many([row])
        assert large.dequeue_many(2).all()

def make():
    while not stop.is_set():
        RandomShuffleQueue(3, 1, np.int32)

producer, *others = [threading.Thread(target=work) for work in (produce, consume, batches, make)]
for thread in (producer, *others):
    thread.start()

def child():
    for each in (queue, large):
        for call in (each.size, each.dequeue, each.close, lambda each=each: each.dequeue_many(1)):
            try:
                call()
            except RuntimeError as error:
                assert "fork" in str(error), error
            else:
                raise AssertionError("no error")
    mine = RandomShuffleQueue(9, 0, np.uint8, shapes=(2**20,))
    for _ in range(3):
        mine.enqueue_many([np.ones((2, 2**20), np.uint8)])
        assert mine.dequeue_many(2).all()

for number in range(20):
    process = os.fork()
    if process == 0:
        status = 1
        try:
            child()
            status = 0
        except BaseException as error:
            print("child:", repr(error), file=sys.stderr, flush=True)
        os._exit(status)
    assert os.waitpid(process, 0)[1] == 0
stop.set()
producer.join()
queue.close()
for thread in others:
    thread.join()
assert taken == list(range(next(numbers) * 10)), len(taken)
"""

SESSION = """
import os, threading, warnings
import pipeline.compat.v1 as tf

warnings.simplefilter("ignore", DeprecationWarning)
queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
put, taken = queue.enqueue(7), queue.dequeue()
session = tf.Session()
waiting = threading.Thread(target=session.run, args=(taken,), daemon=True)
native = session.run(queue.queue_ref)
waiting.start()
while not native.stats().waiting_dequeues:
    pass
process = os.fork()
if process == 0:
    try:
        session.run(taken)
    except Exception as error:
        with tf.Graph().as_default(), tf.Session() as mine:
            queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
            put, taken = queue.enqueue(8), queue.dequeue()
            mine.run(put)
            os._exit(0 if mine.run(taken) == 8 and "fork" in str(error) else 2)
    os._exit(1)
assert os.waitpid(process, 0)[1] == 0
session.run(put)
waiting.join()
"""

LOOPS = """
import itertools, os, signal, threading, warnings
import pipeline

warnings.simplefilter("ignore", DeprecationWarning)

def forked_in(number, **options):
    numbers, entered, go = itertools.count(), threading.Event(), threading.Event()

    def example():
        following = next(numbers)
        if following == number:
            entered.set()
            go.wait()
        return following

    taken = []
    loop = pipeline.batch(example, 2, **options)
    taking = threading.Thread(target=lambda: taken.extend(next(loop).tolist() for _ in range(3)), daemon=True)
    taking.start()
    entered.wait()
    process = os.fork()
    if process == 0:
        signal.alarm(120)  # ends a child that hangs
        try:
            found = next(loop).tolist()
        except pipeline.FailedPreconditionError as error:
            os._exit(0 if "opened before os.fork()" in str(error) else 1)
        print("found", found, flush=True)
        os._exit(2)
    assert os.waitpid(process, 0)[1] == 0, (number, options)
    go.set()
    taking.join()
    assert taken == [[0, 1], [2, 3], [4, 5]], taken
    loop.close()

for options in ({"num_threads": 0}, {"num_threads": 0, "deterministic": True}, {}, {"deterministic": True}):
    for number in (0, 3):  # while it makes the first example, and after
        forked_in(number, **options)
"""

DATASETS = """
import os, signal, warnings
import pipeline

warnings.simplefilter("ignore", DeprecationWarning)
numbers = pipeline.dataset(range(40)).map(lambda x: x)

def forked(number, chain):
    expected = list(map(str, chain(numbers)))
    iterator = iter(chain(numbers))
    taken = [str(next(iterator)) for _ in range(number)]
    process = os.fork()
    if process == 0:
        signal.alarm(120)  # ends a child that hangs
        try:
            next(iterator)
        except pipeline.FailedPreconditionError as error:
            assert "opened before os.fork() and works only in the process that opened it. Make a new one" in str(error)
            again = iter(chain(numbers))
            again.load_state_dict(iterator.state_dict())
            assert list(map(str, again)) == expected[number:]
            iterator.close()
            os._exit(0)
        os._exit(1)
    assert os.waitpid(process, 0)[1] == 0, number
    assert taken + list(map(str, iterator)) == expected

for number in (1, 4, 39):
    forked(number, lambda data: data.prefetch(2))
    forked(number, lambda data: data.prefetch(3).map(lambda x: x + 1))
forked(2, lambda data: data.batch(5, collate=list).prefetch(2))
for number in (1, 2, 5):  # within batches that the thread has made and passed on together
    forked(number, lambda data: data.batch(40).unbatch().batch(4).prefetch(32))
"""

STEPS = """
import itertools, os, signal, sys, threading, warnings
import pipeline
from pipeline.datasets.iterator import DatasetIterator

warnings.simplefilter("ignore", DeprecationWarning)
codes = {each.__code__ for each in vars(DatasetIterator).values() if hasattr(each, "__code__")}

def forked_at(number):
    # While another thread is at its `number`-th line of `next`; return whether it came to that.
    iterator = iter(pipeline.dataset(range(9)).map(int))
    taken = [next(iterator)]
    here, go, lines, struck = threading.Event(), threading.Event(), itertools.count(1), []

    def step(frame, event, _):
        if event == "line" and next(lines) == number:
            struck.append(frame.f_lineno)
            here.set()
            go.wait()
        return step

    def take():
        sys.settrace(lambda frame, *_: step if frame.f_code in codes else None)
        taken.append(next(iterator))
        sys.settrace(None)
        here.set()

    taking = threading.Thread(target=take)
    taking.start()
    here.wait()
    process = os.fork()
    if process == 0:
        signal.alarm(60)  # ends a child that hangs
        try:
            found = next(iterator)
        except pipeline.FailedPreconditionError as error:
            os._exit(0 if "opened before os.fork()" in str(error) else 1)
        os._exit(0 if found in (1, 2) else 2)
    status = os.waitpid(process, 0)[1]
    go.set()
    taking.join()
    assert status == 0, (status, struck)
    assert taken + list(iterator) == list(range(9)), taken
    return bool(struck)

steps = next(number for number in itertools.count(1) if not forked_at(number))
assert steps > 20, steps
"""

SCRIPTS = {"busy": BUSY, "session": SESSION, "loops": LOOPS, "datasets": DATASETS, "steps": STEPS}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_the_child_is_told_and_the_parent_loses_nothing(script):
    done = run_script(script)
    assert (done.returncode, done.stderr) == (0, "")
