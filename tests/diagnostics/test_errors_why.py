"""Errors from closed queues: TensorFlow's first line, then the reason for the close, and the original exception."""

import pickle
import threading

import pytest
from helpers import raises, start_blocked, wait_blocked, wait_until
from orchestration import fresh_collection, no_thread_left, source

import pipeline
from pipeline import CancelledError, Coordinator, FIFOQueue, OutOfRangeError, QueueRunner, RandomShuffleQueue
from pipeline.diagnostics.ends import end_of_input
from pipeline.diagnostics.workers import note_read


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


def lines(error):
    return str(error).splitlines()


def fail_after(queue, n, error):
    """Return an op, for several threads, that enqueues 0 ... n-1 and then raises `error`."""
    lock, numbers = threading.Lock(), iter(range(n))

    def op():
        with lock:
            number = next(numbers, None)
            if number is None:
                raise error
            queue.enqueue(number)

    return op


def copy(take, queue):
    def op():
        queue.enqueue(take())

    return op


class TestFailure:
    def test_consumer_and_join_hear_of_it(self):
        coord, error = Coordinator(), ValueError("cannot reshape")
        queue = RandomShuffleQueue(100, 10, "int64", (), name="examples")
        threads = QueueRunner(queue, [fail_after(queue, 17, error)] * 4).create_threads(coord=coord, start=True)
        wait_until(queue.is_closed, "the queue to be closed")
        with pytest.raises(OutOfRangeError) as caught:
            queue.dequeue_many(32)
        first, why = lines(caught.value)
        text = "is closed and has insufficient elements (requested 32, current size 17)"
        assert first == f"RandomShuffleQueue 'examples' {text}"
        assert why.startswith("closed because thread ")
        assert why.endswith(" of 4 of its QueueRunner failed after 17 elements: ValueError: cannot reshape")
        assert caught.value.__cause__ is error
        frames = [entry.name for entry in pytest.ExceptionInfo.from_exception(error).traceback]
        assert "op" in frames
        with pytest.raises(ValueError, match="cannot reshape"):
            coord.join(threads)

    def test_enqueue_and_close_say_it_too(self):
        coord, error = Coordinator(), ValueError("bad")
        queue = FIFOQueue(9, "int64", (), name="q")
        QueueRunner(queue, [fail_after(queue, 1, error)]).create_threads(coord=coord, start=True)
        with pytest.raises(ValueError, match="bad"):
            coord.join()
        why = "\nclosed because thread 1 of 1 of its QueueRunner failed after 1 element: ValueError: bad"
        for call, text in [
            (lambda: queue.enqueue(1), "FIFOQueue 'q' is closed."),
            (queue.close, "Queue 'q' is already closed."),
        ]:
            with pytest.raises(CancelledError) as caught:
                call()
            assert str(caught.value) == text + why
            assert caught.value.__cause__ is error

    def test_reaches_the_end_of_a_chain_of_three(self):
        coord, error = Coordinator(), ValueError("bad")
        queues = [FIFOQueue(9, "int64", (), name=name) for name in "abc"]
        ops = [fail_after(queues[0], 2, error), *map(copy, [q.dequeue for q in queues], queues[1:])]
        for queue, op in zip(queues, ops, strict=True):
            pipeline.add_queue_runner(QueueRunner(queue, [op]))
        pipeline.start_queue_runners(coord=coord)
        with pytest.raises(OutOfRangeError) as caught:
            queues[2].dequeue_many(3)
        why = "closed because thread 1 of 1 of the QueueRunner of 'a' failed after 2 elements: ValueError: bad"
        assert lines(caught.value)[1] == why
        assert caught.value.__cause__ is error
        with pytest.raises(ValueError, match="bad"):
            coord.join()

    def test_upstream_failure_is_no_end_of_input(self):
        """The op got the end of a queue closed by a failure, while its own coordinator was not stopped."""
        upstream, own, error = Coordinator(), Coordinator(), ValueError("bad")
        first, second = FIFOQueue(9, "int64", (), name="a"), FIFOQueue(9, "int64", (), name="b")
        QueueRunner(first, [fail_after(first, 0, error)]).create_threads(coord=upstream, start=True)
        with pytest.raises(ValueError, match="bad"):
            upstream.join()
        QueueRunner(second, [copy(first.dequeue, second)]).create_threads(coord=own, start=True)
        with pytest.raises(OutOfRangeError) as caught:
            second.dequeue()
        why = "closed because thread 1 of 1 of the QueueRunner of 'a' failed after 0 elements: ValueError: bad"
        assert lines(caught.value)[1] == why
        assert caught.value.__cause__ is error
        own.request_stop()
        own.join()

    def test_loop_over_a_queue_raises(self):
        coord, error, got = Coordinator(), ValueError("bad"), []
        queue = FIFOQueue(9, "int64", ())
        QueueRunner(queue, [fail_after(queue, 2, error)]).create_threads(coord=coord, start=True)
        with pytest.raises(OutOfRangeError) as caught:
            got.extend(iter(queue))
        assert caught.value.__cause__ is error
        with pytest.raises(ValueError, match="bad"):
            coord.join()

    def test_reported_by_hand(self):
        coord, queue = Coordinator(), FIFOQueue(9, "int64", ())
        QueueRunner(queue, [lambda: coord.wait_for_stop()]).create_threads(coord=coord, start=True)
        coord.request_stop(KeyError("k"))
        with pytest.raises(KeyError):
            coord.join()
        with pytest.raises(OutOfRangeError) as caught:
            queue.dequeue()
        assert "reported an error to its Coordinator at " in str(caught.value)
        assert "test_errors_why.py:" in str(caught.value)
        assert isinstance(caught.value.__cause__, KeyError)

    def test_exception_without_a_text(self):
        class Mute(Exception):
            def __str__(self):
                raise RuntimeError("no text")

        coord, queue = Coordinator(), FIFOQueue(9, "int64", ())
        QueueRunner(queue, [fail_after(queue, 0, Mute())]).create_threads(coord=coord, start=True)
        with pytest.raises(OutOfRangeError, match=r"failed after 0 elements: Mute$"):
            queue.dequeue()
        with pytest.raises(Mute):
            coord.join()


