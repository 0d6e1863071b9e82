"""Makes every blocking call, and blocks in it, to test how programs end.

`blocked_calls.py exit native` blocks a daemon thread in each call and lets Python exit. It reports this on the file
descriptor given as third argument.
`blocked_calls.py interrupt drop-in` blocks the main thread in one call after the other and sends this process a SIGINT
each time. It prints calls that do not end with KeyboardInterrupt or that change anything.

It replaces private functions, called when a thread is about to wait and when a queue is made.
"""

import contextlib
import os
import queue as queues
import signal
import sys
import threading
import time
import weakref
from functools import partial

import numpy as np

import pipeline
from pipeline import Coordinator, FIFOQueue, PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue
from pipeline.queues.typed import TypedQueue
from pipeline.sync.stop_flag import StopFlag


def full(kind, *arguments):
    queue = kind(2, *arguments, "int32", shapes=[()])
    value = ([1, 2], [1, 2]) if kind is PriorityQueue else [[1, 2]]
    queue.enqueue_many(value)
    return queue


def empty(kind=FIFOQueue, *arguments):
    return kind(2, *arguments, "int32", shapes=[()])


def fed_by_nobody():
    """A batch loop with a thread waiting for rows that never arrive, after the first two."""
    batches = pipeline.batch(full(FIFOQueue).dequeue, 2)
    next(batches)
    return batches


def one_of(queue):
    return QueueBase.from_list(0, [queue])


def native():
    """Return the blocking native calls, by name."""
    looper = pipeline.LooperThread(Coordinator(), None, threading.Event().wait)
    looper.start()
    waiting = Coordinator()
    waiting.register_thread(looper)
    runner_queue = full(FIFOQueue)
    coord = Coordinator()
    runner = pipeline.QueueRunner(runner_queue, [lambda: runner_queue.enqueue(1)] * 2)
    runner.create_threads(coord=coord, daemon=True, start=True)
    names = pipeline.FIFOQueue(1, "string", shapes=[()])
    closing = full(FIFOQueue)
    threading.Thread(target=lambda: ended(lambda: closing.enqueue(3)), daemon=True).start()
    batches = fed_by_nobody()
    wait_for_waits(2 + 1 + 1)
    return {
        "enqueue": partial(full(FIFOQueue).enqueue, 3),
        "enqueue with a timeout": partial(full(FIFOQueue).enqueue, 3, timeout=1e6),
        "enqueue_many": partial(full(FIFOQueue).enqueue_many, [[3, 4, 5]]),
        "dequeue": empty().dequeue,
        "dequeue with a timeout": partial(empty().dequeue, timeout=1e6),
        "dequeue_many": partial(full(FIFOQueue).dequeue_many, 5),
        "dequeue_many into arrays": partial(empty().dequeue_many, 3, out=np.empty(3, np.int32)),
        "dequeue_up_to": partial(full(FIFOQueue).dequeue_up_to, 5),
        "more than there is room to collect": partial(full(FIFOQueue).dequeue_many, 2**31 - 1),
        "iteration": partial(list, empty()),
        "close": closing.close,
        "enqueue shuffled": partial(full(RandomShuffleQueue, 0).enqueue, 3),
        "dequeue shuffled": empty(RandomShuffleQueue, 1).dequeue,
        "dequeue_many shuffled": partial(full(RandomShuffleQueue, 1).dequeue_many, 2),
        "enqueue padded": partial(full(PaddingFIFOQueue).enqueue, 3),
        "dequeue_many padded": partial(empty(PaddingFIFOQueue).dequeue_many, 3),
        "enqueue by priority": partial(full(PriorityQueue).enqueue, (3, 3)),
        "dequeue_many by priority": partial(full(PriorityQueue).dequeue_many, 3),
        "dequeue of anything": FIFOQueue(1).dequeue,
        "dequeue of a chosen queue": one_of(empty()).dequeue,
        "batch": partial(next, batches),
        "read": lambda: pipeline.TextLineReader().read(names),
        "read_up_to": lambda: pipeline.TextLineReader().read_up_to(names, 3),
        "wait_for_stop": Coordinator().wait_for_stop,
        "join": waiting.join,
        "join of runners": coord.join,
    }


