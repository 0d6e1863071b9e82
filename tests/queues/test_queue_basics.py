"""A single thread uses a queue that is neither full nor closed."""

import numpy as np
import pytest
from helpers import plain, raises

from pipeline.errors import InvalidArgumentError


@pytest.fixture
def queue(queues):
    return queues.FIFOQueue(10, np.int32, shapes=(), name="q")


@pytest.fixture
def pairs(queues):
    return queues.FIFOQueue(10, [np.int32, np.float32], shapes=[(), (2,)])


@pytest.fixture
def named(queues):
    return queues.FIFOQueue(10, [np.int32, np.float32], shapes=[(), ()], names=["i", "f"])


def test_elements_leave_in_the_order_they_came(queue):
    for value in range(5):
        assert queue.enqueue(value) is None
    assert queue.size() == 5
    assert [int(queue.dequeue()) for _ in range(5)] == [0, 1, 2, 3, 4]
    assert queue.size() == 0


def test_many_and_single_calls_mix(queue):
    assert queue.enqueue_many([[1, 2, 3]]) is None
    queue.enqueue(4)
    queue.enqueue_many(np.array([5, 6]))
    assert int(queue.dequeue()) == 1
    assert plain(queue.dequeue_many(3)) == [2, 3, 4]
    assert plain(queue.dequeue_up_to(2)) == [5, 6]


def test_the_operation_name_is_taken_and_ignored(queue):
    queue.enqueue(1, "op")
    queue.enqueue_many([[2, 3, 4]], name="op")
    assert queue.size("op") == 4
    assert not queue.is_closed("op")
    assert int(queue.dequeue("op")) == 1
    assert plain(queue.dequeue_many(2, "op")) == [2, 3]
    assert plain(queue.dequeue_up_to(1, "op")) == [4]
    queue.close(False, "op")


def test_one_component_comes_back_bare(queue):
    queue.enqueue_many([[1, 2, 3, 4]])
    one, many, up_to = queue.dequeue(), queue.dequeue_many(2), queue.dequeue_up_to(1)
    assert one == 1
    assert one.dtype == many.dtype == up_to.dtype == np.int32
    assert many.shape == (2,)
    assert up_to.shape == (1,)


def test_several_components_come_back_as_a_list(pairs):
    pairs.enqueue((1, [2.0, 3.0]))
    pairs.enqueue_many(([4, 5, 6], np.arange(6.0).reshape(3, 2)))
    one = pairs.dequeue()
    assert isinstance(one, list)
    assert plain(one) == [1, [2.0, 3.0]]
    many = pairs.dequeue_many(2)
    assert isinstance(many, list)
    assert [part.shape for part in many] == [(2,), (2, 2)]
    assert plain(pairs.dequeue_up_to(1)) == [[6], [[4.0, 5.0]]]


def test_a_queue_with_names_takes_and_gives_dicts(named):
    named.enqueue({"f": 0.5, "i": 1})
    named.enqueue_many({"i": [2, 3, 4], "f": [1.5, 2.5, 3.5]})
    one = named.dequeue()
    assert plain(one) == {"i": 1, "f": 0.5}
    assert list(one) == ["i", "f"]
    assert plain(named.dequeue_many(2)) == {"i": [2, 3], "f": [1.5, 2.5]}
    assert plain(named.dequeue_up_to(1)) == {"i": [4], "f": [3.5]}


def test_one_name_makes_dicts_too(queues):
    queue = queues.FIFOQueue(10, np.int32, shapes=(), names="x")
    queue.enqueue({"x": 3})
    assert plain(queue.dequeue()) == {"x": 3}


def test_dicts_and_names_must_agree(queue, named):
    for call in ("enqueue", "enqueue_many"):
        with raises(ValueError, "Queue must have names to enqueue a dictionary"):
            getattr(queue, call)({"x": [1]})
        with raises(ValueError, "You must enqueue a dictionary in a Queue with names"):
            getattr(named, call)(([1], [2.0]))
        for keys in (("i",), ("i", "g"), ("i", "f", "g")):
            with raises(ValueError, "Keys in dictionary to enqueue do not match names of Queue."):
                getattr(named, call)({key: [1] for key in keys})
    assert named.size() == queue.size() == 0


def test_duplicate_names_never_match(queues):
    queue = queues.FIFOQueue(10, [np.int32, np.int32], names=["a", "a"])
    with raises(ValueError, "Keys in dictionary to enqueue do not match names of Queue."):
        queue.enqueue({"a": 1})


def test_a_list_is_the_list_of_components(queue):
    queue.enqueue([5])
    queue.enqueue((6,))
    with raises(InvalidArgumentError, "Signature mismatch, have: "):
        queue.enqueue([1, 2])
    with raises(InvalidArgumentError, "Signature mismatch, have: "):
        queue.enqueue_many([[1, 2], [3, 4]])
    assert plain(queue.dequeue_many(2)) == [5, 6]
    assert queue.size() == 0


