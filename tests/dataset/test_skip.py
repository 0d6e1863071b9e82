"""skip: all but the first elements; skipped ones are computed only if necessary."""

import pytest
from dataset_contract import check, stream

import pipeline


@pytest.mark.parametrize("n", [0, 1, 6, 7, 100])
@pytest.mark.parametrize("source", [pipeline.dataset(range(7)), stream(range(7))], ids=["list", "stream"])
def test_skip(source, n):
    check(source.skip(n), range(n, 7))
    check(source.skip(n).skip(1).repeat(2), [*range(n + 1, 7)] * 2)
    check(source.skip(n).take(2), range(n, min(7, n + 2)))


def test_what_is_skipped_is_not_made():
    made = []
    for source in (pipeline.dataset(range(9)), stream(range(9))):
        made.clear()
        assert list(source.map(lambda x: made.append(x) or x).skip(5)) == made == [5, 6, 7, 8]


def test_a_filter_is_asked_for_what_it_keeps():
    check(stream(range(20)).filter(lambda x: x % 2).skip(3), range(7, 20, 2))
