"""Hugging Face's Trainer over queue-runner datasets, with its own loader and with pipeline.torch.DataLoader."""

import importlib
import itertools

import numpy as np
import pytest
from torch_group import in_group

import pipeline

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
transformers = pytest.importorskip("transformers")
pt = importlib.import_module("pipeline.torch")

pytestmark = pytest.mark.filterwarnings("ignore")  # from the library, about itself

ROWS = 22


class Model(torch.nn.Module):
    """Keeps the rows it was trained on."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.seen = []

    def forward(self, row, **others):
        if self.training:
            self.seen.append(row.tolist())
        return {"loss": self.layer(row.to(torch.float32)[:, None]).mean(), "logits": row}


class Reading:
    """A dataset function that records its rows."""

    def __init__(self):
        self.rows = []

    def __call__(self, example):
        self.rows.append(int(example["row"]))
        return example


def examples(reading):
    return pipeline.arrays({"row": np.arange(ROWS)}).map(reading)


class Ours(transformers.Trainer):
    """The Trainer with pipeline's loader."""

    def get_train_dataloader(self):
        return pt.DataLoader(self.train_dataset)


def run(folder, trainer, dataset, resume=None, stop=-1, **options):
    torch.manual_seed(0)
    model = Model()
    arguments = transformers.TrainingArguments(
        output_dir=folder,
        per_device_train_batch_size=4,
        num_train_epochs=3,
        save_strategy="steps",
        save_steps=1,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        seed=3,
        **options,
    )

    class Stops(transformers.TrainerCallback):
        def on_step_end(self, args, state, control, **given):
            control.should_training_stop = state.global_step == stop

    made = trainer(model=model, args=arguments, train_dataset=dataset, callbacks=[Stops()])
    made.train(resume_from_checkpoint=resume)
    return model.seen, model.layer.weight.item(), made


def chain(reading=None):
    """Six batches; the last one is smaller."""
    source = pipeline.arrays({"row": np.arange(ROWS)}).shuffle(seed=1)
    return (source if reading is None else source.map(reading)).batch(4)


def epochs(count):
    return [[batch["row"].tolist() for batch in chain().epoch(epoch)] for epoch in range(count)]


@pytest.mark.parametrize("stop", [2, 6, 9, 12])
def test_our_loader(tmp_path, stop):
    """It resumes at the very next batch in the right epoch, and makes no batch before it."""
    whole = list(itertools.chain(*epochs(3)))
    seen, weight, made = run(tmp_path / "whole", Ours, chain())
    assert seen == whole
    assert made.state.global_step == 18
    first, _, _ = run(tmp_path / "first", Ours, chain(), stop=stop)
    reading = Reading()
    rest, again, _ = run(tmp_path / "first", Ours, chain(reading), resume=True)
    assert first + rest == whole
    assert reading.rows == list(itertools.chain(*rest))
    assert again == weight


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_our_loader_with_accumulated_gradients(tmp_path, stop):
    """Steps take four batches from six per epoch, so each second step has two."""
    whole, weight, made = run(tmp_path / "whole", Ours, chain(), gradient_accumulation_steps=4)
    assert made.state.global_step == 6
    run(tmp_path / "first", Ours, chain(), gradient_accumulation_steps=4, stop=stop)
    rest, again, _ = run(tmp_path / "first", Ours, chain(), gradient_accumulation_steps=4, resume=True)
    assert whole == list(itertools.chain(*epochs(3)))
    assert rest == whole[stop // 2 * 6 + stop % 2 * 4 :]
    assert again == weight


@pytest.mark.parametrize("stop", [2, 6, 9])
def test_its_own_loader_over_examples(tmp_path, stop):
    """An indexed dataset is a map-style one: the Trainer shuffles it, and resumes without reading skipped rows."""
    whole, weight, _ = run(tmp_path / "whole", transformers.Trainer, examples(Reading()))
    assert [len(batch) for batch in whole] == [4, 4, 4, 4, 4, 2] * 3
    for epoch in range(3):
        assert sorted(itertools.chain(*whole[epoch * 6 : epoch * 6 + 6])) == list(range(ROWS))
    first, _, _ = run(tmp_path / "first", transformers.Trainer, examples(Reading()), stop=stop)
    reading = Reading()
    rest, again, _ = run(tmp_path / "first", transformers.Trainer, examples(reading), resume=True)
    assert first + rest == whole
    assert sorted(reading.rows) == sorted(itertools.chain(*rest))
    assert again == weight


def test_evaluation_and_prediction(tmp_path):
    class Evaluates(Ours):
        def get_eval_dataloader(self, eval_dataset=None):
            return pt.DataLoader(chain())

        def get_test_dataloader(self, test_dataset):
            return pt.DataLoader(test_dataset)

    _, _, made = run(tmp_path, Evaluates, chain(), stop=1)
    assert made.evaluation_loop(made.get_eval_dataloader(), "evaluation").num_samples == ROWS
    assert made.predict(chain()).predictions[-1].tolist() == list(itertools.chain(*epochs(1)[0]))


GROUP = """
import json, sys
import numpy as np
import torch
import transformers
import pipeline
import pipeline.torch

folder, action = sys.argv[1:]

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.seen = []

    def forward(self, row, **others):
        self.seen.append(row.tolist())
        return {"loss": self.layer(row.to(torch.float32)[:, None]).mean()}

class Ours(transformers.Trainer):
    def get_train_dataloader(self):
        return pipeline.torch.DataLoader(pipeline.arrays({"row": np.arange(28)}).shuffle(seed=1).batch(4))

class Stops(transformers.TrainerCallback):
    def on_step_end(self, args, state, control, **given):
        control.should_training_stop = action == "save" and state.global_step == 2

torch.manual_seed(0)
model = Model()
arguments = transformers.TrainingArguments(
    output_dir=folder, num_train_epochs=2, save_strategy="steps", save_steps=1, use_cpu=True, report_to=[],
    disable_tqdm=True, ddp_backend="gloo",
)
trainer = Ours(model=model, args=arguments, callbacks=[Stops()])
trainer.train(resume_from_checkpoint=True if action == "load" else None)
weight = model.layer.weight.item()
torch.distributed.barrier()
torch.distributed.destroy_process_group()
print(json.dumps({"seen": model.seen, "weight": weight}), flush=True)
"""


def test_a_group(tmp_path):
    whole, first = in_group(GROUP, 2, tmp_path / "whole", "train"), in_group(GROUP, 2, tmp_path / "first", "save")
    rest = in_group(GROUP, 2, tmp_path / "first", "load")
    dataset = pipeline.arrays(np.arange(28)).shuffle(seed=1).batch(4)
    for rank, (every, before, after) in enumerate(zip(whole, first, rest, strict=True)):
        batches = [[batch.tolist() for batch in dataset.epoch(epoch)][rank:6:2] for epoch in range(2)]
        assert every["seen"] == batches[0] + batches[1]
        assert before["seen"] + after["seen"] == every["seen"]
        assert after["weight"] == every["weight"]
