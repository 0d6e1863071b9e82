"""Several loops: two run at the same time, or one after the other before somebody asks."""

import itertools
import time

import numpy as np
import pytest
from helpers import run_script

import pipeline


def slow(number):
    time.sleep(0.01)
    return number


@pytest.fixture
def zipped():
    """Two iterators that have taken turns for a second."""
    first = iter(pipeline.dataset(np.arange(10**6)).batch(2))
    second = iter(pipeline.dataset(range(10**6)).map(slow).batch(4))
    with first, second:
        for _ in zip(first, second, strict=True):
            if second.report().seconds > 1:
                break
        yield first, second


def test_the_verdict_names_the_loop_that_limits_the_other(zipped):
    first, second = zipped
    ours = {loop.report().stages[-1].id for loop in zipped}  # other tests may have left loops of their own
    (verdict,) = (each for each in pipeline.report().verdicts if each.loop in ours)
    assert verdict.text.startswith(f"{verdict.starved} Your loop (range): Bottleneck: `slow` (".lstrip())
    assert (verdict.stage, verdict.kind) == (second.report().verdict.stage, "function") or verdict.starved
    assert first.report().verdict.cause.startswith("Bottleneck: other iterators in the same thread (")


def test_a_loop_that_waits_for_one_that_has_ended_is_not_judged(zipped):
    """`zip` ends with the first of them; a variable holds the other one."""
    _, second = zipped
    slow_loop = second.report().stages[-1].id
    second.close()
    ours = {loop.report().stages[-1].id for loop in zipped}
    assert slow_loop in ours
    judged = {verdict.loop for verdict in pipeline.report().verdicts} & ours
    assert judged <= {slow_loop}  # other tests may have left a loop that took longer


def test_loops_in_several_threads_have_their_names():
    script = """
import threading
import pipeline

both = threading.Barrier(3)

def run(data):
    batches = iter(data)
    next(batches)
    both.wait()
    both.wait()

data = pipeline.dataset(range(100)).batch(10)
threads = [threading.Thread(target=run, args=(data,), name=name) for name in ("trainer", "scorer")]
for thread in threads:
    thread.start()
both.wait()
report = pipeline.report()
print(*sorted(verdict.called for verdict in report.verdicts))
print(*sorted(each for each in str(report).splitlines() if each.startswith("your loop (")), sep="\\n")
both.wait()
"""
    called, first, second = run_script(script).stdout.splitlines()
    assert called == "Your loop (scorer): Your loop (trainer):"
    assert first.startswith("your loop (scorer)   scorer  ")
    assert second.startswith("your loop (trainer)  trainer  ")


def test_neither_loop_has_the_others_waiting_time(zipped):
    loops = [loop.report().stages[-1] for loop in zipped]
    assert all(loop.busy < 0.5 for loop in loops)


def test_an_iterator_inside_next_of_another_one_is_part_of_it():
    def inner(number):
        return sum(iter(pipeline.dataset(range(3)).map(slow)))

    with iter(pipeline.dataset(range(9)).map(inner)) as outer:
        list(itertools.islice(outer, 5))
        loop = outer.report().stages[-1]
    assert loop.busy + loop.waits_in == pytest.approx(1)


TRAIN = """
import time
import pipeline

def train():
    yield from range(120)

def load(number):
    time.sleep(0.01)
    return number

training, validation = pipeline.dataset(train).map(load).batch(8), pipeline.dataset(range(8)).map(load).batch(8)
for epoch in range(2):
    for _ in training:
        pass
    for _ in validation:
        pass
"""


def test_a_report_is_about_the_longest_loop_and_names_it():
    got = run_script(f"{TRAIN}print(pipeline.report())\nprint(pipeline.report().verdict.text)").stdout.split("\n\n")
    assert " ".join(got[0].split()).partition(", ")[0].endswith("Your longest loop (train")
    assert got[0].count("Bottleneck: `load` (") == got[1].count("Bottleneck: `load` (") == 1  # as often as you ask


def test_a_later_report_is_about_what_ended_since():
    script = f"""{TRAIN}
pipeline.report()
validating = iter(validation)  # a variable holds it
for _ in validating:
    pass
(loop,) = (stage for stage in pipeline.report().stages if stage.kind == "loop")
print(loop.name)
for _ in training:
    pass
print(pipeline.report().verdict.called.partition(",")[0])
"""
    assert run_script(script).stdout == "range\n\n"


PEEK = """
peek = iter(training)
next(peek)
with pipeline.monitor(show=False) if {watched} else iter(validation):
    for _ in training:
        pass
    {leave}
    for _ in training:
        pass
    report = pipeline.report()
(loop,) = (stage for stage in report.stages if stage.kind == "loop")
print(report.verdict.cause.partition("(")[0], loop.elements)
"""


@pytest.mark.parametrize("leave", ["pass", "peek.close()", "del peek", "iter(training).close()"])
@pytest.mark.parametrize("watched", [False, True], ids=["report", "monitor"])
def test_an_iterator_left_after_a_peek_is_not_judged(leave, watched):
    script = TRAIN.partition("for epoch")[0] + PEEK.format(leave=leave, watched=watched)
    assert run_script(script).stdout == f"Bottleneck: `load`  {31 if leave in ('peek.close()', 'del peek') else 30}\n"
