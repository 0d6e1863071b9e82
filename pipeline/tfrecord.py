"""TFRecord files: their format, TFRecordWriter, and tf_record_iterator."""

from __future__ import annotations

import contextlib
import os
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from pipeline.errors import FailedPreconditionError, InvalidArgumentError
from pipeline.opening import MAX_RECORD_BYTES, WINDOW_BITS, byte_limit, open_sink, translated

# A record: the length of the data, the masked CRC32C of these 8 bytes, the data, and the masked CRC32C of the data.
HEADER = struct.Struct("<QI")
FOOTER = struct.Struct("<I")


class TFRecordCompressionType:
    """The ways in which a TFRecord file may be compressed, as numbers."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


_NAMES = {TFRecordCompressionType.NONE: "", TFRecordCompressionType.ZLIB: "ZLIB", TFRecordCompressionType.GZIP: "GZIP"}


class TFRecordOptions:
    """How TFRecord files are compressed. Those of zlib's settings that are None are zlib's own defaults.

    Args:
        compression_type: "", "ZLIB" or "GZIP", a TFRecordCompressionType, other TFRecordOptions, or None.
        flush_mode: For `flush()` of a writer: one of zlib's Z_..._FLUSH constants; None is Z_SYNC_FLUSH.
        input_buffer_size, output_buffer_size: Taken for the sake of TensorFlow's signature.
        window_bits: 9 to 15, for writing.
        compression_level: 0 to 9, for writing.
        compression_method: zlib knows only one, 8.
        mem_level: 1 to 9, for writing.
        compression_strategy: One of zlib's Z_... constants, for writing.

    Raises:
        InvalidArgumentError: There is no such compression type; it is a ValueError too.
    """

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.compression_type = self.get_compression_type_string(compression_type)
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Return "", "ZLIB" or "GZIP" for options or for a compression type; InvalidArgumentError for anything else."""
        if isinstance(options, TFRecordOptions):
            return options.compression_type
        if options is None or options == "":
            return ""
        name = _NAMES.get(options) if isinstance(options, int) else options
        if not isinstance(name, str) or name not in _NAMES.values():
            raise InvalidArgumentError(None, None, f'Not a valid compression_type: "{options}"')
        return name

    def compressor(self) -> Any:
        """Return a new zlib.compressobj with these settings; None without compression.

        Raises:
            InvalidArgumentError: zlib does not take them.
        """
        if not self.compression_type:
            return None
        bits = WINDOW_BITS[self.compression_type]
        if self.window_bits is not None:
            bits += abs(self.window_bits) - zlib.MAX_WBITS
        try:
            return zlib.compressobj(
                _default(self.compression_level, zlib.Z_DEFAULT_COMPRESSION),
                _default(self.compression_method, zlib.DEFLATED),
                bits,
                _default(self.mem_level, zlib.DEF_MEM_LEVEL),
                _default(self.compression_strategy, zlib.Z_DEFAULT_STRATEGY),
            )
        except ValueError as error:
            text = f"zlib does not take these settings: {self.__dict__}"
            raise InvalidArgumentError(None, None, text) from error


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


def tf_record_iterator(
    path: str | bytes | os.PathLike[Any], options: Any = None, *, max_record_bytes: int | None = MAX_RECORD_BYTES
) -> Iterator[bytes]:
    """Iterate over the records of a TFRecord file.

    Args:
        path: Path, or a URL that fsspec knows.
        options: TFRecordOptions, or a compression type: "GZIP", "ZLIB", or "" or None for none.
        max_record_bytes: A longer record is a ResourceExhaustedError; None is without limit.

    Returns:
        An iterator over the data of the records, as bytes. For one thread at a time.

    Raises:
        InvalidArgumentError: There is no such compression.
        ImportError: google-crc32c is not installed (extra `tfrecord`).
        NotFoundError, PermissionDeniedError, ...: By the first `next`: the file cannot be opened.
        DataLossError: By a later one: the file is corrupt or truncated.
    """
    from pipeline.tfrecord_reader import records

    compression = TFRecordOptions.get_compression_type_string(options)
    return records(os.fsencode(path), compression, crc_function(), byte_limit(max_record_bytes))


def mask(crc: int) -> int:
    """Return a CRC as it is written: turned and added to, for data that holds CRCs itself."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def crc_function() -> Callable[[bytes], int]:
    """Return the function for the CRC32C of bytes; ImportError without google-crc32c, for no CRC is ever left out."""
    try:
        import google_crc32c
    except ImportError as error:
        raise ImportError("TFRecord files need google-crc32c: pip install 'queue-runner[tfrecord]'") from error
    function: Callable[[bytes], int] = google_crc32c.value
    return function


def _default(value: int | None, default: int) -> int:
    return default if value is None else value
