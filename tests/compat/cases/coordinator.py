"""Coordinator and LooperThread: recorded state, raised errors, and times."""

import sys
import threading

from compat_cases import case


def attempt(function, *args, **kwargs):
    """Return a call's result, or its error's class and first line."""
    try:
        return function(*args, **kwargs)
    except BaseException as error:
        return [type(error).__name__, str(getattr(error, "message", error)).partition("\n")[0]]


def reported(coord, error, as_tuple=False):
    """Report an error to a coordinator while it is handled."""
    try:
        raise error
    except BaseException as raised:
        return attempt(coord.request_stop, sys.exc_info() if as_tuple else raised)


@case(graph=False)
def clean_stop_exception_types(tf, sess):
    made = []
    for types in (None, (), (tf.errors.OutOfRangeError,), [ValueError], tf.errors.OutOfRangeError, 5):
        outcome = attempt(tf.train.Coordinator, types)
        made.append(outcome[0] if isinstance(outcome, list) else type(outcome).__name__)
    return made


@case(graph=False)
def flags(tf, sess):
    coord = tf.train.Coordinator()
    found = [coord.should_stop(), coord.joined, coord.wait_for_stop(0.01), coord.wait_for_stop(-1)]
    found += [coord.request_stop(), coord.should_stop(), coord.wait_for_stop(), coord.join(), coord.joined]
    coord.clear_stop()
    return [*found, coord.should_stop(), coord.joined]


@case(graph=False)
def errors_by_clean_types(tf, sess):
    found = []
    for types in (None, (), (ValueError,)):
        for error in (
            ValueError("v"),
            tf.errors.OutOfRangeError(None, None, "o"),
            KeyboardInterrupt("k"),
            StopIteration("s"),
            SystemExit(3),
        ):
            for as_tuple in (False, True):
                coord = tf.train.Coordinator(types)
                found.append([reported(coord, error, as_tuple), coord.should_stop(), coord.joined])
                found.append([attempt(coord.raise_requested_exception), attempt(coord.join), attempt(coord.join)])
                found.append(coord.joined)
                coord.clear_stop()
                found.append([coord.should_stop(), coord.joined, attempt(coord.raise_requested_exception)])
                found.append(attempt(coord.join))
    return found


@case(graph=False)
def the_first_request_counts(tf, sess):
    plain, two = tf.train.Coordinator(), tf.train.Coordinator()
    plain.request_stop()
    reported(plain, ValueError("late"))
    reported(two, ValueError("one"))
    reported(two, TypeError("two"))
    return [attempt(plain.join), attempt(two.join)]


@case(graph=False)
def requests_after_the_join(tf, sess):
    coord = tf.train.Coordinator()
    found = [attempt(coord.join, []), coord.should_stop(), coord.joined]
    found += [reported(coord, ValueError("after")), coord.should_stop()]
    found += [reported(coord, ValueError("after"), as_tuple=True), coord.should_stop()]
    return [*found, reported(coord, tf.errors.OutOfRangeError(None, None, "o")), coord.should_stop()]


@case(graph=False)
def stop_on_exception(tf, sess):
    def fail(coord, error):
        with coord.stop_on_exception():
            raise error

    wrong, fine, ended = (tf.train.Coordinator() for _ in range(3))
    with fine.stop_on_exception():
        pass
    found = [attempt(fail, wrong, ValueError("v")), wrong.should_stop(), attempt(wrong.join), fine.should_stop()]
    found += [attempt(fail, ended, tf.errors.OutOfRangeError(None, None, "o")), ended.should_stop()]
    return [*found, attempt(ended.join), attempt(fail, ended, ValueError("after"))]


@case(graph=False)
def threads_that_still_run(tf, sess):
    release, found = threading.Event(), []
    for error in (None, ValueError("v"), tf.errors.OutOfRangeError(None, None, "o")):
        for ignore in (False, True):
            coord = tf.train.Coordinator()
            thread = threading.Thread(target=release.wait, name="laggard", daemon=True)
            thread.start()
            coord.register_thread(thread)
            coord.request_stop() if error is None else reported(coord, error)
            found.append(attempt(coord.join, stop_grace_period_secs=0.01, ignore_live_threads=ignore))
            # By the second join the thread is forgotten.
            found.append([coord.joined, attempt(coord.join, stop_grace_period_secs=0)])
            found.append(attempt(coord.join, (thread,), -1, ignore_live_threads=ignore))
    release.set()
    return found


@case(graph=False)
def a_thread_that_was_never_started(tf, sess):
    coord, thread = tf.train.Coordinator(), threading.Thread()
    coord.register_thread(thread)
    coord.request_stop()
    return [attempt(coord.join, [thread], 0), attempt(coord.join, {thread})]


@case(graph=False)
def looper_arguments(tf, sess):
    coord, looper = tf.train.Coordinator(), tf.train.LooperThread
    outcomes = [attempt(looper, *args) for args in ((5, 1), (coord, 1, None, (1,)), (coord, 1, None, None, {"a": 1}))]
    return [outcome[0] for outcome in outcomes]


@case(graph=False)
def looper_calls(tf, sess):
    coord, calls = tf.train.Coordinator(), []

    def target(a, b=1):
        calls.append([a, b])
        if len(calls) == 3:
            coord.request_stop()

    thread = tf.train.LooperThread.loop(coord, None, target, args=(1,), kwargs={"b": 2})
    coord.join([thread])
    return [calls, thread.daemon, type(thread).__name__]


@case(graph=False)
def looper_methods(tf, sess):
    found = []
    for stopped_before in (False, True):
        coord, calls = tf.train.Coordinator(), []

        class Looper(tf.train.LooperThread):
            def start_loop(self, calls=calls):
                calls.append("start")

            def stop_loop(self, calls=calls):
                calls.append("stop")

            def run_loop(self, calls=calls):
                calls.append("run")
                raise ValueError("looped")

        if stopped_before:
            coord.request_stop()
        Looper(coord, 0.01).start()
        found.append([attempt(coord.join), calls])
    return found


@case(graph=False)
def registered_threads(tf, sess):
    """TensorFlow's own tests poll this private attribute."""
    coord = tf.train.Coordinator()
    thread = threading.Thread()
    before = len(coord._registered_threads)
    coord.register_thread(thread)
    found = thread in coord._registered_threads
    coord.join()
    return [before, found, len(coord._registered_threads)]
