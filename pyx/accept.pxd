"""Check whether a component accepts Python values without conversion, and find their bytes."""

from cpython.bytes cimport PyBytes_CheckExact
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.list cimport PyList_GET_SIZE
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.object cimport Py_TYPE
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

cimport numpy as cnp

from columns cimport ARRAY, BYTES, LARGE_ALONE, OBJECT, ROWS, Column, Number, Part, is_sole
from recycling cimport PyArray_Empty
from span cimport Span, rows_at, span

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewCopy(cnp.ndarray array, cnp.NPY_ORDER order)
    void PyArray_ScalarAsCtype(PyObject* scalar, void* data)
    PyObject* descr_of "(PyObject*)PyArray_DESCR"(cnp.ndarray array)
    bint same_dtype "PyArray_EquivTypes"(cnp.PyArray_Descr* a, cnp.PyArray_Descr* b)

cdef extern from *:
    """
    static inline PyObject** pipeline_list_items(PyObject* list) { return ((PyListObject*)list)->ob_item; }
    """
    PyObject** list_items "pipeline_list_items"(object list)


cdef inline bint fill_number(int type_num, int64_t value, Number* out) noexcept nogil:
    """Store an integer as a native number if it is in range."""
    if type_num == cnp.NPY_INT64 or type_num == cnp.NPY_LONGLONG:
        out.int64 = value
    elif type_num == cnp.NPY_INT32:
        out.int32 = <int32_t>value
        return <int32_t>value == value
    elif type_num == cnp.NPY_INT16:
        out.int16 = <int16_t>value
        return <int16_t>value == value
    elif type_num == cnp.NPY_INT8:
        out.int8 = <int8_t>value
        return <int8_t>value == value
    elif type_num == cnp.NPY_UINT8:
        out.uint8 = <uint8_t>value
        return <uint8_t>value == value
    elif type_num == cnp.NPY_UINT16:
        out.uint16 = <uint16_t>value
        return <uint16_t>value == value
    elif type_num == cnp.NPY_UINT32:
        out.uint32 = <uint32_t>value
        return <uint32_t>value == value
    elif type_num == cnp.NPY_FLOAT64:
        out.float64 = <double>value
    elif type_num == cnp.NPY_FLOAT32:
        out.float32 = <float>value
    else:
        return False
    return True


cdef inline bint of_dtype(const Column* c, cnp.ndarray array) noexcept:
    cdef PyObject* dtype = descr_of(array)
    return <void*>dtype == c.descr or same_dtype(<cnp.PyArray_Descr*>dtype, <cnp.PyArray_Descr*>c.descr)


cdef inline bint array_fits(Column* c, cnp.ndarray array, int lead) noexcept:
    """Return whether an array can be copied without conversion; `lead` dimensions come before the component's own."""
    cdef int i
    if not of_dtype(c, array):
        return False
    if cnp.PyArray_NDIM(array) != c.ndim + lead or not cnp.PyArray_IS_C_CONTIGUOUS(array):
        return False
    for i in range(c.ndim):
        if cnp.PyArray_DIM(array, i + lead) != c.dims[i]:
            return False
    return True


cdef inline bint scalar_fits(Column* c, object value, Part* part) noexcept:
    cdef int overflow = 0
    cdef int64_t number
    part.rows = rows_at(part.number.bytes, 1, c.slab.row)
    if PyFloat_CheckExact(value):
        if c.type_num == cnp.NPY_FLOAT32:
            part.number.float32 = <float>PyFloat_AS_DOUBLE(value)
            return True
        if c.type_num == cnp.NPY_FLOAT64:
            part.number.float64 = PyFloat_AS_DOUBLE(value)
            return True
        return False
    if PyLong_CheckExact(value):
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        return not overflow and fill_number(c.type_num, number, &part.number)
    if c.scalar_type != NULL and <void*>Py_TYPE(value) == c.scalar_type:
        PyArray_ScalarAsCtype(<PyObject*>value, part.number.bytes)
        return True
    return False


cdef inline bint steady(PyObject* base):
    """Return whether memory not owned by an array is a segment filled by a worker, so it stays unchanged."""
    while cnp.PyArray_Check(<object>base):
        base = <PyObject*>cnp.PyArray_BASE(<cnp.ndarray>base)
        if base == NULL:
            return False
    return getattr(type(<object>base), "steady", False) is True


