"""pipeline.torch.DataLoader under Lightning: the Trainer and Fabric, in one process and in several."""

import importlib
import itertools
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from torch_group import in_group

import pipeline

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
lightning = pytest.importorskip("lightning.pytorch")
fabrics = pytest.importorskip("lightning.fabric")
pt = importlib.import_module("pipeline.torch")

ROOT = pathlib.Path(__file__).parents[2]
QUIET = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}

pytestmark = pytest.mark.filterwarnings("ignore")  # from these libraries, about themselves


def loader(rows=24, batch_size=4, **options):
    source = pipeline.arrays((np.eye(rows, 6, dtype=np.float32), np.arange(rows)), shuffle=True, seed=1)
    return pt.DataLoader(source.batch(batch_size), **options)


def epochs(count, **options):
    with loader(**options) as batches:
        return [[labels.tolist() for _, labels in batches] for _ in range(count)]


# Trainer --------------------------------------------------------------------------------------------------------------


def lightning_run(folder, max_steps, checkpoint=None, epochs=2, saver=None, **options):
    """Train; return the trained batches' labels by epoch, and the validation's."""

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
    # Two batches in the sanity check, and all batches in each epoch.
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
    """Lightning then loads no loader state, but sets the epoch."""
    whole, _ = lightning_run(tmp_path / "whole", -1)
    lightning_run(tmp_path / "first", -1, epochs=1, saver={"every_n_epochs": 1, "save_on_train_epoch_end": True})
    (checkpoint,) = (tmp_path / "first").glob("*.ckpt")
    resumed, _ = lightning_run(tmp_path / "second", -1, checkpoint)
    assert resumed == {1: whole[1]}


@pytest.mark.parametrize("hook", [False, True])
def test_lightning_overfits_the_same_batches(tmp_path, hook):
    """For overfit_batches Lightning rebuilds the loader; it rebuilds a loader from a hook differently."""

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(6, 1)
            self.seen = {}

        def training_step(self, batch, _):
            self.seen.setdefault(self.current_epoch, []).append(batch[1].tolist())
            return self.layer(batch[0]).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    class Hooked(Model):
        def train_dataloader(self):
            return loader(device="cpu")

    model, options = (Hooked(), {}) if hook else (Model(), {"train_dataloaders": loader(device="cpu")})
    trainer = lightning.Trainer(accelerator="cpu", max_epochs=3, overfit_batches=2, default_root_dir=tmp_path, **QUIET)
    trainer.fit(model, **options)
    assert model.seen == dict.fromkeys(range(3), epochs(1)[0][:2])


def test_lightning_predicts(tmp_path):
    """It rebuilds the loader, too."""

    class Model(lightning.LightningModule):
        def predict_step(self, batch, _):
            return batch[1].tolist()

    trainer = lightning.Trainer(accelerator="cpu", default_root_dir=tmp_path, **QUIET)
    assert trainer.predict(Model(), loader()) == epochs(1)[0]


TRAINER = """
import json, os, sys
import numpy as np
import torch
import lightning.pytorch as lightning
import pipeline
import pipeline.torch

folder, action = sys.argv[1:]

class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.seen = []

    def training_step(self, batch, _):
        self.seen.append(batch.tolist())
        return self.layer(batch.to(torch.float32)[:, None]).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.001)

torch.manual_seed(0)
loader = pipeline.torch.DataLoader(pipeline.arrays(np.arange(28)).shuffle(seed=1).batch(4))
model = Model()
kept = folder if action == "save" else folder + "/later"
saves = lightning.callbacks.ModelCheckpoint(kept, "saved", every_n_train_steps=2)
steps = 2 if action == "save" else -1
trainer = lightning.Trainer(
    accelerator="cpu", devices=int(os.environ["WORLD_SIZE"]), strategy="ddp", max_epochs=2, max_steps=steps,
    logger=False, callbacks=[saves],
    enable_progress_bar=False, enable_model_summary=False,
)
trainer.fit(model, loader, ckpt_path=folder + "/saved.ckpt" if action == "load" else None, weights_only=False)
weight = model.layer.weight.item()
torch.distributed.barrier()
print(json.dumps({"seen": model.seen, "weight": weight}), flush=True)
"""


def test_lightning_in_a_group(tmp_path):
    """With the DDP strategy, no sampler is put into the loader, and each process has its batches."""
    whole, first = in_group(TRAINER, 2, tmp_path / "a", "train"), in_group(TRAINER, 2, tmp_path / "b", "save")
    rest = in_group(TRAINER, 2, tmp_path / "b", "load")
    dataset = pipeline.arrays(np.arange(28)).shuffle(seed=1).batch(4)
    for rank, (every, before, after) in enumerate(zip(whole, first, rest, strict=True)):
        batches = [[batch.tolist() for batch in dataset.epoch(epoch)][rank:6:2] for epoch in range(2)]
        assert every["seen"] == batches[0] + batches[1]
        assert before["seen"] + after["seen"] == every["seen"]
        assert after["weight"] == every["weight"]
    [alone] = in_group(TRAINER, 1, tmp_path / "b", "load")
    batches = [[batch.tolist() for batch in dataset.epoch(epoch)] for epoch in range(2)]
    assert alone["seen"] == batches[0][4:] + batches[1]


