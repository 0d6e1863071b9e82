"""Reductions, running sums, indices of extremes, segments."""

import numpy as np
from compat_cases import case


def _unknown(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


@case()
def reduce_everything(tf):
    x = tf.constant([[1, 2, 3], [4, 5, 6]])
    return [f(x) for f in (tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_min, tf.reduce_prod)]


@case()
def reduce_a_list(tf):
    return tf.reduce_sum([[1.0, 2.0], [3.0, 4.0]]), tf.reduce_mean(5), tf.reduce_max(tf.constant(3))


@case()
def reduce_an_axis(tf):
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    return [tf.reduce_sum(x, 0), tf.reduce_sum(x, -1), tf.reduce_sum(x, [0, 1]), tf.reduce_sum(x, [1], keepdims=True)]


@case()
def reduce_with_old_names(tf):
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    return [
        tf.reduce_mean(x, reduction_indices=[1]),
        tf.reduce_max(x, axis=1, keep_dims=True),
        tf.reduce_min(x, reduction_indices=0, keep_dims=True, name="m"),
    ]


@case()
def reduce_over_no_axes(tf):
    return tf.reduce_sum(tf.constant([1.0, 2.0]), [])


@case()
def reduce_with_both_names_fails(tf):
    return tf.reduce_sum([1, 2], axis=0, reduction_indices=0)


@case()
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


@case(message="Invalid reduction dimension -3 for input with 2 dimensions")
def reduce_an_axis_that_is_not_there(tf):
    return tf.reduce_sum([[1, 2], [3, 4]], -3)


@case()
def reduce_an_axis_that_is_not_there_when_run(tf):
    return tf.reduce_sum(_unknown(tf, [[1, 2], [3, 4]]), 2)


@case()
def reduce_an_axis_twice(tf):
    return tf.reduce_sum([[1, 2], [3, 4]], [0, -2])


@case()
def sums_keep_the_dtype(tf):
    return [
        tf.reduce_sum(tf.constant([200, 100], tf.uint8)),
        tf.reduce_prod(tf.constant([100, 100], tf.int8)),
        tf.reduce_sum(tf.constant([2**31 - 1, 1])),
        tf.reduce_mean(tf.constant([200, 100, 100], tf.uint8)),
        tf.reduce_mean(tf.constant([1, 2], tf.float16)),
    ]


@case()
def means_of_integers_drop_the_fraction(tf):
    return tf.reduce_mean([[1, 2], [3, -9]], 1), tf.reduce_mean(tf.constant([-3, 0], tf.int64))


@case()
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


@case()
def truth(tf):
    x = tf.constant([[True, False], [True, True]])
    return [tf.reduce_all(x), tf.reduce_any(x), tf.reduce_all(x, 0), tf.reduce_any(x, axis=1, keepdims=True)]


@case()
def truth_of_integers_fails(tf):
    return tf.reduce_all(tf.constant([1, 0]))


@case(message="DataType bool not in list of allowed values")
def sum_of_bool_fails(tf):
    return tf.reduce_sum([True, False])


@case()
def sum_of_strings_fails(tf):
    return tf.reduce_sum(["a"])


@case()
def variances(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 5.0]])
    return [tf.math.reduce_variance(x), tf.math.reduce_std(x, 0), tf.math.reduce_std(x, 1, keepdims=True)]


@case()
def variance_of_integers_fails(tf):
    return tf.math.reduce_variance([1, 2])


@case()
def count_what_is_not_zero(tf):
    return [
        tf.count_nonzero([[0, 1], [2, 0]]),
        tf.count_nonzero([[0.0, 1.0], [2.0, 1.0]], axis=1, dtype=tf.int32),
        tf.count_nonzero(["", "a"]),
        tf.count_nonzero([True, False], keepdims=True),
    ]


@case()
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


@case(message="must be in the range")
def index_of_the_largest_along_a_missing_axis(tf):
    return tf.argmax([[1.0, 2.0]], 3)


@case()
def index_of_the_largest_of_nothing(tf):
    return tf.argmax(tf.zeros([0]))


@case()
def running_sums(tf):
    x = tf.constant([[1, 2, 3], [4, 5, 6]])
    return [
        tf.cumsum(x),
        tf.cumsum(x, axis=1),
        tf.cumsum(x, axis=-1, exclusive=True),
        tf.cumsum(x, 1, reverse=True),
        tf.cumsum(x, 1, True, True, name="c"),
        tf.cumprod(x, 1),
        tf.cumprod(x, 1, exclusive=True, reverse=True),
        tf.cumsum(_unknown(tf, [1, 2])),
        tf.cumsum(tf.constant([200, 100], tf.uint8)),
    ]


@case()
def running_sum_along_a_missing_axis(tf):
    return tf.cumsum([1, 2, 3], axis=1)


@case()
def unsorted_segments(tf):
    x = tf.constant([[1, 2], [3, 4], [5, 6]])
    ids = [2, 0, 2]
    functions = (tf.unsorted_segment_sum, tf.unsorted_segment_max, tf.unsorted_segment_min, tf.unsorted_segment_prod)
    return [f(x, ids, 4) for f in functions]


@case()
def unsorted_segments_of_floats(tf):
    x = tf.constant([1.0, 2.0, 3.0])
    return [
        tf.unsorted_segment_max(x, [0, 0, 2], 3),
        tf.unsorted_segment_sum(tf.constant([[1.0, 2.0], [3.0, 4.0]]), [[0, 1], [1, 0]], 2),
    ]


@case()
def unsorted_segments_drop_negative_ids(tf):
    return tf.unsorted_segment_sum([1, 2, 3], [0, -1, 0], 2)


@case()
def unsorted_segment_out_of_range(tf):
    return tf.unsorted_segment_sum([1, 2, 3], [0, 5, 0], 2)


@case()
def unsorted_segments_with_a_wrong_shape(tf):
    return tf.unsorted_segment_sum(tf.constant([1, 2]), tf.constant([0, 1, 2]), 3)


@case()
def unsorted_segments_of_unknown_shape(tf):
    return tf.unsorted_segment_sum(tf.constant([[1, 2], [3, 4]]), [0, 1], _unknown(tf, 3, []))


@case()
def sorted_segments(tf):
    x = tf.constant([[1, 2], [3, 4], [-5, 6]])
    ids = [0, 0, 2]
    functions = (tf.segment_sum, tf.segment_mean, tf.segment_max, tf.segment_min, tf.segment_prod)
    return [f(x, ids) for f in functions]


@case()
def segments_that_are_not_sorted(tf):
    return tf.segment_sum([1, 2, 3], [0, 2, 1])


@case()
def segments_of_another_length(tf):
    return tf.segment_sum([1, 2, 3], [0, 2])


@case()
def segment_ids_of_rank_two(tf):
    return tf.segment_sum(_unknown(tf, [[1, 2], [3, 4]], [None, 2]), [[0, 1]])
