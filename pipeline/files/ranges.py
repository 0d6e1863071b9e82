"""Ranges: parts of remote files, fetched in the background."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol, TypeVar

from pipeline.errors import DataLossError, OpError
from pipeline.files.os_errors import translated

_PATIENCE = 30.0  # seconds without a byte before a request is cancelled
_TRIES = 4
_PAUSE = 0.1  # seconds before the second try; doubled for each later one
_PIECE = 1 << 18  # bytes taken from a connection at once
_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")
T = TypeVar("T")

_TAGS = ("ETag", "etag", "checksum", "md5Hash")


class Facts(NamedTuple):
    """What a server says about a file; None for what it leaves out.

    Attributes:
        size: The size in bytes.
        tag: A checksum.
        time: The time of the last change, as text, if there is no checksum.
    """

    size: int | None
    tag: str | None = None
    time: str | None = None


class Fetched(NamedTuple):
    """A range's bytes, up to the file's end; None if the server returns only whole files and this one is large."""

    data: bytes | None
    facts: Facts


class Ranges(Protocol):
    """Fetches ranges from one file. Thread safety: one thread at a time."""

    def fetch(self, begin: int, end: int) -> Future[Fetched]:
        """Begin to fetch the bytes from `begin` up to `end`."""

    def last(self, size: int) -> Future[Fetched]:
        """Begin to fetch the last bytes; all bytes if the file is smaller."""

    def facts(self) -> Facts:
        """Request the facts alone."""

    def whole(self, facts: Facts) -> tuple[Any, str]:
        """Open the file for reading in order: return a Python file, and its content encoding, "" for none.

        Args:
            facts: What earlier replies said.

        Raises:
            DataLossError: The file has changed since.
        """


def ranges_of(system: Any, path: str) -> Ranges | None:
    """Return a file's ranges; None for file systems without fast ranges.

    Args:
        system: fsspec's file system.
        path: The file.
    """
    kind = type(system)  # not the object itself: caching file systems forward the attributes of the cached one
    if not kind.async_impl or system.asynchronous:
        return None
    return _OfWeb(system, path) if "http" in kind.protocol else _OfStore(system, path)


def wait_for(future: Future[Fetched], again: Callable[[], Future[Fetched]], name: bytes) -> Fetched:
    """Return a requested range, fetched again as a whole after a transient error.

    Args:
        future: The range.
        again: Begins to fetch it again.
        name: For errors.

    Raises:
        NotFoundError, ...: It cannot be fetched.
    """
    for tries in range(1, _TRIES + 1):
        try:
            return future.result()
        except Exception as error:
            if tries == _TRIES or not _may_pass(error):
                raise _told(name, error) from error
        time.sleep(_PAUSE * 2 ** (tries - 1))
        future = again()
    raise AssertionError


class _OfStore:
    """Ranges from an object store, with retries by its library."""

    def __init__(self, system: Any, path: str) -> None:
        self._system, self._path = system, path
        self._facts: Facts | None = None

    def fetch(self, begin: int, end: int) -> Future[Fetched]:
        return _begun(self._fetched(begin, end), self._system.loop)

    async def _fetched(self, begin: int, end: int) -> Fetched:
        facts = self._facts = self._facts or facts_of(await self._system._info(self._path))
        if facts.size is None:
            return Fetched(None, facts)
        end = min(end, facts.size)
        data = await self._system._cat_file(self._path, start=begin, end=end) if begin < end else b""
        return Fetched(bytes(data), facts)

    def last(self, size: int) -> Future[Fetched]:
        return _begun(self._fetched_last(size), self._system.loop)

    async def _fetched_last(self, size: int) -> Fetched:
        facts = self._facts = self._facts or facts_of(await self._system._info(self._path))
        return await self._fetched(max(0, (facts.size or 0) - size), facts.size or 0)

    def facts(self) -> Facts:
        return facts_of(self._system.info(self._path))

    def whole(self, facts: Facts) -> tuple[Any, str]:
        return self._system.open(self._path, "rb"), ""


class _OfWeb:
    """Ranges from a web server, with size and checksum in the first reply."""

    def __init__(self, system: Any, url: str) -> None:
        self._system, self._url = system, url

    def fetch(self, begin: int, end: int) -> Future[Fetched]:
        return _begun(self._fetched(begin, end), self._system.loop)

    def last(self, size: int) -> Future[Fetched]:
        return _begun(self._fetched(None, size), self._system.loop)

    async def _fetched(self, begin: int | None, end: int) -> Fetched:
        """Return the bytes from `begin` up to `end`; if `begin` is None, the last `end` bytes."""
        async with await self._request(f"bytes=-{end}" if begin is None else f"bytes={begin}-{end - 1}") as answer:
            if answer.status == 416:
                return _without_bytes(begin or 0, answer)
            if answer.status == 206 and not _encoding(answer):
                return await self._part(begin, end, answer)
            if answer.status != 206:
                _check(answer, self._url)
            facts = _facts(answer)
            whole = answer.status == 200 and not begin and facts.size is not None and facts.size <= end
            return Fetched(await _body(answer, facts.size or 0) if whole else None, facts)

    async def _part(self, begin: int | None, end: int, answer: Any) -> Fetched:
        """Return the bytes of a reply with a part of the file."""
        first, last, size = _content_range(answer)
        if begin is None and size is not None:
            begin, end = max(0, size - end), size
        if first is None or first != begin or last is None or not begin <= last < end:
            raise DataLossError(None, None, f"{self._url}; the server gave another range than was asked for")
        data, facts = await _body(answer, last + 1 - begin), _facts(answer)._replace(size=size)
        if size is not None or last + 1 == end:
            return Fetched(data, facts)
        rest = await self._fetched(last + 1, end)  # the file ends here, or the server sends less at a time
        return Fetched(None if rest.data is None else data + rest.data, merged(self._url, facts, rest.facts))

    async def _request(self, asked: str | None) -> Any:
        """Request a range, or the whole file; return the reply, whose body is as it was sent."""
        import aiohttp  # imported already by the file system

        system = self._system
        given = dict(system.kwargs)
        headers = {"Accept-Encoding": "identity"}  # compressed replies would have other offsets
        if asked is not None:
            headers["Range"] = asked
        given["headers"] = {**(given.get("headers") or {}), **headers}
        if "timeout" not in given and "timeout" not in system.client_kwargs:
            given["timeout"] = aiohttp.ClientTimeout(total=None, sock_connect=_PATIENCE, sock_read=_PATIENCE)
        session = await system.set_session()
        return await session.get(system.encode_url(self._url), auto_decompress=False, **given)

    def facts(self) -> Facts:
        return facts_of(self._system.info(self._url))

    def whole(self, facts: Facts) -> tuple[Any, str]:
        answer = _begun(self._opened(facts), self._system.loop).result()
        return WebFile(answer, self._system.loop), _encoding(answer)

    async def _opened(self, facts: Facts) -> Any:
        answer = await self._request(None)
        try:
            _check(answer, self._url)
            merged(self._url, facts, _facts(answer))
        except BaseException:
            answer.close()
            raise
        return answer


class WebFile:
    """A reply with a whole file, as a Python file: the bytes as they are sent.

    Args:
        answer: The reply.
        loop: Its event loop.

    Attributes:
        size: Number of bytes; None if the server does not say.
    """

    def __init__(self, answer: Any, loop: Any) -> None:
        self._answer, self._loop = answer, loop
        self.size: int | None = answer.content_length

    def read(self, size: int) -> bytes:
        data: bytes = _begun(self._answer.content.read(size), self._loop).result()
        return data

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._answer.close)


def _encoding(answer: Any) -> str:
    """Return how the body of a reply is compressed; "" if it is not."""
    encoding: str = answer.headers.get("Content-Encoding", "").strip().lower()
    return "" if encoding == "identity" else encoding


def _facts(answer: Any) -> Facts:
    """Return the facts in a reply with the whole file."""
    tag = answer.headers.get("ETag")
    size = None if _encoding(answer) else answer.content_length
    return Facts(size, tag, None if tag else answer.headers.get("Last-Modified"))


def _without_bytes(begin: int, answer: Any) -> Fetched:
    """Return what a reply means that says that there are no bytes from `begin` on.

    Raises:
        ConnectionError: It contradicts itself.
    """
    _, _, size = _content_range(answer)
    facts = _facts(answer)._replace(size=size)
    if begin and size is not None and size > begin:
        raise ConnectionError(f"of {size:,} bytes the server did not give those from {begin:,} on")
    if not begin and size != 0:  # it may give the whole file
        return Fetched(None, facts._replace(size=None))
    return Fetched(b"", facts)


async def _body(answer: Any, size: int) -> bytes:
    """Return a reply's bytes.

    Raises:
        ConnectionError: The reply has another size.
    """
    pieces, have = [], 0
    async for piece in answer.content.iter_chunked(_PIECE):
        pieces.append(piece)
        have += len(piece)
        if have > size:
            break
    if have != size:
        raise ConnectionError(f"the server announced {size:,} bytes and sent {'more' if have > size else f'{have:,}'}")
    return b"".join(pieces)


def _content_range(answer: Any) -> tuple[int | None, int | None, int | None]:
    """Return the first and last byte of a reply, and the file's size; None if missing."""
    match = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    if match is None:
        return None, None, None
    first, last, size = (int(each) if each and each != "*" else None for each in match.groups())
    return first, last, size


