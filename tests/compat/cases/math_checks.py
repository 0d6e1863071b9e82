"""Assert, assert_*, number checks, printing."""

import numpy as np
from compat_cases import case, table


def _unknown(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


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


def signs_that_hold(tf):
    x = tf.constant([1, 2])
    with tf.control_dependencies(
        [tf.assert_positive(x), tf.assert_non_negative(x), tf.assert_negative(-x), tf.assert_non_positive(-x)]
    ):
        return tf.identity(x)


def assert_equal_of_the_same(tf):
    x = tf.constant(1)
    return tf.assert_equal(x, x)


def floats_that_are_less(tf):
    with tf.control_dependencies([tf.assert_less(_unknown(tf, [1.0, 2.0], [2]), 2.5, name="small")]):
        return tf.constant(1)


@case(message=r"assertion failed: \[0.1 0.333333343 1e\+10 123456.789\] \[0.33333333333333331 1e-05\] \[a..b c.n\]")
def assert_shows_elements(tf):
    data = [tf.constant([0.1, 1 / 3, 1e10, 123456.789]), tf.constant([1 / 3, 1e-5], tf.float64)]
    return tf.Assert(
        _unknown(tf, False, []), [*data, tf.constant(['a"b', "c\n"]), tf.constant([True, False])], summarize=9
    )


def what_is_computed_is_checked_when_it_runs(tf, sess):
    count = tf.size([1, 2, 3]) // 5
    with tf.control_dependencies([tf.assert_positive(count)]):
        sess.run(tf.identity(count))


table(
    assert_that_holds=lambda tf: tf.Assert(tf.constant(True), ["a", tf.constant([1, 2])]),
    assert_that_fails=(
        lambda tf: tf.Assert(tf.constant(False), [tf.constant([1, 2, 3, 4]), "hi"]),
        r"assertion failed: \[1 2 3\.\.\.\] \[hi\]",
    ),
    assert_with_summarize=(
        lambda tf: tf.Assert(False, ["a", tf.constant([1, 2, 3])], summarize=2, name="check"),
        r"assertion failed: \[a\] \[1 2\.\.\.\]",
    ),
    assert_shows_matrices=(
        lambda tf: tf.Assert(False, [tf.constant([[1, 2], [3, 4]]), 7], summarize=-1),
        r"assertion failed: \[\[1 2\]\[3 4\]\] \[7\]",
    ),
    assert_shows_the_first_of_a_matrix=(
        lambda tf: tf.Assert(False, [tf.constant([[1, 2, 3], [3, 4, 5]])]),
        r"assertion failed: \[\[1 2 3\]\.\.\.\]",
    ),
    assert_of_floats_that_holds=lambda tf: tf.Assert(_unknown(tf, True, []), [tf.constant([1.5, 2.0])]),
    assert_of_floats_that_fails=(
        lambda tf: tf.Assert(_unknown(tf, False, []), [tf.constant([1.5, 2.0, 1e-7, 4.0])]),
        r"assertion failed: \[1\.5 2 1e-07\.\.\.\]|assertion failed: \[1\.5 2 1e-0*7\.\.\.\]",
    ),
    assert_without_a_list=lambda tf: tf.Assert(False, "a"),
    assert_of_a_vector=lambda tf: tf.Assert([True], ["a"]),
    assert_of_an_integer=lambda tf: tf.Assert(tf.constant(1), ["a"]),
    static_values_that_differ=(
        lambda tf: tf.assert_equal(tf.constant([1, 2]), [1, 3], message="mm"),
        "(?s)mm.*Condition x == y did not hold",
    ),
    values_that_differ_when_run=(
        lambda tf: tf.assert_equal(_unknown(tf, [1, 2]), [1, 3], message="mm"),
        "(?s)assertion failed: .mm. .Condition x == y did not hold element-wise:. .x .PlaceholderWithDefault:0. = ",
    ),
    static_values_that_are_not_positive=(
        lambda tf: tf.assert_positive([1, 0]),
        "Condition x > 0 did not hold element-wise",
    ),
    floats_that_are_not_less_when_run=lambda tf: tf.assert_less(_unknown(tf, [1.0, 2.0], [2]), 1.5),
    numbers_that_are_not_finite=(
        lambda tf: tf.check_numerics(tf.constant([1.0, np.nan]), "msg"),
        "msg : Tensor had NaN values",
    ),
    integers_are_not_checked=lambda tf: tf.check_numerics(tf.constant(1), "msg"),
    print_passes_its_input_on=lambda tf: tf.Print(
        tf.constant([1.0, 2.0]), [tf.constant([1, 2, 3, 4])], "message ", name="p"
    ),
    what_is_packed_is_checked_at_once=lambda tf: tf.assert_positive(tf.stack([tf.size([1, 2]), 0])),
)
