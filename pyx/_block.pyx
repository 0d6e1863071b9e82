"""Block: consecutive examples in a stream, with the numbers that identify them; as columns or in a list."""

cimport cython
cimport numpy as cnp

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from mixing cimport STEP, mixed
from stacking cimport (
    MAX_RANK, Array, copy_intps, data_of, dims_of, empty_like, has_references, intp, is_array, is_contiguous,
    is_writeable, itemsize_of, product, rank_of,
)

import numpy as np

from pipeline._calls import all_of
from pipeline.nest import CONSTANT, parts_of, with_parts

cnp.import_array()

cdef enum:
    RELEASE = 32768             # bytes; releasing the GIL costs more than a smaller copy


cdef inline int64_t number_of(int64_t number, uint64_t other) noexcept nogil:
    return <int64_t>(mixed(<uint64_t>number * <uint64_t>STEP + other + 1) >> 1)


def mix_numbers(const int64_t[::1] numbers not None, uint64_t other):
    """Mix each number with `other` into a nonnegative int64; different pairs hardly ever give the same result."""
    cdef cnp.npy_intp n = numbers.shape[0]
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(1, &n, cnp.NPY_INT64, 0)
    cdef int64_t[::1] made = out
    cdef Py_ssize_t i
    for i in range(n):
        made[i] = number_of(numbers[i], other)
    return out


def mix_pairs(const int64_t[::1] numbers not None, const int64_t[::1] others not None):
    """Mix each number with its own other one, as `mix_numbers` does."""
    cdef cnp.npy_intp n = numbers.shape[0]
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(1, &n, cnp.NPY_INT64, 0)
    cdef int64_t[::1] made = out
    cdef Py_ssize_t i
    if others.shape[0] != n:
        raise ValueError(f"mix_pairs: expected another number for each of {n}, got {others.shape[0]}")
    for i in range(n):
        made[i] = number_of(numbers[i], <uint64_t>others[i])
    return out


def mix_outputs(int64_t number, uint64_t first, Py_ssize_t count):
    """Mix one number with `first`, `first + 1`, ..., as `mix_numbers` does."""
    cdef cnp.npy_intp n = max(count, 0)
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(1, &n, cnp.NPY_INT64, 0)
    cdef int64_t[::1] made = out
    cdef Py_ssize_t i
    for i in range(n):
        made[i] = number_of(number, first + <uint64_t>i)
    return out


def bounds(const int64_t[:] places not None):
    """Return the smallest and the largest of these places.

    Raises:
        ValueError: There are none.
    """
    cdef Py_ssize_t i
    cdef int64_t low, high
    if not places.shape[0]:
        raise ValueError("bounds: expected at least one place, got none")
    low = high = places[0]
    for i in range(places.shape[0]):
        low, high = min(low, places[i]), max(high, places[i])
    return low, high


def spread(const int64_t[::1] places not None, Py_ssize_t size, Py_ssize_t step=1):
    """Return each place and the `size - 1` places after it, `step` apart, one group after another: int64."""
    cdef cnp.npy_intp n = places.shape[0] * max(size, 0)
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(1, &n, cnp.NPY_INT64, 0)
    cdef int64_t[::1] made = out
    cdef Py_ssize_t i, k, at = 0
    for i in range(places.shape[0]):
        for k in range(size):
            made[at] = places[i] + k * step
            at += 1
    return out


cdef object RECORD = np.void            # element type of structured arrays


cdef inline object owned_array(cnp.ndarray array):
    cdef PyObject* base = <PyObject*>cnp.PyArray_BASE(array)
    if not is_writeable(<Array*>array):
        return array.copy()
    if base == NULL:
        return array
    if is_array(base):
        return array if 2 * cnp.PyArray_NBYTES(array) >= cnp.PyArray_NBYTES(<cnp.ndarray>base) else array.copy()
    return array if 2 * cnp.PyArray_NBYTES(array) >= getattr(<object>base, "nbytes", 0) > 0 else array.copy()


def owned(value):
    """Return a writable array that is most of the memory it keeps alive; make a copy if necessary.

    Other objects are returned unchanged, except records, because they are views on their arrays.
    """
    if is_array(<PyObject*>value):
        return owned_array(value)
    return value.copy() if type(value) is RECORD else value


