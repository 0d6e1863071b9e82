"""Sessions: default sessions, closing, options, callables, threads."""

from compat_cases import case, table


def caught(function, *arguments, **keywords):
    """Return a call's error class and text."""
    try:
        function(*arguments, **keywords)
    except Exception as error:
        cls = next(cls for cls in type(error).__mro__ if "NotAllowed" not in cls.__name__)
        return [cls.__name__, str(error).partition("\n")[0]]
    return "no error"


def eval_in_a_session(tf, sess):
    a = tf.constant(3)
    with sess.as_default():
        inside = [a.eval(), tf.get_default_session() is sess]
    return [*inside, a.eval(session=sess), tf.get_default_session()]


def eval_in_a_session_of_another_graph(tf, sess):
    with tf.Graph().as_default():
        a = tf.constant(1)
    with sess.as_default():
        return caught(a.eval)[0], caught(a.eval, None, sess)[0]


def run_of_an_operation(tf, sess):
    v = tf.Variable(1)
    x = tf.placeholder(tf.int32, [])
    with sess.as_default():
        tf.global_variables_initializer().run()
        result = tf.assign(v, x).op.run({x: 5})
        return [result, v.eval()]


def sessions_nest(tf, sess):
    other = tf.Session()
    seen = []
    with sess.as_default():
        with other:
            seen.append(tf.get_default_session() is other)
        seen.append(tf.get_default_session() is sess)
    seen.append(tf.get_default_session() is None)
    with tf.Session() as third:
        seen += [third.graph is tf.get_default_graph(), tf.get_default_session() is third]
    return seen


def a_session_as_context_sets_the_graph(tf):
    graph = tf.Graph()
    with graph.as_default():
        a = tf.constant(1)
    with tf.Session(graph=graph) as sess:
        inside = tf.get_default_graph() is graph
        value = sess.run(a)
    return [inside, value, tf.get_default_graph() is graph]


def a_default_session_does_not_set_the_graph_of_threads(tf, sess):
    import threading

    seen = []
    with sess.as_default():
        thread = threading.Thread(target=lambda: seen.append(tf.get_default_session()))
        thread.start()
        thread.join()
    return seen


@case(message="Attempted to use a closed Session")
def run_of_a_closed_session(tf, sess):
    a = tf.constant(1)
    sess.close()
    sess.run(a)


def closing_twice(tf, sess):
    tf.constant(1)
    sess.close()
    sess.close()
    return [1]


@case(message="Attempted to use a closed Session")
def session_that_ended(tf):
    a = tf.constant(1)
    with tf.Session() as sess:
        pass
    sess.run(a)


def interactive_session(tf):
    sess = tf.InteractiveSession()
    a = tf.constant(4)
    try:
        return [a.eval(), tf.get_default_session() is sess, tf.get_default_graph() is sess.graph, sess.run(a)]
    finally:
        sess.close()


def interactive_session_is_left_by_close(tf):
    sess = tf.InteractiveSession()
    tf.constant(4)
    sess.close()
    return [tf.get_default_session()]


def session_options(tf):
    config = tf.ConfigProto(
        allow_soft_placement=True,
        log_device_placement=False,
        intra_op_parallelism_threads=1,
        inter_op_parallelism_threads=2,
        device_count={"GPU": 0},
        gpu_options=tf.GPUOptions(allow_growth=True, per_process_gpu_memory_fraction=0.5),
    )
    config.gpu_options.allow_growth = False
    config.operation_timeout_in_ms = 60000
    a = tf.constant(2)
    with tf.Session("", None, config) as sess:
        return [sess.run(a), config.allow_soft_placement, config.operation_timeout_in_ms, sess.graph is a.graph]


def timeout_of_a_session(tf):
    q = tf.FIFOQueue(1, tf.int32)
    x = q.dequeue()
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=50)) as sess:
        return caught(sess.run, x)[0]


def timeout_of_a_run(tf, sess):
    q = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    x = q.dequeue()
    first = caught(sess.run, x, options=tf.RunOptions(timeout_in_ms=50))
    sess.run(q.enqueue([7]))
    return [first[0], sess.run(x, options=tf.RunOptions(timeout_in_ms=60000))]


def run_metadata(tf, sess):
    a = tf.constant(1)
    options = tf.RunOptions(trace_level=tf.RunOptions.NO_TRACE)
    return [sess.run(a, options=options, run_metadata=tf.RunMetadata()), tf.RunOptions.FULL_TRACE]


