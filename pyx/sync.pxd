"""Mutex, condition variable, steady deadlines and the fork generation, for nogil code.

libcpp.mutex declares these `except +`, which drags GIL-taking error code into nogil functions; nothing here can throw
in the way it is used, so nothing is declared to.
"""

cdef extern from "<mutex>" namespace "std" nogil:
    cppclass mutex:
        mutex() noexcept
        void lock() noexcept
        bint try_lock() noexcept
        void unlock() noexcept
    cppclass guard "std::unique_lock<std::mutex>":
        guard() noexcept
        guard(mutex&) noexcept

cdef extern from "<condition_variable>" namespace "std" nogil:
    cppclass condition_variable:
        condition_variable() noexcept
        void notify_one() noexcept
        void wait(guard&) noexcept

cdef extern from *:
    """
    #include <chrono>
    #include <condition_variable>
    #include <mutex>
    #include <atomic>
    #include <time.h>
    #include <pthread.h>

    /* Nanoseconds on the steady clock (23 ns a call). */
    static inline long long pipeline_now() {
        using namespace std::chrono;
        return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
    }

    /* The same clock as the kernel last noted it, every 1-4 ms (5 ns a call). Sums over many short spans come out right
       on average, which is what statistics need. */
    static inline long long pipeline_coarse_now() {
    #ifdef CLOCK_MONOTONIC_COARSE
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
        return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
    #else
        return pipeline_now();
    #endif
    }

    static inline void pipeline_wait_until(std::condition_variable& wake, std::unique_lock<std::mutex>& held,
                                           long long instant) {
        using namespace std::chrono;
        wake.wait_until(held, steady_clock::time_point(duration_cast<steady_clock::duration>(nanoseconds(instant))));
    }

    /* Counts the forks between the first process and this one. */
    static std::atomic<long> pipeline_forks{0};
    static void pipeline_forked() { pipeline_forks.fetch_add(1, std::memory_order_relaxed); }
    static inline int pipeline_watch_forks() { return pthread_atfork(nullptr, nullptr, pipeline_forked); }
    static inline long pipeline_fork_count() { return pipeline_forks.load(std::memory_order_relaxed); }
    """
    long long now "pipeline_now"() noexcept nogil
    long long coarse_now "pipeline_coarse_now"() noexcept nogil
    void wait_until "pipeline_wait_until"(condition_variable&, guard&, long long instant) noexcept nogil
    int watch_forks "pipeline_watch_forks"() noexcept nogil
    long fork_count "pipeline_fork_count"() noexcept nogil
