"""Python's operators on tensors, and arithmetic with two."""

import numpy as np
from compat_cases import case, table


def _unknown(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


def arithmetic_operators_of_integers(tf):
    x = tf.constant([7, -7, 6])
    return [x + 2, x - 2, x * 2, x / 2, x // 2, x % 3, x**2, -x, abs(x)]


def reflected_operators_of_integers(tf):
    x = tf.constant([7, -7, 6])
    return [2 + x, 2 - x, 2 * x, 2 / x, 2 // x, 2 % x, 2 ** tf.abs(x)]


def arithmetic_operators_of_floats(tf):
    x = tf.constant([7.5, -7.5, 0.0])
    return [x + 2, x - 2, x * 2, x / 2, x // 2, x % 3, x**2, -x, abs(x)]


def comparison_operators(tf):
    x = tf.constant([1, 2, 3])
    return [x < 2, x <= 2, x > 2, x >= 2, x > 2]


def equality_operators_compare_identity(tf, sess):
    x = tf.constant(1)
    y = tf.constant(1)
    return [x == x, x == y, x != y, x != x, x == 1, x is None]


def logical_operators_of_bool(tf):
    x, y = tf.constant([True, False]), tf.constant([True, True])
    return [x & y, x | y, x ^ y, ~x, x & True, True | x]


def logical_operators_of_integers_are_bitwise(tf):
    x = tf.constant([6, -6])
    return [x & 3, x | 3, x ^ 3, ~x, 3 & x]


def operators_name_their_ops(tf):
    with tf.name_scope("outer"):
        x = tf.constant(1.0, name="x")
        y = x + 1
        return y * 2 + y


def broadcast_static_shapes(tf):
    a = _unknown(tf, np.ones([2, 3], np.float32), [None, 3])
    b = _unknown(tf, np.ones([2, 1], np.float32), [None, 1])
    c = _unknown(tf, np.ones([3], np.float32))
    return [a + b, a + c, a * 2.0, b * tf.ones([4, 1, 1])]


def division_by_zero_of_floats(tf):
    x = tf.constant([1.0, -1.0, 0.0])
    return [x / 0.0, x // 0.0, x % 0.0, tf.div_no_nan(x, 0.0)]


def integers_wrap(tf):
    x = tf.constant([2**31 - 1, -(2**31)])
    return [x + 1, x - 1, x * 2, -x, tf.constant([200, 100], tf.uint8) + 100]


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


def divisions_of_floats(tf):
    x, y = tf.constant([7.5, -7.5, 7.5, -7.5]), tf.constant([2.0, 2.0, -2.0, -2.0])
    return [
        tf.div(x, y),
        tf.divide(x, y, name="d"),
        tf.realdiv(x, y),
        tf.floordiv(x, y),
        tf.mod(x, y),
    ]


def extremes_of_two(tf):
    x, y = [1.0, np.nan, 3.0], [np.nan, 1.0, 2.0]
    return [tf.maximum(x, y), tf.minimum(x, y), tf.maximum([1, 5], 3), tf.minimum(tf.constant([1, 5], tf.int64), 3)]


def other_functions_of_two(tf):
    x, y = tf.constant([0.0, 1.0, -2.0]), tf.constant([0.0, 2.0, 3.0])
    return [
        tf.squared_difference(x, y),
        tf.div_no_nan(x, [2.0, 0.0, 4.0]),
        tf.squared_difference([1, 2], 5),
    ]


def a_variable_in_arithmetic(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    return [v + 1.0, 2.0 * v, v / v, -v, v * tf.constant(3.0), v > 1.0]


@case(message=r"Matrix size-incompatible: In\[0\]: \[1,2\], In\[1\]: \[1,2\]")
def the_error_of_a_product_shows_the_shapes(tf):
    x = _unknown(tf, [[1.0, 2.0]], [None, None])
    return tf.matmul(x, x)


def numpy_scalars_in_arithmetic(tf):
    x = tf.constant([1.0, 2.0])
    return [np.float32(2) * x, x * np.float64(2), x + np.int64(1), np.array([1, 2]) + x, x / np.array([2.0, 4.0])]


def operators_of_unsigned_integers(tf):
    x = tf.constant([1, 250], tf.uint8)
    return [x + 10, x - 5, x * 2, x // 3, x % 3, x > 9, x & 3]


def control_dependencies_of_operators(tf):
    x = tf.constant(1)
    with tf.control_dependencies([tf.assert_equal(x, 1)]):
        return x + 1


def lists_with_tensors_as_operands(tf):
    x = tf.constant(1)
    return tf.constant([1, 2]) + [x, 3], [x, 3] * tf.constant([1, 2])


table(
    add_takes_a_number=lambda tf: (tf.constant(1) + 2, 2 + tf.constant(1)),
    add_takes_an_array_on_the_left=lambda tf: np.array([1, 2], np.int32) + tf.constant(1),
    multiplication_of_bool_casts=lambda tf: tf.constant([True, False]) * tf.constant([True, True]),
    matmul_operator=lambda tf: tf.constant([[1.0, 2.0]]) @ [[1.0], [2.0]],
    strings_are_concatenated=lambda tf: (tf.constant(["a", "b\0"]) + "c", "x" + tf.constant("y"), tf.add("p", "q")),
    add_of_different_dtypes=(
        lambda tf: tf.constant(1.0) + tf.constant(1),
        "Input 'y' of 'AddV2' Op has type int32 that does not match type float32 of argument 'x'.",
    ),
    subtract_of_different_dtypes=(
        lambda tf: tf.constant(1.0) - tf.constant(1),
        "has type int32 that does not match type float32 of argument 'x'",
    ),
    integer_times_float_fails=lambda tf: tf.constant(1) * 1.5,
    float_minus_integer_reflected_fails=lambda tf: 1.5 - tf.constant(1),
    add_of_a_string_fails=lambda tf: tf.constant(1.0) + "a",
    static_shapes_that_do_not_broadcast=(
        lambda tf: tf.constant([1, 2]) + tf.constant([1, 2, 3]),
        "Dimensions must be equal, but are 2 and 3",
    ),
    shapes_that_do_not_broadcast_when_run=lambda tf: _unknown(tf, [1, 2], [None]) + _unknown(tf, [1, 2, 3], [None]),
    division_by_zero_of_integers=lambda tf: _unknown(tf, [1, 2]) // 0,
    remainder_by_zero_of_integers=lambda tf: _unknown(tf, [1, 2]) % tf.constant(0),
    true_division_dtypes=lambda tf: [
        tf.constant(3, dtype) / 2 for dtype in (tf.int8, tf.uint8, tf.int16, tf.int32, tf.int64, tf.float64)
    ],
    divide_of_python_numbers=lambda tf: [tf.divide(3, tf.constant(2.0)), tf.truediv(3, 2), tf.div(7, 2)],
    true_division_of_strings_fails=lambda tf: tf.constant("a") / "b",
    power_of_integers=lambda tf: [tf.pow(2, [1, 2, 3]), tf.pow([2.0, 0.0, -8.0], 0.5), tf.constant(3, tf.int64) ** 40],
    negative_power_of_an_integer=lambda tf: tf.pow(tf.constant([2, 3]), -2),
    multiply_of_python_values=lambda tf: (tf.multiply(2.5, 3), tf.subtract([1, 2], [3, 4], name="s")),
    multiply_of_int_and_float_fails=lambda tf: tf.multiply(2, 3.5),
    multiply_of_strings_fails=(lambda tf: tf.multiply("a", "b"), "not in list of allowed values"),
    the_error_shows_the_shapes=(
        lambda tf: tf.maximum(_unknown(tf, [1, 2]), [3, 4, 5]),
        r"Incompatible shapes: \[2\] vs\. \[3\]",
    ),
    negative_of_unsigned_integers_fails=lambda tf: -tf.constant([1], tf.uint8),
    operators_of_bool_fail=lambda tf: tf.constant(True) + tf.constant(True),
    none_is_no_operand=lambda tf: tf.constant(1) + None,
)
