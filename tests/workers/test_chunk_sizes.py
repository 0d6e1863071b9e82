"""How many examples go to a worker at a time: as many as take 4 ms; up to 16 ms where there are many workers."""

from concurrent.futures import Executor, Future

import pytest

import pipeline


class Clockwork(Executor):
    """An executor whose workers take a millisecond for an example, as they say."""

    def __init__(self, workers):
        self._max_workers = workers
        self.sizes = []

    def submit(self, call, *args):
        results, _, cpu = call(*args)
        size = sum(len(numbers) for _, numbers, _ in results)
        self.sizes.append(size)
        future = Future()
        future.set_result((results, 0.001 * size, cpu))
        return future


@pytest.mark.parametrize(("workers", "size"), [(1, 4), (4, 4), (8, 8), (16, 16), (64, 16)])
def test_chunks_are_longer_for_many_workers(workers, size):
    executor = Clockwork(workers)
    with iter(pipeline.dataset(range(10**6)).map(float, workers=executor).batch(8)) as batches:
        for _ in range(400):
            next(batches)
    assert set(executor.sizes[-8:]) == {size}
