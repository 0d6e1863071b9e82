"""Ray clusters with all nodes on this machine."""

import contextlib
import os
from pathlib import Path

MEMORY = 500 << 20  # per node, for the object store


@contextlib.contextmanager
def clusters(nodes, processors):
    """Enter a cluster with this many nodes, each with this many processors in Ray's count; none for 0 nodes.

    This process is on the first one.
    """
    if not nodes:
        yield
        return
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[2])  # for the workers
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "180")
    import ray  # only installed for this bench
    from ray.cluster_utils import Cluster

    node = {"num_cpus": processors, "object_store_memory": MEMORY}
    made = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False, "no_monitor": True})
    try:
        for _ in range(nodes - 1):
            made.add_node(**node)
        ray.init(address=made.address, log_to_driver=False, logging_level="WARNING")
        made.wait_for_nodes()
        yield
    finally:
        ray.shutdown()
        made.shutdown()
