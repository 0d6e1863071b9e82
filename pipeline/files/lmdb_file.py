"""LMDBFile: reads the entries of an LMDB file page by page, without the lmdb package.

LMDB maps the file into memory and trusts it. A damaged page or a file that shrinks kills the process. LMDBFile checks
every offset before it uses it, so damage is an error.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import DataLossError, OpError, invalid
from pipeline.files.limits import too_long
from pipeline.files.os_errors import translated

_PAGE = struct.Struct("=QHHHH")  # number, key size (keys-only pages), flags, lower, upper
_META = struct.Struct("=16xIIQQ")  # magic, version, address, map size; two databases follow: free pages, entries
_DATABASE = struct.Struct("=IHHQQQQQ")  # pad (of the first one: page size), flags, depth, four counts, root
_END = struct.Struct("=QQ")  # last page, transaction
_NODE = struct.Struct("=HHHH")  # low and high half of a size (or page number), flags, size of the key
_NUMBER = 8  # bytes of a page number
_MAGIC, _VERSION = 0xBEEFC0DE, 1
_NONE = 2**64 - 1
_BRANCH, _LEAF, _OVERFLOW, _KEYS_ONLY = 1, 2, 4, 0x20  # flags of pages
_BIG, _TREE, _SEVERAL = 1, 2, 4  # flags of nodes: the value is on overflow pages; a tree; several values
_DEEPEST = 32  # LMDB's trees have no more levels

Entry = tuple[bytes, bytes]


class Damage(ValueError):
    """The file is damaged, or not an LMDB file; the message describes how."""


class MissingPage(Damage):
    """The file ends before one of its pages."""


class LongValue(Damage):
    """A value is above the limit; `too_long` completes the sentence in the message."""


def error_of(name: bytes, error: Exception, limit: int) -> OpError:
    """Return the public error for an error from `LMDBFile` or from opening its file.

    Args:
        name: The file's path.
        error: The error.
        limit: The largest value in bytes.
    """
    if isinstance(error, LongValue):
        return too_long(f"database {os.fsdecode(name)}: {error}", limit)
    if isinstance(error, Damage):
        what = "truncated" if isinstance(error, MissingPage) else "corrupt"
        return DataLossError(None, None, f"{what} database {os.fsdecode(name)}: {error}")
    found = translated(name, error)
    assert isinstance(found, OpError)
    return found


class LMDBFile:
    """The newest state of a database, read-only.

    Thread safety: you may call every method from every thread.

    Args:
        file: The file's descriptor; the caller closes it.
        most: The largest value in bytes.

    Attributes:
        total: The number of entries in the file's header.

    Raises:
        Damage: The file is not an LMDB database of this kind of machine.
        OSError: The file cannot be read.
    """

    def __init__(self, file: int, most: int) -> None:
        self._file = file
        self._most = most
        self._size = 0
        states = []
        for number in (0, 1):
            meta = os.pread(file, _META.size + 2 * _DATABASE.size + _END.size, number * self._size)
            if len(meta) < _META.size + 2 * _DATABASE.size + _END.size:
                raise Damage("it is too short")
            magic, version, *_ = _META.unpack_from(meta)
            if magic != _MAGIC:
                raise Damage("it is not an LMDB database of this kind of machine")
            if version != _VERSION:
                raise Damage(f"its format has the version {version}")
            self._size = _DATABASE.unpack_from(meta, _META.size)[0]
            if not 256 <= self._size <= 1 << 16:
                raise Damage(f"its pages have {self._size} bytes")
            *_, total, root = _DATABASE.unpack_from(meta, _META.size + _DATABASE.size)
            last, transaction = _END.unpack_from(meta, _META.size + 2 * _DATABASE.size)
            states.append((transaction, root, last, total))
        _, self._root, last, self.total = max(states)
        self._count = min(last + 1, os.fstat(file).st_size // self._size + 1)  # of pages, as a bound

    def entries(self) -> Iterator[Entry]:
        """Return the entries, (key, value), in key order.

        Raises:
            Damage: A page is missing or invalid; the entries before it were returned.
            LongValue: A value is above the limit.
            OSError: The file cannot be read.
        """
        for number, page in self._leaves(self._root):
            try:
                yield from self._of_leaf(page, _places(page))
            except struct.error as error:
                raise Damage(self._at(number, str(error))) from error

    def places(self) -> Iterator[int]:
        """Return the offsets of the entries in the file, in key order, for `entries_at`.

        Raises:
            InvalidArgumentError: A key has several values, or is the name of another database.
            Damage, OSError: As `entries`.
        """
        for number, page in self._leaves(self._root):
            try:
                places = _places(page)
                self._check_tiled(number, page, places)
                for at in places:
                    _, _, kind, size = _NODE.unpack_from(page, at)
                    if kind & (_TREE | _SEVERAL):
                        what = "has several values" if kind & _SEVERAL else "is the name of a database within it"
                        raise invalid(f"the key {page[at + _NODE.size :][:size]!r:.80} {what}")
                    yield number * self._size + at
            except struct.error as error:
                raise Damage(self._at(number, str(error))) from error

    def _check_tiled(self, number: int, page: bytes, places: Sequence[int]) -> None:
        """Raise Damage unless the nodes of a leaf fill its end without gaps, as LMDB keeps them."""
        expected = len(page)
        for at in sorted(places, reverse=True):
            low, high, kind, key_size = _NODE.unpack_from(page, at)
            size = _NODE.size + key_size + (_NUMBER if kind & _BIG else low | high << 16)
            if at + size + size % 2 != expected:
                raise Damage(self._at(number, f"its entry at byte {at} does not end where the next one begins"))
            expected = at

    def entries_at(self, places: NDArray[np.int64]) -> list[Entry]:
        """Return the entries at these offsets in the file, from `places`; errors as in `entries`.

        Neighbours on one page cost one read.
        """
        found: list[Entry] = []
        numbers, nodes = places // self._size, (places % self._size).tolist()
        ends = np.append(np.flatnonzero(numbers[1:] != numbers[:-1]) + 1, len(nodes)).tolist()
        begin = 0
        for number, end in zip(numbers[np.subtract(ends, 1)].tolist(), ends, strict=True):
            try:
                found += self._of_leaf(self._page(number), nodes[begin:end])
            except struct.error as error:
                raise Damage(self._at(number, str(error))) from error
            if len(found) != end:
                raise Damage(self._at(number, "a key has several values"))
            begin = end
        return found

    def _leaves(self, root: int) -> Iterator[tuple[int, bytes]]:
        """Return the page number and the page of each leaf in a tree, from left to right."""
        left = [] if root == _NONE else [(root, 1)]
        seen = 0
        while left:
            number, depth = left.pop()
            page = self._page(number)
            seen += 1
            flags = _PAGE.unpack_from(page)[2]
            if seen > self._count or depth > _DEEPEST:
                raise Damage(self._at(number, "its pages go round in a circle"))
            if flags & _LEAF:
                yield number, page
            elif flags & _BRANCH:
                try:
                    nodes = [_NODE.unpack_from(page, at) for at in _places(page)]
                except struct.error as error:
                    raise Damage(self._at(number, str(error))) from error
                left += [(low | high << 16 | top << 32, depth + 1) for low, high, top, _ in reversed(nodes)]
            else:
                raise Damage(self._at(number, "it is not a page of a tree"))

    def _of_leaf(self, page: bytes, places: Iterable[int]) -> Iterator[Entry]:
        unpack, size = _NODE.unpack_from, len(page)
        for at in places:
            low, high, kind, key_size = unpack(page, at)
            data = at + 8 + key_size
            end = data + (low | high << 16)
            if not kind and end <= size:
                yield page[at + 8 : data], page[data:end]
            else:
                key = _cut(page, at + 8, data)
                yield from ((key, value) for value in self._values(page, data, end, kind))

    def _values(self, page: bytes, data: int, end: int, kind: int) -> Iterator[bytes]:
        """Return a node's value or values, between `data` and `end` or on other pages."""
        if kind & _BIG:
            yield self._big(struct.unpack_from("=Q", page, data)[0], end - data)
        elif kind & _SEVERAL and kind & _TREE:
            for _, leaf in self._leaves(_DATABASE.unpack_from(page, data)[-1]):
                yield from _keys(leaf)
        elif kind & _SEVERAL:
            yield from _keys(_cut(page, data, end))
        else:
            yield _cut(page, data, end)

    def _big(self, first: int, size: int) -> bytes:
        """Return a value from overflow pages."""
        if size > self._most:
            raise LongValue(f"a value at byte {first * self._size} has {size:,} bytes,")
        data = self._read(first, _PAGE.size + size)
        if not _PAGE.unpack_from(data)[2] & _OVERFLOW:
            raise Damage(self._at(first, "it is not a page of a long value"))
        return data[_PAGE.size :]

    def _page(self, number: int) -> bytes:
        return self._read(number, self._size)

    def _read(self, number: int, size: int) -> bytes:
        last = number + (size - 1) // self._size
        if last >= self._count:
            raise MissingPage(f"its page {last} is missing")
        data = os.pread(self._file, size, number * self._size)
        if len(data) < size:
            raise MissingPage(f"its page {last} is missing")
        own = _PAGE.unpack_from(data)[0]
        if own != number:
            raise Damage(self._at(number, f"it says that it is page {own}"))
        return data

    def _at(self, number: int, text: str) -> str:
        return f"page {number}, at byte {number * self._size}: {text}"


def _places(page: bytes) -> tuple[int, ...]:
    """Return the offsets of the nodes of a page."""
    lower = _PAGE.unpack_from(page)[3]
    return struct.unpack_from(f"={(lower - _PAGE.size) // 2}H", page, _PAGE.size) if lower > _PAGE.size else ()


def _keys(page: bytes) -> Iterator[bytes]:
    """Return the keys of a sub-tree's leaf: the values of a key with several."""
    _, size, flags, lower, _ = _PAGE.unpack_from(page)
    if flags & _KEYS_ONLY:
        begin = _PAGE.size
        for number in range((lower - _PAGE.size) // 2):
            yield _cut(page, begin + number * size, begin + (number + 1) * size)
    else:
        for at in _places(page):
            yield _cut(page, at + _NODE.size, at + _NODE.size + _NODE.unpack_from(page, at)[3])


def _cut(page: bytes, begin: int, end: int) -> bytes:
    if end > len(page):
        raise struct.error(f"an entry ends at byte {end} of {len(page)}")
    return page[begin:end]
