"""Short epochs over one dataset, each too short to judge, in reports and monitors."""

import gc
import itertools
import time

import numpy as np
import pytest
from helpers import run_script

import pipeline
from pipeline.diagnostics.live import LoopFacts


def fetch(number):
    time.sleep(0.005)
    return np.float32(number)


def passes(data):
    """Run epochs lasting 0.3 s forever; yield each one's report."""
    for epoch in itertools.count():
        with iter(data.epoch(epoch)) as batches:
            list(batches)
            yield batches.report()


def test_short_epochs_are_judged_together():
    reports = passes(pipeline.dataset(range(60)).map(fetch).batch(10).prefetch(2))
    first = next(reports)
    assert first.verdict.cause == f"Too short to judge ({first.seconds:.2f} s); so far `fetch` took longest."
    assert first.verdict.advice.startswith("Let it run for 1 s or more, for example with `.repeat(")
    last = first
    for report in itertools.islice(reports, 10):
        assert report.seconds > last.seconds
        last = report
        if report.verdict.kind != "short":
            break
        count = round(report.stage(report.verdict.loop).elements / 6)
        assert report.verdict.text.startswith(f"Too short to judge ({count} epochs, ")
    assert last.seconds >= 1
    assert "`fetch`" in last.verdict.text
    (function,) = (stage for stage in last.stages if stage.kind == "function")
    assert 30 < function.rate < 210  # over all epochs, not all elements over the last one's time
    assert function.busy > 0.5


def test_a_monitor_is_about_epochs_within_it():
    data = pipeline.dataset(range(20)).map(fetch).batch(10)
    list(data)
    with pipeline.monitor(show=False) as monitor:
        list(data)
        report = monitor.report()  # other tests may have left iterators, with loops of their own
        assert report.stage(report.verdict.loop).elements == 2
        list(data)
        with iter(data) as batches:
            list(batches)
            assert batches.report().stages[-1].elements == 6


@pytest.mark.parametrize("within", [False, True], ids=["before", "within"])
def test_the_table_is_about_the_epochs_of_the_verdict(within):
    """A variable may hold an iterator that has ended, before the monitor or within it. No other loop runs."""
    script = f"""
import time
import numpy as np
import pipeline

def fetch(number):
    time.sleep(0.005)
    return np.float32(number)

data = pipeline.dataset(range(60)).map(fetch).batch(10)
other = iter(pipeline.dataset(range(30)).batch(10))
if not {within}:
    list(other)
with pipeline.monitor(show=False):
    if {within}:
        list(other)
    for epoch in range(2):
        list(data.epoch(epoch))
    report = pipeline.report()
(verdict,) = report.verdicts
(loop,) = (stage for stage in report.stages if stage.kind == "loop")
print(loop.id == verdict.loop, loop.elements, other.report().stages[-1].elements)
"""
    assert run_script(script).stdout == "True 12 3\n"


def test_earlier_epochs_are_kept_as_one_sum():
    data = pipeline.dataset(range(4)).map(fetch).batch(2).prefetch(1)
    counts = []
    for _ in range(12):
        list(data)
        gc.collect()
        counts.append(sum(type(each) is LoopFacts for each in gc.get_objects()))
    assert counts[-1] <= counts[1] + 1  # a slow first batch has facts of its own


def test_an_epoch_that_is_left_early_counts():
    data = pipeline.dataset(itertools.count()).map(fetch).batch(10)
    for _ in range(40):
        for _ in itertools.islice(data, 2):
            pass
    batches = iter(data)
    next(batches)
    assert batches.report().verdict.kind != "short"
    batches.close()


def test_a_long_epoch_stands_alone():
    data = pipeline.dataset(range(220)).map(fetch).batch(10)
    for _ in range(2):
        batches = iter(data)
        list(batches)
        report = batches.report()
        assert report.stages[1].elements == 220
    small = iter(data)
    next(small)
    assert small.report().verdict.kind == "short"  # the long one is not added to it
    small.close()


def test_other_recipes_stand_alone():
    source = pipeline.dataset(range(60)).map(fetch)
    list(source.batch(10))
    batches = iter(source.batch(20))
    list(batches)
    assert batches.report().stages[1].elements == 60


