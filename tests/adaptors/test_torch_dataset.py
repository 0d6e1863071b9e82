"""PyTorch datasets as sources, with the real library."""

import importlib
import itertools
import json
import multiprocessing

import ml_dtypes
import numpy as np
import pytest

import pipeline

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
pt = importlib.import_module("pipeline.torch")


class Squares(torch.utils.data.Dataset):
    """Nested samples; asking for a bad one fails."""

    bad = -1

    def __len__(self):
        return 20

    def __getitem__(self, index):
        if index == self.bad:
            raise OSError("this one is damaged")
        return {"x": (torch.full((2, 3), index), index**2), "name": f"n{index}"}


class Several(torch.utils.data.Dataset):
    def __init__(self):
        self.asked = []

    def __len__(self):
        return 20

    def __getitem__(self, index):
        raise AssertionError("asked for one")

    def __getitems__(self, indices):
        self.asked.append(indices)
        return [torch.tensor(index) for index in indices]


class Stream(torch.utils.data.IterableDataset):
    epoch = None

    def __iter__(self):
        return ((torch.tensor([float(i)]), i) for i in range(50))

    def set_epoch(self, epoch):
        self.epoch = epoch


class Anew(torch.utils.data.IterableDataset):
    """Its `iter` restarts it and returns the dataset itself."""

    def __init__(self, count=50):
        self.count, self.at, self.given = count, 0, 0

    def __iter__(self):
        self.at = 0
        return self

    def __next__(self):
        if self.at == self.count:
            raise StopIteration
        self.at += 1
        self.given += 1
        return self.at - 1

    def __len__(self):
        return self.count


class Stateful(Anew):
    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class StatefulGenerator(torch.utils.data.IterableDataset):
    def __init__(self, count=50):
        self.count, self.at, self.given = count, 0, 0

    def __iter__(self):
        while self.at < self.count:
            self.at += 1
            self.given += 1
            yield self.at - 1
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


@pytest.mark.parametrize("workers", [None, 3])
def test_nested_samples(workers):
    source = pt.dataset(Squares(), shuffle=True, seed=1)
    dataset = source.map(lambda sample: sample, workers=workers).batch(5)
    orders = []
    for epoch in range(2):
        seen = []
        for batch in dataset.epoch(epoch):
            x, squares = batch["x"]
            assert x.shape == (5, 2, 3)
            assert (x[:, 0, 0] ** 2 == squares).all()
            assert batch["name"].tolist() == [f"n{i}" for i in x[:, 0, 0]]
            seen += x[:, 0, 0].tolist()
        assert sorted(seen) == list(range(20))
        orders.append(seen)
    assert orders[0] != orders[1]
    assert len(source) == 20
    assert source[3]["x"][1] == source[3]["x"][1]


def test_items_that_are_asked_for_together():
    data = Several()
    loop = pipeline.batch(pt.dataset(data), 10)
    assert [batch.tolist() for batch in loop] == [list(range(10)), list(range(10, 20))]
    assert max(map(len, data.asked)) > 1


def test_an_error_names_the_item():
    class Bad(Squares):
        bad = 7

    with pytest.raises(OSError, match="this one is damaged") as caught:
        list(pipeline.batch(pt.dataset(Bad()), 5))
    assert caught.value.record_key == "7"
    assert "in item 7 of Bad" in getattr(caught.value, "__notes__", ["in item 7 of Bad"])
    loop = pipeline.batch(pt.dataset(Bad()), 19, on_error="skip")
    (batch,) = loop
    assert 49 not in batch["x"][1]
    assert loop.num_errors == 1


def test_processes_make_the_items():
    squares = pipeline.dataset(range(20)).map(Squares().__getitem__, workers=pipeline.processes(2))
    assert [batch["x"][1].tolist() for batch in squares.batch(5)][1] == [25, 36, 49, 64, 81]


def test_a_state():
    def loop():
        source = pt.dataset(Squares(), num_epochs=2, shuffle=True, seed=1)
        return pipeline.shuffle_batch(source, 4, min_after_dequeue=6, seed=2, deterministic=True)

    one, other = loop(), loop()
    for _ in range(4):
        next(one)
    other.load_state_dict(one.state_dict())
    assert [batch["x"][1].tolist() for batch in other] == [batch["x"][1].tolist() for batch in one]


