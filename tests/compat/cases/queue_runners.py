"""QueueRunner: its arguments, its definition, how its threads end, and how they are started."""

import re
import threading

from compat_cases import case, table


def attempt(function, *args, **kwargs):
    """Return a call's result, or its error's class and essential words."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        text = str(getattr(error, "message", error)).split("[[")[0]
        lines = [line for line in text.splitlines() if line.strip()] or [""]
        line = lines[-1] if lines[0].startswith("Graph execution error") else lines[0]
        return [type(error).__name__, re.sub(r"_\d+_", "_N_", line.strip())]


def wrong(tf, sess, *args, **kwargs):
    """Return the error class raised by a QueueRunner's constructor."""
    return attempt(tf.train.QueueRunner, *args, **kwargs)[0]


@case(graph=False)
def arguments_that_cannot_be(tf, sess):
    q = tf.FIFOQueue(10, tf.int32)
    ops, ended = [q.enqueue(1)], tf.errors.OutOfRangeError
    found = [wrong(tf, sess, *args) for args in ((), (q,), (q, []), (q, None), (None, ops))]
    for types in ((), ended, [ended], (ValueError,), (ended, 5)):
        found.append(wrong(tf, sess, q, ops, queue_closed_exception_types=types))
    definition = tf.train.QueueRunner(q, ops).to_proto()
    found.append(wrong(tf, sess, q, ops, queue_runner_def=definition))
    return [*found, wrong(tf, sess, queue_runner_def=5), attempt(tf.train.QueueRunner.from_proto, 5)[0]]


def operations_of_a_runner(tf, sess):
    q = tf.FIFOQueue(10, tf.int32)
    op = q.enqueue(1)
    made = tf.train.QueueRunner(q, [op, op])
    found = [made.name, made.queue is q, made.enqueue_ops == [op, op], made.close_op.name, made.cancel_op.name]
    found += [made.queue_closed_exception_types == (tf.errors.OutOfRangeError,), made.exceptions_raised]
    nothing = tf.no_op("nothing")
    given = tf.train.QueueRunner(q, (op,), close_op=nothing, cancel_op=nothing)
    return [*found, given.close_op.name, given.cancel_op.name, type(given.enqueue_ops).__name__]


def _scoped(tf):
    with tf.name_scope("sc"):
        q = tf.FIFOQueue(10, tf.int32)
        return tf.train.QueueRunner(
            q,
            [q.enqueue(1), q.enqueue(2)],
            queue_closed_exception_types=(tf.errors.OutOfRangeError, tf.errors.CancelledError),
        )


def definitions(tf, sess):
    runner = _scoped(tf)
    made = runner.to_proto()
    found = [str(made), made.queue_name, list(made.enqueue_op_name), made.close_op_name, made.cancel_op_name]
    found += [list(made.queue_closed_exception_types), made.SerializeToString(), type(made).__name__]
    found += [str(runner.to_proto(scope)) for scope in ("sc", "sc/", "other", None)]
    return [*found, [field.name for field, _ in made.ListFields()], made.ByteSize(), made.IsInitialized()]


def definitions_are_messages(tf, sess):
    made = _scoped(tf).to_proto()
    kind = type(made)
    copied, parsed, merged = kind(), kind(), kind()
    copied.CopyFrom(made)
    copied.enqueue_op_name.append("more")
    length = parsed.ParseFromString(made.SerializeToString())
    merged.MergeFrom(made)
    merged.MergeFrom(made)
    found = [len(made.enqueue_op_name), copied == made, parsed == made, length, list(merged.enqueue_op_name)]
    found += [kind.FromString(made.SerializeToString()) == made, str(kind())]
    merged.Clear()
    return [*found, merged == kind(), attempt(setattr, made, "nonsense", 1), attempt(lambda: kind(nonsense=1))[0]]


