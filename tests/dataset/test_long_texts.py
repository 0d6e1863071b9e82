"""Lists with one long text: NumPy's text arrays would use its length for every element."""

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


def test_zeros_at_the_end_and_long_texts_through_queues():
    """NumPy's byte arrays drop trailing zeros."""
    texts = [b"a\0", b"b", b"\0"]
    rows = pipeline.input_producer(texts, num_epochs=1, shuffle=False)
    slices = pipeline.slice_input_producer([texts], num_epochs=1, shuffle=False)
    with pipeline.Coordinator() as coord:
        pipeline.start_queue_runners(coord=coord)
        assert list(rows) == texts
        assert [slices()[0] for _ in texts] == texts
    for make in (pipeline.stack, pipeline.concatenate, pipeline.pad):
        assert make([texts, texts]).reshape(-1).tolist() == texts * 2
    (example,) = pipeline.batch([{"x": texts}], 1)
    assert example["x"].tolist() == [texts]
    buffer = pipeline.replay(1)
    buffer.add({"x": texts})
    assert next(iter(buffer.batch(1)))["x"].tolist() == [texts]
    (batch,) = pipeline.batch([{"x": TEXTS}], 1)
    assert batch["x"][0, -1] in (LONG, LONG.encode())


@pytest.mark.parametrize("make", [pipeline.input_producer, lambda given: pipeline.slice_input_producer([given])])
@pytest.mark.parametrize("given", [["a", 1], [1, "a"], ["a", b"b"]])
def test_lists_that_are_not_of_one_kind_of_texts(make, given):
    with pytest.raises(TypeError, match="is a list of str"):
        make(given)


def test_arrays():
    [batch] = pipeline.arrays({"x": TEXTS}).skip(20_000).batch(2)
    assert batch["x"].tolist() == [LONG]


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
    assert sample[kind][-1] == LONG
    assert len(sample[kind]) == 20_001


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["a", 1], "is a list of strings and other values"),
        ([1, "a"], "is a list of strings and other values"),
        (["a", b"b"], "is a list of str and bytes"),
        (["a", ["b"]], "whose items differ in shape"),
        ([["a", "b"], ["c"]], "whose items differ in shape"),
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
