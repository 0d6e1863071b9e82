"""The loop over batches: when its threads start, and that they end however you leave it."""

import copy
import gc
import pickle
import sys
import threading

import numpy as np
import pytest
from helpers import run_in_thread, run_script, wait_blocked, wait_until
from orchestration import fresh_collection, no_thread_left, source

import pipeline
from pipeline import Coordinator, FIFOQueue, NotFoundError, OutOfRangeError, QueueRunner, TextLineReader, batch


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


def endless():
    return 1


def failing_after(n, error):
    take = source(range(n))

    def example():
        try:
            return take()
        except OutOfRangeError:
            raise error from None

    return example


def run_loop(batches, seen, body=None):
    """The loop of a program: notes each batch in `seen`, then calls `body`."""
    with batches:
        for value in batches:
            seen.append(value.tolist())
            if body is not None:
                body()


def test_threads_that_ask_for_the_first_batch_together(monkeypatch):
    """One asks while the other starts the threads: it waits, and raises no false "was never started"."""
    batches, others = batch(iter(range(4)), 2), []
    create_threads = QueueRunner.create_threads

    def slowly(*args, **kwargs):
        ident = []
        others.append(run_in_thread(lambda: ident.append(threading.get_ident()) or next(batches)))
        wait_until(lambda: not others[0].alive() or (ident and stands_in_start(ident[0])), "the other to ask")
        return create_threads(*args, **kwargs)

    monkeypatch.setattr(QueueRunner, "create_threads", slowly)
    with batches:
        first = run_in_thread(next, batches).result().tolist()
        assert sorted([first, others[0].result().tolist()]) == [[0, 1], [2, 3]]


def stands_in_start(ident):
    return sys._current_frames()[ident].f_code.co_name == "_start"


def test_nothing_runs_before_the_first_batch():
    called = []
    with batch(lambda: called.append(1), 2) as batches:
        assert batches.queue is None
    assert called == []


class TestLeaving:
    def test_break(self):
        with batch(endless, 2, num_threads=3) as batches:
            for _ in batches:
                break
        assert batches.queue.is_closed()
        assert batches.coord.joined
        assert list(batches) == []

    def test_exception_in_the_body(self):
        def body():
            raise KeyError("body")

        batches = batch(endless, 2)
        with pytest.raises(KeyError, match="body"):
            run_loop(batches, [], body)
        assert batches.queue.is_closed()

    def test_close(self):
        batches = batch(endless, 2)
        next(batches)
        batches.close()
        batches.close()
        assert list(batches) == []
        assert batches.coord.joined

    def test_end_of_the_input_stops_the_threads(self):
        batches = batch(source(range(4)), 2)
        assert len(list(batches)) == 2
        assert batches.coord.joined

    def test_abandoned_iterator_stops_its_threads(self):
        batches = batch(endless, 2, num_threads=2)
        coord = batches.coord
        next(batches)
        del batches
        gc.collect()
        assert coord.should_stop()

    def test_blocked_consumers_are_freed(self):
        gate = threading.Event()
        first = iter([1])

        def slow():
            for value in first:
                return value
            gate.wait()
            raise OutOfRangeError(None, None, "end")

        batches = batch(slow, 2)
        call = run_in_thread(list, batches)
        wait_until(lambda: batches.queue is not None, "the queue")
        wait_blocked(batches.queue, dequeues=1)
        closing = run_in_thread(batches.close)
        wait_until(batches.queue.is_closed, "the queue to be closed")
        gate.set()
        assert call.result() == []
        assert closing.result() is None

    def test_thread_that_does_not_end_is_named(self):
        gate, first = threading.Event(), iter([1])

        def stuck():
            for value in first:
                return value
            gate.wait()
            raise OutOfRangeError(None, None, "end")

        batches = batch(stuck, 1)
        next(batches)
        batches.grace = 0
        with pytest.raises(RuntimeError, match=r"threads still running: QueueRunnerThread-batch-.*stuck"):
            batches.close()
        gate.set()

    @pytest.mark.parametrize("deterministic", [False, True])
    def test_thread_that_waits_for_the_first_example_is_named(self, deterministic):
        gate, called = threading.Event(), threading.Event()

        def stuck():
            called.set()
            gate.wait()
            raise OutOfRangeError(None, None, "end")

        batches = pipeline.batch(stuck, 1, deterministic=deterministic)
        batches.grace = 0
        taking = run_in_thread(list, batches)
        assert called.wait(30)
        closing = run_in_thread(batches.close)
        try:
            with pytest.raises(RuntimeError, match=r"batch: thread '.*' is in `next` and did not end within 0 s"):
                closing.result()
        finally:
            gate.set()
        assert taking.result() == []
        batches.grace = 10
        batches.close()

    def test_program_ends_with_threads_blocked(self):
        script = "import pipeline\nbatches = pipeline.batch(lambda: 1, 2, num_threads=3)\nprint(next(batches))"
        done = run_script(script)
        assert (done.returncode, done.stdout, done.stderr) == (0, "[1 1]\n", "")


