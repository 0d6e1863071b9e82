"""PaddingFIFOQueue: elements with different shapes, batches as large as their largest."""

import numpy as np
import pytest
from helpers import plain, raises, start_blocked

from pipeline.errors import InvalidArgumentError


@pytest.fixture
def vectors(queues):
    return queues.PaddingFIFOQueue(10, np.int32, [(None,)], name="q")


def test_a_batch_is_padded_to_its_own_maximum(vectors):
    for row in ([1], [2, 3, 4], [5, 6], [7]):
        vectors.enqueue([row])
    assert plain(vectors.dequeue_many(3)) == [[1, 0, 0], [2, 3, 4], [5, 6, 0]]
    assert plain(vectors.dequeue_up_to(1)) == [[7]]


def test_a_single_element_keeps_its_shape(vectors):
    for row in ([], [1, 2]):
        vectors.enqueue([row])
    assert vectors.dequeue().shape == (0,)
    assert plain(vectors.dequeue()) == [1, 2]


def test_fixed_dimensions_stay(queues):
    queue = queues.PaddingFIFOQueue(10, np.float32, [(None, 2, None)])
    queue.enqueue(np.full((1, 2, 3), 1.0))
    queue.enqueue(np.full((2, 2, 1), 2.0))
    batch = queue.dequeue_many(2)
    assert batch.shape == (2, 2, 2, 3)
    wanted = np.zeros((2, 2, 2, 3), np.float32)
    wanted[0, :1, :, :3] = 1
    wanted[1, :2, :, :1] = 2
    assert np.array_equal(batch, wanted)


def test_empty_elements_make_empty_batches(queues):
    queue = queues.PaddingFIFOQueue(10, np.float32, [(None, None)])
    queue.enqueue(np.zeros((0, 5)))
    queue.enqueue(np.zeros((0, 2)))
    assert queue.dequeue_many(2).shape == (2, 0, 5)


def test_nothing_asked_for_has_zero_for_unknown_dimensions(queues):
    queue = queues.PaddingFIFOQueue(10, [np.int32, np.float32], [(None, 3), ()])
    assert [part.shape for part in queue.dequeue_many(0)] == [(0, 0, 3), (0,)]
    assert [part.shape for part in queue.dequeue_up_to(0)] == [(0, 0, 3), (0,)]


def test_any_rank_can_be_padded(queues):
    queue = queues.PaddingFIFOQueue(10, np.int32, [(None,) * 6])
    queue.enqueue(np.ones((1, 2, 1, 2, 1, 2), np.int32))
    queue.enqueue(np.ones((2, 1, 2, 1, 2, 1), np.int32))
    batch = queue.dequeue_many(2)
    assert batch.shape == (2, 2, 2, 2, 2, 2, 2)
    assert batch[0, 0, :, 0, :, 0, :].sum() == batch.sum() / 2 == 8


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    + ["float16", "float32", "float64", "complex64", "complex128"],
)
def test_the_fill_value_is_zero(queues, dtype):
    queue = queues.PaddingFIFOQueue(10, dtype, [(None,)])
    queue.enqueue(np.ones(1, dtype))
    queue.enqueue(np.ones(3, dtype))
    batch = queue.dequeue_many(2)
    assert batch.dtype == dtype
    assert np.array_equal(batch, np.array([[1, 0, 0], [1, 1, 1]], dtype))


def test_strings_are_filled_with_the_empty_string(queues):
    queue = queues.PaddingFIFOQueue(10, "string", [(None,)])
    queue.enqueue([[b"a"]])
    queue.enqueue([["b", "cd"]])
    assert plain(queue.dequeue_many(2)) == [[b"a", b""], [b"b", b"cd"]]


def test_rows_of_one_call_have_one_shape_and_calls_may_differ(vectors):
    vectors.enqueue_many([np.array([[1, 2], [3, 4]])])
    vectors.enqueue_many([np.array([[5, 6, 7]])])
    assert plain(vectors.dequeue_many(3)) == [[1, 2, 0], [3, 4, 0], [5, 6, 7]]


def test_shapes_must_be_compatible(queues):
    queue = queues.PaddingFIFOQueue(10, [np.int32, np.int32], [(), (None, 2)])
    text = "Shape mismatch in tuple component 1. Expected [?,2], got [1,3]"
    with raises(InvalidArgumentError, text):
        queue.enqueue((1, np.zeros((1, 3), np.int32)))
    with raises(InvalidArgumentError, "Shape mismatch in tuple component 1. Expected [?,2], got [2]"):
        queue.enqueue((1, [1, 2]))
    with raises(ValueError):
        queue.enqueue_many(([1], np.zeros((1, 4, 3), np.int32)))
    assert queue.size() == 0
    queue.enqueue((1, np.zeros((0, 2), np.int32)))
    assert queue.size() == 1


def test_scalars_need_no_padding(queues):
    queue = queues.PaddingFIFOQueue(10, np.int32, [()])
    queue.enqueue_many([[1, 2, 3]])
    assert plain(queue.dequeue_many(3)) == [1, 2, 3]


def test_components_are_padded_one_by_one(queues):
    queue = queues.PaddingFIFOQueue(10, [np.int32, np.float32], [(None,), (None, 1)], names=["a", "b"])
    queue.enqueue({"a": [1, 2], "b": [[0.5]]})
    queue.enqueue({"a": [3], "b": [[1.5], [2.5]]})
    assert plain(queue.dequeue_many(2)) == {"a": [[1, 2], [3, 0]], "b": [[[0.5], [0.0]], [[1.5], [2.5]]]}


def test_a_waiting_batch_holds_its_elements(queues):
    queue = queues.PaddingFIFOQueue(2, np.int32, [(None,)])
    call = start_blocked(queue, "dequeue_many", 3)
    queue.enqueue([[1]])
    queue.enqueue([[2, 3]])
    assert queue.size() == 0
    queue.enqueue([[4]])
    assert plain(call.result()) == [[1, 0], [2, 3], [4, 0]]


def test_put_back_at_close_in_order(vectors):
    vectors.enqueue([[1]])
    vectors.enqueue([[2, 3]])
    call = start_blocked(vectors, "dequeue_many", 3)
    vectors.close()
    assert "PaddingFIFOQueue 'q' is closed and has insufficient elements (requested 1, current size 0)" in str(
        call.exception()
    )
    assert plain(vectors.dequeue_up_to(9)) == [[1, 0], [2, 3]]
