"""Memory with another owner: an address and a length, with index checks in the `make bounds` build.

For struct members, and for slots on the C stack. Acquiring a typed memoryview takes 106 ns, as long as enqueueing one
number; a span takes two or three stores, and keeps nothing alive.
"""

from libc.stdint cimport uint32_t

ctypedef uint32_t slot_t

cdef extern from *:
    """
    #include <stdio.h>
    #include <stdlib.h>

    static inline void pipeline_out_of_bounds(const char* what) {
        fprintf(stderr, "Out of bounds: %s\\n", what);
        abort();
    }

    #ifdef PIPELINE_BOUNDS
    enum { pipeline_checked = 1 };
    #else
    enum { pipeline_checked = 0 };
    #endif

    template <class Item> struct pipeline_Span {
        Item* data;
        size_t n;
        Item& operator[](size_t i) const {
            if (pipeline_checked && i >= n) pipeline_out_of_bounds("an item of a span");
            return data[i];
        }
    };
    template <class Item> static inline pipeline_Span<Item> pipeline_span(Item* data, size_t n) { return {data, n}; }

    struct pipeline_RowSpan {
        char* data;
        size_t n, row;
        char* at(size_t i) const {
            if (pipeline_checked && i >= n) pipeline_out_of_bounds("a row");
            return data + i * row;
        }
    };
    static inline pipeline_RowSpan pipeline_rows(const void* data, size_t n, size_t row) {
        return {(char*)data, n, row};
    }

    /* The bounds-checking build evaluates `place`; any other build drops the whole expression. */
    #ifdef PIPELINE_BOUNDS
    static inline void pipeline_within(const void*) {}
    #else
    #define pipeline_within(place) ((void)(place))
    #endif
    """
    cppclass Span "pipeline_Span" [Item]:       # n consecutive items
        Item* data
        size_t n
        Item& operator[](size_t i) noexcept nogil
    Span[Item] span "pipeline_span" [Item](Item* data, size_t n) noexcept nogil
    cppclass RowSpan "pipeline_RowSpan":              # n rows with `row` bytes each
        char* data
        size_t n
        size_t row
        char* at(size_t i) noexcept nogil
    RowSpan rows_at "pipeline_rows"(const void* data, size_t n, size_t row) noexcept nogil
    void fetch "__builtin_prefetch"(const void* place) noexcept nogil      # load into the cache
    void within "pipeline_within"(const void* place) noexcept nogil
    bint CHECKED "pipeline_checked"
    void out_of_bounds "pipeline_out_of_bounds"(const char* what) noexcept nogil
