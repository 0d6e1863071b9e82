"""A process at its memory limit: MemoryError, and the queue continues with its elements."""

import pytest
from helpers import run_script

SCRIPT = """
import resource
import numpy as np
import pipeline

MIB = 1 << 20
queue = {queue}
row = np.ones(MIB // 4, np.float32)
row.flags.writeable = {writeable}
extra = ({priority},) if isinstance(queue, pipeline.PriorityQueue) else ()
queue.enqueue((*extra, row))
with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 64 * MIB, resource.RLIM_INFINITY))

def take(count):
    taken = queue.dequeue_many(count)
    return taken[1] if extra else taken

for _ in range(3):
    aside = bytearray(2 * MIB)  # for a batch of one row when nothing else is left
    failures = 0
    while failures < 3:
        before = queue.size()
        try:
            queue.enqueue((*extra, row * 1))
        except MemoryError:
            failures += 1
            assert queue.size() == before
    full = queue.size()
    assert 5 < full < 100, full
    try:
        take(full)  # as much again
        raise SystemExit("no MemoryError")
    except MemoryError:
        assert queue.size() == full
    del aside
    for _ in range(full - 1):
        assert (take(1) == 1).all()
assert queue.size() == 1
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
for _ in range(99):
    queue.enqueue((*extra, row))
assert take(100).shape == (100, MIB // 4)
print("went on")
"""


@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize(
    "queue",
    [
        "pipeline.FIFOQueue(1000, 'float32', [(MIB // 4,)])",
        "pipeline.RandomShuffleQueue(1000, 0, 'float32', [(MIB // 4,)], seed=1)",
        "pipeline.PaddingFIFOQueue(1000, 'float32', [(None,)])",
        "pipeline.PriorityQueue(1000, 'float32', [(MIB // 4,)])",
    ],
)
def test_queue_in_a_process_without_memory(queue, writeable):
    done = run_script(SCRIPT.format(queue=queue, writeable=writeable, priority=0))
    assert (done.stdout, done.stderr) == ("went on\n", "")


def test_reader_in_a_process_without_memory(tmp_path):
    (tmp_path / "f").write_bytes(b"x" * (200 << 20) + b"\nshort\n")
    script = """
import resource
import pipeline

queue = pipeline.FIFOQueue(2, "string", [()])
queue.enqueue_many((["f", "f"],))
reader = pipeline.TextLineReader()
with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (100 << 20),) * 2)
kept = []
try:
    while True:  # the allocator may have set some aside
        kept.append(bytearray(16 << 20))
except MemoryError:
    del kept[-6:]
try:
    reader.read(queue)
except MemoryError:
    reader.reset()
    print("MemoryError")
"""
    assert run_script(script, cwd=tmp_path).stdout == "MemoryError\n"
