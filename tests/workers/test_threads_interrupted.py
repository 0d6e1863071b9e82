"""Ctrl-C, as a real signal, strikes loops with threads hundreds of times at random moments; they continue."""

import random
import sys

import pytest
from helpers import run_script

STRIKES = 300

STORM = """
import collections, faulthandler, functools, itertools, random, signal
import numpy, pipeline

faulthandler.dump_traceback_later(110, exit=True)
random.seed({seed})

aimed = False

def strike(*_):
    if aimed:  # a signal may come late, when the timer is off
        raise KeyboardInterrupt

def function(item):
    sum(range(item % 7 * 100))
    return item

def under_fire(items, most):
    '''What comes of them, and whether they came to their end; `extend` loses nothing that they return.'''
    global aimed
    got, pause, before = [], {pause}, -1
    for strikes in range(most):
        pause = pause * 1.5 if len(got) == before else {pause}  # on a busy machine threads need long to begin
        before = len(got)
        try:
            aimed = True
            signal.setitimer(signal.ITIMER_REAL, random.expovariate(1 / pause))
            got.extend(items)
            aimed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            return got, strikes, True
        except KeyboardInterrupt:
            pass
    aimed = False
    return got, most, False

signal.signal(signal.SIGALRM, strike)
workers = pipeline.threads(3)
{body}
print("went on")
"""

GOES_ON = """
def endless():
    yield from itertools.count()
numbers = iter(pipeline.dataset(endless).map(function, workers=workers))
got, strikes, _ = under_fire(numbers, {strikes})
assert got == list(range(len(got))), (strikes, got)
assert len(got) > strikes / 2
assert next(numbers) == len(got)
numbers.close()
"""

BEGINS_AGAIN = """
struck = 0
while struck < {strikes}:  # the threads end with each iterator, and others begin with the next one
    numbers = iter(pipeline.dataset(range(20)).map(function, workers=workers))
    got, strikes, ended = under_fire(numbers, 100)
    assert ended and got == list(range(20)), (strikes, got)
    struck += strikes
    numbers.close()
"""

LOOPS = """
struck = 0
def rows():
    yield from range(40)
while struck < {strikes}:  # most of these while threads begin
    with pipeline.batch(rows, 4) as batches:
        got, strikes, ended = under_fire(map(numpy.ndarray.tolist, batches), 100)
    assert ended and got == [[i, i + 1, i + 2, i + 3] for i in range(0, 40, 4)], (strikes, got)
    struck += strikes
"""

BATCHES = """
struck = 0
dataset = pipeline.dataset(range(40)).map(function, workers=workers).batch(4).prefetch(2)
while struck < {strikes}:  # many while the first example is taken
    with iter(dataset) as batches:
        got, strikes, ended = under_fire(map(numpy.ndarray.tolist, batches), 100)
    assert ended and got == [[i, i + 1, i + 2, i + 3] for i in range(0, 40, 4)], (strikes, got)
    struck += strikes
"""

BODIES = [(GOES_ON, 0.001), (BEGINS_AGAIN, 0.0005), (LOOPS, 0.0005), (BATCHES, 0.0005)]


@pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(),
    reason="CPython 3.14t leaves a lock of `threading` held: plain threads started under fire hang, too",
)
@pytest.mark.parametrize(("body", "pause"), BODIES)
def test_they_go_on(body, pause):
    seed = random.randrange(1 << 32)
    done = run_script(STORM.format(body=body.format(strikes=STRIKES), pause=pause, seed=seed))
    assert done.stdout == "went on\n", f"seed {seed}: {done.stdout}\n{done.stderr}"
