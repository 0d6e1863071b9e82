"""Monitored sessions and their hooks."""

import numpy as np
from compat_cases import case, table


def hook_class(tf, calls):
    class Hook(tf.train.SessionRunHook):
        def begin(self):
            calls.append("begin")

        def after_create_session(self, session, coord):
            calls.append(["after_create_session", isinstance(session, tf.Session), coord.should_stop()])

        def before_run(self, run_context):
            calls.append(["before_run", list(run_context.original_args.feed_dict or {}) != []])

        def after_run(self, run_context, run_values):
            calls.append(["after_run", run_values.results])

        def end(self, session):
            calls.append("end")

    return Hook


def _numbers(tf, count=3):
    return tf.train.range_input_producer(count, num_epochs=1, shuffle=False).dequeue()


@case(graph=False)
def runners_are_started_and_the_end_is_clean(tf):
    number, seen = _numbers(tf), []
    with tf.train.MonitoredSession() as sess:
        while not sess.should_stop():
            seen.append(sess.run(number))
    return [seen, sess.should_stop(), sess.graph is None]


@case(graph=False)
def a_singular_session_ends_cleanly_too(tf):
    number, seen = _numbers(tf), []
    with tf.train.SingularMonitoredSession() as sess:
        seen.append(isinstance(sess.raw_session(), tf.Session))
        while not sess.should_stop():
            seen.append(sess.run(number))
    return seen


@case(graph=False)
def programs_reach_the_inner_session_and_the_coordinator(tf):
    with tf.train.MonitoredSession() as sess:
        # TensorFlow's private names, used by programs.
        inner, creator = sess._tf_sess(), sess._coordinated_creator
        found = [isinstance(inner, tf.Session), inner is creator.tf_sess, creator.coord.should_stop()]
        return [*found, sess.run_step_fn(lambda step_context: step_context.session is inner)]


@case(graph=False)
def a_training_session(tf):
    step = tf.train.create_global_step()
    more = tf.assign_add(step, 1)
    with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(last_step=3)]) as sess:
        seen = []
        while not sess.should_stop():
            seen.append(sess.run(more))
    return seen


@case(graph=False)
def steps_are_counted_from_the_first(tf):
    step = tf.train.create_global_step()
    more = tf.assign_add(step, 1)
    with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(num_steps=2)]) as sess:
        seen = []
        while not sess.should_stop():
            seen.append(sess.run(more))
    return seen


@case(graph=False)
def hooks_are_called_in_order(tf):
    calls, value = [], tf.placeholder_with_default(1.0, [])
    hook = hook_class(tf, calls)
    with tf.train.MonitoredSession(hooks=[hook(), hook()]) as sess:
        sess.run(value)
        sess.run(value, {value: 2.0})
    return calls


@case(graph=False)
def hooks_are_not_ended_after_an_error(tf):
    calls = []
    try:
        with tf.train.MonitoredSession(hooks=[hook_class(tf, calls)()]):
            raise ValueError("mine")
    except ValueError as error:
        calls.append(str(error))
    return calls


@case(graph=False)
def stop_iteration_is_a_clean_end(tf):
    calls = []
    with tf.train.MonitoredSession(hooks=[hook_class(tf, calls)()]):
        raise StopIteration
    return calls


@case(graph=False)
def hooks_add_fetches_and_feeds(tf):
    x = tf.placeholder(tf.float32, [])
    double = x * 2

    class Feeding(tf.train.SessionRunHook):
        def before_run(self, run_context):
            return tf.train.SessionRunArgs({"double": double}, {x: 4.0})

        def after_run(self, run_context, run_values):
            self.seen = run_values.results

    hook = Feeding()
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        return [sess.run(x + 1), hook.seen]


@case(graph=False)
def two_hooks_cannot_feed_one_tensor(tf):
    x = tf.placeholder(tf.float32, [])
    hooks = [tf.train.FeedFnHook(lambda: {x: 1.0}) for _ in range(2)]
    with tf.train.MonitoredSession(hooks=hooks) as sess:
        sess.run(x)


@case(graph=False)
def a_hook_and_the_program_cannot_feed_one_tensor(tf):
    x = tf.placeholder(tf.float32, [])
    with tf.train.MonitoredSession(hooks=[tf.train.FeedFnHook(lambda: {x: 1.0})]) as sess:
        sess.run(x, {x: 2.0})


@case(graph=False)
def feeds_of_a_function(tf):
    x, values = tf.placeholder(tf.float32, []), iter([1.0, 2.0])
    with tf.train.MonitoredSession(hooks=[tf.train.FeedFnHook(lambda: {x: next(values)})]) as sess:
        return [sess.run(x), sess.run(x)]


@case(graph=False)
def no_run_after_the_end(tf):
    step = tf.train.create_global_step()
    more = tf.assign_add(step, 1)
    with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=1)]) as sess:
        sess.run(more)
        sess.run(more)


@case(graph=False)
def the_graph_is_finalised_within(tf):
    tf.constant(1)
    with tf.train.MonitoredSession():
        inside = tf.get_default_graph().finalized
    return [inside, tf.get_default_graph().finalized]


@case(graph=False)
def nothing_can_be_added_within(tf):
    tf.constant(1)
    with tf.train.MonitoredSession():
        tf.constant(2)


@case(graph=False)
def close_once(tf):
    tf.constant(1)
    sess = tf.train.MonitoredSession()
    sess.close()
    sess.close()


