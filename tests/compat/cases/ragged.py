"""Ragged tensors: what they are made of, their parts, rows and columns, and dense and sparse tensors of them."""

import numpy as np
from compat_cases import case

ROWS = [[1, 2, 3], [], [4], [5, 6]]
NESTED = [[[1, 2], [3]], [], [[], [4, 5, 6]]]


def parts(tf, value):
    """What a ragged tensor, or a tensor, is made of: its shape, and its tensors under names of their own."""
    if not isinstance(value, tf.RaggedTensor):
        return tf.identity(value, "part")
    found = [tf.identity(each, "part") for each in (*value.nested_row_splits, value.flat_values)]
    return [value.shape, value.dtype, value.ragged_rank, *found]


def fed(tf, values, dtype=None):
    """A tensor of which a graph knows the rank alone."""
    return tf.placeholder_with_default(tf.constant(values, dtype), [None] * np.ndim(values))


def add(**functions):
    """Make a case of each function under its name here: of the ragged tensor that it returns, or of a list of them."""
    for name, function in functions.items():
        one = described(function)
        one.__name__ = name
        case(graph=False)(one)


def described(function):
    def one(tf):
        found = function(tf)
        return [parts(tf, each) for each in found] if isinstance(found, list) else parts(tf, found)

    return one


def rows(tf):
    """A ragged tensor of which the graph knows the number of rows."""
    return tf.RaggedTensor.from_row_splits(fed(tf, [1, 2, 3, 4, 5, 6]), sized(tf, [0, 3, 3, 4, 6]))


def nested(tf):
    inner = tf.RaggedTensor.from_row_splits(fed(tf, [1, 2, 3, 4, 5, 6]), fed(tf, [0, 2, 3, 3, 6], tf.int64))
    return tf.RaggedTensor.from_row_splits(inner, sized(tf, [0, 2, 2, 4]))


def deep(tf):
    """One whose flat values are vectors."""
    return tf.RaggedTensor.from_row_splits(tf.placeholder_with_default([[1, 2]], [None, 2]), sized(tf, [0, 1, 1]))


def words(tf):
    return tf.RaggedTensor.from_row_splits(fed(tf, ["a b", "c"]), sized(tf, [0, 2, 2]))


def sized(tf, splits):
    return tf.placeholder_with_default(tf.constant(splits, tf.int64), [len(splits)])


@case(graph=False)
def run_gives_values(tf, sess):
    one, two = sess.run([rows(tf), {"nested": nested(tf)}])
    inner = two["nested"]
    return [
        type(one) is tf.ragged.RaggedTensorValue,
        one.values,
        one.row_splits,
        one.to_list(),
        list(one.shape),
        one.ragged_rank,
        str(one),
        inner.to_list(),
        inner.flat_values,
        list(inner.nested_row_splits),
        list(inner.shape),
        str(inner.dtype),
    ]


@case(graph=False)
def run_gives_words(tf, sess):
    return sess.run(tf.ragged.constant([["a", "b"], []])).to_list()


@case(graph=False)
def feed_parts(tf, sess):
    ragged = tf.ragged.placeholder(tf.int32, 2)
    feeds = {ragged.flat_values: [1, 2, 3], ragged.row_splits: [0, 2], ragged.values.row_splits: [0, 1, 3]}
    return [sess.run(ragged, feeds).to_list(), sess.run(ragged.to_tensor(), feeds)]


@case(graph=False)
def feed_ragged(tf, sess):
    deep, flat = tf.ragged.placeholder(tf.int32, 2), rows(tf)
    value = tf.ragged.constant_value(NESTED)
    words = tf.ragged.constant_value([[7], [8, 9]])
    made = sess.run([deep, deep.to_tensor(), flat.values], {deep: value, flat.values: words.values})
    return [made[0].to_list(), made[1], made[2], sess.run(deep, {deep: value}).to_list()]


