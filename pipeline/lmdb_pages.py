"""Whether an LMDB file holds all the pages that belong to its entries: a look at the file, not through LMDB.

LMDB maps its file into memory, and to read a page behind the end of the file kills the process. The size alone tells
nothing, since LMDB may leave pages unwritten that it gave up again.
"""

from __future__ import annotations

import struct
from typing import IO

_PAGE = struct.Struct("=QHHHH")  # number, pad, flags, lower, upper
_META = struct.Struct("=16xIIQQ")  # magic, version, address, map size; a database each for free pages and entries
_DATABASE = struct.Struct("=IHHQQQQQ")  # pad (of the first one: page size), flags, depth, four counts, root
_END = struct.Struct("=QQ")  # last page, transaction
_NODE = struct.Struct("=HHHH")  # low and high half of a size (or page number), flags, size of the key
_MAGIC = 0xBEEFC0DE
_NONE = 2**64 - 1
_BRANCH, _LEAF, _KEYS_ONLY = 1, 2, 0x20  # flags of pages
_BIG, _TREE = 1, 2  # flags of nodes: the data is on pages of its own; it is a tree of its own


def missing_page(file: IO[bytes], size: int) -> int | None:
    """Return the number of a page that the entries need and the file of `size` bytes has not; None if it has all.

    Raises:
        ValueError: The file is no LMDB database of this kind of machine.
        struct.error: Nor is a page of it one.
    """
    page_size, root = _newest(file)
    left, seen = [root], set[int]()
    while left:
        number = left.pop()
        if number == _NONE or number in seen:
            continue
        seen.add(number)
        if (number + 1) * page_size > size:
            return number
        file.seek(number * page_size)
        page = file.read(page_size)
        flags, lower = _PAGE.unpack_from(page)[2:4]
        if flags & _KEYS_ONLY or not flags & (_BRANCH | _LEAF):
            continue
        for (at,) in struct.iter_unpack("=H", page[_PAGE.size : lower]):
            low, high, kind, key_size = _NODE.unpack_from(page, at)
            data = at + _NODE.size + key_size
            if flags & _BRANCH:
                left.append(low | high << 16 | kind << 32)
            elif kind & _BIG:
                (first,) = struct.unpack_from("=Q", page, data)
                last = first + (_PAGE.size + (low | high << 16) - 1) // page_size
                if (last + 1) * page_size > size:
                    return int(last)
            elif kind & _TREE:
                left.append(_DATABASE.unpack_from(page, data)[-1])
    return None


def _newest(file: IO[bytes]) -> tuple[int, int]:
    """Page size and root page of the newest of the two states that a file holds."""
    states = []
    page_size = 0
    for number in (0, 1):
        file.seek(number * page_size)
        meta = file.read(_META.size + 2 * _DATABASE.size + _END.size)
        if _META.unpack_from(meta)[0] != _MAGIC:
            raise ValueError("not an LMDB database of this kind of machine")
        page_size = _DATABASE.unpack_from(meta, _META.size)[0]
        root = _DATABASE.unpack_from(meta, _META.size + _DATABASE.size)[-1]
        states.append((_END.unpack_from(meta, _META.size + 2 * _DATABASE.size)[1], root))
    return page_size, max(states)[1]
