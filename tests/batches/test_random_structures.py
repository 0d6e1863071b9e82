"""Whichever way examples come, the batches are those of the list of these examples, whatever structure they have."""

import dataclasses
import gc
import random
from typing import Any, NamedTuple

import numpy as np
import pytest
from orchestration import fresh_collection, no_thread_left

import pipeline
from pipeline import batch, map_ahead, threads

COUNT, SIZE = 12, 4


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass(frozen=True)
class Sample:
    first: Any
    second: Any


LEAVES = {
    "bool": lambda i: i % 2 == 0,
    "int": lambda i: i,
    "float": lambda i: i + 0.5,
    "str": lambda i: f"é{i}",
    "bytes": lambda i: b"%d" % i,
    "bytearray": lambda i: bytearray(b"%d" % i),
    "list": lambda i: [i, i + 1],
    "floats": lambda i: [float(i), 2.0, 3.0],
    "strings": lambda i: [f"a{i}", "b"],
    "matrix": lambda i: [[i, 1], [2, i]],
    "array": lambda i: np.full((2, 3), i, np.int16),
    "scalar": lambda i: np.float32(i),
    "date": lambda i: np.datetime64("2020-01-01") + i,
}
# What some examples have in another way than the first, and a batch does not take or casts.
ODD = {
    "none": lambda i: None,
    "late none": lambda i: None if i > 5 else i,
    "int, float": lambda i: i if i < 5 else i + 0.5,
    "float, int": lambda i: i if i > 5 else i + 0.5,
    "int, bool": lambda i: i if i < 5 else True,
    "int, huge": lambda i: i if i < 5 else 2**63 + 1,
    "int, str": lambda i: i if i < 5 else "x",
    "str, int": lambda i: i if i > 5 else "x",
    "list, floats": lambda i: [i, 1] if i < 5 else [i, 0.5],
    "list, huge": lambda i: [i, -1] if i < 5 else [2**63, -1],
    "list, bools": lambda i: [i, 1] if i < 5 else [True, False],
    "floats, ints": lambda i: [i, 0.5] if i < 5 else [i, 1],
    "list, longer": lambda i: [i] if i < 5 else [i, i],
    "list, ragged": lambda i: [[i], [i]] if i < 5 else [[i], [i, i]],
    "strings, ints": lambda i: ["a", "b"] if i < 5 else ["a", 1],
    "tuple, longer": lambda i: (i, i) if i < 5 else (i, i, i),
    "dict, other key": lambda i: {"a": i} if i < 5 else {"b": i},
}


class Examples:
    """Makes example number i, of a structure that a seed decides."""

    def __init__(self, seed, odd=None):
        rng = random.Random(seed)
        self.form = self._form(rng, 3)
        while isinstance(self.form, str):
            self.form = self._form(rng, 3)
        if odd is not None:
            self.form = ("tuple", self.form, odd)

    def _form(self, rng, depth):
        if depth == 0 or rng.random() < 0.4:
            return rng.choice(list(LEAVES))
        kind = rng.choice(["dict", "tuple", "tuple", "list", "pair", "sample"])
        count = 2 if kind in ("pair", "sample") else rng.randint(1, 3)
        return (kind, *[self._form(rng, depth - 1) for _ in range(count)])

    def __call__(self, i):
        return self._made(self.form, i)

    def _made(self, form, i):
        if isinstance(form, str):
            return (LEAVES | ODD)[form](i)
        kind, *inner = form
        parts = [self._made(each, i) for each in inner]
        if kind == "dict":
            return dict(zip("cab", parts, strict=False))
        if kind == "list":
            parts.append(np.int32(i))  # a list of nothing but plain values is an array
        return {"tuple": tuple, "list": list}.get(kind, lambda parts: {"pair": Pair, "sample": Sample}[kind](*parts))(
            parts
        )


def ways(examples):
    """The same examples in all ways in which a batch function takes them."""
    items = range(COUNT)
    listed = [examples(i) for i in items]
    called = iter(listed)
    yield "callable", lambda: batch(lambda: next(called), SIZE)
    yield "generator", lambda: batch(iter(listed), SIZE)
    yield "deterministic", lambda: batch(listed, SIZE, deterministic=True)
    yield "inline", lambda: batch(listed, SIZE, num_threads=0)
    yield "function", lambda: batch(items, SIZE, function=examples)
    yield "inline function", lambda: batch(items, SIZE, function=examples, num_threads=0)
    yield "workers", lambda: batch(items, SIZE, function=examples, workers=threads(2))
    yield "deterministic workers", lambda: batch(items, SIZE, function=examples, workers=threads(2), deterministic=True)
    for chunksize in (1, 2, 3):
        yield (
            f"map_ahead {chunksize}",
            lambda n=chunksize: batch(map_ahead(examples, items, threads(1), chunksize=n), SIZE),
        )


def flat(got):
    """A batch as something that can be compared: structure, dtypes, values."""
    if isinstance(got, dict):
        return {key: flat(value) for key, value in got.items()}
    if isinstance(got, (list, tuple)):
        return type(got), [flat(value) for value in got]
    if isinstance(got, Sample):
        return Sample, flat(got.first), flat(got.second)
    assert isinstance(got, np.ndarray)
    return got.dtype, got.tolist()


def outcome(make):
    """The batches, or that there is an error in their place."""
    try:
        return [flat(got) for got in make()]
    except (TypeError, ValueError, OverflowError):
        return "refused"


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield
        gc.collect()  # a loop that could not begin may try again, and keeps its workers as long as its error is there


@pytest.mark.parametrize("seed", range(20))
def test_batches_are_those_of_the_list(seed):
    examples = Examples(seed)
    expected = [flat(got) for got in batch([examples(i) for i in range(COUNT)], SIZE)]
    assert len(expected) == COUNT // SIZE
    assert {name: outcome(make) for name, make in ways(examples)} == {name: expected for name, _ in ways(examples)}


@pytest.mark.parametrize("odd", ODD)
def test_what_a_list_does_not_take_no_way_does(odd):
    examples = Examples(len(odd), odd)
    expected = outcome(lambda: batch([examples(i) for i in range(COUNT)], SIZE))
    assert {name: outcome(make) for name, make in ways(examples)} == {name: expected for name, _ in ways(examples)}


def test_processes_give_those_of_the_list():
    with pipeline.processes(1) as workers:
        for seed in range(6):
            examples = Examples(seed)
            expected = outcome(lambda examples=examples: batch([examples(i) for i in range(COUNT)], SIZE))
            assert type(expected) is list
            for chunksize in (1, 3):
                ahead = map_ahead(examples, range(COUNT), workers, chunksize=chunksize)
                assert outcome(lambda ahead=ahead: batch(ahead, SIZE)) == expected
            assert outcome(lambda e=examples: batch(range(COUNT), SIZE, function=e, workers=workers)) == expected
