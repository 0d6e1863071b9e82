"""Loops over single examples, from iterators and through functions, and the buffer that keeps the results."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

cimport numpy as cnp

from cpython.object cimport PyObject, PyTypeObject, Py_TYPE

from keeping cimport copy_row, fits, is_given, is_row, is_sole, put_row
from mixing cimport STEP, mixed
from stacking cimport (
    Array, data_of, descr_of, dims_of, empty_like, has_shape, is_array, is_contiguous, itemsize_of, product, rank_of,
)

import numpy as np

cnp.import_array()

cdef extern from "Python.h":            # returning borrowed references
    PyObject* PyTuple_GET_ITEM(PyObject* items, Py_ssize_t i)
    int PyDict_Next(PyObject* items, Py_ssize_t* at, PyObject** key, PyObject** value)


def all_of(values, frozenset kinds not None):
    """Return whether all value types are in `kinds`: 1 ns each, and 15 with `issuperset(map(type, values))`.

    Thread safety: as the values' iterator.
    """
    cdef PyTypeObject* last = NULL
    for value in values:
        if Py_TYPE(value) != last:
            last = Py_TYPE(value)
            if <object>last not in kinds:
                return False
    return True


def same_items(values, tuple kept not None):
    """Return whether the values are the very objects in `kept`: 3 ns each.

    Thread safety: as the values' iterator.
    """
    cdef Py_ssize_t i = 0
    for value in values:
        if i == len(kept) or <PyObject*>value != PyTuple_GET_ITEM(<PyObject*>kept, i):
            return False
        i += 1
    return i == len(kept)


cdef object NOTHING = object()          # after an iterator's last item
cdef object KEYS = "keys"

cdef enum:
    ROOM = 1024                         # maximum initial rows per column


cdef bint is_plain(value) except -1:
    """Return whether a value cannot change and is neither an array nor a structure: a number or a text."""
    kind = type(value)
    if kind is int or kind is float or kind is str or kind is bytes or kind is bool or kind is complex:
        return True
    return isinstance(value, np.generic) and value.dtype.kind in "biufc"


cdef object copied(example):
    """Return a copy of an array whose items can be copied as bytes."""
    cdef Array* array = <Array*>example
    if not is_contiguous(array):
        return example.copy()
    made = empty_like(array, rank_of(array), dims_of(array))
    memcpy(data_of(<Array*>made), data_of(array), itemsize_of(array) * product(dims_of(array), rank_of(array)))
    return made


cdef class Kept:
    """Examples in order of arrival, protected from later changes: functions may return one array again and again.

    Arrays, numbers and texts, and dicts and tuples of these, are put into columns as long as all are like the first: a
    column is an array with rows, or a list. Large arrays without other references are not copied, but kept in a list.

    Args:
        room: Initial capacity.
        keep: Returns a protected example: for all others and everything after them, which are kept in a list. With
            None, they are refused.
        empty: Makes an array from a shape and a dtype.

    Attributes:
        count: Number of examples.
        refused: The refused example, in a list.

    Thread safety: one thread at a time.
    """

    cdef readonly Py_ssize_t count
    cdef readonly list refused
    cdef object keep, empty, kind       # kind: the keys of a dict structure, `tuple`, or None
    cdef list columns, items
    cdef bint takes                     # large arrays may be kept without copying
    cdef bint whole                     # a column contains some
    cdef Py_ssize_t room, rows          # row capacity
    cdef Array* only                    # the column, if examples are single arrays; otherwise NULL
    cdef size_t size                    # bytes per row in that column

    def __cinit__(self, Py_ssize_t room, keep, empty):
        self.room, self.keep, self.empty = max(room, 1), keep, empty
        self.takes = empty is np.empty  # except if results go to memory shared by processes
        self.only = NULL
        self.rows = min(self.room, ROOM)

    cdef bint put(self, example) except -1:
        """Keep an example; return False if it is refused."""
        cdef Py_ssize_t i
        cdef Array* array = <Array*>example
        if (
            self.only != NULL and self.count < self.rows and is_array(<PyObject*>example)
            and descr_of(array) == descr_of(self.only) and is_contiguous(array)
            and has_shape(array, rank_of(self.only) - 1, dims_of(self.only) + 1)
        ):                              # 30 ns less than the code below
            copy_row(self.only, self.count, data_of(array), self.size)
            self.count += 1
            return True
        if self.items is None:
            if self.columns is None and self.begin(example):
                return True
            if self.columns is not None and self.alike(example):
                if self.count == self.rows:
                    self.grow()
                mine = self.without_others(example) if self.whole else example
                if self.kind is None:
                    put_row(self.columns[0], self.count, mine)
                elif self.kind is tuple:
                    for i in range(len(self.columns)):
                        put_row(self.columns[i], self.count, (<tuple>mine)[i])
                else:
                    for i, value in enumerate((<dict>mine).values()):
                        put_row(self.columns[i], self.count, value)
                self.count += 1
                return True
            if self.keep is None:
                self.refused = [example]
                return False
            self.items = self.listed()
            self.columns = None
            self.only = NULL
        self.items.append(copied(example) if is_row(example) else self.keep(example))
        self.count += 1
        return True

    cdef list given(self, example):
        """Return for each value in an example whether it is an array that can be kept without copying."""
        cdef PyObject* key
        cdef PyObject* value
        cdef Py_ssize_t i = 0
        cdef list found = []
        if type(example) is tuple:
            for i in range(len(<tuple>example)):
                found.append(is_sole(<PyObject*>example) and is_given(PyTuple_GET_ITEM(<PyObject*>example, i)))
        elif type(example) is dict:
            while PyDict_Next(<PyObject*>example, &i, &key, &value):
                found.append(is_sole(<PyObject*>example) and is_given(value))
        else:
            found.append(is_given(<PyObject*>example))
        return found

    cdef object without_others(self, example):
        """Return an example whose arrays, in columns that are lists, have no other references; copy some if needed."""
        cdef list given = self.given(example), values
        cdef Py_ssize_t i
        if all(given):
            return example
        if self.kind is None:
            return copied(example)
        values = list(example) if self.kind is tuple else list((<dict>example).values())
        for i in range(len(values)):
            if type(self.columns[i]) is list and is_array(<PyObject*>values[i]) and not given[i]:
                values[i] = copied(values[i])
        return tuple(values) if self.kind is tuple else dict(zip(self.kind, values))

    cdef bint begin(self, example) except -1:
        """Make columns for examples like this one, and put it there; return False if that is not possible."""
        cdef list values, given = self.given(example) if self.takes else None
        cdef Py_ssize_t i
        if type(example) is tuple:
            self.kind, values = tuple, list(<tuple>example)
        elif type(example) is dict:
            self.kind, values = tuple(<dict>example), list((<dict>example).values())
        else:
            self.kind, values = None, [example]
        if not values:
            return False
        for value in values:
            if not is_row(value) and not is_plain(value):
                return False
        self.columns = []
        for i, value in enumerate(values):
            if is_row(value) and not (given is not None and given[i]):
                self.columns.append(self.empty((self.rows, *value.shape), value.dtype))
            else:
                self.columns.append([])
                self.whole = self.whole or is_row(value)
            put_row(self.columns[i], 0, value)
        self.count = 1
        self.note_only()
        return True

    cdef void note_only(self) noexcept:
        """Record the column for examples that are single arrays."""
        self.only = NULL
        if self.kind is None and is_array(<PyObject*>self.columns[0]):
            self.only = <Array*><PyObject*>self.columns[0]
            self.size = itemsize_of(self.only) * product(dims_of(self.only) + 1, rank_of(self.only) - 1)

    cdef bint alike(self, example) except -1:
        """Return whether an example has the first one's structure, and its values their dtypes and shapes."""
        cdef Py_ssize_t i
        if self.kind is None:
            return fits(self.columns[0], example)
        if self.kind is tuple:
            if type(example) is not tuple or len(<tuple>example) != len(self.columns):
                return False
            for i in range(len(self.columns)):
                if not fits(self.columns[i], (<tuple>example)[i]):
                    return False
            return True
        if type(example) is not dict or len(<dict>example) != len(self.columns):
            return False
        i = 0
        for key in <dict>example:
            if key is not (<tuple>self.kind)[i] and key != (<tuple>self.kind)[i]:
                return False
            i += 1
        if len(<dict>example) != len(self.columns):     # keys can have any class, and comparing them can run any code
            return False
        for i, value in enumerate((<dict>example).values()):
            if not fits(self.columns[i], value):
                return False
        return True

    cdef int grow(self) except -1:
        """Increase the capacity."""
        cdef Py_ssize_t i, rows = min(self.room, 2 * self.rows) if self.rows < self.room else 2 * self.rows
        for i, column in enumerate(self.columns):
            if type(column) is not list:
                more = self.empty((rows, *column.shape[1:]), column.dtype)
                more[:self.count] = column
                self.columns[i] = more
        self.rows = rows
        self.note_only()

    cdef list listed(self):
        """Return the examples in the columns."""
        if self.columns is None:
            return []
        columns = [column if type(column) is list else list(column[:self.count]) for column in self.columns]
        if self.kind is None:
            return columns[0]
        if self.kind is tuple:
            return list(zip(*columns))
        return [dict(zip(self.kind, values)) for values in zip(*columns)]

    def add(self, example):
        """Keep an example; return False if it is refused."""
        return self.put(example)

    def values(self):
        """Return the examples: columns, as a list, with their structure as in `Columns`; or None and a list."""
        if self.columns is None:
            return None, self.items or []
        columns = self.columns
        if self.count < self.rows:
            columns = [column if type(column) is list else column[:self.count] for column in columns]
        return columns, len(columns) if self.kind is tuple else self.kind


