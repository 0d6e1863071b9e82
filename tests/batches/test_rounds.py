"""Sources that can be read again, what is dropped at the end, and what is no source or example."""

import collections
import functools
import logging
import threading
import types
import typing

import numpy as np
import pytest
from helpers import run_in_thread
from orchestration import fresh_collection, no_thread_left, source

from pipeline import (
    Batches,
    Coordinator,
    batch,
    batch_join,
    bucket_by_sequence_length,
    shuffle_batch,
    slice_input_producer,
)


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


@pytest.fixture
def said(caplog):
    """What the log says, as a list of lines."""
    caplog.set_level(logging.INFO, "pipeline")
    return lambda: [record.getMessage() for record in caplog.records]


def values(batches):
    return [value.tolist() for value in batches]


def flat(batches):
    return [value for part in values(batches) for value in part]


shuffled = functools.partial(shuffle_batch, min_after_dequeue=3, seed=1)


class Dataset:
    """As those of PyTorch: a length and items, and nothing that says that there are no more."""

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return i * 10


class Again:
    def __iter__(self):
        return iter(range(4))


def four():
    yield from range(4)


@pytest.mark.parametrize("given", [np.arange(4), list(range(4)), (0, 1, 2, 3), range(4), Again(), four])
@pytest.mark.parametrize("threads", [0, 1, 2])
def test_each_for_reads_it_from_the_start(given, threads, said):
    with batch(given, 2, threads) as loop:
        assert [sorted(flat(loop)) for _ in range(3)] == [[0, 1, 2, 3]] * 3
    assert said() == []
    assert values(loop) == []
    assert [text.partition(",")[0] for text in said()] == ["batch: this loop is closed"]


def test_a_length_and_items_are_a_sequence():
    with batch(Dataset(), 2) as loop:
        assert [values(loop) for _ in range(2)] == [[[0, 10], [20, 30]]] * 2


def test_rows_of_an_array_are_its_first_dimension():
    loop = batch(np.arange(6).reshape(3, 2), 3)
    assert [values(loop) for _ in range(2)] == [[[[0, 1], [2, 3], [4, 5]]]] * 2


def test_iter_in_the_middle_goes_on():
    with batch(range(6), 2) as loop:
        assert next(loop).tolist() == [0, 1]
        assert iter(loop) is loop
        assert values(loop) == [[2, 3], [4, 5]]
        assert next(loop, None) is None
        assert next(loop, None) is None  # only `iter` begins again
        assert values(loop) == [[0, 1], [2, 3], [4, 5]]


def test_leaving_a_loop_ends_it_for_good():
    loop = batch(range(4), 2)
    assert len(values(loop)) == 2
    loop.close()
    assert values(loop) == []


def test_a_coordinator_of_the_user_stays():
    coord = Coordinator()
    loop = batch(range(4), 2, coord=coord)
    assert [values(loop), values(loop)] == [[[0, 1], [2, 3]]] * 2
    assert loop.coord is coord
    coord.request_stop()
    assert values(loop) == []
    coord.join()


def test_an_error_is_the_end_for_good():
    def failing():
        yield from range(2)
        raise ValueError("item 2")

    loop = batch(failing, 2)
    with pytest.raises(ValueError, match="item 2"):
        values(loop)
    assert values(loop) == []


def test_rounds_of_a_join():
    loop = batch_join([range(2), [2, 3]], 4)
    assert [sorted(*values(loop)) for _ in range(2)] == [[0, 1, 2, 3]] * 2


def test_a_seed_gives_each_round_its_own_order():
    def rounds():
        with shuffle_batch(range(100), 100, 200, 100, seed=7) as loop:
            return [flat(loop) for _ in range(3)]

    first, second, third = rounds()
    assert sorted(first) == sorted(second) == sorted(third) == list(range(100))
    assert first != second != third != first
    assert rounds() == [first, second, third]


def test_rounds_of_buckets():
    words = [np.zeros(n, np.int32) for n in (1, 5, 2, 6, 3)]
    with bucket_by_sequence_length(len, words, 2, [4]) as loop:
        assert [sorted(lengths.tolist() for lengths, _ in loop) for _ in range(2)] == [[[1, 2], [5, 6]]] * 2
    assert loop.num_dropped == 2


def test_skipped_errors_add_up():
    loop = batch([0, 1, "x", 2, 3], 2, on_error="skip")
    assert [values(loop), values(loop)] == [[[0, 1], [2, 3]]] * 2
    assert loop.num_errors == 2


def test_threads_that_share_a_loop_read_the_source_once():
    loop = batch(range(1000), 10)
    late = threading.Event()

    def consumer():
        late.wait()
        return values(loop)

    calls = [run_in_thread(consumer) for _ in range(3)]
    assert len(values(loop)) == 100
    late.set()
    assert [call.result() for call in calls] == [[], [], []]


