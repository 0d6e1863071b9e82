"""Chunk sizes: 16 ms of work, or one millisecond with many workers, and less for large examples or results."""

import statistics
import time
from concurrent.futures import Executor, Future

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pipeline
from pipeline import errors


class Clockwork(Executor):
    """An executor whose workers take a millisecond per example, or another reported time.

    A call's argument and result are private: a block, and its results with each function's time.
    """

    def __init__(self, workers, seconds=0.001):
        self._max_workers = workers
        self._seconds = seconds
        self.sizes = []

    def submit(self, call, draws, block):
        results, times = call(draws, block)
        self.sizes.append(len(block))
        future = Future()
        future.set_result((results, [(self._seconds * len(block), *rest) for _, *rest in times]))
        return future


BLOCK = 1024  # examples a source delivers at once


def sizes(executor, source, batches=400, size=8):
    """Return a loop's chunk sizes while time stands still, because a stalled machine would send out partial chunks."""
    with pytest.MonkeyPatch.context() as patched, iter(source.batch(size)) as loop:
        patched.setattr(time, "perf_counter", lambda: 0.0)
        for _ in range(batches):
            next(loop)
    return executor.sizes


def check_whole(found, size, block=BLOCK):
    """Check that a source's last blocks became the fewest possible chunks with this size."""
    fewest = -(-block // size)
    assert max(found) == size
    assert sum(found[-4 * fewest :]) == 4 * block


@pytest.mark.parametrize(("workers", "size"), [(1, 16), (16, 16), (48, 48), (200, 128)])
def test_chunks_are_longer_for_many_workers(workers, size):
    executor = Clockwork(workers)
    check_whole(sizes(executor, pipeline.dataset(range(10**6)).map(float, workers=executor), size=512), size)


@pytest.mark.parametrize(("seconds", "size"), [(1e-3, 16), (1e-4, 160), (1e-5, 1024), (1e-6, 1024)])
def test_chunks_of_short_functions_are_of_many_examples(seconds, size):
    executor = Clockwork(2, seconds)
    check_whole(sizes(executor, pipeline.dataset(range(10**6)).map(float, workers=executor), size=128), size)
    assert executor.sizes[0] == 1


@pytest.mark.parametrize("slow_first", [True, False], ids=["slow first", "slow last"])
def test_chunks_fit_the_slowest_of_several_functions(slow_first):
    """The chunks of the fast one must not grow: one worker of the slow one would get what is meant for all."""
    slow, fast = Clockwork(4, 1e-3), Clockwork(4, 1e-6)
    first, last = (slow, fast) if slow_first else (fast, slow)
    source = pipeline.dataset(range(10**6)).map(float, workers=first).map(float, workers=last)
    check_whole(sizes(slow, source, size=32), 16)
    assert max(fast.sizes) == 16


def test_chunks_grow_if_a_filter_drops_most_of_them():
    """A chunk is as many inputs as take the workers of the second function 16 ms."""
    fast, slow = Clockwork(4, 1e-6), Clockwork(4, 1e-3)
    source = pipeline.dataset(range(10**6)).filter(fiftieth, workers=fast).map(float, workers=slow)
    assert 12 <= max(sizes(slow, source)[-40:]) <= 20


def fiftieth(number):
    return number % 50 == 0


def test_chunks_of_functions_with_many_results_are_of_one_input():
    several, slow = Clockwork(4, 1e-6), Clockwork(4, 1e-3)
    source = pipeline.dataset(range(10**6)).flat_map(thirty, workers=several).map(float, workers=slow)
    assert set(sizes(several, source)) == {1}


def thirty(number):
    return [number] * 30


def large(number):
    return np.zeros(100_000, np.uint8)


def arrays():
    while True:
        yield np.zeros(100_000, np.uint8)


def length(row):
    return len(row)


def test_chunks_of_large_examples_are_shorter():
    """A chunk has at most 4 MiB: in results, and in inputs a function hardly looks at."""
    fitting = (4 << 20) // 100_064
    for source, function in ((pipeline.dataset(range(10**6)), large), (pipeline.dataset(arrays), length)):
        executor = Clockwork(2, 1e-6)
        found = sizes(executor, source.map(function, workers=executor), 60, 32)
        assert max(found) == statistics.mode(found[-20:]) == fitting


def very_large(number):
    return np.zeros(8 << 20, np.uint8)


def test_chunks_of_very_large_results_are_of_one():
    executor = Clockwork(3)
    assert sizes(executor, pipeline.dataset(range(10**6)).map(very_large, workers=executor), 30, 1) == [1] * len(
        executor.sizes
    )


def even(number):
    return number % 2 == 0


def test_chunks_behind_a_filter_are_whole():
    """A filter delivers half the requested number at once."""
    executor = Clockwork(2, 1e-4)
    source = pipeline.dataset(range(10**6)).filter(even).map(float, workers=executor)
    check_whole(sizes(executor, source, size=128), 160, BLOCK // 2)


SOURCES = {
    "list": lambda n: pipeline.dataset(list(range(n))),
    "array": lambda n: pipeline.arrays(np.arange(n)),
    "all shuffled": lambda n: pipeline.dataset(range(n)).shuffle(seed=1),
    "pool": lambda n: pipeline.dataset(range(n)).shuffle(50, seed=1),
    "filtered": lambda n: pipeline.dataset(range(2 * n)).filter(even, seed=1),
    "concatenated": lambda n: pipeline.dataset(range(n // 3)).concatenate(pipeline.dataset(range(n // 3, n))),
    "batches": lambda n: pipeline.dataset(range(n)).batch(3).unbatch(),
}


class Picky:
    """A function that rejects some numbers."""

    def __init__(self, refused):
        self.refused = refused

    def __call__(self, number):
        if number in self.refused:
            raise KeyError(int(number))
        return float(number), pipeline.example_rng().integers(1000)


def moments(loop):
    """Return the remaining batches, the chunk count after each, and the states."""
    found, states = [], []
    for batch in loop:
        found.append(([part.tolist() for part in batch], loop.delivered))
        states.append(loop.state_dict())
    return found, states


@settings(deadline=None, max_examples=25)
@given(
    source=st.sampled_from(sorted(SOURCES)),
    count=st.integers(1, 900),
    size=st.integers(1, 300),
    seconds=st.sampled_from([1e-2, 1e-4, 1e-5, 1e-6]),
    workers=st.integers(1, 9),
    refused=st.sets(st.integers(0, 1500), max_size=8),
    data=st.data(),
)
def test_any_chunks_continue_at_states_of_others(source, count, size, seconds, workers, refused, data):
    def made(*clockwork):
        executor = Clockwork(*clockwork) if clockwork else None
        mapped = SOURCES[source](count).map(Picky(refused), workers=executor, on_error="skip", seed=1)
        return iter(mapped.batch(size))

    with made() as alone, made(workers, seconds) as loop:
        expected, states = moments(alone)
        found, states_of_workers = moments(loop)
        assert found == expected
    if not expected:
        return
    last = data.draw(st.integers(0, len(expected) - 1))
    for state in (states[last], states_of_workers[last]):
        for clockwork in ((), (workers + 1, seconds / 10)):
            with made(*clockwork) as resumed:
                resumed.load_state_dict(state)
                found, later = moments(resumed)
                assert found == expected[last + 1 :]
            if later:  # a resumed run's state
                middle = len(later) // 2
                with made(workers, seconds) as again:
                    again.load_state_dict(later[middle])
                    assert moments(again)[0] == found[middle + 1 :]


@pytest.mark.parametrize("source", SOURCES)
def test_after_the_last_element_comes_nothing(source):
    """After a full last chunk, only workers have looked for more."""

    def made(executor):
        return iter(SOURCES[source](64).map(Picky(()), workers=executor, seed=1).batch(1))

    for executor in (None, Clockwork(1, 0.01), Clockwork(4, 0.01)):
        with made(executor) as loop:
            _, states = moments(loop)
        with made(None) as resumed:
            resumed.load_state_dict(states[-1])
            assert list(resumed) == []


@pytest.mark.parametrize("refused", [0, 63, 64, 700, 1999])
def test_an_error_comes_after_what_was_before_it(refused):
    executor = Clockwork(2, 1e-6)
    found = []
    with iter(pipeline.dataset(range(2000)).map(Picky({refused}), workers=executor, seed=1)) as loop:
        with pytest.raises(KeyError) as raised:
            found.extend(number for number, _ in loop)
    assert found == list(range(refused))
    assert f"example {refused}" in " ".join(getattr(raised.value, "__notes__", [f"example {refused}"]))
    assert max(executor.sizes, default=0) <= 1024


def test_a_stream_that_fails_gives_what_came_before():
    def failing():
        yield from range(1000)
        raise errors.DataLossError(None, None, "torn")

    executor, found = Clockwork(2, 1e-6), []
    with iter(pipeline.dataset(failing).map(float, workers=executor)) as loop:
        with pytest.raises(errors.DataLossError, match="torn"):
            found.extend(loop)
    assert found == list(range(1000))
