"""Elements have the types your code returns, with no workers, with threads and with processes."""

import collections
import contextlib
import dataclasses
import datetime
import time
import types
from collections.abc import Mapping

import chains
import numpy as np
import pytest
from steps import STREAMED, same

import pipeline


@dataclasses.dataclass
class Point:
    x: object
    y: object = 0


Pair = collections.namedtuple("Pair", "x y")


class Table(dict):
    pass


VALUES = {
    "int": 5,
    "large int": 2**64 - 1,
    "very large int": 2**100,
    "negative int": -(2**63),
    "float": 2.5,
    "nan": float("inf"),
    "bool": True,
    "complex": 1 + 2j,
    "text": "a\0",
    "empty text": "",
    "bytes": b"a\0\0",
    "zeros": b"\0\0",
    "float32": np.float32(2.5),
    "int8": np.int8(-3),
    "uint64": np.uint64(2**64 - 1),
    "numpy bool": np.bool_(True),
    "numpy text": np.str_("ab"),
    "numpy bytes": np.bytes_(b"ab"),
    "date": np.datetime64("2026-01-01"),
    "time": np.timedelta64(3, "s"),
    "array": np.arange(6, dtype=np.int16).reshape(2, 3),
    "array of rank 0": np.array(7, np.uint8),
    "empty array": np.zeros((0, 3), np.float32),
    "array of text": np.array(["a", "bcd"]),
    "array of bytes": np.array([b"a\0b", b""]),
    "array of objects": np.array([1, "b", None], object),
    "other byte order": np.arange(3, dtype=">i4"),
    "tuple": (1, 2.5),
    "tuple of one": (1,),
    "empty tuple": (),
    "tuple of arrays": (np.zeros(2), np.int8([1])),
    "list": [1, 2, 3],
    "list of one": [1],
    "empty list": [],
    "list of large ints": [2**64 - 1, 1],
    "list of floats and ints": [1, 2.5],
    "list of several kinds": [1, "b"],
    "list of bytes": [b"a\0", b"bc"],
    "list of lists": [[1, 2], [3]],
    "list of tuples": [(1, "a"), (2, "b")],
    "list of arrays": [np.zeros(2), np.zeros(3)],
    "list of dicts": [{"a": 1}, {"b": 2}],
    "tuple of lists": ([1, 2], [2**64 - 1]),
    "tuple of tuples": ((1, 2), (b"a\0", [1, "b"])),
    "dict": {"b": 1, "a": 2.5},
    "empty dict": {},
    "nested dict": {"z": {"y": 1, "x": {"b": 2, "a": 3}}, "a": (1, {"d": 1, "c": 2})},
    "keys that are no texts": {2: 1, 1: 2, "a": 3},
    "dict of lists": {"tokens": [1, 2, 3], "names": ["a", "b"]},
    "dict of arrays": {"b": np.zeros(2), "a": np.ones((1, 2), np.uint8)},
    "named tuple": Pair(1, np.zeros(2)),
    "dataclass": Point(np.zeros(2), "a"),
    "OrderedDict": collections.OrderedDict(b=1, a=2),
    "derived dict": Table(b=1, a=np.zeros(2)),
    "list value": pipeline.ListValue([{"role": "user", "n": [1, "b"]}]),
    "object": datetime.date(2026, 1, 1),
    "a tuple of C": time.gmtime(0),
    "fraction of a nest": {"a": [Pair(1, [2]), Pair(3, [4])]},
}


def described(value):
    """Return a value as text: type, order, dtype, shape and bits, recursively."""
    if isinstance(value, np.ndarray):
        content = [described(each) for each in value.flat] if value.dtype.hasobject else value.tolist()
        return "array", value.dtype.str, value.shape, content
    kind = type(value).__name__
    if isinstance(value, dict):
        return kind, [(described(key), described(each)) for key, each in value.items()]
    if dataclasses.is_dataclass(value):
        return kind, [described(each) for each in vars(value).values()]
    if isinstance(value, (list, tuple)):
        return kind, [described(each) for each in value]
    if isinstance(value, Tensor):
        return kind, []
    return kind, value.dtype.str if isinstance(value, np.generic) else "", repr(value)


