"""Odd `python -m pipeline` calls end in one clear line and a status, never in a traceback."""

import os
import subprocess
import sys

import pytest
from helpers import LIMIT, run_script

import pipeline
from pipeline.command.cli import main

ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}


def command(*arguments, shell="", **environment):
    """Run the command in a shell, with `shell` redirecting its output."""
    line = [sys.executable, "-m", "pipeline", *arguments]
    if shell:
        line = ["sh", "-c", f'exec "$@" {shell}', "sh", *line]
    done = subprocess.run(line, capture_output=True, timeout=LIMIT, check=False, env={**os.environ, **environment})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("1,2\n3,4\n")
    return str(path)


@pytest.fixture
def program(tmp_path):
    path = os.fsencode(tmp_path) + b"/caf\xff.py"
    with open(path, "w") as file:
        file.write("import tensorflow as tf\ntf.train.batch\n")
    return os.fsdecode(path)


def test_version():
    assert command("--version") == (0, f"queue-runner {pipeline.__version__}\n", "")


def test_stderr_is_closed(rows):
    status, out, _ = command("feed", rows, shell="2>&-")
    assert status == 0
    assert out.startswith("2 examples")
    assert command("feed", rows + "no", shell="2>&-") == (1, "", "")


@pytest.mark.parametrize("name", ["feed", "check"])
def test_stdout_is_closed(rows, name):
    assert command(name, rows, shell=">&-") == (1, "", "pipeline: the standard output is closed\n")
    assert command(name, rows, shell=">&- 2>&-") == (1, "", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_stdout_is_full(rows, arguments):
    text = "pipeline: the standard output cannot be written: No space left on device\n"
    assert command("feed", rows, *arguments, shell=">/dev/full") == (1, "", text)


@pytest.mark.parametrize("environment", [ASCII, {"PYTHONIOENCODING": "utf-8"}])
def test_names_that_a_terminal_cannot_show(program, environment):
    status, out, err = command("check", program, **environment)
    assert (status, err) == (0, "")
    assert "/caf\\udcff.py:1: change `import tensorflow as tf`" in out
    status, out, err = command("check", program + "no", **environment)
    assert (status, out) == (2, "")
    assert err.endswith("/caf\\udcff.pyno: No such file or directory\n")


@pytest.mark.parametrize("form", ["csv", "lines", "tfrecord", "fixed:4"])
@pytest.mark.parametrize("name", [os.devnull, "empty", "blank"])
def test_nothing_to_read(capsys, tmp_path, form, name):
    """Two files without an example end with an error, like a single one."""
    for file, text in ("empty", ""), ("blank", "\n\n\n" if form == "csv" else ""):
        (tmp_path / file).write_text(text)
    path = str(tmp_path / name)  # os.devnull if that is the name
    for given, where in ([path], "it"), ([path, str(tmp_path / "empty")], "any file"):
        for more in [], ["--deterministic"], ["--epochs", "3", "--no-shuffle"]:
            assert main(["feed", "--format", form, *given, *more]) == 1
            out, err = capsys.readouterr()
            if form == "csv" and name == os.devnull:
                assert (out, err.count("\n")) == ("", 1)
                assert err.startswith(f"pipeline feed: csv: expected a header line in '{path}'")
                continue
            what = "line with data" if form == "csv" else "example"
            assert (out, err) == ("", f"pipeline feed: {path}: no {what} in {where}\n")


def test_nothing_to_read_saves_no_state(capsys, tmp_path):
    state = tmp_path / "state"
    assert main(["feed", "--format", "lines", os.devnull, "--deterministic", "--save-state", str(state)]) == 1
    assert not state.exists()


def test_a_limit_that_no_default_exceeds(capsys, rows):
    """A default capacity is no reason to reject a given number."""
    assert main(["feed", rows, "--batch-size", str(2**31 - 1)]) == 0
    assert capsys.readouterr().out.startswith("2 examples (2 int64) in 1 batch, ")


@pytest.mark.parametrize("option", ["capacity", "threads", "every"])
@pytest.mark.parametrize(("number", "word"), [(0, "least"), (10**30, "most")])
def test_numbers_that_no_machine_has(capsys, rows, option, number, word):
    with pytest.raises(SystemExit) as stopped:
        main(["feed", rows, f"--{option}", str(number)])
    assert stopped.value.code == 2
    assert f"--{option} must be at {word} " in capsys.readouterr().err


def test_threads_have_a_limit(capsys, rows):
    with pytest.raises(SystemExit) as stopped:
        main(["feed", rows, "--threads", "1025"])
    assert stopped.value.code == 2
    assert "--threads must be at most 1024, got 1025" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["FILE"], ["--save-state", ""], ["--resume", ""]])
