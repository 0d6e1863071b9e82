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

cdef extern from * nogil:
    """
    #include <chrono>
    #include <mutex>
    #include <thread>
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

    /* Its deadlines are instants of that clock. Those of std::condition_variable follow the clock on the wall wherever
       the C library has no pthread_cond_clockwait: glibc before 2.30, musl, macOS. Set back an hour, it makes a timeout
       of a second an hour long. */
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

    /* Counts the forks between the first process and this one; each module that includes this has its own, and _queue
       alone counts. */
    static std::atomic<long> pipeline_forks{0};
    static void pipeline_forked() { pipeline_forks.fetch_add(1, std::memory_order_relaxed); }
    static inline int pipeline_watch_forks() { return pthread_atfork(nullptr, nullptr, pipeline_forked); }
    static inline long pipeline_fork_count() { return pipeline_forks.load(std::memory_order_relaxed); }
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
