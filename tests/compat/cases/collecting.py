"""Collections, control dependencies, groups."""

from compat_cases import table


def collections(tf):
    graph = tf.get_default_graph()
    tf.add_to_collection("c", 1)
    tf.add_to_collection("c", 2)
    graph.add_to_collection("d", "x")
    graph.add_to_collections(["c", "d"], 3)
    tf.add_to_collections("e", 4)
    got = tf.get_collection("c")
    got.append(5)
    return [
        tf.get_collection("c"),
        tf.get_collection("d"),
        tf.get_collection("e"),
        tf.get_collection("none"),
        sorted(graph.get_all_collection_keys()),
    ]


def collection_by_scope(tf):
    with tf.name_scope("s"):
        tf.add_to_collection("c", tf.constant(1, name="a"))
    tf.add_to_collection("c", tf.constant(2, name="b"))
    tf.add_to_collection("c", "no name")
    return [tf.get_collection("c", "s"), tf.get_collection("c", "s/"), tf.get_collection("c", ".*b")]


def collection_by_reference(tf):
    reference = tf.get_collection_ref("c")
    reference.append(1)
    tf.get_default_graph().get_collection_ref("c").append(2)
    before = tf.get_collection("c")
    tf.get_default_graph().clear_collection("c")
    return [before, tf.get_collection("c")]


def adding_to_two_collections_with_the_same_name(tf):
    tf.get_default_graph().add_to_collections(("c", "c", "d"), 1)
    return [tf.get_collection("c"), tf.get_collection("d")]


def control_inputs(tf):
    a, b = tf.constant(1, name="a"), tf.constant(2, name="b")
    with tf.control_dependencies([a]):
        c = tf.identity(b, name="c")
        with tf.control_dependencies([b.op]):
            d = tf.constant(3, name="d")
            e = tf.identity(a, name="e")
        with tf.control_dependencies(None):
            f = tf.constant(4, name="f")
    return [[x.name for x in y.op.control_inputs] for y in (c, d, e, f)]


def control_dependencies_on_nothing(tf):
    with tf.control_dependencies([]):
        return [[x.name for x in tf.constant(1).op.control_inputs]]


def control_dependency_on_a_number(tf):
    with tf.control_dependencies([1]):
        pass


def control_dependency_on_a_variable(tf):
    variable = tf.Variable(1, name="v")
    with tf.control_dependencies([variable]):
        return [x.name for x in tf.no_op().control_inputs]


def control_dependencies_run_first(tf, sess):
    variable = tf.Variable(1)
    add = tf.assign_add(variable, 5)
    with tf.control_dependencies([add]):
        read = tf.identity(variable.read_value())
    sess.run(variable.initializer)
    return [sess.run(read), sess.run(read)]


def group_and_tuple(tf):
    a, b = tf.constant(1, name="a"), tf.constant(2, name="b")
    grouped = tf.group(a, b, name="g")
    first, second = tf.tuple([a, b], name="t")
    return [
        grouped,
        first,
        second,
        sorted(x.name for x in grouped.control_inputs),
        sorted(x.name for x in first.op.control_inputs),
    ]


def group_of_nothing_and_of_lists(tf):
    a = tf.constant(1, name="a")
    nothing = tf.group()
    nested = tf.group([a, [a, tf.no_op()]])
    return [nothing, nested]


def tuple_with_none_and_operations(tf):
    a = tf.constant(1, name="a")
    made = tf.tuple([a, None, a], control_inputs=[tf.no_op()])
    return [made[0], made[1], made[2]]


table(
    group_of_a_number=lambda tf: tf.group(1),
    tuple_of_nothing=lambda tf: tf.tuple([]),
    tuple_of_no_tensors=lambda tf: tf.tuple([None]),
    names_of_collections=lambda tf: [
        tf.GraphKeys.GLOBAL_VARIABLES,
        tf.GraphKeys.LOCAL_VARIABLES,
        tf.GraphKeys.TRAINABLE_VARIABLES,
        tf.GraphKeys.QUEUE_RUNNERS,
        tf.GraphKeys.SUMMARIES,
        tf.GraphKeys.GLOBAL_STEP,
        tf.GraphKeys.TABLE_INITIALIZERS,
        tf.GraphKeys.INIT_OP,
        tf.GraphKeys.LOCAL_INIT_OP,
        tf.GraphKeys.READY_OP,
        tf.GraphKeys.READY_FOR_LOCAL_INIT_OP,
        tf.GraphKeys.SUMMARY_OP,
        tf.GraphKeys.SAVERS,
        tf.GraphKeys.UPDATE_OPS,
        tf.GraphKeys.LOSSES,
        tf.GraphKeys.REGULARIZATION_LOSSES,
        tf.GraphKeys.WEIGHTS,
        tf.GraphKeys.BIASES,
        tf.GraphKeys.ACTIVATIONS,
        tf.GraphKeys.MODEL_VARIABLES,
        tf.GraphKeys.METRIC_VARIABLES,
        tf.GraphKeys.MOVING_AVERAGE_VARIABLES,
        tf.GraphKeys.CONCATENATED_VARIABLES,
        tf.GraphKeys.ASSET_FILEPATHS,
        tf.GraphKeys.COND_CONTEXT,
        tf.GraphKeys.WHILE_CONTEXT,
        tf.GraphKeys.TRAIN_OP,
        tf.GraphKeys.EVAL_STEP,
    ],
)
