"""pipeline.torch under Lightning and Accelerate: real runs of a few steps."""

import importlib
import json
import os
import pathlib
import socket
import subprocess
import sys

import numpy as np
import pytest

import pipeline

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
pt = importlib.import_module("pipeline.torch")

ROOT = pathlib.Path(__file__).parents[2]

pytestmark = pytest.mark.filterwarnings("ignore")  # of these libraries, about themselves


def loader(rows=24, batch_size=4, **options):
    source = pipeline.arrays((np.eye(rows, 6, dtype=np.float32), np.arange(rows)), shuffle=True, seed=1)
    return pt.DataLoader(source.batch(batch_size), **options)


def epochs(count, **options):
    with loader(**options) as batches:
        return [[labels.tolist() for _, labels in batches] for _ in range(count)]


# Lightning ------------------------------------------------------------------------------------------------------------


def lightning_run(folder, max_steps, checkpoint=None, epochs=2, saver=None, **options):
    """Train; return the labels of the batches that were trained on, by epoch, and of those of the validation."""
    lightning = pytest.importorskip("lightning.pytorch")

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(6, 1)
            self.seen, self.checked = {}, []

        def training_step(self, batch, _):
            images, labels = batch
            self.seen.setdefault(self.current_epoch, []).append(labels.tolist())
            return self.layer(images).sum()

        def validation_step(self, batch, _):
            self.checked.append(batch[1].tolist())

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    model = Model()
    saves = lightning.callbacks.ModelCheckpoint(folder, save_top_k=-1, **(saver or {"every_n_train_steps": 2}))
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=1,
        max_epochs=epochs,
        max_steps=max_steps,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[saves],
        default_root_dir=folder,
        **options,
    )
    trainer.fit(model, loader(), loader(8), ckpt_path=checkpoint, weights_only=False if checkpoint else None)
    return model.seen, model.checked


def test_lightning(tmp_path):
    seen, checked = lightning_run(tmp_path, -1)
    assert list(seen.values()) == epochs(2)
    # Two batches of the sanity check, and each epoch all of them.
    assert [len(each) for each in checked] == [4] * (2 + 2 + 2)
    for begin in (2, 4):
        assert sorted(np.concatenate(checked[begin : begin + 2]).tolist()) == list(range(8))


def test_lightning_with_a_part_of_each_epoch(tmp_path):
    seen, _ = lightning_run(tmp_path, -1, limit_train_batches=4)
    assert [each[:4] for each in epochs(2)] == list(seen.values())


@pytest.mark.parametrize("step", [2, 4, 6, 8])
def test_lightning_resumes(tmp_path, step):
    """From a checkpoint in the middle of an epoch, after its last batch, and in the second one."""
    whole, _ = lightning_run(tmp_path / "whole", -1)
    lightning_run(tmp_path / "first", step)
    (checkpoint,) = (tmp_path / "first").glob(f"*step={step}.ckpt")
    resumed, _ = lightning_run(tmp_path / "second", -1, checkpoint)
    after = [batch for epoch in resumed.values() for batch in epoch]
    assert after == [batch for epoch in whole.values() for batch in epoch][step:]


def test_lightning_resumes_from_its_own_checkpoint_of_an_epoch(tmp_path):
    """Lightning loads no state of the loader then: it tells which epoch it is."""
    whole, _ = lightning_run(tmp_path / "whole", -1)
    lightning_run(tmp_path / "first", -1, epochs=1, saver={"every_n_epochs": 1, "save_on_train_epoch_end": True})
    (checkpoint,) = (tmp_path / "first").glob("*.ckpt")
    resumed, _ = lightning_run(tmp_path / "second", -1, checkpoint)
    assert resumed == {1: whole[1]}


