"""Blocks of records reuse memory, because `pipeline.memory` configures malloc to keep it."""

import os
import platform
import sys

import pytest
from helpers import run_script

SCRIPT = """
import resource
import numpy as np
import pipeline
from pipeline.decode.csv import block

lines, columns = [b"0.1234,5.678"] * 65536, [np.float64] * 2

def faults(blocks):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(blocks):
        pipeline.decode_csv(lines, columns)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

{change}
faults(3)
print(faults(20) // 20)
"""


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="this Python has a malloc of its own")
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another malloc keeps pages in another way")
@pytest.mark.skipif(
    any(name.startswith(("MALLOC_", "GLIBC_", "LD_PRELOAD")) for name in os.environ), reason="malloc is set up"
)
def test_a_block_takes_no_pages_from_the_kernel():
    kept, fresh = (
        int(run_script(SCRIPT.format(change=change)).stdout) for change in ("", "block.keep_pages = lambda: None")
    )
    assert kept < 10
    assert fresh > 200  # the columns have 256 pages
