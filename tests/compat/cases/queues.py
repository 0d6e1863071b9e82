"""Queues in a graph: structure, static shapes, static errors, and calls that need not wait."""

from compat_cases import case, table


def prefix(text):
    """Return the essential words: the text before names of particular queues."""
    return text.split("'")[0]


def operations_of_a_queue_with_names(tf):
    q = tf.FIFOQueue(10, [tf.int32, tf.float32], [[], [2]], names=["a", "b"])
    with tf.control_dependencies([q.enqueue({"a": 1, "b": [1.0, 2.0]})]):
        size = q.size()
    q.enqueue_many({"a": [1], "b": [[1.0, 2.0]]})
    q.dequeue_up_to(3)
    q.close()
    q.close(True)
    with tf.control_dependencies([size]):
        return [q.dequeue(), size, q.is_closed()]


def operations_take_the_last_part_of_the_name(tf):
    with tf.name_scope("outer"):
        q = tf.RandomShuffleQueue(10, 2, tf.int32, shapes=(), seed=3, name="q")
    q.dequeue_many(2)
    q.dequeue_up_to(2)
    e = q.enqueue(5)
    with tf.control_dependencies([e]):
        return [q.size(), q.queue_ref.op.name == q.name]


def names_that_are_given(tf):
    q = tf.FIFOQueue(10, [tf.int32, tf.string], name="a/b")
    e = q.enqueue((1, "x"), name="put")
    q.enqueue((1, "x"), name="put")
    with tf.control_dependencies([e]):
        return q.dequeue(name="get")


def static_shapes(tf, sess):
    n = tf.placeholder(tf.int32)
    q = tf.FIFOQueue(10, [tf.int32, tf.float32], shapes=[[], [2, 3]])
    u = tf.FIFOQueue(10, tf.int32)
    p = tf.PaddingFIFOQueue(10, [tf.int32, tf.string], shapes=[[None, 2], []])
    r = tf.PriorityQueue(10, [tf.string], shapes=[[]])
    shapes = []
    for queue in (q, u, p, r):
        for got in (queue.dequeue(), queue.dequeue_many(3), queue.dequeue_many(n), queue.dequeue_up_to(3)):
            for tensor in got if isinstance(got, list) else [got]:
                shapes.append((tensor.name, str(tensor.shape), tensor.dtype.name))
    return shapes


def attributes(tf, sess):
    made = [
        tf.FIFOQueue(3.7, tf.int32, shared_name="s"),
        tf.FIFOQueue(None, [tf.int32, tf.string], shapes=[[], [2]]),
        tf.RandomShuffleQueue(10, 2, tf.int32, seed=3),
        tf.RandomShuffleQueue(10, 2, tf.int32),
        tf.RandomShuffleQueue(10, 2, tf.int32, seed=0),
        tf.RandomShuffleQueue(10, 2, tf.int32, seed=-1),
        tf.PaddingFIFOQueue(10, tf.int32, [[None, 3]]),
        tf.PriorityQueue(10, tf.int32, [[]]),
    ]
    found = []
    for q in made:
        op = q.queue_ref.op
        names = ["capacity", "shared_name", "container", *(["seed", "seed2"] if "Random" in op.type else [])]
        found.append([op.type, [op.get_attr(name) for name in names]])
        found.append([t.name for t in op.get_attr("component_types")])
        found.append([[d.size for d in s.dim] for s in op.get_attr("shapes")])
        found.append(op.node_def.attr["capacity"].i)
    return found


def shared_seed_of_a_seeded_graph(tf, sess):
    tf.set_random_seed(5)
    first = tf.RandomShuffleQueue(10, 2, tf.int32)
    shared = tf.RandomShuffleQueue(10, 2, tf.int32, shared_name="ab")
    own = tf.RandomShuffleQueue(10, 2, tf.int32, seed=7)
    return [[q.queue_ref.op.get_attr(name) for name in ("seed", "seed2")] for q in (first, shared, own)]


def inputs_of_an_enqueue(tf, sess):
    q = tf.FIFOQueue(10, [tf.int32, tf.string])
    e = q.enqueue((1, "a"))
    d = q.dequeue_many(3)[0]
    return [[each.name for each in e.inputs], [each.name for each in d.op.inputs], [t.name for t in e.outputs]]


