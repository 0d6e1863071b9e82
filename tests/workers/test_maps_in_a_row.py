"""Two functions with workers in a row: the workers of each have several examples at a time."""

import threading

import pytest
from helpers import LIMIT

import pipeline


class Together:
    """A function that returns once two of its calls have run at the same time."""

    def __init__(self):
        self._lock, self._running = threading.Lock(), 0
        self.seen = threading.Event()

    def __call__(self, number):
        with self._lock:
            self._running += 1
            if self._running > 1:
                self.seen.set()
        assert self.seen.wait(LIMIT)
        with self._lock:
            self._running -= 1
        return number


@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "unordered"])
@pytest.mark.parametrize("indexed", [True, False], ids=["indexed", "stream"])
def test_the_workers_of_both_functions_run_at_the_same_time(ordered, indexed):
    first, second = Together(), Together()
    data = pipeline.dataset(range(40) if indexed else numbers)
    data = data.map(first, workers=pipeline.threads(2), ordered=ordered)
    data = data.map(second, workers=pipeline.threads(2), ordered=ordered)
    found = list(data)
    assert first.seen.is_set()
    assert second.seen.is_set()
    assert (found if ordered else sorted(found)) == list(range(40))


def numbers():
    yield from range(40)


def test_an_error_of_the_second_function_comes_in_order():
    def fails(number):
        if number == 17:
            raise ValueError("seventeen")
        return number

    found = []
    with (
        pytest.raises(ValueError, match="seventeen"),
        iter(
            pipeline.dataset(range(40)).map(int, workers=pipeline.threads(2)).map(fails, workers=pipeline.threads(3))
        ) as loop,
    ):
        found.extend(loop)
    assert found == list(range(17))
