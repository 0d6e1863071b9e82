"""The memory that blocks of records take and free, again and again."""

from functools import cache

import numpy as np

_BYTES = 4 << 20


@cache
def keep_pages() -> None:
    """Have malloc keep what a block of records frees for the next block, instead of giving it back to the kernel.

    Memory fresh from the kernel is cleared page by page as it is first written: 240 page faults for a block of 17,000
    numbers, which take longer than the numbers do. What glibc keeps, at the end of its heap, is up to twice the largest
    array (of less than 32 MiB) that was dropped so far; so one that nobody writes to is enough. Any program that drops
    an array of that size has the same. Other allocators do not mind.
    """
    np.empty(_BYTES, np.uint8)
