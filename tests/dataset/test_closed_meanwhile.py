"""An iterator closed by another thread raises a clear error and leaves no file open, wherever `close` was called."""

import asyncio
import contextlib
import threading

import pytest
from helpers import LIMIT, run_in_thread, wait_until

import pipeline


def test_a_loop_that_another_thread_closes_between_two_elements_says_so():
    numbers = iter(pipeline.dataset(range(5)))
    assert next(numbers) == 0
    run_in_thread(numbers.close).result()
    with pytest.raises(pipeline.CancelledError, match="the iterator was closed by another thread"):
        next(numbers)
    with pytest.raises(pipeline.FailedPreconditionError, match="this iterator is closed"):
        list(numbers)


def test_rows_in_one_step_say_so_too():
    batches = iter(pipeline.arrays([*range(100)]).batch(2))
    assert [next(batches).tolist() for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]
    run_in_thread(batches.close).result()
    with pytest.raises(pipeline.CancelledError, match="closed by another thread"):
        list(batches)


def test_whoever_closes_a_loop_knows():
    numbers = iter(pipeline.dataset(range(5)))
    for number in numbers:
        if number == 2:
            numbers.close()
    assert number == 2


def test_a_loop_that_was_over_is_not_told():
    numbers = iter(pipeline.dataset(range(2)))
    assert list(numbers) == [0, 1]
    run_in_thread(numbers.close).result()
    assert next(numbers, None) is None


def test_one_that_is_closed_while_it_is_opened_again_after_ctrl_c():
    """`next` must not continue in the new stream, where nothing would end its waits."""
    opened, closing = [], []

    def rows():
        opened.append(True)
        if len(opened) == 2:
            closing.append(run_in_thread(numbers.close))
            wait_until(lambda: "closed" in repr(numbers), "the loop to be closed")
        yield from range(5)

    def function(number):
        if number == 1 and len(opened) == 1:
            raise KeyboardInterrupt
        return number

    numbers = iter(pipeline.dataset(rows).map(function))
    assert next(numbers) == 0
    with pytest.raises(KeyboardInterrupt):
        next(numbers)
    with pytest.raises(pipeline.CancelledError, match="the iterator was closed"):
        next(numbers)
    closing[0].result()


def test_one_of_asyncio_says_so():
    async def run():
        numbers = iter(pipeline.dataset(range(5)))
        assert await anext(numbers) == 0
        await asyncio.get_running_loop().run_in_executor(None, numbers.close)
        with pytest.raises(pipeline.CancelledError, match="closed by another thread"):
            await anext(numbers)
        numbers = iter(pipeline.dataset(range(5)))
        async for number in numbers:
            assert number == 0
            numbers.close()

    asyncio.run(run())


def reads(rows, close):
    def numbers():
        for row in rows():
            yield close(row)

    return pipeline.dataset(numbers)


CHAINS = {
    "source": reads,
    "collate": lambda rows, close: pipeline.dataset(rows).batch(2, collate=close),
    "map": lambda rows, close: pipeline.dataset(rows).map(close),
    "filter": lambda rows, close: pipeline.dataset(rows).filter(close),
    "flat_map": lambda rows, close: pipeline.dataset(rows).flat_map(lambda x: [close(x)]),
    "workers": lambda rows, close: pipeline.dataset(rows).map(close, workers=2),
    "prefetch": lambda rows, close: pipeline.dataset(rows).map(close).prefetch(2),
    "source, prefetch": lambda rows, close: reads(rows, close).prefetch(2),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_a_function_of_the_dataset_may_close_it(chain):
    """Its thread does not wait for itself, and the source is closed when `next` returns."""
    opened, failed, iterators = [], [], []

    def rows():
        opened.append(True)
        try:
            yield from range(1, 1000)
        finally:
            opened.clear()

    def close(x):
        try:
            iterators[0].close()
        except RuntimeError as error:
            failed.append(error)
        return x

    iterators.append(iter(CHAINS[chain](rows, close)))
    iterators[0].grace = 1.0  # seconds for which a thread would wait for itself
    taken = []
    with contextlib.suppress(pipeline.CancelledError):
        taken.extend(iterators[0])
    assert (opened, failed, taken[1:]) == ([], [], [])
    assert next(iterators[0], None) is None


SLOW = {
    "map": lambda data, slow: data.map(slow).batch(10**6),
    "filter": lambda data, slow: data.filter(slow).batch(10**6),
    "workers": lambda data, slow: data.map(slow, workers=2).batch(10**6),
    "sort": lambda data, slow: data.map(slow).sort(10**6, str),
}


@pytest.mark.parametrize("chain", SLOW)
def test_nobody_waits_for_a_batch_of_a_slow_function(chain):
    """The thread ends after its current call."""
    called, go = threading.Event(), threading.Event()

    def slow(x):
        called.set()
        assert go.wait(LIMIT)
        return x

    numbers = iter(SLOW[chain](pipeline.dataset(range(10**9)), slow).prefetch(1))
    numbers.start()
    assert called.wait(LIMIT)
    closing = run_in_thread(numbers.close)
    wait_until(lambda: repr(numbers).startswith("<DatasetIterator of prefetch: closed"), "the iterator to be closed")
    go.set()
    closing.result()