@case(graph=False)
def feed_one_part(tf, sess):
    ragged = rows(tf)
    return sess.run(ragged.to_tensor(), {ragged.values: [7, 7, 7, 8, 9, 9]})


@case(graph=False)
def values_of_lists(tf, sess):
    value = tf.ragged.constant_value(ROWS)
    deep = tf.ragged.constant_value(NESTED, dtype=np.float32, row_splits_dtype=np.int32)
    words = tf.ragged.constant_value([[b"a"], []])
    return [
        value.values,
        value.row_splits,
        deep.to_list(),
        deep.flat_values,
        deep.row_splits,
        words.to_list(),
        repr(value),
    ]


@case(graph=False)
def value_of_other_things(tf, sess):
    return tf.ragged.RaggedTensorValue(np.arange(3), [0, 3])


@case(graph=False)
def value_of_mixed_splits(tf, sess):
    inner = tf.ragged.RaggedTensorValue(np.arange(3), np.array([0, 3], np.int32))
    return tf.ragged.RaggedTensorValue(inner, np.array([0, 1], np.int64))


@case(graph=False)
def what_it_is_called(tf, sess):
    ragged = rows(tf)
    return [ragged.shape, nested(tf).shape, ragged.dtype, ragged.row_splits.dtype, ragged.ragged_rank]


