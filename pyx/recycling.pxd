"""Reuse large batches' memory after the caller has dropped them.

The kernel clears fresh memory page by page on the first write, which costs as much as the copy itself: a 37 MiB batch
leaves a queue in 5.2 ms, or in 2.9 ms if the pages exist. malloc keeps pages for a loop with one batch under 32 MiB at
a time; but after three 1 MiB batches are dropped together, it returns them, and the next take 430 us each instead of
25. So each component keeps the memory of up to three dropped batches.

Padded batches and files differ in length, so a block also serves smaller arrays. The kernel gets back the part that
exceeds half as much again. With lengths that vary by a third, 7 % of the pages are fresh, instead of all.

These are ordinary arrays that own their data. Their memory comes from here and returns here through NumPy's allocators
(NEP 49) when NumPy would free it: after the array and all its views are gone, never before.

Thread safety: spare blocks change owners by single atomic operations. There is no lock, so the GIL does not matter, and
a fork leaves nothing locked.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy

cimport numpy as cnp

from memory cimport chunk_memory

cdef enum:
    RECYCLED_BYTES = 1 << 17    # for smaller arrays, malloc keeps the pages
    NEAR = 4                    # a spare block serves arrays of at least this part of its size

cdef extern from "numpy/arrayobject.h":
    """
    #include <atomic>
    #ifdef __linux__
    #include <malloc.h>
    #include <sys/mman.h>
    #endif

    enum { pipeline_spares = 3 };

    struct pipeline_recycler {
        PyDataMem_Handler handler;
        /* A block, with its size at its start; NULL; or the recycler's own address, once the recycler is closed. */
        std::atomic<void*> spares[pipeline_spares] = {};
        bool mixed = false;                     /* keep blocks with very different sizes */
        std::atomic<unsigned> turn{0};          /* selects the one to drop when there are enough */
    };

    #ifdef __linux__
    /* By linker name, because Python's header does not declare them as C. */
    extern "C" int pipeline_track(unsigned int, uintptr_t, size_t) __asm__("PyTraceMalloc_Track");
    extern "C" int pipeline_untrack(unsigned int, uintptr_t) __asm__("PyTraceMalloc_Untrack");

    /* NumPy derives a block's size from the array's shape when freeing it. If it were ever too large, the next batch
       would run over the end, so ask malloc. */
    static inline size_t pipeline_room(void* block) { return malloc_usable_size(block); }

    /* tracemalloc counts spare blocks as NumPy's memory, allocated where the batch was dropped. */
    static inline void pipeline_trace(void* block, size_t bytes) { pipeline_track(389047, (uintptr_t)block, bytes); }
    static inline void pipeline_untrace(void* block) { pipeline_untrack(389047, (uintptr_t)block); }

    /* Return a block's end to the kernel, in whole huge pages if it is large; a later write makes fresh pages. */
    static inline void pipeline_trim(void* block, size_t kept, size_t bytes) {
        const uintptr_t page = kept >= ((size_t)1 << 22) ? (uintptr_t)1 << 21 : (uintptr_t)1 << 16;
        const uintptr_t begin = ((uintptr_t)block + kept + page - 1) & ~(page - 1);
        const uintptr_t end = ((uintptr_t)block + bytes) & ~(page - 1);
        if (begin < end) madvise((void*)begin, end - begin, MADV_DONTNEED);
    }
    #else
    /* If malloc cannot report sizes, no block is kept. */
    static inline size_t pipeline_room(void*) { return 0; }
    static inline void pipeline_trace(void*, size_t) {}
    static inline void pipeline_untrace(void*) {}
    static inline void pipeline_trim(void*, size_t, size_t) {}
    #endif
    """
    int SPARES "pipeline_spares"
    cppclass address "std::atomic<void*>":
        void* load() noexcept nogil
        void* exchange(void* block) noexcept nogil
        bint compare_exchange_strong(void*& expected, void* block) noexcept nogil
    cppclass counter "std::atomic<unsigned>":
        unsigned fetch_add(unsigned more) noexcept nogil
    cppclass Recycler "pipeline_recycler":
        Recycler() except +
        cnp.PyDataMem_Handler handler
        address* spares
        bint mixed
        counter turn
    size_t room "pipeline_room"(void* block) noexcept nogil
    void trace "pipeline_trace"(void* block, size_t bytes) noexcept nogil
    void untrace "pipeline_untrace"(void* block) noexcept nogil
    void trim "pipeline_trim"(void* block, size_t kept, size_t bytes) noexcept nogil

    object PyArray_Empty(int ndim, cnp.npy_intp* dims, cnp.PyArray_Descr* dtype, int fortran)  # steals dtype
    PyObject* PyDataMem_DefaultHandler


cdef inline void drop(void* block) noexcept nogil:
    untrace(block)
    free(block)


cdef inline void keep_block(Recycler* recycler, void* block, size_t bytes) noexcept nogil:
    """Keep an array's block, or free it if it is small."""
    cdef size_t size
    if bytes >= RECYCLED_BYTES:
        size = room(block)
        if size >= bytes:
            (<size_t*>block)[0] = size
            trace(block, bytes)
            put_spare(recycler, block)
            return
    free(block)