@case(graph=False)
def selected_queue(tf, sess):
    n = tf.placeholder(tf.int32)
    a = tf.FIFOQueue(10, [tf.int32], shapes=[[2]])
    b = tf.RandomShuffleQueue(11, 0, [tf.int32], shapes=[[2]])
    c = tf.FIFOQueue(11, [tf.int32], shapes=[[3]])
    both = tf.FIFOQueue.from_list(n, [a, b])
    mixed = tf.QueueBase.from_list(n, [a, c])
    enqueue = both.enqueue(([1, 2],))
    for i in (0, 1, 1):
        sess.run(enqueue, {n: i})
    return [
        sess.run([a.size(), b.size()]),
        [str(s) for s in mixed.shapes],
        both.name,
        str(both.dequeue().shape),
        str(mixed.dequeue_many(2).shape),
        sess.run(both.size(), {n: 1}),
    ]


@case(message="is not in")
def selected_queue_out_of_range(tf):
    a = tf.FIFOQueue(10, [tf.int32])
    return tf.FIFOQueue.from_list(tf.placeholder_with_default(3, []), [a, tf.FIFOQueue(3, [tf.int32])]).size()


@case(message="component names")
def selected_queue_of_other_names(tf):
    a = tf.FIFOQueue(10, [tf.int32], names=["a"])
    return tf.FIFOQueue.from_list(0, [a, tf.FIFOQueue(10, [tf.int32])]).size()


