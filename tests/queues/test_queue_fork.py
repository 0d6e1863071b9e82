"""A queue is unusable in a forked child, and its calls raise an error there."""

import os

import pytest
from helpers import run_script

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

SCRIPT = """
import os, sys, threading, warnings
import numpy as np
from pipeline import FIFOQueue, PaddingFIFOQueue, PriorityQueue, RandomShuffleQueue

warnings.simplefilter("ignore", DeprecationWarning)  # that a process with threads is forked: just that is tested
queues = [
    FIFOQueue(9, np.int32, shapes=()),
    RandomShuffleQueue(9, 0, np.int32, shapes=()),
    PaddingFIFOQueue(9, np.int32, [()]),
    PriorityQueue(9, np.int32, shapes=()),
    FIFOQueue(9),
]
for queue in queues[:3]:
    queue.enqueue_many([[1, 2]])
queues[3].enqueue_many(([1, 2], [1, 2]))
blocked = threading.Thread(target=queues[0].dequeue_many, args=(3,), daemon=True)
blocked.start()
while not queues[0].stats().waiting_dequeues:
    threading.Event().wait(0.001)

child = os.fork()
if child == 0:
    try:
        for queue in queues:
            for call in (
                lambda: queue.enqueue(1),
                lambda: queue.enqueue((1, 1)),
                lambda: queue.enqueue_many([[1, 2]]),
                lambda: queue.enqueue_many(([1, 2], [1, 2])),
                queue.dequeue,
                lambda: queue.dequeue(timeout=1),
                lambda: queue.dequeue_many(1),
                lambda: queue.dequeue_up_to(1),
                queue.close,
                lambda: queue.close(True),
                queue.size,
                queue.is_closed,
                queue.stats,
                lambda: next(iter(queue)),
            ):
                try:
                    call()
                except RuntimeError as error:
                    assert "fork" in str(error), error
                else:
                    raise AssertionError("no error")
        mine = FIFOQueue(2, np.int32, shapes=())  # a queue made in the child works
        mine.enqueue(5)
        assert mine.dequeue() == 5
        del queue, queues
    except BaseException as error:
        print("child:", repr(error), file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)

assert os.waitpid(child, 0)[1] == 0
queues[0].enqueue(3)
blocked.join()
assert [queue.size() for queue in queues] == [0, 2, 2, 2, 0]
assert [queue.dequeue_many(2) is not None for queue in queues[1:4]] == [True] * 3
"""

TWICE = """
import os
import numpy as np
from pipeline import FIFOQueue

def child():
    queue = FIFOQueue(2, np.int32, shapes=())
    queue.enqueue(1)
    grandchild = os.fork()
    if grandchild == 0:
        try:
            queue.size()
        except RuntimeError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]) == 7
    assert queue.dequeue() == 1
    os._exit(8)

process = os.fork()
if process == 0:
    child()
assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 8
"""


# The fork happens inside a call, which continues in the child.
WITHIN = """
import os, signal, threading, warnings
import numpy as np
from pipeline import FIFOQueue

warnings.simplefilter("ignore", DeprecationWarning)  # that a process with threads is forked: just that is tested
queue = FIFOQueue(2, np.int32, shapes=())
parent, children = os.getpid(), []

def fork():
    child = os.fork()
    if child:
        children.append(child)

class Forking:
    def __init__(self, value=3):
        self.value = value

    def __array__(self, dtype=None, copy=None):
        fork()
        return np.array(self.value, np.int32)

    def __index__(self):
        fork()
        return 1

def interrupt():
    while not queue.stats().waiting_dequeues:
        pass
    os.kill(parent, signal.SIGUSR1)
    while not children:
        pass
    queue.enqueue(5)

def check(call):
    try:
        result = call()
    except RuntimeError as error:
        os._exit(7 if "fork" in str(error) and os.getpid() != parent else 1)
    if os.getpid() != parent:
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(children.pop(), 0)[1]) == 7
    return result

signal.signal(signal.SIGUSR1, lambda *_: fork())
thread = threading.Thread(target=interrupt)
thread.start()
assert check(queue.dequeue) == 5
thread.join()
check(lambda: queue.enqueue(Forking()))
assert check(lambda: queue.dequeue_many(Forking())).tolist() == [3]
queue.enqueue(4)
assert check(lambda: queue.dequeue_up_to(Forking())).tolist() == [4]
check(lambda: queue._give_back([Forking([3])]))
assert queue.dequeue() == 3
"""


@pytest.mark.parametrize("script", [SCRIPT, TWICE, WITHIN], ids=["once", "twice", "within"])
def test_the_child_is_told_and_the_parent_goes_on(script):
    done = run_script(script)
    assert (done.returncode, done.stderr) == (0, "")
