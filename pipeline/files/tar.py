"""tar: an archive's files, read from start to end, with a size limit."""

from __future__ import annotations

import os
import re
import tarfile
from collections.abc import Iterator
from typing import NamedTuple

from pipeline.errors import DataLossError, ResourceExhaustedError, invalid
from pipeline.files.limits import too_long
from pipeline.files.read_buffer import ReadBuffer

_BLOCK = tarfile.BLOCKSIZE

# Headers that describe the next file: their maximum size, and their maximum number per file.
_HEADER_BYTES = 1 << 20
_HEADERS = 100

# Maximum number of zero bytes at an archive's end, even if the limit for its files is lower: archives are written in
# large blocks.
_LEAST_LIMIT = 1 << 24

_LENGTH = re.compile(rb"(\d{1,9}) ")


class Member(NamedTuple):
    """A regular file in an archive.

    Attributes:
        offset: The archive offset of its headers.
        name: Its name; bytes other than UTF-8 are surrogates, and `os.fsencode` restores them.
        size: Number of bytes.
        link: The link's target; "" if the file has its bytes here.
    """

    offset: int
    name: str
    size: int
    link: str = ""


class TarReader:
    """Reads an archive from start to end. For one thread at a time.

    The standard library parses the headers, but without `tarfile.open`: that trusts every size claimed in a header, and
    recurses for each header before a file.

    Args:
        file: The archive, decompressed, at a file's first header.
        limit: Maximum bytes per file.

    Raises (of every method):
        DataLossError: It is not an archive, or is damaged, cut short, or continues after its end.
        ResourceExhaustedError: A file has, or claims, more bytes than the limit; or its headers do.
        InvalidArgumentError: A file is stored as a sparse one, or is a device or a pipe.
    """

    def __init__(self, file: ReadBuffer, limit: int) -> None:
        self._file = file
        self._limit = limit
        self._left = 0  # unread bytes in the last file and its padding

    def members(self) -> Iterator[Member]:
        """Yield regular files and links; until the next one, `read` returns the file's bytes."""
        for_all: dict[str, bytes] = {}
        while True:
            begin, said = self._file.offset, dict(for_all)
            info, headers = self._header(), 0
            while info is not None and self._tells(info, said, for_all):
                headers += 1
                if headers > _HEADERS:
                    raise _damage(f"at byte {begin:,} there are more than {_HEADERS} headers before a file")
                info = self._header()
            if info is None:
                if headers:
                    raise _damage(f"at byte {begin:,} there are headers without a file")
                return self._check_end(begin)
            member = self._member(begin, info, said)
            if member is not None:
                yield member
            if not self._file.skip(self._left):
                raise _cut_short()

    def read(self, member: Member) -> bytes:
        """Return the last file's bytes; works once."""
        file = self._file
        if not file.has(member.size):
            raise _cut_short(f"{member.name!r} should have {member.size:,} bytes: ")
        begin = file.position
        file.position += member.size
        self._left -= member.size
        return file.data[begin : file.position]

    def _header(self) -> tarfile.TarInfo | None:
        """Take a header; None for the zeros at the archive's end."""
        block, offset = self._block(), self._file.offset - _BLOCK
        if block.count(0) == _BLOCK:
            return None
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise _damage(f"at byte {offset:,} there is no header of a file: {error}") from error
        if info.size < 0:
            raise _damage(f"{info.name!r} has {info.size:,} bytes")
        return info

    def _block(self) -> bytes:
        file = self._file
        if not file.has(_BLOCK):
            raise _cut_short()
        file.position += _BLOCK
        return file.data[file.position - _BLOCK : file.position]

    def _tells(self, info: tarfile.TarInfo, said: dict[str, bytes], for_all: dict[str, bytes]) -> bool:
        """Return True for a header about the next file, or about all; adds its fields to `said`."""
        if info.type in (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK):
            text = self._content(info).partition(b"\0")[0]
            if info.type == tarfile.GNUTYPE_LONGNAME:
                said["path"] = text
        elif info.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE):
            said.update(self._keywords(info))
        elif info.type == tarfile.XGLTYPE:
            found = self._keywords(info)
            for_all.update(found)
            said.update(found)
        else:
            return False
        return True

    def _content(self, info: tarfile.TarInfo) -> bytes:
        """Take a header's content."""
        if info.size > _HEADER_BYTES:
            raise ResourceExhaustedError(
                None, None, f"{info.name!r}: a header claims {info.size:,} bytes, more than {_HEADER_BYTES:,}"
            )
        file = self._file
        if not file.has(_padded(info.size)):
            raise _cut_short()
        content = file.data[file.position : file.position + info.size]
        file.position += _padded(info.size)
        return content

    def _keywords(self, info: tarfile.TarInfo) -> dict[str, bytes]:
        """Return a pax header's records, such as b"30 mtime=1321711775.198549158\n": length, name and value."""
        content, found, at = self._content(info), {}, 0
        while at < len(content) and content[at]:
            length = _LENGTH.match(content, at)
            end = at + int(length[1]) if length else 0
            if length is None or not length.end() < end <= len(content) or content[end - 1] != 0x0A:
                raise _damage(f"{info.name!r} is not a pax header")
            key, equals, value = content[length.end() : end - 1].partition(b"=")
            if not equals:
                raise _damage(f"{info.name!r} is not a pax header")
            found[key.decode("utf-8", "backslashreplace")] = value
            at = end
        return found

    def _member(self, begin: int, info: tarfile.TarInfo, said: dict[str, bytes]) -> Member | None:
        """Return the file or link of a header and any headers before it; None for a folder or similar."""
        name, size = info.name, info.size
        if "path" in said:
            name = said["path"].decode("utf-8", "surrogateescape").rstrip("/")
        if info.type == tarfile.GNUTYPE_SPARSE or any(key.startswith("GNU.sparse.") for key in said):
            raise invalid(
                f"{said.get('GNU.sparse.name', os.fsencode(name)).decode(errors='surrogateescape')!r} "
                "is stored as a sparse file: write the archive without the option --sparse"
            )
        if info.ischr() or info.isblk() or info.isfifo():
            raise invalid(f"{name!r} is a device or a pipe: write the archive without it")
        if "size" in said:
            if not said["size"].isdigit() or len(said["size"]) > 20:
                raise _damage(f"the size of {name!r} is {said['size'][:80]!r}")
            size = int(said["size"])
        # A folder or a link has no content, whatever size its header claims.
        self._left = _padded(size) if info.isreg() or info.type not in tarfile.SUPPORTED_TYPES else 0
        if self._left and size > self._limit:
            raise too_long(f"{name!r} has", self._limit)
        if info.islnk() or info.issym():
            return Member(begin, name, 0, said.get("linkpath", os.fsencode(info.linkname)).decode(errors="replace"))
        return Member(begin, name, size) if info.isreg() else None

    def _check_end(self, begin: int) -> None:
        """Read on to the end, to verify compressed data and to find files after zeros in the middle.

        Args:
            begin: Offset of the first zero block.
        """
        count = 0
        while piece := self._file.piece():
            count += len(piece)
            if piece.count(0) < len(piece):
                raise DataLossError(None, None, f"it continues after the end of the archive at byte {begin:,}")
            if count > max(self._limit, _LEAST_LIMIT):
                raise too_long(f"the end of the archive at byte {begin:,} has", self._limit)


def _damage(why: str) -> DataLossError:
    return DataLossError(None, None, f"the archive is damaged: {why}")


def _cut_short(what: str = "") -> DataLossError:
    return DataLossError(None, None, f"{what}the archive is cut short")


def _padded(size: int) -> int:
    """Round a byte count up to whole blocks."""
    return -(-size // _BLOCK) * _BLOCK
