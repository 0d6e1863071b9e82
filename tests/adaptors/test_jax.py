"""pipeline.jax: batches as JAX arrays. `make test-jax` installs it; elsewhere these tests are skipped."""

import collections
import dataclasses
import json
import logging
import os
import pathlib
import re
import socket
import subprocess
import sys

import numpy as np
import pytest
from helpers import raises, run_script

import pipeline

ROOT = pathlib.Path(__file__).parents[2]

Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass(frozen=True)
class Example:
    image: object
    label: object


@pytest.fixture
def jax():
    library = pytest.importorskip("jax", reason="JAX is large: make test-jax installs it")
    assert len(library.devices()) == 8
    return library


@pytest.fixture
def over_all(jax):
    """Return the sharding of rows over all devices."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))


def rows(count=64):
    numbers = np.arange(count, dtype=np.int32)
    return {"x": np.stack([numbers, -numbers], axis=1).astype(np.float32), "n": numbers}


def loop(count=64, size=8):
    return pipeline.arrays(rows(count)).batch(size)


def numbers(batch):
    assert batch["x"][:, 0].tolist() == [-x for x in batch["x"][:, 1].tolist()] == batch["n"].tolist()
    return batch["n"].tolist()


STRUCTURES = {
    "tuple": lambda a, b: (a, b),
    "list": lambda a, b: [a, b],
    "dict": lambda a, b: {"b": a, "a": b},
    "named tuple": Pair,
    "dataclass": Example,
    "nested": lambda a, b: {"x": (a, {"y": b}), "z": Pair(a, [a, (b,)])},
    "dataclasses": lambda a, b: (Example(a, b), {"more": Example(b, a)}),
    "bare": lambda a, b: a,
}


@pytest.mark.parametrize("kind", STRUCTURES)
def test_structures_stay(jax, kind):
    examples = [STRUCTURES[kind](np.float32([i, 2 * i]), np.int32(i)) for i in range(8)]
    [expected] = pipeline.batch(examples, 8)
    [got] = pipeline.jax.DataLoader(pipeline.batch(examples, 8))

    def compare(one, other):
        assert type(one) is type(other) or isinstance(one, np.ndarray)
        if isinstance(one, np.ndarray):
            assert isinstance(other, jax.Array)
            assert one.dtype == other.dtype
            assert one.tolist() == other.tolist()
        elif isinstance(one, dict):
            assert list(one) == list(other) or sorted(one) == sorted(other)
            for key in one:
                compare(one[key], other[key])
        elif isinstance(one, Example):
            compare(vars(one), vars(other))
        else:
            assert len(one) == len(other)
            for pair in zip(one, other, strict=True):
                compare(*pair)

    compare(expected, got)


def test_epochs(jax):
    source = pipeline.arrays(rows(), shuffle=True, seed=1)
    with pipeline.jax.DataLoader(source.batch(8)) as loader:
        assert len(loader) == 8
        epochs = [[i for batch in loader for i in numbers(batch)] for _ in range(3)]
    assert all(sorted(epoch) == list(range(64)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]


def test_a_device(jax):
    device = jax.devices()[5]
    for batch in pipeline.jax.DataLoader(loop(), device):
        assert batch["x"].devices() == batch["n"].devices() == {device}


def test_a_layout_over_several_devices(jax, over_all):
    got = []
    for batch in pipeline.jax.DataLoader(loop(size=16), over_all):
        for array in batch.values():
            assert array.sharding.is_equivalent_to(over_all, array.ndim)
            assert [shard.data.shape[0] for shard in array.addressable_shards] == [2] * 8
        got += numbers(jax.device_get(batch))
    assert got == list(range(64))


def test_a_layout_for_each_component(jax, over_all):
    first = jax.devices()[0]
    examples = [Example({"a": np.float32([i]), "b": np.int32(i)}, np.int32(i)) for i in range(16)]
    for image, wanted in (({"a": over_all, "b": first}, {"a": 8, "b": 1}), (over_all, {"a": 8, "b": 8})):
        [got] = pipeline.jax.DataLoader(pipeline.batch(examples, 16), Example(image, first))
        assert {name: len(array.devices()) for name, array in got.image.items()} == wanted
        assert got.label.devices() == {first}
    [got] = pipeline.jax.DataLoader(loop(16, 16), {"x": over_all, "n": None})
    assert len(got["x"].devices()) == 8
    assert len(got["n"].devices()) == 1


def test_devices_that_do_not_fit(jax, over_all):
    for device in ("cpu", 3, {"x": "cpu"}):
        with raises(TypeError, "device must be a jax.Device or a jax.sharding.Sharding, not "):
            pipeline.jax.DataLoader(loop(), device)
    with raises(ValueError, "component 'n' of shape (6,) cannot be laid out as NamedSharding("):
        next(iter(pipeline.jax.DataLoader(loop(size=6), over_all)))
    two = jax.sharding.NamedSharding(over_all.mesh, jax.sharding.PartitionSpec("data", None))
    with raises(ValueError, "component 'n' of shape (8,) cannot be laid out as NamedSharding("):
        next(iter(pipeline.jax.DataLoader(loop(), two)))
    with pytest.raises(ValueError, match="tree prefix"):
        next(iter(pipeline.jax.DataLoader(loop(), (over_all, over_all))))


def test_batches_are_made_ahead(jax):
    for ahead in (0, 1, 5):
        batches = iter(loop())
        with pipeline.jax.DataLoader(batches, prefetch=ahead) as loader:
            iterator = iter(loader)
            assert numbers(next(iterator)) == list(range(8))
            assert batches.delivered[0] == 1 + ahead
            assert [i for batch in iterator for i in numbers(batch)] == list(range(8, 64))
    for bad, error in ((-1, ValueError), (65, ValueError), (1.5, TypeError)):
        with pytest.raises(error, match="prefetch must be"):
            pipeline.jax.DataLoader(loop(), prefetch=bad)


@pytest.mark.parametrize("stop", [0, 1, 5, 7, 8])
def test_states_know_of_what_was_made_ahead(jax, stop):
    def made():
        source = pipeline.arrays(rows(), shuffle=True, seed=1)
        return pipeline.jax.DataLoader(source.shuffle(21, seed=2).batch(8).prefetch(2), prefetch=3)

    with made() as loader:
        whole = [[numbers(batch) for batch in loader] for _ in range(2)]
    with made() as loader:
        iterator = iter(loader)
        for _ in range(stop):
            next(iterator)
        if stop == 8:
            assert next(iterator, None) is None
        state = json.loads(json.dumps(loader.state_dict()))
    with made() as loader:
        loader.load_state_dict(state)
        rest = [[numbers(batch) for batch in loader] for _ in range(1 if stop == 8 else 2)]
    assert rest == (whole[1:] if stop == 8 else [whole[0][stop:], whole[1]])


@pytest.mark.parametrize("workers", [None, "processes"])
def test_memory_that_is_used_again_changes_no_array(jax, workers):
    """JAX shares large arrays' memory. The queue refills the memory of dropped batches, and workers refill theirs."""
    data = np.arange(64 * 40_000, dtype=np.float32).reshape(64, 40_000)  # batches with 1.28 MB each
    dataset = pipeline.dataset(data)
    if workers is not None:
        dataset = dataset.map(np.copy, workers=pipeline.processes(1))
    with pipeline.jax.DataLoader(dataset.batch(8).prefetch(2)) as loader:
        for _ in range(3):
            arrays = list(loader)
            shared = [np.asarray(array).ctypes.data for array in arrays]
            assert len(set(shared)) == 8
            for i, array in enumerate(arrays):
                assert (np.asarray(array) == data[8 * i : 8 * i + 8]).all()


