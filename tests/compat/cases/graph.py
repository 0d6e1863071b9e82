"""Graphs, operations, tensors."""

import threading

from compat_cases import table


def default_graph_nests(tf):
    outer = tf.get_default_graph()
    inner = tf.Graph()
    with inner.as_default() as entered:
        a = tf.constant(1)
        same = [entered is inner, tf.get_default_graph() is inner, a.graph is inner]
    return [*same, tf.get_default_graph() is outer, len(inner.get_operations()), len(outer.get_operations())]


def reset_inside_another_graph(tf):
    with tf.Graph().as_default():
        tf.reset_default_graph()


def operations_of_two_graphs(tf):
    a = tf.constant(1)
    with tf.Graph().as_default():
        b = tf.constant(1)
        tf.add(a, b)


def elements_by_name(tf):
    graph = tf.get_default_graph()
    a = tf.constant(1, name="a")
    b, c = tf.split(tf.constant([1, 2]), 2, name="s")
    return [
        graph.get_operation_by_name("a") is a.op,
        graph.get_tensor_by_name("a:0") is a,
        graph.as_graph_element("a:0") is a,
        graph.as_graph_element("a") is a.op,
        graph.as_graph_element(a) is a,
        graph.as_graph_element(a.op) is a.op,
        graph.get_tensor_by_name("s:1") is c,
        b.value_index,
        c.value_index,
        [x.name for x in c.op.outputs],
        [x.name for x in c.op.inputs],
    ]


def tensor_number_that_does_not_exist(tf):
    tf.constant(1, name="a")
    tf.get_default_graph().get_tensor_by_name("a:1")


def tensor_name_without_a_number(tf):
    tf.constant(1, name="a")
    tf.get_default_graph().get_tensor_by_name("a")


def operation_name_with_a_number(tf):
    tf.constant(1, name="a")
    tf.get_default_graph().get_operation_by_name("a:0")


def finalized_graph(tf):
    tf.get_default_graph().finalize()
    tf.constant(1)


def finalized_is_told(tf):
    graph = tf.get_default_graph()
    before = graph.finalized
    graph.finalize()
    return [before, graph.finalized]


def operation_properties(tf):
    a = tf.constant([1, 2], name="a")
    b = tf.add(a, 3, name="b")
    op = b.op
    return [
        op.name,
        op.type,
        [x.name for x in op.inputs],
        [x.name for x in op.outputs],
        op.graph is tf.get_default_graph(),
        [x.name for x in op.control_inputs],
        op.get_attr("T"),
        [x.name for x in a.consumers()],
        op.node_def.name,
        op.node_def.op,
        list(op.node_def.input),
        op.values()[0] is b,
    ]


def truth_of_a_tensor(tf):
    if tf.constant(True):
        pass


def comparison_of_tensors_by_identity(tf):
    a, b = tf.constant(1), tf.constant(1)
    return [a is a, a == a, a == b, a != b, a is None, len({a, b, a})]


def text_of_tensors_and_operations(tf):
    a = tf.constant([1.0], name="a")
    b = tf.placeholder(tf.string, name="b")
    c = tf.placeholder(tf.int64, [None, 3], name="c")
    return [str(a), repr(a), str(b), str(c), repr(a.op), repr(c)]


def shape_is_set(tf):
    x = tf.placeholder_with_default([[1, 2]], None)
    before = x.get_shape().as_list() if x.get_shape().ndims is not None else "unknown"
    x.set_shape([None, 2])
    between = x.get_shape().as_list()
    x.set_shape([1, None])
    return [x, before, between, x.shape.as_list()]


def placeholder_shapes(tf, sess):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.placeholder(tf.float32, name="y")
    z = tf.placeholder(tf.float32, [], name="z")
    return [
        x.shape,
        y.shape,
        z.shape,
        sess.run([x, y, z + 0], {x: [[1, 2]], y: [3], z: 4}),
    ]


def placeholder_with_default(tf, sess):
    x = tf.placeholder_with_default([1, 2], [2], name="x")
    y = tf.placeholder_with_default([1, 2], [None], name="y")
    return [sess.run([x, y]), sess.run([x, y], {x: [3, 4], y: [5]}), x.name, y.shape, x.op.type]


def seeds_of_graphs(tf):
    graph = tf.get_default_graph()
    before = graph.seed
    tf.set_random_seed(7)
    return [before, graph.seed]


def control_flow_names(tf):
    x = tf.constant(3)
    return [tf.cond(x > 2, lambda: x + 1, lambda: x - 1)]


def variables_in_collections(tf):
    a = tf.Variable(1, name="a")
    b = tf.Variable(2, name="b", trainable=False)
    c = tf.Variable(3, name="c", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    return [
        [x.name for x in tf.global_variables()],
        [x.name for x in tf.trainable_variables()],
        [x.name for x in tf.local_variables()],
        [x.name for x in tf.all_variables()],
        a,
        b,
        c,
        a.initializer.name,
        a.initial_value,
        a.op.type,
        a.dtype.base_dtype,
        a.get_shape(),
    ]


def contexts_hold_for_one_thread(tf):
    """After switch_to_thread_local a thread has separate contexts, starting in those at the switch."""
    graph = tf.get_default_graph()
    first, second = tf.constant(1, name="first"), tf.constant(2, name="second")
    seen = {}

    def other(key):
        def body():
            with graph.as_default():
                op = tf.identity(1, name=key).op
                seen[key] = [[each.name for each in op.control_inputs], op.device]

        thread = threading.Thread(target=body)
        thread.start()
        thread.join()

    with tf.control_dependencies([first]), tf.device("/cpu:0"):
        other("before")
        graph.switch_to_thread_local()
        with tf.control_dependencies([second]), tf.device("/job:ps"):
            other("within")
            own = tf.identity(1, name="own").op
    graph.switch_to_thread_local()
    other("after")
    last = tf.identity(1, name="last").op
    return [seen, [[each.name for each in op.control_inputs] + [op.device] for op in (own, last)]]


table(
    operation_name_that_does_not_exist=lambda tf: tf.get_default_graph().get_operation_by_name("no"),
    tensor_name_that_does_not_exist=lambda tf: tf.get_default_graph().get_tensor_by_name("no:0"),
    tensor_name_that_is_none=lambda tf: tf.get_default_graph().get_tensor_by_name("a:b"),
    tensor_name_that_is_no_text=lambda tf: tf.get_default_graph().get_tensor_by_name(3),
    element_of_another_type=lambda tf: tf.get_default_graph().as_graph_element(3),
    element_of_another_graph=lambda tf: tf.Graph().as_graph_element(tf.constant(1)),
    element_that_is_not_allowed=lambda tf: tf.get_default_graph().as_graph_element(tf.constant(1), allow_tensor=False),
    attribute_that_an_operation_lacks=lambda tf: tf.constant(1).op.get_attr("no"),
    attribute_of_a_constant=lambda tf: [tf.constant(1).op.get_attr("dtype")],
    iteration_over_a_vector=lambda tf: list(tf.constant([1, 2, 3])),
    iteration_over_a_scalar=lambda tf: list(tf.constant(1)),
    iteration_over_an_unknown_length=lambda tf: list(tf.placeholder(tf.int32, [None])),
    length_of_a_tensor=lambda tf: len(tf.constant([1])),
    shape_that_does_not_fit=lambda tf: tf.constant([1, 2]).set_shape([3]),
    shape_of_another_rank=lambda tf: tf.constant([1, 2]).set_shape([1, 2]),
    placeholder_with_a_default_of_another_shape=lambda tf: tf.placeholder_with_default([1, 2], [3]),
)
