"""The memory of large batches is reused, but never while it is still visible."""

import gc
import io
import os
import pickle
import random
import resource
import threading
import tracemalloc

import numpy as np
import pytest
from helpers import raises, run_in_thread, run_script
from tracing import ArrayBytes

from pipeline import FIFOQueue, RandomShuffleQueue
from pipeline.errors import DeadlineExceededError, OutOfRangeError

MIB = 2**20
ROW = 2**18
N = 8  # rows in a batch: 2 MiB
SPARES = 3


def block(value, n=N):
    return np.full((n, ROW), value, np.uint8)


@pytest.fixture
def queue():
    return FIFOQueue(-1, np.uint8, shapes=(ROW,))


@pytest.fixture
def traced():
    """Return how many MiB of NumPy's later allocations are in use, including spare blocks.

    Python's own memory is left out: a table that happens to grow in CPython takes 0.2 MiB by itself.
    """
    gc.collect()
    with ArrayBytes() as alive:
        yield lambda: round(alive() / MIB, 1)


def python_memory():
    """Return the total MiB allocated within `traced`."""
    return tracemalloc.get_traced_memory()[0] / MIB


def batch(queue, value=1, n=N):
    """Put a batch through."""
    queue.enqueue_many(block(value, n))
    return queue.dequeue_many(n)


def address(array):
    return array.__array_interface__["data"][0]


def intact(array, value):
    return bool((array == value).all())


def test_memory_is_used_again(queue):
    first = batch(queue, 1)
    where = address(first)
    del first
    second = batch(queue, 2)
    assert address(second) == where
    assert intact(second, 2)


@pytest.mark.parametrize("method", ["dequeue_many", "dequeue_up_to"])
def test_a_loop_needs_two_batches(queue, method):
    where = set()
    for value in range(10):
        queue.enqueue_many(block(value))
        array = getattr(queue, method)(N)
        assert intact(array, value)
        where.add(address(array))
    assert len(where) == 2


def test_arrays_are_ordinary_ones(queue):
    array = batch(queue)
    del array
    array = batch(queue)
    assert type(array) is np.ndarray
    assert array.base is None
    assert array.flags.owndata
    assert array.flags.writeable
    assert array.flags.c_contiguous
    assert address(array) % 64 == 0
    array += 1
    assert intact(array, 2)


def test_other_arrays_are_not_affected(queue):
    """NumPy's own allocator is back in place."""
    array = batch(queue)
    where = address(array)
    del array
    mine = np.empty((N, ROW), np.uint8)
    assert address(mine) != where
    assert address(batch(queue)) == where


VIEWS = {
    "slice": lambda array: array[3:4],
    "row": lambda array: array[-1],
    "columns": lambda array: array[:, ::7],
    "view": lambda array: array.view(np.uint32),
    "transposed": lambda array: array.T,
    "slice of a slice": lambda array: array[2:][1:],
    "memoryview": memoryview,
    "frombuffer": np.frombuffer,
    "asarray": lambda array: np.asarray(memoryview(array)[1:]),
    "ctypes": lambda array: np.ctypeslib.as_ctypes(array),
    "torch": lambda array: np.from_dlpack(array),
}


@pytest.mark.parametrize("view", VIEWS)
def test_not_while_a_view_lives(queue, view):
    array = batch(queue, 7)
    where, seen = address(array), VIEWS[view](array)
    del array
    others = [batch(queue, value) for value in range(5)]
    assert where not in {address(other) for other in others}
    assert set(np.asarray(seen).tobytes()) == {7}
    del seen
    gc.collect()
    assert address(batch(queue)) == where


def test_what_is_held_in_turn_stays_as_it_was(queue):
    rng, held = random.Random(1), {}
    for value in range(200):
        held[rng.randrange(6)] = value, batch(queue, value)[:: rng.choice([1, 2])]
        assert all(intact(array, value) for value, array in held.values())


def test_threads(queue):
    """Threads take, keep and drop batches concurrently, including each other's."""
    shared, errors = [None] * 3, []

    def work(seed):
        rng = random.Random(seed)
        for value in range(150):
            mine = seed * 40 + value % 40
            array = batch(queue, mine)
            values = np.unique(array[:, ::ROW])  # other threads' rows too, but none that changes
            place = rng.randrange(3)
            other, shared[place] = shared[place], (values, array)
            if other is not None and not np.array_equal(np.unique(other[1][:, ::ROW]), other[0]):
                errors.append(value)
            if not np.array_equal(np.unique(array[:, ::ROW]), values):
                errors.append(value)

    for call in [run_in_thread(work, seed) for seed in range(4)]:
        call.result()
    assert not errors


def test_dropped_by_threads_at_the_same_time(queue, traced):
    for _ in range(20):
        arrays = [batch(queue) for _ in range(8)]
        ready = threading.Barrier(8)

        def drop(ready=ready, arrays=arrays):
            array = arrays.pop()
            ready.wait()
            del array

        for call in [run_in_thread(drop) for _ in range(8)]:
            call.result()
        assert traced() <= SPARES * 2 + 0.5


