"""Every format of files: how to write rows and read them. Tests about all formats take their cases from FORMATS.

A row is made of its number, and has about 100 bytes; in tar files 1 KiB.
"""

import csv
import gzip
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

import pipeline

FILLING = "x" * 80


def write_text(path, rows):
    path.write_text("".join(f"row {row} {FILLING}\n" for row in rows))


def write_gzip(path, rows):
    """Write lines that hardly shrink."""
    lines = (np.random.default_rng(row).bytes(50).hex() for row in rows)
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))


def write_csv(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "y"])
        writer.writerows([row, f"row {row} {FILLING}"] for row in rows)


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps({"x": row, "y": FILLING}) + "\n" for row in rows))


def write_tfrecord(path, rows):
    with pipeline.TFRecordWriter(str(path)) as writer:
        for row in rows:
            writer.write(b"record %0100d" % row)


def write_fixed(path, rows):
    path.write_bytes(b"".join(b"%0100d" % row for row in rows))


def write_tar(path, rows):
    with tarfile.open(path, "w") as archive:
        for row in rows:
            data = b"%0200d" % row
            member = tarfile.TarInfo(f"{row:04}.txt")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


def columns(rows):
    return {"x": np.array(rows, np.int64), "y": np.multiply.outer(rows, np.arange(12.0))}


def write_npy(path, rows):
    with path.open("wb") as file:
        np.save(file, columns(rows)["y"])


def write_npz(path, rows):
    with path.open("wb") as file:
        np.savez(file, **columns(rows))


def write_tokens(path, rows):
    np.repeat(np.array(rows, np.uint16), 50).tofile(path)


def write_lmdb(path, rows):
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open(str(path), subdir=False) as environment, environment.begin(write=True) as transaction:
        for row in rows:
            transaction.put(b"%04d" % row, b"value %0100d" % row)


def table(rows):
    return pytest.importorskip("pyarrow").table({"x": [*rows], "y": [f"{row} {FILLING}" for row in rows]})


def write_parquet(path, rows):
    pytest.importorskip("pyarrow.parquet").write_table(
        table(rows), path, row_group_size=60, compression=None, use_dictionary=False
    )


def write_feather(path, rows):
    feather = pytest.importorskip("pyarrow.feather")
    feather.write_feather(table(rows), str(path), chunksize=60, compression="uncompressed")


class Format(NamedTuple):
    """A format of files.

    Attributes:
        ending: The end of their names.
        write: Writes rows to a path.
        source: The function that reads them.
        options: Its arguments besides the paths.
        several: True if an example is a row, in any number of files.
        web: True if it reads URLs.
        index: True if it takes `index=True`.
        needs: The library that writes them, if it may be missing; "" for none.
    """

    ending: str
    write: Callable[[Any, range], None]
    source: Callable[..., Any]
    options: Mapping[str, Any] = MappingProxyType({})
    several: bool = True
    web: bool = True
    index: bool = False
    needs: str = ""

    def read(self, paths, **options):
        """Return the source over paths."""
        return self.source(paths, **self.options, **options)


FORMATS = {
    "text": Format("txt", write_text, pipeline.text, index=True),
    "text.gz": Format("txt.gz", write_gzip, pipeline.text),
    "csv": Format("csv", write_csv, pipeline.csv),
    "jsonl": Format("jsonl", write_jsonl, pipeline.jsonl, index=True),
    "fixed_length": Format("bin", write_fixed, pipeline.fixed_length, {"record_bytes": 100}),
    "tfrecord": Format("tfrecord", write_tfrecord, pipeline.tfrecord, index=True),
    "webdataset": Format("tar", write_tar, pipeline.webdataset, index=True),
    "npy": Format("npy", write_npy, pipeline.arrays, several=False),
    "npz": Format("npz", write_npz, pipeline.npz, several=False),
    "lmdb": Format("lmdb", write_lmdb, pipeline.lmdb, web=False, needs="lmdb"),
    "tokens": Format(
        "tokens", write_tokens, pipeline.tokens, {"length": 50, "dtype": "uint16"}, several=False, web=False
    ),
    "parquet": Format("parquet", write_parquet, pipeline.parquet, needs="pyarrow"),
    "feather": Format("feather", write_feather, pipeline.feather, needs="pyarrow"),
}
