"""grain: Grain's datasets and DataLoaders. `make test-jax` installs it; elsewhere these tests are skipped."""

import multiprocessing
import sys

import numpy as np
import pytest
from helpers import raises, run_script
from source_contract import SourceContract

import pipeline

COUNT = 30


def library():
    return pytest.importorskip("grain", reason="grain is large: make test-jax installs it")


def element(number):
    number = int(number)
    return {"n": np.int32(number), "word": f"{number}é", "inner": (np.array([number, number / 2]), number % 2)}


def check(batch):
    numbers = batch["n"].tolist()
    assert batch["n"].dtype == np.int32
    assert batch["word"].tolist() == [f"{i}é" for i in numbers]
    pair, odd = batch["inner"]
    assert pair.tolist() == [[i, i / 2] for i in numbers]
    assert odd.tolist() == [i % 2 for i in numbers]
    return numbers


def elements(count=COUNT):
    return library().MapDataset.range(count).map(element)


class Rows:
    """The source for a DataLoader; Grain compares its repr with a state's."""

    def __len__(self):
        return COUNT

    def __getitem__(self, number):
        return number

    def __repr__(self):
        return "Rows()"


class TestMapDataset(SourceContract):
    count = COUNT

    def make(self, **options):
        return pipeline.grain(elements(), **options)

    def numbers(self, batch):
        return check(batch)


class TestIterDataset(SourceContract):
    count = COUNT
    known = False
    shuffles = False
    shards = 0

    @pytest.fixture(autouse=True)
    def _small_pieces(self, monkeypatch):
        monkeypatch.setattr("pipeline.sources.grain._PIECE", 7)  # so that a few rows span several pieces

    def data(self):
        return elements().to_iter_dataset()

    def make(self, **options):
        return pipeline.grain(self.data(), **options)

    def numbers(self, batch):
        return check(batch)


class TestFiltered(TestIterDataset):
    """Grain leaves out the rows a filter rejects."""

    def data(self):
        grain = library()
        kept = grain.MapDataset.range(2 * COUNT).filter(lambda i: i % 2 == 0).map(lambda i: element(i // 2))
        return kept.to_iter_dataset(grain.ReadOptions(num_threads=2, prefetch_buffer_size=3))


class TestBatched(TestIterDataset):
    """Grain's batches; one is smaller."""

    def data(self):
        return elements().batch(4).to_iter_dataset()

    def make(self, **options):
        return pipeline.grain(self.data(), batched=True, **options)


class TestDataLoader(TestIterDataset):
    def data(self):
        grain = library()

        class Make(grain.transforms.Map):
            def map(self, number):
                return element(number)

        sampler = grain.samplers.IndexSampler(COUNT, num_epochs=1)
        return grain.DataLoader(data_source=Rows(), sampler=sampler, operations=[Make()])


def test_what_is_random_differs_from_epoch_to_epoch():
    data = elements().seed(3).random_map(lambda each, rng: {"n": each["n"], "noise": rng.random()})
    source = pipeline.grain(data, num_epochs=2)
    for i in (0, 7, COUNT, 2 * COUNT - 1):
        assert source[i]["noise"] == data[i]["noise"]
    assert source[0]["noise"] != source[COUNT]["noise"]
    batches = pipeline.grain(data).batch(COUNT)
    first, second = [batch["noise"].tolist() for epoch in range(2) for batch in batches.epoch(epoch)]
    assert first == [data[i]["noise"] for i in range(COUNT)]
    assert second == [data[i]["noise"] for i in range(COUNT, 2 * COUNT)]


def test_hosts_and_epochs_of_a_random_map():
    data = elements().seed(3).random_map(lambda each, rng: {"n": each["n"], "noise": rng.random()})
    parts = [list(pipeline.grain(data, num_epochs=2, shuffle=True, seed=1, shard=(host, 2))) for host in range(2)]
    got = {float(each["noise"]) for part in parts for each in part}
    assert got == {data[i]["noise"] for i in range(2 * COUNT)}


@pytest.mark.parametrize("stream", [False, True])
def test_an_error_comes_after_what_was_made_before(stream):
    def failing(number):
        if number == 17:
            raise RuntimeError("element 17 is bad")
        return element(number)

    grain = library()
    data = grain.MapDataset.range(COUNT).map(failing)
    if stream:
        data = data.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))
    batches, got = pipeline.batch(pipeline.grain(data), 4, deterministic=True), []
    with pytest.raises(RuntimeError, match="element 17 is bad") as caught, batches:
        got.extend(map(check, batches))
    got = [number for numbers in got for number in numbers]
    assert got == list(range(16))[: len(got)]
    assert not stream or len(got) == 16
    if sys.version_info >= (3, 11):
        where = "grain: in element 17 after the start" if stream else "grain: in element 17"
        assert where in caught.value.__notes__


def test_processes_of_grain_end_with_the_loop():
    library()
    from absl import flags

    flags.FLAGS.mark_as_parsed()  # as absl's main function does for Grain's processes
    data = elements().to_iter_dataset().mp_prefetch(library().MultiprocessingOptions(num_workers=1))
    with pipeline.batch(pipeline.grain(data), 5) as batches:
        assert check(next(batches)) == list(range(5))
    del batches
    for process in multiprocessing.active_children():
        process.join(120)
    assert multiprocessing.active_children() == []


def test_examples_that_differ_in_shape():
    data = library().MapDataset.range(4).map(lambda i: np.ones(i + 1))
    for given in (data, data.to_iter_dataset()):
        with raises(pipeline.InvalidArgumentError, "batch: the value has shape [1] in one example and [2] in another"):
            next(pipeline.batch(pipeline.grain(given), 4))
        [got] = pipeline.batch(pipeline.grain(given), 4, dynamic_pad=True)
        assert got.tolist() == [[1.0] * (i + 1) + [0.0] * (3 - i) for i in range(4)]


def test_an_iterator_is_read_once():
    iterator = iter(elements().to_iter_dataset())
    got = [each for batch in pipeline.batch(iterator, 5) for each in batch["n"].tolist()]
    assert got == list(range(COUNT))


def test_errors():
    data = elements()
    with raises(ValueError, "grain: the MapDataset repeats without end: leave .repeat() out, and pass num_epochs=None"):
        pipeline.grain(data.repeat())
    with raises(ValueError, "grain: batched=True is for streams; of a MapDataset leave its .batch(...) out"):
        pipeline.grain(data, batched=True)
    with raises(TypeError, "grain: a list is not a MapDataset, IterDataset or DataLoader"):
        pipeline.grain([1])
    with raises(
        TypeError, "grain: a PrefetchDatasetIterator is not a MapDataset, IterDataset or DataLoader; an iterator"
    ):
        pipeline.grain(iter(data.to_iter_dataset()))
    for option in ({"shuffle": True}, {"seed": 1}, {"shard": (0, 2)}):
        with raises(ValueError, "grain: a stream keeps Grain's order: give shuffle, seed and shard to Grain's dataset"):
            pipeline.grain(data.to_iter_dataset(), **option)
    with raises(pipeline.InvalidArgumentError, "grain: the MapDataset has left out element 1: pass dataset.to_iter_da"):
        next(pipeline.batch(pipeline.grain(data.filter(lambda each: each["n"] % 2 == 0)), 4))


def test_without_grain():
    script = """
import sys
sys.modules["grain"] = None
import pipeline
try:
    pipeline.grain([])
except ImportError as error:
    print(error)
"""
    assert run_script(script).stdout == "grain needs grain: pip install grain\n"
