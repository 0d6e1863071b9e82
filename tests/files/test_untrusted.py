"""Files of others: nothing is unpickled, extracted or run, and names are escaped. docs/security.md promises it."""

import io
import json
import os
import pickle
import tarfile
import zipfile
import zlib

import numpy as np
import pytest
from helpers import run_script
from tracing import memory_below

import pipeline


class Runs:
    """Makes a file when it is unpickled."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return os.mkdir, (self.marker,)


@pytest.fixture(name="marker")
def _marker(tmp_path):
    """The file that a pickle would make."""
    marker = tmp_path / "it ran"
    yield marker
    assert not marker.exists()


def npy_of(value):
    file = io.BytesIO()
    np.save(file, np.array([value], object), allow_pickle=True)
    return file.getvalue()


def npz_of(data, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("a.npy", data)
    return file.getvalue()


def tar_of(files, kind=tarfile.REGTYPE):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.type = len(data), kind
            archive.addfile(member, io.BytesIO(data))
    return file.getvalue()


@pytest.mark.parametrize("mapped", [False, True])
def test_npy(tmp_path, marker, mapped):
    (tmp_path / "a.npy").write_bytes(npy_of(Runs(marker)))
    with pytest.raises(ValueError, match=r"a\.npy"):
        list(pipeline.arrays(tmp_path / "a.npy", memory_map=mapped))


def test_npz(tmp_path, marker):
    (tmp_path / "a.npz").write_bytes(npz_of(npy_of(Runs(marker))))
    with pytest.raises(pipeline.OpError, match=r"a\.npz"):
        list(pipeline.npz(tmp_path / "a.npz"))


@pytest.mark.parametrize("name", ["npy", "npz"])
def test_arrays_in_shards(tmp_path, marker, name):
    data = npy_of(Runs(marker)) if name == "npy" else npz_of(npy_of(Runs(marker)))
    (tmp_path / "a.tar").write_bytes(tar_of({f"0.{name}": data}))
    with pytest.raises(pipeline.OpError, match=r"a\.tar: sample '0'"):
        list(pipeline.webdataset(tmp_path / "a.tar"))


@pytest.mark.parametrize("name", ["pickle", "pkl", "pyd", "pth", "pt", "ten", "tb"])
def test_pickles_in_shards_stay_bytes(tmp_path, marker, name):
    data = pickle.dumps(Runs(marker))
    (tmp_path / "a.tar").write_bytes(tar_of({f"0.{name}": data}))
    [sample] = pipeline.webdataset(tmp_path / "a.tar")
    assert sample[name] == data


def test_states(tmp_path, marker):
    data = pickle.dumps(Runs(marker))
    for text in (data, data + b"crc32 %08x\n" % zlib.crc32(data)):
        (tmp_path / "state").write_bytes(text)
        with pytest.raises(pipeline.DataLossError, match="the state is damaged"):
            pipeline.load_state(tmp_path / "state")


def test_replay_buffers(tmp_path, marker):
    buffer = pipeline.replay(4)
    buffer.add({"x": 1.0})
    buffer.save(tmp_path / "replay")
    [path] = (tmp_path / "replay").glob("columns-*/0.npy")
    path.write_bytes(npy_of(Runs(marker)))
    state = pipeline.load_state(tmp_path / "replay" / "replay.json")
    state["columns"][0]["crc32"] = [zlib.crc32(path.read_bytes())]
    pipeline.save_state(tmp_path / "replay" / "replay.json", state)
    with pytest.raises(pipeline.DataLossError, match="replay"):
        pipeline.replay(4).load(tmp_path / "replay")


def test_mds(tmp_path, marker):
    data = pickle.dumps(Runs(marker))
    size = 12 + 4 + len(data)
    shard = b"".join(number.to_bytes(4, "little") for number in (1, 12, size, len(data))) + data
    (tmp_path / "shard.mds").write_bytes(shard)
    about = {"basename": "shard.mds", "bytes": size, "hashes": {}}
    names = {"column_names": ["x"], "column_encodings": ["pkl"], "column_sizes": [None]}
    given = {"format": "mds", "version": 2, "samples": 1, "raw_data": about, "zip_data": None, "compression": None}
    (tmp_path / "index.json").write_text(json.dumps({"version": 2, "shards": [{**given, **names}]}))
    with pytest.raises(ValueError, match="has pickles, which can run any code"):
        list(pipeline.mds(tmp_path))


def test_lmdb_values_stay_bytes(tmp_path, marker):
    lmdb = pytest.importorskip("lmdb")
    data = pickle.dumps(Runs(marker))
    with lmdb.open(str(tmp_path / "a"), subdir=False) as database, database.begin(write=True) as transaction:
        transaction.put(b"k", data)
        transaction.put(data[:100], b"v")
    found = dict(pipeline.lmdb(tmp_path / "a", index_folder=tmp_path / "index"))
    assert found == {b"k": data, data[:100]: b"v"}


@pytest.mark.parametrize("kind", ["parquet", "feather", "stream"])
@pytest.mark.parametrize("extension", ["arrow.py_extension_type", "of.nobody"])
@pytest.mark.filterwarnings("ignore:pickle-based")  # of versions that have it
def test_arrow_extension_types(tmp_path, marker, kind, extension):
    """Old versions of pyarrow unpickled the description of a type called arrow.py_extension_type."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    about = {b"ARROW:extension:name": extension.encode(), b"ARROW:extension:metadata": pickle.dumps(Runs(marker))}
    field, column = pyarrow.field("x", pyarrow.int64(), metadata=about), pyarrow.array([1, 2])
    path = tmp_path / "a"
    table = pyarrow.Table.from_arrays([column], schema=pyarrow.schema([field]))
    if kind == "parquet":
        parquet.write_table(table, path)
    else:
        make = pyarrow.ipc.new_file if kind == "feather" else pyarrow.ipc.new_stream
        with make(path, table.schema) as writer:
            writer.write_table(table)
    source = pipeline.parquet if kind == "parquet" else pipeline.feather
    assert [row["x"] for row in source(path)] == [1, 2]


