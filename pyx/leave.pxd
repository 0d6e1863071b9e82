"""Dequeueing: collect slots, copy their rows into arrays, and free them.

Copying needs no lock: one short hold before it takes the slot numbers, another one after it frees them.
"""

from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

cimport numpy as cnp

from accept cimport out_fits, owner as owner_of
from blocks cimport note_batch
from borrowed cimport Borrowed, borrowed
from columns cimport (
    ROWS, Column, QueueColumns, PyArray_Scalar, close_recyclers, empty, is_set, is_sole, read_references, read_rows,
    reference,
)
from growth cimport release
from limits cimport NEAR, ROOM, slot_room
from slab cimport slab_row
from state cimport DONE, EXHAUSTED, PENDING, Attempt, Call, Queue, start
from steps cimport MoreRoom, locked, step_dequeue, step_put_back, step_room
from span cimport Span, slot_t
from waiting cimport Guard, check_process, guard_attempt, park, step_withdraw, withdraw_unowned


# Slots into arrays ----------------------------------------------------------------------------------------------------

cdef inline int check_out(const QueueColumns* columns, object owner, int i, object out, size_t n, bint cut) except -1:
    """Check an output array: it must have n rows, or with `cut` at least n."""
    if not out_fits(&columns.column[i], out, n, cut):
        raise owner._wrong_out(i, out, n)
    return 0


cdef inline object first_rows(object out, size_t n):
    """Return an output array's first n rows for the caller; a subclass may make its own type from the slice."""
    return out if <size_t>cnp.PyArray_DIM(<cnp.ndarray>out, 0) == n else out[:n]


cdef inline int check_apart(const QueueColumns* columns, object owner, tuple outs) except -1:
    """Check that no two output arrays, all of them contiguous, share memory."""
    cdef cnp.ndarray one, other
    cdef char* a
    cdef char* b
    cdef int i, k
    for i in range(1, columns.width):
        one = <cnp.ndarray>outs[i]
        a = <char*>cnp.PyArray_DATA(one)
        for k in range(i):
            other = <cnp.ndarray>outs[k]
            b = <char*>cnp.PyArray_DATA(other)
            if a < b + cnp.PyArray_NBYTES(other) and b < a + cnp.PyArray_NBYTES(one):
                raise ValueError(f"{owner._where(i)}: out shares memory with that of component {k}")
    return 0


cdef inline object single_row(const Column* c, int bits, slot_t slot):
    """Return one slot's row, as a scalar or an array."""
    if is_set(c.borrows) and borrowed(&c.borrowed, bits, slot).array != NULL:
        value = <object>borrowed(&c.borrowed, bits, slot).array
        if cnp.PyArray_ISWRITEABLE(<cnp.ndarray>value) and cnp.PyArray_NDIM(<cnp.ndarray>value) == c.ndim:
            return value        # it was given up, so the caller may own it
    if c.ndim == 0:
        return PyArray_Scalar(slab_row(&c.slab, bits, slot), <cnp.PyArray_Descr*>c.descr, NULL)
    return None


cdef inline object whole_array(const Column* c, int bits, Span[slot_t] slots, size_t n):
    """Return the array borrowed by n slots, if they have all its rows in order and the caller may own it: a segment
    filled by a worker, or an array with its own memory that only these slots refer to. Else None."""
    cdef PyObject* array = borrowed(&c.borrowed, bits, slots[0]).array
    cdef bint sole = array != NULL and is_sole(array, n)
    cdef const Borrowed* each
    cdef const char* row
    cdef size_t k
    if array == NULL or not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>array):
        return None
    if owner_of(<cnp.ndarray>array) is not None and not sole or cnp.PyArray_NDIM(<cnp.ndarray>array) != c.ndim + 1:
        return None
    if <size_t>cnp.PyArray_DIM(<cnp.ndarray>array, 0) != n:
        return None
    row = <const char*>cnp.PyArray_DATA(<cnp.ndarray>array)
    for k in range(n):
        each = borrowed(&c.borrowed, bits, slots[k])
        if each.array != array or each.row != row + k * c.slab.row:
            return None
    return <object>array


