"""A training run killed with -9 now and then trains on the same batches. `make resume` kills more often."""

import random

import pytest
import resumable
from endurance import resume


@pytest.mark.parametrize("kind", ["lines", "line_blocks", "slices", "bucketed", "augmented"])
def test_killed(kind, tmp_path):
    seed = random.randrange(2**32)
    print("seed", seed)
    resumable.write_files(tmp_path)
    done = resume.check(kind, tmp_path, 1, 4, seed)
    assert sum(done.kills.values()) > 0
    assert done.resumes > 0
