"""Lanes: the sources of a deterministic loop, read in turn. A thread has a Turn while it takes from one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, ParamSpec

from pipeline.batches.items import OnceItems, SequenceItems, StatefulItems, positioned_items
from pipeline.batches.request import Request
from pipeline.batches.source import BLOCK_ROWS, is_iterable, limited, open_source, row_giver, sized
from pipeline.errors import OutOfRangeError
from pipeline.logs import logger
from pipeline.nest import length
from pipeline.pulls import together
from pipeline.queues.base import QueueBase
from pipeline.runners.enqueue_ops import op_name
from pipeline.sources.source import TableCursor
from pipeline.sources.stream import PartsCursor

P = ParamSpec("P")

# Rows of a block source that a join takes at once.
JOINED_ROWS = 16

_ALL_HOSTS = (
    "with shard, every host makes the examples of all hosts and keeps its share, because this source cannot be asked "
    "for single items. If the examples are made by function= from an array, a list or a source of rows, pass "
    "map_ahead(function, source) instead; to read only its own files, pass shard=(host, hosts) to the source or its "
    "string_input_producer, and not to the loop: hosts may have different numbers of batches then"
)
_ONE_AT_A_TIME = (
    "num_threads is of no use: calls of this source run one at a time, or their order would depend on the threads. "
    "Pass function= to decode its examples, or let a function read from a reader or a producer, and decode what it read"
)

_log = logger("pipeline.batches")


class Lane(NamedTuple):
    """A source that is ready to be read.

    Attributes:
        single: Gives the next example, if they come one by one.
        items: The items of an iterable.
        take: Gives the next pieces: examples, or blocks of them; StopIteration or OutOfRangeError at the end.
        many: They are blocks.
        rows: How many rows a block has is of no meaning: each row is an example of its own.
        parallel: Several threads may be in `take` at once, once they have pulled.
        iterator: An exception ends it.
        name: For the names of threads.
    """

    take: Callable[[], Sequence[Any]]
    many: bool
    rows: bool
    parallel: bool
    iterator: bool
    name: str
    single: Callable[[], Any] | None = None
    items: SequenceItems | StatefulItems | OnceItems | None = None


def open_lane(
    source: Any,
    many: bool,
    block_rows: int | None,
    room: Callable[[], int] | None,
    stopped: Callable[[], bool],
    singly: bool = False,
) -> Lane:
    """Make a source ready to be read.

    Args:
        source, many, block_rows, stopped: As for `open_source`.
        room: The most rows that the next block may have; None for a source of a join, which takes 16 at a time.
        singly: Each call takes one example; `block_rows` says whether that is a block of one.
    """
    name = op_name(source)
    if is_iterable(source):
        items = positioned_items(source)
        return Lane(lambda: [items.take()], many, False, False, True, name, items.take, items)
    give = None if many or singly or block_rows is None else row_giver(source, stopped)
    if give is not None and room is None:
        return Lane(_exactly(give), True, False, False, getattr(source, "iterator", False), name)
    if give is not None and room is not None:
        if _is_plain_queue(source):
            give = in_one_pull(give)
        take = sized(limited(give, room), BLOCK_ROWS)
        return Lane(lambda: [take()], True, True, False, getattr(source, "iterator", False), name)
    opened = open_source(source, many, True, block_rows if singly else None, None, stopped)
    following = in_one_pull(opened.take) if _is_plain_queue(source) else opened.take
    calls = not isinstance(source, QueueBase) and not hasattr(source, "block")
    return Lane(lambda: [following()], opened.many, False, calls, opened.iterator, name, following)


def facts_of_source(source: Any) -> Any:
    """What decides the examples of a source, as `Positioned._facts`; None if only its calls can tell."""
    if is_iterable(source):
        return positioned_items(source)._facts()
    facts = getattr(source, "_facts", None)
    return None if facts is None else facts()


def warn_of_cost(request: Request, lane: Lane, by_number: bool, pulled_from: bool) -> None:
    """Say in the log what costs more than somebody who asked for it may think.

    Args:
        request: What was asked for.
        lane: The first source.
        by_number: It can be asked for single items, and is.
        pulled_from: Its first call pulled from something that is known.
    """
    if request.shard is not None and request.shard[1] > 1 and not by_number:
        _log.warning("%s: %s", request.name, _ALL_HOSTS)
    one_reads = lane.iterator or isinstance(request.sources[0], (PartsCursor, TableCursor)) or not pulled_from
    if (request.num_threads or 1) > 1 and one_reads:
        _log.warning("%s: %s", request.name, _ONE_AT_A_TIME)


def _is_plain_queue(source: Any) -> bool:
    """Whether a source is a queue that somebody fills by hand: one of a producer knows which elements it gave."""
    return isinstance(source, QueueBase) and not hasattr(source, "_go_to")


def in_one_pull(take: Callable[P, Any]) -> Callable[P, Any]:
    """Takes from a queue in one pull: a thread that waits there looks up from time to time, which is a dequeue each."""

    def taken(*args: P.args, **kwargs: P.kwargs) -> Any:
        with together():
            return take(*args, **kwargs)

    return taken


def _exactly(give: Callable[[int], Any]) -> Callable[[], list[Any]]:
    """Takes blocks of so many rows in all, or what is left: how many a source gives at once depends on time."""

    def taken() -> list[Any]:
        blocks: list[Any] = []
        missing = JOINED_ROWS
        with together():
            while missing > 0:
                try:
                    block = give(missing)
                except (StopIteration, OutOfRangeError):
                    if not blocks:
                        raise
                    break
                blocks.append(block)
                missing -= length(block)
        return blocks

    return taken
