"""TFRecordReader: records from TFRecord files, with all checksums verified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.errors import InvalidArgumentError
from pipeline.files.crc32c import crc_function
from pipeline.files.limits import MAX_RECORD_BYTES, byte_limit
from pipeline.files.tfrecord import TFRecordOptions
from pipeline.files.tfrecord_cutter import RecordCutter
from pipeline.logs import logger
from pipeline.readers.stream import StreamReader

_log = logger("pipeline.readers")


class TFRecordReader(StreamReader):
    """Reads TFRecord files. The key is `file:offset`, the offset of the record's first byte in the uncompressed file.

    A file that ends with a whole record is complete. If it ends within the 12 bytes before a record's data, it counts
    as complete too, as in TensorFlow, but with a warning.

    Args:
        options: TFRecordOptions, or a compression type: "GZIP", "ZLIB", or "" or None for none. An unknown type is
            logged as an error, and files are read as uncompressed.
        name, on_error, max_errors: As ReaderBase. With `on_error="skip"` the rest of a corrupt file is left out.
        max_record_bytes: A longer record is a ResourceExhaustedError before it is read, and the rest of the file cannot
            be read; None means no limit.

    Raises:
        ImportError: google-crc32c is not installed (extra `tfrecord`).
        InvalidArgumentError: `max_record_bytes` is negative.
        TypeError: It is not an integer.

    Thread safety: as ReaderBase.

    Examples:
        >>> with pipeline.TFRecordWriter("two.tfrecord") as writer:
        ...     writer.write(b"first")
        ...     writer.write(b"second")
        >>> files = pipeline.FIFOQueue(1, "string", shapes=[()])
        >>> files.enqueue("two.tfrecord")
        >>> files.close()
        >>> pipeline.TFRecordReader().read_up_to(files, 10)[1]
        [b'first', b'second']
    """

    def __init__(
        self,
        name: str | None = None,
        options: Any = None,
        *,
        on_error: str = "raise",
        max_errors: int | None = None,
        max_record_bytes: int | None = MAX_RECORD_BYTES,
    ) -> None:
        super().__init__(name or "tf_record_reader", on_error=on_error, max_errors=max_errors)
        self._cutter = RecordCutter(crc_function(), byte_limit(max_record_bytes))
        try:
            self._compression = TFRecordOptions.get_compression_type_string(options)
        except InvalidArgumentError as error:
            _log.error("%s; %s reads its files as uncompressed", error, self)

    def _cut(self, wanted: int) -> tuple[list[bytes], Sequence[int]]:
        return self._cutter.cut(self._file, self._work_item)
