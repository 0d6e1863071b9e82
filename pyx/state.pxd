"""The queue's state (Queue), a call in progress (Attempt), the lists of waiting calls, and the slot number store.

Every function here runs with the queue's lock held.
"""

from libc.stdint cimport int64_t

from orders cimport (
    Heap, SlotPool, Ranked, Ring, heap_push, heap_take, lockstep_push, lockstep_take, pool_append, pool_push,
    pool_push_back, pool_take, ring_append, ring_push, ring_push_front, ring_take,
)
from philox cimport Philox
from slab cimport Slab, slab_row
from sync cimport condition_variable, mutex
from span cimport Span, slot_t, span

cdef enum QueueOrder:
    FIFO
    LOCKSTEP            # the last order whose draws do not depend on the number of elements present
    SHUFFLE
    PRIORITY

cdef enum Call:
    ENQUEUE
    CLOSE
    DEQUEUE
    DEQUEUE_MANY
    DEQUEUE_UP_TO
    ENQUEUE_MANY        # in errors only: the attempt is an ENQUEUE of many rows

cdef enum Status:
    PENDING             # waiting for its turn
    DONE
    CLOSED              # enqueue into a closed queue
    ALREADY_CLOSED      # second plain close
    CANCELLED           # enqueue or plain close cancelled by a cancelling close
    EXHAUSTED           # closed, and fewer elements than requested
    TIMED_OUT

cdef cppclass Attempt:          # one call in progress, on the stack of its owner, the calling thread
    Call call
    Status status
    size_t wanted               # enqueue: rows not stored yet; dequeue: elements still missing
    Span[slot_t] slots          # enqueue: slots whose rows are written; dequeue: the slots collected so far
    size_t room                 # dequeue: capacity of `slots` at present
    size_t begin                # enqueue: the first slot that is not stored yet
    size_t count                # enqueue: number of slots written; dequeue: number collected
    size_t lacking              # dequeue: missing elements when a closed queue had too few;
    size_t left                 # and the number left: for the error
    condition_variable* wake    # set by the parked owner; it is woken if decided, or if `wants_owner`
    int64_t asleep              # start of its sleep, while `wake` is set
    Attempt* before
    Attempt* after
    bint listed
    bint each                   # enqueue: row by row, as with separate single enqueues
    bint poked                  # the owner must check whether it still wants to wait
    bint naps                   # during sleep: it wakes by itself soon, so notification may be late
    bint patient                # it naps even if no other call waits
    bint late                   # decided, in the list of owners not yet notified
    # The owner's own: written only while the owner holds the lock, so it may read them without.
    size_t ready                # rows in the next piece, already in slots
    Status seen                 # `status` at its last hold
    bint blocked                # as seen then, it had to wait
    bint nudged                 # as seen then, it was poked

cdef struct Waiting:
    Attempt* head
    Attempt* tail
    size_t count

cdef struct Side:               # statistics for one side
    size_t elements
    size_t waits                # calls that could not be served at once
    int64_t waited              # ns

cdef enum Fullness:
    EMPTY                       # no element is available
    BETWEEN
    FULL

cdef cppclass Queue:
    mutex* lock                 # guards everything below except the rows themselves
    long forks                  # identifies the process that made the queue; set once
    QueueOrder order
    bint closed
    size_t capacity
    size_t min_after_dequeue    # elements that stay in the pool while the queue is open
    size_t count                # stored elements
    Ring ring
    SlotPool pool
    Heap heap
    Ring outlet                 # lockstep: elements put back; they leave first
    Philox random
    # slots
    int bits                    # chunk 0 has 1 << bits slots
    int chunks
    int kept                    # chunks that are too small to be worth dropping
    size_t allocated            # slots with memory
    size_t fresh                # slots below this have been used
    Ring free                   # used slots that are free; FIFO order keeps them in runs
    Slab* priorities            # for component 0, in priority order only
    # waiting calls, in order of arrival
    Waiting enqueues
    Waiting dequeues
    Waiting late                # finished enqueues whose owners nap
    bint called                 # one owner was woken, and nothing has entered since
    # statistics
    Side entered                # by enqueues
    Side left                   # by dequeues
    unsigned long taker         # native number of the last thread that called a dequeue; 0 before
    size_t high_water
    Fullness fullness
    int64_t since               # start of the current `fullness`
    int64_t empty               # ns
    int64_t full                # ns
    int64_t born


cdef inline void begin_empty(Queue* q) noexcept nogil:
    """Give the order and the free list no room."""
    q.free.slots = span(<slot_t*>NULL, 0)
    q.ring.slots = span(<slot_t*>NULL, 0)
    q.outlet.slots = span(<slot_t*>NULL, 0)
    q.pool.slots = span(<slot_t*>NULL, 0)
    q.heap.slots = span(<Ranked*>NULL, 0)


