"""Identities of files: size, time and checksums, and messages about differences."""

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

# Files whose identities are kept by name.
KEPT = 4096

# Files behind URLs whose identities are kept: when a state is loaded, each is asked for alone.
KEPT_REMOTE = 16

# Of a table of more files a state has one digest instead of what tells each.
LISTED = 16

# Names of files that a state has; of those before there is one digest.
NAMES = 16


def file_identity(name: str | bytes, ends: bool = True) -> list[Any] | None:
    """Return what tells a file from a changed one.

    Args:
        name: A path, or a URL that fsspec knows.
        ends: Read 64 KiB at either end; readers of whole files do without.

    Returns:
        Plain data: size, time of the last change in ns, and the CRC-32 of both ends in hex or None. Of a remote file:
        size, None, and the checksum that its server gives or None. None if the file is not there, or is no regular one.

    Raises:
        PermissionDeniedError, ...: It cannot be opened.
        ImportError: The name is a URL and fsspec is not installed.
    """
    with contextlib.suppress(OSError, ValueError):  # a URL, or a file that cannot be opened
        if not stat.S_ISREG(os.stat(name).st_mode):
            return None  # without opening it: what a pipe gave would be gone
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
    """Describe a file's difference from its state at saving; None if it is the same.

    Args:
        name: Its name.
        saved, now: Results of `file_identity`.
        allow_mtime: True if another time is no difference even without checksums.
    """
    size, time, crc = saved
    if now is None:
        return f"files: '{name}' had {size:,} bytes when the state was saved and is not there now"
    if now[0] != size and None not in (now[0], size):  # a server may not tell it
        return f"files: '{name}' had {size:,} bytes when the state was saved and has {now[0]:,} now"
    if crc is not None and now[2] is not None:
        same = crc == now[2]
        return None if same else f"files: '{name}' has other contents than when the state was saved (checksum {crc})"
    if time != now[1] and not allow_mtime:
        return (
            f"files: '{name}' was changed after the state was saved, or copied without its time; the size is the same"
        )
    return None


def contents_of(names: Sequence[str]) -> str:
    """Return a digest of the sizes and ends of local files."""
    import hashlib  # 3 ms, as it loads OpenSSL, which a program that saves no state need not wait for

    found = hashlib.blake2b(digest_size=8)
    for name in names:
        if "://" not in name:
            size, _, ends = file_identity(name) or (None, None, None)
            found.update(f"{size} {ends}\n".encode())
    return found.hexdigest()


def names_of(names: Sequence[str]) -> dict[str, Any]:
    """Which files a source reads, in order, as facts about it: the last names, and a digest of those before."""
    import hashlib  # 3 ms, as it loads OpenSSL, which a program that saves no state need not wait for

    digest, before = hashlib.blake2b(digest_size=8), names[:-NAMES]
    for name in before:
        digest.update(os.fsencode(name) + b"\0")
    facts: dict[str, Any] = {"file_names": [os.fsdecode(name) for name in names[-NAMES:]]}
    return {**facts, "names_before": digest.hexdigest()} if before else facts


class Opened:
    """The files opened by a reader: the last 4,096 by name, and a digest of all sizes in the first epoch.

    One thread at a time may note; others may list meanwhile.
    """

    def __init__(self) -> None:
        self._kept: dict[str, list[Any]] = {}
        self._remote: deque[str] = deque()  # those of them that are behind URLs
        self._saved: dict[str, list[Any]] = {}  # those that a state has, until they are opened
        # The digest of the files with numbers from the first up to the next, but for those that were never opened, and
        # how many of `_unopened` these are: one tuple, so that who lists finds what belongs together.
        self._rolled = (0, 0, "", 0)
        self._unopened: list[int] = []

    def note(self, name: bytes, identity: list[Any] | None, number: int | None, inside: bool = False) -> None:
        """Record an opened file.

        Args:
            name: Its name.
            identity: A result of `file_identity`; None for an object that cannot change.
            number: Its number in the first epoch; None in those after it.
            inside: True if it is gone on with in its middle.

        Raises:
            StateMismatchError: That is so, and it was changed after the state was loaded.
        """
        named = os.fsdecode(name)
        saved = self._saved.pop(named, None)
        if inside and saved is not None and (found := difference(named, saved, identity, True)) is not None:
            raise StateMismatchError([("files", named, None)], found)
        first, following, digest, _ = self._rolled
        if number is not None and number >= following:  # else it is read again, after a resume
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
        """Return the identities by name; under the name "", the digest, and which files are in it."""
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
    """Return in one what the `Opened` of several readers listed, in order."""
    files: dict[str, list[Any]] = {}
    digests = []
    for index, each in enumerate(listed):
        files |= {name: list(identity) for name, identity in each.items() if name}
        if "" in each:
            digests.append([index, *each[""]])
    return {"": digests, **files} if digests else files


def of_one(files: Mapping[str, Sequence[Any]], index: int, renumbered: bool = False) -> dict[str, Sequence[Any]]:
    """Return what one reader goes on from, of what was merged.

    Args:
        files: The result of `merged`.
        index: Which reader's.
        renumbered: True if files have other numbers now: then its digest tells nothing.
    """
    digests = [] if renumbered else [digest[1:] for digest in files.get("", ()) if digest[0] == index]
    named = {name: identity for name, identity in files.items() if name}
    return {"": digests[0], **named} if digests else named


def rolled(digest: str, number: int, size: int | None) -> str:
    """Return a digest with one more file: the one of this number, and its size. The digest of none is ""."""
    import hashlib  # 3 ms, as it loads OpenSSL, which a program that saves no state need not wait for

    return hashlib.blake2b(f"{digest} {number} {size}".encode(), digest_size=8).hexdigest()


def _is_remote(name: str) -> bool:
    return "://" in name  # their sizes would be asked for one by one


def _size(name: str) -> int | None:
    try:
        found = None if _is_remote(name) else os.stat(name)
    except (OSError, ValueError):
        return None
    return found.st_size if found is not None and stat.S_ISREG(found.st_mode) else None