def test_64_bits(jax, caplog):
    examples = [{"id": np.int64(i), "big": np.uint64(i), "value": i / 3, "small": np.int8(i)} for i in range(4)]
    loader = pipeline.jax.DataLoader(pipeline.batch(examples, 2))
    with caplog.at_level(logging.WARNING, "pipeline"):
        for batch in loader:
            assert {name: str(array.dtype) for name, array in batch.items()} == {
                "id": "int32",
                "big": "uint32",
                "value": "float32",
                "small": "int8",
            }
    [record] = caplog.records
    assert record.name == "pipeline.batches"
    assert record.getMessage().endswith(
        ": jax_enable_x64 is not set, so JAX converts id from int64 to int32, big from uint64 to uint32, "
        "value from float64 to float32"
    )


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 2**40])
def test_an_integer_that_does_not_fit(jax, number):
    ids = np.array([1, 2, 3, number])
    loader = pipeline.jax.DataLoader(pipeline.batch([{"id": each} for each in ids], 2), prefetch=0)
    got = iter(loader)
    assert next(got)["id"].tolist() == [1, 2]
    text = f"component 'id' holds {number}, for which the int32 that JAX makes of int64 is too small: set jax.config"
    with raises(pipeline.InvalidArgumentError, text):
        next(got)


