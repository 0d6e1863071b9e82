"""Measure the cost of a monitor for its pipeline: the CPU time of its thread.

It holds the GIL while it works, so no pipeline loses more than that. Rates with and without it differ by more than this
between runs.
"""

import contextlib
import io
import threading
import time

import numpy as np
import pytest

import pipeline
from pipeline.reports import live_table, show
from pipeline.reports.looks import clocks
from pipeline.reports.screen import Screen

SECONDS = 5.0
WORK = {"128 x f32[784]": np.zeros((4096, 784), np.float32), "scalars": np.zeros(4096, np.float32)}


def terminal(plain):
    """Return a table for a terminal with 120 columns that is not shown."""
    table = show.LiveTable.__new__(show.LiveTable)
    table._console = live_table.console(io.StringIO(), force_terminal=True, width=120, height=40)
    table.screen = Screen(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    table.screen.open()
    return table


@pytest.mark.benchmark(group="monitor")
@pytest.mark.parametrize("work", WORK)
def test_monitor(benchmark, monkeypatch, work):
    monkeypatch.setattr(show, "face", terminal)
    rows, shares = WORK[work], {}

    def run():
        with contextlib.ExitStack() as stack:
            loop = stack.enter_context(pipeline.batch(lambda: rows, 128, capacity=8192, enqueue_many=True))
            stack.enter_context(pipeline.monitor())
            end = time.perf_counter() + SECONDS
            while time.perf_counter() < end:
                next(loop)
            for thread in threading.enumerate():
                if thread.name == "pipeline-sampler":
                    shares[thread.name] = clocks(thread.native_id).cpu / SECONDS

    benchmark.pedantic(run, rounds=1)
    benchmark.extra_info.update(shares)
    print(f"{work}: {shares}")
