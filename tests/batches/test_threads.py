"""A batch function's source runs in the calling thread, one thread or several; and how they end."""

import gc
import itertools
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from helpers import LIMIT, run_in_thread, wait_blocked, wait_until
from orchestration import fresh_collection, no_thread_left, threads_since

import pipeline
from pipeline import Coordinator, FIFOQueue, batch, batch_join, shuffle_batch
from pipeline.errors import CancelledError, FailedPreconditionError, NotFoundError


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


def names_of_threads(**options):
    def number():
        threads.append(threading.current_thread())
        return 1

    threads = []
    with batch(number, 2, **options) as batches:
        for _ in range(50):
            next(batches)
    return set(threads)


def failing_after(n, error):
    def numbers():
        yield from range(n)
        raise error

    return numbers


class TestWho:
    def test_no_thread(self):
        assert names_of_threads(num_threads=0) == {threading.current_thread()}

    def test_one_thread(self):
        (thread,) = names_of_threads()
        assert thread is not threading.current_thread()

    def test_several_call_a_function_at_once(self):
        barrier = threading.Barrier(3, timeout=120)

        def number():
            barrier.wait()
            return 1

        with batch(number, 3, num_threads=3) as batches:
            assert next(batches).tolist() == [1, 1, 1]
            barrier.abort()

    def test_a_fixed_order_needs_one(self):
        assert len(names_of_threads(num_threads=3, deterministic=True)) == 1

    @pytest.mark.parametrize("threads", [1, 4])
    def test_what_lies_in_memory_is_gathered_in_the_own_thread(self, threads):
        for source in (np.arange(9), [1, 2, 3], range(8), pipeline.arrays(np.arange(5))):
            begun = threads_since()
            with batch(source, 2, num_threads=threads) as batches:
                next(batches)
                assert not begun()

    def test_nothing_runs_before_the_first_batch(self):
        begun = threads_since()
        with batch(lambda: 1, 2, num_threads=3) as batches:
            assert not begun()
            next(batches)
            assert begun()


