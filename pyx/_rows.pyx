"""Copy array rows by index, and store them in slots."""

cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF, Py_XINCREF
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from picking cimport in_order, pick_rows
from recycling cimport new_recycler, recycled_array
from slab cimport move
from span cimport RowSpan, rows_at
from stacking cimport (
    MAX_RANK, Array, are_equivalent, copy_intps, data_of, descr_of, dims_of, empty_like, has_references, intp, is_array,
    is_contiguous, itemsize_of, product, rank_of,
)

import numpy as np

cnp.import_array()

cdef enum:
    RELEASE = 32768             # bytes; releasing the GIL costs more than a smaller copy
    RECYCLED = 1 << 17          # minimum array size, in bytes, for reusing its memory
    SHARED = 32 << 20           # and maximum size for reuse in another loop, as in malloc

cdef object RECYCLER = new_recycler(True)       # for all loops: it keeps at most three blocks


def gathers(tuple arrays not None, Py_ssize_t rows, bint references=False):
    """Return whether these arrays, with `rows` rows each, can be copied as bytes, or as `references` if set."""
    for array in arrays:
        if type(array) is not cnp.ndarray or rank_of(<Array*>array) == 0 or dims_of(<Array*>array)[0] != rows:
            return False
        if has_references(<Array*>array) and not (references and cnp.PyArray_TYPE(array) == cnp.NPY_OBJECT):
            return False
        if not is_contiguous(<Array*>array) or itemsize_of(<Array*>array) == 0:
            return False
        if rank_of(<Array*>array) >= MAX_RANK:
            return False
    return True


cdef void refer(PyObject** to, PyObject** rows, const int64_t[::1] numbers, Py_ssize_t at, Py_ssize_t n,
                intp items) noexcept:
    """Put the objects from n rows, `size` per row, into a new array."""
    cdef PyObject* item
    cdef PyObject* old
    cdef Py_ssize_t i
    cdef intp k
    for i in range(n):
        for k in range(items):
            item = rows[numbers[at + i] * items + k]
            old = to[i * items + k]
            Py_XINCREF(item)
            to[i * items + k] = item
            Py_XDECREF(old)


cdef object new_rows(Array* like, int rank, intp* dims, intp size, recycler):
    """Return an array for rows with `size` bytes in total; above SHARED in a recycler's memory."""
    if size < RECYCLED:
        return empty_like(like, rank, dims)
    return recycled_array(RECYCLER if size <= SHARED else recycler, rank, dims, <object>descr_of(like))


