"""Ctrl-C strikes `close` or `load_state_dict`, wherever Python looks for it: the call can be made again."""

import sys

import pytest
from endurance.interrupts import Interrupt, Striker, codes
from helpers import run_in_thread
from orchestration import no_thread_left

import pipeline
from pipeline.datasets import iterator
from pipeline.datasets.iterator import DatasetIterator
from pipeline.datasets.node import Opening
from pipeline.datasets.seed import Seed
from pipeline.flow import prefetch, run
from pipeline.flow.prefetch import Prefetch
from pipeline.flow.run import Run
from pipeline.runners.coordinator import Coordinator
from pipeline.runners.stop_flag import StopFlag

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="the instructions at which Python looks have other names"
)
STRUCK = codes(DatasetIterator, Opening, Run, StopFlag, Seed, Prefetch, Coordinator, iterator, prefetch, run)


def strike(number, call, *args):
    """Call a function; interrupt it at this moment. Return whether the moment came."""
    striker = Striker(number, STRUCK)
    sys._getframe().f_trace_opcodes = True  # 3.12 traces opcodes only if some frame asked for it before
    sys.settrace(striker)
    try:
        call(*args)
    except Interrupt:
        pass
    finally:
        sys.settrace(None)
    return striker.struck


def test_any_thread_can_close_after_it():
    """It left the lock taken: `next` and `close` of other threads then waited for ever, and files stayed open."""
    number, struck = 0, True
    while struck:
        number += 1
        closed = []

        def rows(closed=closed):
            try:
                yield from range(5)
            finally:
                closed.append(True)

        numbers = iter(pipeline.dataset(rows).map(int))
        assert next(numbers) == 0
        struck = strike(number, numbers.close)
        run_in_thread(numbers.close).result()
        assert closed, f"after moment {number}"
    assert number > 10


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Ctrl-C strikes between `with` and its block")
@pytest.mark.parametrize("opened", [None, "state_dict", "start"])
@pytest.mark.parametrize("threads", [False, True])
def test_a_state_is_loaded_or_not(threads, opened):
    """Afterwards the iterator began with the first element, as without a state, and counted from that of the state."""
    data = pipeline.dataset(range(8)).shuffle(3, seed=1).filter(lambda number: number != 5)
    data = data.prefetch(2) if threads else data
    with iter(data) as numbers:
        whole = [next(numbers) for _ in range(3)]
        state = numbers.state_dict()
        rest = list(numbers)
        fingerprint = numbers.fingerprint()
    number, struck, found = 0, True, set()
    while struck:
        number += 1
        with no_thread_left():
            for again in (False, True):
                with iter(data) as numbers:
                    if opened is not None:
                        getattr(numbers, opened)()
                    struck = strike(number, numbers.load_state_dict, state)
                    if again:
                        numbers.load_state_dict(state)
                    got = list(numbers)
                    assert got in ([rest] if again else [[*whole, *rest], rest]), f"after moment {number}"
                    assert numbers.fingerprint() == fingerprint, f"after moment {number}"
                    found.add(len(got))
    assert len(found) == 2


def test_seeds_of_another_dataset_change_nothing():
    """Those that chance had chosen were taken over before one that was given was found to differ."""
    numbers = pipeline.dataset(range(9))
    state = iter(numbers.shuffle().map(int).shuffle(4, seed=1)).state_dict()
    other = iter(numbers.shuffle().map(int).shuffle(4, seed=2))
    before = other.state_dict()
    with pytest.raises(pipeline.StateMismatchError, match="seed"):
        other.load_state_dict(state)
    assert other.state_dict() == before