def runners_from_definitions(tf, sess):
    original = _scoped(tf)
    found = []
    for definition, scope in ((original.to_proto(), None), (original.to_proto("sc"), "sc")):
        made = tf.train.QueueRunner.from_proto(definition, import_scope=scope)
        found.append([made.name, type(made.queue).__name__, [op.name for op in made.enqueue_ops], made.close_op.name])
        found.append([made.cancel_op.name, made.queue_closed_exception_types == original.queue_closed_exception_types])
    short = type(original.to_proto())(queue_name="sc/fifo_queue", enqueue_op_name=["sc/fifo_queue_enqueue"])
    short.close_op_name = short.cancel_op_name = "sc/fifo_queue_Close"
    made = tf.train.QueueRunner(queue_runner_def=short)
    found.append(made.queue_closed_exception_types == (tf.errors.OutOfRangeError,))
    found.append(attempt(tf.train.QueueRunner.from_proto, original.to_proto(), import_scope="none"))
    return found


@case(graph=False)
def a_runner_from_a_definition_fills_its_queue(tf, sess):
    q = tf.FIFOQueue(10, tf.int32)
    definition = tf.train.QueueRunner(q, [q.enqueue(counted(tf, sess, 3))]).to_proto()
    coord = tf.train.Coordinator()
    threads = tf.train.QueueRunner.from_proto(definition).create_threads(sess, coord, daemon=True, start=True)
    threads[0].join()
    found = [[each.name for each in threads], sess.run(q.is_closed()), [sess.run(q.dequeue()) for _ in range(3)]]
    coord.request_stop()
    coord.join(threads)
    return found


def counted(tf, sess, limit):
    variable = tf.Variable(0, trainable=False)
    sess.run(variable.initializer)
    return variable.count_up_to(limit)


def enqueue_ops(tf, sess, q, kind):
    """Return operations for a runner that end in different ways."""
    if kind == "end":
        return [q.enqueue(counted(tf, sess, 3))]
    if kind == "two ends":
        return [q.enqueue(counted(tf, sess, 3)), q.enqueue(counted(tf, sess, 4))]
    if kind == "invalid":
        return [q.enqueue((tf.gather(tf.placeholder_with_default([1, 2], [2]), 5),))]
    if kind == "closed":
        other = tf.FIFOQueue(1, tf.int32, [()], name="other")
        sess.run(other.close())
        return [other.enqueue(1)]

    def fail():
        raise ValueError("from Python")

    return [q.enqueue(tf.py_func(fail, [], tf.int32))]


def outcomes(tf, sess, coordinated):
    errors = tf.errors
    more = (errors.OutOfRangeError, errors.CancelledError, errors.InvalidArgumentError)
    found = []
    # Threads ending with an error would print it.
    hook, threading.excepthook = threading.excepthook, lambda args: None
    try:
        for kind in ("end", "two ends", "invalid", "closed", "python"):
            for types in (None, more):
                q = tf.FIFOQueue(100, tf.int32, [()])
                ops = enqueue_ops(tf, sess, q, kind)
                runner = tf.train.QueueRunner(q, ops, queue_closed_exception_types=types)
                coord = tf.train.Coordinator() if coordinated else None
                threads = runner.create_threads(sess, coord, daemon=True, start=True)
                for thread in threads[: len(ops)]:
                    thread.join()
                seen = [kind, [thread.name for thread in threads], sess.run(q.size())]
                seen.append([type(error).__name__ for error in runner.exceptions_raised])
                if coord is None:
                    seen.append(sess.run(q.is_closed()))
                else:
                    stopped = coord.should_stop()
                    if not stopped:
                        seen += [threads[-1].is_alive(), sess.run(q.is_closed())]
                        coord.request_stop()
                    outcome = attempt(coord.join, threads)
                    seen += [stopped, outcome if outcome is None else outcome[0], sess.run(q.is_closed())]
                found.append(seen)
    finally:
        threading.excepthook = hook
    return found


