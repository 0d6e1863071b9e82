"""Ctrl-C, as a real signal, strikes loops with threads hundreds of times at random moments: they go on."""

import random

import pytest
from helpers import run_script

STRIKES = 300

STORM = """
import collections, faulthandler, functools, itertools, random, signal
import numpy, pipeline

faulthandler.dump_traceback_later(50, exit=True)
random.seed({seed})

def strike(*_):
    raise KeyboardInterrupt

def function(item):
    sum(range(item % 7 * 100))
    return item

def under_fire(items, most):
    '''What comes of them, and whether they came to their end; `extend` loses nothing that they return.'''
    got = []
    for strikes in range(most):
        try:
            signal.setitimer(signal.ITIMER_REAL, random.expovariate(1 / {pause}))
            got.extend(items)
            signal.setitimer(signal.ITIMER_REAL, 0)
            return got, strikes, True
        except KeyboardInterrupt:
            pass
    return got, most, False

signal.signal(signal.SIGALRM, strike)
workers = pipeline.threads(3)
{body}
print("went on")
"""

GOES_ON = """
ahead = pipeline.map_ahead(function, itertools.count(), workers, chunksize=2)
got, strikes, _ = under_fire(ahead, {strikes})
assert got == sorted(set(got)) and 0 <= got[-1] + 1 - len(got) <= strikes, (strikes, got)
assert len(got) > strikes / 2
next(ahead)
ahead.close()
"""

BEGINS_AGAIN = """
struck = 0
while struck < {strikes}:  # the threads end with each loop, and others begin with the next one
    ahead = pipeline.map_ahead(function, range(20), workers, chunksize=1)
    got, strikes, ended = under_fire(ahead, 100)
    assert ended and got == sorted(set(got)) and 20 - len(got) <= strikes, (strikes, got)
    struck += strikes
    ahead.close()
"""

LOOPS = """
struck = 0
while struck < {strikes}:  # most of these while threads begin
    with pipeline.batch(range(40), 4, num_threads=3) as batches:
        got, strikes, ended = under_fire(map(numpy.ndarray.tolist, batches), 100)  # one round
    assert ended and sorted(row for batch in got for row in batch) == list(range(40)), (strikes, got)
    struck += strikes
"""

WITH_FUNCTION = """
struck = 0
while struck < {strikes}:  # many while the first example is taken
    with pipeline.batch(range(40), 4, function=function, workers=workers) as batches:
        got, strikes, ended = under_fire(map(numpy.ndarray.tolist, batches), 100)  # one round
    assert ended and got == [[i, i + 1, i + 2, i + 3] for i in range(0, 40, 4)], (strikes, got)
    struck += strikes
"""

OF_AN_ITERATOR = """
struck = 0
while struck < {strikes}:  # many while the first example is taken
    following = iter(range(40))
    source = following if struck % 2 else functools.partial(next, following)
    with pipeline.batch(source, 4, 1) as batches:
        got, strikes, ended = under_fire(map(numpy.ndarray.tolist, batches), 100)  # one round
    assert ended and got == [[i, i + 1, i + 2, i + 3] for i in range(0, 40, 4)], (strikes, got)
    struck += strikes
"""

BODIES = [(GOES_ON, 0.001), (BEGINS_AGAIN, 0.0005), (LOOPS, 0.0005), (WITH_FUNCTION, 0.0005)]
BODIES += [(OF_AN_ITERATOR, 0.0005)]


@pytest.mark.parametrize(("body", "pause"), BODIES)
def test_they_go_on(body, pause):
    seed = random.randrange(1 << 32)
    done = run_script(STORM.format(body=body.format(strikes=STRIKES), pause=pause, seed=seed))
    assert done.stdout == "went on\n", f"seed {seed}: {done.stdout}\n{done.stderr}"