STATIC_ERRORS = {
    "enqueue_of_another_shape": lambda tf: tf.FIFOQueue(10, [tf.int32], shapes=[[2]]).enqueue(([1, 2, 3],)),
    "enqueue_many_of_another_shape": lambda tf: tf.FIFOQueue(10, [tf.int32], shapes=[[2]]).enqueue_many(([1, 2],)),
    "enqueue_many_of_a_scalar": lambda tf: tf.FIFOQueue(10, [tf.int32]).enqueue_many([1, 2, 3]),
    "enqueue_many_of_different_lengths": lambda tf: tf.FIFOQueue(10, [tf.int32] * 2).enqueue_many(([1, 2], [1])),
    "enqueue_of_nothing": lambda tf: tf.FIFOQueue(10, [tf.int32]).enqueue([]),
    "enqueue_many_of_nothing": lambda tf: tf.FIFOQueue(10, [tf.int32]).enqueue_many([]),
    "enqueue_of_none": lambda tf: tf.FIFOQueue(10, [tf.int32]).enqueue(None),
    "enqueue_of_a_float": lambda tf: tf.FIFOQueue(10, tf.int32).enqueue(1.5),
    "enqueue_of_a_whole_float": lambda tf: tf.FIFOQueue(10, tf.int32).enqueue(2.0),
    "enqueue_of_a_float_tensor": lambda tf: tf.FIFOQueue(10, tf.int32).enqueue(tf.constant(1.5)),
    "enqueue_of_an_int_for_bool": lambda tf: tf.FIFOQueue(10, tf.bool).enqueue(1),
    "enqueue_of_an_int_for_string": lambda tf: tf.FIFOQueue(10, tf.string).enqueue(1),
    "enqueue_of_a_str_for_int": lambda tf: tf.FIFOQueue(10, tf.int32).enqueue("1"),
    "enqueue_of_a_dict_without_names": lambda tf: tf.FIFOQueue(10, tf.int32).enqueue({"a": 1}),
    "enqueue_without_a_dict": lambda tf: tf.FIFOQueue(10, tf.int32, names="a").enqueue(1),
    "enqueue_of_other_keys": lambda tf: tf.FIFOQueue(10, tf.int32, names="a").enqueue({"b": 1}),
    "enqueue_with_names_twice": lambda tf: tf.FIFOQueue(10, [tf.int32] * 2, names=["a", "a"]).enqueue({"a": 1}),
    "dequeue_many_of_a_negative": lambda tf: tf.FIFOQueue(10, [tf.int32], shapes=[[]]).dequeue_many(-1),
    "dequeue_many_of_a_float": lambda tf: tf.FIFOQueue(10, [tf.int32], shapes=[[]]).dequeue_many(4.0),
    "dequeue_many_of_an_int64": lambda tf: tf.FIFOQueue(10, tf.int32, [[]]).dequeue_many(tf.constant(4, tf.int64)),
    "dequeue_many_of_none": lambda tf: tf.FIFOQueue(10, [tf.int32], shapes=[[]]).dequeue_many(None),
    "no_dtypes": lambda tf: tf.FIFOQueue(10, []),
    "dtypes_none": lambda tf: tf.FIFOQueue(10, None),
    "capacity_of_a_str": lambda tf: tf.FIFOQueue("a", [tf.int32]),
    "shapes_with_none": lambda tf: tf.FIFOQueue(10, [tf.int32], shapes=[[None]]),
    "shapes_of_unknown_rank": lambda tf: tf.FIFOQueue(10, [tf.int32], shapes=[tf.TensorShape(None)]),
    "shapes_of_an_int": lambda tf: tf.FIFOQueue(10, [tf.int32], shapes=5),
    "shapes_of_a_str": lambda tf: tf.FIFOQueue(10, [tf.int32], shapes="x"),
    "shapes_negative": lambda tf: tf.FIFOQueue(10, [tf.int32], shapes=[[-2]]),
    "shapes_too_few": lambda tf: tf.FIFOQueue(10, [tf.int32, tf.int32], shapes=[()]),
    "shape_for_two": lambda tf: tf.FIFOQueue(10, [tf.int32, tf.int32], shapes=()),
    "names_too_few": lambda tf: tf.FIFOQueue(10, [tf.int32, tf.int32], names=["a"]),
    "names_none_at_all": lambda tf: tf.FIFOQueue(10, [tf.int32], names=[]),
    "padding_without_shapes": lambda tf: tf.PaddingFIFOQueue(10, tf.int32),
    "padding_shapes_none": lambda tf: tf.PaddingFIFOQueue(10, tf.int32, None),
    "padding_one_shape": lambda tf: tf.PaddingFIFOQueue(10, tf.int32, (3,)),
    "padding_one_partial_shape": lambda tf: tf.PaddingFIFOQueue(10, tf.int32, [None]),
    "padding_a_tensor_shape": lambda tf: tf.PaddingFIFOQueue(10, tf.int32, tf.TensorShape([3])),
    "padding_no_shape": lambda tf: tf.PaddingFIFOQueue(10, tf.int32, ()),
    "padding_unknown_rank": lambda tf: tf.PaddingFIFOQueue(10, tf.int32, [tf.TensorShape(None)]),
    "padding_too_few_shapes": lambda tf: tf.PaddingFIFOQueue(10, [tf.int32, tf.int32], [[None]]),
    "priority_of_a_float": lambda tf: tf.PriorityQueue(10, [tf.int32], shapes=[[]]).enqueue((1.5, 2)),
    "priority_of_an_int32": lambda tf: tf.PriorityQueue(10, [tf.int32], shapes=[[]]).enqueue((tf.constant(1), 2)),
    "priority_of_a_vector": lambda tf: tf.PriorityQueue(10, [tf.int32], shapes=[[]]).enqueue(([1], 2)),
    "priority_without_its_name": lambda tf: tf.PriorityQueue(10, [tf.int32], shapes=[[]], names=["a"]),
    "minimum_of_a_str": lambda tf: tf.RandomShuffleQueue(10, "a", [tf.int32]),
}

for _name, _function in STATIC_ERRORS.items():
    _function.__name__ = _name
    _function.__code__ = _function.__code__.replace(co_name=_name)
    case(graph=False)(_function)


def outcome(run, *args):
    """Return a call's result, or its error's class with the words before the names in it."""
    try:
        return run(*args)
    except Exception as error:
        text = str(getattr(error, "message", error))
        if text.startswith("Graph execution error"):  # then the operation's origin, and then the cause
            text = [line for line in text.split("[[")[0].splitlines() if line.strip()][-1]
        return [type(error).__name__, prefix(text.splitlines()[0])]


@case(graph=False)
def values_that_are_cast_or_kept(tf, sess):
    import numpy as np

    found = []
    for dtype, value in (
        (tf.int32, np.float64(2.7)),
        (tf.uint8, np.int64(257)),
        (tf.bool, np.array(2)),
        (tf.float32, 3),
        (tf.complex64, 3),
        (tf.int32, True),
        (tf.string, "é"),
        (tf.string, b"\xff"),
        (tf.string, np.array(["a", "bc"])),
        (tf.float16, 0.1),
        (tf.int32, []),
    ):
        q = tf.FIFOQueue(10, dtype)
        sess.run(q.enqueue((value,)))
        found.append(sess.run(q.dequeue()))
    return found


