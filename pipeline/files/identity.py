"""File identities: size, time and checksums, and messages about differences."""

from __future__ import annotations

import contextlib
import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pipeline.errors import NotFoundError, StateMismatchError
from pipeline.files.opening import open_file
from pipeline.files.remote import url_identity

# Maximum number of file identities kept by name.
KEPT = 4096

# The same for URLs: each takes a request when a state is loaded.
KEPT_REMOTE = 16

# Above this file count, a table's state has one digest instead of identities.
LISTED = 16

# Maximum number of filenames stored in a state; one digest stands for earlier names.
NAMES = 16


def file_identity(name: str | bytes, ends: bool = True) -> list[Any] | None:
    """Return a file's identity: it differs after a change to the file.

    Args:
        name: A path, or a URL supported by fsspec.
        ends: Read 64 KiB at either end; readers of whole files pass False.

    Returns:
        Plain data: size, modification time in ns, and the CRC-32 of both ends in hex or None. For a remote file:
        size, None, and its server's checksum or None. None if the file is not there or not a regular file.

    Raises:
        PermissionDeniedError, ...: It cannot be opened.
        ImportError: The name is a URL and fsspec is not installed.
    """
    with contextlib.suppress(OSError, ValueError):  # a URL, or a file that cannot be opened
        if not stat.S_ISREG(os.stat(name).st_mode):
            return None  # do not open a pipe: that would consume its bytes
    named = os.fsencode(name)
    try:
        if b"://" in named:
            return url_identity(named)
        file = open_file(named)
    except NotFoundError:
        return None
    try:
        return file.identity(ends)
    finally:
        file.close()


def difference(name: str, saved: Sequence[Any], now: Sequence[Any] | None, allow_mtime: bool = False) -> str | None:
    """Describe how a file differs from its state at saving; None if it is the same.

    Args:
        name: Its name.
        saved, now: Results of `file_identity`.
        allow_mtime: Accept another time even without checksums.
    """
    size, time, crc = saved
    if now is None:
        return f"files: '{name}' had {size:,} bytes when the state was saved and is not there now"
    if now[0] != size and None not in (now[0], size):  # a server may not report it
        return f"files: '{name}' had {size:,} bytes when the state was saved and has {now[0]:,} now"
    if crc is not None and now[2] is not None:
        same = crc == now[2]
        return None if same else f"files: '{name}' has other contents than when the state was saved (checksum {crc})"
    if time != now[1] and None not in (time, now[1]) and not allow_mtime:
        return (
            f"files: '{name}' was changed after the state was saved, or copied without its time; the size is the same"
        )
    return None


def contents_of(names: Sequence[str]) -> str:
    """Return a digest over local files' sizes and ends."""
    import hashlib  # 3 ms, as it loads OpenSSL; programs that save no state skip it

    found = hashlib.blake2b(digest_size=8)
    for name in names:
        if "://" not in name:
            size, _, ends = file_identity(name) or (None, None, None)
            found.update(f"{size} {ends}\n".encode())
    return found.hexdigest()


def names_of(names: Sequence[str]) -> dict[str, Any]:
    """Return the files read by a source, in order, as facts: the last names, and a digest for earlier ones."""
    import hashlib  # as above

    digest, before = hashlib.blake2b(digest_size=8), names[:-NAMES]
    for name in before:
        digest.update(os.fsencode(name) + b"\0")
    facts: dict[str, Any] = {"file_names": [os.fsdecode(name) for name in names[-NAMES:]]}
    return {**facts, "names_before": digest.hexdigest()} if before else facts


