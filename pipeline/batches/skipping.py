"""on_error="skip" in a loop: of a block that fails, only the rows that fail are left out.

The records that a reader gave for the block come again, one by one, in blocks of one. A block that nobody read is
stored row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.errors import CancelledError, OutOfRangeError
from pipeline.explain.reads import give_again, has_read, name_record, name_taken, note_reads, noted_reads
from pipeline.nest import length, map_values
from pipeline.on_error import SKIPPED, Skips, must_raise

_ENDS = (StopIteration, OutOfRangeError, CancelledError)


def careful_take(take: Callable[[], Any], skips: Skips, many: bool) -> Callable[[], Any]:
    """What calls `take`, and returns SKIPPED if it fails; `take` itself if errors are not skipped.

    Args:
        take: Gives the next example or block.
        skips: Whether to leave out anything; counts what was.
        many: It gives blocks. (All the records that were read for one example may be needed for it.)
    """
    if not skips.active:
        return take

    def taken() -> Any:
        note_reads()
        try:
            return take()
        except _ENDS:
            raise
        except Exception as error:
            _leave_out(error, skips, many)
            return SKIPPED

    return taken


def careful_store(
    store: Callable[[list[Any]], None], skips: Skips, many: bool, large: bool
) -> Callable[[list[Any]], None]:
    """What stores the only item of a list, and leaves out what does not fit.

    Args:
        store: Stores it.
        skips, many: As for `careful_take`.
        large: Arrays of the block may be given away; no reference to it may be kept to store its rows one by one.
    """
    if not skips.active:
        return store

    def stored(held: list[Any]) -> None:
        block = held[0] if many and not large and not has_read() else None
        try:
            store(held)
        except _ENDS:
            raise
        except Exception as error:
            count = 0 if block is None else length(block)
            if count < 2:
                _leave_out(error, skips, many)
                return
            for i in range(count):
                try:
                    store([row_of(block, i)])
                except _ENDS:
                    raise
                except Exception as of_row:
                    name_taken(of_row, i)
                    skips.note(of_row)
        finally:
            noted_reads()

    return stored


def _leave_out(error: Exception, skips: Skips, many: bool) -> None:
    """Have the records of a failed block given again; count the error if they cannot be, or if it was only one."""
    reads = noted_reads()
    if many and not must_raise(error) and any(len(values) > 1 for _, _, values in reads):
        give_again(reads)
    else:
        name_record(error, reads)
        name_taken(error)
        skips.note(error)


def row_of(block: Any, i: int) -> Any:
    """A block of one row."""
    return map_values(lambda component: component[i : i + 1], block)
