"""pipeline.torch: tensors from arrays, and the loader; with the real library."""

import dataclasses
import gc
import importlib
import inspect
import logging
import os
import pathlib
import subprocess
import sys
import warnings
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from orchestration import threads_since
from tracing import ArrayBytes

import pipeline

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
pt = importlib.import_module("pipeline.torch")

ROOT = pathlib.Path(__file__).parents[2]


class Pair(NamedTuple):
    image: Any
    label: Any


@dataclasses.dataclass
class Sample:
    image: Any
    box: Any


# Arrays ---------------------------------------------------------------------------------------------------------------


NUMBERS = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", ["bool", *NUMBERS, "complex64", "complex128"])
def test_tensors_share_the_memory_of_arrays(dtype):
    array = np.zeros((3, 2), dtype)
    tensor = pt.to_tensors(array)
    assert tensor.dtype == getattr(torch, dtype)
    array[1] = 1
    assert tensor[1].tolist() == [1, 1]
    assert tensor.data_ptr() == array.ctypes.data


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_dtypes_of_ml_dtypes(dtype):
    array = np.arange(4).astype(getattr(ml_dtypes, dtype))
    tensor = pt.to_tensors({"x": array})["x"]
    assert tensor.dtype == getattr(torch, dtype)
    assert tensor.data_ptr() == array.ctypes.data
    assert tensor.to(torch.float32).tolist() == [0, 1, 2, 3]


def test_what_cannot_be_shared_is_copied_without_a_warning():
    frozen = np.arange(3)
    frozen.flags.writeable = False
    swapped = np.arange(3, dtype=">i4")
    reversed_rows = np.arange(3)[::-1]
    empty = np.zeros((0, 3), ">f4")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tensors = pt.to_tensors([frozen, swapped, reversed_rows, empty, np.zeros((4, 6))[::2, ::3]])
    assert [each.tolist() for each in tensors[:3]] == [[0, 1, 2], [0, 1, 2], [2, 1, 0]]
    tensors[0][0] = 7
    assert frozen[0] == 0
    assert tensors[3].shape == (0, 3)
    assert tensors[4].shape == (2, 2)


def test_strings_and_what_is_no_array_stay():
    names, when = np.array([b"a", b"b"], object), 3
    batch = {"name": names, "when": when, "text": "abc", "x": np.zeros(2)}
    made = pt.to_tensors(batch)
    assert made["name"] is names
    assert made["when"] == 3
    assert made["text"] == "abc"
    assert torch.is_tensor(made["x"])
    fixed = np.array(["ab", "c"])
    assert pt.to_tensors(fixed) is fixed


@pytest.mark.parametrize("dtype", ["datetime64[s]", "timedelta64[ms]", "longdouble", "i4,f4"])
def test_other_dtypes_are_named(dtype):
    array = np.zeros(2, dtype)
    with pytest.raises(TypeError, match=r"component 'deep/when' is of dtype .*, which PyTorch does not have"):
        pt.to_tensors({"deep": {"when": array}})
    with pytest.raises(TypeError, match="the batch is of dtype"):
        pt.to_tensors(array)


def test_a_column_of_times_is_an_error_of_the_first_batch():
    loop = pipeline.batch([{"x": 1, "when": np.datetime64("2024-01-01")}] * 4, 2)
    with pytest.raises(TypeError, match=r"component 'when' is of dtype datetime64\[D\].*np.int64"):
        next(iter(pt.DataLoader(loop)))


def test_queues_write_into_tensors():
    queue = pipeline.FIFOQueue(20, [np.float32, np.int64], [(3,), ()])
    queue.enqueue_many([np.ones((6, 3), np.float32), np.arange(6)])
    images, labels = torch.zeros(4, 3), torch.zeros(4, dtype=torch.int64)
    queue.dequeue_many(4, out=(images, labels))
    assert images.sum() == 12
    assert labels.tolist() == [0, 1, 2, 3]
    for wrong in (torch.zeros(2, 3, requires_grad=True), torch.zeros(2, 3, dtype=torch.bfloat16)):
        with pytest.raises(ValueError, match="NumPy cannot write to the memory of this Tensor"):
            queue.dequeue_many(2, out=(wrong, labels[:2]))
    with pytest.raises(ValueError, match="not C-contiguous"):
        queue.dequeue_many(2, out=(torch.zeros(3, 2).T, labels[:2]))
    assert queue.size() == 2


# The loader -----------------------------------------------------------------------------------------------------------


