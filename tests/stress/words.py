"""What a history consists of: calls, how they ended, and when, as plain values that compare, hash and print."""

import re
from typing import NamedTuple

from pipeline.errors import CancelledError, DeadlineExceededError, OutOfRangeError

PUTS = ("enqueue", "enqueue_many", "_enqueue_each")
LOOKS = ("size", "is_closed", "stats")


class Call(NamedTuple):
    """One call: `rows` are the elements that it puts in, `n` how many it takes out."""

    method: str
    rows: tuple = ()
    n: int = 0
    timeout: float | None = None

    @property
    def puts(self):
        return self.method in PUTS

    def __str__(self):
        args = repr(list(self.rows)) if self.puts else repr(self.n) if "_" in self.method and self.n else ""
        if self.timeout is not None:
            args += f"{', ' if args else ''}timeout={self.timeout}"
        return f"{self.method}({args})"


class Outcome(NamedTuple):
    """How a call ended, and its result: elements, what was seen, or the two numbers of an OutOfRangeError.

    `stored` is how many of its rows an enqueue that failed had stored, as its error says; None where it does not say.
    """

    end: str
    value: object = ()
    stored: int | None = None

    def __str__(self):
        stored = "" if self.stored is None else f", {self.stored} stored"
        value = self.value if self.value != () else ""
        return f"{self.end} {value}".strip() + stored


class Record(NamedTuple):
    """A call, how it ended, and the tickets drawn before it began and after it had ended."""

    thread: int
    call: Call
    began: int
    ended: int
    outcome: Outcome


class HookRaised(Exception):
    """Raised by the hook of a queue that waits: the call was cancelled from outside."""


class Unexpected(Exception):
    """A call ended in a way in which no call may end."""


def outcome_of(error, call):
    """Return how a call ended that raised."""
    text = str(error)
    if isinstance(error, HookRaised):
        return Outcome("hook")
    if isinstance(error, OutOfRangeError):
        numbers = re.search(r"\(requested (\d+), current size (\d+)\)", text)
        return Outcome("exhausted", tuple(map(int, numbers.groups())))
    if isinstance(error, DeadlineExceededError):
        return Outcome("timed_out", (), error.stored)
    if isinstance(error, CancelledError):
        if text.startswith("Enqueue operation was cancelled"):
            return Outcome("cancelled", (), error.stored)
        end = "already" if "is already closed." in text else "closed"
        return Outcome(end, (), error.stored)
    raise Unexpected(f"{call} raised {error!r}") from error


def listing(history):
    """Return a history for people to read: one line per call, in order of their beginnings."""
    lines = []
    for i, record in enumerate(history):
        when = f"{record.began:4}-{record.ended:<4}"
        lines.append(f"#{i:<3} {when} thread {record.thread}  {record.call}  ->  {record.outcome}")
    return "\n".join(lines)
