"""Planted faults where threads wait, each a kind found in real programs: schedules find them all.

They replace the product's private methods by faulty copies.
"""

import contextlib
import functools

import pytest
import reference
import schedule
from queues import test_histories as histories
from schedules import scenarios

from pipeline.datasets.iterator import DatasetIterator
from pipeline.runners.coordinator import Coordinator
from pipeline.runners.runner import QueueRunner
from pipeline.stages import prefetch
from pipeline.stages.chunk import Task
from pipeline.stages.crew import Crewed
from pipeline.sync import stop_flag
from pipeline.sync.stop_flag import StopFlag
from pipeline.workers.pool import Promise, WorkerPool

FILES = (*scenarios.FILES, __file__)
MOST = 400  # schedules in which a fault has to show


def set_without_waking(self):
    """A missed notify."""
    self.raised = True


def wait_without_second_look(self, seconds):
    """A lost wake-up: the flag may be set between the check and the wait."""
    bell = stop_flag.threading.Lock()
    bell.acquire()
    self._bells.append(bell)
    return bell.acquire(timeout=seconds)


def wake_one(self):
    """A notify instead of a notify_all."""
    self.raised = True
    with contextlib.suppress(IndexError):
        self._bells.popleft().release()


def put_without_bell(self, call):
    """A missed notify: a sleeping thread misses a call."""
    with self._lock:
        if self._closed:
            raise RuntimeError("cannot schedule new futures after shutdown")
        self._resting = False
        self._calls.append(call)
        more = self._wants_another()
    if more:
        thread = self._new_thread(self, next(self._numbers))
        thread.start()
        thread.entered.wait()


def put_without_lock(self, call):
    """A check outside the lock: sleeping threads are counted before the call is queued."""
    woken = self._woken()
    with self._lock:
        if self._closed:
            raise RuntimeError("cannot schedule new futures after shutdown")
        self._resting = False
        self._calls.append(call)
        more = self._wants_another()
    if woken is not None:
        woken.bell.set()
    if more:
        thread = self._new_thread(self, next(self._numbers))
        thread.start()
        thread.entered.wait()


def take_with_late_clear(self, thread):
    """A lost wake-up: the bell is cleared after the check for calls."""
    while True:
        call = None
        with self._lock:
            if self._calls and (not thread.sent or len(self._calls) > self._idle):
                call = self._calls.popleft()
                thread.sent.append(call)
                self._count_idle(thread, False)
            elif thread.sent:
                return None
            elif self._closed or self._resting:
                self._remove(thread)
                return None
            else:
                self._count_idle(thread, True)
                self._asleep[thread] = None
        if call is None:
            thread.bell.clear()
            thread.bell.wait(1.0)
            continue
        if call.begin():
            return call
        thread.sent.pop()


def enter_without_lock(self, thread):
    """A check outside the lock: two threads take the last slot."""
    fits = len(self._threads) < self._count
    if fits:
        with self._lock:
            self._threads.append(thread)
            self._count_idle(thread, True)
    thread.entered.set()
    return fits


def close_without_ring(self, cancel, wait, most=0.0):
    """A missed notify: sleeping threads do not see the shutdown."""
    with self._lock:
        self._closed = True
        threads, calls = list(self._threads), list(self._calls) if cancel else []
    for call in calls:
        call.future.cancel()
    for thread in threads if wait else ():
        thread.join()


def set_result_without_notify(self, result):
    """A missed notify: the thread waiting for the result keeps sleeping."""
    with self._condition:
        self._result, self._state = result, "FINISHED"
    self._invoke_callbacks()


def end_without_waking(rooms, ready):
    """A missed notify: a consumer does not see that the iterator is closed."""
    for room in rooms:
        room.put(False)


def end_without_rooms(rooms, ready):
    """Threads waiting for room do not see the shutdown."""
    ready.put(prefetch._WOKEN)


def wait_with_late_clear(self, chunks):
    """A lost wake-up: the bell is cleared after the check for tasks."""
    self._clock.check()
    waiting = [each for each in chunks[0].parts if isinstance(each, Task) and not each.future.done()][:1]
    for each in waiting:
        each.watch(self._bell)
    if waiting:
        self._bell.clear()
        self._bell.wait(0.1)
    self._clock.check()


def next_without_lock(self, timeout):
    """No lock around an iterator's streams."""
    return self._make(timeout, True)


def request_stop_without_lock(self, ex=None):
    """A check outside the lock: the second error replaces the first."""
    if not self._stop.is_set():
        with self._lock:
            self._recorded = None if ex is None else (ex[1], ex[1].__traceback__, None)
            self._stopped = coordinator_stopped(ex)
        self._stop.set()
    self._close_tied()


