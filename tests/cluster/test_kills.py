"""Killing any process loses and repeats nothing, and leaves nothing behind."""

import contextlib
import os
import signal
import subprocess
import sys

import cluster_functions as functions
import numpy as np
import pytest
from cluster_nodes import MEMORY, SHORT

import pipeline

psutil = pytest.importorskip("psutil", reason="needs Ray: make test-cluster")
ray = pytest.importorskip("ray", reason="needs Ray: make test-cluster")
pytestmark = pytest.mark.usefixtures("cluster")

ITEMS, WORKERS_KILLED, NODES_KILLED = (5_000, 3, 1) if SHORT else (100_000, 20, 3)


def loop(items, workers=None, function=functions.row):
    dataset = pipeline.dataset(items).map(function, workers=workers)
    return iter(dataset.shuffle(1001, seed=3).checksum().batch(50))


def run(batches, meanwhile=lambda count: None):
    """Return the numbers in all rows, in arrival order."""
    found = []
    with batches:
        for count, (images, numbers) in enumerate(batches):
            assert (images[:, 0, 0] == numbers).all()
            found += numbers.tolist()
            meanwhile(count)
    return found


def test_kills_of_workers_and_nodes_change_nothing(cluster, tmp_path):
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=MEMORY) for _ in range(NODES_KILLED)]
    steps = ITEMS // 50
    workers_at = np.linspace(1, ITEMS * 0.9, WORKERS_KILLED).astype(int).tolist()
    nodes_at = set(np.linspace(steps * 0.2, steps * 0.8, NODES_KILLED).astype(int).tolist())

    def kill(count):
        if count in nodes_at:
            cluster.remove_node(nodes.pop(), allow_graceful=False)
            if not nodes:
                (tmp_path / "nodes killed").touch()

    workers = pipeline.cluster.workers(5, options={"scheduling_strategy": "SPREAD"})
    function = functions.row_of_killed_workers(tmp_path, workers_at, waiting=int(ITEMS * 0.95))
    with_kills = loop(range(ITEMS), workers, function)
    found = run(with_kills, kill)
    assert set(os.listdir(tmp_path)) == {"nodes killed", *map(str, workers_at)}
    assert not nodes
    assert sorted(found) == list(range(ITEMS))
    alone = loop(range(ITEMS))
    assert found == run(alone)
    assert with_kills.fingerprint() == alone.fingerprint()
    assert workers.client.retried >= 1


def test_a_run_goes_on_with_another_number_of_workers():
    items = list(range(3000))
    whole = loop(items)
    expected = run(whole)
    first, found, state = loop(items, pipeline.cluster.workers(2)), [], None
    for count, (_, numbers) in enumerate(first):
        found += numbers.tolist()
        if count == 20:
            state = first.state_dict()
            break
    first.close()
    second = loop(items, pipeline.cluster.workers(5))
    second.load_state_dict(state)
    assert found + run(second) == expected
    assert second.fingerprint() == whole.fingerprint()


PROGRAM = """
import sys
import cluster_functions as functions
import pipeline

if __name__ == "__main__":
    address, folder = sys.argv[1:]
    workers = pipeline.cluster.workers(2, address=address)
    function = functions.notes_and_waits(folder)
    for batch in pipeline.dataset(range(99)).map(function, workers=workers).batch(8):
        pass
"""


def started(address, folder):
    """Return a program with busy workers, and their process ids."""
    program = subprocess.Popen([sys.executable, "-c", PROGRAM, address, str(folder)], stderr=subprocess.PIPE, text=True)
    while len(os.listdir(folder)) < 2:
        assert program.poll() is None, program.stderr.read()
    return program, [int(each) for each in os.listdir(folder)]


def wait_until_gone(processes):
    for each in processes:
        with contextlib.suppress(psutil.NoSuchProcess):  # it may end between any two calls
            psutil.Process(each).wait(timeout=60)
    assert not any(map(psutil.pid_exists, processes))


def test_ctrl_c_ends_the_program_and_its_tasks(cluster, tmp_path):
    program, workers = started(cluster.address, tmp_path)
    program.send_signal(signal.SIGINT)
    error = program.communicate(timeout=60)[1]
    assert program.returncode != 0
    assert "KeyboardInterrupt" in error
    wait_until_gone(workers)


def test_a_program_that_is_killed_leaves_no_task(cluster, tmp_path):
    program, workers = started(cluster.address, tmp_path)
    program.kill()
    program.communicate()
    wait_until_gone(workers)


@pytest.mark.skipif(SHORT, reason="SHORT")
def test_a_program_that_is_killed_with_a_cluster_of_its_own_leaves_nothing(tmp_path):
    shared = set(os.listdir("/dev/shm")) if sys.platform == "linux" else set()
    program, workers = started("local", tmp_path)
    everything = []
    for child in psutil.Process(program.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # finished children of Ray
            # Two of Ray's agents wait a minute for the missing head.
            if "agent" not in " ".join(child.cmdline()).lower():
                everything.append(child.pid)
    assert set(workers) <= set(everything)
    program.kill()
    program.communicate()
    wait_until_gone(everything)
    if sys.platform == "linux":
        assert set(os.listdir("/dev/shm")) <= shared
