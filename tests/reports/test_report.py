"""The model of a run: its stages and edges, with and without a sampler; looking changes nothing.

Private names: the clocks, the kept samples, a stop's beginning, and the visible tables.
"""

import dataclasses
import gc
import os
import signal
import sys
import threading
import time
import urllib.request
import weakref

import numpy as np
import pytest
from helpers import LIMIT, run_in_thread, run_script, start_blocked, wait_blocked, wait_until
from orchestration import threads_since

import pipeline
from pipeline import _meter
from pipeline.diagnostics import live
from pipeline.diagnostics.clocks import usage
from pipeline.files.event_file import summary_iterator
from pipeline.reports import collect, model, show
from pipeline.reports.model import Stage
from pipeline.reports.report import Report
from pipeline.reports.sampler import Sampler
from pipeline.reports.verdict import judge


@pytest.fixture
def lines(tmp_path):
    """Write three files with 100 lines each."""
    names = [tmp_path / f"{i}.csv" for i in range(3)]
    for name in names:
        name.write_text("1,2\n" * 100)
    return names


def csv_loop(lines, **settings):
    files = pipeline.string_input_producer(lines, num_epochs=2, name="names", collection=[])
    reader = pipeline.TextLineReader(name="rows")

    def decode():
        _, value = reader.read(files)
        return pipeline.decode_csv(value, [np.float32, np.float32])

    return pipeline.batch(decode, 10, num_threads=2, capacity=50, name="examples", **settings)


def named(report):
    return {(stage.kind, stage.name.rpartition(".")[2]): stage for stage in report.stages}


def test_rates_of_a_moment():
    """A queue's clock ticks every few milliseconds: elements moved before the first tick still took time."""
    for _ in range(20):
        loop = pipeline.batch(pipeline.arrays(np.arange(400)), 10)
        assert len(list(loop)) == 40
        report = loop.report()
        for stage in report.stages:
            assert stage.rate <= 1.001 * stage.elements / min(report.seconds, collect.TICK)


def test_rates_of_queues_without_a_loop():
    with_nobody = pipeline.FIFOQueue(100, np.int64, (), name="with_nobody")
    with_nobody.enqueue_many(np.arange(100))
    with_nobody.dequeue_many(50)
    report = pipeline.report()
    assert named(report)["queue", "with_nobody"].rate <= 50 / collect.TICK
    assert report.seconds >= collect.TICK


def test_a_wait_that_goes_on_counts():
    queue = pipeline.FIFOQueue(5, ["int32"], [()], name="slow")
    taker = start_blocked(queue, "dequeue")
    before = queue.stats().dequeue_wait_s
    wait_until(lambda: queue.stats().dequeue_wait_s > before, "the wait to grow")
    assert named(pipeline.report())["queue", "slow"].waits_in > 0
    queue.close()
    assert isinstance(taker.exception(), pipeline.OutOfRangeError)


def test_a_queue_that_a_function_takes_from():
    """The edge is known once a thread asked for an element."""
    upstream = pipeline.FIFOQueue(5, ["int32"], [()], name="upstream")

    def add_one():
        return upstream.dequeue() + 1

    upstream.enqueue(1)
    with pipeline.batch(add_one, 1, capacity=5) as loop:
        next(loop)
        wait_blocked(upstream, dequeues=1)
        with pipeline.monitor(interval=0.005):
            wait_until(lambda: ("queue", "upstream") in named(loop.report()), "the edge to be seen")
        report = loop.report()
        upstream.close()
    known = named(report)
    assert (known["queue", "upstream"].id, known["source", "add_one"].id) in report.edges


