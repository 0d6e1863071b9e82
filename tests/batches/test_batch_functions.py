"""batch and shuffle_batch: inputs and outputs."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from helpers import run_in_thread
from orchestration import drain, fresh_collection, no_thread_left, source

import pipeline
from pipeline import batch, shuffle_batch


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


def taken(batches):
    with batches:
        return [value.tolist() for value in batches]


class TestExamples:
    def test_single_values(self):
        assert taken(batch(source(range(6)), 3)) == [[0, 1, 2], [3, 4, 5]]

    def test_tuples_give_tuples_and_lists_give_lists(self):
        for kind in (tuple, list):
            with batch(source([kind((i, np.full(2, i, np.float32))) for i in range(4)]), 2) as batches:
                [first, second] = batches
            assert type(first) is type(second) is kind
            assert first[0].tolist() == [0, 1]
            assert second[1].tolist() == [[2, 2], [3, 3]]
            assert second[1].dtype == np.float32

    def test_one_component_comes_bare(self):
        assert taken(batch(source([(7,), (8,)]), 2)) == [[7, 8]]

    def test_dicts_give_dicts(self):
        examples = [{"z": i, 1: i / 2, ("a", "b"): b"x%d" % i} for i in range(2)]
        with batch(source(examples), 2) as batches:
            [result] = batches
        assert {key: value.tolist() for key, value in result.items()} == {
            ("a", "b"): [b"x0", b"x1"],
            1: [0.0, 0.5],
            "z": [0, 1],
        }

    def test_dict_with_one_key(self):
        with batch(source([{"x": 1}, {"x": 2}]), 2) as batches:
            [result] = batches
        assert list(result) == ["x"]
        assert result["x"].tolist() == [1, 2]

    def test_strings_stay_what_they_are(self):
        assert taken(batch(source(["a", "bcd"]), 2)) == [["a", "bcd"]]
        assert taken(batch(source([b"a", b"bc\0"]), 2)) == [[b"a", b"bc\0"]]

    def test_objects_by_reference(self):
        things = [object(), object()]
        [result] = taken(batch(source(things), 2))
        assert result[0] is things[0]
        assert result[1] is things[1]

    @pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.int64, np.bool_, np.complex64])
    def test_dtypes_are_those_of_the_first_example(self, dtype):
        with batch(source([np.array([0, 1], dtype)] * 2), 2) as batches:
            [result] = batches
        assert (result.dtype, result.shape) == (dtype, (2, 2))

    @pytest.mark.parametrize(
        ("examples", "text"),
        [
            ([{"a": 1}, {"b": 1}], r"every example must have the keys of the first one, \['a'\]; got \['b'\]"),
            ([{"a": 1}, 3], "got int"),
            ([(1, 2), (1, 2, 3)], "every example must be a tuple of 2 components; got 3 of them"),
            ([(1, 2), 5], "every example must be a tuple of 2 components; got int"),
            ([np.zeros(3), np.zeros(4)], r"the value has shape \[3\] in one example and \[4\] in another"),
        ],
    )
    def test_examples_that_differ_from_the_first(self, examples, text):
        with pytest.raises(ValueError, match=text):
            list(batch(source(examples), 2))


class TestEnqueueMany:
    def test_first_dimension_counts_the_examples(self):
        blocks = [(np.arange(3), np.ones((3, 2))), (np.arange(3, 7), np.ones((4, 2)))]
        with batch(source(blocks), 5, enqueue_many=True, allow_smaller_final_batch=True) as batches:
            first, second = batches
        assert (first[0].tolist(), second[0].tolist()) == ([0, 1, 2, 3, 4], [5, 6])
        assert (first[1].shape, second[1].shape) == ((5, 2), (2, 2))

    def test_columns_of_strings(self):
        column = np.array([b"a\0", b"bc"], object)
        assert taken(batch(source([column, column]), 4, enqueue_many=True)) == [[b"a\0", b"bc"] * 2]
        assert taken(batch(source([([b"a"] * 2,)]), 2, enqueue_many=True)) == [[b"a", b"a"]]

    def test_scalars_are_no_blocks(self):
        with pytest.raises(ValueError, match="a batch has a component without rows"):
            next(batch(source([3]), 1, enqueue_many=True))

    def test_blocks_larger_than_the_queue(self):
        assert taken(batch(source([np.arange(100)]), 50, capacity=7, enqueue_many=True)) == [
            list(range(50)),
            list(range(50, 100)),
        ]


class TestShapes:
    def test_given_shapes(self):
        with pytest.raises(ValueError, match=r"an example has shape \[3\], expected \[4\]"):
            next(batch(source([np.zeros(3)]), 1, shapes=[(4,)]))
        assert [part.tolist() for part in next(batch(source([[np.ones(2), 5]]), 1, shapes=[(2,), ()]))] == [
            [[1, 1]],
            [5],
        ]

    def test_padding_to_the_largest_of_a_batch(self):
        examples = [np.ones(n, np.int32) for n in (1, 3, 2, 0)]
        assert taken(batch(source(examples), 2, dynamic_pad=True)) == [[[1, 0, 0], [1, 1, 1]], [[1, 1], [0, 0]]]

    def test_padding_in_two_dimensions_and_of_strings(self):
        examples = [(np.ones((1, 2)), ["a"]), (np.ones((2, 1)), ["b", "c"])]
        with batch(source(examples), 2, dynamic_pad=True) as batches:
            [[numbers, strings]] = batches
        assert numbers.tolist() == [[[1, 1], [0, 0]], [[1, 0], [1, 0]]]
        assert strings.tolist() == [["a", ""], ["b", "c"]]

    def test_padding_with_given_shapes(self):
        batches = batch(source([np.zeros((2, 3)), np.zeros((3, 4))]), 2, shapes=[(None, 3)], dynamic_pad=True)
        with pytest.raises(ValueError, match=r"an example has shape \[3, 4\], expected \[\?, 3\]"):
            next(batches)


class TestEnd:
    def test_rest_is_left_out(self, caplog):
        with batch(source(range(5)), 2) as batches, caplog.at_level("INFO", "pipeline.batches"):
            assert [value.tolist() for value in batches] == [[0, 1], [2, 3]]
            assert next(batches, None) is None
        assert batches.num_dropped == 1
        assert "batch: the last 1 of 5 examples do not fill a batch and are dropped" in caplog.text

    def test_no_batch_at_all_is_warned_of(self, caplog):
        assert list(batch(range(3), 4)) == []
        assert "the last 3 of 3 examples do not fill a batch" in caplog.text

    def test_an_ended_one_stays_ended_and_says_so(self, caplog):
        batches = batch(range(4), 2)
        assert len(list(batches)) == 2
        assert list(batches) == []
        assert "has ended and has no more elements: iter(dataset) makes a new one" in caplog.text

    def test_warnings_are_seen_without_a_handler(self):
        text = "import pipeline\nassert not list(pipeline.batch(range(3), 4))"
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
        assert "RuntimeWarning: batch: the last 3 of 3 examples do not fill a batch" in done.stderr

    def test_smaller_final_batch(self):
        assert taken(batch(source(range(5)), 2, allow_smaller_final_batch=True)) == [[0, 1], [2, 3], [4]]

    def test_no_example_at_all(self):
        batches = batch(source([]), 2)
        assert list(batches) == []

    def test_stop_iteration_ends_the_input(self):
        assert taken(batch(iter([1, 2, 3, 4]).__next__, 2)) == [[1, 2], [3, 4]]
        assert taken(batch(iter([]).__next__, 2)) == []


class TestThreads:
    @pytest.mark.parametrize("threads", [0, 1, 2, 5])
    def test_every_example_comes_once(self, threads):
        with batch(source(range(1000)), 7, threads, allow_smaller_final_batch=True) as batches:
            values = np.concatenate(list(batches)).tolist()
        assert sorted(values) == list(range(1000))
        if threads <= 1:
            assert values == list(range(1000))

    def test_several_consumers(self):
        with batch(source(range(1000)), 10, 2) as batches:
            calls = [run_in_thread(lambda: [v for b in batches for v in b.tolist()]) for _ in range(3)]
            values = [value for call in calls for value in call.result()]
        assert sorted(values) == list(range(1000))


class TestShuffle:
    @pytest.mark.parametrize("threads", [0, 1])
    @pytest.mark.parametrize("deterministic", [False, True])
    def test_order_is_that_of_the_dataset(self, threads, deterministic):
        size = 20 + (1 if deterministic else 10)
        wanted = [each.tolist() for each in pipeline.dataset(range(100)).shuffle(size, seed=3).batch(10)]
        for data in (range(100), source(range(100)), np.arange(100)):
            options = {"num_threads": threads, "seed": 3, "deterministic": deterministic}
            assert taken(shuffle_batch(data, 10, 50, 20, **options)) == wanted

    def test_without_a_minimum_a_batch_is_shuffled(self):
        [found] = taken(shuffle_batch(range(50), 50, 60, 0, seed=1))
        assert found != list(range(50))
        assert sorted(found) == list(range(50))

    def test_every_example_comes_once_in_another_order(self):
        batches = shuffle_batch(source(range(500)), 8, 100, 50, 2, allow_smaller_final_batch=True)
        values = [value for part in taken(batches) for value in part]
        assert Counter(values) == Counter(range(500))
        assert values != sorted(values)

    def test_minimum_stays_in_the_pool(self):
        made = []

        def number():
            made.append(len(made))
            return made[-1]

        with shuffle_batch(number, 4, 20, 10, num_threads=0, seed=1) as batches:
            for batch_number in range(1, 9):
                next(batches)
                assert len(made) - 4 * batch_number >= 10

    @pytest.mark.parametrize(("capacity", "minimum"), [(10, 10), (10, 11)])
    def test_capacity_must_be_above_the_minimum(self, capacity, minimum):
        with pytest.raises(ValueError, match=f"^capacity 10 must be bigger than min_after_dequeue {minimum}\\.$"):
            shuffle_batch(source([]), 1, capacity, minimum)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"batch_size": -1}, ValueError, "batch_size must be >= 1, got -1"),
        ({"batch_size": 0}, ValueError, "batch_size must be >= 1, got 0"),
        ({"batch_size": 4.0}, TypeError, "float"),
        ({"num_threads": -1}, ValueError, "num_threads must be at least 1, or 0 to read in your own thread"),
        ({"tensors": 3}, TypeError, "expected arrays, a sequence, an iterable, a function or a queue, got 3"),
        ({"tensors": "files.txt"}, TypeError, "got 'files.txt'; for the lines of a file use pipeline.text"),
        ({"tensors": [print, print]}, TypeError, "that is for batch_join"),
        ({"tensors": [np.zeros(3), print]}, TypeError, "that is for batch_join"),
        ({"capacity": "7"}, TypeError, "capacity must be a number"),
        ({"capacity": 0}, ValueError, r"^capacity must be >= 1 \(or -1: unbounded\), got 0$"),
        ({"capacity": 0.5}, ValueError, "capacity must be >= 1 .*, got 0.5"),
        ({"on_error": "ignore"}, ValueError, "on_error must be 'raise' or 'skip'"),
        ({"max_errors": 3}, ValueError, "max_errors needs on_error='skip'"),
        ({"on_error": "skip", "max_errors": -1}, ValueError, "max_errors must be at least 0, got -1"),
    ],
)
def test_bad_arguments(arguments, error, text):
    with pytest.raises(error, match=text):
        batch(**{"tensors": print, "batch_size": 2, **arguments})


def test_to_make_a_loop_does_not_look_at_every_example():
    looked_at = []

    class Row:
        def __getattr__(self, name):
            looked_at.append(name)
            raise AttributeError(name)

    batch([Row() for _ in range(10_000)], 2)
    assert len(looked_at) < 1_000


def test_whole_pipeline_of_text_files(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text("".join(f"{name},{i}\n" for i in range(3)))
    files = pipeline.string_input_producer([tmp_path / "a", tmp_path / "b"], num_epochs=2, shuffle=False)
    reader = pipeline.TextLineReader()

    def example():
        return pipeline.decode_csv(reader.read(files).value, [[""], [0]])

    with batch(example, 4) as batches:
        got = [(letters.tolist(), numbers.tolist()) for letters, numbers in batches]
    epoch = [(b"a", 0), (b"a", 1), (b"a", 2), (b"b", 0), (b"b", 1), (b"b", 2)]
    assert [pair for block in got for pair in zip(*block, strict=True)] == epoch * 2
    assert drain(files.dequeue) == []
