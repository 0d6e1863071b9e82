"""range_input_producer, and features common to all producers: blocks, large epochs, messages at the end."""

import numpy as np
import pytest
from helpers import raises, run_in_thread, start_blocked, wait_blocked
from orchestration import drain, fresh_collection, no_thread_left

import pipeline
from pipeline import Coordinator, InvalidArgumentError, OutOfRangeError
from pipeline.producers.producers import range_input_producer


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


@pytest.fixture
def running():
    """Start the runners; stop them at the end."""
    coord = Coordinator()

    def start(queue):
        threads.extend(pipeline.start_queue_runners(coord=coord))
        return queue

    threads = []
    yield start
    coord.request_stop()
    coord.join(threads)


class TestRange:
    def test_order_is_that_of_tensorflow(self, running):
        queue = running(range_input_producer(5, num_epochs=2, seed=3))
        assert drain(queue.dequeue) == [2, 4, 3, 0, 1, 2, 1, 4, 3, 0]

    def test_in_order(self, running):
        queue = running(range_input_producer(3, num_epochs=2, shuffle=False))
        assert drain(queue.dequeue) == [0, 1, 2, 0, 1, 2]

    @pytest.mark.parametrize("shuffle", [True, False])
    @pytest.mark.parametrize(
        ("limit", "dtype"),
        [
            (3, np.int32),
            (np.int32(3), np.int32),
            (np.uint8(3), np.int32),
            (np.int64(3), np.int64),
            (np.array(3, np.int32), np.int32),
            (np.array(3, np.int64), np.int64),
        ],
    )
    def test_dtype(self, running, limit, dtype, shuffle):
        queue = running(range_input_producer(limit, num_epochs=1, shuffle=shuffle))
        assert queue.dtypes == [np.dtype(dtype)]
        got = queue.dequeue_many(3)
        assert got.dtype == dtype
        assert sorted(got.tolist()) == [0, 1, 2]

    def test_huge_range_in_order(self, running):
        queue = running(range_input_producer(2**40, shuffle=False))
        assert queue.dtypes == [np.dtype(np.int64)]
        assert queue.dequeue_many(1000).tolist() == list(range(1000))

    def test_defaults(self):
        queue = range_input_producer(3)
        assert (queue.name, queue.stats().capacity) == ("input_producer", 32)
        assert range_input_producer(3, capacity=5, name="rows").stats().capacity == 5

    def test_own_collection(self):
        own = []
        queue = range_input_producer(3, num_epochs=1, collection=own)
        [thread] = pipeline.start_queue_runners(collection=own)
        thread.join()
        assert sorted(queue) == [0, 1, 2]

    def test_bad_limits(self):
        with raises(InvalidArgumentError, "range_input_producer: limit must be at least 0, got -3"):
            range_input_producer(-3)
        with raises(InvalidArgumentError, f"range_input_producer: limit must be at most {2**63 - 1:,}, got {2**63:,}"):
            range_input_producer(2**63)
        with pytest.raises(ValueError, match="limit must be a scalar"):
            range_input_producer([3] * np.ones(1, int))
        for limit in (2.5, "3", None, [3], np.array(2.5)):
            with pytest.raises(TypeError, match="limit must be an integer"):
                range_input_producer(limit)
        with pytest.raises(ValueError, match="input_producer: the input has no rows"):
            range_input_producer(0)
        with pytest.raises(ValueError, match=r"num_epochs must be > 0 not 0\."):
            range_input_producer(3, num_epochs=0)
        assert pipeline.start_queue_runners() == []


