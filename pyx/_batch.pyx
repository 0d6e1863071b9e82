"""Join many arrays into one (stack, concatenate, pad), narrow 64-bit integers to 32 bits (narrowed), share memory
between processes for result arrays (MappedMemory), read file rows by index (read_rows), and reuse dropped batches'
memory (AgainMemory).

Thread safety: each call holds its own references to its input arrays, so the given list may change during the call.
Array contents are read without a lock. Copies of at least 32 KiB release the GIL.
"""

cimport cython
cimport numpy as cnp
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.exc cimport PyErr_SetFromErrno
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.errno cimport EINTR, errno
from libc.string cimport memcmp
from posix.mman cimport MAP_ANON, MAP_FAILED, MAP_SHARED, PROT_READ, PROT_WRITE, mmap, munmap
from posix.unistd cimport pread

from recycling cimport begin_recycling, end_recycling, new_recycler, stop_recycling
from span cimport rows_at, span
from stacking cimport (
    LONGEST, MAX_RANK, OTHER_DTYPE, OTHER_RANK, SAME, Array, Fill, StackInputs, StackOutput, StackStatus,
    are_equivalent, arrays_of, copy_intps, data_of, descr_of, dims_of, empty_like, gather_rows, has_references,
    has_shape, intp, is_array, is_contiguous, is_writeable, itemsize_of, overlapping, product, put_arrays, rank_of,
    scan, strides_of,
)

from collections.abc import Mapping
from os import fstat

import numpy as np

from pipeline.dtypes import memory_of, refuse_missing
from pipeline.errors import InvalidArgumentError
from pipeline.foreign import numpy_of

cnp.import_array()

COLLATE = "; pipeline.collate makes a batch of examples that are dicts, lists or tuples"

cdef enum:
    RELEASE = 32768  # bytes; releasing the GIL costs more than a smaller copy


cdef tuple own(str name, arrays):
    """Return the items as arrays, in a private tuple."""
    cdef tuple items
    cdef Array** each
    cdef intp i
    if cnp.PyArray_Check(arrays) and rank_of(<Array*>arrays):     # looking up `np.ndarray` takes 100 instructions
        items = tuple([arrays[i, ...] for i in range(len(arrays))])  # keeps the dtype if rows have no dimensions
    elif not isinstance(arrays, (list, tuple)) and isinstance(arrays, (str, bytes, bytearray, Mapping)):
        hint = COLLATE if isinstance(arrays, Mapping) else ""
        raise TypeError(f"{name}: expected a sequence of arrays, got {type(arrays).__name__}{hint}")
    else:
        try:
            items = tuple(arrays)
        except TypeError:
            if hasattr(type(arrays), "__iter__") and not isinstance(arrays, np.ndarray):
                raise
            raise TypeError(f"{name}: expected a sequence of arrays, got {type(arrays).__name__}") from None
    if not items:
        raise InvalidArgumentError(None, None, f"{name}: expected at least one array, got none")
    each = arrays_of(items)
    for i in range(len(items)):
        if not is_array(<PyObject*>each[i]):
            return tuple([as_array(name, i, item) for i, item in enumerate(items)])
    return items


cdef as_array(str name, intp index, value):
    if isinstance(value, Mapping):
        raise TypeError(f"{name}: arrays[{index}] is of type {type(value).__name__}, not an array{COLLATE}")
    refuse_missing(value, f"{name}: arrays[{index}]")
    try:
        return numpy_of(value)
    except ValueError as error:
        hint = COLLATE if isinstance(value, (list, tuple)) else ""
        text = f"{name}: arrays[{index}] is not an array: {str(error).rstrip('.')}{hint}"
        raise InvalidArgumentError(None, None, text) from error


