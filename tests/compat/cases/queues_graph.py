"""Queues and their ops in graphs: contexts, other default graphs, selection, callables."""

from compat_cases import case


def caught(function, *arguments, words=""):
    """Return a call's error class, and whether its text has the words."""
    try:
        function(*arguments)
    except Exception as error:
        return [type(error).__name__, words in str(error)]
    return "no error"


def contexts_around_queues(tf, sess):
    variable = tf.Variable(0)
    with tf.control_dependencies([tf.assign_add(variable, 1)]), tf.device("/job:a/gpu:1"):
        queues = [
            tf.FIFOQueue(10, tf.int32),
            tf.RandomShuffleQueue(10, 0, tf.int32),
            tf.PaddingFIFOQueue(10, tf.int32, [[]]),
            tf.PriorityQueue(10, tf.int32, [()]),
        ]
        sizes = [queue.size() for queue in queues]
    return [
        [[op.name for op in queue.queue_ref.op.control_inputs] for queue in queues],
        [queue.queue_ref.device for queue in queues],
        [[op.name for op in size.op.control_inputs] for size in sizes],
        [size.device for size in sizes],
    ]


def operations_while_another_graph_is_the_default(tf):
    queue = tf.FIFOQueue(10, tf.int32, shapes=[()])
    pair, truth, variable = tf.constant([1.0, 2.0]), tf.constant([True, False]), tf.Variable(1)
    with tf.Graph().as_default() as other:
        queue.dequeue_many(2)
        queue.dequeue_up_to(n=2)
        queue.size()
        queue.close()
        tf.reshape(pair, [2, 1])
        tf.concat([pair, pair], 0)
        tf.expand_dims(pair, 0)
        tf.less(pair, 1.0)
        tf.equal(pair, 1.0)
        tf.maximum(pair, 0.5)
        tf.logical_and(truth, True)
        tf.argmax(pair, 0)
        tf.tile(pair, [2])
        tf.slice(pair, [0], [1])
        tf.assign(variable, 3)
        tf.assign_add(variable, 3)
        assert not other.get_operations()
    return [pair, variable]


@case(message="must be from the same graph")
def values_in_another_default_graph(tf):
    queue = tf.FIFOQueue(10, tf.int32, shapes=[()])
    with tf.Graph().as_default():
        queue.enqueue(3)


def too_few_components(tf, sess):
    queue = tf.FIFOQueue(10, [tf.int32, tf.float32, tf.string])
    wanted = "-> expected: resource, int32, float, string->"
    return [
        caught(sess.run, queue.enqueue((1,)), words=f"Signature mismatch, have: resource, int32{wanted}"),
        caught(sess.run, queue.enqueue_many(([1], [2.0])), words=f"have: resource, int32, float{wanted}"),
    ]


def counts_that_are_none(tf, sess):
    queue = tf.FIFOQueue(10, tf.int32, shapes=[()])
    values = [2.5, "a", None, [None], tf.constant(2.0), tf.constant(2, tf.int64)]
    return [caught(queue.dequeue_many, value)[0] for value in values]


def selection_of_queues(tf, sess):
    queues = [tf.FIFOQueue(10, tf.int32) for _ in range(3)]
    for number, queue in enumerate(queues):
        sess.run(queue.enqueue(number))
    return [
        sess.run(tf.QueueBase.from_list(1, queues).dequeue()),
        sess.run(tf.QueueBase.from_list(tf.constant(2, tf.int64), queues).dequeue()),
        sess.run(tf.QueueBase.from_list([0], queues).dequeue()),
        caught(tf.QueueBase.from_list, "x", queues)[0],
        caught(tf.QueueBase.from_list, 1.5, queues)[0],
        caught(sess.run, tf.QueueBase.from_list(3, queues).size(), words="indices = 3 is not in [0, 3)"),
    ]


def callables_with_feeds(tf, sess):
    value = tf.placeholder(tf.int32, [], name="value")
    queue = tf.FIFOQueue(10, tf.int32)
    put = sess.make_callable(queue.enqueue(value), [value])
    get = sess.make_callable(queue.dequeue())
    put(1)
    put(2, 3)
    results = [get(), get(), caught(put)[0], caught(put, [1, 2])[0]]
    sess.close()
    return [
        *results,
        caught(put, 1, words="Attempted to use a closed Session."),
        caught(get, words="Session has been closed."),
    ]


def fetches_that_are_fed(tf, sess):
    size = tf.FIFOQueue(10, tf.int32).size()
    both = [size + 1, size]
    return [type(each).__name__ for each in [sess.run(size, {size: 8}), *sess.run(both, {size: 8}), sess.run(size)]]


def ranges_as_values(tf, sess):
    queue = tf.FIFOQueue(10, tf.int32, shapes=[()])
    sess.run(queue.enqueue_many([range(3)]))
    return [
        sess.run(queue.dequeue_many(3)),
        sess.run(tf.convert_to_tensor(range(1, 7, 2), tf.int64)),
        sess.run(tf.reduce_sum(range(5))),
        sess.run(tf.reshape(range(6), (2, 3))),
        sess.run(tf.gather([5, 6, 7], range(2))),
        sess.run(tf.concat([range(2), range(3)], 0)),
        tf.train.input_producer(range(4), shuffle=False).shapes[0].as_list(),
        caught(tf.constant, range(3))[0],
        caught(tf.constant, {1, 2}, words="Failed to convert elements of {1, 2} to Tensor."),
    ]
