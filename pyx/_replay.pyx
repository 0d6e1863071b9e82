"""PlainRows: a replay buffer's columns. A matching example is stored in its row in one compiled step."""

cimport cython
cimport numpy as cnp
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from keeping cimport fits, put_row
from span cimport rows_at
from stacking cimport Array, data_of, dims_of, has_references, is_array, is_contiguous, itemsize_of, rank_of

import numpy as np

cnp.import_array()

cdef object MISSING = object()


cdef inline int put_number(object column, Py_ssize_t at, object value) except -1:
    """Store a number in a column with its dtype."""
    cdef Array* rows = <Array*>column
    cdef int overflow = 0
    cdef char* row
    if not PyFloat_CheckExact(value) and not PyLong_CheckExact(value):
        column[at] = value
        return 0
    row = rows_at(data_of(rows), dims_of(rows)[0], itemsize_of(rows)).at(at)
    if PyFloat_CheckExact(value):
        (<double*>row)[0] = PyFloat_AS_DOUBLE(value)
    else:
        (<int64_t*>row)[0] = PyLong_AsLongLongAndOverflow(value, &overflow)
    return 0


cdef inline bint is_large(object value):
    """Return whether a value is an int outside the int64 range."""
    cdef int overflow = 0
    if not PyLong_CheckExact(value):
        return False
    PyLong_AsLongLongAndOverflow(value, &overflow)
    return overflow != 0


@cython.final
cdef class PlainRows:
    """Columns whose rows are examples: arrays and numbers, or dicts or tuples of these.

    Args:
        columns: One array per example value, with one row per example. If one holds objects, no example fits.
        kinds: For each value, the accepted number types.
        structure: A dict example's keys, in column order; a tuple's length; None for a single value.

    Raises:
        ValueError: A column cannot hold these numbers.

    Thread safety: one thread at a time.
    """

    cdef list columns
    cdef tuple kinds, keys              # keys for a dict
    cdef Py_ssize_t size, length        # row count; tuple length, or -1
    cdef bint usable

    def __cinit__(self, list columns not None, tuple kinds not None, structure):
        if len(columns) != len(kinds):
            raise ValueError(f"PlainRows: expected types for each of {len(columns)} columns, got {len(kinds)}")
        self.usable, self.size = len(columns) > 0, len(columns[0]) if columns else 0
        for column, each in zip(columns, kinds):
            if not is_array(<PyObject*>column) or not is_contiguous(<Array*>column) or len(column) != self.size:
                raise ValueError(f"PlainRows: expected contiguous arrays of {self.size} rows, got {column!r:.80}")
            if each and (rank_of(<Array*>column) != 1 or (float in each and column.dtype != np.float64)
                         or (int in each and column.dtype != np.int64)):
                raise ValueError(f"PlainRows: {column.dtype} does not hold numbers of {each}")
            if has_references(<Array*>column):
                self.usable = False
        self.columns, self.kinds = columns, kinds
        self.keys = structure if type(structure) is tuple else None
        self.length = structure if type(structure) is int else -1

    def fits(self, example):
        """Return whether an example has the columns' structure, types, dtypes and shapes."""
        values = self.values_of(example)
        return values is not None and self.alike(values)

    def put(self, Py_ssize_t at, example):
        """Store an example in a row; return False, without changes, if it does not fit.

        Raises:
            IndexError: There is no such row.
        """
        cdef Py_ssize_t i
        cdef list values = self.values_of(example)
        if values is None or not self.alike(values):
            return False
        if not 0 <= at < self.size:
            raise IndexError(f"there is no row {at}: there are {self.size}")
        for i in range(len(values)):
            if is_array(<PyObject*>values[i]):
                put_row(self.columns[i], at, values[i])
            else:
                put_number(self.columns[i], at, values[i])
        return True

    cdef list values_of(self, example):
        """Return an example's values, one per column; None if it has another structure."""
        cdef list values
        if not self.usable:
            return None
        if self.keys is not None:
            if type(example) is not dict or len(<dict>example) != len(self.keys):
                return None
            values = [(<dict>example).get(key, MISSING) for key in self.keys]
        elif self.length >= 0:
            values = list(<tuple>example) if type(example) is tuple else None
        else:
            values = [example]
        return values if values is not None and len(values) == len(self.columns) else None

    cdef bint alike(self, list values) except -1:
        """Return whether values have their columns' types, dtypes and shapes."""
        cdef Py_ssize_t i
        for i in range(len(values)):
            if is_array(<PyObject*>values[i]):
                if not fits(self.columns[i], values[i]):
                    return False
            elif type(values[i]) not in <frozenset>self.kinds[i] or is_large(values[i]):
                return False
        return True