class TestRecord:
    @pytest.mark.parametrize(
        ("keys", "attributes", "text"),
        [
            ([b"a.csv:3"], {}, "(record 'a.csv:3')"),
            ([b"a:1", b"a:2", b"a:3"], {}, "(records 'a:1' to 'a:3')"),
            ([b"a:1", b"a:2", b"a:3"], {"record": 1}, "(record 'a:2')"),
            ([b"a:1"], {"record_key": "img_17.png"}, "(record 'img_17.png')"),
            ([b"bad"], {}, ""),
        ],
    )
    def test_is_named(self, keys, attributes, text):
        coord, queue, error = Coordinator(), FIFOQueue(9, "int64", ()), ValueError("bad")
        error.__dict__.update(attributes)

        def op():
            note_read(keys)
            raise error

        QueueRunner(queue, [op]).create_threads(coord=coord, start=True)
        with pytest.raises(OutOfRangeError) as caught:
            queue.dequeue()
        assert lines(caught.value)[1].endswith(f"ValueError: bad {text}".rstrip())
        with pytest.raises(ValueError, match="bad"):
            coord.join()

    def test_of_an_earlier_call_is_not(self):
        coord, queue, calls = Coordinator(), FIFOQueue(9, "int64", ()), []

        def op():
            if calls:
                raise ValueError("bad")
            note_read([b"old"])
            calls.append(1)

        QueueRunner(queue, [op]).create_threads(coord=coord, start=True)
        with pytest.raises(OutOfRangeError, match=r"ValueError: bad$"):
            queue.dequeue()
        with pytest.raises(ValueError, match="bad"):
            coord.join()


