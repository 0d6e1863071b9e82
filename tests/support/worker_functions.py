"""Functions for worker processes in tests, and helpers that inspect the processes."""

import collections
import contextlib
import ctypes
import functools
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

import pipeline

KB = 1024
Point = collections.namedtuple("Point", "x y")
READY = []

# Process start methods; a Python without the GIL forks none.
METHODS = ["forkserver", "spawn", *(["fork"] if getattr(sys, "_is_gil_enabled", lambda: True)() else [])]


def large(i):
    return np.full((150, KB), i % 251, np.uint8)


def with_number(i):
    return np.full((8, 16 * KB), i % 251, np.uint8), i


def changing(i):
    """Return arrays with changing sizes and shapes."""
    return np.full((1 + i * 37 % 11, 1 + i * i % 13, KB), i, np.float32)


def strings(i):
    return [f"{i}:" + "é" * (i * 3000), b"%d" % i * 30_000]


def objects(i):
    return np.array([{"row": np.full(40 * KB, i)}, "x" * i, None, [i]], object)


def nested(i):
    return {"image": large(i), "meta": {"at": Point(i, i / 2), "sizes": (i, [i, i + 1])}, "name": f"n{i}"}


REUSED = np.zeros((100, KB), np.float32)


def view(i):
    """Return a strided view into a buffer, the same one each time."""
    REUSED[:] = i
    return REUSED[::2, 1:], REUSED.T


def pid(i):
    return os.getpid()


def get_ready():
    READY.append(os.getpid())


def ready(i):
    return len(READY), READY[0] == os.getpid()


def ready_ones(i):
    return list(READY)


def fails_to_get_ready():
    raise ValueError("no such model")


def dies_while_it_gets_ready():
    os._exit(7)


def is_killed_while_it_gets_ready():
    os.kill(os.getpid(), signal.SIGKILL)


def hanging(i):
    while i:
        time.sleep(60)
    return i


def printing(i):
    print(f"item {i}")
    return i


def closing(i):
    """Close everything the process has open."""
    if i == 5:
        os.closerange(3, 200)
    return i


def doomed(i):
    """Die in one of several ways, at certain items."""
    if i == 11:
        os.kill(os.getpid(), signal.SIGKILL)
    elif i == 23:
        ctypes.string_at(0)
    elif i == 37:
        os._exit(3)
    elif i == 41:
        sys.exit("enough")
    return np.full(100 * KB, i)


def once(item):
    """Die at an item whose file does not exist yet, after creating it."""
    i, directory = item
    path = Path(directory) / str(i)
    if i % 5 == 3 and not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return i


def waits_once(folder, i):
    """In the first process that gets here, wait until the pipe is written to."""
    if multiprocessing.parent_process() is not None:
        with contextlib.suppress(FileExistsError):
            Path(folder, "begun").touch(exist_ok=False)
            with open(Path(folder, "pipe"), "rb", buffering=0) as pipe:
                pipe.read(1)
    return i


def stuck(item):
    """Report the process, and hold the GIL until it is killed."""
    Path(item).joinpath(str(os.getpid())).touch()
    libc = ctypes.PyDLL(None)
    while True:
        libc.sleep(1)


def napping(i):
    time.sleep(0.002)
    return np.full(80 * KB, i % 251, np.uint8)


class Folder:
    """A dataset."""

    def __init__(self, size):
        self.size = size
        self.data = np.arange(size)

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        return {"pid": os.getpid(), "value": self.data[i]}


def descendants(pid):
    """Return a process, its children, and so on."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            number, _, rest = path.read_text().partition(" ")
            state, parent = rest.rpartition(") ")[2].split()[:2]
            if state != "Z":
                parents[int(number)] = int(parent)
    found, new = set(), {pid}
    while new:
        found |= new
        new = {number for number, parent in parents.items() if parent in new} - found
    return found


def workers():
    """Return this process's workers in use, without spare ones and multiprocessing's helpers."""
    own = descendants(os.getpid()) - {os.getpid(), *spare_workers()}
    return {number for number in own if has_segments(number)}


def spare_workers():
    """Return this process's workers waiting for another loop; only `_spares` has these."""
    from pipeline.workers import spares

    return [each.process.pid for each in list(spares._spares)]


def no_worker_left():
    """Return whether no worker is in use. Spare ones are ended."""
    from pipeline.workers import spares

    if workers():
        return False
    spares.end_all()
    return not workers()


def has_segments(number):
    """Return whether a process has this library's shared memory."""
    try:
        return "memfd:pipeline" in Path(f"/proc/{number}/maps").read_text()
    except OSError:
        return False


def memory_left():
    """Return the names in /dev/shm not mapped by other programs, because other programs and tests may be running."""
    names = set(os.listdir("/dev/shm"))
    own = descendants(os.getpid())
    for path in Path("/proc").glob("[0-9]*/maps"):
        if int(path.parent.name) not in own:
            with contextlib.suppress(OSError):
                names -= {line.partition("/dev/shm/")[2] for line in path.read_text().splitlines()}
    return names


