"""Memory: kept elements keep little else alive, and refilled buffers are copied first."""

import collections
import dataclasses
import gc

import numpy as np
import pytest
from steps import STREAMED
from tracing import ArrayBytes, kept_alive

import pipeline

ROWS, WIDTH = 20_000, 100
BIG = np.arange(ROWS * WIDTH, dtype=np.float64).reshape(ROWS, WIDTH)  # 16 MB
ROW = BIG[0].nbytes


@dataclasses.dataclass
class Record:
    x: object
    label: object = 0


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: object


Named = collections.namedtuple("Named", "x label")


class Dict(dict):
    pass


class Tuple(tuple):
    pass


class List(list):
    pass


def arrays_in(element):
    if isinstance(element, (np.ndarray, np.void)):
        return [element]
    if dataclasses.is_dataclass(element):
        element = vars(element)
    if isinstance(element, dict):
        element = list(element.values())
    return [array for each in element for array in arrays_in(each)] if isinstance(element, (list, tuple)) else []


def blocks():
    """The rows in blocks with 2,000 each."""
    for begin in range(0, ROWS, 2000):
        yield BIG[begin : begin + 2000].copy()


def first_columns(row):
    """A small view into a large array."""
    return np.tile(row, 100)[:WIDTH]


WRAPPED = {
    "arrays": lambda row: row,
    "tuples": lambda row: (row, row),
    "dicts": lambda row: {"x": row, "n": {"y": row}},
    "named tuples": lambda row: Named(row, row),
    "dataclasses": lambda row: Record(row, row),
}


CHAINS = {
    "arrays": lambda: pipeline.arrays(BIG),
    "arrays in dicts": lambda: pipeline.arrays({"x": BIG, "y": BIG}),
    "records": lambda: pipeline.arrays(np.zeros(ROWS, [("x", "f8", WIDTH)])),
    "shuffled": lambda: pipeline.arrays(BIG).shuffle(seed=1),
    "pool": lambda: pipeline.dataset(blocks).unbatch().shuffle(500, seed=1),
    "rows of blocks": lambda: pipeline.dataset(blocks).unbatch(),
    "sorted": lambda: pipeline.dataset(blocks).unbatch().sort(500, np.min),
    "views": lambda: pipeline.arrays(BIG).map(first_columns),
    "views of threads": lambda: pipeline.arrays(BIG).map(first_columns, workers=2),
    "rows of threads": lambda: pipeline.arrays(BIG).map(np.negative, workers=2),
    "rows of processes": lambda: pipeline.arrays(BIG).map(np.negative, workers=pipeline.processes(2)),
    "several of each": lambda: pipeline.arrays(BIG).flat_map(lambda row: np.tile(row, (2, 1))),
    "windows": lambda: pipeline.dataset(blocks).unbatch().window(1),
    "small batches": lambda: pipeline.dataset(blocks).unbatch().batch(1),
    "indexed batches": lambda: pipeline.arrays(BIG).batch(1),
    "interleaved": lambda: pipeline.interleave([pipeline.dataset(blocks).unbatch(), pipeline.arrays(BIG)]),
} | {
    f"rows of blocks in {name}": lambda wrap=wrap: pipeline.dataset(blocks).map(wrap).unbatch()
    for name, wrap in WRAPPED.items()
}


def check_kept(data, every, least):
    """Check that elements keep no more alive than they have; keep one of `every`."""
    kept = []
    with iter(data) as iterator:
        for i, element in enumerate(iterator):
            if i % every == 0:
                kept.append(element)
            if len(kept) == 60:
                break
    arrays = [array for element in kept for array in arrays_in(element)]
    assert len(arrays) >= least
    for array in arrays:
        assert kept_alive(array) <= 2 * array.nbytes


@pytest.mark.parametrize("chain", CHAINS)
def test_rows_that_are_kept_keep_no_blocks_alive(chain):
    check_kept(CHAINS[chain](), 200, 60)


@pytest.mark.parametrize("name", STREAMED)
def test_elements_of_each_step_keep_no_blocks_alive(name):
    check_kept(STREAMED[name].over_itself(pipeline.dataset(blocks).unbatch()), 19, 2)


def test_rows_from_threads_that_are_kept_take_little_memory():
    """As above, measured by allocated memory."""
    with ArrayBytes() as alive:
        with iter(pipeline.dataset(blocks).unbatch().map(np.negative, workers=2).prefetch(2)) as iterator:
            kept = [row for i, row in enumerate(iterator) if i % 200 == 0]
        gc.collect()
        assert len(kept) == 100
        assert alive() < 3 * 100 * ROW


