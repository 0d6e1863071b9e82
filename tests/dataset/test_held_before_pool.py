"""Resume if a stage with a buffer comes before a shuffle or another such stage."""

import numpy as np
import pytest

import pipeline


def as_list(element):
    return [int(element)] * (int(element) % 6 + 1)


def as_ones(batch):
    return [1] * len(batch)


LISTS = pipeline.dataset(range(40)).map(as_list)
BUCKETS = LISTS.bucket([2, 4], [3, 2, 2])
CASES = {
    "bucket, shuffle": BUCKETS.shuffle(10, seed=1),
    "shuffle, bucket, shuffle": LISTS.shuffle(7, seed=2).bucket([2, 4], [3, 2, 2]).shuffle(5, seed=1),
    "pack, shuffle": LISTS.pack(8, method="first_fit", long="error").shuffle(4, seed=1),
    "bucket, batch, shuffle": BUCKETS.map(len).batch(2).shuffle(3, seed=1),
    "bucket, pack": BUCKETS.map(as_ones).pack(8, method="first_fit", long="error"),
    "bucket, bucket, shuffle": BUCKETS.map(as_ones).bucket([2, 3], [3, 2, 2]).shuffle(3, seed=1),
}


@pytest.mark.parametrize("dataset", CASES.values(), ids=CASES)
def test_resumes_after_every_element(dataset):
    wanted = [repr(each) for each in dataset]
    for n in range(len(wanted) + 1):
        first = iter(dataset)
        for _ in range(n):
            next(first)
        second = iter(dataset)
        second.load_state_dict(first.state_dict())
        got = [repr(next(second)) for _ in range(min(2, len(wanted) - n))]
        third = iter(dataset)
        third.load_state_dict(second.state_dict())
        assert got + [repr(each) for each in third] == wanted[n:]


def test_part_of_a_mix_of_rows():
    rows = pipeline.arrays({"n": np.arange(9)})
    mixed = pipeline.mix([rows, pipeline.dataset(range(9))], [0.5, 0.5], seed=1)
    everything = [repr(each) for each in mixed]
    assert [repr(each) for each in mixed.skip(3)] == everything[3:]
    assert [repr(each) for each in mixed.shard(1, 3)] == everything[1::3]
