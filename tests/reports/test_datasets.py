"""Reports on datasets: a row per part, its inputs and its time; the verdict in the dataset's terms."""

import gc
import itertools
import json
import os
import subprocess
import sys
import threading
import time
import weakref
from dataclasses import replace

import numpy as np
import pytest
from helpers import LIMIT, wait_until

import pipeline
from pipeline import QueueStats
from pipeline.reports.model import Edge, Level, Stage, Tank
from pipeline.reports.report import Report
from pipeline.reports.verdict import judge
from pipeline.workers import auto


def numbers(n=64):
    yield from range(n)


def doubled(number):
    return 2 * number


def halved(number):
    return number // 2


def slow(number):
    """Work that takes much longer than the rest in these chains."""
    time.sleep(0.002)
    return number


def rows(report):
    return [(stage.kind, stage.name) for stage in report.stages]


def chain(report):
    """Return the stage names from first to last, along the edges; each has at most one input."""
    (stage,) = [each for each in report.stages if each.kind == "loop"]
    names = [stage.name]
    while before := report.before(stage):
        (stage,) = before
        names.insert(0, stage.name)
    return names


def test_a_row_for_each_part_named_as_the_user_names_it():
    dataset = pipeline.dataset(numbers).map(doubled).filter(bool).shuffle(8, seed=1).batch(4).prefetch(3)
    with iter(dataset) as batches:
        next(batches)
        report = batches.report()
    assert rows(report) == [
        ("source", "numbers"),
        ("function", "doubled"),
        ("function", "bool"),
        ("step", "shuffle(8)"),
        ("step", "batch(4)"),
        ("step", "prefetch(3)"),
        ("loop", "numbers"),
    ]
    assert chain(report) == [stage.name for stage in report.stages]
    assert report.stages[5].tank.stats.capacity == 3
    assert (report.stages[5].threads, report.stages[6].elements) == (1, 1)
    assert "function doubled" in report.details()


def test_elements_in_and_out():
    dataset = pipeline.dataset(list(range(20))).filter(lambda number: number % 2).flat_map(lambda number: [number] * 3)
    batches = iter(dataset.batch(5))
    assert len(list(batches)) == 6
    assert [stage.elements for stage in batches.report().stages] == [20, 10, 30, 6, 6]


def test_elements_of_parts_of_which_only_numbers_move():
    """A full shuffle moves indices; rows are made, and functions called, once a batch needs them."""
    batches = iter(pipeline.arrays(np.arange(40)).map(doubled).shuffle(seed=1).batch(8))
    list(batches)
    report = batches.report()
    assert {stage.name: stage.elements for stage in report.stages if stage.kind != "loop"} == {
        "arrays": 40,
        "doubled": 40,
        "batch(8)": 5,
    }


def test_a_shuffle_with_a_size_has_a_row():
    batches = iter(pipeline.arrays(np.arange(40)).shuffle(10, seed=1).batch(8))
    list(batches)
    assert [(stage.kind, stage.name, stage.elements) for stage in batches.report().stages] == [
        ("source", "arrays", 40),
        ("step", "shuffle(10)", 40),
        ("step", "batch(8)", 5),
        ("loop", "arrays", 5),
    ]


def test_each_function_has_its_own_time_and_elements():
    """Neighbouring functions run as one stage: in the consuming thread, before and after workers, and in workers."""

    def even(number):
        return number % 2 == 0

    for workers in (None, 2, pipeline.threads(2)):
        dataset = pipeline.dataset(range(40)).map(doubled).map(slow, workers=workers).filter(even).map(halved)
        batches = iter(dataset.batch(4))
        list(batches)
        stages = {stage.name: stage for stage in batches.report().stages}
        assert [stages[name].elements for name in ("doubled", "slow", "even", "halved")] == [40, 40, 40, 40]
        spent = {name: stages[name].settings["taken"] for name in ("doubled", "even", "halved", "batch(4)")}
        assert stages["slow"].busy > max(spent.values())
        assert stages["slow"].threads == (0 if workers is None else 2)


def test_functions_that_share_workers():
    with pipeline.processes(2) as workers:
        dataset = pipeline.dataset(range(40)).map(doubled, workers=workers).map(slow, workers=workers)
        batches = iter(dataset.batch(4))
        list(batches)
    found = {stage.name: stage for stage in batches.report().stages}
    assert (found["doubled"].elements, found["slow"].elements) == (40, 40)
    assert found["doubled"].busy < found["slow"].busy
    assert found["doubled"].settings["taken"] < found["slow"].settings["taken"]


def test_what_a_prefetch_holds():
    """Its thread fills it while the loop takes nothing, and waits for room then."""
    with iter(pipeline.dataset(numbers).batch(4).prefetch(3)) as batches:
        next(batches)
        wait_until(lambda: batches.report().stages[2].tank.stats.size == 3, "three batches")
        wait_until(lambda: batches.report().stages[2].tank.stats.waiting_enqueues == 1, "the thread to wait for room")
        stage = batches.report().stages[2]
        stats = stage.tank.stats
        assert (stats.size, stats.capacity, stats.enqueued, stats.dequeued) == (3, 3, 4, 1)
        assert (stage.threads, stage.running) == (1, 1)
        wait_until(lambda: (batches.report().stages[2].waits_out or 0) > 0.1, "the wait to count")
    assert batches.report().stages[2].tank.stats.size == 0


def test_a_prefetch_in_each_pass_of_a_repeat():
    batches = iter(pipeline.dataset(numbers).batch(8).prefetch(2).repeat(3))
    assert len(list(batches)) == 24
    stage = next(each for each in batches.report().stages if each.name == "prefetch(2)")
    assert (stage.elements, stage.tank.stats.size) == (24, 0)


