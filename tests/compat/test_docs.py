"""The programs in docs/migrate.md run, and the one before does what the one after does."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import pipeline
import pipeline.compat.v1 as tf
from pipeline.compat.graph import determinism

ROOT = pathlib.Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "migrate.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def test_there_is_a_program_before_and_after():
    assert len(BLOCKS) == 2
    assert "pipeline.compat.v1" in BLOCKS[0]
    assert "compat" not in BLOCKS[1]


@pytest.mark.parametrize("program", BLOCKS, ids=["before", "after"])
def test_program(program):
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    # 1,797 images in batches of 128.
    assert done.stdout.splitlines() == ["(128, 64) int32"] * 14 + ["end"]


def test_a_program_that_goes_on(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (program,) = re.findall(r"^```python resumed\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    for text, delivered in (("for _ in range(5):", 500), ("while not coord.should_stop():", 3500)):  # of 3,594
        command = [sys.executable, "-c", program.replace("while not coord.should_stop():", text)]
        subprocess.run(command, timeout=120, check=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
        (state,) = pipeline.load_state(tmp_path / "input.state")["queues"].values()
        assert state["delivered"] == delivered


def test_a_hook_that_goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(determinism._Switch, "on", True)
    (hook,) = re.findall(r"^```python hook\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    names = {"tf": tf, "os": os, "pipeline": pipeline}
    exec(hook, names)
    found = []
    for _ in range(3):
        with tf.Graph().as_default():
            batch = tf.train.batch([tf.train.range_input_producer(12, shuffle=False).dequeue()], 4)
            with tf.train.MonitoredSession(hooks=[names["InputState"]()]) as sess:
                found += sess.run(batch).tolist()
    assert found == list(range(12))