def _check(answer: Any, url: str) -> None:
    """Raise the error for a reply without a file."""
    if answer.status in (404, 410):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url)
    if answer.status in (401, 403):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), url)
    answer.raise_for_status()
    if answer.status != 200:
        raise ConnectionError(f"the server answered with status {answer.status}")


def merged(url: str, before: Facts, now: Facts) -> Facts:
    """Return the facts of two replies.

    Raises:
        DataLossError: They differ.
    """
    for one, other in zip(before, now, strict=True):
        if None not in (one, other) and one != other:
            text = f"{url}; the file was changed while it was read ({one} before, {other} now)"
            raise DataLossError(None, None, text)
    known = {name: value for name, value in before._asdict().items() if value is not None}
    return now._replace(**known)


def facts_of(info: dict[str, Any]) -> Facts:
    """Extract the facts from fsspec's file information."""
    size = info.get("size")
    tag = next((str(info[key]) for key in _TAGS if info.get(key)), None)
    return Facts(size if isinstance(size, int) else None, tag, None if tag else info.get("Last-Modified"))


def _begun(request: Coroutine[Any, Any, T], loop: Any) -> Future[T]:
    import asyncio  # 37 ms, for programs that read URLs

    return asyncio.run_coroutine_threadsafe(request, loop)


def _timed_out(error: Exception) -> bool:
    import asyncio  # as above

    return isinstance(error, asyncio.TimeoutError)


def _may_pass(error: Exception) -> bool:
    """Return whether a failed request is worth a retry."""
    if isinstance(error, (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, OpError)):
        return False
    if isinstance(error, OSError) or _timed_out(error):
        return True
    if type(error).__module__.partition(".")[0] != "aiohttp":
        return False
    status = vars(error).get("status")  # the reply's status; None if the connection failed
    return status is None or status >= 500 or status == 429


def _told(name: bytes, error: Exception) -> Exception:
    if _timed_out(error):
        error = OSError(f"the server sent nothing for too long ({error})")
    return translated(name, error)