cdef class Results:
    """The results of a function without arguments, one per call: for `pump`, without a Python step of its own.

    Args:
        function: The function. It ends by StopIteration.
        failed: Called with any other exception; returns whether to call the function again. Otherwise it is raised.

    Thread safety: one thread at a time.
    """

    cdef object function, failed
    cdef dict state

    def __cinit__(self, function, failed):
        self.function, self.failed, self.state = function, failed, None

    def of_thread(self, dict state not None):
        """Clear `keys` in the calling thread's state before each call, from now on."""
        self.state = state

    cdef object call(self):
        if self.state is not None and self.state.get(KEYS) is not None:
            self.state[KEYS] = None
        return self.function()

    def one(self, keep):
        """Return the result of `keep` for the next result; StopIteration if the function has ended."""
        while True:
            try:
                return keep(self.call())
            except StopIteration:
                raise
            except Exception as error:
                if not self.failed(error):
                    raise

    cdef bint fill(self, Py_ssize_t n, Kept kept) except -1:
        """Keep results until n are kept; return whether the function has ended."""
        while True:
            try:
                while kept.count < n:
                    kept.put(self.call())
                return False
            except StopIteration:
                return True
            except Exception as error:
                if not self.failed(error):
                    raise


def pump(iterator, Py_ssize_t n, Kept kept not None):
    """Move examples from an iterator, or from `Results`, until n are kept; return whether it has ended.

    Raises:
        Exception: Raised by the iterator; earlier examples are kept.
    """
    if type(iterator) is Results:
        return (<Results>iterator).fill(n, kept)
    while kept.count < n:
        example = next(iterator, NOTHING)
        if example is NOTHING:
            return True
        kept.put(example)
        example = None                  # before the next one is made
    return False


