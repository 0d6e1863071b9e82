"""The compiled queue: its calls and their guarantees. The work is done by functions on the queue's state:

describe.pxd    components to columns
enter.pxd       values into slots
leave.pxd       slots into arrays
waiting.pxd     blocking, deadlines, signals
steps.pxd       work done in one hold of the lock
serving.pxd     when each call is served

A call takes the lock twice, briefly: enqueue claims free slots and stores them, dequeue collects slots and frees them.
In between, it copies its rows without a lock. So a payload is copied once on each side, and `size()` never waits for a
copy. Matching values with components is the job of the layer above, pipeline.queues.
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
    """Remember the thread that handles signals. A call about to wait must not run Python code to find it: a signal
    handler could end the call there, with its attempt still in the queue's list."""
    set_main_thread(threading.main_thread().ident)


note_main_thread()
os.register_at_fork(after_in_child=note_main_thread)

FORMS = {"rows": <int>ROWS, "bytes": <int>BYTES, "object": <int>OBJECT, "array": <int>ARRAY}
# Names for the engine's codes, for code that builds and explains queues.
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
    """Record each wait's begin and end in a deque with a `missed` attribute; None stops recording. See spans.pxd."""
    note_into(events)


cdef class Engine:
    """A bounded queue of slots. `pipeline.queues` derives the queue classes from it and adds the value rules:
    `_convert`, `_named`, `_pack`, `_outputs`, `_nothing`, `_count`, and the methods for making errors.

    Thread safety: every method may be called from any thread. The lock guards the engine's state; Python objects in
    slots are accessed with the GIL held and without the lock.
    """

    cdef mutex lock
    cdef Queue queue
    cdef QueueColumns columns
    cdef dict _lists            # reference chunks for all columns
    cdef list _dtypes           # for all columns
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
        """Make the queue usable. `_configure` adds the components, at once or with the first element."""
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
        """Set whether values need no `_convert`: False for dicts."""
        self.columns.direct = direct

    def _configure(self, list components not None):
        """Set the components once: a list of (dtype, form, shape), with None for an unknown shape or size."""
        cdef list dtypes = [dtype for dtype, _, _ in components]
        describe(&self.queue, &self.columns, self, components)
        self._dtypes = dtypes

    def _mixed(self):
        """Return whether a component has rows large enough to be held by reference."""
        cdef int i
        for i in range(width_of(&self.columns)):
            if self.columns.column[i].lends:
                return True
        return False

    # Waiting

    def _about_to_wait(self, int call):
        """Called when such a call cannot be served at once. It may raise, which ends the call, or return the number of
        seconds until `_still_waiting` is called; None for never. An error with the class `_endless` means that the wait
        would never end; it is dropped if the call has been decided in the meantime."""

    def _still_waiting(self, int call, double waited_s):
        """Called after that wait, again after each returned number of seconds, and when the queue is poked. It may
        raise, which ends the call without losing anything."""

    def _poke(self):
        """Have `_still_waiting` called for every waiting call, including one that is about to wait."""
        check_process(&self.queue, self)
        locked(step_poke, &self.queue, NULL)

    # Enqueue

    def enqueue(self, vals, name=None, *, timeout=None):
        """Enqueue one element; wait while the queue is full.

        Args:
            vals: The value, for a queue with one component; otherwise a list or tuple of values (always the list of
                components), or a dict if the queue has names. Values are copied, objects are held by reference.
            name: Ignored; accepted for TensorFlow's signature.
            timeout: Seconds to wait; None for no limit.

        Raises:
            CancelledError: the queue is closed, or was closed with `cancel_pending_enqueues=True` during the call.
            DeadlineExceededError: the queue stayed full for `timeout` seconds; nothing was stored.
            InvalidArgumentError: values and components differ in number, or a value has another shape than its
                component; nothing was stored.
            TypeError, OverflowError: a value does not fit its component; nothing was stored.
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
        """Enqueue many elements, in order; no other call's element comes between them.

        Args:
            vals: As for `enqueue`, with one common leading dimension for all values. It may exceed the capacity. Rows
                of 2 KiB and more are held by reference instead of copied if both their array and the array that owns
                its memory are read-only; see `freeze`.
            name: Ignored; accepted for TensorFlow's signature.
            timeout: Total seconds to wait; None for no limit.

        Raises:
            CancelledError: as for `enqueue`; rows already stored stay.
            DeadlineExceededError: not all rows fit in time; the message has the number of stored rows, and they stay.
            InvalidArgumentError, TypeError, OverflowError: a value does not fit; nothing was stored.
        """
        self.put_many(vals, timeout, False)

    def _enqueue_each(self, vals, timeout=None):
        """Enqueue as `enqueue_many` does, except that waiting dequeues see one element at a time, as with separate
        `enqueue` calls: this matters for random and priority order."""
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
        """Return a value's row count if its rows can be stored without conversion; else -1. For `_convert`."""
        return rows_of(&self.columns, self, index, <PyObject*>value)

    def _enqueue_given(self, tuple values not None, timeout=None):
        """Enqueue values that the caller gives up: large arrays referenced only by `values` are not copied."""
        cdef Room[Part] room
        cdef list copies = []
        check_process(&self.queue, self)
        if not is_direct(&self.columns) or not fit(&self.columns, values, room.of(self.columns.width), False, copies,
                                                   True):
            self.enqueue(values, timeout=timeout)
        elif not self.columns.quick or not put_fast(&self.queue, &self.columns, room.parts):
            store_parts(&self.queue, &self.columns, self, room.parts, 1, ENQUEUE, deadline_of(timeout), False)

    def _give_back(self, vals):
        """Undo a dequeue from a FIFO or lockstep queue: its elements, in the form for `enqueue_many`, are in front
        again, even if the queue is full or closed."""
        check_process(&self.queue, self)
        put_in_front(&self.queue, &self.columns, self, self._convert(vals, True))

    # Dequeue

    def dequeue(self, name=None, *, timeout=None):
        """Dequeue one element; wait while there is none.

        Args:
            name: Ignored; accepted for TensorFlow's signature.
            timeout: Seconds to wait; None for no limit.

        Returns:
            The value, for a queue with one component; else a list of values, or a dict if the queue has names. The
            caller owns the arrays; scalars are NumPy scalars.

        Raises:
            OutOfRangeError: the queue is closed and empty.
            DeadlineExceededError: no element arrived within `timeout` seconds.
        """
        cdef int64_t deadline = deadline_of(timeout)
        return collect(&self.queue, &self.columns, self, 1, DEQUEUE, False, deadline, None)

    def dequeue_many(self, n, name=None, *, timeout=None, out=None):
        """Dequeue n elements, stacked along a new first dimension; wait until they are all there. n may exceed the
        capacity.

        Args:
            n: Number of elements, 0 <= n < 2**31.
            name: Ignored; accepted for TensorFlow's signature.
            timeout: Seconds to wait; None for no limit.
            out: Arrays to write to, in the result's container (an array for one component, else a tuple, list or dict),
                with exactly the right dtype and shape, C-contiguous and writable. They are returned. For objects with
                DLPack or the buffer protocol, such as tensors, arrays over their memory are returned.

        Returns:
            As `dequeue`, with arrays of shape [n] + the component's shape.

        Raises:
            OutOfRangeError: the queue is closed and holds fewer than n elements; they stay.
            DeadlineExceededError: n elements did not arrive within `timeout` seconds; those collected go back in order.
            InvalidArgumentError: n < 0, or a component without a shape.
            ValueError: `out` is unusable; nothing was taken.
        """
        return self.take(n, DEQUEUE_MANY, deadline_of(timeout), out)

    def dequeue_up_to(self, n, name=None, *, timeout=None, out=None):
        """Dequeue n elements as `dequeue_many` does, or, from a closed queue, up to n.

        Args, Returns, Raises: as `dequeue_many`, but OutOfRangeError only if nothing is left. Given `out`, its first
        rows are returned.
        """
        return self.take(n, DEQUEUE_UP_TO, deadline_of(timeout), out)

    cdef object take(self, object n, Call call, int64_t deadline, object out):
        check_process(&self.queue, self)
        return collect_many(&self.queue, &self.columns, self, width_of(&self.columns), n, call, deadline, out)

    # State

    def close(self, cancel_pending_enqueues=False, name=None, *, timeout=None):
        """Close the queue: from now on enqueues fail, and dequeues drain the remaining elements.

        Args:
            cancel_pending_enqueues: True closes at once and cancels waiting enqueues; False waits for its turn behind
                them.
            name: Ignored; accepted for TensorFlow's signature.
            timeout: Seconds to wait; None for no limit.

        Raises:
            CancelledError: the queue is closed already (never with `cancel_pending_enqueues`), or a cancelling close
                came during the wait.
            DeadlineExceededError: its turn did not come in time; the queue stays open.
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
        """Return the current element count; never waits."""
        cdef Size size = Size(0, False)
        check_process(&self.queue, self)
        locked(step_size, &self.queue, &size)
        return size.elements

    def is_closed(self, name=None):
        """Return whether the queue is closed; never waits."""
        cdef Size size = Size(0, False)
        check_process(&self.queue, self)
        locked(step_size, &self.queue, &size)
        return bool(size.closed)

    def _flow(self):
        """Return how many elements could be dequeued, and how many enqueued, without waiting."""
        cdef Available available = Available(0, 0)
        check_process(&self.queue, self)
        locked(step_available, &self.queue, &available)
        return available.elements, available.room

    def _taker(self):
        """Return the `native_id` of the thread that last called a dequeue; 0 before the first call."""
        cdef Queue q
        check_process(&self.queue, self)
        locked(step_copy, &self.queue, &q)
        return q.taker

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
