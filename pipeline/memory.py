"""keep_pages: make malloc reuse the memory of blocks of records. in_memory: whether arrays lie there, not in files."""

import mmap
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Twice that: what piles up while a thread has the GIL for 5 ms is 30 batches of 400 KB. With a quarter of it, a page in
# six was fresh, which took 70 of 240 us for a batch.
_BYTES = 16 << 20


@cache
def keep_pages() -> None:
    """Make malloc keep the memory that a block of records frees, for the next block.

    The kernel clears fresh memory page by page at the first write: 240 page faults for a block of 17,000 numbers, which
    take longer than decoding them. glibc keeps, at the end of its heap, up to twice the size of the largest array (of
    less than 32 MiB) freed so far. So it is enough to free one such array here; it is never written to. Every program
    that frees an array of this size has the same effect. On other allocators this does nothing.
    """
    np.empty(_BYTES, np.uint8)


def in_memory(arrays: Iterable[NDArray[Any]]) -> bool:
    """Return whether reading arrays waits for no disk: none is known to lie in a mapped file."""
    foreign = []
    for array in arrays:
        root: Any = array
        while isinstance(root, np.ndarray) and not isinstance(root, np.memmap) and root.base is not None:
            root = root.base
        if isinstance(root, (np.memmap, mmap.mmap)):
            return False
        if not isinstance(root, (np.ndarray, bytes)):  # such as a buffer of Arrow, which may be part of a file
            foreign.append(array.__array_interface__["data"][0])
    return not foreign or not any(_lies_in_file(foreign))


def _lies_in_file(addresses: Iterable[int]) -> list[bool]:
    """Return whether a file is mapped at each of these addresses; yes where the system does not tell."""
    try:
        lines = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    except OSError:
        return [True for _ in addresses]
    fields = (line.split(maxsplit=5) for line in lines)
    of_files = [tuple(int(end, 16) for end in each[0].split("-")) for each in fields if each[4] != "0"]
    return [any(begin <= address < end for begin, end in of_files) for address in addresses]