add(
    constant_rows=lambda tf: tf.ragged.constant(ROWS),
    constant_nested=lambda tf: tf.ragged.constant(NESTED),
    constant_floats=lambda tf: tf.ragged.constant([[1.5], []]),
    constant_of_dtype=lambda tf: tf.ragged.constant(ROWS, tf.float64, row_splits_dtype=tf.int32),
    constant_empty=lambda tf: tf.ragged.constant([[], []]),
    constant_nothing=lambda tf: tf.ragged.constant([]),
    constant_number=lambda tf: tf.ragged.constant(5),
    constant_vector=lambda tf: tf.ragged.constant([1, 2]),
    constant_inner=lambda tf: tf.ragged.constant([[[1, 2], [3, 4]], [[5, 6]]], inner_shape=(2,)),
    constant_rank=lambda tf: tf.ragged.constant([[[1, 2], [3, 4]], [[5, 6]]], ragged_rank=1),
    constant_rank_0=lambda tf: tf.ragged.constant([[1, 2], [3, 4]], ragged_rank=0),
    constant_rank_too_high=lambda tf: tf.ragged.constant([[1, 2]], ragged_rank=3),
    constant_rank_negative=lambda tf: tf.ragged.constant([[1, 2]], ragged_rank=-1),
    constant_rank_uneven=lambda tf: tf.ragged.constant([[[1, 2], [3]]], ragged_rank=1),
    constant_depths=lambda tf: tf.ragged.constant([1, [2]]),
    constant_deep_empty=lambda tf: tf.ragged.constant([[1], [[]]]),
    constant_inner_and_rank=lambda tf: tf.ragged.constant([[1, 2]], ragged_rank=1, inner_shape=(2,)),
    constant_of_ragged=lambda tf: tf.ragged.constant(rows(tf)),
    constant_of_array=lambda tf: tf.ragged.constant([np.array([1, 2]), np.array([3])]),
    from_row_splits=lambda tf: tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 2, 3]),
    from_row_splits_32=lambda tf: tf.RaggedTensor.from_row_splits([1, 2], np.array([0, 2], np.int32)),
    from_row_splits_fed=lambda tf: tf.RaggedTensor.from_row_splits(fed(tf, [1, 2]), fed(tf, [0, 2], tf.int64)),
    from_row_splits_begin=lambda tf: tf.RaggedTensor.from_row_splits([1, 2], [1, 2]),
    from_row_splits_end=lambda tf: tf.RaggedTensor.from_row_splits([1, 2], [0, 3]),
    from_row_splits_order=lambda tf: tf.RaggedTensor.from_row_splits([1, 2], [0, 2, 1, 2]),
    from_row_splits_end_fed=lambda tf: tf.RaggedTensor.from_row_splits(fed(tf, [1, 2]), fed(tf, [0, 3], tf.int64)),
    from_row_splits_empty=lambda tf: tf.RaggedTensor.from_row_splits([1, 2], []),
    from_row_splits_floats=lambda tf: tf.RaggedTensor.from_row_splits([1, 2], [0.0, 2.0]),
    from_row_splits_matrix=lambda tf: tf.RaggedTensor.from_row_splits([1, 2], [[0, 2]]),
    from_row_splits_mixed=lambda tf: tf.RaggedTensor.from_row_splits(rows(tf), np.array([0, 4], np.int32)),
    from_row_lengths=lambda tf: tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 0, 1]),
    from_row_lengths_negative=lambda tf: tf.RaggedTensor.from_row_lengths([1, 2, 3], fed(tf, [4, -1], tf.int64)),
    from_row_lengths_short=lambda tf: tf.RaggedTensor.from_row_lengths([1, 2, 3], [2]),
    from_row_starts=lambda tf: tf.RaggedTensor.from_row_starts([1, 2, 3], [0, 2, 2]),
    from_row_limits=lambda tf: tf.RaggedTensor.from_row_limits([1, 2, 3], [0, 2, 3]),
    from_value_rowids=lambda tf: tf.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 2]),
    from_value_rowids_nrows=lambda tf: tf.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 2], nrows=5),
    from_value_rowids_too_few=lambda tf: tf.RaggedTensor.from_value_rowids(
        fed(tf, [1, 2, 3]), fed(tf, [0, 0, 2], tf.int64), nrows=2
    ),
    from_value_rowids_order=lambda tf: tf.RaggedTensor.from_value_rowids([1, 2, 3], [0, 2, 1]),
    from_uniform_row_length=lambda tf: tf.RaggedTensor.from_uniform_row_length([1, 2, 3, 4], 2),
    from_uniform_row_length_0=lambda tf: tf.RaggedTensor.from_uniform_row_length(tf.zeros([0]), 0, nrows=3),
    from_uniform_row_length_odd=lambda tf: tf.RaggedTensor.from_uniform_row_length(fed(tf, [1, 2, 3]), 2),
    from_nested_row_splits=lambda tf: tf.RaggedTensor.from_nested_row_splits([1, 2, 3], [[0, 2], [0, 1, 3]]),
    from_nested_row_lengths=lambda tf: tf.RaggedTensor.from_nested_row_lengths([1, 2, 3], [[2], [1, 2]]),
    from_nested_row_splits_tensor=lambda tf: tf.RaggedTensor.from_nested_row_splits([1], tf.constant([[0, 1]])),
    from_tensor=lambda tf: tf.RaggedTensor.from_tensor([[1, 2], [3, 4]]),
    from_tensor_fed=lambda tf: tf.RaggedTensor.from_tensor(fed(tf, [[1, 2], [3, 4]])),
    from_tensor_rank_2=lambda tf: tf.RaggedTensor.from_tensor(np.arange(12).reshape(2, 3, 2), ragged_rank=2),
    from_tensor_padding=lambda tf: tf.RaggedTensor.from_tensor([[1, 0, 2, 0], [0, 0, 0, 0]], padding=0),
    from_tensor_padding_inner=lambda tf: tf.RaggedTensor.from_tensor(
        [[[1, 0], [0, 0]], [[0, 0], [0, 0]]], padding=[0, 0]
    ),
    from_tensor_lengths=lambda tf: tf.RaggedTensor.from_tensor([[1, 2, 3], [4, 5, 6]], lengths=[5, 1]),
    from_tensor_both=lambda tf: tf.RaggedTensor.from_tensor([[1]], lengths=[1], padding=0),
    from_tensor_vector=lambda tf: tf.RaggedTensor.from_tensor([1, 2]),
    from_tensor_rank_0=lambda tf: tf.RaggedTensor.from_tensor([[1, 2]], ragged_rank=0),
    from_sparse=lambda tf: tf.RaggedTensor.from_sparse(tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 2, 3], [4, 5])),
    from_sparse_gap=lambda tf: tf.RaggedTensor.from_sparse(tf.SparseTensor([[0, 1]], [1], [1, 2])),
    from_sparse_cube=lambda tf: tf.RaggedTensor.from_sparse(tf.SparseTensor([[0, 0, 0]], [1], [1, 1, 1])),
    from_sparse_tensor=lambda tf: tf.RaggedTensor.from_sparse(tf.constant([[1]])),
    constructor=lambda tf: tf.RaggedTensor(tf.constant([1]), tf.constant([0, 1])),
    row_lengths=lambda tf: [rows(tf).row_lengths(), nested(tf).row_lengths(axis=2), nested(tf).row_lengths(axis=-1)],
    row_lengths_0=lambda tf: rows(tf).row_lengths(axis=0),
    row_lengths_none=lambda tf: nested(tf).row_lengths(axis=3),
    row_lengths_inner=lambda tf: tf.ragged.constant([[[1, 2], [3, 4]], [[5, 6]]], ragged_rank=1).row_lengths(axis=2),
    row_starts=lambda tf: [rows(tf).row_starts(), rows(tf).row_limits(), rows(tf).value_rowids()],
    nested_lists=lambda tf: [*nested(tf).nested_row_lengths(), *nested(tf).nested_value_rowids()],
    nrows=lambda tf: [rows(tf).nrows(), rows(tf).nrows(out_type=tf.int32)],
    bounding_shape=lambda tf: [
        nested(tf).bounding_shape(),
        nested(tf).bounding_shape(axis=0),
        nested(tf).bounding_shape(axis=1),
        nested(tf).bounding_shape(axis=[0, 2]),
        nested(tf).bounding_shape(out_type=tf.int32),
        tf.ragged.constant([[], []]).bounding_shape(),
    ],
    to_tensor=lambda tf: [rows(tf).to_tensor(), rows(tf).to_tensor(-1), nested(tf).to_tensor()],
    to_tensor_words=lambda tf: [
        tf.ragged.constant([["a"], ["b", "c"]]).to_tensor(),
        tf.ragged.constant([["a"], ["b", "c"]]).to_tensor(default_value="-"),
    ],
    to_tensor_inner=lambda tf: [
        tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1).to_tensor(),
        tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1).to_tensor([8, 9]),
    ],
    to_tensor_shape=lambda tf: [
        rows(tf).to_tensor(shape=[None, 2]),
        rows(tf).to_tensor(shape=[2, 5]),
        rows(tf).to_tensor(shape=[6, None]),
        nested(tf).to_tensor(shape=[None, 1, 2]),
        nested(tf).to_tensor(shape=[None, None, 2]),
    ],
    to_tensor_shape_tensor=lambda tf: rows(tf).to_tensor(shape=tf.constant([2, 2], tf.int64)),
    to_tensor_default_dtype=lambda tf: rows(tf).to_tensor(1.5),
    to_tensor_empty=lambda tf: tf.ragged.constant([[], []]).to_tensor(),
    with_values=lambda tf: rows(tf).with_values(tf.range(6)),
    with_values_too_few=lambda tf: rows(tf).with_values(tf.range(5)),
    with_flat_values=lambda tf: nested(tf).with_flat_values([6, 5, 4, 3, 2, 1]),
    with_row_splits_dtype=lambda tf: nested(tf).with_row_splits_dtype(tf.int32),
    with_row_splits_dtype_float=lambda tf: nested(tf).with_row_splits_dtype(tf.float32),
    row=lambda tf: [
        rows(tf)[0],
        rows(tf)[-1],
        rows(tf)[tf.constant(1)],
        nested(tf)[0],
        nested(tf)[0, 1],
        nested(tf)[0, 1, 0],
    ],
    row_beyond=lambda tf: rows(tf)[9],
    row_beyond_fed=lambda tf: rows(tf)[fed(tf, 9)],
    some_rows=lambda tf: [rows(tf)[1:3], rows(tf)[:-1], rows(tf)[::2], rows(tf)[::-1], rows(tf)[5:], rows(tf)[:]],
    some_rows_fed=lambda tf: [rows(tf)[fed(tf, 1) :], nested(tf)[: fed(tf, 1)]],
    some_rows_nested=lambda tf: [nested(tf)[1:], nested(tf)[::-1], nested(tf)[0:1, 0:1]],
    some_columns=lambda tf: [rows(tf)[:, 1:], rows(tf)[:, :2], rows(tf)[:, ::-1], rows(tf)[:, -1:], rows(tf)[1:, :1]],
    some_inner_columns=lambda tf: [nested(tf)[:, :, :1], nested(tf)[:, 1:, ::-1], nested(tf)[..., :1], nested(tf)[...]],
    one_column=lambda tf: rows(tf)[:, 0],
    one_uniform_column=lambda tf: tf.RaggedTensor.from_tensor([[1, 2], [3, 4]])[:, 1],
    one_uniform_column_beyond=lambda tf: tf.RaggedTensor.from_tensor([[1, 2], [3, 4]])[:, 2],
    one_inner_position=lambda tf: tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1)[:, :, 0],
    too_many_keys=lambda tf: rows(tf)[..., 0, 0, 0],
    map_flat_values=lambda tf: [
        tf.ragged.map_flat_values(tf.add, nested(tf), 1),
        tf.ragged.map_flat_values(tf.add, x=rows(tf), y=rows(tf)),
        tf.ragged.map_flat_values(tf.stack, [rows(tf), rows(tf)], axis=1),
        tf.ragged.map_flat_values(tf.add, 1, 2),
    ],
    map_flat_values_ranks=lambda tf: tf.ragged.map_flat_values(tf.add, rows(tf), nested(tf)),
    map_flat_values_sum=lambda tf: tf.ragged.map_flat_values(tf.reduce_sum, rows(tf)),
    map_flat_values_no_function=lambda tf: tf.ragged.map_flat_values(5, rows(tf)),
    placeholder_flat=lambda tf: tf.ragged.placeholder(tf.float32, 0, [2]),
    split_words=lambda tf: tf.strings.split(fed(tf, ["a b", "", "c"]), result_type="RaggedTensor"),
    split_words_of_one=lambda tf: tf.strings.split(fed(tf, "a b"), result_type="RaggedTensor"),
    split_words_matrix=lambda tf: tf.strings.split(fed(tf, [["a b"], ["c d e"]]), result_type="RaggedTensor"),
    split_words_ragged=lambda tf: tf.strings.split(words(tf), " ", result_type="RaggedTensor"),
    split_words_old=lambda tf: tf.string_split(fed(tf, ["a b", "", "c"]), result_type="RaggedTensor"),
    split_words_wrong=lambda tf: tf.string_split(["a b"], result_type="Ragged"),
    split_bytes=lambda tf: [tf.strings.bytes_split("abc"), tf.strings.bytes_split(fed(tf, ["ab", "", "\u00e9"]))],
    split_bytes_matrix=lambda tf: tf.strings.bytes_split(fed(tf, [["ab"], ["c"]])),
    split_bytes_ragged=lambda tf: tf.strings.bytes_split(words(tf)),
)


@case(graph=False)
def to_sparse(tf):
    return [rows(tf).to_sparse(), nested(tf).to_sparse(), deep(tf).to_sparse()]


@case(graph=False)
def length(tf, sess):
    return len(rows(tf))


@case(graph=False)
def lists(tf, sess):
    return rows(tf).to_list()