def value_of(name):
    return VALUES[name]


def value_and_number(name):
    return VALUES[name], name


def values_twice(name):
    yield VALUES[name]
    yield VALUES[name]


NAMES = list(VALUES)


@pytest.fixture(scope="module")
def workers():
    with contextlib.ExitStack() as stack:
        yield {"none": None, "threads": 2, "processes": stack.enter_context(pipeline.processes(2))}


@pytest.mark.parametrize("mode", ["none", "threads", "processes"])
@pytest.mark.parametrize("name", VALUES)
def test_of_one_value_again_and_again(name, mode, workers):
    """Chunks of similar values are sent and stored differently from mixed ones."""
    expected = [described(VALUES[name])] * 20
    data = pipeline.dataset([name] * 20)
    assert [described(each) for each in data.map(value_of, workers=workers[mode])] == expected
    pairs = data.map(value_and_number, workers=workers[mode])
    assert [described(each) for each, _ in pairs] == expected
    twice = data.take(10).flat_map(values_twice, workers=workers[mode])
    assert [described(each) for each in twice] == expected


@pytest.mark.parametrize("mode", ["none", "threads", "processes"])
@pytest.mark.parametrize("seed", range(4))
def test_of_values_that_are_mixed(mode, seed, workers):
    names = np.random.default_rng(seed).choice(NAMES, 200).tolist()
    expected = [described(VALUES[name]) for name in names]
    data = pipeline.dataset(names).map(value_of, workers=workers[mode])
    assert [described(each) for each in data] == expected
    assert [described(each) for each in data.shuffle(1, seed=1).prefetch(3)] == expected
    assert [described(each) for each in data.filter(lambda value: True)] == expected
    assert [described(each) for _, each in data.enumerate()] == expected
    (listed,) = data.batch(200, collate=list)
    assert [described(each) for each in listed] == expected


class Tensor:
    """Converts itself to an array, like other libraries' tensors."""

    def __array__(self, dtype=None, copy=None):
        return np.arange(3)


def tensors(form):
    return {"alone": Tensor(), "tuple": (Tensor(), 1), "list": [Tensor()], "dict": {"x": Tensor()}}[form]


@pytest.mark.parametrize("mode", ["none", "threads", "processes"])
def test_tensors_alone_and_in_dicts_become_arrays(mode, workers):
    """In tuples and lists they stay tensors, also in the items of any other dataset."""
    forms = ["alone", "tuple", "list", "dict"]
    alone, in_tuple, in_list, in_dict = pipeline.dataset(forms).map(tensors, workers=workers[mode])
    assert [type(each) for each in (alone, in_tuple[0], in_list[0], in_dict["x"])] == [
        np.ndarray,
        Tensor,
        Tensor,
        np.ndarray,
    ]
    (batch,) = pipeline.dataset(["tuple"] * 2).map(tensors, workers=workers[mode]).batch(2)
    assert batch[0].tolist() == [[0, 1, 2]] * 2

    class Items:
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return tensors(forms[i])

    assert [described(each) for each in pipeline.dataset(Items())] == [described(tensors(form)) for form in forms]


def test_of_sources():
    expected = [described(value) for value in VALUES.values()]
    assert [described(each) for each in pipeline.dataset(list(VALUES.values()))] == expected
    assert [described(each) for each in pipeline.dataset(iter(VALUES.values()))] == expected
    assert [described(each) for each in pipeline.zip(pipeline.dataset(list(VALUES.values())))] == [
        ("tuple", [each]) for each in expected
    ]


