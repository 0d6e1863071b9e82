"""URLs where only a local path works: an error, and no folder `s3:`."""

import os

import pytest
from helpers import raises

import pipeline

URL = "s3://bucket/name.bin"

CALLS = {
    "write_tokens: path": lambda: pipeline.write_tokens(URL, [[1]]),
    "cache: folder": lambda: pipeline.dataset([1]).cache(URL),
    "save_state: path": lambda: pipeline.save_state(URL, {}),
    "load_state: path": lambda: pipeline.load_state(URL),
    "trace: path": lambda: pipeline.trace(URL).__enter__(),
    "text: index_folder": lambda: pipeline.text("lines.txt", index=True, index_folder=URL),
    "'replay': save: folder": lambda: pipeline.replay(4).save(URL),
    "'replay': load: folder": lambda: pipeline.replay(4).load(URL),
}


@pytest.mark.parametrize("what", CALLS)
def test_a_url(what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines.txt").write_text("a\n")
    with raises(pipeline.InvalidArgumentError, f"{what} must be a path on this machine, got the URL '{URL}': "):
        CALLS[what]()
    assert os.listdir() == ["lines.txt"]
