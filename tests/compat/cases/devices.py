"""Devices: names, nesting, functions, and where they are visible."""

import contextlib

from compat_cases import table

NAMES = [
    "/cpu:0",
    "/gpu:0",
    "cpu:0",
    "/CPU",
    "/device:cpu:0",
    "/device:GPU:*",
    "/device:XPU:2",
    "/job:ps/task:0/cpu:0",
    "/job:worker/replica:1/task:2/device:GPU:3",
    "",
    None,
    "/job:a/job:b",
]


def under(tf, *devices):
    """Return an operation's device within these contexts."""
    with contextlib.ExitStack() as stack:
        for each in devices:
            stack.enter_context(tf.device(each))
        return tf.constant(1).device


def queues(tf):
    first, other = tf.FIFOQueue(3, tf.int32), tf.RandomShuffleQueue(3, 1, tf.int32)
    with tf.device("/cpu:0"):
        placed = tf.FIFOQueue(3, tf.int32)
        size = first.size()
    return [first.queue_ref.device, other.queue_ref.device, placed.queue_ref.device, size.device]


def groups_wait_device_by_device(tf):
    with tf.device("/cpu:0"):
        a, b = tf.constant(1, name="a"), tf.constant(2, name="b")
    c = tf.constant(3, name="c")
    with tf.device("/gpu:0"):
        d = tf.constant(4, name="d")
        mixed = tf.group(a, c, d, b, name="mixed")
    same = tf.group(a, b, name="same")
    around = [[op.name for op in each.control_inputs] for each in (mixed, same)]
    return [mixed.device, same.device, around]


def devices_show_in_texts(tf):
    with tf.device("/cpu:0"):
        a = tf.constant([1, 2], name="a")
        v = tf.Variable(1, name="v")
        p = tf.placeholder(tf.int32, name="p")
    return [str(a), repr(a), str(v), str(p), 'device: "/device:CPU:0"' in str(a.op)]


def reports_are_on_the_cpu(tf):
    tf.Variable(1, name="v")
    tf.report_uninitialized_variables()
    return [(op.name, op.device) for op in tf.get_default_graph().get_operations() if op.device]


table(
    names_in_full=lambda tf: [under(tf, each) for each in NAMES],
    inner_contexts_leave_the_rest_to_outer_ones=lambda tf: [
        under(tf, "/job:a", "/cpu:0"),
        under(tf, "/cpu:0", "/job:a"),
        under(tf, "/gpu:0", "/cpu:0"),
        under(tf, "/gpu:1", "CPU"),
        under(tf, "/gpu:1", ""),
        under(tf, "/gpu:1", None),
        under(tf, "/job:a/task:1", None, "/cpu:0"),
    ],
    functions_of_the_operation=lambda tf: [
        under(tf, lambda op: "/cpu:0"),
        under(tf, "/job:x", lambda op: "/cpu:0"),
        under(tf, lambda op: "/cpu:0", "/job:x"),
        under(tf, "/gpu:0", lambda op: op.device + "/job:q"),
        under(tf, lambda op: "/cpu:1" if op.type == "Const" else ""),
    ],
    a_function_that_gives_no_name=lambda tf: under(tf, lambda op: None),
    an_unknown_name=(lambda tf: under(tf, "/foo:0"), "Unknown attribute 'foo'"),
    two_types=(lambda tf: under(tf, "/cpu:0/gpu:1"), "Multiple device types are not allowed"),
    a_task_that_is_no_number=lambda tf: under(tf, "/task:x"),
    no_name_at_all=lambda tf: under(tf, 3),
)