cdef inline void start(Attempt* a, Call call, slot_t* slots, size_t room, size_t wanted) noexcept nogil:
    """Start a call for `wanted` elements, with space for `room` slot numbers in `slots`. That is a plain address,
    because it usually points to the C stack, where no memoryview can be acquired."""
    a.call = call
    a.status = a.seen = PENDING
    a.wanted = wanted
    a.slots = span(slots, room)
    a.room = room
    a.begin = a.count = a.ready = a.lacking = a.left = 0
    a.wake = NULL
    a.before = a.after = NULL
    a.listed = a.each = a.poked = a.naps = a.patient = a.late = a.blocked = a.nudged = False


cdef inline bint wants_owner(Attempt* a) noexcept nogil:
    """Return whether a pending attempt can only continue after its owner acts: by writing the next rows, or by making
    room for more slots."""
    if a.call == ENQUEUE:
        return a.begin == a.count
    return a.call != CLOSE and a.count == a.room


cdef inline bint undecided(Attempt* a) noexcept nogil:
    return a.status == PENDING and not wants_owner(a)


cdef inline void look(Attempt* a) noexcept nogil:
    a.seen = a.status
    a.blocked = undecided(a)


# Waiting lists --------------------------------------------------------------------------------------------------------

cdef inline void link(Waiting* w, Attempt* a) noexcept nogil:
    a.before = w.tail
    a.after = NULL
    if w.tail == NULL:
        w.head = a
    else:
        w.tail.after = a
    w.tail = a
    w.count += 1


cdef inline void unlink(Waiting* w, Attempt* a) noexcept nogil:
    if a.before == NULL:
        w.head = a.after
    else:
        a.before.after = a.after
    if a.after == NULL:
        w.tail = a.before
    else:
        a.after.before = a.before
    w.count -= 1


cdef inline void append(Waiting* w, Attempt* a) noexcept nogil:
    link(w, a)
    a.listed = True


cdef inline void remove(Waiting* w, Attempt* a) noexcept nogil:
    unlink(w, a)
    a.listed = False


cdef inline void wake(Attempt* a) noexcept nogil:
    # Under the lock: as soon as the owner can take it, the attempt and its condition variable may be gone.
    if a.wake != NULL:
        a.wake.notify_one()


# The store ------------------------------------------------------------------------------------------------------------

cdef inline int64_t priority(const Queue* q, slot_t slot) noexcept nogil:
    return (<int64_t*>slab_row(q.priorities, q.bits, slot))[0]


cdef inline void store_one(Queue* q, slot_t slot) noexcept nogil:
    q.count += 1
    q.entered.elements += 1
    if q.count > q.high_water:
        q.high_water = q.count
    if q.order == FIFO:
        ring_append(&q.ring, slot)
    elif q.order == SHUFFLE or q.order == LOCKSTEP and q.pool.count <= q.min_after_dequeue:
        pool_append(&q.pool, slot)
    elif q.order == LOCKSTEP:
        ring_append(&q.ring, slot)
    else:
        heap_push(&q.heap, priority(q, slot), slot)


cdef inline void store(Queue* q, Span[slot_t] slots, size_t begin, size_t n) noexcept nogil:
    cdef size_t i
    q.count += n
    q.entered.elements += n
    if q.count > q.high_water:
        q.high_water = q.count
    if q.order == FIFO:
        ring_push(&q.ring, slots, begin, n)
    elif q.order == SHUFFLE:
        pool_push(&q.pool, slots, begin, n)
    elif q.order == LOCKSTEP:
        lockstep_push(&q.pool, &q.ring, q.min_after_dequeue + 1, slots, begin, n)
    else:
        for i in range(begin, begin + n):
            heap_push(&q.heap, priority(q, slots[i]), slots[i])


cdef inline void take(Queue* q, Span[slot_t] out, size_t begin, size_t n) noexcept nogil:
    cdef size_t i, again
    q.count -= n
    q.left.elements += n
    if q.order == FIFO:
        ring_take(&q.ring, out, begin, n)
    elif q.order == SHUFFLE:
        pool_take(&q.pool, &q.random, out, begin, n)
    elif q.order == LOCKSTEP:
        again = min(n, q.outlet.count)
        ring_take(&q.outlet, out, begin, again)
        lockstep_take(&q.pool, &q.ring, &q.random, out, begin + again, n - again)
    else:
        for i in range(begin, begin + n):
            out[i] = heap_take(&q.heap)


cdef inline size_t kept_in_pool(const Queue* q, size_t n) noexcept nogil:
    """Return how many of n elements stay while the queue is open. Elements put back may leave."""
    return min(n - q.outlet.count, q.min_after_dequeue)


cdef inline void put_back(Queue* q, Attempt* a) noexcept nogil:
    """Return a dequeue's collected elements: in a FIFO queue to the front, in the old order; in lockstep to the outlet,
    so they are not drawn again; in a pool to the end, the last taken first."""
    cdef size_t i, n = a.count
    q.count += n
    q.left.elements -= n
    a.wanted += n
    a.count = 0
    if q.order == FIFO:
        ring_push_front(&q.ring, a.slots, n)
    elif q.order == LOCKSTEP:
        ring_push_front(&q.outlet, a.slots, n)
    elif q.order == SHUFFLE:
        pool_push_back(&q.pool, a.slots, n)
    else:
        for i in range(n):
            heap_push(&q.heap, priority(q, a.slots[i]), a.slots[i])
