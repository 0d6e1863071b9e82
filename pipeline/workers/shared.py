"""Results from worker processes in anonymous shared memory, so a kill leaves nothing behind.

A worker writes each large result array into its own segment, and sends the segment's descriptor to its parent when
it makes the segment. The parent makes arrays over it. When the last array is gone it tells the worker to reuse the
segment, so the kernel need not clear the pages again. No descriptor is kept, so there may be many arrays.
"""

from __future__ import annotations

import collections
import math
import mmap
import os
import pickle
import sys
import tempfile
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline._batch import MappedMemory
from pipeline.workers import pickling

# Arrays with at least this size use shared memory; smaller ones are sent in the message.
LARGE = 1 << 16


class Memory(MappedMemory):
    """A segment. Nothing else writes to it while there are arrays over it, so a queue may borrow its rows."""

    __slots__ = ()
    steady = True  # required by the compiled core


class Reply(NamedTuple):
    """A result sent by a worker.

    Attributes:
        stream: The pickled result, or its segment and size.
        buffers: The segments and sizes of its arrays.
        given_up: Segments released by the worker.
    """

    stream: bytes | tuple[int, int]
    buffers: list[tuple[int, int]]
    given_up: list[int]


class Freed(NamedTuple):
    """Segments of collected arrays.

    Attributes:
        unused: To be used again.
        forked: Not to be used again, because a forked process may still have the arrays.
    """

    unused: list[int]
    forked: list[int]


_era = object()  # replaced by each fork


def _forking() -> None:
    global _era
    _era = object()


# Before: for arrays made earlier. After: for arrays made by other threads in between.
os.register_at_fork(before=_forking, after_in_parent=_forking)


class SharedSegment:
    """A segment in its worker.

    Args:
        number: Number of earlier segments.
        size: Size in bytes.
        send: Sends its descriptor to the parent process.

    Raises:
        OSError: There is no memory, or there are too many descriptors.
    """

    def __init__(self, number: int, size: int, send: Callable[[int], object]) -> None:
        self.number = number
        descriptor = unnamed(size)
        try:
            self.memory: Any = Memory(descriptor, size)
            send(descriptor)
        finally:
            os.close(descriptor)
        self.address = np.frombuffer(memoryview(self.memory), np.uint8).__array_interface__["data"][0]


def unnamed(size: int) -> int:
    """Return a descriptor for anonymous shared memory with this size. The caller closes it.

    Raises:
        OSError: There is no memory, or there are too many descriptors.
    """
    if sys.platform == "linux" and hasattr(os, "memfd_create"):  # some Pythons for Linux lack it
        descriptor = os.memfd_create("pipeline", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:  # unlinked on return
            descriptor = os.dup(file.fileno())
    try:
        os.ftruncate(descriptor, size)
        if not hasattr(os, "memfd_create") and hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, size)  # on a full disk, writing to the mapping would end the process
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


class SharedBytes:
    """Bytes that several processes can map by a descriptor. It is closed when this object is collected.

    Raises:
        OSError: There is no memory, or there are too many descriptors.
    """

    def __init__(self, data: bytes) -> None:
        self._size = len(data)
        self.descriptor = unnamed(self._size)
        weakref.finalize(self, os.close, self.descriptor).atexit = False
        memoryview(Memory(self.descriptor, self._size))[:] = data

    def __len__(self) -> int:
        return self._size


def shared_if_large(data: bytes) -> bytes | SharedBytes:
    """Return large bytes in shared memory if possible, and others unchanged."""
    if len(data) < LARGE:
        return data
    try:
        return SharedBytes(data)
    except OSError:
        return data