def test_several_inputs():
    one, other = pipeline.dataset(numbers), pipeline.dataset([1, 2, 3]).map(doubled)
    with iter(pipeline.mix([one, other], seed=1).batch(2)) as batches:
        next(batches)
        report = batches.report()
    (mixed,) = [stage for stage in report.stages if (stage.kind, stage.name) == ("step", "mix")]
    assert {stage.name for stage in report.before(mixed)} == {"numbers", "doubled"}
    assert rows(report)[-1] == ("loop", "mix")


def test_repeat_and_concatenate_are_no_rows():
    dataset = pipeline.dataset(numbers).repeat(3).concatenate(pipeline.dataset([5, 6])).batch(10)
    batches = iter(dataset)
    list(batches)
    report = batches.report()
    assert sorted(rows(report)) == [
        ("loop", "concatenate"),
        ("source", "list"),
        ("source", "numbers"),
        ("step", "batch(10)"),
    ]
    assert [stage.elements for stage in report.stages if stage.name == "numbers"] == [3 * 64]


def test_the_time_of_a_function_is_its_own():
    """Functions are named wherever they run: in the consuming thread, in prefetch's, or while a batch is made."""
    for dataset in (
        pipeline.dataset(numbers).map(slow).batch(8),
        pipeline.dataset(numbers).map(slow).batch(8).prefetch(2),
        pipeline.dataset(list(range(64))).map(slow).shuffle(seed=1).batch(8),
    ):
        batches = iter(dataset)
        list(batches)
        report = batches.report()
        parts = [stage for stage in report.stages if stage.kind in ("source", "function", "step")]
        times = {stage.name: stage.busy for stage in parts if stage.tank is None}
        assert max(times, key=times.get) == "slow"
        assert sum(times.values()) <= 1.01


def test_before_the_first_element_and_after_the_end():
    batches = iter(pipeline.dataset(numbers).batch(8).prefetch(2))
    report = batches.report()
    assert (report.stages[-1].state, report.verdict) == ("not started", None)
    list(batches)
    report = batches.report()
    assert report.stages[-1].state == "ended"
    assert batches.report().seconds == report.seconds
    batches.close()
    assert batches.report().stages[-1].state == "closed"


def test_an_element_that_has_not_come_yet():
    release, waiting = threading.Event(), threading.Event()

    def held(number):
        waiting.set()
        release.wait(LIMIT)
        return number

    batches = iter(pipeline.dataset(numbers).map(held).batch(4).prefetch(2))
    batches.start()
    taker = threading.Thread(target=batches.__next__)
    taker.start()
    assert waiting.wait(LIMIT)
    assert batches.report().verdict.text == "No example has arrived yet."
    release.set()
    taker.join()
    batches.close()


def test_workers_are_counted():
    with iter(pipeline.dataset(numbers).map(doubled, workers=3).batch(4)) as batches:
        next(batches)
        (stage,) = [each for each in batches.report().stages if each.name == "doubled"]
    assert (stage.kind, stage.threads) == ("function", 3)
    assert 0 < stage.busy <= 1


def test_workers_that_change_their_number_are_as_busy_as_there_were(monkeypatch):
    """A function that only waits keeps all workers busy, each counted from its own start."""
    monkeypatch.setattr(auto, "_SECONDS", 0.05)  # otherwise the number would change once a second
    with iter(pipeline.dataset(range(10**6)).map(slow, workers="auto").batch(4)) as batches:
        while next(stage for stage in batches.report().stages if stage.name == "slow").threads < 8:
            next(batches)
        (stage,) = [each for each in batches.report().stages if each.name == "slow"]
        assert stage.settings["auto"]
        assert stage.busy > 0.5


@pytest.mark.parametrize("kind", ["number", "threads", "processes"])
def test_what_workers_make_is_not_time_of_the_thread_that_takes(kind):
    workers = 2 if kind == "number" else getattr(pipeline, kind)(2)
    batches = iter(pipeline.dataset(list(range(64))).map(slow, workers=workers).batch(8))
    list(batches)
    report = batches.report()
    source, function, batch, loop = report.stages
    assert source.settings["taken"] < function.busy
    assert (function.threads, batch.threads) == (2, 0)
    assert 0 < function.busy <= 1
    assert sum(stage.settings["taken"] for stage in (source, function, batch)) <= 1.01
    assert loop.waits_in is not None


def test_datasets_within_a_dataset():
    """They are not rows; their time counts for the part that opens them."""
    nested = pipeline.dataset([1, 2, 3]).map(lambda n: pipeline.dataset(list(range(n))).map(slow))
    batches = iter(pipeline.interleave(nested, cycle_length=2).batch(2))
    list(batches)
    report = batches.report()
    times = {stage.name: stage.busy for stage in report.stages if stage.kind != "loop"}
    assert max(times, key=times.get) == "interleave"


def test_a_report_of_a_run_that_goes_on_in_another_thread():
    """Reports may be made at any time, and all of them see the end."""
    dataset = pipeline.dataset(numbers).repeat(50).map(doubled, workers=2).shuffle(8, seed=1).batch(4).prefetch(2)
    batches = iter(dataset)
    taker = threading.Thread(target=lambda: list(batches))
    taker.start()
    while taker.is_alive():
        assert len(str(batches.report())) > 0
    taker.join()
    assert batches.report().stages[-1].elements == 800


def test_a_queue_that_others_fill_is_a_stage():
    queue = pipeline.FIFOQueue(100, np.int64, (), name="live")
    queue.enqueue_many(np.arange(50))
    with iter(pipeline.dataset(queue).map(doubled).batch(5)) as batches:
        next(batches)
        report = batches.report()
    assert rows(report)[:2] == [("queue", "live"), ("function", "doubled")]
    assert chain(report) == ["live", "doubled", "batch(5)", "live"]