cdef int compare(str name, tuple arrays, intp fixed, StackInputs* p) except -1:
    """Fill in `p`, or raise an error about the first mismatched array."""
    cdef intp at = 0
    cdef StackStatus status
    cdef Array* first = arrays_of(arrays)[0]
    p.arrays = arrays_of(arrays)
    p.count = len(arrays)
    p.item = itemsize_of(first)
    p.rank = rank_of(first)
    p.fixed = min(fixed, p.rank)
    p.contiguous = True
    p.length = 0
    copy_intps(p.room, dims_of(first), p.rank)
    while True:
        status = scan(p, &at)
        if status == SAME:
            return 0
        if status == OTHER_DTYPE and itemsize_of(p.arrays[at]) == p.item and are_equivalent(descr_of(p.arrays[at]),
                                                                                            descr_of(first)):
            at += 1
            continue
        raise misfit(name, arrays[0], arrays[at], at, status, p.fixed)


cdef misfit(str name, first, array, intp index, StackStatus status, intp fixed):
    if status == OTHER_DTYPE:
        return TypeError(f"{name}: arrays[{index}] has dtype {array.dtype}, expected {first.dtype} like arrays[0]")
    if status == OTHER_RANK and fixed:
        got, expected = f"rank {array.ndim}", f"rank {first.ndim}"
    elif fixed:
        got, expected = f"rows of shape {array.shape[1:]}", f"{first.shape[1:]}"
    else:
        got, expected = f"shape {array.shape}", f"{first.shape}"
    return InvalidArgumentError(None, None, f"{name}: arrays[{index}] has {got}, expected {expected} like arrays[0]")


cdef result(str name, out, StackInputs* p, int rank, intp* dims):
    """Return `out` if it fits, or a new array if it is None."""
    cdef Array* given
    cdef Array* first = p.arrays[0]
    cdef intp i
    if out is None:
        if p.item == 0:  # as a field; otherwise NumPy gives strings of length 0 a byte
            return np.zeros(tuple([dims[i] for i in range(rank)]), [("empty", (<object>first).dtype)])["empty"]
        return empty_like(first, rank, dims)
    if not cnp.PyArray_Check(out):
        out = memory_of(out)
    if not cnp.PyArray_Check(out):
        raise unfit(name, f"an array, got {type(out).__name__}")
    given = <Array*>out
    if itemsize_of(given) != p.item or not are_equivalent(descr_of(given), descr_of(first)):
        raise unfit(name, f"dtype {(<object>first).dtype}, got {out.dtype}")
    if not has_shape(given, rank, dims):
        raise unfit(name, f"shape {tuple([dims[i] for i in range(rank)])}, got {out.shape}")
    if not is_contiguous(given):
        raise unfit(name, f"a C-contiguous array, got strides {out.strides}")
    if not is_writeable(given):
        raise unfit(name, "a writable array, got a read-only one")
    i = overlapping(p, given)
    if i >= 0:
        raise unfit(name, f"memory apart from the arrays, got some of arrays[{i}]")
    return out


cdef unfit(str name, str expected):
    return InvalidArgumentError(None, None, f"{name}: out: expected {expected}")


cdef int write(made, StackInputs* p, const intp* room, const Fill* fill) except -1:
    """Write the raw bytes from `p` into `made`, one array after the other."""
    cdef StackOutput out
    cdef char* to = data_of(<Array*>made)
    cdef intp size = product(p.room, p.rank) * p.item
    cdef intp total = product(dims_of(<Array*>made), rank_of(<Array*>made)) * p.item
    cdef intp* places
    if room == NULL and p.contiguous and not p.fixed:
        out.rows = rows_at(to, p.count, size)
        if total >= RELEASE:
            with nogil:
                gather_rows(out.rows, p.arrays, size)
        else:
            gather_rows(out.rows, p.arrays, size)
        return 0
    out.bytes = span(to, total)
    out.at = 0
    places = places_of(p)
    if total >= RELEASE:
        with nogil:
            put_arrays(&out, p, places, room, fill)
    else:
        put_arrays(&out, p, places, room, fill)
    PyMem_Free(places)
    return 0


