"""Numeric tests of queues: exact draws and orders, run-time error texts, and extreme arguments."""

import re

from compat_cases import case, table


def attempt(run, *args, **kwargs):
    """Return a call's result, or its error's class and text without the number in a private queue's name."""
    try:
        return run(*args, **kwargs)
    except Exception as error:
        lines = [line for line in str(getattr(error, "message", error)).split("[[")[0].splitlines() if line.strip()]
        line = lines[-1] if lines[0].startswith("Graph execution error") else lines[0]
        return [type(error).__name__, re.sub(r"'_\d+_", "'_N_", line.strip())]


@case(graph=False)
def draws_by_seed(tf, sess):
    found = []
    for seed in (1, 7, 0, -1, 2**31 - 1, 2**31, 2**40 + 3):
        q = tf.RandomShuffleQueue(100, 0, tf.int32, [()], seed=seed)
        sess.run(q.enqueue_many([list(range(10))]))
        found.append(sess.run(q.dequeue_many(10)))
    return found


@case(graph=False)
def draws_one_by_one(tf, sess):
    q = tf.RandomShuffleQueue(100, 0, tf.int32, [()], seed=3)
    sess.run(q.enqueue_many([list(range(5))]))
    one, more = q.dequeue(), q.enqueue_many([[10, 11]])
    found = [sess.run(one), sess.run(one), sess.run(more), sess.run(one), sess.run(q.dequeue_up_to(2))]
    return [*found, sess.run(q.close()), sess.run(q.dequeue_up_to(9))]


@case(graph=False)
def the_minimum_stays_until_the_close(tf, sess):
    q = tf.RandomShuffleQueue(10, 3, tf.int32, [()], seed=2)
    sess.run(q.enqueue_many([[1, 2, 3, 4, 5]]))
    found = [sess.run(q.dequeue_many(2)), sess.run(q.size()), sess.run(q.close())]
    return [*found, attempt(sess.run, q.dequeue_many(4)), sess.run(q.dequeue_many(3)), attempt(sess.run, q.dequeue())]


@case(graph=False)
def limits_of_random_queues(tf, sess):
    found = []
    for capacity, minimum in ((3, -1), (3, 3), (0, 0), (5, 7), (-1, 2**31 - 1), (-1, 0), (3, 2)):
        q = tf.RandomShuffleQueue(capacity, minimum, tf.int32)
        found.append([attempt(sess.run, q.size()), attempt(sess.run, q.enqueue(1))])
    return [*found, tf.RandomShuffleQueue(3, None, tf.int32).queue_ref.op.get_attr("min_after_dequeue")]


@case(graph=False)
def equal_priorities(tf, sess):
    q = tf.PriorityQueue(100, tf.int32, [()])
    sess.run(q.enqueue_many(([5] * 10, list(range(10)))))
    found = [sess.run(q.dequeue_many(10))]
    sess.run(q.enqueue_many(([3, 1, 2, 1, 3, 2, 1, 1], list(range(8)))))
    return [*found, sess.run(q.dequeue_up_to(8))]


@case(graph=False)
def priority_errors(tf, sess):
    q = tf.PriorityQueue(10, tf.int32, [()], name="p")
    order, values = tf.placeholder(tf.int64), tf.placeholder(tf.int32)
    found = [attempt(sess.run, q.enqueue((order, 1)), {order: each}) for each in ([1, 2], [1], 3)]
    found.append(attempt(sess.run, q.enqueue((1, values)), {values: [3]}))
    found.append(attempt(sess.run, q.enqueue_many((order, [1, 2])), {order: [1]}))
    found += [attempt(sess.run, q.enqueue((1,))), attempt(sess.run, q.dequeue_many(values), {values: -1})]
    sess.run(q.close())
    return found + [attempt(sess.run, op) for op in (q.dequeue_many(2), q.enqueue((1, 2)), q.close(), q.dequeue())]


@case(graph=False)
def named_components_of_a_priority_queue(tf, sess):
    q = tf.PriorityQueue(2, [tf.string, tf.float32], [(), (2,)], names=["p", "a", "b"])
    sess.run(q.enqueue({"p": 3, "a": "x", "b": [1, 2]}))
    bare = tf.PriorityQueue(10, [tf.int32], [[]], names="ab")
    return [[each.name for each in q.dtypes], [str(each) for each in q.shapes], sess.run(q.dequeue()), bare.names]


@case(graph=False)
def fills_of_padded_batches(tf, sess):
    found = []
    for dtype, value in (
        (tf.string, "a"),
        (tf.bool, True),
        (tf.int8, 1),
        (tf.uint16, 1),
        (tf.half, 1),
        (tf.float64, 1),
        (tf.complex64, 1),
    ):
        q = tf.PaddingFIFOQueue(10, dtype, [[None]])
        for length in (1, 3):
            sess.run(q.enqueue(([value] * length,)))
        found.append(sess.run(q.dequeue_many(2)))
    return found