def test_the_report_of_everything_has_datasets_that_run():
    with iter(pipeline.dataset(numbers).map(doubled).batch(4)) as batches:
        next(batches)
        report = pipeline.report()
        mine = {stage.id for stage in batches.report().stages}
        assert mine <= {stage.id for stage in report.stages}
        assert any(verdict.loop in mine for verdict in report.verdicts)
        json.dumps(report.to_dict())


def test_an_iterator_without_a_position_is_freed_at_once():
    queue = pipeline.FIFOQueue(100, np.int64, (), name="live")
    queue.enqueue_many(np.arange(50))
    gc.collect()
    gc.disable()
    try:
        batches = iter(pipeline.dataset(queue).map(doubled).batch(5))
        next(batches)
        alive = weakref.ref(batches)
        del batches
        assert alive() is None
    finally:
        gc.enable()


def test_nothing_is_kept_alive():
    batches = iter(pipeline.dataset(numbers).map(doubled).batch(4).prefetch(2))
    next(batches)
    ids = {stage.id for stage in batches.report().stages}
    del batches
    wait_until(lambda: not ids & {stage.id for stage in pipeline.report().stages}, "the stages to go")


def test_a_monitor_knows_levels_rates_and_metrics():
    with (
        pipeline.monitor(show=False, interval=0.005) as sampler,
        iter(pipeline.dataset(numbers).repeat().map(doubled).batch(4).prefetch(2)) as batches,
    ):
        next(batches)
        wait_until(lambda: any(each.tank and len(each.tank.levels) > 2 for each in sampler.report().stages), "samples")
        for _ in range(3):
            next(batches)
        report = sampler.report(batches)
    assert report.watched
    (ahead,) = [stage for stage in report.stages if stage.tank is not None]
    assert ahead.tank.levels
    assert {stage.kind for stage in report.stages} == {"source", "function", "step", "loop"}


def test_a_monitor_keeps_what_has_ended():
    """`for batch in dataset` leaves no iterator behind; another live loop changes nothing."""
    other = iter(pipeline.dataset(numbers).batch(4))
    next(other)
    with pipeline.monitor(show=False) as sampler:
        for _ in pipeline.dataset(numbers).map(doubled).batch(4):
            pass
        assert ("loop", "numbers") in rows(sampler.report())
        assert ("loop", "numbers") in rows(pipeline.report())
    assert rows(sampler.report()).count(("loop", "numbers")) == 2
    other.close()
    assert rows(sampler.report()).count(("loop", "numbers")) == 2


def test_loops_are_named_if_there_are_several():
    first = iter(pipeline.dataset(numbers).batch(4))
    next(first)
    assert "\nyour loop " in str(first.report())
    with iter(pipeline.arrays(np.arange(8)).batch(4)) as second:
        next(second)
        assert "\nyour loop (numbers) " in str(pipeline.report())
        assert "\nyour loop (arrays) " in str(pipeline.report())
    first.close()


def test_metrics():
    client = pytest.importorskip("prometheus_client")

    def halved(number):
        return number / 2

    with iter(pipeline.dataset(numbers).map(halved).batch(4)) as batches:
        next(batches)
        registry = client.CollectorRegistry()
        registry.register(pipeline.MetricsCollector())
        found = registry.get_sample_value("pipeline_stage_elements_total", {"kind": "function", "name": "halved"})
    assert found == 4


def test_a_picture():
    with iter(pipeline.dataset(numbers).map(doubled).batch(4)) as batches:
        next(batches)
        assert "doubled" in batches._repr_html_()
        assert "doubled" in str(pipeline.draw(batches))


def test_a_trace(tmp_path):
    name = tmp_path / "trace.json"
    with pipeline.trace(str(name)), iter(pipeline.dataset(numbers).map(slow).batch(8)) as batches:
        list(batches)
    events = json.loads(name.read_text())["traceEvents"]
    assert sum(each.get("name") == "next of 'numbers'" for each in events) == 9  # eight batches and the end
    assert sum(each.get("name") == "between batches of 'numbers'" for each in events) == 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_in_the_child_of_a_fork_nothing_is_left():
    with iter(pipeline.dataset(numbers).batch(4)) as batches:
        next(batches)
        child = os.fork()
        if not child:
            os._exit(len(pipeline.report().stages))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_environment_asks_for_a_monitor():
    program = "import pipeline\nfor batch in pipeline.dataset(range(1000)).batch(10): pass\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PIPELINE_MONITOR": "plain"},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=True,
    )
    assert "your loop" in done.stderr


# Verdicts on hand-made models

STATS = QueueStats(2, 0, False, 1000, 950, 2, 0, 0, 0.0, 0.0, 0.0, 0.0, 10.0, 0, 0)


def part(number, name, taken, kind="function", **more):
    more.setdefault("cpu", more.get("wanted"))
    settings = {"taken": taken, "in_workers": False, **more.pop("settings", {})}
    return Stage(number, kind, name, elements=950, rate=95.0, busy=taken, settings=settings, **more)


def prefetch(number, waits_out=0.0, waits_in=0.0, wanted=None, capacity=2):
    tank = Tank(STATS._replace(capacity=capacity), 0, 1.0, 0.0, 0.0, (Level(1.0, 1),))
    more = {"waits_in": waits_in, "waits_out": waits_out, "cpu": wanted, "wanted": wanted, "tank": tank}
    return Stage(number, "step", f"prefetch({capacity})", elements=950, **more)


def verdict(*stages, waits_in, lock=None, wanted=None, processors=4, seconds=10.0, **loop):
    """Return the verdict on some seconds of consecutive stages and a loop with this waiting time."""
    given = {"elements": 950, "first_s": 0.1, "age_s": seconds, **loop}
    given |= {"busy": 1 - waits_in, "cpu": wanted, "wanted": wanted}
    last = Stage(99, "loop", "images", waits_in=waits_in, settings={"kind": "dataset"}, **given)
    chained = [*stages, last]
    edges = tuple(Edge(a.id, b.id) for a, b in itertools.pairwise(chained))
    (found,) = judge(Report(seconds, lock is not None, tuple(chained), edges, processors, lock))
    return found


