"""What a queue knows (Queue), what a call wants (Attempt), the lists of calls that wait, and the store of slot numbers.

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
    LOCKSTEP            # the last one in which no element depends on how many there were when it left
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
    PENDING             # waits for its turn
    DONE
    CLOSED              # enqueue into a closed queue
    ALREADY_CLOSED      # second plain close
    CANCELLED           # enqueue or plain close cancelled by a cancelling close
    EXHAUSTED           # closed, and fewer elements than wanted
    TIMED_OUT

cdef cppclass Attempt:          # one call in progress; lies on the stack of its owner, the thread that made the call
    Call call
    Status status
    size_t wanted               # enqueue: rows not stored yet; dequeue: elements still missing
    Span[slot_t] slots          # enqueue: slots whose rows are written; dequeue: the slots collected so far
    size_t room                 # dequeue: how many fit in `slots` at present
    size_t begin                # enqueue: the first slot that is not stored yet
    size_t count                # enqueue: how many slots are written; dequeue: how many are collected
    size_t lacking              # dequeue: how many it still wanted when the queue, closed, had too few;
    size_t left                 # and how many there were: for the error
    condition_variable* wake    # set by the parked owner; a wake-up means: decided, or `wants_owner`
    int64_t asleep              # while `wake` is set: since when
    Attempt* before
    Attempt* after
    bint listed
    bint each                   # enqueue: row by row, as that many enqueues of one element
    bint poked                  # the owner is to check whether it still wants to wait
    bint naps                   # while it sleeps: it wakes by itself soon, so its end may be told late
    bint patient                # it naps even where no other call waits
    bint late                   # decided, and in the list of those that nobody has told yet
    # The owner's own: written only while the owner holds the lock, so it may read them without.
    size_t ready                # rows of the next piece that are in their slots
    Status seen                 # `status` as of its last hold
    bint blocked                # as of then, nothing to do but wait
    bint nudged                 # as of then, poked

cdef struct Waiting:
    Attempt* head
    Attempt* tail
    size_t count

cdef struct Side:               # statistics of one side
    size_t elements
    size_t waits                # calls that could not be served at once
    int64_t waited              # ns

cdef enum Fullness:
    EMPTY                       # no element is available
    BETWEEN
    FULL

cdef cppclass Queue:
    mutex* lock                 # guards everything below except the rows themselves
    long forks                  # which process made the queue; set once
    QueueOrder order
    bint closed
    size_t capacity
    size_t min_after_dequeue    # elements that stay in the pool while the queue is open
    size_t count                # elements in the store
    Ring ring
    SlotPool pool
    Heap heap
    Ring outlet                 # lockstep: what was put back; it leaves first
    Philox random
    # slots
    int bits                    # chunk 0 has 1 << bits slots
    int chunks
    int kept                    # chunks that are too small to be worth dropping
    size_t allocated            # slots that have memory
    size_t fresh                # slots below this have been used
    Ring free                   # used slots that are free; first in, first out keeps them in runs
    Slab* priorities            # of component 0, where the order is by priority
    # waiting calls, in order of arrival
    Waiting enqueues
    Waiting dequeues
    Waiting late                # enqueues that are done while their owners nap
    bint called                 # one of these was woken, and nothing has entered since
    # statistics
    Side entered                # by enqueues
    Side left                   # by dequeues
    size_t high_water
    Fullness fullness
    int64_t since               # when `fullness` began
    int64_t empty               # ns
    int64_t full                # ns
    int64_t born


cdef inline void begin_empty(Queue* q) noexcept nogil:
    """Let the order and the free list have no room."""
    q.free.slots = span(<slot_t*>NULL, 0)
    q.ring.slots = span(<slot_t*>NULL, 0)
    q.outlet.slots = span(<slot_t*>NULL, 0)
    q.pool.slots = span(<slot_t*>NULL, 0)
    q.heap.slots = span(<Ranked*>NULL, 0)


cdef inline void start(Attempt* a, Call call, slot_t* slots, size_t room, size_t wanted) noexcept nogil:
    """A call for `wanted` elements whose slot numbers go into `slots`, which has room for so many. That is an address:
    it usually lies on the C stack, where nothing can be acquired from."""
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
    """Whether a pending attempt can continue only once its owner has acted: written the next piece of rows, or made
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
    """How many of n elements stay while the queue is open. What was put back may leave."""
    return min(n - q.outlet.count, q.min_after_dequeue)


cdef inline void put_back(Queue* q, Attempt* a) noexcept nogil:
    """Return what a dequeue collected: to the front of a FIFO queue, in the old order; in lockstep to the outlet, so
    that it is not drawn again; to the end of a pool, the last taken first."""
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