@case(graph=False)
def padded_batches_of_nothing(tf, sess):
    import numpy as np

    q = tf.PaddingFIFOQueue(10, [tf.int32, tf.float32], [[None, 2], [None, 3]])
    rows = tf.placeholder(tf.int32)
    enqueue = q.enqueue((rows, [[1.0, 2.0, 3.0]]))
    for _ in range(2):
        sess.run(enqueue, {rows: np.zeros((0, 2))})
    return [sess.run(q.dequeue_many(2)), sess.run(q.dequeue_many(0))]


@case(graph=False)
def padding_errors(tf, sess):
    import numpy as np

    q = tf.PaddingFIFOQueue(10, [tf.int32, tf.int32], [[None, 2], ()], name="pad")
    rows = tf.placeholder(tf.int32)
    one, many = q.enqueue((rows, 1)), q.enqueue_many((rows, [1, 2]))
    found = [attempt(sess.run, one, {rows: each}) for each in ([[1, 2, 3]], [1, 2])]
    found += [attempt(sess.run, many, {rows: np.zeros(shape)}) for shape in ((2, 1, 3), (3, 1, 2), (2, 2))]
    sess.run(q.close())
    ops = (q.enqueue(([[1, 2]], 1)), q.dequeue(), q.dequeue_many(2), q.dequeue_up_to(2), q.close())
    return found + [attempt(sess.run, op) for op in ops]


@case(graph=False)
def names_in_errors(tf, sess):
    found = []
    with tf.name_scope("scope"):
        queues = [
            tf.FIFOQueue(3, tf.int32, [()]),
            tf.RandomShuffleQueue(3, 1, tf.int32, [()], name="shuffled"),
            tf.PaddingFIFOQueue(3, tf.int32, [()]),
            tf.FIFOQueue(3, tf.int32, [()], shared_name="shared"),
        ]
    for q in queues:
        sess.run(q.close())
        ops = (q.enqueue(1), q.enqueue_many([[1]]), q.dequeue(), q.dequeue_many(2), q.dequeue_up_to(2), q.close())
        found.append([attempt(sess.run, op) for op in ops])
    return found


@case(graph=False)
def texts_of_mismatches(tf, sess):
    import numpy as np

    value = tf.placeholder(tf.int32)
    two = tf.FIFOQueue(10, [tf.int32, tf.float32])
    found = [attempt(sess.run, op) for op in (two.enqueue((1,)), two.enqueue_many(([1],)), two.dequeue_many(0))]
    found += [attempt(sess.run, op, {value: [1]}) for op in (two.enqueue_many((value, [1, 2])), two.dequeue_up_to(2))]
    square = tf.FIFOQueue(10, [tf.int32, tf.int32], [(3, 3), (3, 3)])
    found.append(attempt(sess.run, square.enqueue((np.ones((3, 3)), value)), {value: np.ones((3, 4))}))
    many = square.enqueue_many((np.ones((2, 3, 3)), value))
    found += [attempt(sess.run, many, {value: np.ones(shape)}) for shape in ((2, 3, 4), (1, 3, 3), (0,))]
    n = tf.placeholder(tf.int32)
    found += [attempt(sess.run, op(n), {n: -1}) for op in (square.dequeue_many, square.dequeue_up_to)]
    return [*found, attempt(sess.run, square.dequeue_up_to(-1))]


@case(graph=False)
def shared_queues_of_all_kinds_that_differ(tf, sess):
    kinds = {
        "fifo": lambda dtypes=tf.int32, shapes=((),), capacity=10: tf.FIFOQueue(
            capacity, dtypes, shapes, shared_name="q"
        ),
        "padding": lambda dtypes=tf.int32, shapes=((),), capacity=10: tf.PaddingFIFOQueue(
            capacity, dtypes, shapes, shared_name="q"
        ),
        "priority": lambda dtypes=tf.int32, shapes=((),), capacity=10: tf.PriorityQueue(
            capacity, dtypes, shapes, shared_name="q"
        ),
        "random": lambda dtypes=tf.int32, shapes=((),), capacity=10: tf.RandomShuffleQueue(
            capacity, 1, dtypes, shapes, seed=5, shared_name="q"
        ),
    }
    found = []
    for name, make in kinds.items():
        with tf.container(name):
            sess.run(make().size())
            found.append([attempt(sess.run, other().size()) for other in kinds.values()])
            for arguments in (
                {"capacity": 11},
                {"dtypes": tf.string},
                {"dtypes": [tf.int32, tf.int64], "shapes": [(), (2, 3)]},
                {"shapes": [(2,)]},
            ):
                found.append(attempt(sess.run, make(**arguments).size()))
    return found


