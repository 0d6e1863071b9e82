"""`python -m pipeline feed --format`: each format, and what is none."""

import json

import pytest

from pipeline.command.cli import main


def feed(capsys, *arguments):
    status = main(["feed", *map(str, arguments), "--json", "--batch-size", "4", "--min-after-dequeue", "2"])
    out, err = capsys.readouterr()
    return status, json.loads(out) if out else None, err


@pytest.fixture
def numbers(tmp_path):
    path = tmp_path / "numbers.csv"
    path.write_bytes(b"1,2\n3,4\n\n5,6\n")
    return path


@pytest.mark.parametrize(
    ("form", "examples", "columns", "size"),
    [
        ("csv", 3, {"int64": 2}, 13),
        ("lines", 3, {"bytes": 1}, 13),
        ("files", 1, {"bytes": 1}, 13),
        ("fixed:1", 13, {"uint8": 1}, 13),
        ("fixed:13", 1, {"uint8": 1}, 13),
    ],
)
def test_formats(capsys, numbers, form, examples, columns, size):
    status, report, err = feed(capsys, numbers, "--format", form, "--epochs", 2)
    assert (status, err) == (0, "")
    assert (report["examples"], report["columns"], report["bytes"]) == (2 * examples, columns, 2 * size)
    assert report["settings"]["format"] == form


@pytest.mark.parametrize(("size", "whole"), [(4, 12), (5, 10), (14, 0)])
def test_a_file_that_ends_within_a_record_of_fixed_size(capsys, numbers, size, whole):
    """TensorFlow leaves it out; for the command the file is cut short."""
    status, report, err = feed(capsys, numbers, "--format", f"fixed:{size}")
    assert (status, report) == (1, None)
    assert err == (f"pipeline feed: truncated record at {whole} of {numbers}: the file ends within its {size} bytes\n")


def test_records(capsys, tmp_path):
    pytest.importorskip("google_crc32c")
    from pipeline.files.tfrecord_writer import TFRecordWriter

    path = tmp_path / "data.tfrecord"
    with TFRecordWriter(path) as writer:
        for record in (b"abc", b"", b"defgh"):
            writer.write(record)
    status, report, _ = feed(capsys, path, "--format", "tfrecord")
    assert (status, report["examples"], report["bytes"]) == (0, 3, 8)
    path.write_bytes(path.read_bytes()[:-3])
    status, report, err = feed(capsys, path, "--format", "tfrecord")
    assert (status, report) == (1, None)
    assert err.startswith("pipeline feed: ")
    assert err.count("\n") == 1
    assert str(path) in err
    assert "truncated record at 35" in err


@pytest.mark.parametrize("kept", range(1, 12))
def test_records_cut_within_a_header(capsys, tmp_path, kept):
    """TensorFlow takes this as the end; the command does not."""
    pytest.importorskip("google_crc32c")
    from pipeline.files.tfrecord_writer import TFRecordWriter

    path = tmp_path / "data.tfrecord"
    with TFRecordWriter(path) as writer:
        for _ in range(2):
            writer.write(b"abc")
    content = path.read_bytes()
    for whole in 0, 19:
        path.write_bytes(content[: whole + kept])
        status, report, err = feed(capsys, path, "--format", "tfrecord")
        assert (status, report) == (1, None)
        assert err == f"pipeline feed: truncated record at {whole} of {path}: the file ends within its first 12 bytes\n"


@pytest.mark.parametrize("form", ["", "xml", "fixed", "fixed:", "fixed:0", "fixed:-1", "fixed:x", "csv:3"])
def test_no_format(capsys, numbers, form):
    with pytest.raises(SystemExit) as stopped:
        feed(capsys, numbers, "--format", form)
    assert stopped.value.code == 2
    assert f"got '{form}'" in capsys.readouterr().err
