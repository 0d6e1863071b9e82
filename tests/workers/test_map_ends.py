"""map in workers: how much is in flight, how errors behave, and that every ending is clean."""

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
from helpers import LIMIT, raises, run_file, run_in_thread, wait_until
from orchestration import closed_queue, fresh_collection, no_thread_left, out_of_range

import pipeline
from pipeline import AbortedError, Coordinator, UnknownError
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


def mapped(function, items, executor, **options):
    """Iterate over the workers' results."""
    return iter(pipeline.dataset(items).map(function, workers=executor, **options))


def endless():
    yield from itertools.count()


def from_one():
    yield from itertools.count(1)


class Counted:
    """All numbers, as an iterable that records those taken."""

    def __init__(self, seen):
        self.seen = seen

    def __iter__(self):
        for number in itertools.count():
            self.seen.append(number)
            yield number


def collect(results, got):
    """The program's loop."""
    with results:
        got.extend(results)


class TestInFlight:
    def test_no_more_than_two_chunks_for_each_worker(self):
        by_hand, seen = ByHand(), []
        results = mapped(functions.same, Counted(seen), by_hand)
        assert (seen, by_hand.futures) == ([], [])  # nothing before the first request
        call = run_in_thread(next, results)
        wait_until(lambda: len(by_hand.futures) == 4, "four chunks of one item")
        by_hand.run(1, 2)  # out of order: the first is still running
        assert call.alive()
        assert len(by_hand.futures) == 4
        assert seen == list(range(4))
        by_hand.run(0)
        assert call.result() == 0
        results.close()

    def test_examples_skipped_before_the_workers_add_none(self):
        def even(number):
            called.append(number)
            if number % 2:
                raise ValueError
            return number

        called = []
        data = pipeline.dataset(range(100_000)).map(even, on_error="skip", max_errors=100_000)
        with iter(data.map(abs, workers=1)) as results:
            assert sum(1 for _ in itertools.islice(results, 10_000)) == 10_000
        assert len(called) - 20_000 < 10_000

    def test_one_that_is_left_cancels(self):
        by_hand = ByHand()
        results = mapped(functions.same, endless, by_hand)
        call = run_in_thread(next, results)
        wait_until(lambda: len(by_hand.futures) == 4, "four chunks")
        by_hand.run(0)
        assert call.result() == 0
        results.close()
        assert all(future.cancelled() for future in by_hand.futures[1:])
        with pytest.raises(pipeline.errors.FailedPreconditionError, match="this iterator is closed"):
            list(results)

    @pytest.mark.parametrize("made", [pipeline.threads, pipeline.processes])
    def test_garbage_that_is_found_while_a_thread_starts(self, made, monkeypatch):
        """Its finalizer may run in the new thread while `submit` waits for it."""
        workers, start, ended = made(1), threading.Thread.start, []

        def found_in_between(thread):
            finalizer = threading.Thread(target=workers.rest, daemon=True)
            start(finalizer)
            finalizer.join(LIMIT)
            ended.append(not finalizer.is_alive())
            start(thread)

        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", found_in_between)
            future = workers.submit(functions.same, 3)
        assert future.result(60) == 3
        assert ended
        assert all(ended)
        workers.shutdown()

    def test_garbage_is_cancelled(self):
        by_hand = ByHand()
        results = mapped(functions.same, endless, by_hand)
        call = run_in_thread(next, results)
        wait_until(lambda: len(by_hand.futures) == 4, "four chunks")
        by_hand.run(0)
        call.result()
        known = weakref.ref(results)
        del results, call
        gc.collect()
        assert known() is None

    def test_close_while_another_thread_waits(self):
        by_hand = ByHand()
        with mapped(functions.same, endless, by_hand) as results:
            call = run_in_thread(next, results)
            wait_until(lambda: len(by_hand.futures) == 4, "four chunks")
            by_hand.run(0)
            assert call.result() == 0
            call = run_in_thread(list, results)
            wait_until(lambda: len(by_hand.futures) > 4, "the call that waits")
        assert isinstance(call.exception(), (type(None), pipeline.CancelledError))
        with pytest.raises(pipeline.errors.FailedPreconditionError, match="this iterator is closed"):
            list(results)


