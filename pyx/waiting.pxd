"""Waiting: how a call that cannot be served at once blocks, and every way in which its wait ends.

The protocol, from top to bottom: a call puts its Attempt into the list for its side (steps.pxd), and its owner, the
calling thread, parks on its own condition variable. It is woken once, when the attempt is decided or needs its owner,
not once per element.

Invariants, all under the queue's lock:

1. After its first step an attempt is in a list if and only if its status is PENDING. Attempts live on their owners'
   stacks, so an owner never returns while its attempt is listed, and a `Guard` next to the attempt withdraws it if the
   thread is ended during the call (CPython before 3.14 ends daemon threads where they retake the GIL during interpreter
   exit). The exception is a forked child, where the lock may be held forever by a thread that does not exist: the lists
   stay unchanged, and `check_process` refuses every later call.
2. Code that decides an attempt first removes it from its list and finally notifies its owner, still under the lock: as
   soon as the owner can take the lock, the attempt and its condition variable may be gone. Outside the list, no other
   thread can reach it, and the owner may read it without the lock.
3. `wake` is not NULL exactly while the owner sleeps in `wait_turn`. A wake-up means: decided, needs its owner, poked.
   The owner checks again, so a spurious wake-up only costs time.
4. Slots in an attempt belong to the call: written but not stored (enqueue), or collected but not delivered (dequeue).
   However the wait ends, the owner frees the written slots, and the collected ones are put back by the owner or by the
   deciding code. Nothing is lost.
5. The GIL is not held while a thread sleeps, and no lock is held while a hook, a signal handler or any other Python
   code runs. Such code may use the same queue, fork, or raise.
6. Only the main thread runs signal handlers, so it wakes every 50 ms to look for them. Other threads sleep until they
   are woken, their deadline passes, or a hook is due again.
7. If an attempt is listed and needs its owner (`wants_owner`), the owner is copying rows or making room, not sleeping.
   It keeps its place, and later calls wait until its owner has acted or withdrawn it.
8. Producers with small elements may nap: they are notified late (napping.pxd).
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t

from napping cimport length_of_nap, unlate
from serving cimport flush
from spans cimport begin_wait, end_wait
from state cimport (
    CLOSE, DONE, ENQUEUE, PENDING, TIMED_OUT, Attempt, Queue, Side, Waiting, look, put_back, remove,
    undecided, wake,
)
from steps cimport locked, note, step_put_back
from sync cimport condition_variable, fork_count, guard, now

cdef extern from "pythread.h":
    """
    static unsigned long pipeline_main_thread = 0;      /* set in _queue, the only module that waits */
    static inline void pipeline_note_main_thread(unsigned long thread) { pipeline_main_thread = thread; }
    """
    unsigned long main_thread "pipeline_main_thread"
    void set_main_thread "pipeline_note_main_thread"(unsigned long thread) noexcept
    unsigned long PyThread_get_thread_ident() noexcept

cdef enum:
    TICK = 50_000_000           # ns between looks for signals while the main thread is blocked


# Deadlines: times on the steady clock, in ns; -1 is never -------------------------------------------------------------

cdef inline int64_t deadline_of(object timeout) except? -2:
    """Return the end time for a call with this timeout."""
    return -1 if timeout is None else deadline_in(timeout)


cdef inline int64_t deadline_in(object timeout) except? -2:
    cdef double seconds
    try:
        seconds = timeout
    except TypeError:
        raise TypeError(f"timeout must be None or a number of seconds, got {timeout!r:.80}") from None
    if not seconds >= 0:
        raise ValueError(f"timeout must be None or a number of seconds >= 0, got {timeout!r}")
    return now() + <int64_t>(min(seconds, 1e9) * 1e9)


cdef inline int64_t instant_after(int64_t instant, object seconds) except? -2:
    return -1 if seconds is None else instant + <int64_t>(<double>seconds * 1e9)


cdef inline int64_t earlier(int64_t a, int64_t b) noexcept nogil:
    return b if a < 0 else a if b < 0 else min(a, b)


# Waking ---------------------------------------------------------------------------------------------------------------

cdef inline void poke(Waiting* w) noexcept nogil:
    cdef Attempt* a = w.head
    while a != NULL:
        a.poked = True
        wake(a)
        a = a.after


cdef inline void step_poke(Queue* q, void* nothing) noexcept nogil:
    """Let the owners of all waiting attempts check whether to keep waiting."""
    poke(&q.enqueues)
    poke(&q.dequeues)


cdef inline void withdraw(Queue* q, Attempt* a) noexcept nogil:
    """Take a pending attempt out of its list. Its collected elements go back, and the calls behind it are served."""
    a.status = TIMED_OUT
    if a.call == ENQUEUE or a.call == CLOSE:
        if a.listed:
            remove(&q.enqueues, a)
    else:
        remove(&q.dequeues, a)
        put_back(q, a)
    flush(q)


cdef inline void step_withdraw(Queue* q, void* what) noexcept nogil:
    cdef Attempt* a = <Attempt*>what
    if a.status == PENDING:
        withdraw(q, a)
    look(a)


# Ended threads --------------------------------------------------------------------------------------------------------

cdef extern from *:
    """
    /* Withdraws an attempt that is still listed when its owner's stack goes away. Without the GIL, because the thread
       can no longer take it. */
    static const int pipeline_never = 0;
    struct pipeline_guard {
        void* queue;
        void* attempt;
        const int* listed = &pipeline_never;
        void (*withdraw)(void*, void*);
        ~pipeline_guard() { if (*listed) withdraw(queue, attempt); }
    };
    template <class Q, class A>
    static inline void pipeline_guards(pipeline_guard* g, Q* q, A* a, void (*withdraw)(void*, void*)) {
        g->queue = q;
        g->attempt = a;
        g->listed = &a->listed;
        g->withdraw = withdraw;
    }
    """
    cppclass Guard "pipeline_guard":
        pass
    void guard_attempt "pipeline_guards"(Guard* g, Queue* q, Attempt* a, void (*withdraw)(void*, void*) noexcept nogil)


cdef inline void withdraw_unowned(void* queue, void* attempt) noexcept nogil:
    cdef Queue* q = <Queue*>queue
    q.lock.lock()
    step_withdraw(q, attempt)
    note(q)
    q.lock.unlock()


# Sleeping -------------------------------------------------------------------------------------------------------------

cdef inline int check_process(const Queue* q, object owner) except -1:
    """Refuse a queue from another process, because its threads do not exist here and cannot serve or wake a call."""
    if q.forks != fork_count():
        if q.forks == -1:
            raise RuntimeError(
                f"{type(owner).__name__}: __init__ was not called: call super().__init__(...) in that of your class")
        raise RuntimeError(
            f"{type(owner).__name__}: made before os.fork() and used in the forked child, where the threads that "
            "serve it do not exist. Make the queue in the child, or start processes with multiprocessing's 'spawn'."
        )
    return 0


cdef inline bint wait_turn(Queue* q, Attempt* a, condition_variable* signal, int64_t until,
                           int64_t* slept) noexcept nogil:
    """Sleep until the attempt is decided or needs its owner, until it is poked, or until a given time. Return whether
    there is something to do. `slept` grows by the time counted by statistics."""
    cdef int64_t turn, limit, nap
    cdef guard held = guard(q.lock[0])
    cdef Side* side = &q.entered if a.call == ENQUEUE or a.call == CLOSE else &q.left
    a.asleep = now()
    a.wake = signal
    nap = a.asleep + length_of_nap(q, a)
    while undecided(a) and not a.poked:
        limit = until
        if a.naps:
            a.naps = now() < nap
            limit = earlier(until, nap) if a.naps else until
        if limit < 0:
            signal.wait(held)
        elif now() >= limit:
            break
        else:
            signal.wait_until(held, limit)
    a.wake = NULL
    a.naps = False
    unlate(q, a)
    a.nudged = a.poked
    a.poked = False
    turn = now() - a.asleep
    side.waited += turn
    slept[0] += turn
    look(a)
    return not a.blocked


cdef inline int park(Queue* q, Attempt* a, int64_t deadline, object hooks) except -1:
    """Wait until the attempt is decided or needs its owner, or until the deadline, when it is withdrawn. `hooks` has
    Engine's methods `_about_to_wait` and `_still_waiting`, which may end the wait by raising. If they raise the class
    `_endless`, for an endless wait, and the attempt has been decided in the meantime, the decision counts."""
    cdef int64_t slept = 0, began = begin_wait(hooks, <int>a.call)
    try:
        return wait_out(q, a, deadline, hooks, &slept)
    finally:
        end_wait(began, slept)


cdef inline int wait_out(Queue* q, Attempt* a, int64_t deadline, object hooks, int64_t* slept) except -1:
    """Wait as `park` does, and add the time slept to `slept`."""
    cdef condition_variable signal
    cdef bint asking = True, ready, ticking = PyThread_get_thread_ident() == main_thread
    cdef int64_t began = now(), look_at, until
    try:
        look_at = instant_after(began, hooks._about_to_wait(<int>a.call))
        while True:
            asking = False
            check_process(q, hooks)     # a hook or a signal handler may have forked: nothing would wake the child
            until = earlier(deadline, look_at)
            if ticking:
                until = earlier(until, now() + TICK)
            with nogil:
                ready = wait_turn(q, a, &signal, until, slept)
            if ready:
                return 0
            if deadline >= 0 and now() >= deadline:
                locked(step_withdraw, q, a)
                return 0
            PyErr_CheckSignals()
            if a.nudged or look_at >= 0 and now() >= look_at:
                asking = True
                look_at = instant_after(now(), hooks._still_waiting(<int>a.call, (now() - began) * 1e-9))
    except BaseException as error:
        # A hook or a signal handler raised, typically for Ctrl-C: withdraw the attempt, so that nothing is lost.
        locked(step_withdraw, q, a)
        if asking and a.status != PENDING and a.status != TIMED_OUT and isinstance(error, hooks._endless):
            return 0
        if a.status == DONE and a.call != ENQUEUE and a.call != CLOSE:
            locked(step_put_back, q, a)
        raise
