"""pipeline.processes: shared memory kept between iterators, given back, and not reused while somebody reads it."""

import functools
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import worker_functions as functions
from helpers import wait_until

import pipeline
from pipeline.workers import spares

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs Linux"),
    pytest.mark.usefixtures("nothing_left"),
]

MIB = 1 << 20
large = functools.partial(np.full, MIB)  # 8 MiB


def run(count=20, workers=1, function=large):
    """Iterate over arrays from processes, and drop each."""
    for i, array in enumerate(pipeline.dataset(range(count)).map(function, workers=pipeline.processes(workers))):
        assert array[0] == array[-1] == i
        del array
    wait_until(lambda: not functions.workers(), "the workers to be free")


def used(pids):
    """Return the bytes of shared memory processes have written to."""
    lines = [line for pid in pids for line in Path(f"/proc/{pid}/status").read_text().splitlines()]
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("RssShmem"))


def segments():
    """Return the addresses and sizes of the segments in this process, without the pages of idle workers."""
    lines = [line for line in Path("/proc/self/maps").read_text().splitlines() if "memfd:pipeline" in line]
    ends = [tuple(int(end, 16) for end in line.split()[0].split("-")) for line in lines]
    return {begin: end - begin for begin, end in ends if end - begin > 1 << 16}


class TestIdle:
    def test_memory_is_used_again_by_the_next_epoch(self):
        run()
        before = segments()
        assert used(functions.spare_workers()) >= 8 * MIB
        run()
        assert before.keys() & segments().keys()

    def test_memory_is_given_back_after_a_while(self, monkeypatch):
        monkeypatch.setattr(spares, "ROOM_KEPT", 0.01)
        run()
        wait_until(lambda: used(functions.spare_workers()) < MIB, "the memory to be given back")
        assert functions.spare_workers()
        run()

    def test_memory_is_limited(self, monkeypatch):
        monkeypatch.setattr(spares, "ROOM", 20 * MIB)
        run()
        assert 8 * MIB <= used(functions.spare_workers()) <= 20 * MIB
        assert sum(segments().values()) <= 20 * MIB

    def test_memory_of_all_workers_is_limited(self, monkeypatch):
        """Those of several executors too."""
        monkeypatch.setattr(spares, "ROOM", 20 * MIB)
        run(workers=3)
        workers = pipeline.processes(2, setup=os.getpid)
        assert [each[0] for each in pipeline.dataset(range(20)).map(large, workers=workers)] == [*range(20)]
        wait_until(lambda: not functions.workers(), "the workers to be free")
        assert 8 * MIB <= used(functions.spare_workers()) <= 20 * MIB

    def test_arrays_kept_by_the_user_are_given_back_when_dropped(self, monkeypatch):
        """Without another iterator."""
        monkeypatch.setattr(spares, "ROOM", 20 * MIB)
        kept = [*pipeline.dataset(range(20)).map(large, workers=pipeline.processes(1))]
        wait_until(lambda: not functions.workers(), "the worker to be free")
        assert len(segments()) >= 20
        assert [each[5] for each in kept] == [*range(20)]
        del kept
        assert sum(segments().values()) <= 20 * MIB
        assert used(functions.spare_workers()) <= 20 * MIB
        run()

    def test_a_killed_worker_keeps_none(self):
        run()
        (number,) = functions.spare_workers()
        os.kill(number, signal.SIGKILL)
        wait_until(lambda: number not in functions.descendants(os.getpid()), "its end")

        def given_back():
            """Start another one. The first one's threads may end a little later than its process seems to."""
            with pipeline.processes(1, setup=os.getpid) as workers:
                workers.submit(abs, 1).result()
            return segments() == {}

        wait_until(given_back, "its memory to be given back")

    def test_a_block_that_has_ended_keeps_none(self):
        with pipeline.processes(1) as workers:
            assert workers.submit(large, 3).result()[0] == 3
        wait_until(lambda: segments() == {}, "the memory to be given back")


def mixed(i):
    return np.full(MIB if i < 20 else 1 << 13, i)


def test_small_arrays_keep_no_large_segment():
    """Each kept array keeps at most eight times its size, rounded up."""
    with pipeline.processes(1) as workers:
        calls = [workers.submit(mixed, i) for i in range(20)]
        assert [call.result()[0] for call in calls] == [*range(20)]
        del calls
        small = [workers.submit(mixed, i).result() for i in range(20, 40)]
    wait_until(lambda: len(segments()) <= 20, "the others to be given back")
    assert [each[0] for each in small] == [*range(20, 40)]
    assert max(segments().values(), default=0) <= 9 * small[0].nbytes


@pytest.mark.parametrize("ends", [False, True])
def test_arrays_of_a_forked_process_stay_as_they_are(ends):
    """In the same iterator and in the next one."""
    with pipeline.processes(1) as workers:
        arrays = pipeline.dataset(range(30)).map(large, workers=workers)
        batches = iter(arrays)
        kept = [next(batches) for _ in range(4)]
        rest = [*batches] if ends else batches
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(writing)
            os.read(reading, 1)  # or the end of this process
            os._exit(int([(each.min(), each.max()) for each in kept] != [(i, i) for i in range(4)]))
        os.close(reading)
        del kept
        assert [each[0] for each in rest] == [*range(4, 30)]
        assert [each[0] for each in arrays] == [*range(30)]
        os.close(writing)
        assert os.waitpid(child, 0)[1] == 0
        del rest
        assert [each[0] for each in arrays] == [*range(30)]
