"""Ctrl-C within a function or generator of the user's that gives the first example: no loop ends short in silence."""

import itertools
import signal

import pytest

import pipeline


@pytest.fixture
def struck():
    """Raises what Ctrl-C does, from within a signal handler, at its first call."""
    strikes = []

    def strike(*_):
        raise KeyboardInterrupt

    def once():
        if not strikes:
            strikes.append(1)
            signal.raise_signal(signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, strike)
    yield once
    signal.signal(signal.SIGUSR1, before)


def generator(struck):
    for i in range(8):
        struck()
        yield i


def function(struck):
    numbers = itertools.count()

    def following():
        number = next(numbers)
        struck()
        if number == 8:
            raise pipeline.OutOfRangeError(None, None, "the end")
        return number

    return following


def mapped(struck):
    def each(number):
        struck()
        return number

    return map(each, range(8))


FREE = [(generator, False), (function, False), (mapped, False)]


@pytest.mark.parametrize("threads", [0, 1, 2])
@pytest.mark.parametrize(("make", "deterministic"), [*FREE, (generator, True), (mapped, True)])
def test_the_loop_says_that_it_cannot_go_on(make, deterministic, threads, struck):
    batches = pipeline.batch(make(struck), 4, threads, deterministic=deterministic)
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    with pytest.raises(pipeline.FailedPreconditionError, match="interrupted while it took its first example from"):
        next(batches)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("threads", [0, 1])
def test_what_begins_again_does(threads, deterministic, struck):
    source = type("Again", (), {"__iter__": lambda self: generator(struck)})()
    batches = pipeline.batch(source, 4, threads, deterministic=deterministic)
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    assert [batch.tolist() for batch in batches] == [[0, 1, 2, 3], [4, 5, 6, 7]]


@pytest.mark.parametrize("threads", [0, 1])
def test_an_error_of_the_first_example_is_its_own(threads):
    def failing():
        if not calls:
            calls.append(1)
            raise ZeroDivisionError
        if len(calls) == 5:
            raise pipeline.OutOfRangeError(None, None, "the end")
        calls.append(1)
        return len(calls)

    calls = []
    with pytest.raises(ZeroDivisionError):
        next(pipeline.batch(failing, 4, threads))
    assert [batch.tolist() for batch in pipeline.batch(failing, 4, threads)] == [[2, 3, 4, 5]]