def test_kept_are_three_batches(queue, traced):
    arrays = [batch(queue) for _ in range(10)]
    assert traced() == 20
    arrays.clear()
    assert traced() == SPARES * 2


def test_memory_follows_the_size_of_batches(queue, traced):
    """At most three blocks are kept, none more than four times as long as the last batch."""
    rng = random.Random(2)
    sizes = [*range(1, 81)] * 2
    rng.shuffle(sizes)
    for n in sizes:
        held = [batch(queue, n % 256, n) for _ in range(rng.randrange(1, 6))]
        assert all(intact(array, n % 256) for array in held)
        live = sum(array.nbytes for array in held) / MIB
        assert traced() <= live + SPARES * min(80, 4 * n) / 4 + 0.2
        del held
        assert traced() <= SPARES * min(80, 4 * n) / 4 + 0.2


@pytest.mark.parametrize(("rows", "same"), [(8, True), (7, True), (5, True), (3, True), (1, False), (9, False)])
def test_a_smaller_batch_reuses_memory(queue, rows, same):
    """Down to a quarter of the size."""
    first = batch(queue, 1)
    where = address(first)
    del first
    second = batch(queue, 2, rows)
    assert (address(second) == where) is same
    assert intact(second, 2)


def test_the_end_of_a_long_block_is_returned(queue):
    """A block twice as long as its array keeps half as much memory again: three batches of 50 MiB use 225, not 300."""
    arrays = [batch(queue, 1, 400) for _ in range(3)]
    before = _resident()
    arrays = None
    arrays = [batch(queue, 2, 200) for _ in range(3)]
    assert all(intact(array, 2) for array in arrays)
    assert before - _resident() > 50


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / MIB


