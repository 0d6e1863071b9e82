"""Sparse tensors: forms, parts, sums, reductions, strings."""

import numpy as np
from compat_cases import case


def sparse(tf, indices=((0, 1), (1, 2)), values=(1, 2), shape=(2, 3)):
    return tf.SparseTensor([list(each) for each in indices], list(values), list(shape))


def given(tf, value, shape=None):
    """A tensor of which nothing but `shape` is known."""
    return tf.placeholder_with_default(value, shape)


def given_sparse(tf):
    return tf.SparseTensor(
        given(tf, np.array([[0, 1], [1, 2]], np.int64), [None, 2]),
        given(tf, [1, 2], [None]),
        given(tf, np.array([2, 3], np.int64), [2]),
    )


@case()
def todense(tf):
    return tf.sparse_tensor_to_dense(sparse(tf))


@case()
def todense_unsorted(tf):
    return tf.sparse_tensor_to_dense(sparse(tf, [[1, 2], [0, 1]]))


@case()
def todense_dup(tf):
    return tf.sparse_tensor_to_dense(sparse(tf, [[0, 1], [0, 1]]))


@case()
def todense_oob(tf):
    return tf.sparse_tensor_to_dense(sparse(tf, [[0, 1], [0, 5]]))


@case()
def todense_neg(tf):
    return tf.sparse_tensor_to_dense(sparse(tf, [[0, -1], [0, 1]]))


@case()
def todense_dup_noval(tf):
    return tf.sparse_tensor_to_dense(sparse(tf, [[0, 1], [0, 1]]), validate_indices=False)


@case()
def s2d_scalar(tf):
    return tf.sparse_to_dense([1, 3], [5], 1.0, -1.0)


@case()
def s2d_scalar_idx(tf):
    return tf.sparse_to_dense(2, [5], 1.0)


@case()
def s2d_vals(tf):
    return tf.sparse_to_dense([[0, 1], [1, 0]], [2, 2], [5, 6])


@case()
def s2d_badvals(tf):
    return tf.sparse_to_dense([[0, 1], [1, 0]], [2, 2], [5, 6, 7])


@case()
def s2d_badrank(tf):
    return tf.sparse_to_dense([[0, 1], [1, 0]], [2, 2, 2], [5, 6])


@case()
def s2d_badrank3(tf):
    return tf.sparse_to_dense([[[0, 1], [1, 0]]], [2, 2], [5, 6])


@case()
def s2d_shape_scalar(tf):
    return tf.sparse_to_dense([0], 5, [5])


@case()
def s2d_default_vec(tf):
    return tf.sparse_to_dense([0], [5], [5], [1, 2])


@case()
def s2d_badvals_dyn(tf):
    return tf.sparse_to_dense(given(tf, [[0, 1], [1, 0]], None), given(tf, [2, 2], None), given(tf, [5, 6, 7], None))


@case()
def s2d_badrank_dyn(tf):
    return tf.sparse_to_dense(given(tf, [[0, 1], [1, 0]], None), given(tf, [2, 2, 2], None), given(tf, [5, 6], None))


@case()
def indicator(tf):
    return tf.sparse_to_indicator(sparse(tf), 4)


@case()
def reshape_fixed(tf):
    return tf.sparse_reshape(sparse(tf), [3, 2])


@case()
def reshape_minus_1(tf):
    return tf.sparse_reshape(sparse(tf), [-1])


@case()
def reshape_bad(tf):
    return tf.sparse_reshape(sparse(tf), [4, 2])


@case()
def reshape_2x_minus_1(tf):
    return tf.sparse_reshape(sparse(tf), [-1, -1])


@case()
def reshape_dyn_bad(tf):
    return tf.sparse_reshape(given_sparse(tf), given(tf, [4, 2], [2]))


@case()
def reshape_dyn__minus_1_bad(tf):
    return tf.sparse_reshape(given_sparse(tf), given(tf, [4, -1], [2]))


@case()
def reshape_dyn_2_minus_1(tf):
    return tf.sparse_reshape(given_sparse(tf), given(tf, [-1, -1], [2]))


@case()
def reshape_dyn(tf):
    return tf.sparse_reshape(given_sparse(tf), given(tf, [-1, 2], [2]))


@case()
def concat_two(tf):
    return tf.sparse_concat(1, [sparse(tf), sparse(tf)])


@case()
def concat0(tf):
    return tf.sparse_concat(0, [sparse(tf), sparse(tf, shape=[3, 3])])


@case()
def concat_bad(tf):
    return tf.sparse_concat(0, [sparse(tf), sparse(tf, shape=[3, 4])])


