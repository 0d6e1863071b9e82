"""pipeline.torch in several processes: torch DataLoader workers, and process groups."""

import importlib
import itertools
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from helpers import run_script

import pipeline

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
pt = importlib.import_module("pipeline.torch")

ROOT = pathlib.Path(__file__).parents[2]
ROWS = 23

pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),  # more workers than processors
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded, use of fork:DeprecationWarning"),
]


def numbers():
    """Batches with shuffled numbers; the last one may be smaller."""
    return pipeline.arrays(np.arange(ROWS), shuffle=True, seed=1).batch(4)


def iterator():
    return pipeline.dataset(iter(range(ROWS))).batch(4, drop_remainder=True)


def no_loop():
    return pipeline.arrays(np.arange(3))


def files():
    """A dataset over a function that shards its files itself."""
    names = pipeline.string_input_producer(["a", "b", "c", "d", "e"], num_epochs=1, seed=1, shard=pt.shard())
    return pipeline.dataset(lambda: names.dequeue()).batch(1)


def loader_of(dataset, workers, **options):
    return torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=workers, **options)


def rows(batches):
    return [number for batch in batches for number in batch.tolist()]


# torch DataLoader workers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("workers", "method"), [(0, None), (1, "fork"), (3, "fork"), (2, "forkserver")])
def test_workers_share_every_epoch(workers, method):
    loader = loader_of(pt.IterableDataset(numbers), workers, multiprocessing_context=method)
    epochs = [rows(loader) for _ in range(2)]
    for epoch in epochs:
        assert sorted(epoch) == list(range(ROWS))
    assert epochs[0] != epochs[1]


def test_workers_that_stay_go_on_with_the_next_epoch():
    loader = loader_of(pt.IterableDataset(numbers()), 2, persistent_workers=True, multiprocessing_context="fork")
    epochs = [rows(loader) for _ in range(3)]
    for epoch in epochs:
        assert sorted(epoch) == list(range(ROWS))
    assert len({str(epoch) for epoch in epochs}) == 3


def test_the_epoch_that_is_set_is_the_same_for_any_workers():
    dataset = pt.IterableDataset(numbers())
    plain = [[batch.tolist() for batch in numbers().epoch(epoch)] for epoch in range(3)]
    for epoch in (2, 0):
        for workers in (0, 1, 2):
            dataset.set_epoch(epoch)
            found = [batch.tolist() for batch in loader_of(dataset, workers)]
            assert [number for batch in found for number in batch] == list(itertools.chain(*plain[epoch]))
            assert len(found) == 6


def test_an_epoch_that_was_left_and_the_parent_that_has_read():
    dataset = pt.IterableDataset(numbers())
    next(iter(dataset))  # its threads do not exist in a fork
    for _ in range(2):
        loader = loader_of(dataset, 2, multiprocessing_context="fork")
        next(iter(loader))
        assert sorted(rows(loader)) == list(range(ROWS))


