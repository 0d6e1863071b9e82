"""Numbers too large to count are rejected where the chain is written, in the user's names; large ones work."""

import sys

import numpy as np
import pytest

import pipeline

NUMBERS = pipeline.dataset(range(3))
HUGE = 10**30
ALL = r"must be at most 9,223,372,036,854,775,807, got 1,000,000,000,000,000,000,000,000,000,000"
REFUSED = {
    "shuffle": (
        lambda: NUMBERS.shuffle(2**32),
        "shuffle: buffer_size must be at most 4,294,967,295, got 4,294,967,296",
    ),
    "shuffle all": (
        lambda: pipeline.dataset(range(10**12)).shuffle(),
        "shuffle: at most 4,294,967,295 elements can be shuffled at once, got 1,000,000,000,000: give a buffer_size",
    ),
    "prefetch": (lambda: NUMBERS.prefetch(10**12), "prefetch: n must be at most 2,147,483,647, got 1,000,000,000,000"),
    "repeat": (lambda: NUMBERS.repeat(2**62), r"repeat: 4,611,\S+ passes over 3 elements are more than .*leave out n"),
    "batch": (lambda: NUMBERS.batch(HUGE), "batch: n " + ALL),
    "shard": (lambda: NUMBERS.shard(0, HUGE), "shard: n " + ALL),
    "sample": (lambda: NUMBERS.sample([1, 1, 1], HUGE), "sample: n " + ALL),
    "take": (lambda: NUMBERS.take(HUGE), "take: n " + ALL),
    "skip": (lambda: NUMBERS.skip(HUGE), "skip: n " + ALL),
    "window": (lambda: NUMBERS.window(1, HUGE), "window: stride " + ALL),
    "pack": (lambda: NUMBERS.pack(HUGE), "pack: length " + ALL),
    "bucket": (lambda: NUMBERS.bucket([1], [HUGE, 1]), "bucket: a batch size " + ALL),
    "interleave": (lambda: pipeline.interleave([NUMBERS], block_length=HUGE), "interleave: block_length " + ALL),
    "epoch": (lambda: NUMBERS.epoch(2**62), "epoch: i must be at most 4,611,686,018,427,387,903, got 4,611,"),
    "replay": (lambda: pipeline.replay(HUGE), "replay: capacity " + ALL),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    chain, said = REFUSED[name]
    with pytest.raises(ValueError, match=f"^{said}"):
        chain()


def stream():
    yield from range(3)


MOST = sys.maxsize
WORK = {
    "shuffle": (lambda data: data.shuffle(2**20, seed=1), None),
    "prefetch": (lambda data: data.prefetch(2**31 - 1), [0, 1, 2]),
    "repeat": (lambda data: data.repeat(MOST // 3).take(4), [0, 1, 2, 0]),
    "batch": (lambda data: data.batch(MOST).unbatch(), [0, 1, 2]),
    "shard": (lambda data: data.shard(1, MOST), [1]),
    "take": (lambda data: data.take(MOST), [0, 1, 2]),
    "skip": (lambda data: data.skip(MOST), []),
    "window": (lambda data: data.window(1, MOST).unbatch(), [0]),
    "bucket": (lambda data: data.map(lambda x: [x]).bucket([1], [MOST, MOST]).unbatch().unbatch(), [0, 1, 2]),
    "epoch": (lambda data: data.epoch(2**62 - 1), [0, 1, 2]),
}


@pytest.mark.parametrize("source", [NUMBERS, pipeline.dataset(stream)], ids=["range", "generator"])
@pytest.mark.parametrize("name", WORK)
def test_the_largest_work(name, source):
    chain, expected = WORK[name]
    found = [int(each) for each in chain(source)]
    assert found == expected if expected is not None else sorted(found) == [0, 1, 2]


@pytest.mark.parametrize("large", [2**63, 2**63 + 1, 2**64 - 1])
def test_integers_of_64_bits_have_one_dtype(large):
    for example in (lambda i: [large, 5][i], lambda i: [[large, 5], [5, large]][i], lambda i: (i, [large, 5])[1]):
        batch = next(iter(pipeline.dataset(range(2)).map(example).batch(2)))
        assert batch.dtype == np.uint64
        assert large in batch
