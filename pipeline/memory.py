"""keep_pages: make malloc reuse memory from record blocks. in_memory: whether arrays are in memory, not in files."""

import mmap
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Twice that: while a thread has the GIL for 5 ms, 30 batches with 400 KB each pile up. With a quarter, every sixth page
# was fresh, which took 70 of 240 us per batch.
_BYTES = 16 << 20


@cache
def keep_pages() -> None:
    """Make malloc keep the memory freed by a record block for the next block.

    The kernel clears fresh memory page by page at the first write: 240 page faults for a block with 17,000 numbers,
    which take longer than decoding them. At its heap's end, glibc keeps up to twice the size of the largest array
    (below 32 MiB) freed so far. So it is enough to free one such array here; it is never written to. Every program has
    the same effect when it frees such an array. With other allocators this does nothing.
    """
    np.empty(_BYTES, np.uint8)


def in_memory(arrays: Iterable[NDArray[Any]]) -> bool:
    """Return whether arrays can be read without waiting for a disk: none is known to be in a mapped file."""
    foreign = []
    for array in arrays:
        root: Any = array
        while isinstance(root, np.ndarray) and not isinstance(root, np.memmap) and root.base is not None:
            root = root.base
        if isinstance(root, (np.memmap, mmap.mmap)):
            return False
        if not isinstance(root, (np.ndarray, bytes)):  # such as an Arrow buffer, which may be part of a file
            foreign.append(array.__array_interface__["data"][0])
    return not foreign or not any(_lies_in_file(foreign))


def _lies_in_file(addresses: Iterable[int]) -> list[bool]:
    """Return whether a file is mapped at each address; True if the system does not report it."""
    try:
        lines = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    except OSError:
        return [True for _ in addresses]
    fields = (line.split(maxsplit=5) for line in lines)
    of_files = [tuple(int(end, 16) for end in each[0].split("-")) for each in fields if each[4] != "0"]
    return [any(begin <= address < end for begin, end in of_files) for address in addresses]
