"""Measure traced loops compared with untraced ones: the cost of tracing.

The function does next to nothing, so this measures the library's own work and the cost added by the trace.
"""

import numpy as np
import pytest

import pipeline

WHICH = pytest.mark.parametrize("which", ["ours", "free"])  # ours is traced
N = 128
ROWS = np.zeros((64 * N, 784), np.float32)
SCALARS = 200_000


def drain(loop):
    with loop:
        for _ in loop:
            pass


def rows():
    """Return blocks of 128 rows, 200 MB in total."""
    for _ in range(8):
        for i in range(0, len(ROWS), N):
            yield ROWS[i : i + N]


def scalars():
    yield from range(SCALARS)


@WHICH
@pytest.mark.parametrize("what", ["128 x f32[784]", "scalars"])
def test_trace(measure, which, what, tmp_path):
    source, count, options = {
        "128 x f32[784]": (rows, 8 * len(ROWS) // N, {"enqueue_many": True}),
        "scalars": (scalars, SCALARS, {}),
    }[what]

    def run():
        drain(pipeline.batch(source, N, capacity=32 * N, **options))

    def traced():
        with pipeline.trace(tmp_path / "run.json.gz"):
            run()

    measure(f"monitor: trace, {what}", traced if which == "ours" else run, count, rounds=7, iterations=1)
