"""huggingface: datasets of Hugging Face. `make test-sources` installs them; elsewhere these tests are skipped."""

import numpy as np
import pytest
from helpers import raises, run_script
from source_contract import SourceContract

import pipeline

COUNT = 30


@pytest.fixture(autouse=True)
def _datasets(monkeypatch):
    datasets = pytest.importorskip("datasets", reason="datasets is large: make test-sources installs it")
    monkeypatch.setattr("tqdm.tqdm.monitor_interval", 0)  # no thread for progress bars
    datasets.disable_progress_bars()


def dataset(count=COUNT):
    import datasets

    features = datasets.Features(
        {
            "n": datasets.Value("int32"),
            "word": datasets.Value("string"),
            "kind": datasets.ClassLabel(names=["even", "odd"]),
            "pair": datasets.List(datasets.Value("float32"), length=2),
            "left": datasets.Value("string"),
        }
    )
    numbers = range(count)
    return datasets.Dataset.from_dict(
        {
            "n": list(numbers),
            "word": [f"{i}é" for i in numbers],
            "kind": [i % 2 for i in numbers],
            "pair": [[i, i / 2] for i in numbers],
            "left": [None] * count,
        },
        features=features,
    )


COLUMNS = ["n", "word", "kind", "pair"]


def check(batch):
    assert sorted(batch) == sorted(COLUMNS)
    numbers = batch["n"].tolist()
    assert batch["n"].dtype in (np.int32, np.int64)  # some formats widen it
    assert batch["pair"].dtype == np.float32
    assert batch["word"].tolist() == [f"{i}é".encode() for i in numbers]
    assert batch["kind"].tolist() == [i % 2 for i in numbers]
    assert batch["pair"].tolist() == [[i, i / 2] for i in numbers]
    return numbers


class TestDataset(SourceContract):
    count = COUNT

    def make(self, **options):
        return pipeline.huggingface(dataset(), COLUMNS, **options)

    def numbers(self, batch):
        return check(batch)


class TestFormatted(TestDataset):
    def make(self, **options):
        return pipeline.huggingface(dataset().with_format("numpy"), COLUMNS, **options)


class TestSelected(TestDataset):
    """Rows of a larger dataset, by an index of its own."""

    def make(self, **options):
        return pipeline.huggingface(dataset(50).select([*range(20), *range(20, COUNT)]), COLUMNS, **options)


class TestIterable(SourceContract):
    count = COUNT
    known = False
    shuffles = False
    shards = 4

    def dataset(self):
        return dataset().to_iterable_dataset(num_shards=4)

    @pytest.fixture(autouse=True)
    def _small_pieces(self, monkeypatch):
        monkeypatch.setattr("pipeline.sources.huggingface._PIECE", 7)

    def make(self, **options):
        return pipeline.huggingface(self.dataset(), COLUMNS, **options)

    def numbers(self, batch):
        return check(batch)

    def test_orders_are_random(self):
        orders = [self.in_order(self.make(shuffle=True, num_epochs=3)) for _ in range(2)]
        assert orders[0] == orders[1]
        epochs = [orders[0][i : i + COUNT] for i in range(0, 3 * COUNT, COUNT)]
        assert all(sorted(epoch) == list(range(COUNT)) for epoch in epochs)
        assert epochs[0] != epochs[1] != epochs[2]
        with raises(ValueError, "huggingface: an IterableDataset takes its seed itself: dataset.shuffle(seed=...)"):
            self.make(shuffle=True, seed=1)

    def test_loops_at_once_have_places_of_their_own(self):
        """A dataset remembers one place only, which a copy of it shares."""
        source = self.make(num_epochs=2)

        def loop():
            return pipeline.batch(source, 4, deterministic=True)

        with loop() as first, loop() as second:
            for _ in range(COUNT // 8):
                next(first)
            taken = [self.numbers(next(second)) for _ in range(2)]
            state = second.state_dict()
            for _ in range(3):
                next(first)
            rest = [self.numbers(each) for each in second]
        assert [i for each in taken + rest for i in each][: 2 * COUNT] == 2 * list(range(COUNT))
        resumed = loop()
        resumed.load_state_dict(state)
        assert self.taken(resumed) == rest


class TestMappedIterable(TestIterable):
    """With Python code for each example, as most streams have."""

    def dataset(self):
        return super().dataset().map(lambda example: {"n": example["n"] + 0})


class TestFormattedIterable(TestIterable):
    def dataset(self):
        return super().dataset().with_format("numpy")


def test_a_shuffled_stream_gets_its_epochs():
    source = pipeline.huggingface(
        dataset().to_iterable_dataset(num_shards=4).shuffle(seed=1, buffer_size=10), COLUMNS, num_epochs=2, shuffle=True
    )
    got = [example["n"].item() for example in source]
    assert sorted(got[:COUNT]) == sorted(got[COUNT:]) == list(range(COUNT))
    assert got[:COUNT] != got[COUNT:]


def test_images_are_decoded():
    import datasets

    images = [np.full((4, 4, 3), i, np.uint8) for i in range(6)]
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")})
    data = datasets.Dataset.from_dict({"image": images, "label": range(6)}, features=features)
    for source in (data, data.to_iterable_dataset()):
        [got] = pipeline.batch(pipeline.huggingface(source), 6)
        assert got["image"].dtype == np.uint8
        assert np.array_equal(got["image"], images)
        assert got["label"].tolist() == list(range(6))


def test_a_transform():
    data = dataset().with_transform(lambda rows: {"double": [np.array([n, n]) for n in rows["n"]]})
    [got] = pipeline.batch(pipeline.huggingface(data), COUNT)
    assert got["double"].tolist() == [[i, i] for i in range(COUNT)]


def test_two_loops_share_a_stream():
    source = pipeline.huggingface(dataset().to_iterable_dataset(), COLUMNS)
    first, second = pipeline.batch(source, 5), pipeline.batch(source, 5)
    with first, second:
        assert [check(got) for pair in zip(first, second, strict=True) for got in pair] == [
            list(range(i, i + 5)) for i in range(0, COUNT, 5) for _ in range(2)
        ]


def test_errors():
    import datasets

    with raises(ValueError, "huggingface: there is no column 'x'; the columns are 'n', 'word', 'kind', 'pair', 'left'"):
        pipeline.huggingface(dataset(), ["x"])
    with raises(TypeError, "huggingface: columns must be a list of names, such as ['n'], not 'n'"):
        pipeline.huggingface(dataset(), "n")
    with raises(TypeError, "huggingface: a list is no Dataset or IterableDataset"):
        pipeline.huggingface([1])
    splits = datasets.DatasetDict({"train": dataset()})
    with raises(
        TypeError, "huggingface: a DatasetDict is no Dataset or IterableDataset: choose a split, such as datas"
    ):
        pipeline.huggingface(splits)
    with raises(ValueError, "huggingface: column 'left' of type string has miss"):
        list(pipeline.batch(pipeline.huggingface(dataset()), 5))
    failing = dataset().to_iterable_dataset().map(lambda example: {"n": 1 // (7 - example["n"])})
    with pytest.raises(ZeroDivisionError):
        list(pipeline.batch(pipeline.huggingface(failing, COLUMNS), 5, on_error="skip"))


def test_without_datasets():
    script = """
import sys
sys.modules["datasets"] = None
import pipeline
try:
    pipeline.huggingface([])
except ImportError as error:
    print(error)
"""
    assert run_script(script).stdout == "huggingface needs datasets: pip install 'queue-runner[huggingface]'\n"
