"""Content: running checksums of the bytes of all examples delivered, for `fingerprint="content"`."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pipeline._trail import Delivered
from pipeline.batches.request import Request


def content_of(request: Request, before: Delivered, components: Sequence[Any]) -> tuple[int, ...]:
    """The checksums after one more batch; none if nobody asked for them."""
    return checksums(before.content, components) if request.fingerprint == "content" else ()


def checksums(before: Sequence[int], components: Sequence[Any]) -> tuple[int, ...]:
    """The CRC-32 of each component over all rows so far.

    Rows of one shape enter it as they lie in memory, so it does not matter where one batch ends and the next begins;
    in a component that is padded, the padding counts too. Strings and objects enter it one by one, each after its
    length.

    Args:
        before: Those up to the batch before; empty at the start.
        components: Of the batch, each with one row for each example.
    """
    return tuple(map(_checksum, components, before or [0] * len(components)))


def combined(each: Sequence[int]) -> int:
    """One checksum of those of the components."""
    return zlib.crc32(b"".join(one.to_bytes(4, "little") for one in each))


def _checksum(component: Any, before: int) -> int:
    if isinstance(component, np.ndarray) and not component.dtype.hasobject:
        return zlib.crc32(np.ascontiguousarray(component).reshape(-1).view(np.uint8).data, before)
    values: Iterable[Any] = component.flat if isinstance(component, np.ndarray) else component
    for value in values:
        data = _bytes_of(value)
        before = zlib.crc32(data, zlib.crc32(b"%d:" % len(data), before))
    return before


def _bytes_of(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode(errors="surrogatepass")
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return f"{value.dtype.str} {value.shape} ".encode() + value.tobytes()
    return repr(value).encode(errors="surrogatepass")