class TestErrors:
    def test_of_a_thread_reach_the_loop_after_the_batches_before(self):
        error = ValueError("row 5")
        seen = []
        with pytest.raises(ValueError, match="row 5") as caught:
            run_loop(batch(failing_after(5, error), 2), seen)
        assert caught.value is error
        assert seen == [[0, 1], [2, 3]]
        assert isinstance(error.__context__, OutOfRangeError)

    def test_no_smaller_final_batch_hides_them(self):
        with pytest.raises(ValueError, match="row 1"):
            list(batch(failing_after(1, ValueError("row 1")), 9, allow_smaller_final_batch=True))

    def test_of_the_first_example(self):
        error = ValueError("row 0")
        batches = batch(failing_after(0, error), 2)
        with pytest.raises(ValueError, match="row 0") as caught:
            next(batches)
        assert caught.value is error
        assert list(batches) == []

    def test_of_a_shape_names_the_key(self):
        examples = [{"a": 1, "b": np.zeros(3)}, {"a": 1, "b": np.zeros(4)}]
        with pytest.raises(ValueError, match=r"component 1 \('b'\): .* dynamic_pad=True"):
            list(batch(source(examples), 2))

    def test_are_raised_at_exit_if_nobody_heard_of_them(self):
        batches = batch(failing_after(4, ValueError("late")), 2)
        next(batches)
        assert batches.coord.wait_for_stop()
        with pytest.raises(ValueError, match="late"):
            batches.__exit__(None, None, None)

    def test_body_matters_more_than_a_thread(self, caplog):
        batches = batch(failing_after(4, ValueError("thread")), 2)

        def body():
            assert batches.coord.wait_for_stop()
            raise KeyError("body")

        with pytest.raises(KeyError, match="body"):
            run_loop(batches, [], body)
        assert "thread" in caplog.text

    def test_every_consumer_hears_of_them(self):
        go, take = threading.Event(), iter([0])

        def example():
            for value in take:
                return value
            go.wait()
            raise ValueError("for all")

        batches = batch(example, 2)
        calls = [run_in_thread(list, batches) for _ in range(2)]
        wait_until(lambda: batches.queue is not None, "the queue")
        wait_blocked(batches.queue, dequeues=2)
        go.set()
        assert [str(call.exception()) for call in calls] == ["for all", "for all"]

    def test_of_a_producer_upstream(self, tmp_path):
        (tmp_path / "good").write_text("1\n2\n3\n")
        names = [tmp_path / "good", tmp_path / "missing", tmp_path / "good"]
        files, reader = pipeline.string_input_producer(names, num_epochs=1, shuffle=False), TextLineReader()
        seen = []
        with pytest.raises(NotFoundError, match="missing; No such file or directory"):
            run_loop(batch(lambda: int(reader.read(files).value), 2), seen)
        assert seen == [[1, 2]]


