"""The TFRecord format: record framing, and TFRecordOptions for compression."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Any

from pipeline.dtypes import integer
from pipeline.errors import invalid
from pipeline.files.compression import WINDOW_BITS
from pipeline.files.crc32c import mask

# A record: the data's length, the masked CRC32C of these 8 bytes, the data, and its masked CRC32C.
HEADER = struct.Struct("<QI")
FOOTER = struct.Struct("<I")


def framed(record: bytes, crc: Callable[[bytes], int]) -> bytes:
    """Return a record with its header and footer."""
    length = len(record).to_bytes(8, "little")
    return b"".join((length, FOOTER.pack(mask(crc(length))), record, FOOTER.pack(mask(crc(record)))))


class TFRecordCompressionType:
    """A TFRecord file's compression, as a number.

    Attributes:
        NONE, ZLIB, GZIP: The compressions.

    Examples:
        >>> pipeline.types.TFRecordOptions(pipeline.types.TFRecordCompressionType.GZIP).compression_type
        'GZIP'
    """

    NONE = 0
    ZLIB = 1
    GZIP = 2


_NAMES = {TFRecordCompressionType.NONE: "", TFRecordCompressionType.ZLIB: "ZLIB", TFRecordCompressionType.GZIP: "GZIP"}


class TFRecordOptions:
    """How TFRecord files are compressed; None is zlib's default.

    Args:
        compression_type: "", "ZLIB" or "GZIP", a TFRecordCompressionType, other TFRecordOptions, or None.
        flush_mode: How a writer flushes zlib after each 256 KiB of records, as in TensorFlow: a Z_..._FLUSH constant
            from zlib, or Z_BLOCK. `flush()` is not affected.
        input_buffer_size, output_buffer_size: Ignored; in TensorFlow's signature.
        window_bits: 9 to 15, for writing.
        compression_level: 0 to 9, for writing.
        compression_method: 8, zlib's only one.
        mem_level: 1 to 9, for writing; None is 9, as in TensorFlow.
        compression_strategy: A Z_... constant from zlib, for writing.

    Raises:
        InvalidArgumentError: The compression type does not exist; the error is a ValueError too.

    Examples:
        >>> pipeline.types.TFRecordOptions("GZIP", compression_level=9).compression_type
        'GZIP'
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
        """Return "", "ZLIB" or "GZIP" for options or for a compression type.

        Raises:
            InvalidArgumentError: It is anything else.
        """
        if isinstance(options, TFRecordOptions):
            return options.compression_type
        if options is None or options == "":
            return ""
        name = _NAMES.get(options) if isinstance(options, int) else options
        if not isinstance(name, str) or name not in _NAMES.values():
            shown = str(options).encode("ascii", "backslashreplace").decode()
            raise invalid(f'Not a valid compression_type: "{shown}"')
        return name

    def compressor(self) -> Any:
        """Return a new zlib.compressobj with these settings; None without compression.

        Raises:
            InvalidArgumentError: zlib refuses the settings.
            TypeError: One is not an integer.
        """
        if not self.compression_type:
            return None
        if self.flush_mode not in (None, *range(6)):
            raise invalid(f"flush_mode must be one of zlib's Z_..._FLUSH constants, 0 to 5, got {self.flush_mode!r}")
        for name in ("window_bits", "compression_level", "compression_method", "mem_level", "compression_strategy"):
            if getattr(self, name) is not None:
                integer(getattr(self, name), f"TFRecordOptions: {name}")
        bits = WINDOW_BITS[self.compression_type]
        if self.window_bits is not None:
            bits += abs(self.window_bits) - zlib.MAX_WBITS
        try:
            return zlib.compressobj(
                _given(self.compression_level, zlib.Z_DEFAULT_COMPRESSION),
                _given(self.compression_method, zlib.DEFLATED),
                bits,
                _given(self.mem_level, 9),
                _given(self.compression_strategy, zlib.Z_DEFAULT_STRATEGY),
            )
        except (ValueError, OverflowError) as error:
            raise invalid(f"zlib does not take these settings: {self.__dict__}") from error


def _given(value: int | None, default: int) -> int:
    return default if value is None else value
