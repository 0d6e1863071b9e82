"""Reports on datasets: a row per part, its inputs and its time; the verdict in the dataset's terms."""

import gc
import json
import os
import re
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import Executor, Future

import numpy as np
import pytest
from helpers import LIMIT, run_script, wait_until

import pipeline
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
    assert "\ndoubled " in report.details()
    assert " ".join(report.details().split()).startswith(report.verdict.text)


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


def test_time_after_an_executor_that_calls_in_the_loops_thread():
    class AtOnce(Executor):
        def submit(self, function, /, *args, **kwargs):
            future = Future()
            future.set_result(function(*args, **kwargs))
            return future

    list(pipeline.dataset(range(4)).map(doubled, workers=AtOnce()))
    batches = iter(pipeline.dataset(range(4)).map(slow))
    list(batches)
    (stage,) = [each for each in batches.report().stages if each.name == "slow"]
    assert stage.settings["taken"] > 0


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


def words(number):
    return {"text": [str(number)] * 500, "label": number}


@pytest.mark.parametrize("then", [None, lambda example: example["label"]], ids=["alone", "and a lambda"])
def test_results_of_many_python_objects_are_noticed(then):
    data = pipeline.dataset(numbers).map(words)
    batches = iter(data.batch(8, collate=list) if then is None else data.map(then).batch(8))
    next(batches)
    noted = batches.report().stages[1].settings
    assert noted["objects"] == 501
    assert 500 <= noted["bytes"] <= 50_000


@pytest.mark.parametrize(
    ("example", "fields", "converts"),
    [
        ([1.0, 2.0], 1, True),
        ({"x": [1, 2.5], "y": 1, "z": "text"}, 3, True),
        ({"x": np.zeros(2), "y": 1}, 2, False),
        ((np.zeros(2), {"a": "text"}), 2, False),
        (7, 1, True),
    ],
    ids=["list", "most", "label", "none", "number"],
)
def test_a_batch_that_converts_examples(example, fields, converts):
    for data in (pipeline.dataset(range(4)), pipeline.dataset(numbers)):  # with an index, and without one
        batches = iter(data.map(lambda number: example).batch(2))
        next(batches)
        settings = batches.report().stages[2].settings
        assert (settings["fields"], settings["converts"]) == (fields, converts)


def test_the_bytes_of_python_objects_from_processes_count():
    batches = iter(pipeline.dataset(range(16)).map(words, workers=pipeline.processes(1)).batch(8, collate=list))
    list(batches)
    sent, received = batches.report().stages[1].settings["moved"]
    assert sent < 16 * 100
    assert received > 16 * 500 * 3


@pytest.mark.parametrize("ahead", ["", ".prefetch(2)"], ids=["map", "prefetch"])
def test_the_start_of_processes_is_left_out(ahead):
    """Of the duration, the rates and the shares. A fresh program has no spare processes."""
    script = f"""
import time
import numpy as np
import pipeline

def work(number):
    time.sleep(0.02)
    return np.full(4, number)

if __name__ == "__main__":
    began = time.monotonic()
    with iter(pipeline.dataset(range(40)).map(work, workers=pipeline.processes(2)).batch(10){ahead}) as batches:
        list(batches)
        whole = time.monotonic() - began
        report = batches.report()
    found = {{stage.name: stage for stage in report.stages[:-1]}}
    started = found["work"].settings["started_s"]
    print(started > 0.05, report.seconds + started <= whole, "took" in str(report))
    print(report.stages[-1].age_s == report.seconds, found["work"].elements == 40)
    print(report.stages[-1].waits_in <= 1, found["work"].busy * report.seconds * 2 > 0.75)
"""
    assert run_script(script).stdout.split() == ["True"] * 7