def test_a_queue_that_a_queue_runner_takes_from():
    """The edge is known without a monitor, though the thread never had to wait.

    Its identifier is that of a thread that has ended, whose queue is no input.
    """
    program = """
import threading
import numpy as np
import pipeline

other, taken, filled = (pipeline.FIFOQueue(5, ["int32"], [()], name=name) for name in ("other", "taken", "filled"))
other.enqueue(1)
ended = threading.Thread(target=other.dequeue)
ended.start()
ended.join()
taken.enqueue_many(np.arange(5))

def move():
    filled.enqueue(taken.dequeue())

with pipeline.Coordinator() as coord:
    coord.close_on_stop(taken)
    pipeline.QueueRunner(filled, [move]).create_threads(coord=coord, start=True)
    while filled.size() < 5:
        pass
    report = pipeline.report()
(function,) = (stage for stage in report.stages if stage.kind == "function")
print([stage.name for stage in report.before(function)], [stage.name for stage in report.after(function)])
"""
    assert run_script(program).stdout == "['taken'] ['filled']\n"


def test_reports_keep_nothing_alive():
    queue = pipeline.FIFOQueue(5, ["int32"], [()], name="mayfly")
    with pipeline.monitor(interval=0.005) as sampler:
        wait_until(lambda: len(named(sampler.report())["queue", "mayfly"].tank.levels) > 1, "a sample")
        ref, report = weakref.ref(queue), sampler.report()
        del queue
        gc.collect()
        assert ref() is None
        assert ("queue", "mayfly") in named(report)
        assert ("queue", "mayfly") not in named(sampler.report())


def test_an_abandoned_loop_ends_while_it_is_watched(lines):
    with pipeline.monitor(interval=0.005) as sampler:
        loop = csv_loop(lines)
        next(loop)
        ref = weakref.ref(loop)
        assert ("loop", "examples") in named(sampler.report())
        del loop
        wait_until(lambda: gc.collect() is not None and ref() is None, "the loop to be collected")


def test_a_listener_that_fails_is_called_no_more(caplog):
    calls, told = [], threading.Event()

    def bad(report):
        calls.append(report)
        raise ValueError("no")

    with pipeline.monitor(interval=0.005) as sampler:
        sampler.listeners += [bad, lambda report: len(calls) and told.set()]
        assert told.wait(120)
        wait_until(lambda: bad not in sampler.listeners, "the listener to be dropped")
    assert len(calls) == 1
    assert "a listener of the sampler failed" in caplog.text


def test_reports_while_samples_are_taken():
    """Without the GIL the sampler adds one between any two steps in other threads."""
    sampler = Sampler(interval=1e-6, keep=100)
    with sampler:
        wait_until(lambda: len(sampler._looks) == 100, "as many as are kept")
        reports = [sampler.report(seconds=2e-5) for _ in range(300)]
        assert all(report.watched for report in reports)
        assert len(sampler._looks) == 100


@pytest.mark.parametrize("show", [False, "plain"])
def test_a_monitor_is_one_thread_that_starts_and_stops_once(show):
    sampler = pipeline.monitor(interval=0.005, show=show)
    begun = threads_since()
    with sampler:
        sampler.start()
        assert len(begun()) == 1
    sampler.stop()
    assert not begun()
    with sampler:  # again
        assert len(begun()) == 1
    assert not begun()


def test_a_listener_stops_it_while_somebody_else_does():
    sampler = pipeline.monitor(interval=0.005, show=False)
    inside, stopped = threading.Event(), threading.Event()

    def stop(report):
        inside.set()
        if stopped.wait(120):
            sampler.stop()

    sampler.listeners.append(stop)
    begun = threads_since()
    sampler.start()
    assert inside.wait(120)
    leaving = run_in_thread(sampler.stop)
    wait_until(sampler._stop.is_set, "the other call to begin")
    stopped.set()
    leaving.result()
    assert not any(thread.name == "pipeline-sampler" for thread in begun())


def test_a_listener_that_starts_it_again_has_one_thread():
    sampler = pipeline.monitor(interval=0.005, show=False)
    threads, again = [], threading.Event()

    def restart(report):
        threads.append(threading.current_thread())
        if len(threads) == 1:
            sampler.stop()
            sampler.start()
        elif len(threads) > 2:
            again.set()

    sampler.listeners.append(restart)
    with sampler:
        assert again.wait(120)
        wait_until(lambda: not threads[0].is_alive(), "the first thread to end")
    assert len(set(threads)) == 2


