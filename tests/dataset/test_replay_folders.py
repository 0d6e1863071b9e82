"""Folders of replay buffers that are damaged or forged, or cannot be written."""

import os
import stat

import numpy as np
import pytest
from helpers import run_script

import pipeline


def saved(folder):
    """Save a buffer; return its state as saved, and the folder of its columns."""
    buffer = pipeline.replay(4, priorities=True)
    buffer.add({"x": 1.0, "text": "a"}, priority=1.0)
    buffer.save(folder)
    state = pipeline.load_state(folder / "replay.json")
    return state, folder / state["folder"]


def load(folder):
    pipeline.replay(4, priorities=True).load(folder)


def changed(*path, to):
    """Return a function that changes a value in a state."""

    def change(state):
        for key in path[:-1]:
            state = state[key]
        state[path[-1]] = to

    return change


def without(*path):
    def change(state):
        for key in path[:-1]:
            state = state[key]
        del state[path[-1]]

    return change


FORGED = {
    "folder above": (changed("folder", to="../other"), "names '../other', which is not a file of this folder"),
    "absolute folder": (changed("folder", to="/etc"), "names '/etc', which is not a file of this folder"),
    "parent": (changed("folder", to=".."), "names '..', which is not a file of this folder"),
    "file": (changed("columns", 0, "file", to="../0"), "names '../0', which is not a file of this folder"),
    "device": (changed("priorities", "file", to="/dev/zero"), "names '/dev/zero', which is not a file of this folder"),
    "NUL": (changed("folder", to="a\0"), "is damaged: 'folder' must be a text"),
    "no folder": (without("folder"), "is damaged: 'folder' must be a text"),
    "no columns": (without("columns"), "is damaged: 'columns' must be a list"),
    "column": (changed("columns", 1, to=5), "is damaged: column 1 must be an object"),
    "rows": (changed("columns", 0, "rows", to="x"), "is damaged: 'rows' of column 0 must be an integer"),
    "many rows": (changed("columns", 1, "rows", to=10**15), "1 rows, and 1,000,000,000,000,000 were saved"),
    "checksums": (changed("columns", 1, "crc32", to=[]), "is damaged: 'crc32' of column 1 must be a list of length 2"),
    "priorities": (changed("priorities", to=[1]), "is damaged: the priorities must be an object"),
    "no priorities": (without("priorities"), "is damaged: 'priorities' is missing"),
    "kind": (changed("examples", "kind", to="set"), "is damaged: 'kind' must be dict, tuple or list"),
    "no parts": (without("examples", "parts"), "is damaged: 'parts' must have pairs"),
    "parts": (changed("examples", "parts", to=[[1]]), "is damaged: 'parts' must have pairs"),
    "key": (changed("examples", "parts", 0, 0, to=[]), "is damaged: the keys of 'parts' must be texts"),
    "number": (changed("examples", "parts", 0, 1, to=9), "'examples' must name one of its 2 columns, not 9"),
    "negative": (changed("examples", "parts", 0, 1, to=-1), "'examples' must name one of its 2 columns, not -1"),
    "inserted": (changed("inserted", to="x"), "is damaged: 'inserted' must be an integer"),
    "sampled": (changed("sampled", to=None), "is damaged: 'sampled' must be an integer"),
    "another dtype": (changed("columns", 0, "module", to="os"), ""),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_description_is_damage(name, tmp_path):
    change, text = FORGED[name]
    state, _ = saved(tmp_path / "r")
    if name == "another dtype":
        state["columns"][0]["dtype"] = "system"
    change(state)
    pipeline.save_state(tmp_path / "r" / "replay.json", state)
    with pytest.raises(pipeline.DataLossError) as caught:
        load(tmp_path / "r")
    assert str(tmp_path / "r") in str(caught.value)
    assert text in str(caught.value)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_links_are_not_followed(what, tmp_path):
    _, columns = saved(tmp_path / "r")
    linked = columns if what == "folder" else columns / "0.npy"
    linked.rename(tmp_path / "elsewhere")
    linked.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(pipeline.DataLossError, match=f"^load: '{linked}' is a symbolic link, and links are not"):
        load(tmp_path / "r")


def test_a_pipe_does_not_hang(tmp_path):
    _, columns = saved(tmp_path / "r")
    (columns / "0.npy").unlink()
    os.mkfifo(columns / "0.npy")
    with pytest.raises(pipeline.DataLossError, match=f"^load: '{columns}/0.npy' is not a regular file"):
        load(tmp_path / "r")


def test_all_files_obey_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        saved(tmp_path / "r")
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "r").rglob("*") if path.is_dir()}
    assert modes == {0o750}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "r").rglob("*.*")} == {0o640}


def test_a_file_that_may_not_grow(tmp_path):
    """NumPy's own error does not say that a disk is full."""
    text = f"""
import resource, signal
import numpy as np
import pipeline

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
buffer = pipeline.replay(1000)
buffer.add(np.zeros(1000))
buffer.save({str(tmp_path / "r")!r})
for _ in range(500):
    buffer.add(np.ones(1000))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
try:
    buffer.save({str(tmp_path / "r")!r})
except pipeline.ResourceExhaustedError as error:
    print(error)
"""
    said = f"'replay': save: '{tmp_path / 'r'}': its files may not grow further. The old contents are unchanged"
    assert run_script(text).stdout.strip() == said
    buffer = pipeline.replay(1000)
    buffer.load(tmp_path / "r")
    assert np.array_equal(buffer.state_dict()["examples"], np.zeros((1, 1000)))
    assert len(os.listdir(tmp_path / "r")) == 2