@case(graph=False)
def a_list_is_the_list_of_components(tf, sess):
    q = tf.FIFOQueue(10, tf.int32)
    for vals in ([5], [1, 2], 7, ([1, 2],), (3, 4, 5)):
        sess.run(q.enqueue(vals))
    return [sess.run(q.dequeue()) for _ in range(5)]


@case(graph=False)
def too_few_values_fail_when_run(tf, sess):
    q = tf.FIFOQueue(10, [tf.int32, tf.int32])
    found = [outcome(sess.run, q.enqueue((1,))), outcome(sess.run, q.enqueue_many(([1],)))]
    return [(kind, text.split(",")[0]) for kind, text in found]


@case(graph=False)
def shapes_are_checked_when_run(tf, sess):
    p = tf.placeholder(tf.int32)
    q = tf.FIFOQueue(10, [tf.int32], shapes=[[2]])
    two = tf.FIFOQueue(10, [tf.int32, tf.int32])
    padding = tf.PaddingFIFOQueue(10, tf.int32, [[None, 2]])
    priority = tf.PriorityQueue(10, tf.int32, [[]])
    order = tf.placeholder(tf.int64)
    found = [outcome(sess.run, q.enqueue((p,)), {p: value}) for value in ([1], [[1, 2]], 3, [1, 2])]
    found += [outcome(sess.run, q.enqueue_many((p,)), {p: value}) for value in ([[1]], [1, 2], [[1, 2]])]
    found += [outcome(sess.run, two.enqueue_many(([1, 2], p)), {p: value}) for value in ([1], [1, 2])]
    found += [outcome(sess.run, padding.enqueue((p,)), {p: value}) for value in ([[1, 2, 3]], [1, 2], [[1, 2]])]
    found += [outcome(sess.run, priority.enqueue((order, 3)), {order: value}) for value in ([1, 2], 3)]
    found += [outcome(sess.run, q.dequeue_many(p), {p: value}) for value in (-1, [1])]
    found += [outcome(sess.run, q.dequeue_up_to(p), {p: value}) for value in (-2, 1)]
    found += [outcome(sess.run, two.dequeue_many(0)), outcome(sess.run, two.dequeue_up_to(3))]
    sess.run(q.close())
    return found + [outcome(sess.run, q.enqueue((p,)), {p: [1]})]


@case(graph=False)
def a_closed_queue(tf, sess):
    q = tf.FIFOQueue(10, tf.int32, shapes=[()])
    sess.run(q.enqueue_many([[1, 2, 3, 4]]))
    found = [sess.run(q.is_closed()), sess.run(q.close()), sess.run(q.is_closed())]
    found += [outcome(sess.run, op) for op in (q.enqueue(1), q.enqueue_many([[1]]), q.close(), q.close(True))]
    found += [sess.run(q.enqueue_many([[]])), sess.run(q.dequeue_many(0))]
    found += [outcome(sess.run, op) for op in (q.dequeue_many(3), q.dequeue_many(3), q.dequeue_up_to(3), q.dequeue())]
    return found


@case(graph=False)
def a_random_queue_from_a_seed(tf, sess):
    q = tf.RandomShuffleQueue(100, 0, tf.int32, shapes=[()], seed=1)
    sess.run(q.enqueue_many([list(range(10))]))
    return sess.run(q.dequeue_many(10))


@case(graph=False)
def random_queues_of_wrong_minimum_fail_when_run(tf, sess):
    made = [tf.RandomShuffleQueue(*args, tf.int32) for args in ((3, -1), (3, 3), (0, 0), (-1, 0))]
    return [outcome(sess.run, q.size()) for q in made]


@case(graph=False)
def padding(tf, sess):
    q = tf.PaddingFIFOQueue(100, [tf.int32, tf.string], shapes=[[None, 2], [None]])
    for rows in (1, 3, 0):
        sess.run(q.enqueue((tf.ones([rows, 2], tf.int32), tf.fill([rows], "s"))))
    first = sess.run(q.dequeue())
    sess.run(q.enqueue((tf.ones([1, 2], tf.int32), tf.fill([2], "s"))))
    return [first, sess.run(q.dequeue_many(3)), sess.run(q.dequeue_many(0))]