cdef intp* places_of(StackInputs* p) except NULL:
    """Record the array locations, because another thread may reshape one in place while the GIL is released."""
    cdef intp* places = <intp*>PyMem_Malloc(p.count * (1 + 2 * p.rank) * sizeof(intp))
    cdef intp* each = places
    cdef intp i
    if places == NULL:
        raise MemoryError
    for i in range(p.count):
        each[0] = <intp>data_of(p.arrays[i])
        copy_intps(each + 1, dims_of(p.arrays[i]), p.rank)
        copy_intps(each + 1 + p.rank, strides_of(p.arrays[i]), p.rank)
        each += 1 + 2 * p.rank
    return places


def stack(arrays, out=None):
    """Copy arrays of equal shape into one array, along a new first axis.

    Args:
        arrays: n >= 1 array-likes with equal dtype and equal shape S: a sequence, an iterable or an array.
        out: Output array of shape [n] + S with that dtype, C-contiguous and writable, or an object with DLPack or the
            buffer protocol; it must not share memory with `arrays`.

    Returns:
        An array over `out`, or a new array of shape [n] + S. ndarray subclasses give a plain array.

    Raises:
        InvalidArgumentError: There are no arrays, shapes differ, or `out` does not fit; also a ValueError.
        TypeError: Dtypes differ. Nothing is ever converted.

    Everything is checked before anything is written. Several threads may call it at once.

    Examples:
        >>> pipeline.stack([np.array([1, 2]), np.array([3, 4])]).tolist()
        [[1, 2], [3, 4]]
    """
    cdef tuple items = own("stack", arrays)
    cdef StackInputs p
    cdef intp[MAX_RANK + 1] dims
    compare("stack", items, 0, &p)
    dims[0] = p.count
    copy_intps(&dims[1], p.room, p.rank)
    made = result("stack", out, &p, p.rank + 1, dims)
    if has_references(p.arrays[0]):
        for i, item in enumerate(items):
            made[i, ...] = item
    else:
        write(made, &p, NULL, NULL)
    return made


def concatenate(arrays, out=None):
    """Join arrays along their first axis.

    Args:
        arrays: n >= 1 array-likes with equal dtype and shapes [k_i] + S: a sequence, an iterable or an array.
        out: Output array of shape [sum of k_i] + S with that dtype, C-contiguous and writable, or an object with DLPack
            or the buffer protocol; it must not share memory with `arrays`.

    Returns:
        An array over `out`, or a new array of shape [sum of k_i] + S. ndarray subclasses give a plain array.

    Raises:
        InvalidArgumentError: There are no arrays, an array has rank 0, row shapes differ, or `out` does not fit; also a
            ValueError.
        TypeError: Dtypes differ. Nothing is ever converted.

    Everything is checked before anything is written. Several threads may call it at once.

    Examples:
        >>> pipeline.concatenate([np.array([1, 2]), np.array([3])]).tolist()
        [1, 2, 3]
    """
    cdef tuple items = own("concatenate", arrays)
    cdef StackInputs p
    cdef intp[MAX_RANK + 1] dims
    cdef intp begin = 0
    compare("concatenate", items, 1, &p)
    if p.rank == 0:
        raise InvalidArgumentError(
            None, None, "concatenate: arrays[0] has rank 0, expected at least 1; `stack` takes scalars")
    if p.length == LONGEST:
        raise InvalidArgumentError(None, None, f"concatenate: expected at most {LONGEST - 1} rows in all, got more")
    copy_intps(dims, p.room, p.rank)
    dims[0] = p.length
    made = result("concatenate", out, &p, p.rank, dims)
    if has_references(p.arrays[0]):
        for item in items:
            made[begin:begin + len(item)] = item
            begin += len(item)
    else:
        write(made, &p, NULL, NULL)
    return made


