"""pipeline.processes: what comes back from them, and through which memory."""

import functools
import gc
import itertools
import os
import pickle
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import worker_functions as functions
from helpers import plain, raises, run_script, wait_until
from orchestration import closed_queue, fresh_collection, no_thread_left

import pipeline
from pipeline import batch, map_ahead, shuffle_batch
from pipeline.workers.ahead import Buffer
from pipeline.workers.shared import Memory, Reader, Writer

held = pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="references are not counted")


@pytest.fixture(scope="module")
def pool():
    with pipeline.processes(2) as made:
        list(made.map(functions.pid, range(8)))
        yield made


@pytest.fixture(autouse=True)
def _fresh(pool):
    with fresh_collection(), no_thread_left():
        yield


def root(array):
    """What owns the memory of an array."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array


class TestResults:
    @pytest.mark.parametrize("name", ["large", "changing", "strings", "objects", "nested", "view"])
    @pytest.mark.parametrize("chunksize", [1, 7])
    def test_are_those_of_the_function(self, pool, name, chunksize):
        function = getattr(functions, name)
        ahead = map_ahead(function, range(12), pool, chunksize=chunksize)
        for got, wanted in zip(ahead, map(function, range(12)), strict=True):
            assert repr(plain(got)) == repr(plain(wanted))

    def test_stay_what_they_are_while_others_come(self, pool):
        kept = list(itertools.islice(map_ahead(functions.large, itertools.count(), pool, chunksize=3), 120))
        assert [int(each.sum()) for each in kept] == [150 * 1024 * (i % 251) for i in range(120)]
        assert all(isinstance(root(each), Memory) for each in kept)

    def test_can_be_written_to(self, pool):
        first, second = itertools.islice(map_ahead(functions.large, range(2), pool), 2)
        first[:] = 9
        assert (second == 1).all()

    def test_are_memory_that_is_used_again(self, pool):
        seen = set()
        for block in blocks(map_ahead(functions.large, range(400), pool, chunksize=4, buffersize=4), 4):
            seen.add(block.__array_interface__["data"][0])
        assert len(seen) <= 2 * (2 + 4)  # of 100: what may be in flight, for each worker

    def test_of_any_call(self, pool):
        assert pool.submit(sorted, [3, 1, 2], reverse=True).result() == [3, 2, 1]
        assert list(pool.map(pow, [2, 3], [5, 2])) == [32, 9]
        with pytest.raises(ZeroDivisionError) as caught:
            pool.submit(divmod, 1, 0).result()
        assert "Traceback" in str(caught.value.__cause__)

    def test_what_is_printed_is_not_lost(self, tmp_path):
        (tmp_path / "program.py").write_text(PRINTING)
        done = run_script(f"import runpy; runpy.run_path({str(tmp_path / 'program.py')!r}, run_name='__main__')")
        assert sorted(done.stdout.split()) == sorted(f"item {i}" for i in range(6)) or done.stdout.count("item") == 6
        assert done.returncode == 0


def blocks(ahead, n):
    while True:
        try:
            (block,) = ahead.block(n)
        except pipeline.OutOfRangeError:
            return
        yield block


PRINTING = f"""
import sys
sys.path.insert(0, {os.path.dirname(functions.__file__)!r})
import pipeline, worker_functions

if __name__ == "__main__":
    assert list(pipeline.map_ahead(worker_functions.printing, range(6), workers=pipeline.processes(2))) == [*range(6)]
