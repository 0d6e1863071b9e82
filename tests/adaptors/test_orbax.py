"""pipeline.jax.DataLoader saved by Orbax, in two processes training on global batches."""

import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest

import pipeline

pytest.importorskip("orbax.checkpoint", reason="Orbax is large: make test-jax installs it")

PROGRAM = """
import json, sys
import jax, jax.numpy as jnp, numpy as np, orbax.checkpoint as ocp
import pipeline, pipeline.jax

index, count, port, folder, stop = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5])
if count > 1:
    jax.distributed.initialize(f"127.0.0.1:{port}", count, index)
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
over = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
source = pipeline.arrays(np.arange(60, dtype=np.int32)).shuffle(seed=1)
try:
    if count > 1:
        iter(pipeline.jax.DataLoader(source.batch(8), over))
except pipeline.FailedPreconditionError as error:
    assert "the last batch has 4 of 8 examples" in str(error), error
loader = pipeline.jax.DataLoader(source.batch(8, drop_remainder=True), over)
step, seen = 0, []
with ocp.CheckpointManager(folder, options=ocp.CheckpointManagerOptions(create=True)) as manager, loader:
    if manager.latest_step() is not None:
        step = manager.latest_step()
        kept = manager.restore(step, args=ocp.args.Composite(input=ocp.args.JsonRestore()))
        loader.load_state_dict(kept["input"])
    while step < stop:
        for batch in loader:
            seen.append([int(n) for shard in batch.addressable_shards for n in shard.data])
            step += 1
            if step == stop:
                break
    manager.save(step, args=ocp.args.Composite(input=ocp.args.JsonSave(loader.state_dict())))
    manager.wait_until_finished()
print(json.dumps(seen))
"""


def train(folder, stop, count=2):
    """Train in some processes for this many steps; return each one's batches."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    environment = {**os.environ, **flags, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, *map(str, (index, count, port, folder, stop))],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for index in range(count)
    ]
    said = [process.communicate(timeout=240) for process in processes]
    assert [process.returncode for process in processes] == [0] * count, said
    return [json.loads(out.splitlines()[-1]) for out, _ in said]


def test_two_processes_resume_where_they_were(tmp_path):
    """In the middle of a three-step epoch, at its end, and in the second one."""
    dataset = pipeline.arrays(np.arange(60)).shuffle(seed=1).batch(8)
    epochs = [[batch.tolist() for batch in dataset.epoch(epoch)] for epoch in range(4)]
    for rank, parts in enumerate(zip(*(train(tmp_path, stop) for stop in (2, 3, 8)), strict=True)):
        found = [batch for part in parts for batch in part]
        assert found == [batch for epoch in epochs for batch in epoch[rank:6:2]][:8]
    [alone] = train(tmp_path, 12, 1)  # two processes have taken four batches from the third epoch
    assert alone == epochs[2][4:7] + epochs[3][:1]
