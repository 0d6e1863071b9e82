"""pipeline.torch.StatefulDataLoader: torchdata's behaviour, and torchdata's states."""

import gc
import importlib
import itertools
import json
import multiprocessing

import pytest

import pipeline

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
pt = importlib.import_module("pipeline.torch")

pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),  # more workers than processors
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated:UserWarning"),  # from torchdata
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded, use of fork:DeprecationWarning"),
]


class Squares(torch.utils.data.Dataset):
    """Records requested items in `read`, in this process."""

    def __init__(self, count=23):
        self.count, self.read = count, []

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        self.read.append(number)
        return number * number


class Several(Squares):
    def __getitems__(self, numbers):
        self.read.append(tuple(numbers))
        return [number * number for number in numbers]


class Seeds(torch.utils.data.Dataset):
    """Its items are [index, worker seed]."""

    def __len__(self):
        return 23

    def __getitem__(self, number):
        worker = torch.utils.data.get_worker_info()
        return torch.tensor([number, 0 if worker is None else worker.seed])


class Counting(Squares):
    """Its items depend on how many were made before; this count is its state."""

    made = 0

    def __getitem__(self, number):
        self.made += 1
        return number * 100 + self.made

    def state_dict(self):
        return {"made": self.made}

    def load_state_dict(self, state):
        self.made = state["made"]


class Stream(torch.utils.data.IterableDataset):
    """A separate number range per worker, without a state."""

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        return self.begun(range(worker, 29, workers))

    def begun(self, numbers):
        return iter(numbers)


class Going:
    def __init__(self, numbers):
        self.numbers, self.at = numbers, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == len(self.numbers):
            raise StopIteration
        self.at += 1
        return self.numbers[self.at - 1]

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class StatefulStream(Stream):
    def begun(self, numbers):
        return Going(numbers)


KINDS = {"map": Squares, "several": Several, "counting": Counting, "stream": Stream, "stateful": StatefulStream}


def loader(kind, workers=0, seed=3, **options):
    given = {"batch_size": 4, "num_workers": workers, "generator": torch.Generator().manual_seed(seed), **options}
    if "stream" not in kind and kind != "stateful":
        given.setdefault("shuffle", True)
    return pt.StatefulDataLoader(KINDS[kind](), **given)


def rows(batches):
    return [batch.tolist() if isinstance(batch, torch.Tensor) else batch for batch in batches]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", [0, 1, 4, 6])
def test_a_resume_in_the_caller(kind, at):
    first = loader(kind)
    batches = iter(first)
    rows(itertools.islice(batches, at))
    state = first.state_dict()
    wanted = rows(batches)
    second = loader(kind, seed=99)
    second.load_state_dict(state)
    assert rows(second) == wanted
    third = loader(kind, seed=99)  # once more, from a resumed run
    third.load_state_dict(state)
    batches = iter(third)
    if wanted:
        assert rows(itertools.islice(batches, 1)) == wanted[:1]
    state = third.state_dict()
    fourth = loader(kind, seed=7)
    fourth.load_state_dict(state)
    assert rows(fourth) == wanted[1:]


@pytest.mark.parametrize("kind", ["counting", "stream", "stateful"])
@pytest.mark.parametrize(("at", "every"), [(0, 1), (3, 1), (5, 1), (5, 4)])
def test_a_resume_in_workers(kind, at, every):
    first = loader(kind, 2, snapshot_every_n_steps=every)
    batches = iter(first)
    rows(itertools.islice(batches, at))
    state = first.state_dict()
    wanted = rows(batches)
    assert wanted
    second = loader(kind, 2, seed=99, snapshot_every_n_steps=every)
    second.load_state_dict(state)
    assert rows(second) == wanted


@pytest.mark.parametrize("options", [{}, {"batch_size": None}, {"drop_last": True}, {"shuffle": False}])
def test_the_batches_are_those_of_torch(options):
    ours = rows(loader("map", **options))
    if not options.get("shuffle", True):
        assert ours == rows(torch.utils.data.DataLoader(Squares(), batch_size=4))
    flat = [row for batch in ours for row in (batch if isinstance(batch, list) else [batch])]
    assert len(flat) == (20 if "drop_last" in options else 23)
    assert set(flat) <= {number * number for number in range(23)}


