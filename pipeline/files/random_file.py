"""RandomFiles: random access to file bytes, through cached descriptors."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence

from pipeline.errors import DataLossError, FailedPreconditionError
from pipeline.files.os_errors import translated
from pipeline.locks import Lock

_OPEN = 64  # files that stay open


class RandomFiles:
    """Reads bytes from unchanging files. It pickles.

    Thread safety: every method may be called from any thread.

    Args:
        function: Prefix for error messages.
    """

    def __init__(self, function: str) -> None:
        self._function = function
        self._open: dict[str, _Descriptor] = {}
        self._lock = Lock()

    def read(self, name: str, identity: tuple[int, int], begins: Sequence[int], ends: Sequence[int]) -> list[bytes]:
        """Return a file's bytes between pairs of offsets, and check afterwards for changes.

        Args:
            name: Its path.
            identity: Its required size and modification time in ns.
            begins, ends: The offsets.

        Raises:
            FailedPreconditionError: Size or time differ.
            DataLossError: Bytes are missing.
            NotFoundError, ...: It cannot be read.
        """
        file = self._opened(name, identity)
        number, found = file.number, []
        try:
            for begin, end in zip(begins, ends, strict=True):
                data = os.pread(number, end - begin, begin)
                while len(data) < end - begin:  # a read returns at most 2 GiB, or a signal has ended it
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
            self._open[name] = file  # most recently used
            if len(self._open) > _OPEN:
                del self._open[next(iter(self._open))]  # closed after its last read
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
        weakref.finalize(self, os.close, self.number).atexit = False  # a thread may still read at exit
