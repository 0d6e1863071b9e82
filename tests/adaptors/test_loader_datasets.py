"""Loaders over datasets: epochs, states, random seeds, shards and iterators, the same for every library."""

import itertools
import json
import logging
import pickle

import numpy as np
import pytest

import pipeline
from pipeline.adaptors.loader import Loader
from pipeline.errors import FailedPreconditionError, InvalidArgumentError, StateMismatchError

ROWS = 20


class Lists(Loader):
    """Its batches are lists."""

    def __init__(self, data, ahead=0, shard=(0, 1)):
        super().__init__(data, ahead)
        self.shard = shard

    def _shard(self):
        return self.shard

    def _convert(self, batch):
        return batch.tolist()


def joined(lists):
    return list(itertools.chain.from_iterable(lists))


def chain(seed=1, rows=ROWS):
    """Shuffled numbers in batches, through a function, workers and a thread."""
    dataset = pipeline.arrays(np.arange(rows)).shuffle(seed=seed)
    return dataset.map(lambda number: 2 * number, workers=2).batch(4).prefetch(2)


def read(dataset, epoch):
    return [batch.tolist() for batch in dataset.epoch(epoch)]


aheads = pytest.mark.parametrize("ahead", [0, 1, 3, 64])


@aheads
def test_each_iter_is_the_next_epoch(ahead):
    dataset = chain()
    with Lists(dataset, ahead) as loader:
        assert [list(loader) for _ in range(3)] == [read(dataset, epoch) for epoch in range(3)]
        assert len(loader) == 5


def test_epochs_begin_with_that_of_the_dataset():
    dataset = chain()
    loader = Lists(dataset.epoch(4))
    assert [list(loader), list(loader)] == [read(dataset, 4), read(dataset, 5)]


@aheads
def test_an_epoch_that_was_left_is_not_gone_on_with(ahead):
    dataset = chain()
    with Lists(dataset, ahead) as loader:
        for _ in loader:
            break
        assert list(loader) == read(dataset, 1)


@aheads
@pytest.mark.parametrize("taken", range(6))
def test_a_state_after_any_batch(ahead, taken):
    """Batches converted ahead are not lost, and the following epoch is the next one."""
    one = Lists(chain(), ahead)
    before = list(itertools.islice(iter(one), taken))
    state = json.loads(json.dumps(one.state_dict()))
    other = Lists(chain(), ahead)
    other.load_state_dict(state)
    dataset = chain()
    assert before + list(other) == read(dataset, 0)
    assert list(other) == read(dataset, 1)


def test_a_state_of_the_end_of_an_epoch():
    one = Lists(chain())
    list(one)
    other = Lists(chain())
    other.load_state_dict(one.state_dict())
    assert list(other) == read(chain(), 1)


def test_the_state_after_a_break_says_where():
    one = Lists(chain())
    list(one)
    for _ in one:
        break
    state = one.state_dict()
    assert state["round"] == 1
    other = Lists(chain())
    other.load_state_dict(state)
    assert list(other) == read(chain(), 1)[1:]


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("taken", [0, 2, 5])
def test_a_seed_that_was_drawn_is_the_same_in_later_epochs(used, taken):
    """Even if the loading loader has already drawn and used a different seed."""
    one = Lists(chain(seed=None))
    before = list(itertools.islice(iter(one), taken))
    state = one.state_dict()
    other = Lists(chain(seed=None))
    if used:
        list(other)
    other.load_state_dict(state)
    resumed = [list(other), list(other), list(other)]
    third = Lists(chain(seed=None))
    third.load_state_dict(state)
    assert [list(third), list(third), list(third)] == resumed
    assert sorted(joined(before + resumed[0])) == list(range(0, 2 * ROWS, 2))
    assert resumed[1] != resumed[2]


def test_a_state_of_a_later_epoch_has_the_seed_that_was_loaded():
    one = Lists(chain(seed=None))
    next(iter(one))
    other = Lists(chain(seed=None))
    list(other)  # draws its own seed
    other.load_state_dict(one.state_dict())
    list(other)
    batches = iter(other)
    next(batches)
    again = Lists(chain(seed=None))
    again.load_state_dict(other.state_dict())
    assert list(again) == list(batches)