def test_a_source_that_cannot_be_read_again_is_said_once(said):
    loop = batch(iter(range(4)), 2)
    assert len(values(loop)) == 2
    assert values(loop) == values(loop) == []
    [line] = said()
    assert line.startswith("batch: this loop is at its end, and its source cannot be read again")


def test_a_generator_function_that_gives_nothing_again(said):
    rows = iter(range(4))

    def once():
        yield from rows

    loop = batch(once, 2)
    assert [values(loop), values(loop)] == [[[0, 1], [2, 3]], []]
    assert said() == ["batch: the sources gave no example when they were read again"]


class TestStatesOfTheEnd:
    """A state of the end of an epoch gives no batch to the first `for`, and the next epoch to the second."""

    def saved(self, make, rounds):
        with make() as loop:
            for _ in range(rounds):
                list(loop)
            return loop.state_dict()

    @pytest.mark.parametrize("rounds", [1, 2])
    @pytest.mark.parametrize("make", [batch, shuffled])
    def test_are_said(self, said, make, rounds):
        def loop_of(source=range(6)):
            return make(source, 2, deterministic=True)

        with loop_of() as whole:
            expected = [values(whole) for _ in range(3)]
        state = self.saved(loop_of, rounds)
        assert said() == []
        with loop_of() as loop:
            loop.load_state_dict(state)
            assert values(loop) == []
            [line] = said()
            assert ": the state is from the end of an epoch: this `for` has no batches" in line
            assert values(loop) == expected[rounds]
        assert said() == [line]

    def test_of_a_program_that_counts_the_epoch_of_the_state(self):
        def run(dies_after=None, saved=None):
            steps, loop = [], batch(range(6), 2, deterministic=True)
            if saved:
                loop.load_state_dict(saved["input"])
            with loop:
                for epoch in range(saved["epoch"] if saved else 0, 3):
                    steps += values(loop)
                    saved = {"epoch": epoch, "input": loop.state_dict()}
                    if epoch == dies_after:
                        break
            return steps, saved

        first, saved = run(dies_after=0)
        assert first + run(saved=saved)[0] == run()[0]

    def test_nothing_is_said_in_the_middle_nor_where_there_is_no_next_epoch(self, said):
        with batch(range(6), 2, deterministic=True) as loop:
            next(loop)
            state = loop.state_dict()
        with batch(range(6), 2, deterministic=True) as loop:
            loop.load_state_dict(state)
            assert len(list(loop)) == 2
        numbers = functools.partial(slice_input_producer, [np.arange(6)], num_epochs=1, shuffle=False)
        state = self.saved(lambda: batch(numbers(), 2, deterministic=True), 1)
        with batch(numbers(), 2, deterministic=True) as loop:
            loop.load_state_dict(state)
            assert values(loop) == []
        assert said() == []


class TestDropped:
    def test_is_said_once_and_counted(self, said):
        with batch(np.arange(105), 10, name="rows") as loop:
            assert [len(values(loop)) for _ in range(2)] == [10, 10]
        [line] = said()
        assert line.startswith("rows: the last 5 of 105 examples fill no batch and are dropped")
        assert "allow_smaller_final_batch=True" in line
        assert loop.num_dropped == 10
        assert loop.queue.stats().size == 5

    def test_of_a_callable(self, said):
        loop = shuffle_batch(source(range(5)), 2, 10, 1)
        assert len(values(loop)) == 2
        assert loop.num_dropped == 1
        assert len(said()) == 1

    @pytest.mark.parametrize("host", [0, 1])
    @pytest.mark.parametrize("make", [np.arange, source])
    def test_by_all_hosts(self, said, make, host):
        loop = batch(make(105) if make is np.arange else make(range(105)), 5, shard=(host, 2))
        assert len(values(loop)) == 10
        assert said()[-1].startswith("batch: the last 5 of 105 examples fill no batch and are dropped")
        assert loop.num_dropped == 5

    def test_after_a_resume(self, said):
        def buckets():
            return bucket_by_sequence_length(len, [b"x"] * 105, 10, [5], deterministic=True)

        for make in (lambda: batch(range(105), 10, deterministic=True), buckets):
            with make() as loop:
                for _ in range(4):
                    next(loop)
                state = loop.state_dict()
            loop = make()
            loop.load_state_dict(state)
            assert len(list(loop)) == 6
            assert "the last 5 of 105 examples" in said()[-1]

    def test_nothing(self, said):
        assert len(values(batch(range(4), 2))) == 2
        assert len(values(batch(range(5), 2, allow_smaller_final_batch=True))) == 3
        assert said() == []

    def test_not_by_a_loop_that_is_left(self, said):
        loop = batch(range(100), 3)
        next(loop)
        loop.close()
        assert next(loop, None) is None
        assert loop.num_dropped == 0
        assert said() == []


