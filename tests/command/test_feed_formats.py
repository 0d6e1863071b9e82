"""`python -m pipeline feed --format`: each format, and unknown ones."""

import gzip
import io
import json
import lzma
import tarfile

import fsspec
import numpy as np
import pytest
from PIL import Image

from pipeline.command.cli import main
from pipeline.files.crc32c import crc_function_or_slow
from pipeline.files.tfrecord import framed


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
        ("lines", 4, {"bytes": 1}, 13),
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


@pytest.mark.parametrize(("size", "record"), [(4, 3), (5, 2), (14, 0)])
def test_a_file_that_ends_within_a_record_of_fixed_size(capsys, numbers, size, record):
    """TensorFlow drops the incomplete record; the command reports a truncated file."""
    status, report, err = feed(capsys, numbers, "--format", f"fixed:{size}")
    assert (status, report) == (1, None)
    rest = 13 - record * size
    ends = f"the file ends after {rest} of its {size} bytes"
    assert err == f"pipeline feed: fixed_length: {numbers}, record {record}: {ends}\n"


def test_records(capsys, tmp_path):
    pytest.importorskip("google_crc32c")
    from pipeline.files.tfrecord_writer import TFRecordWriter

    path = tmp_path / "data.tfrecord"
    with TFRecordWriter(path) as writer:
        for record in (b"abc", b"", b"defgh"):
            writer.write(record)
    status, report, _ = feed(capsys, path, "--format", "tfrecord")
    assert (status, report["examples"], report["bytes"]) == (0, 3, 56)
    path.write_bytes(path.read_bytes()[:-3])
    status, report, err = feed(capsys, path, "--format", "tfrecord")
    assert (status, report) == (1, None)
    assert err.startswith("pipeline feed: ")
    assert err.count("\n") == 1
    assert str(path) in err
    assert "truncated record at 35" in err


@pytest.mark.parametrize("kept", range(1, 12))
def test_records_cut_within_a_header(capsys, tmp_path, kept):
    """TensorFlow treats this as the end; the command does not."""
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


def image(form):
    file = io.BytesIO()
    Image.new("RGB", (2, 3)).save(file, form)
    return file.getvalue()


