"""TFRecord files: their format, TFRecordWriter, and tf_record_iterator."""

from __future__ import annotations

import contextlib
import os
import threading
import zlib
from types import TracebackType
from typing import Any

from pipeline.errors import FailedPreconditionError
from pipeline.files.opening import open_sink, translated
from pipeline.files.tfrecord import FOOTER, TFRecordOptions, _default, crc_function, mask


class TFRecordWriter:
    """Writes a TFRecord file, which is made anew.

    It is a context manager, which closes it. A compressed file is complete only when it is closed.

    Args:
        path: Path, or a URL that fsspec knows.
        options: TFRecordOptions, or a compression type: "GZIP", "ZLIB", or "" or None for none.

    Raises:
        InvalidArgumentError: There is no such compression.
        NotFoundError, PermissionDeniedError, ...: The file cannot be made.
        ImportError: google-crc32c is not installed (extra `tfrecord`).

    Thread safety: every method may be called from every thread; records do not mix.
    """

    def __init__(self, path: str | bytes | os.PathLike[Any], options: Any = None) -> None:
        self._open = False
        self._crc = crc_function()
        settings = options if isinstance(options, TFRecordOptions) else TFRecordOptions(options)
        self._compressor = settings.compressor()
        self._flush_mode = _default(settings.flush_mode, zlib.Z_SYNC_FLUSH)
        self._name = os.fsencode(path)
        self._lock = threading.Lock()
        self._file = open_sink(self._name)
        self._open = True

    def write(self, record: bytes) -> None:
        """Write one record: bytes, or an object with a buffer of bytes.

        Raises:
            TypeError: `record` is something else.
            FailedPreconditionError: The writer is closed.
            OpError: The file cannot be written.
        """
        if not isinstance(record, bytes):
            if isinstance(record, str):
                raise TypeError("record must be bytes, got str: encode it first")
            record = bytes(memoryview(record))
        length = len(record).to_bytes(8, "little")
        data = b"".join((length, FOOTER.pack(mask(self._crc(length))), record, FOOTER.pack(mask(self._crc(record)))))
        with self._lock:
            self._check()
            self._put(data if self._compressor is None else self._compressor.compress(data))

    def flush(self) -> None:
        """Hand what was written to the operating system, so that readers find it.

        Raises:
            FailedPreconditionError: The writer is closed.
            OpError: The file cannot be written.
        """
        with self._lock:
            self._check()
            if self._compressor is not None:
                self._put(self._compressor.flush(self._flush_mode))
            try:
                self._file.flush()
            except Exception as error:
                raise translated(self._name, error) from error

    def close(self) -> None:
        """Complete the file and close it; again is no error.

        Raises:
            OpError: The file cannot be written.
        """
        with self._lock:
            if not self._open:
                return
            self._open = False
            try:
                try:
                    if self._compressor is not None:
                        self._put(self._compressor.flush())
                finally:
                    self._file.close()
            except Exception as error:
                raise translated(self._name, error) from error

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        if self._open:
            with contextlib.suppress(Exception):
                self.close()

    def _check(self) -> None:
        if not self._open:
            raise FailedPreconditionError(None, None, f"Writer is closed: {os.fsdecode(self._name)}")

    def _put(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except Exception as error:
            raise translated(self._name, error) from error
