"""Enqueueing: match values with components, write them into free slots, and store these.

Writing needs no lock: one short hold before it claims free slots, another one after it stores their numbers.
"""

from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from accept cimport chosen_fit, fits, many_fit
from columns cimport Column, QueueColumns, Part, take_places, width_of, write
from fastpath cimport put_fast
from growth cimport claim, release
from limits cimport NEAR, slot_room
from napping cimport may_nap
from state cimport DEQUEUE_MANY, DONE, ENQUEUE, ENQUEUE_MANY, PENDING, Attempt, Call, Queue, start
from steps cimport Backlog, locked, step_ahead, step_enqueue, step_put_back
from span cimport slot_t
from waiting cimport Guard, check_process, deadline_of, guard_attempt, park, step_withdraw, withdraw_unowned

cdef extern from *:
    """
    static PyObject* pipeline_rows_type = NULL;     /* class Rows from pipeline.queues.rows */
    """
    PyObject* rows_type "pipeline_rows_type"
    PyObject* type_of "(PyObject*)Py_TYPE"(PyObject* value)

cdef extern from *:
    """
    /* One part per component in a call: on the stack, or allocated if there are many. */
    template <class P> struct pipeline_parts {
        P few[8];
        P* parts = few;
        P* of(int width) {
            if (width > 8 && parts == few) parts = new P[width];
            return parts;
        }
        ~pipeline_parts() { if (parts != few) delete[] parts; }
    };
    """
    cdef cppclass Room "pipeline_parts" [P]:
        P* parts
        P* of(int width) except +


# Matching values with components --------------------------------------------------------------------------------------

cdef inline bint is_direct(const QueueColumns* columns) noexcept:
    """Return whether values need no `_convert`. The width is read first, because it is published last."""
    return width_of(columns) > 0 and columns.direct


cdef inline tuple values_of(object vals):
    """Return an element's values: a list or tuple is always the list of components."""
    if type(vals) is tuple:
        return vals
    if isinstance(vals, (list, tuple)):
        return tuple(vals)
    return (vals,)


cdef inline bint fit(const QueueColumns* columns, tuple values, Part* parts, bint converted, list copies,
                     bint given) except -1:
    """Return whether one element's values can be stored without conversion; see `fits`."""
    cdef int i
    if PyTuple_GET_SIZE(values) != columns.width:
        return False
    for i in range(columns.width):
        if not fits(&columns.column[i], <object>PyTuple_GET_ITEM(values, i), &parts[i], converted, given, copies):
            return False
    return True


cdef inline Py_ssize_t rows_fit(Column* c, PyObject* value, Part* part, bint converted, bint given) except -2:
    """Return one component value's row count if all can be stored without conversion; else -1. See `many_fit`."""
    if type_of(value) == rows_type:
        chosen = <object>value
        return chosen_fit(c, chosen.array, chosen.numbers, part)
    return many_fit(c, <object>value, part, converted, given)       # no second reference, for `lasts`


cdef inline Py_ssize_t rows_of(const QueueColumns* columns, object owner, int index, PyObject* value) except -2:
    """Return the row count for component `index` if the rows can be stored without conversion; else -1."""
    cdef Part part
    if not 0 <= index < width_of(columns):
        raise IndexError(f"{type(owner).__name__}: there is no component {index}: there are {width_of(columns)}")
    return rows_fit(&columns.column[index], value, &part, False, False)


cdef inline Py_ssize_t fit_many(const QueueColumns* columns, tuple values, Part* parts, bint converted,
                                bint given) except -2:
    """Return the values' element count if all can be stored without conversion; else -1. See `many_fit`."""
    cdef Py_ssize_t n = -1, rows
    cdef int i
    if PyTuple_GET_SIZE(values) != columns.width:
        return -1
    for i in range(columns.width):
        rows = rows_fit(&columns.column[i], PyTuple_GET_ITEM(values, i), &parts[i], converted, given)
        if rows < 0 or i and rows != n:
            return -1
        n = rows
    return n


# Writing and storing --------------------------------------------------------------------------------------------------

cdef inline int store_parts(Queue* q, QueueColumns* columns, object owner, Part* parts, size_t n, Call call,
                            int64_t deadline, bint each) except -1:
    """Store n elements in pieces; raise the queue's error. `owner` has the hooks and makes this error."""
    cdef slot_t[NEAR] near
    cdef size_t piece = min(n, columns.piece), at = 0, ready
    cdef slot_t* slots
    cdef Attempt a
    cdef Backlog ahead = Backlog(0, False)
    cdef Guard guard
    check_process(q, owner)     # converting the values may have forked
    slots = slot_room(near, piece)
    if slots == NULL:
        raise MemoryError
    start(&a, ENQUEUE, slots, piece, n)
    guard_attempt(&guard, q, &a, withdraw_unowned)
    a.each = each
    may_nap(q, &a, call == ENQUEUE_MANY, columns.small)
    try:
        while True:
            ready = min(piece, n - at)
            claim(q, columns, slots, ready)
            if columns.assembles and call == ENQUEUE:
                locked(step_ahead, q, &ahead)
                take_places(columns, q.bits, slots[0], parts, ahead.elements, ahead.contended)
            write(columns, q.bits, a.slots, ready, parts, at)
            at += ready
            a.ready = ready
            locked(step_enqueue, q, &a)
            if a.blocked:
                park(q, &a, deadline, owner)
            if a.seen != PENDING:
                break
    except BaseException:
        locked(step_withdraw, q, &a)
        raise
    finally:
        if a.begin < a.count:
            release(q, columns, a.slots, a.begin, a.count)
        if slots != near:
            free(slots)
    if a.seen != DONE:
        raise owner._failure(<int>a.seen, <int>call, n, n - a.wanted)
    return 0


cdef inline int store_converted(Queue* q, QueueColumns* columns, object owner, tuple values, bint many,
                                int64_t deadline, bint each) except -1:
    """Store values that `_convert` has brought into slot form."""
    cdef Room[Part] room
    cdef Part* parts = room.of(columns.width)
    cdef Py_ssize_t n = -1
    if values is not None and many:
        n = fit_many(columns, values, parts, True, False)
    elif values is not None and fit(columns, values, parts, True, None, False):
        n = 1
    if n < 0:
        raise SystemError(f"{type(owner).__name__}: converted values do not fit: {values!r}")
    if n:
        store_parts(q, columns, owner, parts, n, ENQUEUE_MANY if many else ENQUEUE, deadline, each)
    return 0


cdef inline int put_in_front(Queue* q, QueueColumns* columns, object owner, tuple values) except -1:
    """Undo a dequeue: converted elements are in front again, even if the queue is full or closed."""
    cdef Room[Part] room
    cdef Part* parts = room.of(columns.width)
    cdef Py_ssize_t n = -1 if values is None else fit_many(columns, values, parts, True, False)
    cdef Attempt a
    cdef slot_t* slots
    check_process(q, owner)     # converting the values may have forked
    if n < 0:
        raise SystemError(f"{type(owner).__name__}: converted values do not fit: {values!r}")
    slots = <slot_t*>malloc(max(1, n) * sizeof(slot_t))
    if slots == NULL:
        raise MemoryError
    try:
        claim(q, columns, slots, n)
        start(&a, DEQUEUE_MANY, slots, n, 0)
        write(columns, q.bits, a.slots, n, parts, 0)
        a.count = n
        locked(step_put_back, q, &a)
    finally:
        free(slots)
    return 0
