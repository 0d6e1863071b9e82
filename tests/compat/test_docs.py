"""The programs in docs/migrate.md run, and the one before does what the one after does."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
BLOCKS = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "migrate.md").read_text(), re.MULTILINE | re.DOTALL)


def test_there_is_a_program_before_and_after():
    assert len(BLOCKS) == 2
    assert "pipeline.compat.v1" in BLOCKS[0]
    assert "compat" not in BLOCKS[1]


@pytest.mark.parametrize("program", BLOCKS, ids=["before", "after"])
def test_program(program):
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    # 1,797 images in batches of 128.
    assert done.stdout.splitlines() == ["(128, 64) int32"] * 14 + ["end"]
