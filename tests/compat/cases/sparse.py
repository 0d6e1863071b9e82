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
def slice_inside(tf):
    return tf.sparse_slice(sparse(tf), [0, 1], [2, 1])


@case()
def slice_big(tf):
    return tf.sparse_slice(sparse(tf), [1, 0], [5, 5])


@case()
def slice_bad(tf):
    return tf.sparse_slice(sparse(tf), [1], [5])


@case()
def slice_neg(tf):
    return tf.sparse_slice(sparse(tf), [0, -1], [2, 2])


@case()
def slice_beyond(tf):
    return tf.sparse_slice(sparse(tf), [0, 7], [2, 2])


@case()
def slice_negsize(tf):
    return tf.sparse_slice(sparse(tf), [0, 0], [2, -1])


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
def reset(tf):
    return tf.sparse_reset_shape(sparse(tf))


@case()
def reset2(tf):
    return tf.sparse_reset_shape(sparse(tf), [2, 5])


@case()
def reset_small(tf):
    return tf.sparse_reset_shape(sparse(tf), [2, 1])


@case()
def reset_rank(tf):
    return tf.sparse_reset_shape(sparse(tf), [2, 3, 1])


@case()
def reset_dyn_small(tf):
    return tf.sparse_reset_shape(given_sparse(tf), given(tf, [2, 1], [2]))


@case()
def fill_two_rows(tf):
    return tf.sparse_fill_empty_rows(sparse(tf, [[0, 1], [2, 2]], shape=[4, 3]), -1)


@case()
def fill2(tf):
    return tf.sparse_fill_empty_rows(tf.SparseTensor(np.zeros([0, 2], np.int64), np.zeros([0], np.int32), [2, 3]), -1)


@case()
def fill_un(tf):
    return tf.sparse_fill_empty_rows(sparse(tf, [[2, 1], [0, 2]], shape=[4, 3]), -1)


@case()
def fill_oob(tf):
    return tf.sparse_fill_empty_rows(sparse(tf, [[2, 1], [7, 2]], shape=[4, 3]), -1)


@case()
def fill_def(tf):
    return tf.sparse_fill_empty_rows(sparse(tf, [[2, 1], [7, 2]], shape=[4, 3]), [1])


@case()
def fill_0_rows(tf):
    return tf.sparse_fill_empty_rows(sparse(tf, shape=[0, 3]), 1)


@case()
def split(tf):
    return tf.sparse_split(sp_input=sparse(tf), num_split=2, axis=1)


@case()
def split7(tf):
    return tf.sparse_split(sp_input=tf.SparseTensor([[0, 0], [0, 4], [1, 6]], [1, 2, 3], [2, 7]), num_split=3, axis=1)


@case()
def split_bad(tf):
    return tf.sparse_split(sp_input=sparse(tf), num_split=4, axis=1)


@case()
def split_axis(tf):
    return tf.sparse_split(sp_input=sparse(tf), num_split=1, axis=2)


@case()
def split_kw(tf):
    return tf.sparse_split(sparse(tf), 2, 1)


@case()
def split_neg(tf):
    return tf.sparse_split(sp_input=sparse(tf), num_split=2, axis=-1)


@case()
def add_two(tf):
    return tf.sparse_add(sparse(tf), sparse(tf, [[0, 1], [1, 0]]))


@case()
def add_thr(tf):
    return tf.sparse_add(sparse(tf, values=[1.0, 0.1]), sparse(tf, [[0, 1], [1, 2]], [-1.0, 0.01]), 0.5)


@case()
def add_dense(tf):
    return tf.sparse_add(sparse(tf), tf.ones([2, 3], tf.int32))


@case()
def add_dense2(tf):
    return tf.sparse_add(tf.ones([2, 3], tf.int32), sparse(tf))


@case()
def add_dense_bad(tf):
    return tf.sparse_add(tf.ones([2, 4], tf.int32), sparse(tf))


@case()
def add_none(tf):
    return tf.sparse_add(1, 2)


@case()
def add_shape(tf):
    return tf.sparse_add(sparse(tf), sparse(tf, shape=[2, 4]))


@case()
def add_shape_dyn(tf):
    return tf.sparse_add(given_sparse(tf), sparse(tf, shape=[2, 4]))


@case()
def add_dtype(tf):
    return tf.sparse_add(sparse(tf), sparse(tf, values=[1.0, 2.0]))


@case()
def add_mix_threshold_int(tf):
    return tf.sparse_add(sparse(tf), sparse(tf), 1.5)


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
def transpose(tf):
    return tf.sparse_transpose(sparse(tf))


@case()
def transpose_p(tf):
    return tf.sparse_transpose(sparse(tf), [1, 0])


@case()
def transpose_dyn(tf):
    return tf.sparse_transpose(given_sparse(tf))


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
def matmul(tf):
    return tf.sparse_tensor_dense_matmul(sparse(tf), tf.ones([3, 2], tf.int32))


@case()
def matmul_ta(tf):
    return tf.sparse_tensor_dense_matmul(sparse(tf), tf.ones([2, 2], tf.int32), adjoint_a=True)


@case()
def matmul_tb(tf):
    return tf.sparse_tensor_dense_matmul(sparse(tf), tf.ones([2, 3], tf.int32), adjoint_b=True)


@case()
def matmul_bad(tf):
    return tf.sparse_tensor_dense_matmul(sparse(tf), tf.ones([2, 2], tf.int32))


@case()
def matmul_oob(tf):
    return tf.sparse_tensor_dense_matmul(sparse(tf, [[0, 1], [1, 9]]), tf.ones([3, 2], tf.int32))


@case()
def matmul_swap(tf):
    return tf.sparse_tensor_dense_matmul(tf.ones([2, 2], tf.int32), sparse(tf))


