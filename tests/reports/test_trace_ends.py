"""Traces that cannot begin or continue, or end with the program: the pipeline continues, and the file is whole."""

import errno
import gc
import signal
import subprocess
import sys
import threading

import pytest
from helpers import run_in_thread, run_script, wait_until
from traces import load, sound, traced
from traces import spans as spans_of

import pipeline
from pipeline.errors import FailedPreconditionError, NotFoundError
from pipeline.reports import spans
from pipeline.reports.tracer import Tracer


def count_batches():
    with pipeline.batch(range(1000), 10) as loop:
        return sum(1 for _ in loop)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": "run.txt"}, r"must end in .json or .json.gz, got 'run.txt'"),
        ({"path": "run.gz"}, r"must end in .json or .json.gz"),
        (
            {"path": "run.json", "interval": 0},
            "trace: interval must be above 0 seconds, and no longer than a wait can be, got 0",
        ),
        ({"path": "run.json", "interval": float("nan")}, "interval"),
        ({"path": "run.json", "max_bytes": 1000}, "max_bytes must be at least 65,536, got 1000"),
    ],
)
def test_arguments_that_make_no_sense(arguments, message):
    with pytest.raises(ValueError, match=message):
        pipeline.trace(**arguments)


def test_a_file_that_cannot_be_written_is_an_error_of_the_call(tmp_path):
    with pytest.raises(NotFoundError, match=r"missing/run.json; No such file or directory"):
        pipeline.trace(tmp_path / "missing" / "run.json").start()
    (tmp_path / "full.json").symlink_to("/dev/full")
    with pytest.raises(FailedPreconditionError, match="/dev/full; it exists and is not a regular file"):
        pipeline.trace(tmp_path / "full.json").start()
    assert not spans.on
    assert count_batches() == 100
    events, count = traced(tmp_path / "run.json", count_batches)
    assert count == 100 == len(spans_of(events, "next")) - 1  # the last one finds the end


def test_one_trace_at_a_time_and_each_once(tmp_path):
    with pipeline.trace(tmp_path / "one.json") as one:
        assert repr(one).endswith("one.json': running>")
        with pytest.raises(FailedPreconditionError, match=r"only one trace can run at a time, and .*one.json"):
            pipeline.trace(tmp_path / "two.json").start()
        assert not (tmp_path / "two.json").exists()
    assert repr(one).endswith("one.json': ended>")
    with pytest.raises(FailedPreconditionError, match="can be started once"):
        one.start()
    one.stop()  # a second time
    two = pipeline.trace(tmp_path / "two.json")
    assert repr(two).endswith("two.json': not started>")
    two.stop()  # before it began: it never will
    three = pipeline.trace(tmp_path / "three.json").start()
    three.stop()
    sound(load(tmp_path / "three.json")["traceEvents"])


@pytest.mark.parametrize("interval", [0.001, 1000])  # seconds; the second trace writes only once, at the end
def test_a_full_file_is_told_and_counted(tmp_path, caplog, interval):
    def body():
        with pipeline.batch(range(100_000), 10) as loop:
            for _ in loop:
                pass

    with pipeline.trace(tmp_path / "run.json", max_bytes=1 << 16, interval=interval):
        body()
    whole = load(tmp_path / "run.json")
    assert (tmp_path / "run.json").stat().st_size <= 1 << 16
    assert whole["otherData"]["events left out because of max_bytes"] > 0
    texts = [record.getMessage() for record in caplog.records if record.name == "pipeline.monitoring"]
    assert len(texts) == 2
    assert "run.json has its max_bytes=65,536, what follows is left out" in texts[0]
    left_out = whole["otherData"]["events left out because of max_bytes"]
    assert f"run.json is not whole: {left_out:,} events and 0 spans were left out" in texts[1]


def test_spans_that_nobody_takes_are_bounded_and_counted(monkeypatch):
    """The tracing thread does not get its turn here."""
    monkeypatch.setattr(spans, "MOST", 100)
    spans.switch(True)
    try:
        assert sum(spans.begin("next", "loop") > 0 for _ in range(150)) == 100
        assert (len(spans.events), spans.events.missed) == (100, 50)
    finally:
        spans.switch(False)
    assert spans.begin("next", "loop") == 0


@pytest.mark.parametrize("name", ["run.json", "run.json.gz"])
def test_a_disk_that_fills_up_is_one_warning(tmp_path, name):
    """The limit on file sizes stands in for it, and earlier data stays readable.

    Spans dropped because the buffer is full get no separate warning.
    """
    script = f"""
import logging, resource, signal, sys
import pipeline
from pipeline.reports import spans
logging.basicConfig(format="%(name)s: %(message)s")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
spans.MOST = 100
with pipeline.trace({str(tmp_path / name)!r}, interval=0.001) as trace:
    with pipeline.batch(lambda: 1, 1, capacity=2) as loop:
        while trace.running:
            next(loop)
        next(loop)
    spans.events.missed += 1  # it may have had time for all
print("went on")
"""
    done = run_script(script)
    assert done.stdout == "went on\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        f"pipeline.monitoring: trace: {tmp_path / name} cannot be written any more ([Errno {errno.EFBIG}]"
    )
    events = sound(load(tmp_path / name)["traceEvents"], ended=False)
    assert len(events) > 10


