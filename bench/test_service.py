"""What is not throughput: size() while another thread enqueues half a GiB, and the time to import the package."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from pipeline import FIFOQueue


def test_size_during_a_large_enqueue(benchmark):
    """The figures are in extra_info, and are printed: the calls are far apart in time, so they are timed one by one."""
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
    print(f"\nsize() beside it: {len(took)} calls, median {median:.2f} us, p99 {p99:.2f} us, worst {worst:.0f} us")


@pytest.mark.parametrize("which", ["ours", "numpy"])
def test_import(benchmark, which):
    """`ours` is the time that `import pipeline` takes once NumPy is imported."""
    before = "numpy" if which == "ours" else "sys"
    module = "pipeline" if which == "ours" else "numpy"
    code = f"import {before}, time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"

    def run():
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)

    took = sorted(run() for _ in range(11))[5]
    benchmark.group = "import, in a new interpreter each"
    benchmark.extra_info["import_ms"] = took * 1e3
    benchmark.pedantic(run, rounds=3)
    print(f"\nimport {module}: median {took * 1e3:.1f} ms")