def pad(arrays, value=0, out=None):
    """Stack arrays of equal rank whose dimensions may differ, padding the smaller ones.

    Args:
        arrays: n >= 1 array-likes with equal dtype and rank: a sequence, an iterable or an array.
        value: Padding value, exactly representable in the dtype (floats are rounded). 0 is any dtype's zero, such as
            False or b""; object arrays are padded with the object itself.
        out: Output array with that dtype and the result's shape, C-contiguous and writable, or an object with DLPack or
            the buffer protocol; it must not share memory with `arrays`.

    Returns:
        An array over `out`, or a new array of shape [n] + the element-wise maximum of the shapes; each array fills the
        corner with the low indices. ndarray subclasses give a plain array.

    Raises:
        InvalidArgumentError: There are no arrays, ranks differ, or `value` or `out` does not fit; also a ValueError.
        TypeError: Dtypes differ. No array is ever converted.

    Everything is checked before anything is written. Several threads may call it at once.

    Examples:
        >>> pipeline.pad([np.array([1]), np.array([2, 3])], value=-1).tolist()
        [[1, -1], [2, 3]]
    """
    cdef tuple items = own("pad", arrays)
    cdef StackInputs p
    cdef Fill fill
    cdef intp[MAX_RANK + 1] dims
    filler = filling(value, items[0].dtype)     # first, because it may run code that reshapes an array
    compare("pad", items, MAX_RANK, &p)
    dims[0] = p.count
    copy_intps(&dims[1], p.room, p.rank)
    made = result("pad", out, &p, p.rank + 1, dims)
    if has_references(p.arrays[0]):
        made[...] = filler
        for i, item in enumerate(items):
            made[(i, ..., *map(slice, item.shape))] = item
    else:
        fill.item = data_of(<Array*>filler)
        fill.size = p.item
        fill.uniform = p.item == 0 or memcmp(fill.item, fill.item + 1, p.item - 1) == 0
        write(made, &p, p.room, &fill)
    return made