def test_64_bits_in_another_order(jax):
    """With other byte orders and dimension orders."""
    for rows in (np.arange(6, dtype=">i8"), np.arange(6).reshape(3, 2).T, np.arange(12)[::2]):
        loop = pipeline.batch([rows], 1)
        [batch] = pipeline.jax.DataLoader(loop, prefetch=0)
        assert batch.dtype == "int32"
        assert batch.tolist() == [rows.tolist()]
        large = np.where(rows == rows.max(), 2**40, rows).astype(rows.dtype)
        for order in ("C", "F"):
            loop = pipeline.dataset([large]).batch(1, collate=lambda rows, order=order: {"id": rows[0].copy(order)})
            with raises(pipeline.InvalidArgumentError, f"component 'id' holds {2**40}, for which"):
                next(iter(pipeline.jax.DataLoader(loop)))


def test_64_bits_that_are_wanted(jax):
    script = """
import numpy as np, pipeline, jax
jax.config.update("jax_enable_x64", True)
[batch] = pipeline.jax.DataLoader(pipeline.batch([(2**40 + i, 1 / 3) for i in range(3)], 3))
assert batch[0].tolist() == [2**40, 2**40 + 1, 2**40 + 2] and batch[1].tolist() == [1 / 3] * 3
print(batch[0].dtype, batch[1].dtype)
"""
    assert run_script(script).stdout == "int64 float64\n"


def test_dtypes(jax):
    import ml_dtypes

    for dtype in (np.bool_, np.float16, ml_dtypes.bfloat16, np.complex64, np.uint8):
        [got] = pipeline.jax.DataLoader(pipeline.batch(np.arange(6).reshape(3, 2).astype(dtype), 3))
        assert got.dtype == dtype
        assert got.tolist() == np.arange(6).reshape(3, 2).astype(dtype).tolist()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"word", "holds strings, which JAX does not accept: convert them to numbers, or leave it out"),
        ("word", "holds strings, which JAX does not accept: convert them to numbers, or leave it out"),
        (
            np.datetime64("2020-01-01"),
            "is of dtype datetime64[D], which JAX does not accept: convert it, for example",
        ),
    ],
    ids=["bytes", "str", "date"],
)
def test_what_jax_does_not_have(jax, value, text):
    loader = pipeline.jax.DataLoader(pipeline.batch([{"a": 1, "b": {"c": value}}] * 4, 2))
    with raises(TypeError, "component 'b/c' " + text):
        next(iter(loader))


