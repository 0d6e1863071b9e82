"""The error at element k is raised once, after all elements before it, for every source and chain."""

import itertools
import struct

import chains
import pytest
from steps import STREAMED

import pipeline
from pipeline.files.tfrecord_writer import TFRecordWriter

COUNT = 30


class Bad(LookupError):
    """Raised by the sources."""


def numbers(k):
    for i in range(COUNT):
        if i == k:
            raise Bad(k)
        yield i


class Sequence:
    def __init__(self, k):
        self.k = k

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        if i == self.k:
            raise Bad(i)
        return i


class Iterable:
    def __init__(self, k):
        self.k = k

    def __iter__(self):
        return numbers(self.k)


class Stateful:
    def __init__(self, k):
        self.k, self.at = k, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == self.k:
            raise Bad(self.k)
        self.at += 1
        return self.at - 1

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


def queue(k):
    made = pipeline.FIFOQueue(100, ["int64"], [()])
    given = numbers(k)
    runner = pipeline.QueueRunner(made, [lambda: made.enqueue([next(given)])])
    pipeline.add_queue_runner(runner)
    return pipeline.dataset(made).map(int)


def lines(path, k):
    path.write_text("".join(f'{{"x": {i}}}\n' if i != k else "bad\n" for i in range(COUNT)))
    return pipeline.jsonl(path).map(get_x)


def table(path, k):
    path.write_text("x\n" + "".join(f"{i}\n" if i != k else "bad\n" for i in range(COUNT)))
    return pipeline.csv(path, ["x"]).map(get_x)


def get_x(example):
    return int(example["x"])


def length(record):
    return int(record)


def records(path, k):
    with TFRecordWriter(path) as writer:
        for i in range(COUNT):
            writer.write(str(i).encode())
    data = bytearray(path.read_bytes())
    at = 0
    for _ in range(k):
        (size,) = struct.unpack_from("<Q", data, at)
        at += 16 + size
    data[at + 12] ^= 1
    path.write_bytes(data)
    return pipeline.tfrecord(path).map(length)


SOURCES = {
    "iterable": lambda path, k: pipeline.dataset(Iterable(k)),
    "iterator": lambda path, k: pipeline.dataset(numbers(k)),
    "function": lambda path, k: pipeline.dataset(numbers(k).__next__),
    "sequence": lambda path, k: pipeline.dataset(Sequence(k)),
    "stateful": lambda path, k: pipeline.dataset(Stateful(k)),
    "queue": lambda path, k: queue(k),
    "jsonl": lines,
    "csv": table,
    "tfrecord": records,
}


def same(x):
    return x


def some(x):
    return [x] * (x % 3)


CHAINS = {name: (step.over, step.elements) for name, step in STREAMED.items() if step.plain} | {
    "as it is": (lambda d: d, list),
    "threads": (lambda d: d.map(same, workers=2), list),
    "processes": (lambda d: d.map(same, workers=pipeline.processes(1)), list),
    "flat_map, threads": (lambda d: d.flat_map(some, workers=2), lambda xs: [y for x in xs for y in some(x)]),
    "map, prefetch": (lambda d: d.map(same).prefetch(3), list),
    "concatenate, last": (lambda d: pipeline.dataset([-1]).concatenate(d), lambda xs: [-1, *xs]),
    "zip, last": (
        lambda d: pipeline.zip(pipeline.dataset(range(99)), d),
        lambda xs: [[*pair] for pair in enumerate(xs)],
    ),
    "unbatch": (lambda d: d.batch(1).unbatch().filter(positive), lambda xs: list(filter(positive, xs))),
}
ONCE = "iterator", "function", "queue", "stateful"


def positive(x):
    return x > 0


def before_element(k, plain):
    """Return the elements before the first that depends on the source's element k, and whether any does."""
    instead = range(10_000, 10_004)
    found = [plain([*range(k), x, *range(k + 1, COUNT)]) for x in instead]
    equal = itertools.takewhile(lambda each: all(one == each[0] for one in each), zip(*found, strict=False))
    return [first for first, *_ in equal], any(each != found[0] for each in found)


def without_files(state):
    return {key: value for key, value in state.items() if key not in ("files", "checksum")}


