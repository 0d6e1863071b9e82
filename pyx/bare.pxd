"""Bare: a `__next__` in C that leaves no entry in the traceback of what it raises.

Cython notes each function that an exception passes. A user whose function has failed wants to see the line that asked
for a batch, and then the own function; so the slot of the type is replaced by a function that only hands on.
"""

from cpython.object cimport PyObject, PyTypeObject

cdef extern from *:
    """
    static void bare_restore(PyObject *error) {
        PyObject *type = (PyObject *)Py_TYPE(error);
        Py_INCREF(type);
        Py_INCREF(error);
        PyErr_Restore(type, error, PyException_GetTraceback(error));
    }

    /* For each type of the module: subclasses that are made later take the slot from the wrapper. Cython has made a
       method of `__next__`, which Python would call by name. */
    static int bare_install(PyTypeObject *type, void *next) {
        PyObject *known = PyObject_GetAttrString((PyObject *)&PySeqIter_Type, "__next__"), *wrapper = NULL;
        int failed = -1;
        if (known != NULL && Py_TYPE(known) == &PyWrapperDescr_Type)
            wrapper = PyDescr_NewWrapper(type, ((PyWrapperDescrObject *)known)->d_base, next);
        if (wrapper != NULL)
            failed = PyDict_SetItemString(type->tp_dict, "__next__", wrapper);
        else if (known != NULL && !PyErr_Occurred())
            PyErr_SetString(PyExc_SystemError, "__next__ of iterators is no slot in this Python");
        Py_XDECREF(known);
        Py_XDECREF(wrapper);
        if (!failed) {
            type->tp_iternext = (iternextfunc)next;
            PyType_Modified(type);
        }
        return failed;
    }
    """
    void bare_restore(object error)
    int bare_install(PyTypeObject* type, void* next) except -1
