"""Mismatched arguments for array and string ops, from TensorFlow's own tests."""

import numpy as np
from compat_cases import table


def later(tf, value, shape=None):
    """Return a tensor with nothing known except `shape`."""
    return tf.placeholder_with_default(value, shape)


FOUR, THREE = np.zeros([4, 4, 4, 4], np.float32), np.zeros([4, 4, 4], np.float32)
TEN = list(range(10))

table(
    concat_ranks_differ_axis_unknown=lambda tf: tf.concat([later(tf, FOUR), FOUR, THREE], later(tf, 0)),
    concat_rank_known_axis_unknown=lambda tf: tf.concat([later(tf, FOUR), FOUR], later(tf, 0)),
    one_hot_on_of_another_dtype=lambda tf: tf.one_hot([0, 1], 2, on_value=np.float32(1), dtype=tf.int32),
    one_hot_off_of_another_dtype=lambda tf: tf.one_hot([0, 1], 2, off_value=np.float32(1), dtype=tf.int32),
    one_hot_values_of_two_dtypes=lambda tf: tf.one_hot([0, 1], 2, on_value=np.float32(1), off_value=np.int32(1)),
    one_hot_number_of_another_dtype=lambda tf: tf.one_hot([0, 1], 2, on_value=1.0, dtype=tf.int32),
    split_num_differs=lambda tf: tf.split(TEN, tf.constant([2, 2, 6]), num=4),
    split_num_agrees=lambda tf: tf.split(TEN, tf.constant([2, 2, 6]), num=3),
    split_of_unknown_count=(lambda tf: tf.split(TEN, later(tf, [4, 6])), "(?i)cannot infer"),
    split_num_of_unknown_count=lambda tf: tf.split(TEN, later(tf, [4, 6]), num=2),
    split_num_wrong_late=lambda tf: tf.split(TEN, later(tf, [4, 6]), num=3),
    split_sum_wrong_late=lambda tf: tf.split(TEN, later(tf, [4, 5], [2])),
    split_axis_empty_late=lambda tf: tf.split(TEN, later(tf, [4, 6], [2]), axis=later(tf, np.zeros(0, np.int32))),
    gather_batch_dims_none=lambda tf: tf.gather([[10, 11], [13, 14]], [1, 0], axis=1, batch_dims=None),
    string_split_delimiters_late=lambda tf: tf.string_split(["a|b", "c"], delimiter=later(tf, ["a", "b"])),
    string_split_delimiter_in_a_vector=lambda tf: tf.string_split(["a|b", "c"], delimiter=later(tf, ["|"])),
    string_split_delimiter_late=lambda tf: tf.string_split(["a|b", "c"], delimiter=later(tf, "|")),
    pad_mode_unknown=lambda tf: tf.pad([1], [[1, 1]], mode="weird"),
    reduce_axis_of_rank_2=lambda tf: tf.reduce_sum([[1, 2], [3, 4]], [[0], [1]]),
    slice_of_a_scalar=lambda tf: tf.constant(1)[0],
)
