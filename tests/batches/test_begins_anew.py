"""Objects whose `__iter__` begins anew and returns the object itself: each example comes once, in order."""

import json
import threading

import numpy as np
import pytest

import pipeline


class Anew:
    """As loaders of other libraries are: `iter` begins an epoch, and what it returns is the loader."""

    def __init__(self, count=23, make=int):
        self.count, self.make = count, make
        self.at, self.begun = 0, 0

    def __iter__(self):
        self.at = 0
        self.begun += 1
        return self

    def __next__(self):
        if self.at == self.count:
            raise StopIteration
        self.at += 1
        return self.make(self.at - 1)


class Stateful(Anew):
    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class NextEpoch(Stateful):
    """`load_state_dict` is for the next `iter`, as that of torchdata is."""

    loaded = 0

    def load_state_dict(self, state):
        self.loaded = state["at"]

    def __iter__(self):
        super().__iter__()
        self.at, self.loaded = self.loaded, 0
        return self


def rows(loop):
    with loop:
        return np.concatenate([np.asarray(batch).ravel() for batch in loop]).tolist()


MAKERS = {
    "numbers": int,
    "arrays": lambda i: np.array([i]),
    "varying": lambda i: np.full(i % 3, i),
    "tuples": lambda i: (i, float(i)),
    "dicts": lambda i: {"a": i},
}


@pytest.mark.parametrize("options", [{}, {"deterministic": True}], ids=["free", "deterministic"])
@pytest.mark.parametrize("threads", [0, 1, 2])
@pytest.mark.parametrize("kind", MAKERS)
def test_each_example_comes_once(kind, threads, options):
    source = Anew(23, MAKERS[kind])
    if kind == "varying":
        options = {**options, "dynamic_pad": True}
    loop = pipeline.batch(source, 5, num_threads=threads, allow_smaller_final_batch=True, **options)
    seen = []
    with loop:
        for batch in loop:
            first = batch[0] if kind == "tuples" else batch["a"] if kind == "dicts" else batch
            seen += [int(row.max()) if row.size else -1 for row in np.asarray(first)]
    assert seen == ([max(i, -1) if i % 3 else 0 for i in range(23)] if kind == "varying" else list(range(23)))
    assert source.begun == 1


def blocks(source):
    return pipeline.batch(source, 5, enqueue_many=True)


@pytest.mark.parametrize("deterministic", [False, True])
def test_blocks(deterministic):
    source = Anew(10, lambda i: np.arange(2 * i, 2 * i + 2))
    loop = pipeline.batch(source, 4, enqueue_many=True, deterministic=deterministic)
    assert rows(loop) == list(range(20))


@pytest.mark.parametrize("deterministic", [False, True])
def test_a_shuffled_loop_and_a_join(deterministic):
    loop = pipeline.shuffle_batch(Anew(40), 5, 30, 10, deterministic=deterministic)
    assert sorted(rows(loop)) == list(range(40))
    loop = pipeline.batch_join([Anew(10), Anew(10, lambda i: i + 10)], 5, deterministic=deterministic)
    assert sorted(rows(loop)) == list(range(20))


def test_items_of_workers_and_of_a_function():
    with pipeline.map_ahead(lambda i: i * i, Anew(23), workers=pipeline.threads(2)) as squares:
        assert rows(pipeline.batch(squares, 1)) == [i * i for i in range(23)]
    loop = pipeline.batch(Anew(20), 5, function=lambda i: -i, deterministic=True)
    assert rows(loop) == [-i for i in range(20)]


def test_examples_that_are_left_out():
    loop = pipeline.batch(Anew(20), 5, keep_input=lambda i: i % 2 == 0)
    assert rows(loop) == list(range(0, 20, 2))


@pytest.mark.parametrize("kind", [Stateful, NextEpoch])
@pytest.mark.parametrize("after", [1, 2, 4])
def test_a_state_goes_on_where_it_was(kind, after):
    def make():
        return pipeline.shuffle_batch(kind(40), 5, 30, 10, seed=3, deterministic=True)

    with make() as loop:
        for _ in range(after):
            next(loop)
        state = json.loads(json.dumps(loop.state_dict()))
        rest = [batch.tolist() for batch in loop]
    again = make()
    again.load_state_dict(state)
    with again:
        assert [batch.tolist() for batch in again] == rest


@pytest.mark.parametrize("kind", [Stateful, NextEpoch])
@pytest.mark.parametrize("after", [0, 1, 4, 300, 500])
@pytest.mark.parametrize("options", [{}, {"num_threads": 0}, {"num_threads": 2}, {"on_error": "skip"}], ids=str)
def test_a_state_where_a_function_makes_the_examples(kind, after, options):
    source = kind(3000)

    def make(source):
        return pipeline.shuffle_batch(
            source, 5, 30, 10, seed=3, function=lambda i: 2 * i, deterministic=True, **options
        )

    with make(source) as loop:
        for _ in range(after):
            next(loop)
        state = json.loads(json.dumps(loop.state_dict()))
        rest = [batch.tolist() for batch in loop]
    again = make(kind(3000))
    again.load_state_dict(state)
    with again:
        assert [batch.tolist() for batch in again] == rest


def test_two_threads_take_from_one():
    source, seen, lock = Anew(500), [], threading.Lock()
    loop = pipeline.batch(source, 5)

    def take():
        for batch in loop:
            with lock:
                seen.extend(batch.tolist())

    threads = [threading.Thread(target=take) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(seen) == list(range(500))