@case()
def concat_exp(tf):
    return tf.sparse_concat(0, [sparse(tf), sparse(tf, shape=[3, 4])], expand_nonconcat_dim=True)


@case()
def concat_rank(tf):
    return tf.sparse_concat(0, [sparse(tf), tf.SparseTensor([[0]], [1], [4])])


@case()
def concat_axis(tf):
    return tf.sparse_concat(2, [sparse(tf), sparse(tf)])


@case()
def concat_dyn(tf):
    return tf.sparse_concat(-1, [given_sparse(tf), given_sparse(tf)])


@case()
def concat_dyn_axis(tf):
    return tf.sparse_concat(2, [given_sparse(tf), given_sparse(tf)])


@case()
def concat_dyn_bad(tf):
    return tf.sparse_concat(0, [given_sparse(tf), sparse(tf, shape=[2, 5])])


@case()
def reorder(tf):
    return tf.sparse_reorder(sparse(tf, [[1, 2], [0, 1]]))


@case()
def reorder_dyn(tf):
    return tf.sparse_reorder(given_sparse(tf))


@case()
def retain(tf):
    return tf.sparse_retain(sparse(tf), [True, False])


@case()
def retain_bad(tf):
    return tf.sparse_retain(sparse(tf), [True, False, True])


@case()
def merge(tf):
    return tf.sparse_merge(sparse(tf), sparse(tf, values=[0.5, 0.6]), 5)


@case()
def merge_bad(tf):
    return tf.sparse_merge(sparse(tf), sparse(tf, values=[0.5, 0.6]), [5])


@case()
def merge2(tf):
    return tf.sparse_merge([sparse(tf), sparse(tf)], sparse(tf, values=[0.5, 0.6]), [5, 6])


@case()
def ser(tf):
    return tf.serialize_sparse(sparse(tf, values=["a", "b"]))


@case()
def ser2(tf):
    return tf.serialize_sparse(sparse(tf))


@case()
def sermany(tf):
    return tf.serialize_many_sparse(sparse(tf, shape=[3, 3]))


@case()
def deser(tf):
    return tf.io.deserialize_many_sparse(tf.serialize_many_sparse(sparse(tf, shape=[3, 3])), tf.int32)


@case()
def deser_rank(tf):
    return tf.io.deserialize_many_sparse(tf.serialize_many_sparse(sparse(tf, shape=[3, 3])), tf.int32, rank=2)


@case()
def deser_dtype(tf):
    return tf.io.deserialize_many_sparse(tf.serialize_many_sparse(sparse(tf, shape=[3, 3])), tf.float32)


@case()
def deser_stack(tf):
    return tf.deserialize_many_sparse(
        tf.stack([tf.serialize_sparse(sparse(tf)), tf.serialize_sparse(sparse(tf, shape=[4, 3]))]), tf.int32
    )


@case()
def deser_bad(tf):
    return tf.deserialize_many_sparse([[b"a", b"b", b"c"]], tf.int32)


@case()
def deser_badshape(tf):
    return tf.deserialize_many_sparse([b"a", b"b", b"c"], tf.int32)


@case()
def deser_empty(tf):
    return tf.deserialize_many_sparse(np.zeros([0, 3], object), tf.int32)


@case()
def ph(tf):
    return tf.sparse_placeholder(tf.float32, [None, 3]).dense_shape


@case()
def ph2(tf):
    return tf.sparse_placeholder(tf.float32, [2, 3]).dense_shape


@case()
def notsparse(tf):
    return tf.sparse_reorder(tf.constant(1))


@case()
def value(tf):
    return tf.sparse_reorder(tf.SparseTensorValue([[1, 2], [0, 1]], [1, 2], [2, 3]))


@case()
def serialize_bool(tf):
    return tf.serialize_sparse(sparse(tf, values=[True, False]))


@case()
def deserialize_strings(tf):
    return tf.deserialize_many_sparse(tf.serialize_many_sparse(sparse(tf, values=["a", "bcd"])), tf.string)


@case()
def to_dense_strings(tf):
    return tf.sparse_tensor_to_dense(sparse(tf, values=["a", "b"]), default_value="")


@case()
def to_dense_no_elements(tf):
    return tf.sparse_tensor_to_dense(tf.SparseTensor(np.zeros([0, 2], np.int64), np.zeros([0], np.float32), [2, 2]))


@case()
def to_dense_default(tf):
    return tf.sparse.to_dense(sparse(tf), -1, name="dense")


@case()
def reshape_three(tf):
    return tf.sparse.reshape(sparse(tf), [1, -1, 2], name="r")