CONTAINERS = {
    "array": (lambda buffer: buffer, lambda element: element),
    "list": (lambda buffer: [buffer], lambda element: element[0]),
    "tuple": (lambda buffer: (buffer, "x"), lambda element: element[0]),
    "dict": (lambda buffer: {"x": buffer}, lambda element: element["x"]),
    "dataclass": (Record, lambda element: element.x),
    "frozen dataclass": (Frozen, lambda element: element.x),
    "named tuple": (lambda buffer: Named(buffer, 1), lambda element: element.x),
    "OrderedDict": (lambda buffer: collections.OrderedDict(x=buffer), lambda element: element["x"]),
    "defaultdict": (lambda buffer: collections.defaultdict(int, x=buffer), lambda element: element["x"]),
    "derived dict": (lambda buffer: Dict(x=buffer), lambda element: element["x"]),
    "derived tuple": (lambda buffer: Tuple([buffer]), lambda element: element[0]),
    "derived list": (lambda buffer: List([buffer]), lambda element: element[0]),
    "ListValue": (lambda buffer: pipeline.ListValue([{"x": buffer}]), lambda element: element[0]["x"]),
    "nested": (lambda buffer: ({"y": [Record(Named(buffer, 0))]},), lambda element: element[0]["y"][0].x.x),
    "record": (lambda buffer: buffer.view([("x", "f8", 3)])[0], lambda element: element["x"]),
}


def refilled(wrap):
    buffer = np.zeros(3)
    for i in range(40):
        buffer[...] = i
        yield wrap(buffer)


@pytest.mark.parametrize("form", CONTAINERS)
@pytest.mark.parametrize("source", ["generator", "map", "workers", "flat_map", "items", "two maps"])
def test_arrays_that_are_filled_again_are_copied_in_every_container(form, source):
    wrap, pick = CONTAINERS[form]
    buffer = np.zeros(3)

    def fill(i):
        buffer[...] = i
        return wrap(buffer)

    class Items:
        def __len__(self):
            return 40

        def __getitem__(self, i):
            return fill(i)

    numbers = pipeline.dataset(range(40))
    data = {
        "generator": lambda: pipeline.dataset(lambda: (yield from refilled(wrap))),
        "map": lambda: numbers.map(fill),
        "workers": lambda: numbers.map(fill, workers=1),
        "flat_map": lambda: numbers.flat_map(lambda i: [fill(i)]),
        "items": lambda: pipeline.dataset(Items()),
        "two maps": lambda: numbers.map(lambda i: i).map(fill, on_error="skip"),
    }[source]()
    for found in (list(data), list(data.shuffle(1, seed=1)), next(iter(data.batch(40, collate=list)))):
        assert [type(each) for each in found] == [type(wrap(buffer))] * 40
        assert [np.asarray(pick(each)).tolist() for each in found] == [[i] * 3 for i in range(40)]


@pytest.mark.parametrize("form", [form for form in CONTAINERS if form != "record"])
@pytest.mark.parametrize("chain", ["indexed", "stream", "workers", "bucket"])
def test_an_array_that_a_collate_function_fills_again_is_copied(form, chain):
    wrap, pick = CONTAINERS[form]
    buffer = np.zeros(3)

    def fill(examples):
        buffer[...] = examples[0]
        return wrap(buffer)

    data = {
        "indexed": lambda: pipeline.dataset(range(40)),
        "stream": lambda: pipeline.dataset(range(40)).filter(lambda x: True),
        "workers": lambda: pipeline.dataset(range(40)).map(abs, workers=2),
        "bucket": lambda: pipeline.dataset(range(40)).shuffle(1, seed=1),
    }[chain]()
    for found in (list(data.batch(4, collate=fill)), list(data.batch(4, collate=fill).prefetch(4))):
        assert [pick(each).tolist() for each in found] == [[i] * 3 for i in range(0, 40, 4)]


def test_containers_that_are_filled_again_are_copied():
    record, named, listed = Record(0), Dict(), List()

    def fill(i):
        record.x, named["x"], listed[:] = i, i, [i]
        return record, named, listed

    found = list(pipeline.dataset(range(10)).map(fill))
    assert [(one.x, other["x"], third) for one, other, third in found] == [(i, i, [i]) for i in range(10)]


HOLDS = {
    "shuffle": lambda rows: rows.shuffle(1600, seed=1),
    "bucket": lambda rows: rows.bucket([10], [1, 10_000], length=lambda row: arrays_in(row)[0].size),
}


@pytest.mark.parametrize("wrap", ["arrays", "tuples", "dicts", "dataclasses"])
@pytest.mark.parametrize("holds", HOLDS)
def test_rows_of_several_shapes_that_are_held_cost_what_they_are(wrap, holds):
    """They come in blocks; every fiftieth row is held."""

    def varying():
        for i in range(160):
            yield np.zeros((500, 200 if i % 2 else 201))

    rows = pipeline.dataset(varying).map(WRAPPED[wrap]).unbatch().shard(0, 50)
    data = HOLDS[holds](rows.concatenate(pipeline.dataset([WRAPPED[wrap](np.zeros(1))])))
    held = 1600 * 201 * 8 * (1 if wrap == "arrays" else 2)
    with ArrayBytes() as alive, iter(data) as iterator:
        next(iterator)
        gc.collect()
        assert alive() < 2 * held + (16 << 20)  # the blocks for these rows have at least 128 MB