def test_a_resume_reads_nothing_again():
    first = loader("map")
    next(iter(first))
    batches = iter(first)
    rows(itertools.islice(batches, 5))
    state = first.state_dict()
    second = loader("map", seed=99)
    second.load_state_dict(state)
    assert len(rows(second)) == 1
    assert len(second.dataset.read) == 3


def test_a_map_style_dataset_resumes_with_other_workers():
    first = loader("map")
    batches = iter(first)
    rows(itertools.islice(batches, 2))
    state = first.state_dict()
    wanted = rows(batches)
    for workers in (2, 1):
        second = loader("map", workers, seed=99)
        second.load_state_dict(state)
        batches = iter(second)
        assert rows(itertools.islice(batches, 1)) == wanted[:1]
        state, wanted = second.state_dict(), wanted[1:]
    second = loader("map", seed=99)
    second.load_state_dict(state)
    assert rows(second) == wanted


@pytest.mark.parametrize("kind", ["counting", "stateful"])
def test_another_number_of_workers_is_refused_where_each_has_a_state(kind):
    first = loader(kind)
    next(iter(first))
    second = loader(kind, 2)
    second.load_state_dict(first.state_dict())
    with pytest.raises(pipeline.StateMismatchError, match=r"num_workers was 0 when the state was saved and is 2 now: "):
        iter(second)


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_end_with_their_loader(persistent):
    """Without the garbage collector, which may run much later."""
    others = set(multiprocessing.active_children())
    gc.disable()
    try:
        made = loader("map", 2, persistent_workers=persistent)
        next(iter(made))
        workers = set(multiprocessing.active_children()) - others
        assert len(workers) == 2
        del made
        for each in workers:
            each.join(60)
            assert not each.is_alive()
    finally:
        gc.enable()


def test_a_state_of_the_end_begins_the_next_epoch():
    first = loader("map")
    rows(first)
    state = first.state_dict()
    wanted = rows(first)
    second = loader("map", seed=99)
    second.load_state_dict(state)
    assert rows(second) == wanted


def test_an_early_state_loads_over_a_loader_that_was_read():
    """In both cases: before the first batch, and after some."""
    made = loader("counting", shuffle=False)
    early = made.state_dict()
    batches = iter(made)
    wanted = rows(batches)
    made.load_state_dict(early)
    assert rows(made) == wanted


def test_what_is_no_state_is_refused():
    made = loader("map")
    with pytest.raises(pipeline.InvalidArgumentError, match=r"expected what state_dict of a Stateful"):
        made.load_state_dict({"a": 1})
    made.load_state_dict({})
    assert len(rows(made)) == 6
    with pytest.raises(ValueError, match=r"^snapshot_every_n_steps must be at least 0, got -1$"):
        loader("map", snapshot_every_n_steps=-1)


def test_states_are_plain_where_those_of_dataset_and_sampler_are():
    first = loader("counting", shuffle=False)
    batches = iter(first)
    next(batches)
    state = json.loads(json.dumps(first.state_dict()))
    wanted = rows(batches)
    second = loader("counting", shuffle=False)
    second.load_state_dict(state)
    assert rows(second) == wanted


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", ["counting", "stateful", "stream"])
def test_a_state_of_torchdata(kind, workers):
    torchdata = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    theirs = torchdata.StatefulDataLoader(KINDS[kind](), batch_size=4, num_workers=workers)
    batches = iter(theirs)
    rows(itertools.islice(batches, 3))
    state = theirs.state_dict()
    wanted = rows(batches)
    ours = pt.StatefulDataLoader(KINDS[kind](), batch_size=4, num_workers=workers)
    ours.load_state_dict(state)
    assert rows(ours) == wanted


def drawn_by(module, workers, persistent, generator, at):
    """Return the batches from a loader in this module, and the next draw from torch's generator.

    From batch `at` in the second epoch on, another loader continues from its state; None for a single loader.
    """
    torch.manual_seed(5)

    def made():
        return module.StatefulDataLoader(
            Seeds(),
            batch_size=4,
            shuffle=True,
            num_workers=workers,
            persistent_workers=persistent,
            generator=torch.Generator().manual_seed(7) if generator else None,
        )

    loader = made()
    batches = rows(loader)
    if at is not None:
        batches += rows(itertools.islice(loader, at))
        state, loader = loader.state_dict(), made()
        loader.load_state_dict(state)
    for _ in range(3 if at is None else 2):
        batches += rows(loader)
    return batches, torch.rand(1).item()


