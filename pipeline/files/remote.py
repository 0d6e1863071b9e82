"""Files behind URLs: each is read in several concurrent ranges, and the next files are prepared."""

from __future__ import annotations

import functools
import io
import os
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from pipeline.errors import DataLossError
from pipeline.files.compression import OpenFile, decompressed
from pipeline.files.os_errors import translated
from pipeline.files.ranges import Facts, Fetched, Ranges, facts_of, merged, ranges_of, wait_for
from pipeline.files.urls import remote_file, system_and_path
from pipeline.locks import Lock

T = TypeVar("T")

_FIRST = 4 << 20  # bytes in the first range; a smaller file takes one request
_RANGE = 8 << 20  # bytes in later ranges, except the first ones, requested together
_AHEAD = 32 << 20  # bytes per file held or in flight
_PASSED = 1 << 18  # bytes read and discarded at once
_END = 1 << 16  # bytes kept from the end of files with an index there
_KEPT_ENDS = 64  # files whose ends are kept for the next opening
_HEAD = 64  # maximum bytes before such a file's contents: the mark of its format

# Remote files per source whose first range is fetched ahead.
REMOTE_AHEAD = 8

# Content encodings of servers, and the compressions of files that they are.
_ENCODINGS = {"": "", "gzip": "GZIP", "x-gzip": "GZIP", "deflate": "ZLIB"}


def open_url(name: bytes) -> RemoteFile | StreamedFile:
    """Open a URL for reading.

    Raises:
        NotFoundError, PermissionDeniedError, ...: It cannot be opened; for files read in ranges, the first read raises.
        ImportError: fsspec is not installed, or the library it needs for such URLs.
    """
    with _lock:
        found = _prepared.pop(name, None)
    return found or _opened(name)


def prepare(names: Iterable[bytes]) -> None:
    """Begin to fetch the next files; see `forget`.

    Args:
        names: The files, in reading order.

    Errors are those of `open_url` and reading, raised then and not here.
    """
    before: RemoteFile | None = None
    for name in names:
        with _lock:
            file, full = _prepared.get(name), len(_prepared) >= 4 * REMOTE_AHEAD
        if file is None and full:
            return
        if file is not None:
            before = _linked(before, file)
            continue
        try:
            file = _opened(name, False)
        except Exception:
            return  # raised again when the file is opened
        if file is None:
            return
        file.begin()
        with _lock:
            there = _prepared.setdefault(name, file)
        if there is not file:  # another thread was first
            file.close()
        before = _linked(before, there)


def _linked(before: RemoteFile | None, file: RemoteFile) -> RemoteFile:
    """Return a file, and record its predecessor."""
    if before is not None:
        before.next = file
    return file


def forget(names: Iterable[bytes]) -> None:
    """Close prepared files without using them."""
    for name in names:
        with _lock:
            file = _prepared.pop(name, None)
        if file is not None:
            file.close()


def url_identity(name: bytes) -> list[Any] | None:
    """Return a file's identity, as `file_identity` does; None if it is not there."""
    with _lock:
        prepared = _prepared.get(name)
    file = prepared or _opened(name)
    try:
        return file.identity(False)
    finally:
        if file is not prepared:
            file.close()


_lock = Lock()
_prepared: dict[bytes, RemoteFile] = {}
_seekable: weakref.WeakSet[SeekableFiles] = weakref.WeakSet()


def _forget_all() -> None:
    """Reset in a forked process, without the fetching threads."""
    global _lock
    _lock = Lock()
    _prepared.clear()
    for files in list(_seekable):
        files.forget()


os.register_at_fork(after_in_child=_forget_all)


def _located(name: bytes) -> tuple[Any, str]:
    try:
        return system_and_path(name)
    except Exception as error:
        raise translated(name, error) from error