def test_batches_of_other_structures_later(jax, caplog):
    """Each is converted by its own structure, and the log names the new components."""
    made = [
        {"a": np.arange(2, dtype=np.int32)},
        {"a": np.arange(2, dtype=np.int32), "b": np.arange(3)},
        {"b": np.arange(3), "a": [np.ones(2), 3]},
        (np.zeros(1), 5),
        {"a": np.array(["x"])},
    ]
    loader = pipeline.jax.DataLoader(pipeline.dataset(range(5)).batch(1, collate=lambda rows: made[rows[0]]))
    with caplog.at_level(logging.WARNING, "pipeline"):
        batches = iter(loader)
        got = [next(batches) for _ in range(4)]
        with raises(TypeError, "component 'a' holds strings, which JAX does not accept"):
            next(batches)
    assert all(isinstance(array, jax.Array) for batch in got for array in jax.tree.leaves(batch))
    assert [str(array.dtype) for batch in got for array in jax.tree.leaves(batch)] == [
        *("int32", "int32", "int32"),
        *("float32", "int32", "int32", "float32", "int32"),
    ]
    assert [record.getMessage().partition("JAX converts ")[2] for record in caplog.records] == [
        "b from int64 to int32",
        "a/0 from float64 to float32",
        "0 from float64 to float32",
    ]


def test_lists_that_are_no_arrays(jax):
    chats = [{"chat": pipeline.ListValue([[1], [2, 3]])}]
    with raises(TypeError, "component 'chat' is of dtype object, which JAX does not accept: convert it"):
        next(iter(pipeline.jax.DataLoader(pipeline.dataset(chats).batch(1))))
    one = pipeline.dataset(chats).batch(1, collate=lambda rows: {"chat": rows[0]["chat"]})
    with raises(TypeError, "component 'chat' is of dtype object, which JAX does not accept: convert it"):
        next(iter(pipeline.jax.DataLoader(one)))


def test_ragged_rows(jax):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"words": [[1, 2], [], [3]]})
    [got] = pipeline.jax.DataLoader(pipeline.arrow(table).batch(3, collate="row_splits"))
    values, splits = got["words"]
    assert values.tolist() == [1, 2, 3]
    assert splits.tolist() == [0, 2, 2, 3]


def test_a_state_from_the_last_batch_of_an_epoch(jax):
    """When saved, it is not yet known to be the last: its epoch resumes with no batch."""
    with pipeline.jax.DataLoader(loop()) as loader:
        for batch in loader:
            assert numbers(batch)
            state = loader.state_dict()
    with pipeline.jax.DataLoader(loop()) as loader:
        loader.load_state_dict(state)
        assert [len(list(loader)) for _ in range(2)] == [0, 8]


@pytest.mark.parametrize("prefetch", [0, 2])
def test_a_dataset(jax, over_all, prefetch):
    def chain():
        dataset = pipeline.arrays(rows()).shuffle(seed=1)
        return dataset.map(lambda row: {"x": row["x"] + 0, "n": row["n"]}, workers=2).batch(8).prefetch(2)

    plain = [[batch["n"].tolist() for batch in chain().epoch(i)] for i in range(2)]
    with pipeline.jax.DataLoader(chain(), over_all, prefetch=prefetch) as loader:
        assert [[numbers(batch) for batch in loader] for _ in range(2)] == plain
        assert len(loader) == 8
    one, other = (pipeline.jax.DataLoader(chain(), prefetch=prefetch) for _ in range(2))
    batches = iter(one)
    first = [numbers(next(batches)) for _ in range(3)]
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert first + [numbers(batch) for batch in other] == plain[0]
    assert [numbers(batch) for batch in other] == plain[1]


def test_what_is_no_loop(jax):
    with raises(TypeError, "DataLoader takes batches: a dataset such as source.batch(batch_size), or its iterator"):
        pipeline.jax.DataLoader(pipeline.arrays(np.ones(3)))


