"""`start` begins to read before the first `next`; a final prefetch begins to work."""

import threading

import pytest
from orchestration import no_thread_left

import pipeline


@pytest.mark.parametrize("kind", ["dataset", "batch function"])
def test_a_prefetch_begins_to_work(kind):
    called = threading.Event()

    def numbers():
        called.set()
        yield from range(6)

    with no_thread_left():
        dataset = pipeline.dataset(numbers)
        batches = iter(dataset.batch(2).prefetch(2)) if kind == "dataset" else pipeline.batch(dataset, 2)
        with batches:
            batches.start()
            assert called.wait(60)
            batches.start()
            assert [batch.tolist() for batch in batches] == [[0, 1], [2, 3], [4, 5]]
            batches.start()


def test_a_state_is_of_the_start():
    dataset = pipeline.dataset(range(6)).shuffle(3, seed=1).prefetch(2)
    with iter(dataset) as numbers:
        numbers.start()
        state = numbers.state_dict()
        got = list(numbers)
    with iter(dataset) as resumed:
        resumed.load_state_dict(state)
        assert list(resumed) == got == list(dataset)


def test_of_a_closed_iterator_it_does_nothing():
    numbers = iter(pipeline.dataset(range(3)).prefetch(1))
    numbers.close()
    with no_thread_left():
        numbers.start()