@pytest.mark.parametrize("at", [None, 0, 2, 6, 7])
@pytest.mark.parametrize("generator", [False, True])
@pytest.mark.parametrize(("workers", "persistent"), [(0, False), (2, False), (2, True)])
def test_orders_and_seeds_are_those_of_torchdata(workers, persistent, generator, at):
    """Without workers and with a generator, a resumed run is compared with torchdata's uninterrupted one."""
    torchdata = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    theirs = drawn_by(torchdata, workers, persistent, generator, at)
    ours = drawn_by(pt, workers, persistent, generator, at)
    if generator and not workers and at is not None:
        theirs = drawn_by(torchdata, workers, persistent, generator, None)[0][: len(ours[0])], ours[1]
    assert ours == theirs


def piped(module, workers, persistent, at=None):
    """Return three epochs of a DataPipe's batches, and the next draw; from batch `at` on from another loader."""

    def made():
        numbers = torch.utils.data.datapipes.iter.IterableWrapper(list(range(20)))
        pipe = numbers.shuffle(buffer_size=8).sharding_filter()
        return module.StatefulDataLoader(
            pipe, batch_size=3, shuffle=True, num_workers=workers, persistent_workers=persistent
        )

    torch.manual_seed(5)
    loader = made()
    batches = rows(loader)
    if at is not None:
        batches += rows(itertools.islice(loader, at))
        state, loader = loader.state_dict(), made()
        loader.load_state_dict(state)
        batches += rows(loader)
        return batches
    return batches + rows(loader) + rows(loader), torch.rand(1).item()


@pytest.mark.parametrize(("workers", "persistent"), [(0, False), (2, False), (2, True)])
def test_shuffles_and_shares_of_a_datapipe_are_those_of_torchdata(workers, persistent):
    torchdata = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    ours = piped(pt, workers, persistent)
    assert ours == piped(torchdata, workers, persistent)
    epochs = ours[0]
    size = len(epochs) // 3
    assert sorted(itertools.chain(*epochs[:size])) == list(range(20))
    assert epochs[:size] != epochs[size : 2 * size]
    resumed = piped(pt, workers, persistent, at=3)
    assert resumed == epochs[: 2 * size]


class Counted(torch.utils.data.IterableDataset):
    """Gives all its examples in each worker."""

    def __len__(self):
        return 5

    def __iter__(self):
        return iter(range(5))


@pytest.mark.parametrize("persistent", [False, True])
def test_more_examples_than_the_length_of_an_iterable_dataset_are_warned_of(persistent):
    """Once the length was asked for, as in torch's loader."""
    loader = pt.StatefulDataLoader(Counted(), batch_size=1, num_workers=2, persistent_workers=persistent)
    assert len(rows(loader)) == 10
    assert len(loader) == 5
    with pytest.warns(UserWarning, match=r"to be 5 .*, but \d+ samples have been fetched\. For multiprocessing"):
        assert len(rows(loader)) == 10


@pytest.mark.parametrize("epoch", [0, 3])
def test_a_distributed_sampler_resumes(epoch):
    """In the state's epoch; a state from torchdata 0.11 has none, and the program sets it."""

    def sampler():
        return pt.StatefulDistributedSampler(Squares(), num_replicas=2, rank=1, seed=5)

    made, again, other, third = sampler(), sampler(), sampler(), sampler()
    made.set_epoch(epoch)
    wanted = list(made)
    again.set_epoch(epoch)
    numbers = iter(again)
    got = [next(numbers) for _ in range(4)]
    other.load_state_dict(again.state_dict())
    assert got + list(other) == wanted
    third.set_epoch(epoch)
    third.load_state_dict({"yielded": 4})
    assert got + list(third) == wanted
    with pytest.raises(ValueError, match=r"^load_state_dict: expected \{'yielded': a number\}, got \{'yielded': -1\}$"):
        other.load_state_dict({"yielded": -1})