def test_structures_come_back():
    pair = Pair(np.zeros(3, np.float32), 1)
    sample = Sample(np.zeros((2, 2), np.uint8), {"size": (1, 2.0), "name": "x"})
    for example, check in (
        ((np.zeros(3), 1), lambda batch: type(batch) is tuple and batch[1].dtype == torch.int64),
        ([np.zeros(3), 1], lambda batch: type(batch) is list),
        (pair, lambda batch: type(batch) is Pair and batch.image.shape == (4, 3)),
        (sample, lambda batch: type(batch) is Sample and batch.box["size"][1].dtype == torch.float64),
        ({"a": (pair, 3)}, lambda batch: type(batch["a"]) is tuple and type(batch["a"][0]) is Pair),
        (5, lambda batch: batch.tolist() == [5] * 4),
    ):
        (batch,) = pt.DataLoader(pipeline.batch([example] * 4, 4))
        assert check(batch), batch
    (batch,) = pt.DataLoader(pipeline.batch([sample] * 4, 4))
    assert batch.box["name"].tolist() == ["x"] * 4


FIRST = {"None": None, "str": "a", "strings": np.array(["a"]), "objects": np.array([None]), "list": [1], "int": 1}


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("device", [None, "cpu"])
def test_each_batch_is_converted_by_what_it_is(first, device):
    """Arrays after other values, changed dtypes, keys that appear later, and fewer in the last batch."""
    made = [
        {"x": FIRST[first]},
        {"x": np.arange(3)},
        {"x": np.ones(2, np.float32), "later": (np.zeros(1), "a")},
        {"later": np.arange(2, dtype=">i8"), "x": [np.zeros(2), np.zeros(3)]},
        {"x": [np.zeros(1)]},
        (np.arange(2), np.arange(1)),
    ]
    dataset = pipeline.dataset(range(6)).batch(1, collate=lambda rows: made[rows[0]])
    zero, one, two, three, four, five = pt.DataLoader(dataset, device=device)
    assert type(zero["x"]) is type(made[0]["x"])
    assert one["x"].tolist() == [0, 1, 2]
    assert two["x"].dtype == torch.float32
    assert two["later"][0].tolist() == [0]
    assert two["later"][1] == "a"
    assert list(three) == ["later", "x"]
    assert three["later"].tolist() == [0, 1]
    assert [each.tolist() for each in three["x"]] == [[0, 0], [0, 0, 0]]
    assert [each.tolist() for each in four["x"]] == [[0]]
    assert [each.tolist() for each in five] == [[0, 1], [0]]


def test_a_smaller_last_batch_whose_collate_returns_lists():
    dataset = pipeline.dataset([np.full(i, i) for i in range(1, 6)]).batch(2, collate=list)
    found = [[each.tolist() for each in batch] for batch in pt.DataLoader(dataset)]
    assert found == [[[1], [2, 2]], [[3, 3, 3], [4, 4, 4, 4]], [[5] * 5]]


def test_names_and_targets_of_a_collate_function():
    """As for detection: each image has its own number of boxes, and the last batch is smaller."""
    rows = [(np.full((2, 2), i, np.float32), {"boxes": np.zeros((i, 4)), "name": f"n{i}"}) for i in range(5)]
    made = list(pt.DataLoader(pipeline.dataset(rows).batch(2, collate=lambda rows: tuple(zip(*rows, strict=True)))))
    assert [len(images) for images, _ in made] == [2, 2, 1]
    targets = [target for _, targets in made for target in targets]
    assert [tuple(target["boxes"].shape) for target in targets] == [(i, 4) for i in range(5)]
    assert [target["name"] for target in targets] == [f"n{i}" for i in range(5)]
    assert all(torch.is_tensor(image) for images, _ in made for image in images)


@pytest.mark.parametrize("device", [None, "cpu"])
def test_an_error_of_a_later_batch_names_the_component(device):
    made = [{"when": None}, {"when": np.arange(2)}, {"deep": {"when": np.zeros(2, "datetime64[s]")}}]
    dataset = pipeline.dataset(range(3)).batch(1, collate=lambda rows: made[rows[0]])
    batches = iter(pt.DataLoader(dataset, device=device))
    assert next(batches) == {"when": None}
    assert next(batches)["when"].tolist() == [0, 1]
    with pytest.raises(TypeError, match=r"component 'deep/when' is of dtype datetime64\[s\], which PyTorch does not"):
        next(batches)


