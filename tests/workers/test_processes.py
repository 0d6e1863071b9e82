"""pipeline.processes: results, and the memory they travel through."""

import functools
import gc
import itertools
import os
import pickle
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import worker_functions as functions
from helpers import plain, raises, run_script, wait_until
from orchestration import closed_queue, fresh_collection, no_thread_left

import pipeline
from pipeline.workers.shared import Reader, Writer


@pytest.fixture(scope="module")
def pool():
    with pipeline.processes(2) as made:
        list(made.map(functions.pid, range(8)))
        yield made


@pytest.fixture(autouse=True)
def _fresh(pool):
    with fresh_collection(), no_thread_left():
        yield


def mapped(function, items, workers):
    """Iterate over the workers' results."""
    return iter(pipeline.dataset(items).map(function, workers=workers))


def endless():
    yield from itertools.count()


class TestResults:
    @pytest.mark.parametrize("name", ["large", "changing", "strings", "objects", "nested", "view"])
    def test_are_those_of_the_function(self, pool, name):
        function = getattr(functions, name)
        results = mapped(function, range(12), pool)
        for got, wanted in zip(results, map(function, range(12)), strict=True):
            assert repr(plain(got)) == repr(plain(wanted))

    def test_stay_what_they_are_while_others_come(self, pool):
        kept = list(itertools.islice(mapped(functions.large, endless, pool), 120))
        assert [int(each.sum()) for each in kept] == [150 * 1024 * (i % 251) for i in range(120)]

    def test_can_be_written_to(self, pool):
        first, second = mapped(functions.large, range(2), pool)
        first[:] = 9
        assert (second == 1).all()

    @pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs Linux")
    def test_come_in_memory_that_is_used_again(self, pool):
        most = 0
        for i, _ in enumerate(mapped(functions.large, range(8000), pool)):
            if i % 100 == 0:
                most = max(most, Path("/proc/self/maps").read_text().count("memfd:pipeline"))
        assert 0 < most < 60  # out of at least 125: those in flight, and those that grew

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


PRINTING = f"""
import sys
sys.path.insert(0, {os.path.dirname(functions.__file__)!r})
import pipeline, worker_functions

if __name__ == "__main__":
    numbers = pipeline.dataset(range(6)).map(worker_functions.printing, workers=pipeline.processes(2))
    assert list(numbers) == [*range(6)]
"""


class TestSegments:
    """The two sides, without processes; `_count` and `_memories` are private, and count the segments."""

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
        assert reader.freed().unused == []
        del got
        freed = reader.freed()
        assert freed.unused == [0]
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
                send([writer.empty((100_000,), np.dtype("f8")), np.ones(100_000), threading.Lock()])
        assert send(np.ones(100_000)).sum() == 100_000
        assert writer._count == 2


class TestBatches:
    def test_a_batch_of_one_chunk(self, pool):
        batches = pipeline.dataset(range(64)).map(functions.large, workers=pool).batch(16)
        assert [each[:, 0, 0].tolist() for each in batches] == [[*range(i, i + 16)] for i in range(0, 64, 16)]

    @pytest.mark.parametrize("size", [10, 63, 64, 65, 128])
    def test_batches_of_any_size(self, pool, size):
        kept = list(pipeline.dataset(range(320)).map(functions.with_number, workers=pool).batch(size))
        for (one, _), (other, _) in itertools.combinations(kept, 2):
            assert not np.may_share_memory(one, other)
        images, numbers = (np.concatenate(parts) for parts in zip(*kept, strict=True))
        assert numbers.tolist() == list(range(320))
        np.testing.assert_array_equal(images[:, 7, 7], numbers % 251)
        np.testing.assert_array_equal(images[:, -1, -1], numbers % 251)

    def test_a_sequence_that_they_read(self, pool):
        folder = pipeline.dataset(range(100)).map(functions.Folder(100).__getitem__, workers=pool)
        got = list(folder.shuffle(31, seed=1).batch(10))
        assert sorted(value for each in got for value in each["value"].tolist()) == [*range(100)]
        assert {pid for each in got for pid in each["pid"].tolist()} <= functions.workers()

    def test_passes(self, pool):
        dataset = pipeline.dataset([1, 2, 3, 4]).map(functions.napping, workers=pool).batch(2)
        assert [[each[:, 0].tolist() for each in dataset.epoch(i)] for i in range(3)] == [[[1, 2], [3, 4]]] * 3

    def test_a_producer_a_reader_and_a_queue(self, pool, tmp_path):
        paths = []
        for i in range(3):
            paths.append(str(tmp_path / f"{i}.txt"))
            (tmp_path / f"{i}.txt").write_text("".join(f"{i}{j}\n" for j in range(4)))

        def files():
            return pipeline.string_input_producer(paths, num_epochs=1, shuffle=False)

        def names(source):
            return [each.decode() for each in mapped(os.path.basename, source, pool)]

        assert names(files()) == ["0.txt", "1.txt", "2.txt"]
        assert names(closed_queue(paths)) == ["0.txt", "1.txt", "2.txt"]
        reader, queue = pipeline.TextLineReader(), files()
        numbers = pipeline.dataset(lambda: reader.read(queue).value).map(int, workers=pool).batch(4)
        assert [each.tolist() for each in numbers] == [[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23]]

    def test_leaving_an_iterator_whose_queue_gives_no_items(self, pool):
        queue = pipeline.FIFOQueue(5, "int64", [()])
        for number in (1, 2):
            queue.enqueue(number)  # after the first time nothing waits for it any more; the next iterator does
            with mapped(functions.napping, queue, pool) as results:
                assert next(results)[0] == number

    @pytest.mark.parametrize("workers", [None, "number", "threads", "executor"])
    def test_other_workers(self, workers):
        with ThreadPoolExecutor(2) as executor, pipeline.threads(2) as threads:
            chosen = {None: None, "number": 2, "threads": threads, "executor": executor}[workers]
            batches = pipeline.dataset(range(9)).map(lambda i: i * i, workers=chosen).batch(3)
            assert [each.tolist() for each in batches] == [[0, 1, 4], [9, 16, 25], [36, 49, 64]]