def _opened(name: bytes, streamed: bool = True) -> Any:
    """Open a file; None if it is not read in ranges and must not be `streamed`."""
    ranges = ranges_of(*_located(name))
    if ranges is None:
        return StreamedFile(name, lambda: remote_file(name, "rb")) if streamed else None
    return RemoteFile(name, ranges)


class StreamedFile:
    """A file read in order by fsspec; an `OpenFile`.

    Args:
        name: The URL.
        opened: Opens it.
        seeks: True if a file can be read from any byte, provided it reports that itself.
    """

    def __init__(self, name: bytes, opened: Callable[[], Any], seeks: bool = True) -> None:
        self._name, self._seeks = name, seeks
        try:
            self._file: Any = opened()
        except Exception as error:
            raise translated(name, error) from error

    def read(self, size: int) -> bytes:
        try:
            return bytes(self._file.read(size))
        except Exception as error:
            raise translated(self._name, error) from error

    def size_limit(self) -> int | None:
        size = getattr(self._file, "size", None)
        return size if isinstance(size, int) else None

    def seek(self, offset: int) -> bool:
        if not self._seeks or not self._file.seekable():
            return False
        try:
            self._file.seek(offset)
        except Exception as error:
            raise translated(self._name, error) from error
        return True

    def identity(self, ends: bool) -> list[Any] | None:
        details = getattr(self._file, "details", None)
        return [self.size_limit(), None, facts_of(details if isinstance(details, dict) else {}).tag]

    def close(self) -> None:
        self._file.close()


class _Window:
    """Consecutive ranges of a file, held or in flight.

    Args:
        name: For errors.
        ranges: Fetches them.
        facts: The file's facts, if known.

    Attributes:
        facts: The file's facts; None until a range has arrived.
        begin, end: The bytes covered by all ranges.
        whole: True if the server returns only whole files, so there are no ranges.
    """

    def __init__(self, name: bytes, ranges: Ranges, facts: Facts | None = None) -> None:
        self._name, self._ranges = name, ranges
        self.facts = facts
        self.begin = self.end = 0
        self.whole = False
        self._futures: deque[tuple[int, int, Future[Fetched]]] = deque()

    def adopt(self, first: Future[Fetched], end: int) -> None:
        """Take over the first range, already requested."""
        self._futures.append((0, end, first))
        self.end = end

    def look(self) -> Facts | None:
        """Return the facts; None before the first range has arrived."""
        if self.facts is None and self._futures:
            future = self._futures[0][2]
            if future.done() and not future.cancelled() and future.exception() is None:
                self.facts = future.result().facts
        return self.facts

    def ask_up_to(self, size: int, most: int) -> None:
        """Request the next bytes of a file of this size, up to `most` held or requested."""
        while self.end < size and self.end - self.begin < most:
            self.ask(min(self.next_size(), size - self.end))

    def next_size(self) -> int:
        """Return the next request's size.

        Equal ranges requested together arrive together and leave the connection idle until the next requests.
        """
        return _FIRST + min(len(self._futures), 2) * (_RANGE - _FIRST) // 2

    def ask(self, size: int) -> None:
        """Request the next bytes."""
        self._futures.append((self.end, self.end + size, self._ranges.fetch(self.end, self.end + size)))
        self.end += size

    def go_to(self, offset: int) -> None:
        """Start at a byte. Drops earlier ranges, or all if no range contains it."""
        if not self.begin <= offset <= self.end:
            self.clear()
            self.begin = self.end = offset
        while self._futures and self._futures[0][1] <= offset:
            self._futures.popleft()[2].cancel()
        self.begin = self._futures[0][0] if self._futures else offset
        self.end = self.end if self._futures else offset

    def data(self) -> bytes:
        """Return the first range, shorter if the file is; b"" if it is `whole`.

        Raises:
            DataLossError: The file has changed, or the server sends less than the file's size.
            NotFoundError, ...: It cannot be fetched.
        """
        begin, end, future = self._futures[0]
        found = wait_for(future, lambda: self._ranges.fetch(begin, end), self._name)
        self.facts = merged(os.fsdecode(self._name), self.facts or found.facts, found.facts)
        if found.data is None:
            self.whole = True
            return b""
        if future.cancelled() or not future.done() or future.exception() is not None:  # another attempt has it
            future = Future()
            future.set_result(found)
            self._futures[0] = begin, end, future
        size, have = self.facts.size, begin + len(found.data)
        if size is None:
            self.facts = self.facts._replace(size=have if have < end else None)
        elif have != max(begin, min(end, size)):
            text = f"of bytes {begin:,} to {min(end, size):,} the server gave {len(found.data):,}"
            raise DataLossError(None, None, f"{os.fsdecode(self._name)}; {text}")
        return found.data

    def part(self) -> bytes:
        """Return the first range of a file that can only be read in ranges; DataLossError as for `data`."""
        data = self.data()
        if self.whole:
            raise DataLossError(None, None, f"{os.fsdecode(self._name)}; the server gives no ranges any more")
        return data

    def pop(self) -> None:
        """Drop the first range."""
        _, self.begin, _ = self._futures.popleft()

    def forget(self) -> None:
        """Drop all ranges without cancelling the parent process's requests."""
        self._futures, self.end = deque(), self.begin

    def clear(self) -> None:
        """Cancel and drop all ranges."""
        while self._futures:
            self._futures.pop()[2].cancel()
        self.end = self.begin

    def __bool__(self) -> bool:
        return bool(self._futures)


