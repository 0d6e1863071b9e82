"""A terminal to test with: a pseudo terminal, and what a person would see on it."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pyte

ROOT = Path(__file__).parents[2]


class Terminal:
    """A pseudo terminal of some size; `stream` is where programs write, `written` all that they wrote."""

    def __init__(self, columns=100, rows=30):
        self._master, self.slave = pty.openpty()
        self.screen = pyte.HistoryScreen(columns, rows, history=1000, ratio=0.001)
        self._feed = pyte.ByteStream(self.screen)
        self.resize(columns, rows)
        self.written = b""
        self.stream = os.fdopen(os.dup(self.slave), "w", encoding="utf-8")

    def resize(self, columns, rows):
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def type(self, text):
        os.write(self._master, text.encode())

    def read(self, seconds=0.0):
        """Take what was written; False if there was nothing within this time, or everybody has closed it."""
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:
            return False
        self.written += data
        self._feed.feed(data)
        return bool(data)

    def lines(self):
        """What can be seen, and what has left at the upper end, without empty lines."""
        while self.read():
            pass
        above = ["".join(row[i].data for i in range(self.screen.columns)) for row in self.screen.history.top]
        return [line.rstrip() for line in [*above, *self.screen.display] if line.strip()]

    def wait_for(self, text):
        while not any(text in line for line in self.lines()):
            assert self.read(120), f"no {text!r} in {self.lines()}"
        return self.lines()

    def end_of(self, process):
        """Read until the process has ended, and return its status."""
        while process.poll() is None:
            self.read(0.05)
        return process.returncode

    def close(self):
        self.stream.close()
        for number in (self._master, self.slave):
            os.close(number)


def start(terminal, *command, stdout=None, **environment):
    """Start a Python program whose terminal this is."""
    known = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    return subprocess.Popen(
        [sys.executable, *command],
        stdin=terminal.slave,
        stdout=terminal.slave if stdout is None else stdout,
        stderr=terminal.slave,
        env={**known, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **environment},
        cwd=ROOT,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
