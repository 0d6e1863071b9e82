"""TFRecordWriter: writes TFRecord files."""

from __future__ import annotations

import contextlib
import os
import zlib
from types import TracebackType
from typing import Any

from pipeline.dtypes import path_text
from pipeline.errors import FailedPreconditionError
from pipeline.files.crc32c import crc_function
from pipeline.files.opening import create_file
from pipeline.files.os_errors import translated
from pipeline.files.tfrecord import FOOTER, HEADER, TFRecordOptions, framed
from pipeline.locks import Lock

# TensorFlow's buffer size before compression, in bytes.
_BUFFER = 256 << 10


class TFRecordWriter:
    """Writes a new TFRecord file, replacing an existing one.

    A context manager that closes the file. A compressed file is complete only once it is closed. Every method may be
    called from any thread; records do not mix.

    Args:
        path: A path, or a URL supported by fsspec, such as `s3://bucket/file`.
        options: TFRecordOptions, or a compression type: "GZIP", "ZLIB", or "" or None for none.

    Raises:
        InvalidArgumentError: The compression does not exist.
        OpError: The file cannot be created, such as a NotFoundError or PermissionDeniedError.
        ImportError: google-crc32c is not installed (extra `tfrecord`).

    Examples:
        >>> with pipeline.TFRecordWriter("two.tfrecords") as writer:
        ...     writer.write(b"first")
        ...     writer.write(b"second")
        >>> list(pipeline.tfrecord("two.tfrecords"))
        [b'first', b'second']
    """

    _torn = False  # whether a record was written in part
    _open = False  # until the file is open, also if an argument is wrong

    def __init__(self, path: str | bytes | os.PathLike[Any], options: Any = None) -> None:
        self._name = os.fsencode(path_text(path, "TFRecordWriter: path"))
        self._crc = crc_function()
        settings = options if isinstance(options, TFRecordOptions) else TFRecordOptions(options)
        self._compressor = settings.compressor()
        # Z_FINISH would end the file too early.
        between = settings.flush_mode not in (None, zlib.Z_NO_FLUSH, zlib.Z_FINISH)
        self._flush_mode = settings.flush_mode if between else zlib.Z_NO_FLUSH
        self._unflushed = 0
        self._lock = Lock()
        self._file = create_file(self._name)
        self._open = True

    def write(self, record: bytes) -> None:
        """Write one record: bytes, or an object with a buffer of bytes.

        Raises:
            TypeError: `record` is something else.
            FailedPreconditionError: The writer is closed, or an earlier record could not be written.
            OpError: The file cannot be written.
        """
        if not isinstance(record, bytes):
            if isinstance(record, str):
                raise TypeError("record must be bytes, got str: encode it first")
            try:
                record = bytes(memoryview(record))
            except TypeError:
                raise TypeError(f"record must be bytes, got {type(record).__name__} {record!r:.80}") from None
        data = framed(record, self._crc)
        with self._lock:
            self._check()
            if self._compressor is None:
                self._put(data)
            elif self._flush_mode == zlib.Z_NO_FLUSH:
                self._put(self._compressor.compress(data))
            else:
                for part in (data[: HEADER.size], data[HEADER.size : -FOOTER.size], data[-FOOTER.size :]):
                    self._compress(part)

    def flush(self) -> None:
        """Flush all records, so readers see them.

        Raises:
            FailedPreconditionError: The writer is closed.
            OpError: The file cannot be written.
        """
        with self._lock:
            self._check()
            if self._compressor is not None:
                self._put(self._compressor.flush(zlib.Z_PARTIAL_FLUSH))
                self._unflushed = 0
            try:
                self._file.flush()
            except Exception as error:
                raise translated(self._name, error) from error

    def close(self) -> None:
        """Complete the file and close it; closing it again is allowed.

        Raises:
            OpError: The file cannot be written.
        """
        with self._lock:
            if not self._open:
                return
            self._open = False
            try:
                try:
                    if self._compressor is not None and not self._torn:
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
        if self._torn:
            text = f"{os.fsdecode(self._name)}; an earlier record could not be written, and no record may follow it"
            raise FailedPreconditionError(None, None, f"{text}: write the file again")

    def _compress(self, part: bytes) -> None:
        """Compress a part of a record; flush when TensorFlow's buffer would be full, for equal files."""
        if self._unflushed + len(part) > _BUFFER:
            self._put(self._compressor.flush(self._flush_mode))
            self._unflushed = 0
        self._put(self._compressor.compress(part))
        if len(part) > _BUFFER:
            self._put(self._compressor.flush(self._flush_mode))
        else:
            self._unflushed += len(part)

    def _put(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except Exception as error:
            self._torn = True
            raise translated(self._name, error) from error
