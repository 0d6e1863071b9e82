"""repeat: epoch after epoch, each in its own order."""

import itertools

import pytest
from dataset_contract import check, stream

import pipeline

SOURCES = {
    "list": pipeline.dataset(range(4)),
    "stream": stream(range(4)),
    "workers": pipeline.dataset(range(4)).map(abs, workers=2),
}


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("source", SOURCES)
def test_repeat(source, n):
    data = SOURCES[source].repeat(n)
    check(data, [*range(4)] * n)
    check(data.batch(3), batches([*range(4)] * n, 3))


def batches(items, n):
    return [items[i : i + n] for i in range(0, len(items), n)]


def test_each_pass_is_an_epoch():
    data = pipeline.dataset(range(5)).shuffle(seed=1)
    epochs = [list(data.epoch(i)) for i in range(6)]
    assert len({tuple(epoch) for epoch in epochs}) > 1
    check(data.repeat(3), [*epochs[0], *epochs[1], *epochs[2]])
    check(data.repeat(3).epoch(1), [*epochs[3], *epochs[4], *epochs[5]])
    check(data.repeat(2).repeat(2), [x for epoch in epochs[:4] for x in epoch])


def test_without_end():
    data = stream(range(3)).repeat()
    assert list(itertools.islice(data, 8)) == [0, 1, 2, 0, 1, 2, 0, 1]
    with pytest.raises(TypeError, match="not known"):
        len(data)
    with pytest.raises(TypeError, match="has no end"):
        len(pipeline.dataset([1]).repeat())


def test_nothing_to_repeat():
    with pytest.raises(ValueError, match="repeat: there are no elements"):
        list(stream([]).repeat())
