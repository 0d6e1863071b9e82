"""Measure latencies: size() while another thread enqueues half a GiB, and the package import."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from pipeline import FIFOQueue

IMPORTS = {
    "the package": "import pipeline",
    "and shuffle_batch": "import pipeline; pipeline.shuffle_batch",
    "and every name": "from pipeline import *",
    "the drop-in": "import pipeline.compat.v1",
    "the drop-in and shuffle_batch": "import pipeline.compat.v1 as tf; tf.train.shuffle_batch, tf.Session",
}


def test_size_during_a_large_enqueue(benchmark):
    """Measure each call separately; the relevant figures are in extra_info."""
    rows = np.ones((512, 1 << 18), np.float32)  # 512 rows of 1 MiB
    queue = FIFOQueue(1000, "float32", shapes=[(1 << 18,)])
    took = []

    def work():
        thread = threading.Thread(target=queue.enqueue_many, args=(rows,))
        thread.start()
        while thread.is_alive():
            began = time.perf_counter()
            queue.size()
            took.append(time.perf_counter() - began)
        thread.join()
        queue.dequeue_many(512)

    benchmark.group = "512 MiB enqueue_many with size() beside it"
    benchmark.pedantic(work, rounds=5)
    median, p99, worst = np.quantile(took, [0.5, 0.99, 1]) * 1e6
    benchmark.extra_info.update(calls=len(took), median_us=median, p99_us=p99, worst_us=worst)


@pytest.mark.parametrize("which", IMPORTS)
def test_import(benchmark, which):
    """Measure the CPU time of an import in a new interpreter with NumPy already imported, compared with NumPy's own."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def took(before, work):
        code = f"import {before}, time; t = time.process_time(); {work}; print(time.process_time() - t)"
        command = [sys.executable, "-c", code]
        return float(subprocess.run(command, capture_output=True, check=True, env=environment).stdout)

    took("numpy", IMPORTS[which])  # writes the bytecode
    pairs = [(took("numpy", IMPORTS[which]), took("sys", "import numpy")) for _ in range(9)]
    ours, numpys = np.min(pairs, axis=0)
    benchmark.group = "import, in a new interpreter"
    benchmark.extra_info.update(ours_ms=ours * 1e3, numpy_ms=numpys * 1e3, of_numpys=ours / numpys)
    benchmark.pedantic(took, args=("numpy", IMPORTS[which]), rounds=3)
