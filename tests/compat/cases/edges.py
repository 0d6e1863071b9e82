"""Edge cases in conversion, static shapes and errors, for ops in all families."""

import numpy as np
from compat_cases import table


def _unknown(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


def broadcasting_nothing_with_an_unknown_size(tf):
    nothing = tf.zeros([0, 2])
    shapes = tf.broadcast_static_shape(tf.TensorShape([0, 3]), tf.TensorShape([None, 3]))
    return nothing + _unknown(tf, np.zeros([0, 2], np.float32), [None, 2]), shapes.as_list()


def reshaping_nothing(tf):
    nothing = _unknown(tf, np.zeros([3, 0], np.float32), [None, 0])
    return tf.reshape(nothing, [-1]), tf.reshape(nothing, [2, -1])


def tiling_nothing(tf):
    times = _unknown(tf, [2, 3], [2])
    value = _unknown(tf, np.zeros([3, 0], np.float32), [None, 0])
    return tf.tile(value, times), tf.tile(_unknown(tf, [[1]]), [2, 0]), tf.tile(value, _unknown(tf, [1, 1]))


def nothing_divided_by_zero(tf):
    nothing = _unknown(tf, np.zeros([0], np.int32))
    return tf.div(nothing, 0), tf.mod(nothing, 0)


def joining_strings_of_unknown_rank(tf):
    unknown = _unknown(tf, "a")
    return tf.string_join([unknown, "b"]), tf.string_join([unknown, ["b", "c"]])


def conversions_of_programs(tf, sess):
    class Boxed:
        value = 3

    def convert(value, dtype=None, name=None, as_ref=False):
        return tf.constant(value.value, dtype, name=name)

    tf.register_tensor_conversion_function(Boxed, lambda value, dtype, name, as_ref: NotImplemented, priority=10)
    tf.register_tensor_conversion_function(Boxed, convert, priority=20)
    tensor = tf.add(Boxed(), 1)
    return tensor.name, [each.name for each in sess.graph.get_operations()], sess.run(tensor)


table(
    a_list_of_arrays_is_no_constant=lambda tf: tf.constant([np.array([1.0, 2.0]), np.array([1.0, 3.0])]),
    a_list_of_arrays_is_packed=lambda tf: tf.stack([np.array([1.0, 2.0]), np.array([1.0, 3.0])]),
    arrays_of_other_dtypes_are_not_packed=lambda tf: tf.stack([np.array([1, 2], np.uint8), [3, 4]]),
    lists_of_other_dtypes_are_not_concatenated=lambda tf: tf.concat([[1.5], [1, 2]], 0),
    arrays_of_other_dtypes_are_not_concatenated=lambda tf: tf.concat([[1], np.array([1])], 0),
    lists_follow_a_tensor=lambda tf: tf.concat([[1], tf.constant([1], tf.int64)], 0),
    a_range_is_no_constant=lambda tf: tf.constant(range(3)),
    keys_of_a_dict_are_no_constant=lambda tf: tf.convert_to_tensor({"a": 1}.keys()),
    a_tensor_is_no_constant=lambda tf: tf.constant(tf.constant(1)),
    a_constant_without_elements=lambda tf: (tf.constant([1, 2], shape=[0]), tf.constant(-0.5, tf.uint8, shape=[2, 0])),
    an_array_without_elements_may_be_strings=lambda tf: (
        tf.constant(np.zeros([0]), tf.string),
        tf.strings.length(np.zeros([2, 0], np.uint8)),
    ),
    softmax_of_a_scalar=lambda tf: tf.nn.softmax(_unknown(tf, 1.0)),
    masks_of_lengths_of_unknown_rank=lambda tf: (tf.sequence_mask(_unknown(tf, [1, 0])), tf.sequence_mask(0)),
    moments_of_arrays=lambda tf: (
        tf.nn.moments(np.ones([2, 2], np.float32), [0]),
        tf.nn.moments(np.ones([2], np.float16), [0]),
    ),
    moments_of_a_list=lambda tf: tf.nn.moments([1.0, 2.0], [0]),
    unique_of_a_matrix=lambda tf: tf.unique([[1]]),
    division_by_zero_of_unknown_shape=(
        lambda tf: tf.floordiv([1, 2], _unknown(tf, [0, 1])),
        "Integer division by zero",
    ),
    negative_power_of_unknown_shape=(lambda tf: tf.pow([1, 2], _unknown(tf, [-1, 1])), "negative integer powers"),
    complex_numbers_as_bool=lambda tf: (
        tf.cast(tf.constant([1j, 1 + 0j, 0j]), tf.bool),
        tf.cast(_unknown(tf, [1j, 1 + 1j]), tf.bool),
    ),
    places_of_strings=lambda tf: tf.where(_unknown(tf, ["a"])),
    a_vector_of_conditions_says_nothing_of_the_size=lambda tf: tf.where(
        [True, False], _unknown(tf, [1, 2], [None]), _unknown(tf, [3, 4], [None])
    ),
    splitting_into_one=lambda tf: tf.split(_unknown(tf, [[5], [3]], [None, None]), [1], 1),
    a_condition_that_is_an_array=lambda tf: tf.cond(np.array(True), lambda: tf.constant(1), lambda: tf.constant(2)),
    an_element_of_a_scalar=(lambda tf: tf.constant(1)[0], "Attempting to slice scalar input"),
    names_of_arguments=lambda tf: tf.nn.top_k([1, 3, 2], 2, True, tf.int32, "best"),
    conversions_are_functions=lambda tf: tf.register_tensor_conversion_function(3, lambda value: value),
)