cdef object handed(value):
    kind = type(value)
    if is_array(<PyObject*>value):
        return owned_array(value)
    if kind is dict:
        return {key: handed(each) for key, each in (<dict>value).items()}
    if kind is tuple:
        return tuple([handed(each) for each in <tuple>value])
    if kind is RECORD:
        return value.copy()
    if kind in CONSTANT or (parts := parts_of(value)) is None or all_of(parts, CONSTANT):
        return value
    mine = [handed(part) for part in parts]
    return value if all([one is other for one, other in zip(mine, parts)]) else with_parts(value, mine)


def handed_out(element):
    """Return an element with all its arrays passed through `owned`, in dicts and tuples too."""
    return handed(element)


cdef object row(column, Py_ssize_t i):
    """Return row i from an array or list, as `owned` does: an array or a NumPy scalar."""
    cdef Array* array = <Array*>column
    cdef intp size
    if not is_array(<PyObject*>column):
        return column[i]
    if rank_of(array) < 2 or not is_contiguous(array) or has_references(array):
        return owned(column[i])
    size = itemsize_of(array) * product(dims_of(array) + 1, rank_of(array) - 1)
    if not 0 <= i < dims_of(array)[0]:
        raise IndexError(f"there is no row {i}: there are {dims_of(array)[0]}")
    if 2 * size >= size * dims_of(array)[0]:
        return owned(column[i])
    made = empty_like(array, rank_of(array) - 1, dims_of(array) + 1)
    memcpy(data_of(<Array*>made), data_of(array) + i * size, size)
    return made


cdef object put_together(structure, list values):
    if structure is None:
        return values[0]
    kind = type(structure)
    if kind is tuple:
        return dict(zip(<tuple>structure, values))
    return tuple(values) if kind is int else structure.pack(values)


@cython.final
cdef class Columns:
    """Examples as columns.

    Args:
        arrays: The columns, arrays or lists, whose first dimension counts the examples.
        size: Number of examples.
        structure: How the values form an example: None for a single value, a tuple with a dict's keys, an int for a
            tuple's length, or a Nest for anything else.

    Thread safety: one thread at a time, until `arrays` has been read.
    """

    cdef list _arrays
    cdef Py_ssize_t _first              # row index of the first example; -1 if these are all rows
    cdef readonly Py_ssize_t size
    cdef readonly object structure

    def __init__(self, list arrays not None, Py_ssize_t size, structure=None):
        if not arrays and structure is None:
            raise ValueError("Columns: expected at least one column, got none")
        self._arrays, self.size, self.structure, self._first = arrays, size, structure, -1

    def __len__(self):
        return self.size

    cdef Columns part(self, Py_ssize_t begin, Py_ssize_t end):
        cdef Columns made = Columns.__new__(Columns)
        made._arrays, made.structure = self._arrays, self.structure
        made._first, made.size = begin + max(self._first, 0), max(0, end - begin)
        return made

    def __getitem__(self, slice which not None):
        cdef Py_ssize_t begin, end, step
        begin, end, step = which.indices(self.size)
        if step != 1:
            raise ValueError(f"Columns: expected neighbours, got a slice with a step of {step}")
        return self.part(begin, end)

    @property
    def arrays(self):
        """The columns. A part cuts them on first access, which the iterator never needs."""
        return self.cut()

    cdef list cut(self):
        if self._first >= 0:
            rows = slice(self._first, self._first + self.size)
            self._arrays, self._first = [array[rows] for array in self._arrays], -1
        return self._arrays

    def picked(self, places):
        """Return the examples at these places, an array."""
        return Columns(
            [
                array.take(places, axis=0) if is_array(<PyObject*>array) else [array[i] for i in places]
                for array in self.cut()
            ],
            len(places), self.structure,
        )

    def first(self):
        """Return the first example, as `handed_out` does."""
        cdef Py_ssize_t at = max(self._first, 0)
        values = [row(array, at) for array in self._arrays]
        return put_together(self.structure, values)

    def examples(self):
        """Return an iterator over the examples."""
        cdef list arrays = self.cut()
        structure = self.structure
        if not arrays:                  # such as empty dicts
            return iter([put_together(structure, []) for _ in range(self.size)])
        if structure is None:
            return iter(arrays[0])
        if type(structure) is int:
            return zip(*arrays)
        return map(Packed(structure), zip(*arrays))

    def __reduce__(self):
        return Columns, (self.cut(), self.size, self.structure)

    def packed(self, list values not None):
        """Return other values, one per column, in the examples' structure."""
        return put_together(self.structure, values)