def test_your_loop():
    got = verdict(part(1, "decode", 0.1), waits_in=0.1)
    assert (got.kind, got.stage, got.knob) == ("consumer", 99, "consumer")
    assert got.text.startswith("Bottleneck: your loop (90% of the time).")
    assert got.gain is None


def test_a_starved_function_may_not_wait_for_io():
    """Its threads may as well wait for the GIL."""
    settings = {"in_workers": True, "made_by": "pipeline.threads"}
    got = verdict(
        part(1, "parse", 0.47, settings=settings, threads=8, wanted=1.5, cpu=0.9), waits_in=0.98, processors=2
    )
    assert got.text.endswith("Bottleneck: `parse` (8 workers, 47% busy). Measure again while they are free.")


def test_a_report_before_the_first_batch():
    with iter(pipeline.dataset(range(8)).batch(4)) as batches:
        assert str(batches.report()).startswith("No example has arrived yet.\n\n")


@pytest.mark.parametrize("state", ["running", "ended"])
def test_no_example_so_far_and_none_at_all(state):
    got = verdict(part(1, "decode", 0.1), waits_in=0.9, elements=0, state=state)
    assert got.kind == "start"
    assert ("is empty" in got.text) == (state == "ended")


def test_a_function_in_your_own_thread():
    got = verdict(part(1, "read", 0.1, "source"), part(2, "decode", 0.8), waits_in=0.9)
    assert (got.kind, got.stage, got.knob, got.value) == ("function", 2, "workers", None)
    assert (got.least, got.gain) == (1.0, pytest.approx(5))
    assert got.text == (  # at best reading and your loop take all the time, and four workers split the rest
        "Bottleneck: `decode` (80% of the time). Try `workers=4` if it releases the GIL (NumPy, images), else "
        "`workers=pipeline.processes(4)`: up to 5 times as fast."
    )


def test_two_kinds_of_workers_promise_no_least_gain():
    """It computes, but without a monitor it is unknown whether it holds the GIL."""
    got = verdict(part(2, "decode", 0.9), waits_in=0.9, wanted=1.0, processors=2)
    assert (got.knob, got.value, got.least) == ("workers", None, 1.0)
    assert got.text.endswith("else `workers=pipeline.processes(2)`: up to 2 times as fast.")


def test_workers_behind_a_cache_gain_less():
    """The cache's first epoch does other work than the later ones, so they cannot overlap."""
    cache = replace(part(2, "cache", 0.0, "step", settings={"call": "cache"}), busy=0.0)
    given = part(1, "slow", 0.2), cache, part(3, "aug", 0.79), prefetch(4, waits_in=0.99, wanted=0.05)
    got = verdict(*given, waits_in=0.99)
    assert (got.stage, got.value, got.gain) == (3, 4, pytest.approx(1 / (0.21 + 0.79 / 4)))
    assert got.text.endswith("Try `workers=4`: 1.8 to 2.5 times as fast.")


def test_a_function_that_waits():
    got = verdict(part(2, "decode", 0.9), waits_in=0.9, lock=0.1, wanted=0.1)
    assert got.text == (
        "Bottleneck: `decode` (90% of the time, waiting for I/O). Try `workers=4`: 3 to 4 times as fast."
    )
    assert (got.least, got.gain) == pytest.approx((0.75 * 4.44, 4.44), rel=0.01)


def test_a_function_that_computes_and_holds_the_lock():
    got = verdict(part(2, "decode", 0.9), waits_in=0.9, lock=0.9, wanted=1.0)
    assert (got.knob, got.value) == ("workers", 4)
    assert "(90% of the time, computing). Try `workers=pipeline.processes(4)`: 2.2 to 4 times as fast." in got.text
    assert got.gain == pytest.approx(4)


BRIEF = "To go faster, write it for a whole batch in NumPy (`.batch(n).map_batches(f)`)"
COLUMNS = "Read the columns by `pipeline.csv(path, names=[...])`: its rows are dicts"


@pytest.mark.parametrize(("csv", "advice"), [(False, BRIEF), (True, COLUMNS)], ids=["other", "csv"])
def test_a_function_too_short_for_workers(csv, advice):
    lines = replace(part(1, "text", 0.1, "source", settings={"csv_lines": csv}), rate=100_000.0)
    got = verdict(lines, part(2, "decode", 0.8), prefetch(3, waits_in=0.9), waits_in=0.9)
    assert (got.kind, got.stage, got.knob, got.gain) == ("function", 2, None, None)
    assert got.text == (
        f"Bottleneck: `decode` (80% of the time). It takes about 8 µs an example, too short for workers. {advice}."
    )


def test_a_filter_that_keeps_little_is_timed_by_what_it_takes():
    got = verdict(replace(part(1, "read", 0.1, "source"), rate=1e5), part(2, "few", 0.8), waits_in=0.9)
    assert "about 8 µs an example" in got.text


def test_a_function_of_batches_too_short_for_workers():
    settings = {"taken": 0.1, "unit": "batches"}
    batches = replace(part(1, "batch(8)", 0.1, "step", settings=settings), rate=100_000.0)
    got = verdict(batches, part(2, "scale", 0.8), waits_in=0.9)
    assert got.text.endswith("It takes about 8 µs a batch, too short for workers. To go faster, make larger batches.")


@pytest.mark.parametrize("made_by", ["pipeline.threads", "pipeline.processes"])
def test_workers_of_a_function_too_short_for_them(made_by):
    pooled = {"settings": {"in_workers": True, "made_by": made_by}, "threads": 2}
    decode = replace(part(1, "decode", 0.1, **pooled), rate=25_000.0)
    got = verdict(decode, waits_in=0.9)
    assert (got.knob, got.gain) == (None, None)
    assert got.text.endswith(f"(2 workers, 10% busy). It takes about 8 µs an example. {BRIEF}.")