class TestErrors:
    def test_of_the_function(self, executor):
        """Earlier examples come first; the error names the example, and from a process, the code line."""
        got = []
        with pytest.raises(ValueError, match="bad item 2") as caught:
            collect(mapped(functions.fails_at_third, range(30), executor), got)
        assert got == [0, 1]
        error = caught.value
        assert error.record_key == "example 2"
        if hasattr(error, "add_note"):
            assert error.__notes__[0] == "fails_at_third: example 2"
        where = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        assert 'raise ValueError(f"bad item {i}")' in where

    def test_after_it_there_is_nothing(self, executor):
        results = mapped(functions.fails_at_third, range(7), executor)
        assert [next(results), next(results)] == [0, 1]
        with pytest.raises(ValueError, match="bad item 2"):
            next(results)
        assert list(results) == []

    def test_skipped(self, executor):
        with mapped(functions.fails_at_third, range(30), executor, on_error="skip") as results:
            assert list(results) == [i for i in range(30) if i % 3 != 2]
            assert [str(error) for error in results.errors] == [f"bad item {i}" for i in range(2, 30, 3)]

    def test_that_cannot_be_sent_as_it_is(self, pools):
        for function, kind, text in (
            (functions.awkward, functions.Awkward, "Awkward: 0 and 0"),
            (functions.holding, functions.Holding, "Holding: with a lock"),
            (functions.disguised, functions.Disguised, "Disguised: no text"),
        ):
            with raises(UnknownError, f"ahead_functions.{text}") as caught:
                next(mapped(function, range(2), pools["processes"]))
            assert f"in {function.__name__}" in str(caught.value.__cause__)
            with pytest.raises(kind):
                next(mapped(function, range(2), pools["threads"]))

    def test_that_is_no_exception_of_the_function(self):
        with pipeline.processes(1) as workers:
            future = workers.submit(functions.leaves, 0)
            with pytest.raises(SystemExit):
                future.result(LIMIT)

    @pytest.mark.parametrize("workers", [None, 2])
    def test_of_a_class_that_forbids_attributes(self, workers):
        with pytest.raises(functions.Frozen) as caught:
            list(mapped(functions.freezes, range(8), workers))
        assert (note := "freezes: example 3") in getattr(caught.value, "__notes__", [note])
        with mapped(functions.freezes, range(8), workers, on_error="skip", max_errors=2) as results:
            assert list(results) == [0, 1, 2, 4, 5, 6, 7]
        assert results.errors == [functions.Frozen(3)]

    @pytest.mark.parametrize(
        ("name", "error", "text"),
        [
            ("stop_iteration", RuntimeError, "raised StopIteration"),
            ("leaves", RuntimeError, "SystemExit"),
        ],
    )
    def test_that_are_made_of_other_things(self, executor, name, error, text):
        with pytest.raises(error, match=text):
            list(mapped(getattr(functions, name), range(2), executor))

    def test_that_would_end_a_worker_are_about_one_item(self, executor):
        with mapped(functions.leaves_at_six, range(20), executor, on_error="skip") as results:
            assert list(results) == [*range(6), *range(7, 20)]
        [error] = results.errors
        assert "SystemExit" in str(error)
        assert error.record_key == "example 6"

    def test_that_end_the_program_in_its_own_thread(self):
        with pytest.raises(SystemExit):  # like one raised there by a signal handler
            list(mapped(functions.leaves, range(2), None))

    def test_end_of_another_input_in_the_function(self, pools):
        def function(i):
            raise out_of_range()

        with pytest.raises(RuntimeError, match="raised OutOfRangeError"):
            list(mapped(function, range(2), pools["threads"]))

    def test_of_the_items(self, executor):
        def items():
            yield from range(5)
            raise KeyError("no more")

        results, got = mapped(functions.same, items, executor), []
        with pytest.raises(KeyError, match="no more"):
            got.extend(results)
        assert got == [0, 1, 2, 3, 4]  # earlier results come first
        assert list(results) == []

    def test_end_of_a_queue_ends_the_items(self, executor):
        assert list(mapped(functions.same, closed_queue(["a", "b"]).dequeue, executor)) == [b"a", b"b"]

    def test_items_and_results_that_cannot_be_sent(self, pools):
        items = [0, 1, lambda: 2, 3, 4]
        results = mapped(functions.same, items, pools["processes"])
        assert [next(results), next(results)] == [0, 1]
        with pytest.raises((pickle.PicklingError, AttributeError, TypeError), match=r"pickle|local object") as caught:
            next(results)
        assert caught.value.record_key == "example 2"
        assert list(mapped(functions.same, items, pools["processes"], on_error="skip")) == [0, 1, 3, 4]
        with pytest.raises((pickle.PicklingError, AttributeError, TypeError), match=r"pickle|local object"):
            next(mapped(functions.not_to_be_sent, range(1), pools["processes"]))

    @pytest.mark.parametrize(
        ("function", "text"),
        [
            (functions.sent_but_six, r"pickle"),
            (functions.interrupted_at_six, "KeyboardInterrupt"),
        ],
    )
    def test_a_chunk_that_fails_as_a_whole_takes_no_neighbours_along(self, pools, function, text):
        with mapped(function, range(20), pools["processes"], on_error="skip") as results:
            assert list(results) == [*range(6), *range(7, 20)]
        [error] = results.errors
        assert re.search(text, str(error))
        assert error.record_key == "example 6"