@pytest.mark.parametrize(("epochs", "called"), [(1, ""), (2, "Your 2 epochs "), (4, "Your 4 epochs ")])
def test_epochs_over_a_cache_are_judged_together(epochs, called):
    """The later ones are faster: the gain is that of all, by the same number of workers. No other loop runs."""
    script = """
import time
import pipeline

def fetch(number):
    time.sleep(0.005)
    return number

def use(number):
    time.sleep(0.0007)
    return number

data = pipeline.dataset(range(250)).map(fetch).cache().map(use).batch(10)
for epoch in range(int(input())):
    batches = iter(data)
    list(batches)
report = pipeline.report()  # though a variable holds the last one
verdict = report.verdict
print(verdict.called.partition("(")[0], verdict.cause.partition("(")[0], verdict.value, sep="|")
print(*(stage.elements for stage in report.stages))
"""
    got = run_script(script, input=str(epochs)).stdout.splitlines()
    *text, workers = got[0].split("|")
    assert text == [called, "Bottleneck: `fetch` "]
    assert 4 <= int(workers) <= 8
    assert got[1] == f"250 250 {250 * epochs} {250 * epochs} {25 * epochs} {25 * epochs}"


FETCH = """
import time
import numpy as np
import pipeline

def fetch(number):
    time.sleep(0.005)
    return np.float32(number)
"""


def test_a_monitor_saw_the_gil_in_all_epochs():
    script = f"""{FETCH}
data = pipeline.dataset(range(120)).map(fetch).batch(10)
with pipeline.monitor(show=False):
    for _ in range(2):
        for _ in data:
            pass
    report = pipeline.report()
print(report.verdict.called.partition("(")[0], 0 <= report.lock <= 1)
"""
    assert run_script(script).stdout == "Your 2 epochs  True\n"


def test_epochs_since_the_last_report_are_judged():
    """In a process of its own: other tests' loops may end meanwhile, when their iterators are collected."""
    script = f"""{FETCH}
data = pipeline.dataset(range(210)).map(fetch).batch(10)
for epochs in (1, 2):
    for _ in range(epochs):
        for _ in data:
            pass
    (loop,) = (each for each in pipeline.report().stages if each.kind == "loop")
    print(loop.elements)
"""
    assert run_script(script).stdout == "21\n42\n"


@pytest.mark.parametrize("leaves", [True, False], ids=["break", "end"])
def test_a_monitor_ends_with_the_verdict_on_a_loop_that_is_gone(leaves, capfd):
    with pipeline.monitor(interval=0.05, show="plain"):
        for done, _ in enumerate(pipeline.dataset(range(250)).map(fetch).batch(10), 1):
            if leaves and done == 24:
                break
        list(pipeline.dataset(range(20)).batch(10))  # such as a validation: it is short
    lines = capfd.readouterr().err.splitlines()
    assert any("Bottleneck: `fetch` (" in each for each in lines), lines
    assert any(each.startswith("your loop") for each in lines), lines


def test_a_monitor_prefers_epochs_with_a_verdict_to_a_longer_one_without():
    def augment(number):
        time.sleep(0.002)
        return number

    data = pipeline.dataset(range(100)).map(fetch).cache().map(augment).batch(10)
    with pipeline.monitor(show=False):
        for _ in range(7):  # the first takes 0.7 s, the others 0.2 s each
            for _ in data:
                pass
        report = pipeline.report()
    assert report.verdict.kind == "function"
    assert "`augment`" in report.verdict.cause


def test_the_clocks_of_a_loop_need_no_monitor():
    def compute(number):
        return sum(range(20_000)) + number

    batches = iter(pipeline.dataset(range(3000)).map(compute).batch(10).prefetch(2))
    for _ in batches:
        if batches.report().seconds > 1.1:
            break
    report = batches.report()
    batches.close()
    assert report.idle is None or 0 <= report.idle == report.to_dict()["idle"]
    assert not report.watched
    (ahead,) = (stage for stage in report.stages if stage.name == "prefetch(2)")
    if ahead.cpu is None:
        pytest.skip("this system has no clocks of other threads")
    assert 0 < ahead.cpu < 1.2
    assert ahead.cpu <= ahead.wanted


def test_the_clocks_of_workers_need_no_monitor():
    batches = iter(pipeline.dataset(range(600)).map(fetch, workers=2).batch(10))
    list(batches)
    report = batches.report()
    (function,) = (stage for stage in report.stages if stage.kind == "function")
    assert function.cpu < 0.5
    assert "waiting for I/O" in report.verdict.text
    assert report.starved or report.verdict.gain > 1
