"""The compiled queue: the calls and what they promise. What a call does lies in functions on the queue's state:

describe.pxd    components to columns
enter.pxd       values into slots
leave.pxd       slots into arrays
waiting.pxd     blocking, deadlines, signals
steps.pxd       what a call does in one hold of the lock
serving.pxd     which call is served when

A call goes through the lock twice: enqueue claims free slots and stores them, dequeue collects slots and frees them,
each in a short hold. In between, without a lock, it copies its rows. So a payload is copied once on each side, and
`size()` never waits for a copy. Which values fit which component is decided above, in pipeline.queues.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

cimport numpy as cnp

import os
import threading

from pipeline.queues.rows import Rows

from accept cimport fits
from columns cimport ARRAY, BYTES, OBJECT, ROWS, Part, QueueColumns, width_of
from describe cimport check_order, describe, forget
from enter cimport (
    Room, fit, fit_many, is_direct, put_in_front, rows_of, rows_type, store_converted, store_parts,
    values_of,
)
from fastpath cimport put_fast
from growth cimport free_orders
from leave cimport collect, collect_many
from philox cimport philox_seed
from spans cimport note_into
from state cimport (
    ALREADY_CLOSED, CANCELLED, CLOSE, CLOSED, DEQUEUE, DEQUEUE_MANY, DEQUEUE_UP_TO, DONE, EMPTY, ENQUEUE,
    ENQUEUE_MANY, EXHAUSTED, FIFO, FULL, LOCKSTEP, PRIORITY, SHUFFLE, TIMED_OUT, Attempt, Call, Queue, QueueOrder,
    begin_empty, start,
)
from steps cimport (
    Available, Size, locked, step_available, step_close_now, step_copy, step_enqueue, step_size,
)
from sync cimport coarse_now, fork_count, mutex, watch_forks
from waiting cimport (
    Guard, check_process, deadline_of, guard_attempt, park, set_main_thread, step_poke, withdraw_unowned,
)

cnp.import_array()
watch_forks()
rows_type = <PyObject*>Rows


def note_main_thread():
    """Remember which thread handles signals. A call that is about to wait must not run Python code to find out: a
    signal handler could end it there, with its attempt still in the queue's list."""
    set_main_thread(threading.main_thread().ident)


note_main_thread()
os.register_at_fork(after_in_child=note_main_thread)

FORMS = {"rows": <int>ROWS, "bytes": <int>BYTES, "object": <int>OBJECT, "array": <int>ARRAY}
# What the engine's numbers stand for, for those who build and explain queues.
CALLS = {
    "enqueue": <int>ENQUEUE, "close": <int>CLOSE, "dequeue": <int>DEQUEUE, "dequeue_many": <int>DEQUEUE_MANY,
    "dequeue_up_to": <int>DEQUEUE_UP_TO, "enqueue_many": <int>ENQUEUE_MANY,
}
STATUSES = {
    "closed": <int>CLOSED, "already_closed": <int>ALREADY_CLOSED, "cancelled": <int>CANCELLED,
    "exhausted": <int>EXHAUSTED, "timed_out": <int>TIMED_OUT,
}
ORDERS = {"fifo": <int>FIFO, "lockstep": <int>LOCKSTEP, "shuffle": <int>SHUFFLE, "priority": <int>PRIORITY}


def note_waits(events):
    """Note the begin and the end of each wait in a deque with an attribute `missed`; None ends that. See spans.pxd."""
    note_into(events)


