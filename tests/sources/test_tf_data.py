"""tf_data: TensorFlow datasets. `make test-jax` installs it; elsewhere these tests are skipped."""

import os
import sys

import numpy as np
import pytest
from helpers import raises, run_script
from source_contract import SourceContract

import pipeline

COUNT = 30


def library():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return pytest.importorskip("tensorflow", reason="TensorFlow is large: make test-jax installs it")


def dataset(count=COUNT):
    numbers = np.arange(count, dtype=np.int32)
    parts = {
        "n": numbers,
        "word": [f"{i}é".encode() for i in numbers],
        "inner": (np.stack([numbers, numbers / 2], axis=1), numbers % 2),
    }
    return library().data.Dataset.from_tensor_slices(parts)


def check(batch):
    numbers = batch["n"].tolist()
    assert batch["n"].dtype == np.int32
    assert batch["word"].tolist() == [f"{i}é".encode() for i in numbers]
    pair, odd = batch["inner"]
    assert pair.tolist() == [[i, i / 2] for i in numbers]
    assert odd.tolist() == [i % 2 for i in numbers]
    return numbers


class TestDataset(SourceContract):
    count = COUNT
    known = False
    shuffles = False
    shards = 4
    checks = ("again", "length", "index", "rows", "batch", "epochs", "shard", "options")  # there are no states

    @pytest.fixture(autouse=True)
    def _small_pieces(self, monkeypatch):
        monkeypatch.setattr("pipeline.sources.tf_data._PIECE", 7)  # so that a few rows span several pieces

    def make(self, **options):
        return pipeline.tf_data(dataset(), **options)

    def numbers(self, batch):
        return check(batch)

    def refuses(self, batches):
        text = "tf_data cannot be rewound: the source is a tf.data.Dataset, whose iterators do not"
        with raises(pipeline.FailedPreconditionError, text):
            batches.state_dict()

    @pytest.mark.parametrize("kind", ["batch", "shuffle_batch"])
    def test_states(self, kind):
        """TensorFlow's iterators cannot be rewound, and the error explains this."""
        options = {"min_after_dequeue": 5, "seed": 9} if kind == "shuffle_batch" else {}
        with getattr(pipeline, kind)(self.make(), 3, deterministic=True, **options) as batches:
            next(batches)
            self.refuses(batches)

    @pytest.mark.parametrize("pool", [False, True])
    def test_states_of_what_workers_make(self, pool):
        data = self.make().map(dict, workers=2)
        with iter((data.shuffle(6, seed=9) if pool else data).batch(3)) as batches:
            next(batches)
            self.refuses(batches)

    def test_a_state_of_the_second_pass(self):
        with iter(self.random().batch(3).epoch(1)) as batches:
            next(batches)
            self.refuses(batches)


class TestBatched(TestDataset):
    """TensorFlow's batches; the last is smaller."""

    def make(self, **options):
        return pipeline.tf_data(dataset().batch(4), batched=True, **options)

    def test_hosts_share_the_source(self):
        """Batch by batch."""
        parts = [self.in_order(self.make(shard=(host, 2))) for host in range(2)]
        assert parts[0][:8] == [0, 1, 2, 3, 8, 9, 10, 11]
        assert sorted(parts[0] + parts[1]) == list(range(COUNT))


def _without_more(example):
    """The other components, so that examples stack."""
    assert example["more"].tolist() == list(range(example["n"]))
    return {name: value for name, value in example.items() if name != "more"}


class TestOfAnyShape(TestDataset):
    """If a shape is unknown, elements come one at a time."""

    def make(self, **options):
        tf = library()
        data = dataset().map(lambda each: {**each, "n": tf.ensure_shape(tf.py_function(int, [each["n"]], "int32"), [])})
        varied = data.map(lambda each: {**each, "more": tf.range(each["n"])})
        return pipeline.tf_data(varied, **options).map(_without_more)


def test_its_own_shuffle_gives_another_order_in_each_epoch():
    with pipeline.batch(pipeline.tf_data(dataset().shuffle(COUNT, seed=1), num_epochs=2), COUNT) as batches:
        first, second = map(check, batches)
    assert sorted(first) == sorted(second) == list(range(COUNT))
    assert first != second


