"""The verdict on a run of `feed`: which stage it names, and what it tells you to turn."""

import os

import pytest

from pipeline import QueueStats
from pipeline.command.report import Report
from pipeline.command.verdict import QueueUse

NOTHING = QueueStats(100, 0, True, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 10.0, 0, 0)


def report(pool, *, threads=4, examples=1000, first=0.1, **settings):
    """A run of 10 s whose queue of examples has these statistics."""
    settings = {"shuffle": True, "min_after_dequeue": 50, "batch_size": 10, **settings}
    files = QueueUse("files", NOTHING, 1.0, 1, threads)
    use = QueueUse("examples", NOTHING._replace(**pool), 40.0, threads, 1)
    return Report(examples, 100, 5_000_000, 10.0, first, files, use, {"int64": 3, "bytes": 1}, False, settings)


@pytest.fixture(autouse=True)
def _processors(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)


def test_consumer_that_waits_means_slow_readers():
    stage, advice = report({"dequeue_wait_s": 9.0, "enqueue_wait_s": 2.0}).bottleneck()
    assert stage == "readers"
    assert "the consumer waited 90% of the time" in advice
    assert "--threads (now 4, on 8 processors)" in advice


def test_more_threads_are_not_advised_where_all_processors_have_one():
    stage, advice = report({"dequeue_wait_s": 9.0}, threads=8).bottleneck()
    assert stage == "readers"
    assert "--threads 8 is enough for 8 processors" in advice


def test_readers_that_wait_mean_a_slow_consumer():
    """Waits of a side are summed over its threads: 32 s of four threads in 10 s are 80%."""
    stage, advice = report({"dequeue_wait_s": 0.1, "enqueue_wait_s": 32.0}).bottleneck()
    assert stage == "consumer"
    assert "the reader threads waited 80% of the time" in advice
    assert "--batch-size (now 10)" in advice


def test_long_wait_for_the_first_batch_means_a_large_pool():
    stage, advice = report({"dequeue_wait_s": 9.0}, first=8.0).bottleneck()
    assert stage == "shuffle"
    assert "took 80% of the time" in advice
    assert "--min-after-dequeue (now 50)" in advice
    assert report({"dequeue_wait_s": 9.0}, first=8.0, shuffle=False).bottleneck()[0] == "readers"


def test_nothing_came_through():
    assert report({}, examples=0).bottleneck()[0] == "start"
    empty = report({}, examples=0)._replace(seconds=0.0, bytes=0)
    assert empty.to_dict()["examples_per_s"] == 0
    assert "0 examples" in empty.to_text()


def test_text():
    pool = {"capacity": 5000, "high_water": 4321, "full_s": 5.0, "empty_s": 1.0, "dequeue_wait_s": 2.5}
    text = report(pool).to_text()
    assert text.startswith("1,000 examples (3 int64, 1 bytes) in 100 batches, 5.0 MB, 10.00 s\n")
    assert "\n100 examples/s, 500.0 kB/s, first batch after 0.100 s\n" in text
    row = next(line for line in text.splitlines() if line.startswith("examples "))
    assert row.split() == ["examples", "5,000", "40", "4,321", "50%", "10%", "0%", "25%"]
    assert text.endswith(report(pool).bottleneck()[1])


def test_interruption_is_said():
    assert "10.00 s, interrupted\n" in report({})._replace(interrupted=True).to_text()


def test_dict_has_everything_for_machines():
    got = report({"enqueued": 7}).to_dict()
    assert (got["examples_per_s"], got["bytes_per_s"]) == (100.0, 500_000.0)
    assert [queue["name"] for queue in got["queues"]] == ["files", "examples"]
    assert got["queues"][1]["enqueued"] == 7
    assert set(got["bottleneck"]) == {"stage", "advice"}