def test_where_ctrl_c_interrupts_the_end_the_next_stop_does_the_rest():
    sampler = pipeline.monitor(interval=0.005, show="plain")
    inside, release, begun = threading.Event(), threading.Event(), threads_since()

    def hold(report):
        inside.set()
        release.wait(LIMIT)

    def interrupt():
        wait_until(sampler._stop.is_set, "the stop to begin")
        os.kill(os.getpid(), signal.SIGINT)

    sampler.listeners.append(hold)
    sampler.start()
    assert inside.wait(LIMIT)
    striking = run_in_thread(interrupt)
    with pytest.raises(KeyboardInterrupt):
        sampler.stop()
    striking.result()
    release.set()
    sampler.stop()
    wait_until(lambda: not begun(), "the threads to end")
    assert not live.ended.watchers
    assert not show._shown


def test_bad_intervals():
    for interval in (0, -1, float("nan"), float("inf"), 1e300):
        with pytest.raises(ValueError, match="interval must be above 0"):
            pipeline.monitor(interval=interval)


def test_waiting_for_a_processor_is_reported():
    starved = Stage(1, "function", "decode", threads=3, cpu=1.1, wanted=2.6)
    others = Stage(2, "loop", "examples", cpu=0.1, wanted=0.1), Stage(3, "queue", "unknown")
    noted = " ".join(str(Report(2.0, True, (starved, *others), (), 2)).split())
    assert "Other programs took processor time: your threads waited 0.8 s per second for it." in noted
    enough = dataclasses.replace(starved, cpu=1.8)
    little = dataclasses.replace(starved, cpu=0.1, wanted=0.5)
    for report in (Report(2.0, True, (enough, *others), (), 2), Report(2.0, True, (little,), (), 2)):
        assert "Other programs" not in str(report) + report.details()


def test_the_threads_and_processes_of_a_program_wait_for_each_other():
    """The machine's other programs cannot have taken more than they used."""
    busy = Stage(1, "function", "decode", threads=3, cpu=1.1, wanted=2.6)
    for others, starved in ((0.1, False), (0.7, True), (None, True)):
        report = Report(2.0, True, (busy,), (), 2, others=others)
        assert bool(report.starved) == starved
    assert "your threads waited 0.7 s per second" in Report(2.0, True, (busy,), (), 2, others=0.7).starved


def computed(number):
    """Compute for 0.2 s of processor time."""
    began = time.thread_time()
    while time.thread_time() < began + 0.2:
        pass
    return number


def test_worker_processes_are_no_other_programs():
    """Their processor time counts as the program's own, also after their end."""
    if (before := usage()) is None:
        pytest.skip("this system does not count idle processors")
    with pipeline.processes(1) as workers:
        list(pipeline.dataset([1, 2]).map(computed, workers=workers))
        assert usage().own - before.own > 0.4 - 0.02  # with two ticks of a clock
    assert usage().own - before.own > 0.4 - 0.02


def test_the_lock_is_seen_to_be_held():
    """A thread running Python code holds the GIL, if there is one."""
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            pass

    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        pytest.skip("this Python has no such lock")
    thread = threading.Thread(target=spin)
    thread.start()
    try:
        wait_until(lambda: _meter.lock_delay(0.001) > 20e-6, "the lock to be held")
    finally:
        stop.set()
        thread.join()


def test_a_queue_that_goes_while_somebody_looks(lines, monkeypatch):
    """Edges and stages are found one after the other: an edge from a missing stage is left out."""
    found = collect.edges_of

    def with_one_that_went(groups, readers, loops):
        return [*found(groups, readers, loops), *(model.Edge(10**9, number) for number in loops)]

    monkeypatch.setattr(collect, "edges_of", with_one_that_went)
    with csv_loop(lines) as loop:
        next(loop)
        for report in (loop.report(), pipeline.report()):
            assert {edge.source for edge in report.edges} <= {stage.id for stage in report.stages}
            assert report.verdicts


