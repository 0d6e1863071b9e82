"""TensorBoard itself shows a run's curves, in a real browser."""

import itertools
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from helpers import wait_until

import pipeline
from pipeline.reports import tensorboard

TAGS = [
    *("step/prefetch(30)/fraction_full", "step/prefetch(30)/size"),
    *("loop/digits/per_second", "source/read/busy"),
]

numbers = itertools.count()


def read():
    return next(numbers)


@pytest.fixture
def logdir(tmp_path, monkeypatch):
    """Write the curves of a run with a pool that empties and fills again."""
    monkeypatch.setattr(tensorboard, "EVERY", 0.05)
    with pipeline.shuffle_batch(read, 50, capacity=2000, min_after_dequeue=500, name="digits") as loop:
        with pipeline.monitor(logdir=tmp_path / "run", interval=0.02) as monitor:
            seen = []
            monitor.listeners.append(lambda report: seen.append(next(loop)))
            while len(seen) < 60:
                next(loop)
    return tmp_path


@pytest.fixture
def address(logdir):
    """Serve that directory with TensorBoard."""
    pytest.importorskip("tensorboard", reason="tensorboard is not installed: see make test-browser")
    command = [sys.executable, "-W", "ignore", "-m", "tensorboard.main", "--logdir", logdir, "--host", "127.0.0.1"]
    with subprocess.Popen([*command, "--port", "0"], stderr=subprocess.PIPE, text=True) as server:
        try:
            for line in server.stderr:
                found = re.search(r"at (http://\S+) ", line)
                if found:
                    yield found[1]
                    break
            else:
                pytest.fail("TensorBoard ended before it served")
        finally:
            server.kill()


def is_drawn(chart):
    """Return whether the curve's dark blue is on the screen; axes and grid are grey."""
    red, green, blue = np.moveaxis(pipeline.decode_png(chart.screenshot()).astype(int), -1, 0)[:3]
    return np.count_nonzero((blue > red + 20) & (blue > green + 10) & (red < 130)) > 100


def test_curves_in_tensorboard(browser, address):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{address.rstrip('/')}/#timeseries", timeout=60_000)
    page.get_by_role("combobox", name="Filter tags (regex)").fill(
        r"step/prefetch.*/(fraction|size)|loop/digits/per|source/read/busy"
    )
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Settings").first.click()
    for tag in TAGS:
        page.get_by_text(tag.rpartition("/")[2], exact=False).first.wait_for(timeout=60_000)
    page.get_by_text("4 cards").first.wait_for(timeout=60_000)
    charts = page.locator("line-chart:visible")
    wait_until(lambda: charts.count() >= 4 and all(map(is_drawn, charts.all())), "the curves to be drawn")
    picture = page.screenshot()
    if "PIPELINE_PICTURES" in os.environ:  # the one in docs/img
        pathlib.Path(os.environ["PIPELINE_PICTURES"], "tensorboard.png").write_bytes(picture)
    page.close()
