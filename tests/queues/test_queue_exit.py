"""An interpreter ends blocked although threads are blocked in queues."""

import sys

import pytest
from helpers import run_script

SCRIPT = """
import sys, threading
import numpy as np
from pipeline import FIFOQueue, PriorityQueue

full = FIFOQueue(1, [np.int32, "string", object], shapes=[(), (), ()])
full.enqueue((1, "a", None))
empty = FIFOQueue(1, np.int32, shapes=())
unknown = FIFOQueue(1)
ranked = PriorityQueue(9, object, shapes=())
ranked.enqueue((1, full))

calls = [
    lambda: full.enqueue((2, "b", full)),
    lambda: full.enqueue_many(([3, 4], ["c", "d"], [full, full])),
    full.close,
    empty.dequeue,
    lambda: empty.dequeue_many(5),
    lambda: unknown.dequeue_up_to(5),
    lambda: ranked.dequeue_many(5),
    lambda: list(empty),
]
for call in calls:
    threading.Thread(target=call, daemon=True).start()
queues = full, empty, unknown, ranked
while sum(q.stats().waiting_enqueues + q.stats().waiting_dequeues for q in queues) < len(calls):
    threading.Event().wait(0.001)
{end}
"""


@pytest.mark.parametrize(
    ("end", "status"),
    [("", 0), ("sys.exit(3)", 3), ("del full, empty, unknown, ranked, queues, calls", 0)],
    ids=["end", "exit", "del"],
)
def test_blocked_daemon_threads(end, status):
    done = run_script(SCRIPT.format(end=end))
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


BUSY = """
import threading
import numpy as np
from pipeline import FIFOQueue

queue = FIFOQueue(4, [np.float32, "string"], shapes=[(1000,), ()])
rows = np.ones((3, 1000), np.float32)

def produce():
    while True:
        queue.enqueue_many((rows, ["a", "b", "c"]))

def consume():
    while True:
        queue.dequeue_many(2)

for work in (produce, consume, produce, consume):
    threading.Thread(target=work, daemon=True).start()
while queue.stats().dequeued < 1000:
    threading.Event().wait(0.001)
"""


def test_busy_daemon_threads():
    done = run_script(BUSY)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# CPython before 3.14 ends a daemon thread where it takes the GIL again, here after its timeout; later versions let it
# sleep. Its stack is freed, so no pointer into it may remain.
ENDED = """
import os, sys, threading, time
import numpy as np
from pipeline import FIFOQueue

empty, full = FIFOQueue(9, "int64", shapes=()), FIFOQueue(1, "int64", shapes=())
full.enqueue(0)
end = time.monotonic() + 2  # of every wait, when the interpreter is gone; until then all threads must be in their calls

def left():
    return end - time.monotonic()

calls = [
    lambda: empty.dequeue(timeout=left()),
    lambda: empty.dequeue_many(3, timeout=left()),
    lambda: full.enqueue(1, timeout=left()),
    lambda: full.enqueue_many([[1, 2, 3]], timeout=left()),
    lambda: full.close(timeout=left()),
]

class Last:
    # Most modules are empty by now, so it brings along what it needs.
    def __del__(self, sleep=time.sleep, now=time.monotonic, end=end, write=os.write, empty=empty, full=full,
                two=np.arange(2)):
        sleep(max(0, end + 0.3 - now()))
        empty.enqueue_many(two, timeout=0)
        full.dequeue(timeout=0)
        write(1, b"%d %d" % (empty.size(), full.size()))
        empty.close(cancel_pending_enqueues=True)
        full.close(cancel_pending_enqueues=True)

sys.last_of_all = Last()
for _ in range(12):
    for call in calls:
        threading.Thread(target=call, daemon=True).start()
while empty.stats().waiting_dequeues + full.stats().waiting_enqueues < 60:
    assert left() > 0, "the threads did not begin in time"
"""


def test_threads_that_are_ended_in_a_call_leave_no_trace():
    """With 60 threads, their stacks return to the kernel, and reading one crashes."""
    done = run_script(ENDED)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("2 0" if sys.version_info < (3, 14) else done.stdout)
