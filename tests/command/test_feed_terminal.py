"""`feed` on a terminal: progress, Ctrl-C, and its output when stopped."""

import fcntl
import json
import os
import pathlib
import pty
import select
import signal
import struct
import subprocess
import sys
import termios

import pytest
from helpers import LIMIT

DIGITS = pathlib.Path(__file__).parents[2] / "examples" / "data" / "digits.csv"
NO_TQDM = "import sys; sys.modules['tqdm'] = None; from pipeline.command.cli import main; sys.exit(main())"

DROPS = """
import signal, sys, weakref
from pipeline.command.cli import main

class Thing:
    pass

def in_a_callback():
    thing = Thing()
    ref = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
    del thing  # Python calls back, and prints what is raised there

def silently():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        pass

signal.signal(signal.SIGALRM, lambda *_: HOW())
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
status = main()
signal.setitimer(signal.ITIMER_REAL, 0)
sys.exit(status)
"""

IMPORTING = """
import runpy, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "pipeline.command.feed":
            HOW

sys.meta_path.insert(0, Finder())
sys.argv[0] = "pipeline"
runpy.run_module("pipeline", run_name="__main__")
"""
STRIKES = {
    "raised": "signal.raise_signal(signal.SIGINT)",
    "dropped": "try: signal.raise_signal(signal.SIGINT)\n            except KeyboardInterrupt: pass",
}


class Terminal:
    """`feed` with a terminal as its stderr."""

    def __init__(self, *arguments, script=NO_TQDM):
        self.master, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", script, "feed", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=terminal,
            text=True,
        )
        os.close(terminal)
        self.shown = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        os.close(self.master)

    def read(self):
        """Read the terminal's output; return False once every writer has closed."""
        assert select.select([self.master], [], [], LIMIT)[0], f"nothing for {LIMIT} s after {self.shown}"
        try:
            piece = os.read(self.master, 4096)
        except OSError:
            return False
        self.shown += piece
        return bool(piece)

    def wait_for(self, text):
        while text not in self.shown and self.read():
            pass
        assert text in self.shown

    def finish(self):
        """Wait for the end; return status and stdout."""
        while self.read():
            pass
        out, _ = self.process.communicate(timeout=LIMIT)
        return self.process.returncode, out


def test_ctrl_c_ends_with_the_report_so_far():
    with Terminal(DIGITS, "--epochs", "0", "--json") as terminal:
        terminal.wait_for(b" examples")  # the first batch is done
        terminal.process.send_signal(signal.SIGINT)
        status, out = terminal.finish()
    assert status == 130
    report = json.loads(out)
    assert report["interrupted"] is True
    assert report["examples"] > 0
    assert b"Traceback" not in terminal.shown


def test_ctrl_c_as_text():
    with Terminal(DIGITS, "--epochs", "0") as terminal:
        terminal.wait_for(b" examples")
        terminal.process.send_signal(signal.SIGINT)
        status, out = terminal.finish()
    assert status == 130
    assert ", interrupted\n" in out


@pytest.mark.parametrize("how", ["in_a_callback", "silently"])
def test_ctrl_c_that_python_drops(how):
    """As in import callbacks, and where C looks up an attribute: otherwise one run in 500 never ends."""
    with Terminal(DIGITS, "--epochs", "0", script=DROPS.replace("HOW", how)) as terminal:
        status, out = terminal.finish()
    assert status == 130
    assert ", interrupted\n" in out


@pytest.mark.parametrize("how", STRIKES)
def test_ctrl_c_while_it_is_imported(how):
    """C modules drop it."""
    with Terminal(DIGITS, "--epochs", "0", script=IMPORTING.replace("HOW", STRIKES[how])) as terminal:
        status, out = terminal.finish()
    assert (status, out, terminal.shown) == (130, "", b"")


def test_ctrl_c_while_every_thread_is_blocked_in_a_read(tmp_path):
    """A pipe held open without further writes."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    first = tmp_path / "first"
    first.write_text("1,2\n" * 10)
    with Terminal(first, pipe, "--no-shuffle", "--batch-size", "5", "--json") as terminal:
        with open(pipe, "w"):  # opens once the reader does, when the first file's batches can be made
            terminal.wait_for(b" examples")
            terminal.process.send_signal(signal.SIGINT)
            status, out = terminal.finish()
    assert status == 130
    assert json.loads(out)["examples"] in (5, 10)


def test_progress_is_one_line_that_is_wiped():
    with Terminal(DIGITS) as terminal:
        status, out = terminal.finish()
    assert (status, out.startswith("1,797 examples")) == (0, True)
    assert terminal.shown.startswith(b"\rfeed:")
    assert b"MB," in terminal.shown
    assert terminal.shown.endswith(b"\r\x1b[K")
    assert b"\n" not in terminal.shown


def test_progress_by_tqdm():
    pytest.importorskip("tqdm")
    with Terminal(DIGITS, script="import sys; from pipeline.command.cli import main; sys.exit(main())") as terminal:
        status, _ = terminal.finish()
    assert status == 0
    assert b"%|" in terminal.shown
    assert terminal.shown.endswith(b" \r")  # it is wiped


def test_error_is_one_line_on_a_terminal_too(tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("1,2\n" * 3 + "1\n")
    with Terminal(bad) as terminal:
        status, out = terminal.finish()
    assert (status, out) == (1, "")
    assert f"pipeline feed: csv: {bad}, line 4: Expect 2 fields but have 1".encode() in terminal.shown
    assert terminal.shown.count(b"\n") == 1
