"""A loop loses no value in silence: an example of another dtype than the first is cast only if its values stay."""

import io
import json
import tarfile

import numpy as np
import pytest
from orchestration import fresh_collection, no_thread_left

import pipeline
from pipeline import batch

LOST = [
    (np.int64(0), np.float64(0.75)),
    (np.int64(0), np.float64(np.nan)),
    (np.uint8(7), np.float64(300)),
    (np.bool_(True), np.int64(5)),
    (np.float64(0), np.complex128(1j)),
    (np.float32(0), np.float64(1e300)),
    (np.float64(0), np.int64(2**53 + 1)),
    (np.datetime64("2020-05-05"), np.datetime64("2020-05-05T12")),
    (np.timedelta64(1, "D"), np.timedelta64(1, "h")),
]
KEPT = [
    (np.int64(0), np.int32(7)),
    (np.int64(0), np.bool_(True)),
    (np.float64(0), np.int64(2**53)),
    (np.float32(0), np.float64(0.1)),
    (np.float32(0), np.float64(np.inf)),
    (np.float32(0), np.float64(np.nan)),
    (np.complex64(0), np.float64(1.5)),
    (np.datetime64("2020-05-05T12"), np.datetime64("2020-05-05")),
    (np.datetime64("2020-05-05"), np.datetime64("NaT", "h")),
    (np.int32(0), np.zeros(0, np.float64)),
]


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


def shards(folder, extension, *contents):
    """A tar for each content, with two samples of it."""
    names = []
    for i, content in enumerate(contents):
        names.append(str(folder / f"{i}.tar"))
        with tarfile.open(names[-1], "w") as tar:
            for j in range(2):
                member = tarfile.TarInfo(f"s{i}{j}.{extension}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return names


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize("options", [{}, {"num_threads": 0}, {"deterministic": True}, {"function": lambda each: each}])
@pytest.mark.parametrize(("first", "second"), LOST)
def test_what_a_cast_would_lose_is_refused(first, second, options):
    with pytest.raises(TypeError, match=rf"'score'.*{first.dtype}.*{second.dtype}".replace("[", r"\[")):
        list(batch([{"score": first}, {"score": second}], 2, **options))
    rows = [{"score": np.stack([each, each])} for each in (first, second)]
    with pytest.raises(TypeError, match=r"'score'.*would be lost"):
        list(batch(rows, 2, **options))


@pytest.mark.parametrize(("first", "second"), KEPT)
def test_what_a_cast_keeps_is_cast(first, second):
    loop = batch([[first], [second]], 2, dynamic_pad=second.ndim > 0, shapes=[(None,)] if second.ndim else None)
    if second.ndim:
        loop = batch([{"a": np.atleast_1d(first)}, {"a": second}], 2, ragged="pad")
        assert next(loop)["a"].dtype == first.dtype
        return
    got = next(loop)
    assert got.dtype == first.dtype
    np.testing.assert_array_equal(got[1], second.astype(first.dtype))


@pytest.mark.parametrize("options", [{}, {"num_threads": 0}, {"deterministic": True}, {"function": lambda each: each}])
def test_fields_keep_their_values(options):
    """Whatever their order of bytes, and how they are aligned."""
    kind = np.dtype([("n", ">i4"), ("x", ">f8", 2), ("word", "S3"), ("bits", "V2")], align=True)
    rows = np.array([(i, (i, np.nan), b"%d" % i, bytes([i, 1])) for i in range(6)], kind)
    for source in (rows, list(rows), pipeline.arrays(rows, shuffle=True, seed=1)):
        [got] = batch(source, 6, **options)
        assert got.dtype.names == kind.names
        got = got[np.argsort(got["n"])]
        for name in kind.names:
            np.testing.assert_array_equal(got[name], rows[name])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([("a", "i4"), ("b", "i4")], [("b", "i4"), ("a", "i4")]),
        ([("a", "i1"), ("b", "i4")], [("a", "i8"), ("b", "i4")]),
        ([("a", "S2"), ("b", "i4")], [("a", "S4"), ("b", "i4")]),
        ([("a", "V2"), ("b", "i4")], [("a", "V4"), ("b", "i4")]),
    ],
)
def test_fields_that_would_lose_values_are_refused(first, second):
    value = {"V": b"abcd", "S": b"abcd"}.get(second[0][1][0], 1000)
    rows = [np.zeros((), first), np.array((value, 2), second)]
    with pytest.raises(TypeError, match=r"component 0.*would be lost"):
        list(batch(rows, 2))