PROCESS = """
import json, sys
import jax, numpy as np, pipeline

index, port = int(sys.argv[1]), sys.argv[2]
jax.distributed.initialize(f"127.0.0.1:{port}", 2, index)
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
data = {"n": np.arange(64, dtype=np.int32), "label": np.arange(64, dtype=np.int32)}
source = pipeline.arrays(data, shuffle=True, seed=1)
loader = pipeline.jax.DataLoader(source.batch(8), {"n": sharding, "label": jax.local_devices()[0]})
for _ in range(2):
    for batch in loader:
        assert batch["n"].shape == (16,) and len(batch["n"].sharding.device_set) == 8
        here = [int(n) for shard in batch["n"].addressable_shards for n in shard.data]
        assert here == batch["label"].tolist()
        print(json.dumps(here))
"""


def test_global_batches_of_several_processes(jax):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    environment = {**os.environ, **flags, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(index), port],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for index in range(2)
    ]
    said = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    parts = [[json.loads(line) for line in out.splitlines()] for out, _ in said]
    whole = [first + second for first, second in zip(*parts, strict=True)]
    assert len(whole) == 8
    for epoch in (whole[:4], whole[4:]):
        assert sorted(n for batch in epoch for n in batch) == list(range(64))
    assert whole[:4] != whole[4:]


def example(*arguments, until=None):
    """Run examples/jax_training.py, and kill it after this many lines."""
    command = [sys.executable, "-W", "error", str(ROOT / "examples/jax_training.py"), *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stdout:
            lines.append(line)
            if len(lines) == until:
                process.kill()
    assert process.returncode == (0 if until is None else -9)
    return lines


def test_the_example_goes_on_after_a_kill(jax, tmp_path):
    whole = example()
    assert len(whole) == 11
    assert float(re.match(r"([\d.]+)% right", whole[-1])[1]) > 90
    state = str(tmp_path / "train.state")
    assert example(state, until=3)[:3] == whole[:3]
    rest = example(state)  # the last printed epoch may not be saved as finished
    assert 1 < len(rest) <= 9
    assert rest == whole[-len(rest) :]


def test_the_program_for_orbax(jax, tmp_path):
    """The program in docs/jax.md, killed after step 13 and restarted."""
    pytest.importorskip("orbax.checkpoint", reason="Orbax is large: make test-jax installs it")
    [program] = re.findall(r"^```python orbax\n(.*?)^```", (ROOT / "docs/jax.md").read_text(), re.MULTILINE | re.DOTALL)
    shown = program.replace("            step += 1\n", "            step += 1\n            print(step, x.sum())\n")
    killed = shown.replace("print(step, x.sum())", "print(step, x.sum())\n            assert step < 13")
    assert len({program, shown, killed}) == 3
    for name, text in (("shown", shown), ("killed", killed)):
        (tmp_path / f"{name}.py").write_text(text)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}

    def run(name, folder):
        folder.mkdir(exist_ok=True)
        return subprocess.run(
            [sys.executable, str(tmp_path / f"{name}.py")], cwd=folder, env=environment, capture_output=True, text=True
        )

    whole = run("shown", tmp_path / "whole").stdout.splitlines()
    assert [line.split()[0] for line in whole] == [str(i) for i in range(1, 21)]
    assert run("killed", tmp_path / "other").stdout.splitlines() == whole[:13]
    assert run("shown", tmp_path / "other").stdout.splitlines() == whole[10:]


def test_without_jax():
    script = """
import sys
sys.modules["jax"] = None
import pipeline
try:
    pipeline.jax.DataLoader
except ImportError as error:
    print(error)
"""
    assert run_script(script).stdout == "pipeline.jax needs jax: pip install jax\n"


def test_options_of_the_loop_are_told_where_they_belong(jax):
    with raises(
        TypeError,
        "DataLoader.__init__() got an unexpected keyword argument 'batch_size'. Write it into the dataset: .batch(...)",
    ):
        pipeline.jax.DataLoader(pipeline.dataset(np.arange(10)).batch(5), batch_size=5)
