"""Deterministic loops gather in-memory rows in the calling thread: same batches, same states."""

import numpy as np
import pytest
from orchestration import threads_since

import pipeline

ROWS = np.arange(3000, dtype=np.float32).reshape(1000, 3)
ORDERS = pytest.mark.parametrize("shuffled", [False, True], ids=["FIFO", "shuffled"])


def loop_over(rows, shuffled, **options):
    source = pipeline.slice_input_producer([rows, np.arange(1000)], 3, True, 4, collection=[])
    if shuffled:
        return pipeline.shuffle_batch(source, 64, 600, 500, seed=5, deterministic=True, **options)
    return pipeline.batch(source, 64, deterministic=True, **options)


@pytest.fixture
def mapped(tmp_path):
    """The same rows in a file, read by threads."""
    np.save(tmp_path / "rows.npy", ROWS)
    return np.load(tmp_path / "rows.npy", mmap_mode="r")


def without_chance(state):
    """Return a state without randomly chosen seeds and without rows read ahead by threads."""
    return {**state, "checksum": None, "seeds": None}


def plain(batches):
    return [[part.tolist() for part in batch] for batch in batches]


@ORDERS
def test_there_is_no_thread(shuffled):
    begun = threads_since()
    with loop_over(ROWS, shuffled) as loop:
        next(loop)
        assert not begun()


@ORDERS
def test_batches_and_states_are_those_of_threads(shuffled, mapped):
    with loop_over(ROWS, shuffled) as here, loop_over(mapped, shuffled) as there:
        while True:
            assert without_chance(here.state_dict()) == without_chance(there.state_dict())
            batches = [next(loop, None) for loop in (here, there)]
            if batches[0] is None:
                break
            assert plain(batches[:1]) == plain(batches[1:])
        assert batches[1] is None
        assert here.num_dropped == there.num_dropped == 3000 % 64


@ORDERS
@pytest.mark.parametrize("done", [0, 1, 15, 16, 17, 33, 46])
def test_each_goes_on_from_the_state_of_the_other(shuffled, mapped, done):
    for first, second in [(ROWS, mapped), (mapped, ROWS)]:
        with loop_over(first, shuffled) as loop:
            for _ in range(done):
                next(loop)
            state = loop.state_dict()
            rest = plain(loop)
        with loop_over(second, shuffled) as loop:
            loop.load_state_dict(state)
            resumed = plain(loop)
        assert resumed == rest
        assert len(rest) == 3000 // 64 - done
