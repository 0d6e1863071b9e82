"""map_ahead: how much is in flight, what errors do, and that every way to end ends."""

import gc
import itertools
import pickle
import re
import threading
import traceback
import weakref
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

import ahead_functions as functions
import pytest
from ahead_functions import ByHand, two_pools
from helpers import LIMIT, raises, run_in_thread, run_script, wait_until
from orchestration import closed_queue, fresh_collection, no_thread_left, out_of_range

import pipeline
from pipeline import AbortedError, CancelledError, Coordinator, OutOfRangeError, UnknownError, batch, map_ahead, threads
from pipeline.workers.chunks import WorkerDied


@pytest.fixture(scope="module")
def pools():
    with two_pools() as made:
        yield made


@pytest.fixture(params=["threads", "processes", "shared"])
def executor(request, pools):
    return pools[request.param]


@pytest.fixture(autouse=True)
def _fresh(pools):
    with fresh_collection(), no_thread_left():
        yield


def counted(items, seen):
    for item in items:
        seen.append(item)
        yield item


def collect(batches, got):
    """The loop of a program."""
    with batches:
        for value in batches:
            got += value.tolist()


class TestInFlight:
    def test_no_more_than_asked_for(self):
        by_hand, seen = ByHand(), []
        ahead = map_ahead(functions.same, counted(itertools.count(), seen), by_hand, chunksize=4, buffersize=3)
        assert (seen, by_hand.futures) == ([], [])  # nothing before somebody asks
        call = run_in_thread(ahead)
        wait_until(lambda: len(by_hand.futures) == 3, "three chunks")
        assert seen == list(range(12))
        by_hand.run(1, 2)  # out of order: the first is waited for
        assert call.alive()
        by_hand.run(0)
        assert call.result() == 0
        assert [ahead() for _ in range(11)] == list(range(1, 12))
        assert len(by_hand.futures) == 3  # all was there
        call = run_in_thread(ahead)
        wait_until(lambda: len(by_hand.futures) == 6, "three more")
        by_hand.run_new()
        assert call.result() == 12

    def test_results_do_not_wait_for_items(self):
        by_hand = ByHand()

        def items():
            yield from range(2)
            by_hand.run(0, 1)
            yield 2
            pytest.fail("asked for an item while there was a result")

        ahead = map_ahead(functions.same, items(), by_hand, chunksize=1, buffersize=10)
        assert [ahead() for _ in range(2)] == [0, 1]

    def test_loop_that_is_left_cancels_and_the_next_one_goes_on(self):
        by_hand = ByHand()
        ahead = map_ahead(functions.same, range(40), by_hand, chunksize=4, buffersize=3)
        batches = batch(ahead, 4, capacity=4)
        call = run_in_thread(next, batches)
        wait_until(lambda: len(by_hand.futures) == 3, "three chunks")
        by_hand.run(0)
        assert call.result().tolist() == [0, 1, 2, 3]
        batches.close()
        assert all(future.cancelled() for future in by_hand.futures[1:])
        got = []
        call = run_in_thread(collect, batch(ahead, 4, capacity=4), got)
        while call.alive():
            by_hand.run_new()
        assert call.result() is None
        assert got == list(range(4, 40))

    @pytest.mark.parametrize("made", [pipeline.threads, pipeline.processes])
    def test_garbage_that_is_found_while_a_thread_starts(self, made, monkeypatch):
        """Its finalizer may run in the new thread, which `submit` waits for."""
        workers, start, ended = made(1), threading.Thread.start, []

        def found_in_between(thread):
            finalizer = threading.Thread(target=workers.rest, daemon=True)
            start(finalizer)
            finalizer.join(5)
            ended.append(not finalizer.is_alive())
            start(thread)

        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", found_in_between)
            future = workers.submit(functions.same, 3)
        assert future.result(60) == 3
        assert ended
        assert all(ended)
        workers.shutdown()

    def test_garbage_is_cancelled(self):
        by_hand = ByHand()
        ahead = map_ahead(functions.same, range(9), by_hand, chunksize=1, buffersize=3)
        call = run_in_thread(ahead)
        wait_until(lambda: len(by_hand.futures) == 3, "three chunks")
        by_hand.run(0)
        call.result()
        known = weakref.ref(ahead)
        del ahead, call
        gc.collect()
        assert known() is None
        assert [future.cancelled() for future in by_hand.futures] == [False, True, True]

    def test_close(self):
        by_hand = ByHand()
        with map_ahead(functions.same, itertools.count(), by_hand, chunksize=2, buffersize=2) as ahead:
            call = run_in_thread(ahead)
            wait_until(lambda: len(by_hand.futures) == 2, "two chunks")
            by_hand.run(0)
            assert call.result() == 0
            call = run_in_thread(list, ahead)
            wait_until(lambda: len(by_hand.futures) == 3, "the call that waits")
        assert call.result() == [1]
        assert list(ahead) == []
        assert all(future.cancelled() for future in by_hand.futures[1:])

    def test_no_thread_is_left_by_what_was_submitted_after_the_end(self):
        """A loop may be left while the thread that reads its source submits a chunk."""
        workers, left = threads(1), threading.Event()

        def items():
            yield 0
            left.set()
            source.recall()
            assert source._in_flight.chunks[0].future.result(LIMIT)
            yield 1

        source = map_ahead(lambda _: left.wait(LIMIT), items(), workers, chunksize=1)
        with pytest.raises(OutOfRangeError):
            source.take(0, left.is_set)
        wait_until(lambda: workers.numbers() == [], "its thread to end")

    def test_close_drops_what_was_not_taken(self, executor):
        ahead = map_ahead(functions.same, range(9), executor)
        assert next(ahead) == 0
        ahead.close()
        assert list(ahead) == []