class Writer:
    """A worker's segments. For one thread.

    Args:
        send: Sends a descriptor, as in `SharedSegment`.
    """

    def __init__(self, send: Callable[[int], object]) -> None:
        self._send = send
        self._count = 0
        self._free: dict[int, SharedSegment] = {}
        self._lent: dict[int, SharedSegment] = {}
        self._taken: dict[int, SharedSegment] = {}  # for the current result, by address
        self._given_up: list[int] = []

    def segment(self, size: int) -> SharedSegment:
        """Return a new segment."""
        segment = SharedSegment(self._count, size, self._send)
        self._count += 1
        return segment

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Allocate as `numpy.empty` does; large arrays in a segment."""
        size = math.prod(shape) * dtype.itemsize
        if size < LARGE or dtype.hasobject:
            return np.empty(shape, dtype)
        return np.ndarray(shape, dtype, buffer=self._take(size).memory)

    def take_back(self, freed: Freed) -> None:
        """Reuse or release these segments."""
        for number in freed.unused:
            self._free[number] = self._lent.pop(number)
        for number in freed.forked:
            del self._lent[number]

    def give_up(self, room: int) -> int:
        """Release segments until at most `room` bytes in unused ones are left; return these bytes.

        Segments in use then belong to their arrays only, and unused ones are released in the order of their use.
        """
        self._given_up.extend(self._lent)
        self._lent.clear()
        left = sum(len(each.memory) for each in self._free.values())
        for number in list(self._free):
            if left <= room:
                break
            left -= len(self._free.pop(number).memory)
            self._given_up.append(number)
        return left

    def discard(self) -> None:
        """Give the pages of unused segments back to the system. The segments stay usable."""
        for segment in self._free.values():
            segment.memory.discard()

    def reply(self, result: Any) -> bytes:
        """Return the message for a result.

        Raises:
            Exception: The result cannot be pickled.
        """
        used: list[tuple[SharedSegment, int]] = []

        def kept_in_stream(buffer: pickle.PickleBuffer) -> bool:
            raw = buffer.raw()
            if raw.nbytes >= LARGE:
                used.append((self._place(raw), raw.nbytes))
            return raw.nbytes < LARGE

        try:
            stream: Any = pickling.result(result, kept_in_stream)
            buffers = [(segment.number, size) for segment, size in used]
            if len(stream) >= LARGE:
                used.append((self._place(memoryview(stream)), len(stream)))
                stream = used[-1][0].number, len(stream)
        except BaseException:
            self._taken.update((segment.address, segment) for segment, _ in used)
            raise
        finally:
            self._free.update((each.number, each) for each in self._taken.values())
            self._taken.clear()
        self._lent.update((segment.number, segment) for segment, _ in used)
        given_up, self._given_up = self._given_up, []
        return pickle.dumps(Reply(stream, buffers, given_up))

    def _take(self, size: int) -> SharedSegment:
        """Return a segment for the current result, and replace one that is too small."""
        fitting = [each for each in self._free.values() if size <= len(each.memory) <= 8 * size]
        if fitting:
            segment = self._free.pop(min(fitting, key=lambda each: len(each.memory)).number)
        else:
            if self._free:
                number = next(iter(self._free))
                del self._free[number]
                self._given_up.append(number)
            segment = self.segment(_rounded(size))
        self._taken[segment.address] = segment
        return segment

    def _place(self, raw: memoryview) -> SharedSegment:
        """Return the segment with these bytes; they are copied if they are elsewhere."""
        address = np.frombuffer(raw, np.uint8).__array_interface__["data"][0]
        if address not in self._taken:
            segment = self._take(raw.nbytes)
            memoryview(segment.memory)[: raw.nbytes] = raw
            address = segment.address
        return self._taken.pop(address)


def _rounded(size: int) -> int:
    """Round a size up, because unwritten pages take no memory."""
    step = max(mmap.PAGESIZE, 1 << (size.bit_length() - 3))
    return -(-size // step) * step


class Reader:
    """A worker's segments in its parent process. For one thread; arrays may be collected in any."""

    def __init__(self) -> None:
        self._count = 0
        self._memories: dict[int, Any] = {}
        self._freed: collections.deque[tuple[int, object]] = collections.deque()  # with the eras of their arrays

    def add(self, descriptor: int) -> None:
        """Map a new segment. The caller closes the descriptor."""
        self._memories[self._count] = Memory(descriptor, os.fstat(descriptor).st_size)
        self._count += 1

    @property
    def size(self) -> int:
        """Bytes in all segments."""
        return sum(map(len, self._memories.values()))

    def page(self) -> Any:
        """The first segment as numbers: a page with the worker's current item."""
        return memoryview(self._memories[0]).cast("q")

    def result(self, reply: Reply) -> Any:
        """Return the result in a reply. Its large arrays use segments until they are collected.

        Raises:
            Exception: The result cannot be unpickled.
        """
        for number in reply.given_up:
            self._memories.pop(number, None)
        buffers = [self._lend(*each) for each in reply.buffers]
        stream: Any = reply.stream if isinstance(reply.stream, bytes) else self._lend(*reply.stream)
        return pickle.loads(stream, buffers=buffers)

    def freed(self) -> Freed:
        """Return the segments of arrays collected since the last call."""
        freed = Freed([], [])
        for number, era in [self._freed.popleft() for _ in range(len(self._freed))]:
            if number not in self._memories:  # given up
                continue
            if era is _era:
                freed.unused.append(number)
            else:
                freed.forked.append(number)
                del self._memories[number]
        return freed

    def _lend(self, number: int, size: int) -> NDArray[np.uint8]:
        lent = np.ndarray(size, np.uint8, buffer=self._memories[number])
        weakref.finalize(lent, self._freed.append, (number, _era)).atexit = False
        return lent