def test_ragged_rows():
    import pyarrow as pa

    table = pa.table({"words": [[1, 2], [], [3]], "name": ["x", "y", "z"]})
    (batch,) = pt.DataLoader(pipeline.arrow(table).batch(3, collate="row_splits"))
    values, splits = batch["words"]
    assert [values.tolist(), splits.tolist()] == [[1, 2, 3], [0, 2, 2, 3]]
    assert torch.is_tensor(values)
    assert batch["name"].tolist() == ["x", "y", "z"]


def test_no_copy_and_no_warning(recwarn):
    """Kept tensors keep their batches' arrays alive, and are not copies in PyTorch's memory."""
    rows = np.zeros((1280, 784))
    with ArrayBytes() as alive:
        before = alive()
        tensors = list(pt.DataLoader(pipeline.arrays(rows).batch(16)))
        assert rows.nbytes <= alive() - before < 1.2 * rows.nbytes
        del tensors
        assert alive() - before < 0.2 * rows.nbytes
    assert not recwarn.list


def test_batches_that_are_kept_stay_as_they_were():
    rows = np.arange(200_000 * 8).reshape(8, -1)
    kept = list(pt.DataLoader(pipeline.batch(rows.repeat(4, axis=0), 4), device="cpu", prefetch=2))
    gc.collect()
    for number, batch in enumerate(kept):
        assert (batch.numpy() == rows[number]).all()


@pytest.mark.parametrize("prefetch", [0, 1, 5])
def test_a_device(prefetch):
    source = pipeline.arrays((np.arange(20.0), np.arange(20)), shuffle=True, seed=1)
    with pt.DataLoader(source.batch(4), device="cpu", prefetch=prefetch) as loader:
        for _ in range(2):
            values, numbers = zip(*loader, strict=True)
            assert sorted(torch.cat(numbers).tolist()) == list(range(20))
            assert (torch.cat(values) == torch.cat(numbers)).all()
    with pytest.raises(RuntimeError):
        pt.DataLoader(pipeline.batch([1], 1), device="nowhere")


def test_the_stream_of_an_accelerator(monkeypatch):
    """Copies run in a separate stream; a batch's consumer waits for it, and freed memory waits for the consumer."""
    events = []

    class Stream(torch.cpu.Stream):
        def wait_stream(self, other):
            events.append(("wait", other is side))

    main, side = Stream(), Stream()

    class Module:
        Stream = staticmethod(lambda: side)
        current_stream = staticmethod(lambda: main)

        class stream:
            def __init__(self, chosen):
                assert chosen is side

            def __enter__(self):
                events.append("in")

            def __exit__(self, *error):
                events.append("out")

    class Device:
        type = "cuda"

    class Tensor(torch.Tensor):
        def to(self, device, non_blocking):
            assert isinstance(device, Device)
            assert non_blocking
            events.append("copy")
            return self

        def pin_memory(self):
            events.append("pin")
            return self

        def record_stream(self, stream):
            events.append(("record", stream is main))

    def collate(rows):
        return torch.tensor(rows).as_subclass(Tensor)

    monkeypatch.setattr(torch, "get_device_module", lambda device: Module)
    monkeypatch.setattr(torch, "device", lambda name: Device())
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    dataset = pipeline.dataset(range(4)).batch(2, collate=collate)
    loader = pt.DataLoader(dataset, device="cuda", pin_memory=True, prefetch=1)
    events.clear()
    batches = iter(loader)
    assert next(batches).tolist() == [0, 1]
    copied = ["in", "pin", "copy", "out"]
    given = [("wait", True), ("record", True)]
    assert [each for each in events if each in copied or each in given] == copied * 2 + given
    events.clear()
    assert next(batches).tolist() == [2, 3]
    assert events == given


def test_pin_memory_without_an_accelerator(caplog):
    if torch.accelerator.is_available():
        pytest.skip("there is an accelerator")
    with caplog.at_level(logging.WARNING, "pipeline.batches"), warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = pt.DataLoader(pipeline.batch(np.arange(4), 2), pin_memory=True)
        assert [each.tolist() for each in loader] == [[0, 1], [2, 3]]
    assert "pin_memory does nothing, as there is no accelerator" in caplog.text


def test_a_loader_that_is_dropped_leaves_no_thread():
    begun = threads_since()
    loader = pt.DataLoader(pipeline.dataset(np.arange(1000)).batch(2).prefetch(3), device="cpu", prefetch=3)
    for _ in loader:
        break
    del loader, _
    gc.collect()
    for thread in begun():
        thread.join(120)
    assert not begun()


