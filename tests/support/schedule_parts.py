"""Replacements for waits under a schedule: locks, conditions, queues, clocks, and thread starts and ends.

`replaced` puts these into the product's waiting modules, in place of `threading`, `queue` and `time`. The product needs
no hook, because a module finds its locks by these names.
"""

import collections
import contextlib
import importlib
import itertools
import queue
import threading
import time
from _thread import get_ident

import pipeline

MODULES = (
    "pipeline.sync.stop_flag",
    "pipeline.sync.ending",
    "pipeline.diagnostics.clocks",
    "pipeline.diagnostics.frames",
    "pipeline.diagnostics.live",
    "pipeline.diagnostics.workers",
    "pipeline.queues.typed",
    "pipeline.queues.waits",
    "pipeline.workers.pool",
    "pipeline.workers.threads",
    "pipeline.stages.prefetch",
    "pipeline.stages.segment",
    "pipeline.stages.chunk",
    "pipeline.stages.crew",
    "pipeline.datasets.iterator",
    "pipeline.runners.coordinator",
    "pipeline.runners.runner",
    "reference",
)


class _Hashes:
    """Hashes threads by their order, because hashing by address would vary the order in sets of threads."""

    def __init__(self):
        self.begin()

    def begin(self):
        """Begin a schedule."""
        self._numbers = itertools.count(1)

    def __call__(self, thread):
        found = vars(thread).get("hash_in_schedules")
        if found is None:
            found = vars(thread)["hash_in_schedules"] = next(self._numbers)
        return found


for each in threading.enumerate():  # these were hashed by address before
    vars(each)["hash_in_schedules"] = object.__hash__(each)
_hashes = _Hashes()
threading.Thread.__hash__ = lambda thread: _hashes(thread)


class Lock:
    """Replaces `threading.Lock`."""

    def __init__(self, schedule):
        self._schedule, self._held = schedule, False

    def acquire(self, blocking=True, timeout=-1):
        self._schedule.point()
        if self._held and blocking:
            self._schedule.point(lambda: not self._held, None if timeout < 0 else timeout)
        if self._held:
            return False
        self._held = True
        return True

    def release(self):
        if not self._held:
            raise RuntimeError("release unlocked lock")
        self._held = False
        self._schedule.point()

    def locked(self):
        return self._held

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *_):
        self.release()


class RLock:
    """Replaces `threading.RLock`, including the methods a Condition needs."""

    def __init__(self, schedule):
        self._schedule, self._owner, self._count = schedule, None, 0

    def acquire(self, blocking=True, timeout=-1):
        me = get_ident()
        if self._owner != me:
            self._schedule.point()
            if self._owner is not None and blocking:
                self._schedule.point(lambda: self._owner is None, None if timeout < 0 else timeout)
            if self._owner is not None:
                return False
        self._owner, self._count = me, self._count + 1
        return True

    def release(self):
        if self._owner != get_ident():
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if not self._count:
            self._owner = None
            self._schedule.point()

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *_):
        self.release()


class Condition(RLock):
    """Replaces `threading.Condition` and its own lock, like `ReentrantCondition`."""

    def __init__(self, schedule):
        super().__init__(schedule)
        self._waiters = collections.deque()

    def wait(self, timeout=None):
        if self._owner != get_ident():
            raise RuntimeError("cannot wait on un-acquired lock")
        told, count = [], self._count
        self._waiters.append(told)
        self._owner, self._count = None, 0
        try:
            found = self._schedule.point(lambda: bool(told), timeout)
            self._schedule.point(lambda: self._owner is None)
        finally:
            self._owner, self._count = get_ident(), count
            if not told:
                with contextlib.suppress(ValueError):
                    self._waiters.remove(told)
        return found

    def wait_for(self, predicate, timeout=None):
        end = None if timeout is None else self._schedule.now + timeout
        while not (found := predicate()):
            left = None if end is None else end - self._schedule.now
            if left is not None and left <= 0:
                break
            self.wait(left)
        return found

    def notify(self, n=1):
        for _ in range(min(n, len(self._waiters))):
            self._waiters.popleft().append(True)

    def notify_all(self):
        self.notify(len(self._waiters))