def test_a_short_function_that_processes_may_speed_up():
    lines = replace(part(1, "read", 0.1, "source"), rate=50_000.0)
    got = verdict(lines, part(2, "decode", 0.8), waits_in=0.9)
    assert got.text.endswith(
        f"It takes about 16 µs an example. {BRIEF}, or try `workers=pipeline.processes(2)`: up to 1.5 times as fast."
    )
    assert (got.least, got.gain) == (1.0, 1.5)


def test_a_filter_is_not_told_to_map_batches():
    lines = replace(part(1, "read", 0.1, "source"), rate=100_000.0)
    got = verdict(lines, part(2, "keep", 0.8, settings={"call": "filter"}), waits_in=0.9)
    assert got.text.endswith("To go faster, filter whole batches (`.batch(n).map_batches(f).unbatch()`).")


def test_many_short_steps():
    lines = replace(part(1, "range", 0.38, "source"), rate=1e6)
    got = verdict(lines, part(2, "batch(8)", 0.31, "step"), part(3, "tiny", 0.23), waits_in=0.92)
    assert got.text == "No step stands out: `range` 38%, `batch(8)` 31%, `tiny` 23%. Work on whole batches."


@pytest.mark.parametrize(
    ("reads", "end"), [(True, "one thread reads this file"), (False, "one thread goes")], ids=["file", "memory"]
)
def test_many_compiled_steps(reads, end):
    lines = part(1, "csv", 0.44, "source", settings={"source": "csv", "reads_files": reads})
    got = verdict(lines, part(2, "shuffle(9)", 0.43, "step"), part(3, "batch(8)", 0.1, "step"), waits_in=0.97)
    assert got.text == f"No step stands out; all are compiled. This is about as fast as {end}."


@pytest.mark.parametrize("functions", [False, True])
def test_only_functions_do_less_work(functions):
    given = part(1, "sort(9)", 0.97, "step", settings={"functions": functions})
    got = verdict(given, prefetch(2, waits_in=0.97, wanted=0.1), waits_in=0.97)
    how = ", waiting for I/O" if functions else ""  # this library's steps never wait for it
    helps = " To go faster, do less work per example." if functions else ""
    assert got.text == f"Bottleneck: `sort(9)` (97% of the time{how}).{helps}"


def test_a_users_source_that_workers_cannot_speed_up():
    given = replace(part(1, "read", 0.8, "source", settings={"source": "callable"}), rate=1e5)
    got = verdict(given, prefetch(2, waits_in=0.8), waits_in=0.95)
    assert got.text.endswith("`read` (80% of the time). It takes about 8 µs an example, too short for workers.")


def test_a_slow_collate():
    given = part(1, "batch(8)", 0.95, "step", settings={"call": "batch", "functions": True})
    got = verdict(given, waits_in=0.95)
    assert "Move the work into `.batch(n, collate=list).map_batches(f, workers=4)`." in got.text


THREADS = {"in_workers": True, "made_by": "pipeline.threads"}


def pooled(number, name, taken, busy, **more):
    return replace(part(number, name, taken, settings=THREADS, threads=4, wanted=0.1, **more), busy=busy)


@pytest.mark.parametrize("split", [False, True], ids=["one thread", "prefetch between"])
def test_workers_that_are_always_busy_before_a_slower_looking_step(split):
    """The next-busiest step bounds the gain."""
    first, last = pooled(1, "load", 0.39, 0.99), part(3, "crop", 0.6)
    between = [prefetch(2, waits_in=0.39)] if split else []
    got = verdict(first, *between, last, waits_in=0.99)
    assert (got.stage, got.knob, got.value) == (1, "workers", 7)
    assert got.gain == pytest.approx(1 / 0.61, rel=0.01)
    assert got.text.endswith(
        "`load` (4 workers, 99% busy, waiting for I/O). Try `workers=7`: up to 1.6 times as fast, unless they wait for "
        "one lock, disk or server."
    )


def test_a_thread_that_reads_ahead_without_a_pause():
    got = verdict(part(1, "load", 0.99), prefetch(2, waits_in=0.39), part(3, "crop", 0.6), waits_in=0.99)
    assert got.stage == 1


def test_workers_that_wait_for_busy_ones():
    got = verdict(pooled(1, "load", 0.3, 0.99), pooled(2, "crop", 0.69, 0.27), waits_in=0.99)
    assert (got.stage, got.value) == (1, 15)
    assert "ordered=False" not in got.text


def test_processes_that_wait_may_be_threads():
    settings = THREADS | {"made_by": "pipeline.processes"}
    got = verdict(replace(pooled(1, "load", 0.99, 0.99), settings=settings | {"taken": 0.99}), waits_in=0.99)
    assert "Try `workers=16`: up to 4 times as fast" in got.text
    assert got.text.endswith("; threads suffice, as it waits.")


def test_no_more_than_64_workers():
    got = verdict(replace(pooled(1, "load", 0.99, 0.99), threads=32), waits_in=0.99)
    assert (got.value, got.gain) == (64, pytest.approx(2, rel=0.1))
    got = verdict(replace(pooled(1, "load", 0.99, 0.99), threads=64), waits_in=0.99)
    assert (got.value, got.gain) == (None, None)