def test_rows_that_vary_in_length():
    tf = library()
    words = [["a", "b"], [], ["c"]]
    rows = tf.data.Dataset.from_tensor_slices({"words": tf.ragged.constant(words), "n": [1, 2, 3]})
    for source in (pipeline.tf_data(rows), pipeline.tf_data(rows.ragged_batch(2), batched=True)):
        assert [row["words"].tolist() for row in source] == [[each.encode() for each in row] for row in words]
        [got] = source.batch(3, collate="row_splits")
        values, splits = got["words"]
        assert values.tolist() == [b"a", b"b", b"c"]
        assert splits.tolist() == [0, 2, 2, 3]
        assert got["n"].tolist() == [1, 2, 3]
    lengths = tf.data.Dataset.range(1, 4).map(lambda n: tf.ones([n, 2]))
    [got] = pipeline.tf_data(lengths).batch(3, pad=0)
    assert got.sum(axis=(1, 2)).tolist() == [2, 4, 6]
    [got] = pipeline.batch(pipeline.tf_data(lengths), 3, dynamic_pad=True)
    assert got.sum(axis=(1, 2)).tolist() == [2, 4, 6]


def test_rows_of_batches_that_are_all_of_one_length():
    tf = library()
    rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [3, 4]]))
    for source in (pipeline.tf_data(rows), pipeline.tf_data(rows.ragged_batch(2), batched=True)):
        [got] = source.batch(2)
        assert got.tolist() == [[1, 2], [3, 4]]


def test_bare_numbers_and_other_dtypes():
    tf = library()
    assert [got.tolist() for got in pipeline.batch(pipeline.tf_data(tf.data.Dataset.range(6)), 3)] == [
        [0, 1, 2],
        [3, 4, 5],
    ]
    [got] = pipeline.batch(pipeline.tf_data(tf.data.Dataset.from_tensors(tf.ones(3, tf.bfloat16))), 1)
    assert got.dtype.name == "bfloat16"
    assert got.tolist() == [[1, 1, 1]]


def test_what_tensorflow_gave_is_not_changed_by_what_comes_later():
    rows = np.arange(40 * 4096, dtype=np.float32).reshape(40, 4096)
    batches = list(pipeline.batch(pipeline.tf_data(library().data.Dataset.from_tensor_slices(rows)), 8))
    assert (np.concatenate(batches) == rows).all()


def test_an_iterator_is_read_once():
    got = [check(batch) for batch in pipeline.batch(dataset().as_numpy_iterator(), 10)]
    assert [number for numbers in got for number in numbers] == list(range(COUNT))


def test_an_error_comes_after_what_was_made_before(monkeypatch):
    monkeypatch.setattr("pipeline.sources.tf_data._PIECE", 32)  # so that a few rows span several pieces
    tf = library()

    def failing(number):
        assert number != 70, "element 70 is bad"
        return number

    data = tf.data.Dataset.range(100).map(lambda n: tf.ensure_shape(tf.numpy_function(failing, [n], "int64"), []))
    got = []
    with (
        pytest.raises(tf.errors.UnknownError, match="element 70 is bad") as caught,
        pipeline.batch(pipeline.tf_data(data), 8) as batches,
    ):
        got.extend(batches)
    assert np.concatenate(got).tolist() == list(range(64))
    if sys.version_info >= (3, 11):
        assert "tf_data: in elements 64 to 95 of the dataset" in caught.value.__notes__


def test_errors():
    tf = library()
    for given, text in [
        ([1], "tf_data: a list is not a tf.data.Dataset"),
        (
            iter(dataset()),
            "tf_data: a OwnedIterator is not a tf.data.Dataset; an iterator is read once: pass the dataset",
        ),
        (
            tf.data.Dataset.from_tensor_slices({"a": {"b": tf.sparse.from_dense(np.eye(3))}}),
            "tf_data: component 'a/b' is a SparseTensor: map it by tf.sparse.to_dense",
        ),
        (
            tf.data.Dataset.from_tensor_slices((tf.ragged.constant([[[1], [2, 3]], []]), [1, 2])),
            "tf_data: component '0' is a RaggedTensor: map it by .to_tensor()",
        ),
        (tf.data.Dataset.range(4).window(2), "tf_data: the element is a Dataset"),
    ]:
        with raises(TypeError, text):
            pipeline.tf_data(given)
    with raises(TypeError, "tf_data: component 'inner/1' is a scalar: with batched=True each must have rows"):
        pipeline.tf_data(dataset(), batched=True)


def test_without_tensorflow():
    script = """
import sys
sys.modules["tensorflow"] = None
import pipeline
try:
    pipeline.tf_data([])
except ImportError as error:
    print(error)
"""
    assert run_script(script).stdout == "tf_data needs tensorflow: pip install tensorflow\n"
