"""A pseudo terminal for tests, and the text a person would see on it."""

import contextlib
import fcntl
import os
import pty
import queue
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import pyte

ROOT = Path(__file__).parents[2]


LIMIT = 120.0  # seconds before a test gives up on expected text
# Only the program itself can make this its terminal, before it begins.
TAKE = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.executable, sys.argv[1:])"


class Terminal:
    """A pseudo terminal; programs write to `stream`, and `written` is everything they wrote.

    A thread takes the output at once: a terminal holds few bytes, and a larger write waits for a reader, which may be
    the very thread that writes.
    """

    def __init__(self, columns=100, rows=30):
        self._master, self.slave = pty.openpty()
        self.screen = pyte.HistoryScreen(columns, rows, history=1000, ratio=0.001)
        self._feed = pyte.ByteStream(self.screen)
        self.resize(columns, rows)
        self.written = b""
        self.stream = os.fdopen(os.dup(self.slave), "w", encoding="utf-8")
        self._come = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="terminal", daemon=True)
        self._reader.start()

    def _read(self):
        with contextlib.suppress(OSError):  # once every writer has closed
            while data := os.read(self._master, 1 << 16):
                self._come.put(data)

    def resize(self, columns, rows):
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def type(self, text):
        os.write(self._master, text.encode())

    def read(self, seconds):
        """Show the output; return False if none came within this time."""
        try:
            data = self._come.get(timeout=seconds)
        except queue.Empty:
            return False
        self.written += data
        self._feed.feed(data)
        return True

    def lines(self):
        """Return the visible lines and those scrolled off the top, without empty lines, for all earlier output."""
        mark = f"mark {time.monotonic_ns()}"  # the kernel passes on output at any time, but in order
        os.write(self.slave, f"\x1b]2;{mark}\x07".encode())
        while self.screen.title != mark:
            assert self.read(LIMIT), f"a terminal passed nothing on for {LIMIT} s"
        return self._seen()

    def _seen(self):
        above = ["".join(row[i].data for i in range(self.screen.columns)) for row in self.screen.history.top]
        return [line.rstrip() for line in [*above, *self.screen.display] if line.strip()]

    def wait_for(self, text):
        while not any(text in line for line in self._seen()):
            assert self.read(LIMIT), f"no {text!r} in {self._seen()}"
        return self._seen()

    def end_of(self, process):
        """Wait until the process has ended, and return its status."""
        try:
            return process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"a program did not end within {LIMIT} s; it shows {self.lines()}") from None

    def close(self):
        self.stream.close()
        os.close(self.slave)
        self._reader.join(LIMIT)
        assert not self._reader.is_alive(), "somebody holds a terminal open"
        os.close(self._master)


def start(terminal, *command, stdout=None, **environment):
    """Start a Python program on this terminal."""
    known = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    return subprocess.Popen(
        [sys.executable, "-S", "-c", TAKE, sys.executable, *command],
        stdin=terminal.slave,
        stdout=terminal.slave if stdout is None else stdout,
        stderr=terminal.slave,
        env={**known, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **environment},
        cwd=ROOT,
        start_new_session=True,
    )
