"""Programs that are killed with -9 and go on in a new process have the batches of one that nobody killed."""

import os
import pathlib
import random
import signal
import subprocess
import sys

import pytest
import stateful_graphs

CHILD = pathlib.Path(stateful_graphs.__file__)
TREE = CHILD.parents[2]


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    stateful_graphs.write(folder, [900, 5, 1300, 400])
    return folder


def run(name, folder, threads, room, state, lines=None):
    """The numbers and digests of the batches of a child that is killed after so many lines; whether it came to its
    end."""
    command = [sys.executable, str(CHILD), name, str(folder), str(threads), str(room), str(state)]
    environment = {**os.environ, "PYTHONPATH": str(TREE)}
    found = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        for line in child.stdout:
            number, text = line.split()
            if number == "end":
                break
            found.append((int(number), text))
            if len(found) == lines:
                child.kill()
        else:
            return found, False
    killed = lines is not None and len(found) >= lines  # it may have said its last word before
    assert child.returncode == 0 or (killed and child.returncode == -signal.SIGKILL)
    return found, True


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parsed", "gzip", "several", "kept", "joined shuffled"])
def test_killed(name, folder, tmp_path):
    seed = random.randrange(2**32)
    print("seed", seed)
    draw = random.Random(seed)
    whole, _ = run(name, folder, 1, 1, tmp_path / "whole")
    seen, ended, resumed = {}, False, 0
    while not ended:
        lines = draw.randint(len(whole) // 6, len(whole) // 2)
        found, ended = run(name, folder, draw.randint(1, 8), draw.randint(1, 300), tmp_path / "state", lines)
        for number, text in found:
            assert seen.setdefault(number, text) == text
        resumed += bool(found) and found[0][0] > 1
    assert sorted(seen.items()) == whole
    assert resumed > 0
