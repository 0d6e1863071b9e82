"""Array kernels for row blocks agree with the kernels for single rows."""

import numpy as np
import pytest

import pipeline.compat.v1 as tf

ROWS = np.arange(4 * 2 * 3, dtype=np.float32).reshape(4, 2, 3)
OPS = {
    "reshape": lambda row: tf.reshape(row, [3, 2]),
    "reshape with a size to infer": lambda row: tf.reshape(row, [-1]),
    "expand_dims": lambda row: tf.expand_dims(row, 0),
    "expand_dims from the end": lambda row: tf.expand_dims(row, -1),
    "identity": tf.identity,
    "stop_gradient": tf.stop_gradient,
    "transpose": tf.transpose,
    "transpose with a negative axis": lambda row: tf.transpose(row, [-1, 0]),
    "an index": lambda row: row[1],
    "slices": lambda row: row[:, ::-2],
    "a new axis": lambda row: row[..., tf.newaxis, 0],
    "slice": lambda row: tf.slice(row, [0, 1], [-1, 2]),
    "gather": lambda row: tf.gather(row, [2, 0], axis=1),
    "gather from the end": lambda row: tf.gather(row, 1, axis=-1),
    "reverse": lambda row: tf.reverse(row, [0, -1]),
    "tile": lambda row: tf.tile(row, [2, 1]),
    "pad": lambda row: tf.pad(row, [[1, 0], [0, 2]]),
    "zeros_like": lambda row: tf.zeros_like(row, optimize=False),
    "unstack": lambda row: tf.unstack(row, axis=-1)[0],
    "stack": lambda row: tf.stack([row, row], axis=1),
    "stack with a constant": lambda row: tf.stack([row, np.ones([2, 3], np.float32)], axis=-1),
    "concat": lambda row: tf.concat([row, row], -1),
    "concat with a constant": lambda row: tf.concat([np.ones([1, 3], np.float32), row], 0),
    "where": lambda row: tf.where(np.eye(2, 3) > 0, row, row),
}


def by_block(made, row, rows):
    op = made.op
    is_row = tuple(each is row for each in op.inputs)
    values = [rows if mine else tf.get_static_value(each) for each, mine in zip(op.inputs, is_row, strict=True)]
    if op.rows is True:
        return op.kernel(*values)
    return op.rows(is_row, *values)


@pytest.mark.parametrize("name", OPS)
def test_block(name):
    with tf.Graph().as_default():
        row = tf.placeholder(tf.float32, [2, 3])
        made = OPS[name](row)
        block = by_block(made, row, ROWS)
        if len(made.op.outputs) > 1:
            block = block[made.value_index]
        with tf.Session() as sess:
            one_by_one = np.stack([sess.run(made, {row: each}) for each in ROWS])
    assert block.dtype == one_by_one.dtype
    np.testing.assert_array_equal(block, one_by_one)


def test_squeeze():
    with tf.Graph().as_default():
        row = tf.placeholder(tf.float32, [1, 3])
        rows = np.ones([4, 1, 3], np.float32)
        assert by_block(tf.squeeze(row, [0]), row, rows).shape == (4, 3)
        # The squeezed axes may differ from row to row, and a block with one row has one more axis with size 1.
        assert by_block(tf.squeeze(row), row, rows) is None


def test_indices_as_rows():
    with tf.Graph().as_default():
        row = tf.placeholder(tf.int64, [])
        made = tf.gather(np.arange(6).reshape(3, 2), row)
        np.testing.assert_array_equal(by_block(made, row, np.array([2, 0])), [[4, 5], [0, 1]])
        # The error comes from running that row.
        assert by_block(made, row, np.array([2, 3])) is None


def test_strings_as_rows():
    with tf.Graph().as_default():
        row = tf.placeholder(tf.string, [])
        rows = np.array([b"a", b"b"], object)
        assert by_block(tf.reshape(row, [1]), row, rows).tolist() == [[b"a"], [b"b"]]
        assert by_block(tf.expand_dims(row, 0), row, rows).tolist() == [[b"a"], [b"b"]]
        assert by_block(tf.stack([row, "c"]), row, rows).tolist() == [[b"a", b"c"], [b"b", b"c"]]
