"""The records that a thread has read for what it has in its hands, so that they can be named and given again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from pipeline.errors import OutOfRangeError
from pipeline.explain.workers import note_read, record_of, this_thread
from pipeline.on_error import add_note

Read = tuple[Any, Sequence[bytes], Sequence[bytes]]  # a reader, and the keys and values of the records that it gave


def note_reads() -> None:
    """From now on, note what this thread reads; forget what it has read before."""
    this_thread.reads = []


def noted_reads() -> list[Read]:
    """What this thread has read since `note_reads`; forgets it, and notes no more."""
    reads, this_thread.reads = this_thread.reads, None
    return reads or []


def note_reads_again(reads: Sequence[Read], keep: bool) -> None:
    """Note, in this thread, what another has read for what this one now has in its hands.

    Args:
        reads: What `noted_reads` returned there.
        keep: Note them for `noted_reads` too, not only for an error of this example.
    """
    if keep:
        note_reads()
    for reader, keys, values in reads:
        note_read(keys, values, reader)


@contextlib.contextmanager
def first_reads() -> Iterator[None]:
    """Note what this thread reads in the body, for the first example. From Python 3.11 on, a note in the traceback of
    an exception then names the record; threads of a QueueRunner do that by themselves (`Worker.fail`).

    What was noted outside of the body, for an example of another loop, stays noted.
    """
    outer = this_thread.reads
    note_reads()
    try:
        yield
    except (OutOfRangeError, StopIteration):  # the end of the input
        raise
    except Exception as error:
        reads = noted_reads()
        with contextlib.suppress(Exception):  # however odd the user's exception is
            record = record_of(error, reads[-1][1] if reads else None)
            note = f"in the first example, {record}"
            if record is not None and note not in getattr(error, "__notes__", ()):
                add_note(error, note)
        raise
    finally:
        this_thread.reads = outer


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
    add_note(error, f"in record {keys[0].decode(errors='surrogateescape')!r}")