cdef uint64_t low_bits(value) except? 0:
    return <uint64_t>(int(value) & 0xFFFFFFFFFFFFFFFF)


cdef class Draw:
    """The key for `example_rng` in a function call: two seeds, the epoch, the function's ordinal in the recipe, and the
    example's number. Iterating over it yields these keys.

    Args:
        seed, seed2, epoch: The seeds and the epoch.
        which: Ordinal of the calling function in the recipe.
        begins: Called with 64 bits from the same key before each call, to seed other generators; or None.

    Attributes:
        number: The example's number; setting it begins a call.
        made: This call's generator, once `example_rng` has made one; else None.
    """

    cdef object seed, seed2, epoch, which, begins
    cdef int64_t _number
    cdef uint64_t _key
    cdef public object made

    def __cinit__(self, seed, seed2, epoch, which=0, begins=None):
        self.seed, self.seed2, self.epoch, self.which, self.begins = seed, seed2, epoch, which, begins
        self._number, self.made, self._key = 0, None, 0
        if begins is not None:
            for part in (seed, seed2, epoch, which):
                self._key = mixed(self._key ^ low_bits(part))

    cdef int begin(self, int64_t number) except -1:
        self._number, self.made = number, None
        if self.begins is not None:
            self.begins(mixed(self._key ^ mixed(<uint64_t>number)))
        return 0

    def resume(self, uint64_t output):
        """Resume a call after `output` outputs, because other functions have run and drawn in between."""
        if self.begins is not None:
            self.begins(mixed((self._key ^ mixed(<uint64_t>self._number)) + output))

    @property
    def number(self):
        return self._number

    @number.setter
    def number(self, int64_t number):
        self.begin(number)

    def __iter__(self):
        return iter((self.seed, self.seed2, self._number, self.which, self.epoch))


