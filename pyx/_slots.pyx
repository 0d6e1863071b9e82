"""Slots: elements in slots, put in and taken out in any order, many in one call; each has an id."""

cimport numpy as cnp
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from mixing cimport mixed, mixed_number
from picking cimport in_order, pick_rows
from slab cimport move
from span cimport RowSpan, rows_at
from stacking cimport (
    MAX_RANK, Array, are_equivalent, copy_intps, data_of, descr_of, dims_of, empty_like, has_references, intp,
    is_array, is_contiguous, itemsize_of, product, rank_of,
)

import numpy as np

cnp.import_array()

cdef enum:
    RELEASE = 32768             # bytes; releasing the GIL costs more than a smaller copy


cdef inline cnp.ndarray numbers_of(Py_ssize_t n, int kind):
    cdef cnp.npy_intp length = n
    return cnp.PyArray_EMPTY(1, &length, kind, 0)


cdef inline bint is_vector(value, int kind) noexcept:
    """Whether a value is an array of rank 1 of this type, whose numbers lie one after the other."""
    return (is_array(<PyObject*>value) and rank_of(<Array*>value) == 1 and is_contiguous(<Array*>value)
            and cnp.PyArray_TYPE(<cnp.ndarray>value) == kind and cnp.PyArray_ISNOTSWAPPED(<cnp.ndarray>value))


cdef inline RowSpan rows_of(column) noexcept:
    cdef Array* array = <Array*>column
    return rows_at(data_of(array), dims_of(array)[0], itemsize_of(array) * product(dims_of(array) + 1,
                                                                                   rank_of(array) - 1))


cdef inline void put_rows(RowSpan to, RowSpan rows, const int64_t[::1] slots) noexcept nogil:
    """Copy as many rows into slots."""
    cdef Py_ssize_t i
    if rows.n and in_order(slots, 0, rows.n):
        memcpy(to.at(slots[0]), rows.at(0), rows.n * rows.row)
        return
    for i in range(<Py_ssize_t>rows.n):
        move(to.at(slots[i]), rows.at(i), rows.row)


