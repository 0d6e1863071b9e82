"""flat_map: elements made from each input: none, some, or endlessly many."""

import itertools

import pytest
from dataset_contract import check, stream

import pipeline


def some(x):
    return [x] * (x % 3)


def lazily(x):
    yield from some(x)


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("function", [some, lazily])
@pytest.mark.parametrize("source", [pipeline.dataset(range(80)), stream(range(80))], ids=["list", "stream"])
def test_flat_map(source, function, workers):
    expected = [y for x in range(80) for y in some(x)]
    check(source.flat_map(function, workers=workers).skip(60), expected[60:])
    assert list(source.flat_map(function, workers=workers)) == expected


def test_without_end():
    data = stream([1, 2]).flat_map(itertools.count)
    assert list(itertools.islice(data, 4)) == [1, 2, 3, 4]
    check(data.take(5), [1, 2, 3, 4, 5])


def test_draws_differ_between_the_outputs():
    def drawn(x):
        return [x, x]

    def jittered(x):
        return x + pipeline.example_rng().random()

    found = list(stream([1, 2]).flat_map(drawn).map(jittered, seed=1))
    assert found == list(stream([1, 2]).flat_map(drawn).map(jittered, seed=1, workers=2))


@pytest.mark.parametrize("made", [1, "text", {"a": 1}, None], ids=str)
def test_what_is_no_iterable_of_examples(made):
    with pytest.raises(TypeError, match="flat_map needs an iterable of examples"):
        list(stream([1]).flat_map(lambda x: made))
