"""Sources accepted by batch."""

from collections import Counter

import numpy as np
import pytest
from helpers import raises, run_in_thread, wait_blocked, wait_until
from orchestration import fresh_collection, no_thread_left, source

import pipeline
from pipeline import CancelledError, FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue, batch, shuffle_batch
from pipeline.producers.slices import slice_input_producer


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


def taken(batches):
    with batches:
        return [value.tolist() for value in batches]


class TestIterables:
    @pytest.mark.parametrize("kind", [list, iter, np.array, lambda items: (i for i in items)])
    def test_each_item_is_an_example(self, kind):
        assert taken(batch(kind(range(4)), 2)) == [[0, 1], [2, 3]]

    def test_blocks_of_an_iterable(self):
        blocks = ([np.arange(n), np.ones((n, 2))] for n in (1, 0, 3))
        with batch(blocks, 2, enqueue_many=True) as batches:
            assert [first.tolist() for first, _ in batches] == [[0, 0], [1, 2]]

    def test_a_generator_is_resumed_by_one_thread_at_a_time(self):
        def numbers():
            yield from range(500)

        values = [value for part in taken(batch(numbers(), 10, 4)) for value in part]
        assert sorted(values) == list(range(500))

    def test_endless_generator(self):
        def ones():
            while True:
                yield 1

        with batch(ones(), 2, 3) as batches:
            assert next(batches).tolist() == [1, 1]

    def test_error_of_a_generator(self):
        def failing():
            yield from range(2)
            raise ValueError("item 2")

        with pytest.raises(ValueError, match="item 2"):
            list(batch(failing(), 2, 3))


class TestQueues:
    @pytest.mark.parametrize("shapes", [[()], None])
    @pytest.mark.parametrize("threads", [0, 1, 3])
    def test_elements_are_the_examples(self, shapes, threads):
        queue = FIFOQueue(100, "int32", shapes)
        for i in range(100):
            queue.enqueue(i)
        queue.close()
        values = [value for part in taken(batch(queue, 5, threads)) for value in part]
        assert sorted(values) == list(range(100))
        assert threads > 1 or values == sorted(values)

    def test_names_give_dicts(self):
        queue = FIFOQueue(9, ["string", "float32"], [(), (2,)], names=["key", "row"])
        queue.enqueue_many({"key": ["a", "b", "c"], "row": np.arange(6).reshape(3, 2)})
        queue.close()
        with batch(queue, 3) as batches:
            [result] = batches
        assert {key: value.tolist() for key, value in result.items()} == {
            "key": [b"a", b"b", b"c"],
            "row": [[0, 1], [2, 3], [4, 5]],
        }

    def test_examples_of_a_padding_queue_keep_their_shapes(self):
        queue = PaddingFIFOQueue(9, "int32", [(None,)])
        for n in (1, 3, 2):
            queue.enqueue(np.ones(n))
        queue.close()
        assert taken(batch(queue, 2, dynamic_pad=True, allow_smaller_final_batch=True)) == [
            [[1, 0, 0], [1, 1, 1]],
            [[1, 1]],
        ]

    def test_shuffle_queue_keeps_its_minimum(self):
        queue = RandomShuffleQueue(50, 20, "int32", [()])
        queue.enqueue_many(np.arange(50))
        with batch(queue, 10, capacity=30) as batches:
            for _ in range(3):
                next(batches)
            wait_blocked(queue, dequeues=1)
            assert queue.size() == 20

    def test_blocks_as_elements(self):
        queue = FIFOQueue(9, "int32")
        queue.enqueue(np.arange(3))
        queue.enqueue(np.arange(3, 4))
        queue.close()
        assert taken(batch(queue, 2, enqueue_many=True)) == [[0, 1], [2, 3]]

    @pytest.mark.parametrize("first", [0, 1])
    def test_a_queue_that_nobody_fills_does_not_hold_up_the_end(self, first):
        queue = FIFOQueue(9, "int32", [()])
        queue.enqueue_many(np.zeros(first))
        batches = batch(queue, 2, 2)
        call = run_in_thread(list, batches)
        wait_until(lambda: queue.stats().waiting_dequeues >= 1, "a thread to wait for the queue")
        batches.close()
        with pytest.raises(CancelledError, match="the iterator was closed"):
            call.result()
        assert not queue.is_closed()

    def test_cancelled_upstream_is_an_error(self):
        def cancelled():
            raise CancelledError(None, None, "upstream")

        with raises(CancelledError, "upstream"):
            next(batch(cancelled, 2))


class TestBlocks:
    def test_producer(self):
        rows = pipeline.input_producer(np.arange(12), num_epochs=2, shuffle=False)
        assert taken(batch(rows, 8)) == [[*range(8)], [*range(8, 12), *range(4)], [*range(4, 12)]]


