"""Mutex, condition variable, steady deadlines and the fork generation, for nogil code.

libcpp.mutex declares these `except +`, which adds code that takes the GIL to nogil functions; nothing here can throw in
this use, so nothing is declared that way.
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

cdef extern from * nogil:
    """
    #include <chrono>
    #include <mutex>
    #include <thread>
    #include <atomic>
    #include <time.h>
    #include <pthread.h>

    /* Nanoseconds on the steady clock (23 ns per call). */
    static inline long long pipeline_now() {
        using namespace std::chrono;
        return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
    }

    /* The same clock as last recorded by the kernel, every 1-4 ms (5 ns per call). Sums over many short spans are right
       on average, which is enough for statistics. */
    static inline long long pipeline_coarse_now() {
    #ifdef CLOCK_MONOTONIC_COARSE
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
        return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
    #else
        return pipeline_now();
    #endif
    }

    /* Deadlines are times on that clock. In std::condition_variable they follow the wall clock if the C library lacks
       pthread_cond_clockwait: glibc before 2.30, musl, macOS. Setting it back an hour would make a one-second timeout
       an hour long. */
    class pipeline_signal {
        pthread_cond_t wake;
    public:
        pipeline_signal() noexcept {
            pthread_condattr_t kind;
            pthread_condattr_init(&kind);
    #ifndef __APPLE__
            pthread_condattr_setclock(&kind, CLOCK_MONOTONIC);
    #endif
            pthread_cond_init(&wake, &kind);
            pthread_condattr_destroy(&kind);
        }
        pipeline_signal(const pipeline_signal&) = delete;
        pipeline_signal& operator=(const pipeline_signal&) = delete;
        ~pipeline_signal() { pthread_cond_destroy(&wake); }

        void notify_one() noexcept { pthread_cond_signal(&wake); }
        void wait(std::unique_lock<std::mutex>& held) noexcept {
            pthread_cond_wait(&wake, held.mutex()->native_handle());
        }
        void wait_until(std::unique_lock<std::mutex>& held, long long instant) noexcept {
            pthread_mutex_t* lock = held.mutex()->native_handle();
    #ifdef __APPLE__
            const long long left = instant - pipeline_now();
            if (left <= 0) return;
            const struct timespec span = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
            pthread_cond_timedwait_relative_np(&wake, lock, &span);
    #else
            const struct timespec end = {(time_t)(instant / 1000000000), (long)(instant % 1000000000)};
            pthread_cond_timedwait(&wake, lock, &end);
    #endif
        }
    };

    static inline void pipeline_sleep(long long span) {
        std::this_thread::sleep_for(std::chrono::nanoseconds(span));
    }

    /* Counts the forks between the first process and this one; each module that includes this has its own counter, and
       only _queue counts. */
    static std::atomic<long> pipeline_forks{0};
    static thread_local unsigned long pipeline_thread = 0;
    static void pipeline_forked() {  /* runs in the child's only thread, whose number has changed */
        pipeline_forks.fetch_add(1, std::memory_order_relaxed);
        pipeline_thread = 0;
    }
    static inline int pipeline_watch_forks() { return pthread_atfork(nullptr, nullptr, pipeline_forked); }
    static inline long pipeline_fork_count() { return pipeline_forks.load(std::memory_order_relaxed); }

    /* The system's number of the calling thread, asked once. Python's identifier is an address, which the next thread
       often has again. */
    static inline unsigned long pipeline_native_id() {
        if (!pipeline_thread) pipeline_thread = PyThread_get_thread_native_id();
        return pipeline_thread;
    }
    """
    cppclass condition_variable "pipeline_signal":
        condition_variable() noexcept
        void notify_one() noexcept
        void wait(guard&) noexcept
        void wait_until(guard&, long long instant) noexcept
    long long now "pipeline_now"() noexcept nogil
    long long coarse_now "pipeline_coarse_now"() noexcept nogil
    void sleep_for "pipeline_sleep"(long long span) noexcept nogil
    int watch_forks "pipeline_watch_forks"() noexcept nogil
    long fork_count "pipeline_fork_count"() noexcept nogil
    unsigned long native_id "pipeline_native_id"() noexcept nogil
