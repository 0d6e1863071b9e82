"""Each Python allocation within a call fails in turn: the call changes nothing, and the queue continues."""

import importlib.util
import sys

import pytest
from helpers import run_script

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("_testcapi") is None, reason="needs CPython's _testcapi"),
    pytest.mark.skipif(sys.version_info >= (3, 12), reason="CPython itself crashes where a generator finds no memory"),
]

SCRIPT = """
import _testcapi
import numpy as np
from pipeline import FIFOQueue, PaddingFIFOQueue, PriorityQueue, RandomShuffleQueue, errors

ones = np.ones((3, 20000), np.uint8)
MAKE = {{
    "typed": (lambda: FIFOQueue(9, ["int32", "float32"], [(), (3,)]), (1, [1, 2, 3]), ([1, 2, 3], np.ones((3, 3)))),
    "objects": (lambda: FIFOQueue(9, object, [()]), [object()], [[1, 2, 3]]),
    "strings": (lambda: RandomShuffleQueue(9, 0, "string", [()], seed=1), "a", [["a", "b", "c"]]),
    "large": (lambda: FIFOQueue(9, "uint8", [(20000,)]), [ones[0]], [ones]),
    "padded": (lambda: PaddingFIFOQueue(9, "float32", [(None,)]), [[1, 2]], [np.ones((3, 3))]),
    "priority": (lambda: PriorityQueue(9, "int32", [()]), (1, 2), ([3, 2, 1], [1, 2, 3])),
}}
make, one, many = MAKE["{kind}"]
CALLS = {{
    "enqueue": lambda queue: queue.enqueue(one),
    "enqueue_many": lambda queue: queue.enqueue_many(many),
    "dequeue": lambda queue: queue.dequeue(timeout=0),
    "dequeue_many": lambda queue: queue.dequeue_many(2, timeout=0),
    "dequeue_up_to": lambda queue: queue.dequeue_up_to(5, timeout=0.001),
    "close": lambda queue: queue.close(),
    "stats": lambda queue: queue.stats(),
}}
for name, call in CALLS.items():
    number = failed = 0
    while number < failed + 20:  # no call comes to 20 allocations after one whose failure it does not mind
        queue = make()
        queue.enqueue_many(many)
        before = queue.stats()
        _testcapi.set_nomemory(number, number + 1)
        error = False
        try:
            call(queue)
        except (MemoryError, SystemError):  # the latter where Python and NumPy mistake a failure of their own
            error = True
        except errors.DeadlineExceededError:
            pass
        finally:
            _testcapi.remove_mem_hooks()
        after = queue.stats()
        assert after.waiting_enqueues == after.waiting_dequeues == 0, (name, number)
        assert after.enqueued - after.dequeued == after.size, (name, number)
        if error:
            assert (after.size, after.closed) == (before.size, before.closed), (name, number)
        queue.close(True)
        if after.size:
            queue.dequeue_up_to(9)
        assert queue.size() == 0
        failed += error
        number += 1
    print(name, failed)
"""


@pytest.mark.parametrize("kind", ["typed", "objects", "strings", "large", "padded", "priority"])
def test_each_allocation_fails(kind):
    done = run_script(SCRIPT.format(kind=kind))
    assert done.returncode == 0, done.stderr
    failures = dict(line.split() for line in done.stdout.splitlines())
    assert len(failures) == 7
    assert sum(map(int, failures.values())) > 20, failures
