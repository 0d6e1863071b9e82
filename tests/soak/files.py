"""Makes input files with faults, and the results expected from a reader that skips them."""

import functools
import gzip
import os
from typing import NamedTuple

from pipeline import Example, Feature, Features, FloatList, Int64List
from pipeline.files.tfrecord_writer import TFRecordWriter

LONGEST = 1 << 14  # bytes per record, the limit for the readers
WIDTH = 16  # numbers next to an example's id


class Input(NamedTuple):
    """One file: its path, the ids a reader must find, those it may find, and its fault, or ""."""

    path: str
    certain: range
    possible: range
    fault: str


def make_inputs(directory, kind, count, rng):
    """Write `count` example files with ids from 0 on; `kind` is "csv", "tfrecord" or "gzip"."""
    made, first = [], 0
    for i in range(count):
        size = rng.choice([0, 1, 50, 500, 2000])
        fault = rng.choice(["", "", "", "missing", "damaged", "endless", "directory"])
        path = os.path.join(directory, f"part {i}\n\udcff.{kind}")
        made.append(_make(path, kind, range(first, first + size), fault if size else "", rng))
        first += size
    return made


def _make(path, kind, ids, fault, rng):
    nothing = ids[:0]
    if fault == "missing":
        return Input(path, nothing, nothing, fault)
    if fault == "directory":
        os.mkdir(path)
        return Input(path, nothing, nothing, fault)
    at = rng.randrange(len(ids)) if fault else len(ids)
    if kind == "csv":
        lines = [_line(one) for one in ids]
        if fault == "endless":
            lines[at] = b"9" * (LONGEST * 4)
        elif fault == "damaged":  # cut within a line, which turns it into another line
            return _write(path, b"".join(line + b"\n" for line in lines[:at]), Input(path, ids[:at], ids[:at], fault))
        return _write(path, b"".join(line + b"\n" for line in lines), Input(path, ids[:at], ids[:at], fault))
    places = []
    with TFRecordWriter(path) as writer:
        for i, one in enumerate(ids):
            record = b"x" * (LONGEST * 4) if fault == "endless" and i == at else _example(one)
            writer.write(record)
            places.append(len(record) + 16)
    with open(path, "rb") as file:
        data = bytearray(file.read())
    if fault == "damaged":
        data[sum(places[:at]) + 12] ^= 1
    if kind == "gzip":
        data = bytearray(gzip.compress(data, 1))
        if fault == "damaged" and rng.random() < 0.5:  # any record before the cut may be found
            return _write(path, data[: rng.randrange(len(data))], Input(path, nothing, ids[:at], "cut"))
    return _write(path, data, Input(path, ids[:at], ids[:at], fault))


def _write(path, data, made):
    with open(path, "wb") as file:
        file.write(data)
    return made


@functools.cache  # ids begin at 0 in every round
def _line(one):
    return b",".join(b"%d" % number for number in (one, *[one % 97] * WIDTH))


@functools.cache
def _example(one):
    feature = {
        "id": Feature(int64_list=Int64List(value=[one])),
        "values": Feature(float_list=FloatList(value=[one % 97] * WIDTH)),
    }
    return Example(features=Features(feature=feature)).SerializeToString()