class Opened:
    """The files opened by a reader: the last 4,096 by name, and a digest of all sizes in the first epoch.

    One thread at a time may note files; others may list them meanwhile.
    """

    def __init__(self) -> None:
        self._kept: dict[str, list[Any]] = {}
        self._remote: deque[str] = deque()  # the URLs among them
        self._saved: dict[str, list[Any]] = {}  # from a state, until they are opened
        # The digest covers files from the first number up to the next, except files never opened; the last item counts
        # those in `_unopened`. One tuple, so concurrent readers see a consistent state.
        self._rolled = (0, 0, "", 0)
        self._unopened: list[int] = []

    def note(self, name: bytes, identity: list[Any] | None, number: int | None, inside: bool = False) -> None:
        """Record an opened file.

        Args:
            name: Its name.
            identity: A result of `file_identity`; None for an object that cannot change.
            number: Its number in the first epoch; None in later epochs.
            inside: True if reading resumes in its middle.

        Raises:
            StateMismatchError: `inside`, and the file was changed after the state was loaded.
        """
        named = os.fsdecode(name)
        saved = self._saved.pop(named, None)
        if inside and saved is not None and (found := difference(named, saved, identity, True)) is not None:
            raise StateMismatchError([("files", named, None)], found)
        first, following, digest, _ = self._rolled
        if number is not None and number >= following:  # else it is read again after a resume
            if not digest:
                first = following = number
            self._unopened += range(following, number)
            size = None if identity is None or _is_remote(named) else identity[0]
            self._rolled = first, number + 1, rolled(digest, number, size), len(self._unopened)
        if identity is not None:
            if _is_remote(named) and named not in self._kept:
                self._remote.append(named)
                if len(self._remote) > KEPT_REMOTE:
                    self._kept.pop(self._remote.popleft(), None)
            self._kept[named] = identity
            if len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]

    def listed(self) -> dict[str, list[Any]]:
        """Return identities by name; the name "" maps to the digest and the files it covers."""
        first, following, digest, count = self._rolled
        files = {name: list(identity) for name, identity in self._kept.copy().items()}
        return {"": [first, following, digest, *self._unopened[:count]], **files} if digest else files

    def remember(
        self, files: Mapping[str, Sequence[Any]], names: Callable[[int, int], Iterable[Any]] | None
    ) -> str | None:
        """Continue from a result of `listed`.

        Args:
            files: The result of `listed`.
            names: Returns the names of n files from index i on; None if they are unknown.

        Returns:
            A message if renamed files have other sizes now; else None.
        """
        self._kept = {name: list(identity) for name, identity in files.items() if name}
        self._saved = dict(self._kept)
        self._remote = deque(name for name in self._kept if _is_remote(name))
        first, following, known, *self._unopened = files.get("", (0, 0, ""))
        self._rolled = first, following, known, len(self._unopened)
        count, digest, unopened = following - first, "", set(self._unopened)
        if count <= KEPT or names is None:
            return None
        for number, name in enumerate(names(first, count), first):
            if number not in unopened:
                digest = rolled(digest, number, _size(os.fsdecode(name)))
        if digest == known:
            return None
        return (
            f"files: of the {count:,} that were read when the state was saved, one of those before the last {KEPT:,} "
            "has another size now, or is not there"
        )


def merged(listed: Iterable[Mapping[str, Sequence[Any]]]) -> dict[str, list[Any]]:
    """Merge what several readers' `Opened` listed, in order."""
    files: dict[str, list[Any]] = {}
    digests = []
    for index, each in enumerate(listed):
        files |= {name: list(identity) for name, identity in each.items() if name}
        if "" in each:
            digests.append([index, *each[""]])
    return {"": digests, **files} if digests else files


def of_one(files: Mapping[str, Sequence[Any]], index: int, renumbered: bool = False) -> dict[str, Sequence[Any]]:
    """Return one reader's part of a merged listing, to continue from.

    Args:
        files: The result of `merged`.
        index: The reader's index.
        renumbered: True if file numbers have changed, so the reader's digest is useless.
    """
    digests = [] if renumbered else [digest[1:] for digest in files.get("", ()) if digest[0] == index]
    named = {name: identity for name, identity in files.items() if name}
    return {"": digests[0], **named} if digests else named


def rolled(digest: str, number: int, size: int | None) -> str:
    """Extend a digest with the number and size of one more file. The initial digest is ""."""
    import hashlib  # as above

    return hashlib.blake2b(f"{digest} {number} {size}".encode(), digest_size=8).hexdigest()


def _is_remote(name: str) -> bool:
    return "://" in name  # each size would take a request


def _size(name: str) -> int | None:
    try:
        found = None if _is_remote(name) else os.stat(name)
    except (OSError, ValueError):
        return None
    return found.st_size if found is not None and stat.S_ISREG(found.st_mode) else None
