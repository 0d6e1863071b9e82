"""The programs of docs/sources.md run, one after the other."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "sources.md"


def test_the_programs_run(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    if importlib.util.find_spec("datasets") is None:  # `make test-sources` has it
        blocks = [each for each in blocks if "import datasets" not in each]
    script = tmp_path / "sources.py"
    script.write_text("\n".join(blocks))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_example_of_parquet():
    example = PAGE.parents[1] / "examples" / "parquet_batches.py"
    done = subprocess.run([sys.executable, "-W", "error", str(example)], capture_output=True, text=True, check=True)
    lines = re.findall(r"^epoch \d: 312 batches, (\d+)% right$", done.stdout, re.MULTILINE)
    assert len(lines) == 2
    assert int(lines[1]) > 80
