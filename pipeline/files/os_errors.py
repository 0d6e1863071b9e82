"""Translates operating system and fsspec errors into the library's, with TensorFlow's texts."""

from __future__ import annotations

import errno
import os

from pipeline.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnknownError,
)
from pipeline.tracebacks import from_handler

# Nothing more can be written: to the disk, by this user, or to this file.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

_OS_ERRORS: dict[int | None, type[OpError]] = {
    errno.ENOENT: NotFoundError,
    errno.ENOTDIR: FailedPreconditionError,
    errno.EISDIR: FailedPreconditionError,
    errno.EACCES: PermissionDeniedError,
    errno.EPERM: PermissionDeniedError,
    **dict.fromkeys(FULL, ResourceExhaustedError),
}
# Remote file systems raise these without an errno.
_NUMBERS: dict[type[OSError], int] = {
    FileNotFoundError: errno.ENOENT,
    IsADirectoryError: errno.EISDIR,
    NotADirectoryError: errno.ENOTDIR,
    PermissionError: errno.EACCES,
}


def os_error(name: bytes, error: OSError) -> OpError:
    """Return the library's error for an OSError, with TensorFlow's text."""
    number = error.errno or next((number for kind, number in _NUMBERS.items() if isinstance(error, kind)), None)
    text = error.strerror or (str(error) if number is None else os.strerror(number))
    translated = _OS_ERRORS.get(number, UnknownError)(None, None, f"{os.fsdecode(name)}; {text}")
    vars(translated)["errno"] = number  # also if it comes from another process, without its cause
    return translated


def make_folder(path: str, mode: int = 0o777) -> None:
    """Make a folder and its parents, unless it exists. `mode` is for the folder, and the umask restricts it further.

    Raises:
        NotADirectoryError: A file has its name.
        OSError: It cannot be made.
    """
    try:
        os.makedirs(path, mode, exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path) from error


def translated(name: bytes, error: Exception) -> Exception:
    """Return the error to raise for an error in opening, reading or writing `name`.

    An ImportError stays as it is, and so does an exception raised by a signal handler meanwhile, such as TimeoutError.
    """
    if isinstance(error, (OpError, ImportError)) or from_handler(error):
        return error
    if isinstance(error, OSError):
        return os_error(name, error)
    kind = InvalidArgumentError if isinstance(error, ValueError) else UnknownError
    return kind(None, None, f"{os.fsdecode(name)}; {type(error).__name__}: {error}")
