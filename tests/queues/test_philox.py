"""The compiled generator against the reference, across the carries in its 128-bit counter.

The functions are private; queues show their orders and draws, but no carry.
"""

from itertools import islice

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reference import philox as reference_philox

from pipeline._random import permutation, philox

WORDS = st.integers(0, 2**64 - 1)


@given(seed=WORDS, seed2=WORDS, count=st.integers(0, 70))
def test_words(seed, seed2, count):
    assert philox(seed, seed2, 0, count).tolist() == list(islice(reference_philox(seed, seed2), count))


@given(seed=WORDS, seed2=WORDS, skip=st.integers(0, 40), count=st.integers(0, 70))
def test_skip_leaves_out_blocks_of_four(seed, seed2, skip, count):
    words = list(islice(reference_philox(seed, seed2), 4 * skip + count))
    assert philox(seed, seed2, skip, count).tolist() == words[4 * skip :]


@given(seed=WORDS, seed2=st.integers(0, 2**64 - 2), back=st.integers(1, 9))
@example(seed=1, seed2=2**32 - 1, back=3)
def test_carry_into_the_upper_half(seed, seed2, back):
    """After 2**64 blocks the counter's upper half, initially seed2, is incremented, as if it were seed2 + 1."""
    words = philox(seed, seed2, 2**64 - back, 4 * (back + 10))
    assert words[4 * back :].tolist() == philox(seed, seed2 + 1, 0, 40).tolist()


def test_a_negative_count():
    with pytest.raises(ValueError, match="count"):
        philox(1, 2, 0, -1)


@given(seed=WORDS, seed2=WORDS, skip=st.integers(0, 9), rows=st.integers(0, 80))
def test_permutation_is_a_fisher_yates_shuffle(seed, seed2, skip, rows):
    order = list(range(rows))
    for k, word in enumerate(philox(seed, seed2, skip, max(0, rows - 1)).tolist()):
        other = k + word % (rows - k)
        order[k], order[other] = order[other], order[k]
    assert permutation(seed, seed2, skip, rows).tolist() == order


def test_a_permutation_of_less_than_nothing():
    with pytest.raises(ValueError, match="count"):
        permutation(1, 2, 0, -1)
