"""Functions for executor workers in tests, importable by other processes, and executors."""

import collections
import contextlib
import dataclasses
import os
import signal
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np

import pipeline


def same(item):
    return item


def square(i):
    return i * i


def forks_at_two(i):
    if i == 2:
        os.fork()  # the child returns from the function, too
    return i


def row(i):
    return np.full(3, i, np.float32)


def pair(i):
    return np.full((2, 2), i, np.int16), i


def record(i):
    return {"name": b"n%d" % i, "row": row(i), "score": i / 2}


class Buffers(threading.local):
    """Each thread has its own."""

    def __init__(self):
        self.array, self.list, self.bytes = np.zeros((2, 3), np.float32), [0], bytearray(3)


BUFFERS = Buffers()


def buffers(i):
    """Return the same arrays each time in a thread."""
    BUFFERS.array[:] = BUFFERS.list[0] = i
    BUFFERS.bytes[:] = b"%03d" % i
    return BUFFERS.array, BUFFERS.array[0], BUFFERS.list, BUFFERS.bytes


def reused(i):
    """Return the same array each time in a thread, in a list."""
    BUFFERS.array[:] = i
    return [BUFFERS.array[0, :2]]


def ragged(i):
    return np.full(i % 4, i, np.int64)


def words(i):
    return np.array([b"a", b"b" * i], object)


class OwnList(list):
    pass


# Examples with one array or several components, depending on their contents.
LISTS = {
    "floats and integers": lambda i: [i, 1.5],
    "bools": lambda i: [True, i],
    "large integers": lambda i: [2**63, i],
    "scalars": lambda i: [np.int8(i), np.float32(2)],
    "texts": lambda i: ["a", "b" * i],
    "texts and numbers": lambda i: [i, "a"],
    "own class": lambda i: OwnList([i, 2]),
    "arrays": lambda i: [np.full(2, i), np.ones(2)],
    "an array and a number": lambda i: [np.full(2, i), 3],
    "lists": lambda i: [[np.float32(i)], [np.float32(1)]],
    "ragged": lambda i: [[1], [1, 2]],
    "tuples": lambda i: [(i, 2), (3, 4)],
    "dicts": lambda i: [{"a": i}, {"b": [1, 2]}],
    "objects": lambda i: [None, i],
    "empty list": lambda i: [],
    "empty dict": lambda i: {},
    "empty tuple": lambda i: (),
    "ordered": lambda i: collections.OrderedDict(b=i, a=1),
    "text": lambda i: np.str_("x" * i),
    "equal texts": lambda i: np.str_("x"),
    "bytes": lambda i: np.bytes_(b"x\0" * i),
    "single text in an array": lambda i: np.array(["a", "bb"][i % 2]),
}


def one_of_lists(name, i):
    return LISTS[name](i)


def listed(i):
    return [[i, i + 1], np.float32(i)]


def fails_at_third(i):
    if i % 3 == 2:
        raise ValueError(f"bad item {i}")
    return i


class Awkward(Exception):
    """It can be pickled, but not rebuilt from its pickle."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def awkward(i):
    raise Awkward(i, i)


class Holding(Exception):
    """It cannot be pickled."""

    def __init__(self, text):
        super().__init__(text)
        self.lock = threading.Lock()


def holding(i):
    raise Holding("with a lock")


class Disguised(Exception):
    """Its pickled form is not an exception."""

    def __reduce__(self):
        return str, ("text",)


def disguised(i):
    raise Disguised("no text")


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    """Its attributes cannot be set."""

    number: int


def freezes(i):
    if i == 3:
        raise Frozen(i)
    return i


def stop_iteration(i):
    return next(iter(()))


def nothing(i):
    return None


def no_components(i):
    return ()


def leaves(i):
    raise SystemExit(i)


def leaves_at_six(i):
    if i == 6:
        raise SystemExit(i)
    return i


def dies_at_six(i):
    if i == 6:
        os.kill(os.getpid(), signal.SIGKILL)
    return i


def not_to_be_sent(i):
    return (lambda: i,)


def sent_but_six(i):
    return threading.Lock() if i == 6 else i


def interrupted_at_six(i):
    if i == 6:
        raise KeyboardInterrupt
    return i


def process(i):
    return os.getpid()


class ByHand(Executor):
    """An executor that runs nothing by itself: `run` executes a future's call.

    Attributes:
        futures: All submitted ones.
    """

    def __init__(self):
        self.futures = []
        self.down = False

    def submit(self, function, /, *args):
        if self.down:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = Future()
        future.call = lambda: function(*args)
        self.futures.append(future)
        return future

    def run(self, *numbers):
        for number in numbers:
            future = self.futures[number]
            if future.set_running_or_notify_cancel():
                future.set_result(future.call())

    def run_new(self):
        """Run the submitted calls not yet done."""
        self.run(*(i for i, future in enumerate(self.futures) if not future.done()))


@contextlib.contextmanager
def two_pools():
    """Return two threads, two standard library processes, and two from this library, all already running."""
    context = get_context("forkserver")
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2, mp_context=context) as processes:
        with pipeline.processes(2) as shared:
            made = {"threads": threads, "processes": processes, "shared": shared}
            for pool in made.values():
                list(pool.map(square, range(4)))
            yield made


def drawn(i):
    """Return the item, and a number from its generator."""
    return i, int(pipeline.example_rng().integers(1 << 30))


def large(i):
    """Return 720 KB, transposed every second time."""
    row = np.full((300, 300), i, np.float64)
    return {"row": row, "turned": row.T if i % 2 else row, "number": i}
