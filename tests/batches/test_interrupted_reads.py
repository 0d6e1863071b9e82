"""Ctrl-C strikes a loop that reads its source in the thread that asks for a batch: no row is lost or comes twice."""

import random
import sys
import threading

import numpy as np
import pytest
from endurance.interrupts import codes, taken_from
from helpers import run_in_thread

import pipeline
from pipeline.batches import feed, inline, layout, loop, short_way, source
from pipeline.batches.crew import Opening
from pipeline.batches.feed import Feed
from pipeline.batches.inline import Inline, InlineGroup
from pipeline.batches.layout import ExampleLayout
from pipeline.batches.loop import Batches
from pipeline.batches.ordered import OrderedFeed
from pipeline.explain import live
from pipeline.producers import numbered, slices
from pipeline.producers.numbered import Numbered
from pipeline.producers.queue import Hand, ProducerQueue
from pipeline.producers.slices import SliceSource
from pipeline.queues.typed import TypedQueue
from pipeline.sources import arrays
from pipeline.sources import source as table_source
from pipeline.sources.extras import Picked
from pipeline.sources.order import Order
from pipeline.sources.source import TableCursor

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="the instructions at which Python looks have other names"
)

STEP = 13
ROWS = 50
STRUCK = codes(
    Batches,
    Feed,
    OrderedFeed,
    Inline,
    InlineGroup,
    Opening,
    ExampleLayout,
    SliceSource,
    Hand,
    ProducerQueue,
    TableCursor,
)
STRUCK |= codes(
    Numbered,
    Order,
    Picked,
    TypedQueue,
    short_way._Strides,
    short_way,
    loop,
    feed,
    inline,
    layout,
    source,
    live,
    slices,
    numbered,
    arrays,
    table_source,
    pipeline.Coordinator,
)
STRUCK |= {
    each.__code__
    for each in (*vars(threading.Event).values(), *vars(threading.Condition).values())
    if hasattr(each, "__code__")
}
# Within functions too: closures such as `move_one`, which no class or module knows.
STRUCK |= {inner for each in list(STRUCK) for inner in each.co_consts if hasattr(inner, "co_code")}


def rows():
    columns = [np.arange(ROWS), np.arange(2.0 * ROWS).reshape(ROWS, 2)]
    return pipeline.slice_input_producer(columns, num_epochs=2, seed=3, collection=[])


def default():
    return pipeline.batch(rows(), 7, 10, allow_smaller_final_batch=True)


def shuffled():
    return pipeline.shuffle_batch(rows(), 7, 40, 20, seed=1, num_threads=0, allow_smaller_final_batch=True)


def ordered():
    return pipeline.shuffle_batch(rows(), 7, 40, 20, seed=1, deterministic=True, allow_smaller_final_batch=True)


def producer():
    names = pipeline.string_input_producer(map(str, range(ROWS)), num_epochs=2, seed=3, collection=[])
    return pipeline.batch(names, 7, 10)


def array():
    return pipeline.batch(np.arange(2.0 * ROWS).reshape(ROWS, 2), 7, num_threads=0, allow_smaller_final_batch=True)


def table():
    columns = {"n": np.arange(ROWS), "pairs": np.arange(2.0 * ROWS).reshape(ROWS, 2)}
    source = pipeline.arrays(columns, shuffle=True, seed=3, num_epochs=2)
    return pipeline.batch(source, 7, 10, allow_smaller_final_batch=True)


def sequence():
    examples = [(number, [number] * (number % 3)) for number in range(ROWS)]
    return pipeline.batch(examples, 7, num_threads=0, dynamic_pad=True)


@pytest.mark.parametrize("make", [default, shuffled, ordered, producer, array, table, sequence])
def test_no_row_is_lost_or_comes_twice(make):
    _, expected = taken_from(make(), STRUCK)
    first = number = random.randint(1, STEP)
    print("from moment", first)
    struck = True
    while struck:
        loop = make()
        struck, batches = run_in_thread(taken_from, loop, STRUCK, number).result()
        loop.close()
        assert batches == expected, number
        number += STEP
    assert number > 30 * STEP
