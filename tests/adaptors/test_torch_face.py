"""pipeline.torch.DataLoader as a torch DataLoader: attributes, pickling, epochs counted by programs, skipping."""

import copy
import gc
import importlib
import logging
import pickle
import weakref

import numpy as np
import pytest

import pipeline
from pipeline.errors import FailedPreconditionError, InvalidArgumentError

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
pt = importlib.import_module("pipeline.torch")

ROWS = 22


def chain(rows=ROWS, **options):
    """Six batches with shuffled numbers; the last one is smaller."""
    return pipeline.arrays(np.arange(rows)).shuffle(seed=1).batch(4, **options)


def numbers():
    yield from range(ROWS)


def lists(batches):
    return [batch.tolist() for batch in batches]


def epochs(count, dataset=None):
    return [lists((dataset or chain()).epoch(number)) for number in range(count)]


def test_it_is_a_dataloader_with_the_attributes_of_one():
    loader = pt.DataLoader(chain())
    assert isinstance(loader, torch.utils.data.DataLoader)
    assert isinstance(loader.dataset, torch.utils.data.Dataset)
    assert len(loader.dataset) == ROWS
    assert len(loader) == 6
    assert (loader.batch_size, loader.drop_last) == (4, False)
    assert (loader.num_workers, loader.pin_memory, loader.timeout) == (0, False, 0)
    assert (loader.generator, loader.worker_init_fn, loader.multiprocessing_context) == (None, None, None)
    assert (loader.prefetch_factor, loader.persistent_workers) == (None, False)
    assert isinstance(loader.sampler, torch.utils.data.distributed.DistributedSampler)
    assert isinstance(loader.batch_sampler, torch.utils.data.BatchSampler)
    assert loader.batch_sampler.sampler is loader.sampler
    assert (loader.batch_sampler.batch_size, loader.batch_sampler.drop_last) == (4, False)
    assert (loader.sampler.rank, loader.sampler.num_replicas) == (0, 1)
    assert len(loader.batch_sampler) == 6
    assert len(loader.sampler) == 6
    assert loader.collate_fn("a batch") == "a batch"
    assert lists(loader) == epochs(1)[0]
    whole = pt.DataLoader(chain(drop_remainder=True).map(np.negative).prefetch(1))
    assert (whole.batch_size, whole.drop_last, len(whole), len(whole.dataset)) == (4, True, 5, ROWS)


def test_what_is_not_known_is_none_or_an_error():
    loader = pt.DataLoader(pipeline.dataset(numbers).batch(4))
    assert loader.batch_size == 4
    assert not hasattr(type(loader.dataset), "__len__")
    with pytest.raises(TypeError, match="not known"):
        len(loader)
    with pytest.raises(TypeError, match="not known"):
        len(loader.batch_sampler)
    assert lists(loader) == lists(pipeline.arrays(np.arange(ROWS)).batch(4))
    packed = pt.DataLoader(pipeline.dataset([np.arange(3)] * 4).pack(6).batch(1))
    assert (packed.batch_size, len(list(packed))) == (1, 2)
    other = pt.DataLoader(pipeline.dataset([np.arange(3)] * 4).batch(2).unbatch())
    assert (other.batch_size, other.drop_last, hasattr(other.dataset, "__len__")) == (None, False, False)
    endless = pt.DataLoader(chain().repeat())
    assert endless.batch_size is None


def test_examples_by_number_are_refused():
    loader = pt.DataLoader(chain())
    with pytest.raises(TypeError, match="cannot be indexed: index your own data"):
        loader.dataset[0]
    with pytest.raises(TypeError, match="cannot be indexed"):
        next(iter(torch.utils.data.DataLoader(loader.dataset, batch_size=4)))
    with pytest.raises(FailedPreconditionError, match="no order of examples: iterate over the loader"):
        iter(loader.sampler)


def test_a_loader_ends_with_its_block():
    with pt.DataLoader(chain().prefetch(2)) as loader:
        next(iter(loader))
    with pytest.raises(FailedPreconditionError, match="is closed: make another loader"):
        list(loader)


def test_a_loader_that_is_dropped_is_freed_at_once():
    gc.disable()
    try:
        loader = pt.DataLoader(chain().prefetch(2))
        for _ in loader:
            break
        iterator = weakref.ref(loader.loop)
        del loader, _
        assert iterator() is None
    finally:
        gc.enable()


# Pickling -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [lambda loader: pickle.loads(pickle.dumps(loader)), copy.deepcopy])
def test_a_pickled_loader_continues_where_it_was(copied):
    loader = pt.DataLoader(chain(), device="cpu", prefetch=3)
    assert lists(copied(loader)) == epochs(1)[0]
    batches = iter(loader)
    seen = lists(next(batches) for _ in range(2))
    other = copied(loader)
    rest = lists(batches)
    assert lists(other) == rest
    assert seen + rest == epochs(1)[0]
    again = copied(loader)
    assert lists(again) == lists(other) == lists(loader) == epochs(2)[1]
    assert (again.batch_size, len(again.dataset)) == (4, ROWS)


