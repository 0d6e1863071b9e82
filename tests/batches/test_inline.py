"""num_threads=0: the thread that asks for a batch calls the source, there and then."""

import gc
import itertools
import signal
import sys
import threading
import traceback
import weakref

import numpy as np
import pytest
from helpers import run_in_thread, wait_until

import pipeline
from pipeline import (
    Coordinator,
    FIFOQueue,
    TextLineReader,
    batch,
    batch_join,
    bucket_by_sequence_length,
    shuffle_batch,
    shuffle_batch_join,
)
from pipeline.errors import FailedPreconditionError


def here():
    """An example: 0 if this thread is the one that runs the test."""
    return abs(threading.get_ident() - threading.main_thread().ident)


LOOPS = pytest.mark.parametrize(
    "make",
    [
        lambda source, **more: batch(source, 3, num_threads=0, **more),
        lambda source, **more: shuffle_batch(source, 3, 9, 5, num_threads=0, seed=1, **more),
        lambda source, **more: batch_join([source], 3, num_threads=0, **more),
        lambda source, **more: shuffle_batch_join([source], 3, 9, 5, num_threads=0, seed=1, **more),
        lambda source, **more: bucket_by_sequence_length(lambda _: 1, source, 3, [2], num_threads=0, **more),
        lambda source, **more: pipeline.batch(source, 3, keep_input=True, num_threads=0, **more),
        lambda source, **more: batch(source, 3, num_threads=0, deterministic=True, **more),
        lambda source, **more: shuffle_batch(source, 3, 9, 5, num_threads=0, seed=1, deterministic=True, **more),
        lambda source, **more: batch_join([source], 3, num_threads=0, deterministic=True, **more),
    ],
    ids=["batch", "shuffle", "join", "shuffle join", "buckets", "maybe", "ordered", "ordered shuffle", "ordered join"],
)


class TestThread:
    @LOOPS
    def test_calls_the_source_itself(self, make):
        alive = threading.enumerate()
        with make(here) as batches:
            taken = [next(batches) for _ in range(4)]
            assert threading.enumerate() == alive
        assert all(np.all(np.asarray(each[-1]) == 0) for each in taken)

    def test_there_is_no_thread_for_a_producer_either(self, tmp_path):
        (tmp_path / "a").write_text("1\n2\n3\n")
        files = pipeline.string_input_producer([str(tmp_path / "a")], num_epochs=2)
        reader, alive = pipeline.TextLineReader(), threading.enumerate()
        with batch(lambda: reader.read(files).value, 6, num_threads=0) as batches:
            assert next(batches).tolist() == [b"1", b"2", b"3"] * 2
            assert threading.enumerate() == alive

    def test_a_debugger_sees_who_asked(self):
        def example():
            return sum(frame.f_code.co_name == "asks" for frame, _ in traceback.walk_stack(sys._getframe()))

        def asks():
            return next(batches)

        with batch(example, 2, num_threads=0) as batches:
            assert asks().tolist() == [1, 1]
            assert asks().tolist() == [1, 1]

    def test_a_function_is_called_there_too(self):
        with batch(range(8), 4, function=lambda number: number + here(), num_threads=0) as batches:
            assert [each.tolist() for each in batches] == [[0, 1, 2, 3], [4, 5, 6, 7]]

    @LOOPS
    def test_reads_no_more_than_a_batch_needs(self, make):
        read = []
        with make(lambda: read.append(0) or np.zeros(1)) as batches:
            next(batches)
            first = len(read)
            next(batches)
            assert len(read) == first + 3

    def test_blocks_are_as_large_as_capacity_has_room_for(self):
        asked = []

        class Rows:
            def block(self, n):
                asked.append(n)
                return [np.zeros((n, 2))]

        with shuffle_batch(Rows(), 10, 60, 20, num_threads=0) as batches:
            for _ in range(5):
                next(batches)
                assert 20 <= batches.queue.size() <= 50
        assert asked == [8, 52, 40]