def of_its_size(item):
    """Return an array with a different size for each item, so each needs a separate segment."""
    return np.zeros(70_000 + int.from_bytes(item[:2], "little"), np.uint8)


def opened(directory):
    """Wait until the file named go exists."""
    while not Path(directory, "go").exists():
        time.sleep(0.001)


def _raised(pid, error):
    """Unpickles as the error, except in that process."""
    if os.getpid() != pid:
        raise error
    return pid


class Explosive:
    """Unpickles in no other process."""

    def __init__(self, error):
        self.error = error

    def __reduce__(self):
        return _raised, (os.getpid(), self.error)


def explosive(item):
    """Return a result whose unpickling fails, at odd numbers."""
    i, error = item
    return Explosive(error) if i % 2 else i


def forking(directory):
    """Fork a process that lives on, write its number to a file, and be killed."""
    pid = os.fork()
    if not pid:
        signal.pause()
    Path(directory, "forked").write_text(str(pid))
    os.kill(os.getpid(), signal.SIGKILL)


def fork_server():
    """Return the number of the fork server, a child of this process; only `_current` has it."""
    from pipeline.workers import server

    return server._current.pid


def failing(number):
    """Fail for number 3 with the errno in front, directly or as the cause of another error."""
    code, number, chained = number
    if number != 3:
        return number
    error = OSError(code, "failed") if code else OSError("no number")
    if chained:
        raise ValueError("cannot be decoded") from error
    raise error


class Adding:
    """A function with data, counting how often it was built in this process."""

    made = 0

    def __init__(self, data):
        self.data = data

    def __setstate__(self, state):
        self.data = state["data"]
        Adding.made += 1

    def __call__(self, number):
        return number + self.data[0], Adding.made


class Holding:
    """Returns what an attribute's item is in the worker, and how often the object was made there."""

    made = 0

    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def __setstate__(self, state):
        self.__dict__.update(state)
        Holding.made += 1

    def __call__(self, place):
        items = self.items
        return repr(items[place]), type(items[place]).__name__, len(items), Holding.made


class Twice(Holding):
    """Returns whether two attributes are one list in the worker, and of the same items."""

    def __call__(self, _):
        self.items[0] = "changed here"
        return self.items is self.again, self.items is self.within["deep"][0], self.again[0], self.other[0]


class Text(str):
    """A string with an attribute."""


class Counting:
    """Returns the number of its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, item):
        self.calls += 1
        return self.calls


class Doubling(functools.partial):
    """A partial function with a result of its own."""

    def __call__(self, *args):
        return 2 * super().__call__(*args)


class NeedsFile:
    """A function that can only be built if a file exists."""

    def __init__(self, path):
        self.path = path

    def __setstate__(self, state):
        self.text = state["path"].read_text()

    def __call__(self, number):
        return self.text


def of_os(name):
    return getattr(os, name)


class NeedsName:
    """A function that is built from a name that another program put into a module."""

    def __reduce__(self):
        return of_os, ("added",)

    def __call__(self, number):
        return number


class Carrier:
    """A function with data, counting its copies in this process."""

    copies = 0

    def __init__(self, data):
        self.data = data

    def __setstate__(self, state):
        self.data = state["data"]
        Carrier.copies += 1

    def __del__(self):
        Carrier.copies -= 1

    def __call__(self, item):
        return Carrier.copies


def carried(item):
    """Return how many carriers there are in this process."""
    return Carrier.copies


def square(number):
    return number * number


def is_odd(number):
    return number % 2 == 1


def thrice(number):
    return [number] * 3


def odd_ones(number):
    """Return an odd number; fail for an even one."""
    if number % 2 == 0:
        raise ValueError("even")
    return number


def handles_sigterm(number):
    return signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL


def drawn(number):
    """Draw a number for this example."""
    import pipeline

    return number, float(pipeline.example_rng().random())


def doubled(row):
    return 2 * row


def shared_draws(_):
    """Return numbers from the process-wide generators, and one from `example_rng`."""
    normal = np.random.randn(), random.gauss(0, 1)
    return np.array([random.random(), np.random.random(), *normal, pipeline.example_rng().random()])


OWN = np.random.default_rng(0)


def own_draws(_):
    return OWN.random()


class OwnDraws:
    def __init__(self):
        self.generator = random.Random(0)

    def draw(self, _):
        return self.generator.random()


def three_shared_draws(_):
    for _ in range(3):
        yield shared_draws(_)


def in_another_process(value):
    return next(iter(pipeline.dataset([value]).map(abs, workers=pipeline.processes(1))))


def after_draws(count, value):
    """Return a value after drawing numbers from the process-wide generators."""
    for _ in range(count):
        shared_draws(value)
    return value


def lock(_):
    """Return something that cannot be sent to another process."""
    return threading.Lock()
