"""Curves for TensorBoard: the event files' contents, and failures to write them."""

import itertools
import logging
import os
import pathlib

import pytest
from helpers import wait_until

import pipeline

pytest.importorskip("google.protobuf", reason="protobuf is not installed")

from pipeline.files.event_file import summary_iterator
from pipeline.reports import tensorboard


def points(logdir):
    """Per tag the (step, value) in the only event file."""
    (path,) = pathlib.Path(logdir).glob("events.out.tfevents.*")
    found = {}
    for event in summary_iterator(path):
        for value in event.summary.value:
            found.setdefault(value.tag, []).append((event.step, value.simple_value))
    return found


def test_curves_of_a_loop(tmp_path, monkeypatch):
    monkeypatch.setattr(tensorboard, "EVERY", 0.02)
    with pipeline.shuffle_batch(itertools.count(), 10, capacity=400, min_after_dequeue=200, name="numbers") as loop:
        with pipeline.monitor(logdir=tmp_path / "new" / "logs", interval=0.01) as monitor:
            seen = []
            monitor.listeners.append(seen.append)
            while len(seen) < 12:
                next(loop)
        (ahead,) = [stage for stage in loop.report().stages if stage.tank is not None]
        size, name = ahead.tank.stats.size, f"step/{ahead.name}"
    found = points(tmp_path / "new" / "logs")
    assert {
        f"{name}/size",
        f"{name}/fraction_full",
        "loop/numbers/per_second",
        "loop/numbers/busy",
    } < {*found}
    assert found[f"{name}/size"][-1][1] == size  # the last point is at the end
    assert all(0 <= value <= 1 for _, value in found[f"{name}/fraction_full"])
    assert max(value for _, value in found["loop/numbers/per_second"]) > 0
    assert 0 <= found["process/interpreter_lock"][-1][1] <= 1
    for curve in found.values():
        steps = [step for step, _ in curve]
        assert steps == sorted(set(steps))
        assert len(steps) >= 2


def test_points_are_rarer_than_samples(tmp_path, monkeypatch):
    """One at the first sample, one at the end."""
    monkeypatch.setattr(tensorboard, "EVERY", 3600)
    queue = pipeline.FIFOQueue(4, ["int32"], name="here")
    with pipeline.monitor(logdir=tmp_path, interval=0.02) as monitor:
        seen = []
        monitor.listeners.append(seen.append)
        wait_until(lambda: len(seen) >= 10, "ten samples")
        queue.enqueue(1)
    assert [value for _, value in points(tmp_path)["queue/here/size"]] == [0, 1]


def fill_the_disk(logdir):
    """Make all later writes to the event file fail."""
    (path,) = pathlib.Path(logdir).glob("events.out.tfevents.*")
    (number,) = [each for each in os.listdir("/proc/self/fd") if os.path.realpath(f"/proc/self/fd/{each}") == str(path)]
    with open("/dev/full", "wb") as full:
        os.dup2(full.fileno(), int(number))


def test_a_directory_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pipeline.batch(list(range(100)), 10) as loop:
        next(loop)
        monitor = pipeline.monitor(logdir=tmp_path / "file" / "logs")
        with pytest.raises(pipeline.OpError, match=r"file/logs; Not a directory"):
            monitor.start()
        assert not pipeline.report().watched
        assert sum(map(len, loop)) == 90


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_disk_that_is_full(tmp_path, caplog, monkeypatch):
    """One line in the log; everything else continues."""
    monkeypatch.setattr(tensorboard, "EVERY", 0.02)
    with pipeline.monitor(logdir=tmp_path, interval=0.01) as monitor:
        queue = pipeline.FIFOQueue(4, ["int32"])
        with caplog.at_level(logging.ERROR, "pipeline"):
            fill_the_disk(tmp_path)
            wait_until(lambda: caplog.records, "the curves to end")
        assert monitor.report().watched
    (record,) = caplog.records
    assert record.getMessage() == f"the curves in {tmp_path} end here: No space left on device"
    assert queue.size() == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("before", [False, True])
def test_a_disk_that_is_full_at_the_end(tmp_path, caplog, monkeypatch, before):
    """One line in the log, whether a point failed before or not, and the training script continues."""
    monkeypatch.setattr(tensorboard, "EVERY", 0.02 if before else 1e9)
    monitor = pipeline.monitor(logdir=tmp_path, interval=0.01, show=False)
    with caplog.at_level(logging.ERROR, "pipeline"), monitor:
        fill_the_disk(tmp_path)
        if before:
            wait_until(lambda: caplog.records, "the curves to end")
    (record,) = caplog.records
    assert record.getMessage() == f"the curves in {tmp_path} end here: No space left on device"


def test_a_second_run_in_the_same_directory(tmp_path):
    monitor = pipeline.monitor(logdir=tmp_path)
    for _ in range(2):
        with monitor:
            pass
    assert len(list(tmp_path.glob("events.out.tfevents.*"))) == 2
