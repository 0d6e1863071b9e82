"""A function may raise one exception object repeatedly, as `Future.result` does, as cheaply as new ones."""

import sys
from concurrent.futures import Future

import pytest

import pipeline

DOWN = ConnectionError("down")


def fails(example):
    raise DOWN


def yields_then_fails(example):
    yield example
    raise DOWN


def failed_future():
    future = Future()
    future.set_exception(ValueError("no result"))
    return future


@pytest.mark.parametrize("workers", [None, 2, pipeline.processes(1)], ids=["none", "threads", "processes"])
def test_one_object_is_skipped_for_each_example(workers):
    with iter(pipeline.dataset(range(2000)).map(fails, workers=workers, on_error="skip")) as iterator:
        assert list(iterator) == []
        assert iterator.num_errors == 2000
        assert len(iterator.errors) == 100
        assert [str(error) for error in iterator.errors] == ["down"] * 100


def test_an_object_keeps_the_notes_of_the_first_time():
    future = failed_future()
    data = pipeline.dataset(range(500)).map(lambda example: future.result(), on_error="skip")
    for _ in range(3):
        with iter(data) as iterator:
            assert list(iterator) == []
            assert iterator.num_errors == 500
    (error, *others) = iterator.errors
    assert all(other is error for other in others)
    assert error.__traceback__ is None
    if sys.version_info >= (3, 11):
        assert error.__notes__[0] == "<lambda>: example 0"
        assert sum(map(len, error.__notes__)) < 5000


def test_notes_of_the_user_stay():
    if sys.version_info < (3, 11):
        pytest.skip("there are no notes")
    error = ValueError("mine")
    error.add_note("a note")

    def once_more(example):
        raise error

    assert list(pipeline.dataset(range(50)).map(once_more, on_error="skip")) == []
    assert error.__notes__[:2] == ["a note", "once_more: example 0"]
    error.add_note("another one")
    assert list(pipeline.dataset(range(50)).map(once_more, on_error="skip")) == []
    assert error.__notes__.count("another one") == 1


def test_generators_and_sources():
    data = pipeline.dataset(range(300)).flat_map(yields_then_fails, on_error="skip")
    with iter(data) as iterator:
        assert list(iterator) == list(range(300))
        assert iterator.num_errors == 300
