"""The table and the data of a report: long names, equal names, gains, and a prefetch whose loop waits for the GIL."""

import json
import time

import pytest

import pipeline
from pipeline import QueueStats
from pipeline.reports.model import UNBOUNDED, Edge, Stage, Tank, Verdict
from pipeline.reports.report import Report
from pipeline.reports.twins import numbered

LONG = "a_function_with_a_long_name_that_was_chosen_for_its_clarity"
STATS = QueueStats(2, 0, False, 1000, 950, 2, 0, 0, 0.0, 0.0, 0.0, 0.0, 10.0, 0, 0)


def rows(*names, kind="function", **settings):
    made = [Stage(number, kind, name, settings=settings) for number, name in enumerate(names, 1)]
    return str(Report(10.0, False, numbered(made), (), 4)).splitlines()[1:]


def test_a_long_name_is_cut_where_the_table_would_be_too_wide():
    function = Stage(1, "function", LONG, elements=1, rate=1234567.0, busy=0.5, settings={"unit": "examples"})
    prefetch = Stage(2, "step", "prefetch(2)", threads=1, elements=1, tank=Tank(STATS, 0, 0.0, 0.0, 0.9))
    table = str(Report(10.0, False, (function, prefetch, Stage(3, "loop", "x")), (Edge(1, 2), Edge(2, 3)), 4))
    assert max(map(len, table.splitlines())) <= 80
    assert LONG[:12] in table
    assert LONG in rows(LONG)[0]  # there is room


def test_all_figures_fit_into_80_columns():
    drawn = {f"input {each}": {"examples": 10**6, "tokens": 10**9} for each in range(4)}
    stages = [
        Stage(1, "function", LONG, threads=1000, elements=1, rate=1e9, busy=0.5, cpu=1.7, settings={"drawn": drawn}),
        Stage(2, "step", "prefetch(2)", threads=1, waits_in=1.0, waits_out=0.5, tank=Tank(STATS, 0, 0.0, 0.0, 0.9)),
        Stage(3, "queue", LONG, tank=Tank(STATS._replace(capacity=UNBOUNDED, high_water=10**9), 0, 0.0, 0.0, 0.9)),
        Stage(4, "loop", "x"),
    ]
    steps, queues, note = Report(10.0, False, numbered(stages), (Edge(1, 2), Edge(2, 4)), 4).details().split("\n\n")
    assert max(map(len, [*steps.splitlines(), *queues.splitlines(), *note.splitlines()])) <= 80
    assert steps.split()[:9] == ["step", "threads", "rate/s", "busy", "cpu", "waits", "in", "waits", "out"]
    names = [each.split("  ")[0][:12] for each in queues.splitlines()]
    assert names == ["queue", "prefetch(2)", "queue a_func"]
    assert "mean size" not in queues  # no monitor looked at them


def test_a_name_that_is_cut_keeps_its_number():
    stages = [Stage(each, "function", LONG, elements=1, busy=0.5) for each in (1, 2)]
    long = Stage(3, "function", LONG, elements=1, rate=1e9, busy=0.5, settings={"unit": 40 * "x"})
    first, second, _ = str(Report(10.0, False, numbered([*stages, long]), (), 4)).splitlines()[1:]
    assert first.partition("  ")[0].endswith("\u2026 (1)")
    assert second.partition("  ")[0].endswith("\u2026 (2)")


@pytest.mark.parametrize(
    ("full", "empty", "want"), [(0.43, 0.24, "empty 24%, full 43%"), (0.0, 0.9, "empty 90%"), (0.9, 0.05, "full 90%")]
)
def test_a_prefetch_that_was_empty_and_full(full, empty, want):
    prefetch = Stage(2, "step", "prefetch(2)", elements=1, tank=Tank(STATS, 0, 0.0, full, empty))
    row = str(Report(10.0, False, (prefetch, Stage(3, "loop", "x")), (Edge(2, 3),), 4)).splitlines()[1]
    assert row.endswith(f"  {want}")


def test_equal_names_of_functions_and_of_loops_are_numbered():
    functions = [each.split("  ")[0] for each in rows("Augment", "load", "Augment")]
    assert functions == ["Augment (1)", "load", "Augment (2)"]
    loops = rows("read", "read", "other", kind="loop", called="your loop (read)")
    assert [each[:20].strip() for each in loops[:2]] == ["your loop (read) (1)", "your loop (read) (2)"]


def test_the_verdict_has_the_number():
    class Augment:
        def __init__(self, seconds):
            self.seconds = seconds

        def __call__(self, number):
            time.sleep(self.seconds)
            return number

    data = pipeline.dataset(range(10_000)).map(Augment(0)).map(Augment(0.01)).batch(4)
    with iter(data) as batches:
        for _ in batches:
            report = batches.report()
            if report.verdict.kind != "short":
                break
    assert report.verdict.cause.startswith("Bottleneck: `Augment (2)` (")
    assert "\nAugment (1) " in str(report)


def test_gains_are_rounded_for_programs():
    verdict = Verdict(1, 1, "function", "Bottleneck: x.", "Try y.", "workers", 4, 2.123456, 1.987654)
    report = Report(10.0, False, (Stage(1, "loop", "x"),), (), 4, None, (verdict,))
    (got,) = json.loads(json.dumps(report.to_dict()))["verdicts"]
    assert (got["gain"], got["least"]) == (2.12, 1.99)


@pytest.mark.parametrize("size", [1, 4])
def test_a_prefetch_is_never_full_and_empty_at_once(size):
    with iter(pipeline.dataset(range(4000)).batch(size).prefetch(2)) as batches:
        for _ in batches:
            sum(range(1000))  # holds the GIL
        report = batches.report()
    (tank,) = (stage.tank for stage in report.stages if stage.tank is not None)
    assert tank.full + tank.empty <= 1 + 1e-9
