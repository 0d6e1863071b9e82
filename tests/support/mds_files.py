"""A small MDS writer for tests, following the format description: mosaicml-streaming needs a hundred packages."""

import bz2
import gzip
import hashlib
import json
import struct
import sys

import numpy as np
import pytest


def encoded(encoding, value):
    """Return a value's bytes; bytes are returned unchanged."""
    if isinstance(value, bytes):
        return value
    name = encoding.partition(":")[0]
    if name == "str":
        return value.encode()
    if name == "int":
        return struct.pack("<q", value)
    if name == "json":
        return json.dumps(value).encode()
    if name.startswith("str_"):
        return str(value).encode()
    if name == "ndarray":
        return array(encoding, value)
    return np.dtype(name).type(value).tobytes()


CODES = {"uint8": 8, "int8": 9, "uint16": 16, "int16": 17, "float16": 18, "uint32": 32, "int32": 33, "float32": 34}
CODES = {**CODES, "uint64": 64, "int64": 65, "float64": 66}


def array(encoding, value):
    """Return one byte each for the dtype and the shape, unless the encoding fixes them, and the values."""
    _, dtype, shape = (*encoding.split(":"), "", "")[:3]
    head = b"" if dtype else bytes([CODES[value.dtype.name]])
    if not shape:
        width = next(i for i in range(4) if max(value.shape) < 1 << (8 << i))
        head += bytes([value.ndim << 2 | width]) + np.array(value.shape, f"<u{1 << width}").tobytes()
    return head + value.tobytes()


def size_of(encoding):
    """Return the byte size of each value, or None if it varies."""
    name, *details = encoding.split(":")
    if name == "ndarray":
        if len(details) < 2:
            return None
        return int(np.prod([int(side) for side in details[1].split(",")])) * np.dtype(details[0]).itemsize
    name = "int64" if name == "int" else name
    return np.dtype(name).itemsize if name in CODES else None


def zstd(data):
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return pytest.importorskip(name, exc_type=ImportError).compress(data)


def by_arrow(kind):
    def compress(data):
        import pyarrow

        return pyarrow.Codec(kind).compress(data, asbytes=True)

    return compress


COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "zstd": zstd}
COMPRESS = {**COMPRESS, "br": by_arrow("brotli"), "snappy": by_arrow("snappy")}


def shard_of(columns, samples):
    """Return a shard's bytes."""
    names = sorted(columns)
    rows = []
    for sample in samples:
        values = [encoded(columns[name], sample[name]) for name in names]
        sizes = [len(v) for name, v in zip(names, values, strict=True) if size_of(columns[name]) is None]
        rows.append(struct.pack(f"<{len(sizes)}I", *sizes) + b"".join(values))
    config = json.dumps({"column_names": names}).encode()
    begin = 4 * (len(rows) + 2) + len(config)
    offsets = np.cumsum([begin, *map(len, rows)]).astype("<u4")
    return struct.pack("<I", len(rows)) + offsets.tobytes() + config + b"".join(rows)


def write_mds(folder, columns, shards, compression=None, hashes=(), keep=False):
    """Write a folder.

    Args:
        folder: Created.
        columns: Each column's encoding.
        shards: Each shard's samples.
        compression: Such as "zstd:7".
        hashes: Algorithms.
        keep: Keep uncompressed files next to compressed ones.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = sorted(columns)
    found = []
    for number, samples in enumerate(shards):
        data, name = shard_of(columns, samples), f"shard.{number:05}.mds"
        described = {
            "column_encodings": [columns[each] for each in names],
            "column_names": names,
            "column_sizes": [size_of(columns[each]) for each in names],
            "compression": compression,
            "format": "mds",
            "hashes": list(hashes),
            "raw_data": info(name, data, hashes),
            "samples": len(samples),
            "size_limit": 1 << 26,
            "version": 2,
            "zip_data": None,
        }
        if compression:
            kind = compression.partition(":")[0]
            packed = COMPRESS[kind](data)
            described["zip_data"] = info(f"{name}.{kind}", packed, hashes)
            (folder / f"{name}.{kind}").write_bytes(packed)
        if keep or not compression:
            (folder / name).write_bytes(data)
        found.append(described)
    (folder / "index.json").write_text(json.dumps({"shards": found, "version": 2}))


def info(name, data, hashes):
    return {"basename": name, "bytes": len(data), "hashes": {each: digest(each, data) for each in hashes}}


def digest(name, data):
    if name.startswith("xxh"):
        import xxhash

        return getattr(xxhash, name)(data).hexdigest()
    return hashlib.new(name, data).hexdigest()
