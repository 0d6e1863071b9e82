"""What docs/migrate.md says of programs that are killed: they go on. (tests/docs runs all of its programs.)"""

import os
import pathlib
import re
import subprocess
import sys

import pipeline
import pipeline.compat.v1 as tf
from pipeline.compat.graph import determinism

ROOT = pathlib.Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "migrate.md").read_text()


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
    (hook,) = re.findall(r"^```python\n(class InputState.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    names = {"tf": tf, "os": os, "pipeline": pipeline}
    exec(hook, names)
    found = []
    for _ in range(3):
        with tf.Graph().as_default():
            batch = tf.train.batch([tf.train.range_input_producer(12, shuffle=False).dequeue()], 4)
            with tf.train.MonitoredSession(hooks=[names["InputState"]()]) as sess:
                found += sess.run(batch).tolist()
    assert found == list(range(12))
