"""pipeline.keras: batches for `fit`. `make test-jax` installs Keras; elsewhere these tests are skipped."""

import os
import pathlib
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
from helpers import raises, run_script
from orchestration import no_thread_left

import pipeline

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture
def keras():
    library = pytest.importorskip("keras", reason="Keras is large: make test-jax installs it")
    assert library.backend.backend() == "jax"
    return library


def rows(count=40):
    numbers = np.arange(count)
    return {"x": np.stack([numbers, numbers / 2], axis=1).astype(np.float32), "n": numbers.astype(np.int32)}


def pairs(count=40, size=4, **options):
    """Return batches of pairs (x, n); x encodes the number too."""
    data = rows(count)
    options = {"shuffle": True, "seed": 1, **options}
    return pipeline.arrays((data["x"], data["n"]), **options).batch(size, drop_remainder=True)


def network(keras):
    """Return a model built at its first batch."""
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


class Noted:
    """A dataset that records its batches, epoch by epoch, as Keras takes them."""

    def __init__(self, keras, *args, **options):
        taken = self.taken = []

        class Noting(pipeline.keras.PyDataset):
            def __getitem__(self, index):
                batch = super().__getitem__(index)
                taken.append(batch[-1].tolist())
                return batch

        self.dataset = Noting(*args, **options)

    def epochs(self, steps):
        """Return the numbers in the last epochs, which must be whole."""
        return lambda count: [
            [i for batch in self.taken[len(self.taken) - steps * k : len(self.taken) - steps * (k - 1)] for i in batch]
            for k in range(count, 0, -1)
        ]


@pytest.mark.parametrize("shuffle", [True, False])
def test_two_epochs(keras, shuffle):
    """Every example comes once in each, even if Keras looks at a batch to build the model."""
    noted = Noted(keras, pairs())
    with no_thread_left():
        network(keras).fit(noted.dataset, epochs=2, verbose=0, shuffle=shuffle)
        noted.dataset.close()
    first, second = noted.epochs(10)(2)
    assert sorted(first) == sorted(second) == list(range(40))
    assert first != second
    expected = [[int(n) for _, numbers in batches for n in numbers] for batches in twice(pairs())]
    assert [first, second] == expected
    assert len(noted.taken) in (20, 21)


def twice(dataset):
    for epoch in range(2):
        yield list(dataset.epoch(epoch))


def test_it_learns(keras):
    data = np.random.default_rng(1).normal(size=(512, 4)).astype(np.float32)
    target = data @ np.float32([1, -2, 3, 0.5])
    dataset = pipeline.keras.PyDataset(pipeline.arrays((data, target[:, None]), shuffle=True, seed=1), batch_size=50)
    assert len(dataset) == dataset.num_batches == 11
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    history = model.fit(dataset, epochs=4, verbose=0).history["loss"]
    assert history[-1] < 1e-3 < history[0]
    assert model.evaluate(dataset, verbose=0) < 1e-3
    assert model.predict(dataset, verbose=0).shape == (512, 1)


def test_evaluation_and_prediction_in_order(keras):
    model = keras.Sequential([keras.layers.Lambda(lambda x: x[:, :1])])
    model.compile(loss="mse")
    dataset = pipeline.keras.PyDataset(pairs(shuffle=False, seed=None))
    for _ in range(2):
        assert model.evaluate(dataset, verbose=0) == 0
        assert model.predict(dataset, verbose=0)[:, 0].tolist() == list(range(40))


def test_validation_between_epochs(keras):
    train, valid = Noted(keras, pairs()), Noted(keras, pairs(12, shuffle=False, seed=None))
    network(keras).fit(train.dataset, validation_data=valid.dataset, epochs=3, verbose=0)
    assert all(sorted(epoch) == list(range(40)) for epoch in train.epochs(10)(3))
    assert valid.epochs(3)(3) == [list(range(12))] * 3


