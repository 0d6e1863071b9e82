"""Reductions, running sums, indices of extremes, segments."""

import numpy as np
from compat_cases import table


def _unknown(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


def reduce_everything(tf):
    x = tf.constant([[1, 2, 3], [4, 5, 6]])
    return [f(x) for f in (tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_min, tf.reduce_prod)]


def reduce_an_axis(tf):
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    return [tf.reduce_sum(x, 0), tf.reduce_sum(x, -1), tf.reduce_sum(x, [0, 1]), tf.reduce_sum(x, [1], keepdims=True)]


def reduce_with_old_names(tf):
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    return [
        tf.reduce_mean(x, reduction_indices=[1]),
        tf.reduce_max(x, axis=1, keep_dims=True),
        tf.reduce_min(x, reduction_indices=0, keep_dims=True, name="m"),
    ]


def reduce_unknown_shapes(tf):
    x = _unknown(tf, np.arange(6, dtype=np.float32).reshape(2, 3), [None, 3])
    y = _unknown(tf, np.arange(6, dtype=np.float32).reshape(2, 3))
    axis = _unknown(tf, 1, [])
    return [
        tf.reduce_sum(x, 0),
        tf.reduce_sum(x, 1),
        tf.reduce_sum(y),
        tf.reduce_sum(y, 1),
        tf.reduce_sum(x, axis),
        tf.reduce_sum(x, axis, keepdims=True),
        tf.reduce_sum(x),
        tf.reduce_sum(y, keepdims=True),
    ]


def reduce_nothing(tf):
    x, y = tf.zeros([0]), tf.zeros([0, 2], tf.int32)
    return [
        tf.reduce_sum(x),
        tf.reduce_mean(x),
        tf.reduce_max(x),
        tf.reduce_min(x),
        tf.reduce_prod(x),
        tf.reduce_max(y, 0),
        tf.reduce_min(y, 0),
        tf.reduce_sum(y, 1),
        tf.reduce_all(tf.zeros([0], tf.bool)),
    ]


def truth(tf):
    x = tf.constant([[True, False], [True, True]])
    return [tf.reduce_all(x), tf.reduce_any(x), tf.reduce_all(x, 0), tf.reduce_any(x, axis=1, keepdims=True)]


def variances(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 5.0]])
    return [tf.math.reduce_variance(x), tf.math.reduce_std(x, 0), tf.math.reduce_std(x, 1, keepdims=True)]


def indices_of_extremes(tf):
    x = tf.constant([[1.0, 3.0, 3.0], [5.0, 0.0, 0.0]])
    return [
        tf.argmax(x),
        tf.argmax(x, 1),
        tf.argmin(x, axis=-1),
        tf.argmax(x, dimension=1, output_type=tf.int32),
        tf.argmin(x, 0, name="a"),
        tf.arg_max(x, 1),
        tf.arg_min(x, 1),
        tf.argmax([True, False], 0),
        tf.argmax(_unknown(tf, [[1, 2]])),
        tf.argmax(_unknown(tf, [[1, 2]], [None, 2]), 1),
    ]


table(
    reduce_a_list=lambda tf: (
        tf.reduce_sum([[1.0, 2.0], [3.0, 4.0]]),
        tf.reduce_mean(5),
        tf.reduce_max(tf.constant(3)),
    ),
    reduce_over_no_axes=lambda tf: tf.reduce_sum(tf.constant([1.0, 2.0]), []),
    reduce_with_both_names_fails=lambda tf: tf.reduce_sum([1, 2], axis=0, reduction_indices=0),
    reduce_an_axis_that_is_not_there=(
        lambda tf: tf.reduce_sum([[1, 2], [3, 4]], -3),
        "Invalid reduction dimension -3 for input with 2 dimensions",
    ),
    reduce_an_axis_that_is_not_there_when_run=lambda tf: tf.reduce_sum(_unknown(tf, [[1, 2], [3, 4]]), 2),
    reduce_an_axis_twice=lambda tf: tf.reduce_sum([[1, 2], [3, 4]], [0, -2]),
    sums_keep_the_dtype=lambda tf: [
        tf.reduce_sum(tf.constant([200, 100], tf.uint8)),
        tf.reduce_prod(tf.constant([100, 100], tf.int8)),
        tf.reduce_sum(tf.constant([2**31 - 1, 1])),
        tf.reduce_mean(tf.constant([200, 100, 100], tf.uint8)),
        tf.reduce_mean(tf.constant([1, 2], tf.float16)),
    ],
    means_of_integers_drop_the_fraction=lambda tf: (
        tf.reduce_mean([[1, 2], [3, -9]], 1),
        tf.reduce_mean(tf.constant([-3, 0], tf.int64)),
    ),
    truth_of_integers_fails=lambda tf: tf.reduce_all(tf.constant([1, 0])),
    sum_of_bool_fails=(lambda tf: tf.reduce_sum([True, False]), "DataType bool not in list of allowed values"),
    sum_of_strings_fails=lambda tf: tf.reduce_sum(["a"]),
    variance_of_integers_fails=lambda tf: tf.math.reduce_variance([1, 2]),
    count_what_is_not_zero=lambda tf: [
        tf.count_nonzero([[0, 1], [2, 0]]),
        tf.count_nonzero([[0.0, 1.0], [2.0, 1.0]], axis=1, dtype=tf.int32),
        tf.count_nonzero(["", "a"]),
        tf.count_nonzero([True, False], keepdims=True),
    ],
    index_of_the_largest_along_a_missing_axis=(lambda tf: tf.argmax([[1.0, 2.0]], 3), "must be in the range"),
    index_of_the_largest_of_nothing=lambda tf: tf.argmax(tf.zeros([0])),
)
