"""The report of a run of `feed`: its figures, the table, and the verdict in the words of the command line."""

import pytest

from pipeline import QueueStats
from pipeline.command.report import FeedReport
from pipeline.monitoring.model import Edge, Stage, Tank, Verdict
from pipeline.monitoring.model import Report as Run

STATS = QueueStats(100, 0, True, 7, 7, 9, 0, 0, 0.0, 0.0, 0.0, 0.0, 10.0, 0, 0)


def report(kind="waiting", knob="num_threads", text="", examples=1000, verdicts=None, **changes):
    """A run of 10 s with a verdict."""
    tank = Tank(STATS._replace(capacity=5000, high_water=4321), 50, 40.0, 0.5, 0.1)
    stages = (
        Stage(1, "function", "decode", threads=4),
        Stage(2, "queue", "examples", tank=tank),
        Stage(3, "loop", "examples", threads=1),
    )
    found = (Verdict(3, 1, kind, knob, 8, 2.0, text),) if verdicts is None else verdicts
    run = Run(10.0, True, stages, (Edge(1, 2), Edge(2, 3)), 4, 0.0, found)
    settings = {"threads": 4, "batch_size": 10}
    made = FeedReport(examples, 100, 5_000_000, 10.0, 0.1, STATS, run, {"int64": 3, "bytes": 1}, False, settings)
    return made._replace(**changes)


@pytest.mark.parametrize(
    ("kind", "knob", "stage", "option"),
    [
        ("waiting", "num_threads", "readers", "--threads"),
        ("locked", "processes", "readers", "processes"),
        ("consumer", "consumer", "consumer", "consumer"),
        ("pool", "min_after_dequeue", "shuffle", "--min-after-dequeue"),
        ("capacity", "capacity", "queue", "--capacity"),
    ],
)
def test_stages_and_knobs_are_those_of_the_command(kind, knob, stage, option):
    got = report(kind, knob).bottleneck()
    assert (got["stage"], got["knob"], got["gain"]) == (stage, option, 2.0)


def test_advice_names_options():
    text = (
        "decode waits: num_threads=8, about 2.0 times as fast. Raise capacity (now 80), or a smaller min_after_dequeue."
    )
    advice = "decode waits: --threads 8, about 2.0 times as fast. Raise --capacity (now 80), or a smaller "
    assert report(text=text).bottleneck()["advice"] == advice + "--min-after-dequeue."


def test_nothing_came_through():
    assert report(examples=0).bottleneck()["stage"] == "start"
    assert report(verdicts=()).bottleneck()["stage"] == "start"
    empty = report(examples=0, seconds=0.0, bytes=0)
    assert empty.to_dict()["examples_per_s"] == 0
    assert "0 examples" in empty.to_text()


def test_text():
    text = report(text="Turn num_threads=8.").to_text()
    assert text.startswith("1,000 examples (3 int64, 1 bytes) in 100 batches, 5.0 MB, 10.00 s\n")
    assert "\n100 examples/s, 500.0 kB/s, first batch after 0.100 s\n" in text
    row = next(line for line in text.splitlines() if line.startswith("queue examples "))
    assert row.split() == ["queue", "examples", "0", "5,000", "40", "4,321", "50%", "10%"]
    assert text.endswith("\nTurn --threads 8.")
    assert "num_threads" not in text


def test_interruption_is_said():
    assert "10.00 s, interrupted\n" in report(interrupted=True).to_text()


def test_dict_has_everything_for_machines():
    got = report().to_dict()
    assert (got["examples_per_s"], got["bytes_per_s"]) == (100.0, 500_000.0)
    assert [queue["name"] for queue in got["queues"]] == ["files", "examples"]
    assert [queue["mean_size"] for queue in got["queues"]] == [0, 40]
    assert got["queues"][1]["enqueued"] == 7
    assert set(got["bottleneck"]) == {"stage", "advice", "knob", "gain"}