def test_small_batches_are_not_kept():
    """Batches below 128 KiB are not recycled."""
    queue = FIFOQueue(-1, np.uint8, shapes=(ROW // 8,))
    gc.collect()
    with ArrayBytes() as alive:
        for n, kept in ((3, 0), (4, 4), (3, 4)):  # the last has another kind, and does not free the large one
            queue.enqueue_many(np.ones((n, ROW // 8), np.uint8))
            queue.dequeue_many(n)
            assert alive() == kept * (ROW // 8)


def test_the_end_of_the_queue_frees_all(queue, traced):
    last = batch(queue)
    batch(queue)
    queue.close()
    with raises(OutOfRangeError):
        queue.dequeue_many(N)
    assert traced() == 2
    del last
    assert traced() == 0


def test_what_is_left_of_a_closed_queue(queue):
    queue.enqueue_many(block(5))
    queue.close()
    with raises(OutOfRangeError):
        queue.dequeue_many(N + 1)
    assert intact(queue.dequeue_up_to(N + 1), 5)


def test_the_queue_goes_first(traced):
    queue = FIFOQueue(-1, np.uint8, shapes=(ROW,))
    arrays = [batch(queue, value) for value in range(5)]
    arrays[0] = None
    del queue
    gc.collect()
    assert traced() == 8
    assert all(intact(array, value) for value, array in enumerate(arrays) if value)
    arrays.pop()
    assert traced() == 6
    arrays.clear()
    assert traced() == 0


def test_each_component_has_its_own(traced):
    queue = FIFOQueue(-1, [np.uint8, np.float32, object, np.int32], shapes=[(ROW,), (ROW,), (), ()])
    rows = [block(1), np.ones((N, ROW), np.float32), [None] * N, range(N)]
    queue.enqueue_many(rows)
    where = [address(array) for array in queue.dequeue_many(N)[:2]]
    queue.enqueue_many(rows)
    arrays = queue.dequeue_many(N)
    assert [address(array) for array in arrays[:2]] == where
    assert [array.tolist() for array in arrays[2:]] == [[None] * N, list(range(N))]
    arrays = None
    assert traced() >= 10


def test_queues_do_not_share(queue):
    other = RandomShuffleQueue(-1, 0, np.uint8, shapes=(ROW,))
    where = address(batch(queue))
    mine = batch(other)
    assert address(mine) != where
    assert address(batch(queue)) == where


class Failing(FIFOQueue):
    fails = False

    # Private: at this call the arrays exist, without an owner yet.
    def _named(self, values):
        if self.fails:
            raise RuntimeError("planted")
        return super()._named(values)


def test_an_exception_when_the_arrays_are_made(traced):
    queue = Failing(-1, np.uint8, shapes=(ROW,), names=["x"])
    queue.enqueue_many({"x": block(1)})
    where = address(queue.dequeue_many(N)["x"])
    queue.enqueue_many({"x": block(2)})
    queue.fails = True
    for _ in range(5):
        with raises(RuntimeError, "planted"):
            queue.dequeue_many(N)
    queue.fails = False
    assert traced() == 2
    array = queue.dequeue_many(N)["x"]
    assert address(array) == where
    assert intact(array, 2)


def test_a_call_that_gives_up(queue, traced):
    batch(queue)
    queue.enqueue_many(block(3)[1:])
    for _ in range(5):
        with raises(DeadlineExceededError):
            queue.dequeue_many(N, timeout=0)
    assert traced() == 2
    assert intact(queue.dequeue_many(N - 1), 3)


def test_large_single_elements():
    queue = FIFOQueue(-1, np.uint8, shapes=(2 * MIB,))
    queue.enqueue([block(1).ravel()])
    where = address(queue.dequeue())
    queue.enqueue([block(2).ravel()])
    array = queue.dequeue()
    assert address(array) == where
    assert intact(array, 2)


def test_a_batch_as_an_element_of_another_queue(queue):
    """It may be held by reference in the queue, so its memory is not reused meanwhile."""
    batches = FIFOQueue(-1, np.uint8, shapes=(N, ROW))
    for value in range(6):
        batches._enqueue_given((batch(queue, value),))  # as a loop gives away its own arrays
    for value in range(6):
        assert intact(batches.dequeue(), value)


def test_copies(queue):
    array = batch(queue, 9)
    file = io.BytesIO()
    np.save(file, array)
    file.seek(0)
    copies = [pickle.loads(pickle.dumps(array, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    buffers = []
    pickled = pickle.dumps(array, 5, buffer_callback=buffers.append)
    copies += [np.load(file), array.copy(), pickle.loads(pickled, buffers=buffers)]
    del array
    assert all(intact(other, 1) for other in [batch(queue) for _ in range(5)])
    assert all(intact(copy, 9) for copy in copies)


@pytest.mark.parametrize("n", [1, N - 1, N + 1, 5 * N])
def test_resized_by_the_user(queue, n):
    array = batch(queue, 4)
    array.resize((n, ROW), refcheck=False)
    assert intact(array[:N], 4)
    assert intact(array[N:], 0)
    del array
    for size in (n, N, n):
        assert intact(batch(queue, 6, size), 6)


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # NumPy 2.5's
def test_changed_in_place(queue):
    """Even if NumPy frees an array with a wrong size, a later batch must not overrun the block."""
    array = batch(queue)
    array.shape = (2, N // 2, ROW)
    del array
    array = batch(queue)
    array.__setstate__((1, (1,), np.dtype("S64"), False, b"x" * 64))
    assert array.tolist() == [b"x" * 64]
    for n in (64 * N, N, 64 * N):
        assert intact(batch(queue, 3, n), 3)


def test_ten_thousand_batches_leak_nothing(queue, traced):
    rows = block(1, 4)
    held = None
    for _ in range(10_000):
        queue.enqueue_many(rows)
        held = queue.dequeue_many(4)[1:2]
    assert intact(held, 1)
    assert traced() <= 3.2  # input, output, and a spare block
    assert python_memory() <= 3.2 + 1


def test_queues_that_come_and_go_leak_nothing(traced):
    held = []
    for value in range(300):
        held = [*held[-3:], batch(FIFOQueue(-1, np.uint8, shapes=(ROW,)), value % 256)]
    assert traced() <= 8.2
    held.clear()
    assert traced() == 0
    assert python_memory() <= 1


SCRIPT = """
import numpy as np, os, sys, threading, warnings
from pipeline import FIFOQueue

warnings.simplefilter("ignore", DeprecationWarning)  # that a process with threads is forked: just that is tested
rows = np.ones((8, 2**18), np.uint8)

def batch(queue):
    queue.enqueue_many(rows)
    return queue.dequeue_many(8)

queue = FIFOQueue(-1, np.uint8, shapes=(2**18,))
"""
FORK = """
stop = threading.Event()

def work():
    while not stop.is_set():
        batch(queue)

threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(20):
    arrays = [batch(queue) for _ in range(5)]
    child = os.fork()
    if child == 0:
        try:
            assert all((array == 1).all() for array in arrays)
            arrays.clear()
            mine = FIFOQueue(-1, np.uint8, shapes=(2**18,))
            assert all((batch(mine) == 1).all() for _ in range(5))
            del queue, mine
        except BaseException as error:
            print("child:", repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for thread in threads:
    thread.join()
assert (batch(queue) == 1).all()
"""
END = """
kept = [batch(queue) for _ in range(5)]
cycle = [kept.pop(), queue]
cycle.append(cycle)

def work(queue=queue):
    while True:
        batch(queue)

for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
del queue
"""


@pytest.mark.parametrize(
    "script",
    [pytest.param(FORK, marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")), END],
    ids=["fork", "exit"],
)
def test_processes(script):
    done = run_script(SCRIPT + script)
    assert (done.returncode, done.stderr) == (0, "")
