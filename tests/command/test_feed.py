"""`python -m pipeline feed`: its report, and its errors."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from helpers import LIMIT, run_script
from orchestration import no_thread_left

import pipeline
from pipeline.command.cli import main

DIGITS = pathlib.Path(__file__).parents[2] / "examples" / "data" / "digits.csv"


def feed(capsys, *arguments):
    """Run `feed` in this process; return status, stdout and stderr."""
    status = main(["feed", *map(str, arguments)])
    return status, *capsys.readouterr()


def report(capsys, *arguments):
    status, out, err = feed(capsys, *arguments, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


def command(*arguments, **kwargs):
    line = [sys.executable, "-m", "pipeline", "feed", *map(str, arguments)]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)


def test_command_line_in_a_process_of_its_own():
    with command(DIGITS, "--batch-size", "100") as process:
        out, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, err) == (0, "")
    assert out.startswith("1,797 examples (65 int64) in 18 batches, 264.7 kB, ")
    assert "examples/s" in out
    assert "MB/s" in out
    first = [line.split()[0] for line in out.splitlines() if line]
    if len(first) > 3:  # it took at least a second
        assert {"Bottleneck:", "step", "csv", "batch(100)", "your"} < set(first)


@pytest.mark.parametrize("shuffle", ["--shuffle", "--no-shuffle"])
@pytest.mark.parametrize("threads", [1, 3])
def test_everything_comes_through(capsys, shuffle, threads):
    seed = ["--seed", 1] if shuffle == "--shuffle" else []
    got = report(capsys, DIGITS, shuffle, "--threads", threads, "--epochs", 3, "--batch-size", 64, *seed)
    assert got["examples"] == 3 * 1797
    assert got["batches"] == -(-3 * 1797 // 64)
    assert got["bytes"] == 3 * DIGITS.stat().st_size
    assert got["columns"] == {"int64": 65}
    assert got["interrupted"] is False
    (batches,) = got["queues"]
    assert batches["name"].startswith("prefetch(")
    assert batches["enqueued"] == batches["dequeued"] == got["batches"]
    assert batches["high_water"] <= batches["capacity"]
    assert got["examples_per_s"] > 0
    assert got["bytes_per_s"] > 0
    assert got["bottleneck"]["stage"] in ("csv", "shuffle", "batch(64)", batches["name"], "batches counted")
    assert got["bottleneck"]["text"]


@pytest.mark.parametrize("text", ["1,2\n3,4\n", "1,2\n3,no number\n", ""], ids=["whole", "damaged", "empty"])
def test_no_thread_is_left(capsys, tmp_path, text):
    (tmp_path / "rows.csv").write_text(text)
    with no_thread_left():
        feed(capsys, tmp_path / "rows.csv")


def test_settings(capsys):
    got = report(capsys, DIGITS, "--batch-size", 10, "--min-after-dequeue", 5, "--capacity", 77, "--threads", 1)
    assert (got["settings"]["min_after_dequeue"], got["queues"][0]["capacity"]) == (5, 7)
    got = report(capsys, DIGITS, "--batch-size", 10, "--no-shuffle", "--threads", 1)
    assert (got["settings"]["min_after_dequeue"], got["queues"][0]["capacity"]) == (0, 32)


class TestTypes:
    @pytest.mark.parametrize(
        ("text", "columns"),
        [
            ("1,2.5,x\n2,3,y\n", {"int64": 1, "float64": 1, "str": 1}),
            ("n,x,name\n1,2.5,Ada\n2,3,Alan\n", {"int64": 1, "float64": 1, "str": 1}),
            ("n;x\n1;2,5\n2;3,5\n", {"int64": 1, "str": 1}),
            ("n\tx\n1\t2.5\n2\t3.5\n", {"int64": 1, "float64": 1}),
            ('1,"a,b",2\n3,"c",4\n', {"int64": 2, "str": 1}),
            ('id,text\n1,"two\nlines"\n2,one\n', {"int64": 1, "str": 1}),
            ("1.5,,\n,2,\n", {"float64": 3}),
            ("some words\nmore, with a comma\n", {"bytes": 1}),
            ('he said "no", and left\nagain "\n', {"bytes": 1}),
            ("7\n8\n", {"int64": 1}),
            ("\r\n\n1,2\r\n\n3,4\r\n", {"int64": 2}),
            ('{"a": 1, "b": [1, 2]}\n{"a": 2, "b": [3]}\n', {"int": 1, "list": 1}),
        ],
        ids=[
            *("mixed", "header", "semicolons", "tabs", "quoted", "lines in quotes", "missing", "text"),
            *("quotes in text", "one column", "blank lines", "objects of JSON"),
        ],
    )
    def test_are_those_of_the_source(self, capsys, tmp_path, text, columns):
        (tmp_path / "file").write_text(text)
        got = report(capsys, tmp_path / "file")
        assert (got["columns"], got["examples"]) == (columns, 2)

    def test_header_lines_are_left_out(self, capsys, tmp_path):
        for name in "ab":
            (tmp_path / name).write_text("x,y\n1,2\n3,4\n")
        got = report(capsys, tmp_path / "a", tmp_path / "b", "--skip-header-lines", 1)
        assert (got["columns"], got["examples"]) == ({"int64": 2}, 4)

    def test_empty_files_among_others(self, capsys, tmp_path):
        (tmp_path / "empty").write_text("")
        (tmp_path / "full").write_text("1\n2")
        assert report(capsys, tmp_path / "empty", tmp_path / "full")["examples"] == 2


def test_pipes_lose_nothing(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with command(tmp_path / "pipe", "--json") as process:
        with open(tmp_path / "pipe", "w") as pipe:
            pipe.write("1,x\n" * 5000)
        out, err = process.communicate(timeout=LIMIT)
    got = json.loads(out)
    assert (err, got["examples"], got["columns"]) == ("", 5000, {"bytes": 1})


class TestErrors:
    def check(self, capsys, message, *arguments):
        status, out, err = feed(capsys, *arguments)
        assert (status, out, err) == (1, "", f"pipeline feed: {message}\n")

    def test_missing_file(self, capsys, tmp_path):
        missing = tmp_path / "missing.csv"
        self.check(capsys, f"No such file or directory: '{missing}'", missing)
        self.check(capsys, f"No such file or directory: '{missing}'", DIGITS, missing, "--no-shuffle")

    def test_directory(self, capsys, tmp_path):
        self.check(capsys, f"{tmp_path}: no file in this folder", tmp_path)
        (tmp_path / "photos" / "cats").mkdir(parents=True)
        (tmp_path / "photos" / ".hidden").write_text("")
        self.check(capsys, f"{tmp_path / 'photos'}: no file in this folder", DIGITS, tmp_path / "photos")

    def test_directory_that_cannot_be_listed(self, capsys, tmp_path, monkeypatch):
        def refused(path):
            raise PermissionError(13, "Permission denied", path)

        monkeypatch.setattr("os.scandir", refused)
        self.check(capsys, f"{tmp_path}: Permission denied", tmp_path)

    def test_nothing_to_read(self, capsys, tmp_path):
        (tmp_path / "empty").write_text("\n\n")
        self.check(capsys, f"{tmp_path / 'empty'}: no line with data in it", tmp_path / "empty")

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ("1,2", "Expect 3 fields but have 2"),
            ("1,2,x,4", "Expect 3 fields but have 4"),
            ('1,2,"x', "Quoted field has to end with quote followed by delim or end"),
        ],
    )
    def test_malformed_line_is_named(self, capsys, tmp_path, line, why):
        file = tmp_path / "bad.csv"
        file.write_text("a,b,c\n" + "1,2.5,x\n" * 700 + "\n" + line + "\n" + "1,2.5,x\n" * 9)
        status, out, err = feed(capsys, file)
        assert (status, out) == (1, "")
        assert err.startswith(f"pipeline feed: csv: {file}, line 703: {why}")
        assert "see lenient=" not in err

    def test_a_short_line_may_be_read_by_a_program(self, capsys, tmp_path):
        file = tmp_path / "bad.csv"
        file.write_text("a,b\n1,2\n3\n")
        _, _, err = feed(capsys, file)
        assert err.endswith(": fix the line, or use `pipeline.csv(..., lenient=True)` in a program\n")

    def test_arguments(self, capsys):
        for arguments, text in [
            (["--batch-size", "0"], "--batch-size must be at least 1, got 0"),
            (["--threads", "0"], "--threads must be at least 1"),
            (["--epochs", "-1"], "--epochs must be at least 0"),
            (["--capacity", "1024"], "--capacity must be bigger than --min-after-dequeue, 1024; got 1024"),
        ]:
            with pytest.raises(SystemExit) as caught:
                main(["feed", str(DIGITS), *arguments])
            assert caught.value.code == 2
            assert text in capsys.readouterr().err

    def test_command_is_needed(self, capsys):
        with pytest.raises(SystemExit) as caught:
            main([])
        assert caught.value.code == 2


def test_the_page_lists_every_option(capsys):
    with pytest.raises(SystemExit):
        main(["feed", "--help"])
    options = set(re.findall(r"--[a-z-]*[a-z]", capsys.readouterr().out)) - {"--help"}
    page = (DIGITS.parents[2] / "docs" / "feed.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `--")]
    assert set(re.findall(r"--[a-z-]+", " ".join(rows))) == options


def test_reader_of_the_report_that_went_away_is_no_error():
    read, write = os.pipe()
    os.close(read)
    try:
        line = [sys.executable, "-m", "pipeline", "feed", str(DIGITS)]
        done = subprocess.run(line, stdout=write, stderr=subprocess.PIPE, timeout=LIMIT, check=False)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


def test_package_does_not_import_the_command_line():
    done = run_script(
        "import sys, pipeline; print([m for m in ('pipeline.command.cli', 'argparse', 'json') if m in sys.modules])"
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_example_program_runs():
    program = DIGITS.parent.parent / "csv_batches.py"
    line = [sys.executable, str(program), str(DIGITS)]
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(pipeline.__file__).parent.parent)}
    done = subprocess.run(line, capture_output=True, text=True, timeout=LIMIT, check=False, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("images of each digit: [3")
