"""Functions for cluster workers in tests."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

READY = []


def row(i):
    return np.full((28, 28), i, np.float32), i


def slow_row(i):
    time.sleep(0.0005)
    return row(i)


def row_of_killed_workers(folder, numbers, waiting):
    """Return rows that kill their worker at `numbers`, once each, at once or a little later.

    Row `waiting` waits for the file `nodes killed`, so work is left for the others.
    """

    def function(i):
        if i in numbers:
            try:
                (Path(folder) / str(i)).touch(exist_ok=False)
            except FileExistsError:  # the worker was that one before
                return slow_row(i)
            if later := numbers.index(i) % 3 * 0.02:
                threading.Timer(later, os.kill, (os.getpid(), signal.SIGKILL)).start()
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        while i == waiting and not (Path(folder) / "nodes killed").exists():
            time.sleep(0.01)
        return slow_row(i)

    return function


def nodes_of_five_processes(folder):
    """Return where the item is processed; wait until five processes have begun."""

    def function(i):
        import ray

        (Path(folder) / str(os.getpid())).touch()
        while len(os.listdir(folder)) < 5:
            pass
        return i, ray.get_runtime_context().get_node_id()

    return function


def get_ready():
    READY.append(os.getpid())


def ready(i):
    return [os.getpid()] == READY


def fails_to_get_ready():
    raise ValueError("no such model")


def deadly(i):
    if i == 37:
        os.kill(os.getpid(), signal.SIGKILL)
    return i


def exits(i):
    if i == 5:
        sys.exit("enough")
    return i


def fails(i):
    if i % 10 == 3:
        raise ValueError(f"no {i}")
    return i


def unfit(i):
    """Return an unpicklable result."""
    return {"lock": np.array([__import__("threading").Lock()], object)}


def notes_and_waits(folder):
    """Note the process, and continue beyond every timeout."""

    def function(i):
        (Path(folder) / str(os.getpid())).touch()
        time.sleep(3600)

    return function


def notes_and_works(folder):
    """The same, in Python: cancellation takes effect at its next step, not within a system call."""

    def function(i):
        (Path(folder) / str(os.getpid())).touch()
        while True:
            time.sleep(0.01)

    return function


def lines(path):
    """Return the examples in a file with numbers."""
    for line in Path(path).read_text().splitlines():
        yield np.full(8, int(line), np.int64), line


def blocks(path):
    numbers = np.array(Path(path).read_text().split(), np.int64)
    for first in range(0, len(numbers), 7):
        yield {"n": numbers[first : first + 7]}


def fails_in_the_fourth(path):
    for i, example in enumerate(lines(path)):
        if i == 20 and path.endswith("/3.txt"):
            raise ValueError("a bad line")
        yield example


def always_dies(path):
    os.kill(os.getpid(), signal.SIGKILL)
    yield path


def endless(part):
    while True:
        yield np.zeros(1000)
