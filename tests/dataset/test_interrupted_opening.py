"""Ctrl-C while the first `next` opens the input, at each line: the iterator goes on as if there had been none."""

import sys

import pytest

import pipeline
from pipeline.datasets import iterator as module

CHAINS = {
    "plain": lambda: pipeline.dataset(range(5)).map(lambda x: x),
    "prefetch": lambda: pipeline.dataset(range(5)).flat_map(lambda x: [x]).prefetch(2),
    "workers, prefetch": lambda: pipeline.dataset(range(5)).map(lambda x: x, workers=2).prefetch(2),
    "batch": lambda: pipeline.dataset(range(5)).batch(1).map(lambda x: int(x[0])),
}
STRUCK = ("_open", "_running", "_goes_on")


def strike(at, call):
    """Call a function; raise KeyboardInterrupt at line `at` that runs in those methods. Return whether it did."""
    left = [at]

    def trace(frame, event, _):
        if frame.f_code.co_filename != module.__file__ or frame.f_code.co_name not in STRUCK:
            return trace if frame.f_code.co_filename == module.__file__ else None
        if event == "line":
            left[0] -= 1
            if not left[0]:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("loaded", [False, True])
def test_it_goes_on(name, loaded):
    with iter(CHAINS[name]()) as first:
        next(first)
        state = first.state_dict()
    at, struck = 0, True
    while struck:
        at += 1
        with iter(CHAINS[name]()) as iterator:
            if loaded:
                iterator.load_state_dict(state)
            found = []
            struck = strike(at, lambda found=found, iterator=iterator: found.append(next(iterator)))
            assert [int(each) for each in [*found, *iterator]] == list(range(loaded, 5)), at
    assert at > 10
