"""How many want to know what a function takes from queues: a count of the process, which every dequeue looks at."""

cdef extern from *:
    """
    #include <atomic>
    static std::atomic<long> pipeline_watchers{0};
    static inline long pipeline_watch(long change) { return pipeline_watchers.fetch_add(change) + change; }
    static inline int pipeline_watched() {
        return __builtin_expect(pipeline_watchers.load(std::memory_order_relaxed) > 0, 0);
    }
    """
    long watch "pipeline_watch"(long change) noexcept nogil
    bint watched "pipeline_watched"() noexcept nogil