class RemoteFile:
    """A file read in ranges; an `OpenFile`.

    From the second read on, the next ranges are fetched ahead: a reader of the first bytes alone fetches one range.

    Args:
        name: The URL.
        ranges: Fetches ranges.

    Attributes:
        next: The prepared file to be read next. Its ranges are requested towards this file's end.
    """

    def __init__(self, name: bytes, ranges: Ranges) -> None:
        self._name, self._ranges = name, ranges
        self.next: RemoteFile | None = None
        self._window = _Window(name, ranges)
        self._position = 0
        self._reads = 0
        self._streamed: OpenFile | None = None  # used if the server returns only whole files
        # Two threads' streams may ask for a prepared file's identity, and one of them opens the file.
        self._lock = Lock()

    def begin(self) -> None:
        """Begin to fetch the first range."""
        if not self._window:
            self._window.ask(_FIRST)

    def read(self, size: int) -> bytes:
        with self._lock:
            return self._read(size)

    def _read(self, size: int) -> bytes:
        window = self._window
        while self._streamed is None:
            facts = window.facts
            if facts is not None and facts.size is not None and self._position >= facts.size:
                return b""
            self.begin()
            data = window.data()
            if window.whole:
                self._streamed = self._whole()
                self._pass_over(self._streamed)
                break
            at = self._position - window.begin
            piece = data[at : at + size]
            self._position += len(piece)
            self._reads += 1
            if at + size >= len(data):
                window.pop()
            self._read_ahead()
            if piece:
                return piece
        return self._streamed.read(size)

    def _whole(self) -> OpenFile:
        """Open the file to be read in order, decompressed if its server compresses it."""
        try:
            data, encoding = self._ranges.whole(self._window.facts or Facts(None))
            file = StreamedFile(self._name, lambda: data, False)
            if encoding not in _ENCODINGS:
                file.close()
                raise OSError(f"the server compresses it by {encoding!r}, although that was not asked for")
            return decompressed(self._name, file, _ENCODINGS[encoding])
        except Exception as error:
            raise translated(self._name, error) from error

    def _pass_over(self, file: OpenFile) -> None:
        """Read the bytes before the position."""
        left = self._position
        while left and (piece := file.read(min(left, _PASSED))):
            left -= len(piece)

    def _read_ahead(self) -> None:
        window, facts = self._window, self._window.facts
        if self._reads < 2 or facts is None or facts.size is None:
            return
        window.ask_up_to(facts.size, _AHEAD)
        if window.end >= facts.size and self.next is not None:
            self.next.reach(_AHEAD - (window.end - window.begin))

    def reach(self, most: int) -> None:
        """Request up to `most` bytes, unless the file is being read."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            facts = self._window.look()
            if self._window and facts is not None and facts.size is not None:
                self._window.ask_up_to(facts.size, most)
        finally:
            self._lock.release()

    def _known(self) -> Facts:
        """Return the facts, from a pending first range if possible, to save a request."""
        with self._lock:
            if self._window.facts is None and self._window:
                self._window.data()
            return self._window.facts or self._ranges.facts()

    def size_limit(self) -> int | None:
        if self._streamed is not None:
            return self._streamed.size_limit()
        self.begin()
        return self._known().size

    def seek(self, offset: int) -> bool:
        if self._streamed is not None:
            return self._streamed.seek(offset)
        with self._lock:
            self._position = offset
            self._window.go_to(offset)
        return True

    def identity(self, ends: bool) -> list[Any] | None:
        try:
            size, tag, time = self._known()
        except Exception as error:
            raise translated(self._name, error) from error
        return [size, time, tag]

    def close(self) -> None:
        self._window.clear()
        if self._streamed is not None:
            self._streamed.close()


class SeekableFiles:
    """URLs as seekable files for readers such as pyarrow's, read mostly in this order.

    The ends of the next files are fetched ahead, several at once. The next file's first bytes are fetched when a file
    is nearly read.

    Args:
        names: The URLs; other names among them are ignored.

    Thread safety: every method may be called from any thread.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._places = {name: i for i, name in enumerate(names) if "://" in name}
        self._coming: dict[int, _Coming] = {}
        self._ends: dict[int, Fetched] = {}  # ends of files opened before
        self._opened: weakref.WeakValueDictionary[int, SeekableFile] = weakref.WeakValueDictionary()
        self._lock = Lock()
        _seekable.add(self)

    def forget(self) -> None:
        """Reset in a forked process, where no thread fetches what was requested."""
        self._lock, self._coming = Lock(), {}
        for file in list(self._opened.values()):
            file.forget()

    def __reduce__(self) -> tuple[Any, ...]:
        return SeekableFiles, (self._names,)

    def prepare(self, first: int, count: int = REMOTE_AHEAD, start: bool = False) -> None:
        """Request the ends of some files, and with `start` their first bytes too.

        Errors are raised when a file is opened.
        """
        for place in range(first, min(first + count, len(self._names))):
            if self._names[place] not in self._places:
                continue
            with self._lock:
                file: SeekableFile | _Coming | None = self._opened.get(place) or self._coming.get(place)
            if file is None:
                file = self._begun(place)
            if file is not None and start:
                file.start()

    def _begun(self, place: int) -> _Coming | None:
        """Return a file with its end requested; None if the server has no ranges."""
        try:
            ranges = ranges_of(*_located(os.fsencode(self._names[place])))
            coming = None if ranges is None else _Coming(ranges, self._ends.get(place))
        except Exception:
            return None  # raised again when the file is opened
        if coming is None:
            return None
        with self._lock:
            return self._coming.setdefault(place, coming)

    def open(self, name: str) -> Any:
        """Open a URL.

        Raises:
            NotFoundError, PermissionDeniedError, ...: It cannot be opened.
            ImportError: fsspec is not installed, or the library it needs for such URLs.
        """
        place, key = self._places[name], os.fsencode(name)
        with self._lock:
            coming = self._coming.pop(place, None)
        if coming is None:
            ranges = ranges_of(*_located(key))
            if ranges is None:
                return _ByFsspec(key)
            coming = _Coming(ranges, self._ends.get(place))
        ranges = coming.ranges
        last = coming.last
        if not isinstance(last, Fetched):
            last = wait_for(last, lambda: ranges.last(_END), key)
            if last.facts.tag is not None and len(self._ends) < _KEPT_ENDS:  # a changed file has another tag
                self._ends[place] = last
        if last.data is None or last.facts.size is None:
            return _ByFsspec(key)
        window = _Window(key, ranges, last.facts)
        if coming.first is not None:
            window.adopt(coming.first, min(_FIRST, last.facts.size))
        file = self._opened[place] = SeekableFile(window, last, functools.partial(self.prepare, place + 1, 1, True))
        return file