@pytest.mark.parametrize("mode", ["none", "threads", "processes"])
def test_batches_have_the_same_dtypes_whoever_makes_the_examples(mode, workers):
    names = ["int", "uint64", "float32", "bool", "text", "bytes", "date", "array", "list", "dict", "nested dict"]
    for name in names:
        (expected,) = pipeline.dataset([VALUES[name]] * 20).batch(20)
        (batch,) = pipeline.dataset([name] * 20).map(value_of, workers=workers[mode]).batch(20)
        assert described(batch) == described(expected)


def keys_of(element):
    return [(key, keys_of(value)) for key, value in element.items()] if isinstance(element, dict) else None


# Steps whose elements have the keys of their inputs, perhaps in a pair.
KEEPING = {name: step.over_itself for name, step in STREAMED.items() if name != "pack"} | {
    "elements": lambda data: data,
    "buffer": lambda data: data.batch(3).unbatch().shuffle(2, seed=1),
    "batches of batches": lambda data: data.batch(2).batch(2),
    "padded": lambda data: data.batch(2, pad=0),
}


@pytest.mark.parametrize("step", KEEPING)
@pytest.mark.parametrize("mode", ["none", "threads", "processes"])
def test_dicts_keep_the_order_of_their_keys(step, mode, workers):
    example = {"z": {"y": np.zeros(2), "x": np.zeros(1)}, "a": 1, "b": {"d": 1, "c": 2}}
    columns = {"z": {"y": np.zeros((4, 2)), "x": np.zeros((4, 1))}, "a": np.ones(4)}
    columns["b"] = {"d": np.ones(4), "c": np.ones(4)}
    for data in (
        pipeline.dataset([example] * 4),
        pipeline.dataset([example] * 4).map(same, workers=workers[mode]),
        pipeline.arrays(columns),
    ):
        for element in KEEPING[step](data):
            assert keys_of(element[-1] if isinstance(element, tuple) else element) == keys_of(example)


class Attributes(Mapping):
    """Its keys are its attributes, and any other key is a KeyError."""

    def __init__(self, **given):
        vars(self)["_given"] = given

    def __getattr__(self, name):
        return self._given[name]

    def __getitem__(self, key):
        return self._given[key]

    def __iter__(self):
        return iter(self._given)

    def __len__(self):
        return len(self._given)


def mapping_proxy(**given):
    return types.MappingProxyType(given)


def chain_map(**given):
    return collections.ChainMap(given)


@pytest.mark.parametrize("kind", [collections.UserDict, mapping_proxy, chain_map, Attributes])
@pytest.mark.parametrize(
    "inner", [lambda each: each, lambda each: {"k": each}, lambda each: (each, 1)], ids=["it", "dict", "tuple"]
)
def test_mappings_are_dicts(kind, inner):
    rows = [inner(kind(a=[i, i], b=np.zeros(2, int))) for i in range(3)]
    expected = [inner({"a": [i, i], "b": [0, 0]}) for i in range(3)]

    def generated():
        yield from rows

    calls = iter(rows)
    for data in (
        pipeline.dataset(rows),
        pipeline.dataset(generated),
        pipeline.dataset(iter(rows)),
        pipeline.dataset(lambda: next(calls)),
        pipeline.dataset(range(3)).map(lambda i: rows[i]),
        pipeline.dataset(rows).map(same, workers=2),
        pipeline.dataset(rows).map(same).map(same),
    ):
        found = list(data)
        assert type(found[0]) is type(expected[0])
        assert [chains.plain(each) for each in found] == [chains.plain(each) for each in expected]
    [batch] = pipeline.dataset(rows).batch(3)
    assert chains.plain(batch) == chains.plain(next(iter(pipeline.dataset(expected).batch(3))))


def test_pack_takes_the_fields_of_a_mapping():
    [row] = pipeline.dataset([collections.UserDict(ids=[1, 2]), collections.UserDict(ids=[3])]).pack(3)
    assert row["ids"].tolist() == [1, 2, 3]