def test_descriptions_in_tables(tmp_path, marker):
    """Metadata for pandas is not read, and bytes stay bytes."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    data = pickle.dumps(Runs(marker))
    table = pyarrow.table({"x": [data]}).replace_schema_metadata({b"pandas": data, data: data})
    parquet.write_table(table, tmp_path / "a")
    assert [row["x"] for row in pipeline.parquet(tmp_path / "a")] == [data]
    parquet.write_table(table.replace_schema_metadata({b"ARROW:schema": data}), tmp_path / "b")
    with pytest.raises(pipeline.DataLossError, match="base64"):
        list(pipeline.parquet(tmp_path / "b"))


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
@pytest.mark.parametrize("index", [False, True])
def test_nothing_is_extracted(tmp_path, monkeypatch, kind, index):
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    names = {"../outside.txt": b"x", str(tmp_path / "absolute.txt"): b"x"}
    (folder / "a.tar").write_bytes(tar_of(names, kind))
    options = {"index": True, "index_folder": tmp_path / "index"} if index else {}
    try:
        found = [sample["txt"] for sample in pipeline.webdataset(folder / "a.tar", **options)]
    except pipeline.OpError:
        found = []
    assert found in ([], ["x", "x"])
    assert {path.name for path in tmp_path.rglob("*.txt")} == set()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_bombs_that_zip_does_not_limit(tmp_path, method):
    """4,096 bytes of bzip2 can become gigabytes at once."""
    (tmp_path / "a.tar").write_bytes(tar_of({"0.npz": npz_of(bytes(64 << 20), method)}))
    with memory_below(16 << 20), pytest.raises(pipeline.InvalidArgumentError, match="is compressed by method"):
        list(pipeline.webdataset(tmp_path / "a.tar"))


def test_check_does_not_run_the_program(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(f"import tensorflow as tf\nimport os\nos.mkdir({str(tmp_path / 'it ran')!r})\ntf.train.batch\n")
    done = run_script(f"from pipeline.command.cli import main; main(['check', {str(program)!r}])")
    assert "program.py" in done.stdout, done.stderr
    assert not (tmp_path / "it ran").exists()


def test_check_does_not_run_a_notebook(tmp_path, marker):
    code = f"import pickle\npickle.loads({pickle.dumps(Runs(marker))!r})\n"
    cell = {"cell_type": "code", "source": code, "metadata": {}, "outputs": [], "execution_count": None}
    notebook = tmp_path / "notebook.ipynb"
    notebook.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    done = run_script(f"from pipeline.command.cli import main; main(['check', {str(notebook)!r}])")
    assert "notebook.ipynb: a notebook" in done.stderr


def test_names_in_html_are_escaped(tmp_path):
    evil = "<script>alert(1)</script>"

    def function(line):
        return line

    function.__name__ = function.__qualname__ = evil
    path = tmp_path / "<img onerror=alert(1)>.txt"
    path.write_text("a\nb\n")
    with iter(pipeline.text(path).map(function)) as lines:
        list(lines)
        shown = [lines._repr_html_(), str(pipeline.draw(lines))]  # private: as a notebook calls it
    queue = pipeline.FIFOQueue(2, "int32", [()], name=evil)
    for text in [*shown, str(pipeline.draw(queue))]:
        assert "<script" not in text
        assert "<img" not in text
    assert "&lt;script" in shown[0]