def test_states_that_do_not_fit():
    loader = Lists(chain())
    with pytest.raises(StateMismatchError):
        loader.load_state_dict(Lists(pipeline.arrays(np.arange(9)).batch(4)).state_dict())
    with pytest.raises(InvalidArgumentError, match="expected what a loader's state_dict returned"):
        loader.load_state_dict({"epoch": 1})
    state = Lists(chain()).state_dict()
    whole = (
        r"whole checkpoint \(its keys are 'model', 'data'\), not the loader's state in it: pass checkpoint\['data'\]"
    )
    with pytest.raises(InvalidArgumentError, match=whole):
        loader.load_state_dict({"model": {}, "data": state})
    for damaged in ({"loop": state["loop"][:-9]}, {"loop": 3}, {"round": "a"}, {"round": None}):
        with pytest.raises(InvalidArgumentError, match="the state is damaged"):
            loader.load_state_dict({**state, **damaged})
    for other in ("[]", "7", '{"epoch": "x"}', state["loop"].replace('"epoch": 0', '"epoch": -7')):
        with pytest.raises((InvalidArgumentError, TypeError), match="load_state_dict"):
            loader.load_state_dict({**state, "loop": other})
    assert list(loader) == read(chain(), 0)  # nothing has changed


def test_the_epoch_that_is_set():
    dataset, loader = chain(), Lists(chain(), 1)
    loader.set_epoch(2)
    assert [list(loader), list(loader)] == [read(dataset, 2), read(dataset, 3)]


def test_a_source_that_is_read_once_is_read_on(caplog):
    loader = Lists(pipeline.dataset(iter(range(20))).batch(4))
    assert next(iter(loader)) == [0, 1, 2, 3]
    assert joined(loader) == list(range(4, 20))
    with caplog.at_level(logging.WARNING, "pipeline.batches"):
        assert list(loader) == []
    assert "there is only one epoch" in caplog.text
    with pytest.raises(FailedPreconditionError):
        loader.state_dict()


def test_an_endless_dataset_is_read_on():
    loader = Lists(pipeline.arrays(np.arange(8)).batch(4).repeat())
    assert list(itertools.islice(iter(loader), 3)) == [[0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 2, 3]]
    assert next(iter(loader)) == [4, 5, 6, 7]


def test_an_iterator_is_one_epoch(caplog):
    iterator = iter(chain())
    next(iterator)
    loader = Lists(iterator)
    batches = iter(loader)
    first = next(batches)
    state = loader.state_dict()
    assert [first, *batches] == read(chain(), 0)[1:]
    assert loader.loop is iterator
    with caplog.at_level(logging.WARNING, "pipeline.batches"):
        assert list(loader) == []
    assert "pass the dataset" in caplog.text
    with pytest.raises(TypeError, match="pass the dataset"):
        len(loader)
    other = Lists(iter(chain()))
    other.load_state_dict(state)
    assert list(other) == read(chain(), 0)[2:]


def test_the_report_of_the_epoch():
    with Lists(pipeline.arrays(np.arange(8)).map(abs).batch(4)) as loader:
        next(iter(loader))
        assert ("function", "abs") in [(stage.kind, stage.name) for stage in loader.report().stages]


def test_a_closed_loader():
    loader = Lists(chain())
    batches = iter(loader)
    next(batches)
    loader.close()
    assert list(batches) == []
    assert "closed" in repr(loader.loop)


# Several processes


