"""map_ahead in a deterministic loop: where it stands, other orders of its items, example_rng in the workers."""

import contextlib
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from ahead_functions import drawn, square
from helpers import raises
from orchestration import drain
from turns import Book, turn

import pipeline
from pipeline import FailedPreconditionError, InvalidArgumentError, OutOfRangeError, map_ahead


@pytest.fixture
def executor():
    with ThreadPoolExecutor(2) as made:
        yield made


def fails_at_five(i):
    if i == 5:
        raise KeyError(i)
    return i


def draw_of(seeds, number):
    """What `drawn` draws for an item, by the words of Philox alone."""
    key = np.array([seeds[0] ^ 0x9E3779B97F4A7C15, seeds[1]], np.uint64)
    return int(np.random.Generator(np.random.Philox(key=key, counter=[0, number, 0, 0])).integers(1 << 30))


@pytest.mark.parametrize("chunksize", [1, 3, 100])
def test_every_position_can_be_gone_to_and_skipped_to(executor, chunksize):
    for place in range(11):
        there = map_ahead(square, range(10), executor, chunksize=4)
        skipped = map_ahead(square, range(10), executor, chunksize=chunksize)
        with turn(Book({"map_ahead": [place]})):
            assert drain(there) == [i * i for i in range(place, 10)]
        with turn():
            taken = [skipped() for _ in range(place // 2)]
            skipped._skip(place - len(taken), 0)
            assert skipped._position() == [place]
            assert drain(skipped) == [i * i for i in range(place, 10)]
        assert there._position() == skipped._position() == [10]
    there._go_to([3])
    assert there._position() == [3]
    with turn(there.owner):
        assert drain(there) == [i * i for i in range(3, 10)]


def test_position_counts_blocks_and_items_that_failed(executor):
    source, seen = map_ahead(fails_at_five, range(8), executor, chunksize=4), []
    with turn() as mine:
        for n in (3, 3, 1, 1, 2):
            seen.append(source._position()[0])
            try:
                seen.append(source.block(n)[0])
            except KeyError as error:
                seen.append(str(error))
        with pytest.raises(OutOfRangeError):
            source.block(1)
    assert seen == [0, [0, 1, 2], 3, [3], 4, [4], 5, "5", 6, [6, 7]]
    assert (source._position(), mine.how, mine.pulls) == ([8], (source, 1), 6)


def test_skipping_blocks_is_pulling_them(executor):
    for count in range(5):
        pulled, skipped = (map_ahead(fails_at_five, range(8), executor, chunksize=4) for _ in "ab")
        with turn():
            for _ in range(count):
                with contextlib.suppress(KeyError):
                    pulled.block(3)
        skipped._skip(count, 3)
        assert skipped._position() == pulled._position()
    with pytest.raises(OutOfRangeError):
        skipped._skip(9, 3)
    with pytest.raises(OutOfRangeError):
        map_ahead(square, range(3), executor)._skip(4)


def test_an_iterator_has_no_position_to_go_to(executor):
    for items in (iter(range(3)), (i for i in range(3)), {1: 2}):
        source = map_ahead(square, items, executor)
        assert source._no_state() == "the items of map_ahead are an iterator, not a sequence"
        with raises(FailedPreconditionError, "map_ahead cannot go to an item: the items of map_ahead are an iterator"):
            source._go_to([1])
        assert source._facts()["rows"] is None
    source = map_ahead(square, iter(range(3)), executor)
    source._skip(2)
    assert drain(source) == [4]


@pytest.mark.parametrize("number", [-1, 4])
def test_an_item_that_is_not_there_is_refused(executor, number):
    source = map_ahead(square, range(3), executor)
    with raises(InvalidArgumentError, "map_ahead has no item"):
        source._go_to([number])
    assert drain(source) == [0, 1, 4]


def test_facts(executor):
    assert map_ahead(square, range(3), executor)._facts() == {"name": "map_ahead", "kind": "map_ahead", "rows": 3}


def test_nobody_else_may_take(executor):
    source = map_ahead(square, range(9), executor)
    with turn():
        assert [source(), next(source)] == [0, 1]
    for call in (source, lambda: source.block(2), lambda: next(source)):
        with raises(FailedPreconditionError, "'map_ahead' belongs to a deterministic loop over batches"):
            call()
    assert source._position() == [2]


@pytest.mark.parametrize("chunksize", [1, 4])
def test_example_rng_is_that_of_the_item_in_threads(executor, chunksize):
    source = map_ahead(drawn, range(10), executor, chunksize=chunksize)
    with turn(Book({"map_ahead": [3]})):
        source._seeded(11, 12)
        assert drain(source) == [(i, draw_of((11, 12), i)) for i in range(3, 10)]
    with pytest.raises(FailedPreconditionError, match="example_rng"):
        pipeline.example_rng()


def test_what_was_begun_without_seeds_is_begun_again(executor):
    source = map_ahead(drawn, range(4), executor, chunksize=1)
    with pytest.raises(FailedPreconditionError, match="example_rng"):
        source()
    source._seeded(1, 2)
    assert drain(source) == [(i, draw_of((1, 2), i)) for i in range(1, 4)]


def test_example_rng_is_that_of_the_item_in_processes():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        source = map_ahead(drawn, range(6), pool, chunksize=2)
        source._seeded(11, 12)
        assert drain(source) == [(i, draw_of((11, 12), i)) for i in range(6)]


@pytest.mark.parametrize("chunksize", [1, 3, 100])
def test_over_other_numbers(executor, chunksize):
    source = map_ahead(drawn, [10 * i for i in range(10)], executor, chunksize=chunksize)
    source._seeded(5, 6)
    order = [7, 2, 2, 9, 0, 4]
    other = source._over(iter(order))
    assert drain(other) == [(10 * i, draw_of((5, 6), i)) for i in order]
    assert other._position() == [6]
    assert len(drain(source)) == 10


def test_over_names_the_item_that_failed(executor):
    source = map_ahead(fails_at_five, range(10), executor, chunksize=3)._over(iter([8, 5, 1]))
    assert source() == 8
    with pytest.raises(KeyError) as failed:
        source()
    assert failed.value.record_key == "item 5"
    assert source() == 1


def test_over_endless_numbers_goes_on_after_a_recall(executor):
    numbers = iter(lambda: 1, 2)
    source = map_ahead(square, range(3), executor, chunksize=2, buffersize=2)._over(numbers)
    assert [source() for _ in range(3)] == [1, 1, 1]
    source.recall()
    assert [source() for _ in range(500)] == [1] * 500
    assert len(source._picked) <= 2
    source.close()
