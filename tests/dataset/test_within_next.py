"""A function called by `next` may not use the iterator like an outside caller, because it would wait for itself."""

import pytest

import pipeline

CALLS = {
    "next": lambda iterator: next(iterator),
    "start": lambda iterator: iterator.start(),
    "load_state_dict": lambda iterator: iterator.load_state_dict({}),
}


CHAINS = {
    "map": lambda data, function: data.map(function),
    "workers": lambda data, function: data.map(function, workers=2),
    "threads": lambda data, function: data.filter(function, workers=pipeline.threads(1), ordered=False),
    "prefetch": lambda data, function: data.map(function).prefetch(2),
    "workers, prefetch": lambda data, function: data.flat_map(function, workers=2).prefetch(2),
}


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
@pytest.mark.parametrize("name", CALLS)
def test_it_is_an_error_that_says_so(name, chain):
    iterators = []

    def function(x):
        CALLS[name](iterators[0])
        return x

    iterators.append(iter(chain(pipeline.dataset(range(5)), function)))
    text = rf"{name} was called inside next\(\) of the same iterator"
    with pytest.raises(pipeline.FailedPreconditionError, match=text):
        next(iterators[0])


def test_the_workers_of_one_iterator_may_use_another():
    def function(x):
        return x + next(other)

    other = iter(pipeline.dataset(range(0, 100, 10)).map(lambda x: x, workers=2).prefetch(1))
    shared = pipeline.threads(2)
    with iter(pipeline.dataset([0] * 5).map(function, workers=shared).prefetch(1)) as iterator:
        assert sorted(iterator) == [0, 10, 20, 30, 40]
    assert [next(other) for _ in range(5)] == [50, 60, 70, 80, 90]  # threads that served one iterator are free again


def test_reading_where_it_stands_is_none():
    found, iterators = [], []

    def function(x):
        iterator = iterators[0]
        found.append((iterator.delivered, iterator.fingerprint(), iterator.state_dict()["delivered"]["batches"]))
        return x

    iterators.append(iter(pipeline.dataset(range(3)).map(function).checksum()))
    assert list(iterators[0]) == [0, 1, 2]
    assert [(at, batches) for at, _, batches in found] == [((i, i), i) for i in range(3)]
    assert [fingerprint.partition("-")[0] for _, fingerprint, _ in found] == ["0", "1", "2"]


def test_the_first_call_of_a_source_may_not_open_it_again():
    def numbers():
        iterators[0].state_dict()
        yield 1

    iterators = [iter(pipeline.dataset(numbers))]
    assert next(iterators[0]) == 1