def test_integers_that_do_not_fit_are_out_of_range():
    with pytest.raises(OverflowError, match=r"'n'.*1099511627776 is out of the range of int32"):
        list(batch([{"n": np.zeros(1, np.int32)}, {"n": np.full(1, 2**40)}], 2))


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize(
    ("extension", "contents"),
    [
        ("json", [json.dumps({"score": 1}).encode(), json.dumps({"score": 0.25}).encode()]),
        ("json", [json.dumps({"score": 1}).encode(), json.dumps({"score": 2.0**70}).encode()]),
        ("json", [json.dumps({"score": True}).encode(), json.dumps({"score": 5}).encode()]),
        ("npy", [npy(np.uint8(0)), npy(np.float64(300))]),
    ],
)
def test_shards_that_differ_in_dtype(tmp_path, extension, contents, deterministic):
    source = pipeline.webdataset(shards(tmp_path, extension, *contents), columns=[extension])
    with pytest.raises(TypeError, match=f"'{extension}.*would be lost"):
        list(batch(source, 2, deterministic=deterministic))


class Scores:
    """A dataset whose later scores are floats."""

    def __len__(self):
        return 8

    def __getitem__(self, number):
        return {"score": 1 if number < 4 else 0.25}


def test_blocks_of_a_dataset_that_differ_in_dtype():
    with pytest.raises(TypeError, match=r"'score'.*int64.*float64.*0\.25"):
        list(batch(pipeline.arrays(Scores()), 4, num_threads=0, capacity=4))


@pytest.mark.parametrize("options", [{"dynamic_pad": True}, {"ragged": "pad"}, {"ragged": "row_splits"}])
def test_rows_that_vary_in_length_keep_their_values(options):
    with pytest.raises(TypeError, match=r"'a'.*would be lost"):
        list(batch([{"a": np.arange(2)}, {"a": np.full(3, 0.5)}], 2, **options))


@pytest.mark.parametrize("deterministic", [False, True])
def test_buckets_keep_values(deterministic):
    rows = [{"a": np.arange(2)}, {"a": np.full(2, 0.5)}]
    loop = pipeline.bucket_by_sequence_length(lambda each: 2, rows, 2, [5], deterministic=deterministic)
    with pytest.raises(TypeError, match="would be lost"):
        list(loop)


def test_queues_that_are_used_by_hand_cast():
    queue = pipeline.FIFOQueue(2, "int64", [()])
    queue.enqueue(np.float64(0.75))
    assert queue.dequeue() == 0


@pytest.mark.parametrize(
    ("first", "second", "error", "text"),
    [
        ({"a": 1}, {"a": 0.5}, TypeError, "'a'.*float64"),
        ({"a": "x"}, {"a": 1}, TypeError, "'a'.*expected bytes or str"),
        ({"a": 1}, {"a": "x"}, TypeError, "'a'.*int64"),
        ({"a": 1}, {"b": 1}, pipeline.errors.InvalidArgumentError, r"the keys \['b'\]"),
        ({"a": [1]}, {"a": [1, 2]}, pipeline.errors.InvalidArgumentError, "'a': examples differ in shape"),
    ],
)
def test_samples_that_differ_are_named(tmp_path, first, second, error, text):
    name = str(tmp_path / "a.tar")
    with tarfile.open(name, "w") as tar:
        for i, each in enumerate([first, first, second]):
            content = json.dumps(each).encode()
            member = tarfile.TarInfo(f"s{i}.json")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    with pytest.raises(error, match=f"{name}: sample 's2': 'json'.*{text}"):
        next(batch(pipeline.webdataset(name, columns=["json"]), 3))
