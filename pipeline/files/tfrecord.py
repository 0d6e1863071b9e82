"""The TFRecord format: header, footer, masked CRC, compression."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Any

from pipeline.errors import InvalidArgumentError
from pipeline.files.opening import WINDOW_BITS

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