@case(graph=False)
def close_and_cancel_operations_that_do_nothing(tf, sess):
    q = tf.FIFOQueue(100, tf.int32, [()])
    runner = tf.train.QueueRunner(q, enqueue_ops(tf, sess, q, "end"), close_op=tf.no_op(), cancel_op=tf.no_op())
    coord = tf.train.Coordinator()
    threads = runner.create_threads(sess, coord, daemon=True, start=True)
    threads[0].join()
    coord.request_stop()
    coord.join(threads)
    return [sess.run(q.is_closed()), sess.run(q.size())]


@case(graph=False)
def threads_are_made_once_for_a_session(tf, sess):
    q = tf.FIFOQueue(2, tf.int32, [()])
    op = q.enqueue(1)
    runner, coord = tf.train.QueueRunner(q, [op, op]), tf.train.Coordinator()
    first = runner.create_threads(sess)
    found = [[[each.name, each.daemon, each.is_alive()] for each in first], len(runner.create_threads(sess, coord))]
    with tf.Session(graph=sess.graph) as other:
        threads = runner.create_threads(other, coord, daemon=True, start=True)
        found.append([[each.name, each.daemon] for each in threads])
        coord.request_stop()
        coord.join(threads)
        found += [other.run(q.is_closed()), sess.run(q.is_closed())]
        coord.clear_stop()
        found.append(len(runner.create_threads(other, coord)))
    return [*found, attempt(runner.create_threads, None)[0], attempt(runner.create_threads, 5)[0]]


@case(graph=False)
def a_stop_before_the_threads_start(tf, sess):
    q = tf.FIFOQueue(2, tf.int32, [()])
    runner, coord = tf.train.QueueRunner(q, [q.enqueue(1)]), tf.train.Coordinator()
    coord.request_stop()
    coord.join(runner.create_threads(sess, coord, daemon=True, start=True))
    return sess.run([q.size(), q.is_closed()])


@case(graph=False)
def starting_without_a_session(tf, sess):
    class MonitoredSession:
        pass

    class SingularMonitoredSession:
        pass

    found = [attempt(tf.train.start_queue_runners), attempt(tf.train.start_queue_runners, 5)[0]]
    for kind in (MonitoredSession, SingularMonitoredSession):
        found.append(tf.train.start_queue_runners(kind()))
    return [*found, attempt(tf.train.start_queue_runners, object())[0]]


@case(graph=False)
def starting_what_a_collection_holds(tf, sess):
    first, second = tf.FIFOQueue(2, tf.int32, [()]), tf.FIFOQueue(2, tf.int32, [()])
    tf.train.add_queue_runner(tf.train.QueueRunner(first, [first.enqueue(1)] * 2))
    tf.train.queue_runner.add_queue_runner(tf.train.QueueRunner(second, [second.enqueue(1)]))
    tf.train.add_queue_runner(tf.train.QueueRunner(second, [second.enqueue(1)]), collection="mine")
    coord = tf.train.Coordinator()
    with sess.as_default():
        threads = tf.train.start_queue_runners(coord=coord)
        found = [[[each.name, each.daemon, each.is_alive()] for each in threads]]
        found.append(len(tf.train.start_queue_runners(coord=coord)))
        mine = tf.train.start_queue_runners(coord=coord, collection="mine", start=False, daemon=False)
        found.append([[each.daemon, each.is_alive()] for each in mine])
    with tf.Graph().as_default():
        found.append(tf.train.start_queue_runners(sess, coord))
    coord.request_stop()
    coord.join(threads)
    return [*found, sess.run([first.is_closed(), second.is_closed()])]


table(
    "",
    {"graph": False},
    how_threads_end_with_a_coordinator=lambda tf, sess: outcomes(tf, sess, True),
    how_threads_end_without_a_coordinator=lambda tf, sess: outcomes(tf, sess, False),
)