def drop_in():
    """Return the blocking calls in a drop-in session, by name."""
    import pipeline.compat.v1 as tf

    tf.reset_default_graph()
    session = tf.Session()
    initial = []

    def queue(kind=tf.FIFOQueue, *arguments, filled=True):
        made = kind(2, *arguments, tf.int32, shapes=[[]])
        if filled:
            ones = [np.int64([1, 2]), [1, 2]] if kind is tf.PriorityQueue else [[1, 2]]
            initial.append(made.enqueue_many(ones))
        return made

    def staged():
        area = tf.StagingArea([tf.int32], capacity=1)
        initial.append(area.put([tf.constant(1)]))
        return area.put([tf.constant(2)])

    names = tf.FIFOQueue(1, tf.string, shapes=[[]])
    closing = queue()
    behind = closing.enqueue(3)
    two = queue(filled=False)
    rows = tf.train.batch([queue(filled=False).dequeue()], 2)
    shuffled = tf.train.shuffle_batch([queue(filled=False).dequeue()], 2, 20, 5, num_threads=2)
    fetches = {
        "enqueue": queue().enqueue(3),
        "enqueue_many": queue().enqueue_many([[3, 4, 5]]),
        "dequeue": queue(filled=False).dequeue(),
        "dequeue_many": queue().dequeue_many(5),
        "dequeue_up_to": queue().dequeue_up_to(5),
        "close": closing.close(),
        "enqueue shuffled": queue(tf.RandomShuffleQueue, 0).enqueue(3),
        "dequeue shuffled": queue(tf.RandomShuffleQueue, 1).dequeue_many(2),
        "dequeue_many padded": queue(tf.PaddingFIFOQueue).dequeue_many(3),
        "dequeue by priority": queue(tf.PriorityQueue, filled=False).dequeue(),
        "dequeue of a chosen queue": tf.QueueBase.from_list(0, [queue(filled=False)]).dequeue(),
        "two waits at a time": [two.dequeue(), queue().enqueue(3)],
        "read": tf.TextLineReader().read(names),
        "read_up_to": tf.TextLineReader().read_up_to(names, 3),
        "batch": rows,
        "shuffle_batch": shuffled,
        "stage": staged(),
        "unstage": tf.StagingArea([tf.int32]).get(),
        "unstage by key": tf.MapStagingArea([tf.int32]).get(tf.constant(1, tf.int64)),
        "Python": tf.py_func(threading.Event().wait, [], tf.bool),
    }
    session.run(initial)
    session.run(tf.global_variables_initializer())
    coord = tf.train.Coordinator()
    tf.train.start_queue_runners(session, coord)
    threading.Thread(target=lambda: ended(lambda: session.run(behind)), daemon=True).start()
    wait_for_waits(1 + 1 + 1)  # one of the runner's two threads waits for its turn
    calls = {name: lambda fetch=fetch: session.run(fetch) for name, fetch in fetches.items()}
    limit = tf.RunOptions(timeout_in_ms=10**9)
    calls["dequeue with a timeout"] = lambda: session.run(fetches["dequeue"], options=limit)
    calls["callable"] = session.make_callable(fetches["dequeue"])
    calls["join of runners"] = coord.join
    return calls


def ended(call):
    """Call it; any error may end the wait."""
    with contextlib.suppress(Exception):
        call()


reached = set()  # threads about to wait
made = []  # weak references to all queues


def note_waits():
    """Record threads about to wait, and all queues."""

    def noting(wait):
        def noted(*arguments, **options):
            if sys._getframe(2).f_code is not threading.Thread.start.__code__:
                reached.add(threading.get_ident())
            return wait(*arguments, **options)

        return noted

    set_up = TypedQueue._setup

    def setup(queue, *arguments, **options):
        set_up(queue, *arguments, **options)
        made.append(weakref.ref(queue))

    TypedQueue._setup = setup
    classes = [TypedQueue]
    for each in classes:
        classes += each.__subclasses__()
        if "_about_to_wait" in vars(each):
            each._about_to_wait = noting(each._about_to_wait)
    threading.Condition.wait = noting(threading.Condition.wait)
    StopFlag._wait_once = noting(StopFlag._wait_once)
    queues.SimpleQueue = type("SimpleQueue", (queues.SimpleQueue,), {"get": noting(queues.SimpleQueue.get)})


def wait_for_waits(count):
    """Wait until this many calls in other threads wait in queues, so that their state no longer changes."""
    while sum(sum(queue.stats()[-2:]) for queue in queues_of_all()) != count:
        time.sleep(0.001)


def queues_of_all():
    """Return all queues ready for use.

    They are not taken from the collector's objects. Those include unfinished tuples in other threads, and a second
    reference makes their construction fail ("bad argument to internal function").
    """
    return [queue for each in made.copy() if (queue := each()) is not None]


def states():
    """Return each queue's elements and waiting calls."""
    return {id(queue): (queue.size(), queue.stats()[-2:]) for queue in queues_of_all()}


def exit_blocked(calls):
    threads = [threading.Thread(target=ended, args=(call,), daemon=True) for call in calls.values()]
    for thread in threads:
        thread.start()
    while not {thread.ident for thread in threads} <= reached:
        time.sleep(0.001)
    for name, thread in zip(calls, threads, strict=True):
        if not thread.is_alive():
            print(f"{name} did not block")


def asleep(thread):
    """Return whether a thread waits, according to the system.

    Python's locks miss a signal between their last check and the wait itself; queues do not.
    """
    with contextlib.suppress(OSError), open(f"/proc/self/task/{thread}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "S"
    return True


def interrupt_each(calls):
    main, process = threading.get_ident(), threading.get_native_id()
    armed = []

    def interrupt(lost):
        while not armed or main not in reached or (armed == ["Python"] and not asleep(process)):
            time.sleep(0.0005)
        os.kill(os.getpid(), signal.SIGINT)
        for each in iter(lost.get, None):
            if each.exc_type is KeyboardInterrupt and getattr(each.object, "__module__", "") == "_weakrefset":
                # It interrupted a finalizer, called by Python between any two steps, which drops the exception.
                os.kill(os.getpid(), signal.SIGINT)
            else:
                sys.__unraisablehook__(each)

    kept = queues_of_all()  # so that no address is used twice
    for name, call in calls.items():
        before = {key: state for key, state in states().items() if key in set(map(id, kept))}
        lost = queues.SimpleQueue()
        sys.unraisablehook = lost.put  # no Python code, because the next signal could interrupt it
        sender = threading.Thread(target=interrupt, args=(lost,), daemon=True)
        sender.start()
        reached.discard(main)
        try:
            armed.append(name)
            call()
        except KeyboardInterrupt:
            armed.clear()
            lost.put(None)
            sender.join()
            after = {key: state for key, state in states().items() if key in before}
            if after != before:
                print(f"{name}: {before} became {after}")
        except BaseException as error:
            print(f"{name}: {error!r}")
        else:
            print(f"{name} did not block")


def main():
    what, where, *report = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    note_waits()
    calls = {"native": native, "drop-in": drop_in}[where]()
    {"exit": exit_blocked, "interrupt": interrupt_each}[what](calls)
    for number in report:  # a file descriptor written to when the main thread ends
        os.write(int(number), str(time.monotonic()).encode())


if __name__ == "__main__":
    main()