cdef inline bint lasts(cnp.ndarray array, bint given):
    """Return whether an array can no longer be written to: its memory is a bytes object, or it was given up and this is
    the only reference left."""
    cdef PyObject* base = <PyObject*>cnp.PyArray_BASE(array)
    if base != NULL and not cnp.PyArray_ISWRITEABLE(array):
        return PyBytes_CheckExact(<object>base)
    if base != NULL:
        return given and is_sole(<PyObject*>array, 1) and steady(base)
    return given and is_sole(<PyObject*>array, 1) and cnp.PyArray_CHKFLAGS(array, cnp.NPY_ARRAY_OWNDATA)


cdef inline cnp.ndarray owner(cnp.ndarray array):
    """Return the array that owns this array's memory; None if something else owns it."""
    cdef PyObject* base = <PyObject*>cnp.PyArray_BASE(array)
    while base != NULL:
        if not cnp.PyArray_Check(<object>base):
            return None
        array = <cnp.ndarray>base
        base = <PyObject*>cnp.PyArray_BASE(array)
    return array if cnp.PyArray_CHKFLAGS(array, cnp.NPY_ARRAY_OWNDATA) else None


cdef inline bint frozen(cnp.ndarray array):
    """Return whether an array and the array that owns its memory are both read-only.

    A mapped file is not owned by an array: if it were borrowed, the thread that consumes batches would have to read it.
    """
    cdef cnp.ndarray root
    if cnp.PyArray_ISWRITEABLE(array):
        return False
    root = owner(array)
    return root is not None and not cnp.PyArray_ISWRITEABLE(root)


cdef inline bint in_range(Span[int64_t] numbers, cnp.npy_intp rows) noexcept nogil:
    """Return whether all numbers are in range(rows): neither they nor their distance to the last row is negative.
    Without comparisons, the compiler can vectorise it."""
    cdef Py_ssize_t i
    cdef uint64_t signs = 0, last = <uint64_t>rows - 1
    for i in range(<Py_ssize_t>numbers.n):
        signs |= <uint64_t>numbers[i] | (last - <uint64_t>numbers[i])
    return signs >> 63 == 0


cdef inline object copied(Column* c, cnp.ndarray array):
    """Return a C-contiguous copy. NumPy's own function takes 70 ns more for a short row."""
    if c.type_num < 0 or not cnp.PyArray_IS_C_CONTIGUOUS(array):
        return PyArray_NewCopy(array, cnp.NPY_CORDER)
    Py_INCREF(<object>descr_of(array))
    copy = PyArray_Empty(cnp.PyArray_NDIM(array), cnp.PyArray_DIMS(array), <cnp.PyArray_Descr*>descr_of(array), 0)
    memcpy(cnp.PyArray_DATA(<cnp.ndarray>copy), cnp.PyArray_DATA(array), cnp.PyArray_NBYTES(array))
    return copy


cdef inline bint shape_fits(Column* c, cnp.ndarray array) noexcept:
    """Return whether an array has the shape of a component with variable sizes."""
    cdef int i
    if c.ndim < 0:
        return True
    if cnp.PyArray_NDIM(array) != c.ndim:
        return False
    for i in range(c.ndim):
        if c.dims[i] >= 0 and cnp.PyArray_DIM(array, i) != c.dims[i]:
            return False
    return True


cdef inline bint row_fits(Column* c, object value, Part* part, bint given):
    """Check as `fits`, for a component with fixed-size rows. Views are made from addresses: acquiring one for a single
    value would take 106 ns, compared with 60 ns for enqueueing a number."""
    part.ref = NULL
    part.chosen = False
    if not cnp.PyArray_CheckExact(value):
        return c.ndim == 0 and scalar_fits(c, value, part)
    part.rows = rows_at(<char*>cnp.PyArray_DATA(<cnp.ndarray>value), 1, c.slab.row)
    if not array_fits(c, <cnp.ndarray>value, 0):
        return False
    if c.slab.row >= LARGE_ALONE and lasts(<cnp.ndarray>value, given):
        part.ref = <PyObject*>value
    return True