@pytest.mark.parametrize("workers", [1, 2])
def test_what_cannot_be_shared_is_an_error_in_the_worker(workers):
    loader = loader_of(pt.IterableDataset(iterator), workers, multiprocessing_context="fork")
    if workers == 1:
        assert rows(loader) == list(range(ROWS // 4 * 4))
    else:
        with pytest.raises(RuntimeError, match="only one process can read from its start"):
            rows(loader)


def test_a_loop_that_shares_itself():
    loader = loader_of(pt.IterableDataset(files, shard=False), 2, multiprocessing_context="fork")
    names = [name for batch in loader for name in batch.tolist()]
    assert sorted(names) == [b"a", b"b", b"c", b"d", b"e"]
    with pytest.raises(RuntimeError, match="only one process can read from its start"):
        rows(loader_of(pt.IterableDataset(files), 2, multiprocessing_context="fork"))


def test_examples_are_no_batches():
    with pytest.raises(TypeError, match=r"takes batches: .* not single examples of arrays: add \.batch\(n\)"):
        iter(pt.IterableDataset(no_loop))


KILLED = """
import os, signal
import numpy as np
import torch
import pipeline
import pipeline.torch

def endless():
    return pipeline.arrays(np.arange(23), num_epochs=None, shuffle=True, seed=1).batch(4)

dataset = pipeline.torch.IterableDataset(endless)
try:
    batches = iter(torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2, multiprocessing_context="fork"))
    next(batches)
    worker = batches._workers[0]
    os.kill(worker.pid, signal.SIGKILL)
    worker.join()  # one that is about to die counts as alive, and torch passes on whatever its sockets say
    while True:
        next(batches)
except RuntimeError as error:
    print(error)
"""


def test_a_worker_that_is_killed_is_an_error():
    done = run_script(KILLED, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    assert "killed by signal" in done.stdout or "exited unexpectedly" in done.stdout


def test_a_state_without_workers():
    one = pt.IterableDataset(deterministic)
    batches = iter(one)
    next(batches), next(batches)
    other = pt.IterableDataset(deterministic)
    other.load_state_dict(one.state_dict())
    assert rows(other) == rows(batches)


def deterministic():
    return pipeline.arrays(np.arange(ROWS), shuffle=True, seed=1).batch(4, drop_remainder=True)


# Process groups -------------------------------------------------------------------------------------------------------

GROUP = """
import itertools, json, sys
import numpy as np
import torch
import torch.distributed
import pipeline
import pipeline.torch
import loops
from loops import loop

rank, world, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/group", rank=rank, world_size=world)

said = {}
"""

# A program that forkserver can import in a worker.
LOOP = """
import numpy as np
import pipeline

def loop(batch_size=4):
    source = pipeline.arrays(np.arange(50), shuffle=True, seed=1)
    return source.shuffle(10, seed=2).batch(batch_size, drop_remainder=True)
"""

END = """
torch.distributed.barrier()
torch.distributed.destroy_process_group()
print(json.dumps(said))
"""


def in_group(program, folder, world=2):
    """Run a program in each process of a group; return each one's output."""
    (folder / "loops.py").write_text(LOOP)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{folder}", "GLOO_SOCKET_IFNAME": "lo"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", GROUP + program + END, str(rank), str(world), str(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=ROOT,
        )
        for rank in range(world)
    ]
    done = [process.communicate(timeout=180) for process in processes]
    for process, (_, errors) in zip(processes, done, strict=True):
        assert process.returncode == 0, errors
    return [json.loads(output.splitlines()[-1]) for output, _ in done]


def test_ranks_share_every_epoch(tmp_path):
    program = """
loader = pipeline.torch.DataLoader(loop())
said["shard"] = pipeline.torch.shard()
said["length"] = len(loader)
said["epochs"] = [[batch.tolist() for batch in loader] for _ in range(3)]
for batch in loader:  # the gradients of all are those of the batch of all: each process must come as often
    torch.distributed.all_reduce(torch.ones(1))

dataset = pipeline.torch.IterableDataset(loops.loop)
said["workers"] = []
for method, workers in ("fork", 2), ("forkserver", 1):
    dataset.set_epoch(1)
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=None, num_workers=workers, multiprocessing_context=method
    )
    said["workers"].append([batch.tolist() for batch in loader])
"""
    one, two = in_group(program, tmp_path)
    assert [one["shard"], two["shard"]] == [[0, 2], [1, 2]]
    assert one["length"] == two["length"] == 6
    for first, second in zip(one["epochs"], two["epochs"], strict=True):
        assert len(first) == len(second) == 6
        seen = list(itertools.chain(*first, *second))
        assert len(seen) == len(set(seen)) == 48
    assert one["epochs"][0] != one["epochs"][1]
    for first, second in zip(one["workers"], two["workers"], strict=True):
        seen = list(itertools.chain(*first, *second))
        assert len(seen) == len(set(seen)) == 48
    assert one["workers"][1] == one["epochs"][1]  # one worker equals the process itself


def test_ranks_cannot_share_what_has_no_seed(tmp_path):
    program = """
for make in (
    lambda: pipeline.arrays(np.arange(50), shuffle=True).batch(4),
    lambda: pipeline.dataset(np.arange(50)).shuffle(9).batch(4),
    lambda: pipeline.dataset(lambda: 1).batch(4),
):
    try:
        next(iter(pipeline.torch.DataLoader(make())))
    except pipeline.errors.FailedPreconditionError as error:
        said.setdefault("errors", []).append(str(error))
said["all"] = len(list(pipeline.torch.DataLoader(pipeline.dataset(np.arange(50)).batch(5), shard=False)))
"""
    for said in in_group(program, tmp_path):
        source, pool, function = said["errors"]
        assert "Pass seed= to arrays" in source
        assert "Pass seed= to shuffle" in pool
        assert "only one process can read from its start" in function
        assert said["all"] == 10


def test_a_checkpoint_of_a_group_is_loaded_by_one_process(tmp_path):
    program = """
from torch.distributed import checkpoint
loader = pipeline.torch.DataLoader(loop())
batches = iter(loader)
for _ in range(2):
    next(batches)
checkpoint.save({"loader": loader}, checkpoint_id=folder + "/checkpoint")
said["rest"] = [batch.tolist() for batch in batches]
other = pipeline.torch.DataLoader(loop())
checkpoint.load({"loader": other}, checkpoint_id=folder + "/checkpoint")
said["again"] = [batch.tolist() for batch in other]
"""
    parts = in_group(program, tmp_path)
    for each in parts:
        assert each["rest"] == each["again"]
        assert len(each["rest"]) == 4


def test_a_state_of_four_ranks_is_loaded_by_two_and_by_three(tmp_path):
    program = f"""
loader, path = pipeline.torch.DataLoader(loop()), {str(tmp_path / "input.pt")!r}
if world != 4:
    loader.load_state_dict(torch.load(path))
batches = iter(loader)
said["found"] = [batch.tolist() for batch in itertools.islice(batches, 2)]
if world == 4 and rank == 2:  # that of any rank will do
    torch.save(loader.state_dict(), path)
"""
    found = {}
    for world in (4, 2, 3):
        (folder := tmp_path / str(world)).mkdir()
        parts = [each["found"] for each in in_group(program, folder, world)]
        found[world] = [batch for of_all in zip(*parts, strict=True) for batch in of_all]
    source = pipeline.arrays(np.arange(50), shuffle=True, seed=1)  # as in LOOP
    alone = [batch.tolist() for batch in source.shuffle(10, seed=2).batch(4, drop_remainder=True)]
    assert found[4] + found[2] == alone
    assert found[4] + found[3] == alone[:11]


# Datasets -------------------------------------------------------------------------------------------------------------


def doubled(number):
    return 2 * number


def chain(seed=1):
    return pipeline.arrays(np.arange(ROWS)).shuffle(seed=seed).map(doubled).batch(4)


def stream():
    return pipeline.dataset(iter(range(ROWS))).batch(4)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("seed", [1, None])
def test_workers_share_a_dataset(method, seed):
    """It reaches workers by fork or pickle, together with its random seed."""
    loader = loader_of(pt.IterableDataset(chain(seed)), 2, multiprocessing_context=method)
    epochs = [rows(loader) for _ in range(2)]
    for epoch in epochs:
        assert sorted(epoch) == list(range(0, 2 * ROWS, 2))
    assert epochs[0] != epochs[1]


def test_workers_share_a_share():
    """For a dataset already sharded for one host."""
    dataset = pipeline.arrays(np.arange(ROWS)).shuffle(seed=1).shard(1, 2).batch(2)
    loader = loader_of(pt.IterableDataset(dataset), 2, multiprocessing_context="fork")
    found = rows(loader)
    assert len(found) == len(set(found)) == ROWS // 2


def test_the_epoch_of_a_dataset_that_is_set_is_the_same_for_any_workers():
    found = []
    for workers in (0, 2):
        dataset = pt.IterableDataset(chain())
        loader = loader_of(dataset, workers)
        dataset.set_epoch(3)
        found.append(rows(loader))
    assert sorted(found[0]) == sorted(found[1])
    assert found[0] == rows(chain().epoch(3))
    assert found[1][:4] == found[0][:4]  # the first worker's first batch


def test_a_dataset_that_cannot_be_shared_is_an_error_in_the_worker():
    with pytest.raises(RuntimeError, match="only one process can read from its start"):
        list(loader_of(pt.IterableDataset(stream), 2, multiprocessing_context="fork"))
    assert rows(loader_of(pt.IterableDataset(stream()), 0)) == list(range(ROWS))


def test_a_state_of_a_dataset_without_workers():
    one = pt.IterableDataset(chain(None))
    loader = loader_of(one, 0)
    batches = iter(loader)
    next(batches)
    other = pt.IterableDataset(chain(None))
    other.load_state_dict(one.state_dict())
    assert rows(other) == rows(batches)
    assert rows(other) == rows(one)


def test_ranks_share_a_dataset(tmp_path):
    program = """
def chain(seed):
    return pipeline.arrays(np.arange(50)).shuffle(seed=seed).batch(4).prefetch(2)

loader = pipeline.torch.DataLoader(chain(1))
said["length"] = len(loader)
said["epochs"] = [[batch.tolist() for batch in loader] for _ in range(2)]
try:
    iter(pipeline.torch.DataLoader(chain(None)))
except pipeline.errors.FailedPreconditionError as error:
    said["error"] = str(error)
mine = pipeline.arrays(np.arange(50), shard=pipeline.torch.shard()).batch(4)
said["own"] = len(list(pipeline.torch.DataLoader(mine)))
"""
    one, two = in_group(program, tmp_path)
    assert one["length"] == two["length"] == 6
    for first, second in zip(one["epochs"], two["epochs"], strict=True):
        assert len(first) == len(second) == 6
        seen = list(itertools.chain(*first, *second))
        assert len(seen) == len(set(seen)) == 48
    assert one["epochs"][0] != one["epochs"][1]
    assert "without a seed each would draw a different order. Pass seed= to shuffle" in one["error"]
    assert one["own"] == two["own"] == 7


# This package's workers -----------------------------------------------------------------------------------------------


def torch_draws(_):
    return np.array([torch.rand(()).item(), torch.randn(()).item(), np.random.random()])


def test_torchs_generator_is_seeded_for_each_example_in_processes():
    """Otherwise it would draw the same numbers in each worker."""

    def drawn(count):
        data = pipeline.dataset(range(400)).shuffle(seed=1).map(torch_draws, workers=pipeline.processes(count))
        return np.array(list(data))

    four = drawn(4)
    assert [len(np.unique(column)) for column in four.T] == [400, 400, 400]
    assert (drawn(1) == four).all()


def test_torchs_generator_is_the_programs_elsewhere(caplog):
    torch.manual_seed(1)
    wanted = [torch.rand(()).item() for _ in range(9)]
    torch.manual_seed(1)
    assert list(pipeline.dataset(range(9)).map(lambda _: torch.rand(()).item())) == wanted
    assert caplog.messages[0].startswith(
        "map(<lambda>) uses torch's default generator, which your whole process shares"
    )