cdef class Slots:
    """Elements in slots: a row in each column, and an id.

    Columns are arrays whose dtypes and shapes stay. An element that was taken leaves its slot free for another.

    Args:
        room: For how many elements there is room at first.

    Attributes:
        room: For how many there is room now.

    Thread safety: one thread at a time.
    """

    cdef readonly Py_ssize_t room
    cdef Py_ssize_t spare               # slots that are free: the first ones of `free`
    cdef cnp.ndarray free, hashes, counts
    cdef list columns

    def __cinit__(self, Py_ssize_t room):
        if room < 1:
            raise ValueError(f"Slots: room must be at least 1, got {room}")
        self.room = self.spare = room
        self.free = np.arange(room, dtype=np.int64)
        self.hashes, self.counts = numbers_of(room, cnp.NPY_UINT64), numbers_of(room, cnp.NPY_INT64)
        self.columns = []

    def hold(self, columns):
        """Have these arrays as columns from now on, each with `room` rows: those of the elements that are here."""
        cdef list found = list(columns)
        for column in found:
            if not is_array(<PyObject*>column) or rank_of(<Array*>column) == 0 or not is_contiguous(<Array*>column):
                raise ValueError(f"Slots: expected contiguous arrays of rows, got {column!r:.80}")
            if dims_of(<Array*>column)[0] != self.room or rank_of(<Array*>column) >= MAX_RANK:
                raise ValueError(
                    f"Slots: expected columns of {self.room} rows, got one of {dims_of(<Array*>column)[0]}")
        self.columns = found

    def held(self):
        """Return the columns."""
        return list(self.columns)

    def put(self, ids, rows):
        """Put elements in.

        Args:
            ids: What tells them apart: a range, an int64 array, or something with the arrays `hashes` and `counts`.
            rows: Arrays of their rows, one for each column.

        Returns:
            An int64 array of their slots; None if the rows do not fit, and nothing has changed.
        """
        cdef list given = list(rows)
        cdef Py_ssize_t n = len(ids), i
        cdef int64_t[::1] slots
        cdef RowSpan to, source
        if len(given) != len(self.columns):
            return None
        for i in range(len(given)):
            if not self.fit(self.columns[i], given[i], n):
                return None
        if n > self.spare:
            self.grow(max(2 * self.room, self.room + n))
        cdef cnp.ndarray found = numbers_of(n, cnp.NPY_INT64)
        slots = found
        cdef int64_t[::1] free = self.free
        for i in range(n):
            slots[i] = free[self.spare - n + i]
        self.note(ids, slots)
        for i in range(len(given)):
            if has_references(<Array*>given[i]) or not is_contiguous(<Array*>given[i]):
                self.columns[i][found] = given[i]
                continue
            to, source = rows_of(self.columns[i]), rows_of(given[i])
            if source.n * source.row >= RELEASE:
                with nogil:
                    put_rows(to, source, slots)
            else:
                put_rows(to, source, slots)
        self.spare -= n
        return found

    def take(self, cnp.ndarray slots not None):
        """Take elements out: return the rows of each column, and the hashes and counts of their ids.

        Raises:
            IndexError: There is no such slot.
            ValueError: More slots would be free than there are: one is taken twice.
        """
        cdef Py_ssize_t n, i
        cdef const int64_t[::1] which
        if not is_vector(slots, cnp.NPY_INT64):
            raise TypeError(f"Slots.take: expected an array of int64, got {slots!r:.80}")
        which = slots
        n = which.shape[0]
        if self.spare + n > self.room:
            raise ValueError(f"Slots.take: expected at most {self.room - self.spare} slots, each once, got {n}")
        for i in range(n):
            if not 0 <= which[i] < self.room:
                raise IndexError(f"Slots.take: expected slots from 0 to {self.room - 1}, got {which[i]}")
        cdef list columns = [self.gathered(column, slots, which) for column in self.columns]
        cdef cnp.ndarray hashes = numbers_of(n, cnp.NPY_UINT64), counts = numbers_of(n, cnp.NPY_INT64)
        cdef uint64_t[::1] all_hashes = self.hashes, their_hashes = hashes
        cdef int64_t[::1] all_counts = self.counts, their_counts = counts, free = self.free
        for i in range(n):
            their_hashes[i] = all_hashes[which[i]]
            their_counts[i] = all_counts[which[i]]
            free[self.spare + i] = which[i]
        self.spare += n
        return columns, hashes, counts

    cdef bint fit(self, column, rows, Py_ssize_t n) except -1:
        """Whether an array has n rows like those of a column."""
        cdef Array* mine = <Array*>column
        cdef Array* given = <Array*>rows
        if not is_array(<PyObject*>rows) or rank_of(given) != rank_of(mine) or dims_of(given)[0] != n:
            return False
        for i in range(1, rank_of(mine)):
            if dims_of(given)[i] != dims_of(mine)[i]:
                return False
        return descr_of(given) == descr_of(mine) or are_equivalent(descr_of(given), descr_of(mine))

    cdef int note(self, ids, const int64_t[::1] slots) except -1:
        """Note the ids of elements in slots."""
        cdef uint64_t[::1] hashes = self.hashes
        cdef int64_t[::1] counts = self.counts
        cdef const int64_t[::1] numbers, theirs
        cdef const uint64_t[::1] given
        cdef int64_t first, step
        cdef Py_ssize_t i, n = slots.shape[0]
        if type(ids) is range:
            first, step = ids.start, ids.step
            for i in range(n):
                counts[slots[i]] = 1
                if first >= 0 and step > 0:
                    hashes[slots[i]] = mixed_number(first + i * step)
                else:
                    hashes[slots[i]] = mixed(<uint64_t>(first + i * step))
            return 0
        if is_array(<PyObject*>ids):
            numbers = ids if is_vector(ids, cnp.NPY_INT64) else np.ascontiguousarray(ids, np.int64)
            for i in range(min(n, numbers.shape[0])):
                counts[slots[i]] = 1
                hashes[slots[i]] = mixed(<uint64_t>numbers[i])
            return 0
        given = ids.hashes if is_vector(ids.hashes, cnp.NPY_UINT64) else np.ascontiguousarray(ids.hashes, np.uint64)
        theirs = ids.counts if is_vector(ids.counts, cnp.NPY_INT64) else np.ascontiguousarray(ids.counts, np.int64)
        for i in range(min(n, given.shape[0], theirs.shape[0])):
            hashes[slots[i]], counts[slots[i]] = given[i], theirs[i]
        return 0

    cdef object gathered(self, column, cnp.ndarray slots, const int64_t[::1] which):
        """Return the rows of a column in these slots, which it forgets if they are objects."""
        cdef Array* array = <Array*>column
        cdef intp[MAX_RANK] dims
        cdef RowSpan source, made
        if has_references(array):
            found = column[slots]
            column[slots] = None if column.dtype == object else np.zeros((), column.dtype)
            return found
        if itemsize_of(array) == 0:
            return column[slots]
        copy_intps(dims, dims_of(array), rank_of(array))
        dims[0] = which.shape[0]
        out = empty_like(array, rank_of(array), dims)
        source, made = rows_of(column), rows_of(out)
        made = rows_at(made.data, which.shape[0], source.row)
        if made.n * made.row >= RELEASE:
            with nogil:
                pick_rows(made, source, which, 0, made.row)
        else:
            pick_rows(made, source, which, 0, made.row)
        return out

    cdef int grow(self, Py_ssize_t room) except -1:
        """Make room for more elements."""
        cdef list columns = []
        for column in self.columns:
            columns.append(longer(column, room))
        hashes, counts = longer(self.hashes, room), longer(self.counts, room)
        free = np.concatenate([self.free[:self.spare], np.arange(self.room, room, dtype=np.int64),
                               np.empty(self.room - self.spare, np.int64)])
        self.columns, self.hashes, self.counts, self.free = columns, hashes, counts, free
        self.spare += room - self.room
        self.room = room
        return 0


cdef longer(column, Py_ssize_t room):
    """Return a column with room for more rows."""
    more = np.empty((room, *column.shape[1:]), column.dtype)
    more[:len(column)] = column
    return more