class TestSkip:
    def example(self):
        """Every third call fails."""
        take = source(range(12))

        def example():
            i = take()
            if i % 3 == 0:
                raise ValueError(f"row {i}")
            return i

        return example

    def test_bad_examples_are_left_out_and_kept_for_a_look(self):
        with batch(self.example(), 4, on_error="skip") as batches:
            assert [value.tolist() for value in batches] == [[1, 2, 4, 5], [7, 8, 10, 11]]
            assert batches.num_errors == 4
            assert [str(error) for error in batches.errors] == ["row 0", "row 3", "row 6", "row 9"]

    def test_too_many(self):
        batches = batch(self.example(), 2, on_error="skip", max_errors=2)
        assert next(batches).tolist() == [1, 2]
        assert next(batches).tolist() == [4, 5]
        with pytest.raises(ValueError, match="row 6"):
            list(batches)
        assert batches.num_errors == 2

    def test_examples_that_do_not_fit(self):
        examples = [np.zeros(2), np.zeros(3), np.ones(2)]
        with batch(source(examples), 2, on_error="skip") as batches:
            assert [value.tolist() for value in batches] == [[[0, 0], [1, 1]]]
            assert "an example has shape [3], expected [2]" in str(batches.errors[0])

    def test_lists_of_objects_may_vary_in_length(self):
        chats = [[{"text": "a"}], [], [{"text": "b"}, {"text": "c"}]]
        with batch([{"x": pipeline.ListValue(each)} for each in chats], 1, on_error="skip") as batches:
            assert [value["x"].tolist() for value in batches] == [[each] for each in chats]
            assert batches.num_errors == 0

    def test_lists_of_structs_in_a_file_may_vary_in_length(self, tmp_path):
        feather = pytest.importorskip("pyarrow.feather")
        chats = [{"of": [{"text": "a"}]}, {"of": []}, {"of": [{"text": "b"}, {"text": "c"}]}]
        feather.write_feather(pytest.importorskip("pyarrow").table({"x": chats}), tmp_path / "chats.feather")
        with batch(pipeline.feather(tmp_path / "chats.feather"), 1, on_error="skip") as batches:
            assert [value["x"]["of"].tolist() for value in batches] == [[each["of"]] for each in chats]
            assert batches.num_errors == 0

    @pytest.mark.parametrize("rows", [[[], [1, 2], [3]], [[1], [], [2, 3]], [[], [], ["a"]]])
    def test_empty_lists_have_any_dtype(self, rows):
        examples = [{"x": each} for each in rows]
        with batch(examples, 3, dynamic_pad=True, on_error="skip", allow_smaller_final_batch=True) as batches:
            assert [len(value["x"]) for value in batches] == [3]
            assert batches.num_errors == 0

    def test_examples_fit_the_first_list_that_is_not_empty(self):
        examples = [{"x": each} for each in ([], [1], ["a"], [2])]
        with batch(examples, 3, dynamic_pad=True, on_error="skip") as batches:
            assert [value["x"].tolist() for value in batches] == [[[0], [1], [2]]]
            assert "component 'x' of an example has dtype object, expected int64" in str(batches.errors[0])

    @pytest.mark.parametrize("wrong", [None, [None], [1, None], [None, 1]])
    def test_none_beside_numbers_does_not_fit(self, wrong):
        examples = [{"x": each} for each in ([1], wrong, [2])]
        with batch(examples, 2, dynamic_pad=True, on_error="skip") as batches:
            assert [value["x"].tolist() for value in batches] == [[[1], [2]]]
            assert batches.num_errors == 1

    def test_error_of_an_iterator_ends_it(self):
        def failing():
            yield 1
            raise ValueError("in the generator")

        with pytest.raises(ValueError, match="in the generator"):
            list(batch(failing(), 1, on_error="skip"))


class TestSeed:
    def test_of_the_call_counts_not_that_of_the_start(self):
        def two(order):
            pipeline.set_random_seed(3)
            loops = [shuffle_batch([np.arange(50)], 50, 50, 0, enqueue_many=True) for _ in range(2)]
            got = {i: next(loops[i]).tolist() for i in order}
            for each in loops:
                each.close()
            return got

        try:
            assert two([0, 1]) == two([1, 0])
            assert len({str(value) for value in two([0, 1]).values()}) == 2
        finally:
            pipeline.set_random_seed(None)


def test_shuffle_and_pad():
    examples = [np.full(n % 5, n) for n in range(100)]
    batches = shuffle_batch(examples, 10, 60, 30, seed=1, dynamic_pad=True)
    rows = [row for part in taken(batches) for row in part]
    assert sorted(tuple(v for v in row if v) for row in rows) == sorted(
        tuple(x for x in e.tolist() if x) for e in examples
    )
    assert [max(row, default=0) for row in rows] != sorted(max(row, default=0) for row in rows)


def test_slices_of_arrays():
    rows = slice_input_producer([np.arange(50), np.arange(100).reshape(50, 2)], num_epochs=2, seed=1)
    with shuffle_batch(rows, 10, 40, 20) as batches:
        got = list(batches)
    assert Counter(np.concatenate([first for first, _ in got]).tolist()) == Counter([*range(50)] * 2)
    assert all((second[:, 0] == 2 * first).all() for first, second in got)