cdef inline bint own_array_fits(Column* c, object value, Part* part, bint given, list copies):
    """Check as `fits`, for arrays with variable shape: the queue keeps a copy, unless they can no longer change."""
    if not cnp.PyArray_CheckExact(value) or not of_dtype(c, <cnp.ndarray>value):
        return False
    if not shape_fits(c, <cnp.ndarray>value):
        return False
    part.ref = <PyObject*>value
    if copies is None or given and lasts(<cnp.ndarray>value, True) and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>value):
        return True
    copies.append(copied(c, <cnp.ndarray>value))
    part.ref = <PyObject*>copies[len(copies) - 1]
    return True


cdef inline bint fits(Column* c, object value, Part* part, bint converted, bint given, list copies):
    """Return whether one value can be stored without conversion; `part` then has its location. An array that was
    `given` up, so that only the values tuple refers to it, need not be copied; `copies` keeps the copy of any other
    array with variable shape. Without `copies` it must not change. Copying here rather than in Python's `_convert`
    saves 4 us per element."""
    if c.form == ROWS:
        return row_fits(c, value, part, given)
    part.refs = &part.ref
    if c.form == ARRAY and not converted:
        return own_array_fits(c, value, part, given, copies)
    part.ref = <PyObject*>value
    return converted or c.form == OBJECT or (c.form == BYTES and c.ndim <= 0 and PyBytes_CheckExact(value))


cdef inline Py_ssize_t many_fit(Column* c, object value, Part* part, bint converted, bint given):
    """Return the row count if all can be stored without conversion; else -1. An array that was `given` up is kept until
    its last row leaves, so only give up arrays to queues where rows leave in order."""
    cdef Py_ssize_t n
    if c.form == ROWS:
        if not cnp.PyArray_CheckExact(value) or not array_fits(c, <cnp.ndarray>value, 1):
            return -1
        n = cnp.PyArray_DIM(<cnp.ndarray>value, 0)
        # 106 ns less than acquiring a view, out of 350 for a block of 128 numbers in and out.
        part.rows = rows_at(<char*>cnp.PyArray_DATA(<cnp.ndarray>value), n, c.slab.row)
        part.chosen = False
        part.ref = NULL
        if c.lends and (frozen(<cnp.ndarray>value) or given and lasts(<cnp.ndarray>value, True)):
            part.ref = <PyObject*>value
        return n
    if not converted or type(value) is not list:
        return -1
    part.refs = list_items(value)
    return PyList_GET_SIZE(value)


cdef inline bint are_row_numbers(cnp.ndarray numbers) noexcept:
    if numbers is None or cnp.PyArray_NDIM(numbers) != 1 or cnp.PyArray_TYPE(numbers) != cnp.NPY_INT64:
        return False
    return cnp.PyArray_ISCARRAY_RO(numbers)


cdef inline Py_ssize_t chosen_fit(Column* c, cnp.ndarray array, cnp.ndarray numbers, Part* part):
    """Check as `many_fit`, for rows of an array that does not change; `numbers` has their int64 indices."""
    cdef Py_ssize_t n, rows
    if c.form != ROWS or array is None or not array_fits(c, array, 1) or not are_row_numbers(numbers):
        return -1
    n = cnp.PyArray_DIM(numbers, 0)
    rows = cnp.PyArray_DIM(array, 0)
    part.rows = rows_at(<char*>cnp.PyArray_DATA(array), rows, c.slab.row)
    part.numbers = span(<int64_t*>cnp.PyArray_DATA(numbers), n)
    part.chosen = True
    part.ref = <PyObject*>array if c.lends and owner(array) is not None else NULL
    return n if in_range(part.numbers, rows) else -1


cdef inline bint out_fits(const Column* c, object out, size_t n, bint cut):
    """Return whether `dequeue_many` can write n rows into `out`: or with `cut` into its first n."""
    cdef cnp.ndarray array
    cdef size_t rows
    cdef int i
    if not cnp.PyArray_Check(out):
        return False
    array = <cnp.ndarray>out
    if not of_dtype(c, array) or cnp.PyArray_NDIM(array) != c.ndim + 1:
        return False
    if not cnp.PyArray_IS_C_CONTIGUOUS(array) or not cnp.PyArray_ISWRITEABLE(array):
        return False
    rows = <size_t>cnp.PyArray_DIM(array, 0)
    if rows < n or rows > n and not cut:
        return False
    for i in range(c.ndim):
        if c.dims[i] >= 0 and cnp.PyArray_DIM(array, i + 1) != c.dims[i]:
            return False
    return True