class TestDeath:
    @pytest.mark.parametrize("method", ["forkserver", "spawn"])
    @pytest.mark.parametrize("on_error", ["raise", "skip"])
    def test_of_a_process(self, method, on_error):
        with ProcessPoolExecutor(1, mp_context=get_context(method)) as pool:
            got = []
            with pytest.raises(AbortedError) as caught:  # not an error in one item, so it is never skipped
                collect(mapped(functions.dies_at_six, endless, pool, on_error=on_error), got)
        assert got == list(range(len(got)))
        assert len(got) <= 6
        assert str(caught.value).startswith("the workers broke: BrokenProcessPool: ")
        assert isinstance(caught.value.__cause__, BrokenProcessPool)

    def test_of_the_executor(self):
        by_hand = ByHand()
        results = mapped(functions.same, range(9), by_hand)
        call = run_in_thread(next, results)
        wait_until(lambda: len(by_hand.futures) == 4, "four chunks")
        by_hand.down = True
        by_hand.run(0, 1, 2, 3)
        assert call.result() == 0
        got = []
        with raises(AbortedError, "the workers accepted no more calls: RuntimeError: "):
            got.extend(results)
        assert got == [1, 2, 3]  # results begun earlier come first
        assert list(results) == []

    def test_of_an_executor_that_cancels(self):
        by_hand = ByHand()
        results = mapped(functions.same, range(9), by_hand)
        call = run_in_thread(next, results)
        wait_until(lambda: len(by_hand.futures) == 4, "four chunks")
        by_hand.down = True
        for future in by_hand.futures:
            future.cancel()
        with raises(AbortedError, "the workers accepted no more calls"):
            call.result()


class Worker:
    """A function that waits for its gate."""

    def __init__(self):
        self.begun, self.gate = threading.Event(), threading.Event()

    def __call__(self, i):
        if i:
            self.begun.set()
            assert self.gate.wait(120)
        return i


class TestLeaving:
    """Leaving a loop never waits for a worker."""

    @pytest.mark.parametrize("given", [False, True])
    def test_a_loop(self, given):
        worker, coord = Worker(), Coordinator() if given else None
        with ThreadPoolExecutor(1) as pool:
            dataset = pipeline.dataset(endless).map(worker, workers=pool)
            batches = pipeline.batch(dataset, 1, coord=coord)
            assert next(batches) == 0
            assert worker.begun.wait(120)
            batches.close()
            if coord is not None:
                coord.request_stop()
                coord.join()
            assert not worker.gate.is_set()
            worker.gate.set()

    def test_one_that_waits_for_the_first_example(self):
        worker = Worker()
        with ThreadPoolExecutor(1) as pool:
            results = mapped(worker, from_one, pool)
            call = run_in_thread(list, results)
            assert worker.begun.wait(120)
            results.close()
            assert isinstance(call.exception(), (type(None), pipeline.CancelledError))
            worker.gate.set()

    def test_by_the_coordinator(self):
        by_hand, coord = ByHand(), Coordinator()
        batches = pipeline.batch(pipeline.dataset(endless).map(functions.same, workers=by_hand), 1, coord=coord)
        call = run_in_thread(next, batches)
        wait_until(lambda: by_hand.futures, "the first chunk")
        by_hand.run(0)
        assert call.result() == 0
        coord.request_stop()
        coord.join()
        assert list(batches) == []

    def test_with_processes(self):
        with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as pool:
            with iter(pipeline.dataset(endless).map(functions.row, workers=pool).batch(5)) as batches:
                for _ in itertools.islice(batches, 100):
                    pass

    @pytest.mark.parametrize("end", ["next(batches)", "next(batches); 1 / 0", "del batches"])
    def test_a_program(self, tmp_path, end):
        (tmp_path / "program.py").write_text(PROGRAM.format(end=end))
        done = run_file(tmp_path / "program.py")
        assert done.returncode == (1 if "1 / 0" in end else 0)
        # CPython's exit handler may write to the pool's pipe while the pool's own thread closes it.
        assert done.stderr.count("Traceback") - done.stderr.count("in _python_exit") == done.returncode


PROGRAM = """
import itertools, pipeline
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, mp_context=get_context("forkserver"))
    batches = iter(pipeline.dataset(itertools.count()).map(abs, workers=pool).batch(2).prefetch(2))
    next(batches)
    {end}
"""


class DyingExecutor(ThreadPoolExecutor):
    """Fails chunks containing a deadly item, without naming it."""

    def submit(self, fn, draws, block):
        if 5 in block.values.examples():
            future = Future()
            future.set_exception(WorkerDied(None, "died"))
            return future
        return super().submit(fn, draws, block)


def test_a_worker_that_died_at_nobody_knows_which_item():
    """The items are tried individually; the faulty one is named, and the others are kept."""
    with DyingExecutor(2) as executor:
        results = mapped(functions.same, range(10), executor, on_error="skip")
        assert list(results) == [0, 1, 2, 3, 4, 6, 7, 8, 9]
        [error] = results.errors
        assert (str(error), error.record_key) == ("a worker process died", "example 5")


def test_the_child_of_a_function_that_forks_answers_nothing():
    with pipeline.processes(1) as workers:
        for numbers in (range(12), range(100, 112)):
            data = pipeline.dataset(numbers).map(functions.forks_at_two, workers=workers)
            assert list(data) == list(numbers)
