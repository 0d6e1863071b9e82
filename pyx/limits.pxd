"""Limits for the C stack and for the work done at a time."""

from libc.stdlib cimport malloc

from span cimport slot_t

cdef enum:
    NEAR = 64                   # slot numbers kept on the C stack; longer lists are allocated
    PIECE_BYTES = 64 << 20      # bytes per enqueue_many piece, written before it is stored
    PIECE_SLOTS = 65536         # and slots per piece: limits how long the lock is held
    ROOM = 1 << 20              # initial slots for a dequeue; doubled as needed
    COPIES = 64                 # arrays to keep until slots hold their references


cdef inline slot_t* slot_room(slot_t* near, size_t n) noexcept nogil:
    return near if n <= NEAR else <slot_t*>malloc(n * sizeof(slot_t))
