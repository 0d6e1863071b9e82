"""examples/train_imagenet.py, train_gpt.py and train_segmentation.py: kills and restarts change no result."""

import difflib
import importlib
import os
import pathlib
import re
import runpy
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
importlib.import_module("pipeline.torch")

ROOT = pathlib.Path(__file__).parents[2]
PORTS = ["examples/train_imagenet.py", "examples/train_gpt.py", "examples/train_segmentation.py"]

# Runs a program and kills it before the step with this number, counted from 1; 0 for never.
KILLED = """
import os, runpy, signal, sys
from torch.optim.optimizer import register_optimizer_step_pre_hook

at, *sys.argv = sys.argv[1:]
left = int(at)

def count(*_):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

register_optimizer_step_pre_hook(count)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def train(name, folder, kill_at=0, world=1):
    """Train in a folder until killed, or to the end; return the output."""
    program = folder / "killed.py"
    program.write_text(KILLED)
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world}"] if world > 1 else []
    command = [sys.executable, "-W", "ignore", *torchrun, program, str(kill_at), ROOT / name, folder]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert (done.returncode == 0) == (kill_at == 0), done.stderr
    return done.stdout


def folder_with_data(name, folder):
    folder.mkdir()
    runpy.run_path(str(ROOT / name))["write_data"](folder)
    return folder


def checkpoint(folder):
    return torch.load(folder / "checkpoint.pt")


def assert_same(folders):
    whole, parts = (checkpoint(folder) for folder in folders)
    assert whole["step"] == parts["step"]
    assert whole["model"].keys() == parts["model"].keys()
    for name, tensor in whole["model"].items():
        assert torch.equal(tensor, parts["model"][name]), name


@pytest.mark.parametrize(
    ("name", "world", "kills", "saved"),
    [
        ("examples/train_imagenet.py", 1, [7, 20], [(0, 4), (1, 20)]),
        ("examples/train_imagenet.py", 2, [17], [(2, 16)]),
        ("examples/train_gpt.py", 1, [38, 36], [(None, 30), (None, 60)]),
        ("examples/train_segmentation.py", 1, [9, 15], [(0, 6), (1, 18)]),
    ],
)
def test_a_killed_run_ends_with_the_same_weights(tmp_path, name, world, kills, saved):
    """`saved`: the checkpoint's epoch and step after each kill; in the middle of epochs."""
    whole, parts = (folder_with_data(name, tmp_path / each) for each in ("whole", "parts"))
    said = train(name, whole, world=world)
    for kill_at, (epoch, step) in zip(kills, saved, strict=True):
        train(name, parts, kill_at, world)
        state = checkpoint(parts)
        assert (state.get("epoch"), state["step"]) == (epoch, step)
    rest = train(name, parts, world=world)
    assert said.splitlines()[-1] == rest.splitlines()[-1]
    assert_same([whole, parts])
    assert train(name, parts, world=world) == "", "there is nothing left to train"


def run(*command):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_learned(name, said):
    pattern, least, most = {
        "examples/train_imagenet.py": (r"epoch 2: (\d+) of 50 right", 40, 50),
        "examples/train_gpt.py": (r"step 100: loss ([\d.]+)", 0, 2),  # 5.5 at first
        "examples/train_segmentation.py": (r"epoch 3: intersection over union ([\d.]+)", 0.5, 1),
    }[name]
    assert least < float(re.fullmatch(pattern, said.splitlines()[-1])[1]) <= most


@pytest.mark.parametrize("name", PORTS)
def test_without_a_folder_it_writes_data_and_learns(name):
    assert_learned(name, run(sys.executable, "-W", "error", ROOT / name))


@pytest.mark.parametrize("name", PORTS)
def test_the_number_of_lines_that_differ(name):
    """The counts in the docstring equal those from a comparison with the program on DataLoader."""
    text = (ROOT / name).read_text()
    head = " ".join(text.split('"""')[1].split())
    plain, new, gone = re.search(r"\((tests/\S+)\), (\d+) lines are new and (\d+) are gone", head).groups()
    before, after = (
        [line for line in each.split('"""\n', 1)[1].splitlines() if line] for each in ((ROOT / plain).read_text(), text)
    )
    changes = list(difflib.ndiff(before, after))
    assert [sum(line[0] == sign for line in changes) for sign in "+-"] == [int(new), int(gone)]


@pytest.mark.parametrize("name", PORTS)
def test_the_program_on_a_dataloader_learns_too(name):
    plain = ROOT / "tests/adaptors/plain" / name.split("train_")[1]
    if "from torchvision" in plain.read_text():
        pytest.importorskip("torchvision", reason="needs torchvision")
    assert_learned(name, run(sys.executable, "-W", "ignore", plain))