def test_pickled_loaders_share_a_seed_that_was_drawn():
    loader = pt.DataLoader(pipeline.arrays(np.arange(50)).shuffle().batch(5))
    other = pickle.loads(pickle.dumps(loader))
    assert lists(loader) == lists(other)


def test_what_cannot_be_pickled_says_why():
    with pytest.raises(TypeError, match="a DatasetIterator cannot be pickled: pickle the dataset"):
        pickle.dumps(pt.DataLoader(iter(chain())))


# Epochs ---------------------------------------------------------------------------------------------------------------


def trained(loader, first, last, stop=None, saved=None):
    """Train like programs that count their epochs; return the batches by epoch. They stop after `stop` batches."""
    found = []
    for epoch in range(first, last):
        loader.set_epoch(epoch)
        found.append([])
        for batch in loader:
            found[-1].append(batch.tolist())
            if sum(map(len, found)) == stop:
                saved.append((epoch, loader.state_dict()))
                return found
        if sum(map(len, found)) == stop:
            saved.append((epoch, loader.state_dict()))
            return found
    return found


@pytest.mark.parametrize("ahead", [{}, {"device": "cpu", "prefetch": 2}])
@pytest.mark.parametrize("stop", range(1, 18))
def test_a_program_that_counts_its_epochs_resumes_anywhere(stop, ahead):
    """It saves the current epoch number within the loop."""
    whole = [batch for epoch in epochs(3) for batch in epoch]
    saved = []
    trained(pt.DataLoader(chain(), **ahead), 0, 3, stop, saved)
    [(epoch, state)] = saved
    loader = pt.DataLoader(chain(), **ahead)
    loader.load_state_dict(state)
    rest = trained(loader, epoch, 3)
    assert [batch for each in rest for batch in each] == whole[stop:]
    assert rest[1:] == epochs(3)[epoch + 1 :]


@pytest.mark.parametrize("number", [0, 1])
def test_a_state_saved_after_its_loop_with_the_number_of_that_epoch(number, caplog):
    loader = pt.DataLoader(chain())
    for epoch in range(number + 1):
        loader.set_epoch(epoch)
        assert lists(loader) == epochs(2)[epoch]
    other = pt.DataLoader(chain())
    other.load_state_dict(loader.state_dict())
    with caplog.at_level(logging.INFO, "pipeline.batches"):
        rest = trained(other, number, 3)
    assert rest == [[], *epochs(3)[number + 1 :]]
    assert f"saved at the end of epoch {number}, so no batches of it are left" in caplog.text
    later = pt.DataLoader(chain())
    later.load_state_dict(loader.state_dict())
    assert trained(later, number + 1, 3) == epochs(3)[number + 1 :]
    uncounted = pt.DataLoader(chain())
    uncounted.load_state_dict(loader.state_dict())
    assert lists(uncounted) == epochs(3)[number + 1]


def test_an_epoch_that_is_set_after_a_state_is_that_epoch():
    loader = pt.DataLoader(chain())
    loader.set_epoch(1)
    next(iter(loader))
    for epoch in (0, 2):
        other = pt.DataLoader(chain())
        other.load_state_dict(loader.state_dict())
        other.set_epoch(epoch)
        assert lists(other) == epochs(3)[epoch]


@pytest.mark.parametrize("taken", [3, 6])
def test_a_sampler_that_counts_from_0_in_each_process(taken):
    """As Fabric does; the states are from the second epoch."""
    loader = pt.DataLoader(chain())
    loader.sampler.set_epoch(0)
    list(loader)
    loader.sampler.set_epoch(1)
    batches = iter(loader)
    for _ in range(taken):
        next(batches)
    assert next(batches, None) is None or taken == 3
    other = pt.DataLoader(chain())
    state = loader.state_dict() if taken == 6 else loader.state_dict(behind=1)
    other.load_state_dict(state)
    found = []
    for count in range(2):
        other.sampler.set_epoch(count)
        found.append(lists(other))
    whole = epochs(4)
    assert found == ([whole[1][3:], whole[2]] if taken == 3 else whole[2:4])


# States of batches taken but not used ---------------------------------------------------------------------------------


@pytest.mark.parametrize("ahead", [{}, {"device": "cpu", "prefetch": 2}])
@pytest.mark.parametrize("behind", range(5))
def test_a_state_some_batches_behind(behind, ahead):
    loader = pt.DataLoader(chain(), **ahead)
    batches = iter(loader)
    for _ in range(4):
        next(batches)
    other = pt.DataLoader(chain())
    other.load_state_dict(loader.state_dict(behind=behind))
    assert lists(other) == epochs(1)[0][4 - behind :]
    assert list(batches)
    assert next(batches, None) is None
    if behind:
        again = pt.DataLoader(chain())
        again.load_state_dict(loader.state_dict(behind=behind))
        assert lists(again) == epochs(1)[0][6 - behind :]


