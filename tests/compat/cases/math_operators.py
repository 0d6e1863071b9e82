"""Python's operators on tensors, and arithmetic of two."""

import numpy as np
from compat_cases import case


def _unknown(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


@case()
def add_takes_a_number(tf):
    return tf.constant(1) + 2, 2 + tf.constant(1)


@case()
def add_takes_an_array_on_the_left(tf):
    return np.array([1, 2], np.int32) + tf.constant(1)


@case()
def arithmetic_operators_of_integers(tf):
    x = tf.constant([7, -7, 6])
    return [x + 2, x - 2, x * 2, x / 2, x // 2, x % 3, x**2, -x, abs(x)]


@case()
def reflected_operators_of_integers(tf):
    x = tf.constant([7, -7, 6])
    return [2 + x, 2 - x, 2 * x, 2 / x, 2 // x, 2 % x, 2 ** tf.abs(x)]


@case()
def arithmetic_operators_of_floats(tf):
    x = tf.constant([7.5, -7.5, 0.0])
    return [x + 2, x - 2, x * 2, x / 2, x // 2, x % 3, x**2, -x, abs(x)]


@case()
def comparison_operators(tf):
    x = tf.constant([1, 2, 3])
    return [x < 2, x <= 2, x > 2, x >= 2, x > 2]


@case()
def equality_operators_compare_identity(tf, sess):
    x = tf.constant(1)
    y = tf.constant(1)
    return [x == x, x == y, x != y, x != x, x == 1, x is None]


@case()
def logical_operators_of_bool(tf):
    x, y = tf.constant([True, False]), tf.constant([True, True])
    return [x & y, x | y, x ^ y, ~x, x & True, True | x]


@case()
def logical_operators_of_integers_are_bitwise(tf):
    x = tf.constant([6, -6])
    return [x & 3, x | 3, x ^ 3, ~x, 3 & x]


@case()
def multiplication_of_bool_casts(tf):
    return tf.constant([True, False]) * tf.constant([True, True])


@case()
def matmul_operator(tf):
    return tf.constant([[1.0, 2.0]]) @ [[1.0], [2.0]]


@case()
def strings_are_concatenated(tf):
    return tf.constant(["a", "b\0"]) + "c", "x" + tf.constant("y"), tf.add("p", "q")


@case()
def operators_name_their_ops(tf):
    with tf.name_scope("outer"):
        x = tf.constant(1.0, name="x")
        y = x + 1
        return y * 2 + y


@case(message="Input 'y' of 'AddV2' Op has type int32 that does not match type float32 of argument 'x'.")
def add_of_different_dtypes(tf):
    return tf.constant(1.0) + tf.constant(1)


@case(message="has type int32 that does not match type float32 of argument 'x'")
def subtract_of_different_dtypes(tf):
    return tf.constant(1.0) - tf.constant(1)


@case()
def integer_times_float_fails(tf):
    return tf.constant(1) * 1.5


@case()
def float_minus_integer_reflected_fails(tf):
    return 1.5 - tf.constant(1)


@case()
def add_of_a_string_fails(tf):
    return tf.constant(1.0) + "a"


@case(message="Dimensions must be equal, but are 2 and 3")
def static_shapes_that_do_not_broadcast(tf):
    return tf.constant([1, 2]) + tf.constant([1, 2, 3])


@case()
def shapes_that_do_not_broadcast_when_run(tf):
    return _unknown(tf, [1, 2], [None]) + _unknown(tf, [1, 2, 3], [None])


@case()
def broadcast_static_shapes(tf):
    a = _unknown(tf, np.ones([2, 3], np.float32), [None, 3])
    b = _unknown(tf, np.ones([2, 1], np.float32), [None, 1])
    c = _unknown(tf, np.ones([3], np.float32))
    return [a + b, a + c, a * 2.0, b * tf.ones([4, 1, 1])]


@case()
def division_by_zero_of_integers(tf):
    return _unknown(tf, [1, 2]) // 0


@case()
def remainder_by_zero_of_integers(tf):
    return _unknown(tf, [1, 2]) % tf.constant(0)


@case()
def division_by_zero_of_floats(tf):
    x = tf.constant([1.0, -1.0, 0.0])
    return [x / 0.0, x // 0.0, x % 0.0, tf.div_no_nan(x, 0.0)]


@case()
def integers_wrap(tf):
    x = tf.constant([2**31 - 1, -(2**31)])
    return [x + 1, x - 1, x * 2, -x, tf.constant([200, 100], tf.uint8) + 100]


@case()
def divisions(tf):
    x, y = tf.constant([7, -7, 7, -7]), tf.constant([2, 2, -2, -2])
    return [
        tf.div(x, y),
        tf.divide(x, y),
        tf.truediv(x, y),
        tf.floordiv(x, y),
        tf.floor_div(x, y),
        tf.mod(x, y),
        tf.floormod(x, y),
    ]


@case()
def divisions_of_floats(tf):
    x, y = tf.constant([7.5, -7.5, 7.5, -7.5]), tf.constant([2.0, 2.0, -2.0, -2.0])
    return [
        tf.div(x, y),
        tf.divide(x, y, name="d"),
        tf.realdiv(x, y),
        tf.floordiv(x, y),
        tf.mod(x, y),
    ]


@case()
def true_division_dtypes(tf):
    return [tf.constant(3, dtype) / 2 for dtype in (tf.int8, tf.uint8, tf.int16, tf.int32, tf.int64, tf.float64)]


@case()
def divide_of_python_numbers(tf):
    return [tf.divide(3, tf.constant(2.0)), tf.truediv(3, 2), tf.div(7, 2)]


@case()
def true_division_of_strings_fails(tf):
    return tf.constant("a") / "b"


@case()
def power_of_integers(tf):
    return [tf.pow(2, [1, 2, 3]), tf.pow([2.0, 0.0, -8.0], 0.5), tf.constant(3, tf.int64) ** 40]


@case()
def negative_power_of_an_integer(tf):
    return tf.pow(tf.constant([2, 3]), -2)


@case()
def extremes_of_two(tf):
    x, y = [1.0, np.nan, 3.0], [np.nan, 1.0, 2.0]
    return [tf.maximum(x, y), tf.minimum(x, y), tf.maximum([1, 5], 3), tf.minimum(tf.constant([1, 5], tf.int64), 3)]


@case()
def other_functions_of_two(tf):
    x, y = tf.constant([0.0, 1.0, -2.0]), tf.constant([0.0, 2.0, 3.0])
    return [
        tf.squared_difference(x, y),
        tf.atan2(y, x),
        tf.div_no_nan(x, [2.0, 0.0, 4.0]),
        tf.squared_difference([1, 2], 5),
    ]


@case()
def multiply_of_python_values(tf):
    return tf.multiply(2.5, 3), tf.subtract([1, 2], [3, 4], name="s")


@case()
def multiply_of_int_and_float_fails(tf):
    return tf.multiply(2, 3.5)


@case(message="not in list of allowed values")
def multiply_of_strings_fails(tf):
    return tf.multiply("a", "b")


@case()
def a_variable_in_arithmetic(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    return [v + 1.0, 2.0 * v, v / v, -v, v * tf.constant(3.0), v > 1.0]


@case(message=r"Incompatible shapes: \[2\] vs\. \[3\]")
def the_error_shows_the_shapes(tf):
    return tf.maximum(_unknown(tf, [1, 2]), [3, 4, 5])


@case(message=r"Matrix size-incompatible: In\[0\]: \[1,2\], In\[1\]: \[1,2\]")
def the_error_of_a_product_shows_the_shapes(tf):
    x = _unknown(tf, [[1.0, 2.0]], [None, None])
    return tf.matmul(x, x)


@case()
def numpy_scalars_in_arithmetic(tf):
    x = tf.constant([1.0, 2.0])
    return [np.float32(2) * x, x * np.float64(2), x + np.int64(1), np.array([1, 2]) + x, x / np.array([2.0, 4.0])]


@case()
def operators_of_unsigned_integers(tf):
    x = tf.constant([1, 250], tf.uint8)
    return [x + 10, x - 5, x * 2, x // 3, x % 3, x > 9, x & 3]


@case()
def negative_of_unsigned_integers_fails(tf):
    return -tf.constant([1], tf.uint8)


@case()
def operators_of_bool_fail(tf):
    return tf.constant(True) + tf.constant(True)


@case()
def none_is_no_operand(tf):
    return tf.constant(1) + None


@case()
def control_dependencies_of_operators(tf):
    x = tf.constant(1)
    with tf.control_dependencies([tf.assert_equal(x, 1)]):
        return x + 1


@case()
def lists_with_tensors_as_operands(tf):
    x = tf.constant(1)
    return tf.constant([1, 2]) + [x, 3], [x, 3] * tf.constant([1, 2])
