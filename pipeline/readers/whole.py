"""Readers of whole files, and of the names themselves."""

from __future__ import annotations

from pipeline.errors import OpError
from pipeline.files.opening import MAX_RECORD_BYTES, byte_limit, read_whole
from pipeline.readers.base import Block, ReaderBase


class WholeFileReader(ReaderBase):
    """Reads whole files: the key is the name of the file, the value all that is in it.

    A file that cannot be read is tried again by every read, until `reset`; `on_error="skip"` leaves it out.

    Args:
        name, on_error, max_errors: As ReaderBase.
        max_record_bytes: A larger file is a ResourceExhaustedError; None is without limit.

    Raises:
        InvalidArgumentError: `max_record_bytes` is negative.
        TypeError: It is not an integer.
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
        self._most = byte_limit(max_record_bytes)

    def _start(self, work: bytes) -> None:
        pass  # the file is opened by the read

    def _finish(self) -> None:
        pass

    def _read(self, limit: int) -> Block:
        name = self._work
        try:
            return Block([name], [read_whole(name, self._most)], ended=True)
        except OpError as error:
            return Block([], [], error=error)


class IdentityReader(ReaderBase):
    """Gives the work itself, as key and as value: what was in the queue.

    Args:
        name, on_error, max_errors: As ReaderBase.
    """

    supports_serialize = True

    def _start(self, work: bytes) -> None:
        pass

    def _finish(self) -> None:
        pass

    def _read(self, limit: int) -> Block:
        work = self._work
        return Block([work], [work], ended=True)
