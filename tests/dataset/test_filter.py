"""filter: elements accepted by a function."""

import pytest
from dataset_contract import check, stream

import pipeline


def odd(x):
    return x % 2


def fails_at_four(x):
    if x == 4:
        raise ValueError(x)
    return odd(x)


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("source", [pipeline.dataset(range(200)), stream(range(200))], ids=["list", "stream"])
def test_filter(source, workers):
    check(source.filter(odd, workers=workers).skip(90), range(181, 200, 2))
    assert list(source.filter(odd, workers=workers)) == list(range(1, 200, 2))
    assert list(source.filter(lambda x: False, workers=workers)) == []
    assert sorted(source.filter(odd, workers=2, ordered=False)) == list(range(1, 200, 2))


@pytest.mark.parametrize("workers", [None, 2])
def test_errors(workers):
    data = stream(range(9))
    with pytest.raises(ValueError, match="4"):
        list(data.filter(fails_at_four, workers=workers))
    with iter(data.filter(fails_at_four, workers=workers, on_error="skip")) as kept:
        assert list(kept) == [1, 3, 5, 7]
        assert kept.num_errors == 1


def test_lengths_are_not_known():
    with pytest.raises(TypeError, match="the number of elements after filter is not known"):
        len(pipeline.dataset([1]).filter(odd))
