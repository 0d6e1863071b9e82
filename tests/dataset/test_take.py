"""take: the first elements, without requesting more from the input."""

import pytest
from dataset_contract import check, stream

import pipeline


@pytest.mark.parametrize("n", [0, 1, 5, 7, 8, 100])
@pytest.mark.parametrize("source", [pipeline.dataset(range(7)), stream(range(7))], ids=["list", "stream"])
def test_take(source, n):
    check(source.take(n), range(min(n, 7)))
    check(source.take(n).take(3).repeat(2), [*range(min(n, 3))] * 2)


def test_nothing_more_is_asked_for():
    asked = []
    data = stream(range(100)).map(lambda x: asked.append(x) or x)
    assert list(data.take(4)) == list(data.take(4).prefetch(2)) == [0, 1, 2, 3]
    assert asked == [0, 1, 2, 3] * 2


def test_an_endless_input():
    check(pipeline.dataset(range(3)).repeat().take(8), [0, 1, 2, 0, 1, 2, 0, 1])


def test_less_than_nothing():
    with pytest.raises(ValueError, match="take: n must be at least 0, got -1"):
        pipeline.dataset([1]).take(-1)