def test_lightning_saves_where_a_dataset_has_no_state(tmp_path, caplog):
    lightning = pytest.importorskip("lightning.pytorch")
    model = importlib.import_module("lightning.pytorch.demos.boring_classes").BoringModel()
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=2, logger=False, enable_progress_bar=False, default_root_dir=tmp_path
    )
    rows = pipeline.dataset(np.zeros((16, 32), np.float32))
    free = pt.DataLoader(rows.map(np.negative, workers=2, ordered=False).batch(4))
    trainer.fit(model, free)
    assert trainer.global_step == 8
    [checkpoint] = tmp_path.glob("**/*.ckpt")
    [told] = [record.getMessage() for record in caplog.records if record.name == "pipeline.batches"]
    assert "the order depends on time" in told
    trainer.fit(model, free, ckpt_path=checkpoint, weights_only=False)
    assert trainer.global_step == 8


# Accelerate -----------------------------------------------------------------------------------------------------------


def test_accelerate():
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True)
    model = torch.nn.Linear(6, 1)
    batches = loader(device=accelerator.device)
    model, optimizer, batches = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1), batches)
    assert isinstance(batches, pt.DataLoader)
    seen = []
    for _ in range(2):
        seen.append([])
        for images, labels in batches:
            optimizer.zero_grad()
            accelerator.backward(model(images).sum())
            optimizer.step()
            seen[-1].append(labels.tolist())
    assert seen == epochs(2)


def test_accelerate_keeps_the_state(tmp_path):
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True)
    one, other = loader(), loader()
    accelerator.register_for_checkpointing(one)
    batches = iter(one)
    for _ in range(3):
        next(batches)
    accelerator.save_state(str(tmp_path))
    rest = [labels.tolist() for _, labels in batches]
    accelerator._custom_objects.clear()  # Accelerate has no other way to forget one
    accelerator.register_for_checkpointing(other)
    accelerator.load_state(str(tmp_path))
    assert [labels.tolist() for _, labels in other] == rest


GROUP = """
import json, sys
import numpy as np
import torch
from accelerate import Accelerator
import pipeline
import pipeline.torch

accelerator = Accelerator(cpu=True)
source = pipeline.arrays(np.arange(24), shuffle=True, seed=1)
loader = accelerator.prepare(pipeline.torch.DataLoader(source.batch(4), device=accelerator.device))
said = {"epochs": [[batch.tolist() for batch in loader] for _ in range(2)]}
try:
    pipeline.torch.IterableDataset(source.batch(4))
except pipeline.errors.FailedPreconditionError as error:
    said["error"] = str(error)
dataset = pipeline.torch.IterableDataset(source.batch(4), shard=False)
given = accelerator.prepare(torch.utils.data.DataLoader(dataset, batch_size=None))
said["dispatched"] = [batch.tolist() for batch in given]
accelerator.wait_for_everyone()  # the first process has the store of the group
accelerator.end_training()
print(json.dumps(said), flush=True)
"""


def test_accelerate_in_a_group():
    pytest.importorskip("accelerate")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    processes = []
    for rank in range(2):
        named = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1"}
        named |= {"MASTER_PORT": port, "PYTHONPATH": ROOT, "GLOO_SOCKET_IFNAME": "lo", "ACCELERATE_USE_CPU": "true"}
        environment = {**os.environ, **{name: str(value) for name, value in named.items()}}
        command = [sys.executable, "-W", "ignore", "-c", GROUP]
        processes.append(
            subprocess.Popen(
                command, env=environment, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        )
    done = [process.communicate(timeout=180) for process in processes]
    for process, (_, errors) in zip(processes, done, strict=True):
        assert process.returncode == 0, errors
    one, two = (json.loads(output.splitlines()[-1]) for output, _ in done)
    for first, second in zip(one["epochs"], two["epochs"], strict=True):
        assert len(first) == len(second) == 3
        assert sorted(np.concatenate(first + second).tolist()) == list(range(24))
    assert sorted(np.concatenate(one["dispatched"] + two["dispatched"]).tolist()) == list(range(24))
    assert "Accelerate shares out the datasets" in one["error"]
    assert "Accelerate shares out the datasets" in two["error"]
