"""Components: what a slot holds for each of them, and which Python values can be stored as they are.

A row of fixed size lies in a slab. Anything else is a reference in a list, where the garbage collector sees it; those are
touched with the GIL held.
"""

from cpython.bytes cimport PyBytes_CheckExact
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE, PyList_SET_ITEM
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.object cimport Py_TYPE
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t

cimport numpy as cnp

from orders cimport slot_t
from slab cimport CHUNKS, Slab, bit_length, chunk_first, slab_write

cdef extern from "numpy/arrayobject.h":
    object PyArray_Empty(int ndim, cnp.npy_intp* dims, cnp.PyArray_Descr* dtype, int fortran)  # steals dtype
    object PyArray_Scalar(void* data, cnp.PyArray_Descr* dtype, PyObject* base)
    void PyArray_ScalarAsCtype(PyObject* scalar, void* data)
    PyObject* descr_of "(PyObject*)PyArray_DESCR"(cnp.ndarray array)
    bint same_dtype "PyArray_EquivTypes"(cnp.PyArray_Descr* a, cnp.PyArray_Descr* b)

cdef extern from *:
    """
    static inline PyObject** pipeline_list_items(PyObject* list) { return ((PyListObject*)list)->ob_item; }
    """
    PyObject** list_items "pipeline_list_items"(object list)

cdef enum Form:
    ROWS                        # fixed size, in a slab
    BYTES                       # a reference to bytes; arrays of them where the component is not a scalar
    OBJECT                      # a reference to anything
    ARRAY                       # a reference to an array of the queue's own, of varying shape

cdef struct Column:
    Form form
    Slab slab
    void* lists[CHUNKS]          # chunks of references; `Engine._lists` owns them
    void* descr                 # `Engine._keep` owns it
    void* scalar_type           # of a native NumPy number, else NULL
    int type_num                # the same; -1
    int ndim                    # -1: any shape
    cnp.npy_intp* dims          # -1: any size

cdef struct Part:               # what one component of a call is copied from
    char* rows
    PyObject** refs
    PyObject* ref
    char[32] scratch            # holds one number

cdef inline void write_rows(Column* columns, int width, int bits, const slot_t* slots, size_t n, Part* parts,
                     size_t offset) noexcept nogil:
    cdef int i
    for i in range(width):
        if columns[i].form == ROWS:
            slab_write(&columns[i].slab, bits, slots, n, parts[i].rows + offset * columns[i].slab.row)


cdef inline bint fill_number(int type_num, int64_t value, char* out) noexcept nogil:
    """Store an integer as a native number if it is in range."""
    if type_num == cnp.NPY_INT64 or type_num == cnp.NPY_LONGLONG:
        (<int64_t*>out)[0] = value
    elif type_num == cnp.NPY_INT32:
        (<int32_t*>out)[0] = <int32_t>value
        return <int32_t>value == value
    elif type_num == cnp.NPY_INT16:
        (<int16_t*>out)[0] = <int16_t>value
        return <int16_t>value == value
    elif type_num == cnp.NPY_INT8:
        (<int8_t*>out)[0] = <int8_t>value
        return <int8_t>value == value
    elif type_num == cnp.NPY_UINT8:
        (<uint8_t*>out)[0] = <uint8_t>value
        return <uint8_t>value == value
    elif type_num == cnp.NPY_UINT16:
        (<uint16_t*>out)[0] = <uint16_t>value
        return <uint16_t>value == value
    elif type_num == cnp.NPY_UINT32:
        (<uint32_t*>out)[0] = <uint32_t>value
        return <uint32_t>value == value
    elif type_num == cnp.NPY_FLOAT64:
        (<double*>out)[0] = <double>value
    elif type_num == cnp.NPY_FLOAT32:
        (<float*>out)[0] = <float>value
    else:
        return False
    return True


cdef inline bint array_fits(Column* c, cnp.ndarray array, int lead) noexcept:
    """An array that can be copied as it is; `lead` dimensions come before the component's own."""
    cdef int i
    if <void*>descr_of(array) != c.descr and not same_dtype(<cnp.PyArray_Descr*>descr_of(array), <cnp.PyArray_Descr*>c.descr):
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
    part.rows = part.scratch
    if PyFloat_CheckExact(value):
        if c.type_num == cnp.NPY_FLOAT32:
            (<float*>part.scratch)[0] = <float>PyFloat_AS_DOUBLE(value)
            return True
        if c.type_num == cnp.NPY_FLOAT64:
            (<double*>part.scratch)[0] = PyFloat_AS_DOUBLE(value)
            return True
        return False
    if PyLong_CheckExact(value):
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        return not overflow and fill_number(c.type_num, number, part.scratch)
    if c.scalar_type != NULL and <void*>Py_TYPE(value) == c.scalar_type:
        PyArray_ScalarAsCtype(<PyObject*>value, part.scratch)
        return True
    return False


cdef inline bint fits(Column* c, object value, Part* part, bint converted):
    """Whether one value can be stored as it is; then `part` says where it lies."""
    if c.form == ROWS:
        if cnp.PyArray_CheckExact(value):
            part.rows = <char*>cnp.PyArray_DATA(<cnp.ndarray>value)
            return array_fits(c, <cnp.ndarray>value, 0)
        return c.ndim == 0 and scalar_fits(c, value, part)
    part.ref = <PyObject*>value
    part.refs = &part.ref
    return converted or c.form == OBJECT or (c.form == BYTES and c.ndim <= 0 and PyBytes_CheckExact(value))


cdef inline Py_ssize_t many_fit(Column* c, object value, Part* part, bint converted):
    """How many rows there are, if all can be stored as they are; else -1."""
    if c.form == ROWS:
        if not cnp.PyArray_CheckExact(value) or not array_fits(c, <cnp.ndarray>value, 1):
            return -1
        part.rows = <char*>cnp.PyArray_DATA(<cnp.ndarray>value)
        return cnp.PyArray_DIM(<cnp.ndarray>value, 0)
    if not converted:
        return -1
    part.refs = list_items(value)
    return PyList_GET_SIZE(value)


cdef inline object empty(Column* c, size_t n, bint many):
    """A fresh array for one row, or for n."""
    cdef cnp.npy_intp[64] dims
    cdef int i, lead = 1 if many else 0
    dims[0] = n
    for i in range(c.ndim):
        dims[i + lead] = c.dims[i]
    Py_INCREF(<object>c.descr)
    return PyArray_Empty(c.ndim + lead, dims, <cnp.PyArray_Descr*>c.descr, 0)


cdef inline PyObject* reference(Column* c, int bits, slot_t slot) noexcept:
    cdef int chunk = bit_length(slot >> bits)
    return PyList_GET_ITEM(<object>c.lists[chunk], slot - chunk_first(bits, chunk))


cdef inline void swap_reference(Column* c, int bits, slot_t slot, PyObject* value) noexcept:
    """Let a slot refer to something else. Dropping the old object may run any code, so it comes last."""
    cdef int chunk = bit_length(slot >> bits)
    cdef Py_ssize_t place = slot - chunk_first(bits, chunk)
    cdef PyObject* old = PyList_GET_ITEM(<object>c.lists[chunk], place)
    Py_INCREF(<object>value)
    PyList_SET_ITEM(<object>c.lists[chunk], place, <object>value)
    Py_DECREF(<object>old)