@cython.final
cdef class Packed:
    """Makes examples from rows."""

    cdef object structure

    def __cinit__(self, structure):
        self.structure = structure

    def __call__(self, tuple row not None):
        return put_together(self.structure, list(row))


@cython.final
cdef class Examples:
    """Examples in a list, with any shapes and structures.

    Thread safety: as a list.
    """

    cdef readonly list items

    def __init__(self, list items not None):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, slice which not None):
        return Examples(self.items[which])

    def __reduce__(self):
        return Examples, (self.items,)

    def picked(self, places):
        """Return the examples at these places, an array."""
        cdef list items = self.items
        return Examples([items[i] for i in places.tolist()])

    def first(self):
        """Return the first example, as `handed_out` does."""
        if not self.items:
            raise IndexError("there is no example")
        return handed(self.items[0])

    def examples(self):
        """Return an iterator over the examples."""
        return iter(self.items)


@cython.final
cdef class Names:
    """Names for a block's examples in errors, such as a file and a line.

    Args:
        call: Returns the name for example `i`, or None if it has none.
        first: Argument of `call` for the block's first example.

    Thread safety: as `call`.
    """

    cdef readonly object call
    cdef readonly Py_ssize_t first

    def __init__(self, call, Py_ssize_t first=0):
        self.call, self.first = call, first

    def __call__(self, Py_ssize_t i):
        """Return the name for the block's example `i`."""
        return self.call(self.first + i)

    def after(self, Py_ssize_t n):
        """Return the block's names without its first n examples."""
        return Names(self.call, self.first + n)

    def picked(self, places):
        """Return the names for the examples at these places."""
        return Names(lambda i: self(int(places[i])))


def name_of_number(number):
    """Return the name in errors for an example with this number; mixed numbers are meaningless to users."""
    return f"example {number}" if number < 1 << 40 else "an example"


def names_of_numbers(numbers, name_of):
    """Return names for examples by their numbers: a separate function, so that names keep no block alive."""
    return Names(lambda i: name_of(int(numbers[i])) or name_of_number(int(numbers[i])))


cdef cnp.ndarray _NO_NUMBERS = np.empty(0, np.int64)


@cython.final
cdef class Block:
    """Consecutive examples.

    Attributes:
        values: The examples: Columns or Examples.
        numbers: Each example's number, int64: it seeds `example_rng`, and names the example in errors.
        error: The error that follows these examples; None if there is none.
        names: The examples' names in errors, in addition to their numbers; None if they have none.
        sizes: How many source examples each element has: an array, or one number for all.

    Thread safety: one thread at a time.
    """

    cdef public object values
    cdef readonly cnp.ndarray numbers
    cdef public object error
    cdef public object names
    cdef public object sizes

    def __cinit__(self):
        self.numbers = _NO_NUMBERS  # until `__init__`, as `__new__` alone does not call it

    def __init__(self, values, cnp.ndarray numbers not None, error=None, names=None, sizes=1):
        if cnp.PyArray_NDIM(numbers) != 1:
            raise ValueError(f"Block: expected a number for each example, got an array of rank {numbers.ndim}")
        self.values, self.numbers, self.error, self.names, self.sizes = values, numbers, error, names, sizes

    def __len__(self):
        return cnp.PyArray_DIM(self.numbers, 0)

    def __reduce__(self):
        return Block, (self.values, self.numbers, self.error, self.names, self.sizes)

    def part(self, Py_ssize_t begin, Py_ssize_t end):
        """Return the examples from `begin` up to `end`; the error follows if these are the last."""
        cdef Block made = Block.__new__(Block)
        cdef Py_ssize_t n = cnp.PyArray_DIM(self.numbers, 0)
        end = min(end, n)
        values = self.values
        if type(values) is Columns:
            made.values = (<Columns>values).part(begin, end)
        else:
            made.values = values[begin:end]
        made.numbers = self.numbers[begin:end]
        made.error = self.error if end == n else None
        made.names = self.names
        if begin and self.names is not None:
            made.names = self.names.after(begin)
        made.sizes = self.sizes if type(self.sizes) is int else self.sizes[begin:end]
        return made

    def picked(self, places):
        """Return the examples at these places, without the error."""
        names = None if self.names is None else self.names.picked(places)
        sizes = self.sizes if type(self.sizes) is int else self.sizes[places]
        return Block(self.values.picked(places), self.numbers[places], None, names, sizes)

    def renumbered(self, other, name_of):
        """Return the same examples with new numbers, for input or pass number `other`.

        They keep the names derived from their old numbers.

        Args:
            other: Index of the input or pass. It changes every number, even for index 0: otherwise an inner join and an
                outer one would give the same numbers.
            name_of: Returns the name for an example's number; None if it has none.
        """
        numbers, names = self.numbers, self.names
        if names is None:
            names = names_of_numbers(numbers, name_of)
        return Block(self.values, mix_numbers(cnp.PyArray_GETCONTIGUOUS(numbers), other), self.error, names, self.sizes)

    def named(self, Py_ssize_t i):
        """Return the name for example `i` in errors."""
        name = None if self.names is None else self.names(i)
        if name:
            return name
        return name_of_number(int(self.numbers[i]))

    def first_size(self):
        """Return how many source examples the first element has."""
        return self.sizes if type(self.sizes) is int else int(self.sizes[0])

    def size_in_all(self):
        """Return how many source examples all elements have together."""
        return self.sizes * cnp.PyArray_DIM(self.numbers, 0) if type(self.sizes) is int else int(self.sizes.sum())


