"""Paths that do not exist: errors name the path, and a similar existing one."""

import sys

import pytest
from helpers import raises

import pipeline

CALLS = {
    "csv": pipeline.csv,
    "text": pipeline.text,
    "jsonl": pipeline.jsonl,
    "parquet": pipeline.parquet,
    "feather": pipeline.feather,
    "tfrecord": pipeline.tfrecord,
    "webdataset": pipeline.webdataset,
    "fixed_length": lambda path: pipeline.fixed_length(path, 4),
    "image_folder": pipeline.image_folder,
}


@pytest.mark.parametrize("kind", CALLS)
def test_a_misspelt_name(kind, tmp_path, monkeypatch):
    if kind in ("parquet", "feather"):
        pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("name,age\nAda,36\n")
    with raises(pipeline.NotFoundError, "No such file or directory: 'peopel.csv'. Did you mean 'people.csv'?"):
        CALLS[kind]("peopel.csv")
    whole = tmp_path / "peopel.csv"
    with raises(FileNotFoundError, f"No such file or directory: '{whole}'. Did you mean '{tmp_path}/people.csv'?"):
        CALLS[kind](whole)


def test_a_misspelt_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "train").mkdir(parents=True)
    (tmp_path / "data" / "train" / "a.txt").write_text("x")
    for given, meant in {
        "dta/train/a.txt": "data/train/a.txt",
        "data/trian/a.txt": "data/train/a.txt",
        "./data/train/b.txt": "./data/train/a.txt",
        "data/train/a.txt/": "data/train/a.txt",
    }.items():
        with raises(pipeline.NotFoundError, f"No such file or directory: '{given}'. Did you mean '{meant}'?"):
            pipeline.text(given)


def test_nothing_is_similar(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("")
    for given in ("zzz.csv", "dta/zzz/x.csv", "people.csv/x.csv", "/", "\udcff"):
        if given != "/":
            with pytest.raises(pipeline.NotFoundError) as failed:
                pipeline.text(given)
            assert str(failed.value) == f"No such file or directory: {given!r}"


def test_npy_files(tmp_path):
    (tmp_path / "x.npy").write_bytes(b"")
    with raises(pipeline.NotFoundError, f"No such file or directory: '{tmp_path}/y.npy'. Did you mean '{tmp_path}/x.n"):
        pipeline.arrays(tmp_path / "y.npy")


@pytest.mark.parametrize("text", ["a,b\n1,2\n" * 200, '[{"a": 1}]\n' * 200, "x" * 5000])
def test_a_text_in_the_place_of_a_path(text):
    for source in (pipeline.csv, pipeline.text, pipeline.jsonl):
        with pytest.raises(pipeline.NotFoundError) as failed:
            source(text)
        said = str(failed.value)
        assert said.startswith(f"No such file or directory: {text[:80]!r}... ({len(text):,} characters). Expected a pa")
        assert len(said) < 300
    with pytest.raises(ValueError, match=r"only \.npy files can be read by row") as short:
        pipeline.arrays(text)
    assert len(str(short.value)) < 200


@pytest.mark.parametrize(
    ("module", "name", "call"),
    [
        ("soundfile", "soundfile", lambda: pipeline.audio("a.wav")),
        ("av", "av", lambda: pipeline.video("a.mp4", 4)),
        ("array_record", "array_record", lambda: pipeline.array_record("a")),
        ("lance", "pylance", lambda: pipeline.lance("a.lance")),
        ("vortex", "vortex-data", lambda: pipeline.vortex("a.vortex")),
    ],
)
def test_a_missing_library_is_named_as_pip_knows_it(monkeypatch, module, name, call):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f" needs {name}: pip install {name}$"):
        call()
