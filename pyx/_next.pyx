"""The `next` of a running dataset: meters of its parts, batches of rows of arrays, and the iterator that gives them."""

cimport cython
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_XDECREF, Py_XINCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy
from libcpp.atomic cimport atomic, memory_order_acquire, memory_order_relaxed, memory_order_release

cimport numpy as cnp

from bare cimport bare_install, bare_restore
from mixing cimport STEP, folded, power
from picking cimport pick_rows
from recycling cimport new_recycler, recycled_array
from span cimport RowSpan, rows_at
from stacking cimport (
    Array, data_of, descr_of, dims_of, empty_like, has_references, intp, is_contiguous, itemsize_of, product, rank_of,
)
from sync cimport now, sleep_for

from _thread import get_ident
from sys import _current_frames as current_frames
from types import GenericAlias

import numpy as np

from pipeline import spans
from pipeline.tracebacks import show_users

cnp.import_array()

cdef enum:
    MAX_RANK = 64
    RELEASE = 32768             # bytes; releasing the GIL costs more than a smaller copy
    RECYCLED = 1 << 20          # bytes of an array from which its memory is used again
    SHARED = 32 << 20           # and up to which it is in another loop, as malloc would
    KEPT = 128                  # batches that are remembered: twice as many as a state can go back

cdef object RECYCLER = new_recycler(True)       # of all loops: at most three blocks stay
cdef dict TRACING = spans.__dict__      # its `on` changes

cdef extern from "Python.h":
    int PyGC_Disable()
    int PyGC_Enable()

cdef extern from "pythread.h":
    unsigned long this_thread "PyThread_get_thread_ident"() noexcept nogil

cdef extern from *:
    """
    /* Of this thread: nanoseconds that meters have counted within the call that is measured now. */
    static thread_local long long pipeline_inner = 0;
    /* Whether this thread works for another one, which waits for it. */
    static thread_local int pipeline_away = 0;
    """
    long long inner "pipeline_inner"
    int away "pipeline_away"


@cython.final
cdef class Meter:
    """Counts what came out of one part of a running dataset, and how long that took.

    What other meters measure meanwhile in the same thread is theirs: the times of all meters of a thread add up.

    Args:
        told: Called with each exception that comes out of the part; None if nobody wants to know.

    Thread safety: every method may be called from every thread.
    """

    cdef atomic[int64_t] _elements, _made, _own, _away, _total, _worked
    cdef object _told

    def __init__(self, told=None):
        self._told = told

    def count(self, n):
        """Count elements that are asked for by number."""
        self._made.fetch_add(n, memory_order_relaxed)

    def make(self, n, function, *args):
        """Call a function that makes elements which came out, or are asked for by number; its time counts."""
        self._made.fetch_add(n, memory_order_relaxed)
        return self.call(function, *args)

    def call(self, function, *args):
        """Call a function; its time counts."""
        cdef int64_t outer = inner, began = now()
        global inner
        inner = 0
        try:
            return function(*args)
        except Exception as error:
            self.failed(error)
            raise
        finally:
            self.add(now() - began, outer)

    cdef int failed(self, error) except -1:
        if self._told is not None:
            self._told(error)
        return 0

    cdef void add(self, int64_t spent, int64_t outer) noexcept:
        global inner
        if away:
            self._away.fetch_add(spent - inner, memory_order_relaxed)
        else:
            self._own.fetch_add(spent - inner, memory_order_relaxed)
        self._total.fetch_add(spent, memory_order_relaxed)
        inner = outer + spent

    def take_over(self, Meter other not None, double seconds, Py_ssize_t elements):
        """Count elements, and seconds that another meter has counted."""
        self._elements.fetch_add(elements, memory_order_relaxed)
        self._own.fetch_add(<int64_t>(seconds * 1e9), memory_order_relaxed)
        other._own.fetch_sub(<int64_t>(seconds * 1e9), memory_order_relaxed)

    def work(self, double seconds):
        """Count time that workers took."""
        self._worked.fetch_add(<int64_t>(seconds * 1e9), memory_order_relaxed)

    @property
    def elements(self):
        """How many elements came out, or were made."""
        return max(self._elements.load(memory_order_relaxed), self._made.load(memory_order_relaxed))

    @property
    def own(self):
        """Seconds in the threads that take elements."""
        return 1e-9 * self._own.load(memory_order_relaxed)

    @property
    def away(self):
        """Seconds in threads that work for these."""
        return 1e-9 * self._away.load(memory_order_relaxed)

    @property
    def total(self):
        """Seconds that those who take elements waited for them, whoever made them."""
        return 1e-9 * self._total.load(memory_order_relaxed)

    @property
    def worked(self):
        """Seconds that workers took, in threads and processes."""
        return 1e-9 * self._worked.load(memory_order_relaxed)