class _ByFsspec(io.RawIOBase):
    """A file as fsspec opens it, with random access if its server allows that; errors are the library's.

    Args:
        name: The URL.
    """

    _file: Any = None  # if it cannot be opened, Python closes this object

    def __init__(self, name: bytes) -> None:
        self._name = name
        self._file = self._told(lambda: remote_file(name, "rb"))

    def _told(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except Exception as error:
            raise translated(self._name, error) from error

    def read(self, size: int | None = -1) -> bytes:
        return self._told(lambda: bytes(self._file.read(size)))

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._told(lambda: int(self._file.seek(offset, whence)))

    def tell(self) -> int:
        return int(self._file.tell())

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()


class _Coming:
    """A prepared file with its end requested, and later its first range."""

    def __init__(self, ranges: Ranges, last: Fetched | None) -> None:
        self.ranges = ranges
        self.last: Fetched | Future[Fetched] = ranges.last(_END) if last is None else last
        self.first: Future[Fetched] | None = None

    def start(self) -> None:
        """Begin to fetch the first range."""
        if self.first is None:
            self.first = self.ranges.fetch(0, _FIRST)


class SeekableFile(io.RawIOBase):
    """A file with random access: its end, where formats keep their index, and then ranges.

    A read at the beginning, or where the last read ended, is treated as part of a sequence, so the next bytes are
    fetched ahead.

    Args:
        window: The ranges.
        last: The file's last bytes.
        at_end: Called when the bytes up to these are requested.
    """

    def __init__(self, window: _Window, last: Fetched, at_end: Callable[[], None]) -> None:
        assert last.data is not None
        assert last.facts.size is not None
        self._last, self._size = last.data, last.facts.size
        self._kept = self._size - len(self._last)  # start of the kept bytes
        self._window, self._at_end = window, at_end
        self._position = 0
        self._next = -1  # the byte after the last read
        self._lock = Lock()

    def forget(self) -> None:
        """Reset in a forked process: the requests belong to its parent."""
        self._lock = Lock()
        self._window.forget()

    def start(self) -> None:
        """Begin to fetch the first range, unless the file is being read."""
        if self._lock.acquire(blocking=False):
            try:
                if not self._window:
                    self._window.go_to(0)
                    self._window.ask(min(_FIRST, self._size))
            finally:
                self._lock.release()

    def read(self, size: int | None = -1) -> bytes:
        begin = self._position
        end = self._size if size is None or size < 0 else min(begin + size, self._size)
        if begin >= end:
            return b""
        self._position = end
        kept = self._kept
        if begin >= kept:
            return self._last[begin - kept : end - kept]
        follows = self._next == begin or begin <= _HEAD
        self._next = end
        with self._lock:
            data = self._read(begin, min(end, kept), kept if follows else min(end, kept))
        return data + self._last[: end - kept] if end > kept else data

    def _read(self, begin: int, end: int, most: int) -> bytes:
        """Return bytes, and fetch the following ranges ahead, up to `most`."""
        window, pieces = self._window, []
        window.go_to(begin)
        while begin < end:
            while window.end < end or (window.end < most and window.end - begin < _AHEAD):
                window.ask(min(window.next_size(), (end if window.end < end else most) - window.end))
            if window.end >= self._kept:
                self._at_end()
            data, first = window.part(), window.begin
            pieces.append(data[begin - first : end - first])
            begin = first + len(data)
            if begin <= end:
                window.pop()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._position = max(0, offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence])
        return self._position

    def tell(self) -> int:
        return self._position

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        self._window.clear()
        super().close()