class TestOrder:
    @pytest.mark.parametrize("deterministic", [False, True])
    def test_is_the_same_in_each_run(self, deterministic):
        def run():
            source = pipeline.slice_input_producer([np.arange(50)], num_epochs=2, seed=2)
            options = {"num_threads": 0, "seed": 3, "deterministic": deterministic, "allow_smaller_final_batch": True}
            return [each.tolist() for each in shuffle_batch(source, 8, 40, 20, **options)]

        first = run()
        assert first == run()
        assert sorted(itertools.chain(*first)) == sorted([*range(50)] * 2)

    def test_of_a_join_is_that_of_turns(self):
        sources = [range(5), range(10, 12), range(20, 24)]
        for deterministic in (False, True):
            joined = batch_join(sources, 11, num_threads=0, deterministic=deterministic)
            assert next(joined).tolist() == [0, 10, 20, 1, 11, 21, 2, 22, 3, 23, 4]

    @pytest.mark.parametrize("size", [1, 2])
    def test_of_a_join_goes_on_if_the_first_calls_gave_a_batch(self, size):
        def blocks(first):
            rows = pipeline.range_input_producer(5, num_epochs=1, shuffle=False)
            return lambda: rows.dequeue_up_to(2) + first

        def orders(**threads):
            lists = batch_join([range(5), range(10, 15)], size, deterministic=True, **threads)
            many = batch_join([blocks(0), blocks(10)], size, enqueue_many=True, deterministic=True, **threads)
            return [each.tolist() for loop in (lists, many) for each in loop]

        assert run_in_thread(lambda: orders(num_threads=0)).result() == orders()

    @pytest.mark.parametrize("stop", [0, 1, 4, 9])
    @pytest.mark.parametrize("threads", [(0, 0), (0, 2), (2, 0)])
    def test_goes_on_from_a_state(self, stop, threads):
        def make(count):
            sources = [pipeline.range_input_producer(rows, num_epochs=2, seed=rows) for rows in (11, 5)]
            joined = {"num_threads": None if count else 0, "deterministic": True, "allow_smaller_final_batch": True}
            return shuffle_batch_join([queue.dequeue for queue in sources], 3, 20, 7, seed=5, **joined)

        whole = [each.tolist() for each in make(2)]
        with make(threads[0]) as first:
            assert [next(first).tolist() for _ in range(stop)] == whole[:stop]
            state = first.state_dict()
        second = make(threads[1])
        second.load_state_dict(state)
        assert [each.tolist() for each in second] == whole[stop:]