@pytest.mark.parametrize(("name", "size"), [("run.json", 56), ("run.json.gz", 14)])
def test_a_disk_that_is_full_at_any_byte_leaves_a_whole_file(tmp_path, name, size):
    """It has all events that were flushed before."""
    script = f"""
import resource, signal
from pipeline.reports.trace_file import TraceFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
for limit in range(800, 2400, 3):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    file, flushed = TraceFile({str(tmp_path)!r} + f"/{{limit}}.{name}", 1 << 20), 0
    try:
        for number in range(limit // {size} + limit % 5 * 3):
            file.write({{"ph": "i", "name": f"event {{number * 2654435761 % 2**32}}"}})
            if number % 5 == 0:
                file.flush({{"events": number + 1}})
                flushed = number + 1
        file.flush({{"events": number + 1}})
        flushed = number + 1
    except OSError:
        print("cut")
    with open({str(tmp_path)!r} + f"/{{limit}}.flushed", "w") as note:
        note.write(str(flushed))
    file.forget()
"""
    done = run_script(script)
    assert done.stderr == ""
    assert 100 < len(done.stdout.split()) < 500, "not only some are cut"
    for limit in range(800, 2400, 3):
        flushed = int((tmp_path / f"{limit}.flushed").read_text())
        trace = load(tmp_path / f"{limit}.{name}")
        assert trace["otherData"] == ({"events": flushed} if flushed else {})
        assert [each["ph"] for each in trace["traceEvents"]] == ["M"] + ["i"] * flushed


def test_an_error_of_the_trace_itself_does_not_reach_the_pipeline(tmp_path, caplog, monkeypatch):
    trace = pipeline.trace(tmp_path / "run.json", interval=0.001).start()

    def broken(tracer):
        raise KeyError("a fault")

    monkeypatch.setattr(Tracer, "round", broken)
    wait_until(lambda: not trace.running, "the end of the trace")
    assert count_batches() == 100
    trace.stop()
    assert "has ended because of an error of the trace itself" in caplog.text
    load(tmp_path / "run.json")


ENDS = {
    "exception": ("raise RuntimeError('of the program')", "RuntimeError: of the program"),
    "exit": ("sys.exit(3)", ""),
    "end": ("", ""),
    "interrupt": ("os.kill(os.getpid(), signal.SIGINT); threading.Event().wait()", "KeyboardInterrupt"),
}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("name", ["run.json", "run.json.gz"])
def test_the_file_is_whole_when_the_program_ends(tmp_path, how, name):
    statement, message = ENDS[how]
    script = f"""
import os, signal, sys, threading
import pipeline
pipeline.trace({str(tmp_path / name)!r}).start()
loop = pipeline.batch(range(100_000), 10)
for _ in range(50):
    next(loop)
{statement}
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert message in done.stderr
    assert "Exception ignored" not in done.stderr
    assert len(spans_of(sound(load(tmp_path / name)["traceEvents"]), "next")) >= 50


def test_a_forked_child_neither_traces_nor_touches_the_file(tmp_path):
    script = f"""
import os, sys
import pipeline
from pipeline.reports import spans
trace = pipeline.trace({str(tmp_path / "run.json.gz")!r}, interval=0.001).start()
def run():
    with pipeline.batch(range(1000), 10) as loop:
        return sum(1 for _ in loop)
run()
child = os.fork()
if child == 0:
    assert not spans.on and not trace.running
    run()
    trace.stop()
    pipeline.trace({str(tmp_path / "child.json")!r}).start()  # a trace of its own
    run()
    sys.exit(7)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7, status
run()
"""
    run_script(script)
    assert len(spans_of(sound(load(tmp_path / "run.json.gz")["traceEvents"]), "next")) >= 200
    assert len(spans_of(sound(load(tmp_path / "child.json")["traceEvents"]), "next")) == 101


def test_threads_start_and_stop_traces_at_once(tmp_path):
    """One gets it; the others get an error naming the owner."""
    gate = threading.Barrier(8)

    def attempt(number):
        trace = pipeline.trace(tmp_path / f"{number}.json")
        gate.wait()
        try:
            trace.start()
        except FailedPreconditionError:
            return 0
        gc.collect()
        trace.stop()
        return 1

    calls = [run_in_thread(attempt, number) for number in range(8)]
    assert sum(call.result() for call in calls) >= 1
    for path in tmp_path.glob("*.json"):
        load(path)


@pytest.mark.parametrize("name", ["run.json", "run.json.gz"])
def test_the_file_of_a_program_that_is_killed_is_whole(tmp_path, name):
    script = f"""
import os, signal
import pipeline
trace = pipeline.trace({str(tmp_path / name)!r}, interval=0.001).start()
with iter(pipeline.dataset(range(10**9)).batch(2)) as batches:
    size = os.stat(trace.path).st_size
    while os.stat(trace.path).st_size < size + 4096:
        next(batches)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert spans_of(sound(load(tmp_path / name)["traceEvents"], ended=False), "next")


def test_names_that_json_must_quote(tmp_path):
    def body():
        with pipeline.batch(range(100), 10, name='a "b" \\ \u20ac\n') as loop:
            return sum(1 for _ in loop)

    events, _ = traced(tmp_path / "run.json", body)
    assert {each["name"] for each in spans_of(events, "next")} == {"next of 'a \"b\" \\ \u20ac\n'"}