def fill_words(uint64_t key, uint32_t[::1] words not None):
    """Fill an array with random words, by splitmix64: 0.3 us for a Mersenne Twister's 624, a sixth of seeding one.

    Args:
        key: Different keys give different words.
        words: The array.
    """
    cdef Py_ssize_t i, count = words.shape[0]
    cdef uint64_t word
    with nogil:
        for i in range(0, count - 1, 2):
            word = mixed(key + <uint64_t>i * <uint64_t>STEP)
            words[i], words[i + 1] = <uint32_t>word, <uint32_t>(word >> 32)
        if count % 2:
            words[count - 1] = <uint32_t>mixed(key + <uint64_t>(count - 1) * <uint64_t>STEP)


def call_each(function, list examples not None, Py_ssize_t at, const int64_t[::1] numbers not None, Draw draw, before,
              bell, Py_ssize_t n, Kept kept not None):
    """Call a function with examples, and keep its results, until n are kept, one is refused, or a bell is raised.

    Args:
        function: The function. A None result is not kept, and ends the loop.
        examples: The examples.
        at: Index of the first one.
        numbers: Their numbers.
        draw: Receives each example's number before the call; or None.
        before: Called with each index before the call; or None.
        bell: An object with a `raised` attribute; or None.
        n: Maximum number to keep.
        kept: Receives the results.

    Returns:
        The index after the last example for which the function returned; and whether it returned None.

    Raises:
        Exception: Raised by the function. `kept.count` identifies the example.
    """
    cdef Py_ssize_t i = max(at, 0)
    if len(examples) != numbers.shape[0]:
        raise ValueError(f"call_each: expected a number for each of {len(examples)} examples, got {numbers.shape[0]}")
    while i < min(len(examples), numbers.shape[0]):     # a function with access to the list may change it
        if kept.count >= n or (bell is not None and bell.raised):
            return i, False
        if draw is not None:
            draw.begin(numbers[i])
        if before is not None:
            before(i)
        if i >= len(examples):
            break
        made = function(examples[i])
        i += 1
        if made is None:
            return i, True
        if not kept.put(made):
            return i, False
        made = None
    return i, False


def all_arrays(list values not None):
    """Return whether all values are arrays, without subclasses: 1 ns each, while calling `type` costs 25."""
    for value in values:
        if type(value) is not cnp.ndarray:
            return False
    return True


def alike_arrays(list values not None):
    """Return whether all values are arrays with one dtype, without subclasses."""
    if not values or not is_array(<PyObject*>values[0]):
        return False
    for value in values:
        if not is_array(<PyObject*>value) or descr_of(<Array*>value) != descr_of(<Array*>values[0]):
            return False
    return True


def as_tensors(list examples not None):
    """Return examples with tuples instead of lists, and without a container for a single component.

    If nothing changes, this is the same list: 2 ns per example, while a Python loop takes 50.
    """
    cdef Py_ssize_t i = -1
    cdef list made = None
    while i + 1 < len(examples):        # garbage collection may change it
        i += 1
        example = examples[i]
        if type(example) is list or (type(example) is tuple and len(<tuple>example) == 1):
            if made is None:
                made = examples[:]
                if i >= len(made):
                    break
            made[i] = example[0] if len(example) == 1 else tuple(example)
    return examples if made is None else made


def items_at(items, const int64_t[::1] numbers not None):
    """Return the items with these indices from a list or tuple, in a list.

    Raises:
        IndexError: There is no such item.
    """
    cdef Py_ssize_t i
    cdef int64_t number
    cdef list found = []
    if type(items) is not list and type(items) is not tuple:
        raise TypeError(f"items_at: expected a list or tuple, got {type(items).__name__}")
    for i in range(numbers.shape[0]):
        number = numbers[i]
        if not 0 <= number < len(items):
            raise IndexError(f"there is no item {number}: there are {len(items)}")
        found.append((<list>items)[number] if type(items) is list else (<tuple>items)[number])
    return found
