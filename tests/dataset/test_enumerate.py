"""enumerate: each element paired with its index in the epoch."""

import pytest
from dataset_contract import check, stream

import pipeline


@pytest.mark.parametrize("source", [pipeline.dataset(list("abcde")), stream("abcde")], ids=["list", "stream"])
def test_enumerate(source):
    pairs = list(enumerate("abcde"))
    check(source.enumerate(), pairs)
    check(source.enumerate().skip(2), pairs[2:])
    check(source.skip(2).enumerate(), list(enumerate("cde")))
    check(source.filter(lambda c: c != "b").enumerate(), list(enumerate("acde")))
    check(source.repeat(2).enumerate(), list(enumerate("abcde" * 2)))


def test_numbers_of_a_pass():
    data = pipeline.dataset(range(4)).shuffle(seed=1).enumerate()
    assert [number for number, _ in data.repeat(2)] == [0, 1, 2, 3] * 2
    assert [number for number, _ in data.epoch(1)] == [0, 1, 2, 3]
    assert sorted(data.shuffle(seed=2)) == sorted(data)
