"""`python -m pipeline feed --format`: each format, and unknown ones."""

import bz2
import gzip
import io
import json
import lzma
import tarfile

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import feather
from pyarrow import parquet as pq

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


def samples():
    """Return a tar archive with one sample."""
    member = tarfile.TarInfo("cat.cls")
    member.size = 1
    return member.tobuf() + b"7".ljust(1536, b"\0")


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
    **{
        f"image.{form}": (image(form), "images", {"image": 1}) for form in ("jpeg", "png", "gif", "bmp", "webp", "tiff")
    },
    "rows.csv.gz": (gzip.compress(CSV), "csv", {"int64": 2}),
    "rows.xz": (lzma.compress(CSV), "csv", {"int64": 2}),
    "rows.jsonl.gz": (gzip.compress(b'{"a": 1, "b": "x"}\n'), "jsonl", {"int": 1, "str": 1}),
    "records.gz": (gzip.compress(RECORD), "tfrecord", {"bytes": 1}),
    "samples.tar": (samples(), "tar", {"str": 1, "int64": 1}),
    "samples.tgz": (gzip.compress(samples()), "tar", {"str": 1, "int64": 1}),
    "a.npz": (saved(lambda file: np.savez(file, x=[1, 2], y=0.5)), "npz", {"int64": 1, "float64": 1}),
    "image.csv": (image("png"), "images", {"image": 1}),
}


@pytest.mark.parametrize("name", FOUND)
def test_the_format_is_found(capsys, tmp_path, name):
    content, form, columns = FOUND[name]
    (tmp_path / name).write_bytes(content)
    (tmp_path / "empty").write_bytes(b"")
    empty = [] if form in ("images", "tar", "npz") else [tmp_path / "empty"]
    status, report, err = feed(capsys, *empty, tmp_path / name, tmp_path / name)
    assert (status, err) == (0, "")
    assert (report["settings"]["format"], report["columns"]) == (form, columns)


REFUSED = {
    "e.zip": (
        saved(lambda file: np.savez(file, [1])),
        "is a zip archive, which feed does not read: in a program, pipe",
    ),
    "f.parquet": (b"PAR1 and more", "Parquet"),
    "g.csv": (gzip.compress(CSV), " is compressed by gzip, but its name does not end in .gz: rename it"),
    "g.parquet.gz": (gzip.compress(b"PAR1"), ": feed does not read parquet files that are compressed by gzip: deco"),
    "h.csv.gz": (gzip.compress(CSV)[:-9], "is damaged: it cannot be decompressed beyond byte"),
    "i.csv.gz": (CSV, "is damaged, or not compressed by gzip: it cannot be decompressed beyond byte"),
    "i.csv.bz2": (bz2.compress(CSV)[:-9], "is damaged: it cannot be decompressed beyond byte"),
    "h.json": (
        b'[{"a": 1}, {"a": 2}]',
        " is one JSON value, which feed does not read: write one object per line (JSON",
    ),
    "h.jsonl": (b'{"a": 1}\n{"a":\n', """{"a":; to skip such lines, use pipeline.text(paths).map(json.loads"""),
    "h.csv": (b"a,b\n1,\xe9\n", "pass encoding=, such as 'latin-1' or 'cp1252', or dtypes={'b': bytes} (in a progra"),
    "i.csv": (CSV.decode().encode("utf-16"), "is text in UTF-16, which feed does not read: convert it to UTF-8"),
    "j.bin": (bytes(100), ": not text, and its first bytes are of no format that feed knows: pass --format, csv"),
    "j.mds": (bytes(100), "is a shard of a MosaicML dataset, which feed does not read: in a program, pipeline.mds"),
    "data.mdb": (bytes(100), "is an LMDB file, which feed does not read: in a program, pipeline.lmdb reads its folder"),
    "j.jpg": (image("jpeg")[:-300], ": jpeg::Uncompress failed"),
    "names.csv": (b"a,b,a\nx,y,z\n", "names, and 'a' comes twice: rename a column\n"),
    "twice.csv": (b"a,b,a\n1,y,z\n", "twice: rename a column, or leave out the line with --skip-header-lines 1"),
    "k.tfrecord": (b"no record", "truncated record at 0"),
    "l.tfrecords": (b"no record, and long", "corrupted record at 0"),
}


