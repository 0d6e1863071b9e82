"""Deterministic draws with numbers alone, and fingerprints, compared with the oracle and the queue.

The compiled functions are private; a queue or a loop only shows their combined results.
"""

from itertools import chain

import numpy as np
import pytest
from helpers import raises, run_in_thread
from hypothesis import example, given
from hypothesis import strategies as st
from lockstep import play, word

from pipeline import RandomShuffleQueue
from pipeline._random import NumberPool, lockstep_end, lockstep_pool, philox

SEEDS = (87654321, 5)  # for seed=5
SEED = st.integers(0, 2**64 - 1)
IDS = st.lists(st.integers(0, 2**64 - 1), max_size=50)


def numbers(values):
    return np.array(values, np.int64)


# Contents of a pool ---------------------------------------------------------------------------------------------------


@given(seed=SEED, seed2=SEED, m=st.integers(0, 20), draws=st.integers(0, 150))
def test_the_places_before_a_draw(seed, seed2, m, draws):
    pool = play(seed, seed2, m, range(m + draws + 1), draws)[1]
    assert lockstep_pool(seed, seed2, m, draws).tolist() == pool[:m]
    assert pool[m:] == [m + draws]


@given(
    m=st.integers(0, 12), draws=st.sampled_from([2**32, 10**12, 2**40 + 17, 2**61 + 5, 2**62]), back=st.integers(0, 99)
)
@example(m=0, draws=2**62, back=0)
def test_after_very_many_draws(m, draws, back):
    """Apply the definition in reverse, to the oracle's words."""
    draws -= back
    last = {}
    i = draws
    while len(last) < m:
        i -= 1
        last.setdefault(word(*SEEDS, i) % (m + 1), m + i)
        last.pop(m, None)
    assert lockstep_pool(*SEEDS, m, draws).tolist() == [last[place] for place in range(m)]


@pytest.mark.parametrize(("m", "draws"), [(63, 5000), (64, 5000), (65, 5000), (1000, 700), (1000, 20_000), (5000, 3)])
def test_larger_pools(m, draws):
    pool = play(*SEEDS, m, range(m + draws + 1), draws)[1]
    assert lockstep_pool(*SEEDS, m, draws).tolist() == pool[:m]


def test_a_million_places_after_very_many_draws():
    """Each slot holds the arrival at its last draw."""
    m, draws = 10**6, 2**62
    arrivals = lockstep_pool(*SEEDS, m, draws) - m
    assert len(np.unique(arrivals)) == m
    first = int(arrivals.min()) // 4 * 4
    words = philox(*SEEDS, first // 4, draws - first)
    assert (words[arrivals - first] % (m + 1) == np.arange(m)).all()
    later = np.zeros(m + 1, np.int64)
    later[words % (m + 1)] = np.arange(first, draws)  # among equal slots the last one stays
    assert (later[:m] == arrivals).all()


@given(m=st.integers(0, 15), arrivals=st.integers(0, 60), share=st.floats(0, 1))
def test_what_is_left_of_an_input_that_has_ended(m, arrivals, share):
    draws = int(share * arrivals)
    pool = play(*SEEDS, m, range(arrivals), draws)[1]
    assert lockstep_end(*SEEDS, m, arrivals, draws).tolist() == pool[:m]


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lockstep_pool, (1, 2, -1, 0)),
        (lockstep_pool, (1, 2, 2**32 - 1, 0)),
        (lockstep_pool, (1, 2, 3, -1)),
        (lockstep_pool, (1, 2, 3, 2**62 + 1)),
        (lockstep_end, (1, 2, 3, 5, 6)),
        (lockstep_end, (1, 2, 3, -1, 0)),
        (lockstep_end, (1, 2, -1, 5, 0)),
        (NumberPool, (1, 2, -1)),
        (NumberPool, (1, 2, 1, -1)),
        (NumberPool(1, 2, 1).drain, (-1,)),
        (NumberPool(1, 2, 1).load, (np.arange(2),)),
    ],
)
def test_arguments_out_of_range(function, args):
    with pytest.raises(ValueError, match=r"lockstep|NumberPool"):
        function(*args)


# Pools of numbers -----------------------------------------------------------------------------------------------------


def all_of(pool, blocks, limit=None):
    drawn = []
    for block in blocks:
        drawn += pool.exchange(numbers(block)).tolist()
    while part := pool.drain(limit).tolist():
        drawn += part
    return drawn


@given(m=st.integers(0, 9), blocks=st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20), max_size=6))
def test_a_pool_draws_as_the_oracle(m, blocks):
    assert all_of(NumberPool(*SEEDS, m), blocks) == play(*SEEDS, m, chain(*blocks))[0]


@given(m=st.integers(0, 9), n=st.integers(0, 50), limit=st.integers(1, 12))
def test_a_pool_draws_as_a_queue(m, n, limit):
    queue = RandomShuffleQueue(100, m, np.int64, shapes=(), seed=5, deterministic=True)
    queue.enqueue_many([np.arange(n)])
    queue.close()
    assert all_of(NumberPool(*SEEDS, m), [range(n)], limit) == list(queue)


@given(m=st.integers(0, 9), n=st.integers(0, 60), share=st.floats(0, 1))
def test_a_pool_that_begins_in_the_middle(m, n, share):
    full = play(*SEEDS, m, range(n))[0]
    draws = int(share * n)
    pool = NumberPool(*SEEDS, m, draws)
    pool.load(lockstep_end(*SEEDS, m, n, draws))
    assert all_of(pool, [range(draws + m, n)]) == full[draws:]


def test_a_pool_that_was_drained_takes_no_more():
    pool = NumberPool(*SEEDS, 2)
    pool.exchange(np.arange(2))
    assert len(pool.drain(1)) == 1
    with raises(RuntimeError, "NumberPool.exchange: numbers were drained"):
        pool.exchange(np.arange(2))
    pool.load(np.arange(2))
    assert len(pool.exchange(np.arange(2))) == 2


@pytest.mark.parametrize("bad", [[1, 2], np.zeros(3), np.zeros((2, 2), np.int64), np.arange(8)[::2], None])
def test_numbers_that_are_no_int64_array(bad):
    pool = NumberPool(*SEEDS, 2)
    for call in (pool.exchange, pool.load):
        with pytest.raises((TypeError, ValueError)):
            call(bad)
    assert len(pool.drain()) == 0


def test_several_threads_share_a_pool():
    pool, n = NumberPool(*SEEDS, 1000), 40_000

    def work(first):
        return [pool.exchange(np.arange(i, i + 100)).tolist() for i in range(first, first + n, 100)]

    calls = [run_in_thread(work, k * n) for k in range(3)]
    blocks = chain(*[call.result() for call in calls])
    assert sorted(chain(*blocks, pool.drain().tolist())) == list(range(3 * n))
