"""pipeline.torch.DataLoader under Accelerate: prepare, accumulation, gather_for_metrics, states, skip_first_batches."""

import importlib
import itertools

import numpy as np
import pytest
from torch_group import in_group

import pipeline

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
accelerate = pytest.importorskip("accelerate")
pt = importlib.import_module("pipeline.torch")

pytestmark = pytest.mark.filterwarnings("ignore")  # from the library, about itself

ROWS = 22


@pytest.fixture(autouse=True)
def alone():
    """Accelerate keeps its state in its classes."""
    yield
    accelerate.state.GradientState._reset_state()  # Accelerate's own tests do so
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)  # as above


def chain():
    """Six batches; the last one is smaller."""
    return pipeline.arrays(np.arange(ROWS)).shuffle(seed=1).batch(4)


def made(steps=1):
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=steps)
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    loader = pt.DataLoader(chain(), device=accelerator.device)
    model, optimizer, prepared = accelerator.prepare(model, optimizer, loader)
    assert prepared is loader
    return accelerator, model, optimizer, loader


def epochs(count):
    return [[batch.tolist() for batch in chain().epoch(epoch)] for epoch in range(count)]


def train(accelerator, model, optimizer, batches):
    """Train one epoch; return the batches, and the row sums by which the weight changed at each step."""
    seen, changes = [], []
    for batch in batches:
        seen.append(batch.tolist())
        with accelerator.accumulate(model):
            before = model.weight.item()
            accelerator.backward(
                -model(batch.to(torch.float32)[:, None]).sum() * accelerator.gradient_accumulation_steps
            )
            optimizer.step()
            optimizer.zero_grad()
            changes.append(round(model.weight.item() - before))
    return seen, changes