HALF_READ = """
import sys
import numpy as np
first, which = sys.argv[1:]
if first == "torch":
    import torch
import pipeline
import pipeline.torch
import torch

with open("lines.txt", "w") as file:
    file.writelines(f"{i}\\n" for i in range(1000))
lines = pipeline.text("lines.txt")

def numbers():
    try:
        yield from range(1000)
    finally:
        np.zeros(1)

datasets = {
    "rows": pipeline.arrays(np.arange(1000)).shuffle().batch(4),
    "lines": lines.batch(4),
    "thread": lines.shuffle(100).batch(4).prefetch(2),
    "workers": lines.map(len, workers=2).batch(4),
    "generator": pipeline.dataset(numbers).map(torch.tensor).batch(4),
    "queue": pipeline.shuffle_batch(lines, 4),
    "torch": pipeline.torch.dataset(torch.utils.data.DataLoader(range(1000), batch_size=2)).batch(4),
}
for name, data in datasets.items():
    kept, dropped, in_cycle, loader = (iter(data) for _ in range(4)) if which == "iterators" else (
        iter(pipeline.torch.DataLoader(data, device=device)) for device in (None, "cpu", None, "cpu")
    )
    for each in (kept, dropped, in_cycle, loader):
        next(each)
    globals()[name] = kept
    cycle = [in_cycle]
    cycle.append(cycle)
    sys.kept = [*getattr(sys, "kept", []), loader]
    del dropped, in_cycle, cycle, loader, kept, each
print("done")
"""


@pytest.mark.parametrize("first", ["torch", "pipeline"])
@pytest.mark.parametrize("which", ["iterators", "loaders"])
def test_nothing_is_printed_when_iterators_that_were_half_read_are_dropped(tmp_path, first, which):
    """In the middle of the program and at its end, whichever library was imported first."""
    (tmp_path / "program.py").write_text(HALF_READ)
    command = [sys.executable, "-W", "ignore", "program.py", first, which]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_a_state_with_batches_on_the_device(tmp_path):
    def loader():
        source = pipeline.arrays(np.arange(40), shuffle=True, seed=1)
        return pt.DataLoader(source.shuffle(10, seed=2).batch(4).prefetch(2), device="cpu", prefetch=3)

    one = loader()
    batches = iter(one)
    for _ in range(4):
        next(batches)
    torch.save({"input": one.state_dict()}, tmp_path / "checkpoint.pt")
    rest = [each.tolist() for each in batches]
    other = loader()
    other.load_state_dict(torch.load(tmp_path / "checkpoint.pt", weights_only=True)["input"])
    assert [each.tolist() for each in other] == rest
    assert [each.tolist() for each in other] == [each.tolist() for each in one]


def test_stateful_checkpoints(tmp_path):
    """With torch.distributed.checkpoint, which also asks a new loader for its state, as a template for loading."""
    from torch.distributed import checkpoint
    from torch.distributed.checkpoint.stateful import Stateful

    def loader():
        lines = pipeline.text(["examples/data/digits.csv"], num_epochs=2, seed=1)
        return pt.DataLoader(pipeline.batch(lines, 100, deterministic=True))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning about the single process
        one, model = loader(), torch.nn.Linear(2, 2)
        assert isinstance(one, Stateful)
        batches = iter(one)
        for _ in range(3):
            next(batches)
        checkpoint.save({"model": model.state_dict(), "loader": one}, checkpoint_id=tmp_path / "three")
        rest = [each.tolist() for each in batches]
        other = loader()
        checkpoint.load({"model": model.state_dict(), "loader": other}, checkpoint_id=tmp_path / "three")
        assert [each.tolist() for each in other] == rest
    assert len(rest) == 2 * 1797 // 100 - 3


def test_what_a_newcomer_passes():
    with pytest.raises(TypeError, match=r"DataLoader takes batches: .* add \.batch\(n\)"):
        pt.DataLoader(pipeline.arrays(np.arange(3)))
    with pytest.raises(TypeError, match=r"takes batches: .*: write pipeline\.torch\.dataset\(\.\.\.\)\.batch"):
        pt.DataLoader(torch.utils.data.TensorDataset(torch.ones(3)))
    with pytest.raises(TypeError, match="IterableDataset takes a dataset of batches"):
        pt.IterableDataset([1, 2])
    assert "dataset" in repr(pt.DataLoader(pipeline.dataset([1]).batch(1)))


def test_the_module_is_an_attribute_too():
    assert pipeline.torch is pt
    assert sorted(pt.__all__) == pt.__all__
    assert os.path.basename(pt.__file__) == "torch.py"