class TestBlock:
    def test_takes_what_is_there(self, running):
        queue = running(range_input_producer(10, shuffle=False, capacity=8))
        wait_blocked(queue, enqueues=1)
        assert queue.block(5).tolist() == [0, 1, 2, 3, 4]
        wait_blocked(queue, enqueues=1)
        assert queue.block(100).tolist() == [5, 6, 7, 8, 9, 0, 1, 2]

    def test_waits_for_the_first(self, running):
        queue = range_input_producer(4, num_epochs=1, shuffle=False)
        queue.enqueue(7)  # so that a dequeue can wait before the runner starts
        assert queue.block(3).tolist() == [7]
        call = start_blocked(queue, "block", 3)
        running(queue)
        first = call.result().tolist()
        assert first == [0]
        assert first + [row for block in drain(lambda: queue.block(2)) for row in block] == [0, 1, 2, 3]

    def test_end(self, running):
        queue = running(range_input_producer(3, num_epochs=1, shuffle=False))
        assert [row for block in drain(lambda: queue.block(2)) for row in block] == [0, 1, 2]
        with raises(OutOfRangeError, "FIFOQueue 'input_producer' is closed and has insufficient elements"):
            queue.block(1)

    def test_strings_and_matrices(self, running):
        strings = pipeline.string_input_producer(["b", "a"], num_epochs=1, shuffle=False)
        rows = running(pipeline.input_producer(np.eye(3), num_epochs=1, shuffle=False))
        assert [row for block in drain(lambda: strings.block(9)) for row in block] == [b"b", b"a"]
        assert np.array_equal(np.concatenate(drain(lambda: rows.block(9))), np.eye(3))

    @pytest.mark.parametrize("n", [0, -1])
    def test_too_small(self, n):
        with pytest.raises(ValueError, match=f"a block has at least 1 row, not {n}"):
            range_input_producer(3).block(n)

    def test_threads_share_the_rows(self, running):
        queue = running(range_input_producer(5000, num_epochs=2, capacity=64))
        calls = [run_in_thread(drain, lambda: queue.block(50)) for _ in range(4)]
        rows = [row for call in calls for block in call.result() for row in block]
        assert sorted(rows) == sorted([*range(5000)] * 2)

    def test_batch_starts_the_runner(self):
        queue = range_input_producer(6, num_epochs=2, shuffle=False)
        with pipeline.batch(queue, 4, num_threads=2) as batches:
            assert sorted(value for part in batches for value in part) == sorted([*range(6)] * 2)


def test_epochs_larger_than_a_piece_keep_order_and_shuffle(running):
    rows = np.arange(3 << 20, dtype=np.uint8).reshape(3 * 1024, 1024)  # 3 MiB
    rows[:, :2] = np.arange(len(rows), dtype=np.uint16)[:, None].view(np.uint8)
    plain = pipeline.input_producer(rows, num_epochs=2, shuffle=False)
    mixed = running(pipeline.input_producer(rows, num_epochs=1, seed=1))
    assert np.array_equal(plain.dequeue_many(2 * len(rows)), np.concatenate([rows, rows]))
    got = mixed.dequeue_many(len(rows))
    assert sorted(map(bytes, got)) == sorted(map(bytes, rows))
    assert not np.array_equal(got, rows)


class TestEnds:
    def test_says_after_how_many_epochs(self, running):
        queue = running(range_input_producer(3, num_epochs=2))
        drain(queue.dequeue)
        with pytest.raises(OutOfRangeError, match="end of its input after 2 epochs: 6 elements in, 6 out"):
            queue.dequeue()

    def test_says_that_there_were_no_rows(self, running):
        queue = running(pipeline.input_producer(np.zeros((0, 2)), num_epochs=3))
        with pytest.raises(OutOfRangeError, match="no element was ever enqueued: the input of 'input_producer' has no"):
            queue.dequeue()


def test_cancel_op_must_be_callable():
    with pytest.raises(TypeError, match="cancel_op must be a callable"):
        pipeline.input_producer([1], cancel_op=3)
    with pytest.raises(TypeError, match="cancel_op must be a callable"):
        pipeline.string_input_producer(["a"], cancel_op="close")


def test_summary_name_is_taken_and_does_nothing():
    assert pipeline.input_producer([1], summary_name="fraction_full").name == "input_producer"


@pytest.mark.parametrize("strings", [3, 2.5])
def test_strings_must_be_a_list(strings):
    with pytest.raises(TypeError, match="requires a list of strings"):
        pipeline.string_input_producer(strings)


@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (2, 2), ()])
def test_arrays_of_strings_have_rank_1(shape):
    with pytest.raises(ValueError, match="the input must have rank 1"):
        pipeline.string_input_producer(np.full(shape, "a"))
