"""Parts of tensors: slices, indexing, stack, concat, split, gather, where, boolean_mask."""

import numpy as np
from compat_cases import table


def known(tf, *sizes, dtype="float32"):
    return tf.constant(np.arange(np.prod(sizes)).reshape(sizes), dtype)


def hidden(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


def _grid(tf, shape=None):
    return hidden(tf, np.arange(15, dtype=np.float32).reshape(5, 3), shape)


table(
    slice=lambda tf: tf.slice(known(tf, 4, 2), [1, 0], [2, -1]),
    slice_int64=lambda tf: tf.slice([1.0, 2.0], tf.constant([0], tf.int64), [1], name="part"),
    slice_dtypes_differ=lambda tf: tf.slice([1.0], [0], tf.constant([1], tf.int64)),
    slice_unknown_size=lambda tf: tf.slice(known(tf, 5, 3), [0, 0], [hidden(tf, 2, []), 2]),
    slice_unknown_begin=lambda tf: tf.slice(known(tf, 5, 3), hidden(tf, [1, 1], [2]), [2, -1]),
    slice_unknown_rank=lambda tf: tf.slice(_grid(tf), [1, 1], [-1, 2]),
    slice_unknown_all_sizes=lambda tf: tf.slice(known(tf, 5, 3), [1, 1], hidden(tf, [2, 2], [2])),
    slice_too_long=lambda tf: tf.slice(known(tf, 5, 3), [1, 1], [5, -1]),
    slice_too_long_known=lambda tf: tf.slice(known(tf, 5, 3), [1, 1], [5, 1]),
    slice_begin_beyond=lambda tf: tf.slice(known(tf, 5, 3), [6, 1], [-1, 1]),
    slice_minus_two=lambda tf: tf.slice(known(tf, 5, 3), [1, 1], [-2, -1]),
    slice_lengths_differ=lambda tf: tf.slice(known(tf, 5, 3), [1, 1], [1]),
    slice_strings=lambda tf: tf.slice(["a", "b", "c"], [1], [2]),
    index_int=lambda tf: [known(tf, 4, 2)[1], known(tf, 4, 2)[-1], known(tf, 4, 2)[1, 0], tf.constant(["a"])[0]],
    index_slices=lambda tf: [known(tf, 4, 2)[1:, ::-1], known(tf, 4, 2)[::2], known(tf, 4, 2)[-3:-1, 0:1]],
    index_new_axis=lambda tf: [known(tf, 4, 2)[1:, ..., None], known(tf, 4, 2)[tf.newaxis], known(tf, 2)[:, None]],
    index_ellipsis=lambda tf: [known(tf, 2, 2, 2)[..., 0], known(tf, 2, 2)[...], known(tf, 2, 2)[()]],
    index_two_ellipses=lambda tf: known(tf, 2, 2)[..., ...],
    index_tensor=lambda tf: [known(tf, 4, 2)[tf.constant(1) :], known(tf, 4, 2)[tf.constant(1)]],
    index_int64_tensor=lambda tf: known(tf, 4, 2)[tf.constant(1, tf.int64)],
    index_int64_bounds=lambda tf: known(tf, 4, 2)[tf.constant(1, tf.int64) : tf.constant(3, tf.int64)],
    index_mixed_tensors=lambda tf: known(tf, 4, 2)[tf.constant(1) :, : tf.constant(1, tf.int64)],
    index_unknown_tensor=lambda tf: [_grid(tf, [5, 3])[hidden(tf, 1, []) :], _grid(tf, [5, 3])[hidden(tf, 1, [])]],
    index_unknown_stop=lambda tf: _grid(tf, [5, 3])[:, : hidden(tf, 2, [])],
    index_partly_unknown=lambda tf: _grid(tf, [5, 3])[0:2, : hidden(tf, 2, [])],
    index_unknown_axis=lambda tf: [_grid(tf, [None, 3])[0:2], _grid(tf, [None, 3])[-2:], _grid(tf, [None, 3])[0]],
    index_unknown_rank=lambda tf: [_grid(tf)[0], _grid(tf)[..., 0], _grid(tf)[1:]],
    index_out_of_range=lambda tf: known(tf, 4, 2)[9],
    index_out_of_range_run=lambda tf: _grid(tf)[9],
    index_too_many=lambda tf: known(tf, 4, 2)[0, 0, 0],
    index_zero_step=lambda tf: known(tf, 4, 2)[::0],
    index_float=lambda tf: known(tf, 4, 2)[1.0],
    index_string=lambda tf: known(tf, 4, 2)["a"],
    index_vector=lambda tf: known(tf, 4, 2)[tf.constant([1])],
    index_list=lambda tf: known(tf, 4, 2)[[1, 1]],
    index_numpy=lambda tf: known(tf, 4, 2)[np.int64(1), np.int32(1)],
    index_shape=lambda tf: [tf.shape(_grid(tf))[0], tf.shape(_grid(tf))[1:], tf.shape(_grid(tf))[-1]],
    index_empty=lambda tf: known(tf, 4, 2)[3:1],
    index_bool=lambda tf: known(tf, 4, 2)[True],
    index_mask=lambda tf: known(tf, 4, 2)[tf.constant([True, False, True, False])],
    index_array_mask=lambda tf: known(tf, 3)[np.array([True, False, True])],
    strided_slice=lambda tf: tf.strided_slice(known(tf, 4, 2), [1], [3]),
    strided_slice_masks=lambda tf: tf.strided_slice(known(tf, 4, 2), [1, 1], [3, 1], [2, 1], end_mask=2, begin_mask=1),
    strided_slice_shrink=lambda tf: tf.strided_slice(known(tf, 4, 2), [1], [2], [1], shrink_axis_mask=1, name="s"),
    strided_slice_unknown_begin=lambda tf: tf.strided_slice(_grid(tf, [5, 3]), hidden(tf, [0, 1], [2]), [4, 3], [1, 1]),
    strided_slice_unknown_strides=lambda tf: tf.strided_slice(
        _grid(tf, [5, 3]), [0, 0], [4, 3], hidden(tf, [2, 1], [2])
    ),
    stack=lambda tf: [tf.stack([known(tf, 2), known(tf, 2)], axis=axis) for axis in (0, 1, -1, -2)],
    stack_constants=lambda tf: [tf.stack([1, 2]), tf.stack(["a", "b"]), tf.stack([[1, 2], [3, 4]], axis=1)],
    parallel_stack=lambda tf: tf.parallel_stack([known(tf, 2), known(tf, 2), [5.0, 6.0]]),
    parallel_stack_scalars=lambda tf: tf.parallel_stack([tf.minimum(hidden(tf, 4, []), 5), 3], name="pair"),
    parallel_stack_unknown_shape=lambda tf: tf.parallel_stack([hidden(tf, 4), 3]),
    parallel_stack_dtypes_differ=lambda tf: tf.parallel_stack([tf.constant(1), tf.constant(2.5)]),
    parallel_stack_shapes_differ=lambda tf: tf.parallel_stack([known(tf, 2), known(tf, 3)]),
    stack_mixed=lambda tf: tf.stack([tf.constant(1), 2], name="pair"),
    stack_dtypes_differ=lambda tf: tf.stack([tf.constant(1), tf.constant(2.5)]),
    stack_float_to_int=lambda tf: tf.stack([tf.constant(1), 2.5]),
    stack_shapes_differ=lambda tf: tf.stack([known(tf, 2), known(tf, 3)]),
    stack_shapes_differ_run=lambda tf: tf.stack([hidden(tf, [1.0]), hidden(tf, [1.0, 2.0])]),
    stack_axis_out_of_range=lambda tf: tf.stack([1, 2], axis=3),
    stack_unknown=lambda tf: tf.stack([_grid(tf, [None, 3]), _grid(tf, [5, None])]),
    stack_strings=lambda tf: tf.stack([tf.constant("a"), hidden(tf, "b")]),
    unstack=lambda tf: [tf.unstack(known(tf, 3, 2)), tf.unstack(known(tf, 3, 2), axis=1), tf.unstack(known(tf, 1))],
    unstack_strings=lambda tf: tf.unstack(["a", "b"], name="parts"),
    unstack_num=lambda tf: tf.unstack(_grid(tf), num=5),
    unstack_wrong_num=lambda tf: tf.unstack(known(tf, 3, 2), num=2),
    unstack_wrong_num_run=lambda tf: tf.unstack(_grid(tf), num=2),
    unstack_unknown=lambda tf: tf.unstack(_grid(tf, [None, 3])),
    unstack_axis_out_of_range=lambda tf: tf.unstack(known(tf, 3, 2), axis=2),
    concat=lambda tf: [tf.concat([known(tf, 3, 2), [[1.0, 2.0]]], 0), tf.concat([known(tf, 1, 2)] * 2, axis=-1)],
    concat_one=lambda tf: tf.concat([known(tf, 3, 2)], 0),
    concat_one_tensor=lambda tf: tf.concat(known(tf, 3, 2), 1, name="same"),
    concat_none=lambda tf: tf.concat([], 0),
    concat_scalars=lambda tf: tf.concat([1, 2], 0),
    concat_strings=lambda tf: tf.concat([["a"], ["b", "c"]], 0),
    concat_dtypes_differ=lambda tf: tf.concat([tf.constant([1]), tf.constant([1.0])], 0),
    concat_values_differ=lambda tf: tf.concat([[1], [1.0]], 0),
    concat_axis_out_of_range=lambda tf: tf.concat([known(tf, 1), known(tf, 1)], 1),
    concat_sizes_differ=lambda tf: tf.concat([known(tf, 1, 3), known(tf, 2, 4)], 0),
    concat_ranks_differ=lambda tf: tf.concat([known(tf, 1, 3), known(tf, 2)], 0),
    concat_sizes_differ_run=lambda tf: tf.concat([_grid(tf), known(tf, 2, 2)], 0),
    concat_unknown=lambda tf: [tf.concat([_grid(tf), known(tf, 5, 3)], axis) for axis in (0, -1)],
    concat_partly_unknown=lambda tf: tf.concat([_grid(tf, [None, 3]), _grid(tf, [5, None])], 0),
    concat_unknown_axis=lambda tf: tf.concat([known(tf, 2, 3), known(tf, 2, 3)], hidden(tf, 0, [])),
    concat_int64_axis=lambda tf: tf.concat([known(tf, 1), known(tf, 1)], tf.constant(0, tf.int64)),
    split=lambda tf: [
        tf.split(known(tf, 4, 2), 2),
        tf.split(known(tf, 4, 2), 2, axis=-1),
        tf.split(known(tf, 2), 1),
    ],
    split_sizes=lambda tf: [tf.split(known(tf, 4, 2), [1, 3]), tf.split(known(tf, 4, 2), [1, -1], 0)],
    split_name=lambda tf: tf.split(value=["a", "b"], num_or_size_splits=2, name="halves"),
    split_uneven=lambda tf: tf.split(known(tf, 3, 2), 2),
    split_uneven_run=lambda tf: tf.split(_grid(tf), 2),
    split_sizes_wrong=lambda tf: tf.split(known(tf, 4, 2), [1, 1]),
    split_sizes_wrong_run=lambda tf: tf.split(_grid(tf), [1, 1]),
    split_scalar_tensor=lambda tf: tf.split(known(tf, 4), tf.constant(2)),
    split_unknown=lambda tf: tf.split(_grid(tf, [None, 3]), 5),
    split_unknown_axis=lambda tf: tf.split(known(tf, 4, 2), 2, axis=hidden(tf, 0, [])),
    split_unknown_sizes=lambda tf: tf.split(known(tf, 4, 2), hidden(tf, [1, 3], [2])),
    split_unknown_number=lambda tf: tf.split(known(tf, 4, 2), hidden(tf, [1, 3])),
    split_given_number=lambda tf: tf.split(known(tf, 4, 2), hidden(tf, [1, 3]), num=2),
    split_axis_out_of_range=lambda tf: tf.split(known(tf, 4, 2), 2, axis=3),
    gather=lambda tf: [tf.gather(known(tf, 4, 2), [1, 0]), tf.gather(known(tf, 4, 2), 3), tf.gather(["a", "b"], 1)],
    gather_axis=lambda tf: [tf.gather(known(tf, 4, 2), [[1]], axis=axis) for axis in (0, 1, -1)],
    gather_batch=lambda tf: tf.gather(known(tf, 2, 3), [[1, 0], [2, 2]], batch_dims=1),
    gather_batch_axis=lambda tf: tf.gather(known(tf, 2, 3, 2), [[1], [0]], axis=2, batch_dims=1),
    gather_out_of_range=lambda tf: tf.gather(known(tf, 3, 2), [0, 5]),
    gather_negative=lambda tf: tf.gather(known(tf, 3, 2), [-1]),
    gather_scalar_params=lambda tf: tf.gather(1.0, [0]),
    gather_float_indices=lambda tf: tf.gather(known(tf, 2), [1.5]),
    gather_empty_list=lambda tf: tf.gather(known(tf, 2), []),
    gather_axis_too_large=lambda tf: tf.gather(known(tf, 3, 2), [0], axis=2),
    gather_unknown=lambda tf: [tf.gather(_grid(tf, [None, 3]), [0]), tf.gather(_grid(tf), hidden(tf, [0], [None]))],
    gather_unknown_axis=lambda tf: tf.gather(known(tf, 3, 2), [0], axis=hidden(tf, 1, [])),
    gather_nd=lambda tf: [tf.gather_nd(known(tf, 4, 2), [[1], [0]]), tf.gather_nd(known(tf, 4, 2), [1, 1])],
    gather_nd_empty_places=lambda tf: tf.gather_nd(known(tf, 2), np.zeros([2, 0], np.int32)),
    gather_nd_too_deep=lambda tf: tf.gather_nd(known(tf, 4, 2), [[0, 0, 0]]),
    gather_nd_out_of_range=lambda tf: tf.gather_nd(known(tf, 4, 2), [[0, 5]]),
    gather_nd_unknown=lambda tf: tf.gather_nd(known(tf, 4, 2), hidden(tf, [[0]], [None, None])),
    where_places=lambda tf: [
        tf.where([True, False, True]),
        tf.where([[1.0, 0.0], [0.0, 2.0]]),
        tf.where(known(tf, 1, 2, 2) > 1),
    ],
    where_scalar_places=lambda tf: tf.where(True),
    where_choice=lambda tf: tf.where([True, False], [1, 2], [3, 4], name="either"),
    where_rows=lambda tf: tf.where([True, False], known(tf, 2, 3), -known(tf, 2, 3)),
    where_scalar=lambda tf: tf.where(True, known(tf, 2, 3), -known(tf, 2, 3)),
    where_strings=lambda tf: tf.where([True, False], ["a", "b"], ["c", "d"]),
    where_one_value=lambda tf: tf.where([True], [1]),
    where_condition_wrong=lambda tf: tf.where([True, False], known(tf, 3), known(tf, 3)),
    where_shapes_differ=lambda tf: tf.where([True], known(tf, 1), known(tf, 1, 1)),
    where_dtypes_differ=lambda tf: tf.where([True, False], [1, 2], [1.0, 2.0]),
    where_int_condition=lambda tf: tf.where([1, 0], [1, 2], [3, 4]),
    where_unknown=lambda tf: tf.where(_grid(tf, [None, 3]) > 3, _grid(tf), _grid(tf, [5, None])),
    where_run_error=lambda tf: tf.where(hidden(tf, [True, False]), hidden(tf, [1.0]), hidden(tf, [1.0])),
    where_v2=lambda tf: [tf.where_v2([True, False], [1, 2], 3), tf.where_v2([[True], [False]], [1, 2], [3, 4])],
    where_v2_places=lambda tf: tf.where_v2([True, False]),
    where_v2_wrong=lambda tf: tf.where_v2([True, False], [1, 2, 3], 3),
    boolean_mask=lambda tf: tf.boolean_mask(known(tf, 4, 2), [True, False, True, True]),
    boolean_mask_axis=lambda tf: tf.boolean_mask(known(tf, 4, 2), [True, False], axis=1),
    boolean_mask_matrix=lambda tf: tf.boolean_mask(known(tf, 2, 2), [[True, False], [False, True]], name="m"),
    boolean_mask_unknown=lambda tf: tf.boolean_mask(_grid(tf, [None, 3]), _grid(tf, [None, 3]) > 3),
    boolean_mask_unknown_rank=lambda tf: tf.boolean_mask(_grid(tf), hidden(tf, [True] * 5, [None])),
    boolean_mask_scalar=lambda tf: tf.boolean_mask(known(tf, 2), True),
    boolean_mask_rank_unknown=lambda tf: tf.boolean_mask(known(tf, 2), hidden(tf, [True, False])),
    boolean_mask_wrong=lambda tf: tf.boolean_mask(known(tf, 2), [True]),
    boolean_mask_strings=lambda tf: tf.boolean_mask(["a", "b"], [False, True]),
)


def slice_to_the_end_from_a_place_known_in_part(tf):
    place = tf.placeholder_with_default(1, [])
    return tf.slice(tf.reshape(tf.range(20), [4, 5]), [1, place], [-1, 2])


table(
    "",
    {"graph": False},
    index_dimension=lambda tf: known(tf, 4, 2)[: tf.Dimension(2)],
)

# a single operation here
table(
    "gather_nd_",
    {"graph": False},
    batch=lambda tf: tf.identity(tf.gather_nd(known(tf, 2, 3), [[1], [0]], batch_dims=1), name="made"),
    batches=lambda tf: tf.identity(
        tf.gather_nd(hidden(tf, np.arange(12).reshape(2, 3, 2), [None, 3, 2]), [[[1], [0]], [[2], [2]]], batch_dims=1),
        name="made",
    ),
    batch_too_deep=lambda tf: tf.gather_nd(known(tf, 2, 3), [[1, 0], [0, 1]], batch_dims=1),
)
