"""The records that a thread has read for what it has in its hands, so that they can be named and given again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pipeline.errors import OutOfRangeError
from pipeline.explain.workers import current_worker, has_named_item, note_items, note_read, record_of, this_thread
from pipeline.on_error import add_note, set_on

Read = tuple[Any, Sequence[bytes], Sequence[bytes]]  # a reader, and the keys and values of the records that it gave


class Noted(NamedTuple):
    """What a thread has read and taken for an example that another one stores.

    Attributes:
        reads: What `noted_reads` returns.
        items: What the items are called that it was made of; None if they have no names.
    """

    reads: list[Read]
    items: Sequence[str] | None


def note_reads() -> None:
    """From now on, note what this thread reads; forget what it has read before."""
    this_thread.reads = []


def noted_reads() -> list[Read]:
    """What this thread has read since `note_reads`; forgets it, and notes no more."""
    reads, this_thread.reads = this_thread.reads, None
    return reads or []


def noted() -> Noted:
    """What this thread has read since `note_reads`, and the names of the items that it took; forgets them."""
    items, this_thread.items = this_thread.items, None
    return Noted(noted_reads(), items)


def note_again(noted: Noted, keep: bool) -> None:
    """Note, in this thread, what another has read or taken for what this one now has in its hands.

    Args:
        noted: What `noted` returned there.
        keep: Note reads for `noted_reads` too, not only for an error of this example.
    """
    if keep:
        note_reads()
    if noted.items is not None:
        note_items(noted.items)
    for reader, keys, values in noted.reads:
        note_read(keys, values, reader)


@contextlib.contextmanager
def first_reads() -> Iterator[None]:
    """Note what this thread reads in the body, for the first example. From Python 3.11 on, a note in the traceback of
    an exception then names the record; threads of a QueueRunner do that by themselves (`Worker.fail`).

    What was noted outside of the body, for an example of another loop, stays noted.
    """
    outer = this_thread.reads
    note_reads()
    this_thread.items = None
    try:
        yield
    except (OutOfRangeError, StopIteration):  # the end of the input
        raise
    except Exception as error:
        reads = noted_reads()
        with contextlib.suppress(Exception):  # however odd the user's exception is
            record = None if has_named_item(error) else record_of(error, reads[-1][1] if reads else None)
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


def name_taken(error: Exception, row: int | None = None) -> None:
    """As `name_record`, for what workers made of named items: by the item of this row of the block taken last; without
    a number, of the row that the error says, or of the only one."""
    worker = current_worker()
    keys = this_thread.items if worker is None else worker.keys
    if keys is None or hasattr(error, "record_key"):
        return
    if row is None:
        row = getattr(error, "record", 0 if len(keys) == 1 else None)
    if not isinstance(row, int) or not 0 <= row < len(keys):
        return
    key = keys[row]
    set_on(error, "record_key", key)
    add_note(error, f"in record {key if isinstance(key, str) else key.decode(errors='surrogateescape')!r}")


def name_record(error: Exception, reads: Sequence[Read]) -> None:
    """Let an error name the record that was read for what failed: as `record_key`, and from Python 3.11 in a note."""
    if hasattr(error, "record_key") or not reads:
        return
    _, keys, _ = reads[-1]
    vars(error)["record_key"] = keys[0]
    add_note(error, f"in record {keys[0].decode(errors='surrogateescape')!r}")
