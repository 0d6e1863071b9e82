"""Sources with their own position resume everywhere, also if a pool reads ahead from earlier positions."""

import collections
import itertools
import json

import numpy as np
import pytest

import pipeline
from pipeline import dataset


class Place:
    def __init__(self):
        self.number = 0

    def state_dict(self):
        return {"number": self.number}

    def load_state_dict(self, state):
        self.number = state["number"]


class Lines(Place):
    """An iterator with a position in its state."""

    def __iter__(self):
        return self

    def __next__(self):
        if self.number == 12:
            raise StopIteration
        self.number += 1
        return self.number


class Passes(Place):
    """The same elements in each pass."""

    def __iter__(self):
        while self.number < 12:
            self.number += 1
            yield self.number
        self.number = 0


def lines():
    return dataset(Lines())


def passes():
    return dataset(Passes())


def producer():
    return dataset(pipeline.slice_input_producer([np.arange(12)], num_epochs=1, shuffle=False, collection=[]))


CHAINS = {
    "interleave": lambda own: pipeline.interleave([own(), dataset(range(100, 105))]),
    "its turn comes late": lambda own: pipeline.interleave([dataset(range(100, 103)), dataset(range(9)), own()], 2),
    "concatenate": lambda own: dataset(range(100, 105)).concatenate(own()),
    "the end of three": lambda own: dataset(range(3)).concatenate(dataset(range(100, 103)).concatenate(own())),
    "mix": lambda own: pipeline.mix([dataset(range(100, 105)), own()], [0.5, 0.5], seed=1),
    "mapped": lambda own: pipeline.interleave([own().map(np.sum), dataset(range(100, 105)).map(np.sum)], 2, 3),
    "batched": lambda own: dataset(range(100, 110)).batch(2).concatenate(own().batch(2)).map(np.sum),
}


@pytest.mark.parametrize("own", [lines, passes, producer])
@pytest.mark.parametrize("chain", CHAINS)
def test_in_a_pool(chain, own):
    def make():
        return CHAINS[chain](own).shuffle(3, seed=1)

    count = sum(1 for _ in make())
    assert count > 10
    for taken in range(count):
        iterator, resumed = iter(make()), iter(make())
        assert len(list(itertools.islice(iterator, taken))) == taken
        resumed.load_state_dict(json.loads(json.dumps(iterator.state_dict())))
        assert list(resumed) == list(iterator)


def test_several_passes():
    def make():
        return pipeline.interleave([passes().repeat(3), passes()], 1).shuffle(3, seed=1).repeat(2)

    expected = list(make())
    for taken in range(len(expected)):
        iterator, resumed = iter(make()), iter(make())
        assert list(itertools.islice(iterator, taken)) == expected[:taken]
        resumed.load_state_dict(iterator.state_dict())
        assert list(resumed) == list(iterator)


def test_batches_of_another_size_before_its_turn():
    def make(size):
        return dataset(range(100, 110)).concatenate(lines()).batch(size)

    iterator, resumed = iter(make(2)), iter(make(4))
    next(iterator)
    resumed.load_state_dict(iterator.state_dict(), allow={"batch_size"})
    expected = [[102, 103, 104, 105], [106, 107, 108, 109], [1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]
    assert [batch.tolist() for batch in resumed] == expected


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"at": (1,)}, r"state\['at'\] is \(1,\), of type builtins.tuple"),
        ({"deep": [{"at": np.int64(1)}]}, r"state\['deep'\]\[0\]\['at'\] is np.int64\(1\), of type numpy.int64"),
        ({"files": {1: 2}}, r"a key of state\['files'\] is 1$"),
        ({1}, r"state is \{1\}, of type builtins.set"),
    ],
)
@pytest.mark.parametrize(
    "chain", [lambda data: data, lambda data: data.shuffle(2, seed=1).batch(2).prefetch(1)], ids=["alone", "chain"]
)
def test_states_that_json_would_change(chain, state, said):
    """In another process they would load as something else."""

    class Odd(Lines):
        def state_dict(self):
            return state

    with iter(chain(dataset(Odd()))) as iterator:
        next(iterator)
        with pytest.raises(pipeline.FailedPreconditionError, match=r"Odd.state_dict must return plain data.*" + said):
            iterator.state_dict()
        assert list(iterator)  # it can be read on


def test_states_with_classes_of_dicts_and_numbers_that_json_keeps():
    class Other(Lines):
        def state_dict(self):
            return collections.OrderedDict(number=self.number, half=np.float64(0.5), none=None)

    iterator, resumed = iter(dataset(Other())), iter(dataset(Other()))
    assert next(iterator) == 1
    resumed.load_state_dict(json.loads(json.dumps(iterator.state_dict())))
    assert list(resumed) == list(range(2, 13))
