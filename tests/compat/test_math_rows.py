"""Math kernels for row blocks agree with the op on each row."""

import numpy as np
import pytest

tf = pytest.importorskip("pipeline.compat.v1")

RANKS = [(0, 0), (1, 1), (2, 1), (1, 2), (0, 2), (2, 0), (3, 1)]
BINARY = [tf.add, tf.multiply, tf.truediv, tf.floordiv, tf.maximum, tf.less, tf.equal, tf.pow]


def _values(rank, dtype=np.float32):
    return (np.arange(np.prod((2, 3, 4)[3 - rank :])).reshape((2, 3, 4)[3 - rank :]) + 1).astype(dtype)


def _block(value, count=5):
    return np.stack([np.add(value, at, dtype=value.dtype) for at in range(count)])


def _check(op, is_row, singles, blocks):
    """Compare the block's rows with the op's kernel on each row."""
    values = [block if row else single for row, single, block in zip(is_row, singles, blocks, strict=True)]
    found = op.kernel(*values) if op.rows is True else op.rows(is_row, *values)
    count = len(next(block for row, block in zip(is_row, blocks, strict=True) if row))
    for at in range(count):
        row = [value[at] if mine else value for mine, value in zip(is_row, values, strict=True)]
        expected = op.kernel(*row)
        np.testing.assert_array_equal(found[at], expected)
        assert found.dtype == np.asarray(expected).dtype


@pytest.mark.parametrize("ranks", RANKS, ids=str)
@pytest.mark.parametrize("function", BINARY, ids=range(len(BINARY)))
@pytest.mark.parametrize("is_row", [(True, True), (True, False), (False, True)], ids=str)
def test_of_two(function, is_row, ranks):
    singles = [_values(rank) for rank in ranks]
    with tf.Graph().as_default():
        op = function(*(tf.placeholder_with_default(single, single.shape) for single in singles)).op
    _check(op, is_row, singles, [_block(single) for single in singles])


@pytest.mark.parametrize(
    "function", [tf.sqrt, tf.sigmoid, tf.negative, tf.round, tf.log1p, tf.is_nan, tf.nn.relu, tf.nn.softmax]
)
def test_of_one(function):
    single = _values(1)
    with tf.Graph().as_default():
        op = function(tf.placeholder_with_default(single, single.shape)).op
    _check(op, (True,), [single], [_block(single)])


@pytest.mark.parametrize("dtype", [tf.int32, tf.uint8, tf.bool, tf.complex64])
def test_of_casts(dtype):
    single = _values(2) * 1.5
    with tf.Graph().as_default():
        op = tf.cast(tf.placeholder_with_default(single, single.shape), dtype).op
    _check(op, (True,), [single], [_block(single)])


@pytest.mark.parametrize("axis", [0, -1, [0, 1], []])
def test_of_reductions(axis):
    single = _values(2)
    with tf.Graph().as_default():
        op = tf.reduce_sum(tf.placeholder_with_default(single, single.shape), axis).op
    axes = np.array(axis, np.int32)
    _check(op, (True, False), [single, axes], [_block(single), axes])


def test_strings_are_concatenated_in_blocks():
    names = np.array([b"a", b"b\0"], object)
    with tf.Graph().as_default():
        op = tf.add(tf.placeholder_with_default("x", []), "y\0").op
    assert op.rows((True, False), names, b"y\0").tolist() == [b"ay\0", b"b\0y\0"]