class TestChoice:
    @pytest.mark.parametrize("make", [pipeline.threads, pipeline.processes])
    def test_of_how_many(self, make):
        """By its private name in the standard library's executors."""
        assert make(3)._max_workers == 3
        expected = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        assert make()._max_workers == expected
        with raises(ValueError, f"{make.__name__}: count must be at least 1, got 0"):
            make(0)
        with pytest.raises(TypeError):
            make(1.5)
        with raises(TypeError, f"{make.__name__}: setup must be callable, not 3"):
            make(1, setup=3)

    def test_of_a_method(self):
        with raises(ValueError, "processes: method must be 'forkserver', 'spawn' or 'fork', got 'thread'"):
            pipeline.processes(1, method="thread")

    @pytest.mark.parametrize(
        ("name", "value", "why"),
        [
            ("platform", "darwin", "processes: method='fork' is not for macOS, whose libraries may crash in a forked"),
            (
                "_is_gil_enabled",
                lambda: False,
                "processes: method='fork' needs the GIL. Without it, threads compute",
            ),
        ],
    )
    def test_of_fork_where_it_is_not_safe(self, monkeypatch, name, value, why):
        with monkeypatch.context() as context, raises(ValueError, why):
            context.setattr(sys, name, value, raising=False)
            pipeline.processes(1, method="fork")

    def test_of_functions_that_cannot_be_sent(self, pool):
        lock = threading.Lock()
        with pytest.raises(TypeError, match=r"<lambda>.* cannot be sent to other .*: the function must not hold open"):
            pipeline.dataset([1]).map(lambda i: (i, lock), workers=pool)
        with pytest.raises(TypeError, match=r"setup must not hold open files, locks or the like"):
            pipeline.processes(1, setup=functools.partial(print, lock))

    def test_of_functions_that_need_cloudpickle(self, pool, monkeypatch):
        monkeypatch.setitem(sys.modules, "cloudpickle", None)
        needed = (
            r"<lambda>.* need cloudpickle \(pip install cloudpickle\). Or define the function at the top level of a m"
        )
        with pytest.raises(ImportError, match=needed):
            pipeline.dataset([1]).map(lambda i: i, workers=pool)

    def test_setup(self):
        for method in functions.METHODS:
            workers = pipeline.processes(1, setup=functions.get_ready, method=method)
            assert list(mapped(functions.ready, range(4), workers)) == [(1, True)] * 4
        ready = threading.local()

        def get_ready():
            ready.yes = True

        with pipeline.threads(2, setup=get_ready) as workers:
            assert list(mapped(lambda i: ready.yes, range(4), workers)) == [True] * 4

    def test_functions_are_sent_once_and_not_kept_for_ever(self, pool):
        data = Counted(np.zeros(1000))
        known = weakref.ref(data)
        assert list(mapped(data, range(100), pool)) == [0] * 100
        assert data.pickled == 3  # for the check, for its digest, and to be sent
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


def test_a_result_that_cannot_be_sent():
    data = pipeline.dataset(range(4)).map(functions.lock, workers=pipeline.processes(1))
    with pytest.raises(TypeError, match=r"^the result cannot be sent from its worker process: .*(pickle|local object)"):
        list(data)