class TestEnds:
    @LOOPS
    def test_an_error_comes_at_once_with_the_frames_of_the_source(self, make):
        calls = []

        def fails():
            calls.append(0)
            if len(calls) == 7:
                raise KeyError("the seventh")
            return np.zeros(1)

        with pytest.raises(KeyError) as caught, make(fails) as batches:
            for _ in batches:
                pass
        assert "fails" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert len(calls) == 7
        assert list(batches) == []

    def test_an_error_is_the_coordinators_too(self):
        coord = Coordinator()
        with pytest.raises(TypeError), batch([1, 2, 3, "x"], 2, num_threads=0, coord=coord) as batches:
            list(batches)
        with pytest.raises(TypeError):
            coord.join()

    @LOOPS
    def test_stops_with_its_coordinator(self, make):
        coord = Coordinator()
        with make(lambda: np.zeros(1), coord=coord) as batches:
            next(batches)
            coord.request_stop()
            assert len(list(batches)) < 4  # what was in the pool

    @LOOPS
    def test_another_thread_closes_it_while_the_source_works(self, make):
        entered, go, calls = threading.Event(), threading.Event(), []

        def slow():
            calls.append(0)
            if len(calls) == 5:
                entered.set()
                go.wait(30)
            return np.zeros(1)

        batches = make(slow)
        taking = run_in_thread(list, batches)
        assert entered.wait(30)
        closing = run_in_thread(batches.close)
        wait_until(lambda: batches.coord.should_stop(), "the loop to be closed")
        assert closing.alive()
        go.set()
        closing.result()
        taking.result()
        assert len(calls) == 5

    @LOOPS
    def test_another_thread_closes_it_while_the_source_works_and_asks_for_a_batch(self, make):
        """As a signal handler may: it gets none, and does not wait for the thread that waits for it."""
        found = []

        def source():
            if len(found) == 4:
                found.append(run_in_thread(batches.close))
                wait_until(lambda: batches.coord.should_stop(), "the loop to be closed")
                found.append(next(batches, None))
            elif len(found) < 4:
                found.append(0)
            return np.zeros(1)

        batches = make(source)
        batches.grace = 1
        list(batches)
        found[4].result()
        assert found[5:] == [None]

    def test_close_waits_for_the_source_as_long_as_for_threads(self):
        entered, go = threading.Event(), threading.Event()

        def stuck():
            yield 1
            entered.set()
            go.wait(30)

        batches = batch(stuck, 2, num_threads=0)
        batches.grace = 0.01
        taking = run_in_thread(next, batches)
        assert entered.wait(30)
        with pytest.raises(RuntimeError, match=r"did not end within 0\.01 s"):
            batches.close()
        go.set()
        assert isinstance(taking.exception(), RuntimeError | StopIteration)

    def test_nothing_is_kept(self):
        for deterministic in (False, True):
            batches = batch(print, 2, num_threads=0, keep_input=False, deterministic=deterministic)
            call = run_in_thread(list, batches)
            wait_until(lambda found=batches: found.queue is not None, "the queue")
            batches.close()
            assert call.result() == []

    def test_ctrl_c_ends_it(self):
        def interrupted():
            yield from range(3)
            signal.raise_signal(signal.SIGINT)
            yield 3

        with batch(interrupted, 2, num_threads=0) as batches:
            assert next(batches).tolist() == [0, 1]
            with pytest.raises(KeyboardInterrupt):
                next(batches)
            with pytest.raises(FailedPreconditionError, match="interrupted while it read its source"):
                next(batches)

    def test_ctrl_c_strikes_again_while_it_ends(self):
        strikes = [KeyboardInterrupt]

        class Struck(Coordinator):
            def request_stop(self, ex=None):
                if strikes:
                    raise strikes.pop()
                super().request_stop(ex)

        def interrupted():
            yield from range(3)
            signal.raise_signal(signal.SIGINT)

        batches = batch(interrupted, 2, num_threads=0, coord=Struck())
        assert next(batches).tolist() == [0, 1]
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                next(batches)
        with pytest.raises(FailedPreconditionError, match="interrupted while it read its source"):
            next(batches)

    @pytest.mark.parametrize("deterministic", [False, True])
    @pytest.mark.parametrize("number", [0, 5, 8])
    def test_its_source_closes_it(self, number, deterministic):
        count = itertools.count()

        def closing():
            following = next(count)
            if following == number:
                batches.close()
            return following

        batches = batch(closing, 4, num_threads=0, deterministic=deterministic)
        assert [each.tolist() for each in batches] == [[0, 1, 2, 3], [4, 5, 6, 7]][: number // 4]
        assert next(count) == number + 1
        assert list(batches) == []

    @pytest.mark.parametrize("options", [{"num_threads": 0}, {}, {"num_threads": 0, "deterministic": True}])
    def test_a_source_that_asks_its_own_loop_as_it_makes_the_first_example(self, options):
        def circle():
            with pytest.raises(FailedPreconditionError, match="asked for a batch while it makes the first one"):
                next(batches)
            yield from range(4)

        with batch(circle, 2, **options) as batches:
            assert [each.tolist() for each in batches] == [[0, 1], [2, 3]]

    def test_a_source_that_asks_its_own_loop(self):
        def circle():
            yield 1
            yield next(batches)

        with (
            pytest.raises(FailedPreconditionError, match="asked for a batch while it makes one"),
            batch(circle, 2, num_threads=0) as batches,
        ):
            next(batches)

    def test_rounds(self):
        batches = batch([1, 2, 3], 2, num_threads=0, allow_smaller_final_batch=True)
        for _ in range(3):
            assert [each.tolist() for each in batches] == [[1, 2], [3]]

    def test_skipped_errors_are_counted(self):
        def example():
            return next(numbers) // (next(numbers) % 3)

        numbers = iter(range(20))
        with batch(example, 2, num_threads=0, on_error="skip") as batches:
            assert [each.tolist() for each in batches] == [[0, 2], [6, 5], [12, 8]]
        assert batches.num_errors == 3

    def test_what_the_thread_reads_after_it_is_not_kept(self, tmp_path):
        (tmp_path / "numbers").write_text("0\n1\n2\n3\n")

        def reader_and_files():
            files = FIFOQueue(1, ["string"], [()])
            files.enqueue(str(tmp_path / "numbers"))
            files.close()
            return TextLineReader(), files

        reader, files = reader_and_files()
        batches = batch(lambda: 6 // int(reader.read(files).value), 1, num_threads=0, on_error="skip")
        assert [each.tolist() for each in batches] == [[6], [3], [2]]
        other, files = reader_and_files()
        other.read(files)
        ended = weakref.ref(other)
        del other
        assert ended() is None


def test_a_state_needs_a_deterministic_loop():
    with batch([1, 2], 1, num_threads=0) as batches:
        next(batches)
        with pytest.raises(FailedPreconditionError, match="notes no places of its input"):
            batches.state_dict()


class TestForgotten:
    @pytest.mark.parametrize("deterministic", [False, True])
    def test_nothing_holds_a_loop_whose_sources_have_partly_ended(self, deterministic):
        batches = batch_join([range(9), range(2)], 7, num_threads=0, deterministic=deterministic)
        next(batches)
        loop = weakref.ref(batches)
        del batches
        gc.collect()
        assert loop() is None


class TestManyThreads:
    def test_each_example_goes_to_one_of_them(self):
        batches = batch(range(1000), 10, num_threads=0)
        calls = [run_in_thread(lambda: [each.tolist() for each in batches]) for _ in range(4)]
        assert sorted(itertools.chain(*(itertools.chain(*call.result()) for call in calls))) == [*range(1000)]


class TestReports:
    def test_say_what_the_source_takes(self):
        wait = threading.Event().wait

        def slow():
            wait(0.001)
            return 1

        with batch(slow, 10, num_threads=0) as batches:
            for _ in range(5):
                next(batches)
            report = batches.report()
            (function,) = (stage for stage in report.stages if stage.kind == "function")
            assert (function.threads, function.state, function.elements) == (0, "running", 50)
            (verdict,) = report.verdicts
            assert verdict.kind in ("inline", "consumer")
            assert "of the time of the loop 'batch', which calls it itself" in verdict.text
        (function,) = (stage for stage in batches.report().stages if stage.kind == "function")
        assert function.state == "ended"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: batch([1], 1, num_threads=-1),
            "num_threads must be at least 1, or 0 to read in the loop's own thread",
        ),
        (lambda: batch_join([[1]], 1, num_threads=2), "num_threads must be None, for a thread for each source, or 0"),
        (lambda: shuffle_batch_join([[1]], 1, num_threads=-1), "num_threads must be None"),
    ],
)
def test_bad_numbers(make, text):
    with pytest.raises(ValueError, match=text):
        make()