def test_a_stream():
    data = Stream()
    source = pt.dataset(data, num_epochs=2)
    values = [numbers.tolist() for _, numbers in source.batch(25)]
    assert list(itertools.chain(*values)) == list(range(50)) * 2
    assert data.epoch == 1
    again = [numbers.tolist() for _, numbers in source.batch(25).epoch(1)]
    assert again == values
    assert data.epoch == 3


@pytest.mark.parametrize("taken", [0, 1, 7, 12])
def test_a_state_of_a_stream(taken):
    def loop():
        source = pt.dataset(Stream(), num_epochs=2)
        return pipeline.shuffle_batch(source, 7, min_after_dequeue=11, seed=2, deterministic=True)

    one, other = loop(), loop()
    for _ in range(taken):
        next(one)
    other.load_state_dict(one.state_dict())
    assert [numbers.tolist() for _, numbers in other] == [numbers.tolist() for _, numbers in one]


@pytest.mark.parametrize("deterministic", [False, True])
def test_a_stream_whose_iter_begins_anew(deterministic):
    loop = pipeline.batch(pt.dataset(Anew(), num_epochs=2), 10, deterministic=deterministic)
    assert list(itertools.chain(*(batch.tolist() for batch in loop))) == list(range(50)) * 2
    loader = torch.utils.data.DataLoader(Anew(), batch_size=4)
    loop = pipeline.batch(pt.dataset(loader), 10, deterministic=deterministic)
    assert list(itertools.chain(*(batch.tolist() for batch in loop))) == list(range(50))


@pytest.mark.parametrize("kind", [Stateful, StatefulGenerator])
@pytest.mark.parametrize("taken", [0, 1, 5, 300, 500])
def test_a_stream_that_has_a_state_goes_on_from_it(kind, taken):
    def loop(data):
        source = pt.dataset(data, num_epochs=2)
        return pipeline.batch(source, 7, deterministic=True, allow_smaller_final_batch=True)

    with loop(kind(2000)) as one:
        for _ in range(taken):
            next(one)
        state = json.loads(json.dumps(one.state_dict()))
        rest = [batch.tolist() for batch in one]
    assert list(itertools.chain(*rest)) == (list(range(2000)) * 2)[7 * taken :]
    data = kind(2000)
    with loop(data) as other:
        other.load_state_dict(state)
        assert [batch.tolist() for batch in other] == rest
    assert data.given <= 4000 - 7 * taken + 1100  # it is read from the last entry, not from its start


@pytest.mark.parametrize("count", [0, 5, 31, 32, 47])
def test_a_state_of_a_stream_that_has_become_shorter(count):
    """Also a stream that ends where the state was saved, at the end of one of its pieces, or before."""

    class Short(torch.utils.data.IterableDataset):
        def __init__(self, count):
            self.count = count

        def __iter__(self):
            return iter(range(self.count))

    def loop(count):
        return pipeline.batch(pt.dataset(Short(count)), 16, capacity=16, deterministic=True)

    with loop(100) as one:
        next(one)
        next(one)
        state = one.state_dict()
    if count < 32:
        with loop(count) as other:
            other.load_state_dict(state)
            with pytest.raises(pipeline.StateMismatchError):
                list(other)
    with loop(48) as other:
        other.load_state_dict(state)
        assert [batch.tolist() for batch in other] == [list(range(32, 48))]


def test_the_length_of_a_stream_that_says_it():
    assert len(pt.dataset(Anew(), num_epochs=2).batch(7)) == 15
    assert len(pt.dataset(Anew(), num_epochs=2).batch(7, drop_remainder=True)) == 14
    assert len(pt.dataset(Anew(), num_epochs=2)) == 100
    for data in (Anew(), Stream()):
        with pytest.raises(TypeError, match=r"no end|num_epochs=None"):
            len(pt.dataset(data, num_epochs=None).batch(7))
    with pytest.raises(TypeError, match=r"not known|known only at"):
        len(pt.dataset(Stream()).batch(7))
    with pytest.raises(TypeError, match="known only at their end"):
        len(pt.dataset(Stream()))
    assert pt.dataset(Stream())