@pytest.mark.parametrize("count", [2, 3, 5])
def test_shares_are_equal_and_disjoint(count):
    whole = read(chain(), 0), read(chain(), 1)
    shares = [Lists(chain(), 1, (index, count)) for index in range(count)]
    for epoch in range(2):
        read_here = [list(loader) for loader in shares]
        assert {len(each) for each in read_here} == {len(whole[0]) // count} == {len(shares[0])}
        mixed = [batch for batches in zip(*read_here, strict=True) for batch in batches]
        assert mixed == whole[epoch][: len(mixed)]


def test_the_state_of_a_share():
    one = Lists(chain(), 1, (1, 2))
    batches = iter(one)
    first = next(batches)
    for index in range(2):  # any process's state will do
        other = Lists(chain(), 0, (index, 2))
        other.load_state_dict(one.state_dict())
        assert list(other) == read(chain(), 0)[2 + index : 4 : 2]
    assert first == read(chain(), 0)[1]


def lines():
    yield from range(96)


SHARED = {
    "indexed": lambda size: pipeline.arrays(np.arange(96)).shuffle(seed=1).batch(size),
    "workers": lambda size: pipeline.arrays(np.arange(96)).map(abs, workers=2).shuffle(9, seed=1).batch(size),
    "stream": lambda size: pipeline.dataset(lines).map(abs, workers=2).batch(size).map_batches(abs, workers=2),
    "filter": lambda size: pipeline.dataset(lines).filter(lambda x: True).batch(size).prefetch(3),
}


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("ahead", [0, 3])
def test_a_state_goes_to_any_number_of_processes(name, ahead):
    """Only a last turn too short for all processes is dropped; nothing is repeated, and the order stays."""

    def of_all(count, state, rounds, size=4):
        found, states = [], []
        for i in range(count):
            with Lists(SHARED[name](size), ahead, (i, count)) as loader:
                if state is not None:
                    loader.load_state_dict(state, allow={"shard", "batch_size"})
                found.append(list(itertools.islice(loader, rounds)))
                states.append(loader.state_dict())
        return joined(joined(zip(*found, strict=True))), states

    whole = joined(Lists(SHARED[name](4)))
    first, states = of_all(4, None, 2)
    for state in states:
        assert first + of_all(2, state, None)[0] == whole
        assert first + of_all(1, state, None)[0] == whole
        rest = first + of_all(3, state, None)[0]
        assert rest == whole[: len(rest)]
        assert len(whole) - len(rest) < 3 * 4
    second, states = of_all(3, states[1], 1)
    third, states = of_all(2, states[2], 2, 8)
    rest = first + second + third + of_all(5, states[0], None, 2)[0]
    assert rest == whole[: len(rest)]
    assert len(whole) - len(rest) < 5 * 2


@pytest.mark.parametrize(
    ("dataset", "reason"),
    [
        (lambda: chain(seed=None), "without a seed each would draw a different order. Pass seed= to shuffle"),
        (lambda: pipeline.arrays(np.arange(9), shuffle=True).batch(2), "Pass seed= to arrays"),
        (lambda: pipeline.dataset(iter(range(9))).batch(2), "only one process can read from its start"),
        (lambda: iter(chain()), "an iterator reads all of it. Pass the dataset"),
        (lambda: pipeline.dataset([1, 2]).map(abs, workers=2, ordered=False).batch(1), "in a different order"),
        (lambda: pipeline.dataset([1, 2]).batch(2, max_wait=1.0), "depend on time"),
    ],
)
def test_what_cannot_be_shared(dataset, reason):
    with pytest.raises(FailedPreconditionError, match="cannot be split between 2 processes") as caught:
        iter(Lists(dataset(), 0, (0, 2)))
    assert reason in str(caught.value)
    list(Lists(dataset(), 0, (0, 1)))


def test_a_dataset_that_is_a_share_stays_as_it_is():
    for dataset in (
        pipeline.arrays(np.arange(12)).shard(1, 2).batch(3),
        pipeline.arrays(np.arange(12), shard=(1, 2)).shuffle(4).batch(3),
    ):
        assert sorted(joined(Lists(dataset, 0, (1, 2)))) == [1, 3, 5, 7, 9, 11]


def test_a_dataset_that_has_begun_before_there_were_processes():
    loader = Lists(chain())
    next(iter(loader))
    loader.shard = 0, 2
    with pytest.raises(FailedPreconditionError, match="has begun to read before there were several processes"):
        iter(loader)


def test_a_drawn_seed_goes_with_a_copy():
    """As in torch's DataLoader workers, which get the dataset by pickle."""
    dataset = pipeline.arrays(np.arange(12)).shuffle().batch(3)
    copy = pickle.loads(pickle.dumps(dataset))
    assert read(copy, 0) == read(dataset, 0)
