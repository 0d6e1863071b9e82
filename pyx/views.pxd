"""Typed memoryviews of memory that the queue holds already.

Acquiring a view of a Python object takes 106 ns, as long as a whole enqueue of one number. These take the address and
the length instead and cost two or three stores. They keep nothing alive: whoever makes one owns the memory.
"""

from libc.stdint cimport uint32_t

ctypedef uint32_t slot_t

cdef extern from *:
    """
    #include <stdio.h>
    #include <stdlib.h>

    /* None stands for the owner, which Cython neither counts nor frees. */
    template <class View, class Item> static inline void pipeline_line(View* view, Item* data, size_t n) {
        view->memview = (decltype(view->memview))Py_None;
        view->data = (char*)data;
        view->shape[0] = (Py_ssize_t)n;
        view->strides[0] = sizeof(Item);
    }

    /* Rows of no bytes have a byte in the view, so that &rows[i, 0] is an address in it all the same. */
    template <class View, class Item> static inline void pipeline_table(View* view, Item* data, size_t n, size_t row) {
        pipeline_line(view, data, n);
        view->strides[0] = (Py_ssize_t)row;
        view->shape[1] = row ? (Py_ssize_t)row : 1;
        view->strides[1] = 1;
    }

    /* Cython takes no address of a view, so these are told who has it as a member. */
    template <class Owner, class Item> static inline void pipeline_view_slots(Owner* owner, Item* data, size_t n) {
        pipeline_line(&owner->slots, data, n);
    }
    template <class Owner, class Item> static inline void pipeline_view_numbers(Owner* owner, Item* data, size_t n) {
        pipeline_line(&owner->numbers, data, n);
    }
    template <class Owner, class Item> static inline void pipeline_view_bytes(Owner* owner, Item* data, size_t n) {
        pipeline_line(&owner->bytes, data, n);
    }
    template <class Owner, class Item>
    static inline void pipeline_view_rows(Owner* owner, Item* data, size_t n, size_t row) {
        pipeline_table(&owner->rows, data, n, row);
    }

    /* The build with bounds checks evaluates the index of `place`; any other build drops the whole expression. */
    #ifdef PIPELINE_BOUNDS
    static inline void pipeline_within(const void*) {}
    enum { pipeline_checked = 1 };
    #else
    #define pipeline_within(place) ((void)(place))
    enum { pipeline_checked = 0 };
    #endif

    static inline void pipeline_out_of_bounds(const char* what) {
        fprintf(stderr, "Out of bounds: %s\\n", what);
        abort();
    }
    """
    void fetch "__builtin_prefetch"(const void* place) noexcept nogil      # have it in the cache soon
    void within "pipeline_within"(const void* place) noexcept nogil
    bint CHECKED "pipeline_checked"
    void out_of_bounds "pipeline_out_of_bounds"(const char* what) noexcept nogil
