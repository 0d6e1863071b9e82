"""slice_input_producer: array rows as examples."""

import numpy as np
import pytest
from helpers import raises, run_in_thread
from orchestration import drain, fresh_collection, no_thread_left

import pipeline
from pipeline import Coordinator, FailedPreconditionError, InvalidArgumentError, OutOfRangeError, batch, shuffle_batch
from pipeline.producers.slices import slice_input_producer


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


@pytest.fixture
def running():
    """Start the runners; stop them at the end."""
    coord = Coordinator()

    def start(source):
        threads.extend(pipeline.start_queue_runners(coord=coord))
        return source

    threads = []
    yield start
    coord.request_stop()
    coord.join(threads)


IMAGES = np.arange(10, dtype=np.float32).reshape(5, 2)
LABELS = np.array([10, 11, 12, 13, 14], np.int8)


class TestExamples:
    def test_order_is_that_of_tensorflow(self, running):
        source = running(slice_input_producer([IMAGES, LABELS], num_epochs=2, seed=3))
        got = drain(source)
        assert [label - 10 for _, label in got] == [2, 4, 3, 0, 1, 2, 1, 4, 3, 0]
        assert all(np.array_equal(image, IMAGES[label - 10]) for image, label in got)

    def test_is_always_a_list(self, running):
        source = running(slice_input_producer([[7, 8]], num_epochs=1, shuffle=False))
        assert drain(source) == [[7], [8]]

    def test_strings_come_out_as_bytes(self, running):
        arrays = (["h\u00f6", "b"], np.array(["x", "y"]), np.array([b"c", b"d"]), [["k", "l"], ["m", "n"]])
        source = running(slice_input_producer(arrays, num_epochs=1, shuffle=False))
        first, second = drain(source)
        assert first[:3] == ["h\u00f6".encode(), b"x", b"c"]
        assert second[:3] == [b"b", b"y", b"d"]
        assert first[3].tolist() == [b"k", b"l"]
        assert {type(part) for part in first[:3]} == {bytes}

    def test_end(self, running):
        source = running(slice_input_producer([LABELS], num_epochs=1))
        drain(source)
        with raises(OutOfRangeError, "FIFOQueue 'input_producer' is closed and has insufficient elements"):
            source()

    def test_what_it_is(self):
        source = slice_input_producer([IMAGES, LABELS], capacity=7, name="slices")
        assert (len(source), source.name, source.shapes) == (len(IMAGES), "slices", [(2,), ()])
        assert source.dtypes == [np.dtype(np.float32), np.dtype(np.int8)]
        assert source.queue.stats().capacity == 7
        assert slice_input_producer([LABELS]).queue.stats().capacity == 32
        assert repr(source) == f"<slice_input_producer 'slices': 2 arrays of {len(IMAGES)} rows, num_epochs=None>"
        assert slice_input_producer([np.zeros(0)], num_epochs=1)  # the number of rows is not checked

    def test_components_cannot_be_had_alone(self):
        source = slice_input_producer([IMAGES, LABELS])
        with pytest.raises(TypeError, match=r"image, label = source\(\)"):
            _image, _label = source
        with pytest.raises(TypeError, match="come together"):
            source[0]

    def test_never_started(self):
        with pytest.raises(FailedPreconditionError, match="was never started"):
            slice_input_producer([LABELS])()


class TestBlocks:
    def test_rows_at_the_same_numbers(self, running):
        source = running(slice_input_producer([IMAGES, LABELS], num_epochs=3, seed=1))
        blocks = drain(lambda: source.block(4))
        assert all(1 <= len(labels) <= 4 for _, labels in blocks)
        labels = np.concatenate([labels for _, labels in blocks])
        assert np.array_equal(np.concatenate([images for images, _ in blocks]), IMAGES[labels - 10])
        assert all(sorted(labels[i : i + 5].tolist()) == LABELS.tolist() for i in (0, 5, 10))

    def test_are_copies(self, running):
        rows = np.arange(3)
        source = running(slice_input_producer([rows], num_epochs=1, shuffle=False))
        [block] = source.block(3)
        block[:] = 9
        assert rows.tolist() == [0, 1, 2]

    def test_arrays_that_are_not_contiguous(self, running):
        rows = np.arange(24).reshape(6, 4)[::2, ::-1]
        source = running(slice_input_producer([rows], num_epochs=1, shuffle=False))
        assert np.array_equal(np.concatenate([part for [part] in drain(lambda: source.block(2))]), rows)

    @pytest.mark.parametrize("lengths", [(3, 2), (2, 2)])
    @pytest.mark.parametrize("n", [0, -1])
    def test_too_small(self, lengths, n):
        source = slice_input_producer([np.zeros(length) for length in lengths])
        with pytest.raises(ValueError, match=f"a block has at least 1 row, not {n}"):
            source.block(n)

    def test_threads_share_the_rows(self, running):
        source = running(slice_input_producer([np.arange(3000)], num_epochs=2, capacity=64))
        calls = [run_in_thread(drain, lambda: source.block(50)) for _ in range(4)]
        rows = [row for call in calls for [block] in call.result() for row in block]
        assert sorted(rows) == sorted([*range(3000)] * 2)


