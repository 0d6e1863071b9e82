"""Copy rows past the caches, into a batch larger than the caches.

An ordinary store first reads the cache line that it fills. For 128 images of 150 KB that is a third of the traffic:
139 k rows/s past the caches, 109 k through them. But code that reads the batch at once finds nothing in the caches: for
12 MB this is slower overall (1.33 instead of 1.00 ms), for 19 MB equal, for 24 MB faster (2.1 instead of 5.2 ms).
"""

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #ifdef __SSE2__
    #include <emmintrin.h>
    #endif

    static inline void pipeline_stream(char* to, const char* from, size_t n) {
    #ifdef __SSE2__
        size_t head = (size_t)(-(uintptr_t)to & 15);
        if (head > n) head = n;
        memcpy(to, from, head);
        to += head;
        from += head;
        n -= head;
        for (; n >= 64; n -= 64, to += 64, from += 64) {
            const __m128i* line = (const __m128i*)from;
            __m128i* target = (__m128i*)to;
            const __m128i a = _mm_loadu_si128(line), b = _mm_loadu_si128(line + 1);
            const __m128i c = _mm_loadu_si128(line + 2), d = _mm_loadu_si128(line + 3);
            _mm_prefetch(from + 1024, _MM_HINT_NTA);
            _mm_stream_si128(target, a);
            _mm_stream_si128(target + 1, b);
            _mm_stream_si128(target + 2, c);
            _mm_stream_si128(target + 3, d);
        }
    #endif
        memcpy(to, from, n);
    }

    /* Makes streamed data visible to other threads before later stores. */
    static inline void pipeline_streamed() {
    #ifdef __SSE2__
        _mm_sfence();
    #endif
    }
    """
    void stream "pipeline_stream"(char* to, const char* source, size_t n) noexcept nogil
    void streamed "pipeline_streamed"() noexcept nogil

cdef enum:
    STREAM_ROW = 4096           # minimum bytes per row
    STREAM_BATCH = 16 << 20     # and per batch
