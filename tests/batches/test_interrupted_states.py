"""Ctrl-C strikes a deterministic loop at any moment, also while it is restored: it goes on."""

import random
import sys

import numpy as np
import pytest
from endurance.interrupts import Interrupt, codes, moments, taken_from

import pipeline
from pipeline.batches.calls import Caller, first_calls
from pipeline.batches.feed import Feed
from pipeline.batches.gathering import Gathering
from pipeline.batches.inline import Inline
from pipeline.batches.ledger import Ledger
from pipeline.batches.loop import Batches
from pipeline.batches.numbered import NumberedSource
from pipeline.batches.ordered import OrderedFeed
from pipeline.batches.ordered_buckets import OrderedBucketFeed
from pipeline.batches.replay import Replay
from pipeline.batches.turns import Turns
from pipeline.pulls import this_thread

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="the instructions at which Python looks have other names"
)

STEP = 7
STRUCK = codes(Batches, Feed, OrderedFeed, OrderedBucketFeed, Replay, Ledger, Turns, Caller)
STRUCK |= codes(Inline, Gathering, NumberedSource)


def shuffled():
    rows = pipeline.range_input_producer(30, num_epochs=4, seed=2)
    return pipeline.shuffle_batch(rows.dequeue, 7, 40, 20, seed=1, deterministic=True)


def buckets():
    rows = pipeline.range_input_producer(30, num_epochs=4, seed=2)
    options = {"dynamic_pad": False, "seed": 1, "min_after_dequeue": 5, "deterministic": True}
    return pipeline.bucket_by_sequence_length(lambda row: row % 9, rows.dequeue, 7, [4], **options)


def slices():
    rows = pipeline.slice_input_producer([np.arange(30), np.arange(30) * 2], num_epochs=4, seed=2)
    return pipeline.shuffle_batch(rows, 7, 40, 20, seed=1, deterministic=True)


def slices_in_order():
    rows = pipeline.slice_input_producer([np.arange(30)], num_epochs=4, seed=2)
    return pipeline.batch(rows, 7, deterministic=True)


def shared_slices():
    rows = pipeline.slice_input_producer([np.arange(30)], num_epochs=8, seed=2)
    return pipeline.shuffle_batch(rows, 7, 40, 20, seed=1, deterministic=True, shard=(1, 2))


def moments_of(loop, state):
    """How often Python looks for signals in that code while a loop goes on from this state, by this interpreter."""
    loop.load_state_dict(state)
    return moments(loop, STRUCK)


@pytest.mark.parametrize("make", [shuffled, buckets, slices, slices_in_order, shared_slices])
def test_no_batch_is_lost_or_comes_twice(make):
    with make() as loop:
        for _ in range(5):
            next(loop)
        state = loop.state_dict()
        _, expected = taken_from(loop, STRUCK)
        fingerprint = loop.fingerprint()
    # 3.13 tells of code only once it was traced before; where Python looks is the same each time otherwise.
    counts = [moments_of(make(), state) for _ in range(2)]
    first = random.randint(1, STEP)
    print("from moment", first)
    strikes = 0
    for number in range(first, max(counts) + 1, STEP):
        loop = make()
        loop.load_state_dict(state)
        struck, batches = taken_from(loop, STRUCK, number)
        strikes += struck
        assert loop.fingerprint() == fingerprint
        assert batches == expected
        loop.close()
        assert this_thread.turn is None
    assert min(counts) > len(expected)  # at least once in each `next`
    assert strikes >= min(counts) // STEP


def double(item):
    return 2 * item


def strike_after_first_calls(frame, event, _):
    if frame.f_code is first_calls.__code__:
        if event == "return":
            raise Interrupt
        return strike_after_first_calls
    return None


@pytest.mark.parametrize("goes_back", [True, False])
def test_the_first_example_of_map_ahead_is_taken_again_or_the_loop_ends(goes_back):
    items = range(20) if goes_back else iter(range(20))
    ahead = pipeline.map_ahead(double, items, pipeline.threads(2), chunksize=4)
    with ahead, pipeline.batch(ahead, 4, deterministic=True) as loop:
        before = sys.gettrace()
        sys.settrace(strike_after_first_calls)
        try:
            with pytest.raises(Interrupt):
                next(loop)
        finally:
            sys.settrace(before)
        if goes_back:
            assert [batch.tolist() for batch in loop] == np.arange(0, 40, 2).reshape(5, 4).tolist()
            return
        with pytest.raises(pipeline.FailedPreconditionError, match="map_ahead: the loop was interrupted while it took"):
            next(loop)
        assert not list(loop)
