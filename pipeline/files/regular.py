"""regular: open regular files only, such as those of a folder that somebody else may have made."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable

from pipeline.errors import FailedPreconditionError


def regular(what: str, links: bool = False) -> Callable[[str | bytes, int], int]:
    """Return an opener for `open`. It never waits for the other end of a pipe.

    Args:
        what: Prefix of errors.
        links: Whether a symbolic link is followed.

    Raises:
        FailedPreconditionError: The name belongs to something other than a regular file.
        OSError: It cannot be opened.
    """

    def opened(path: str | bytes, flags: int) -> int:
        try:
            file = os.open(path, flags | os.O_NONBLOCK | (0 if links else os.O_NOFOLLOW), 0o666)
        except OSError as error:
            if error.errno == errno.ELOOP and not links:
                raise _refused(what, path, "is a symbolic link, and links are not followed") from error
            if error.errno in (errno.EISDIR, errno.ENXIO):  # a folder; a pipe or socket
                raise _refused(what, path, "is not a regular file") from error
            raise
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise _refused(what, path, "is not a regular file")
        except BaseException:
            os.close(file)
            raise
        return file

    return opened


def _refused(what: str, path: str | bytes, why: str) -> FailedPreconditionError:
    return FailedPreconditionError(None, None, f"{what}: '{os.fsdecode(path)}' {why}")