@case()
def mask_rows(tf):
    return tf.sparse_mask(
        tf.IndexedSlices(tf.constant([[1, 2], [3, 4], [5, 6]]), tf.constant([1, 5, 7])), tf.constant([5])
    ).values


@case()
def expand(tf):
    return tf.sparse.expand_dims(sparse(tf), 1)


@case()
def expand_minus_1(tf):
    return tf.sparse.expand_dims(sparse(tf))


@case()
def from_dense(tf):
    return tf.sparse.from_dense([[0, 1], [2, 0]])


@case()
def eye_two_by_three(tf):
    return tf.sparse.eye(2, 3)


@case()
def softmax(tf):
    return tf.sparse_softmax(sparse(tf, values=[1.0, 2.0]))


@case()
def maximum(tf):
    return tf.sparse_maximum(sparse(tf), sparse(tf, [[0, 1], [1, 0]], [5, -4]))


@case()
def minimum(tf):
    return tf.sparse_minimum(sparse(tf), sparse(tf, [[0, 1], [1, 0]], [5, -4]))


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
def reduce_sum_all(tf):
    return tf.sparse_reduce_sum(sparse(tf))


@case()
def reduce_sum_rows(tf):
    return tf.sparse_reduce_sum(sparse(tf), 0)


@case()
def reduce_sum_kept(tf):
    return tf.sparse_reduce_sum(sparse(tf), 1, keepdims=True)


@case()
def reduce_sum_last(tf):
    return tf.sparse_reduce_sum(sparse(tf), [-1])


@case()
def reduce_sum_both(tf):
    return tf.sparse_reduce_sum(sparse(tf), [0, 1])


@case()
def reduce_sum_no_such_axis(tf):
    return tf.sparse_reduce_sum(sparse(tf), 5)


@case()
def reduce_sum_negative(tf):
    return tf.sparse_reduce_sum(sparse(tf, values=[-1, -2], shape=[3, 3]), 1)


@case()
def reduce_sum_sparse(tf):
    return tf.sparse_reduce_sum_sparse(sparse(tf, shape=[3, 3]), 1)


@case()
def reduce_sum_sparse_kept(tf):
    return tf.sparse_reduce_sum_sparse(sparse(tf, shape=[3, 3]), 1, keep_dims=True)


@case()
def reduce_sum_sparse_all(tf):
    return tf.sparse_reduce_sum_sparse(sparse(tf, shape=[3, 3]))


@case()
def reduce_sum_unknown(tf):
    return tf.sparse_reduce_sum(given_sparse(tf), reduction_axes=1)


@case()
def reduce_sum_unknown_all(tf):
    return tf.sparse_reduce_sum(given_sparse(tf))


@case()
def reduce_max_all(tf):
    return tf.sparse_reduce_max(sparse(tf))


@case()
def reduce_max_rows(tf):
    return tf.sparse_reduce_max(sparse(tf), 0)


@case()
def reduce_max_kept(tf):
    return tf.sparse_reduce_max(sparse(tf), 1, keepdims=True)


@case()
def reduce_max_last(tf):
    return tf.sparse_reduce_max(sparse(tf), [-1])


@case()
def reduce_max_both(tf):
    return tf.sparse_reduce_max(sparse(tf), [0, 1])


@case()
def reduce_max_no_such_axis(tf):
    return tf.sparse_reduce_max(sparse(tf), 5)


@case()
def reduce_max_negative(tf):
    return tf.sparse_reduce_max(sparse(tf, values=[-1, -2], shape=[3, 3]), 1)


@case()
def reduce_max_sparse(tf):
    return tf.sparse_reduce_max_sparse(sparse(tf, shape=[3, 3]), 1)


@case()
def reduce_max_sparse_kept(tf):
    return tf.sparse_reduce_max_sparse(sparse(tf, shape=[3, 3]), 1, keep_dims=True)


@case()
def reduce_max_sparse_all(tf):
    return tf.sparse_reduce_max_sparse(sparse(tf, shape=[3, 3]))


@case()
def reduce_max_unknown(tf):
    return tf.sparse_reduce_max(given_sparse(tf), reduction_axes=1)


@case()
def reduce_max_unknown_all(tf):
    return tf.sparse_reduce_max(given_sparse(tf))


@case()
def serialize_bool(tf):
    return tf.serialize_sparse(sparse(tf, values=[True, False]))


@case()
def deserialize_strings(tf):
    return tf.deserialize_many_sparse(tf.serialize_many_sparse(sparse(tf, values=["a", "bcd"])), tf.string)


@case()
def matmul_float(tf):
    return tf.sparse_tensor_dense_matmul(
        sparse(tf, values=[1.5, -2.0]), tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    )


@case()
def softmax_rows(tf):
    return tf.sparse_softmax(tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [1.0, 2.0, 3.0], [2, 3]))


@case()
def add_floats(tf):
    return tf.sparse_add(sparse(tf, values=[1.0, 2.0]), sparse(tf, values=[0.5, -2.0]))


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


@case()
def transpose_three(tf):
    return tf.sparse_transpose(tf.SparseTensor([[0, 1, 2], [1, 0, 0]], [1.0, 2.0], [2, 2, 3]), [2, 0, 1])


@case()
def fill_empty_rows_strings(tf):
    return tf.sparse.fill_empty_rows(sparse(tf, [[1, 0]], ["x"], [3, 1]), "none")


@case()
def split_unknown(tf):
    return tf.sparse.split(sp_input=given_sparse(tf), num_split=2, axis=1)


@case()
def slice_name(tf):
    return tf.sparse.slice(sparse(tf), [0, 0], [1, 3], name="s")