@case(graph=False)
def priorities(tf, sess):
    q = tf.PriorityQueue(100, tf.string, shapes=[()])
    sess.run(q.enqueue_many(([3, 1, 2, -(2**63), 2**63 - 1], ["c", "a", "b", "first", "last"])))
    return [sess.run(q.dequeue()), sess.run(q.dequeue_many(2)), sess.run(q.dequeue_up_to(2))]


@case(graph=False)
def the_same_operation_runs_once(tf, sess):
    q = tf.FIFOQueue(10, tf.int32)
    sess.run(q.enqueue_many([[1, 2, 3]]))
    x = q.dequeue()
    return [sess.run([x, x, {"a": x + 10}]), sess.run(q.size())]


@case(graph=False)
def shared_queues(tf, sess):
    a = tf.FIFOQueue(10, tf.int32, shared_name="q")
    b = tf.FIFOQueue(10, tf.int32, shared_name="q", name="other")
    with tf.container("c"):
        c = tf.FIFOQueue(11, tf.int32, shared_name="q")
    sess.run(a.enqueue(7))
    return [sess.run(b.size()), sess.run(c.size()), sess.run(b.dequeue())]


@case(graph=False)
def shared_queues_that_differ(tf, sess):
    import re

    found = []
    base = {"capacity": 10, "dtypes": tf.int32, "shapes": [()]}
    sess.run(tf.FIFOQueue(**base, shared_name="f").size())
    sess.run(tf.RandomShuffleQueue(10, 1, tf.int32, seed=3, shared_name="r").size())
    sess.run(tf.PaddingFIFOQueue(10, tf.int32, [[None, 2]], shared_name="p").size())
    for q in (
        tf.RandomShuffleQueue(10, 1, tf.int32, shared_name="f"),
        tf.FIFOQueue(11, tf.int32, shapes=[()], shared_name="f"),
        tf.FIFOQueue(-1, tf.int32, shapes=[()], shared_name="f"),
        tf.FIFOQueue(10, tf.float32, shapes=[()], shared_name="f"),
        tf.FIFOQueue(10, [tf.int32, tf.string], shapes=[(), ()], shared_name="f"),
        tf.FIFOQueue(10, tf.int32, shared_name="f"),
        tf.FIFOQueue(10, tf.int32, shapes=[[3]], shared_name="f"),
        tf.RandomShuffleQueue(10, 2, tf.int32, seed=3, shared_name="r"),
        tf.RandomShuffleQueue(10, 1, tf.int32, seed=4, shared_name="r"),
        tf.RandomShuffleQueue(10, 1, tf.int32, shared_name="r"),
        tf.PaddingFIFOQueue(10, tf.int32, [[3, None]], shared_name="p"),
        tf.PaddingFIFOQueue(10, tf.int32, [[None]], shared_name="p"),
    ):
        try:
            found.append(sess.run(q.size()))
        except tf.errors.InvalidArgumentError as error:
            line = next(each for each in str(error).splitlines() if re.search("Expected|Shared queue", each))
            found.append(re.search(r"(Expected|Shared queue).*", line).group().rstrip().rstrip("."))
    return found


table(
    selected_queue_of_a_tuple=(
        lambda tf: tf.FIFOQueue.from_list(0, (tf.FIFOQueue(10, [tf.int32]),)).size(),
        "A list of queues expected",
    ),
    selected_queue_of_other_dtypes=(
        lambda tf: tf.FIFOQueue.from_list(0, [tf.FIFOQueue(10, [tf.int32]), tf.FIFOQueue(10, [tf.int64])]).size(),
        "component dtypes",
    ),
    properties=lambda tf, sess: [
        (q.name, [str(tf.as_dtype(d).name) for d in q.dtypes], [str(s) for s in q.shapes], q.names, bool(q))
        for q in [
            tf.FIFOQueue(10, "float"),
            tf.FIFOQueue(-3, [tf.int32, tf.float32], shapes=[[], (2, 3)], names=["a", "b"], name="named"),
            tf.RandomShuffleQueue(10, 2, [tf.int32], shapes=[3]),
            tf.PaddingFIFOQueue(10, tf.int32, [[None]]),
            tf.PriorityQueue(10, tf.int32, []),
        ]
    ],
)
