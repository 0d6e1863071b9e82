"""batch_join and shuffle_batch_join: several sources, one thread each."""

from collections import Counter

import numpy as np
import pytest
from block_sources import Blocks
from helpers import raises, run_in_thread, wait_blocked, wait_until
from orchestration import fresh_collection, no_thread_left, source

import pipeline
from pipeline import FIFOQueue, InvalidArgumentError
from pipeline.batches.functions import batch_join, shuffle_batch_join


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

    def test_blocks_beside_single_examples(self):
        with batch_join([[(np.int64(i),) for i in range(10)], Blocks(np.arange(10, 30))], 30) as batches:
            [got] = batches
        assert sorted(got.tolist()) == list(range(30))

    def test_one_thread_for_each(self):
        endless = iter(int, 1)
        batches = batch_join([endless, iter(int, 1), iter(int, 1)], 4, capacity=5)
        with batches:
            next(batches)
            wait_blocked(batches.queue, enqueues=3)

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
            with batch_join([[first], [second]], 2) as batches:
                [got] = batches
            assert type(got) is type(first)

    @pytest.mark.parametrize("sources", [[[1], [(2,)]], [[[1]], [2]], [[(1,)], [[2]]]])
    def test_a_single_component_may_be_in_a_list(self, sources):
        assert sorted(values(batch_join(sources, 2))) == [1, 2]

    def test_what_a_later_source_has_beyond_the_first_is_dropped(self):
        with batch_join([[(1, 2)], [(3, 4, 5)]], 2) as batches:
            [got] = batches
        assert sorted(got[1].tolist()) == [2, 4]

    @pytest.mark.parametrize(
        ("other", "error", "text"),
        [
            ({"a": 1}, ValueError, "All dictionaries in tensors_list must have the same keys: source 1 gave ['a']"),
            (
                (1, 2),
                ValueError,
                "All dictionaries in tensors_list must have the same keys: source 1 gave 2 components",
            ),
            ({"a": 1, "b": np.float32(2)}, TypeError, "Expected types to be consistent: component 'b' of source 1 is"),
            ({"a": 1, "b": 2.5}, TypeError, "FIFOQueue 'batch_join': component 1 ('b'): expected int64"),
            ({"a": 1, "b": [1, 2]}, InvalidArgumentError, "Shape mismatch in tuple component 1. Expected [], got [2]"),
        ],
    )
    def test_that_differ_from_dicts(self, other, error, text):
        with raises(error, text):
            list(batch_join([[{"a": 1, "b": 2}], [other]], 3))

    @pytest.mark.parametrize(
        ("other", "text"),
        [
            ((1,), "every source must give at least the 2 components of the first; got 1 of them"),
            (7, "all sources must give examples of one form: source 1 gave a single int, another one 2 components"),
            ({"a": 1}, "all sources must give examples of one form: source 1 gave ['a']"),
        ],
    )
    def test_that_differ_from_tuples(self, other, text):
        with raises(ValueError, text):
            list(batch_join([[(1, 2)], [other]], 3))

    def test_that_differ_from_a_single_component(self):
        text = "all sources must give examples of one form: source 1 gave 2 components, another one a single component"
        with raises(ValueError, text):
            list(batch_join([[1], [(1, 2)]], 3))

    def test_later_examples_of_a_later_source(self):
        with raises(ValueError, "every source must give at least the 2 components of the first; got 1 of them"):
            list(batch_join([[(1, 2)], [(1, 2, 3), (1,)]], 5))


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
        with raises(TypeError, "the source of a batch must be"):
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
        queue = FIFOQueue(9, "int64", [()])  # nobody fills it
        batches = batch_join([iter(int, 1), queue], 2)
        with batches:
            next(batches)
            wait_until(lambda: queue.stats().waiting_dequeues == 1, "the other thread to wait")
        assert batches.coord.joined

    def test_closing_while_the_first_example_is_awaited(self):
        queue = FIFOQueue(9, "int64", [()])
        batches = batch_join([queue, iter(int, 1)], 2)
        call = run_in_thread(list, batches)
        wait_blocked(queue, dequeues=1)
        batches.close()
        assert call.result() == []
