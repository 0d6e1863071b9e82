"""Random chains whose functions run on a cluster: the elements, fingerprints and states of chains without workers."""

import json

import chains
import pytest
from cluster_nodes import SHORT

import pipeline

ray = pytest.importorskip("ray", reason="needs Ray: make test-cluster")
pytestmark = pytest.mark.usefixtures("cluster")


def run(data, state=None):
    with iter(data) as iterator:
        if state is not None:
            iterator.load_state_dict(state)
        elements, states = [], [json.loads(json.dumps(iterator.state_dict()))]
        for element in iterator:
            elements.append(chains.plain(element))
            states.append(json.loads(json.dumps(iterator.state_dict())))
        return elements, states, iterator.fingerprint()


@pytest.mark.parametrize("seed", range(1, 4 if SHORT else 16))
def test_a_cluster_changes_nothing(seed, tmp_path):
    alone = chains.of_seed(seed, tmp_path).data.take(100)
    together = chains.of_seed(seed, tmp_path, pipeline.cluster.workers(2)).data.take(100)
    expected, got = run(alone), run(together)
    assert got[0] == expected[0]
    assert got[2] == expected[2]
    assert [state["position"] for state in got[1]] == [state["position"] for state in expected[1]]
    middle = len(expected[0]) // 2
    assert run(together, expected[1][middle])[0] == expected[0][middle:]
