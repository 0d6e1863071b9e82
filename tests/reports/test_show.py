"""A monitor's display: in a terminal, as a person sees it; as lines; in a forked child; by the environment."""

import contextlib
import io
import os
import signal
import subprocess
import sys

import pytest
from helpers import run_script

import pipeline
from pipeline.reports import show
from pipeline.reports.show import in_notebook

PIPELINE = """
import os, sys, logging, threading
import pipeline
from pipeline.reports import show

def example():
    return 1.0

loop = pipeline.shuffle_batch(example, 10, capacity=500, min_after_dequeue=100, name="examples")

def watched():
    # Until the picture has been drawn.
    while not (show._shown and show._shown[0]._last):
        next(loop)
"""


@pytest.fixture
def terminal():
    pytest.importorskip("pyte", reason="pyte is not installed")
    pytest.importorskip("rich", reason="the extra monitor is not installed")
    from terminals import Terminal

    terminal = Terminal(100, 30)
    yield terminal
    terminal.close()


@pytest.fixture
def start(terminal):
    """Start a program at the terminal; it is ended with the test."""
    import terminals

    started = []

    def start(*command, **settings):
        started.append(terminals.start(terminal, *command, **settings))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_a_table_that_stays(terminal, start):
    program = PIPELINE + "with pipeline.monitor():\n    watched()\n    print('result')\nprint('after')"
    assert terminal.end_of(start("-c", program)) == 0
    lines = terminal.lines()
    assert lines[0] == "result"
    assert any(line.split()[:2] == ["step", "runs"] for line in lines)
    assert any("your loop" in line for line in lines)
    assert lines[-1] == "after"
    assert not terminal.screen.cursor.hidden


def test_an_exception_of_the_program(terminal, start):
    program = PIPELINE + "with pipeline.monitor():\n    watched()\n    raise LookupError('mine')"
    assert terminal.end_of(start("-c", program)) == 1
    lines = terminal.lines()
    head = lines.index("Traceback (most recent call last):")
    assert any("your loop" in line for line in lines[:head])
    assert lines[head + 1].startswith('  File "<string>", line')
    assert lines[-1] == "LookupError: mine"


def test_ctrl_c(terminal, start):
    process = start("-c", PIPELINE + "with pipeline.monitor():\n    while True:\n        next(loop)")
    terminal.wait_for("your loop")
    terminal.type("\x03")
    assert terminal.end_of(process) == -signal.SIGINT
    lines = terminal.lines()
    head = lines.index("Traceback (most recent call last):")
    assert [i < head for i, line in enumerate(lines) if "your loop" in line] == [True]
    assert lines[-1] == "KeyboardInterrupt"


def test_a_fork(terminal, start):
    program = (
        PIPELINE
        + """
with pipeline.monitor():
    watched()
    if not os.fork():
        print("hatched", flush=True)
        os._exit(7)
    print("status", os.waitstatus_to_exitcode(os.wait()[1]))
"""
    )
    assert terminal.end_of(start("-c", program)) == 0
    lines = terminal.lines()
    # Both processes write to one terminal, unaware of each other, so the screen position depends on timing. A line from
    # one may split the other's.
    assert b"hatched" in terminal.written
    assert terminal.written.count(b"hatched") == 1  # the table would show its beginning, then all of it
    assert "status 7" in lines
    assert "your loop" in "\n".join(lines[lines.index("status 7") :])


def test_stdout_belongs_to_the_program(terminal, start, tmp_path):
    with open(tmp_path / "out", "w") as out:
        program = PIPELINE + "with pipeline.monitor():\n    watched()\n    print('result')"
        assert terminal.end_of(start("-c", program, stdout=out)) == 0
    assert (tmp_path / "out").read_text() == "result\n"
    assert any("your loop" in line for line in terminal.lines())


def test_feed_watch(terminal, start, tmp_path):
    """In its own words, and nothing is left: the last report goes to stdout."""
    rows = tmp_path / "rows.csv"
    os.mkfifo(rows)
    with open(tmp_path / "out", "w") as out:
        command = "-m", "pipeline", "feed", str(rows), "--watch", "--batch-size", "1", "--no-shuffle"
        feed = start(*command, stdout=out)
        with open(rows, "w") as pipe:
            print("1,2", file=pipe, flush=True)
            terminal.wait_for("batches counted")
        assert terminal.end_of(feed) == 0
    assert "examples/s" in (tmp_path / "out").read_text().splitlines()[1]
    assert "".join(terminal.lines()).strip() == ""


