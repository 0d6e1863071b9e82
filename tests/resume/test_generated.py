"""Loops of any size over any kind of source, saved and resumed anywhere, agree with the oracle."""

import json

import lockstep
import numpy as np
import resumable
from hypothesis import example, given
from hypothesis import strategies as st

import pipeline

# Sizes: empty, smaller than the pool, equal, one more, and larger.
SIZES = st.sampled_from([0, 1, 4, 9, 10, 11, 12, 40, 97])
POOLS = st.sampled_from([0, 1, 3, 10, 50])


class Numbers:
    """Yields the numbers below `count`, and can save its position: a user's own iterable."""

    def __init__(self, count):
        self._count, self._next = count, 0

    def __iter__(self):
        while self._next < self._count:
            self._next += 1
            yield self._next - 1

    def state_dict(self):
        return {"next": self._next}

    def load_state_dict(self, state):
        self._next = state["next"]


def produced(count, epochs):
    return pipeline.range_input_producer(count, epochs, True, resumable.FILES_SEED, collection=[])


def mapped(count, epochs):
    return pipeline.dataset(produced(count, epochs)).map(lambda number: number)


def blocks(count, epochs):
    return pipeline.dataset(produced(count, epochs)).batch(7)


ITEMS = ("array", "list", "own")  # they may be empty, and have no epochs
SOURCES = {
    "array": lambda count, epochs: np.arange(count),
    "list": lambda count, epochs: list(range(count)),
    "own": lambda count, epochs: Numbers(count),
    "producer": produced,
    "slices": lambda count, epochs: pipeline.slice_input_producer(
        [np.arange(count)], epochs, True, resumable.FILES_SEED, collection=[]
    ),
    "mapped": mapped,
    "blocks": blocks,
}


def arrivals(kind, count, epochs):
    if kind in ITEMS:
        return list(range(count))
    skip = max(0, -(-(count - 1) // 4))
    seeds = 87654321, resumable.FILES_SEED
    return [row for epoch in range(epochs) for row in resumable.permutation(*seeds, epoch * skip, count)]


cases = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(sorted(SOURCES)),
        "count": SIZES,
        "epochs": st.integers(1, 3),
        "pool": st.none() | POOLS,
        "batch": st.integers(1, 12),
        "smaller": st.booleans(),
        "keep": st.booleans(),
    }
).filter(lambda case: case["count"] or case["kind"] in ITEMS)


def is_kept(number):
    return np.all(np.asarray(number) % 3 != 0)


def make(kind, count, epochs, pool, batch, smaller, keep, threads, room):
    options = {"allow_smaller_final_batch": smaller, "enqueue_many": kind == "blocks", "deterministic": True}
    source = SOURCES[kind](count, epochs)
    if keep:
        dataset = pipeline.dataset(source)
        dataset = dataset.map(lambda row: row[0]) if kind == "slices" else dataset
        dataset = dataset.unbatch() if kind == "blocks" else dataset
        dataset = dataset.filter(is_kept, workers=threads or None)
        dataset = dataset if pool is None else dataset.shuffle(pool + 1, seed=resumable.SEED)
        return iter(dataset.batch(batch, drop_remainder=not smaller).prefetch(room % 7))
    if pool is None:
        return pipeline.batch(source, batch, threads, room, **options)
    return pipeline.shuffle_batch(source, batch, pool + room, pool, threads, resumable.SEED, **options)


def expected(kind, count, epochs, pool, batch, smaller, keep):
    """The batches."""
    numbers = [number for number in arrivals(kind, count, epochs) if not keep or number % 3]
    if pool is not None:
        numbers, _ = lockstep.play(*resumable.SEEDS, pool, numbers)
    batches = [numbers[first : first + batch] for first in range(0, len(numbers), batch)]
    return batches if smaller or not batches or len(batches[-1]) == batch else batches[:-1]


runs = st.fixed_dictionaries({"threads": st.integers(0, 8), "room": st.sampled_from([1, 3, 40])})
anything = {"case": cases, "first": runs, "second": runs, "third": runs, "stops": st.tuples(*[st.integers(0, 30)] * 2)}
LINE = {"kind": "mapped", "count": 40, "epochs": 2, "pool": 10, "batch": 4, "smaller": True, "keep": False}
QUICK, WIDE = {"threads": 0, "room": 1}, {"threads": 4, "room": 40}


@given(**anything)
@example(case=LINE, first=WIDE, second=QUICK, third=WIDE, stops=(3, 0))  # loaded, and saved at once
@example(case=LINE, first=WIDE, second=QUICK, third=WIDE, stops=(17, 2))  # among the last draws
@example(case={**LINE, "pool": 50, "count": 11}, first=WIDE, second=WIDE, third=QUICK, stops=(1, 1))  # never full
@example(case={**LINE, "pool": 0}, first=WIDE, second=WIDE, third=QUICK, stops=(1, 1))
@example(case={**LINE, "keep": True}, first=WIDE, second=WIDE, third=QUICK, stops=(2, 3))
@example(case={**LINE, "kind": "own", "count": 0, "pool": 1}, first=QUICK, second=QUICK, third=QUICK, stops=(0, 0))
@example(case={**LINE, "kind": "slices"}, first=WIDE, second=WIDE, third=QUICK, stops=(16, 2))
def test_resumed_twice(case, first, second, third, stops):
    whole = expected(**case)
    got, state = [], None
    for run, stop in [(first, stops[0]), (second, stops[1]), (third, len(whole))]:
        with make(**case, **run) as loop:
            if state is not None:
                loop.load_state_dict(state)
            while len(got) < min(stop, len(whole)):
                got.append(next(loop).tolist())
            if stop == len(whole):
                assert next(loop, None) is None
            state = json.loads(json.dumps(loop.state_dict()))
            check_end(loop, got)
    assert got == whole
    with make(**case, **first) as loop:
        loop.load_state_dict(state)
        assert next(loop, None) is None
        check_end(loop, got)


def check_end(loop, got):
    assert tuple(loop.delivered) == (len(got), sum(map(len, got)))
