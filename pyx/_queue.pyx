"""The compiled queue: slots, bytes and waiting. Which values fit which component is decided above, in pipeline.queues.

A call goes through the engine twice: enqueue takes free slots and stores them, dequeue collects slots and frees them,
each in a short hold of the lock; in between, with no lock held, it copies its rows. So a call's payload is copied once,
and `size()` never waits for a copy.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.ref cimport Py_INCREF, Py_XDECREF, PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

cimport numpy as cnp

import os
import threading

from pipeline.queues.rows import Rows

from column cimport (
    ARRAY, BYTES, LARGE, OBJECT, ROWS, Column, Form, Layout, Part, PyArray_Scalar, close_pools, drop_references, empty,
    is_set, publish_width, read_rows, reference, width_of, write,
)
from held cimport Held, held
from engine cimport (
    locked, step_close_now, step_dequeue, step_enqueue, step_flow, step_poke, step_put_back, step_release,
    step_room, step_withdraw, wait_turn,
)
from express cimport PAYLOAD, express
from fit cimport chosen_fit, fits, many_fit, out_fits
from growth cimport kept_chunks, reserve, shrink
from orders cimport slot_t
from philox cimport philox_seed
from recycling cimport new_pool
from slab cimport bit_length, chunk_first, slab_row
from state cimport (
    ALREADY_CLOSED, CANCELLED, CLOSE, CLOSED, DEQUEUE, DEQUEUE_MANY, DEQUEUE_UP_TO, DONE, EMPTY, ENQUEUE, EXHAUSTED,
    FIFO, FULL, PENDING, PRIORITY, SHUFFLE, TIMED_OUT, Attempt, Call, Order, Queue, start,
)
from sync cimport coarse_now, condition_variable, fork_count, mutex, now, watch_forks

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident() noexcept

cnp.import_array()
watch_forks()

cdef unsigned long main_thread = 0


def note_main_thread():
    """Remember which thread handles signals. A call that is about to wait must not run Python code to find out: a
    signal handler could end it there, with its attempt still in the queue's list."""
    global main_thread
    main_thread = threading.main_thread().ident


note_main_thread()
os.register_at_fork(after_in_child=note_main_thread)

cdef enum:
    NEAR = 64                   # slots kept on the C stack; longer lists are allocated
    COLUMNS = 8                 # the same for components
    PIECE_BYTES = 64 << 20      # rows of one enqueue_many copied in before they are stored
    PIECE_SLOTS = 65536         # and their number: bounds how long the lock is held
    ROOM = 1 << 20              # slots for which a dequeue has room at first; it doubles as they come
    TICK = 50_000_000           # ns between looks for signals while the main thread is blocked

FORMS = {"rows": <int>ROWS, "bytes": <int>BYTES, "object": <int>OBJECT, "array": <int>ARRAY}
# What the engine's numbers stand for, for those who build and explain queues.
CALLS = {
    "enqueue": <int>ENQUEUE, "close": <int>CLOSE, "dequeue": <int>DEQUEUE, "dequeue_many": <int>DEQUEUE_MANY,
    "dequeue_up_to": <int>DEQUEUE_UP_TO,
}
STATUSES = {
    "closed": <int>CLOSED, "already_closed": <int>ALREADY_CLOSED, "cancelled": <int>CANCELLED,
    "exhausted": <int>EXHAUSTED, "timed_out": <int>TIMED_OUT,
}
ORDERS = {"fifo": <int>FIFO, "shuffle": <int>SHUFFLE, "priority": <int>PRIORITY}


cdef inline void step_copy(Queue* q, Attempt* a) noexcept nogil:
    memcpy(a.extra, q, sizeof(Queue))


cdef inline slot_t* slot_room(slot_t* near, size_t n) noexcept nogil:
    return near if n <= NEAR else <slot_t*>malloc(n * sizeof(slot_t))


cdef inline int64_t deadline_of(object timeout) except? -2:
    """The instant at which a call that may wait `timeout` seconds gives up; -1 for never."""
    cdef double seconds
    if timeout is None:
        return -1
    seconds = timeout
    if not seconds >= 0:
        raise ValueError(f"timeout must be None or a number of seconds >= 0, got {timeout!r}")
    return now() + <int64_t>(min(seconds, 1e9) * 1e9)


cdef inline int64_t instant_after(int64_t instant, object seconds) except? -2:
    return -1 if seconds is None else instant + <int64_t>(<double>seconds * 1e9)


