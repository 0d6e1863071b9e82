"""Elementwise functions, comparisons, logic, bits, casts and complex numbers."""

import numpy as np
from compat_cases import table

_X = [-2.5, -1.5, -0.5, 0.0, 0.5, 1.0, 1.5, 2.5]


def roundings(tf):
    x = tf.constant(_X)
    return [tf.round(x), tf.rint(x), tf.floor(x), tf.ceil(x), tf.round(tf.constant([1, 2]))]


def powers_and_logarithms(tf):
    x = tf.constant([0.0, 0.25, 1.0, 4.0, -1.0])
    return [f(x) for f in (tf.square, tf.sqrt, tf.rsqrt, tf.exp, tf.expm1, tf.log, tf.log1p, tf.reciprocal)]


def trigonometry(tf):
    x = tf.constant([-0.9, -0.1, 0.0, 0.5, 0.9])
    functions = (tf.sin, tf.cos, tf.tan, tf.asin, tf.acos, tf.atan, tf.sinh, tf.cosh, tf.tanh, tf.asinh, tf.atanh)
    return [f(x) for f in functions] + [tf.acosh(x + 1.5)]


def sigmoids(tf):
    x = tf.constant([-100.0, -1.0, 0.0, 1.0, 100.0])
    return [tf.sigmoid(x), tf.nn.sigmoid(x), tf.nn.tanh(x)]


def unknown_shapes_stay_unknown(tf):
    x = tf.placeholder_with_default(np.ones([2, 3], np.float32), None)
    return [tf.exp(x), tf.round(x), -x, tf.is_nan(x)]


def kinds_of_floats(tf):
    x = tf.constant([1.0, np.nan, np.inf, -np.inf])
    return [tf.is_nan(x), tf.is_inf(x), tf.is_finite(x), tf.debugging.is_finite(x), tf.math.is_nan(x)]


def comparisons(tf):
    x, y = [1.0, 2.0, np.nan], [1.0, 3.0, np.nan]
    functions = (tf.equal, tf.not_equal, tf.less, tf.less_equal, tf.greater, tf.greater_equal)
    return [f(x, y) for f in functions]


def logic(tf):
    x, y = [True, True, False, False], [True, False, True, False]
    return [tf.logical_and(x, y), tf.logical_or(x, y), tf.logical_xor(x, y), tf.logical_not(x)]


def bits(tf):
    x, y = tf.constant([6, -6, 255]), tf.constant([3, 1, 33])
    return [
        tf.bitwise.bitwise_and(x, y),
        tf.bitwise.bitwise_or(x, y),
        tf.bitwise.bitwise_xor(x, y),
        tf.bitwise.left_shift(x, [1, 2, 3]),
        tf.bitwise.right_shift(x, [1, 1, 3]),
        tf.bitwise.invert(x),
        tf.bitwise.invert(tf.constant([1], tf.uint8)),
    ]


def cast_floats_to_integers(tf):
    x = tf.constant([1.7, -1.7, 255.9, 300.0, -300.0, 70000.0])
    return [tf.cast(x, d) for d in (tf.int32, tf.int64, tf.int16, tf.bool, tf.float64, tf.float16)]


def cast_to_small_integers(tf):
    x = tf.constant([1.7, 100.9, 0.0])
    return [tf.cast(x, d) for d in (tf.uint8, tf.int8, tf.uint16, tf.uint32, tf.uint64)]


def cast_out_of_range(tf):
    x = tf.constant([np.nan, 1e20, -1e20])
    return [tf.cast(x, tf.int32), tf.cast(x, tf.int64), tf.cast([300, -1], tf.uint8), tf.cast([2**40 + 1], tf.int32)]


def cast_to_the_same_dtype_is_the_tensor(tf, sess):
    x = tf.constant(1)
    return [tf.cast(x, tf.int32) is x, tf.to_int32(x) is x, tf.cast(x, "float32").dtype.name]


