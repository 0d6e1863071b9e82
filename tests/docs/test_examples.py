"""The programs in examples/ do as they claim."""

import re
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from page_programs import ROOT, STRICT

EXAMPLES = sorted(path.name for path in (ROOT / "examples").iterdir() if path.suffix in (".py", ".ipynb"))


def run(*command):
    done = subprocess.run(
        [sys.executable, *STRICT, *command], capture_output=True, text=True, timeout=120, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers(*command):
    """Return all numbers a program prints."""
    return [int(each) for each in re.findall(r"\d+", run(*command))]


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_run(name):
    """Here or in another test; notebooks in tests/house."""
    texts = (path.read_text() for path in (ROOT / "tests").glob("**/test_*.py"))
    assert name.endswith(".ipynb") or any(f"examples/{name}" in text for text in texts)


def test_csv():
    lines = run("examples/csv_batches.py").splitlines()
    assert sum(map(int, re.findall(r"\d+", lines[0]))) == 2 * 1797
    assert len(lines) == 2 + 8


def test_processes():
    """The examples are identical to the byte, whichever workers make them."""
    assert run("examples/processes.py") == run("examples/processes.py", "threads")


def test_parquet():
    lines = re.findall(r"^epoch \d: 39,936 rows, (\d+)% right$", run("examples/parquet_batches.py"), re.MULTILINE)
    assert len(lines) == 2
    assert int(lines[1]) > 80


def test_arrow_tables():
    said = r"customer \d+ of 50 spent most: (\d+) in memory, (\d+) in files\n"
    in_memory, in_files = re.fullmatch(said, run("examples/arrow_tables.py")).groups()
    assert in_memory == in_files


def test_compressed_text():
    times = "{} times the disk, {} times the network\n".format
    assert run("examples/compressed_text.py") == f"error: {times(200, 200)}warning: {times(200, 0)}"


@pytest.mark.parametrize("library", ["grain", "tensorflow"])
def test_other_pipelines(library):
    if find_spec(library) is None:
        pytest.skip(f"needs {library}: make test-jax")
    said = f"{library}: 1,000 right of the dataset, 1,000 of its iterator\n"
    assert run("examples/other_pipelines.py", library) == said


def test_csv_by_name():
    said = r"(\d,\d+) for the address, (\d+) for a room, ([\d.]+) for a square metre; 2000 left out\n"
    address, room, metre = re.fullmatch(said, run("examples/csv_by_name.py")).groups()
    assert abs(int(address.replace(",", "")) - 5000) < 50
    assert abs(int(room) - 900) < 10
    assert metre == "30.0"


def test_stored_arrays():
    names = ["npy", "hdf5"] if find_spec("h5py") else ["npy"]  # it announces that it leaves the other out
    assert run("examples/stored_arrays.py") == "".join(f"{name}: 90% of 1,797 digits right\n" for name in names)


def test_tar_shards():
    assert run("examples/tar_shards.py") == "400 of 400 colours right, half of them after a resume\n"


def test_huggingface_text():
    pytest.importorskip("datasets", reason="datasets is large: make test-sources installs it")
    assert int(re.fullmatch(r"English or Finnish: (\d+)% right\n", run("examples/huggingface_text.py"))[1]) > 90


def test_tfrecords():
    count, *digits = numbers("examples/tfrecords.py")
    assert count == sum(digits) == 1797
    assert len(digits) == 10


def test_image_folder():
    assert run("examples/image_folder.py") == "circle or square: 600 of 600 right\n"


def test_bucketed_text():
    plain, bucketed = (int(each) for each in re.findall(r"(\d+)%", run("examples/bucketed_text.py")))
    assert bucketed < plain / 2


def test_priorities():
    fifo, priority = (int(each) for each in re.findall(r"(\d+) of 120 jobs", run("examples/priorities.py")))
    assert priority < fifo


def test_own_threads():
    assert run("examples/own_threads.py").endswith(" in all\nthreads that still run: 0\n")
    failure = "no more than 1500 numbers, please\n"
    said = f"one thread failed: {failure}threads that still run: 0\n"
    assert run("examples/own_threads.py", "1500") == said


def test_bad_records():
    stopped, rest, *left_out = run("examples/bad_records.py").splitlines()
    assert stopped == "stopped: Field 1 in record 0 is not a valid float: ?0"
    assert rest == "1791 examples; left out:"
    places = [f"damaged.csv:{line}:" for line in range(101, 1797, 300)]
    if sys.version_info < (3, 11):  # has no notes
        places = ["?:"] * len(places)
    assert [line.split()[0] for line in left_out] == places


def test_shards():
    *hosts, everything = run("examples/shards.py", "2").splitlines()
    assert sum(int(line.split()[2]) for line in hosts) == 1797
    assert everything == "every line once: True"


def test_watched(tmp_path):
    verdict, gain, written = run("examples/watched.py", str(tmp_path)).splitlines()
    assert "`load`" in verdict
    turned = re.fullmatch(r"workers=(\d+): [\d.]+ times as fast", gain)[1]
    assert written == f"written: 1-threads.json 1-threads.svg {turned}-threads.json {turned}-threads.svg trace.json.gz"


def test_a_tf1_program():
    steps, *_, last = numbers("examples/tf1_program.py")
    assert steps == 5 * 1797 // 100
    assert last > 80


def test_language_model():
    """Killed hosts produce the same rows as others."""
    line = r"^host \d: (\d+) rows, killed (\d+) times, the same rows: True$"
    said = re.findall(line, run("examples/language_model.py"), re.MULTILINE)
    assert len(said) == 2
    assert all(int(rows) > 200 and int(kills) > 2 for rows, kills in said)


def test_pretrain():
    """Killed hosts continue on one host and on three, with the same rows as an uninterrupted run."""
    full, first, last, killed, *resumed = run("examples/pretrain.py").splitlines()
    assert float(re.fullmatch(r"rows: ([\d.]+)% full", full)[1]) > 99
    for line, weights in ((first, [60, 30, 10]), (last, [20, 30, 50])):
        shares = np.array(re.findall(r"\d+(?=%)", line), float)
        assert np.abs(shares - weights).max() < 6  # the packer buffers documents
    assert killed == "2 hosts were killed; both have saved step 15 of 40"
    said = "480 rows, 0 lost, 0 doubled, same order: True"
    assert resumed == [f"resumed on 1: {said}", f"resumed on 3: {said}"]


def test_augmentation():
    said = "epoch 0: 60 of 60 right\nepoch 1: 60 of 60 right\nthe same without processes: True\n"
    assert run("examples/augmentation.py") == said


def test_class_balance():
    plain, balanced = run("examples/class_balance.py").splitlines()
    frauds, found = map(int, re.findall(r"(\d+)%", plain))
    assert (frauds, found < 20) == (2, True)
    frauds, found = map(int, re.findall(r"(\d+)%", balanced))
    assert (frauds, found > 75) == (50, True)


def test_mixing():
    first, then, resumed = run("examples/mixing.py").splitlines()
    for line, weights in ((first, [70, 20, 10]), (then, [30, 30, 40])):
        assert np.abs(np.array(re.findall(r"[\d.]+(?=%)", line), float) - weights).max() < 3
    assert resumed == "resumed at batch 37: 23 batches more, the same: True"


def test_live():
    """Batch sizes under load depend on timing."""
    load, slow = run("examples/live.py").splitlines()
    count, largest = map(int, re.fullmatch(r"under load: 160 requests in (\d+) batches of up to (\d+)", load).groups())
    assert largest <= 16
    assert count * largest >= 160
    assert slow == "one request at a time: batches of [1, 1, 1, 1]"


def test_windows():
    windows, buckets = run("examples/windows.py").splitlines()
    assert float(re.search(r"[\d.]+", windows)[0]) < 0.7  # the noise alone is 0.4
    plain, bucketed = map(int, re.findall(r"(\d+)%", buckets))
    assert bucketed < plain / 3


def test_from_dataloader():
    lines = re.findall(r"^epoch \d: (\d+)% of 1700 right$", run("examples/from_dataloader.py"), re.MULTILINE)
    assert len(lines) == 4
    assert int(lines[-1]) > 88


def test_replay():
    """The agent's experience depends on timing, so it may be wrong about a rarely visited cell."""
    samples, walk = run("examples/replay.py").splitlines()
    assert samples == "96,000 samples, 8.0 for each step that was added"
    ways = re.fullmatch(r"which way to go in each cell: ([<>]{11})", walk)[1]
    assert ways.count(">") >= 9


def test_asyncio_batches():
    said = "after 4 batches: 19\na task was cancelled: True; all there: True\n"
    assert run("examples/asyncio_batches.py") == said


def test_torch_training():
    pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
    said = run("examples/torch_training.py")
    right, again = map(int, re.findall(r"(\d+)%", said))
    assert right == again > 90
    assert said.endswith("the same weights: True\n")


def test_a_torch_dataset():
    pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
    counted, said, right = run("examples/torch_dataset.py").splitlines()
    assert counted == "1,780 digits, 17 left out, such as the one of which it says:"
    assert said == "its label cannot be read"
    assert int(re.fullmatch(r"nearest to the average of their own: (\d+)%", right)[1]) > 85
