"""Find a pipeline's bottleneck, follow the report's advice, and show the gain.

    python examples/watched.py [FOLDER]

A function waits 2 ms for each example, as for a disk. The first run's report names the knob and its value, and the
second run turns it. With a folder, a picture, a trace for ui.perfetto.dev and the reports are written there.
"""

import itertools
import json
import pathlib
import sys
import time

import pipeline


def load(number):
    time.sleep(0.002)  # a slow disk
    return float(number)


def run(workers, folder, examples=800):
    """Run the pipeline and return its report; save this and a picture in the folder, if given."""
    loaded = pipeline.dataset(itertools.count()).map(load, workers=workers).shuffle(64)
    with iter(loaded.batch(16)) as batches:
        with pipeline.monitor(show=False):
            for batch in itertools.islice(batches, examples // 16):
                batch.mean()  # your training step
            report = batches.report()
        if folder:
            pipeline.draw(batches).save(folder / f"{workers or 1}-threads.svg")
            (folder / f"{workers or 1}-threads.json").write_text(json.dumps(report.to_dict(), indent=2))
    return report


def main(folder=None):
    if folder:
        folder.mkdir(exist_ok=True)
        trace = pipeline.trace(folder / "trace.json.gz").start()
    first = run(None, folder)
    print(first.verdict.text)
    workers = first.verdict.value or 4
    second = run(workers, folder)
    seconds = [report.seconds for report in (first, second)]
    print(f"{first.verdict.knob}={workers}: {seconds[0] / seconds[1]:.1f} times as fast")
    if folder:
        trace.stop()
        print("written:", *sorted(path.name for path in folder.iterdir()))


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
