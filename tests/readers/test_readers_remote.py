"""Files behind URLs."""

import importlib
import itertools

import pytest
from helpers import raises, run_script
from orchestration import closed_queue, drain
from reading import PACK, counts, read_all

import pipeline
from pipeline.errors import DataLossError, InvalidArgumentError, NotFoundError, OutOfRangeError
from pipeline.files.tfrecord_cutter import tf_record_iterator
from pipeline.files.tfrecord_writer import TFRecordWriter
from pipeline.readers.fixed import FixedLengthRecordReader
from pipeline.readers.text import TextLineReader
from pipeline.readers.tfrecord import TFRecordReader
from pipeline.readers.whole import WholeFileReader

fsspec = pytest.importorskip("fsspec")
_numbers = itertools.count()


@pytest.fixture(name="url")
def _url():
    """Make a separate directory."""
    return f"memory://d{next(_numbers)}"


def put(url, content):
    with fsspec.open(url, "wb") as file:
        file.write(content)
    return url


def test_every_reader(url):
    name = put(f"{url}/f", b"abc\ndef\n")
    at = name.encode()
    assert read_all(TextLineReader(), [name]) == [at + b":1 abc", at + b":2 def"]
    assert read_all(FixedLengthRecordReader(4), [name]) == [at + b":0 abc\n", at + b":1 def\n"]
    assert read_all(WholeFileReader(), [name]) == [at + b" abc\ndef\n"]


@pytest.mark.parametrize("options", PACK)
def test_tfrecords(url, options):
    name = f"{url}/f"
    records = [b"x" * size for size in (3, 0, 500_000, 7)]
    with TFRecordWriter(name, options) as writer:
        for record in records:
            writer.write(record)
    assert list(tf_record_iterator(name, options)) == records
    assert [r.partition(b" ")[2] for r in read_all(TFRecordReader(options=options), [name])] == records
    with fsspec.open(name, "rb") as file:
        content = file.read()
    put(name, content[:-10])
    reader, queue = TFRecordReader(options=options), closed_queue([name])
    with pytest.raises(DataLossError):
        drain(lambda: reader.read(queue))


def test_missing_file_is_one_error(url):
    name = put(f"{url}/f", b"abc")
    reader, queue = TextLineReader(), closed_queue([f"{url}/missing", name])
    with pytest.raises(NotFoundError, match=f"^{url}/missing; No such file or directory$"):
        reader.read(queue)
    assert reader.read(queue).value == b"abc"
    with pytest.raises(NotFoundError):
        WholeFileReader().read(closed_queue([f"{url}/missing"]))


def test_empty_file(url):
    reader = TFRecordReader(options="GZIP")
    assert read_all(reader, [put(f"{url}/f", b"")]) == []
    assert counts(reader) == (0, 1)


def test_unknown_kind_of_url():
    with pytest.raises(InvalidArgumentError, match=r"nowhere://f; ValueError: .*nowhere"):
        TextLineReader().read(closed_queue(["nowhere://f"]))
    reader, queue = TextLineReader(on_error="skip"), closed_queue(["nowhere://f"])
    with pytest.raises(OutOfRangeError):
        reader.read(queue)
    assert reader.num_errors == 1


def test_extra_is_named_and_not_needed_for_paths(tmp_path):
    (tmp_path / "f").write_bytes(b"abc")
    script = f"""
import sys
sys.modules["fsspec"] = None
from pipeline import FIFOQueue, TextLineReader
queue = FIFOQueue(9, "string", [()])
queue.enqueue_many((["memory://f", {str(tmp_path / "f")!r}],))
reader = TextLineReader(on_error="skip")
try:
    reader.read(queue)
except ImportError as error:
    print(error)
print(reader.read(queue).value)
"""
    done = run_script(script)
    first, second = done.stdout.splitlines()
    assert first == "reading and writing memory://f needs fsspec: pip install fsspec"
    assert second == "b'abc'"


def test_a_library_that_fsspec_needs_is_missing(monkeypatch):
    """The error names the URL; fsspec's own error has only its class."""
    known = {"class": "no_such_library.FileSystem", "err": "Install no_such_library to read them"}
    monkeypatch.setitem(importlib.import_module("fsspec.registry").known_implementations, "none", known)
    text = (
        "reading and writing none://a/b.csv needs another library besides fsspec: Install no_such_library to read them"
    )
    with raises(ImportError, text):
        list(pipeline.batch(pipeline.csv("none://a/b.csv"), 1))
    with raises(ImportError, text.replace("b.csv", "*.csv")):
        pipeline.csv("none://a/*.csv")