async def coroutine():
    return 1


async def async_rows():
    yield 1


class AsyncRows:
    async def __call__(self):
        return 1


def table_of(module):
    return pytest.importorskip(module).table({"x": [1, 2, 3], "y": [4, 5, 6]})


class TestNoSources:
    @pytest.mark.parametrize(
        ("given", "text"),
        [
            (coroutine, "async function"),
            (async_rows, "an async function cannot run in a thread of a queue"),
            (async_rows(), "an async iterator gives nothing to a thread of a queue; make it a generator"),
            (AsyncRows(), "an async function cannot run in a thread of a queue"),
            (types.MappingProxyType({"x": np.zeros(3)}), "not a mappingproxy: for the rows of arrays use pipeline"),
            (collections.ChainMap({"x": 1}), "not a ChainMap"),
            (np.array(3), r"not an array of shape \(\)"),
        ],
    )
    def test_are_refused(self, given, text):
        with pytest.raises(TypeError, match=text):
            batch(given, 2)

    def test_a_table_is_not_its_columns(self):
        table = table_of("pyarrow")
        with pytest.raises(TypeError, match="not a Table, whose items are columns: for its rows use pipeline"):
            batch(table, 2)
        with pytest.raises(TypeError, match="the first example is a RecordBatch: return its columns as a dict"):
            next(batch(table.to_batches(), 2))

    def test_a_column_gives_its_values(self):
        table = table_of("pyarrow")
        loop = batch(table["x"], 3)
        assert [values(loop), values(loop)] == [[[1, 2, 3]]] * 2
        assert loop.queue.dtypes == [np.int64]


class TestNoExamples:
    @pytest.mark.parametrize(
        ("example", "text"),
        [
            (lambda: four(), "the first example is a generator, which is itself a source: call the function"),
            (lambda: (1, map(str, "a")), "component 1 of the first example is a map"),
            (lambda: {"a": 1, "b": {"c": iter("a")}}, r"component 'b/c' of the first example is a str_\w*iterator"),
            (
                lambda: [1, types.MappingProxyType({})],
                r"component 1 of the first example is a mappingproxy; make",
            ),
            (lambda: types.MappingProxyType({}), r"the first example is a mappingproxy; return dict\(example\)"),
        ],
    )
    def test_are_refused(self, example, text):
        with pytest.raises(TypeError, match=text):
            next(batch(example, 2))

    @pytest.mark.parametrize("threads", [0, 1, 2])
    def test_are_refused_of_a_function_too(self, threads):
        with pytest.raises(TypeError, match="the first example is a generator"):
            next(batch(range(4), 2, function=lambda i: four(), num_threads=threads))
        with pytest.raises(TypeError, match="component 'a' of the first example is a map"):
            next(batch(range(4), 2, function=lambda i: {"a": map(str, "a")}, num_threads=threads))

    @pytest.mark.parametrize("threads", [0, 1])
    def test_a_function_that_makes_none_is_refused_at_the_call(self, threads):
        with pytest.raises(TypeError, match=r"^function must be callable, not 5"):
            batch(range(4), 2, function=5, num_threads=threads)
        with pytest.raises(TypeError, match=r"^function must return an example, and .*coroutine.* is async"):
            batch(range(4), 2, function=coroutine, num_threads=threads)
        with pytest.raises(TypeError, match=r"^function must return an example, and .*four.* yields"):
            batch(range(4), 2, function=four, num_threads=threads)

    @pytest.mark.parametrize(
        "given", [async_rows, lambda: {"a": async_rows()}, [async_rows(), 1]], ids=["", "a", "list"]
    )
    def test_an_async_generator_is_no_example(self, given):
        source = given if isinstance(given, list) else (lambda: given())
        with pytest.raises(TypeError, match=r"example is an async_generator: nobody iterates over it here; return its"):
            next(batch(source, 2))

    def test_a_coroutine(self):
        made = []

        def example():
            made.append(coroutine())
            return made[0]

        with pytest.raises(TypeError, match="the first example is a coroutine: nobody awaits it here"):
            next(batch(example, 2))
        made[0].close()


def test_the_type_of_a_batch_is_an_argument_of_the_class():
    assert typing.get_args(Batches[int]) == (int,)
    assert typing.get_type_hints(batch)["return"] == Batches[typing.Any]
    assert isinstance(batch(range(4), 2), Batches)


def test_a_loop_says_what_it_is():
    loop = batch(range(4), 2, name="rows")
    states = [repr(loop)]
    next(loop)
    states.append(repr(loop))
    assert len(values(loop)) == 1
    states.append(repr(loop))
    loop.close()
    assert [*states, repr(loop)] == [
        f"<Batches 'rows': {state}>" for state in ("not started", "running", "ended", "closed")
    ]