class TestErrors:
    def test_of_the_function(self, executor):
        """The examples before come first; the error says which item, and from a process, where it was."""
        got = []
        with pytest.raises(ValueError, match="bad item 2") as caught:
            collect(batch(map_ahead(functions.fails_at_third, range(30), executor, chunksize=8), 2), got)
        assert got == [0, 1]
        error = caught.value
        assert error.record_key == "item 2"
        if hasattr(error, "add_note"):
            assert "function 'fails_at_third', item 2" in error.__notes__
        where = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        assert 'raise ValueError(f"bad item {i}")' in where

    def test_asked_again_it_goes_on(self, executor):
        ahead, got = map_ahead(functions.fails_at_third, range(7), executor, chunksize=4), []
        while True:
            try:
                got.append(next(ahead))
            except ValueError as error:
                got.append(str(error))
            except StopIteration:
                break
        assert got == [0, 1, "bad item 2", 3, 4, "bad item 5", 6]

    def test_skipped(self, executor):
        ahead = map_ahead(functions.fails_at_third, range(30), executor, chunksize=8)
        with batch(ahead, 5, on_error="skip") as batches:
            assert [i for value in batches for i in value.tolist()] == [i for i in range(30) if i % 3 != 2]
            assert [str(error) for error in batches.errors] == [f"bad item {i}" for i in range(2, 30, 3)]

    def test_that_cannot_be_sent_as_it_is(self, pools):
        for function, kind, text in (
            (functions.awkward, functions.Awkward, "Awkward: 0 and 0"),
            (functions.holding, functions.Holding, "Holding: with a lock"),
            (functions.disguised, functions.Disguised, "Disguised: no text"),
        ):
            with raises(UnknownError, f"ahead_functions.{text}") as caught:
                next(map_ahead(function, range(2), pools["processes"]))
            assert f"in {function.__name__}" in str(caught.value.__cause__)
            with pytest.raises(kind):
                next(map_ahead(function, range(2), pools["threads"]))

    def test_that_is_no_exception_of_the_function(self):
        with pipeline.processes(1) as workers:
            future = workers.submit(functions.leaves, 0)
            with pytest.raises(SystemExit):
                future.result(LIMIT)

    def test_of_a_class_that_forbids_attributes(self):
        with pytest.raises(functions.Frozen) as caught, batch(range(8), 2, function=functions.freezes) as batches:
            list(batches)
        assert (note := "function 'freezes', item 3") in getattr(caught.value, "__notes__", [note])
        with batch(range(8), 2, function=functions.freezes, on_error="skip", max_errors=2) as batches:
            assert [value.tolist() for value in batches] == [[0, 1], [2, 4], [5, 6]]
        assert batches.errors == [functions.Frozen(3)]

    @pytest.mark.parametrize(
        ("name", "error", "text"),
        [
            ("stop_iteration", RuntimeError, "the function raised StopIteration"),
            ("nothing", ValueError, "the function returned None, which is not an example"),
            ("no_components", ValueError, r"the function returned \(\), an example without components"),
            ("leaves", RuntimeError, "the function raised SystemExit: 0"),
        ],
    )
    def test_that_are_made_of_other_things(self, executor, name, error, text):
        with pytest.raises(error, match=f"^{text}"):
            list(batch(map_ahead(getattr(functions, name), range(2), executor), 1))

    @pytest.mark.parametrize("options", [{}, {"deterministic": True}], ids=str)
    def test_that_would_end_a_worker_are_about_one_item(self, executor, options):
        ahead = map_ahead(functions.leaves_at_six, range(20), executor, chunksize=8)
        with batch(ahead, 1, on_error="skip", **options) as batches:
            assert [int(number) for [number] in batches] == [*range(6), *range(7, 20)]
        [error] = batches.errors
        assert str(error) == "the function raised SystemExit: 6"
        assert not hasattr(error, "add_note") or "function 'leaves_at_six', item 6" in error.__notes__

    def test_that_end_the_program_in_its_own_thread(self):
        with pytest.raises(SystemExit):  # as one that a handler of signals raises there
            list(batch(range(2), 1, function=functions.leaves, num_threads=0, deterministic=True))

    def test_end_of_another_input_in_the_function(self, pools):
        def function(i):
            raise out_of_range()

        with raises(RuntimeError, "the function raised OutOfRangeError"):
            list(batch(map_ahead(function, range(2), pools["threads"]), 1))

    def test_of_the_items(self, executor):
        def items():
            yield from range(5)
            raise KeyError("no more")

        ahead, got = map_ahead(functions.same, items(), executor, chunksize=3), []
        with pytest.raises(KeyError, match="no more"):
            got.extend(ahead)
        assert got == [0, 1, 2, 3, 4]  # what came before is delivered before
        with raises(CancelledError, "map_ahead: already ended by KeyError: 'no more'"):
            next(ahead)

    def test_end_of_a_queue_ends_the_items(self, executor):
        queue = closed_queue(["a", "b"])
        assert list(map_ahead(functions.same, iter(queue.dequeue, None), executor)) == [b"a", b"b"]

    def test_items_and_results_that_cannot_be_sent(self, pools):
        ahead = map_ahead(functions.same, [0, 1, lambda: 2, 3, 4], pools["processes"], chunksize=2)
        assert [next(ahead), next(ahead)] == [0, 1]
        with pytest.raises((pickle.PicklingError, AttributeError, TypeError), match=r"pickle|local object") as caught:
            next(ahead)
        assert caught.value.record_key == "item 2"
        assert list(ahead) == [3, 4]
        ahead = map_ahead(functions.not_to_be_sent, range(1), pools["processes"])
        with pytest.raises((pickle.PicklingError, AttributeError, TypeError), match=r"pickle|local object"):
            next(ahead)

    @pytest.mark.parametrize("options", [{}, {"deterministic": True}], ids=str)
    @pytest.mark.parametrize(
        ("function", "text"),
        [
            (functions.sent_but_six, r"pickle"),
            (functions.interrupted_at_six, "map_ahead: a worker abandoned item 6 because of KeyboardInterrupt"),
        ],
    )
    def test_a_chunk_that_fails_as_a_whole_takes_no_neighbours_along(self, pools, function, text, options):
        ahead = map_ahead(function, range(20), pools["processes"], chunksize=8)
        with batch(ahead, 1, on_error="skip", **options) as batches:
            assert [int(number) for [number] in batches] == [*range(6), *range(7, 20)]
        [error] = batches.errors
        assert re.search(text, str(error))
        assert batches.num_errors == 1
        assert not hasattr(error, "add_note") or f"function '{function.__name__}', item 6" in error.__notes__