def uninitialized_variables(tf, sess):
    v = tf.Variable(1, name="v")
    return caught(sess.run, v)[0], caught(sess.run, v + 1)[0], caught(sess.run, tf.assign_add(v, 1))[0]


def sessions_have_their_own_variables_and_queues(tf, sess):
    v = tf.Variable(1)
    q = tf.FIFOQueue(3, tf.int32)
    add, put = tf.assign_add(v, 1), q.enqueue([1])
    init, size = tf.global_variables_initializer(), q.size()
    other = tf.Session()
    for session in (sess, other):
        session.run(init)
    sess.run([add, put])
    return [sess.run([v, size]), other.run([v, size])]


def callables(tf, sess):
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [None])
    total = x + y
    add = sess.make_callable(total, [x, y])
    swapped = sess.make_callable([total, x * 2], feed_list=[y, x])
    plain = sess.make_callable(tf.constant(3))
    op = sess.make_callable(tf.no_op())
    nested = sess.make_callable({"a": [total]}, [x, y])
    return [
        add(1, [2, 3]),
        swapped([1.0], 5),
        plain(),
        op(),
        nested(1, [1]),
        caught(plain, 1)[0],
    ]


@case(message="feed_list")
def callable_with_a_feed_that_is_no_list(tf, sess):
    x = tf.placeholder(tf.float32, [])
    sess.make_callable(x, x)


def callable_of_none(tf, sess):
    tf.constant(1)
    sess.make_callable(None)


def callable_of_a_closed_session(tf, sess):
    call = sess.make_callable(tf.constant(1))
    first = call()
    sess.close()
    return [first, caught(call)[0]]


def graph_grows_between_runs(tf, sess):
    a = tf.constant(1)
    first = sess.run(a)
    b = a + 5
    return [first, sess.run(b), sess.run([a, b])]


def partial_runs_of_a_graph(tf, sess):
    x = tf.placeholder(tf.int32, [], name="x")
    bad = tf.Assert(x > 0, [x])
    good = tf.constant(1)
    return [sess.run(good), caught(sess.run, bad, {x: -1})[0], sess.run(bad, {x: 1})]


def cancellation_by_close(tf, sess):
    import threading

    q = tf.FIFOQueue(1, tf.int32)
    x = q.dequeue()
    started, seen = threading.Event(), []

    def take():
        started.set()
        seen.append(caught(sess.run, x)[0])

    thread = threading.Thread(target=take)
    thread.start()
    started.wait(30)
    # The run returns no value, even if it has begun.
    sess.close()
    thread.join(30)
    return [thread.is_alive(), seen[0] in ("CancelledError", "RuntimeError")]


def order_of_side_effects(tf, sess):
    v = tf.Variable([0])
    first = tf.assign(v, [1])
    with tf.control_dependencies([first]):
        second = tf.assign(v, [2])
        with tf.control_dependencies([second]):
            third = tf.concat([v.read_value(), [9]], 0)
    sess.run(tf.global_variables_initializer())
    return [sess.run(third), sess.run(v)]


def many_threads_in_one_session(tf, sess):
    import threading

    v = tf.Variable(0)
    add = tf.assign_add(v, 1, use_locking=True)
    sess.run(v.initializer)

    def work():
        for _ in range(50):
            sess.run(add.op)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [sess.run(v)]


def static_values(tf, sess):
    a = tf.constant([1, 2])
    x = tf.placeholder(tf.int32, [2, None])
    get = tf.get_static_value
    return [
        get(a),
        get(x),
        get(tf.shape(a)),
        int(get(tf.rank(x))),
        get(tf.cast(a, tf.float32)),
        get(tf.concat([a, a], 0)),
        get(tf.range(3)),
        get(tf.stack([1, 2])),
        get(tf.equal(1, 1)),
    ]


table(
    eval_without_a_session=(
        lambda tf, sess: tf.constant(1).eval(),
        "Cannot evaluate tensor using `eval\\(\\)`: No default session is registered",
    ),
    run_without_a_session=(
        lambda tf, sess: tf.no_op().run(),
        "Cannot execute operation using `run\\(\\)`: No default session is registered",
    ),
    session_with_a_bad_graph=(lambda tf: tf.Session(graph=5), "must be a tf.Graph"),
    session_with_a_bad_config=lambda tf: tf.Session(config=5),
    session_with_a_bad_target=lambda tf: caught(tf.Session, 5)[0],
    run_options_of_another_type=lambda tf, sess: sess.run(tf.constant(1), options=5),
)
