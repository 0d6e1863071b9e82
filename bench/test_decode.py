"""Measure decoders on blocks compared with plain Python and NumPy."""

import csv

import numpy as np
import pytest

from pipeline import decode_csv
from pipeline.decode.example.features import FixedLenFeature
from pipeline.decode.example.parse import parse_example, parse_single_example
from pipeline.decode.raw import decode_raw
from pipeline.proto.example import BytesList, Example, Feature, Features, FloatList, Int64List

N = 1024
LINES = [b'"%d","name %d",%d.5,"a, b"' % (i, i, i) for i in range(N)]


def example(i, width, name):
    feature = {
        "pixels": Feature(float_list=FloatList(value=np.linspace(0, 1, width))),
        "label": Feature(int64_list=Int64List(value=[i % 10])),
        "name": Feature(bytes_list=BytesList(value=[name % i])),
    }
    return Example(features=Features(feature=feature)).SerializeToString()


@pytest.mark.parametrize("names", ["even", "uneven"])
@pytest.mark.parametrize("width", [4, 784])
@pytest.mark.parametrize("way", ["ours", "python"])
def test_parse_example(measure, way, width, names):
    """Measure a block at once, and its examples singly."""
    block = [example(i, width, b"%04d" if names == "even" else b"%d") for i in range(N)]
    features = {
        "pixels": FixedLenFeature([width], np.float32),
        "label": FixedLenFeature([], np.int64),
        "name": FixedLenFeature([], "string"),
    }

    def one_by_one():
        return [parse_single_example(one, features) for one in block]

    result = measure(
        f"parse_example f32[{width}], {names} names",
        (lambda: parse_example(block, features)) if way == "ours" else one_by_one,
        N,
    )
    assert len(result) == (3 if way == "ours" else N)


@pytest.mark.parametrize("way", ["ours", "numpy"])
def test_decode_raw(measure, way):
    block = [bytes(784)] * N

    def by_numpy():
        return np.stack([np.frombuffer(one, np.uint8) for one in block])

    function = (lambda: decode_raw(block, np.uint8)) if way == "ours" else by_numpy
    assert measure("decode_raw u8[784]", function, N).shape == (N, 784)


@pytest.mark.parametrize("way", ["ours", "python"])
def test_decode_csv_with_quotes(measure, way):
    def by_csv():
        rows = list(csv.reader(line.decode() for line in LINES))
        return [[int(a), b, float(c), d] for a, b, c, d in rows]

    function = (lambda: decode_csv(LINES, [0, "", 0.0, ""])) if way == "ours" else by_csv
    measure("decode_csv, 4 fields with quotes", function, N)
