"""Ctrl-C strikes a loop over map_ahead at any moment, and the loop goes on: only what was on its way to it may lack."""

import random
import sys
from concurrent.futures import Executor, Future

import numpy as np
import pytest
from endurance.interrupts import codes, moments, taken_from

import pipeline
from pipeline.workers import chunks
from pipeline.workers.ahead import MapAhead
from pipeline.workers.in_flight import InFlight

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="the instructions at which Python looks have other names"
)

STRUCK = codes(MapAhead) | {chunks.split.__code__, chunks.example_at.__code__, InFlight.submit.__code__}
STEP = 3
ITEMS = 8


class AtOnce(Executor):
    """Makes each result as it is submitted, in this thread."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class Dies(AtOnce):
    """Loses the chunk with the item 5 as a whole: its worker was stopped."""

    def submit(self, fn, /, *args, **kwargs):
        if 5 not in args[0]:
            return super().submit(fn, *args, **kwargs)
        future = Future()
        future.set_exception(SystemExit("stopped"))
        return future


class Blocks:
    """An iterator over what `block` gives, that goes on after an error of the function."""

    def __init__(self, source, size):
        self._source = source
        self._size = size

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self._source.block(self._size) if self._size else self._source()
        except pipeline.OutOfRangeError:
            raise StopIteration from None
        except (ValueError, RuntimeError) as error:
            return error


def two_kinds(item):
    """Examples of two shapes, and an error."""
    if item == 1:
        raise ValueError(item)
    return np.full(1 + item % 4 // 3, item)


@pytest.mark.parametrize("size", [0, 3], ids=["examples", "blocks"])
@pytest.mark.parametrize("executor", [AtOnce, Dies])
def test_it_goes_on(executor, size):
    def make():
        return Blocks(pipeline.map_ahead(two_kinds, range(ITEMS), executor(), chunksize=4), size)

    struck = STRUCK | codes(Blocks)
    _, expected = taken_from(make(), struck)
    assert len(expected) > ITEMS / 3
    first = random.randint(1, STEP)
    print("from moment", first)
    for number in range(first, moments(make(), struck) + 1, STEP):
        _, taken = taken_from(make(), struck, number)
        lacking = list(expected)
        for each in taken:
            assert each in lacking, number
            lacking.remove(each)
        assert len(lacking) <= 1, (number, lacking)
        assert taken == [each for each in expected if each not in lacking], number
