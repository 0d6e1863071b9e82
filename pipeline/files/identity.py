"""Whether a file is still the one that was read: size, time and checksums, and what a message says of a difference."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.errors import NotFoundError
from pipeline.files.opening import open_file

# Files whose identities are kept by name.
KEPT = 4096


def file_identity(name: str | bytes, ends: bool = True) -> list[Any] | None:
    """Return what tells a file from a changed one.

    Args:
        name: A path, or a URL that fsspec knows.
        ends: Whether to read 64 KiB at either end; readers of whole files do without.

    Returns:
        Plain data: size, time of the last change in ns, and the CRC-32 of both ends in hex or None. Of a remote file:
        size, None, and the checksum that its server gives or None. None if the file is not there, or is no regular one.

    Raises:
        PermissionDeniedError, ...: It cannot be opened.
        ImportError: The name is a URL and fsspec is not installed.
    """
    try:
        file = open_file(os.fsencode(name))
    except NotFoundError:
        return None
    try:
        return file.identity(ends)
    finally:
        file.close()


def difference(name: str, saved: Sequence[Any], now: Sequence[Any] | None, allow_mtime: bool = False) -> str | None:
    """Say how a file differs from the one that was read when a state was saved; None if it is the same.

    Args:
        name: Its name.
        saved, now: What `file_identity` gave.
        allow_mtime: Whether another time is no difference even without checksums.
    """
    size, time, crc = saved
    if now is None:
        return f"files: '{name}' had {size:,} bytes when the state was saved and is not there now"
    if now[0] != size:
        return f"files: '{name}' had {size:,} bytes when the state was saved and has {now[0]:,} now"
    if crc is not None and now[2] is not None:
        same = crc == now[2]
        return None if same else f"files: '{name}' has other contents than when the state was saved (checksum {crc})"
    if time != now[1] and not allow_mtime:
        return (
            f"files: '{name}' was changed after the state was saved, or copied without its time; the size is the same"
        )
    return None


class Opened:
    """The files that a reader has opened: the last 4,096 by name, those before as one digest of their sizes.

    Only the first epoch enters the digest, so that each file is in it once. Not thread safe.
    """

    def __init__(self) -> None:
        self._kept: dict[str, list[Any]] = {}
        self._rolled, self._digest = 0, ""

    def note(self, name: bytes, identity: list[Any] | None, first_epoch: bool) -> None:
        """Note a file that was opened; None is no file that could change."""
        if identity is None:
            return
        self._kept[os.fsdecode(name)] = identity
        if len(self._kept) > KEPT:
            size = self._kept.pop(next(iter(self._kept)))[0]
            if first_epoch:
                self._digest = rolled(self._digest, self._rolled, size)
                self._rolled += 1

    def listed(self) -> dict[str, list[Any]]:
        """Return the identities by name; under the name "", how many files are in the digest, and the digest."""
        files = {name: list(identity) for name, identity in self._kept.items()}
        return {"": [self._rolled, self._digest], **files} if self._rolled else files

    def remember(self, files: Mapping[str, Sequence[Any]]) -> None:
        """Go on from what `listed` gave."""
        self._kept = {name: list(identity) for name, identity in files.items() if name}
        self._rolled, self._digest = files.get("", (0, ""))


def rolled(digest: str, index: int, size: int | None) -> str:
    """Return a digest with one more file: the one of this index, from 0, and size. The digest of none is ""."""
    return hashlib.blake2b(f"{digest} {index} {size}".encode(), digest_size=8).hexdigest()
