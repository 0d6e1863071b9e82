"""What a trace learns of a batch: how many elements of which queue it was, and when in the order these had arrived."""

from __future__ import annotations

import contextlib
import functools

import numpy as np

from pipeline import spans
from pipeline._trail import Delivered
from pipeline.batches.bucket_feed import BucketFeed
from pipeline.batches.feed import Feed
from pipeline.batches.ordered import OrderedFeed

# Which elements a draw took follows from what the pool held before and after, which takes time for a large one.
MOST_HELD = 1 << 16


def note_taken(began: int, feed: Feed) -> None:
    """Note, for whoever traces the run, that a batch was handed over."""
    taken = None
    with contextlib.suppress(Exception):  # for example a queue of the user's without statistics
        queue = feed.queue
        end = queue.stats().dequeued
        if isinstance(feed, BucketFeed):
            taken = spans.Taken(queue, 1, end, _in_order)
        elif isinstance(feed, OrderedFeed):
            taken = _of_ordered(feed, end)
        else:
            drawn = feed.request.min_after_dequeue is not None
            taken = spans.Taken(queue, feed.request.batch_size, end, _unknown if drawn else _in_order)
    spans.end(spans.NEXT_ENDS, began, taken)


def _of_ordered(feed: OrderedFeed, end: int) -> spans.Taken:
    size = feed.request.batch_size
    if not feed.numbered and feed.request.shard is not None:
        size *= feed.request.shard[1]
    held_back = feed.held_back
    if held_back is None:
        return spans.Taken(feed.queue, size, end, _in_order)
    if held_back > MOST_HELD:
        return spans.Taken(feed.queue, size, end, _unknown)
    skipped = feed.taken.elements - feed.before - end  # draws that a resumed loop has left out
    total = None if feed.arrivals is None else feed.arrivals.total
    return spans.Taken(feed.queue, size, end, functools.partial(_drawn, feed, held_back, skipped, total))


def _in_order(first: int, count: int) -> tuple[int, int]:
    return first, first + count - 1


def _unknown(first: int, count: int) -> None:
    return None


def _drawn(
    feed: OrderedFeed, held_back: int, skipped: int, total: int | None, first: int, count: int
) -> tuple[int, int] | None:
    """As `Taken.arrivals`, for a queue that draws in lockstep: what the pool no longer holds was drawn."""
    draws = first + skipped
    before, after = (_pool(feed, each, total) for each in (draws, draws + count))
    come_in = np.arange(draws + held_back, draws + held_back + count)
    if total is not None:
        come_in = come_in[come_in < total]
    drawn = np.setdiff1d(np.concatenate([before, come_in]), after)
    if not len(drawn):
        return None
    # A resumed loop fills its pool with the elements that were in it, before any other.
    oldest, newest = (0 if each < skipped + held_back and skipped else int(each) - skipped for each in drawn[[0, -1]])
    return oldest, newest


def _pool(feed: OrderedFeed, draws: int, total: int | None) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    held = feed.in_pool(Delivered(0, draws + feed.before, 0, 0), total)
    return np.empty(0, np.int64) if held is None else held
