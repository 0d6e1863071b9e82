"""TRL's SFTTrainer over queue-runner datasets, with pipeline.torch.DataLoader in place of its own loader."""

import importlib
import itertools

import numpy as np
import pytest

import pipeline

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
transformers = pytest.importorskip("transformers")
trl = pytest.importorskip("trl")
datasets = importlib.import_module("datasets")
tokenizers = importlib.import_module("tokenizers")
pt = importlib.import_module("pipeline.torch")

pytestmark = pytest.mark.filterwarnings("ignore")  # from the libraries, about themselves

ROWS, LENGTH = 22, 6


class Reading:
    """A dataset function that records its rows."""

    def __init__(self):
        self.rows = []

    def __call__(self, example):
        self.rows.append(int(example["input_ids"][0]))
        return example


def chain(reading=None):
    """Six batches of token rows; the last one is smaller. A row's first token is its number."""
    tokens = (np.arange(ROWS)[:, None] + np.arange(LENGTH)) % 32
    columns = {"input_ids": tokens, "labels": tokens, "attention_mask": np.ones_like(tokens)}
    source = pipeline.arrays(columns).shuffle(seed=1)
    return (source if reading is None else source.map(reading)).batch(4)


def epochs(count):
    return [[batch["input_ids"][:, 0].tolist() for batch in chain().epoch(epoch)] for epoch in range(count)]


def tokenizer():
    vocabulary = {f"w{i}": i for i in range(30)} | {"<pad>": 30, "<eos>": 31}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="w0"))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="<eos>")


def model():
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=32, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1
    )
    return transformers.LlamaForCausalLM(config)


class Ours(trl.SFTTrainer):
    """The trainer with pipeline's loader; it keeps the rows it was trained on."""

    def __init__(self, data, **options):
        self.data, self.seen = data, []
        super().__init__(**options)

    def get_train_dataloader(self):
        return pt.DataLoader(self.data)

    def compute_loss(self, model, inputs, *args, **options):
        self.seen.append(inputs["input_ids"][:, 0].tolist())
        return super().compute_loss(model, inputs, *args, **options)


def run(folder, data, resume=None, stop=-1, **options):
    """TRL requires a Hugging Face dataset, but only looks at its first row."""

    class Stops(transformers.TrainerCallback):
        def on_step_end(self, args, state, control, **given):
            control.should_training_stop = state.global_step == stop

    arguments = trl.SFTConfig(
        output_dir=folder,
        num_train_epochs=3,
        save_strategy="steps",
        save_steps=1,
        use_cpu=True,
        bf16=False,
        report_to=[],
        disable_tqdm=True,
        seed=3,
        dataset_kwargs={"skip_prepare_dataset": True},
        **options,
    )
    row = datasets.Dataset.from_dict({"input_ids": [[0]], "labels": [[0]]})
    made = Ours(
        data, model=model(), args=arguments, train_dataset=row, processing_class=tokenizer(), callbacks=[Stops()]
    )
    made.train(resume_from_checkpoint=resume)
    return made.seen, made.model.lm_head.weight.detach().numpy().copy(), made.state.global_step


@pytest.mark.parametrize("stop", [2, 6, 9])
def test_our_loader(tmp_path, stop):
    """It resumes at the very next batch in the right epoch, and makes no batch before it."""
    whole = list(itertools.chain(*epochs(3)))
    seen, weights, steps = run(tmp_path / "whole", chain())
    assert seen == whole
    assert steps == 18
    first, _, _ = run(tmp_path / "first", chain(), stop=stop)
    reading = Reading()
    rest, again, _ = run(tmp_path / "first", chain(reading), resume=True)
    assert first + rest == whole
    assert reading.rows == list(itertools.chain(*rest))
    assert (again == weights).all()


def test_accumulated_gradients(tmp_path):
    """Steps take four batches from six per epoch, so each second step has two."""
    seen, weights, steps = run(tmp_path / "whole", chain(), gradient_accumulation_steps=4)
    assert seen == list(itertools.chain(*epochs(3)))
    assert steps == 6
    run(tmp_path / "first", chain(), gradient_accumulation_steps=4, stop=3)
    rest, again, _ = run(tmp_path / "first", chain(), gradient_accumulation_steps=4, resume=True)
    assert rest == seen[10:]
    assert (again == weights).all()