def saved(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


CSV, RECORD = b"1,2\n3,4\n", framed(b"abc", crc_function_or_slow())
FOUND = {
    "rows.csv": (CSV, "csv", {"int64": 2}),
    "rows": (CSV, "csv", {"int64": 2}),
    "text.log": ("é\n".encode("latin-1"), "lines", {"bytes": 1}),
    "rows.jsonl": (b'{"a": 1, "b": "x"}\n', "jsonl", {"int": 1, "str": 1}),
    "rows.tsv": (b"a\tb\n1\t2\n", "csv", {"int64": 2}),
    "rows.jpg": (CSV, "csv", {"int64": 2}),  # whatever the name suggests
    "BM.txt": (b"BMW,3\n", "csv", {"str": 1, "int64": 1}),
    "records.csv": (2 * RECORD, "tfrecord", {"bytes": 1}),
    "records": (RECORD, "tfrecord", {"bytes": 1}),
    **{f"image.{form}": (image(form), "images", {"image": 1}) for form in ("jpeg", "png", "gif", "bmp")},
    **{f"image.{form}": (image(form), "files", {"bytes": 1}) for form in ("webp", "tiff")},
    "image.csv": (image("png"), "images", {"image": 1}),
}


@pytest.mark.parametrize("name", FOUND)
def test_the_format_is_found(capsys, tmp_path, name):
    content, form, columns = FOUND[name]
    (tmp_path / name).write_bytes(content)
    (tmp_path / "empty").write_bytes(b"")
    empty = [] if form == "images" else [tmp_path / "empty"]
    status, report, err = feed(capsys, *empty, tmp_path / name, tmp_path / name)
    assert (status, err) == (0, "")
    assert (report["settings"]["format"], report["columns"]) == (form, columns)


REFUSED = {
    "a.parquet": (b"PAR1 and more", "is a Parquet file, which feed does not read: in a program, pipeline.parquet"),
    "b.csv": (b"PAR1 and more", "is a Parquet file, which feed does not read: in a program, pipeline.parquet reads it"),
    "c.arrow": (b"ARROW1\0\0", "is a Feather file (Arrow IPC), which feed does not read: in a program, pipeline.fea"),
    "d.npy": (saved(lambda file: np.save(file, [1])), "is an .npy file, which feed does not read: in a program, pipe"),
    "e.npz": (saved(lambda file: np.savez(file, [1])), "is an .npz file or another zip archive, which feed does not"),
    "f.tar": (
        tarfile.TarInfo("a").tobuf(),
        "is a tar archive, which feed does not read: in a program, ",
    ),
    "g.csv": (gzip.compress(CSV), ": feed does not read text that is compressed by gzip: decompress it first"),
    "h.csv.xz": (lzma.compress(CSV), ": feed does not read text that is compressed by xz: decompress it first"),
    "i.csv": (CSV.decode().encode("utf-16"), "is text in UTF-16, which feed does not read: convert it to UTF-8"),
    "j.bin": (bytes(100), ": not text, and feed does not know the format from the first bytes: pass --format, cs"),
    "names.csv": (b"a,b,a\nx,y,z\n", "names, and 'a' comes twice: rename a column\n"),
    "twice.csv": (b"a,b,a\n1,y,z\n", "twice: rename a column, or leave out the line with --skip-header-lines 1"),
    "k.tfrecord": (b"no record", "truncated record at 0"),
    "l.tfrecords": (b"no record, and long", "corrupted record at 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_feed_does_not_read(capsys, tmp_path, name):
    """One line, and a failure status."""
    content, why = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    status, report, err = feed(capsys, tmp_path / name)
    assert (status, report) == (1, None)
    assert err.startswith("pipeline feed: ")
    assert f"{tmp_path}/{name}" in err
    assert why in err
    assert err.count("\n") == 1


def test_files_of_several_formats(capsys, tmp_path, numbers):
    (tmp_path / "records").write_bytes(RECORD)
    status, report, err = feed(capsys, numbers, tmp_path / "records")
    assert (status, report) == (1, None)
    assert err == (
        f"pipeline feed: {numbers} would be read as csv, and {tmp_path}/records as tfrecord: "
        "pass --format, or files of one kind\n"
    )
    status, report, err = feed(capsys, numbers, tmp_path / "records", "--format", "files")
    assert (status, err, report["examples"]) == (0, "", 2)


@pytest.mark.parametrize(
    ("name", "why"),
    [("a.parquet", "is a Parquet file"), ("b.csv.gz", "compressed by gzip"), ("c.tar", "is a tar archive")],
)
def test_urls_go_by_their_names(capsys, name, why):
    """A URL's contents are not fetched twice."""
    with fsspec.open(f"memory://{name}", "wb") as file:
        file.write(CSV)
    status, report, err = feed(capsys, f"memory://{name}")
    assert (status, report) == (1, None)
    assert err.startswith(f"pipeline feed: memory://{name}")
    assert why in err


def test_images_and_records_of_urls(capsys):
    for name, content in (("a.jpg", image("jpeg")), ("a.tfrecord", RECORD)):
        with fsspec.open(f"memory://{name}", "wb") as file:
            file.write(content)
        status, report, err = feed(capsys, f"memory://{name}")
        assert (status, err, report["examples"]) == (0, "", 1)


@pytest.mark.parametrize("form", ["", "xml", "fixed", "fixed:", "fixed:0", "fixed:-1", "fixed:x", "csv:3"])
def test_no_format(capsys, numbers, form):
    with pytest.raises(SystemExit) as stopped:
        feed(capsys, numbers, "--format", form)
    assert stopped.value.code == 2
    assert f"got '{form}'" in capsys.readouterr().err
