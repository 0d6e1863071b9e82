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


@pytest.mark.parametrize(
    "build",
    [lambda: pipeline.dataset(range(4)).repeat(), lambda: pipeline.arrays([1, 2], num_epochs=None)],
    ids=["repeat", "arrays"],
)
def test_an_endless_dataset_stays_endless(build):
    endless = build().skip(3)
    for call in (len, lambda data: data.to_arrays(), lambda data: data.cache()):
        with pytest.raises((TypeError, ValueError), match="has no end"):
            call(endless)
    assert list(endless.take(2)) == list(build().take(5))[3:]
    assert endless[0] == list(build().take(4))[3]
