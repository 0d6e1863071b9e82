"""batch_join and shuffle_batch_join: several sources, one thread each."""

import threading
from collections import Counter

import numpy as np
import pytest
from helpers import raises, run_in_thread, wait_blocked, wait_until
from orchestration import fresh_collection, no_thread_left, source

import pipeline
from pipeline import FIFOQueue
from pipeline.batches.functions import batch_join, shuffle_batch_join
from pipeline.errors import CancelledError, InvalidArgumentError


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


def values(batches):
    with batches:
        return [value for part in batches for value in part.tolist()]


class TestSources:
    def test_every_example_of_every_source_comes_once(self):
        queue = FIFOQueue(50, "int64", [()])
        queue.enqueue_many(np.arange(40, 60))
        queue.close()
        producer = pipeline.input_producer(np.arange(60, 80), num_epochs=1)
        sources = [source(range(20)), range(20, 40), queue, producer]
        got = values(batch_join(sources, 10))
        assert sorted(got) == list(range(80))

    def test_each_source_stays_in_order(self):
        got = values(batch_join([range(100), range(100, 200)], 5))
        assert [v for v in got if v < 100] == list(range(100))
        assert [v for v in got if v >= 100] == list(range(100, 200))

    def test_one_thread_for_each(self):
        threads = []

        def taking(number):
            while True:
                threads.append(threading.current_thread())
                yield number

        with batch_join([taking(1), taking(2)], 4, capacity=5) as batches:
            next(batches)
            wait_until(lambda: len(set(threads)) == 2, "two threads")

    def test_with_a_fixed_order_they_take_turns(self):
        for options in ({"deterministic": True}, {"num_threads": 0}):
            got = values(batch_join([[1, 2], range(10, 15), iter([20])], 8, **options))
            assert got == [1, 10, 20, 2, 11, 12, 13, 14]

    def test_tables_give_sixteen_rows_a_turn(self):
        tables = [pipeline.arrays(np.arange(20)), pipeline.arrays(np.arange(100, 120))]
        got = values(batch_join(tables, 40, deterministic=True))
        assert got == [*range(16), *range(100, 116), *range(16, 20), *range(116, 120)]

    @pytest.mark.parametrize("empty", [0, 1, 2])
    def test_a_source_without_examples(self, empty):
        sources = [[1, 1], [1, 1], [1, 1]]
        sources[empty] = []
        assert values(batch_join(sources, 2)) == [1] * 4

    def test_no_example_at_all(self):
        assert values(batch_join([[], source([])], 2)) == []

    def test_rows_of_blocks_may_differ_in_number(self):
        got = values(batch_join([[np.arange(3)], [np.arange(5)]], 8, enqueue_many=True))
        assert Counter(got) == Counter([*range(3), *range(5)])

    def test_shuffled(self):
        batches = shuffle_batch_join([range(300), range(300, 600)], 10, 200, 100, 5)
        got = values(batches)
        assert sorted(got) == list(range(600))
        assert [v for v in got if v < 300] != list(range(300))

    def test_padded(self):
        with batch_join([[np.ones(1)] * 2, [np.ones(3)] * 2], 4, dynamic_pad=True) as batches:
            [got] = batches
        assert sorted(got.sum(axis=1).tolist()) == [1, 1, 3, 3]
        with shuffle_batch_join([[np.ones(1)] * 2, [np.ones(3)] * 2], 4, 9, 3, dynamic_pad=True) as batches:
            [got] = batches
        assert got.shape == (4, 3)


class TestForms:
    def test_dicts(self):
        with batch_join([[{"a": 1, "b": 2}], [{"b": 4, "a": 3}]], 2) as batches:
            [got] = batches
        assert sorted(zip(got["a"].tolist(), got["b"].tolist(), strict=True)) == [(1, 2), (3, 4)]

    def test_container_of_the_first(self):
        for first, second in [((1, 2), [3, 4]), ([1, 2], (3, 4))]:
            with batch_join([[first], [second]], 2, deterministic=True) as batches:
                [got] = batches
            assert type(got) is type(first)
            assert [values.tolist() for values in got] == [[1, 3], [2, 4]]

    @pytest.mark.parametrize("sources", [[[1], [(2,)]], [[[1]], [2]], [[(1,)], [[2]]]])
    def test_a_single_component_may_be_in_a_list(self, sources):
        assert sorted(values(batch_join(sources, 2))) == [1, 2]

    @pytest.mark.parametrize(
        ("other", "error", "text"),
        [
            ({"a": 1}, ValueError, "batch: every example must have the keys of the first one, ['a', 'b']; got ['a']"),
            ((1, 2), ValueError, "batch: every example must have the keys of the first one, ['a', 'b']; got tuple"),
            ({"a": 1, "b": [1, 2]}, InvalidArgumentError, "batch: component 'b' has shape [] in one example"),
        ],
    )
    def test_that_differ(self, other, error, text):
        with raises(error, text):
            list(batch_join([[{"a": 1, "b": 2}], [other]], 2, deterministic=True))


class TestArguments:
    def test_no_source(self):
        for function in (batch_join, lambda *a: shuffle_batch_join(*a, 10, 5)):
            with raises(ValueError, "Expected at least one set of tensors"):
                function([], 2)

    @pytest.mark.parametrize("given", [print, {"a": print}, None])
    def test_no_list(self, given):
        with raises(TypeError, "tensors_list must be a list of sources"):
            batch_join(given, 2)

    def test_item_that_is_no_source(self):
        with raises(TypeError, "dataset: expected arrays, a sequence, an iterable, a function or a queue, got 5"):
            batch_join([print, 5], 2)

    @pytest.mark.parametrize(
        ("capacity", "minimum", "text"),
        [(5, 5, "min_after_dequeue 5 must be < capacity 5"), (5, -1, "min_after_dequeue -1 must be >= 0")],
    )
    def test_minimum(self, capacity, minimum, text):
        with raises(InvalidArgumentError, text):
            shuffle_batch_join([print], 2, capacity, minimum)


class TestEnds:
    def test_error_of_one_source_ends_all(self):
        def failing():
            raise ValueError("source 1")

        with pytest.raises(ValueError, match="source 1"):
            list(batch_join([iter(int, 1), failing], 2))

    def test_leaving_early(self):
        queue = FIFOQueue(9, "int64", [()])  # never filled
        batches = batch_join([iter(int, 1), queue], 2)
        with batches:
            next(batches)
            wait_until(lambda: queue.stats().waiting_dequeues == 1, "the other thread to wait")

    def test_closing_while_the_first_example_is_awaited(self):
        queues = [FIFOQueue(9, "int64", [()]) for _ in range(2)]
        batches = batch_join(queues, 2)
        call = run_in_thread(list, batches)
        for queue in queues:
            wait_blocked(queue, dequeues=1)
        batches.close()
        with pytest.raises(CancelledError, match="the iterator was closed"):
            call.result()