@pytest.mark.parametrize(("behind", "error"), [(-1, InvalidArgumentError), (3, InvalidArgumentError), ("1", TypeError)])
def test_no_state_of_batches_that_were_not_taken(behind, error):
    loader = pt.DataLoader(chain())
    batches = iter(loader)
    next(batches), next(batches)
    with pytest.raises(error, match="behind"):
        loader.state_dict(behind=behind)


# Skipping -------------------------------------------------------------------------------------------------------------


class Skipped:
    """Leaves out the first batches named by a batch sampler, like Accelerate's."""

    def __init__(self, batch_sampler, count):
        self.batch_sampler, self.count = batch_sampler, count

    def __iter__(self):
        return (names for number, names in enumerate(self.batch_sampler) if number >= self.count)


def skipping(loader, count):
    left = Skipped(loader.batch_sampler, count)
    return torch.utils.data.DataLoader(loader.dataset, batch_sampler=left, collate_fn=loader.collate_fn)


@pytest.mark.parametrize("count", [0, 1, 5, 6, 9])
def test_the_first_batches_are_skipped_without_making_them(count):
    made = []

    def note(number):
        made.append(int(number))
        return number

    loader = pt.DataLoader(pipeline.arrays(np.arange(ROWS)).shuffle(seed=1).map(note).batch(4))
    assert lists(skipping(loader, count)) == epochs(1)[0][count:]
    assert made == [number for batch in epochs(1)[0][count:] for number in batch]
    assert lists(loader) == epochs(2)[1]


STREAMS = {
    "generator": lambda: pipeline.dataset(numbers).batch(4),
    "pool": lambda: pipeline.arrays(np.arange(ROWS)).shuffle(9, seed=1).batch(4),
    "filter": lambda: pipeline.arrays(np.arange(2 * ROWS)).filter(lambda number: number % 2).batch(4).prefetch(2),
    "checksum": lambda: pipeline.arrays(np.arange(ROWS)).checksum().batch(4),
}


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("count", [0, 2, 6, 9])
def test_the_first_batches_of_a_stream_are_skipped(kind, count):
    loader = pt.DataLoader(STREAMS[kind](), device="cpu")
    whole = lists(STREAMS[kind]())
    assert lists(skipping(loader, count)) == whole[count:]
    assert lists(loader) == lists(STREAMS[kind]().epoch(1))


def test_the_state_after_skipping_is_that_of_the_loader():
    loader = pt.DataLoader(chain())
    batches = iter(skipping(loader, 2))
    assert next(batches).tolist() == epochs(1)[0][2]
    other = pt.DataLoader(chain())
    other.load_state_dict(loader.state_dict())
    assert lists(other) == lists(batches) == epochs(1)[0][3:]


def test_skipping_counts_from_the_start_of_the_epoch_of_a_state():
    """For programs that load a state, and also skip the batches before it."""
    loader = pt.DataLoader(chain())
    list(loader)
    batches = iter(loader)
    next(batches), next(batches)
    other = pt.DataLoader(chain())
    other.load_state_dict(loader.state_dict())
    assert lists(skipping(other, 2)) == epochs(2)[1][2:]
    other.load_state_dict(loader.state_dict())
    other.batch_sampler.set_epoch(2)
    assert lists(skipping(other, 2)) == epochs(3)[2][2:]


def test_a_source_that_is_read_once_is_not_skipped_twice():
    loader = pt.DataLoader(pipeline.dataset(iter(range(ROWS))).batch(4))
    assert next(iter(loader)).tolist() == [0, 1, 2, 3]
    with pytest.raises(FailedPreconditionError, match="can be read only once, and has begun"):
        lists(skipping(loader, 2))


# A rebuilt loader -----------------------------------------------------------------------------------------------------


def test_a_loader_over_the_dataset_of_another_has_its_batches():
    loader = pt.DataLoader(chain(), device="cpu", prefetch=2)
    other = pt.DataLoader(loader.dataset)
    assert [lists(other) for _ in range(2)] == epochs(2)
    assert lists(loader) == epochs(1)[0]


def test_a_loader_with_a_sequential_sampler_repeats_an_epoch():
    """As Lightning builds one for overfit_batches."""
    loader = pt.DataLoader(chain())
    again = type(loader.batch_sampler)(torch.utils.data.SequentialSampler(loader.dataset), 4, False)
    options = {"sampler": None, "shuffle": False, "batch_size": 1, "drop_last": False}
    other = pt.DataLoader(loader.dataset, batch_sampler=again, collate_fn=loader.collate_fn, **options)
    for epoch in range(3):
        other.set_epoch(epoch)
        assert lists(other) == epochs(1)[0]
    with pytest.raises(TypeError, match=r"'batch_size'\. Write it into the dataset"):
        pt.DataLoader(loader.dataset, batch_sampler=again, batch_size=8)
