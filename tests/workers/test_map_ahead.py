"""map_ahead: what goes in and what comes out."""

import functools
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import ahead_functions as functions
import numpy as np
import pytest
from ahead_functions import two_pools
from helpers import plain, raises
from orchestration import fresh_collection, no_thread_left

from pipeline import (
    OutOfRangeError,
    batch,
    batch_join,
    bucket_by_sequence_length,
    map_ahead,
    shuffle_batch,
)


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


def taken(batches):
    with batches:
        return [plain(value) for value in batches]


def numbers(batches):
    return [value for part in taken(batches) for value in part]


@pytest.mark.parametrize("name", ["square", "row", "pair", "record", "words", "listed", "buffers"])
def test_batches_are_those_of_the_function_itself(executor, name):
    function = getattr(functions, name)
    with batch(map(function, range(50)), 7, allow_smaller_final_batch=True) as batches:
        expected = list(batches)
    with batch(map_ahead(function, range(50), executor, chunksize=6), 7, allow_smaller_final_batch=True) as batches:
        got = list(batches)
    assert plain(got) == plain(expected)
    assert repr(got[0]) == repr(expected[0])  # containers and dtypes too


def test_examples_of_varying_shape(executor):
    expected = taken(batch(map(functions.ragged, range(20)), 4, dynamic_pad=True))
    assert taken(batch(map_ahead(functions.ragged, range(20), executor), 4, dynamic_pad=True)) == expected


def test_what_varies_is_the_queue_s_to_judge(executor):
    with pytest.raises(TypeError, match=r"component 0: expected int64, got float 2.5"):
        list(batch(map_ahead(functions.same, [1, 2.5], executor), 1))
    with pytest.raises(ValueError, match=r"Expected \[1\], got \[1,2\]"):
        list(batch(map_ahead(functions.same, [0, np.arange(2)], executor), 1))
    with pytest.raises(ValueError, match="every example must have the keys of the first one"):
        list(batch(map_ahead(functions.same, [{"a": 1}, {"b": 1}], executor), 1))


def test_one_by_one(executor):
    ahead = map_ahead(functions.record, range(5), executor, chunksize=2)
    assert plain(list(ahead)) == plain([functions.record(i) for i in range(5)])
    pairs = list(map_ahead(functions.pair, range(3), executor))
    assert plain(pairs) == [[[[i, i]] * 2, i] for i in range(3)]
    assert {type(each) for each in pairs} == {tuple}
    assert list(map_ahead(functions.same, ["a", b"b", [1], {"c": 1}], executor)) == ["a", b"b", [1], {"c": 1}]


def test_in_blocks(executor):
    ahead = map_ahead(functions.pair, range(5), executor, chunksize=4)
    first, second = ahead.block(3)
    assert (first.shape, first.dtype, list(second)) == ((3, 2, 2), np.int16, [0, 1, 2])
    assert [list(ahead.block(9)[1]) for _ in range(2)] == [[3], [4]]
    with raises(OutOfRangeError, "map_ahead: the items are used up"):
        ahead.block(1)
    assert plain(map_ahead(functions.record, range(3), executor).block(9)["score"]) == [0, 0.5, 1]


def test_results_that_are_blocks(executor):
    with_blocks = batch(map_ahead(functions.row, range(4), executor), 6, enqueue_many=True)
    assert taken(with_blocks) == [[0, 0, 0, 1, 1, 1], [2, 2, 2, 3, 3, 3]]


def test_all_batch_functions(executor):
    def source():
        return map_ahead(functions.square, range(40), executor, chunksize=3)

    squares = [i * i for i in range(40)]
    assert sorted(numbers(shuffle_batch(source(), 4, 20, 10))) == squares
    assert sorted(numbers(batch_join([source(), source()], 4))) == sorted(squares * 2)
    assert taken(batch(source(), 20, keep_input=lambda i: i % 2 == 1)) == [squares[1::2]]
    with bucket_by_sequence_length(int, source(), 4, [500], allow_smaller_final_batch=True) as batches:
        assert sorted(value for _, rows in batches for value in rows.tolist()) == squares


def test_several_threads(executor):
    ahead = map_ahead(functions.square, range(500), executor, chunksize=3)
    assert sorted(numbers(batch(ahead, 10, num_threads=4))) == [i * i for i in range(500)]


def test_spawned_processes():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert taken(batch(map_ahead(functions.square, range(6), pool), 3)) == [[0, 1, 4], [9, 16, 25]]


def test_processes_do_the_work(pools):
    workers = numbers(batch(map_ahead(functions.process, range(4), pools["processes"]), 4))
    assert os.getpid() not in workers


def yields(i):
    yield i


async def async_items():
    yield 1


class AsyncCall:
    async def __call__(self, i):
        return i


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"function": 3}, TypeError, "function must be callable, not 3"),
        ({"function": yields}, TypeError, r"must return an example, and <function yields .*> yields"),
        ({"function": functools.partial(yields)}, TypeError, "must return an example, and .* yields"),
        ({"function": AsyncCall()}, TypeError, "must return an example, and .*AsyncCall.* is async"),
        ({"items": 3}, TypeError, "items must be iterable, not 3"),
        ({"items": async_items}, TypeError, "not <function async_items .*: an async function cannot run in a thread"),
        ({"items": async_items()}, TypeError, "items must be iterable, not <async_generator .*; make it a generator"),
        ({"executor": 3}, TypeError, "executor must be a concurrent.futures.Executor, not 3"),
        ({"chunksize": 0}, ValueError, "chunksize must be at least 1, got 0"),
        ({"buffersize": -1}, ValueError, "buffersize must be at least 1, got -1"),
        ({"chunksize": 2.0}, TypeError, "float"),
    ],
)
def test_bad_arguments(arguments, error, text):
    with pytest.raises(error, match=text):
        map_ahead(**{"function": print, "items": [], "executor": functions.ByHand(), **arguments})


def test_block_of_nothing():
    with pytest.raises(ValueError, match="at least 1 example, got n = 0"):
        map_ahead(print, [], functions.ByHand()).block(0)


def test_functions_that_processes_cannot_import(pools):
    with pytest.raises(TypeError, match=r"<lambda>.* cannot be sent to the processes .* top level of a module"):
        map_ahead(lambda i: i, [1], pools["processes"])
    assert list(map_ahead(lambda i: i, [1], pools["threads"])) == [1]
