"""TensorShape and Dimension."""

from compat_cases import table


def shapes(tf):
    shape = tf.TensorShape([None, 3, tf.Dimension(4)])
    return [
        shape,
        shape.ndims,
        shape.rank,
        len(shape),
        shape[0],
        shape[1],
        shape[1:],
        shape[-1],
        shape.as_list(),
        shape.is_fully_defined(),
        shape.num_elements(),
        tf.TensorShape([2, 3]).num_elements(),
        str(shape),
        repr(shape),
        str(tf.TensorShape(None)),
        repr(tf.TensorShape(None)),
        str(tf.TensorShape([])),
        str(tf.TensorShape([5])),
        bool(tf.TensorShape(None)),
        bool(tf.TensorShape([])),
        bool(shape),
        [d.value for d in shape],
        [d.value for d in shape.dims],
        tf.TensorShape(None).dims,
        tf.TensorShape(5),
        tf.TensorShape(shape) == shape,
    ]


def shapes_asserted(tf):
    tf.TensorShape([1, None]).assert_is_compatible_with([1, 5])
    tf.TensorShape([1, 2]).assert_is_fully_defined()
    tf.TensorShape([1, 2]).assert_has_rank(2)
    tf.TensorShape([1, 2]).assert_same_rank([3, 4])
    return [1]


def dimensions(tf):
    make = tf.Dimension
    two, three, unknown = make(2), make(3), make(None)
    return [
        two + 3,
        3 + two,
        two - 1,
        5 - two,
        two * three,
        3 * two,
        make(7) // 2,
        make(7) % 4,
        two + unknown,
        unknown * 3,
        two == 2,
        two == three,
        two != 3,
        unknown == 3,
        unknown == unknown,
        two < three,
        two <= unknown,
        two > 1,
        int(two),
        str(two),
        str(unknown),
        repr(two),
        repr(unknown),
        two.value,
        unknown.value,
        two.is_compatible_with(2),
        two.is_compatible_with(3),
        two.is_compatible_with(None),
        unknown.merge_with(4),
        two.merge_with(None),
        list(range(three)),
        make(two),
    ]


def dimensions_in_arguments(tf):
    x = tf.zeros([2, 3])
    return [
        tf.reshape(x, [x.shape[1], 2]),
        tf.zeros([x.get_shape()[0], x.get_shape()[1].value]),
        tf.zeros(x.shape),
        tf.ones(x.get_shape()[1:]),
        tf.constant(x.shape[0].value * 2),
    ]


table(
    merge_of_shapes_that_do_not_fit=lambda tf: tf.TensorShape([1, 2]).merge_with([1, 3]),
    merge_of_shapes_of_different_rank=lambda tf: tf.TensorShape([1, 2]).merge_with([1]),
    rank_that_does_not_fit=lambda tf: tf.TensorShape([1, 2]).with_rank(3),
    rank_too_low=lambda tf: tf.TensorShape([1]).with_rank_at_least(2),
    rank_too_high=lambda tf: tf.TensorShape([1, 2]).with_rank_at_most(1),
    list_of_an_unknown_shape=lambda tf: tf.TensorShape(None).as_list(),
    length_of_an_unknown_shape=lambda tf: len(tf.TensorShape(None)),
    iteration_over_an_unknown_shape=lambda tf: list(tf.TensorShape(None)),
    shape_of_a_negative_number=lambda tf: tf.TensorShape([-2]),
    shape_of_text=lambda tf: tf.TensorShape("abc"),
    shape_of_a_fraction=lambda tf: tf.TensorShape([1.5]),
    shape_asserted_to_be_defined=lambda tf: tf.TensorShape([1, None]).assert_is_fully_defined(),
    shape_asserted_to_fit=lambda tf: tf.TensorShape([1, 2]).assert_is_compatible_with([2, 2]),
    merge_of_dimensions_that_do_not_fit=lambda tf: tf.Dimension(2).merge_with(3),
    dimension_asserted_to_fit=lambda tf: tf.Dimension(2).assert_is_compatible_with(3),
    division_of_dimensions=lambda tf: tf.Dimension(6) / 2,
    negative_dimension=lambda tf: tf.Dimension(-1),
    dimension_of_a_fraction=lambda tf: tf.Dimension(1.5),
    number_of_an_unknown_dimension=lambda tf: int(tf.Dimension(None)),
    another_size_of_a_tensor=(
        lambda tf: tf.placeholder(tf.int32, [None, 3]).set_shape([4, 5]),
        "Dimension 1 in both shapes must be equal, but are 3 and 5. Shapes are ...3. and .4,5.",
    ),
    another_rank_of_a_tensor=(
        lambda tf: tf.placeholder(tf.int32, [3]).set_shape([4, 5]),
        "Shapes must be equal rank, but are 1 and 2",
    ),
    dimension_value_and_keys=lambda tf, sess: (
        tf.compat.dimension_value(tf.Dimension(3)),
        tf.GraphKeys.RESOURCES,
        tf.GraphKeys.LOCAL_RESOURCES,
    ),
    shapes_compared=lambda tf: [
        tf.TensorShape([1, 2]) == [1, 2],
        tf.TensorShape([1, 2]) == tf.TensorShape([1, 2]),
        tf.TensorShape([1, 2]) == (1, 2),
        tf.TensorShape([1, 2]) != [1, 3],
        tf.TensorShape([None]) == tf.TensorShape([None]),
        tf.TensorShape(None) == tf.TensorShape(None),
        tf.TensorShape([]) == [],
        tf.TensorShape([1]) == "x",
        tf.TensorShape([1, 2]).is_compatible_with([None, 2]),
        tf.TensorShape([1, 2]).is_compatible_with([None]),
        tf.TensorShape([1, 2]).is_compatible_with(None),
    ],
    shapes_put_together=lambda tf: [
        tf.TensorShape([1, None]).merge_with([None, 2]),
        tf.TensorShape(None).merge_with([3]),
        tf.TensorShape([3]).merge_with(None),
        tf.TensorShape([1]).concatenate([2, None]),
        tf.TensorShape([1]).concatenate(None),
        tf.TensorShape([1]).concatenate(2),
        tf.TensorShape([1]) + [2],
        [1] + tf.TensorShape([2]),
        tf.TensorShape(None).with_rank(2),
        tf.TensorShape([1, 2]).with_rank(2),
        tf.TensorShape(None).with_rank_at_least(1),
        tf.TensorShape([1, 2]).with_rank_at_most(2),
        tf.TensorShape(None)[0],
        tf.TensorShape(None)[1:3],
        tf.TensorShape(None)[1:],
        tf.TensorShape([1, 2, 3])[::2],
    ],
)
