"""Taking up draws in lockstep where another queue left off: the generator goes to its place, and so do the elements of
a pool that was filled again in order of arrival."""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from philox cimport philox_drawn, philox_jump
from state cimport CLOSE, LOCKSTEP, Attempt, Queue, start
from steps cimport locked
from views cimport slot_t

cdef cppclass Arrangement:
    const int64_t[::1] numbers  # of each element of the pool: its place
    size_t count                # how many these are
    slot_t* moved               # room for their slots

cdef extern from *:
    void view_places "pipeline_view_numbers"(Arrangement* g, const int64_t* data, size_t n) noexcept nogil


cdef inline int check_lockstep(const Queue* q, object owner) except -1:
    if q.order != LOCKSTEP:
        raise RuntimeError(f"{type(owner).__name__}: only a queue with deterministic=True can take up its draws again")
    return 0


cdef inline void step_skip(Queue* q, Attempt* a) noexcept nogil:
    """Leave out `wanted` words; `requested` says whether one was drawn before, and then nothing changes."""
    a.requested = philox_drawn(&q.random)
    if not a.requested:
        philox_jump(&q.random, a.wanted)


cdef inline int skip_draws(Queue* q, object owner, size_t n) except -1:
    cdef Attempt a
    check_lockstep(q, owner)
    start(&a, CLOSE, NULL, 0, n)
    locked(step_skip, q, &a)
    if a.requested:
        raise RuntimeError(f"{type(owner).__name__}: draws can only be left out before the first one")
    return 0


cdef inline bint is_permutation(const int64_t[::1] places) except -1:
    """Whether the places are 0, 1, ... in any order."""
    cdef Py_ssize_t i, n = places.shape[0]
    cdef char* seen = <char*>calloc(n + 1, 1)
    if seen == NULL:
        raise MemoryError
    try:
        for i in range(n):
            if not 0 <= places[i] < n or seen[places[i]]:
                return False
            seen[places[i]] = True
        return True
    finally:
        free(seen)


cdef inline void step_arrange(Queue* q, Attempt* a) noexcept nogil:
    """Move the elements of the pool, if there are `count` of them; `requested` says how many there are."""
    cdef Arrangement* g = <Arrangement*>a.extra
    cdef size_t i
    a.requested = q.pool.count
    if q.pool.count != g.count or g.count == 0:
        return
    for i in range(g.count):
        g.moved[g.numbers[i]] = q.pool.slots[i]
    memcpy(&q.pool.slots[0], g.moved, g.count * sizeof(slot_t))


cdef inline int arrange(Queue* q, object owner, const int64_t[::1] places) except -1:
    cdef Arrangement g
    cdef Attempt a
    check_lockstep(q, owner)
    g.count = places.shape[0]
    if not is_permutation(places):
        raise ValueError(f"{type(owner).__name__}: the {g.count} places are not 0, 1, ... in some order")
    g.moved = <slot_t*>malloc((g.count + 1) * sizeof(slot_t))
    if g.moved == NULL:
        raise MemoryError
    view_places(&g, &places[0] if g.count else NULL, g.count)
    start(&a, CLOSE, NULL, 0, 0)
    a.extra = &g
    locked(step_arrange, q, &a)
    free(g.moved)
    if a.requested != g.count:
        raise ValueError(f"{type(owner).__name__}: {g.count} places, but {a.requested} elements in the pool")
    return 0