cdef class Engine:
    """One bounded queue of slots. `pipeline.queues` derives the queue classes from it and supplies the rules for
    values: `_convert`, `_named`, `_pack`, `_outputs`, `_nothing`, `_count`, and what makes errors.

    Thread safety: every method may be called from any thread. The lock guards the engine's state; Python objects in
    slots are touched with the GIL held and the lock not.
    """

    cdef mutex lock
    cdef Queue queue
    cdef QueueColumns columns
    cdef dict _lists            # the chunks of references of all columns
    cdef list _dtypes           # of all columns
    cdef object __weakref__

    def __cinit__(self):
        memset(<void*>&self.queue, 0, sizeof(Queue))
        memset(&self.columns, 0, sizeof(QueueColumns))
        begin_empty(&self.queue)
        self._lists = {}
        self.columns.lists = <PyObject*>self._lists
        self.queue.lock = &self.lock
        self.queue.forks = -1

    def __dealloc__(self):
        forget(&self.queue, &self.columns)
        free_orders(&self.queue)

    def _open(self, int order, size_t capacity, size_t min_after_dequeue, uint64_t seed, uint64_t seed2, bint direct):
        """Make the queue usable. Components follow, in `_configure`, at once or with the first element."""
        if self.queue.forks != -1:
            raise RuntimeError(f"{type(self).__name__}: __init__ was called a second time")
        check_order(order, capacity, min_after_dequeue)
        self.queue.order = <QueueOrder>order
        self.queue.capacity = capacity
        self.queue.min_after_dequeue = min_after_dequeue
        philox_seed(&self.queue.random, seed, seed2)
        self.columns.direct = direct
        self.queue.since = self.queue.born = coarse_now()
        self.queue.forks = fork_count()

    def _direct(self, bint direct):
        """Whether values may be taken as they come: not where they are dicts."""
        self.columns.direct = direct

    def _configure(self, list components not None):
        """Set the components: a list of (dtype, form, shape), with None for an unknown shape or size. Once."""
        cdef list dtypes = [dtype for dtype, _, _ in components]
        describe(&self.queue, &self.columns, self, components)
        self._dtypes = dtypes

    def _mixed(self):
        """Whether a component has rows so large that they may be held by reference."""
        cdef int i
        for i in range(width_of(&self.columns)):
            if self.columns.column[i].lends:
                return True
        return False

    # Waiting

    def _about_to_wait(self, int call):
        """Called when a call of that kind cannot be served at once. It may raise, which ends the call, or return the
        number of seconds after which `_still_waiting` is called; None for never. An error of the class `_endless` says
        that the wait would never end; if the call was decided meanwhile, it is dropped."""

    def _still_waiting(self, int call, double waited_s):
        """Called after that wait, and again after each number of seconds that it returns; also when the queue is poked.
        It may raise, which ends the call: nothing is lost."""

    def _poke(self):
        """Have `_still_waiting` called for every call that waits; one that is about to wait hears of it too."""
        check_process(&self.queue, self)
        locked(step_poke, &self.queue, NULL)

    # In

    def enqueue(self, vals, name=None, *, timeout=None):
        """Put one element in; wait while the queue is full.

        Args:
            vals: The value of a queue with one component; for more a list or tuple of values (which is always the list
                of components), or a dict if the queue has names. Values are copied in, objects by reference.
            name: Ignored; accepted for TensorFlow's signature.
            timeout: Seconds to wait, None for no limit.

        Raises:
            CancelledError: the queue is closed, or was closed with `cancel_pending_enqueues=True` meanwhile.
            DeadlineExceededError: the queue stayed full for `timeout` seconds; nothing was stored.
            InvalidArgumentError: there are not as many values as components, or a value has another shape than its
                component; nothing was stored.
            TypeError, OverflowError: a value that does not fit its component; nothing was stored.
        """
        cdef int64_t deadline = deadline_of(timeout)
        cdef Room[Part] room
        cdef list copies
        cdef bint known = False
        check_process(&self.queue, self)
        if is_direct(&self.columns):
            copies = None if self.columns.small else []
            if isinstance(vals, (list, tuple)):
                vals = values_of(vals)
                known = fit(&self.columns, vals, room.of(self.columns.width), False, copies, False)
            elif self.columns.width == 1 and not isinstance(vals, dict):
                known = fits(&self.columns.column[0], vals, room.parts, False, False, copies)
        if not known:
            store_converted(&self.queue, &self.columns, self, self._convert(vals, False), False, deadline, False)
        elif not self.columns.quick or not put_fast(&self.queue, &self.columns, room.parts):
            store_parts(&self.queue, &self.columns, self, room.parts, 1, ENQUEUE, deadline, False)

    def enqueue_many(self, vals, name=None, *, timeout=None):
        """Put many elements in, in order; no other call's element comes between them.

        Args:
            vals: As for `enqueue`, each value with a leading dimension, which all must share. It may exceed the
                capacity. Rows of 2 KiB and more are held by reference instead of copied if their array is read-only,
                and so is the array that owns its memory; see `freeze`.
            name: Ignored; accepted for TensorFlow's signature.
            timeout: Seconds to wait in all, None for no limit.

        Raises:
            CancelledError: as for `enqueue`; rows that were stored before stay.
            DeadlineExceededError: not all rows found room in time; the message says how many are stored, and they stay.
            InvalidArgumentError, TypeError, OverflowError: values that do not fit; nothing was stored.
        """
        self.put_many(vals, timeout, False)

    def _enqueue_each(self, vals, timeout=None):
        """As `enqueue_many`, but dequeues that wait find one element after the other, as after that many `enqueue`:
        it matters to those that draw or choose."""
        self.put_many(vals, timeout, True)

    cdef int put_many(self, object vals, object timeout, bint each) except -1:
        cdef int64_t deadline = deadline_of(timeout)
        cdef Room[Part] room
        cdef Py_ssize_t n = -1
        check_process(&self.queue, self)
        if is_direct(&self.columns) and type(vals) is not dict:
            vals = values_of(vals)
            n = fit_many(&self.columns, vals, room.of(self.columns.width), False, False)
        if n < 0:
            store_converted(&self.queue, &self.columns, self, self._convert(vals, True), True, deadline, each)
        elif n:
            store_parts(&self.queue, &self.columns, self, room.parts, n, ENQUEUE_MANY, deadline, each)
        return 0

    def _rows_of(self, int index, value):
        """How many rows a value of a component holds if they can be stored as they are; else -1. For `_convert`."""
        return rows_of(&self.columns, self, index, <PyObject*>value)

    def _enqueue_given(self, tuple values not None, timeout=None):
        """As `enqueue`, for values that the caller gives away: large arrays that only `values` has are not copied."""
        cdef Room[Part] room
        cdef list copies = []
        check_process(&self.queue, self)
        if not is_direct(&self.columns) or not fit(&self.columns, values, room.of(self.columns.width), False, copies,
                                                   True):
            self.enqueue(values, timeout=timeout)
        elif not self.columns.quick or not put_fast(&self.queue, &self.columns, room.parts):
            store_parts(&self.queue, &self.columns, self, room.parts, 1, ENQUEUE, deadline_of(timeout), False)

    def _give_back(self, vals):
        """Undo a dequeue of a FIFO queue, or of one that draws in lockstep: its elements, as for `enqueue_many`, are in
        front again, even if the queue is full or closed."""
        check_process(&self.queue, self)
        put_in_front(&self.queue, &self.columns, self, self._convert(vals, True))

    # Out

    def dequeue(self, name=None, *, timeout=None):
        """Take one element; wait while there is none.

        Args:
            name: Ignored; accepted for TensorFlow's signature.
            timeout: Seconds to wait, None for no limit.

        Returns:
            The value of a queue with one component; else a list of them, or a dict if the queue has names. Arrays are
            the caller's own; scalars are NumPy scalars.

        Raises:
            OutOfRangeError: the queue is closed and empty.
            DeadlineExceededError: no element came within `timeout` seconds.
        """
        cdef int64_t deadline = deadline_of(timeout)
        return collect(&self.queue, &self.columns, self, 1, DEQUEUE, False, deadline, None)

    def dequeue_many(self, n, name=None, *, timeout=None, out=None):
        """Take n elements, stacked along a new first dimension; wait until there are so many. n may exceed the
        capacity.

        Args:
            n: How many, 0 <= n < 2**31.
            name: Ignored; accepted for TensorFlow's signature.
            timeout: Seconds to wait, None for no limit.
            out: Arrays to write to, in the container of the result (an array for one component, else a tuple, list or
                dict): of exactly the right dtype and shape, C-contiguous, writable. They are returned. Of what offers
                DLPack or the buffer protocol, such as tensors, arrays over its memory are.

        Returns:
            As `dequeue`, with arrays of shape [n] + shape of the component.

        Raises:
            OutOfRangeError: the queue is closed and holds fewer than n elements; they stay.
            DeadlineExceededError: there were not n elements within `timeout` seconds; those collected go back in order.
            InvalidArgumentError: n < 0, or a component without a shape.
            ValueError: an unusable `out`; nothing was taken.
        """
        return self.take(n, DEQUEUE_MANY, deadline_of(timeout), out)

    def dequeue_up_to(self, n, name=None, *, timeout=None, out=None):
        """Take n elements as `dequeue_many` does, or, once the queue is closed, as many as are left.

        Args, Returns, Raises: as `dequeue_many`, but OutOfRangeError only if nothing is left. With `out` given, the
        first rows of it are returned.
        """
        return self.take(n, DEQUEUE_UP_TO, deadline_of(timeout), out)

    cdef object take(self, object n, Call call, int64_t deadline, object out):
        check_process(&self.queue, self)
        return collect_many(&self.queue, &self.columns, self, width_of(&self.columns), n, call, deadline, out)

    # State

    def close(self, cancel_pending_enqueues=False, name=None, *, timeout=None):
        """Close the queue: enqueues fail from now on, dequeues drain what is there.

        Args:
            cancel_pending_enqueues: True closes at once and cancels the enqueues that wait; False takes its turn behind
                them, and waits for it.
            name: Ignored; accepted for TensorFlow's signature.
            timeout: Seconds to wait, None for no limit.

        Raises:
            CancelledError: the queue is closed already (never with `cancel_pending_enqueues`), or a cancelling close
                came while this one waited.
            DeadlineExceededError: the turn did not come in time; the queue stays open.
        """
        cdef int64_t deadline = deadline_of(timeout)
        cdef Attempt a
        cdef Guard guard
        check_process(&self.queue, self)
        if cancel_pending_enqueues:
            locked(step_close_now, &self.queue, NULL)
            return
        start(&a, CLOSE, NULL, 0, 0)
        guard_attempt(&guard, &self.queue, &a, withdraw_unowned)
        locked(step_enqueue, &self.queue, &a)
        if a.blocked:
            park(&self.queue, &a, deadline, self)
        if a.seen != DONE:
            raise self._failure(<int>a.seen, <int>CLOSE, 0, 0)

    def size(self, name=None):
        """The number of elements in the queue at this moment; never waits."""
        cdef Size size = Size(0, False)
        check_process(&self.queue, self)
        locked(step_size, &self.queue, &size)
        return size.elements

    def is_closed(self, name=None):
        """Whether the queue is closed; never waits."""
        cdef Size size = Size(0, False)
        check_process(&self.queue, self)
        locked(step_size, &self.queue, &size)
        return bool(size.closed)

    def _flow(self):
        """How many elements a dequeue could have now, and how many an enqueue could bring, without waiting."""
        cdef Available available = Available(0, 0)
        check_process(&self.queue, self)
        locked(step_available, &self.queue, &available)
        return available.elements, available.room

    def _numbers(self):
        """The statistics, in the order of `QueueStats`."""
        cdef Queue q
        cdef int64_t instant
        check_process(&self.queue, self)
        locked(step_copy, &self.queue, &q)
        instant = coarse_now()
        if q.fullness == EMPTY:
            q.empty += instant - q.since
        elif q.fullness == FULL:
            q.full += instant - q.since
        return (
            q.capacity, q.count, bool(q.closed), q.entered.elements, q.left.elements, q.high_water,
            q.entered.waits, q.left.waits, q.entered.waited * 1e-9, q.left.waited * 1e-9,
            q.empty * 1e-9, q.full * 1e-9, (instant - q.born) * 1e-9, q.enqueues.count, q.dequeues.count,
        )