def test_a_run_that_other_programs_starve_gets_no_promise():
    begins = "Other programs took processor time: yours had 0.2 of the 1.2 processors it needed. Bottleneck: "
    got = verdict(part(2, "decode", 0.9, wanted=1.2, cpu=0.2), waits_in=0.9, lock=0.1)
    assert got.text == f"{begins}`decode` (90% of the time). Measure again while they are free."
    assert (got.knob, got.gain, got.least) == (None, None, None)
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.threads"}, "threads": 2, "wanted": 0.1}
    other = part(1, "read", 0.1, "source", wanted=1.1, cpu=0.1)
    got = verdict(other, part(2, "decode", 0.8, **pooled), waits_in=0.9)
    assert got.text == f"{begins}`decode` (2 workers, 80% busy, waiting for I/O). Try `workers=8`."
    assert (got.knob, got.gain, got.least) == ("workers", None, None)


def test_a_starved_short_function_is_measured_again():
    lines = replace(part(1, "text", 0.1, "source", settings={"csv_lines": True}), rate=100_000.0)
    got = verdict(lines, part(2, "decode", 0.8, wanted=1.2, cpu=0.5), waits_in=0.9)
    assert got.text.endswith("`decode` (80% of the time). Measure again while they are free.")
    assert (got.knob, got.value) == (None, None)


def test_a_starved_function_that_hardly_computes_waits():
    """Each wait ends with another one, for a processor."""
    settings = {"in_workers": True, "made_by": "pipeline.threads"}
    given = part(1, "decode", 0.98, settings=settings, threads=2, wanted=0.9, cpu=0.03)
    got = verdict(given, waits_in=0.98, processors=2)
    assert got.text.endswith("`decode` (2 workers, 98% busy, waiting for I/O). Try `workers=8`.")
    assert (got.knob, got.value, got.gain) == ("workers", 8, None)


def test_a_function_that_computes_and_is_starved_is_measured_again():
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.processes"}, "threads": 2}
    got = verdict(part(1, "decode", 0.98, **pooled, wanted=2.0, cpu=0.9), waits_in=0.98, processors=2)
    assert got.text.endswith("`decode` (2 workers, 98% busy). Measure again while they are free.")
    assert (got.knob, got.value, got.gain) == (None, None, None)


def test_more_threads_than_processors_starve_nobody():
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.processes"}, "threads": 8}
    got = verdict(part(1, "decode", 0.98, **pooled, wanted=8.0, cpu=2.0), waits_in=0.98, processors=2)
    assert got.text.endswith("computing). All 2 processors are used. To go faster, do less work per example.")


def test_a_slow_source_that_takes_workers():
    settings = {"taken": 0.9, "takes_workers": "pipeline.dataset"}
    got = verdict(part(2, "Squares", 0.9, "source", settings=settings), waits_in=0.9, lock=0.1, wanted=0.1)
    assert (got.kind, got.knob, got.value) == ("source", "workers", 4)
    assert got.text.endswith("Try `pipeline.dataset(..., workers=4)`: 3 to 4 times as fast.")


def test_nothing_is_said_of_less_than_half_a_processor():
    pooled = {
        "settings": {"in_workers": True, "made_by": "pipeline.processes"},
        "threads": 4,
        "wanted": 3.4,
        "cpu": 3.4,
    }
    got = verdict(part(1, "decode", 0.98, **pooled), waits_in=0.98, lock=0.0)
    assert got.text.endswith("computing). To go faster, do less work per example.")


def test_a_function_that_computes_and_leaves_the_lock():
    got = verdict(part(2, "decode", 0.9), waits_in=0.9, lock=0.1, wanted=1.0)
    assert "computing). Try `workers=4`" in got.text


def test_work_that_fits_beside_your_loop():
    got = verdict(part(1, "batch(8)", 0.4, "step"), waits_in=0.4)
    assert (got.knob, got.value, got.gain) == ("prefetch", 2, pytest.approx(1 / 0.6))
    assert (
        got.text == "Bottleneck: `batch(8)` (40% of the time). Try `.prefetch(2)` at the end: up to 1.7 times as fast."
    )
    assert got.least == 1.0


def test_a_function_behind_prefetch():
    got = verdict(part(1, "decode", 0.95), prefetch(2, waits_in=0.95), waits_in=0.95)
    assert (got.stage, got.knob, got.value) == (1, "workers", None)
    assert "`workers=pipeline.processes(4)`: up to 4 times as fast." in got.text


def test_a_source_behind_prefetch():
    given = part(1, "read", 0.95, "source", settings={"source": "callable"})
    got = verdict(given, prefetch(2, waits_in=0.95, wanted=0.1), waits_in=0.95)
    assert (got.kind, got.stage, got.knob, got.value) == ("source", 1, "workers", 4)
    assert got.text.endswith("waiting for I/O). Move its slow part into `.map(..., workers=4)`: up to 4 times as fast.")


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (0.1, "waiting for I/O). Faster storage or a local copy of its files would help."),
        (1.0, "computing). Read fewer columns (`columns=`), or convert the files to Parquet."),
    ],
    ids=["waits", "computes"],
)
def test_a_source_of_files(wanted, said):
    given = part(1, "csv", 0.95, "source", settings={"source": "csv"})
    got = verdict(given, prefetch(2, waits_in=0.95, wanted=wanted), waits_in=0.95)
    assert (got.kind, got.stage, got.knob) == ("source", 1, None)
    assert got.text.endswith(said)


def test_a_prefetch_that_is_too_small():
    got = verdict(part(1, "decode", 0.5), prefetch(2, waits_out=0.5, waits_in=0.5), waits_in=0.5)
    assert (got.kind, got.knob, got.value) == ("prefetch", "prefetch", 8)
    assert got.text == (
        "Bottleneck: `prefetch(2)` is too small: your loop waited for it 50% of the time, and it was full 50% of the "
        "time. Try `prefetch(8)`: up to 2 times as fast."
    )


