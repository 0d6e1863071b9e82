"""The records that a thread has read for what it has in its hands, so that they can be named and given again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.explain.workers import this_thread

Read = tuple[Any, Sequence[bytes], Sequence[bytes]]  # a reader, and the keys and values of the records that it gave


def note_reads() -> None:
    """From now on, note what this thread reads; forget what it has read before."""
    this_thread.reads = []


def noted_reads() -> list[Read]:
    """What this thread has read since `note_reads`; forgets it, and notes no more."""
    reads, this_thread.reads = this_thread.reads, None
    return reads or []


def has_read() -> bool:
    """Whether a read was noted."""
    return bool(this_thread.reads)


def give_again(reads: Sequence[Read]) -> None:
    """Let the next reads of the readers return these records, one by one."""
    for reader, keys, values in reads:
        if reader is not None:
            reader.give_again(keys, values)


def name_record(error: Exception, reads: Sequence[Read]) -> None:
    """Let an error name the record that was read for what failed: as `record_key`, and from Python 3.11 in a note."""
    if hasattr(error, "record_key") or not reads:
        return
    _, keys, _ = reads[-1]
    vars(error)["record_key"] = keys[0]
    if hasattr(error, "add_note"):
        error.add_note(f"in record {keys[0].decode(errors='surrogateescape')!r}")