@case(graph=False)
def static_sizes_of_batches(tf, sess):
    def size(n):
        return str(tf.FIFOQueue(10, tf.int32, [()]).dequeue_many(n).shape)

    three = tf.constant(3)
    sizes = (3, three, tf.identity(three), tf.cast(tf.constant(3.0), tf.int32), tf.size(tf.zeros([3])), three + 0)
    found = [size(n) for n in (*sizes, tf.reshape(tf.constant([3]), []), tf.shape(tf.zeros([3]))[0])]
    vectors = [attempt(size, n)[0] for n in ([2], tf.constant([3]), tf.constant([-3]), -1, tf.constant(1) - 2)]
    return [*found, vectors, str(tf.FIFOQueue(10, tf.int32, [()]).dequeue_up_to(-1).shape)]


ARGUMENTS = {
    "close_of_a_number": lambda tf: tf.FIFOQueue(10, tf.int32).close(1),
    "close_of_a_text": lambda tf: tf.FIFOQueue(10, tf.int32).close("yes"),
    "shared_name_of_a_number": lambda tf: tf.FIFOQueue(10, tf.int32, shared_name=5),
    "padding_shapes_of_a_number": lambda tf: tf.PaddingFIFOQueue(10, tf.int32, 5),
    "padding_shapes_of_a_text": lambda tf: tf.PaddingFIFOQueue(10, tf.int32, "ab"),
    "random_seed_of_a_text": lambda tf: tf.RandomShuffleQueue(10, 2, tf.int32, seed="a"),
    "selected_by_a_text": lambda tf: tf.QueueBase.from_list("a", [tf.FIFOQueue(1, tf.int32)]),
    "selected_by_a_float": lambda tf: tf.QueueBase.from_list(1.5, [tf.FIFOQueue(1, tf.int32)]),
    "selected_by_none": lambda tf: tf.QueueBase.from_list(None, [tf.FIFOQueue(1, tf.int32)]),
    "reader_of_a_number": lambda tf: tf.IdentityReader().read(tf.constant(1)),
}

for _name, _function in ARGUMENTS.items():
    _function.__name__ = _name
    _function.__code__ = _function.__code__.replace(co_name=_name)
    case(graph=False)(_function)


def keep_input_of_what_has_to_be_computed(tf, sess):
    found = []
    for keep in (tf.constant(True), tf.greater(tf.constant(3), 2), tf.equal(tf.constant(3), 2), tf.constant(0)):
        tf.train.maybe_batch([1], keep, 2)
        found.append(tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[-1].enqueue_ops[0].name)
    return found


@case(graph=False)
def texts_of_states_that_cannot_be(tf, sess):
    reader = tf.IdentityReader(name="reader")
    state = tf.placeholder(tf.string)
    restore = reader.restore_state(state)
    states = (b"\xff", b"xyz\n\"'\\", b"\x00\x7f\x80")
    return [[attempt(sess.run, restore, {state: each}), sess.run(reader.serialize_state())] for each in states]


@case(graph=False)
def values_by_dtype(tf, sess):
    import numpy as np

    values = (
        *([1, None], [None], [[1, None]], ["a", None], None, {}, object(), 1j, 2.0, True, "a", b"1", [1, [2]]),
        *map(np.array, (["a"], ["1"], [b"1"], "a", [1.5], [-1], [True], [None])),
        np.str_("7"),
        np.array(["1", 1], object),
    )
    found = []
    for value in values:
        for dtype in (tf.int32, tf.float32, tf.string):
            q = tf.FIFOQueue(1, dtype)
            try:
                op = q.enqueue((value,))
            except (TypeError, ValueError) as error:
                found.append(type(error).__name__)
                continue
            sess.run(op)
            found.append(sess.run(q.dequeue()))
    return found


@case(graph=False)
def texts_of_partitions_that_do_not_fit(tf, sess):
    rows, which = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
    made = tf.dynamic_partition(rows, which, 2)
    fed = (([[1, 2]], [1, 0]), (3, [1]), ([1], [5]))
    found = [attempt(sess.run, made, {rows: left, which: right}) for left, right in fed]
    for left, right in (([2], [3]), ([None, 3], [2, 4]), ([2], [2, 1])):
        shaped = tf.placeholder(tf.int32, left), tf.placeholder(tf.int32, right)
        kind, text = attempt(tf.dynamic_partition, *shaped, 2)
        found.append([kind, text.split(" for ")[0]])
    return found


table(
    "",
    {"graph": False},
    close_of_none=lambda tf, sess: tf.FIFOQueue(10, tf.int32).close(None).get_attr("cancel_pending_enqueues"),
)