def nothing():
    """What a stream has ready that has no batches ready."""


@cython.final
cdef class Gauge:
    """A stream that is measured: two looks at the clock, and nothing for each element.

    Thread safety: as the stream.
    """

    cdef readonly object stream
    cdef readonly Meter meter
    cdef object _element, _ready

    def __cinit__(self, stream, element, Meter meter not None):
        """`element` gives the elements of the stream one by one; see `elements_of`."""
        self.stream, self._element, self.meter = stream, element, meter
        self._ready = getattr(stream, "ready", nothing)

    def element(self):
        """Return the next element; None at the end."""
        cdef int64_t outer = inner, began = now()
        global inner
        inner = 0
        try:
            found = self._element()
        except Exception as error:
            self.meter.failed(error)
            raise
        finally:
            self.meter.add(now() - began, outer)
        if found is not None:
            self.meter._elements.fetch_add(1, memory_order_relaxed)
        return found

    def together(self, Py_ssize_t most):
        """Return the next batches, at most so many, if the stream has them ready; else None."""
        cdef int64_t outer = inner, began = now()
        global inner
        ready = self._ready()
        if ready is None:
            return None
        inner = 0
        try:
            found = MadeBatches(*ready, most)
        except Exception as error:
            self.meter.failed(error)
            raise
        finally:
            self.meter.add(now() - began, outer)
        self.meter._elements.fetch_add(len(found), memory_order_relaxed)
        return found

    def pass_on(self, one, Py_ssize_t n, put):
        """Call a function for n elements, and another one with each, in a tuple of its own, as it comes. Return what
        the first one raised: StopIteration at the end; or None. What the second one raises comes out of here."""
        cdef int64_t outer, began
        cdef Py_ssize_t _
        global inner
        for _ in range(n):
            outer, began = inner, now()
            inner = 0
            try:
                element = one()
            except BaseException as error:
                if isinstance(error, Exception) and type(error) is not StopIteration:
                    self.meter.failed(error)
                return error
            finally:
                self.meter.add(now() - began, outer)
            self.meter._elements.fetch_add(1, memory_order_relaxed)
            put(((element,),))
            element = None              # before the next one is made
        return None

    def take(self, n):
        """As that of the stream."""
        cdef int64_t outer = inner, began = now()
        global inner
        inner = 0
        try:
            block = self.stream.take(n)
        except Exception as error:
            self.meter.failed(error)
            raise
        finally:
            self.meter.add(now() - began, outer)
        if block is not None:
            self.meter._elements.fetch_add(len(block), memory_order_relaxed)
        return block

    def skip(self, n):
        """As that of the stream."""
        return self.stream.skip(n)

    def position(self):
        """As that of the stream."""
        return self.stream.position()

    def seek(self, position):
        """As that of the stream."""
        self.stream.seek(position)

    def close(self):
        """As that of the stream."""
        self.stream.close()


@cython.final
cdef class Metered:
    """A stream that is measured, and that ends when its iterator is closed.

    Thread safety: as the stream.
    """

    cdef readonly object stream
    cdef readonly Meter meter
    cdef object clock, _take, _state

    def __cinit__(self, stream, Meter meter not None, clock):
        self.stream, self.meter, self.clock = stream, meter, clock
        self._take, self._state = stream.take, stream.state

    def take(self, n):
        """As that of the stream."""
        cdef int64_t outer = inner, began = now()
        global inner
        if self.clock.stopped:
            self.clock.check()
        inner = 0
        try:
            block = self._take(n)
        except Exception as error:
            self.meter.failed(error)
            raise
        finally:
            self.meter.add(now() - began, outer)
        if block is not None:
            self.meter._elements.fetch_add(len(block), memory_order_relaxed)
        return block

    def state(self):
        """As that of the stream."""
        return self._state()

    def wait(self, timeout):
        """As that of the stream; the time counts as that of `take`."""
        return self.meter.call(self.stream.wait, timeout)

    def begin(self):
        """As that of the stream."""
        self.stream.begin()

    def close(self):
        """As that of the stream."""
        self.stream.close()


