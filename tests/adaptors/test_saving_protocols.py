"""States by the method names MaxText and Megatron-LM call, on the iterators of loaders and of datasets.

The two classes that save are modelled on theirs. MaxText's checkpoints of a data iterator decode its bytes into a file
per process. Megatron-LM accepts any object with `next` and `save_state` as external data loader.
"""

import itertools
import json
import pickle

import numpy as np
import pytest

import pipeline
from pipeline.adaptors.loader import Loader
from pipeline.errors import FailedPreconditionError, InvalidArgumentError, StateMismatchError


class Lists(Loader):
    """Its batches are lists; some are made ahead."""

    def __init__(self, data, shard=(0, 1)):
        super().__init__(data, 2)
        self.shard = shard

    def _shard(self):
        return self.shard

    def _convert(self, batch):
        return batch.tolist()


def chain(rows=22):
    """Six batches with shuffled numbers; the last one is smaller."""
    return pipeline.arrays(np.arange(rows)).shuffle(seed=1).batch(4)


def epochs(count):
    return [[batch.tolist() for batch in chain().epoch(number)] for number in range(count)]


def lists(batches):
    return [np.asarray(batch).tolist() for batch in batches]


class MaxTextIterator:
    """Reads an iterator it makes from a loader or a dataset; `reset` starts it again."""

    def __init__(self, loader, index=0, count=1):
        self.loader, self.name = loader, f"process_{index}-of-{count}.json"
        self.local_iterator = iter(loader)

    def save(self, folder):
        (folder / self.name).write_text(self.local_iterator.get_state().decode())

    def restore(self, folder):
        self.local_iterator.set_state((folder / self.name).read_text().encode())

    def __next__(self):
        return next(self.local_iterator)


GIVEN = {"loader": lambda: Lists(chain()), "dataset": chain, "endless": lambda: Lists(chain().repeat())}


@pytest.mark.parametrize("kind", GIVEN)
@pytest.mark.parametrize("taken", [0, 1, 4, 6])
def test_maxtext(tmp_path, kind, taken):
    given = GIVEN[kind]
    first = MaxTextIterator(given())
    for _ in range(taken):
        next(first)
    first.save(tmp_path)
    json.loads((tmp_path / first.name).read_text())
    rest = lists(itertools.islice(first.local_iterator, 6))
    other = MaxTextIterator(given())
    other.restore(tmp_path)
    assert lists(itertools.islice(other.local_iterator, 6)) == rest
    assert rest[: 6 - taken] == epochs(1)[0][taken:]


def test_maxtext_with_several_processes(tmp_path):
    """Each writes a file."""
    parts = []
    for index in range(2):
        first = MaxTextIterator(Lists(chain(24), (index, 2)), index, 2)
        before = [next(first), next(first)]
        first.save(tmp_path)
        other = MaxTextIterator(Lists(chain(24), (index, 2)), index, 2)
        other.restore(tmp_path)
        parts += before + list(other.local_iterator)
    assert sorted(itertools.chain(*parts)) == list(range(24))


def test_an_iterator_continues_after_a_state_of_the_end():
    """For a loader, with the next epoch."""
    loader = Lists(chain())
    batches = iter(loader)
    assert list(batches) == epochs(1)[0]
    state = batches.get_state()
    batches.set_state(state)
    assert list(batches) == epochs(2)[1]
    other = iter(Lists(chain()))
    assert next(other) == epochs(1)[0][0]
    other.set_state(state)
    assert list(other) == epochs(2)[1]


class RerunIterator:
    """Hands out an external loader's batches, and saves its state."""

    def __init__(self, iterable):
        self.iterable = iterable

    def __next__(self):
        return next(self.iterable)


@pytest.mark.parametrize("taken", [0, 1, 4, 6, 9])
def test_megatron(tmp_path, taken):
    """A training run has a fixed batch count: the dataset repeats itself."""
    first = RerunIterator(iter(Lists(chain().repeat())))
    for _ in range(taken):
        next(first)
    (tmp_path / "state").write_bytes(pickle.dumps({"dataloader_state_dict": first.iterable.save_state()}))
    rest = [next(first) for _ in range(8)]
    loader = iter(Lists(chain().repeat()))
    loader.restore_state(pickle.loads((tmp_path / "state").read_bytes())["dataloader_state_dict"])
    other = RerunIterator(loader)
    assert [next(other) for _ in range(8)] == rest
    assert rest == [batch for epoch in epochs(3) for batch in epoch][taken : taken + 8]


def test_a_state_of_an_iterator_that_another_has_replaced():
    loader = Lists(chain())
    first = iter(loader)
    next(first)
    second = iter(loader)
    next(second)
    for call in (first.save_state, first.get_state):
        with pytest.raises(FailedPreconditionError, match="the state would belong to that"):
            call()
    assert second.save_state() == loader.state_dict()


@pytest.mark.parametrize("kind", ["loader", "dataset"])
def test_what_is_no_state(kind):
    batches = iter(GIVEN[kind]())
    for wrong in ("{}", {}, None, 3):
        with pytest.raises(TypeError, match="expected the bytes that get_state returned"):
            batches.set_state(wrong)
    for wrong in (b"", b"{", b"\xff"):
        with pytest.raises(InvalidArgumentError, match="the state is damaged"):
            batches.set_state(wrong)
    with pytest.raises(InvalidArgumentError):
        batches.set_state(b"{}")
    other = iter(pipeline.arrays(np.arange(22)).batch(4))
    if not hasattr(batches, "save_state"):
        with pytest.raises(StateMismatchError):
            batches.set_state(other.get_state())
    assert lists(batches) == epochs(1)[0]
