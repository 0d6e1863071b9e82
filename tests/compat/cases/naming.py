"""Operation names and name scopes."""

from compat_cases import table


def scopes_nest_and_are_made_unique(tf):
    made = {}
    with tf.name_scope("outer"):
        made["a"] = tf.constant(1, name="a")
        with tf.name_scope("inner"):
            made["b"] = tf.constant(1, name="a")
        with tf.name_scope("inner"):
            made["c"] = tf.constant(1, name="a")
    with tf.name_scope("outer") as scope:
        made["d"] = tf.constant(1, name="a")
        made["scope"] = scope
    return made


def a_scope_that_ends_in_a_slash_is_entered_again(tf):
    with tf.name_scope("s") as scope:
        first = tf.constant(1, name="a")
    with tf.name_scope("t"), tf.name_scope(scope) as again:
        second = tf.constant(1, name="a")
    with tf.name_scope("s/") as third_scope:
        third = tf.constant(1, name="a")
    return [first, second, third, scope, again, third_scope]


def an_empty_scope_leads_to_the_top(tf):
    with tf.name_scope("s"):
        with tf.name_scope("") as top:
            first = tf.constant(1, name="a")
        with tf.name_scope(None) as none:
            second = tf.constant(2, name="a")
        third = tf.constant(3, name="a")
    return [first, second, third, top, none]


def default_name_of_a_scope(tf):
    with tf.name_scope(None, "default", [tf.constant(1)]) as first:
        a = tf.constant(1, name="a")
    with tf.name_scope("given", "default") as second:
        b = tf.constant(1, name="a")
    with tf.name_scope(None, default_name="default") as third:
        c = tf.constant(1, name="a")
    return [first, second, third, a, b, c]


def a_scope_and_an_operation_share_their_names(tf):
    a = tf.constant(1, name="x")
    with tf.name_scope("x") as scope:
        b = tf.constant(1, name="y")
    with tf.name_scope("z"):
        pass
    c = tf.constant(1, name="z")
    return [a, b, c, scope]


def operations_inside_a_scope_by_a_full_name(tf):
    with tf.name_scope("s"):
        return [tf.constant(1, name="a/b"), tf.constant(1, name="a/b"), tf.constant(1, name="a")]


def operation_with_the_exact_name(tf):
    with tf.name_scope("s"):
        return [tf.identity(1, name="t/a/"), tf.constant(2, name="a")]


def names_of_a_scope_are_given_by_the_graph(tf):
    graph = tf.get_default_graph()
    with graph.name_scope("g") as scope:
        current = graph.get_name_scope()
        name = graph.unique_name("u")
        again = graph.unique_name("u")
        other = graph.unique_name("v", mark_as_used=False)
        same = graph.unique_name("v")
    return [scope, current, name, again, other, same, graph.get_name_scope()]


def bad_scope_name(tf):
    with tf.name_scope("a b"):
        pass


def bad_inner_scope_name(tf):
    with tf.name_scope("a"), tf.name_scope("b:c"):
        pass


def scope_that_starts_with_an_underscore(tf):
    with tf.name_scope("_a"):
        pass


def inner_scope_that_starts_with_an_underscore(tf):
    with tf.name_scope("a"), tf.name_scope("_b"):
        return tf.constant(1, name="c")


def operation_name_with_an_underscore_inside_a_scope(tf):
    with tf.name_scope("s"):
        return tf.constant(1, name="_a")


def name_of_a_scope_must_be_text(tf):
    with tf.name_scope(5):
        pass


def name_scope_needs_a_name(tf):
    with tf.name_scope(None, None, [tf.constant(1)]) as scope:
        return [tf.constant(1), scope]


def scopes_of_values_of_two_graphs(tf):
    first = tf.constant(1)
    with tf.Graph().as_default():
        second = tf.constant(2)
    with tf.name_scope("s", values=[first, second]):
        pass


def device_and_container_are_taken(tf):
    with tf.device("/cpu:0"):
        b = tf.constant(2, name="b")
    with tf.device(None):
        c = tf.constant(3)
    with tf.device(lambda op: "/cpu:0"), tf.container("box"):
        d = tf.constant(3)
    return [b, c, d]


def names_of_operators(tf):
    a, b = tf.constant([4.0, 2.0], name="a"), tf.constant([1.0, 2.0], name="b")
    return [a + b, a - b, a * b, a / b, a // b, a % b, a**b, -a, abs(a), a < b, a >= b, 1 + a, 2.0 * a, a - 1]


def names_of_operators_in_scopes(tf):
    a = tf.constant([4, 2], name="a")
    with tf.name_scope("s"):
        return [a + 1, a[0], a[None], a[0:1], tf.cast(a, tf.float32), tf.reduce_sum(a), ~tf.equal(a, 4)]


def variables_and_names(tf):
    with tf.name_scope("s"):
        v = tf.Variable(1.0, name="v")
        w = tf.get_variable("w", initializer=2.0)
    with tf.variable_scope("t"):
        x = tf.get_variable("x", [2], initializer=tf.zeros_initializer())
        y = tf.constant(1, name="y")
    with tf.variable_scope("t", reuse=True):
        again = tf.get_variable("x", [2])
        z = tf.constant(1, name="z")
    return [v.name, w.name, x.name, y, again is x, z]


def variable_scope_by_default_name(tf):
    made = []
    for _ in range(2):
        with tf.variable_scope(None, "d"):
            made.append(tf.get_variable("x", initializer=1).name)
    with tf.variable_scope("o"), tf.variable_scope("i"):
        made += [tf.get_variable("x", initializer=1).name, tf.get_variable_scope().name]
    return made


def variable_twice_without_reuse(tf):
    tf.get_variable("x", [2])
    tf.get_variable("x", [2])


def variable_reused_that_does_not_exist(tf):
    with tf.variable_scope("s", reuse=True):
        tf.get_variable("x", [2])


def variable_with_another_shape(tf):
    tf.get_variable("x", [2])
    with tf.variable_scope("", reuse=True):
        tf.get_variable("x", [3])


table(
    names_are_made_unique=lambda tf: [
        tf.constant(1.0),
        tf.constant(2.0),
        tf.constant([1, 2], name="x"),
        tf.constant(b"a", name="x"),
    ],
    names_are_unique_whatever_their_case=lambda tf: [
        tf.constant(1, name="a"),
        tf.constant(2, name="A"),
        tf.constant(3, name="a_1"),
        tf.constant(4, name="a"),
    ],
    a_number_that_is_taken_is_passed_over=lambda tf: [
        tf.constant(i, name=name) for i, name in enumerate(["a_1", "a", "a", "a_1", "a_1_1", "a"])
    ],
    characters_of_names=lambda tf: [
        tf.constant(1, name="a.b-c_d"),
        tf.constant(1, name=".a"),
        tf.constant(1, name="0a"),
    ],
    bad_operation_name=lambda tf: tf.constant(1, name="a b"),
    operation_name_that_starts_with_an_underscore=lambda tf: tf.constant(1, name="_a"),
    variable_without_a_shape=lambda tf: tf.get_variable("x"),
)
