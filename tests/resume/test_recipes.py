"""The programs in docs/reproducibility.md and examples/resume.py work as described, also when run again."""

import importlib.util
import os
import pathlib
import random
import re
import signal
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reproducibility.md").read_text()
PROGRAMS = re.findall(r"^```python *(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)

# Stands in for a missing PyTorch: pickled files, like PyTorch's, and a layer that does nothing.
TORCH = """
import pickle, sys, types
torch = sys.modules["torch"] = types.ModuleType("torch")
def save(data, path):
    with open(path, "wb") as file:
        pickle.dump(data, file)
def load(path):
    with open(path, "rb") as file:
        return pickle.load(file)
class Linear:
    def __init__(self, *sizes): pass
    def __call__(self, x): pass
    def state_dict(self): return {}
    def load_state_dict(self, state): assert state == {}
torch.save, torch.load, torch.from_numpy, torch.nn = save, load, lambda x: x, types.SimpleNamespace(Linear=Linear)
"""


def run(program, folder):
    """Run a program in a folder with the example data; return its output."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, cwd=folder, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def program_for(kind):
    """Return the programs that need this module, or none for ""."""
    for needs, program in PROGRAMS:
        if needs == kind:
            yield program


def test_all_programs_are_run_here():
    assert [needs for needs, _ in PROGRAMS] == ["", "", "torch", "orbax", "", ""]


def test_the_first_program_goes_on_from_its_last_save(tmp_path):
    first, *_ = program_for("")
    said = run(first, tmp_path)
    assert re.fullmatch(rf"{3 * 1797 // 128} {3 * 1797 // 128 * 128}-[0-9a-f]{{16}}\n", said)
    assert run(first, tmp_path) == said  # from step 40
    assert (tmp_path / "train.state").exists()
    (tmp_path / "train.state").unlink()
    assert "workers=4" in first
    assert run(first.replace("workers=4", "workers=1"), tmp_path) == said


def test_the_programs_with_random_numbers_and_hosts(tmp_path):
    _, second, hosts, fewer = program_for("")
    assert run(second, tmp_path) == "True\n"
    said = "840 examples are left, 840 of them different\n"
    assert run(f"{hosts}\n{fewer}", tmp_path) == f"True\n{said}"


END = "\nprint(step, batches.delivered, batches.fingerprint())"


def checked(program):
    """Return the program over distinct numbers, with a checksum: its fingerprint shows the examples and their order."""
    numbers = "np.arange(64_000, dtype=np.float32).reshape(1000, 64)"
    made = program.replace("np.zeros((1000, 64), np.float32)", numbers)
    made = made.replace("iter(data.batch(100))", "iter(data.checksum().batch(100))")
    assert numbers in made
    assert ".checksum()" in made
    return made + END


def test_the_program_for_pytorch(tmp_path):
    (program,) = program_for("torch")
    if importlib.util.find_spec("torch") is None:
        program = TORCH + program
    killed = program.replace("if step % 5 == 0:", "if step == 13:\n            break\n        if step % 5 == 0:")
    assert killed != program
    assert run(checked(killed), tmp_path).startswith("13 (13, 1300) 1300-")
    resumed = run(checked(program + "\nprint(checkpoint['input']['delivered'])"), tmp_path)
    assert resumed.startswith("{'batches': 10, 'elements': 1000}\n20 (20, 2000) 2000-")
    (tmp_path / "checkpoint.pt").unlink()
    assert run(checked(program), tmp_path) == resumed.splitlines()[1] + "\n"


@pytest.mark.skipif(importlib.util.find_spec("orbax") is None, reason="needs Orbax")
def test_the_program_for_orbax(tmp_path):
    (program,) = program_for("orbax")
    killed = program.replace(
        "if step % 5 == 0:", "if step == 13:\n                break\n            if step % 5 == 0:"
    )
    assert killed != program
    assert run(checked(killed), tmp_path).startswith("13 (13, 1300) 1300-")
    assert run(checked(program), tmp_path).startswith("20 (20, 2000) 2000-")


# The example ---------------------------------------------------------------------------------------------------------


def example(state, threads, until=None):
    """Run the example, kill it after `until` lines; return the lines, and whether it was killed."""
    command = [sys.executable, "examples/resume.py", str(state), str(threads)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as process:
        for line in process.stdout:
            lines.append(line)
            if len(lines) == until:
                os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == (0 if until is None else -signal.SIGKILL)
    return lines


def test_the_example_goes_on_after_a_kill(tmp_path):
    whole = example(tmp_path / "whole.state", 3)
    assert len(whole) == 20 * 1797 // 128 + 1
    assert float(whole[-2].split()[-1]) < 0.5 < float(whole[0].split()[-1])
    assert re.fullmatch(rf"the examples: {20 * 1797 // 128 * 128}-[0-9a-f]{{16}}\n", whole[-1])
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    seen, state = {}, tmp_path / "killed.state"
    for until in rng.sample(range(6, 80), 3) + [None]:
        lines = example(state, rng.randint(1, 8), until)
        for line in lines:
            key = line.partition(":")[0]
            assert seen.setdefault(key, line) == line
    assert list(seen.values()) == whole
