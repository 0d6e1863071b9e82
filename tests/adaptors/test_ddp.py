"""Plain PyTorch under torchrun: DistributedDataParallel, and checkpoints loaded by a different number of processes."""

import importlib
import itertools
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import pipeline

pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
importlib.import_module("pipeline.torch")

ROOT = pathlib.Path(__file__).parents[2]

PROGRAM = """
import json, os, sys
import numpy as np
import torch
import torch.distributed as dist
from torch.distributed import checkpoint
import pipeline
import pipeline.torch

folder, kind, stop = sys.argv[1], sys.argv[2], int(sys.argv[3])
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.0001)
source = pipeline.arrays(np.arange(98)).shuffle(seed=1)
if kind == "stream":
    source = pipeline.arrays(np.arange(98)).shuffle(20, seed=1)
loader = pipeline.torch.DataLoader(source.batch(4))
first, seen = 0, []
if kind == "dcp" and os.path.exists(folder + "/dcp"):
    checkpoint.load({"model": model.module, "loader": loader}, checkpoint_id=folder + "/dcp")
    first = torch.load(folder + "/epoch")
elif os.path.exists(folder + "/state"):
    saved = torch.load(folder + "/state")
    model.module.load_state_dict(saved["model"])
    loader.load_state_dict(saved["loader"])
    first = saved["epoch"]
for epoch in range(first, 2):
    loader.set_epoch(epoch)
    for batch in loader:
        optimizer.zero_grad()
        model(batch.to(torch.float32)[:, None]).mean().backward()
        optimizer.step()
        seen.append((epoch, batch.tolist()))
        if len(seen) == stop:
            break
    if len(seen) == stop:
        break
if stop > 0 and kind == "dcp":
    checkpoint.save({"model": model.module, "loader": loader}, checkpoint_id=folder + "/dcp")
    if rank == 0:
        torch.save(epoch, folder + "/epoch")
elif stop > 0 and rank == 0:
    torch.save({"model": model.module.state_dict(), "loader": loader.state_dict(), "epoch": epoch}, folder + "/state")
weight = model.module.weight.item()
with open(f"{folder}/said{rank}", "w") as file:
    json.dump({"seen": seen, "weight": weight}, file)
dist.barrier()
dist.destroy_process_group()
"""


def train(folder, kind, world, stop=-1):
    """Run the program under torchrun; return each process's output. With `stop` it saves after this many steps."""
    folder.mkdir(exist_ok=True)
    (folder / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    torchrun = ["-W", "ignore", "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world}"]
    command = [sys.executable, *torchrun, str(folder / "program.py"), str(folder), kind, str(stop)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    said = [json.loads((folder / f"said{rank}").read_text()) for rank in range(world)]
    assert len({each["weight"] for each in said}) == 1
    assert len({len(each["seen"]) for each in said}) == 1, "each process makes as many steps"
    return said


def steps(said):
    """Return each step's (epoch, batches in all processes together)."""
    return [
        (parts[0][0], [batch for _, batch in parts]) for parts in zip(*(each["seen"] for each in said), strict=True)
    ]


def batches(kind, epoch):
    source = pipeline.arrays(np.arange(98))
    source = source.shuffle(20, seed=1) if kind == "stream" else source.shuffle(seed=1)
    return [batch.tolist() for batch in source.batch(4).epoch(epoch)]


@pytest.mark.parametrize(("kind", "stop"), [("state", 5), ("state", 12), ("dcp", 15)])
def test_two_processes_resume(tmp_path, kind, stop):
    """In the middle of a twelve-step epoch, after its last one, and in the second epoch."""
    whole = train(tmp_path / "whole", kind, 2)
    first = train(tmp_path / "parts", kind, 2, stop)
    rest = train(tmp_path / "parts", kind, 2)
    expected = [batch for epoch in range(2) for batch in batches(kind, epoch)[:24]]
    assert [batch for _, parts in steps(whole) for batch in parts] == expected
    assert steps(first) + steps(rest) == steps(whole)
    assert rest[0]["weight"] == whole[0]["weight"]


@pytest.mark.parametrize(("kind", "before", "after"), [("state", 2, 1), ("stream", 3, 2), ("dcp", 2, 3)])
def test_another_number_of_processes_resumes(tmp_path, kind, before, after):
    """The rest of the epoch comes once, in order; then the next one."""
    first = train(tmp_path, kind, before, 3)
    rest = train(tmp_path, kind, after)
    seen = [batch for _, parts in steps(first) for batch in parts]
    left = [batch for epoch, parts in steps(rest) if epoch == 0 for batch in parts]
    count = (25 - 3 * before) // after * after
    assert seen == batches(kind, 0)[: 3 * before]
    assert left == batches(kind, 0)[3 * before :][:count]
    later = list(itertools.chain(*(parts for epoch, parts in steps(rest) if epoch == 1)))
    assert later == batches(kind, 1)[: 25 // after * after]
