"""Memory for slot chunks."""

cdef extern from *:
    """
    #include <stdlib.h>
    #ifdef __linux__
    #include <sys/mman.h>
    #endif

    /* Large chunks ask for huge pages, as NumPy's own arrays do: rows drawn at random miss the TLB less. */
    static inline void* pipeline_chunk(size_t bytes) {
        const size_t huge = (size_t)1 << 21, line = 64;
        const bool large = bytes >= 2 * huge;
        void* memory = NULL;
        if (posix_memalign(&memory, large ? huge : line, bytes ? bytes : 1)) return NULL;
    #ifdef MADV_HUGEPAGE
        if (large) madvise(memory, bytes, MADV_HUGEPAGE);
    #endif
        return memory;
    }
    """
    void* chunk_memory "pipeline_chunk"(size_t bytes) noexcept nogil