class TestDeath:
    @pytest.mark.parametrize("method", ["forkserver", "spawn"])
    @pytest.mark.parametrize("on_error", ["raise", "skip"])
    def test_of_a_process(self, method, on_error):
        with ProcessPoolExecutor(1, mp_context=get_context(method)) as pool:
            got = []
            ahead = map_ahead(functions.dies_at_six, itertools.count(), pool, chunksize=2, buffersize=3)
            with pytest.raises(AbortedError) as caught:  # not an error of one item: it is never skipped
                collect(batch(ahead, 1, on_error=on_error), got)
        assert got == list(range(6))
        assert str(caught.value).startswith("map_ahead: the executor broke at items 6 to 7: BrokenProcessPool: ")
        assert isinstance(caught.value.__cause__, BrokenProcessPool)

    def test_of_the_executor(self):
        by_hand = ByHand()
        ahead = map_ahead(functions.same, range(9), by_hand, chunksize=1, buffersize=2)
        call = run_in_thread(ahead)
        wait_until(lambda: len(by_hand.futures) == 2, "two chunks")
        by_hand.down = True
        by_hand.run(0, 1)
        assert [call.result(), ahead()] == [0, 1]  # what was before comes first
        with raises(AbortedError, "map_ahead: the executor rejected item 2 and those after it: RuntimeError: "):
            ahead()
        with raises(CancelledError, "map_ahead: already ended by AbortedError: "):
            ahead()

    def test_of_an_executor_that_cancels(self):
        by_hand = ByHand()
        ahead = map_ahead(functions.same, range(9), by_hand, chunksize=1, buffersize=2)
        call = run_in_thread(ahead)
        wait_until(lambda: len(by_hand.futures) == 2, "two chunks")
        by_hand.down = True
        for future in by_hand.futures:
            future.cancel()
        with raises(AbortedError, "map_ahead: the executor rejected item 0 and those after it"):
            call.result()


