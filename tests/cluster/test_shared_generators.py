"""Python's and NumPy's global generators in Ray tasks: seeded per example, as in worker processes."""

import itertools

import numpy as np
import pytest
import worker_functions as functions

import pipeline

ray = pytest.importorskip("ray", reason="needs Ray: make test-cluster")
pytestmark = pytest.mark.usefixtures("cluster")

NUMBERS = 60


def drawn(workers, state=None):
    """Return the draws by a map, and a flat_map after it, for shuffled numbers."""
    data = pipeline.dataset(range(NUMBERS)).shuffle(seed=1).map(functions.shared_draws, workers=workers)
    found = iter(data.flat_map(functions.three_shared_draws, workers=workers))
    if state is not None:
        found.load_state_dict(state)
    return found


@pytest.fixture(scope="module")
def one():
    """Computed in one process on this machine."""
    return np.array(list(drawn(pipeline.processes(1))))


def test_no_two_examples_draw_alike():
    data = pipeline.dataset(range(400)).map(functions.shared_draws, workers=pipeline.cluster.workers(5))
    for column in np.array(list(data)).T:
        assert len(np.unique(column)) == 400


@pytest.mark.parametrize("count", [1, 4])
def test_the_numbers_are_those_of_processes(count, one):
    assert (np.array(list(drawn(pipeline.cluster.workers(count)))) == one).all()


def test_the_numbers_are_those_of_a_run_that_was_not_stopped(one):
    with drawn(pipeline.cluster.workers(2)) as first:
        got = list(itertools.islice(first, 100))
        state = first.state_dict()
    got += drawn(pipeline.cluster.workers(3), state)
    assert (np.array(got) == one).all()


def test_generators_of_the_program_are_left_alone():
    np.random.seed(1)
    wanted = np.random.random(3)
    np.random.seed(1)
    first = np.random.random()
    list(pipeline.dataset(range(20)).map(functions.shared_draws, workers=pipeline.cluster.workers(2)))
    assert [first, *np.random.random(2)] == wanted.tolist()
