"""CRC32C: how it is computed, and how TFRecord files store it. `tfrecord_cutter.py` checks it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache


def crc_function() -> Callable[[bytes], int]:
    """Return the CRC32C function for bytes.

    Raises:
        ImportError: google-crc32c is not installed. Reading without checking is not offered.
    """
    try:
        import google_crc32c
    except ImportError as error:
        raise ImportError("TFRecord files need google-crc32c: pip install google-crc32c") from error
    function: Callable[[bytes], int] = google_crc32c.value
    return function


def crc_function_or_slow() -> Callable[[bytes], int]:
    """Return the same, or without google-crc32c a slower Python function, good enough for a few small records."""
    try:
        return crc_function()
    except ImportError:
        return crc_in_python


def crc_in_python(data: bytes) -> int:
    """Compute the CRC32C of bytes."""
    table, crc = _table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


@cache
def _table() -> list[int]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return table


def mask(crc: int) -> int:
    """Return a CRC as TFRecord files store it: rotated, plus a constant, because data may itself contain CRCs."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
