"""Measures what is not throughput: size() while another thread enqueues half a GiB, and the import of the package."""

import os
import subprocess
import sys
import threading
import time

import numpy as np

from pipeline import FIFOQueue


def test_size_during_a_large_enqueue(benchmark):
    """The figures that count are in extra_info: each call is timed by itself."""
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


def test_import(benchmark):
    """Measure `import pipeline` in a new interpreter that has imported NumPy, and NumPy's own import."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def took(before, module):
        code = f"import {before}, time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
        command = [sys.executable, "-c", code]
        return float(subprocess.run(command, capture_output=True, check=True, env=environment).stdout)

    took("numpy", "pipeline")  # writes the bytecode
    ours = np.median([took("numpy", "pipeline") for _ in range(11)])
    numpys = np.median([took("sys", "numpy") for _ in range(5)])
    benchmark.group = "import, in a new interpreter"
    benchmark.extra_info.update(pipeline_ms=ours * 1e3, numpy_ms=numpys * 1e3)
    benchmark.pedantic(took, args=("numpy", "pipeline"), rounds=3)
