"""keep_pages: make malloc reuse the memory of blocks of records instead of returning it to the kernel."""

from functools import cache

import numpy as np

_BYTES = 4 << 20


@cache
def keep_pages() -> None:
    """Make malloc keep the memory that a block of records frees, for the next block.

    The kernel clears fresh memory page by page at the first write: 240 page faults for a block of 17,000 numbers, which
    take longer than decoding them. glibc keeps, at the end of its heap, up to twice the size of the largest array (of
    less than 32 MiB) freed so far. So it is enough to free one such array here; it is never written to. Every program
    that frees an array of this size has the same effect. On other allocators this does nothing.
    """
    np.empty(_BYTES, np.uint8)
