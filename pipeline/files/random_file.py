"""RandomFiles: random access to bytes of files, through cached descriptors."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence

from pipeline.errors import DataLossError, FailedPreconditionError
from pipeline.files.os_errors import translated

_OPEN = 64  # files that stay open


class RandomFiles:
    """Reads bytes of unchanging files. It pickles.

    Thread safety: you may call every method from every thread.

    Args:
        function: Prefix of error messages.
    """

    def __init__(self, function: str) -> None:
        self._function = function
        self._open: dict[str, _Descriptor] = {}
        self._lock = threading.Lock()

    def read(self, name: str, identity: tuple[int, int], begins: Sequence[int], ends: Sequence[int]) -> list[bytes]:
        """Return the bytes of a file between pairs of offsets, and check afterwards for changes.

        Args:
            name: Its path.
            identity: The size and the time of its last change, in ns, that it must have.
            begins, ends: The places.

        Raises:
            FailedPreconditionError: It has others.
            DataLossError: Bytes are missing.
            NotFoundError, ...: It cannot be read.
        """
        file = self._opened(name, identity)
        number, found = file.number, []
        try:
            for begin, end in zip(begins, ends, strict=True):
                data = os.pread(number, end - begin, begin)
                while len(data) < end - begin:  # a read has at most 2 GiB, or a signal has ended it
                    more = os.pread(number, end - begin - len(data), begin + len(data))
                    if not more:
                        self._check(name, file, identity)
                        text = f"{self._function}: {name} was cut short: byte {begin + len(data):,} is missing"
                        raise DataLossError(None, None, text)
                    data += more
                found.append(data)
        except OSError as error:
            raise translated(os.fsencode(name), error) from error
        self._check(name, file, identity)
        return found

    def __reduce__(self) -> tuple[Callable[[str], RandomFiles], tuple[str]]:
        return RandomFiles, (self._function,)

    def _opened(self, name: str, identity: tuple[int, int]) -> _Descriptor:
        with self._lock:
            file = self._open.pop(name, None)
            if file is None:
                file = self._checked(name, identity)
            self._open[name] = file  # the last one
            if len(self._open) > _OPEN:
                del self._open[next(iter(self._open))]  # closed once no thread reads it
            return file

    def _checked(self, name: str, identity: tuple[int, int]) -> _Descriptor:
        try:
            file = _Descriptor(name)
        except OSError as error:
            raise translated(os.fsencode(name), error) from error
        self._check(name, file, identity)
        return file

    def _check(self, name: str, file: _Descriptor, identity: tuple[int, int]) -> None:
        try:
            status = os.fstat(file.number)
        except OSError as error:
            raise translated(os.fsencode(name), error) from error
        if (status.st_size, status.st_mtime_ns) != identity:
            text = f"{self._function}: '{name}' had {identity[0]:,} bytes when it was indexed and was changed since: "
            raise FailedPreconditionError(None, None, f"{text}make the dataset again")


class _Descriptor:
    """A file closed after its last use."""

    def __init__(self, name: str) -> None:
        self.number = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self.number).atexit = False  # a thread may still read at the exit