def test_a_prefetch_with_small_batches_costs_more_than_it_gains():
    """Waiting 98% of the time and having no room 36% of it is waiting for the GIL."""
    small = replace(prefetch(2, waits_out=0.36, waits_in=0.98), rate=20_000.0)
    got = verdict(part(1, "add", 0.3), small, waits_in=0.98)
    assert (got.kind, got.knob, got.value, got.gain) == ("prefetch", "prefetch", None, None)
    assert got.text.endswith(
        "The batches are too small for a thread of their own. Leave out `.prefetch(2)`, or make larger batches."
    )


@pytest.mark.parametrize("empty", [0.02, 0.98])
def test_a_prefetch_is_not_too_small_if_its_loop_waits_for_the_gil(empty):
    """Its loop waits 97% of the time, though there is a batch."""
    got = verdict(part(1, "parse", 0.6), prefetch(2, waits_out=0.29, waits_in=empty), waits_in=0.97)
    assert (got.kind, got.stage) == ("function", 1)


def test_a_prefetch_is_not_too_small_if_its_thread_waits_for_the_gil():
    workers = {"settings": {"in_workers": True, "made_by": "pipeline.threads"}, "threads": 2, "wanted": 1.0}
    got = verdict(part(1, "parse", 0.6, **workers), prefetch(2, waits_out=0.36, waits_in=0.98), waits_in=0.98)
    assert (got.kind, got.stage, got.knob, got.value) == ("function", 1, "workers", 4)
    assert "Its 2 threads take turns at Python's lock (GIL). Try `workers=pipeline.processes(4)`" in got.text


def test_threads_that_share_the_gil_with_your_loop_get_processes():
    """Together they use one processor: neither more threads nor a prefetch would help."""
    workers = {"settings": {"in_workers": True, "made_by": "pipeline.threads"}, "threads": 2, "wanted": 0.45}
    got = verdict(part(1, "parse", 0.6, **workers), waits_in=0.5, wanted=0.5, processors=2)
    assert got.text.startswith("Bottleneck: `parse` (2 workers, 60% busy, computing). Its 2 threads take turns at ")
    assert (got.knob, got.value) == ("workers", 2)


def test_workers_that_are_busy():
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.threads"}, "threads": 2}
    got = verdict(part(1, "decode", 0.9, **pooled), waits_in=0.9)  # `busy` means the same as `taken` here
    assert (got.knob, got.value) == ("workers", 8)
    assert got.text.endswith("`decode` (2 workers, 90% busy). Try `workers=8`: up to 4 times as fast.")
    assert (got.least, got.gain) == (1.0, pytest.approx(4))


@pytest.mark.parametrize("threads", [2, 4])
def test_busy_threads_that_hold_the_lock_get_processes_one_per_processor(threads):
    """They wait for the GIL, not for I/O, and together keep one processor busy."""
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.threads"}, "threads": threads, "wanted": 1.0}
    got = verdict(part(1, "decode", 0.98, **pooled), waits_in=0.98, lock=0.99, processors=2)
    assert (got.knob, got.value, got.gain) == ("workers", 2, pytest.approx(2.3))
    assert got.text.endswith(
        f"computing). Its {threads} threads take turns at Python's lock (GIL). Try `workers=pipeline.processes(2)`: up "
        "to 2.3 times as fast."
    )
    got = verdict(part(1, "decode", 0.3, **pooled), waits_in=0.98, lock=0.99, processors=2)
    assert "`workers=pipeline.processes(2)`" in got.text  # though they are seldom at work
    got = verdict(part(1, "decode", 0.98, **pooled), waits_in=0.98, lock=0.99, processors=1)
    assert (got.knob, got.gain) == (None, None)
    assert "The only processor is used" in got.text


def test_busy_threads_where_another_thread_holds_the_lock():
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.threads"}, "threads": 2, "wanted": 0.1}
    got = verdict(part(1, "decode", 0.98, **pooled), waits_in=0.98, lock=0.95)
    assert (got.knob, got.gain) == (None, None)
    assert "waiting for I/O). The GIL is held 95% of the time." in got.text


@pytest.mark.parametrize(("processors", "lock", "most"), [(2, 0.1, 2.5), (4, 0.1, 4), (4, 0.4, 2.5)])
def test_no_more_than_processors_and_the_lock_allow(processors, lock, most):
    """The threads use 0.8 of one processor, between their waits."""
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.threads"}, "threads": 2, "wanted": 0.8}
    got = verdict(part(1, "decode", 0.98, **pooled), waits_in=0.98, lock=lock, processors=processors)
    assert got.gain == pytest.approx(most)
    assert f"waiting for I/O). Try `workers=8`: up to {most} times as fast, unless they wait for one lock" in got.text


def test_busy_processes_of_which_it_is_not_known_whether_they_compute():
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.processes"}, "threads": 2}
    got = verdict(part(1, "decode", 0.98, **pooled), waits_in=0.98, processors=2)
    assert (got.least, got.gain) == (1.0, pytest.approx(4))
    assert got.text.endswith("Try `workers=pipeline.processes(8)`: up to 4 times as fast.")


def test_busy_processes_get_no_more_of_them_than_there_are_processors():
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.processes"}, "threads": 2, "wanted": 2.0}
    got = verdict(part(1, "decode", 0.98, **pooled), waits_in=0.98, lock=0.0)
    assert "Try `workers=pipeline.processes(4)`" in got.text
    pooled["threads"], pooled["wanted"] = 4, 4.0
    got = verdict(part(1, "decode", 0.98, **pooled), waits_in=0.98, lock=0.0)
    assert "All 4 processors are used" in got.text


def test_workers_whose_results_take_long():
    """Threads' results take no time: idle threads wait for one of them."""
    settings = {"in_workers": True, "made_by": "pipeline.processes", "moved": (1_000, 10**9)}
    pooled = {"settings": settings, "threads": 2}
    got = verdict(part(1, "decode", 0.4, **pooled), waits_in=0.95)
    assert got.text.endswith(
        "(2 workers, 40% busy). Its results take long to come back: return less, or smaller dtypes."
    )
    settings["made_by"] = "pipeline.threads"
    got = verdict(part(1, "decode", 0.4, **pooled), waits_in=0.95)
    assert got.text.endswith("as examples take unequal time: if any order will do, pass `ordered=False`.")


