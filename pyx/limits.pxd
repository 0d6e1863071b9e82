"""How much is kept on the C stack, and how much is done at a time."""

from libc.stdlib cimport malloc

from span cimport slot_t

cdef enum:
    NEAR = 64                   # slot numbers kept on the C stack; longer lists are allocated
    PIECE_BYTES = 64 << 20      # rows of one enqueue_many that are written before they are stored
    PIECE_SLOTS = 65536         # and their number: bounds how long the lock is held
    ROOM = 1 << 20              # slots for which a dequeue has room at first; it doubles as they come
    COPIES = 64                 # arrays that are kept until their references lie in slots


cdef inline slot_t* slot_room(slot_t* near, size_t n) noexcept nogil:
    return near if n <= NEAR else <slot_t*>malloc(n * sizeof(slot_t))