@pytest.mark.parametrize("count", [-1, 1])
@pytest.mark.parametrize("shuffle", [False, True])
def test_another_number_of_items_than_was_asked_for(count, shuffle):
    class Wrong(Several):
        def __getitems__(self, indices):
            found = super().__getitems__(indices)
            return found[:count] if count < 0 else [*found, *found[:count]]

    loop = pipeline.batch(pt.dataset(Wrong(), shuffle=shuffle, seed=1), 5)
    with pytest.raises(pipeline.InvalidArgumentError, match=r"__getitems__ of Wrong was asked for \d+ items"):
        list(loop)


def test_examples_that_differ_in_shape():
    class Ragged(torch.utils.data.IterableDataset):
        def __iter__(self):
            return (torch.arange(i) for i in (3, 1, 2))

    (batch,) = pipeline.batch(pt.dataset(Ragged()), 3, dynamic_pad=True)
    assert batch.tolist() == [[0, 1, 2], [0, 0, 0], [0, 1, 0]]
    for data in (Ragged(), [torch.arange(i) for i in (3, 1, 2)]):
        (batch,) = pipeline.dataset(data).batch(3, pad=0)
        assert batch.tolist() == [[0, 1, 2], [0, 0, 0], [0, 1, 0]]
        ((values, splits),) = pipeline.dataset(data).batch(3, collate="row_splits")
        assert values.tolist() == [0, 1, 2, 0, 0, 1]
        assert splits.tolist() == [0, 3, 4, 6]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded, use of fork:DeprecationWarning")
def test_a_data_loader(workers):
    """Its batches are blocks; the buffer mixes their rows."""
    loader = torch.utils.data.DataLoader(Squares(), batch_size=6, num_workers=workers)
    dataset = pt.dataset(loader).shuffle(11, seed=1).batch(5)
    for epoch in range(2):
        seen = []
        for batch in dataset.epoch(epoch):
            x, squares = batch["x"]
            assert (x[:, 0, 0] ** 2 == squares).all()
            assert batch["name"].tolist() == [f"n{i}" for i in x[:, 0, 0]]
            seen += x[:, 0, 0].tolist()
        assert sorted(seen) == list(range(20))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded, use of fork:DeprecationWarning")
def test_the_workers_of_a_data_loader_end_with_the_loop():
    before = multiprocessing.active_children()  # workers from other iterators, kept for the next one
    loader = torch.utils.data.DataLoader(Squares(), batch_size=2, num_workers=2)
    with pipeline.batch(pt.dataset(loader, num_epochs=None), 5) as loop:
        next(loop)
        children = [each for each in multiprocessing.active_children() if each not in before]
        assert len(children) == 2
    for child in children:
        child.join(120)
        assert child.exitcode is not None


def test_a_data_loader_of_single_examples():
    loader = torch.utils.data.DataLoader(Stream(), batch_size=None)
    values = [numbers.tolist() for _, numbers in pipeline.batch(pt.dataset(loader), 10)]
    assert list(itertools.chain(*values)) == list(range(50))