def test_workers_that_took_long_to_start():
    settings = {"in_workers": True, "made_by": "pipeline.processes", "starting": 0.6}
    got = verdict(part(1, "decode", 0.3, settings=settings, threads=2), waits_in=0.95, first_s=7.0)
    assert got.text == (
        "Bottleneck: `decode`: 60% of the time was spent starting its 2 workers. Let it run for 10 s or more."
    )
    assert (got.kind, got.knob, got.gain) == ("function", None, None)
    got = verdict(part(1, "decode", 0.3, settings=settings, threads=2), waits_in=0.95, first_s=0.1)
    assert "starting" not in got.text  # the first batch is long since there


def test_short_calls_whose_inputs_take_long():
    settings = {"in_workers": True, "made_by": "pipeline.processes", "moved": (10**8, 1_000)}
    short = replace(part(1, "decode", 0.4, settings=settings, threads=2), rate=650.0)
    assert "Its inputs take long to send" in verdict(short, waits_in=0.95).text


def test_processes_that_wait_for_the_slowest():
    settings = {"in_workers": True, "made_by": "pipeline.processes", "moved": (1_000, 1_000)}
    got = verdict(part(1, "decode", 0.4, settings=settings, threads=2), waits_in=0.95)
    assert got.text.endswith("as examples take unequal time: if any order will do, pass `ordered=False`.")


def test_workers_whose_inputs_take_long():
    settings = {"in_workers": True, "made_by": "pipeline.processes", "moved": (10**9, 1_000)}
    got = verdict(part(1, "decode", 0.4, settings=settings, threads=2), waits_in=0.95)
    assert got.text.endswith(
        "(2 workers, 40% busy). Its inputs take long to send: send less, such as file names, and read in the function."
    )


@pytest.mark.parametrize(("seconds", "said"), [(5.0, "let it run for 10 s or more"), (30.0, "found no better number")])
def test_workers_that_change_their_number_themselves(seconds, said):
    """The number is still being searched, so none can be suggested."""
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.threads", "auto": True}, "threads": 1}
    got = verdict(part(1, "decode", 0.9, **pooled), waits_in=0.9, seconds=seconds)
    assert (got.kind, got.knob, got.value, got.gain) == ("function", None, None, None)
    assert got.text.startswith('Bottleneck: `decode` (1 worker, 90% busy). `workers="auto"` ')
    assert said in got.text


def test_workers_that_idle_while_your_loop_works():
    pooled = {"settings": {"in_workers": True, "made_by": "pipeline.threads"}, "threads": 2}
    got = verdict(part(1, "decode", 0.5, **pooled), waits_in=0.5)
    assert (got.knob, got.value) == ("prefetch", 2)


def test_a_pool_that_fills():
    stages = part(1, "read", 0.7, "source"), part(2, "shuffle(1,000)", 0.1, "step")
    got = verdict(*stages, waits_in=0.8, first_s=8.0)
    assert (got.kind, got.stage, got.knob) == ("pool", 2, "buffer_size")


def test_a_slow_source_while_a_pool_fills():
    stages = part(1, "read", 0.9, "source", settings={"source": "callable"}), part(2, "shuffle(1,000)", 0.1, "step")
    got = verdict(*stages, waits_in=1.0, first_s=8.0)
    assert (got.kind, got.stage, got.knob) == ("source", 1, "workers")


def test_a_queue_that_others_fill_too_slowly():
    live = Stage(1, "queue", "live", waits_in=0.9, tank=Tank(STATS, 0, 1.0, 0.0, 0.9), settings={"capacity": 2})
    got = verdict(live, part(2, "doubled", 0.1), waits_in=0.9)
    assert got.text == "Bottleneck: the code that fills queue 'live': 90% of the time was spent waiting for it."


def test_sources_of_a_mix_are_told_apart():
    def same(example):
        return example

    parts = [pipeline.arrays(np.arange(50)) for _ in range(3)]
    for given, names in ((parts[:2], ["0", "1"]), (dict(zip(["web", "code"], parts, strict=False)), ["web", "code"])):
        loop = iter(pipeline.mix(given, seed=1).map(same).batch(10))
        next(loop)
        report = str(loop.report())
        assert [f"arrays ({name})" in report for name in names] == [True, True]
        assert "same (" not in report
    inner = pipeline.mix({"a": parts[0], "b": parts[1]}, seed=1)
    loop = iter(pipeline.mix({"in": inner, "out": parts[2]}, seed=1))
    next(loop)
    report = str(loop.report())
    assert all(f"arrays ({name})" in report for name in ("in/a", "in/b", "out"))


def test_lambdas_are_named_by_their_lines():
    data = pipeline.dataset(range(8)).map(lambda number: number)
    with iter(data.batch(4)) as batches:
        names = [stage.name for stage in batches.report().stages]
        assert names[1] == "<lambda>"
    with iter(data.map(lambda number: number + 1).batch(4)) as batches:
        next(batches)
        (one, line), (two, other) = (stage.name.split(":") for stage in batches.report().stages[1:3])
    assert one == two == "<lambda> at test_datasets.py"
    assert int(other) > int(line)


def test_files_of_csv_lines(tmp_path):
    for name, csv in (("rows.csv", True), ("rows.txt", False)):
        (tmp_path / name).write_text("1,2\n3,4\n")
        with iter(pipeline.text(tmp_path / name).batch(2)) as batches:
            next(batches)
            settings = batches.report().stages[0].settings
            assert (settings["csv_lines"], settings["reads_files"]) == (csv, True)