cdef inline int64_t earlier(int64_t a, int64_t b) noexcept:
    """The earlier of two instants, where -1 is never."""
    return b if a < 0 else a if b < 0 else min(a, b)


# skin -----------------------------------------------------------------------------------------------------------------

cdef class Engine:
    """One bounded queue of slots. `pipeline.queues` derives the queue classes from it and supplies the rules for
    values.

    Thread safety: every method may be called from any thread. The lock guards the engine's state; Python objects in
    slots are touched with the GIL held and the lock not.
    """

    cdef mutex _lock
    cdef Queue queue
    cdef Layout layout
    cdef bint direct            # values may be taken without `_convert`: the queue has no names
    cdef bint small             # an element is small rows only, and may go the short way in
    cdef bint batches           # all components can be batched
    cdef size_t piece           # rows of one enqueue_many that are copied in before they are stored
    cdef dict _lists
    cdef list _keep
    cdef object __weakref__

    def __cinit__(self):
        memset(&self.queue, 0, sizeof(Queue))
        memset(&self.layout, 0, sizeof(Layout))
        self.queue.lock = &self._lock
        self.queue.forks = -1

    def __dealloc__(self):
        cdef int i, k, bits = self.queue.bits
        cdef Column* c
        cdef size_t slot
        close_pools(&self.layout)
        for i in range(self.layout.width):
            c = &self.layout.columns[i]
            if c.mixed:
                for slot in range(self.queue.fresh):
                    Py_XDECREF(held(&c.held, bits, <slot_t>slot).array)
            for k in range(self.queue.chunks):
                if c.form == ROWS:
                    free(<void*>(c.slab.origin[k] + chunk_first(bits, k) * c.slab.row))
                if c.mixed:
                    free(<void*>(c.held.origin[k] + chunk_first(bits, k) * sizeof(Held)))
            Py_XDECREF(c.pool)
            free(c.dims)
        free(self.layout.columns)
        free(self.queue.free.slots)
        free(self.queue.ring.slots)
        free(self.queue.pool.slots)
        free(self.queue.heap.items)

    def _open(self, int order, size_t capacity, size_t minimum, uint64_t seed, uint64_t seed2, bint direct):
        """Make the queue usable. Components follow, in `_configure`, at once or with the first element."""
        if self.queue.forks != -1:
            raise RuntimeError(f"{type(self).__name__}: __init__ was called a second time")
        self.queue.order = <Order>order
        self.queue.capacity = capacity
        self.queue.reserve = minimum
        philox_seed(&self.queue.random, seed, seed2)
        self.direct = direct
        self._lists = {}
        self._keep = []
        self.queue.since = self.queue.born = coarse_now()
        self.queue.forks = fork_count()

    def _direct(self, bint direct):
        """Whether values may be taken as they come: not where they are dicts."""
        self.direct = direct

    def _configure(self, list components):
        """Set the components: a list of (dtype, form, shape), with None for an unknown shape or size. Once."""
        cdef int width = len(components), i
        cdef Column* columns
        if self.layout.width:
            raise RuntimeError(f"{type(self).__name__}: the components are fixed already")
        columns = <Column*>calloc(max(1, width), sizeof(Column))
        if columns == NULL:
            raise MemoryError
        try:
            self._describe_columns(columns, components)
        except BaseException:
            for i in range(width):
                Py_XDECREF(columns[i].pool)
                free(columns[i].dims)
            free(columns)
            raise
        self.queue.priorities = &columns[0].slab
        self.layout.columns = columns
        publish_width(&self.layout, width)

    cdef int _describe_columns(self, Column* columns, list components) except -1:
        cdef int width = len(components), i, k
        cdef Column* c
        cdef size_t total = 0
        self.batches = self.small = True
        for i in range(width):
            dtype, form, shape = components[i]
            c = &columns[i]
            self._keep.append(dtype)
            c.form = <Form><int>form
            c.descr = <void*>dtype
            c.type_num = -1
            c.ndim = -1 if shape is None else len(shape)
            if dtype.isnative and dtype.isbuiltin == 1 and dtype.kind in "biufc":
                c.type_num = dtype.num
                c.scalar_type = <void*>dtype.type
            if shape is not None:
                c.dims = <cnp.npy_intp*>malloc(max(1, c.ndim) * sizeof(cnp.npy_intp))
                if c.dims == NULL:
                    raise MemoryError
                for k in range(c.ndim):
                    c.dims[k] = -1 if shape[k] is None else shape[k]
            else:
                self.batches = False
            if c.form == ROWS:
                c.slab.row = dtype.itemsize
                for k in range(c.ndim):
                    c.slab.row *= c.dims[k]
                total += c.slab.row
                pool = new_pool()
                Py_INCREF(pool)
                c.pool = <PyObject*>pool
                c.mixed = c.slab.row >= LARGE
                c.held.row = sizeof(Held)
            else:
                self.small = False
        self.queue.bits = max(0, min(12, bit_length(<unsigned int>(65536 // max(total, <size_t>1))) - 1))
        self.queue.kept = kept_chunks(self.queue.bits, total)
        self.layout.row_bytes = total
        self.small = self.small and total <= PAYLOAD
        self.piece = max(<size_t>1, min(<size_t>PIECE_SLOTS, <size_t>PIECE_BYTES // max(total, <size_t>1)))
        return 0

    def _mixed(self):
        """Whether a component has rows so large that they may be held by reference."""
        cdef int i
        for i in range(width_of(&self.layout)):
            if self.layout.columns[i].mixed:
                return True
        return False

    cdef inline int _check(self) except -1:
        if self.queue.forks != fork_count():
            if self.queue.forks == -1:
                raise RuntimeError(f"{type(self).__name__}: __init__ was not called")
            raise RuntimeError(
                f"{type(self).__name__}: made before os.fork() and used in the forked child, where the threads that "
                "serve it do not exist. Make the queue in the child, or start processes with multiprocessing's 'spawn'."
            )
        return 0

    # waiting

    cdef inline void _release(self, Attempt* a) noexcept:
        """Give the slots from `begin` to `count` back, and drop what they refer to."""
        drop_references(&self.layout, self.queue.bits, a.slots + a.begin, a.count - a.begin)
        locked(step_release, &self.queue, a)
        if a.spare:
            shrink(&self.queue, &self.layout, self._lists)

    def _about_to_wait(self, int call):
        """Called when a call of that kind cannot be served at once. It may raise, which ends the call, or return the
        number of seconds after which `_still_waiting` is called; None for never."""

    def _still_waiting(self, int call, double waited_s):
        """Called after that wait, and again after each number of seconds that it returns; also when the queue is poked.
        It may raise, which ends the call: nothing is lost."""

    def _poke(self):
        """Have `_still_waiting` called for every call that waits; one that is about to wait will hear of it too."""
        cdef Attempt a
        self._check()
        start(&a, CLOSE, NULL, 0)
        locked(step_poke, &self.queue, &a)

    cdef int _park(self, Attempt* a, int64_t deadline) except -1:
        """Wait until the attempt is decided, wants its owner, or the deadline has passed and it is withdrawn."""
        cdef Queue* q = &self.queue
        cdef condition_variable signal
        cdef bint ready, ticking = PyThread_get_thread_ident() == main_thread
        cdef int64_t began = now(), look_at, until
        try:
            look_at = instant_after(began, self._about_to_wait(<int>a.call))
            while True:
                self._check()   # a hook or a signal handler may have forked: nobody would wake the child
                until = earlier(deadline, look_at)
                if ticking:
                    until = earlier(until, now() + TICK)
                with nogil:
                    ready = wait_turn(q, a, &signal, until)
                if ready:
                    return 0
                if deadline >= 0 and now() >= deadline:
                    locked(step_withdraw, q, a)
                    return 0
                PyErr_CheckSignals()
                if a.nudged or look_at >= 0 and now() >= look_at:
                    look_at = instant_after(now(), self._still_waiting(<int>a.call, (now() - began) * 1e-9))
        except BaseException:
            # What a hook or a signal handler raised, Ctrl-C above all: nothing stays behind, and nothing is lost.
            locked(step_withdraw, q, a)
            if a.status == DONE and a.call != ENQUEUE and a.call != CLOSE:
                locked(step_put_back, q, a)
            raise

    # in

    cdef int _store(self, Part* parts, size_t n, int64_t deadline, bint each=False) except -1:
        """Store n rows, in pieces; raise what the queue answered."""
        cdef slot_t[NEAR] near
        cdef size_t piece = min(n, self.piece), offset = 0
        cdef slot_t* slots
        cdef Attempt a, taken
        self._check()           # the values may have forked while they were converted
        slots = slot_room(near, piece)
        if slots == NULL:
            raise MemoryError
        start(&a, ENQUEUE, slots, n)
        a.each = each
        try:
            while True:
                reserve(&self.queue, &self.layout, self._lists, &taken, slots, min(piece, n - offset))
                write(&self.layout, self.queue.bits, slots, taken.count, parts, offset)
                offset += taken.count
                a.ready = taken.count
                locked(step_enqueue, &self.queue, &a)
                if a.blocked:
                    self._park(&a, deadline)
                if a.seen != PENDING:
                    break
        except BaseException:
            locked(step_withdraw, &self.queue, &a)
            raise
        finally:
            if a.begin < a.count:
                self._release(&a)
            if slots != near:
                free(slots)
        if a.seen != DONE:
            raise self._failure(<int>a.seen, <int>ENQUEUE, n, n - a.wanted)
        return 0

    cdef Part* _parts(self, Part* near, list keep) except NULL:
        """Room for what each component is copied from: on the stack, or in a buffer that `keep` keeps."""
        if self.layout.width <= COLUMNS:
            return near
        room = PyBytes_FromStringAndSize(NULL, self.layout.width * sizeof(Part))
        keep.append(room)
        return <Part*>PyBytes_AS_STRING(room)

    cdef tuple _components(self, object vals):
        """The values of an element: a list or tuple is always the list of components."""
        if type(vals) is tuple:
            return vals
        if isinstance(vals, (list, tuple)):
            return tuple(vals)
        return (vals,)

    cdef bint _fit(self, tuple values, Part* parts, bint converted, list copies, bint given=False) except -1:
        cdef int i
        if PyTuple_GET_SIZE(values) < self.layout.width:
            return False
        for i in range(self.layout.width):
            if not fits(&self.layout.columns[i], <object>PyTuple_GET_ITEM(values, i), &parts[i], converted, given,
                        copies):
                return False
        return True

    cdef Py_ssize_t _fit_many(self, tuple values, Part* parts, bint converted, bint given=False) except -2:
        cdef Py_ssize_t n = -1, rows
        cdef int i
        if PyTuple_GET_SIZE(values) < self.layout.width:
            return -1
        for i in range(self.layout.width):
            if type(<object>PyTuple_GET_ITEM(values, i)) is Rows:
                chosen = <object>PyTuple_GET_ITEM(values, i)
                rows = chosen_fit(&self.layout.columns[i], chosen.array, chosen.numbers, &parts[i])
            else:               # no second reference, for `lasts`
                rows = many_fit(&self.layout.columns[i], <object>PyTuple_GET_ITEM(values, i), &parts[i], converted,
                                given)
            if rows < 0 or i and rows != n:
                return -1
            n = rows
        return n

    def enqueue(self, vals, name=None, *, timeout=None):
        """Put one element in; wait while the queue is full.

        Args:
            vals: The value of a queue with one component; for more a list or tuple of values (which is always the list
            of
                components), or a dict if the queue has names. Values are copied in, objects by reference.
            name: Ignored; accepted for TensorFlow's signature.
            timeout: Seconds to wait, None for no limit.

        Raises:
            CancelledError: the queue is closed, or was closed with `cancel_pending_enqueues=True` meanwhile.
            DeadlineExceededError: the queue stayed full for `timeout` seconds; nothing was stored.
            InvalidArgumentError, TypeError, OverflowError: a value that does not fit its component; nothing was stored.
        """
        cdef int64_t deadline = deadline_of(timeout)
        cdef Part[COLUMNS] near
        cdef Part* parts
        cdef list keep
        cdef tuple values
        cdef list copies = None if self.small else []
        self._check()
        if self.direct and width_of(&self.layout) == 1 and not isinstance(vals, (list, tuple, dict)):
            if fits(self.layout.columns, vals, near, False, False, copies):
                if not self.small or not express(&self.queue, &self.layout, near):
                    self._store(near, 1, deadline)
                return
        elif self.direct and 0 < width_of(&self.layout) <= COLUMNS and isinstance(vals, (list, tuple)):
            vals = values = self._components(vals)
            if self._fit(values, near, False, copies):
                if not self.small or not express(&self.queue, &self.layout, near):
                    self._store(near, 1, deadline)
                return
        values = self._convert(vals, False)
        keep = []
        parts = self._parts(near, keep)
        if not self._fit(values, parts, True, None):
            raise SystemError(f"{type(self).__name__}: converted values do not fit: {values!r}")
        self._store(parts, 1, deadline)

    def _enqueue_given(self, tuple values, timeout=None):
        """As `enqueue`, for values that the caller gives away: large arrays to which `values` has the only reference
        are not copied. Nobody but the caller may know the tuple."""
        cdef Part[COLUMNS] near
        cdef list copies = []
        self._check()
        if self.direct and 0 < width_of(&self.layout) <= COLUMNS and self._fit(values, near, False, copies, True):
            self._store(near, 1, deadline_of(timeout))
        else:
            self.enqueue(values, timeout=timeout)

    def _enqueue_many_given(self, tuple values, timeout=None):
        """As `enqueue_many`, for values that the caller gives away, as in `_enqueue_given`, if the queue is first in,
        first out: of another a single row could keep the memory of a whole block."""
        cdef Part[COLUMNS] near
        cdef Py_ssize_t n = -1
        self._check()
        if self.queue.order == FIFO and self.direct and 0 < width_of(&self.layout) <= COLUMNS:
            n = self._fit_many(values, near, False, True)
        if n > 0:
            self._store(near, n, deadline_of(timeout))
        else:
            self.enqueue_many(values, timeout=timeout)

    def enqueue_many(self, vals, name=None, *, timeout=None):
        """Put many elements in, in order; no other call's element comes between them.

        Args:
            vals: As for `enqueue`, each value with a leading dimension, which all must share. It may exceed the
                capacity. Rows of 2 KiB and more are not copied, but held by reference, if they lie in an array that
                changes no more: neither it nor the array that owns its memory is writable; see `freeze`.
            name: Ignored; accepted for TensorFlow's signature.
            timeout: Seconds to wait in all, None for no limit.

        Raises:
            CancelledError: as for `enqueue`; rows that were stored before stay.
            DeadlineExceededError: not all rows found room in time; the message says how many are stored, and they stay.
            InvalidArgumentError, TypeError, OverflowError: values that do not fit; nothing was stored.
        """
        self._enqueue_many(vals, timeout, False)

    def _enqueue_each(self, vals, timeout=None):
        """As `enqueue_many`, but dequeues that wait find one element after the other, as after that many `enqueue`:
        it matters to those that draw or choose."""
        self._enqueue_many(vals, timeout, True)

    def _give_back(self, vals):
        """Undo a dequeue of a queue that is first in, first out: its elements, as for `enqueue_many`, are in front
        again, also if the queue is full or closed."""
        cdef Part[COLUMNS] near
        cdef Part* parts
        cdef Attempt a, taken
        cdef list keep = []
        cdef tuple values
        cdef slot_t* slots
        cdef Py_ssize_t n
        self._check()
        values = self._convert(vals, True)
        parts = self._parts(near, keep)
        n = self._fit_many(values, parts, True)
        if n < 0:
            raise SystemError(f"{type(self).__name__}: converted values do not fit: {values!r}")
        slots = <slot_t*>malloc(max(1, n) * sizeof(slot_t))
        if slots == NULL:
            raise MemoryError
        try:
            reserve(&self.queue, &self.layout, self._lists, &taken, slots, n)
            write(&self.layout, self.queue.bits, slots, taken.count, parts, 0)
            start(&a, DEQUEUE_MANY, slots, 0)
            a.count = taken.count
            locked(step_put_back, &self.queue, &a)
        finally:
            free(slots)

    cdef int _enqueue_many(self, object vals, object timeout, bint each) except -1:
        cdef int64_t deadline = deadline_of(timeout)
        cdef Part[COLUMNS] near
        cdef Part* parts
        cdef list keep
        cdef tuple values
        cdef Py_ssize_t n = -1
        self._check()
        if self.direct and 0 < width_of(&self.layout) <= COLUMNS and type(vals) is not dict:
            values = vals = self._components(vals)
            parts = near
            n = self._fit_many(values, near, False)
        if n < 0:
            values = self._convert(vals, True)
            keep = []
            parts = self._parts(near, keep)
            n = self._fit_many(values, parts, True)
            if n < 0:
                raise SystemError(f"{type(self).__name__}: converted values do not fit: {values!r}")
        if n:
            self._store(parts, n, deadline, each)
        return 0

    # out

    cdef object _collect(self, size_t n, Call call, bint many, int64_t deadline, tuple out):
        """Wait for n elements and hand them over; if that fails, put them back."""
        cdef slot_t[NEAR] near
        cdef size_t room = min(n, <size_t>ROOM)
        cdef slot_t* slots = slot_room(near, room)
        cdef Attempt a
        if slots == NULL:
            raise MemoryError(f"no memory for a batch of {n} elements")
        start(&a, call, slots, n)
        a.room = room
        try:
            locked(step_dequeue, &self.queue, &a)
            while a.seen == PENDING:
                if a.blocked:
                    self._park(&a, deadline)
                else:
                    self._make_room(&a)
            if a.seen == EXHAUSTED:
                close_pools(&self.layout)
            if a.seen != DONE:
                raise self._failure(<int>a.seen, <int>call, a.requested, a.current)
            try:
                result = self._hand_over(&a, many, out)
            except BaseException:
                locked(step_put_back, &self.queue, &a)
                raise
            self._release(&a)
            return result
        finally:
            if a.slots != near:
                free(a.slots)

    cdef int _make_room(self, Attempt* a) except -1:
        """Let a dequeue collect twice as many slots."""
        a.extra = malloc(2 * a.room * sizeof(slot_t))
        if a.extra == NULL:
            locked(step_withdraw, &self.queue, a)
            raise MemoryError(f"no memory for a batch of {a.wanted} elements")
        locked(step_room, &self.queue, a)
        free(a.extra)
        return 0

    cdef object _hand_over(self, Attempt* a, bint many, tuple out):
        cdef list results
        cdef int i
        if self.layout.width == 1 and self.direct:
            return self._column(0, a, many, None if out is None else out[0])
        results = PyList_New(self.layout.width)
        for i in range(self.layout.width):
            value = self._column(i, a, many, None if out is None else out[i])
            Py_INCREF(value)
            PyList_SET_ITEM(results, i, value)
        return results if self.direct else self._named(results)

    cdef object _column(self, int i, Attempt* a, bint many, object out):
        """The value of one component: of one element, or of many stacked."""
        cdef Column* c = &self.layout.columns[i]
        cdef int bits = self.queue.bits
        cdef size_t k, n = a.count
        if c.form == ROWS:
            if not many and is_set(c.holds) and held(&c.held, bits, a.slots[0]).array != NULL:
                value = <object>held(&c.held, bits, a.slots[0]).array
                if cnp.PyArray_ISWRITEABLE(<cnp.ndarray>value) and cnp.PyArray_NDIM(<cnp.ndarray>value) == c.ndim:
                    return value    # it was given away, and is the caller's now
            if not many and c.ndim == 0:
                return PyArray_Scalar(slab_row(&c.slab, bits, a.slots[0]), <cnp.PyArray_Descr*>c.descr, NULL)
            if out is None:
                out = empty(c, n, many)
            elif many:
                out = self._usable(i, out, n, True)
            read_rows(c, bits, a.slots, n, <char*>cnp.PyArray_DATA(<cnp.ndarray>out))
            return out
        if not many:
            return <object>reference(c, bits, a.slots[0])
        values = PyList_New(n)
        for k in range(n):
            value = <object>reference(c, bits, a.slots[k])
            Py_INCREF(value)
            PyList_SET_ITEM(values, k, value)
        return self._pack(i, values, out)

    cdef object _usable(self, int i, object out, size_t n, bint cut):
        """Check an output array; with `cut`, return its first n rows."""
        if not out_fits(&self.layout.columns[i], out, n, cut):
            raise self._wrong_out(i, out, n)
        if cut and <size_t>cnp.PyArray_DIM(<cnp.ndarray>out, 0) > n:
            return out[:n]
        return out

    cdef int _apart(self, tuple outs) except -1:
        """Check that no array for one component, all of which are contiguous, shares memory with that for another."""
        cdef cnp.ndarray one, other
        cdef char* a
        cdef char* b
        cdef int i, k
        for i in range(1, self.layout.width):
            one = <cnp.ndarray>outs[i]
            a = <char*>cnp.PyArray_DATA(one)
            for k in range(i):
                other = <cnp.ndarray>outs[k]
                b = <char*>cnp.PyArray_DATA(other)
                if a < b + cnp.PyArray_NBYTES(other) and b < a + cnp.PyArray_NBYTES(one):
                    raise ValueError(f"{self._where(i)}: out shares memory with that of component {k}")
        return 0

    cdef object _dequeue_many(self, object n, Call call, int64_t deadline, object out):
        cdef Py_ssize_t count = -1
        cdef tuple outs = None
        cdef int i, overflow = 0
        self._check()
        if PyLong_CheckExact(n):
            count = PyLong_AsLongLongAndOverflow(n, &overflow)
        if not 0 <= count < 1 << 31:
            count = self._count(n, <int>call)
        if width_of(&self.layout) and not self.batches:
            raise self._no_shapes()
        if out is not None:
            outs = (out,) if self.direct and self.layout.width == 1 else self._outputs(out)
            for i in range(self.layout.width):
                self._usable(i, outs[i], count, False)
            self._apart(outs)
        if count == 0:
            return self._nothing(outs)
        return self._collect(count, call, True, deadline, outs)

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
        self._check()
        return self._collect(1, DEQUEUE, False, deadline, None)

    def dequeue_many(self, n, name=None, *, timeout=None, out=None):
        """Take n elements, stacked along a new first dimension; wait until there are so many. n may exceed the
        capacity.

        Args:
            n: How many, 0 <= n < 2**31.
            name: Ignored; accepted for TensorFlow's signature.
            timeout: Seconds to wait, None for no limit.
            out: Arrays to write to, in the container of the result (an array for one component, else a tuple, list or
                dict): of exactly the right dtype and shape, C-contiguous, writable. They are returned.

        Returns:
            As `dequeue`, with arrays of shape [n] + shape of the component.

        Raises:
            OutOfRangeError: the queue is closed and holds fewer than n elements; they stay.
            DeadlineExceededError: there were not n elements within `timeout` seconds; those collected go back in order.
            InvalidArgumentError: n < 0, or a component without a shape.
            ValueError: an unusable `out`; nothing was taken.
        """
        return self._dequeue_many(n, DEQUEUE_MANY, deadline_of(timeout), out)

    def dequeue_up_to(self, n, name=None, *, timeout=None, out=None):
        """Take n elements as `dequeue_many` does, or, once the queue is closed, as many as are left.

        Args, Returns, Raises: as `dequeue_many`, but OutOfRangeError only if nothing is left. With `out` given, the
        first rows of it are returned.
        """
        return self._dequeue_many(n, DEQUEUE_UP_TO, deadline_of(timeout), out)

    # state

    def close(self, cancel_pending_enqueues=False, name=None, *, timeout=None):
        """Close the queue: enqueues fail from now on, dequeues drain what is there.

        Args:
            cancel_pending_enqueues: True closes at once and cancels the enqueues that wait; False takes its turn behind
                them, and waits for it.
            name: Ignored; accepted for TensorFlow's signature.
            timeout: Seconds to wait, None for no limit.

        Raises:
            CancelledError: the queue is closed already (never with `cancel_pending_enqueues`), or a cancelling close
            came
                while this one waited.
            DeadlineExceededError: the turn did not come in time; the queue stays open.
        """
        cdef int64_t deadline = deadline_of(timeout)
        cdef Attempt a
        self._check()
        start(&a, CLOSE, NULL, 0)
        if cancel_pending_enqueues:
            locked(step_close_now, &self.queue, &a)
            return
        locked(step_enqueue, &self.queue, &a)
        if a.blocked:
            self._park(&a, deadline)
        if a.seen != DONE:
            raise self._failure(<int>a.seen, <int>CLOSE, 0, 0)

    cdef void _snapshot(self, Queue* q) noexcept:
        cdef Attempt a
        start(&a, DEQUEUE, NULL, 0)
        a.extra = q
        locked(step_copy, &self.queue, &a)

    def size(self, name=None):
        """The number of elements in the queue at this moment; never waits."""
        cdef Queue q
        self._check()
        self._snapshot(&q)
        return q.count

    def is_closed(self, name=None):
        """Whether the queue is closed; never waits."""
        cdef Queue q
        self._check()
        self._snapshot(&q)
        return bool(q.closed)

    def _flow(self):
        """How many elements a dequeue could have now, and how many an enqueue could bring, nobody waiting."""
        cdef Attempt a
        self._check()
        start(&a, DEQUEUE, NULL, 0)
        locked(step_flow, &self.queue, &a)
        return a.current, a.requested

    def _numbers(self):
        """The statistics, in the order of `QueueStats`."""
        cdef Queue q
        cdef int64_t instant
        self._check()
        self._snapshot(&q)
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
