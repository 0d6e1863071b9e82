"""Cancelling an asyncio task neither loses nor reorders the elements it waits for."""

import asyncio
import threading

import pytest
from orchestration import threads_since

import pipeline


class Gate:
    """A function blocked at one number until it is opened, and failing at another."""

    def __init__(self, closed_at=None, fails_at=None):
        self.closed_at, self.fails_at = closed_at, fails_at
        self.reached, self.opened = threading.Event(), threading.Event()

    def __call__(self, number):
        if number == self.closed_at:
            self.reached.set()
            assert self.opened.wait(120)
        if number == self.fails_at:
            raise ZeroDivisionError(f"at {number}")
        return number


async def cancelled(batches, gate):
    """Cancel a task waiting for a batch, once its function is called."""
    task = asyncio.create_task(batches.__anext__())
    while not gate.reached.is_set():
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def rest(batches):
    return [batch.tolist() async for batch in batches]


EXPECTED = [[0, 1], [2, 3], [4, 5], [6, 7], [8]]


@pytest.mark.parametrize("late", [False, True])
def test_a_cancelled_task_loses_no_batch(late):
    """The batch may be finished before or after the next task asks for it."""
    gate = Gate(closed_at=3)
    dataset = pipeline.dataset(range(9)).map(gate).batch(2)

    async def run():
        with iter(dataset) as batches:
            got = [(await batches.__anext__()).tolist()]
            state = batches.state_dict()
            await cancelled(batches, gate)
            assert batches.state_dict() == state
            if late:
                task = asyncio.create_task(rest(batches))
                await asyncio.sleep(0)
                gate.opened.set()
                return got + await task, state
            gate.opened.set()
            batches.start()  # when the thread has finished
            assert batches.state_dict() == state
            assert batches.delivered == (1, 2)
            return got + await rest(batches), state

    got, state = asyncio.run(run())
    assert got == EXPECTED
    with iter(dataset) as batches:
        batches.load_state_dict(state)
        assert [batch.tolist() for batch in batches] == EXPECTED[1:]


def test_whoever_asks_before_the_cancelled_task_has_noticed_comes_first():
    gate = Gate(closed_at=3)

    async def run():
        with iter(pipeline.dataset(range(9)).map(gate).batch(2)) as batches:
            got = [(await batches.__anext__()).tolist()]
            task = asyncio.create_task(batches.__anext__())
            while not gate.reached.is_set():
                await asyncio.sleep(0)
            task.cancel()
            gate.opened.set()
            got += await rest(batches)
            assert task.cancelled()
            return got

    assert asyncio.run(run()) == EXPECTED


def test_tasks_that_are_cancelled_again_and_again_need_one_thread():
    gate = Gate(closed_at=0)

    async def run():
        with iter(pipeline.dataset(range(9)).map(gate).batch(2)) as batches:
            begun = threads_since()
            await cancelled(batches, gate)
            for _ in range(50):
                task = asyncio.create_task(batches.__anext__())
                await asyncio.sleep(0)  # until it waits
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            count = len(begun())
            gate.opened.set()
            return count, await rest(batches)

    assert asyncio.run(run()) == (1, EXPECTED)


def test_a_plain_loop_gets_the_batch_of_a_cancelled_task():
    gate = Gate(closed_at=0)

    async def run():
        with iter(pipeline.dataset(range(9)).map(gate).batch(2)) as batches:
            await cancelled(batches, gate)
            gate.opened.set()
            return [batch.tolist() for batch in batches]

    assert asyncio.run(run()) == EXPECTED


def test_an_error_after_a_cancel_is_raised_to_whoever_asks_next():
    gate = Gate(closed_at=2, fails_at=3)

    async def run():
        got = []
        with iter(pipeline.dataset(range(9)).map(gate).batch(2)) as batches:
            got.append((await batches.__anext__()).tolist())
            await cancelled(batches, gate)
            gate.opened.set()
            with pytest.raises(ZeroDivisionError, match="at 3"):
                await batches.__anext__()
            return got + await rest(batches)

    assert asyncio.run(run()) == EXPECTED[:1]


def test_tasks_share_the_batches():
    async def run():
        batches = iter(pipeline.dataset(range(90)).batch(2))
        parts = await asyncio.gather(*(rest(batches) for _ in range(4)))
        assert batches.delivered == (45, 90)
        return parts

    parts = asyncio.run(run())
    assert sorted(number for part in parts for batch in part for number in batch) == list(range(90))


def test_datasets_and_iterators_take_async_for():
    dataset = pipeline.dataset(range(9)).batch(2)
    assert asyncio.run(rest(dataset)) == asyncio.run(rest(iter(dataset))) == EXPECTED


def test_elements_of_a_queue_of_several_components_are_tuples():
    queue = pipeline.FIFOQueue(4, ["int64", object], [(), ()])
    things = [object(), object()]
    for number, thing in enumerate(things):
        queue.enqueue((number, thing))
    queue.close()
    [(numbers, objects)] = pipeline.dataset(queue).batch(4)
    assert numbers.tolist() == [0, 1]
    assert objects.tolist() == things
