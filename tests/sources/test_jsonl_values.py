"""JSON values arrive exactly as written, or not at all: in jsonl and webdataset, datasets and batch functions."""

import io
import json
import tarfile

import numpy as np
import pytest

import pipeline

LARGEST, LARGE = 2**64 - 1, 2**53 + 1


@pytest.fixture
def source(tmp_path):
    def make(*rows, **options):
        path = tmp_path / "a.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return pipeline.jsonl(str(path), **options)

    return make


def by_dataset(source, n):
    (batch,) = source.batch(n)
    return batch


def by_function(source, n):
    (batch,) = pipeline.batch(source, n)
    return batch


WAYS = pytest.mark.parametrize("batched", [by_dataset, by_function], ids=["dataset", "batch"])


@WAYS
def test_integers_keep_their_digits_in_lists(source, batched):
    batch = batched(source({"a": [LARGEST, LARGE]}), 1)
    assert (batch["a"].dtype, batch["a"].tolist()) == (np.uint64, [[LARGEST, LARGE]])


def test_integers_keep_their_digits(source):
    batch = by_dataset(source({"a": LARGEST}, {"a": LARGE}), 2)
    assert (batch["a"].dtype, batch["a"].tolist()) == (np.uint64, [LARGEST, LARGE])
    for rows in ([LARGEST, -LARGE], [0.5, LARGE]):
        with pytest.raises(pipeline.InvalidArgumentError, match="float64 cannot represent the integer"):
            by_dataset(source(*({"a": each} for each in rows)), 2)
    assert by_function(source({"a": 1}, {"a": LARGEST}), 2)["a"].tolist() == [1, LARGEST]
    assert by_dataset(source({"a": 0.5}, {"a": 2**60}), 2)["a"].tolist() == [0.5, 2.0**60]


@WAYS
def test_numbers_and_strings_in_one_list(source, batched):
    with pytest.raises((TypeError, ValueError), match=r"is a list of strings and other values: \[1, 'x'\]"):
        batched(source({"a": [1, "x"]}, {"a": [2.5, "y"]}), 2)


@WAYS
def test_strings_in_lists(source, batched):
    rows = [["ab", "c\0"], ["abc", "d"]]
    assert batched(source({"l": rows[0]}, {"l": rows[1]}), 2)["l"].tolist() == rows


@WAYS
def test_an_empty_list_before_lists_of_objects(source, batched):
    for rows in ([[{"r": "u"}], []], [[], [{"r": "u"}]], [[], [], [[1], [2, 3]]]):
        assert batched(source(*({"m": row} for row in rows)), len(rows))["m"].tolist() == rows
    assert source({"m": []}, {"m": [{"r": 1}]}).batch(2, pad=0).map(lambda batch: batch["m"].tolist()).take(1)
    (batch,) = source({"m": []}, {"m": [1, 2]}).batch(2, pad=0)
    assert batch["m"].tolist() == [[0, 0], [1, 2]]


@pytest.mark.parametrize(
    ("value", "pad"),
    [(7, 0), (7, -1), (7, {"t": 0}), (0.5, 0.0), (True, False), ("é", "")],
)
def test_batches_of_empty_lists_have_the_dtype_of_the_others(value, pad):
    rows = pipeline.dataset([{"t": [], "n": i} for i in range(2)] + [{"t": [value], "n": 2}, {"t": [], "n": 3}])
    empty, full = rows.batch(2, pad=pad)
    assert empty["t"].dtype == full["t"].dtype
    assert empty["t"].shape == (2, 0)
    assert full["t"][0] == value


def test_batches_of_empty_lists_of_files(source):
    rows = source({"t": []}, {"t": []}, {"t": [1, 2]})
    assert [batch["t"].dtype for batch in rows.batch(2, pad=0)] == [np.int64, np.int64]
    assert [batch["t"].dtype for batch in rows.batch(2, collate="pad")] == [np.int64, np.int64]
    buckets = rows.bucket([1], [2, 2], length=lambda row: len(row["t"]), pad=0)
    assert [batch["t"].dtype for batch in buckets] == [np.int64, np.int64]


def test_empty_arrays_keep_their_dtype_beside_empty_lists():
    rows = pipeline.dataset([{"t": []}, {"t": np.empty(0, np.int8)}])
    (batch,) = rows.batch(2, pad=1)
    assert batch["t"].dtype == np.int8


def test_rows_do_not_share_defaults(source):
    rows = source({"i": 1}, {"i": 2}, {"i": 3, "l": [5]}, defaults={"l": []})

    def append(row):
        row["l"].append(row["i"])
        return row["l"]

    for data in (rows, rows, source({"i": 1}, {"i": 2}, {"i": 3, "l": [5]}, columns=["i", "l"], defaults={"l": []})):
        assert list(data.map(append)) == [[1], [2], [5, 3]]


def shard(path, *values):
    with tarfile.open(path, "w") as archive:
        for i, value in enumerate(values):
            data = json.dumps(value).encode()
            member = tarfile.TarInfo(f"{i}.json")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return pipeline.webdataset(str(path), ["json"])


def test_samples_of_webdataset(tmp_path):
    path = tmp_path / "a.tar"
    (sample,) = shard(path, [LARGEST, LARGE])
    assert (sample["json"].dtype, sample["json"].tolist()) == (np.uint64, [LARGEST, LARGE])
    (sample,) = shard(path, ["x", None])
    assert sample["json"].tolist() == ["x", None]
    for mixed in ([1, "x"], [True, "x"]):
        (sample,) = shard(path, mixed)
        assert sample["json"] == [mixed[0], "x"]


def test_samples_that_have_a_value_twice_are_left_out(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for name in ("a.txt", "b.txt", "b.txt", "c.txt", "d.txt", "d.txt", "e.txt"):
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(name[:1].encode()))
    source = pipeline.webdataset(str(path), ["txt"])
    with pipeline.batch(source, 1, on_error="skip") as batches:
        assert [batch["txt"][0] for batch in batches] == ["a", "c", "e"]
        assert batches.num_errors == 2
    with iter(source.map(lambda sample: sample["txt"], on_error="skip")) as samples:
        assert list(samples) == ["a", "c", "e"]
        assert samples.num_errors == 2
    with pytest.raises(pipeline.InvalidArgumentError, match=r"a\.tar: sample 'b' has 'txt' twice"):
        list(source)
