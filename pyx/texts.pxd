"""Strings from files, as str if they are UTF-8.

Thread safety: the GIL is held.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8


cdef inline object text_or_bytes(const char* text, Py_ssize_t size):
    """Return a text as str, or as bytes if it is not UTF-8, so that a caller with the position can raise the error."""
    try:
        return PyUnicode_DecodeUTF8(text, size, NULL)
    except UnicodeDecodeError:
        return PyBytes_FromStringAndSize(text, size)