def test_names_that_are_empty(capsys, rows, arguments):
    """As from an unset shell variable: an empty name must not mean the current folder."""
    what, *given = arguments
    options = ["--deterministic", what, *given] if given else [""]
    with pytest.raises(SystemExit) as stopped:
        main(["feed", rows, *options])
    assert stopped.value.code == 2
    assert f"error: {what} must not be empty" in capsys.readouterr().err


def test_a_name_that_no_file_has(capsys):
    assert main(["feed", "a\0b"]) == 1
    assert "no file can have the name 'a\\x00b'" in capsys.readouterr().err


def test_csv_behind_a_url(capsys, rows):
    pytest.importorskip("fsspec")
    assert main(["feed", f"file://{rows}"]) == 0
    assert capsys.readouterr().out.startswith("2 examples (2 int64) in 1 batch, ")


def test_a_folder_is_walked(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "b.py").write_text("import tensorflow as tf\ntf.train.batch\n")
    (tmp_path / "inner" / "a.py").write_text("x = 1\n")
    (tmp_path / "notes.txt").write_text("no program")
    status, out, err = command("check", str(tmp_path))
    assert (status, err) == (0, "")
    assert [line.split(": ")[0].removeprefix(str(tmp_path)) for line in out.splitlines()] == [
        "/b.py:1",
        "/b.py",
        "/inner/a.py",
    ]


def test_a_folder_without_programs(tmp_path):
    assert command("check", str(tmp_path)) == (2, "", f"pipeline check: {tmp_path}/*.py: No such file or directory\n")


def test_what_is_no_program(tmp_path):
    assert command("check", "/dev/zero") == (2, "", "pipeline check: /dev/zero: not a program: longer than 16 MiB\n")


@pytest.mark.parametrize("option", ["skip-header-lines", "batch-size", "threads", "epochs", "min-after-dequeue"])
def test_numbers_that_are_too_large(rows, option):
    status, out, err = command("feed", rows, f"--{option}", "9" * 30)
    assert (status, out) == (2, "")
    most = 1024 if option == "threads" else 2147483647
    assert err.splitlines()[-1].endswith(f"error: --{option} must be at most {most}, got {'9' * 30}")


def test_no_more_threads(rows):
    done = run_script(f"""
import sys, threading
start, started = threading.Thread.start, []
def limited(thread):
    if len(started) > 1:
        raise RuntimeError("can't start new thread")
    started.append(thread)
    start(thread)
threading.Thread.start = limited
from pipeline.command.cli import main
sys.exit(main(["feed", {rows!r}, "--threads", "20", "--format", "files"]))
""")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("pipeline feed: no worker can start: can't start new thread: the system allows")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("options", [[], ["--format", "lines"], ["--deterministic"]])
def test_a_byte_order_mark(capsys, tmp_path, options):
    """Excel and others write it. Each file may have one, and a first numeric column stays numeric."""
    names = [str(tmp_path / name) for name in "ab"]
    for name in names:
        with open(name, "wb") as file:
            file.write(b"\xef\xbb\xbf1,2\r\n3,4\r\n")
    assert main(["feed", *names, *options]) == 0
    what = "bytes" if "lines" in options else "2 int64"
    assert capsys.readouterr().out.startswith(f"4 examples ({what}) in 1 batch, 26 B, ")
    with open(names[0], "wb") as file:
        file.write(b"\xef\xbb\xbf\r\nx,y\r\n3,4\r\n")
    assert main(["feed", *names[:1], "--skip-header-lines", "2"]) == 0
    assert capsys.readouterr().out.startswith("1 example (2 int64) in 1 batch, ")


def test_a_byte_order_mark_in_a_pipe(tmp_path):
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbf1,2\r\n3,4\r\n")
    for name in "/dev/stdin", "-":
        status, out, err = command("feed", name, shell=f"< {tmp_path / 'a'}")
        assert (status, err) == (0, "")
        assert out.startswith("2 examples (2 int64) in 1 batch, ")


def test_a_first_line_that_ends_within_quotes(capsys, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('\na,"b\nc",2\nd,e,3\n')
    assert main(["feed", str(path)]) == 0
    assert capsys.readouterr().out.startswith("2 examples (2 str, 1 int64) in 1 batch, ")
    assert main(["feed", str(path), "--format", "lines"]) == 0
    assert capsys.readouterr().out.startswith("4 examples (bytes) in 1 batch, ")


def test_options_that_do_nothing_are_told(capsys, rows):
    for options, text in (
        ([], ""),
        (["--seed", "3"], "--seed does"),
        (["--min-after-dequeue", "5", "--seed", "3"], "--seed and --min-after-dequeue do"),
    ):
        assert main(["feed", rows, "--no-shuffle", *options]) == 0
        assert capsys.readouterr().err == (f"pipeline feed: {text} nothing with --no-shuffle\n" if text else "")
