"""QueueRunner: its constructor, its threads, and the global list."""

import functools
import logging
import threading

import pytest
from helpers import raises, wait_until
from orchestration import Gate, drain, fresh_collection, no_thread_left, out_of_range, source

import pipeline
from pipeline import CancelledError, Coordinator, FIFOQueue, OutOfRangeError, QueueRunner
from pipeline.runners.enqueue_ops import make_callable, op_name


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


def counting(queue, n):
    """An enqueue op that puts 0 ... n-1 into `queue`."""
    take = source(range(n))

    def enqueue_next():
        queue.enqueue(take())

    return enqueue_next


class TestConstructor:
    def test_defaults(self):
        queue, op = FIFOQueue(3, "int32", name="q"), lambda: None
        runner = QueueRunner(queue, [op])
        assert runner.queue is queue
        assert runner.enqueue_ops == [op]
        assert runner.name == "q"
        assert runner.queue_closed_exception_types == (OutOfRangeError,)
        assert runner.exceptions_raised == []
        runner.close_op()
        assert queue.is_closed()

    def test_default_cancel_op_cancels(self):
        queue = FIFOQueue(1, "int32")
        QueueRunner(queue, [print]).cancel_op()
        assert queue.is_closed()

    def test_given_ops_are_kept(self):
        def close():
            pass

        def cancel():
            pass

        runner = QueueRunner(FIFOQueue(1, "int32"), [print], close, cancel, (CancelledError,))
        assert (runner.close_op, runner.cancel_op) == (close, cancel)
        assert runner.queue_closed_exception_types == (CancelledError,)

    @pytest.mark.parametrize("ops", [None, [], ()])
    def test_no_ops(self, ops):
        with pytest.raises(ValueError, match=r"Must provide queue and enqueue_ops\."):
            QueueRunner(FIFOQueue(1, "int32"), ops)

    def test_no_queue(self):
        with pytest.raises(ValueError, match=r"Must provide queue and enqueue_ops\."):
            QueueRunner(None, [print])

    @pytest.mark.parametrize("types", [(), [OutOfRangeError], (ValueError,), OutOfRangeError, (1,)])
    def test_wrong_exception_types(self, types):
        with pytest.raises(TypeError, match=r"must be a tuple of pipeline\.errors types"):
            QueueRunner(FIFOQueue(1, "int32"), [print], queue_closed_exception_types=types)


def test_a_runner_says_what_it_is():
    queue, gate = FIFOQueue(9, "int32", name="q"), threading.Event()

    def last():
        gate.wait()
        raise out_of_range()

    runner = QueueRunner(queue, [source([]), last])
    assert repr(runner) == "<QueueRunner of 'q': 0 of 2 threads running>"
    threads = runner.create_threads(start=True)
    threads[0].join()
    assert repr(runner) == "<QueueRunner of 'q': 1 of 2 threads running>"
    gate.set()
    threads[1].join()
    assert repr(runner) == "<QueueRunner of 'q': 0 of 2 threads running>"


class TestCreateThreads:
    def test_one_thread_per_op_and_one_to_close(self):
        queue, coord = FIFOQueue(9, "int32", name="q"), Coordinator()
        runner = QueueRunner(queue, [counting(queue, 2), counting(queue, 2)])
        threads = runner.create_threads(coord=coord)
        prefix = "QueueRunnerThread-q-"
        op = "counting.<locals>.enqueue_next"
        assert [thread.name for thread in threads] == [prefix + op, prefix + op, prefix + "close_on_stop"]
        assert not any(thread.daemon or thread.is_alive() for thread in threads)
        coord.request_stop()
        for thread in threads:
            thread.start()
        coord.join()

    def test_without_coordinator_nothing_closes_on_stop(self):
        queue = FIFOQueue(9, "int32")
        threads = QueueRunner(queue, [counting(queue, 3)]).create_threads(daemon=True, start=True)
        assert len(threads) == 1
        assert threads[0].daemon
        assert list(queue) == [0, 1, 2]

    def test_registers_with_the_coordinator(self):
        queue, coord = FIFOQueue(9, "int32"), Coordinator()
        QueueRunner(queue, [counting(queue, 0)]).create_threads(coord=coord, start=True)
        coord.request_stop()
        coord.join()

    def test_second_call_makes_none_until_the_first_threads_ended(self):
        queue, coord = FIFOQueue(9, "int32"), Coordinator()
        runner = QueueRunner(queue, [counting(queue, 1)])
        assert len(runner.create_threads()) == 1  # never started, and yet in the way
        assert runner.create_threads(coord=coord, daemon=True, start=True) == []

        queue = FIFOQueue(1, "int32")
        runner = QueueRunner(queue, [counting(queue, 3)], close_op=lambda: None)
        [thread] = runner.create_threads(start=True)
        assert runner.create_threads(start=True) == []
        assert [queue.dequeue() for _ in range(3)] == [0, 1, 2]
        thread.join()
        assert len(runner.create_threads(start=True)) == 1

    def test_sessions_are_counted_each_by_itself(self):
        class Session:
            def make_callable(self, op):
                return functools.partial(self.run, op)

            def run(self, op):
                raise OutOfRangeError(None, None, op)

        runner = QueueRunner(FIFOQueue(1, "int32"), ["op"], close_op="close")
        one, two = Session(), Session()
        threads = runner.create_threads(one) + runner.create_threads(two)
        assert [thread.name.rsplit("-")[-1] for thread in threads] == ["str", "str"]
        assert runner.create_threads(one) == []
        for thread in threads:
            thread.start()
            thread.join()
        assert len(runner.create_threads(one, start=True)) == 1

    def test_session_that_cannot_be_counted(self):
        with pytest.raises(TypeError):
            QueueRunner(FIFOQueue(1, "int32"), [print]).create_threads(sess=3)


