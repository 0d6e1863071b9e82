"""map in any workers returns the function's results unchanged."""

import functools
import os
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import ahead_functions as functions
import numpy as np
import pytest
from ahead_functions import two_pools
from helpers import plain
from orchestration import fresh_collection, no_thread_left

import pipeline


@pytest.fixture(scope="module")
def pools():
    with two_pools() as made:
        yield made


@pytest.fixture(params=["threads", "processes", "shared"])
def executor(request, pools):
    return pools[request.param]


@pytest.fixture(autouse=True)
def _fresh(pools):
    with fresh_collection(), no_thread_left():
        yield


def mapped(function, items, executor):
    return pipeline.dataset(items).map(function, workers=executor)


@pytest.mark.parametrize("name", ["square", "row", "pair", "record", "words"])
def test_batches_are_those_of_the_function_itself(executor, name):
    function = getattr(functions, name)
    expected = list(pipeline.dataset(range(50)).map(function).batch(7))
    got = list(mapped(function, range(50), executor).batch(7))
    assert plain(got) == plain(expected)
    assert repr(got[0]) == repr(expected[0])  # containers and dtypes too


@pytest.mark.parametrize("kind", [np.bytes_, np.str_])
def test_zeros_at_the_end_of_texts(executor, kind):
    """NumPy's own pickles drop these zeros, and its `repr` hides them."""
    texts = [kind(b"a\0\0" if kind is np.bytes_ else "a\0\0"), kind(b"" if kind is np.bytes_ else "")]
    for items in (texts, [np.array([each, None], object) for each in texts], [{"x": [each]} for each in texts]):
        found = list(mapped(functions.same, items, executor))
        if isinstance(items[0], dict):
            found = [each["x"] for each in found]
        assert [len(each if isinstance(each, kind) else each[0]) for each in found] == [3, 0]


BATCHED = {
    "batch": lambda data: data.batch(2),
    "padded": lambda data: data.batch(2, pad=0),
    "row splits": lambda data: data.batch(2, collate="row_splits"),
    "windows": lambda data: data.window(2, 1),
    "pool": lambda data: data.shuffle(3, seed=1).batch(2),
}


def outcome(data):
    try:
        return [repr(batch) for batch in data]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("way", BATCHED)
@pytest.mark.parametrize("name", functions.LISTS)
def test_lists_are_judged_by_the_batch_with_workers_too(executor, name, way):
    made = functools.partial(functions.one_of_lists, name)
    expected = outcome(BATCHED[way](pipeline.dataset(range(4)).map(made)))
    assert outcome(BATCHED[way](mapped(made, range(4), executor))) == expected


def test_lists_keep_their_arrays(executor):
    batches = mapped(functions.reused, range(4), executor).batch(4, collate=list)
    assert plain(list(batches)) == [[[[i, i]] for i in range(4)]]


def test_buffers_that_the_function_uses_again_are_copied(executor):
    (batch,) = mapped(functions.buffers, range(7), executor).batch(7)
    arrays, rows, lists, texts = batch
    assert arrays[:, 0, 0].tolist() == rows[:, 0].tolist() == lists[:, 0].tolist() == list(range(7))
    assert texts.tolist() == [b"%03d" % i for i in range(7)]


def test_examples_of_varying_shape(executor):
    expected = plain(list(pipeline.dataset(range(20)).map(functions.ragged).batch(4, pad=0)))
    assert plain(list(mapped(functions.ragged, range(20), executor).batch(4, pad=0))) == expected


def test_what_varies_is_for_batch_to_judge(executor):
    rows = mapped(functions.same, [np.zeros(1), np.zeros(2)], executor)
    assert [each.shape for each in rows] == [(1,), (2,)]
    with pytest.raises(ValueError, match=r"batch: .* has shape"):
        list(rows.batch(2))


def test_one_by_one(executor):
    assert plain(list(mapped(functions.record, range(5), executor))) == plain([functions.record(i) for i in range(5)])
    pairs = list(mapped(functions.pair, range(3), executor))
    assert plain(pairs) == [[[[i, i]] * 2, i] for i in range(3)]
    assert {type(each) for each in pairs} == {tuple}
    assert list(mapped(functions.same, ["a", b"b", [1], {"c": 1}], executor)) == ["a", b"b", [1], {"c": 1}]


def test_results_that_are_blocks(executor):
    batches = mapped(functions.row, range(4), executor).unbatch().batch(6)
    assert plain(list(batches)) == [[0, 0, 0, 1, 1, 1], [2, 2, 2, 3, 3, 3]]


def test_in_batch_functions(executor):
    squares = [i * i for i in range(40)]

    def source():
        return mapped(functions.square, range(40), executor)

    def numbers(batches):
        with batches:
            return sorted(value for part in batches for value in part.tolist())

    assert numbers(pipeline.shuffle_batch(source(), 4, 20, 10)) == squares
    assert numbers(pipeline.batch_join([source(), source()], 4)) == sorted(squares * 2)
    with pipeline.bucket_by_sequence_length(int, source(), 4, [500], allow_smaller_final_batch=True) as batches:
        assert sorted(value for _, rows in batches for value in rows.tolist()) == squares


def test_spawned_processes():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert plain(list(mapped(functions.square, range(6), pool).batch(3))) == [[0, 1, 4], [9, 16, 25]]


def test_processes_do_the_work(pools):
    assert os.getpid() not in list(mapped(functions.process, range(4), pools["processes"]))


@pytest.mark.parametrize("size", [1, 3])
def test_example_rng_is_that_of_the_example(executor, size):
    def drawn(workers):
        dataset = pipeline.dataset(range(20)).map(functions.drawn, seed=11, workers=workers)
        return [each for numbers, draws in dataset.batch(size) for each in zip(numbers, draws, strict=True)]

    assert drawn(executor) == drawn(None)
    with pytest.raises(pipeline.FailedPreconditionError, match="example_rng"):
        pipeline.example_rng()


def yields(i):
    yield i


class AsyncCall:
    async def __call__(self, i):
        return i


@pytest.mark.parametrize(
    ("function", "workers", "text"),
    [
        (3, 2, "must be callable, not 3"),
        (yields, 2, r"must return an example, but <function yields .*> uses yield"),
        (AsyncCall(), 2, "must return an example, but .*AsyncCall.* is async"),
        (print, "2", "workers must be .*'2'"),
    ],
)
def test_bad_arguments(function, workers, text):
    with pytest.raises(TypeError, match=text):
        pipeline.dataset([]).map(function, workers=workers)


def test_functions_that_processes_cannot_import(pools):
    lock = threading.Lock()

    def locked(i):
        with lock:
            return i

    with pytest.raises(TypeError, match=r"locked.* cannot be sent to other processes .*'lock' is a threading.Lock"):
        mapped(locked, [1], pools["shared"])
    assert list(mapped(locked, [1], pools["threads"])) == [1]


def test_large_rows(executor):
    """Batches with 11 MB; some rows are transposed."""
    for i, batch in enumerate(mapped(functions.large, range(64), executor).batch(16)):
        wanted = np.arange(16 * i, 16 * i + 16)
        assert batch["number"].tolist() == wanted.tolist()
        for name in ("row", "turned"):
            assert (batch[name] == wanted[:, None, None]).all()
    assert i == 3
