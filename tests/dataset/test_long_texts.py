"""Lists of texts of which one is long: NumPy's arrays of text would take its length for each."""

import io
import json
import tarfile

import numpy as np
import pytest

import pipeline

LONG = "b" * 3_000_000
TEXTS = ["a"] * 20_000 + [LONG]  # 240 GB as an array of text


def test_batches():
    [batch] = pipeline.dataset([{"x": TEXTS}, {"x": TEXTS}]).batch(2)
    assert batch["x"].shape == (2, 20_001)
    assert batch["x"][1, -1] == LONG
    [batch] = pipeline.dataset([TEXTS, TEXTS[-2:]]).batch(2, pad=0)
    assert batch[:, :3].tolist() == [["a"] * 3, ["a", LONG, ""]]
    [batch] = pipeline.batch(pipeline.dataset([{"x": TEXTS}]), 1)
    assert batch["x"][0, -1] == LONG


def test_arrays():
    [batch] = pipeline.arrays({"x": TEXTS}).skip(20_000).batch(2)
    assert batch["x"].tolist() == [LONG.encode()]


@pytest.mark.parametrize("kind", ["json", "cbor", "mp"])
def test_members_of_archives(kind, tmp_path):
    if kind == "json":
        data = json.dumps(TEXTS).encode()
    elif kind == "cbor":
        data = pytest.importorskip("cbor2").dumps(TEXTS)
    else:
        data = pytest.importorskip("msgpack").packb(TEXTS)
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo(f"0.{kind}")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    [sample] = pipeline.webdataset(path)
    assert sample[kind][-1] in (LONG, LONG.encode())
    assert len(sample[kind]) == 20_001


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["a", 1], "is a list of strings and other values"),
        ([1, "a"], "is a list of strings and other values"),
        (["a", b"b"], "is a list of str and bytes"),
        (["a", ["b"]], "its items differ in shape"),
        ([["a", "b"], ["c"]], "its items differ in shape"),
    ],
)
def test_what_is_no_array_of_texts(value, text):
    with pytest.raises((TypeError, ValueError), match=text):
        list(pipeline.dataset([value]).batch(1))


def test_shapes_of_texts():
    [batch] = pipeline.dataset([[["a", "b"], ["c", "d\0"]]]).batch(1)
    assert batch.tolist() == [[["a", "b"], ["c", "d\0"]]]
    [batch] = pipeline.dataset([["a", None]]).batch(1)
    assert batch.tolist() == [["a", None]]
    [batch] = pipeline.dataset([[np.str_("a"), "b"]]).batch(1)
    assert batch.tolist() == [["a", "b"]]
