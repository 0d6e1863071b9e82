"""Edges of conversion, static shapes and errors, in ops of all families."""

import numpy as np
from compat_cases import case


def _unknown(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


@case()
def a_list_of_arrays_is_no_constant(tf):
    return tf.constant([np.array([1.0, 2.0]), np.array([1.0, 3.0])])


@case()
def a_list_of_arrays_is_packed(tf):
    return tf.stack([np.array([1.0, 2.0]), np.array([1.0, 3.0])])


@case()
def arrays_of_other_dtypes_are_not_packed(tf):
    return tf.stack([np.array([1, 2], np.uint8), [3, 4]])


@case()
def lists_of_other_dtypes_are_not_concatenated(tf):
    return tf.concat([[1.5], [1, 2]], 0)


@case()
def arrays_of_other_dtypes_are_not_concatenated(tf):
    return tf.concat([[1], np.array([1])], 0)


@case()
def lists_follow_a_tensor(tf):
    return tf.concat([[1], tf.constant([1], tf.int64)], 0)


@case()
def a_range_is_no_constant(tf):
    return tf.constant(range(3))


@case()
def keys_of_a_dict_are_no_constant(tf):
    return tf.convert_to_tensor({"a": 1}.keys())


@case()
def a_tensor_is_no_constant(tf):
    return tf.constant(tf.constant(1))


@case()
def a_constant_without_elements(tf):
    return tf.constant([1, 2], shape=[0]), tf.constant(-0.5, tf.uint8, shape=[2, 0])


@case()
def an_array_without_elements_may_be_strings(tf):
    return tf.constant(np.zeros([0]), tf.string), tf.strings.length(np.zeros([2, 0], np.uint8))


@case()
def broadcasting_nothing_with_an_unknown_size(tf):
    nothing = tf.zeros([0, 2])
    shapes = tf.broadcast_static_shape(tf.TensorShape([0, 3]), tf.TensorShape([None, 3]))
    return nothing + _unknown(tf, np.zeros([0, 2], np.float32), [None, 2]), shapes.as_list()


@case()
def reshaping_nothing(tf):
    nothing = _unknown(tf, np.zeros([3, 0], np.float32), [None, 0])
    return tf.reshape(nothing, [-1]), tf.reshape(nothing, [2, -1])


@case()
def tiling_nothing(tf):
    times = _unknown(tf, [2, 3], [2])
    value = _unknown(tf, np.zeros([3, 0], np.float32), [None, 0])
    return tf.tile(value, times), tf.tile(_unknown(tf, [[1]]), [2, 0]), tf.tile(value, _unknown(tf, [1, 1]))


@case()
def softmax_of_a_scalar(tf):
    return tf.nn.softmax(_unknown(tf, 1.0))


@case()
def masks_of_lengths_of_unknown_rank(tf):
    return tf.sequence_mask(_unknown(tf, [1, 0])), tf.sequence_mask(0)


@case()
def moments_of_arrays(tf):
    return tf.nn.moments(np.ones([2, 2], np.float32), [0]), tf.nn.moments(np.ones([2], np.float16), [0])


@case()
def moments_of_a_list(tf):
    return tf.nn.moments([1.0, 2.0], [0])


@case()
def unique_with_counts_of_a_matrix(tf):
    return tf.unique_with_counts(_unknown(tf, [[1]], [1, 1]))


@case()
def unique_of_a_matrix(tf):
    return tf.unique([[1]])


@case(message="Integer division by zero")
def division_by_zero_of_unknown_shape(tf):
    return tf.floordiv([1, 2], _unknown(tf, [0, 1]))


@case(message="negative integer powers")
def negative_power_of_unknown_shape(tf):
    return tf.pow([1, 2], _unknown(tf, [-1, 1]))


@case()
def nothing_divided_by_zero(tf):
    nothing = _unknown(tf, np.zeros([0], np.int32))
    return tf.div(nothing, 0), tf.mod(nothing, 0)


@case()
def complex_numbers_as_bool(tf):
    return tf.cast(tf.constant([1j, 1 + 0j, 0j]), tf.bool), tf.cast(_unknown(tf, [1j, 1 + 1j]), tf.bool)


@case()
def places_of_strings(tf):
    return tf.where(_unknown(tf, ["a"]))


@case()
def a_vector_of_conditions_says_nothing_of_the_size(tf):
    return tf.where([True, False], _unknown(tf, [1, 2], [None]), _unknown(tf, [3, 4], [None]))


@case()
def joining_strings_of_unknown_rank(tf):
    unknown = _unknown(tf, "a")
    return tf.string_join([unknown, "b"]), tf.string_join([unknown, ["b", "c"]])


@case()
def splitting_into_one(tf):
    return tf.split(_unknown(tf, [[5], [3]], [None, None]), [1], 1)


@case()
def a_condition_that_is_an_array(tf):
    return tf.cond(np.array(True), lambda: tf.constant(1), lambda: tf.constant(2))


@case(message="Attempting to slice scalar input")
def an_element_of_a_scalar(tf):
    return tf.constant(1)[0]


@case()
def names_of_arguments(tf):
    return tf.atan2(y=1.0, x=2.0), tf.nn.top_k([1, 3, 2], 2, True, tf.int32, "best")


@case()
def conversions_of_programs(tf, sess):
    class Boxed:
        value = 3

    def convert(value, dtype=None, name=None, as_ref=False):
        return tf.constant(value.value, dtype, name=name)

    tf.register_tensor_conversion_function(Boxed, lambda value, dtype, name, as_ref: NotImplemented, priority=10)
    tf.register_tensor_conversion_function(Boxed, convert, priority=20)
    tensor = tf.add(Boxed(), 1)
    return tensor.name, [each.name for each in sess.graph.get_operations()], sess.run(tensor)


@case()
def conversions_are_functions(tf):
    return tf.register_tensor_conversion_function(3, lambda value: value)