cdef filling(value, dtype):
    """Return the value as a rank-0 array."""
    filler = np.zeros((), dtype)
    if type(value) is int and value == 0:
        return filler
    try:
        filler.fill(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgumentError(None, None, f"pad: value {value!r} does not fit dtype {dtype}: {error}") from error
    if dtype.kind in "biuSU" and filler.item() != value:
        raise InvalidArgumentError(None, None, f"pad: value {value!r} does not fit dtype {dtype}")
    return filler


def narrowed(cnp.ndarray array not None):
    """Return a 32-bit copy of a 64-bit integer array; None if a value is too large.

    NumPy takes 1.7 us for 128 numbers, because its own casts do not check.

    Args:
        array: int64 or uint64, contiguous, aligned and in native byte order.

    Raises:
        TypeError: It is another array.
    """
    cdef int kind = cnp.PyArray_TYPE(array)
    cdef intp i, size = cnp.PyArray_SIZE(array)
    cdef bint signed = kind == cnp.NPY_INT64
    if not (signed or kind == cnp.NPY_UINT64) or not cnp.PyArray_ISCARRAY_RO(array):
        raise TypeError(
            f"narrowed: expected a contiguous array of int64 or uint64, got {array!r:.80}")
    cdef cnp.ndarray made = cnp.PyArray_EMPTY(
        cnp.PyArray_NDIM(array), cnp.PyArray_DIMS(array), cnp.NPY_INT32 if signed else cnp.NPY_UINT32, 0
    )
    cdef const int64_t* whole = <const int64_t*>cnp.PyArray_DATA(array)
    cdef const uint64_t* natural = <const uint64_t*>cnp.PyArray_DATA(array)
    cdef int32_t* whole_made = <int32_t*>cnp.PyArray_DATA(made)
    cdef uint32_t* natural_made = <uint32_t*>cnp.PyArray_DATA(made)
    cdef uint64_t lost = 0
    with nogil:
        for i in range(size):
            if signed:
                whole_made[i] = <int32_t>whole[i]
                lost |= <uint64_t>(whole[i] ^ <int64_t>whole_made[i])
            else:
                natural_made[i] = <uint32_t>natural[i]
                lost |= natural[i] >> 32
    return None if lost else made


def read_rows(int descriptor, int64_t start, const int64_t[::1] numbers not None, unsigned char[::1] out not None):
    """Read consecutive equal-sized file rows by index, neighbours in one call. Releases the GIL.

    Args:
        descriptor: File descriptor.
        start: Offset of row 0.
        numbers: Row indices.
        out: Memory for the rows; its size determines the row size.

    Returns:
        The number of rows read; fewer if the file ends before that.

    Raises:
        OSError: The file cannot be read there.
        ValueError: The rows do not exactly fill `out`.
    """
    cdef Py_ssize_t count = numbers.shape[0], first = 0, following
    cdef int64_t row, size, done = 0
    cdef uint64_t place  # wraps around for nonsensical numbers; then the system refuses the offset
    cdef ssize_t got = 1
    if count == 0 or out.shape[0] == 0 or out.shape[0] % count:
        raise ValueError(f"read_rows: expected room for {count} rows of one size, got {out.shape[0]} bytes")
    row = out.shape[0] // count
    with nogil:
        while first < count:
            following = first + 1
            while following < count and <uint64_t>numbers[following] == <uint64_t>numbers[following - 1] + 1:
                following += 1
            size, done = (following - first) * row, 0
            while done < size:
                place = <uint64_t>start + <uint64_t>numbers[first] * <uint64_t>row + <uint64_t>done
                got = pread(descriptor, &out[first * row + done], size - done, <int64_t>place)
                if got < 0 and errno == EINTR:
                    continue
                if got <= 0:
                    break
                done += got
            if done < size:
                break
            first = following
    if got < 0:
        PyErr_SetFromErrno(OSError)
    return first if first == count else first + done // row


@cython.no_gc_clear
cdef class AgainMemory:
    """Reuses the memory of dropped arrays in its `with` block: of up to three, from 128 KiB on.

    For arrays too large for malloc to keep their pages. If the caller has given NumPy an allocator, that one is used.
    After this object is gone, existing arrays keep only their own memory.

    Args:
        mixed: Keep arrays with very different sizes.

    Thread safety: several threads may enter it.
    """

    cdef object handler

    def __cinit__(self, bint mixed=False):
        self.handler = new_recycler(mixed)

    def __dealloc__(self):
        if self.handler is not None:  # None if the arguments are refused
            stop_recycling(self.handler)

    def __enter__(self):
        begin_recycling(self.handler)

    def __exit__(self, *error):
        end_recycling(self.handler)


cdef int check_length(int descriptor, Py_ssize_t size) except -1:
    """Check the file length, because reading memory past the end of a file would end the process."""
    cdef Py_ssize_t found = size if descriptor < 0 else fstat(descriptor).st_size
    if found < size:
        raise ValueError(f"MappedMemory: expected a file of at least {size} bytes, got one of {found}")
    return 0


cdef extern from *:
    """
    #include <sys/mman.h>
    #ifdef MADV_REMOVE
    #define remove_pages(begin, size) madvise(begin, size, MADV_REMOVE)
    #else
    #define remove_pages(begin, size) 0
    #endif
    """
    int remove_pages(void* begin, size_t size) nogil


cdef class MappedMemory:
    """Memory shared with other processes, mapped from a file, or anonymous for descriptor -1.

    Like `mmap.mmap`, which up to Python 3.12 keeps its own descriptor per mapping: a program with a thousand batches
    could not open another file. Here the descriptor may be closed at once.

    Args:
        descriptor: File descriptor, or -1.
        size: Bytes to map.

    Raises:
        OSError: There is not enough room, or no such file.
        ValueError: The file has fewer bytes.
    """

    cdef void* _begin
    cdef Py_ssize_t _size

    def __cinit__(self, int descriptor, Py_ssize_t size):
        check_length(descriptor, size)
        cdef int flags = MAP_SHARED | MAP_ANON if descriptor < 0 else MAP_SHARED
        cdef void* begin = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, descriptor, 0)
        if begin == MAP_FAILED:
            PyErr_SetFromErrno(OSError)
        self._begin, self._size = begin, size

    def __dealloc__(self):
        if self._begin != NULL:
            with nogil:  # the kernel takes back many pages
                munmap(self._begin, self._size)

    def __len__(self):
        return self._size

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self._begin, self._size, 0, flags)

    def discard(self):
        """Give its pages back to the system, on Linux. In all processes they are zeros until written again."""
        with nogil:
            remove_pages(self._begin, self._size)