SPAWNED = """
import json
import numpy as np
import torch
import lightning.pytorch as lightning
import pipeline
import pipeline.torch

class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch, _):
        with open(f"{self.trainer.default_root_dir}/{self.global_rank}", "a") as file:
            print(json.dumps(batch.tolist()), file=file)
        return self.layer(batch.to(torch.float32)[:, None]).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.001)

if __name__ == "__main__":
    import sys
    loader = pipeline.torch.DataLoader(pipeline.arrays(np.arange(28)).shuffle(seed=1).batch(4))
    trainer = lightning.Trainer(
        accelerator="cpu", devices=2, strategy="ddp_spawn", max_epochs=2, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, default_root_dir=sys.argv[1],
    )
    trainer.fit(Model(), loader)
"""


def test_lightning_spawns_processes(tmp_path):
    """The loader reaches them by pickle."""
    (tmp_path / "program.py").write_text(SPAWNED)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOO_SOCKET_IFNAME": "lo"}
    command = [sys.executable, "-W", "ignore", "program.py", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=240)
    assert done.returncode == 0, done.stderr
    dataset = pipeline.arrays(np.arange(28)).shuffle(seed=1).batch(4)
    for rank in range(2):
        seen = [json.loads(line) for line in (tmp_path / str(rank)).read_text().splitlines()]
        assert seen == [batch.tolist() for epoch in range(2) for batch in list(dataset.epoch(epoch))[rank:6:2]]


def test_lightning_saves_where_a_dataset_has_no_state(tmp_path, caplog):
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
    assert "the order depends on timing" in told
    trainer.fit(model, free, ckpt_path=checkpoint, weights_only=False)
    assert trainer.global_step == 8


# Fabric ---------------------------------------------------------------------------------------------------------------


def fabric_run(first, last, state=None, stop=None):
    """Train with Fabric for some epochs; return the batches by epoch, and the state after `stop` batches."""
    fabric = fabrics.Fabric(accelerator="cpu", devices=1)
    model = torch.nn.Linear(6, 1)
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1))
    given = loader()
    batches = fabric.setup_dataloaders(given)
    everything = {"model": model, "optimizer": optimizer, "batches": batches}
    if state is not None:
        fabric.load(state, everything)
    found = []
    for _ in range(first, last):
        found.append([])
        for images, labels in batches:
            optimizer.zero_grad()
            fabric.backward(model(images).sum())
            optimizer.step()
            found[-1].append(labels.tolist())
            if sum(map(len, found)) == stop:
                return found, everything, fabric
    return found, everything, fabric


def test_fabric():
    found, _, _ = fabric_run(0, 3)
    assert found == epochs(3)


@pytest.mark.parametrize("stop", [2, 6, 8, 11])
def test_fabric_resumes(tmp_path, stop):
    """Fabric counts epochs from 0 in each process."""
    found, everything, fabric = fabric_run(0, 3, stop=stop)
    fabric.save(tmp_path / "state", everything)
    rest, _, _ = fabric_run(len(found) - 1, 4, tmp_path / "state")
    whole = list(itertools.chain(*epochs(4)))
    assert list(itertools.chain(*rest)) == whole[stop:]
    assert rest[-1] == epochs(4)[-1]


def test_fabric_resumes_after_an_epoch(tmp_path):
    found, everything, fabric = fabric_run(0, 2)
    fabric.save(tmp_path / "state", everything)
    rest, _, _ = fabric_run(2, 4, tmp_path / "state")
    assert found + rest == epochs(4)


FABRIC = """
import json, os, sys
import numpy as np
import torch
from lightning.fabric import Fabric
import pipeline
import pipeline.torch

folder, action = sys.argv[1:]
fabric = Fabric(accelerator="cpu", devices=int(os.environ["WORLD_SIZE"]), strategy="ddp")
fabric.launch()
fabric.seed_everything(0, verbose=False)
model = torch.nn.Linear(1, 1)
model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.001))
loader = pipeline.torch.DataLoader(pipeline.arrays(np.arange(28)).shuffle(seed=1).batch(4))
batches = fabric.setup_dataloaders(loader)
everything, seen = {"model": model, "optimizer": optimizer, "batches": batches}, []
if action == "load":
    fabric.load(folder + "/state", everything)
for _ in range(2):
    for number, batch in enumerate(batches):
        optimizer.zero_grad()
        fabric.backward(model(batch.to(torch.float32)[:, None]).sum())
        optimizer.step()
        seen.append(batch.tolist())
        if action == "save" and number == 1:
            fabric.save(folder + "/state", everything)
            break
    if action == "save":
        break
fabric.barrier()
print(json.dumps({"seen": seen, "weight": model.module.weight.item()}), flush=True)
"""


def test_fabric_in_a_group(tmp_path):
    whole, first = in_group(FABRIC, 2, tmp_path, "train"), in_group(FABRIC, 2, tmp_path, "save")
    rest = in_group(FABRIC, 2, tmp_path, "load")
    dataset = pipeline.arrays(np.arange(28)).shuffle(seed=1).batch(4)
    for rank, (every, before, after) in enumerate(zip(whole, first, rest, strict=True)):
        batches = [[batch.tolist() for batch in dataset.epoch(epoch)][rank:6:2] for epoch in range(2)]
        assert every["seen"] == batches[0] + batches[1]
        assert before["seen"] + after["seen"] == every["seen"]
        assert after["weight"] == every["weight"]
    [alone] = in_group(FABRIC, 1, tmp_path, "load")
    batches = [[batch.tolist() for batch in dataset.epoch(epoch)] for epoch in range(2)]
    assert alone["seen"] == batches[0][4:] + batches[1]