class TestEnd:
    @pytest.mark.parametrize(
        ("threads", "epochs", "text"),
        [
            (4, 1, "all 4 threads reached the end of their input after 1 epoch: 1,000 elements in, 992 out"),
            (1, 2, "its thread reached the end of its input after 2 epochs: 1,000 elements in, 992 out"),
            (2, None, "all 2 threads reached the end of their input: 1,000 elements in, 992 out"),
        ],
    )
    def test_says_how_much_there_was(self, threads, epochs, text):
        queue, take = FIFOQueue(64, "int64", ()), source(range(1000))

        def op():
            try:
                queue.enqueue(take())
            except OutOfRangeError:
                raise end_of_input("over", epochs) from None

        QueueRunner(queue, [op] * threads).create_threads(start=True)
        for _ in range(31):
            queue.dequeue_many(32)
        with pytest.raises(OutOfRangeError) as caught:
            queue.dequeue_many(32)
        assert lines(caught.value)[1:] == [text]
        assert caught.value.__cause__ is None

    def test_epochs_are_known_downstream(self):
        first, second = FIFOQueue(9, "int64", ()), FIFOQueue(9, "int64", ())

        def op():
            raise end_of_input("over", 3)

        first.enqueue(1)
        runners = [QueueRunner(first, [op]), QueueRunner(second, [copy(first.dequeue, second)])]
        for runner in runners:
            runner.create_threads(start=True)
        assert second.dequeue() == 1
        with pytest.raises(OutOfRangeError, match=r"after 3 epochs: 1 element in, 1 out$"):
            second.dequeue()

    def test_nothing_ever_came(self):
        queue = FIFOQueue(9, "int64", ())
        op = source([])
        QueueRunner(queue, [op, op]).create_threads(start=True)
        with pytest.raises(OutOfRangeError) as caught:
            queue.dequeue()
        why = "no element was ever enqueued: all 2 threads reached the end of their input without one"
        assert lines(caught.value)[1] == why

    def test_nothing_ever_came_and_why(self):
        first, second = FIFOQueue(9, "int64", ()), FIFOQueue(9, "int64", ())

        def op():
            raise end_of_input("over", 1, "'train/*.jpg' matched no file")

        QueueRunner(first, [op]).create_threads(start=True)
        QueueRunner(second, [copy(first.dequeue, second)]).create_threads(start=True)
        for queue in first, second:
            with pytest.raises(OutOfRangeError) as caught:
                queue.dequeue()
            assert lines(caught.value)[1] == "no element was ever enqueued: 'train/*.jpg' matched no file"

    def test_errors_can_be_pickled(self):
        queue = FIFOQueue(9, "int64", ())
        QueueRunner(queue, [lambda: (_ for _ in ()).throw(end_of_input("over", 1))]).create_threads(start=True)
        with pytest.raises(OutOfRangeError) as caught:
            queue.dequeue()
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


class TestStop:
    def test_says_where(self):
        coord, queue = Coordinator(), FIFOQueue(1, "int64", ())
        QueueRunner(queue, [lambda: queue.enqueue(1)]).create_threads(coord=coord, start=True)
        wait_blocked(queue, enqueues=1)
        coord.request_stop()
        coord.join()
        with pytest.raises(OutOfRangeError) as caught:
            queue.dequeue_many(2)
        assert lines(caught.value)[1].startswith("closed by coord.request_stop() at ")
        assert "test_errors_why.py:" in lines(caught.value)[1]
        assert caught.value.__cause__ is None

    def test_by_hand_says_where(self):
        queue = FIFOQueue(1, "int64", (), name="q")
        queue.close()
        with raises(OutOfRangeError, "FIFOQueue 'q' is closed and has insufficient") as caught:
            queue.dequeue()
        assert "\nno element was ever enqueued; closed by close() at " in str(caught.value)

    def test_close_that_did_not_happen_is_forgotten(self):
        queue = FIFOQueue(1, "int64", ())
        queue.enqueue(1)
        waiting = start_blocked(queue, "enqueue", 2)
        with pytest.raises(TimeoutError):
            queue.close(timeout=0.001)
        assert queue.dequeue() == 1
        waiting.result()
        queue.close(cancel_pending_enqueues=True)
        with pytest.raises(CancelledError, match=r"closed by close\(cancel_pending_enqueues=True\) at "):
            queue.enqueue(3)
