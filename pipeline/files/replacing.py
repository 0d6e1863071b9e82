"""replacing: write a file to replace another atomically."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from typing import BinaryIO

from pipeline.errors import FailedPreconditionError


@contextlib.contextmanager
def replacing(target: bytes) -> Iterator[BinaryIO]:
    """Yield a new file to write; after the block, it is safe on the disk under the name `target`.

    It gets the mode of the old file. An error in the block, also Ctrl-C, removes the new file and leaves the old one.

    Raises:
        FailedPreconditionError: The name belongs to something other than a regular file.
        OSError: The file cannot be written.
    """
    mode = os.stat(target).st_mode if os.path.lexists(target) else None
    if mode is not None and not stat.S_ISREG(mode):
        raise FailedPreconditionError(None, None, f"{os.fsdecode(target)}; it exists and is not a regular file")
    partial = target + f".{secrets.token_hex(4)}.partial".encode()
    try:
        with open(partial, "xb", opener=lambda path, flags: os.open(path, flags, (mode or 0o666) & 0o777)) as file:
            if mode is not None:  # also the bits that the umask takes away
                with contextlib.suppress(PermissionError):  # from file systems without modes
                    os.fchmod(file.fileno(), mode & 0o777)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    except BaseException:
        with contextlib.suppress(OSError):  # nothing to remove if the file could not even be created
            os.unlink(partial)
        raise
    sync_folder(os.path.dirname(target) or b".")


def sync_folder(folder: bytes) -> None:
    """Make the names in a folder durable; without this a power cut may bring the old files back."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # file systems without this need no sync
            raise
    finally:
        os.close(descriptor)
