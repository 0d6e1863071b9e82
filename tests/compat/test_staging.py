"""StagingArea and MapStagingArea: order, keys, parts, limits and waits; the values are TensorFlow's."""

import numpy as np
import pytest
from helpers import run_in_thread

import pipeline.compat.v1 as tf

SOON = tf.RunOptions(timeout_in_ms=50)


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def test_elements_come_first_in_first_out(sess):
    area = tf.StagingArea([tf.int32, tf.float32], shapes=[[], [2]])
    x = tf.placeholder(tf.int32, [])
    put, taken, size = area.put([x, tf.constant([1.0, 2.0])]), area.get(), area.size()
    for value in (3, 4):
        sess.run(put, {x: value})
    assert sess.run(size) == 2
    assert sess.run(area.peek(1))[0] == 4
    assert [sess.run(taken)[0] for _ in range(2)] == [3, 4]
    assert [each.shape.as_list() for each in taken] == [[], [2]]
    sess.run(put, {x: 5})
    sess.run(area.clear())
    assert sess.run(size) == 0


def test_names_and_types_of_operations(sess):
    area = tf.StagingArea([tf.int32])
    area.put([tf.constant(1)])
    area.get()
    area.peek(0)
    found = [(each.name, each.type) for each in tf.get_default_graph().get_operations()]
    assert found == [
        ("StagingArea_root/NoOp", "NoOp"),
        ("Const", "Const"),
        ("StagingArea_put", "Stage"),
        ("StagingArea_get", "Unstage"),
        ("NoOp", "NoOp"),
        ("StagingArea_peek/index", "Const"),
        ("StagingArea_peek", "StagePeek"),
        ("NoOp_1", "NoOp"),
    ]


def test_components_with_names_are_dicts(sess):
    area = tf.StagingArea([tf.int32], names=["x"])
    sess.run(area.put({"x": tf.constant(1)}))
    assert sess.run(area.get()) == {"x": 1}
    with pytest.raises(ValueError, match="You must enqueue a dictionary"):
        area.put([tf.constant(1)])
    with pytest.raises(ValueError, match="do not match names"):
        area.put({"y": tf.constant(1)})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (lambda: [tf.constant(1.0)], "Datatypes do not match"),
        (lambda: [tf.constant([1])], r"Shapes \(1,\) and \(2,\) are incompatible"),
        (lambda: [tf.constant([1, 2])] * 2, "Unexpected number of inputs 2 vs 1"),
        (lambda: {"x": tf.constant([1, 2])}, "Staging areas must have names"),
    ],
)
def test_components_that_do_not_fit(sess, values, message):
    with pytest.raises(ValueError, match=message):
        tf.StagingArea([tf.int32], shapes=[[2]]).put(values())


def test_get_waits_for_put_and_put_for_room(sess):
    area = tf.StagingArea([tf.int32], capacity=1)
    put, taken = area.put([tf.constant(1)]), area.get()
    with pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(taken, options=SOON)
    call = run_in_thread(sess.run, taken)
    sess.run(put)
    assert call.result() == [1]
    sess.run(put)
    with pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(put, options=SOON)
    call = run_in_thread(sess.run, put)
    sess.run(taken)
    call.result()
    assert sess.run(area.size()) == 1


def test_closing_the_session_ends_a_wait():
    with tf.Graph().as_default():
        sess = tf.Session()
        call = run_in_thread(sess.run, tf.StagingArea([tf.int32]).get())
        assert call.alive()
        sess.close()
        assert isinstance(call.exception(), (tf.errors.CancelledError, RuntimeError))


def test_a_value_larger_than_the_memory_limit(sess):
    put = tf.StagingArea([tf.int32], memory_limit=2).put([tf.constant(1)])
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"combined size of '4' bytes .* limit of '2'"):
        sess.run(put)


def test_areas_of_one_name_are_one(sess):
    sess.run(tf.StagingArea([tf.int32], shared_name="one").put([tf.constant(8)]))
    assert sess.run(tf.StagingArea([tf.int32], shared_name="one").get()) == [8]


def keyed(sess, ordered):
    area = tf.MapStagingArea([tf.int32, tf.float32], shapes=[[], []], ordered=ordered)
    key = tf.placeholder(tf.int64, [])
    put = area.put(key, [tf.cast(key, tf.int32) * 10, tf.constant(2.0)], [0, 1])
    for each in (7, 3, 5):
        sess.run(put, {key: each})
    return area, key


def test_elements_by_key(sess):
    area, key = keyed(sess, ordered=True)
    assert sess.run(area.size()) == 3
    assert sess.run(area.peek(key), {key: 5}) == [50, 2.0]
    assert sess.run(area.get()) == (3, [30, 2.0])
    assert sess.run(area.get(key), {key: 7}) == (7, [70, 2.0])
    assert sess.run(area.size()) == 1


def test_without_order_the_first_complete_one_is_next(sess):
    area, _ = keyed(sess, ordered=False)
    assert sess.run(area.get())[0] == 7


def test_elements_in_parts(sess):
    area = tf.MapStagingArea([tf.int32, tf.float32])
    key = tf.constant(9, tf.int64)
    first = area.put(key, [tf.constant(7)], [0])
    sess.run(first)
    assert sess.run([area.incomplete_size(), area.size()]) == [1, 0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="index '0' for key '9' was already initialized"):
        sess.run(first)
    sess.run(area.put(key, [tf.constant(1.5)], [1]))
    assert sess.run([area.incomplete_size(), area.size()]) == [0, 1]
    assert sess.run(area.get(key, [1])) == (9, [np.float32(1.5)])
    assert sess.run(area.size()) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="already been removed"):
        sess.run(area.get(key, [1]))
    assert sess.run(area.get(key, [0])) == (9, [7])
    assert sess.run(area.size()) == 0


@pytest.mark.parametrize(
    ("indices", "error"), [([], ValueError), (["a"], ValueError), ([1.5], TypeError), ([2], IndexError), (0, TypeError)]
)
def test_indices_that_do_not_fit(sess, indices, error):
    with pytest.raises(error):
        tf.contrib.staging.MapStagingArea([tf.int32]).get(tf.constant(1, tf.int64), indices)


@pytest.mark.parametrize("kind", ["StagingArea", "MapStagingArea"])
def test_places_are_scalars(sess, kind):
    area = getattr(tf, kind)([tf.int32])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"(index|key) must be scalar, got shape \[1\]"):
        sess.run(area.peek([5]))