class TestLengths:
    def test_longer_arrays_are_cut(self, running):
        source = running(slice_input_producer([[1, 2], [5, 6, 7]], num_epochs=1, shuffle=False))
        assert drain(source) == [[1, 5], [2, 6]]

    def test_shorter_array_is_an_error_when_reached(self, running):
        source = running(slice_input_producer([[1, 2, 3], [5, 6]], num_epochs=1, shuffle=False))
        assert [source(), source()] == [[1, 5], [2, 6]]
        with raises(InvalidArgumentError, "indices = 2 is not in [0, 2)"):
            source()
        with pytest.raises(OutOfRangeError):
            source()

    def test_rows_of_a_block_around_the_error_are_not_lost(self, running):
        source = running(slice_input_producer([np.arange(4), np.arange(3)], num_epochs=3, shuffle=False))
        rows, errors = [], []
        while True:
            try:
                rows += source.block(100)[1].tolist()
            except InvalidArgumentError as error:
                errors.append(str(error))
            except OutOfRangeError:
                break
        assert rows == [0, 1, 2] * 3
        assert errors == ["indices = 3 is not in [0, 3)"] * 3

    def test_empty_second_array(self, running):
        source = running(slice_input_producer([[1], []], num_epochs=1))
        with raises(InvalidArgumentError, "indices = 0 is not in [0, 0)"):
            source.block(5)

    def test_error_in_a_batch(self):
        source = slice_input_producer([np.arange(6), np.arange(5)], num_epochs=1, shuffle=False)
        with batch(source, 2) as batches, raises(InvalidArgumentError, "indices = 5 is not in [0, 5)"):
            list(batches)

    def test_skipped_in_a_batch(self):
        source = slice_input_producer([np.arange(3), np.arange(2)], num_epochs=2, shuffle=False)
        with batch(source, 4, on_error="skip") as batches:
            assert [second.tolist() for _, second in batches] == [[0, 1, 0, 1]]
            assert batches.num_errors == 2


class TestBatches:
    @pytest.mark.parametrize("threads", [1, 3])
    def test_batch_starts_the_runner_and_gets_each_row_once(self, threads):
        labels = np.arange(1000)
        source = slice_input_producer([labels * 2, labels], num_epochs=2, capacity=100)
        with batch(source, 50, num_threads=threads) as batches:
            got = list(batches)
        assert all(np.array_equal(doubled, single * 2) for doubled, single in got)
        assert sorted(np.concatenate([single for _, single in got])) == sorted([*range(1000)] * 2)

    def test_batch_keeps_the_order_of_tensorflow(self):
        with batch(slice_input_producer([LABELS], num_epochs=2, seed=3), 5) as batches:
            assert [(part - 10).tolist() for part in batches] == [[2, 4, 3, 0, 1], [2, 1, 4, 3, 0]]

    def test_shuffle_batch_without_end(self):
        source = slice_input_producer([np.arange(500)], capacity=64)
        with shuffle_batch(source, 100, 1000, 500) as batches:
            assert len(set(next(batches).tolist())) > 20
            next(batches)

    def test_strings(self):
        source = slice_input_producer([["a", "bc"], [1, 2]], num_epochs=1, shuffle=False)
        with batch(source, 2) as batches:
            [(strings, numbers)] = batches
        assert (strings.tolist(), numbers.tolist()) == ([b"a", b"bc"], [1, 2])

    def test_rows_of_a_block(self):
        source = slice_input_producer([np.arange(6).reshape(3, 2)], num_epochs=1, shuffle=False)
        with batch(source, 3, enqueue_many=True) as batches:
            assert [part.tolist() for part in batches] == [[0, 1, 2], [3, 4, 5]]


class TestArguments:
    @pytest.mark.parametrize("arrays", [[], (), None])
    def test_nothing(self, arrays):
        with pytest.raises(ValueError, match=r"^Expected at least one tensor in slice_input_producer\(\)\.$"):
            slice_input_producer(arrays)

    @pytest.mark.parametrize("arrays", [np.zeros((2, 3)), "ab", {"a": [1]}, 3, iter([[1]])])
    def test_not_a_list(self, arrays):
        with pytest.raises(TypeError, match="requires a list of arrays, even for one"):
            slice_input_producer(arrays)

    @pytest.mark.parametrize("arrays", [[1, 2], ["a"], [[1], np.float32(2)]])
    def test_scalars(self, arrays):
        with pytest.raises(ValueError, match=r"item \d must have rank 1 or more, got the scalar"):
            slice_input_producer(arrays)

    def test_no_rows(self):
        with pytest.raises(ValueError, match="the input has no rows"):
            slice_input_producer([np.zeros((0, 2))])
        with batch(slice_input_producer([np.zeros((0, 2))], num_epochs=1), 2) as batches:
            assert list(batches) == []

    def test_epochs(self):
        with pytest.raises(ValueError, match=r"num_epochs must be > 0 not 0\."):
            slice_input_producer([[1]], num_epochs=0)

    def test_own_collection(self):
        own = []
        source = slice_input_producer([[4, 5]], num_epochs=1, shuffle=False, collection=own)
        [thread] = pipeline.start_queue_runners(collection=own)
        thread.join()
        assert drain(source) == [[4], [5]]
