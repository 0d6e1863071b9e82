"""tf.train.Supervisor: preparing sessions, starting runners, and stopping."""

import glob
import threading

from compat_cases import case, table


def _numbers(tf, count=3):
    return tf.train.range_input_producer(count, num_epochs=1, shuffle=False).dequeue()


@case(graph=False)
def runners_run_and_the_end_is_quiet(tf):
    number, seen = _numbers(tf), []
    sv = tf.train.Supervisor(logdir=None)
    with sv.managed_session() as sess:
        while not sv.should_stop():
            seen.append(sess.run(number))
    return [seen, sv.should_stop(), sv.coord.joined]


@case(graph=False)
def an_error_of_the_body_is_raised_at_the_end(tf):
    sv = tf.train.Supervisor(logdir=None)
    with sv.managed_session():
        raise KeyError("of the body")


@case(graph=False)
def an_error_of_a_thread_is_raised_at_the_end(tf):
    bad = tf.py_func(lambda: 1 // 0, [], tf.int64)
    queue = tf.FIFOQueue(5, tf.int64, [[]])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(bad)]))
    sv = tf.train.Supervisor(logdir=None)
    with sv.managed_session():
        sv.wait_for_stop()


@case(graph=False)
def the_parts(tf, tmp):
    step = tf.train.create_global_step()
    tf.summary.scalar("s", tf.constant(1.0))
    sv = tf.train.Supervisor(logdir=tmp, save_summaries_secs=7, save_model_secs=0)
    sv.summary_writer.close()
    graph = tf.get_default_graph()
    return [
        sv.is_chief,
        sv.global_step is step,
        sv.summary_op.name,
        sv.init_op.name,
        sv.init_feed_dict,
        sv.ready_op.dtype.name,
        sv.save_summaries_secs,
        sv.save_path[len(tmp) :],
        sv.summary_writer is not None,
        graph.finalized,
        len(tf.get_collection(tf.GraphKeys.INIT_OP)),
        len(tf.get_collection(tf.GraphKeys.LOCAL_INIT_OP)),
        [tf.train.Supervisor.USE_DEFAULT, sv.coord.should_stop()],
    ]


@case(graph=False)
def a_loop_of_its_own(tf):
    calls, done = [], threading.Event()

    def each(value, more):
        calls.append([value, more])
        if len(calls) == 3:
            done.set()

    sv = tf.train.Supervisor(logdir=None)
    with sv.managed_session(start_standard_services=False):
        looper = sv.loop(None, each, args=(1,), kwargs={"more": 2})
        done.wait(30)
        sv.request_stop()
    return [calls[:3], looper.is_alive(), isinstance(looper, tf.train.LooperThread)]


@case(graph=False)
def services_write_summaries(tf, tmp):
    step = tf.train.create_global_step()
    tf.summary.scalar("s", tf.cast(step, tf.float32))
    sv = tf.train.Supervisor(logdir=tmp, saver=None)
    with sv.managed_session() as sess:
        sv.summary_computed(sess, sess.run(sv.summary_op))
    events = [each for file in glob.glob(f"{tmp}/events*") for each in tf.train.summary_iterator(file)]
    logs = [each.session_log.status for each in events if each.HasField("session_log")]
    return [logs, sorted({value.tag for each in events for value in each.summary.value} - {"global_step/sec"})]


@case(graph=False)
def a_variable_without_a_device(tf):
    tf.Variable(1)
    tf.train.Supervisor(logdir=None, is_chief=False)


@case(graph=False)
def a_session_of_ones_own(tf):
    v = tf.Variable(3)
    sv = tf.train.Supervisor(logdir=None, init_fn=lambda sess: seen.append(sess.run(v)), saver=None)
    seen = []
    sess = sv.PrepareSession("")
    value = sess.run(v)
    sv.Stop()
    return [seen, value, sv.ShouldStop()]


table(
    "",
    {"graph": False},
    a_summary_without_a_writer=lambda tf, sess: tf.train.Supervisor(logdir=None).summary_computed(sess, b""),
    services_of_one_that_is_not_the_chief=lambda tf, sess: tf.train.Supervisor(
        logdir=None, is_chief=False
    ).start_standard_services(sess),
)
