"""The state of a queue and of the calls that wait on it, and the store.

All functions here run with the queue's lock held.
"""


from libc.stdint cimport int64_t

from orders cimport (
    Heap, Pool, Ring, heap_push, heap_take, pool_push, pool_push_back, pool_take, ring_push, ring_push_front, ring_take,
    slot_t,
)
from philox cimport Philox
from slab cimport Slab, slab_row
from sync cimport condition_variable, mutex

cdef enum Order:
    FIFO
    SHUFFLE
    PRIORITY

cdef enum Call:
    ENQUEUE
    CLOSE
    DEQUEUE
    DEQUEUE_MANY
    DEQUEUE_UP_TO

cdef enum Status:
    PENDING             # waits for its turn
    DONE
    CLOSED              # enqueue into a closed queue
    ALREADY_CLOSED      # second plain close
    CANCELLED           # enqueue or plain close cancelled by a cancelling close
    EXHAUSTED           # closed, and fewer elements than wanted
    TIMED_OUT

cdef struct Attempt:
    Call call
    Status status
    size_t wanted               # enqueue: rows not stored yet; dequeue: elements still missing
    slot_t* slots               # enqueue: slots that hold rows already; dequeue: the collected slots
    size_t room                 # dequeue: how many fit there at present
    size_t begin                # enqueue: the first of them that is not stored yet
    size_t count                # enqueue: how many hold rows; dequeue: how many are collected
    size_t requested            # what the error text says
    size_t current
    condition_variable* wake    # set by the parked owner; a wake-up means: decided, or `wants_owner`
    Attempt* before
    Attempt* after
    bint listed
    bint each                   # enqueue: row by row, as that many enqueues of one element would
    bint poked                  # the owner is to look whether it still wants to wait
    # the owner's own: written in its own holds of the lock only, so that it may read them without
    size_t ready                # rows of the next piece that are in their slots
    Status seen                 # `status` as of its last hold
    bint blocked                # and whether there was nothing to do but wait
    bint nudged                 # and whether it had been poked
    bint spare                  # release: whether a chunk may go
    void* extra                 # what a step needs besides

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

cdef struct Queue:
    mutex* lock                 # guards everything below but the rows themselves
    long forks                  # in which process the queue was made; set once
    Order order
    bint closed
    size_t capacity
    size_t reserve              # elements that stay while the queue is open: min_after_dequeue
    size_t count                # elements in the store
    Ring ring
    Pool pool
    Heap heap
    Philox random
    # slots
    int bits                    # chunk 0 has 1 << bits slots
    int chunks
    int kept                    # chunks that are not worth dropping
    size_t allocated            # slots that have memory
    size_t fresh                # slots below this have been used
    Ring free                   # used slots that are free; first in, first out keeps them in runs
    Slab* priorities            # of component 0, where the order is by priority
    # waiting calls, in order of arrival
    Waiting enqueues
    Waiting dequeues
    # statistics
    Side entered
    Side left
    size_t high_water
    Fullness fullness
    int64_t since               # when `fullness` began
    int64_t empty               # ns
    int64_t full                # ns
    int64_t born


cdef inline void start(Attempt* a, Call call, slot_t* slots, size_t wanted) noexcept nogil:
    a.call = call
    a.status = a.seen = PENDING
    a.wanted = wanted
    a.slots = slots
    a.begin = a.count = a.room = a.ready = a.requested = a.current = 0
    a.wake = NULL
    a.before = a.after = NULL
    a.listed = a.each = a.poked = a.blocked = a.nudged = a.spare = False
    a.extra = NULL


cdef inline bint wants_owner(Attempt* a) noexcept nogil:
    """Whether a pending attempt can go on only when its owner has acted: copied the next piece of rows in, or made room
    for more slots."""
    if a.call == ENQUEUE:
        return a.begin == a.count
    return a.call != CLOSE and a.count == a.room


cdef inline bint undecided(Attempt* a) noexcept nogil:
    return a.status == PENDING and not wants_owner(a)


cdef inline void look(Attempt* a) noexcept nogil:
    a.seen = a.status
    a.blocked = undecided(a)


# Waiting lists --------------------------------------------------------------------------------------------------------

cdef inline void append(Waiting* w, Attempt* a) noexcept nogil:
    a.before = w.tail
    a.after = NULL
    if w.tail == NULL:
        w.head = a
    else:
        w.tail.after = a
    w.tail = a
    w.count += 1
    a.listed = True


cdef inline void remove(Waiting* w, Attempt* a) noexcept nogil:
    if a.before == NULL:
        w.head = a.after
    else:
        a.before.after = a.after
    if a.after == NULL:
        w.tail = a.before
    else:
        a.after.before = a.before
    w.count -= 1
    a.listed = False


cdef inline void wake(Attempt* a) noexcept nogil:
    # Under the lock: as soon as the owner can take it, the attempt and its condition variable may be gone.
    if a.wake != NULL:
        a.wake.notify_one()


# The store ------------------------------------------------------------------------------------------------------------

cdef inline void store(Queue* q, const slot_t* slots, size_t n) noexcept nogil:
    cdef size_t i
    q.count += n
    q.entered.elements += n
    if q.count > q.high_water:
        q.high_water = q.count
    if q.order == FIFO:
        ring_push(&q.ring, slots, n)
    elif q.order == SHUFFLE:
        pool_push(&q.pool, slots, n)
    else:
        for i in range(n):
            heap_push(&q.heap, (<int64_t*>slab_row(q.priorities, q.bits, slots[i]))[0], slots[i])


cdef inline void take(Queue* q, slot_t* out, size_t n) noexcept nogil:
    cdef size_t i
    q.count -= n
    q.left.elements += n
    if q.order == FIFO:
        ring_take(&q.ring, out, n)
    elif q.order == SHUFFLE:
        pool_take(&q.pool, &q.random, out, n)
    else:
        for i in range(n):
            out[i] = heap_take(&q.heap)


cdef inline void put_back(Queue* q, Attempt* a) noexcept nogil:
    """Return what a dequeue collected: first in, first out to the front in the old order; shuffled at the back, the
    last taken first."""
    cdef size_t i, n = a.count
    q.count += n
    q.left.elements -= n
    a.wanted += n
    a.count = 0
    if q.order == FIFO:
        ring_push_front(&q.ring, a.slots, n)
    elif q.order == SHUFFLE:
        pool_push_back(&q.pool, a.slots, n)
    else:
        for i in range(n):
            heap_push(&q.heap, (<int64_t*>slab_row(q.priorities, q.bits, a.slots[i]))[0], a.slots[i])