def test_a_fit_that_is_left_and_begun_again(keras):
    noted = Noted(keras, pairs(160))  # 40 batches

    class Leave(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == self.last:
                raise KeyboardInterrupt

    model, leave = network(keras), Leave()
    for leave.last in (0, 2, 20):
        with pytest.raises(KeyboardInterrupt):
            model.fit(noted.dataset, epochs=1, verbose=0, callbacks=[leave])
    model.fit(noted.dataset, epochs=2, verbose=0)
    assert all(sorted(epoch) == list(range(160)) for epoch in noted.epochs(40)(2))


def test_steps(keras):
    """A Keras epoch may be part of a dataset epoch, or more than one."""
    for steps, epochs in ((5, 4), (20, 2)):
        noted = Noted(keras, pairs(), steps=steps)
        network(keras).fit(noted.dataset, epochs=epochs, verbose=0)
        got = [i for epoch in noted.epochs(steps)(epochs) for i in epoch]
        for k in range(0, steps * epochs * 4, 40):
            assert sorted(got[k : k + 40]) == list(range(40))
    noted = Noted(keras, pairs())
    network(keras).fit(noted.dataset, epochs=2, steps_per_epoch=5, verbose=0)
    assert sorted(noted.epochs(5)(1)[0] + [i for batch in noted.taken[-10:-5] for i in batch]) == list(range(40))


def test_what_cannot_be_read_again(keras):
    def generated():
        yield from zip(rows()["x"], rows()["n"], strict=True)

    once = Noted(keras, pipeline.batch(generated(), 4), steps=10)
    network(keras).fit(once.dataset, epochs=1, verbose=0)
    assert once.epochs(10)(1) == [list(range(40))]
    with raises(pipeline.OutOfRangeError, "the input ended after 0 batches of this epoch"):
        network(keras).fit(once.dataset, epochs=1, verbose=0)
    with pytest.raises(TypeError, match="not known: pass steps="):
        pipeline.keras.PyDataset(pipeline.dataset(generated).batch(4))
    again = Noted(keras, pipeline.dataset(generated).batch(4), steps=10)
    network(keras).fit(again.dataset, epochs=3, verbose=0)
    assert again.epochs(10)(3) == [list(range(40))] * 3


@pytest.mark.parametrize("asked_again", [0, 1, 2])
def test_an_error_is_raised_once_in_an_epoch(keras, asked_again):
    def examples():
        for number in range(20):
            if number == 10:
                raise OSError("the disk is gone")
            yield np.float32([number]), np.int32(number)

    data = pipeline.keras.PyDataset(pipeline.dataset(examples).batch(4), steps=5)
    for _ in range(2):
        assert data.num_batches == 5
        assert [data[0][1].tolist(), data[1][1].tolist()] == [[0, 1, 2, 3], [4, 5, 6, 7]]
        with raises(OSError, "the disk is gone"):
            data[2]
        for _ in range(asked_again):
            with raises(pipeline.FailedPreconditionError, "this Keras epoch was ended by OSError: the disk is gone"):
                data[2]


@pytest.mark.parametrize("struck", [0, 9, 39])
def test_an_interrupt_loses_nothing(keras, struck):
    left = [KeyboardInterrupt()]

    def example(number):
        if number == struck and left:
            raise left.pop()
        return np.float32([number]), number

    data = pipeline.keras.PyDataset(pipeline.dataset(range(40)).map(example).batch(4))
    got = []
    while len(got) < 40:
        try:
            got += data[0][1].tolist()
        except KeyboardInterrupt:
            assert not left
    assert got == list(range(40))
    assert not left
    assert data.num_batches == 10
    assert data[0][1].tolist() == [0, 1, 2, 3]


def test_states(keras):
    def made():
        data = rows()
        source = pipeline.arrays((data["x"], data["n"]), shuffle=True, seed=1)
        return Noted(keras, source.shuffle(11, seed=2).batch(4))

    states = []

    class Save(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            states.append(whole.dataset.state_dict())

    whole = made()
    network(keras).fit(whole.dataset, epochs=3, verbose=0, callbacks=[Save()])
    resumed = made()
    resumed.dataset.load_state_dict(states[0])
    network(keras).fit(resumed.dataset, epochs=3, initial_epoch=1, verbose=0)
    assert resumed.epochs(10)(2) == whole.epochs(10)(2)
    assert whole.epochs(10)(3)[0] not in resumed.epochs(10)(2)


def test_a_dataset(keras):
    def chain(seed=1):
        data = rows()
        dataset = pipeline.arrays((data["x"], data["n"])).shuffle(seed=seed)
        return dataset.map(lambda pair: (2 * pair[0], pair[1])).batch(4).prefetch(2)

    states = []

    class Save(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            states.append(whole.dataset.state_dict())

    whole = Noted(keras, chain())
    network(keras).fit(whole.dataset, epochs=3, verbose=0, callbacks=[Save()])
    plain = [[n for _, numbers in chain().epoch(i) for n in numbers.tolist()] for i in range(3)]
    assert whole.epochs(10)(3) == plain
    resumed = Noted(keras, chain())
    resumed.dataset.load_state_dict(states[0])
    network(keras).fit(resumed.dataset, epochs=3, initial_epoch=1, verbose=0)
    assert resumed.epochs(10)(2) == plain[1:]


@pytest.mark.parametrize("first", [0, 1, 2])
def test_the_initial_epoch_has_its_order(keras, first):
    """Without a state: by set_epoch before fit, or by a callback if another callback chooses the epoch."""
    plain = [[n for _, numbers in pairs().epoch(i) for n in numbers.tolist()] for i in range(4)]
    noted = Noted(keras, pairs())
    noted.dataset.set_epoch(first)
    network(keras).fit(noted.dataset, epochs=4, initial_epoch=first, verbose=0)
    assert noted.epochs(10)(4 - first) == plain[first:]
    noted = Noted(keras, pairs())
    follows = keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: noted.dataset.set_epoch(epoch))
    network(keras).fit(noted.dataset, epochs=4, initial_epoch=first, verbose=0, callbacks=[follows])
    assert noted.epochs(10)(4 - first) == plain[first:]
    noted.dataset.set_epoch(3)
    assert noted.dataset[0][1].tolist() == plain[3][:4]
    with pytest.raises(ValueError, match="with steps=, Keras's epochs are not those of the dataset"):
        pipeline.keras.PyDataset(pairs(), steps=3).set_epoch(1)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # from Keras and JAX
def test_backup_and_restore(keras, tmp_path):
    """Keras's own callback chooses the first epoch."""
    plain = [[n for _, numbers in pairs().epoch(i) for n in numbers.tolist()] for i in range(4)]

    def trained(stop):
        noted = Noted(keras, pairs())

        class Follows(keras.callbacks.Callback):
            def on_epoch_begin(self, epoch, logs=None):
                if epoch == stop:
                    raise KeyboardInterrupt
                noted.dataset.set_epoch(epoch)

        keeps = keras.callbacks.BackupAndRestore(str(tmp_path), delete_checkpoint=False)
        model = network(keras)
        model.build((None, 2))
        try:
            model.fit(noted.dataset, epochs=4, verbose=0, callbacks=[keeps, Follows()])
        except KeyboardInterrupt:
            assert stop == 2
        return noted.epochs(10)(2)

    assert trained(2) + trained(None) == plain


def test_a_state_and_the_number_of_the_epoch(keras):
    whole = Noted(keras, pairs())
    states = []

    class Save(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            states.append(whole.dataset.state_dict())

    network(keras).fit(whole.dataset, epochs=3, verbose=0, callbacks=[Save()])
    resumed = Noted(keras, pairs())
    resumed.dataset.load_state_dict(states[0])
    resumed.dataset.set_epoch(1)
    network(keras).fit(resumed.dataset, epochs=3, initial_epoch=1, verbose=0)
    assert resumed.epochs(10)(2) == whole.epochs(10)(2)


def test_columns(keras):
    source = pipeline.arrays({**rows(), "w": np.ones(40, np.float32), "more": np.arange(40, dtype=np.float32)})

    def first(**names):
        return pipeline.keras.PyDataset(source, batch_size=4, **names)[0]

    def named(batch):
        return [sorted(part) if isinstance(part, dict) else part.shape for part in batch]

    assert named(first(x="x", y="n")) == [(4, 2), (4,)]
    assert named(first(x=["x", "more"], y="n", sample_weight="w")) == [["more", "x"], (4,), (4,)]
    assert named(first(y=["n", "w"])) == [["more", "x"], ["n", "w"]]
    assert named(first(x="x")) == [(4, 2)]
    assert sorted(first()) == ["more", "n", "w", "x"]
    two = pipeline.arrays(rows())
    assert named(pipeline.keras.PyDataset(two, batch_size=4, y="n")[0]) == [(4, 2), (4,)]
    with raises(pipeline.InvalidArgumentError, "there is no component 'lable'; the batches have "):
        first(x="x", y="lable")
    with raises(TypeError, "x, y and sample_weight choose from dicts; the batches are tuple"):
        pipeline.keras.PyDataset(pairs(), x="x")[0]
    with raises(ValueError, "sample_weight= needs y="):
        first(x="x", sample_weight="w")


def test_several_inputs_and_weights(keras):
    inputs = {"x": keras.Input((2,), name="x"), "more": keras.Input((1,), name="more")}
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Concatenate()(list(inputs.values()))))
    model.compile("sgd", "mse")
    columns = {**rows(), "w": np.ones(40, np.float32), "more": np.zeros((40, 1), np.float32)}
    dataset = pipeline.keras.PyDataset(pipeline.arrays(columns).batch(8), x=["x", "more"], y="n", sample_weight="w")
    assert len(model.fit(dataset, epochs=2, verbose=0).history["loss"]) == 2


def test_what_batches_may_be(keras):
    x = np.ones((8, 2), np.float32)
    for examples, parts in ((list(x), 1), ([(row, 1) for row in x], 2), ([(row, 1, 0.5) for row in x], 3)):
        batch = pipeline.keras.PyDataset(pipeline.dataset(examples).batch(4))[0]
        assert type(batch) is tuple
        assert len(batch) == parts
    four = pipeline.keras.PyDataset(pipeline.dataset([(1, 2, 3, 4)] * 8).batch(4))
    with raises(TypeError, "Keras takes batches (x,), (x, y) or (x, y, sample_weight), or dicts with x= and y= of"):
        four[0]
    words = pipeline.keras.PyDataset(pipeline.dataset([{"x": 1.0, "word": "a"}] * 8).batch(4), x="word", y="x")
    with raises(TypeError, "component '0' holds strings, which Keras does not accept: convert them to numbers, or"):
        words[0]
    large = pipeline.keras.PyDataset(pipeline.dataset([(1.0, 2**40)] * 8).batch(4))
    with raises(pipeline.InvalidArgumentError, "component '1' holds 1099511627776, for which the int32 that JAX makes"):
        large[0]


def test_batches_of_other_structures_later(keras):
    """Each is converted by its own structure; errors in later batches name the component."""
    made = [
        {"x": np.ones((2, 1)), "y": np.zeros(2)},
        {"y": np.zeros(2), "x": np.ones((2, 1)), "more": np.arange(2)},
        {"x": [1.0], "y": [0]},
        {"x": np.array(["word"]), "y": np.zeros(1)},
    ]
    data = pipeline.dataset(range(4)).batch(1, collate=lambda rows: made[rows[0]])
    batches = pipeline.keras.PyDataset(data, y="y")
    assert [np.shape(part) for part in batches[0]] == [(2, 1), (2,)]
    inputs, target = batches[1]
    assert sorted(inputs) == ["more", "x"]
    assert target.tolist() == [0, 0]
    assert [[float(number) for number in part] for part in batches[2]] == [[1.0], [0.0]]
    with raises(TypeError, "component '0' holds strings, which Keras does not accept: convert them to numbers, or"):
        batches[3]


def test_workers_of_keras_are_refused(keras):
    """Each would have its own iterator, and epochs would repeat. 0 and 1 are Keras's own thread."""
    dataset = pipeline.keras.PyDataset(pairs())
    dataset.workers = 0
    dataset.workers = 1
    dataset.use_multiprocessing = False
    assert (dataset.workers, dataset.use_multiprocessing) == (1, False)
    with raises(ValueError, "workers=2: the dataset has its own threads and processes: pass workers= to its map"):
        dataset.workers = 2
    with raises(ValueError, "use_multiprocessing=True: the dataset has its own threads and processes"):
        dataset.use_multiprocessing = True
    with raises(TypeError, "a PyDataset cannot be sent to another process: the dataset has its own threads"):
        pickle.dumps(dataset)


def test_threads_that_share_a_dataset(keras):
    import concurrent.futures

    dataset = pipeline.keras.PyDataset(pairs(400))
    with concurrent.futures.ThreadPoolExecutor(4) as executor:
        got = [i for _, numbers in executor.map(dataset.__getitem__, range(100)) for i in numbers.tolist()]
    assert sorted(got) == list(range(400))


def test_arguments(keras):
    for bad, error, text in [
        (
            lambda: pipeline.keras.PyDataset([1, 2]),
            TypeError,
            "PyDataset takes batches: a dataset such as source.batch(batch_size), or its iterator; not [1",
        ),
        (
            lambda: pipeline.keras.PyDataset(pipeline.arrays(np.ones(3))),
            TypeError,
            "PyDataset needs the batch_size",
        ),
        (
            lambda: pipeline.keras.PyDataset(pairs(), batch_size=3),
            TypeError,
            "batch_size is for sources; datasets of batches have their own",
        ),
        (lambda: pipeline.keras.PyDataset(pairs(), steps=0), ValueError, "steps must be at least 1, got 0"),
        (
            lambda: pipeline.keras.PyDataset(pairs(3)),
            ValueError,
            "an epoch has no batch: ",
        ),
        (lambda: pipeline.keras.PyDataset(pairs(), steps=1.5), TypeError, "steps must be an integer"),
    ]:
        with raises(error, text):
            bad()
    assert repr(pipeline.keras.PyDataset(pairs())).startswith("<PyDataset over <DatasetIterator of batch: not started")


FIT = """
import keras, numpy as np, pipeline
assert keras.backend.backend() == {backend!r}
seen = []
class Noting(pipeline.keras.PyDataset):
    def __getitem__(self, index):
        batch = super().__getitem__(index)
        seen.append(batch[1].tolist())
        return batch
data = np.arange(400, dtype=np.float32)
dataset = Noting(pipeline.arrays((data[:, None], data), shuffle=True, seed=1), batch_size=10)
model = keras.Sequential([keras.layers.Lambda(lambda x: x), keras.layers.Dense(1)])
model.compile("sgd", "mae")
class Count(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="total")
        self.total = self.add_weight(name="total", initializer="zeros")
    def update_state(self, y, guess, sample_weight=None):
        self.total.assign_add(keras.ops.sum(keras.ops.cast(y, "float32")))
    def result(self):
        return keras.ops.convert_to_tensor(self.total)
    def reset_state(self):
        self.total.assign(0.0)
model.compile("sgd", "mae", metrics=[Count()])
print([float(total) for total in model.fit(dataset, epochs=3, verbose=0).history["total"]])
print(len(seen))
print([float(model.evaluate(dataset, verbose=0, return_dict=True)["total"]) for _ in range(2)])
"""


@pytest.mark.parametrize("backend", ["jax", "tensorflow", "torch"])
def test_every_example_counts_once_with_each_backend(keras, backend):
    """An epoch's targets sum to the total over all examples, whatever Keras looked at before."""
    pytest.importorskip(backend)
    environment = {**os.environ, "KERAS_BACKEND": backend, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", FIT.format(backend=backend)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    epochs, count, evaluations = done.stdout.splitlines()
    assert epochs == str([79800.0] * 3)
    assert evaluations == str([79800.0] * 2)
    assert 120 <= int(count) <= 130


def test_the_example(keras):
    environment = {**os.environ, "KERAS_BACKEND": "jax", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples/keras_training.py")],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert float(re.search(r"([\d.]+)% right", done.stdout)[1]) > 90


def test_without_keras():
    script = """
import sys
sys.modules["keras"] = None
import pipeline
try:
    pipeline.keras.PyDataset
except ImportError as error:
    print(error)
"""
    assert run_script(script).stdout == "pipeline.keras needs keras: pip install keras\n"


def test_options_of_the_source_are_told_where_they_belong(keras):
    with raises(
        TypeError, "PyDataset.__init__() got an unexpected keyword argument 'shuffle'. Write it into the dataset:"
    ):
        pipeline.keras.PyDataset(pairs(), shuffle=True)
