"""Sparse tensors: forms, parts, sums, reductions, strings."""

import numpy as np
from compat_cases import case, table


def _sparse(tf, indices=((0, 1), (1, 2)), values=(1, 2), shape=(2, 3)):
    return tf.SparseTensor([list(each) for each in indices], list(values), list(shape))


def given(tf, value, shape=None):
    """Return a tensor with nothing known except `shape`."""
    return tf.placeholder_with_default(value, shape)


def _given_sparse(tf):
    return tf.SparseTensor(
        given(tf, np.array([[0, 1], [1, 2]], np.int64), [None, 2]),
        given(tf, [1, 2], [None]),
        given(tf, np.array([2, 3], np.int64), [2]),
    )


table(
    todense=lambda tf: tf.sparse_tensor_to_dense(_sparse(tf)),
    todense_unsorted=lambda tf: tf.sparse_tensor_to_dense(_sparse(tf, [[1, 2], [0, 1]])),
    todense_dup=lambda tf: tf.sparse_tensor_to_dense(_sparse(tf, [[0, 1], [0, 1]])),
    todense_oob=lambda tf: tf.sparse_tensor_to_dense(_sparse(tf, [[0, 1], [0, 5]])),
    todense_neg=lambda tf: tf.sparse_tensor_to_dense(_sparse(tf, [[0, -1], [0, 1]])),
    todense_dup_noval=lambda tf: tf.sparse_tensor_to_dense(_sparse(tf, [[0, 1], [0, 1]]), validate_indices=False),
    s2d_scalar=lambda tf: tf.sparse_to_dense([1, 3], [5], 1.0, -1.0),
    s2d_scalar_idx=lambda tf: tf.sparse_to_dense(2, [5], 1.0),
    s2d_vals=lambda tf: tf.sparse_to_dense([[0, 1], [1, 0]], [2, 2], [5, 6]),
    s2d_badvals=lambda tf: tf.sparse_to_dense([[0, 1], [1, 0]], [2, 2], [5, 6, 7]),
    s2d_badrank=lambda tf: tf.sparse_to_dense([[0, 1], [1, 0]], [2, 2, 2], [5, 6]),
    s2d_badrank3=lambda tf: tf.sparse_to_dense([[[0, 1], [1, 0]]], [2, 2], [5, 6]),
    s2d_shape_scalar=lambda tf: tf.sparse_to_dense([0], 5, [5]),
    s2d_default_vec=lambda tf: tf.sparse_to_dense([0], [5], [5], [1, 2]),
    s2d_badvals_dyn=lambda tf: tf.sparse_to_dense(
        given(tf, [[0, 1], [1, 0]], None), given(tf, [2, 2], None), given(tf, [5, 6, 7], None)
    ),
    s2d_badrank_dyn=lambda tf: tf.sparse_to_dense(
        given(tf, [[0, 1], [1, 0]], None), given(tf, [2, 2, 2], None), given(tf, [5, 6], None)
    ),
    reorder=lambda tf: tf.sparse_reorder(_sparse(tf, [[1, 2], [0, 1]])),
    reorder_dyn=lambda tf: tf.sparse_reorder(_given_sparse(tf)),
    ser=lambda tf: tf.serialize_sparse(_sparse(tf, values=["a", "b"])),
    ser2=lambda tf: tf.serialize_sparse(_sparse(tf)),
    ser_empty=lambda tf: tf.serialize_sparse(
        tf.SparseTensor(np.zeros([0, 2], np.int64), tf.constant([], tf.string), [2, 2])
    ),
    deser=lambda tf: tf.io.deserialize_many_sparse([tf.serialize_sparse(_sparse(tf))], tf.int32),
    deser_rank=lambda tf: tf.io.deserialize_many_sparse([tf.serialize_sparse(_sparse(tf))], tf.int32, rank=3),
    deser_dtype=lambda tf: tf.io.deserialize_many_sparse([tf.serialize_sparse(_sparse(tf))], tf.float32),
    deser_stack=lambda tf: tf.deserialize_many_sparse(
        tf.stack([tf.serialize_sparse(_sparse(tf)), tf.serialize_sparse(_sparse(tf, shape=[4, 3]))]), tf.int32
    ),
    deser_bad=lambda tf: tf.deserialize_many_sparse([[b"a", b"b", b"c"]], tf.int32),
    deser_badshape=lambda tf: tf.deserialize_many_sparse([b"a", b"b", b"c"], tf.int32),
    deser_empty=lambda tf: tf.deserialize_many_sparse(np.zeros([0, 3], object), tf.int32),
    notsparse=lambda tf: tf.sparse_reorder(tf.constant(1)),
    value=lambda tf: tf.sparse_reorder(tf.SparseTensorValue([[1, 2], [0, 1]], [1, 2], [2, 3])),
    deserialize_strings=lambda tf: tf.deserialize_many_sparse(
        [tf.serialize_sparse(_sparse(tf, values=["a", "bcd"]))] * 2, tf.string
    ),
    serialize_bool=lambda tf: tf.serialize_sparse(_sparse(tf, values=[True, False])),
    to_dense_strings=lambda tf: tf.sparse_tensor_to_dense(_sparse(tf, values=["a", "b"]), default_value=""),
    to_dense_no_elements=lambda tf: tf.sparse_tensor_to_dense(
        tf.SparseTensor(np.zeros([0, 2], np.int64), np.zeros([0], np.float32), [2, 2])
    ),
    to_dense_default=lambda tf: tf.sparse.to_dense(_sparse(tf), -1, name="dense"),
)


@case(graph=False, names=False)
def indicator(tf):
    return tf.sparse_to_indicator(_sparse(tf), 4)