@pytest.mark.parametrize("k", [0, 7, 29])
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("source", SOURCES)
def test_errors_of_sources(source, chain, k, tmp_path):
    if chain == "repeat" and source in ONCE:
        pytest.skip("it has one pass")
    over, plain = CHAINS[chain]
    data = over(SOURCES[source](tmp_path / "file", k))
    expected, depends = before_element(k, plain)
    iterator = iter(data)
    found, states = [], []
    error = None
    try:
        for element in iterator:
            found.append(chains.plain(element))
            if source not in ("iterator", "function", "queue"):
                states.append(iterator.state_dict())
    except (Bad, ValueError, pipeline.DataLossError) as raised:
        error = raised
    if error is None:
        assert not depends  # it was never asked for
        assert found == expected
        return
    assert found == (expected if depends else expected[: len(found)])
    assert list(iterator) == []
    if states and source != "stateful":
        assert without_files(iterator.state_dict()) == without_files(states[-1])
        again = iter(data)
        again.load_state_dict(states[-1])
        with pytest.raises(type(error)):
            next(again)


def bad_at(k, x):
    if x == k:
        raise Bad(k)
    return x


class BadAt:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return bad_at(self.k, x)


FUNCTIONS = {
    "map": lambda d, f, w: d.map(f, workers=w),
    "filter": lambda d, f, w: d.map(plus_one).filter(BadAt(f.k + 1), workers=w).map(minus_one),
    "map and filter": lambda d, f, w: d.map(f, workers=w).filter(is_number),
    "flat_map": lambda d, f, w: d.flat_map(Listed(f), workers=w),
    "enumerate": lambda d, f, w: d.map(f, workers=w).enumerate().map(second),
    "map, prefetch": lambda d, f, w: d.map(f, workers=w).prefetch(2).take(COUNT),
    "two maps": lambda d, f, w: d.map(plus_one, workers=w).map(minus_one).map(f, workers=w),
}


def plus_one(x):
    return x + 1


def minus_one(x):
    return x - 1


def is_number(x):
    return x >= 0


def second(pair):
    return pair[1]


class Listed:
    def __init__(self, function):
        self.function = function

    def __call__(self, x):
        yield self.function(x)


@pytest.mark.parametrize("workers", ["alone", "threads", "processes"])
@pytest.mark.parametrize("kind", ["list", "generator"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("k", [0, 1, 29])
def test_errors_of_functions(name, kind, workers, k):
    source = pipeline.dataset(list(range(COUNT)) if kind == "list" else Iterable(None))
    data = FUNCTIONS[name](source, BadAt(k), chains.workers_of(workers))
    found = []
    with pytest.raises(Bad):
        found.extend(data)
    assert found == list(range(k))


BEFORE = pipeline.dataset(list(range(400)))
TOGETHER = {
    "mix": lambda d: pipeline.mix([BEFORE, d], [0.5, 0.5], seed=1),
    "zip": lambda d: pipeline.zip(BEFORE, d).map(second),
    "shard": lambda d: d.filter(is_number).shard(0, 3),
    "window": lambda d: d.filter(is_number).window(2, 7),
}


@pytest.mark.parametrize("name", TOGETHER)
@pytest.mark.parametrize("workers", [None, 1, 2])
@pytest.mark.parametrize("k", [0, 50, 130])
def test_workers_that_take_many_elements_at_once(name, workers, k):
    """Every element independent of the failing one comes before its error, and a state leads to the error again."""
    whole = list(map(chains.plain, itertools.islice(TOGETHER[name](BEFORE.map(negative_from(k))), 400)))
    data = TOGETHER[name](BEFORE.map(BadAt(k))).map(same, workers=workers)
    found, iterator = [], iter(data)
    state = iterator.state_dict()
    error = None
    try:
        for element in iterator:
            found.append(chains.plain(element))
            state = iterator.state_dict()
    except Bad as raised:
        error = raised
    assert error is not None
    if name in ("mix", "zip"):
        expected = list(itertools.takewhile(lambda x: x >= 0, whole))
    elif name == "shard":
        expected = list(range(0, k, 3))
    else:
        expected = [[i, i + 1] for i in range(0, k - 1, 7)]
    assert found == expected
    again = iter(data)
    again.load_state_dict(state)
    with pytest.raises(Bad):
        next(again)


def negative_from(k):
    return lambda x: x if x != k else -1


@pytest.mark.parametrize("kind", [StopIteration, pipeline.errors.OutOfRangeError])
@pytest.mark.parametrize(
    "chain",
    [
        lambda data, joined: data.batch(2, collate=joined),
        lambda data, joined: data.bucket([2], [2, 2], length=joined),
        lambda data, joined: data.map(joined),
        lambda data, joined: data.filter(joined),
        lambda data, joined: data.flat_map(joined),
    ],
    ids=["collate", "length", "map", "filter", "flat_map"],
)
def test_what_looks_like_the_end_names_the_function(chain, kind):
    def joined(given):
        raise kind() if kind is StopIteration else kind(None, None, "nothing left")

    with pytest.raises(RuntimeError, match=f"joined raised {kind.__name__}"):
        next(iter(chain(pipeline.dataset(range(4)), joined)))
