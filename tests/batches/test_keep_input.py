"""keep_input=: which examples are kept."""

import threading

import numpy as np
import pytest
from block_sources import Blocks, CallableBlocks
from helpers import raises, run_in_thread, wait_blocked, wait_until
from orchestration import fresh_collection, no_thread_left, source

from pipeline import Coordinator, InvalidArgumentError
from pipeline.batches.functions import (
    batch,
    batch_join,
    shuffle_batch,
    shuffle_batch_join,
)


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


def taken(batches):
    with batches:
        return [value.tolist() for value in batches]


def even(i):
    return i % 2 == 0


class TestOption:
    def test_batch(self):
        assert taken(batch(range(8), 2, keep_input=even)) == [[0, 2], [4, 6]]

    def test_batch_join(self):
        [values] = taken(batch_join([range(8), range(10, 16)], 7, keep_input=even))
        assert sorted(values) == [0, 2, 4, 6, 10, 12, 14]

    def test_shuffle_batch(self):
        [values] = taken(shuffle_batch(range(40), 20, 30, 10, keep_input=even))
        assert sorted(values) == list(range(0, 40, 2))

    def test_shuffle_batch_join(self):
        [values] = taken(shuffle_batch_join([range(20), range(20, 40)], 20, 30, 10, keep_input=even))
        assert sorted(values) == list(range(0, 40, 2))


class TestConstant:
    @pytest.mark.parametrize("keep", [True, 1, np.True_, np.array(True), np.int32(1)])
    def test_true_keeps_all(self, keep):
        assert taken(batch(range(4), 2, keep_input=keep)) == [[0, 1], [2, 3]]

    @pytest.mark.parametrize("keep", [False, 0, np.False_, np.array(False)])
    @pytest.mark.parametrize("many", [False, True])
    def test_false_parks_and_reads_nothing(self, keep, many):
        called = []
        batches = batch(lambda: called.append(1), 2, 3, enqueue_many=many, keep_input=keep)
        call = run_in_thread(list, batches)
        wait_until(lambda: batches.queue is not None, "the queue")
        wait_blocked(batches.queue, enqueues=1, dequeues=1)
        batches.close()
        assert call.result() == []
        assert called == []

    @pytest.mark.parametrize("stop", [True, False])
    def test_false_with_a_given_coordinator(self, stop):
        coord = Coordinator()
        batches = batch(lambda: 1, 2, coord=coord, keep_input=False)
        call = run_in_thread(list, batches)
        wait_until(lambda: batches.queue is not None, "the queue")
        wait_blocked(batches.queue, enqueues=1, dequeues=1)
        coord.request_stop() if stop else batches.close()
        assert call.result() == []
        coord.request_stop()
        coord.join()  # no error of a cancelled enqueue

    def test_false_gives_no_smaller_batch_either(self):
        batches = batch(lambda: 1, 1, allow_smaller_final_batch=True, keep_input=False)
        call = run_in_thread(list, batches)
        wait_until(lambda: batches.queue is not None, "the queue")
        wait_blocked(batches.queue, enqueues=1, dequeues=1)
        batches.close()
        assert call.result() == []

    def test_vector_for_every_block(self):
        blocks = np.arange(12).reshape(4, 3)
        keep = np.array([True, False, True])
        assert taken(batch(blocks, 4, enqueue_many=True, keep_input=keep)) == [[0, 2, 3, 5], [6, 8, 9, 11]]


class TestCallable:
    def test_is_asked_about_the_example_as_the_source_gave_it(self):
        asked = []

        def keep(example):
            asked.append(example)
            return example["x"] > 1

        assert [each["x"].tolist() for each in batch([{"x": i} for i in range(4)], 2, keep_input=keep)] == [[2, 3]]
        assert asked == [{"x": i} for i in range(4)]

    def test_input_is_read_to_its_end_even_if_nothing_is_kept(self):
        assert taken(batch(source(range(100)), 2, allow_smaller_final_batch=True, keep_input=lambda _: False)) == []

    def test_block_as_a_whole_or_by_rows(self):
        blocks = [[np.arange(3), list("abc")], [np.arange(3, 5), list("de")], [np.arange(5, 7), list("fg")]]
        answers = {0: np.array([True, False, True]), 3: False, 5: np.True_}

        def keep(block):
            return answers[int(block[0][0])]

        with batch(blocks, 4, enqueue_many=True, keep_input=keep) as batches:
            assert [[n.tolist(), s.tolist()] for n, s in batches] == [[[0, 2, 5, 6], [b"a", b"c", b"f", b"g"]]]

    def test_no_row_of_a_block(self):
        blocks = np.arange(9).reshape(3, 3)
        batches = batch(blocks, 4, enqueue_many=True, keep_input=lambda block: block > 4)
        assert taken(batches) == [[5, 6, 7, 8]]

    @pytest.mark.parametrize("kind", [Blocks, CallableBlocks])
    def test_sources_with_blocks_are_asked_row_by_row(self, kind):
        assert taken(batch(kind(np.arange(8)), 4, keep_input=lambda row: row[0] % 2 == 0)) == [[0, 2, 4, 6]]

    def test_several_threads(self):
        [values] = taken(batch(source(range(1000)), 500, 4, keep_input=even))
        assert sorted(values) == list(range(0, 1000, 2))

    def test_leaving_a_loop_of_which_nothing_is_kept(self):
        asked, coord = threading.Event(), Coordinator()

        def keep(i):
            asked.set()
            return i == 0

        first = iter([0])
        batches = batch(lambda: next(first, 1), 2, coord=coord, keep_input=keep)
        call = run_in_thread(list, batches)
        assert asked.wait(30)
        batches.close()
        assert call.result() == []
        coord.request_stop()
        coord.join()


class TestErrors:
    @pytest.mark.parametrize(
        ("keep", "many", "error", "text"),
        [
            ([True, False], False, ValueError, "`keep_input` cannot be a vector when `enqueue_many=False`."),
            ([[True]], True, ValueError, "`keep_input` must be 0 or 1 dimensions"),
            ("yes", False, TypeError, "`keep_input` must be a bool or an array of bools, got 'yes'"),
            (2, False, TypeError, "`keep_input` must be a bool or an array of bools, got 2"),
            (None, False, TypeError, "`keep_input` must be a bool or an array of bools, got None"),
        ],
    )
    def test_bad_values(self, keep, many, error, text):
        with raises(error, text):
            batch([], 2, enqueue_many=many, keep_input=keep)
        with raises(error, text):
            next(batch([np.zeros(2)] * 9, 2, enqueue_many=many, keep_input=lambda _: keep))

    @pytest.mark.parametrize("block", [np.zeros((3, 1)), (["a", "b", "c"],)])
    def test_vector_of_another_length(self, block):
        batches = batch([block], 1, enqueue_many=True, keep_input=[True, False])
        with raises(InvalidArgumentError, "data.shape must start with partitions.shape"):
            next(batches)

    def test_stop_iteration_of_the_callable_does_not_look_like_the_end(self):
        with pytest.raises(RuntimeError, match="raised StopIteration"):
            next(batch(range(9), 2, keep_input=lambda i: next(iter([]))))