cdef inline object value_of(const Queue* q, QueueColumns* columns, object owner, int i, const Attempt* a, bint many,
                            object out):
    """Return one component's value: for one element, or for many stacked."""
    cdef Column* c = &columns.column[i]
    cdef size_t k, n = a.count
    if c.form == ROWS:
        if not many:
            value = single_row(c, q.bits, a.slots[0])
            if value is not None:
                return value
        elif out is None:
            if c.assembles:
                note_batch(&c.block, n)
            value = whole_array(c, q.bits, a.slots, n) if is_set(c.borrows) else None
            if value is not None:
                return value
        if out is None:
            out = empty(c, n, many)
        else:
            check_out(columns, owner, i, out, n, True)
        read_rows(c, q.bits, a.slots, n, <char*>cnp.PyArray_DATA(<cnp.ndarray>out))
        return first_rows(out, n) if many else out
    if not many:
        return <object>reference(c, q.bits, a.slots[0])
    if c.ndim == 0:
        if out is None:
            out = empty(c, n, True)
        else:
            check_out(columns, owner, i, out, n, True)
        read_references(c, q.bits, a.slots, n, <PyObject**>cnp.PyArray_DATA(<cnp.ndarray>out))
        return first_rows(out, n)
    values = PyList_New(n)
    for k in range(n):
        value = <object>reference(c, q.bits, a.slots[k])
        Py_INCREF(value)
        PyList_SET_ITEM(values, k, value)
    return owner._pack(i, values, out)


cdef inline object hand_over(const Queue* q, QueueColumns* columns, object owner, const Attempt* a, bint many,
                             tuple out):
    """Return all components' values, in the form for the caller."""
    cdef list results
    cdef int i
    if columns.width == 1 and columns.direct:
        return value_of(q, columns, owner, 0, a, many, None if out is None else out[0])
    results = PyList_New(columns.width)
    for i in range(columns.width):
        value = value_of(q, columns, owner, i, a, many, None if out is None else out[i])
        Py_INCREF(value)
        PyList_SET_ITEM(results, i, value)
    return results if columns.direct else owner._named(results)


# Collecting slots -----------------------------------------------------------------------------------------------------

cdef inline int make_room(Queue* q, Attempt* a) except -1:
    """Double a dequeue's room for slots."""
    cdef MoreRoom more
    more.attempt = a
    more.slots = <slot_t*>malloc(2 * a.room * sizeof(slot_t))
    if more.slots == NULL:
        locked(step_withdraw, q, a)
        raise MemoryError(f"no memory for a batch of {a.wanted} elements")
    locked(step_room, q, &more)
    free(more.slots)
    return 0


cdef inline object collect(Queue* q, QueueColumns* columns, object owner, size_t n, Call call, bint many,
                           int64_t deadline, tuple out):
    """Wait for n elements and return them; after an error, put them back. `owner` has the hooks and makes errors."""
    cdef slot_t[NEAR] near
    cdef size_t room = min(n, <size_t>ROOM)
    cdef slot_t* slots
    cdef Attempt a
    cdef Guard guard
    check_process(q, owner)     # converting the element count may have forked
    slots = slot_room(near, room)
    if slots == NULL:
        raise MemoryError(f"no memory for a batch of {n} elements")
    start(&a, call, slots, room, n)
    guard_attempt(&guard, q, &a, withdraw_unowned)
    try:
        locked(step_dequeue, q, &a)
        while a.seen == PENDING:
            if a.blocked:
                park(q, &a, deadline, owner)
            else:
                make_room(q, &a)
        if a.seen == EXHAUSTED:
            close_recyclers(columns)
        if a.seen != DONE:
            raise owner._failure(<int>a.seen, <int>call, a.lacking, a.left)
        try:
            result = hand_over(q, columns, owner, &a, many, out)
        except BaseException:
            locked(step_put_back, q, &a)
            raise
        release(q, columns, a.slots, 0, a.count)
        return result
    finally:
        if a.slots.data != near:
            free(a.slots.data)


cdef inline object collect_many(Queue* q, QueueColumns* columns, object owner, int width, object n, Call call,
                                int64_t deadline, object out):
    """Collect as `collect`, after checking n and the output arrays."""
    cdef Py_ssize_t count = -1
    cdef tuple outs = None
    cdef bint direct
    cdef int i, overflow = 0
    if PyLong_CheckExact(n):
        count = PyLong_AsLongLongAndOverflow(n, &overflow)
    if not 0 <= count < 1 << 31:
        count = owner._count(n, <int>call)
        if not 0 <= count < 1 << 31:
            raise SystemError(f"{type(owner).__name__}: {count} elements")
    if width and not columns.batches:
        raise owner._no_shapes()
    if out is not None:
        direct = columns.direct and columns.width == 1 and cnp.PyArray_Check(out)
        outs = (out,) if direct else owner._outputs(out)
        if outs is None or len(outs) != columns.width:
            raise SystemError(f"{type(owner).__name__}: {outs!r} for {columns.width} components")
        for i in range(columns.width):
            check_out(columns, owner, i, outs[i], count, False)
        check_apart(columns, owner, outs)
    if count == 0:
        return owner._nothing(outs)
    return collect(q, columns, owner, count, call, True, deadline, outs)
