"""limit_epochs: how often a value may be evaluated."""

import numpy as np
import pytest
from helpers import raises, run_in_thread
from orchestration import drain, no_thread_left

from pipeline import FIFOQueue, OutOfRangeError, batch
from pipeline.producers.limit import limit_epochs


@pytest.fixture(autouse=True)
def _fresh():
    with no_thread_left():
        yield


def test_without_a_limit_it_is_the_same_object():
    thing = object()
    assert limit_epochs(thing) is thing
    assert limit_epochs(thing, None, name="x") is thing


def test_callable_is_called_so_many_times():
    calls = []
    limited = limit_epochs(lambda: calls.append(1) or len(calls), 3)
    assert drain(limited) == [1, 2, 3]
    for _ in range(2):
        with raises(OutOfRangeError, "Reached limit of 3"):
            limited()
    assert len(calls) == 3


@pytest.mark.parametrize("value", [np.arange(3), [1, 2], "text", 7, None])
def test_value_is_given_so_many_times(value):
    got = drain(limit_epochs(value, 2))
    assert len(got) == 2
    assert all(each is value for each in got)


def test_iterator_gives_its_items():
    items = iter("abc")
    assert drain(limit_epochs(items, 2)) == ["a", "b"]
    assert next(items) == "c"


def test_iterator_that_ends_before_the_limit():
    limited = limit_epochs(iter("a"), 5)
    assert limited() == "a"
    with pytest.raises(StopIteration):
        limited()


def test_evaluation_that_fails_counts():
    def fail():
        raise ValueError("bad")

    limited = limit_epochs(fail, 1)
    with pytest.raises(ValueError, match="bad"):
        limited()
    with raises(OutOfRangeError, "Reached limit of 1"):
        limited()


def test_threads_together_stay_within_the_limit():
    def numbers():
        yield from range(10_000)

    limited = limit_epochs(numbers(), 2000)
    calls = [run_in_thread(drain, limited) for _ in range(4)]
    assert sorted(item for call in calls for item in call.result()) == list(range(2000))


def test_as_the_source_of_a_batch():
    blocks = limit_epochs(np.arange(3), 2)
    assert [part.tolist() for part in batch(blocks, 2, enqueue_many=True)] == [[0, 1], [2, 0], [1, 2]]


def test_name():
    def example():
        return 1

    assert limit_epochs(example, 1).__qualname__.endswith("example")
    assert limit_epochs(example, 1, name="rows").__qualname__ == "rows"
    assert limit_epochs([1], 1).__qualname__ == "limit_epochs"


@pytest.mark.parametrize("number", [0, -1, np.int64(0)])
def test_limit_must_be_positive(number):
    with pytest.raises(ValueError, match=rf"num_epochs must be > 0 not {number}\."):
        limit_epochs([1], number)


@pytest.mark.parametrize("number", [1.5, "2", [1]])
def test_limit_must_be_an_integer(number):
    with pytest.raises(TypeError, match="num_epochs must be an integer, got"):
        limit_epochs([1], number)


def test_queue_is_refused():
    with pytest.raises(TypeError, match="'work' is a queue"):
        limit_epochs(FIFOQueue(1, "int32", name="work"), 1)