def sums(batches, steps):
    """Return the weight changes if gradients are accumulated over `steps` batches, never beyond an epoch."""
    found = []
    for number in range(len(batches)):
        found.append(0)
        if (number + 1) % steps == 0 or number == len(batches) - 1:
            found[-1] = sum(sum(each) for each in batches[number // steps * steps : number + 1])
    return found


@pytest.mark.parametrize("steps", [1, 2, 4, 5])
def test_gradients_are_accumulated_within_an_epoch(steps):
    """An epoch's last step has fewer batches; the next epoch starts empty."""
    accelerator, model, optimizer, loader = made(steps)
    for epoch in epochs(3):
        seen, changes = train(accelerator, model, optimizer, loader)
        assert seen == epoch
        assert changes == sums(epoch, steps)


def test_an_epoch_that_was_left_does_not_hide_the_end_of_another():
    """Such as a validation within an epoch, where a program looks at some batches."""
    accelerator, model, optimizer, loader = made(4)
    validation = accelerator.prepare(pt.DataLoader(chain()))

    def batches():
        for batch in loader:
            for _ in validation:
                break
            assert len(list(validation)) == 6
            yield batch

    for epoch in epochs(2):
        assert train(accelerator, model, optimizer, batches()) == (epoch, sums(epoch, 4))


@pytest.mark.parametrize("stop", [2, 6, 8, 12])
def test_a_state_with_the_model(tmp_path, stop):
    whole = list(itertools.chain(*epochs(4)))
    accelerator, _, _, loader = made()
    count = 0
    while count < stop:
        for _ in loader:
            count += 1
            if count == stop:
                break
    accelerator.save_state(tmp_path)
    assert (tmp_path / "dl_state_dict.bin").exists()
    accelerator.free_memory()
    other, _, _, loader = made()
    other.load_state(tmp_path)
    rest = [batch.tolist() for batch in loader]
    rest = rest or [batch.tolist() for batch in loader]  # the last batch's state has none left
    assert rest == whole[stop:][: len(rest)]
    assert len(rest) == 6 - stop % 6
    assert [batch.tolist() for batch in loader] == whole[stop + len(rest) :][:6]


def test_a_state_after_the_loop(tmp_path):
    accelerator, _, _, loader = made()
    list(loader)
    accelerator.save_state(tmp_path)
    accelerator.free_memory()
    other, _, _, loader = made()
    other.load_state(tmp_path)
    assert [batch.tolist() for batch in loader] == epochs(2)[1]


@pytest.mark.parametrize("loads", [False, True])
@pytest.mark.parametrize("steps", [1, 4])
def test_skip_first_batches(tmp_path, loads, steps):
    """In a program that counts its epochs and steps; if it loads a state too, no batch is skipped twice."""
    accelerator, model, optimizer, loader = made(steps)
    list(loader)
    for batch, _ in zip(loader, range(4), strict=False):
        assert len(batch)
    accelerator.save_state(tmp_path)
    accelerator.free_memory()
    accelerator, model, optimizer, loader = made(steps)
    if loads:
        accelerator.load_state(tmp_path)
    loader.set_epoch(1)
    skipped = accelerator.skip_first_batches(loader, 4)
    assert train(accelerator, model, optimizer, skipped) == (epochs(2)[1][4:], sums(epochs(2)[1][4:], steps))
    loader.set_epoch(2)
    assert train(accelerator, model, optimizer, loader) == (epochs(3)[2], sums(epochs(3)[2], steps))


def test_the_state_after_skipping(tmp_path):
    accelerator, _, _, loader = made()
    for _ in zip(accelerator.skip_first_batches(loader, 2), range(2), strict=False):
        pass
    accelerator.save_state(tmp_path)
    accelerator.free_memory()
    accelerator, _, _, loader = made()
    accelerator.load_state(tmp_path)
    rest = [batch.tolist() for batch in loader]
    assert rest in (epochs(1)[0][4:], epochs(1)[0][5:])  # `zip` has taken one more


def test_gather_for_metrics():
    accelerator, _, _, loader = made()
    found = [accelerator.gather_for_metrics(batch).tolist() for batch in loader]
    assert found == epochs(1)[0]


GROUP = """
import json, sys
import numpy as np
import torch
from accelerate import Accelerator
import pipeline
import pipeline.torch

rows, folder, action = int(sys.argv[1]), sys.argv[2], sys.argv[3]
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
torch.manual_seed(0)
dataset = pipeline.arrays(np.arange(rows)).shuffle(seed=1).batch(4, drop_remainder=True)
loader, model = pipeline.torch.DataLoader(dataset), torch.nn.Linear(1, 1, bias=False)
loader, model, optimizer = accelerator.prepare(loader, model, torch.optim.SGD(model.parameters(), lr=0.001))
said = {"batches": [], "gathered": [], "steps": []}
if action == "load":
    accelerator.load_state(folder)
for _ in range(2):
    for number, batch in enumerate(loader):
        with accelerator.accumulate(model):
            accelerator.backward(model(batch.to(torch.float32)[:, None]).sum())
            said["steps"].append(accelerator.sync_gradients)
            optimizer.step()
            optimizer.zero_grad()
        said["batches"].append(batch.tolist())
        said["gathered"].append(accelerator.gather_for_metrics(batch).tolist())
        if action == "save" and number == 1:
            accelerator.save_state(folder)
            break
    if action == "save":
        break
said["weight"] = accelerator.unwrap_model(model).weight.item()
accelerator.wait_for_everyone()
accelerator.end_training()
print(json.dumps(said), flush=True)
"""


def group(rows, folder, action, world=2):
    return in_group(GROUP, world, rows, folder, action, ACCELERATE_USE_CPU="true")


def test_a_group(tmp_path):
    """Seven batches in two processes: each gets three, and the last is a step by itself."""
    one, two = group(28, tmp_path, "train")
    assert one["weight"] == two["weight"]
    assert one["steps"] == two["steps"] == [False, True, True] * 2
    dataset = pipeline.arrays(np.arange(28)).shuffle(seed=1).batch(4)
    for epoch in range(2):
        whole = [batch.tolist() for batch in dataset.epoch(epoch)]
        assert one["batches"][epoch * 3 : epoch * 3 + 3] == whole[0:6:2]
        assert two["batches"][epoch * 3 : epoch * 3 + 3] == whole[1:6:2]
    assert one["gathered"] == two["gathered"]
    assert one["gathered"] == [mine + other for mine, other in zip(one["batches"], two["batches"], strict=True)]


def test_the_state_of_a_group(tmp_path):
    whole = group(28, tmp_path, "train")
    first = group(28, tmp_path, "save")
    rest = group(28, tmp_path, "load")
    for every, before, after in zip(whole, first, rest, strict=True):
        assert before["batches"] + after["batches"] == every["batches"]
        assert after["steps"] == every["steps"][2:]
        assert abs(after["weight"] - every["weight"]) < 1e-6
    [alone] = group(28, tmp_path, "load", 1)
    dataset = pipeline.arrays(np.arange(28)).shuffle(seed=1).batch(4)
    batches = [[batch.tolist() for batch in dataset.epoch(epoch)] for epoch in range(2)]
    assert alone["batches"] == batches[0][4:] + batches[1]


DATASETS = """
import json
import numpy as np
import torch
from accelerate import Accelerator
import pipeline
import pipeline.torch

accelerator = Accelerator(cpu=True)
source = pipeline.arrays(np.arange(24), shuffle=True, seed=1)
said = {}
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


def test_an_iterable_dataset_in_a_group():
    one, two = in_group(DATASETS, 2, ACCELERATE_USE_CPU="true")
    assert sorted(np.concatenate(one["dispatched"] + two["dispatched"]).tolist()) == list(range(24))
    assert "Accelerate splits the datasets" in one["error"]
    assert "Accelerate splits the datasets" in two["error"]