@pytest.mark.parametrize("ending", ["parquet", "feather", "npy", "npz", "jpg", "tar", "jsonl"])
def test_a_text_with_the_name_of_another_format_is_damaged(capsys, tmp_path, ending):
    """Such as the page of an error that was downloaded instead of the file; it is no file of lines."""
    if ending in ("parquet", "feather"):
        pytest.importorskip("pyarrow")
    (tmp_path / f"rows.{ending}").write_text("not found\n")
    assert main(["feed", str(tmp_path / f"rows.{ending}")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("pipeline feed: ")


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
    [("a.h5", "is an HDF5 file"), ("b.jpg.gz", "images files that are compressed by gzip")],
)
def test_urls_go_by_their_names(capsys, name, why):
    """A URL's contents are not fetched twice."""
    with fsspec.open(f"memory://{name}", "wb") as file:
        file.write(CSV)
    status, report, err = feed(capsys, f"memory://{name}")
    assert (status, report) == (1, None)
    assert err.startswith(f"pipeline feed: memory://{name}")
    assert why in err


def test_files_of_urls(capsys):
    for name, content in (("a.jpg", image("jpeg")), ("a.tfrecord", RECORD), ("a.csv.gz", gzip.compress(b"1,2\n"))):
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


@pytest.mark.parametrize("form", ["parquet", "feather", "npy"])
@pytest.mark.parametrize("lists", [False, True])
def test_tables(capsys, tmp_path, form, lists):
    """With the rows of the source; lists may have different lengths."""
    path, write = tmp_path / f"table.{form}", {"parquet": pq.write_table, "feather": feather.write_feather}
    values = [[1], [1, 2], [], [4]] if lists and form != "npy" else [[1, 2]] * 4 if lists else [1, 2, 3, 4]
    if form == "npy":
        np.save(path, values)
    else:
        write[form](pa.table({"x": values, "y": ["a", "b", "c", "d"]}), path)
    status, report, err = feed(capsys, path, "--epochs", 3)
    assert (status, err, report["examples"]) == (0, "", 12)
    assert report["bytes"] == 3 * path.stat().st_size
    kind = "list of int64" if lists else "int64"
    assert report["columns"] == ({"int64": 1} if form == "npy" else {kind: 1, "str": 1})


def test_compressed_files_count_their_own_bytes(capsys, tmp_path):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n" * 5000))
    status, report, _ = feed(capsys, path, "--epochs", 2)
    assert (status, report["examples"], report["bytes"]) == (0, 10000, 2 * path.stat().st_size)


@pytest.mark.parametrize("form", ["npy", "npz"])
def test_several_arrays(capsys, tmp_path, form):
    """Each is one example only if asked for: they could as well be columns, or shards of one array."""
    for name in "ab":
        np.save(tmp_path / name, [1, 2])
    status, report, err = feed(capsys, tmp_path, "--format", form)
    if form == "npz":
        assert (status, report["examples"], err) == (0, 2, "")
    else:
        text = "feed reads one .npy file by rows, and got 2: pass --format npz if each is one example"
        assert (status, err) == (1, f"pipeline feed: {text}\n")


@pytest.mark.parametrize("form", ["images", "files"])
def test_whole_files_are_shuffled_without_a_buffer(capsys, tmp_path, form):
    """It would hold 1,152 decoded images."""
    for name in range(9):
        (tmp_path / f"{name}.png").write_bytes(image("png"))
    assert main(["feed", str(tmp_path), "--format", form, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["examples"] == 9
    assert report["bottleneck"]["kind"] != "pool"


def test_a_folder_stands_for_its_files(capsys, tmp_path):
    for name in ("a/1.png", "b/2.png", "b/c/3.png", ".hidden/4.txt", "_SUCCESS"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(image("png"))
    (tmp_path / ".hidden").rename(tmp_path / "b" / ".4")
    (tmp_path / "b" / ".4" / "4.txt").rename(tmp_path / "b" / ".txt")
    status, report, err = feed(capsys, tmp_path)
    assert (status, err, report["examples"]) == (0, "", 3)
    assert report["settings"]["files"] == [str(tmp_path / name) for name in ("a/1.png", "b/2.png", "b/c/3.png")]


def test_a_pattern_stands_for_its_matches(capsys, tmp_path, numbers):
    status, report, err = feed(capsys, tmp_path / "*.csv", tmp_path / "num*")
    assert (status, err, report["examples"]) == (0, "", 6)
    assert feed(capsys, tmp_path / "x*") == (1, None, f"pipeline feed: '{tmp_path}/x*' matches no file\n")


def test_a_fingerprint_of_lists_needs_equal_lengths(capsys, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": [1]}\n{"a": [1, 2]}\n')
    status, _, err = feed(capsys, tmp_path / "a.jsonl", "--deterministic")
    assert status == 1
    assert "in another, and --deterministic needs equal shapes" in err