class SimpleQueue:
    """Replaces `queue.SimpleQueue`."""

    def __init__(self, schedule):
        self._schedule, self._items = schedule, collections.deque()

    def put(self, item, block=True, timeout=None):
        self._items.append(item)
        self._schedule.point()

    def get(self, block=True, timeout=None):
        self._schedule.point()
        if not self._items and block:
            self._schedule.point(lambda: bool(self._items), timeout)
        if not self._items:
            raise queue.Empty
        return self._items.popleft()

    def get_nowait(self):
        return self.get(False)

    def empty(self):
        return not self._items

    def qsize(self):
        return len(self._items)


class Instead:
    """A module with other members."""

    def __init__(self, module, **members):
        self._module = module
        vars(self).update(members)

    def __getattr__(self, name):
        return getattr(self._module, name)


def parts_of(schedule):
    """Return replacements for the modules `threading`, `queue` and `time`."""

    def enumerated():
        ended = {id(each.thread) for each in schedule.tasks if each.ended}
        return [each for each in threading.enumerate() if id(each) not in ended]

    def clock():
        schedule.now += 1e-7  # no two instants are equal
        return schedule.now

    made = {each: lambda each=each: each(schedule) for each in (Lock, RLock, Condition, SimpleQueue)}
    return {
        "threading": Instead(
            threading, Lock=made[Lock], RLock=made[RLock], Condition=made[Condition], enumerate=enumerated
        ),
        "queue": Instead(queue, SimpleQueue=made[SimpleQueue]),
        "time": Instead(time, monotonic=clock, perf_counter=clock, thread_time=clock, sleep=schedule.sleep),
        "Lock": made[RLock],  # of pipeline.locks
        "ReentrantCondition": made[Condition],
    }


@contextlib.contextmanager
def replaced(schedule):
    """Make the product's modules wait by a schedule."""
    _hashes.begin()
    parts, before = parts_of(schedule), []
    for name in MODULES:
        module = importlib.import_module(name)
        for part, instead in parts.items():
            if part in vars(module):
                before.append((module, part, getattr(module, part)))
                setattr(module, part, instead)
    start, join, is_alive = threading.Thread.start, threading.Thread.join, threading.Thread.is_alive

    def scheduled_start(thread):
        schedule.start(thread, start) if schedule.mine() else start(thread)

    def scheduled_join(thread, timeout=None):
        task = schedule.task_of(thread) if schedule.mine() else None
        if task is None:
            join(thread, timeout)
        else:
            schedule.point(lambda: task.ended, timeout)

    def scheduled_is_alive(thread):
        task = schedule.task_of(thread) if schedule.mine() else None
        return is_alive(thread) if task is None else not task.ended

    for name, value in (("start", scheduled_start), ("join", scheduled_join), ("is_alive", scheduled_is_alive)):
        before.append((threading.Thread, name, getattr(threading.Thread, name)))
        setattr(threading.Thread, name, value)
    try:
        yield
    finally:
        for owner, name, value in reversed(before):
            setattr(owner, name, value)


def scheduled(kind, schedule):
    """Return a compiled queue class whose calls wait by a schedule.

    While a call waits, its attempt is in the queue's list as usual. The core calls `_still_waiting` repeatedly to hand
    the turn on; the call looks at its attempt when another thread has done something.
    """

    class Scheduled(kind):
        def _about_to_wait(self, call):
            super()._about_to_wait(call)
            return 0.0

        def _still_waiting(self, call, waited_s):
            schedule.poll()
            super()._still_waiting(call, 0.0)
            return 0.0

    def after(method):
        def called(self, *args, **kwargs):
            schedule.point()
            try:
                return getattr(super(Scheduled, self), method)(*args, **kwargs)
            finally:
                schedule.served()

        return called

    for method in ("enqueue", "enqueue_many", "dequeue", "dequeue_many", "dequeue_up_to", "close"):
        setattr(Scheduled, method, after(method))
    Scheduled.__name__ = kind.__name__
    return Scheduled


QUEUES = ("FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue")


def scheduled_queues(schedule):
    """Return the compiled queues by their names, as `stress.queues` takes them."""
    return {name: scheduled(getattr(pipeline, name), schedule) for name in QUEUES}