cdef bint is_ragged(column, bint splits) except -1:
    """Return whether a column must be padded or split; splitting applies even if all its rows have one length."""
    if is_array(<PyObject*>column):
        if splits and rank_of(<Array*>column) > 1:
            return True
        if not has_references(<Array*>column) or rank_of(<Array*>column) != 1 or dims_of(<Array*>column)[0] == 0:
            return False
    elif not column:
        return False
    first = column[0]
    return isinstance(first, (cnp.ndarray, list))


cdef inline bint is_copied(column, Py_ssize_t first, Py_ssize_t size, bint splits) noexcept:
    """Return whether `owned` would copy these rows, and a copy of their bytes is all that a batch needs."""
    cdef Array* array = <Array*>column
    if not is_array(<PyObject*>column) or has_references(array) or not is_contiguous(array) or rank_of(array) == 0:
        return False
    if rank_of(array) > (1 if splits else MAX_RANK) or first + size > dims_of(array)[0]:
        return False
    if not cnp.PyArray_ISNOTSWAPPED(column) or cnp.PyArray_TYPE(column) == cnp.NPY_VOID:
        return False
    return not is_writeable(array) or 2 * size < dims_of(array)[0]


cdef object rows_copied(Array* array, Py_ssize_t first, Py_ssize_t size):
    """Return a copy of some rows of a contiguous array without references."""
    cdef intp[MAX_RANK] dims
    cdef intp row = itemsize_of(array) * product(dims_of(array) + 1, rank_of(array) - 1)
    copy_intps(dims, dims_of(array), rank_of(array))
    dims[0] = size
    made = empty_like(array, rank_of(array), dims)
    if size * row >= RELEASE:
        with nogil:
            memcpy(data_of(<Array*>made), data_of(array) + first * row, size * row)
    else:
        memcpy(data_of(<Array*>made), data_of(array) + first * row, size * row)
    return made


def finished(Columns rows not None, bint splits, stacked):
    """Return the batch as arrays without other references; None if a column must be padded or split.

    Args:
        rows: The rows.
        splits: True to split columns with a rank above 1.
        stacked: Makes an array from a list.
    """
    cdef list made = []
    cdef Py_ssize_t first = rows._first
    for column in rows._arrays:
        if first >= 0:
            if is_copied(column, first, rows.size, splits):
                made.append(rows_copied(<Array*>column, first, rows.size))
                continue
            column = column[first:first + rows.size]
        if is_ragged(column, splits):
            return None
        if not is_array(<PyObject*>column):
            column = stacked(column)
        elif not cnp.PyArray_ISNOTSWAPPED(column) or cnp.PyArray_TYPE(column) == cnp.NPY_VOID:
            column = native(owned_array(column))
        else:
            column = owned_array(column)
        made.append(column)
    return put_together(rows.structure, made)


cdef object native(array):
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
