"""checksum: elements pass through, and their bytes become part of the fingerprint."""

from __future__ import annotations

import dataclasses
import zlib
from typing import Any

import numpy as np

from pipeline._flow import mix_ids
from pipeline.datasets.node import Node, Opening
from pipeline.flow.block import Block
from pipeline.flow.ids import PartHashes, as_parts
from pipeline.flow.stream import Stream, seek_later
from pipeline.nest import is_dataclass


class Checksum(Node):
    """Elements whose bytes count in the fingerprint.

    Args:
        source: The elements.
    """

    kind = "checksum"

    def __init__(self, source: Node) -> None:
        self.inputs = (source,)
        self.note_place()

    def length(self) -> int | None:
        return self.inputs[0].length()

    def open(self, shared: Opening, epoch: int) -> Stream:
        return shared.gauged(self, _Checked(self.inputs[0].open(shared, epoch)))


class _Checked:
    """A stream whose ids say what its elements hold."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def take(self, n: int) -> Block | None:
        block = self._stream.take(n)
        if block is None:
            return None
        made = block.made()
        checksums = np.array([_checksum(example, 0) for example in made.examples()], np.int64)
        parts = as_parts(block.ids)
        return Block(made, PartHashes(parts.hashes ^ mix_ids(checksums), parts.counts), block.numbers)

    def skip(self, n: int) -> int:
        return self._stream.skip(n)

    def position(self) -> Any:
        return self._stream.position()

    def seek(self, position: Any) -> None:
        seek_later(self._stream, position)

    def close(self) -> None:
        self._stream.close()


def _checksum(value: Any, before: int) -> int:
    """Return the CRC-32 of a value, after other ones: of its type or dtype, its shape, and its bytes.

    Raises:
        TypeError: It has no bytes that would be the same in another run.
    """
    kind = type(value)
    if kind is not np.ndarray and isinstance(value, (bool, int, float, complex, np.generic)):
        if not isinstance(value, (int, float)) or -(1 << 63) <= value < 1 << 63:
            value = np.asarray(value)
        else:
            return zlib.crc32(repr(value).encode(), before)
    if isinstance(value, (bytes, str)):
        data = value.encode(errors="surrogatepass") if isinstance(value, str) else value
        return zlib.crc32(data, zlib.crc32(b"%s %d:" % (kind.__name__.encode(), len(data)), before))
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        head = f"{value.dtype.str} {value.shape}:".encode()
        return zlib.crc32(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data, zlib.crc32(head, before))
    if value is None:
        return zlib.crc32(b"None", before)
    if isinstance(value, dict):
        items: list[Any] = [each for item in value.items() for each in item]
    elif is_dataclass(value):
        items = [getattr(value, field.name) for field in dataclasses.fields(value)]
    elif isinstance(value, np.ndarray):
        items = list(value.flat)
    elif isinstance(value, (list, tuple)):
        items = list(value)
    elif hasattr(kind, "__array__"):
        return _checksum(np.asarray(value), before)
    else:
        raise TypeError(
            f"checksum: expected arrays, numbers and strings, got {kind.__name__}, whose bytes differ from run to run: "
            "put checksum() before the function that makes it"
        )
    before = zlib.crc32(b"%d:" % len(items), before)
    for each in items:
        before = _checksum(each, before)
    return before
