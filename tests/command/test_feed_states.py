"""`python -m pipeline feed --deterministic`: fingerprints, states, and resuming."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest
from helpers import wait_until

import pipeline
from pipeline.command.cli import main
from pipeline.command.feed import FilePipeline, Settings

DIGITS = pathlib.Path(__file__).parents[2] / "examples" / "data" / "digits.csv"


@pytest.fixture
def state(tmp_path):
    return tmp_path / "feed.state"


def feed(capsys, *arguments):
    """Run `feed --deterministic` in this process; return status, stdout and stderr."""
    status = main(["feed", "--deterministic", *map(str, arguments)])
    return status, *capsys.readouterr()


def report(capsys, *arguments):
    seed = [] if "--no-shuffle" in arguments else ["--seed", 1]
    status, out, err = feed(capsys, *arguments, *seed, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


@pytest.fixture
def blanks(tmp_path):
    """Files with empty lines, so that a block may have to read more than once."""
    for name, count in ("a", 700), ("b", 3), ("c", 1200):
        (tmp_path / name).write_text("".join(f"{i},{name}\n" if i % 5 else "\n" * 700 for i in range(count)))
    return [tmp_path / name for name in "abc"]


@pytest.mark.parametrize("shuffle", ["--shuffle", "--no-shuffle"])
def test_fingerprints(capsys, blanks, shuffle):
    """The same for any thread count and any capacity."""
    options = ["--epochs", 2, *(["--min-after-dequeue", 300] if shuffle == "--shuffle" else [])]
    prints = {
        report(capsys, *blanks, shuffle, *options, "--threads", threads, "--capacity", capacity)["fingerprint"]
        for threads, capacity in [(1, 301), (2, 500), (7, 5000)]
    }
    (only,) = prints
    assert only.startswith(f"{2 * (560 + 2 + 960)}-")


def test_fingerprints_differ_by_seed(capsys):
    one, other = (json.loads(feed(capsys, DIGITS, "--seed", seed, "--json")[1])["fingerprint"] for seed in (1, 2))
    assert one != other


def test_the_text_has_the_fingerprint(capsys):
    got = report(capsys, DIGITS)
    status, out, _ = feed(capsys, DIGITS, "--seed", 1)
    assert (status, out.splitlines()[2]) == (0, f"fingerprint {got['fingerprint']}")


def test_without_it_there_is_none(capsys):
    assert main(["feed", str(DIGITS), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fingerprint"] is None


def test_the_state_at_the_end(capsys, state):
    whole = report(capsys, DIGITS, "--save-state", state)
    saved = pipeline.load_state(state)
    assert saved["delivered"] == {"batches": 15, "elements": 1797}
    again = report(capsys, DIGITS, "--resume", state)
    assert (again["examples"], again["fingerprint"]) == (0, whole["fingerprint"])
    assert again["bottleneck"]["text"].startswith("No batch was left")


@pytest.mark.parametrize("form", ["lines", "fixed:4", "files"])
def test_other_formats_resume(capsys, state, tmp_path, form):
    """A run that ends after some batches, and a second one with the rest, equal a single run."""
    for name in "ab":
        (tmp_path / name).write_bytes(b"abc\n" * 50)
    files, options = [tmp_path / "a", tmp_path / "b"], ["--format", form, "--batch-size", 1, "--epochs", 3]
    whole = report(capsys, *files, *options)
    source = FilePipeline(Settings(list(map(str, files)), 1, True, 2000, 1024, 3, 2, 1, 0, form, True))
    with source.batches() as batches:
        for _ in range(4):
            next(batches)
        pipeline.save_state(state, batches.state_dict())
    rest = report(capsys, *files, *options, "--resume", state)
    assert rest["examples"] == whole["examples"] - 4
    assert rest["fingerprint"] == whole["fingerprint"]


@pytest.mark.parametrize("seed", [pytest.param(["--seed", 1], marks=pytest.mark.slow), []], ids=["seed", "no seed"])
def test_killed_and_resumed(capsys, state, seed):
    """Without a given seed, the state holds the random one."""
    options = [str(DIGITS), "--epochs", "60", "--batch-size", "10", *map(str, seed)]
    line = [sys.executable, "-m", "pipeline", "feed", "--deterministic", *options]
    with subprocess.Popen([*line, "--save-state", str(state), "--every", "7"], stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(state.exists, "a state")
        finally:
            os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    batches = pipeline.load_state(state)["delivered"]["batches"]
    assert batches % 7 == 0
    _, out, _ = feed(capsys, *options, "--resume", state, "--save-state", state, "--json", "--threads", 3)
    rest = json.loads(out)
    assert rest["examples"] == 60 * 1797 - 10 * batches
    assert pipeline.load_state(state)["fingerprint"] == rest["fingerprint"]
    if seed:
        assert json.loads(feed(capsys, *options, "--json")[1])["fingerprint"] == rest["fingerprint"]


def test_states_are_saved_every_so_often(capsys, state, monkeypatch):
    saved = []
    monkeypatch.setattr("pipeline.command.saving.save_state", lambda path, state: saved.append(state["delivered"]))
    report(capsys, DIGITS, "--save-state", state, "--every", 4)
    assert [each["batches"] for each in saved] == [4, 8, 12, 15]


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            (["--save-state", "x"], "--save-state needs --deterministic: else the order is left to the threads"),
            (["--resume", "x"], "--resume needs --deterministic: else the order is left to the threads"),
            (["--deterministic", "--every", "3"], "--every needs --save-state"),
            (["--deterministic", "--save-state", "x", "--every", "0"], "--every must be at least 1, got 0"),
        ],
    )
    def test_arguments(self, capsys, arguments, text):
        with pytest.raises(SystemExit) as caught:
            main(["feed", str(DIGITS), *arguments])
        assert caught.value.code == 2
        assert capsys.readouterr().err.splitlines()[-1] == f"python -m pipeline: error: {text}"

    def check(self, capsys, message, *arguments):
        assert feed(capsys, DIGITS, *arguments) == (1, "", f"pipeline feed: {message}\n")

    def test_no_such_state(self, capsys, state):
        self.check(capsys, f"{state}: No such file or directory", "--resume", state)

    def test_a_damaged_state(self, capsys, state):
        state.write_text("{}")
        damage = "it has 2 bytes and no CRC line at the end: cut, or not written by save_state"
        self.check(capsys, f"{state}: the state is damaged: {damage}", "--resume", state)

    def test_a_state_of_something_else(self, capsys, state):
        pipeline.save_state(state, {"input": 1})
        what = (
            "load_state_dict: this dict is not what state_dict of a dataset's iterator returned: its keys are 'input'."
        )
        advice = 'Of a whole checkpoint, pass the part with that state, such as checkpoint["input"]'
        self.check(capsys, f"{what} {advice}", "--resume", state)

    def test_another_batch_size(self, capsys, state):
        report(capsys, DIGITS, "--save-state", state)
        status, out, err = feed(capsys, DIGITS, "--resume", state, "--batch-size", 10, "--seed", 1)
        assert (status, out) == (1, "")
        assert err.startswith("pipeline feed: ")
        assert "batch: batch_size was" in err
        assert "128" in err
        assert err.count("\n") == 1

    def test_a_state_that_cannot_be_saved(self, capsys, tmp_path):
        self.check(capsys, f"{tmp_path}/x/y: No such file or directory", "--save-state", tmp_path / "x" / "y")
