"""Memory follows a queue's contents, not its capacity."""

import pytest
from helpers import run_script

MIB = 2**20

PRELUDE = """
import gc
import numpy as np
from pipeline import FIFOQueue, PaddingFIFOQueue, PriorityQueue, RandomShuffleQueue

def memory(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) * 1024

def warm_up():
    queue = FIFOQueue(10, np.float32, shapes=(1000,))
    queue.enqueue_many([np.ones((10, 1000), np.float32)])
    queue.dequeue_many(10)

warm_up()
held, mapped = memory("VmRSS"), memory("VmSize")
"""
# malloc keeps some freed memory, at its heap's end and in gaps: 9 to 22 MiB after a burst of small rows.
REPORT = """
import ctypes
getattr(ctypes.CDLL(None), "malloc_trim", lambda kept: None)(0)
print(memory("VmRSS") - held, memory("VmSize") - mapped)
"""


def growth(script):
    """Run a script; return how much its resident and its mapped memory grew."""
    done = run_script(PRELUDE + script + REPORT)
    assert done.returncode == 0, done.stderr
    return [int(number) for number in done.stdout.split()]


MAKE = {
    "fifo": "FIFOQueue({}, np.float32, shapes=(1000,))",
    "shuffle": "RandomShuffleQueue({}, 0, np.float32, shapes=(1000,))",
    "padding": "PaddingFIFOQueue({}, np.float32, [(None,)])",
    "objects": "FIFOQueue({}, object, shapes=())",
}


@pytest.mark.parametrize("capacity", ["10**6", "10**9", "-1"])
@pytest.mark.parametrize("kind", MAKE)
def test_ten_elements_in_a_large_queue(kind, capacity):
    resident, mapped = growth(f"""
queue = {MAKE[kind].format(capacity)}
rows = np.ones((10, 1000), np.float32)
for row in rows:
    queue.enqueue([row])
assert queue.size() == 10
assert len(queue.dequeue_many(5)) == 5
""")
    assert resident < 16 * MIB
    assert mapped < 64 * MIB


def test_ten_elements_in_a_large_priority_queue():
    resident, mapped = growth("""
queue = PriorityQueue(10**9, np.float32, shapes=(1000,))
queue.enqueue_many((range(10), np.ones((10, 1000), np.float32)))
assert queue.size() == 10
""")
    assert resident < 16 * MIB
    assert mapped < 64 * MIB


def test_a_batch_larger_than_the_capacity():
    resident, _ = growth("""
import threading
queue = FIFOQueue(4, np.float32, shapes=(1000,))
rows = np.arange(300, dtype=np.float32)[:, None] * np.ones(1000, np.float32)
thread = threading.Thread(target=queue.enqueue_many, args=([rows],))
thread.start()
out = queue.dequeue_many(300)
thread.join()
assert np.array_equal(out, rows)
""")
    assert resident < 32 * MIB


def test_slots_are_used_again():
    resident, _ = growth("""
queue = FIFOQueue(10**6, np.float32, shapes=(1000,))
rows = np.ones((100, 1000), np.float32)
for _ in range(2000):
    queue.enqueue_many([rows])
    queue.dequeue_many(100)
""")
    assert resident < 32 * MIB


def test_a_queue_gives_its_memory_back():
    resident, _ = growth("""
rows = np.ones((100, 1000), np.float32)
for _ in range(20):
    queue = FIFOQueue(10**6, np.float32, shapes=(1000,))
    for _ in range(100):
        queue.enqueue_many([rows])
    del queue
""")
    assert resident < 64 * MIB  # a single one holds 38


def test_calls_that_fail_keep_nothing():
    resident, _ = growth("""
queue = FIFOQueue(2, np.float32, shapes=(1000,))
rows = np.ones((100, 1000), np.float32)
queue.enqueue_many([rows[:2]])
for _ in range(3000):
    for call in (lambda: queue.enqueue_many([rows], timeout=0), lambda: queue.dequeue_many(50, timeout=0)):
        try:
            call()
        except TimeoutError:
            pass
assert queue.size() == 2
""")
    assert resident < 32 * MIB


@pytest.mark.parametrize("kind", MAKE)
def test_asking_for_everything_costs_what_there_is(kind):
    resident, _ = growth(f"""
import resource
queue = {MAKE[kind].format(100)}
for row in np.ones((3, 1000), np.float32):
    queue.enqueue([row])
resource.setrlimit(resource.RLIMIT_AS, (memory("VmSize") + 2**30,) * 2)
try:
    queue.dequeue_many(2**31 - 1, timeout=0)
except TimeoutError:
    pass
assert queue.size() == 3
queue.close()
assert len(queue.dequeue_up_to(2**31 - 1)) == 3
""")
    assert resident < 32 * MIB


def test_memory_of_a_burst_is_given_back():
    resident, _ = growth("""
queue = FIFOQueue(-1, np.float32, shapes=[(1000,)])
rows = np.ones((100, 1000), np.float32)
for _ in range(1000):
    queue.enqueue_many(rows)
while queue.size():
    queue.dequeue_many(100)
for _ in range(20):
    queue.enqueue_many(rows)
    assert np.array_equal(queue.dequeue_many(100), rows)
""")
    assert resident < 32 * MIB


@pytest.mark.parametrize(
    "make", ["FIFOQueue(-1, np.uint8, shapes=())", "RandomShuffleQueue(-1, 0, np.uint8, shapes=())"]
)
def test_memory_of_a_burst_of_small_rows_is_given_back(make):
    """Slot numbers take four bytes per row in the order, and four in the free list: more than the rows."""
    resident, _ = growth(
        f"""
queue = {make}
for _ in range(41):
    queue.enqueue_many([np.ones(MIB, np.uint8)])
out = np.empty(MIB, np.uint8)
for _ in range(41):
    queue.dequeue_many(MIB, out=out)
for _ in range(20):  # each time that it is empty it drops a chunk, which is half of what is left
    queue.enqueue(1)
    queue.dequeue()
del out
gc.collect()
""".replace("MIB", str(MIB))
    )
    assert resident < 4 * MIB  # 349 when the order arrays stayed
