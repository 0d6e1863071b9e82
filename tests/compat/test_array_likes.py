"""Objects with `__array__` are values: pandas columns, and custom array-likes."""

import numpy as np
import pytest

import pipeline.compat.v1 as tf


class Column:
    """Like a pandas Series: it has a length, items and an index, but is no array and no list."""

    def __init__(self, values, dtype=None):
        self.values = np.asarray(values, dtype)

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)

    def __len__(self):
        return len(self.values)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


VALUES = [
    (Column([1.5, 2.5]), tf.float64, [1.5, 2.5]),
    (Column([[1, 2], [3, 4]]), tf.int64, [[1, 2], [3, 4]]),
    (Column(np.float32(3)), tf.float32, 3.0),
    (Column(["a", "bc"]), tf.string, [b"a", b"bc"]),
    (Column(["a", "bc"], object), tf.string, [b"a", b"bc"]),
]


@pytest.mark.parametrize("make", [tf.constant, tf.convert_to_tensor])
@pytest.mark.parametrize(("value", "dtype", "want"), VALUES, ids=range(len(VALUES)))
def test_a_value(make, value, dtype, want):
    tensor = make(value)
    assert tensor.dtype == dtype
    with tf.Session() as sess:
        assert sess.run(tensor).tolist() == want


def test_a_value_is_not_changed_by_its_owner_later():
    column = Column([1.0, 2.0])
    tensor = tf.constant(column)
    column.values[:] = 7
    with tf.Session() as sess:
        assert sess.run(tensor).tolist() == [1, 2]


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_string_is_an_error_that_shows_it(missing):
    with pytest.raises(TypeError, match=f"Expected string, but got {missing!s}"):
        tf.constant(Column(["a", missing], object))


def test_columns_are_the_rows_of_a_producer():
    name, label = tf.train.slice_input_producer(
        [Column(["a", "b"], object), Column([3, 4])], num_epochs=1, shuffle=False
    )
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        assert [sess.run([name, label]) for _ in range(2)] == [[b"a", 3], [b"b", 4]]
        coord.request_stop()
        coord.join(threads)


def test_a_column_is_the_strings_of_a_producer():
    queue = tf.train.string_input_producer(Column(["x", "y"], object), num_epochs=1, shuffle=False)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        assert sess.run(queue.dequeue_many(2)).tolist() == [b"x", b"y"]
        coord.request_stop()
        coord.join(threads)