@cython.final
cdef class MeteredIndex:
    """An index that is measured.

    Thread safety: as the index.
    """

    cdef readonly object source, step, stop, ahead
    cdef readonly Meter meter
    cdef object _block

    def __cinit__(self, source, Meter meter not None):
        self.source, self.step, self.stop, self.ahead = source, source.step, source.stop, source.ahead
        self.meter, self._block = meter, source.block

    def __len__(self):
        return len(self.source)

    def block(self, places):
        """As that of the index."""
        cdef int64_t outer = inner, began = now()
        global inner
        inner = 0
        try:
            block = self._block(places)
            if block.error is not None:
                self.meter.failed(block.error)
        except Exception as error:
            self.meter.failed(error)
            raise
        finally:
            self.meter.add(now() - began, outer)
        self.meter._elements.fetch_add(len(block), memory_order_relaxed)
        return block

    def runs(self, starts, size):
        """As that of the index."""
        cdef int64_t outer = inner, began = now()
        global inner
        inner = 0
        try:
            found = self.source.runs(starts, size)
        finally:
            self.meter.add(now() - began, outer)
        if found is not None:
            self.meter._elements.fetch_add(len(starts) * size, memory_order_relaxed)
        return found


def working_for_others(bint whether):
    """Say whether this thread works for another one from now on, so that its time is not taken for that of this one."""
    global away
    away = whether


def gathers(tuple arrays not None, Py_ssize_t rows, bint references=False):
    """Whether rows of these arrays, each with so many, can be copied as bytes; or as `references`, if that is said."""
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
    """Put the objects of n rows, of so many each, into a new array."""
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


cdef object moved(at, Py_ssize_t batches, later, Py_ssize_t rows):
    """Return the position so many batches, and rows, after another one, if there is one."""
    if isinstance(at, Exception):
        return at
    number, row = at
    return [number + batches, later(row, rows)]


cdef class ReadyBatches:
    """Batches that C hands over.

    Attributes:
        left: How many rows did not come yet.

    Thread safety: one thread at a time.
    """

    cdef readonly Py_ssize_t left

    cdef object rows(self, Py_ssize_t n, uint64_t* hash):
        """Return the next n rows, which stay the next ones, and the fingerprint of their ids."""
        raise NotImplementedError

    cdef void passed(self, Py_ssize_t n) noexcept:
        """The next n rows are with their user."""