class TestUpstream:
    def test_each_loop_starts_and_stops_its_own_producers(self):
        """Two loops exist before either runs: the end of the first does not touch the input of the second."""
        train, test = (pipeline.input_producer(np.arange(n), num_epochs=1, shuffle=False) for n in (4, 6))
        loops = [batch(queue.dequeue, 2) for queue in (train, test)]
        for loop, n in zip(loops, (4, 6), strict=True):
            with loop as batches:
                assert np.concatenate(list(batches)).tolist() == list(range(n))

    def test_blocks_of_a_producer(self):
        rows = pipeline.input_producer(np.arange(12), num_epochs=1, shuffle=False)
        with batch(lambda: rows.dequeue_up_to(5), 4, enqueue_many=True) as batches:
            assert [value.tolist() for value in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]

    def test_endless_producers_are_stopped(self):
        rows = pipeline.input_producer(np.arange(3))
        with batch(rows.dequeue, 2) as batches:
            next(batches)
        assert rows.is_closed()

    def test_registered_runners_are_started(self):
        queue, take = FIFOQueue(5, "int32"), source(range(4))
        pipeline.add_queue_runner(QueueRunner(queue, [lambda: queue.enqueue(take())]))
        with batch(queue.dequeue, 2) as batches:
            assert [value.tolist() for value in batches] == [[0, 1], [2, 3]]

    def test_producers_that_a_registered_runner_reads_are_started(self):
        numbers = pipeline.range_input_producer(20, num_epochs=1, shuffle=False)
        squares = FIFOQueue(5, "int32", [()])
        pipeline.add_queue_runner(QueueRunner(squares, [lambda: squares.enqueue(numbers.dequeue() ** 2)]))
        with batch(squares, 10) as batches:
            assert [each.tolist() for each in batches] == [
                [i * i for i in range(10)],
                [i * i for i in range(10, 20)],
            ]

    def test_runners_started_by_hand_are_left_alone(self):
        rows, coord = pipeline.input_producer(np.arange(4), num_epochs=1, shuffle=False), Coordinator()
        threads = pipeline.start_queue_runners(coord=coord)
        with batch(rows.dequeue, 2) as batches:
            assert len(list(batches)) == 2
        assert not coord.should_stop()
        coord.request_stop()
        coord.join(threads)


class TestGivenCoordinator:
    def test_is_not_stopped_by_the_end_of_the_input(self):
        coord = Coordinator()
        with batch(source(range(4)), 2, coord=coord) as batches:
            assert batches.coord is coord
            assert len(list(batches)) == 2
        assert not coord.should_stop()
        coord.request_stop()
        coord.join()

    def test_is_not_stopped_by_leaving_the_loop(self):
        coord = Coordinator()
        with batch(endless, 2, num_threads=2, coord=coord) as batches:
            next(batches)
        assert batches.queue.is_closed()
        coord.request_stop()
        coord.join()  # and no error of a cancelled enqueue

    def test_hears_of_errors(self):
        coord, error = Coordinator(), ValueError("row 2")
        with pytest.raises(ValueError, match="row 2") as caught:
            list(batch(failing_after(2, error), 2, coord=coord))
        assert caught.value is error
        with pytest.raises(ValueError, match="row 2"):
            coord.join()

    def test_stop_ends_the_loop(self):
        coord = Coordinator()
        batches = batch(endless, 2, coord=coord)
        next(batches)
        coord.request_stop()
        assert len(list(batches)) < 20  # what the queue held
        coord.join()


@pytest.mark.parametrize("num_threads", [0, 2])
@pytest.mark.parametrize("begun", [False, True])
def test_loops_are_not_pickled_or_copied(num_threads, begun):
    """A copy would have shared the threads."""
    with pipeline.batch(np.arange(9), 3, num_threads=num_threads, name="digits") as batches:
        if begun:
            next(batches)
        for call in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(
                TypeError, match=r"<Batches 'digits': .*> cannot be pickled or copied: .*state_dict\(\)"
            ):
                call({"loop": batches} if call is not copy.copy else batches)
        assert len(list(batches)) == 3 - begun
