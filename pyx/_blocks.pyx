"""Blocks: on their way into the queue of a deterministic loop, and the ids of their elements."""

from libc.stdint cimport int64_t, uint64_t

cimport numpy as cnp

from mixing cimport STEP, base_of, mixed, mixed_number

cnp.import_array()

cdef object NOTHING = object()          # after the last item of an iterator


def mixed_id(uint64_t first, uint64_t second):
    """Return the id of an element that was made of two pulls, from their ids: the fingerprint of the two."""
    return mixed(first) * <uint64_t>STEP + mixed(second)


def mixed_ids(uint64_t first, Py_ssize_t n):
    """Return the ids of the n elements that one call made of a pull with the id `first`, as an int64 array with their
    64 bits: `mixed_id` of `first` and 0, 1, ..."""
    cdef Py_ssize_t i
    if n < 0:
        raise ValueError(f"mixed_ids: n must be >= 0, got {n}")
    cdef cnp.npy_intp length = n
    cdef cnp.ndarray result = cnp.PyArray_EMPTY(1, &length, cnp.NPY_INT64, 0)
    cdef uint64_t* ids = <uint64_t*>cnp.PyArray_DATA(result)
    cdef uint64_t base = base_of(first)
    for i in range(n):
        ids[i] = base + mixed_number(i)
    return result


cdef class Blocks:
    """Moves the items of an iterable, each a block of elements, into a queue.

    Args:
        trail: Beside the queue.
        to_components: Takes a block apart; None if it is the only component.
        length: The number of elements of a block.
        stopped: Whether to move no more.

    Attributes:
        stopped: That function.
        moved: How many blocks were taken by the last `move`.
        rows: How many elements it has put into the queue.

    Thread safety: one thread at a time.
    """

    cdef object put, to_components, length
    cdef readonly object stopped
    cdef readonly int64_t moved, rows

    def __cinit__(self, trail not None, to_components, length, stopped):
        self.put, self.to_components, self.length, self.stopped = trail.put_block, to_components, length, stopped
        self.moved = self.rows = 0

    def move(self, blocks, turn, worker, int64_t first, int64_t count):
        """Move blocks until their end, until `count` of them were moved, or until `stopped`.

        Args:
            blocks: An iterator.
            turn: Of this thread; has the ticket of the block that is made.
            worker: The thread, as errors name it.
            first: The ticket of the first block.
            count: The most blocks to move.

        Returns:
            Whether `blocks` is at its end.

        Raises:
            Exception: What `blocks`, or storing a block, raised.
        """
        cdef Py_ssize_t rows
        cdef tuple values
        self.moved = self.rows = 0
        while self.moved < count:
            if self.stopped():
                return False
            block = next(blocks, NOTHING)
            if block is NOTHING:
                return True
            worker.keys = None
            self.moved += 1
            if self.to_components is None and type(block) is cnp.ndarray and cnp.PyArray_NDIM(block) > 0:
                rows = cnp.PyArray_DIM(block, 0)
            else:
                rows = self.length(block)
            values = (block,) if self.to_components is None else (*self.to_components(block),)
            block = None
            if rows:
                self.put(values, first + self.moved - 1, rows)
                self.rows += rows
            values = None               # before the next one is made: these may be large
            turn.ticket = first + self.moved
        return False
