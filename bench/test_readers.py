"""Measure readers compared with a plain loop over the same file: lines by Python's iteration, records by sized read()
calls.

The plain loop over TFRecords only extracts the data; ours also checks both CRCs in every record. CSV files become
columns, compared with Python's csv module and NumPy's loadtxt.
"""

import csv
import struct

import numpy as np
import pytest

import pipeline
from pipeline import FIFOQueue, OutOfRangeError, decode_csv
from pipeline.files.tfrecord_writer import TFRecordWriter
from pipeline.readers.fixed import FixedLengthRecordReader
from pipeline.readers.text import TextLineReader
from pipeline.readers.tfrecord import TFRecordReader

COUNT = 200_000


CSV_COUNT, CSV_WIDTH = 20_000, 17


def blocks(reader, name):
    queue = FIFOQueue(1, "string", [()])
    queue.enqueue(str(name))
    queue.close()
    try:
        while True:
            yield reader.read_up_to(queue, 1000).values
    except OutOfRangeError:
        return


def drain(reader, name):
    return sum(map(len, blocks(reader, name)))


def plain_lines(name):
    count = 0
    with open(name, "rb") as file:
        for line in file:
            line.rstrip(b"\r\n")
            count += 1
    return count


def plain_fixed(name, size):
    count = 0
    with open(name, "rb") as file:
        while file.read(size):
            count += 1
    return count


def plain_records(name):
    count = 0
    with open(name, "rb") as file:
        while header := file.read(12):
            (length,) = struct.unpack_from("<Q", header)
            file.read(length)
            file.read(4)
            count += 1
    return count


@pytest.mark.parametrize("whose", ["ours", "python"])
def test_text_lines(measure, tmp_path, whose):
    name = tmp_path / "lines"
    name.write_bytes(b"\n".join(b"%064d" % i for i in range(COUNT)))
    call = (lambda: drain(TextLineReader(), name)) if whose == "ours" else (lambda: plain_lines(name))
    assert call() == COUNT
    measure("read_up_to(1000) of lines of 64 bytes", call, COUNT)


@pytest.mark.parametrize("encoding", ["utf-8", None], ids=["str", "bytes"])
@pytest.mark.parametrize("script", ["ascii", "cyrillic"])
def test_lines_of_text(measure, tmp_path, encoding, script):
    """Measure lines as str, and as the underlying bytes."""
    name = tmp_path / "lines"
    text = ("%064d" if script == "ascii" else "\u0434" * 29 + "%06d").__mod__
    name.write_text("\n".join(map(text, range(COUNT))), encoding="utf-8")
    lines = pipeline.text(name, encoding=encoding)

    def call():
        return sum(map(len, lines.batch(1000)))

    assert call() == COUNT
    measure(f"lines of 64 bytes, {script}, as {'bytes' if encoding is None else 'str'}", call, COUNT)


@pytest.mark.parametrize("whose", ["ours", "python"])
@pytest.mark.parametrize("size", [16, 784])
def test_fixed_length(measure, tmp_path, size, whose):
    name = tmp_path / "fixed"
    name.write_bytes(b"x" * size * COUNT)
    call = (
        (lambda: drain(FixedLengthRecordReader(size), name)) if whose == "ours" else (lambda: plain_fixed(name, size))
    )
    assert call() == COUNT
    measure(f"read_up_to(1000) of fixed-length records of {size} bytes", call, COUNT)


@pytest.mark.parametrize("whose", ["ours", "python"])
@pytest.mark.parametrize("sizes", ["64 bytes", "784 bytes", "1 to 200 bytes"])
def test_tfrecords(measure, tmp_path, sizes, whose):
    name = tmp_path / "records"
    random = np.random.default_rng(1)
    lengths = random.integers(1, 200, COUNT) if "to" in sizes else np.full(COUNT, int(sizes.split()[0]))
    with TFRecordWriter(name) as writer:
        for length in lengths:
            writer.write(b"x" * int(length))
    call = (lambda: drain(TFRecordReader(), name)) if whose == "ours" else (lambda: plain_records(name))
    assert call() == COUNT
    measure(f"read_up_to(1000) of TFRecords of {sizes}", call, COUNT)


def ours_csv(name, dtypes):
    return sum(len(decode_csv(lines, dtypes)[0]) for lines in blocks(TextLineReader(), name))


def python_csv(name, dtypes):
    with open(name, newline="") as file:
        texts = zip(*csv.reader(file), strict=True)
        columns = [np.array(column, dtype) for column, dtype in zip(texts, dtypes, strict=True)]
    return len(columns[0])


def numpy_csv(name, dtypes):
    return len(np.loadtxt(name, dtypes[0], delimiter=","))


@pytest.mark.parametrize("whose", ["ours", "python", "numpy"])
@pytest.mark.parametrize("digits", [4, 17])
def test_csv(measure, tmp_path, digits, whose):
    name = tmp_path / "csv"
    values = np.random.default_rng(1).random((CSV_COUNT, CSV_WIDTH))
    name.write_text("\n".join(",".join(f"{value:.{digits}f}" for value in row) for row in values))
    dtypes = [np.dtype(np.float32)] * CSV_WIDTH
    way = {"ours": ours_csv, "python": python_csv, "numpy": numpy_csv}[whose]
    assert way(name, dtypes) == CSV_COUNT
    measure(f"CSV file, {CSV_WIDTH} float32s of {digits} digits", lambda: way(name, dtypes), CSV_COUNT)