def test_a_vector_component_needs_a_list_around_it(queues):
    queue = queues.FIFOQueue(10, np.int32, shapes=(2,))
    queue.enqueue(([1, 2],))
    queue.enqueue(np.array([3, 4]))
    assert plain(queue.dequeue_many(2)) == [[1, 2], [3, 4]]


def test_enqueue_many_needs_rows(queue):
    for vals in ([1, 2, 3], 1, np.int32(1), np.array(3, np.int32)):
        with raises(ValueError):
            queue.enqueue_many(vals)
    assert queue.size() == 0


def test_too_few_components(pairs):
    for call, vals in (("enqueue", [1]), ("enqueue_many", [[1, 2]]), ("enqueue", 1)):
        with raises(InvalidArgumentError, "Signature mismatch, have: "):
            getattr(pairs, call)(vals)
    assert pairs.size() == 0


def test_shape_of_an_element(pairs):
    with raises(ValueError):
        pairs.enqueue((1, [1.0, 2.0, 3.0]))
    with raises(ValueError):
        pairs.enqueue(([1], [1.0, 2.0]))
    with raises(ValueError):
        pairs.enqueue_many(([1, 2], [[1.0], [2.0]]))
    with raises(ValueError):
        pairs.enqueue_many(([1, 2], [[1.0, 2.0]]))
    assert pairs.size() == 0


def test_rows_of_components_without_shapes_must_agree_in_number(queues):
    queue = queues.FIFOQueue(10, [np.int32, np.int32])
    with raises(ValueError):
        queue.enqueue_many(([1, 2], [3]))
    assert queue.size() == 0


def test_elements_without_a_shape_keep_their_own(queues):
    queue = queues.FIFOQueue(10, np.int32)
    queue.enqueue(1)
    queue.enqueue(([2, 3],))
    queue.enqueue_many([[[4, 5], [6, 7]]])
    assert [plain(queue.dequeue()) for _ in range(4)] == [1, [2, 3], [4, 5], [6, 7]]


@pytest.mark.parametrize("n", [0, 1])
def test_many_forms_need_shapes(queues, n):
    queue = queues.FIFOQueue(10, np.int32)
    queue.enqueue(1)
    text = "FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified shapes."
    for call in (queue.dequeue_many, queue.dequeue_up_to):
        with raises(InvalidArgumentError, text):
            call(n)
    assert queue.size() == 1


def test_negative_counts(queue):
    with raises(InvalidArgumentError, "DequeueManyOp requested -1 < 0 elements"):
        queue.dequeue_many(-1)
    with raises(InvalidArgumentError, "DequeueUpToOp requested -2 < 0 elements"):
        queue.dequeue_up_to(-2)


def test_nothing_asked_for_is_answered_at_once(pairs):
    for call in (pairs.dequeue_many, pairs.dequeue_up_to):
        i, f = call(0)
        assert (i.shape, f.shape) == ((0,), (0, 2))
        assert (i.dtype, f.dtype) == (np.int32, np.float32)
    pairs.enqueue_many((np.zeros(0, np.int32), np.zeros((0, 2), np.float32)))
    pairs.close()
    assert pairs.dequeue_many(0)[1].shape == (0, 2)
    pairs.enqueue_many((np.zeros(0, np.int32), np.zeros((0, 2), np.float32)))
    assert pairs.size() == 0


def test_values_are_copied_in(queue, queues):
    source = np.arange(6, dtype=np.float32).reshape(3, 2)
    rows = queues.FIFOQueue(10, np.float32, shapes=(2,))
    rows.enqueue(source[0])
    rows.enqueue_many(source)
    source[...] = -1
    assert plain(rows.dequeue()) == [0.0, 1.0]
    assert plain(rows.dequeue_many(3)) == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_results_belong_to_the_caller(queue):
    queue.enqueue_many([[1, 2, 3, 4]])
    first = queue.dequeue_many(2)
    queue.enqueue_many([[5, 6]])
    second = queue.dequeue_many(2)
    assert first.flags.writeable
    first[...] = 0
    assert plain(second) == [3, 4]
    assert plain(queue.dequeue_many(2)) == [5, 6]


def test_queues_are_true_and_have_no_length(queue):
    assert queue
    with pytest.raises(TypeError):
        len(queue)


@pytest.mark.parametrize("capacity", [-1, -7])
def test_a_negative_capacity_is_no_limit(queues, capacity):
    queue = queues.FIFOQueue(capacity, np.int32, shapes=())
    queue.enqueue_many([np.arange(5000)], timeout=0)
    assert queue.size() == 5000
    assert plain(queue.dequeue_many(5000)) == list(range(5000))


def test_a_fractional_capacity_is_truncated(queues):
    queue = queues.FIFOQueue(2.9, np.int32, shapes=())
    queue.enqueue_many([[1, 2]], timeout=0)
    with pytest.raises(TimeoutError):
        queue.enqueue(3, timeout=0)


def test_iteration_ends_when_the_queue_is_closed_and_empty(queue):
    queue.enqueue_many([[1, 2, 3]])
    queue.close()
    assert plain(list(queue)) == [1, 2, 3]
    assert list(queue) == []
