"""Finds out what holds a pipeline back, does what the report says, and shows what that gained.

    python examples/watched.py [FOLDER]

A function waits 2 ms for each example, as for a disk. The report of the first run names the knob and its value, and the
second run turns it. With a folder, a picture, a trace for ui.perfetto.dev and the reports are written there.
"""

import itertools
import json
import pathlib
import sys
import time

import pipeline


def load():
    time.sleep(0.002)  # a slow disk
    return 1.0


def run(threads, folder, examples=400):
    """Return the report of a run; write what can be seen of it."""
    with pipeline.shuffle_batch(
        load, 16, capacity=400, min_after_dequeue=64, num_threads=threads, name="examples"
    ) as batches:
        with pipeline.monitor(show=False):
            for batch in itertools.islice(batches, examples // 16):
                batch.mean()  # your training step
            report = batches.report()
        if folder:
            pipeline.draw(batches).save(folder / f"{threads}-threads.svg")
            (folder / f"{threads}-threads.json").write_text(json.dumps(report.to_dict(), indent=2))
    return report


def main(folder=None):
    if folder:
        folder.mkdir(exist_ok=True)
        trace = pipeline.trace(folder / "trace.json.gz").start()
    first = run(1, folder)
    print(first.verdict.text)
    second = run(first.verdict.value, folder)
    seconds = [report.seconds for report in (first, second)]
    print(f"{first.verdict.knob}={first.verdict.value}: {seconds[0] / seconds[1]:.1f} times as fast")
    if folder:
        trace.stop()
        print("written:", *sorted(path.name for path in folder.iterdir()))


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
