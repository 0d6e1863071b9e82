"""input_producer and string_input_producer: epochs, orders, ends."""

import pathlib

import numpy as np
import pytest
from helpers import wait_blocked
from orchestration import drain, fresh_collection, no_thread_left

import pipeline
from pipeline import Coordinator, OutOfRangeError


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield
    pipeline.set_random_seed(None)


def produce(queue, count=None):
    """Start the runners; take `count` rows, or all; stop."""
    coord = Coordinator()
    threads = pipeline.start_queue_runners(coord=coord)
    rows = drain(queue.dequeue) if count is None else [queue.dequeue() for _ in range(count)]
    coord.request_stop()
    coord.join(threads)
    return rows


@pytest.mark.parametrize(
    ("n", "seed", "epochs"),
    [
        (5, 3, [[2, 4, 3, 0, 1], [2, 1, 4, 3, 0], [0, 2, 1, 3, 4]]),
        (6, 42, [[2, 5, 3, 4, 1, 0], [3, 2, 1, 0, 5, 4], [1, 3, 2, 4, 0, 5]]),
    ],
)
def test_epoch_orders_are_those_of_tensorflow(n, seed, epochs):
    queue = pipeline.input_producer(np.arange(n), num_epochs=3, seed=seed)
    assert produce(queue) == epochs[0] + epochs[1] + epochs[2]


def test_rows_of_a_list_are_those_of_tensorflow():
    assert produce(pipeline.input_producer([10, 20, 30], num_epochs=2, seed=5)) == [20, 30, 10, 30, 20, 10]


def test_matrices_are_shuffled_by_rows_in_the_same_order():
    rows = np.arange(15).reshape(5, 3)
    got = produce(pipeline.input_producer(rows, num_epochs=1, seed=3))
    assert np.array_equal(got, rows[[2, 4, 3, 0, 1]])


def test_without_shuffle_rows_keep_their_order_and_epochs_do_not_mix():
    assert produce(pipeline.input_producer([1, 2, 3], num_epochs=2, shuffle=False)) == [1, 2, 3, 1, 2, 3]


def test_without_epochs_it_does_not_end():
    rows = produce(pipeline.input_producer([1, 2, 3], capacity=2), count=300)
    assert all(sorted(rows[i : i + 3]) == [1, 2, 3] for i in range(0, 300, 3))


def test_unseeded_orders_differ():
    first, second = (produce(pipeline.input_producer(np.arange(100), num_epochs=1)) for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(100))
    assert first != second


def test_global_seed_makes_unseeded_orders_repeat():
    orders = []
    for _ in range(2):
        pipeline.set_random_seed(7)
        orders.append(produce(pipeline.input_producer(np.arange(50), num_epochs=1)))
    assert orders[0] == orders[1]


def test_one_row_and_no_rows():
    assert produce(pipeline.input_producer([7], num_epochs=3)) == [7, 7, 7]
    assert produce(pipeline.input_producer(np.zeros((0, 2)), num_epochs=3)) == []
    with pytest.raises(ValueError, match="no rows"):
        pipeline.input_producer(np.zeros((0, 2)))


def test_end_closes_the_queue_and_leaves_the_coordinator():
    queue, coord = pipeline.input_producer([1, 2], num_epochs=1), Coordinator()
    threads = pipeline.start_queue_runners(coord=coord)
    assert sorted(queue) == [1, 2]
    with pytest.raises(OutOfRangeError, match="is closed and has insufficient elements"):
        queue.dequeue()
    assert not coord.should_stop()
    coord.request_stop()
    coord.join(threads)


def test_queue_has_the_rows_type_and_the_capacity_asked_for():
    queue = pipeline.input_producer(np.zeros((4, 2, 3), np.float16), capacity=5, name="rows")
    assert (queue.dtypes, queue.shapes, queue.name) == ([np.dtype(np.float16)], [(2, 3)], "rows")
    assert queue.stats().capacity == 5
    assert pipeline.input_producer([1]).stats().capacity == 32


def test_stop_frees_a_blocked_producer():
    queue, coord = pipeline.input_producer(np.arange(100), capacity=3), Coordinator()
    threads = pipeline.start_queue_runners(coord=coord)
    wait_blocked(queue, enqueues=1)
    coord.request_stop()
    coord.join(threads)
    assert queue.is_closed()


def test_cancel_op_is_called_instead_of_the_default():
    called, coord = [], Coordinator()
    queue = pipeline.input_producer([1], num_epochs=1, cancel_op=lambda: called.append(1))
    threads = pipeline.start_queue_runners(coord=coord)
    assert list(queue) == [1]
    coord.request_stop()
    coord.join(threads)
    assert called == [1]


def test_own_collection():
    own = []
    queue = pipeline.string_input_producer(["a"], num_epochs=1, collection=own)
    [thread] = pipeline.start_queue_runners(collection=own)
    thread.join()
    assert list(queue) == [b"a"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"input_tensor": 3}, "rank 1 or more"),
        ({"input_tensor": [1], "num_epochs": 0}, "num_epochs must be > 0 not 0."),
        ({"input_tensor": [1], "num_epochs": -1}, "num_epochs must be > 0 not -1."),
        ({"input_tensor": [[1, 2]], "element_shape": (3,)}, "incompatible"),
        ({"input_tensor": [[1, 2]], "element_shape": ()}, "incompatible"),
    ],
)
def test_bad_arguments(arguments, text):
    with pytest.raises(ValueError, match=text):
        pipeline.input_producer(**arguments)


def test_element_shape_may_leave_dimensions_open():
    assert pipeline.input_producer([[1, 2]], element_shape=(None,)).shapes == [(2,)]


class TestStrings:
    @pytest.mark.parametrize("strings", [["b", "a"], (b"b", b"a"), np.array(["b", "a"]), np.array([b"b", b"a"])])
    def test_come_out_as_bytes(self, strings):
        assert produce(pipeline.string_input_producer(strings, num_epochs=1, shuffle=False)) == [b"b", b"a"]

    def test_paths_and_odd_names(self, tmp_path):
        names = [pathlib.Path("x") / "y", "h\u00f6", b"nul\0\xff", ""]
        queue = pipeline.string_input_producer(names, num_epochs=1, shuffle=False)
        assert produce(queue) == [b"x/y", "h\u00f6".encode(), b"nul\0\xff", b""]

    def test_order_is_that_of_input_producer(self):
        queue = pipeline.string_input_producer(list("01234"), num_epochs=1, seed=3)
        assert produce(queue) == [b"2", b"4", b"3", b"0", b"1"]

    @pytest.mark.parametrize("strings", [[], (), None, np.array([], str)])
    def test_nothing(self, strings):
        with pytest.raises(ValueError, match="string_input_producer requires a non-null input tensor"):
            pipeline.string_input_producer(strings)

    @pytest.mark.parametrize("strings", [[["a"]], np.array([["a"]]), "file.csv", b"bytes.csv", pathlib.Path("x")])
    def test_wrong_rank(self, strings):
        with pytest.raises(ValueError, match=r"rank 1|list of strings"):
            pipeline.string_input_producer(strings)

    def test_not_strings(self):
        with pytest.raises(TypeError, match="item 1 is not a string: 3"):
            pipeline.string_input_producer(["a", 3])

    def test_defaults(self):
        queue = pipeline.string_input_producer(["a"])
        assert (queue.name, queue.dtypes, queue.shapes) == ("input_producer", [np.dtype("S")], [()])