"""


class TestSegments:
    """The two sides, without processes."""

    def pair(self):
        reader = Reader()
        writer = Writer(reader.add)
        return writer, reader, lambda result: reader.result(pickle.loads(writer.reply(result)))

    def test_a_small_array_needs_none(self):
        writer, _, send = self.pair()
        assert send(writer.empty((3,), np.dtype("i4")) * 0).tolist() == [0, 0, 0]
        assert writer._count == 0

    def test_one_that_was_written_there_is_not_copied(self):
        writer, _, send = self.pair()
        array = writer.empty((300, 1000), np.dtype("i4"))
        array[:] = 7
        got = send({"a": array[:200], "b": 1})
        assert got["a"].shape == (200, 1000)
        array[0, 0] = 8  # the same memory
        assert got["a"][0, 0] == 8

    def test_the_same_array_twice(self):
        writer, reader, send = self.pair()
        array = writer.empty((100_000,), np.dtype("u1"))
        array[:] = 3
        one, two = send([array, array[:]])
        del array
        two[:] = 4
        assert (one == 3).all()
        del one, two
        writer.take_back(reader.freed())
        assert writer._count == 2

    def test_it_comes_back_when_the_last_view_is_gone(self):
        writer, reader, send = self.pair()
        got = send(np.ones(100_000))[5:]
        assert reader.freed() == []
        del got
        freed = reader.freed()
        assert freed == [0]
        writer.take_back(freed)
        send(np.ones(90_000))
        assert writer._count == 1

    def test_growing_results_do_not_pile_up(self):
        writer, reader, send = self.pair()
        for i in range(1, 60):
            assert send(np.full(i * 20_000, i)).sum() == i * i * 20_000
            writer.take_back(reader.freed())
        assert len(reader._memories) == 1

    def test_a_result_that_cannot_be_pickled_keeps_nothing(self):
        writer, _, send = self.pair()
        for _ in range(3):
            with pytest.raises((AttributeError, TypeError, pickle.PicklingError)):
                send([writer.empty((100_000,), np.dtype("f8")), np.ones(100_000), lambda: None])
        assert send(np.ones(100_000)).sum() == 100_000
        assert writer._count == 2


class TestQueue:
    """Arrays over segments that are given to a queue. What the worker writes meanwhile, the test writes."""

    def given(self, queue, rows=8):
        memory = Memory(-1, rows << 16)
        array = np.ndarray((rows, 1 << 16), np.uint8, buffer=memory)
        array[:] = np.arange(rows)[:, None]
        values = (array,)
        del array
        queue._enqueue_many_given(values)
        return np.ndarray(rows << 16, np.uint8, buffer=memory)

    @held
    def test_come_out_whole(self):
        queue = pipeline.FIFOQueue(9, "uint8", (1 << 16,))
        memory = self.given(queue)
        batch = queue.dequeue_many(8)
        assert np.shares_memory(batch, memory)
        assert batch[:, 5].tolist() == list(range(8))

    def test_in_parts_they_are_copied(self):
        queue = pipeline.FIFOQueue(20, "uint8", (1 << 16,))
        memory = [self.given(queue) for _ in range(2)]
        for begin, end in ((0, 7), (7, 9), (9, 16)):
            batch = queue.dequeue_many(end - begin)
            assert not any(np.shares_memory(batch, each) for each in memory)
            assert batch[:, 5].tolist() == [i % 8 for i in range(begin, end)]

    def test_into_an_array_of_the_caller_they_are_copied(self):
        queue, out = pipeline.FIFOQueue(9, "uint8", (1 << 16,)), np.empty((8, 1 << 16), np.uint8)
        self.given(queue)
        assert queue.dequeue_many(8, out=out) is out
        assert out[:, 5].tolist() == list(range(8))

    def test_a_shuffle_queue_copies(self):
        queue = pipeline.RandomShuffleQueue(9, 0, "uint8", (1 << 16,), seed=1)
        memory = self.given(queue)
        assert not np.shares_memory(queue.dequeue_many(8), memory)

    def test_an_array_that_somebody_else_has_is_copied(self):
        queue = pipeline.FIFOQueue(9, "uint8", (1 << 16,))
        array = np.ndarray((8, 1 << 16), np.uint8, buffer=Memory(-1, 8 << 16))
        queue._enqueue_many_given((array,))
        array[:] = 3
        assert not queue.dequeue_many(8).any()


class TestBatches:
    def test_a_batch_of_one_chunk(self, pool):
        with batch(range(64), 16, function=functions.large, workers=pool) as batches:
            assert [each[:, 0, 0].tolist() for each in batches] == [[*range(i, i + 16)] for i in range(0, 64, 16)]

    @held
    def test_a_batch_that_is_a_chunk_is_not_copied(self, pool):
        with batch(range(640), 64, function=functions.with_number, workers=pool) as batches:
            kept = list(batches)
        assert all(isinstance(root(images), Memory) and images.flags.writeable for images, _ in kept)
        for images, numbers in kept:
            np.testing.assert_array_equal(images[:, 0, 0], numbers % 251)
            np.testing.assert_array_equal(images[:, -1, -1], numbers % 251)

    @pytest.mark.parametrize("size", [10, 63, 65, 128])
    def test_batches_of_other_sizes(self, pool, size):
        source = map_ahead(functions.with_number, range(320), pool, chunksize=64)
        with batch(source, size, allow_smaller_final_batch=True) as batches:
            kept = list(batches)
        for (one, _), (other, _) in itertools.combinations(kept, 2):
            assert not np.may_share_memory(one, other)
        images, numbers = (np.concatenate(parts) for parts in zip(*kept, strict=True))
        assert numbers.tolist() == list(range(320))
        np.testing.assert_array_equal(images[:, 7, 7], numbers % 251)

    def test_a_dataset(self, pool):
        with shuffle_batch(functions.Folder(100), 10, 60, 30, seed=1, deterministic=True, workers=pool) as batches:
            got = list(batches)
        assert sorted(value for each in got for value in each["value"].tolist()) == [*range(100)]
        assert {pid for each in got for pid in each["pid"].tolist()} <= functions.workers()

    def test_rounds(self, pool):
        loop = batch([1, 2, 3, 4], 2, function=functions.napping, workers=pool)
        assert [[each[:, 0].tolist() for each in loop] for _ in range(3)] == [[[1, 2], [3, 4]]] * 3

    def test_a_producer_a_reader_and_a_queue(self, pool, tmp_path):
        paths = []
        for i in range(3):
            paths.append(str(tmp_path / f"{i}.txt"))
            (tmp_path / f"{i}.txt").write_text("".join(f"{i}{j}\n" for j in range(4)))

        def files():
            return pipeline.string_input_producer(paths, num_epochs=1, shuffle=False)

        def names(source):
            with batch(source, 1, function=os.path.basename, workers=pool) as batches:
                return [each[0].decode() for each in batches]

        assert names(files()) == ["0.txt", "1.txt", "2.txt"]
        assert names(closed_queue(paths)) == ["0.txt", "1.txt", "2.txt"]
        reader, queue = pipeline.TextLineReader(), files()
        with batch(map_ahead(int, lambda: reader.read(queue).value, pool, chunksize=3), 4) as batches:
            assert [each.tolist() for each in batches] == [[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23]]

    def test_leaving_a_loop_whose_queue_gives_no_items(self, pool):
        queue = pipeline.FIFOQueue(5, "int64", [()])
        queue.enqueue(1)
        with batch(map_ahead(functions.napping, queue, pool, chunksize=1, buffersize=1), 1) as batches:
            assert next(batches)[0, 0] == 1
        queue.enqueue(2)  # nobody waits for it any more; the next loop does
        with batch(map_ahead(functions.napping, queue, pool, chunksize=1, buffersize=1), 1) as batches:
            assert next(batches)[0, 0] == 2

    @pytest.mark.parametrize("workers", [None, "threads", "executor"])
    def test_other_workers(self, workers):
        with ThreadPoolExecutor(2) as executor:
            chosen = {None: None, "threads": pipeline.threads(2), "executor": executor}[workers]
            with batch(range(9), 3, function=lambda i: i * i, workers=chosen) as batches:
                assert [each.tolist() for each in batches] == [[0, 1, 4], [9, 16, 25], [36, 49, 64]]
            if workers == "threads":
                chosen.shutdown()

    def test_bytes_in_flight(self):
        buffer = Buffer(workers=2, chunks_at_most=8, bytes_at_most=1000)
        assert [buffer.chunks(size) for size in (None, 0, 100, 200, 400, 5000)] == [4, 8, 8, 5, 3, 3]
        assert Buffer(2, 1, 1000).chunks(5000) == 1


class TestChoice:
    @pytest.mark.parametrize("make", [pipeline.threads, pipeline.processes])
    def test_of_how_many(self, make):
        assert make(3)._max_workers == 3
        assert make()._max_workers == len(os.sched_getaffinity(0))
        with raises(ValueError, f"{make.__name__}: count must be at least 1, got 0"):
            make(0)
        with pytest.raises(TypeError):
            make(1.5)
        with raises(TypeError, f"{make.__name__}: setup must be callable, not 3"):
            make(1, setup=3)

    def test_of_a_method(self):
        with raises(ValueError, "processes: method must be 'forkserver' or 'spawn', got 'fork'"):
            pipeline.processes(1, method="fork")

    def test_of_two_names(self, pool):
        with raises(TypeError, "map_ahead: workers, or executor, must say who calls the function, not both"):
            map_ahead(abs, [1], pool, workers=pool)
        with raises(TypeError, "map_ahead: workers, or executor, must say who calls the function, such as"):
            map_ahead(abs, [1])
        with raises(TypeError, "workers must be a concurrent.futures.Executor, not 4: such as pipeline.processes(4)"):
            batch([1], 1, function=abs, workers=4)

    @pytest.mark.parametrize("source", [[1, 2], np.arange(3), iter([1]), lambda: 1, range(4)])
    def test_of_workers_without_a_function(self, pool, source):
        with raises(TypeError, "workers: pass function= too, which workers call with each example of the source"):
            batch(source, 1, workers=pool)

    def test_of_functions_that_cannot_be_sent(self, pool):
        with pytest.raises(TypeError, match=r"<lambda>.* cannot be sent to other processes .* top level of a module"):
            map_ahead(lambda i: i, [1], workers=pool)
        with pytest.raises(TypeError, match=r"setup must be defined at the top level"):
            pipeline.processes(1, setup=lambda: None)

    def test_of_a_function_of_an_interactive_session(self):
        done = run_script(
            "import pipeline\ndef f(i): return i\nnext(pipeline.map_ahead(f, [1], workers=pipeline.processes(1)))"
        )
        assert "cannot import what an interactive session defines: put the function into a module" in done.stderr

    def test_setup(self):
        for method in ("forkserver", "spawn"):
            workers = pipeline.processes(1, setup=functions.get_ready, method=method)
            assert list(map_ahead(functions.ready, range(4), workers=workers)) == [(1, True)] * 4
        ready = threading.local()

        def get_ready():
            ready.yes = True

        with pipeline.threads(2, setup=get_ready) as workers:
            assert list(map_ahead(lambda i: ready.yes, range(4), workers=workers)) == [True] * 4

    def test_functions_are_sent_once_and_not_kept_for_ever(self, pool):
        data = Counted(np.zeros(1000))
        known = weakref.ref(data)
        assert list(map_ahead(data, range(100), pool, chunksize=1)) == [0] * 100
        assert data.pickled == 2  # for the check, and to be sent
        for i in range(40):  # more than a worker remembers
            assert pool.submit(functools.partial(pow, i), 2).result() == i * i
        del data
        gc.collect()
        wait_until(lambda: known() is None, "the function to be garbage")


class Counted:
    def __init__(self, data):
        self.data, self.pickled = data, 0

    def __call__(self, i):
        return int(self.data[i])

    def __reduce__(self):
        self.pickled += 1
        return Counted, (self.data,)
