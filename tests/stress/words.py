"""Parts of a history: calls, their outcomes and times, as plain values that compare, hash and print."""

import re
from typing import NamedTuple

from pipeline.errors import CancelledError, DeadlineExceededError, OutOfRangeError

PUTS = ("enqueue", "enqueue_many", "_enqueue_each")
LOOKS = ("size", "is_closed", "stats")


class Call(NamedTuple):
    """One call: it puts in the elements `rows`, or takes `n` out."""

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
    """A call's outcome and result: elements, values seen, or the two numbers in an OutOfRangeError.

    `stored` is the row count stored by a failed enqueue, from its error text; None if the text has none.
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
    """Raised by a waiting queue's hook: the call was cancelled from outside."""


class Unexpected(Exception):
    """A call ended in an impossible way."""


def outcome_of(error, call):
    """Return the outcome for a call that raised."""
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
    """Return a readable history: one line per call, ordered by start."""
    lines = []
    for i, record in enumerate(history):
        when = f"{record.began:4}-{record.ended:<4}"
        lines.append(f"#{i:<3} {when} thread {record.thread}  {record.call}  ->  {record.outcome}")
    return "\n".join(lines)