@cython.final
cdef class MadeBatches(ReadyBatches):
    """Batches that were made, of n rows each.

    Args:
        rows: What makes them.
        n: How many rows to a batch.
        later: Returns the position of a row so many rows after another one.
        most: How many batches at most.

    Raises:
        Exception: The first of them could not be made.
    """

    cdef readonly Py_ssize_t n
    cdef readonly object later
    cdef list batches, hashes

    def __cinit__(self, ReadyBatches rows not None, Py_ssize_t n, later, Py_ssize_t most):
        cdef uint64_t hash = 0
        self.n, self.later, self.batches, self.hashes = n, later, [], []
        while len(self.batches) < most and rows.left >= n > 0:
            try:
                batch = rows.rows(n, &hash)
            except Exception:
                if not self.batches:
                    raise
                break                   # it comes again, after those before it
            self.batches.append(batch)
            self.hashes.append(hash)
            rows.passed(n)
        self.left = n * len(self.batches)

    def __len__(self):
        return len(self.batches)

    @property
    def given(self):
        """How many batches are with their user."""
        return len(self.batches) - self.left // self.n

    def element(self, Py_ssize_t i):
        """Return batch i, which did not come yet: what it is, its fingerprint, and how many rows it has."""
        return self.batches[i], self.hashes[i], self.n

    def position(self, at, Py_ssize_t i):
        """Return the position of batch i; `at` is that of the first, or why there is none."""
        return moved(at, i, self.later, i * self.n)

    def give(self, Py_ssize_t count):
        """So many batches are with their user, and are not kept."""
        while self.given < count:
            self.passed(self.n)

    cdef object rows(self, Py_ssize_t n, uint64_t* hash):
        cdef Py_ssize_t i = self.given
        hash[0] = self.hashes[i]
        return self.batches[i]

    cdef void passed(self, Py_ssize_t n) noexcept:
        self.batches[len(self.batches) - self.left // self.n] = None
        self.left -= n


@cython.final
cdef class Gather(ReadyBatches):
    """Batches of rows of arrays.

    Args:
        arrays: C-contiguous: `gathers` says so.
        pack: What is made of the columns of a batch: None for the only one; `tuple`; a tuple of their names for a dict;
            or a function of their list.
        numbers: Which rows come, one after the other.
        ids: What tells them apart in the fingerprint, as many.
        before: What copied the rows before, whose memory is used again; or None.

    Raises:
        IndexError: An array has no row of a number.
    """

    cdef tuple arrays
    cdef object pack, recycler
    cdef const int64_t[::1] numbers, ids
    cdef Py_ssize_t at

    def __cinit__(self, tuple arrays not None, pack, const int64_t[::1] numbers not None,
                  const int64_t[::1] ids not None, Gather before=None):
        cdef Py_ssize_t i
        cdef int64_t rows
        if not arrays or type(arrays[0]) is not cnp.ndarray or rank_of(<Array*>arrays[0]) == 0:
            raise ValueError(f"Gather: expected arrays of rows, got {arrays!r:.80}")
        rows = dims_of(<Array*>arrays[0])[0]
        if not gathers(arrays, rows, True) or ids.shape[0] != numbers.shape[0]:
            raise ValueError(
                f"Gather: expected contiguous arrays of {rows} rows and an id for each of {numbers.shape[0]} numbers, "
                f"got {arrays!r:.80} and {ids.shape[0]} ids")
        for i in range(numbers.shape[0]):
            if not 0 <= numbers[i] < rows:
                raise IndexError(f"there is no row {numbers[i]}: the arrays have {rows}")
        self.arrays, self.pack, self.numbers, self.ids = arrays, pack, numbers, ids
        self.at, self.left = 0, numbers.shape[0]
        self.recycler = None if before is None else before.recycler

    def next(self, Py_ssize_t n):
        """Return the next n rows, at most as many as are left, and the fingerprint of their ids."""
        cdef uint64_t hash = 0
        if not 0 < n <= self.left:
            raise ValueError(f"Gather: expected at most the {self.left} rows that are left, got {n}")
        batch = self.rows(n, &hash)
        self.passed(n)
        return batch, hash

    cdef object rows(self, Py_ssize_t n, uint64_t* hash):
        cdef list columns = []
        for array in self.arrays:
            columns.append(self.rows_of(array, n))
        hash[0] = folded(<const uint64_t*>&self.ids[self.at], n, 0)
        if self.pack is None:
            return columns[0]
        if self.pack is tuple:
            return tuple(columns)
        if type(self.pack) is tuple:
            return dict(zip(<tuple>self.pack, columns))
        return self.pack(columns)

    cdef void passed(self, Py_ssize_t n) noexcept:
        self.at += n
        self.left -= n

    def skip(self, Py_ssize_t n):
        """Leave the next n rows out, at most as many as are left."""
        if not 0 <= n <= self.left:
            raise ValueError(f"Gather: expected at most the {self.left} rows that are left, got {n}")
        self.at += n
        self.left -= n

    cdef object rows_of(self, array, Py_ssize_t n):
        """Return the next n rows of an array."""
        cdef Array* given = <Array*>array
        cdef RowSpan source, made
        cdef intp[MAX_RANK] dims
        cdef int rank = rank_of(given), axis
        cdef intp row = itemsize_of(given) * product(dims_of(given) + 1, rank - 1)
        for axis in range(rank):
            dims[axis] = dims_of(given)[axis]
        dims[0] = n
        if has_references(given):
            out = empty_like(given, rank, dims)
            refer(<PyObject**>data_of(<Array*>out), <PyObject**>data_of(given), self.numbers, self.at, n,
                  row // <intp>sizeof(PyObject*))
            return out
        if RECYCLED <= n * row <= SHARED:
            out = recycled_array(RECYCLER, rank, dims, <object>descr_of(given))
        elif n * row > SHARED:
            if self.recycler is None:
                self.recycler = new_recycler()
            out = recycled_array(self.recycler, rank, dims, <object>descr_of(given))
        else:
            out = empty_like(given, rank, dims)
        source = rows_at(data_of(given), dims_of(given)[0], row)
        made = rows_at(data_of(<Array*>out), n, row)
        if n * row >= RELEASE:
            with nogil:
                pick_rows(made, source, self.numbers, self.at, row)
        else:
            pick_rows(made, source, self.numbers, self.at, row)
        return out


@cython.final
cdef class Gatherer:
    """Copies rows of arrays into new arrays.

    Args:
        arrays: C-contiguous, with as many rows each: `gathers` says so.

    Thread safety: every method may be called from every thread.
    """

    cdef tuple arrays
    cdef object recycler                # of memory that is too large for the allocator to keep
    cdef readonly Py_ssize_t size

    def __cinit__(self, tuple arrays not None):
        if not arrays or type(arrays[0]) is not cnp.ndarray or rank_of(<Array*>arrays[0]) == 0:
            raise ValueError(f"Gatherer: expected arrays of rows, got {arrays!r:.80}")
        self.size = dims_of(<Array*>arrays[0])[0]
        if not gathers(arrays, self.size, True):
            raise ValueError(f"Gatherer: expected contiguous arrays of {self.size} rows, got {arrays!r:.80}")
        self.arrays, self.recycler = arrays, None

    def take(self, const int64_t[::1] numbers not None):
        """Return the rows with these numbers, of each array, in a list.

        Raises:
            IndexError: There is no such row.
        """
        cdef Py_ssize_t i, n = numbers.shape[0]
        for i in range(n):
            if not 0 <= numbers[i] < self.size:
                raise IndexError(f"there is no row {numbers[i]}: the arrays have {self.size}")
        return [self.made(array, numbers, n, 0) for array in self.arrays]

    def runs(self, const int64_t[::1] starts not None, Py_ssize_t size):
        """Return `size` rows from each of these on, of each array, in a list: arrays of one dimension more.

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
        """Return n rows of an array, or n times `size` neighbouring rows."""
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
        if RECYCLED <= n * run <= SHARED:
            out = recycled_array(RECYCLER, rank + more, dims, <object>descr_of(given))
        elif n * run > SHARED:
            if self.recycler is None:
                self.recycler = new_recycler()
            out = recycled_array(self.recycler, rank + more, dims, <object>descr_of(given))
        else:
            out = empty_like(given, rank + more, dims)
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
    """Copy the bytes of so many neighbouring rows from each of these on."""
    cdef Py_ssize_t i
    if starts.shape[0] * run >= RELEASE:
        with nogil:
            for i in range(starts.shape[0]):
                memcpy(&to[i * run], &rows[starts[i] * row], run)
    else:
        for i in range(starts.shape[0]):
            memcpy(&to[i * run], &rows[starts[i] * row], run)


cdef class Next:
    """An iterator that hands over batches in one step of C, where they are there or are rows of arrays.

    A class that inherits from it has `_take(None)`, which returns any next element. It is called if nothing is ready.
    Before it does anything it calls `_settle`, and in the end `_ready`, if there are such batches.

    There is no step of Python, where a signal handler could strike, once a batch has left them.

    Thread safety: every method may be called from every thread, but `_ready` and `_settle` by one at a time.
    """

    cdef atomic[int] busy               # whether a thread is within one of the methods
    cdef atomic[unsigned long] thread   # which one
    cdef bint ready
    cdef Handing handing                # of a loader; None of a dataset
    cdef ReadyBatches waiting           # what is handed over
    cdef Meter meter
    cdef object record                  # the class of records
    cdef Py_ssize_t n, count            # examples to a batch, and how many batches were handed over since `_ready`
    cdef int64_t batches, examples      # before these
    cdef object at                      # the position of the stream before these; or why nobody knows
    cdef object later                   # returns where it is so many rows later
    cdef uint64_t factor                # of the fingerprint, for a batch
    cdef uint64_t value                 # after these
    cdef uint64_t[KEPT] values

    @classmethod
    def __class_getitem__(cls, item):   # what an item is, for type checkers
        return GenericAlias(cls, item)

    def __next__(self):
        """Return the next element.

        Raises:
            StopIteration: The pass is over.
            Exception: What a function of yours raised; after that the iterator has ended.
        """
        return self.following()

    cdef object following(self):
        cdef object found = self.at_hand() if self.handing is None else self.handing.next()
        return (<object>self)._take(None) if found is None else found

    cdef object at_hand(self):
        """Return the next element, if C can hand it over; else None."""
        cdef object batch = None
        cdef uint64_t hash = 0
        cdef int64_t outer, began
        global inner
        if not self.ready or TRACING["on"] or not self.enter():
            return None
        if not self.ready or self.waiting.left < self.n:
            self.leave()
            return None
        outer, began = inner, now()
        inner = 0
        try:
            batch = self.waiting.rows(self.n, &hash)
        except Exception:               # which comes again, and is then seen to
            batch = None
        finally:
            self.meter.add(now() - began, outer)
            if batch is not None:
                self.meter._elements.fetch_add(1, memory_order_relaxed)
                self.waiting.passed(self.n)
                self.value = self.value * self.factor + hash
                self.values[self.count % KEPT] = self.value
                self.count += 1
            self.leave()
        return batch

    def _hands_on(self, Handing handing not None):
        """Hand over what a loader makes of the elements of another iterator, as long as that is all it does."""
        self.handing = handing

    def _ready(self, ReadyBatches batches not None, Py_ssize_t n, later, Meter meter not None, last):
        """Hand over the next batches of `n` rows. `last` is the record of the batch before, whose position is a number
        of batches and where the next row is, or an error; `later` returns where it is so many rows later."""
        cdef bint entered = self.wait()     # without the GIL others would see half of it
        try:
            self.waiting, self.n, self.meter, self.record, self.later = batches, n, meter, type(last), later
            self.batches, self.examples, self.value, self.at = last
            self.factor = power(STEP, n)
            self.count = 0
            self.ready = True
        finally:
            if entered:
                self.leave()

    def _unready(self):
        """Hand over nothing any more without `_take`."""
        self.ready = False

    def _settle(self, records):
        """Note the last records at the end of a deque, and hand over nothing any more without `_take`."""
        cdef bint entered = self.wait()
        try:
            records.extend(self.noted(KEPT))
            self.ready, self.count = False, 0
        finally:
            if entered:
                self.leave()

    def _history(self, records, Py_ssize_t most):
        """Return the last records, at most so many, with those of a deque before them."""
        cdef bint entered = self.wait()
        try:
            found = self.noted(most)
            if len(found) < most:
                before = list(records.copy())       # at once: without the GIL others append meanwhile
                found = before[max(0, len(before) - (most - len(found))):] + found
            return found
        finally:
            if entered:
                self.leave()

    cdef list noted(self, Py_ssize_t most):
        """Return the records of the last batches, at most so many."""
        cdef list found = []
        cdef Py_ssize_t i, done
        for i in range(max(0, self.count - min(most, <Py_ssize_t>KEPT)), self.count):
            done = i + 1
            position = moved(self.at, done, self.later, done * self.n)
            fields = self.batches + done, self.examples + done * self.n, self.values[i % KEPT], position
            found.append(tuple.__new__(self.record, fields))
        return found

    def _within(self):
        """Return whether this thread is handing a batch over, as in a finalizer that ran meanwhile."""
        return self.busy.load(memory_order_relaxed) != 0 and self.thread.load(memory_order_relaxed) == this_thread()

    def _forked(self):
        """In the child of a fork: whoever was in a method is not there."""
        self.leave()

    cdef bint enter(self) noexcept:
        """Enter, if no thread is within."""
        cdef int free = 0
        if not self.busy.compare_exchange_strong(free, 1, memory_order_acquire, memory_order_relaxed):
            return False
        self.thread.store(this_thread(), memory_order_relaxed)
        return True

    cdef bint wait(self) noexcept:
        """Enter, when no other thread is within; return False if this one is, as in a finalizer that ran meanwhile."""
        while not self.enter():
            if self.thread.load(memory_order_relaxed) == this_thread():
                return False
            with nogil:
                sleep_for(20_000)
        return True

    cdef void leave(self) noexcept:
        self.thread.store(0, memory_order_relaxed)
        self.busy.store(0, memory_order_release)


cdef object other_structure(batch, changes):
    """The error for a batch that is put together in another way than those before."""
    return TypeError(
        f"a batch is {structure_of(batch)}, and the one before was {structure_of(changes)}: make all batches alike")


cdef str structure_of(value):
    if isinstance(value, dict):
        return f"a dict with {', '.join(map(repr, value)) or 'nothing'}"
    return f"a {type(value).__name__}" + (f" of {len(value)}" if isinstance(value, (tuple, list)) else "")


@cython.final
cdef class Changes:
    """What is done to each component of batches of one structure, by functions in C. Call it with a batch.

    Args:
        changes: A function for each component, or `Changes` of its own: in a tuple, or in a dict by name.
    """

    cdef object changes

    def __init__(self, changes):
        self.changes = changes

    def __call__(self, batch):
        """Return a tuple or dict of what the functions make of the components of one.

        Raises:
            TypeError: It has another structure.
        """
        cdef object made, changes = self.changes
        cdef Py_ssize_t i, n = len(changes)
        if type(batch) is not type(changes) or len(batch) != n:
            raise other_structure(batch, changes)
        if type(changes) is tuple:
            made = PyTuple_New(n)
            for i in range(n):
                part = (<tuple>changes)[i]((<tuple>batch)[i])
                Py_INCREF(part)
                PyTuple_SET_ITEM(made, i, part)
            return made
        try:
            return {key: changes[key](part) for key, part in (<dict>batch).items()}
        except KeyError:
            if batch.keys() == changes.keys():
                raise
            raise other_structure(batch, changes) from None


@cython.final
cdef class Handing:
    """What a loader hands on of another iterator, while it does nothing but change each batch by functions in C.

    Ctrl-C strikes in none of these, so no batch gets lost in between.

    Thread safety: one thread at a time.
    """

    cdef Next source
    cdef object change, kept

    def begin(self, Next source not None, change, kept):
        """Hand on the batches of an iterator.

        Args:
            source: The iterator.
            change: What is done to each of them: a function in C, or `Changes`.
            kept: Where a batch goes that could not be changed.
        """
        self.source, self.change, self.kept = source, change, kept

    def end(self):
        """Hand on nothing any more."""
        self.source = None

    cdef object next(self):
        """Return the next batch; None if there is more to do."""
        if self.source is None or self.kept:
            return None
        batch = self.source.at_hand()
        if batch is None:
            return None
        try:
            return self.change(batch)
        except BaseException as error:
            self.kept.append(batch)
            if not isinstance(error, Exception):
                raise
            return None


cdef PyObject* bare_next(PyObject* self) noexcept:
    """What `__next__` is; see bare.pxd."""
    cdef object failed
    try:
        found = (<Next>self).following()
        Py_INCREF(found)
        return <PyObject*>found
    except BaseException as error:
        failed = error
    if type(failed) is StopIteration and failed.value is None:
        return NULL  # without an error: the end
    if isinstance(failed, Exception):
        try:
            show_users(failed)
        except BaseException as error:  # Ctrl-C: without it, this would be the end
            failed = error
    bare_restore(failed)
    return NULL


def frames_now():
    """Return the innermost frame of each other thread by its identifier, as `sys._current_frames` does.

    The caller's own frame would hold itself by what it keeps here: a cycle, and with it all that the frames of the
    other threads refer to, until the next garbage collection.

    Up to Python 3.11 that holds a lock of the interpreter while it makes frames. If a garbage collection begins there
    and a finalizer lets another thread run that starts or ends a thread, both wait for ever. Between the two calls here
    no other thread runs, so none sees that the collector is off.
    """
    cdef int was_on = PyGC_Disable()
    cdef dict frames
    try:
        frames = current_frames()
        del frames[get_ident()]
        return frames
    finally:
        if was_on:
            PyGC_Enable()


def lock_delay(double seconds):
    """Sleep so many seconds, and return how many this thread then waited for its turn with the interpreter's lock."""
    cdef int64_t woken
    with nogil:
        sleep_for(<int64_t>(seconds * 1e9))
        woken = now()
    return (now() - woken) * 1e-9


bare_install(<PyTypeObject*>Next, <void*>bare_next)
