"""Moving and ordering elements: transpose, pad, sort, unique, diagonals, scatter, blocks."""

import numpy as np
from compat_cases import table


def known(tf, *sizes, dtype="float32"):
    return tf.constant(np.arange(np.prod(sizes)).reshape(sizes), dtype)


def hidden(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


def grid(tf, shape=None):
    return hidden(tf, np.arange(6, dtype=np.float32).reshape(2, 3), shape)


def mixed(tf, dtype="float32"):
    return tf.constant([[3, 1, 2], [1, 1, 0]], dtype)


table(
    transpose=lambda tf: [
        tf.transpose(known(tf, 2, 3)),
        tf.transpose(known(tf, 2, 3, 1), [2, 0, 1]),
        tf.transpose(1),
    ],
    transpose_negative=lambda tf: tf.transpose(known(tf, 2, 3), [-1, 0], name="t"),
    transpose_strings=lambda tf: tf.transpose([["a", "b"]]),
    transpose_unknown=lambda tf: [tf.transpose(grid(tf)), tf.transpose(grid(tf, [None, 3]), [1, 0])],
    transpose_unknown_perm=lambda tf: tf.transpose(known(tf, 2, 3), hidden(tf, [1, 0], [2])),
    transpose_short_perm=lambda tf: tf.transpose(known(tf, 2, 3), [0]),
    transpose_out_of_range=lambda tf: tf.transpose(known(tf, 2, 3), [0, 2]),
    transpose_twice=lambda tf: tf.transpose(known(tf, 2, 3), [0, 0]),
    reverse=lambda tf: [
        tf.reverse(known(tf, 2, 3), [0]),
        tf.reverse(known(tf, 2, 3), [-1, 0]),
        tf.reverse(["a", "b"], [0]),
    ],
    reverse_none=lambda tf: tf.reverse(known(tf, 2, 3), []),
    reverse_out_of_range=lambda tf: tf.reverse(known(tf, 2, 3), [2]),
    reverse_twice=lambda tf: tf.reverse(known(tf, 2, 3), [0, 0]),
    reverse_scalar_axis=lambda tf: tf.reverse(known(tf, 2, 3), 0),
    reverse_run_error=lambda tf: tf.reverse(grid(tf), [2]),
    reverse_sequence=lambda tf: tf.reverse_sequence(known(tf, 2, 3), [2, 3], seq_axis=1, batch_axis=0),
    reverse_sequence_old=lambda tf: tf.reverse_sequence(known(tf, 3, 2), [1, 3], seq_dim=0, batch_dim=1),
    reverse_sequence_too_long=lambda tf: tf.reverse_sequence(known(tf, 2, 3), [2, 4], seq_axis=1),
    reverse_sequence_wrong=lambda tf: tf.reverse_sequence(known(tf, 2, 3), [2], seq_axis=1),
    tile=lambda tf: [
        tf.tile(known(tf, 2, 3), [2, 1]),
        tf.tile(["a"], [3]),
        tf.tile(known(tf, 2), [0]),
        tf.tile(1, []),
    ],
    tile_unknown=lambda tf: [tf.tile(grid(tf, [None, 3]), [2, 2]), tf.tile(grid(tf), [2, 2])],
    tile_unknown_multiples=lambda tf: tf.tile(known(tf, 2, 3), [2, hidden(tf, 1, [])]),
    tile_negative=lambda tf: tf.tile(known(tf, 3), [-2]),
    tile_wrong_rank=lambda tf: tf.tile(known(tf, 2, 3), [2]),
    tile_run_error=lambda tf: tf.tile(grid(tf), hidden(tf, [2])),
    pad=lambda tf: [
        tf.pad(known(tf, 2, 3), [[1, 1], [0, 2]]),
        tf.pad(["a"], [[1, 0]]),
        tf.pad(1.0, np.zeros([0, 2], int)),
    ],
    pad_value=lambda tf: tf.pad(known(tf, 2, 3), [[1, 1], [0, 2]], constant_values=7, name="p"),
    pad_value_tensor=lambda tf: tf.pad(known(tf, 2), [[1, 1]], constant_values=tf.constant(0.0)),
    pad_reflect=lambda tf: tf.pad(known(tf, 2, 3), [[1, 1], [2, 0]], "REFLECT"),
    pad_symmetric=lambda tf: tf.pad(known(tf, 2, 3), [[1, 2], [3, 0]], "symmetric"),
    pad_reflect_too_far=lambda tf: tf.pad(known(tf, 2, 3), [[2, 1], [0, 0]], "REFLECT"),
    pad_unknown=lambda tf: [tf.pad(grid(tf, [None, 3]), [[1, 1], [0, 2]]), tf.pad(grid(tf), [[1, 1], [0, 2]])],
    pad_unknown_paddings=lambda tf: tf.pad(known(tf, 2, 3), tf.stack([[1, hidden(tf, 1, [])], [0, 2]])),
    pad_tensor_in_list=lambda tf: tf.pad(known(tf, 2, 3), [[1, hidden(tf, 1, [])], [0, 2]]),
    pad_negative=lambda tf: tf.pad(known(tf, 2, 3), [[1, -1], [0, 2]]),
    pad_wrong_rank=lambda tf: tf.pad(known(tf, 2, 3), [[1, 1]]),
    pad_mode=lambda tf: tf.pad(known(tf, 2, 3), [[1, 1], [0, 0]], "EDGE"),
    top_k=lambda tf: list(tf.nn.top_k(mixed(tf), 2)) + list(tf.nn.top_k([1, 3, 3], name="top")),
    top_k_too_many=lambda tf: list(tf.nn.top_k(mixed(tf), 5)),
    top_k_too_many_run=lambda tf: list(tf.nn.top_k(grid(tf), 5)),
    top_k_unknown=lambda tf: list(tf.nn.top_k(grid(tf, [2, 3]), hidden(tf, 1, []))),
    top_k_scalar=lambda tf: list(tf.nn.top_k(1.0)),
    unique=lambda tf: list(tf.unique([3, 1, 3, 2, 1])) + list(tf.unique(["b", "a", "b"], out_idx=tf.int64)),
    unique_matrix=lambda tf: list(tf.unique([[1]])),
    dynamic_partition=lambda tf: tf.dynamic_partition(known(tf, 3), [0, 1, 0], 2),
    dynamic_partition_rows=lambda tf: tf.dynamic_partition(known(tf, 2, 3), [2, 0], 3),
    dynamic_partition_matrix=lambda tf: tf.dynamic_partition([["a", "b"]], [[1, 0]], 2, name="d"),
    dynamic_partition_out_of_range=lambda tf: tf.dynamic_partition(known(tf, 2), [0, 2], 2),
    dynamic_partition_shapes=lambda tf: tf.dynamic_partition(known(tf, 2), [0, 1, 1], 2),
)


def sorts(*calls):
    """Make a case with sorted tensors. TensorFlow makes each from several operations with other names."""
    return lambda tf: [tf.identity(call(tf), name="made") for call in calls]
