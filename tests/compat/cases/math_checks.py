"""Assert, assert_*, checks of numbers, printing."""

import numpy as np
from compat_cases import case


def _unknown(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


@case()
def assert_that_holds(tf):
    return tf.Assert(tf.constant(True), ["a", tf.constant([1, 2])])


@case(message=r"assertion failed: \[1 2 3\.\.\.\] \[hi\]")
def assert_that_fails(tf):
    return tf.Assert(tf.constant(False), [tf.constant([1, 2, 3, 4]), "hi"])


@case(message=r"assertion failed: \[a\] \[1 2\.\.\.\]")
def assert_with_summarize(tf):
    return tf.Assert(False, ["a", tf.constant([1, 2, 3])], summarize=2, name="check")


@case(message=r"assertion failed: \[\[1 2\]\[3 4\]\] \[7\]")
def assert_shows_matrices(tf):
    return tf.Assert(False, [tf.constant([[1, 2], [3, 4]]), 7], summarize=-1)


@case(message=r"assertion failed: \[\[1 2 3\]\.\.\.\]")
def assert_shows_the_first_of_a_matrix(tf):
    return tf.Assert(False, [tf.constant([[1, 2, 3], [3, 4, 5]])])


@case()
def assert_of_floats_that_holds(tf):
    return tf.Assert(_unknown(tf, True, []), [tf.constant([1.5, 2.0])])


@case(message=r"assertion failed: \[1\.5 2 1e-07\.\.\.\]|assertion failed: \[1\.5 2 1e-0*7\.\.\.\]")
def assert_of_floats_that_fails(tf):
    return tf.Assert(_unknown(tf, False, []), [tf.constant([1.5, 2.0, 1e-7, 4.0])])


@case()
def assert_without_a_list(tf):
    return tf.Assert(False, "a")


@case()
def assert_of_a_vector(tf):
    return tf.Assert([True], ["a"])


@case()
def assert_of_an_integer(tf):
    return tf.Assert(tf.constant(1), ["a"])


@case()
def comparisons_that_hold(tf):
    x = tf.constant([1, 2])
    with tf.control_dependencies(
        [
            tf.assert_equal(x, [1, 2]),
            tf.assert_less(x, 3),
            tf.assert_less_equal(x, [1, 2]),
            tf.assert_greater(x, 0),
            tf.assert_greater_equal(x, [1, 2]),
            tf.assert_none_equal(x, 7),
        ]
    ):
        return tf.identity(x)


@case()
def signs_that_hold(tf):
    x = tf.constant([1, 2])
    with tf.control_dependencies(
        [tf.assert_positive(x), tf.assert_non_negative(x), tf.assert_negative(-x), tf.assert_non_positive(-x)]
    ):
        return tf.identity(x)


@case()
def assert_equal_of_the_same(tf):
    x = tf.constant(1)
    return tf.assert_equal(x, x)


@case(message="(?s)mm.*Condition x == y did not hold")
def static_values_that_differ(tf):
    return tf.assert_equal(tf.constant([1, 2]), [1, 3], message="mm")


@case(
    message="(?s)assertion failed: .mm. .Condition x == y did not hold element-wise:. .x .PlaceholderWithDefault:0. = "
)
def values_that_differ_when_run(tf):
    return tf.assert_equal(_unknown(tf, [1, 2]), [1, 3], message="mm")


@case(message="Condition x > 0 did not hold element-wise")
def static_values_that_are_not_positive(tf):
    return tf.assert_positive([1, 0])


@case()
def floats_that_are_not_less_when_run(tf):
    return tf.assert_less(_unknown(tf, [1.0, 2.0], [2]), 1.5)


@case()
def floats_that_are_less(tf):
    with tf.control_dependencies([tf.assert_less(_unknown(tf, [1.0, 2.0], [2]), 2.5, name="small")]):
        return tf.constant(1)


@case()
def assert_near_holds(tf):
    with tf.control_dependencies([tf.assert_near([1.0], [1.0 + 1e-7])]):
        return tf.constant(1)


@case()
def assert_near_fails(tf):
    return tf.assert_near(tf.constant([1.0]), [1.1])


@case()
def assert_near_with_tolerance(tf):
    return tf.assert_near(tf.constant([1.0]), [1.1], rtol=0.2, message="near")


@case()
def proper_iterables(tf, sess):
    found = []
    for value in ([1], (1, 2), "ab", np.zeros(2), tf.constant([1]), 3, {"a": 1}):
        try:
            tf.assert_proper_iterable(value)
            found.append("good")
        except TypeError:
            found.append("bad")
    return found


@case()
def numbers_that_are_finite(tf):
    x = tf.constant([1.0, 2.0])
    return tf.check_numerics(x, "msg"), tf.verify_tensor_all_finite(x, "msg"), tf.debugging.assert_all_finite(x, "m")


@case(message="msg : Tensor had NaN values")
def numbers_that_are_not_finite(tf):
    return tf.check_numerics(tf.constant([1.0, np.nan]), "msg")


@case(message="msg : Tensor had Inf and NaN values")
def numbers_that_are_infinite_too(tf):
    return tf.verify_tensor_all_finite(tf.constant([1.0, np.inf, np.nan]), "msg")


@case()
def integers_are_not_checked(tf):
    return tf.check_numerics(tf.constant(1), "msg")


@case()
def checks_of_all_numbers(tf):
    x = tf.constant([1.0])
    y = tf.exp(x)
    with tf.control_dependencies([tf.add_check_numerics_ops()]):
        return tf.identity(y)


@case()
def print_passes_its_input_on(tf):
    return tf.Print(tf.constant([1.0, 2.0]), [tf.constant([1, 2, 3, 4])], "message ", name="p")


@case()
def print_makes_an_op(tf):
    return tf.print("a", tf.constant([1, 2]), {"k": tf.constant(1)})


@case()
def print_of_a_string(tf):
    return tf.print(tf.constant("text"))


@case()
def print_with_an_unknown_keyword(tf):
    return tf.print("a", what=1)


@case()
def print_to_an_unknown_stream(tf):
    return tf.print("a", output_stream="nowhere")


@case()
def print_to_a_file(tf, sess, tmp):
    values = [
        tf.constant(np.arange(8)),
        tf.constant([[1.5, 2.0], [3.0, 4.25]]),
        tf.constant(["x", "y"]),
        tf.constant("z"),
    ]
    path = f"{tmp}/out"
    stream = "file://" + path
    ops = [
        tf.print("all", *values, output_stream=stream),
        tf.print(values[0], summarize=-1, output_stream=stream),
        tf.print({"k": values[1], "b": [1, values[3]]}, output_stream=stream),
        tf.print("a", 1, None, [2.5], sep=",", end="!\n", output_stream=stream),
        tf.print(tf.constant(np.arange(100).reshape(10, 10)), output_stream=stream),
        tf.print(tf.constant(np.arange(8).reshape(2, 2, 2)), tf.constant([True, False]), output_stream=stream),
        tf.print(tf.SparseTensor([[0, 1]], [2], [2, 2]), output_stream=stream),
    ]
    for op in ops:
        sess.run(op)
    with open(path) as file:
        return file.read()


@case(message=r"assertion failed: \[0.1 0.333333343 1e\+10 123456.789\] \[0.33333333333333331 1e-05\] \[a..b c.n\]")
def assert_shows_elements(tf):
    data = [tf.constant([0.1, 1 / 3, 1e10, 123456.789]), tf.constant([1 / 3, 1e-5], tf.float64)]
    return tf.Assert(
        _unknown(tf, False, []), [*data, tf.constant(['a"b', "c\n"]), tf.constant([True, False])], summarize=9
    )


@case()
def what_is_computed_is_checked_when_it_runs(tf, sess):
    count = tf.size([1, 2, 3]) // 5
    with tf.control_dependencies([tf.assert_positive(count)]):
        sess.run(tf.identity(count))


@case()
def what_is_packed_is_checked_at_once(tf):
    return tf.assert_positive(tf.stack([tf.size([1, 2]), 0]))
