"""Errors of function= name what the item came from: the file of an image, shard and key of a sample, file and row."""

import io
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import pipeline
from pipeline.explain.live import mappings

BAD = 7


def fails_at_bad(example):
    if isinstance(example, tuple):
        return pipeline.decode_image(example[0], channels=3), example[1]
    if example.get("n", example.get("cls")) == BAD:
        raise ValueError("odd")
    return example


def images(folder):
    (folder / "cat").mkdir()
    for i in range(10):
        data = pipeline.encode_png(np.zeros((4, 4, 3), np.uint8)) if i != BAD else b"nonsense"
        (folder / "cat" / f"{i}.png").write_bytes(data)
    return pipeline.image_folder(folder, decode=None), f"{folder}/cat/{BAD}.png"


def samples(folder):
    path = folder / "s.tar"
    with tarfile.open(path, "w") as archive:
        for i in range(10):
            member = tarfile.TarInfo(f"a/{i:03}.cls")
            member.size = 1
            archive.addfile(member, io.BytesIO(b"%d" % i))
    return pipeline.webdataset(path), f"{path}:a/{BAD:03}"


def rows(folder):
    for i in range(2):
        table = pa.table({"n": range(5 * i, 5 * i + 5)})
        pa.parquet.write_table(table, folder / f"{i}.parquet", row_group_size=2)
    return pipeline.parquet(f"{folder}/*.parquet"), f"{folder}/1.parquet:2"


WAYS = {
    "plain": {},
    "inline": {"num_threads": 0},
    "threads": {"workers": pipeline.threads(2)},
    "processes": {"workers": pipeline.processes(1)},
    "ordered": {"deterministic": True},
    "ordered inline": {"deterministic": True, "num_threads": 0},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [images, samples, rows])
def test_names(make, way, tmp_path):
    source, name = make(tmp_path)
    with pytest.raises(ValueError, match=r"odd|Unknown image") as caught:
        list(pipeline.batch(source, 2, function=fails_at_bad, **WAYS[way]))
    assert caught.value.record_key == name
    if hasattr(caught.value, "__notes__"):
        assert caught.value.__notes__[0].endswith(f": item {BAD}, {name}")
    with pipeline.batch(source, 2, function=fails_at_bad, on_error="skip", **WAYS[way]) as batches:
        assert len(list(batches)) == 4
    assert [error.record_key for error in batches.errors] == [name]


def test_a_key_of_a_record_stays(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("n\n" + "1\n" * 20 + "x\n" + "2\n" * 20)
    source = pipeline.csv(path, dtypes=int)
    for options in ({}, {"num_threads": 0}, {"deterministic": True}):
        with pipeline.batch(source, 5, function=dict, on_error="skip", **options) as batches:
            assert sum(len(batch["n"]) for batch in batches) == 40
        assert [error.record_key for error in batches.errors] == [f"{path}:22".encode()]


@pytest.mark.parametrize("options", [{}, {"deterministic": True}], ids=str)
def test_what_was_delivered_is_forgotten(options, tmp_path):
    """Of a run without end nothing is kept but the items that are under way."""
    images(tmp_path)
    (tmp_path / "cat" / f"{BAD}.png").unlink()
    before = {number for number, _ in mappings.numbered()}
    source = pipeline.image_folder(tmp_path, decode=None, num_epochs=None)
    with pipeline.batch(source, 5, 1, 10, function=fails_at_bad, **options) as batches:
        for _ in range(200):
            next(batches)
        (mapping,) = (thing for number, thing in mappings.numbered() if number not in before)
        assert len(mapping._placed._blocks) < 200
