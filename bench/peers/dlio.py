"""Count the accelerators that each loader can feed in DLIO, the program of MLPerf Storage: `make bench-dlio`.

    python bench/peers/dlio.py [--environments FOLDER] [--work NAME...] [--rounds N] [--update]

DLIO emulates an accelerator by a process that takes a batch, sleeps for a training step, and waits for the others.
Accelerator utilisation (AU) is the time in steps, divided by the time of the run without its first step. A loader may
take the mark of its workload with as many accelerators as it can. The loaders take turns: first each with one number
of accelerators, then those that reached the mark with one more.

The files are few, and in the page cache: this measures loaders, not disks. They lie in a temporary folder. With
--update the workloads that ran replace those in bench/results/dlio.json, and the table in docs/ follows.
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "runs"), str(HERE.parents[1])]

import pages  # noqa: E402
from report import RESULTS, ROOT, machine, machine_line, put_in_page, run_apart  # noqa: E402

import pipeline  # noqa: E402
from pipeline.proto import BytesList, Example, Feature, Features, Int64List  # noqa: E402

TIMEOUT = 60  # seconds for one run


class Work(NamedTuple):
    """A workload.

    Attributes:
        config: DLIO's configuration.
        mark: Percent of AU to reach.
        loaders: The loaders to compare.
        files: Folder with the files; see FILES.
        batch: Files per batch; a fraction if files have several examples.
        steps: Steps to run.
        first: Accelerators to begin with.
    """

    config: str
    mark: int
    loaders: tuple[str, ...]
    files: str
    batch: float
    steps: int
    first: int = 1


OURS, UNCHECKED = "queue-runner", "queue-runner, verify=False"
WORKS = {
    "unet3d_a100": Work("unet3d_a100", 90, (OURS, UNCHECKED, "PyTorch"), "unet3d", 7, 16, 2),
    "unet3d_h100": Work("unet3d_h100", 90, (OURS, UNCHECKED, "PyTorch"), "unet3d", 7, 20),
    "resnet50_h100": Work("resnet50_h100", 90, (OURS, "tf.data"), "resnet50", 400 / 1251, 24, 3),
    "cosmoflow_h100": Work("cosmoflow_h100", 70, (OURS, "tf.data"), "cosmoflow", 1, 1000, 2),
}
MOST = 8  # accelerators


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--environments", type=Path, default=ROOT / ".venv-peers")
    parser.add_argument("--work", nargs="*", default=list(WORKS), help="which, of: " + " ".join(WORKS))
    parser.add_argument("--rounds", type=int, default=1, help="runs of each case; the median counts")
    parser.add_argument("--update", action="store_true", help="put these into the results and the docs")
    options = parser.parse_args()
    known = machine()
    print(machine_line(known))
    (ROOT / "build").mkdir(exist_ok=True)
    found = {}
    with tempfile.TemporaryDirectory(prefix="bench-dlio-", dir=ROOT / "build") as folder:
        for work in map(WORKS.get, options.work):
            generate(Path(folder), work.files)
            found[work.config] = {"machine": known, "mark": work.mark, "loaders": compare(Path(folder), work, options)}
            if options.update:
                keep(found)
    print(pages.dlio(found))


def keep(found):
    """Put results into their file and the docs."""
    path = RESULTS / "dlio.json"
    before = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(before | found, indent=1) + "\n")
    put_in_page("dlio", pages.dlio())


def compare(folder, work, options):
    """Return the AU by the number of accelerators for each loader."""
    found = {loader: {} for loader in work.loaders}
    for count in range(work.first, MOST + 1):
        running = [each for each in found if count == work.first or passes(work, found[each].get(count - 1, [0]))]
        for _ in range(options.rounds):
            for loader in running:
                found[loader].setdefault(count, []).append(utilisation(folder, work, loader, count, options))
        if not running:
            break
    for loader, runs in found.items():
        for count in range(work.first - 1, 0, -1):
            if any(passes(work, each) for each in runs.values()):
                break
            runs[count] = [utilisation(folder, work, loader, count, options)]
    return {
        loader: {str(count): round(statistics.median(runs[count]), 1) for count in sorted(runs)}
        for loader, runs in found.items()
    }


def passes(work, runs):
    return statistics.median(runs) >= work.mark


def utilisation(folder, work, loader, count, options):
    """Run DLIO once and return the AU in percent; 0 if it fails."""
    data, output = folder / work.files, folder / "output"
    named = linked(data, int(np.ceil(work.batch * work.steps * count) + count))
    settings = {
        "dataset.data_folder": data,
        "dataset.num_files_train": named,
        "workflow.checkpoint": False,
        "train.epochs": 1,
        "train.total_training_steps": work.steps,
        "output.folder": output,
    }
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1"}
    if loader in (OURS, UNCHECKED):
        settings |= {"reader.data_loader_classname": "dlio_loader.Loader", "reader.data_loader_sampler": "iterative"}
        environment["PYTHONPATH"] = f"{ROOT}{os.pathsep}{HERE}"
    if loader == UNCHECKED:
        environment["DLIO_UNCHECKED"] = "1"
    binaries = options.environments / "dlio/bin"
    command = [binaries / "mpiexec", "-n", count, binaries / "python", binaries / "dlio_benchmark"]
    command += [f"workload={work.config}", f"hydra.run.dir={output}"]
    command += [f"++workload.{key}={value}" for key, value in settings.items()]
    found, printed = 0.0, f"it took more than {TIMEOUT} s"
    # If a run ends, but leaves a process behind, its result counts.
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = run_apart(list(map(str, command)), environment, TIMEOUT)
        printed = f"{done.stdout[-2000:]} {done.stderr[-2000:]}"
    try:
        summary = json.loads((output / "summary.json").read_text())
        found = float(summary["metric"]["train_au_mean_percentage"])
    except (OSError, KeyError):
        print(printed, file=sys.stderr)
    shutil.rmtree(output, ignore_errors=True)
    print(f"{work.config}: {loader}, {count}: {found:.1f}%", file=sys.stderr, flush=True)
    return found


def linked(data, count):
    """Give the files more names until there are `count`, and return the number of names."""
    names = sorted((data / "train").iterdir())
    made = len([each for each in names if each.name.startswith("img")])
    for number in range(len(names), count):
        each = names[number % made]
        os.link(each, each.with_name(f"more_{number:06}{each.suffix}"))
    return max(count, len(names))


def generate(folder, kind):
    """Write files like those of DLIO's generator, if there are none yet."""
    train = folder / kind / "train"
    if train.exists():
        return
    train.mkdir(parents=True)
    (folder / kind / "valid").mkdir()
    rng = np.random.default_rng(10)
    if kind == "unet3d":
        for number in range(24):
            height, width = rng.normal(146600628**0.5, 68341808 / 2 / 146600628**0.5, 2).clip(1).astype(int)
            volume = rng.integers(255, size=(height, width, 1), dtype=np.uint8)
            np.savez(train / f"img_{number:02}.npz", x=volume, y=[0])
        return
    count, each, side = (8, 1251, 338) if kind == "resnet50" else (256, 1, 1681)
    for number in range(count):
        with pipeline.TFRecordWriter(str(train / f"img_{number:03}.tfrecord")) as writer:
            for _ in range(each):
                writer.write(serialized(rng.bytes(side * side), side))


def serialized(image, side):
    features = {
        "image": Feature(bytes_list=BytesList(value=[image])),
        "size": Feature(int64_list=Int64List(value=[side])),
    }
    return Example(features=Features(feature=features)).SerializeToString()


if __name__ == "__main__":
    main()