def test_by_the_environment(terminal, start):
    """The program is not changed; it ends with an error, and shows the picture and the traceback."""
    program = PIPELINE + "watched()\nprint('result')\nraise LookupError('mine')"
    assert terminal.end_of(start("-c", program, PIPELINE_MONITOR="1")) == 1
    lines = terminal.lines()
    assert lines[0] == "result"
    assert "LookupError: mine" in lines
    assert any("your loop" in line for line in lines)


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={**os.environ, **environment},
    )


SHORT = (
    PIPELINE + "next(loop)\nprint(len(show._shown), sum(t.name == 'pipeline-sampler' for t in threading.enumerate()))"
)


@pytest.mark.parametrize("value", ["1", "plain", "on", "{}/logs"])
def test_values_of_the_environment(value, tmp_path):
    done = run(SHORT, PIPELINE_MONITOR=value.format(tmp_path))
    assert done.stdout == "1 1\n"
    assert "your loop" in done.stderr
    assert (tmp_path / "logs").exists() == (value == "{}/logs")


@pytest.mark.parametrize("value", ["", "0", "off", "False"])
def test_off(value):
    done = run(SHORT, PIPELINE_MONITOR=value)
    assert (done.stdout, done.stderr) == ("0 0\n", "")


def test_a_value_that_means_nothing():
    done = run(SHORT, PIPELINE_MONITOR="plian")
    assert done.stdout == "0 0\n"
    assert done.stderr == "PIPELINE_MONITOR=plian: must be 1, plain, a directory such as ./logs, or 0\n"


def test_a_directory_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    done = run(SHORT, PIPELINE_MONITOR=f"{tmp_path}/file/logs")
    assert done.stdout == "0 0\n"
    assert len(done.stderr.splitlines()) == 1
    assert "file/logs" in done.stderr


def test_nothing_is_loaded_unless_asked_for():
    script = "import sys, pipeline; print([name for name in sys.modules if name.startswith('pipeline.')])"
    assert run_script(script).stdout == "['pipeline._random']\n"


# Without a terminal ---------------------------------------------------------------------------------------------------


@pytest.fixture
def loop():
    with pipeline.batch(lambda: 1.0, 10, name="examples") as loop:
        yield loop


def test_lines_and_the_report(loop, monkeypatch):
    with contextlib.redirect_stderr(io.StringIO()) as stderr:
        monkeypatch.setattr(show.Lines, "every", 0.0)
        with pipeline.monitor():
            while "ready" not in stderr.getvalue():
                next(loop)
        lines = stderr.getvalue().splitlines()
        assert lines[0].startswith("pipeline: ")
        assert any("examples" in line and "ready" in line for line in lines)
        assert any(each.startswith("step ") for each in lines)
        assert "\x1b" not in stderr.getvalue()


def test_nothing_is_shown_on_request(loop):
    with contextlib.redirect_stderr(io.StringIO()) as stderr:
        with pipeline.monitor(show=False):
            next(loop)
        assert stderr.getvalue() == ""


def test_only_one_monitor_shows(loop):
    with contextlib.redirect_stderr(io.StringIO()) as stderr:
        with pipeline.monitor(), pipeline.monitor() as inner:
            next(loop)
            assert inner.report().watched
        assert stderr.getvalue().count("step  ") == 1
        with pipeline.monitor():
            next(loop)
        assert stderr.getvalue().count("step  ") == 2


def test_a_stream_that_is_closed(loop):
    with contextlib.redirect_stderr(io.StringIO()) as stderr:
        with pipeline.monitor():
            next(loop)
            stderr.close()


def test_no_stderr(loop):
    with contextlib.redirect_stderr(None):
        with pipeline.monitor():
            next(loop)


def test_a_stream_that_knows_few_characters():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with contextlib.redirect_stderr(stream):
        queue = pipeline.FIFOQueue(3, ["int32"], name="\N{CJK UNIFIED IDEOGRAPH-6F22}")
        with pipeline.batch(lambda: 1.0, 10) as loop, pipeline.monitor():
            next(loop)
        assert b"queue ?" in stream.buffer.getvalue()
        assert queue.size() == 0


def test_without_rich(terminal, start):
    program = PIPELINE + "sys.modules['rich.console'] = None\nwith loop, pipeline.monitor(): next(loop)"
    assert terminal.end_of(start("-c", program, TERM="xterm")) == 0
    lines = terminal.lines()
    assert sum("pip install rich" in line for line in lines) == 1
    assert any(line.startswith("step ") for line in lines)


def test_what_show_may_be():
    with pytest.raises(ValueError, match="show must be True, False or 'plain', got 'lines'"):
        pipeline.monitor(show="lines")


def test_this_is_no_notebook():
    assert not in_notebook()
