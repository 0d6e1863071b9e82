"""Common mistakes when coming from torch, tf.data, NumPy or pandas: each is an error or a warning with advice.

Three mistakes cannot be detected: a function counting in a global while processes run it, a `zip` over datasets with
unequal lengths, and examples shuffled against their labels before they are read.
"""

import asyncio
import functools
import itertools
import queue
import random

import numpy as np
import pytest
from helpers import run_script

import pipeline
from pipeline.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError

TEN = list(range(10))


def torch():
    return pytest.importorskip("torch", reason="needs PyTorch: make test-torch")


def one_file(tmp_path, text="1\n2\n3\n", name="rows.txt"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def stream():
    yield from TEN


def numbers():
    return pipeline.dataset(TEN)


def looped(data, times=1):
    for _ in range(times):
        for _ in data:
            pass


def noisy(number):
    return number + pipeline.example_rng().random()


OWN, OF_CACHE, SEEDED_EACH = np.random.default_rng(0), random.Random(1), np.random.RandomState(0)


def own_draws(number):
    return number + OWN.random()


def kept_draws(number):
    return number + OF_CACHE.random()


def seeds_it(number):
    SEEDED_EACH.seed(number)
    return number + SEEDED_EACH.rand()


class Augmenting:
    def __init__(self, kind):
        self.generator = kind()

    def __call__(self, number):
        return self.draw(number)

    def draw(self, number):
        return number + self.generator.random()

    def double(self, number):
        return 2 * number


def given(generator, number):
    return number + generator.random()


def draws_in_threads(number, generator=random.Random(3)):  # noqa: B008
    return number + generator.random()


async def waits(number):
    await asyncio.sleep(0)


def nothing(number):
    """Returns nothing, like functions that change the example in place."""


def fails(number):
    raise ValueError(f"bad number {number}")


def adds_one(array):
    array += 1
    return array


def adds_two(array):
    array += 2
    return array.copy()


def adds_item(example):
    example.append(3)
    return example


def adds_key(example):
    example["y"] = 0
    return example


def copies(example):
    return {**example, "x": example["x"] + 1}


def loaded(data, epochs):
    torch()
    loader = pipeline.torch.DataLoader(data)
    for _ in range(epochs):
        for _ in loader:
            pass


class Squares:
    def __len__(self):
        return 10

    def __getitem__(self, index):
        return np.float32(index**2)


def closed():
    iterator = iter(numbers())
    next(iterator)
    iterator.close()
    return iterator


def of_torch(data, **settings):
    return torch().utils.data.DataLoader(data, **settings)


def batches_for_torch():
    torch()
    return pipeline.torch.IterableDataset(numbers().batch(2))


# Errors: the program, the error's class, and its text.
RAISES = {
    "a function that returns None": (
        lambda _: looped(numbers().map(nothing)),
        ValueError,
        "nothing returned None, which is not an example",
    ),
    "shapes that differ in a batch": (
        lambda _: looped(numbers().map(np.ones).batch(2)),
        ValueError,
        "pad",
    ),
    "next after close": (lambda _: next(closed()), FailedPreconditionError, "this iterator is closed: iter(dataset)"),
    "a loop after close": (lambda _: list(closed()), FailedPreconditionError, "this iterator is closed"),
    "a second loop over a generator": (
        lambda _: looped(pipeline.dataset(stream()), 2),
        FailedPreconditionError,
        "is an iterator, which can be read once, and an earlier loop has read it to its end: pass a list or a",
    ),
    "a second loop over map(...) of Python": (
        lambda _: looped(pipeline.dataset(map(str, TEN)).batch(2), 2),
        FailedPreconditionError,
        "map is an iterator, which can be read once",
    ),
    "epochs of a generator": (
        lambda _: pipeline.dataset(stream()).repeat(2),
        ValueError,
        "pass a list or a generator function",
    ),
    "a generator in two places": (
        lambda _: pipeline.zip(*[pipeline.dataset(stream())] * 2),
        ValueError,
        "but is read in two places; pass a list",
    ),
    "torch's DataLoader around batches": (
        lambda _: looped(of_torch(numbers().batch(2), batch_size=2)),
        TypeError,
        "pass batch_size=None to it, or use pipeline.torch.DataLoader(dataset)",
    ),
    "torch's DataLoader around IterableDataset": (
        lambda _: looped(of_torch(batches_for_torch())),
        InvalidArgumentError,
        "write DataLoader(dataset, batch_size=None)",
    ),
    "the same with worker processes": (
        lambda _: looped(of_torch(batches_for_torch(), batch_size=4, num_workers=1)),
        RuntimeError,
        "write DataLoader(dataset, batch_size=None)",
    ),
    "a loader without batches": (
        lambda _: torch() and pipeline.torch.DataLoader(pipeline.arrays(np.ones(9)).shuffle(seed=1)),
        TypeError,
        "not single examples of arrays: add .batch(n)",
    ),
    "a loader of numbers": (
        lambda _: torch() and pipeline.torch.DataLoader(pipeline.dataset(range(9)).shuffle(seed=1)),
        TypeError,
        "not single examples of range: add .batch(n)",
    ),
    "a loader of words": (
        lambda _: torch() and pipeline.torch.DataLoader(pipeline.dataset(["a", "b"]).take(1)),
        TypeError,
        "not single examples of list: add .batch(n)",
    ),
    "a loader of a torch Dataset": (
        lambda _: torch() and pipeline.torch.DataLoader(torch().utils.data.TensorDataset(torch().ones(4))),
        TypeError,
        ": write pipeline.torch.dataset(...).batch(batch_size)",
    ),
    "a set": (lambda _: pipeline.dataset({3, 1}), TypeError, "dataset: a set has no order: pass sorted(x), got {"),
    "a frozenset": (lambda _: pipeline.dataset(frozenset("a")), TypeError, "dataset: a frozenset has no order: pass"),
    "shuffle(seed=) of a stream": (
        lambda _: pipeline.dataset(stream).shuffle(seed=1),
        ValueError,
        "shuffle: stream is a stream: give a buffer_size, as in .shuffle(10_000, seed=1)",
    ),
    "shuffle(seed=) of lines": (
        lambda path: pipeline.text(one_file(path)).map(len).shuffle(seed=1),
        ValueError,
        "map is a stream: give a buffer_size, as in .shuffle(10_000, seed=1), or index=True to text",
    ),
    "persistent_workers": (
        lambda _: torch() and pipeline.torch.DataLoader(numbers().batch(2), persistent_workers=True),
        TypeError,
        "workers=workers), all within `with pipeline.processes(4) as workers:`",
    ),
    "shuffle=True of a dataset": (lambda _: numbers().shuffle(shuffle=True), TypeError, "unexpected keyword argument"),
    "shuffle(True)": (lambda _: numbers().shuffle(True), TypeError, "shuffle: buffer_size"),
    "the length of a stream": (lambda _: len(pipeline.dataset(stream)), TypeError, "is not known"),
    "torch's DataLoader over a stream": (
        lambda _: list(torch().utils.data.DataLoader(pipeline.dataset(stream).batch(4))),
        TypeError,
        "the number of elements after batch is not known. torch's own DataLoader needs it: use pipeline.torch.DataL",
    ),
    "an example of a stream by its number": (
        lambda _: pipeline.dataset(stream)[0],
        TypeError,
        "is a stream",
    ),
    "a column of a dataset": (lambda _: numbers()["label"], TypeError, "an index of a dataset"),
    "a slice of a dataset": (lambda _: numbers()[0:5], TypeError, "an index of a dataset"),
    "the name of a file": (lambda _: pipeline.dataset("a.txt"), TypeError, "for the lines of a file use pipeline.text"),
    "a file that is not there": (lambda _: pipeline.csv("nowhere/*.csv"), NotFoundError, "nowhere"),
    "a DataLoader of pipeline": (lambda _: pipeline.DataLoader, AttributeError, "Write pipeline.torch.DataLoader"),
    "from_tensor_slices": (lambda _: pipeline.Dataset.from_tensor_slices, AttributeError, "write pipeline.arrays(x)"),
    "read_csv": (lambda _: pipeline.read_csv, AttributeError, "write pipeline.csv(paths)"),
    "drop_last": (lambda _: numbers().batch(2, drop_last=True), TypeError, "Did you mean 'drop_remainder'"),
    "num_parallel_calls": (
        lambda _: numbers().map(str, num_parallel_calls=2),
        TypeError,
        "Did you mean 'workers'",
    ),
    "num_workers of dataset": (
        lambda _: pipeline.dataset(Squares(), num_workers=2),
        TypeError,
        "Did you mean 'workers'",
    ),
    "workers of a list": (
        lambda _: pipeline.dataset(TEN, workers=2),
        TypeError,
        "dataset: workers= calls the __getitem__ of your own sequence, not of [0, 1",
    ),
    "num_workers=0": (lambda _: numbers().map(str, workers=0), ValueError, "must be at least 1"),
    "AUTOTUNE": (lambda _: numbers().prefetch(-1), ValueError, "prefetch: n"),
    "take(-1)": (lambda _: numbers().take(-1), ValueError, "take: n"),
    "batch(0)": (lambda _: numbers().batch(0), ValueError, "batch: n"),
    "the result of a function": (lambda _: numbers().map(str(1)), TypeError, "must be callable"),
    "a function of two arguments": (
        lambda _: pipeline.arrays((np.ones(2), np.ones(2))).map(lambda x, y: x),
        TypeError,
        "an example is one argument, such as a tuple",
    ),
    "an async function": (lambda _: numbers().map(waits), TypeError, "is async and would never be awaited"),
    "a generator for map": (lambda _: numbers().map(lambda n: (yield n)), TypeError, "uses yield"),
    "Python's queue": (lambda _: pipeline.dataset(queue.Queue()), TypeError, "use a pipeline.FIFOQueue"),
    "columns of unequal lengths": (
        lambda _: pipeline.dataset({"x": np.ones(3), "y": np.ones(4)}),
        ValueError,
        "arrays: ",
    ),
    "arrays as two arguments": (lambda _: pipeline.arrays(np.ones(3), np.ones(3)), TypeError, "positional argument"),
    "a device without a driver": (
        lambda _: on_cuda(),
        RuntimeError,
        "device='cuda': this torch finds no CUDA device",
    ),
    "device='gpu'": (
        lambda _: torch() and pipeline.torch.DataLoader(numbers().batch(2), device="gpu"),
        RuntimeError,
        "device='gpu': write 'cuda'",
    ),
    "a share without a seed": (
        lambda _: numbers().shuffle().shard(0, 2),
        ValueError,
        "shuffle has no seed, so each host would draw its own order",
    ),
    "a source's share without a seed": (
        lambda _: pipeline.arrays(np.ones(4), shuffle=True, shard=(0, 2)),
        ValueError,
        "pass seed=",
    ),
    "host 2 of 2": (lambda _: numbers().shard(2, 2), ValueError, "shard: i must be 0 to 1, got 2"),
    "the length of repeat()": (lambda _: len(numbers().repeat()), TypeError, "the dataset has no end"),
    "the state of a generator": (
        lambda _: iter(pipeline.dataset(stream())).state_dict(),
        FailedPreconditionError,
        "pass a sequence, a generator function",
    ),
    "a state for an iterator that has begun": (
        lambda _: advanced(numbers()).load_state_dict(iter(numbers()).state_dict()),
        FailedPreconditionError,
        "Load a state before the first element",
    ),
    "the state of another dataset": (
        lambda _: iter(numbers()).load_state_dict(iter(numbers().batch(2)).state_dict()),
        pipeline.errors.StateMismatchError,
        "batch",
    ),
    "a report of a dataset": (lambda _: numbers().report, AttributeError, "write iterator = iter(dataset)"),
    "example_rng outside": (
        lambda _: pipeline.example_rng(),
        FailedPreconditionError,
        "inside a function passed to map",
    ),
    "a dataset for zip of Python": (lambda _: pipeline.zip([1], [2]), TypeError, "expected a dataset, got list"),
    "draws from a stream": (lambda _: pipeline.dataset(stream).sample([1], 2), ValueError, "is a stream"),
}


def on_cuda():
    if torch().cuda.is_available():
        pytest.skip("needs a machine without CUDA")
    pipeline.torch.DataLoader(numbers().batch(2), device="cuda")


def advanced(data):
    iterator = iter(data)
    next(iterator)
    return iterator


@pytest.mark.parametrize("name", RAISES)
def test_is_an_error(name, tmp_path):
    program, kind, message = RAISES[name]
    with pytest.raises(kind) as failed:
        program(tmp_path)
    assert message in str(failed.value)


TWICE = "a second loop over this dataset gives the same order again. For a new order in each epoch write `for i in"
ONE_FILE = "shuffle=True orders files, but there is only one, so it changes nothing: add .shuffle(10_000, seed=1)"

SPLIT = "take and skip after shuffle choose different examples in each epoch, so training sees your validation"

# Warnings, given once: the program, and the warning's text.
WARNS = {
    "text of one file, shuffled": (
        lambda path: looped(pipeline.text(one_file(path), shuffle=True), 3),
        f"text: {ONE_FILE}",
    ),
    "csv of one file, shuffled": (
        lambda path: looped(pipeline.csv(one_file(path, "a\n1\n2\n3\n"), shuffle=True, seed=1).batch(2)),
        f"csv: {ONE_FILE}",
    ),
    "jsonl of one file, shuffled": (
        lambda path: looped(pipeline.jsonl(one_file(path, '{"a": 1}\n'), shuffle=True)),
        f"jsonl: {ONE_FILE}",
    ),
    "records of one file, shuffled": (
        lambda path: looped(pipeline.fixed_length(one_file(path), 2, shuffle=True)),
        f"fixed_length: {ONE_FILE}",
    ),
    "tfrecord of one file, shuffled": (lambda path: looped(records(path)), f"tfrecord: {ONE_FILE}"),
    "a second loop in the same order": (lambda _: looped(numbers().shuffle(seed=1).batch(2), 3), TWICE),
    "the same without a seed": (lambda _: looped(pipeline.arrays(np.ones(9), shuffle=True), 2), TWICE),
    "the same with break": (lambda _: [list(itertools.islice(SHUFFLED, 4)) for _ in range(3)], TWICE),
    "batch before shuffle": (
        lambda _: looped(numbers().batch(2).prefetch(1).shuffle(5, seed=1)),
        "shuffle after batch keeps the same examples together in every epoch: write shuffle before batch",
    ),
    "repeat before shuffle": (
        lambda _: looped(numbers().repeat(2).shuffle(5, seed=1)),
        "shuffle after repeat mixes epochs, so some examples appear twice before others appear once",
    ),
    "random numbers in a cache": (
        lambda _: looped(numbers().map(noisy, seed=1).cache().repeat(2)),
        "cache keeps the random draws of noisy in the first epoch for all later ones: write cache before map",
    ),
    "an order in a cache": (
        lambda _: [looped(ORDERED.epoch(i)) for i in range(3)],
        "cache keeps the order of the first epoch for all later ones: write cache before shuffle",
    ),
    "validation by skip of a shuffle": (
        lambda _: [looped(SKIPPED.epoch(i)) for i in range(3)],
        f"list: {SPLIT}",
    ),
    "training by take of a shuffle": (lambda _: looped(numbers().shuffle().take(7).batch(2).repeat(3)), SPLIT),
    "training by take in a loader": (lambda _: loaded(numbers().shuffle(seed=1).take(7).batch(7), 3), SPLIT),
    "a buffer of an indexed dataset": (
        lambda _: looped(pipeline.dataset(range(1000)).map(float).shuffle(10, seed=1).batch(100), 1),
        "range: shuffle(10) mixes only 10 of 1,000 examples: this dataset is indexed, so .shuffle(seed=1) orders all",
    ),
    "a seed as the buffer": (
        lambda _: [looped(SEEDED.epoch(i)) for i in range(3)],
        "arrays: shuffle(42) mixes only 42 of 1,000 examples",
    ),
    "a new iterator in each step": (
        lambda _: [next(iter(STEPS)) for _ in range(5)],
        "range: each iter(dataset) begins again, so you got the same first element twice: keep one iterator",
    ),
    "a list's arrays that are changed": (
        lambda _: looped(pipeline.dataset([np.zeros(2), np.ones(2)]).shuffle(seed=1).map(adds_one).repeat(2)),
        "map(adds_one) changes its argument, which is yours: the next epoch gets the changed one. Return a new array",
    ),
    "the same in threads": (
        lambda _: looped(pipeline.dataset([np.zeros(2)] * 4).map(adds_two, workers=2)),
        "map(adds_two) changes its argument",
    ),
    "a list's lists that are changed": (
        lambda _: looped(pipeline.dataset([[1], [2]]).map(adds_item)),
        "map(adds_item) changes its argument, which is yours: the next epoch gets the changed one. Return a new list",
    ),
    "a list's dicts that are changed": (
        lambda _: looped(pipeline.dataset([{"x": 1}, {"x": 2}]).map(adds_key)),
        "map(adds_key) changes its argument",
    ),
    "a batch that is never full": (
        lambda _: looped(numbers().batch(20, drop_remainder=True)),
        "do not fill a batch and are dropped. To get them too, leave out drop_remainder=True",
    ),
    "examples that all fail": (
        lambda _: looped(FAILING, 2),
        "no element is left: on_error='skip' skipped 10 examples, the first because of ValueError: bad number 0",
    ),
    "examples that all fail in workers": (
        lambda _: looped(numbers().map(fails, workers=2, on_error="skip").batch(2)),
        "no element is left: on_error='skip' skipped 10 examples, the first because of ValueError: bad number 0",
    ),
    "a filter that drops all": (
        lambda _: looped(pipeline.dataset(stream).map(str).filter(str.isalpha).batch(2)),
        "dropped 10 examples: does its function return True or False?",
    ),
    "a filter that returns None": (
        lambda _: looped(numbers().shuffle(seed=1).filter(nothing, workers=2).prefetch(1).repeat(2)),
        "no element is left: .filter(nothing) dropped 20 examples: does its function return True or False?",
    ),
    "zip of two orders": (
        lambda _: looped(pipeline.zip(numbers().shuffle(seed=1), numbers().shuffle(seed=2).map(str))),
        "zip of datasets in different random orders pairs their elements at random: write pipeline.zip(...).shuffle(",
    ),
    "zip of two buffers without seeds": (
        lambda _: looped(pipeline.zip(*(pipeline.dataset(stream).shuffle(5).batch(2) for _ in range(2)))),
        "zip of datasets in different random orders",
    ),
    "a skip of a shuffle without a seed": (
        lambda _: looped(numbers().shuffle().skip(8)),
        "list: shuffle without a seed has a different order in each dataset, so skip here and take there share",
    ),
    "the same in epochs": (
        lambda _: [looped(UNSEEDED.epoch(i)) for i in range(3)],
        "give shuffle a seed, or use data.split(0.8, seed=1)",
    ),
    "a buffer of one": (
        lambda _: looped(pipeline.dataset(range(100)).shuffle(1, seed=1), 1),
        "range: shuffle(1) keeps the order: write .shuffle(10_000, seed=1)",
    ),
    "a generator in a global": (
        lambda _: looped(numbers().map(own_draws).repeat(2)),
        "map(own_draws) draws from its own generator OWN: its numbers differ after a resume, and in every run with",
    ),
    "a generator in a default": (
        lambda _: looped(numbers().map(draws_in_threads, workers=2)),
        "map(draws_in_threads) draws from its own generator generator: its numbers differ after a resume",
    ),
    "a generator in a closure": (lambda _: looped(closing(np.random.RandomState(1))), "its own generator held:"),
    "a generator in an object": (
        lambda _: looped(numbers().map(Augmenting(np.random.default_rng))),
        "map(Augmenting) draws from its own generator self.generator",
    ),
    "a generator of an object's method": (
        lambda _: looped(numbers().filter(Augmenting(random.Random).draw)),
        "filter(draw) draws from its own generator self.generator",
    ),
    "a generator as an argument": (
        lambda _: looped(numbers().map(functools.partial(given, np.random.default_rng(1)))),
        "map(given) draws from its own generator argument 0",
    ),
    "a generator of torch": (
        lambda _: looped(of_torchs_generator()),
        "map(<lambda>) draws from its own generator of_torch",
    ),
    "an iterator that has ended": (
        lambda _: looped(iter(numbers()), 2),
        "this iterator has ended and has no more elements",
    ),
}
UNSEEDED = numbers().shuffle().skip(8)
FAILING = numbers().map(fails, on_error="skip").batch(2)
SHUFFLED, ORDERED, SKIPPED = (
    numbers().shuffle(seed=1),
    numbers().shuffle(seed=1).cache(),
    numbers().shuffle(seed=1).skip(2),
)
SEEDED = pipeline.arrays(np.arange(1000)).shuffle(42)
STEPS = pipeline.dataset(range(10)).shuffle(seed=1).batch(2)


def closing(held):
    return numbers().map(lambda number: number + held.rand())


def of_torchs_generator():
    of_torch = torch().Generator()
    return numbers().map(lambda number: number + torch().rand(1, generator=of_torch).item())


def records(path):
    pytest.importorskip("google_crc32c")
    with pipeline.TFRecordWriter(path / "a.tfrecord") as writer:
        writer.write(b"1")
    return pipeline.tfrecord(path / "a.tfrecord", shuffle=True)


@pytest.mark.parametrize("name", WARNS)
def test_is_a_warning(name, tmp_path, caplog):
    program, message = WARNS[name]
    program(tmp_path)
    assert [message in text for text in caplog.messages] == [True], caplog.text


def test_a_warning_is_shown_without_logging(tmp_path):
    """At the loop's line."""
    done = run_script(f"""
import pipeline
data = pipeline.text({str(one_file(tmp_path))!r}, shuffle=True)
for i in range(3):
    for line in data.epoch(i):
        pass
""")
    (shown,) = [line for line in done.stderr.splitlines() if "RuntimeWarning" in line]
    assert shown.startswith("<string>:5: RuntimeWarning: text: shuffle=True")
    assert shown.endswith(ONE_FILE + ", which mixes the examples")


# Intended programs that look like these mistakes.
FINE = {
    "several files": lambda path: looped(
        pipeline.text([one_file(path), one_file(path, name="b.txt")], shuffle=True).shuffle(10)
    ),
    "one file and a buffer": lambda path: looped(pipeline.text(one_file(path), shuffle=True).shuffle(10, seed=1)),
    "a look at a shuffle": lambda _: looped(numbers().shuffle().take(3)),
    "skip with a seed": lambda _: looped(numbers().shuffle(seed=1).skip(3)),
    "a generator that seeds each example": lambda _: looped(numbers().map(seeds_it)),
    "a generator that another method uses": lambda _: looped(numbers().map(Augmenting(random.Random).double)),
    "a global's name as an attribute": lambda _: looped(numbers().map(lambda n: n.OWN if n == "" else n)),
    "an epoch twice": lambda _: [looped(numbers().shuffle(seed=1).epoch(1)) for _ in range(2)],
    "epochs": lambda _: [looped(EPOCHS.epoch(i)) for i in range(3)],
    "a look at the first example": lambda _: [next(iter(EPOCHS)) for _ in range(2)],
    "resumed for one element": lambda _: [next(resumed(RESUMED)) for _ in range(4)] and looped(RESUMED),
    "a look, then a loop": lambda _: (next(iter(LOOK)), looped(LOOK)),
    "take, shuffle": lambda _: looped(numbers().take(7).shuffle(seed=1).repeat(2)),
    "batches of an epoch": lambda _: looped(numbers().shuffle(seed=1).batch(2).take(3).repeat(2)),
    "take of one epoch": lambda _: looped(numbers().shuffle(seed=1).take(3)),
    "a buffer of a tenth": lambda _: looped(pipeline.dataset(range(100)).shuffle(10, seed=1)),
    "a buffer behind an order": lambda _: looped(pipeline.dataset(range(100)).shuffle(seed=1).shuffle(5, seed=1)),
    "a buffer of a stream": lambda _: looped(pipeline.dataset(itertools.repeat(0, 100)).shuffle(5, seed=1)),
    "a function that copies": lambda _: looped(pipeline.dataset([{"x": np.ones(2)}]).map(copies)),
    "a change of rows of arrays": lambda _: looped(pipeline.arrays(np.ones((4, 2))).map(changes)),
    "a change of the result of a function": lambda _: looped(numbers().map(np.ones).map(changes_too)),
    "batches of a sorted order": lambda _: looped(numbers().sort(5, lambda n: n).batch(2).shuffle(5, seed=1)),
    "examples and batches": lambda _: looped(numbers().shuffle(seed=1).batch(2).shuffle(5, seed=1)),
    "unbatch": lambda _: looped(numbers().batch(2).unbatch().shuffle(5, seed=1)),
    "shuffle, repeat": lambda _: looped(numbers().shuffle(seed=1).repeat(2)),
    "cache, map": lambda _: looped(numbers().cache().map(noisy, seed=1).repeat(2)),
    "cache, shuffle": lambda _: looped(numbers().cache().shuffle(seed=1).repeat(2)),
    "skip, shuffle": lambda _: looped(numbers().skip(2).shuffle(seed=1).repeat(2)),
    "a filter of nothing": lambda _: looped(pipeline.dataset([]).filter(nothing).repeat(2)),
    "nothing after take(0)": lambda _: looped(numbers().filter(nothing).take(0)),
    "a part of which all are dropped": lambda _: looped(
        numbers().filter(nothing).concatenate(numbers().map(fails, on_error="skip")).concatenate(numbers())
    ),
    "zip in one order": lambda _: looped(pipeline.zip(numbers().shuffle(seed=1), numbers().map(str).shuffle(seed=1))),
    "zip of one shuffle": lambda _: looped(pipeline.zip(ONE_ORDER.map(str), ONE_ORDER.batch(1), numbers())),
    "zip of a source with itself": lambda _: looped(pipeline.zip(ITSELF.shuffle(seed=1), ITSELF.shuffle(seed=2))),
    "zip of what has no pairs": lambda _: looped(
        pipeline.zip(numbers().shuffle(seed=1).repeat(), pipeline.dataset(range(30)).shuffle(seed=2)).take(9)
    ),
    "what an iterator has left": lambda _: left_of(iter(TEN)),
    "close within a loop": lambda _: close_within(),
}
ONE_ORDER, ITSELF = numbers().shuffle(), numbers()
EPOCHS, LOOK = numbers().shuffle(seed=1).batch(2), numbers().shuffle(seed=1).batch(2)

RESUMED = numbers().shuffle(seed=1).batch(2)


def resumed(data):
    iterator = iter(data)
    iterator.load_state_dict(advanced(data.epoch(0)).state_dict())
    return iterator


def changes(array):
    array += 3
    return array


def changes_too(array):
    array += 4
    return array


def left_of(given):
    assert len(list(pipeline.dataset(given).take(3))) == 3
    assert len(list(pipeline.dataset(given))) == 7


def close_within():
    iterator = iter(numbers())
    for number in iterator:
        if number == 2:
            iterator.close()
    assert number == 2


@pytest.mark.parametrize("name", FINE)
def test_is_no_mistake(name, tmp_path, caplog):
    FINE[name](tmp_path)
    assert caplog.messages == []


def test_a_cache_keeps_the_draws_of_a_functions_own_generator(caplog):
    looped(numbers().map(kept_draws).cache().repeat(2))
    assert any("cache keeps the random draws of kept_draws in the first epoch" in text for text in caplog.messages)


def test_iterators_that_each_give_the_first_element(caplog):
    data = numbers().shuffle(seed=1).batch(2)
    with caplog.at_level("INFO", "pipeline"):
        for _ in range(6):
            next(iter(data))
    (text,) = [text for text in caplog.messages if "begins again" in text]
    assert text.endswith("each iter(dataset) begins again, so you got the same first element twice: keep one iterator")


@pytest.mark.parametrize("data", ["data", "data.shard(of.id, of.num_workers)"])
def test_each_worker_of_torchs_dataloader_would_read_all(data):
    torch()
    done = run_script(f"""
import pipeline, torch.utils.data as torch_data
data = pipeline.dataset(range(6)).batch(2)

class Batches(torch_data.IterableDataset):
    def __iter__(self):
        of = torch_data.get_worker_info()
        return iter({data})

print(len(list(torch_data.DataLoader(Batches(), batch_size=None, num_workers=2, multiprocessing_context="fork"))))
ours = torch_data.DataLoader(pipeline.torch.IterableDataset(data), batch_size=None, num_workers=2)
print(len(list(ours)))
""")
    whole = data == "data"
    assert done.stdout.split() == ["6" if whole else "3", "3"], done.stderr
    text = (
        "range: each of the 2 workers of torch's DataLoader reads the whole dataset: pass "
        "pipeline.torch.IterableDataset(dataset), or write .shard(worker, workers)"
    )
    assert done.stderr.count(text) == (2 if whole else 0)


def test_a_collate_fn_of_tensors_gets_what_the_dataset_gave():
    class Tensors(torch().utils.data.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return torch().full((2,), index)

    data = pipeline.dataset(Tensors()).batch(2, collate=torch().stack)
    assert [batch.tolist() for batch in pipeline.torch.DataLoader(data)] == [[[0, 0], [1, 1]], [[2, 2]]]


def test_a_dataset_of_examples_for_torchs_dataloader():
    batches = list(of_torch(numbers().map(np.float32), batch_size=4))
    assert [batch.tolist() for batch in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    whole = list(of_torch(numbers().batch(4), batch_size=None))
    assert [batch.tolist() for batch in whole] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_processes_that_each_read_everything(caplog, monkeypatch):
    distributed = torch().distributed
    monkeypatch.setattr(distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(distributed, "get_world_size", lambda: 4)
    data = numbers().batch(2)
    looped(data, 2)
    looped(data.shard(0, 4), 2)
    (text,) = caplog.messages
    assert "each of the 4 processes reads the whole dataset: iterate over pipeline.torch.DataLoader(dataset)" in text