@case(graph=False)
def step_functions(tf):
    value = tf.constant(3)
    with tf.train.MonitoredSession() as sess:
        plain = sess.run_step_fn(lambda step_context: step_context.session.run(value))
        hooked = sess.run_step_fn(lambda step_context: step_context.run_with_hooks(value))
        ended = False
        try:
            sess.run_step_fn(lambda step_context: step_context.request_stop())
        except StopIteration:
            ended = True
    return [plain, hooked, ended]


@case(graph=False, message="`step_fn` may either have one `step_context` argument")
def step_functions_have_one_argument(tf):
    value = tf.constant(3)
    with tf.train.MonitoredSession() as sess:
        sess.run_step_fn(lambda context: context.session.run(value))


@case(graph=False, message="Variables not initialized: v")
def what_is_not_initialised_is_named(tf):
    tf.Variable(1.0, name="v")
    tf.train.MonitoredSession(tf.train.ChiefSessionCreator(tf.train.Scaffold(init_op=tf.no_op())))


@case(graph=False)
def a_scaffold_initialises(tf):
    v, w = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="w")
    x = tf.placeholder(tf.float32, [])
    calls = []
    scaffold = tf.train.Scaffold(
        init_op=tf.group(tf.assign(v, x), w.initializer),
        init_feed_dict={x: 5.0},
        init_fn=lambda scaffold, sess: calls.append(sess.run(w)),
    )
    with tf.train.SingularMonitoredSession(scaffold=scaffold) as sess:
        return [sess.run([v, w]), calls]


@case(graph=False)
def scaffolds_are_copied(tf):
    op = tf.no_op()
    scaffold = tf.train.Scaffold(local_init_op=op, copy_from_scaffold=tf.train.Scaffold(init_op=op))
    return [scaffold.init_op is op, scaffold.local_init_op is op, scaffold.ready_op]


@case(graph=False)
def the_ops_of_a_scaffold(tf):
    tf.Variable(1.0, name="v")
    tf.Variable(1.0, name="l", collections=["local_variables"])
    before = len(tf.get_default_graph().get_operations())
    tf.train.Scaffold(saver=tf.train.Saver() if hasattr(tf.train, "Saver") else None, init_op=None)
    scaffold = tf.train.Scaffold()
    scaffold.finalize()
    made = [each for each in tf.get_default_graph().get_operations()[before:] if not each.name.startswith("save")]
    return [f"{each.name} {each.type}" for each in made]


@case(graph=False)
def an_error_of_a_runner_is_raised(tf):
    broken = tf.decode_csv(_numbers_as_text(tf), [[1]])
    batch = tf.train.batch(broken, 2)
    with tf.train.MonitoredSession() as sess:
        sess.run(batch)


def _numbers_as_text(tf):
    return tf.train.string_input_producer(["a,b"], shuffle=False).dequeue()


@case(graph=False)
def nan_fails(tf):
    loss = tf.constant(np.nan)
    with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(loss)]) as sess:
        try:
            sess.run(loss)
        except tf.train.NanLossDuringTrainingError as error:
            return str(error)


@case(graph=False)
def nan_stops(tf):
    loss = tf.constant(np.nan)
    with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(loss, fail_on_nan_loss=False)]) as sess:
        sess.run(loss)
        return sess.should_stop()


@case(graph=False)
def final_ops(tf):
    value = tf.constant(3)
    hook = tf.train.FinalOpsHook({"v": value})
    with tf.train.MonitoredSession(hooks=[hook]):
        before = hook.final_ops_values
    return [before, hook.final_ops_values]


@case(graph=False)
def timers(tf):
    timer = tf.train.SecondOrStepTimer(every_steps=3)
    seen = [timer.should_trigger_for_step(0), timer.update_last_triggered_step(0)[1]]
    seen += [timer.should_trigger_for_step(step) for step in (0, 1, 2, 3, 4)]
    seen += [timer.update_last_triggered_step(4)[1], timer.last_triggered_step()]
    timer.reset()
    return [*seen, timer.last_triggered_step()]


@case(graph=False)
def values_are_logged(tf):
    a, b = tf.constant(1.5, name="a"), tf.constant([1, 2], name="b")
    texts = []
    hook = tf.train.LoggingTensorHook(
        {"x": a, "y": "b"}, every_n_iter=2, formatter=lambda values: texts.append(str(sorted(values))) or ""
    )
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        for _ in range(5):
            sess.run(b)
    return texts


@case(graph=False)
def summaries_are_saved(tf, sess, tmp):
    import os

    step = tf.train.create_global_step()
    more = tf.assign_add(step, 1)
    tf.summary.scalar("twice", step * 2)
    scaffold = tf.train.Scaffold()
    hook = tf.train.SummarySaverHook(save_steps=3, output_dir=tmp, scaffold=scaffold)
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold), hooks=[hook]) as monitored:
        for _ in range(8):
            monitored.run(more)
    tf.summary.FileWriterCache.clear()
    (name,) = os.listdir(tmp)
    events = list(tf.train.summary_iterator(os.path.join(tmp, name)))
    return [[event.step, [value.tag for value in event.summary.value]] for event in events if event.step]


table(
    timers_need_one_of_two=lambda tf: tf.train.SecondOrStepTimer(),
    timers_take_one_of_two=lambda tf: tf.train.SecondOrStepTimer(every_secs=1.0, every_steps=1),
    stop_hooks_need_one_of_two=lambda tf: tf.train.StopAtStepHook(),
    logging_hooks_need_an_interval=lambda tf: tf.train.LoggingTensorHook([]),
)


table(
    "",
    {"graph": False},
    stop_hooks_need_a_global_step=lambda tf: tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=1)]),
)