class Worker:
    """A function that waits for its gate."""

    def __init__(self):
        self.begun, self.gate = threading.Event(), threading.Event()

    def __call__(self, i):
        if i:
            self.begun.set()
            assert self.gate.wait(30)
        return i


class TestLeaving:
    """No end of a loop waits for a worker."""

    @pytest.mark.parametrize("given", [False, True])
    def test_a_loop(self, given):
        worker, coord = Worker(), Coordinator() if given else None
        with ThreadPoolExecutor(1) as pool:
            batches = batch(map_ahead(worker, itertools.count(), pool, chunksize=1), 1, coord=coord)
            assert next(batches) == 0
            assert worker.begun.wait(30)
            batches.close()
            if coord is not None:
                coord.request_stop()
                coord.join()
            assert not worker.gate.is_set()
            worker.gate.set()

    def test_a_loop_that_waits_for_the_first_example(self):
        worker = Worker()
        with ThreadPoolExecutor(1) as pool:
            batches = batch(map_ahead(worker, itertools.count(1), pool), 1, coord=Coordinator())
            call = run_in_thread(list, batches)
            assert worker.begun.wait(30)
            batches.close()
            assert call.result() == []
            worker.gate.set()

    def test_by_the_coordinator(self):
        by_hand, coord = ByHand(), Coordinator()
        batches = batch(map_ahead(functions.same, itertools.count(), by_hand, chunksize=1), 1, coord=coord)
        call = run_in_thread(next, batches)
        wait_until(lambda: by_hand.futures, "the first chunk")
        by_hand.run(0)
        assert call.result() == 0
        coord.request_stop()
        coord.join()
        assert all(future.cancelled() for future in by_hand.futures[1:])
        assert list(batches) == []

    def test_with_processes(self):
        with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as pool:
            with batch(map_ahead(functions.row, itertools.count(), pool), 5, num_threads=2) as batches:
                for _ in itertools.islice(batches, 100):
                    pass

    @pytest.mark.parametrize("end", ["next(batches)", "next(batches); 1 / 0", "del batches; next(source)"])
    def test_a_program(self, tmp_path, end):
        (tmp_path / "program.py").write_text(PROGRAM.format(end=end))
        done = run_script(f"import runpy; runpy.run_path({str(tmp_path / 'program.py')!r}, run_name='__main__')")
        assert done.returncode == (1 if "1 / 0" in end else 0)
        assert "ahead" not in done.stderr
        assert done.stderr.count("Traceback") == done.returncode


PROGRAM = """
import itertools, pipeline
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, mp_context=get_context("forkserver"))
    source = pipeline.map_ahead(abs, itertools.count(), pool)
    batches = pipeline.batch(source, 2)
    {end}
"""


class DyingExecutor(ThreadPoolExecutor):
    """Fails chunks that have a deadly item, and does not know which one it is."""

    def submit(self, fn, items, *more):
        if 5 in items:
            future = Future()
            future.set_exception(WorkerDied(None, "died"))
            return future
        return super().submit(fn, items, *more)


def test_a_worker_that_died_at_nobody_knows_which_item():
    """The items are tried one by one; the one at fault is named, and the others are kept."""
    with DyingExecutor(2) as executor:
        ahead = map_ahead(functions.same, range(10), executor, chunksize=4)
        assert [ahead() for _ in range(5)] == [0, 1, 2, 3, 4]
        with pytest.raises(AbortedError, match="a worker process died at item 5, 5"):
            ahead()
        assert list(ahead) == [6, 7, 8, 9]
