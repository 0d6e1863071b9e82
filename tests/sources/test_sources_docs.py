"""The example of Parquet learns what it shows. (tests/docs runs the programs of docs/sources.md.)"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_example_of_parquet():
    example = ROOT / "examples" / "parquet_batches.py"
    done = subprocess.run([sys.executable, "-W", "error", str(example)], capture_output=True, text=True, check=True)
    lines = re.findall(r"^epoch \d: 312 batches, (\d+)% right$", done.stdout, re.MULTILINE)
    assert len(lines) == 2
    assert int(lines[1]) > 80