@pytest.mark.parametrize("workers", [None, 2])
def test_a_slow_first_call_is_left_out(workers):
    """Such as one that loads a model: more workers would not speed it up."""
    begun = []

    def work(number):
        if not begun:
            time.sleep(0.3)
            begun.append(number)
        return number

    with iter(pipeline.dataset(range(1000)).map(work, workers=workers).batch(10)) as batches:
        assert len(list(batches)) == 100
        report = batches.report()
    found = {stage.name: stage for stage in report.stages[:-1]}
    assert found["work"].settings["started_s"] > 0.2
    assert "after a start of 0." in report.verdict.cause
    assert "took 0." in str(report)
    assert (found["work"].elements, report.stages[-1].elements) == (1000, 100)
    assert report.stages[-1].age_s == report.seconds


def test_a_buffer_that_fills_slowly_is_no_slow_start():
    """Its examples are written into fresh memory, so they take longer than later ones, but not several times."""

    def rows():
        for number in range(3000):
            if number < 1000 or number % 3:
                end = time.perf_counter() + 0.4e-3
                while time.perf_counter() < end:
                    pass
            yield number

    with iter(pipeline.dataset(rows).shuffle(1000).batch(100)) as batches:
        list(batches)
        report = batches.report()
    assert "started_s" not in report.stages[0].settings
    assert report.stages[0].elements == report.stages[1].elements == 3000


def test_a_slow_first_call_is_not_left_out_if_later_ones_are_slow_too():
    """Such as files of unequal size."""

    def work(number):
        time.sleep(0.1 if number % 300 == 0 else 0)
        return number

    with iter(pipeline.dataset(range(1000)).map(work).batch(10)) as batches:
        list(batches)
        report = batches.report()
    assert "started_s" not in report.stages[1].settings


def loaded(line):
    return json.loads(line)


def parsed(record):
    return pipeline.parse_single_example(record, {"x": pipeline.FixedLenFeature([], np.int64)})["x"]


def settings_of(data, stage=0):
    """Return a stage's settings after the first element."""
    with iter(data) as elements:
        next(elements)
        return elements.report().stages[stage].settings


def test_a_source_says_how_to_read_less(tmp_path):
    """Not all sources have columns."""
    (tmp_path / "one.csv").write_text("1,2\n")
    np.savez(tmp_path / "one.npz", x=np.arange(3))
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "one.jpg").write_bytes(b"1")
    for i in range(9):
        (tmp_path / f"many{i}.csv").write_text("1,2\n")
    found = {
        "csv": pipeline.csv(tmp_path / "one.csv", names=["a", "b"]),
        "many": pipeline.csv(str(tmp_path / "many*.csv"), names=["a", "b"]),
        "npz": pipeline.npz(tmp_path / "one.npz"),
        "bytes": pipeline.image_folder(tmp_path, decode=None),
        "images": pipeline.image_folder(tmp_path, decode=len),
        "arrays": pipeline.arrays(np.arange(3)),
    }
    found = {name: settings_of(data)["lighter"] for name, data in found.items()}
    assert found["csv"] == "Try Parquet: `pipeline.parquet(path)`"
    assert found["many"].startswith("Fewer, larger files")
    assert "`keys=[...]`" in found["npz"]
    assert "decode=None" in found["images"]
    assert found["bytes"] == found["arrays"] == "To go faster, read less per example"


@pytest.mark.parametrize(
    ("function", "parser"),
    [(json.loads, "loads"), (loaded, "loads"), (parsed, "parse_single_example"), (len, "")],
)
def test_a_function_that_parses_what_a_source_can(function, parser):
    example = bytes.fromhex("0a0c0a0a0a017812051a030a0108") if function is parsed else b"[1]"
    assert settings_of(pipeline.dataset([example]).map(function), 1)["parses"] == parser


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
    assert (report.stages[-1].state, report.verdict.kind) == ("not started", "start")
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
    try:
        assert waiting.wait(LIMIT)
        report = batches.report()
    finally:
        release.set()
        taker.join()
        batches.close()
    assert re.fullmatch(r"No example has arrived (yet|in \d+ s): `held` is at work\.", report.verdict.text)
    named = {stage.name: stage for stage in report.stages}
    assert report.verdict.stage == named["held"].id
    assert {name for name, stage in named.items() if stage.busy} == {"held"}
    assert report.stages[-1].busy == 0


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
    batches.report()
    alive = weakref.ref(batches)
    del batches
    wait_until(lambda: alive() is None, "the iterator to go")


