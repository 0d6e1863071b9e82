"""WholeFileReader and IdentityReader: one record per work item, its contents or its name."""

from __future__ import annotations

from pipeline.errors import OpError
from pipeline.files.limits import MAX_RECORD_BYTES, byte_limit
from pipeline.files.opening import contents, open_file
from pipeline.readers.base import Found, ReaderBase


class WholeFileReader(ReaderBase):
    """Reads whole files. The key is the file's name, the value its contents.

    A file that cannot be read is retried by every read, until `reset`; `on_error="skip"` leaves it out.

    Args:
        name, on_error, max_errors: As ReaderBase.
        max_record_bytes: A larger file is a ResourceExhaustedError; None means no limit.

    Raises:
        InvalidArgumentError: `max_record_bytes` is negative.
        TypeError: It is not an integer.

    Thread safety: as ReaderBase.

    Examples:
        >>> with open("two.txt", "w") as file:
        ...     _ = file.write("first second")
        >>> files = pipeline.FIFOQueue(1, "string", shapes=[()])
        >>> files.enqueue("two.txt")
        >>> pipeline.WholeFileReader().read(files).value
        b'first second'
    """

    supports_serialize = True

    def __init__(
        self,
        name: str | None = None,
        *,
        on_error: str = "raise",
        max_errors: int | None = None,
        max_record_bytes: int | None = MAX_RECORD_BYTES,
    ) -> None:
        super().__init__(name, on_error=on_error, max_errors=max_errors)
        self._max_bytes = byte_limit(max_record_bytes)

    def _open(self, work_item: bytes) -> None:
        pass  # _read opens the file

    def _close(self) -> None:
        pass

    def _read(self, limit: int) -> Found:
        name = self._work_item
        try:
            file = open_file(name)
            try:
                value = contents(file, name, self._max_bytes)
                self._bytes.add(len(value))
                return Found([name], [value], ended=True)
            finally:
                file.close()
        except OpError as error:
            return Found([], [], error=error)


class IdentityReader(ReaderBase):
    """Returns the work item itself, as key and as value.

    Args:
        name, on_error, max_errors: As ReaderBase.

    Thread safety: as ReaderBase.

    Examples:
        >>> files = pipeline.FIFOQueue(1, "string", shapes=[()])
        >>> files.enqueue("a.csv")
        >>> pipeline.types.IdentityReader().read(files).value
        b'a.csv'
    """

    supports_serialize = True

    def _open(self, work_item: bytes) -> None:
        pass

    def _close(self) -> None:
        pass

    def _read(self, limit: int) -> Found:
        return Found([self._work_item], [self._work_item], ended=True)
