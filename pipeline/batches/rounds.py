"""Other loops like a loop: for the next time through its sources, or for one process's share of its batches."""

from __future__ import annotations

from typing import Any

from pipeline.batches.bucket_feed import BucketFeed
from pipeline.batches.feed import Feed
from pipeline.batches.iterables import starts_over
from pipeline.batches.loop import Batches
from pipeline.batches.ordered import OrderedFeed
from pipeline.batches.request import Request
from pipeline.batches.source import is_iterable
from pipeline.errors import FailedPreconditionError
from pipeline.producers.numbered import Numbered
from pipeline.producers.queue import ProducerQueue
from pipeline.producers.slices import SliceSource
from pipeline.sources.source import Source, TableSource
from pipeline.sources.stream import PartsSource
from pipeline.workers.ahead import MapAhead


def another_round(loop: Batches[Any], number: int | None = None) -> Batches[Any]:
    """A loop like this one, which stays as it is, that begins another time through the sources.

    Args:
        loop: A loop whose sources can be read again; see `can_start_over`.
        number: How often they count as read before; None: once more than in `loop`.
    """
    return Batches(loop._latest.again(number))


def round_of(loop: Batches[Any]) -> int:
    """How often the sources of a loop had been read before."""
    return loop._latest.round


def is_at_end(loop: Batches[Any]) -> bool:
    """Whether a loop gives no batch any more."""
    return loop._ended or loop._closed


def can_start_over(loop: Batches[Any]) -> bool:
    """Whether the sources of a loop begin with their first example each time they are read."""
    return loop._latest.starts_over


def has_begun(loop: Batches[Any]) -> bool:
    """Whether a loop has been asked for a batch, or was left."""
    return loop._planned is None or loop._closed or loop._ended


def has_state(loop: Batches[Any]) -> bool:
    """Whether the batches of a loop follow from its input and seeds, so that it may have a state."""
    return isinstance(loop._latest, OrderedFeed)


def share_of(loop: Batches[Any], shard: tuple[int, int]) -> Batches[Any]:
    """A loop like one that has not begun, for the share of one process in the batches of all.

    Args:
        loop: The loop. If it has a `shard` of its own, that stays.
        shard: (index, count).

    Raises:
        FailedPreconditionError: The loop has begun, or its examples cannot be shared out; the text says why and how.
        ValueError: It was made with `deterministic=False`.
    """
    feed = loop._latest
    request = feed._planned
    if request.shard is not None or shard[1] == 1:
        return loop
    if has_begun(loop):
        raise _unshared(loop, shard, "it has begun to read before there were several processes")
    reason = _why_not(feed, request)
    if reason is not None:
        raise _unshared(loop, shard, reason)
    made = OrderedFeed(request._replace(shard=shard))
    made.round = feed.round
    return Batches(made if not feed.round else made.again(feed.round))


def _unshared(loop: Batches[Any], shard: tuple[int, int], reason: str) -> FailedPreconditionError:
    text = f"{loop!r} cannot be shared out to {shard[1]} processes, each of which would read all of it: {reason}"
    return FailedPreconditionError(None, None, text)


def _why_not(feed: Feed, request: Request) -> str | None:
    """Why several processes with copies of a loop could not each take a part of it."""
    if isinstance(feed, BucketFeed):
        return "the buckets of bucket_by_sequence_length differ in each. Share out its source, as by its shard="
    if request.min_after_dequeue is not None and feed.seeds_drawn:
        return "without a seed each would draw another order. Pass seed= to the batch function"
    return next(filter(None, map(_why_not_source, request.sources)), None)


def _why_not_source(source: Any) -> str | None:
    if isinstance(source, MapAhead):
        if source._sequence is None:
            return "the items of map_ahead are an iterator, which cannot be read from its start by each"
        return _why_not_source(source._sequence)
    numbered = _numbered(source)
    if numbered is not None:
        if numbered.shard != (0, 1):
            return f"its source is the share {numbered.shard} of its rows already"
        if numbered.shuffle is not None and numbered.shuffle.drawn:
            return "without a seed each would read its source in another order. Pass seed= to the source"
    elif not isinstance(source, Source) and not is_iterable(source):
        return "what is behind its source, a function or queue, is not known here"
    elif not starts_over(source):
        return "an iterator cannot be read from its start by each"
    return None


def _numbered(source: Any) -> Numbered | None:
    """The rows of a source, by number and in order; None if it has no such."""
    if isinstance(source, (TableSource, PartsSource)):
        return source.order.numbered()
    if isinstance(source, SliceSource):
        source = source.queue
    return source._numbered if isinstance(source, ProducerQueue) else None