class TestEnds:
    @pytest.mark.parametrize("threads", [0, 1, 3])
    def test_leaving_early(self, threads):
        with batch(lambda: 1, 2, num_threads=threads) as batches:
            next(batches)
        with pytest.raises(FailedPreconditionError, match="is closed"):
            batches.__enter__()

    @pytest.mark.parametrize("threads", [1, 3])
    def test_garbage_ends_its_threads(self, threads):
        batches = batch(lambda: 1, 2, num_threads=threads)
        next(batches)
        known = weakref.ref(batches)
        del batches
        gc.collect()
        assert known() is None

    def test_an_error_comes_after_the_batches_before(self):
        error = ValueError("row 5")
        for options in ({}, {"num_threads": 0}, {"deterministic": True}):
            batches = batch(failing_after(5, error), 2, **options)
            assert [next(batches).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
            with pytest.raises(ValueError, match="row 5"):
                next(batches)
            assert next(batches, None) is None

    def test_an_error_of_one_of_several_threads(self):
        numbers = iter(range(100))

        def number():
            if (found := next(numbers)) == 50:
                raise ValueError("number 50")
            return found

        with batch(number, 5, num_threads=3) as batches, pytest.raises(ValueError, match="number 50"):
            list(batches)

    def test_close_from_another_thread(self):
        queue = FIFOQueue(9, "int64", [()])
        for options in ({}, {"num_threads": 0}):
            batches = batch(queue, 2, **options)
            call = run_in_thread(next, batches)
            wait_blocked(queue, dequeues=1)
            batches.close()
            with pytest.raises(CancelledError, match="the iterator was closed"):
                call.result()

    def test_errors_are_skipped_and_counted(self):
        numbers = iter(range(20))

        def number():
            if (found := next(numbers)) % 4 == 0:
                raise ValueError(f"number {found}")
            return found

        for options in ({"num_threads": 0}, {"num_threads": 3}, {"deterministic": True}):
            numbers = iter(range(20))
            batches = batch(number, 5, on_error="skip", **options)
            found = sorted(value for each in batches for value in each.tolist())
            assert found == [value for value in range(20) if value % 4]
            assert batches.num_errors == 5
            assert {str(each) for each in batches.errors} == {f"number {each}" for each in range(0, 20, 4)}

    def test_too_many_errors(self):
        def fails():
            raise ValueError("always")

        with pytest.raises(ValueError, match="always"):
            next(batch(fails, 2, on_error="skip", max_errors=3))

    def test_examples_that_do_not_fit_are_skipped(self):
        examples = [np.zeros(2), np.zeros(3), np.ones(2), np.zeros(2, int)]
        batches = batch(iter(examples), 2, on_error="skip")
        assert [each.tolist() for each in batches] == [[[0, 0], [1, 1]]]
        assert batches.num_errors == 2


class TestCoordinator:
    """With the user's `coord=`."""

    @pytest.mark.parametrize("threads", [0, 1, 3])
    def test_its_stop_ends_the_loop(self, threads):
        coord = Coordinator()
        with batch(lambda: 1, 2, num_threads=threads, coord=coord) as batches:
            next(batches)
            coord.request_stop()
            assert sum(1 for _ in batches) <= 32
        coord.join()

    @pytest.mark.parametrize("threads", [0, 1])
    def test_its_stop_ends_a_wait(self, threads):
        coord, queue = Coordinator(), FIFOQueue(9, "int64", [()])
        batches = batch(queue, 2, num_threads=threads, coord=coord)
        call = run_in_thread(list, batches)
        wait_blocked(queue, dequeues=1)
        coord.request_stop()
        assert call.result() == []
        coord.join()
        batches.close()

    def test_the_end_of_the_input_does_not_stop_it(self):
        coord = Coordinator()
        assert len(list(batch(iter(range(4)).__next__, 2, coord=coord))) == 2
        assert not coord.should_stop()
        coord.request_stop()
        coord.join()

    @pytest.mark.parametrize("threads", [0, 1, 2])
    def test_it_hears_of_errors(self, threads):
        coord = Coordinator()

        def fails():
            raise NotFoundError(None, None, "no file")

        with pytest.raises(NotFoundError), batch(fails, 2, num_threads=threads, coord=coord) as batches:
            next(batches)
        with pytest.raises(NotFoundError, match="no file"):
            coord.join()

    def test_ctrl_c_as_threads_begin(self):
        """`close` waits for the threads already begun."""
        coord, begun, closing, ended = Coordinator(), threading.Event(), threading.Event(), []

        def number():
            begun.set()
            closing.wait(LIMIT)
            time.sleep(0.1)  # the work
            ended.append(True)
            return 1

        starts = threading.Thread.start.__code__
        waits = max(line for *_, line in starts.co_lines() if line)  # waits for the started thread

        def strike(frame, event, _):
            if frame.f_code is starts and event == "line" and frame.f_lineno == waits:
                begun.wait(LIMIT)
                sys.settrace(None)
                raise KeyboardInterrupt
            return strike

        batches = batch(number, 2, coord=coord)
        sys.settrace(strike)
        try:
            with pytest.raises(KeyboardInterrupt):
                next(batches)
        finally:
            sys.settrace(None)
        closing.set()
        batches.close()
        assert ended
        coord.request_stop()
        coord.join()


class TestProducers:
    def test_registered_runners_are_started(self):
        queue = FIFOQueue(10, "int64", [()])
        numbers = iter(range(6))
        pipeline.add_queue_runner(pipeline.QueueRunner(queue, [lambda: queue.enqueue(next(numbers, 99))]))
        with batch(queue, 3) as batches:
            assert next(batches).tolist() == [0, 1, 2]

    @pytest.mark.parametrize("deterministic", [False, True])
    @pytest.mark.parametrize("threads", [0, 1])
    def test_slices_go_on_from_a_state(self, deterministic, threads):
        def made():
            source = pipeline.slice_input_producer([np.arange(20), np.arange(20) * 2], num_epochs=2, seed=3)
            options = {"num_threads": threads, "deterministic": deterministic, "seed": 5}
            return shuffle_batch(source, 4, min_after_dequeue=6, **options)

        with made() as batches:
            parts = list(batches)
        assert sorted(value for first, _ in parts for value in first.tolist()) == sorted([*range(20)] * 2)
        assert all((second == 2 * first).all() for first, second in parts)
        with made() as batches:
            for _ in range(3):
                next(batches)
            state = batches.state_dict()
        with made() as batches:
            batches.load_state_dict(state)
            rest = list(batches)
        assert [each[0].tolist() for each in rest] == [each[0].tolist() for each in parts[3:]]

    def test_a_producer_is_shared_by_loops_without_a_fixed_order(self):
        rows = pipeline.range_input_producer(20, num_epochs=1, shuffle=False)
        one, other = batch(rows, 5, num_threads=0), batch(rows, 5, num_threads=0)
        found = [next(each).tolist() for each in (one, other, one, other)]
        assert sorted(value for each in found for value in each) == list(range(20))
        one.close()
        other.close()

    def test_a_producer_whose_thread_has_begun(self):
        """Its rows arrive through the queue; the state counts them, and loads even if the thread has not begun."""

        def made():
            rows = pipeline.range_input_producer(20, num_epochs=2, seed=1)
            return rows, batch(rows, 5)

        with made()[1] as batches:
            whole = [each.tolist() for each in batches]
        with Coordinator() as coord:
            rows, batches = made()
            pipeline.start_queue_runners(coord=coord)
            with batches:
                assert [next(batches).tolist() for _ in range(3)] == whole[:3]
                state = batches.state_dict()
            late = batch(rows, 5)
            late.load_state_dict(state)
            with late, pytest.raises(FailedPreconditionError, match="resume at element 15: its thread has begun"):
                next(late)
        with made()[1] as batches:
            batches.load_state_dict(state)
            assert [each.tolist() for each in batches] == whole[3:]

    def test_a_state_of_another_producer(self):
        def made(rows, **options):
            return batch(pipeline.input_producer(rows, **options), 2)

        with made(np.arange(9), num_epochs=2, seed=1) as batches:
            next(batches)
            state = batches.state_dict()
        for rows, options in [
            (np.arange(10), {"num_epochs": 2, "seed": 1}),
            (np.arange(9.0), {"num_epochs": 2, "seed": 1}),
            (np.arange(9), {"num_epochs": 3, "seed": 1}),
            (np.arange(9), {"num_epochs": 2, "seed": 2}),
            (np.arange(9), {"num_epochs": 2, "shuffle": False}),
        ]:
            with made(rows, **options) as batches, pytest.raises(pipeline.StateMismatchError):
                batches.load_state_dict(state)

    @pytest.mark.parametrize("threads", [0, 1])
    def test_a_seed_that_was_drawn_is_part_of_the_state(self, threads):
        def made():
            source = pipeline.slice_input_producer([np.arange(50), np.arange(50) * 2], num_epochs=2)
            return batch(source, 5, num_threads=threads)

        with made() as batches:
            for _ in range(3):
                next(batches)
            state = batches.state_dict()
            rest = [each[0].tolist() for each in batches]
        with made() as batches:
            batches.load_state_dict(state)
            assert [each[0].tolist() for each in batches] == rest

    @pytest.mark.parametrize("threads", [0, 1])
    def test_a_row_that_an_array_does_not_have_is_left_out(self, threads):
        def made():
            source = pipeline.slice_input_producer([np.arange(9), np.arange(7)], num_epochs=2, shuffle=False)
            return batch(source, 3, num_threads=threads, on_error="skip", allow_smaller_final_batch=True)

        expected = [[0, 1, 2], [3, 4, 5], [6, 0, 1], [2, 3, 4], [5, 6]]
        states = []
        with made() as batches:
            for each in expected:
                assert next(batches)[0].tolist() == each
                states.append(batches.state_dict())
            assert next(batches, None) is None
            assert batches.num_errors == 4
        for i, state in enumerate(states, 1):
            with made() as batches:
                batches.load_state_dict(state)
                assert [each[0].tolist() for each in batches] == expected[i:]

    @pytest.mark.parametrize("threads", [0, 1, 3])
    def test_a_function_that_reads_has_an_order_and_no_state(self, tmp_path, threads):
        for name in "ab":
            (tmp_path / name).write_text("".join(f"{name}{i}\n" for i in range(10)))
        files = pipeline.string_input_producer([tmp_path / "a", tmp_path / "b"], num_epochs=2, shuffle=False)
        reader = pipeline.TextLineReader()
        with batch(lambda: reader.read(files).value, 4, num_threads=threads, deterministic=True) as batches:
            got = [each.tolist() for each in batches]
            with pytest.raises(FailedPreconditionError, match=r"pipeline\.text\(files\)\.map\(f\)"):
                batches.state_dict()
        assert [line for each in got for line in each] == [
            b"%c%d" % (name, i) for _ in range(2) for name in b"ab" for i in range(10)
        ]

    def test_sources_that_threads_mix_have_no_state(self):
        with batch_join([range(9), range(9)], 2) as batches:
            next(batches)
            with pytest.raises(FailedPreconditionError, match="pass deterministic=True"):
                batches.state_dict()

    def test_a_queue_of_others_has_no_place(self):
        queue = FIFOQueue(9, "int64", [()])
        queue.enqueue_many(np.arange(4))
        queue.close()
        with batch(queue, 2, deterministic=True) as batches:
            next(batches)
            with pytest.raises(FailedPreconditionError, match="is a queue filled by your program"):
                batches.state_dict()


def test_nested_loops():
    inner = batch(range(20), 2, num_threads=0)
    with batch(inner, 5, enqueue_many=True, deterministic=True) as outer:
        assert next(outer).tolist() == [0, 1, 2, 3, 4]
        state = outer.state_dict()
        rest = [each.tolist() for each in outer]
    with batch(batch(range(20), 2, num_threads=0), 5, enqueue_many=True, deterministic=True) as outer:
        outer.load_state_dict(state)
        assert [each.tolist() for each in outer] == rest


def test_a_join_may_mix_kinds():
    with batch_join([iter(range(5)).__next__, range(10, 15)], 5) as batches:
        assert sorted(value for each in batches for value in each.tolist()) == [*range(5), *range(10, 15)]


def test_a_dataset_is_a_source():
    data = pipeline.dataset(range(10)).map(lambda number: number * 2)
    assert [each.tolist() for each in batch(data, 5)] == [[0, 2, 4, 6, 8], [10, 12, 14, 16, 18]]


def test_slow_threads_are_waited_for():
    """The end comes when the last thread has ended, not the first."""
    first_over = threading.Event()
    numbers = iter(range(7))
    lock = threading.Lock()

    def number():
        with lock:
            found = next(numbers, None)
        if found is None:
            first_over.set()
            raise StopIteration
        if found == 0:
            assert first_over.wait(120)
        return found

    with batch(number, 7, num_threads=2) as batches:
        assert sorted(next(batches).tolist()) == list(range(7))
    wait_until(first_over.is_set, "the end")


def test_no_thread_keeps_an_example_while_it_makes_the_next():
    """A batch comes as soon as there are enough examples, although every thread is blocked in a call."""
    numbers, go_on = itertools.count(), threading.Event()

    def number():
        found = next(numbers)
        assert found < 5 or go_on.wait(120)
        return found

    with batch(number, 5, num_threads=2) as batches:
        assert sorted(next(batches).tolist()) == list(range(5))
        go_on.set()


EXAMPLES = {
    "numbers": lambda i: i,
    "rows": lambda i: np.full(3, i, np.float32),
    "tuples": lambda i: (i, np.full(2, i)),
    "dicts": lambda i: {"x": float(i), "y": b"%d" % i},
    "text": str,
}


def plain(value):
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return tuple(map(plain, value)) if isinstance(value, tuple) else (value.dtype.str, value.tolist())


@pytest.mark.parametrize("kind", EXAMPLES)
def test_threads_give_what_one_gives(kind):
    """Every kind of example, each once, in batches with the same structure and dtypes."""
    make = EXAMPLES[kind]

    def batches(threads):
        numbers, lock = iter(range(1000)), threading.Lock()

        def example():
            with lock:
                found = next(numbers)
            return make(found)

        return batch(example, 1, num_threads=threads, capacity=50)

    alone = [plain(each) for each in batches(0)]
    assert sorted(map(str, (plain(each) for each in batches(3)))) == sorted(map(str, alone))
    assert len(alone) == 1000


def test_one_array_that_threads_fill_again_and_again():
    rows, numbers, lock = threading.local(), iter(range(600)), threading.Lock()

    def row():
        with lock:
            found = next(numbers)
        if not hasattr(rows, "row"):
            rows.row = np.empty(4)
        rows.row[:] = found
        return rows.row

    found = list(batch(row, 20, num_threads=3))
    assert sorted(np.concatenate(found).tolist()) == [[i] * 4 for i in range(600)]


def test_errors_of_functions_in_several_threads():
    """An error ends the loop; if errors are skipped, all other examples come."""

    def numbers():
        values = iter(range(95))

        def number():
            found = next(values)
            if found % 10 == 9:
                raise ValueError(found)
            return found

        return number

    with batch_join([numbers(), numbers()], 3) as batches, pytest.raises(ValueError, match=r"\A9\b"):
        list(batches)
    with batch_join([numbers(), numbers()], 43, on_error="skip") as batches:
        found = sorted(np.concatenate(list(batches)).tolist())
    assert found == sorted(2 * [i for i in range(95) if i % 10 != 9])
    assert batches.num_errors == 18