cdef inline void put_spare(Recycler* recycler, void* block) noexcept nogil:
    """Add a spare block, in place of another one if there are enough; free it if the recycler is closed."""
    cdef void* other
    cdef int i
    for i in range(SPARES):
        other = NULL
        if recycler.spares[i].compare_exchange_strong(other, block):
            return
    i = recycler.turn.fetch_add(1) % SPARES
    other = recycler.spares[i].load()
    if other == recycler or not recycler.spares[i].compare_exchange_strong(other, block):
        drop(block)
    elif other != NULL:
        drop(other)


cdef inline void* spare_block(Recycler* recycler, size_t bytes) noexcept nogil:
    """Return the smallest spare block with room for this size; or NULL.

    Blocks with very different sizes are freed, as batches no longer need them; but they stay in a mixed recycler.
    """
    cdef void* block
    cdef void* found = NULL
    cdef size_t size
    cdef int i
    for i in range(SPARES):
        block = recycler.spares[i].load()
        if block == NULL or block == recycler or not recycler.spares[i].compare_exchange_strong(block, NULL):
            continue
        size = (<size_t*>block)[0]
        if bytes <= size <= NEAR * bytes:
            if found == NULL or size < (<size_t*>found)[0]:
                found, block = block, found
            if block != NULL:
                put_spare(recycler, block)
        elif recycler.mixed or size < bytes <= NEAR * size:
            put_spare(recycler, block)
        else:
            drop(block)
    if found != NULL and (<size_t*>found)[0] > bytes + bytes // 2:
        trim(found, bytes + bytes // 2, (<size_t*>found)[0])
    return found


cdef inline void drop_spares(Recycler* recycler) noexcept nogil:
    """Free the spare blocks, and keep none from now on."""
    cdef void* block
    cdef int i
    for i in range(SPARES):
        block = recycler.spares[i].exchange(recycler)
        if block != NULL and block != recycler:
            drop(block)


# Called by NumPy. While an array is made, the collector may run any code; its arrays, of any size, come from here too.

cdef inline void* recycler_malloc(void* recycler, size_t bytes) noexcept nogil:
    cdef void* block = spare_block(<Recycler*>recycler, bytes) if bytes >= RECYCLED_BYTES else NULL
    return chunk_memory(bytes) if block == NULL else block


cdef inline void* recycler_calloc(void* recycler, size_t count, size_t bytes) noexcept nogil:
    return calloc(count, bytes)


cdef inline void* recycler_realloc(void* recycler, void* block, size_t bytes) noexcept nogil:
    return realloc(block, bytes)


cdef inline void recycler_free(void* recycler, void* block, size_t bytes) noexcept nogil:
    keep_block(<Recycler*>recycler, block, bytes)


cdef inline Recycler* recycler_of(object handler) noexcept:
    return <Recycler*>PyCapsule_GetPointer(handler, "mem_handler")


cdef inline void delete_recycler(object handler) noexcept:
    cdef Recycler* recycler = recycler_of(handler)
    drop_spares(recycler)
    del recycler


cdef inline object new_recycler(bint mixed=False):
    """Return NumPy's handle for a new recycler. The queue and each array made from it keep the recycler alive."""
    cdef Recycler* recycler = new Recycler()
    recycler.mixed = mixed
    memcpy(recycler.handler.name, b"pipeline", 9)
    recycler.handler.version = 1
    recycler.handler.allocator.ctx = recycler
    recycler.handler.allocator.malloc = recycler_malloc
    recycler.handler.allocator.calloc = recycler_calloc
    recycler.handler.allocator.realloc = recycler_realloc
    recycler.handler.allocator.free = recycler_free
    return PyCapsule_New(recycler, "mem_handler", delete_recycler)


cdef inline int begin_recycling(object handler) except -1:
    """Have NumPy allocate this thread's arrays from a recycler, unless the caller has set another allocator."""
    usual = cnp.PyDataMem_GetHandler()
    if <PyObject*>usual == PyDataMem_DefaultHandler:
        cnp.PyDataMem_SetHandler(handler)
    return 0


cdef inline int end_recycling(object handler) except -1:
    """Have NumPy use its own allocator again."""
    if cnp.PyDataMem_GetHandler() is handler:
        cnp.PyDataMem_SetHandler(<object>PyDataMem_DefaultHandler)
    return 0


cdef inline object recycled_array(object handler, int ndim, cnp.npy_intp* dims, object dtype):
    """Return an array in a recycler's memory, or from another allocator set by the caller."""
    begin_recycling(handler)
    Py_INCREF(dtype)
    try:
        return PyArray_Empty(ndim, dims, <cnp.PyArray_Descr*>dtype, 0)
    finally:
        end_recycling(handler)


cdef inline void stop_recycling(object handler) noexcept:
    drop_spares(recycler_of(handler))
