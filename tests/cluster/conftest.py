"""A Ray cluster with three nodes on this machine, for all tests in this folder."""

import os
from pathlib import Path

import pytest
from cluster_nodes import MEMORY


@pytest.fixture(scope="session")
def cluster():
    """The cluster: a head with one processor and two nodes with two, as Ray counts them. It includes this process."""
    ray = pytest.importorskip("ray", reason="needs Ray: make test-cluster")
    tests = Path(__file__).parents[1]
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, (tests.parent, tests / "support")))  # for the workers
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "180")
    os.environ.setdefault("RAY_health_check_period_ms", "500")  # a dead node is noticed after five checks
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "object_store_memory": MEMORY, "include_dashboard": False, "no_monitor": True},
    )
    try:
        for _ in range(2):
            made.add_node(num_cpus=2, object_store_memory=MEMORY)
        ray.init(address=made.address, log_to_driver=False)
        made.wait_for_nodes()
        yield made
    finally:
        ray.shutdown()
        made.shutdown()