HINTS = {
    "batch_size": "Write it into the dataset: .batch(...).",
    "num_workers": "Write it into the dataset: .map(function, workers=...).",
    "drop_last": "Write it into the dataset: .batch(100, drop_remainder=...).",
    "shuffle": "Write it into the dataset: .shuffle(seed=1).",
    "collate_fn": "Write it into the dataset: .batch(100, collate=...).",
    "prefetch_factor": "Write it into the dataset: .prefetch(...).",
    "sampler": "Write it into the dataset: .shuffle(seed=1), .sample(...) or .shard(...).",
    "batch_sampler": "Write it into the dataset: .batch(...), .bucket(...) or .pack(...).",
    "generator": "Write it into the dataset: .shuffle(seed=...).",
    "worker_init_fn": "Write it into the dataset: .map(function, workers=pipeline.processes(4, setup=...)).",
    "multiprocessing_context": (
        "Write it into the dataset: .map(function, workers=pipeline.processes(4, method=...))."
    ),
    "persistent_workers": (
        "Write it into the dataset: .map(function, workers=workers), all within "
        "`with pipeline.processes(4) as workers:`."
    ),
    "timeout": "Write it into the dataset: .prefetch(1), and call loader.loop.next(timeout=...).",
    "in_order": "Write it into the dataset: .map(function, workers=4, ordered=...).",
}


@pytest.mark.parametrize("value", [1, 0, None, False])
@pytest.mark.parametrize("name", ["DataLoader", "IterableDataset"])
def test_options_of_torchs_loader_are_told_where_they_belong(name, value):
    loop = pipeline.arrays(np.arange(10)).batch(5)
    for option, hint in HINTS.items():
        with pytest.raises(TypeError) as caught:
            getattr(pt, name)(loop, **{option: value})
        assert str(caught.value) == f"{name}.__init__() got an unexpected keyword argument '{option}'. {hint}"


def test_every_option_of_torchs_loader_is_refused_or_has_its_meaning():
    given = inspect.signature(torch.utils.data.DataLoader).parameters
    assert set(given) - {"dataset", "pin_memory", "pin_memory_device"} == set(HINTS)
    with pytest.raises(TypeError, match=r"'pin_memory_device'\. Did you mean 'pin_memory'"):
        pt.DataLoader(pipeline.arrays(np.arange(10)).batch(5), pin_memory_device="cuda")


# Datasets -------------------------------------------------------------------------------------------------------------


def pictures(seed=1):
    """A dataset: shuffled, through a function, in batches."""
    source = pipeline.arrays({"image": np.zeros((20, 3), np.float32), "label": np.arange(20)})
    return source.shuffle(seed=seed).map(lambda row: {**row, "image": row["image"] + row["label"]}).batch(4)


def test_a_dataset_as_tensors():
    dataset = pictures()
    loader = pt.DataLoader(dataset, device="cpu", prefetch=2)
    for epoch in range(2):
        for tensors, arrays in zip(loader, dataset.epoch(epoch), strict=True):
            assert torch.is_tensor(tensors["image"])
            assert tensors["label"].tolist() == arrays["label"].tolist()
            assert (tensors["image"] == tensors["label"][:, None]).all()
    assert len(loader) == 5


def test_the_checkpoint_of_a_dataset_without_a_seed(tmp_path):
    """With torch.distributed.checkpoint, which also asks a new loader for its state, as a template for loading."""
    from torch.distributed import checkpoint

    def labels(batches):
        return [batch["label"].tolist() for batch in batches]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning about the single process
        one = pt.DataLoader(pictures(None))
        batches = iter(one)
        for _ in range(2):
            next(batches)
        checkpoint.save({"loader": one}, checkpoint_id=tmp_path / "two")
        rest = labels(batches)
        other = pt.DataLoader(pictures(None))
        checkpoint.load({"loader": other}, checkpoint_id=tmp_path / "two")
    assert labels(other) == rest
    assert labels(other) == labels(one)
    assert labels(other) == labels(one)


def test_a_dataset_of_torch_as_a_dataset_of_ours():
    class Squares(torch.utils.data.Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, index):
            return {"x": torch.full((2,), float(index)), "y": index**2}

    (batch,) = pt.DataLoader(pt.dataset(Squares()).batch(6))
    assert batch["y"].tolist() == [0, 1, 4, 9, 16, 25]
    (batch,) = pt.DataLoader(pipeline.dataset(Squares()).batch(6))
    assert batch["x"].shape == (6, 2)
