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