@pytest.mark.parametrize("ops", [drain, "op"], ids=["function", "string"])
def test_ops_that_are_no_list(ops):
    with pytest.raises(TypeError, match="enqueue_ops must be a list of callables, one for each thread"):
        QueueRunner(FIFOQueue(1, "int32"), ops)


def test_an_op_that_nothing_can_run():
    with pytest.raises(TypeError, match="An enqueue op must be a callable without arguments, not 3"):
        QueueRunner(FIFOQueue(1, "int32"), [drain, 3])


def test_names_of_ops():
    class Op:
        name = "graph/op"

        def __call__(self):
            pass

    assert op_name(Op()) == "graph/op"
    assert op_name(functools.partial(drain, 1)) == "drain"
    assert op_name(FIFOQueue(1, "int32").enqueue).endswith("enqueue")
    assert op_name(3) == "int"


def test_make_callable():
    assert make_callable(None, drain) is drain
    with pytest.raises(TypeError, match="must be a callable"):
        make_callable(None, "op")


class TestCollection:
    def test_starts_all_that_were_added(self):
        coord = Coordinator()
        queues = [FIFOQueue(9, "int32", name=name) for name in "ab"]
        for queue in queues:
            pipeline.add_queue_runner(QueueRunner(queue, [counting(queue, 2)]))
        threads = pipeline.start_queue_runners(coord=coord)
        assert [thread.name.split("-")[1] for thread in threads] == ["a", "a", "b", "b"]
        assert all(thread.daemon for thread in threads)
        assert [list(queue) for queue in queues] == [[0, 1], [0, 1]]
        coord.request_stop()
        coord.join(threads)

    def test_running_ones_add_nothing(self):
        coord, queue = Coordinator(), FIFOQueue(1, "int32")
        pipeline.add_queue_runner(QueueRunner(queue, [counting(queue, 5)]))
        assert len(pipeline.start_queue_runners(coord=coord)) == 2
        assert pipeline.start_queue_runners(coord=coord) == []
        coord.request_stop()
        coord.join()

    def test_threads_can_be_made_only(self):
        queue = FIFOQueue(1, "int32")
        pipeline.add_queue_runner(QueueRunner(queue, [counting(queue, 5)]))
        [thread] = pipeline.start_queue_runners(start=False, daemon=False)
        assert (thread.is_alive(), thread.daemon) == (False, False)

    def test_own_list(self, caplog):
        queue, own = FIFOQueue(9, "int32"), []
        pipeline.add_queue_runner(QueueRunner(queue, [counting(queue, 1)]), own)
        assert pipeline.start_queue_runners() == []
        assert "no queue runners were defined" in caplog.text
        [thread] = pipeline.start_queue_runners(collection=own)
        thread.join()
        assert list(queue) == [0]

    @pytest.mark.parametrize(
        ("given", "text"),
        [((3,), "qr must be a QueueRunner, not 3"), ((None, ()), "collection must be a list or None, not ()")],
    )
    def test_what_is_none_does_not_get_onto_a_list(self, given, text):
        runner, *rest = given
        runner = runner or QueueRunner(FIFOQueue(1, "int32"), [print])
        with raises(TypeError, f"add_queue_runner: {text}"):
            pipeline.add_queue_runner(runner, *rest)
        [batch] = pipeline.batch([1, 2], 2)  # it reads the list
        assert batch.tolist() == [1, 2]

    def test_reset_empties_the_list(self, caplog):
        pipeline.add_queue_runner(QueueRunner(FIFOQueue(1, "int32"), [print]))
        pipeline.reset()
        with caplog.at_level(logging.WARNING):
            assert pipeline.start_queue_runners() == []
        assert "start_queue_runners" in caplog.text


def test_daemon_threads_follow_the_thread_that_makes_them():
    """As for threads in general: those made by a daemon thread are daemons."""
    with Gate() as gate:
        made = []
        runner = QueueRunner(FIFOQueue(1, "int32"), [print])
        maker = threading.Thread(target=lambda: made.extend(runner.create_threads()), daemon=True)
        maker.start()
        wait_until(lambda: made, "threads")
        assert made[0].daemon
        assert gate.thread.is_alive()
