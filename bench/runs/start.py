"""Measure the work before the first batch from arrays: `python bench/runs/start.py`.

Our functions and files that run, and imported modules, between `import pipeline` and the first batch; and CPU
milliseconds for the import and that batch, beyond NumPy's, and for a loop over ten batches.
"""

import json
import os
import subprocess
import sys
import time

import numpy as np

ROWS = np.zeros((1280, 4), np.float32)
TIMES = 9  # processes to start; the fastest counts


def main():
    """Print a table."""
    if sys.argv[1:] == ["--once"]:
        print(json.dumps(started()))
        return
    starts = [json.loads(subprocess.check_output([sys.executable, __file__, "--once"])) for _ in range(TIMES)]
    functions, files = entered()
    rows = {
        "functions of ours to the first batch": f"{functions}",
        "in files": f"{files}",
        "modules of ours": f"{starts[0]['modules']}",
        "import and first batch, ms of CPU": f"{min(each['seconds'] for each in starts) * 1e3:.1f}",
        "loop over ten batches, ms of CPU": f"{min(loop() for _ in range(20)) * 1e3:.3f}",
    }
    for name, value in rows.items():
        print(f"{name:40} {value:>8}")


def started():
    """Import the package, take a batch, and return the CPU seconds and the imported modules."""
    began = time.process_time()
    first()
    return {"seconds": time.process_time() - began, "modules": sum(name.startswith("pipeline") for name in sys.modules)}


def first():
    """Take the first batch from arrays."""
    import pipeline  # to measure its time

    with iter(pipeline.arrays(ROWS).batch(128)) as batches:
        return next(batches)


def entered():
    """Return how many of our functions run until the first batch, in how many files; without those in an import."""
    import pipeline  # not before the processes that measure it

    first()
    codes = set()

    def note(frame, event, _):
        if event == "call":
            codes.add(frame.f_code)

    sys.setprofile(note)
    try:
        batches = iter(pipeline.arrays(ROWS).batch(128))
        next(batches)
    finally:
        sys.setprofile(None)
    batches.close()
    root = os.path.dirname(pipeline.__file__)
    ours = [code for code in codes if code.co_filename.startswith(root)]
    return len(ours), len({code.co_filename for code in ours})


def loop(times=100):
    """Return the CPU seconds for a loop over ten batches, including its start and end."""
    import pipeline  # as in `entered`

    began = time.process_time()
    for _ in range(times):
        for _ in pipeline.arrays(ROWS).batch(128):
            pass
    return (time.process_time() - began) / times


if __name__ == "__main__":
    main()