def casts_with_names(tf):
    x = tf.constant([1.5, 2.5])
    return [tf.to_double(x), tf.to_int32(x), tf.to_int64(x), tf.to_float(tf.to_int32(x))]


def complex_arithmetic(tf):
    z = tf.constant([1 + 2j, 0j], tf.complex64)
    return [z * z, z + 1, z / (1 + 1j), tf.square(z), tf.squared_difference(z, 1j)]


table(
    signs=lambda tf: [
        tf.sign([-2.0, 0.0, -0.0, 3.0]),
        tf.sign([-2, 0, 3]),
        tf.abs([-2, 3]),
        tf.negative([1.0]),
        tf.abs([-1.5]),
    ],
    half_and_double=lambda tf: [
        f(tf.constant([0.5, 2.0], d)) for d in (tf.float16, tf.float64) for f in (tf.exp, tf.sqrt, tf.sigmoid)
    ],
    sqrt_of_integers_fails=(
        lambda tf: tf.sqrt(4),
        "not in list of allowed values: bfloat16, float16, float32, float64, complex64, complex128",
    ),
    sqrt_of_a_list_names_its_constant=lambda tf: (tf.sqrt([1.0, 4.0]), tf.square(3), tf.exp(1.0, name="e")),
    comparisons_of_strings=lambda tf: [
        tf.equal(["a", "b\0"], ["a", "b"]),
        tf.not_equal("a", ["a", "b"]),
        tf.equal("a", "a"),
        tf.equal(True, False),
    ],
    comparisons_broadcast=lambda tf: (tf.less([[1], [2]], [1, 2, 3]), tf.equal(tf.constant([1, 2], tf.int64), 2)),
    less_of_strings_fails=lambda tf: tf.less("a", "b"),
    less_of_different_dtypes_fails=lambda tf: tf.less(tf.constant(1), tf.constant(1.0)),
    equal_of_shapes_that_do_not_broadcast=lambda tf: tf.equal([1, 2], [1, 2, 3]),
    logic_of_integers_fails=(
        lambda tf: tf.logical_and(tf.constant(1), tf.constant(0)),
        "expected type of bool|Expected bool",
    ),
    logic_of_python_integers_fails=lambda tf: tf.logical_or([1], [0]),
    bits_of_floats_fail=lambda tf: tf.bitwise.bitwise_and(1.0, 2.0),
    cast_bool_and_python_values=lambda tf: [
        tf.cast([True, False], tf.float32),
        tf.cast(3.7, tf.int64),
        tf.cast(3, tf.int32),
        tf.cast(True, tf.int32),
    ],
    cast_complex=lambda tf: (tf.cast([1.5], tf.complex64), tf.cast(tf.constant([1 + 2j]), tf.complex64)),
    cast_of_strings_fails=lambda tf: tf.cast(["1"], tf.int32),
    cast_a_sparse_tensor=lambda tf: tf.cast(tf.SparseTensor([[0, 1]], [1.5], [2, 3]), tf.int32),
    saturating_casts=lambda tf: [
        tf.saturate_cast([1.7, -1.7, 1e20, 300.0], tf.uint8),
        tf.saturate_cast([1e20, -1e20], tf.int32),
        tf.saturate_cast([300, -300], tf.int8),
        tf.saturate_cast(tf.constant([-1, 5], tf.int64), tf.int32),
        tf.saturate_cast([1e300], tf.float32),
    ],
    clip_values=lambda tf: [
        tf.clip_by_value([1, 5, 9], 2, 6),
        tf.clip_by_value([1.0, 5.0, 9.0], 2, 6),
        tf.clip_by_value(tf.constant([[1.0, 5.0], [9.0, 2.0]]), [2.0, 3.0], 6.0),
    ],
    clip_values_with_bounds_that_do_not_fit=lambda tf: tf.clip_by_value([1.0, 5.0, 9.0], [2, 3], 6),
    clip_values_with_a_float_bound_of_integers_fails=lambda tf: tf.clip_by_value(tf.constant([1, 5]), 0.5, 2),
)