def coordinator_stopped(ex):
    from pipeline.queues.causes import StoppedByCoordinator

    return StoppedByCoordinator(None if ex is None else ex[1])


def tie_without_second_look(self, queue):
    """A lost stop: it may arrive between the check and the registration."""
    if self._stop.raised:
        queue.close(cancel_pending_enqueues=True)
    else:
        self._tied.add(lambda: queue)
    return queue


def leave_without_lock(self, sess, worker, at_end=False):
    """A count without a lock: two threads ending together count as one, and the queue stays open."""
    left = self._runs_per_session.get(self, 0)
    if worker.counted:
        worker.counted = False
        left = max(left - 1, 0)
        self._runs_per_session[self] = left
    if not at_end:
        worker.group.leave()
    return left


def close_before_the_last(self, sess, worker, at_end=False):
    """Every ending thread believes it is the last one, and closes the queue."""
    _LEAVE(self, sess, worker, at_end)
    return 0


_LEAVE = QueueRunner._leave

FAULTS = [
    (StopFlag, "set", set_without_waking, "flag"),
    (StopFlag, "set", wake_one, "flag"),
    (StopFlag, "_wait_once", wait_without_second_look, "flag"),
    (StopFlag, "set", set_without_waking, "coordinator_stops"),
    (WorkerPool, "put", put_without_bell, "executor"),
    (WorkerPool, "put", put_without_lock, "executor"),
    (WorkerPool, "take", take_with_late_clear, "executor"),
    (WorkerPool, "enter", enter_without_lock, "bounded_executor"),
    (WorkerPool, "close", close_without_ring, "executor"),
    (Promise, "set_result", set_result_without_notify, "executor"),
    (prefetch, "_end", end_without_waking, "slow_prefetch_closed"),
    (prefetch, "_end", end_without_rooms, "prefetch_closed"),
    (Crewed, "_wait", wait_with_late_clear, "workers"),
    (DatasetIterator, "_next", next_without_lock, "shared_iterator"),
    (Coordinator, "request_stop", request_stop_without_lock, "coordinator_stops"),
    (Coordinator, "close_on_stop", tie_without_second_look, "coordinator_closes"),
    (QueueRunner, "_leave", leave_without_lock, "queue_runner"),
    (QueueRunner, "_leave", close_before_the_last, "queue_runner"),
]


@pytest.mark.parametrize(
    ("owner", "name", "fault", "scenario"), FAULTS, ids=lambda each: getattr(each, "__name__", each)
)
def test_a_fault_is_found(owner, name, fault, scenario, monkeypatch):
    monkeypatch.setattr(owner, name, fault)
    with pytest.raises(schedule.Failed):
        search(scenarios.ALL[scenario], scenarios.quick(scenario))


def search(scenario, quick):
    """Run schedules that switch at waits, and others that also switch at each line."""
    for first in range(0, MOST, 10):
        schedule.explore(scenario, range(first, first + 10), quick=quick, tries=0)
        schedule.explore(scenario, range(first, first + 10), FILES, quick, tries=0)


class Unlocked(reference.FIFOQueue):
    """Serves calls without its lock."""

    def call(self, line, a, timeout):
        line.append(a)
        self.flush_unlocked()
        with self.change:
            while not a.done and timeout is None:
                self.change.wait()
        if a.error:
            raise a.error
        return a.taken

    def flush_unlocked(self):
        self.change.notify_all = lambda: None
        self.flush()


class Silent(reference.FIFOQueue):
    """Wakes no thread."""

    def flush(self):
        self.change.notify_all = lambda: None
        super().flush()


QUEUES = [Unlocked, Silent, *histories.FAULTY["FIFOQueue"]]


@pytest.mark.parametrize("cls", QUEUES, ids=lambda each: each.__name__)
def test_a_faulty_queue_is_found(cls):
    classes = {**vars(reference), "FIFOQueue": cls}
    scenario = functools.partial(scenarios.queue_history, classes=classes)
    scenario.__name__ = "queue_history"
    with pytest.raises(schedule.Failed):
        schedule.explore(scenario, range(MOST), (reference.__file__, __file__), tries=0)


@pytest.mark.parametrize("cls", [histories.LastIn, histories.Impatient], ids=lambda each: each.__name__)
def test_a_wrong_model_is_found(cls):
    """The comparison covers the compiled queues too."""
    scenario = functools.partial(scenarios.queue_history, model=histories.mutated(cls))
    scenario.__name__ = "queue_history"
    with pytest.raises(schedule.Failed):
        schedule.explore(scenario, range(MOST), tries=0)