def test_a_loop_that_has_ended_is_judged_in_its_own_report_only(lines):
    old = csv_loop(lines)
    assert sum(len(batch[0]) for batch in old) == 600
    with csv_loop(lines) as loop:
        next(loop)
        judged = [verdict.loop for verdict in pipeline.report().verdicts]
        assert loop.report().verdict.loop in judged
        assert old.report().verdict.loop not in judged


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_in_the_child_of_a_fork():
    """It sees its own objects; the parent's cannot be inspected there."""
    program = """
import os, pipeline
queue = pipeline.FIFOQueue(3, ["int32"], name="parents")
pid = os.fork()
if pid == 0:
    mine = pipeline.FIFOQueue(3, ["int32"], name="mine")
    with pipeline.monitor(show=False) as monitor:
        print([stage.name for stage in monitor.report().stages], [s.name for s in pipeline.report().stages], flush=True)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
print([stage.name for stage in pipeline.report().stages])
"""
    assert run_script(program).stdout.split("\n")[:2] == ["['mine'] ['mine']", "['parents']"]


def test_a_name_that_is_not_utf_8(tmp_path):
    queue = pipeline.FIFOQueue(3, ["int32"], name=os.fsdecode(b"bad\xffname"))
    with pipeline.monitor(show=False, logdir=tmp_path, port=0) as monitor:
        with urllib.request.urlopen(f"http://127.0.0.1:{monitor.port}/metrics", timeout=LIMIT) as answer:
            assert 'name="bad\\\\udcffname"' in answer.read().decode()
    (path,) = tmp_path.glob("events*")
    tags = {value.tag for event in summary_iterator(path) for value in event.summary.value}
    assert "queue/bad\\udcffname/size" in tags
    assert queue.size() == 0


def test_a_listener_that_exits_is_called_no_more(caplog):
    with pipeline.monitor(show=False, interval=0.01) as monitor:
        calls = []
        monitor.listeners += [lambda report: sys.exit(1), calls.append]
        wait_until(lambda: len(calls) >= 3, "the other listener")
        assert len(monitor.listeners) == 1
    assert "is called no more" in caplog.text


def test_within_itself():
    monitor = pipeline.monitor(show=False)
    with monitor:
        with pytest.raises(RuntimeError, match="this monitor runs already"), monitor:
            pass
        assert pipeline.report().watched


def slow(number):
    time.sleep(0.002)
    return np.full(4, number)


def test_the_last_look_of_a_monitor_stays():
    """A report after the `with` repeats one made within it."""
    with pipeline.monitor(), iter(pipeline.dataset(range(100)).map(slow).batch(10)) as batches:
        for _ in batches:
            pass
        within = batches.report()
    after = batches.report()
    assert within.watched
    assert after.watched
    assert after.lock is not None
    later = iter(pipeline.dataset(range(100)).batch(10))
    next(later)
    assert not later.report().watched


def test_a_run_of_less_than_a_second_is_not_judged():
    loop = Stage(1, "loop", "examples", state="ended", threads=1, elements=9, waits_in=0.9, age_s=0.4, first_s=0.1)
    (short,) = judge(Report(0.4, False, (loop,), (), 2, None))
    assert (short.kind, short.knob, short.gain) == ("short", None, None)
    assert short.cause.startswith("Too short to judge (0.40 s); so far ")
    (long,) = judge(Report(4.0, False, (dataclasses.replace(loop, age_s=4.0),), (), 2, None))
    assert long.kind != "short"


def test_threads_of_a_dataset_have_the_users_names():
    begun = threads_since()
    with iter(pipeline.arrays(np.arange(100)).batch(2).prefetch(2)) as batches:
        next(batches)
        assert [thread.name for thread in begun()] == ["arrays/prefetch"]