def test_tensors_of_all_kinds():
    class Kinds(torch.utils.data.Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            grad = torch.ones(2, requires_grad=True)
            return [torch.tensor([1.5], dtype=torch.bfloat16), grad, torch.tensor([1 + 2j]).conj(), [1, 2], [grad, 3]]

    (batch,) = pipeline.batch(pt.dataset(Kinds()), 2)
    half, grad, conj, numbers, nested = batch
    assert half.dtype == ml_dtypes.bfloat16
    assert grad.tolist() == [[1, 1], [1, 1]]
    assert conj.tolist() == [[1 - 2j]] * 2
    assert numbers.tolist() == [[1, 2]] * 2
    assert nested[1].tolist() == [3, 3]


def test_what_is_no_dataset():
    text = "expected a Dataset with __getitem__ and __len__, an IterableDataset or a DataLoader, got 3"
    with pytest.raises(TypeError, match=text):
        pt.dataset(3)
    for options in ({"shuffle": True}, {"seed": 1}, {"shard": (0, 2)}):
        with pytest.raises(ValueError, match="a Stream decides its order and its shards itself"):
            pt.dataset(Stream(), **options)
    with pytest.raises(ValueError, match="a DataLoader decides"):
        pt.dataset(torch.utils.data.DataLoader(Squares()), shuffle=True)


def test_there_and_back():
    source = pt.dataset(Squares(), shuffle=True, seed=1)
    for batch in pt.DataLoader(pipeline.batch(source, 5)):
        x, squares = batch["x"]
        assert torch.equal(x[:, 0, 0] ** 2, squares)


@pytest.mark.parametrize("seed", [1, None])
def test_epochs_are_those_of_a_plain_loop(seed):
    """Each `iter` is the next epoch, also after a break, in any thread; a random seed is kept."""
    data = pipeline.arrays(np.arange(12)).shuffle(seed=seed).batch(4)
    expected = [[batch.tolist() for batch in data.epoch(i)] for i in range(4)]
    loaders = [
        pt.DataLoader(data),
        pt.IterableDataset(data),
        torch.utils.data.DataLoader(pt.IterableDataset(data), batch_size=None),
    ]
    for loader in loaders:
        assert [batch.tolist() for batch in loader] == expected[0]
        assert next(iter(loader)).tolist() == expected[1][0]  # and left
        assert [batch.tolist() for batch in loader] == expected[2]
    state = loaders[0].state_dict()
    other = pt.DataLoader(pipeline.arrays(np.arange(12)).shuffle(seed=seed).batch(4))
    other.load_state_dict(state)
    assert [batch.tolist() for batch in other] == expected[3]


def test_a_dataset_that_has_grown():
    """Each epoch over a `pipeline.dataset` uses its current length; with a fixed order an error is raised."""

    class Growing(torch.utils.data.Dataset):
        items = 3

        def __len__(self):
            return self.items

        def __getitem__(self, number):
            if number >= self.items:
                raise IndexError
            return torch.tensor(number)

    given = Growing()
    fixed, read = pipeline.torch.dataset(given, shuffle=True, seed=1), pipeline.dataset(given)
    assert sorted(fixed) == [0, 1, 2]
    assert [int(each) for each in read] == [0, 1, 2]
    for given.items in 5, 2:
        with pytest.raises(
            pipeline.FailedPreconditionError,
            match=rf"dataset\(...\): there were 3 items when the dataset was made, and there are {given.items} now",
        ):
            list(fixed.batch(2))
        assert [int(each) for each in read] == list(range(given.items))
        assert sorted(pipeline.torch.dataset(given)) == list(range(given.items))


@pytest.mark.parametrize("state", [{"at": (1,)}, {"at": np.int64(1)}, {1: "at"}, {"at": b"1"}], ids=repr)
@pytest.mark.parametrize("workers", [None, 2])
def test_a_state_that_json_would_change(state, workers):
    class Odd(StatefulGenerator):
        def state_dict(self):
            return state

    iterator = iter(pt.dataset(Odd(100)).map(lambda item: item, workers=workers))
    for _ in range(70):
        next(iterator)
    with pytest.raises(pipeline.errors.FailedPreconditionError, match=r"Odd\.state_dict must return plain data"):
        iterator.state_dict()
    assert [int(item) for item in iterator] == list(range(70, 100))


@pytest.mark.parametrize("workers", [2, "auto", "processes"])
@pytest.mark.parametrize("options", [{}, {"num_epochs": 2, "shuffle": True, "seed": 1, "shard": (1, 3)}])
def test_workers_fetch_the_same_items(workers, options):
    given = pipeline.processes(2) if workers == "processes" else workers
    plain, made = (pt.dataset(Squares(), workers=each, **options) for each in (None, given))
    expected = [repr(each) for each in plain]
    assert [repr(each) for each in made] == expected
    assert len(made) == len(plain)
    with iter(plain.batch(2)) as batches:
        next(batches)
        state = json.loads(json.dumps(batches.state_dict()))
        rest = [repr(each) for each in batches]
    with iter(made.batch(2)) as batches:
        batches.load_state_dict(state)
        assert [repr(each) for each in batches] == rest
    assert [repr(each) for each in made.epoch(1)] == [repr(each) for each in plain.epoch(1)]
    shuffled = [[repr(each) for each in data.shuffle(seed=2).take(3)] for data in (plain, made)]
    assert shuffled[0] == shuffled[1]


def test_workers_of_a_stream_are_refused():
    with pytest.raises(ValueError, match="a Stream makes its examples one after the other: workers= is for map-style"):
        pt.dataset(Stream(), workers=2)
