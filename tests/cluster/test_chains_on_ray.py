"""Random chains with their functions on a cluster match chains without workers, and share their states.

More chains, from seed 101 on: `CHAINS=100 CHAINS_AFTER=100 pytest tests/cluster/test_chains_on_ray.py`.
"""

import contextlib
import json
import os

import chains
import pytest
from cluster_nodes import SHORT

import pipeline

ray = pytest.importorskip("ray", reason="needs Ray: make test-cluster")
pytestmark = pytest.mark.usefixtures("cluster")

COUNT = int(os.environ.get("CHAINS", "4" if SHORT else "30"))
AFTER = int(os.environ.get("CHAINS_AFTER", "0"))
SEEDS = range(AFTER + 1, AFTER + COUNT + 1)
MOST = 100  # elements compared


def run(data, state=None):
    """Return all elements, the state before each and after the last, and whether the bad element ended it."""
    with iter(data) as iterator:
        if state is not None:
            iterator.load_state_dict(state)
        elements, states, bad = [], [json.loads(json.dumps(iterator.state_dict()))], False
        try:
            for element in iterator:
                elements.append(chains.plain(element))
                states.append(json.loads(json.dumps(iterator.state_dict())))
        except chains.Bad:
            bad = True
        return elements, states, bad


@contextlib.contextmanager
def printed(seed, chain):
    """Print the seed if its chain fails."""
    try:
        yield
    except BaseException:
        print(f"the chain of seed {seed}: {chain.text}\n{chain.data!r}")
        raise


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cluster_changes_nothing(seed, tmp_path):
    """Each resumes the other, in the middle and at the end."""
    alone = chains.of_seed(seed, tmp_path)
    together = chains.of_seed(seed, tmp_path, pipeline.cluster.workers(2))
    if alone.text != together.text:  # it cannot be shuffled after workers, as the error explains, and stays unshuffled
        return
    alone, together = alone.data.take(MOST), together.data.take(MOST)
    with printed(seed, chains.of_seed(seed, tmp_path)):
        expected, got = run(alone), run(together)
        assert got[0] == expected[0]
        for k in {len(expected[0]) // 2, len(expected[0])}:
            for data in (together, alone):
                for state in (expected[1][k], got[1][k]):
                    assert run(data, state)[0] == expected[0][k:]


@pytest.mark.parametrize("seed", SEEDS)
def test_an_error_comes_where_it_comes_without_workers(seed, tmp_path):
    before, rng = chains.sound_of_seed(seed, tmp_path)
    numbers = run(before.data)[0]
    bad = chains.Spoilt(rng.choice(numbers)) if numbers else chains.Spoilt(None)
    alone = chains.spoilt_of_seed(seed, tmp_path, bad)
    together = chains.spoilt_of_seed(seed, tmp_path, bad, pipeline.cluster.workers(2))
    unasked = any(each in alone.text for each in chains.UNASKED) or chains.made_as_they_arrive(together.data)
    if alone.text != together.text or unasked:
        return
    with printed(seed, alone):
        expected, got = run(alone.data.take(MOST)), run(together.data.take(MOST))
        if ".window(" in alone.text and not expected[2] and got[0] == expected[0]:
            return  # the error is after the last whole window, read anyway by workers
        assert got[::2] == expected[::2]
        if expected[2]:
            assert run(together.data.take(MOST), expected[1][-1])[::2] == ([], True)