@cython.final
cdef class Gatherer:
    """Copies rows from arrays into new arrays.

    Args:
        arrays: C-contiguous arrays with equal row counts, accepted by `gathers`.

    Thread safety: every method may be called from every thread.
    """

    cdef tuple arrays
    cdef object recycler                # for memory too large for the allocator to keep
    cdef readonly Py_ssize_t size

    def __cinit__(self, tuple arrays not None):
        if not arrays or type(arrays[0]) is not cnp.ndarray or rank_of(<Array*>arrays[0]) == 0:
            raise ValueError(f"Gatherer: expected arrays of rows, got {arrays!r:.80}")
        self.size = dims_of(<Array*>arrays[0])[0]
        if not gathers(arrays, self.size, True):
            raise ValueError(f"Gatherer: expected contiguous arrays of {self.size} rows, got {arrays!r:.80}")
        self.arrays, self.recycler = arrays, None

    def take(self, const int64_t[::1] numbers not None):
        """Return the rows with these numbers, as a list with one array per input array.

        Raises:
            IndexError: There is no such row.
        """
        cdef Py_ssize_t i, n = numbers.shape[0]
        for i in range(n):
            if not 0 <= numbers[i] < self.size:
                raise IndexError(f"there is no row {numbers[i]}: the arrays have {self.size}")
        return [self.made(array, numbers, n, 0) for array in self.arrays]

    def runs(self, const int64_t[::1] starts not None, Py_ssize_t size):
        """Return `size` rows from each start on, as a list with one array per input array and one more dimension.

        Raises:
            IndexError: There are no such rows.
        """
        cdef Py_ssize_t i
        if size < 1:
            raise ValueError(f"Gatherer.runs: size must be at least 1, got {size}")
        for i in range(starts.shape[0]):
            if not 0 <= starts[i] <= self.size - size:
                raise IndexError(f"there are no {size} rows from {starts[i]} on: the arrays have {self.size}")
        return [self.made(array, starts, starts.shape[0], size) for array in self.arrays]

    cdef object made(self, array, const int64_t[::1] numbers, Py_ssize_t n, Py_ssize_t size):
        """Return n rows from an array, or n runs with `size` neighbouring rows each."""
        cdef Array* given = <Array*>array
        cdef intp[MAX_RANK + 1] dims
        cdef int rank = rank_of(given), axis, more = 1 if size else 0
        cdef intp row = itemsize_of(given) * product(dims_of(given) + 1, rank - 1)
        cdef intp run = row * (size or 1)
        dims[0] = n
        if size:
            dims[1] = size
        for axis in range(1, rank):
            dims[axis + more] = dims_of(given)[axis]
        if has_references(given):
            if size:
                return array[np.add.outer(np.asarray(numbers), np.arange(size))]
            out = empty_like(given, rank, dims)
            refer(<PyObject**>data_of(<Array*>out), <PyObject**>data_of(given), numbers, 0, n,
                  row // <intp>sizeof(PyObject*))
            return out
        if n * run > SHARED and self.recycler is None:
            self.recycler = new_recycler()
        out = new_rows(given, rank + more, dims, n * run, self.recycler)
        if size:
            copy_runs(data_of(<Array*>out), data_of(given), numbers, row, run)
        elif n * row >= RELEASE:
            with nogil:
                pick_rows(rows_at(data_of(<Array*>out), n, row), rows_at(data_of(given), self.size, row), numbers, 0,
                          row)
        else:
            pick_rows(rows_at(data_of(<Array*>out), n, row), rows_at(data_of(given), self.size, row), numbers, 0, row)
        return out


cdef void copy_runs(char* to, const char* rows, const int64_t[::1] starts, intp row, intp run) noexcept:
    """Copy the bytes of a run of neighbouring rows from each start on."""
    cdef Py_ssize_t i
    if starts.shape[0] * run >= RELEASE:
        with nogil:
            for i in range(starts.shape[0]):
                memcpy(&to[i * run], &rows[starts[i] * row], run)
    else:
        for i in range(starts.shape[0]):
            memcpy(&to[i * run], &rows[starts[i] * row], run)


@cython.final
cdef class RunGatherer:
    """Copies rows with equal length out of flat arrays, such as mapped files, into new arrays.

    Row i in an array begins at item i * stride. Rows are counted through all arrays; none spans two arrays.

    Args:
        arrays: Contiguous 1-D arrays with the same dtype, without objects.
        counts: Row count per array.
        length: Items per row.
        stride: Items from one row's start to the next.
        shifts: For each array to return, how many items after its start a row begins.

    Raises:
        ValueError: There are no arrays, they differ, or a row would end after its array.

    Thread safety: every method may be called from every thread. The copies release the GIL, as a mapped file may have
    to be read.
    """

    cdef tuple arrays, shifts
    cdef const int64_t[::1] ends        # row count up to and including each array
    cdef object recycler
    cdef readonly Py_ssize_t size, length, stride

    def __cinit__(self, tuple arrays not None, counts, Py_ssize_t length, Py_ssize_t stride, tuple shifts=(0,)):
        if not arrays or len(arrays) != len(counts) or length < 1 or stride < 1 or min(shifts) < 0:
            raise ValueError("RunGatherer: expected arrays, as many counts, and lengths of 1 and more")
        for array, count in zip(arrays, counts):
            if not gathers((array,), len(array)) or rank_of(<Array*>array) != 1 or array.dtype != arrays[0].dtype:
                raise ValueError(f"RunGatherer: expected flat arrays of {arrays[0].dtype}, got {array!r:.80}")
            if count < 0 or (count and (count - 1) * stride + length + max(shifts) > len(array)):
                raise ValueError(f"RunGatherer: there are no {count} rows of {length} in {len(array)} items")
        self.ends = np.cumsum(np.asarray(counts, np.int64))
        self.size = self.ends[len(arrays) - 1]
        self.arrays, self.length, self.stride, self.shifts, self.recycler = arrays, length, stride, shifts, None

    def take(self, const int64_t[::1] numbers not None):
        """Return the rows with these numbers as a list with one 2-D array per shift.

        Raises:
            IndexError: There is no such row.
        """
        cdef Py_ssize_t i, n = numbers.shape[0]
        cdef Array* first = <Array*>self.arrays[0]
        cdef intp item = itemsize_of(first), run = item * self.length
        cdef intp[2] dims
        cdef int64_t low
        cdef Py_ssize_t which = 0
        begins = np.empty(n, np.uintp)
        cdef size_t[::1] at = begins
        for i in range(n):
            if not 0 <= numbers[i] < self.size:
                raise IndexError(f"there is no row {numbers[i]}: there are {self.size}")
            low = 0 if which == 0 else self.ends[which - 1]
            if not low <= numbers[i] < self.ends[which]:
                which = array_of(self.ends, numbers[i])
                low = 0 if which == 0 else self.ends[which - 1]
            at[i] = <size_t>data_of(<Array*>self.arrays[which]) + (numbers[i] - low) * self.stride * item
        dims[0], dims[1] = n, self.length
        if n * run > SHARED and self.recycler is None:
            self.recycler = new_recycler()
        cdef list made = [new_rows(first, 2, dims, n * run, self.recycler) for _ in self.shifts]
        for shift, out in zip(self.shifts, made):
            copy_from(data_of(<Array*>out), at, shift * item, run)
        return made

    def runs(self, starts, size):
        """Return None: neighbouring rows are copied like any others."""
        return None


cdef Py_ssize_t array_of(const int64_t[::1] ends, int64_t number) noexcept:
    """Return the index of the array with a row: the first one that ends after it."""
    cdef Py_ssize_t low = 0, high = ends.shape[0] - 1, middle
    while low < high:
        middle = (low + high) // 2
        if ends[middle] > number:
            high = middle
        else:
            low = middle + 1
    return low


cdef void copy_from(char* to, const size_t[::1] addresses, intp offset, intp run) noexcept:
    """Copy `run` bytes from each address plus an offset."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(addresses.shape[0]):
            memcpy(&to[i * run], <const char*>addresses[i] + offset, run)


cdef inline RowSpan rows_of(column) noexcept:
    cdef Array* array = <Array*>column
    return rows_at(data_of(array), dims_of(array)[0], itemsize_of(array) * product(dims_of(array) + 1,
                                                                                   rank_of(array) - 1))


cdef inline void put_rows(RowSpan to, RowSpan rows, const int64_t[::1] slots) noexcept nogil:
    """Copy one row into each slot."""
    cdef Py_ssize_t i
    if rows.n and in_order(slots, 0, rows.n):
        memcpy(to.at(slots[0]), rows.at(0), rows.n * rows.row)
        return
    for i in range(<Py_ssize_t>rows.n):
        move(to.at(slots[i]), rows.at(i), rows.row)


@cython.final
cdef class RowSlots:
    """Rows in slots, where a slot is one row in every column. Taking a row frees its slot.

    Args:
        likes: Arrays like the columns: the same dtypes, and the same shapes except for the first dimension.

    Attributes:
        columns: The columns.

    Thread safety: one thread at a time.
    """

    cdef readonly list columns
    cdef Py_ssize_t room                # slot count
    cdef Py_ssize_t spare               # number of free slots: the first ones in `free`
    cdef cnp.ndarray free

    def __cinit__(self, list likes not None):
        for like in likes:
            if not is_array(<PyObject*>like) or not 0 < rank_of(<Array*>like) < MAX_RANK:
                raise ValueError(f"RowSlots: expected arrays of rows, got {like!r:.80}")
        self.columns = [np.empty((0, *like.shape[1:]), like.dtype) for like in likes]
        self.room = self.spare = 0
        self.free = np.empty(0, np.int64)

    def put(self, list rows not None):
        """Add rows: one array per column.

        Returns:
            An int64 array with their slots; None, without changes, if they do not fit.
        """
        cdef Py_ssize_t i, n
        cdef int64_t[::1] slots, free
        cdef RowSpan to, given
        if len(rows) != len(self.columns):
            return None
        n = len(rows[0])
        for i in range(len(rows)):
            if not self.fit(self.columns[i], rows[i], n):
                return None
        if n > self.spare:
            self.grow(max(2 * self.room, self.room + n))
        cdef cnp.npy_intp length = n
        cdef cnp.ndarray found = cnp.PyArray_EMPTY(1, &length, cnp.NPY_INT64, 0)
        slots, free = found, self.free
        for i in range(n):
            slots[i] = free[self.spare - n + i]
        for i in range(len(rows)):
            if has_references(<Array*>rows[i]) or not is_contiguous(<Array*>rows[i]):
                self.columns[i][found] = rows[i]
                continue
            to, given = rows_of(self.columns[i]), rows_of(rows[i])
            if given.n * given.row >= RELEASE:
                with nogil:
                    put_rows(to, given, slots)
            else:
                put_rows(to, given, slots)
        self.spare -= n
        return found

    def take(self, const int64_t[::1] slots not None):
        """Remove rows, and return one array per column.

        Raises:
            IndexError: There is no such slot.
            ValueError: A slot is taken twice, so more slots would be free than exist.
        """
        cdef Py_ssize_t i, n = slots.shape[0]
        cdef int64_t[::1] free = self.free
        if self.spare + n > self.room:
            raise ValueError(f"RowSlots.take: expected at most {self.room - self.spare} slots, each once, got {n}")
        for i in range(n):
            if not 0 <= slots[i] < self.room:
                raise IndexError(f"RowSlots.take: expected slots from 0 to {self.room - 1}, got {slots[i]}")
        cdef list found = [self.taken(column, slots) for column in self.columns]
        for i in range(n):
            free[self.spare + i] = slots[i]
        self.spare += n
        return found

    def held(self):
        """Return the slots in use, ascending."""
        there = np.ones(self.room, bool)
        there[self.free[:self.spare]] = False
        return np.flatnonzero(there)

    def change(self, list columns not None):
        """Replace the columns, with one row per slot."""
        for column in columns:
            if not is_array(<PyObject*>column) or not is_contiguous(<Array*>column) or len(column) != self.room:
                raise ValueError(f"RowSlots: expected contiguous arrays of {self.room} rows, got {column!r:.80}")
        self.columns = columns

    cdef bint fit(self, column, rows, Py_ssize_t n) except -1:
        """Return whether an array has n rows like those in a column."""
        cdef Array* mine = <Array*>column
        cdef Array* given = <Array*>rows
        if not is_array(<PyObject*>rows) or rank_of(given) != rank_of(mine) or dims_of(given)[0] != n:
            return False
        for i in range(1, rank_of(mine)):
            if dims_of(given)[i] != dims_of(mine)[i]:
                return False
        return descr_of(given) == descr_of(mine) or are_equivalent(descr_of(given), descr_of(mine))

    cdef object taken(self, column, const int64_t[::1] slots):
        """Return a column's rows in these slots, and clear its object references."""
        cdef Array* array = <Array*>column
        cdef intp[MAX_RANK] dims
        cdef RowSpan source, made
        if has_references(array):
            which = np.asarray(slots)
            found = column[which]
            column[which] = None if column.dtype == object else np.zeros((), column.dtype)
            return found
        if itemsize_of(array) == 0:
            return column[np.asarray(slots)]
        copy_intps(dims, dims_of(array), rank_of(array))
        dims[0] = slots.shape[0]
        out = empty_like(array, rank_of(array), dims)
        source, made = rows_of(column), rows_of(out)
        made = rows_at(made.data, slots.shape[0], source.row)
        if made.n * made.row >= RELEASE:
            with nogil:
                pick_rows(made, source, slots, 0, made.row)
        else:
            pick_rows(made, source, slots, 0, made.row)
        return out

    cdef int grow(self, Py_ssize_t room) except -1:
        """Make room for more rows."""
        cdef list columns = [longer(column, room) for column in self.columns]
        self.free = np.concatenate([self.free[:self.spare], np.arange(self.room, room, dtype=np.int64),
                                    np.empty(self.room - self.spare, np.int64)])
        self.columns = columns
        self.spare += room - self.room
        self.room = room
        return 0


cdef object longer(column, Py_ssize_t room):
    """Return a column with room for more rows."""
    more = np.empty((room, *column.shape[1:]), column.dtype)
    more[:len(column)] = column
    return more