def test_the_report_of_everything_after_a_loop_is_about_that_loop():
    """A plain `for` keeps no iterator. Loops that still run come first."""
    script = """
import time, pipeline

def fetch(number):
    time.sleep(0.005)
    return number

print(pipeline.report())
for batch in pipeline.dataset(range(220)).map(fetch).batch(10).prefetch(2):
    pass
report = pipeline.report()
print(report.verdict.text)
print([stage.name for stage in report.stages], report.stages[-1].state)
for epoch in range(5):
    for batch in pipeline.dataset(range(4)):
        pass
print(pipeline.report().stages[-1].elements)
running = iter(pipeline.dataset(range(4)))
next(running)
print(len(pipeline.report().stages))
"""
    *nothing, verdict, names, elements, stages = run_script(script).stdout.splitlines()
    assert max(map(len, nothing)) <= 80
    assert " ".join(nothing).startswith("Nothing to report: ")
    assert "Call `pipeline.report()` after a loop over your dataset" in " ".join(nothing)
    assert "Bottleneck: `fetch` (" in verdict
    assert names == "['range', 'fetch', 'batch(10)', 'prefetch(2)', 'range'] ended"
    assert (elements, stages) == ("22", "2")


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
    """`for batch in dataset` leaves no iterator behind; another one, left before, changes nothing."""
    other = iter(pipeline.dataset(numbers).batch(4))
    next(other)
    with pipeline.monitor(show=False) as sampler:
        for _ in pipeline.dataset(numbers).map(doubled).batch(4):
            pass
        assert ("loop", "numbers") in rows(sampler.report())
        assert ("loop", "numbers") in rows(pipeline.report())
    kept = rows(sampler.report())
    assert kept.count(("loop", "numbers")) == 1
    assert ("function", "doubled") in kept
    other.close()
    assert rows(sampler.report()) == kept


def test_loops_are_named_if_there_are_several():
    first = iter(pipeline.dataset(numbers).batch(4))
    next(first)
    assert "\nyour loop " in str(first.report())
    with iter(pipeline.arrays(np.arange(8)).batch(4)) as second:
        next(second)
        next(first)
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


def test_a_report_before_the_first_batch():
    with iter(pipeline.dataset(range(8)).batch(4)) as batches:
        assert str(batches.report()).startswith("No example has arrived yet.\n\n")


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


@pytest.mark.filterwarnings("ignore:.*no element is left")
def test_a_filter_that_keeps_nothing_counts_what_it_took():
    with iter(pipeline.dataset(range(300)).map(doubled).filter(lambda number: False).batch(4)) as batches:
        assert list(batches) == []
        report = batches.report()
    found = {stage.name: stage.elements for stage in report.stages[:-1]}
    assert found["doubled"] == 300
    assert report.verdict.cause.startswith("'range' gave nothing: a filter kept none")


def test_lambdas_are_named_by_their_lines():
    data = pipeline.dataset(range(8)).map(lambda number: number)
    with iter(data.batch(4)) as batches:
        names = [stage.name for stage in batches.report().stages]
        assert names[1] == "<lambda>"
    with iter(data.map(lambda number: number + 1).batch(4)) as batches:
        next(batches)
        (line, one), (other, two) = (stage.name.split(" of ") for stage in batches.report().stages[1:3])
    assert one == two == "test_datasets.py: <lambda>"
    assert int(other.removeprefix("line ")) > int(line.removeprefix("line "))


def test_files_of_csv_lines(tmp_path):
    for name, csv in (("rows.csv", True), ("rows.txt", False)):
        (tmp_path / name).write_text("1,2\n3,4\n")
        with iter(pipeline.text(tmp_path / name).batch(2)) as batches:
            next(batches)
            settings = batches.report().stages[0].settings
            assert (settings["csv_lines"], settings["reads_files"]) == (csv, True)
