"""Broken files: too long, compressed too well, endless, changing, oddly named."""

import contextlib
import gzip
import os
import sys

import pytest
from helpers import run_in_thread, run_script
from orchestration import closed_queue, drain
from reading import PACK, read_all
from tracing import memory_below

import pipeline
import pipeline.compat.v1 as tf
from pipeline.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnknownError,
)
from pipeline.files.limits import MAX_RECORD_BYTES
from pipeline.files.tfrecord_cutter import tf_record_iterator
from pipeline.files.tfrecord_writer import TFRecordWriter
from pipeline.readers.fixed import FixedLengthRecordReader
from pipeline.readers.lmdb import LMDBReader
from pipeline.readers.text import TextLineReader
from pipeline.readers.tfrecord import TFRecordReader
from pipeline.readers.whole import WholeFileReader

MIB = 1 << 20


@pytest.fixture(autouse=True)
def _directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, data):
    with open(name, "wb") as file:
        file.write(data)


def records(name, values, packing=""):
    with TFRecordWriter(name, packing) as writer:
        for value in values:
            writer.write(value)


def read_on(reader, queue, take, values):
    """Append the records that `_read_ahead` reads before an error, as the drop-in's runners do."""
    while True:
        values += reader._read_ahead(queue, take).values


@pytest.mark.parametrize("take", [1, 3, 100])
@pytest.mark.parametrize("limit", [5, 300_000])
def test_line_above_the_limit(limit, take):
    write("f", b"a\n" + b"b" * limit + b"\r\n" + b"c" * (limit + 1) + b"\nd\n")
    reader, queue = TextLineReader(max_record_bytes=limit), closed_queue(["f"])
    values = []
    text = rf"^line 3 of f has more than the limit of {limit:,} bytes; max_record_bytes= sets another limit$"
    with pytest.raises(ResourceExhaustedError, match=text):
        read_on(reader, queue, take, values)
    assert values == [b"a", b"b" * limit]
    with pytest.raises(ResourceExhaustedError, match=text):
        reader.read(queue)
    assert read_all(TextLineReader(max_record_bytes=limit, on_error="skip"), ["f"])[-1] == b"f:2 " + b"b" * limit
    assert len(read_all(TextLineReader(max_record_bytes=None), ["f"])) == 4


@pytest.mark.parametrize("take", [1, 3, 100])
@pytest.mark.parametrize("packing", PACK)
def test_record_above_the_limit(packing, take):
    records("f", [b"a", b"b" * 50, b"c" * 51, b"d"], packing)
    reader, queue = TFRecordReader(options=packing, max_record_bytes=50), closed_queue(["f"])
    values = []
    with pytest.raises(
        ResourceExhaustedError, match=r"^the record at 83 of f has 51 bytes, more than the limit"
    ) as caught:
        read_on(reader, queue, take, values)
    assert values == [b"a", b"b" * 50]
    assert caught.value.record_key == b"f:83"
    with pytest.raises(ResourceExhaustedError, match="record at 83"):
        list(tf_record_iterator("f", packing, max_record_bytes=50))
    assert len(list(tf_record_iterator("f", packing, max_record_bytes=None))) == 4


def test_file_above_the_limit():
    write("f", b"x" * 101)
    assert read_all(WholeFileReader(max_record_bytes=101), ["f"]) == [b"f " + b"x" * 101]
    with pytest.raises(ResourceExhaustedError, match=r"^f has more than the limit of 100 bytes"):
        WholeFileReader(max_record_bytes=100).read(closed_queue(["f"]))


def test_lmdb_value_above_the_limit():
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open("f", subdir=False) as environment, environment.begin(write=True) as transaction:
        transaction.put(b"a", b"x")
        transaction.put(b"b", b"x" * 100_000)
    reader, queue = LMDBReader(max_record_bytes=99_999), closed_queue(["f"])
    with pytest.raises(ResourceExhaustedError, match=r"^database f: a value at byte \d+ has 100,000 bytes, more than"):
        drain(lambda: reader.read(queue))


@pytest.mark.parametrize("make", [TextLineReader, TFRecordReader, WholeFileReader, LMDBReader])
def test_wrong_limit(make):
    with pytest.raises(InvalidArgumentError, match="max_record_bytes must be >= 0 not -1"):
        make(max_record_bytes=-1)
    with pytest.raises(TypeError):
        make(max_record_bytes=1.5)


def test_the_limit_in_the_drop_in():
    write("f", b"short\n" + b"x" * 100)
    records("r", [b"x" * 100])
    with tf.Graph().as_default(), tf.Session() as session:
        for reader, name in (
            (tf.TextLineReader(max_record_bytes=50), "f"),
            (tf.WholeFileReader(max_record_bytes=50), "f"),
            (tf.TFRecordReader(max_record_bytes=50), "r"),
        ):
            files = tf.FIFOQueue(1, tf.string, [()])
            session.run(files.enqueue(name))
            value = reader.read(files).value
            if name == "f" and reader.reader_ref.op.type.startswith("TextLine"):
                assert session.run(value) == b"short"
            with pytest.raises(tf.errors.ResourceExhaustedError, match="the limit of 50 bytes"):
                session.run(value)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="f has more than the limit of 50 bytes"):
            session.run(tf.read_file("f", max_record_bytes=50))


@pytest.mark.parametrize("packing", ["GZIP", "ZLIB"])
def test_bomb_is_read_in_pieces(packing):
    write("f", PACK[packing](bytes(100 * MIB)))
    with memory_below(4 * MIB):
        reader, queue = FixedLengthRecordReader(1000, encoding=packing), closed_queue(["f"])
        for _ in range(1000):
            assert len(reader.read_up_to(queue, 100).values) == 100
    records("r", [bytes(100 * MIB)], packing)
    with memory_below(4 * MIB), pytest.raises(ResourceExhaustedError):
        TFRecordReader(options=packing, max_record_bytes=MIB).read(closed_queue(["r"]))


@pytest.mark.parametrize("packing", ["GZIP", "ZLIB"])
def test_what_follows_the_first_stream(packing):
    records("one", [b"a", b"b"], "")
    with open("one", "rb") as file:
        packed = PACK[packing](file.read())
    write("two", packed + packed)
    assert list(pipeline.tfrecord("two", compression=packing)) == [b"a", b"b"] * 2
    write("padded", packed + bytes(1000))
    assert list(pipeline.tfrecord("padded", compression=packing)) == [b"a", b"b"]
    write("junk", packed + b"junk" * 1000)
    found = iter(pipeline.tfrecord("junk", compression=packing))
    assert [next(found), next(found)] == [b"a", b"b"]
    with pytest.raises(DataLossError, match="junk"):
        next(found)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such device")
def test_file_without_an_end():
    with memory_below(6 * MIB):
        with pytest.raises(ResourceExhaustedError, match="line 1 of /dev/zero has more than"):
            TextLineReader(max_record_bytes=MIB).read(closed_queue(["/dev/zero"]))
        with pytest.raises(ResourceExhaustedError, match="/dev/zero has more than"):
            WholeFileReader(max_record_bytes=MIB).read(closed_queue(["/dev/zero"]))
        with pytest.raises(DataLossError, match="corrupted record at 0 of /dev/zero"):
            TFRecordReader().read(closed_queue(["/dev/zero"]))
        with pytest.raises(DataLossError, match="/dev/zero"):
            LMDBReader().read(closed_queue(["/dev/zero"]))
        assert FixedLengthRecordReader(9, 5).read(closed_queue(["/dev/zero"])).value == bytes(9)


def test_file_that_is_larger_than_what_is_in_it():
    """Memory use must not follow the apparent size of a sparse file."""
    with open("hole", "wb") as file:
        file.truncate(1 << 40)
    with memory_below(4 * MIB):
        with pytest.raises(
            ResourceExhaustedError, match=rf"hole has more than the limit of {MAX_RECORD_BYTES:,} bytes"
        ):
            WholeFileReader().read(closed_queue(["hole"]))
        with pytest.raises(ResourceExhaustedError, match="line 1 of hole"):
            TextLineReader(max_record_bytes=MIB).read(closed_queue(["hole"]))


def test_file_that_shrinks_while_it_is_read():
    write("lines", b"line\n" * 200_000)
    records("records", [b"x" * 1000] * 1000)
    for make, name in (
        (TextLineReader, "lines"),
        (TFRecordReader, "records"),
        (lambda: FixedLengthRecordReader(7), "lines"),
    ):
        reader, queue = make(), closed_queue([name])
        reader.read(queue)
        os.truncate(name, 600_003)
        with contextlib.suppress(DataLossError):
            drain(lambda reader=reader, queue=queue: reader.read_up_to(queue, 1000))


def test_database_that_shrinks_while_it_is_read():
    """The lmdb package maps the file into memory, so truncation kills the process."""
    lmdb = pytest.importorskip("lmdb")
    with lmdb.open("f", subdir=False) as environment, environment.begin(write=True) as transaction:
        for i in range(1000):
            transaction.put(b"%d" % i, b"x" * 500)
    reader, queue = LMDBReader(), closed_queue(["f"])
    reader.read(queue)
    os.truncate("f", 3 * 4096)
    with pytest.raises(DataLossError, match=r"truncated database f: its page \d+ is missing"):
        drain(lambda: reader.read_up_to(queue, 1000))


def test_file_that_grows_while_it_is_read():
    write("f", b"abc" * 10)
    reader, queue = FixedLengthRecordReader(3), closed_queue(["f"])
    with open("f", "ab", buffering=0) as file:
        values = []
        for _ in range(300_000):
            try:
                values.append(reader.read(queue).value)
            except OutOfRangeError:
                break
            if len(values) == 5:
                file.write(b"abc" * 200_000)
    assert set(values) == {b"abc"}


ODD = [
    "a b",
    "new\nline",
    "tab\t",
    "colon:1",
    "-",
    "--help",
    "'\"$(x)`",
    "\u00e9\U0001f600",
    "\udcff\udc80",
    "n" * 250,
    "[a]*?",
]


@pytest.mark.parametrize("name", ODD)
def test_odd_names(name):
    write(name, b"x\ny")
    key = os.fsencode(name)
    assert read_all(TextLineReader(), [name]) == [key + b":1 x", key + b":2 y"]
    assert read_all(WholeFileReader(), [name]) == [key + b" x\ny"]
    write(name, b"no record at all")
    with pytest.raises(DataLossError) as caught:
        TFRecordReader().read(closed_queue([name]))
    assert name in str(caught.value)
    os.remove(name)
    for make in (TextLineReader, WholeFileReader, TFRecordReader, LMDBReader):
        with pytest.raises(FileNotFoundError) as missing:
            make().read(closed_queue([name]))
        assert name in str(missing.value)


def test_name_that_is_too_long():
    with pytest.raises(UnknownError, match="name too long"):
        TextLineReader().read(closed_queue(["n" * 300]))


def test_feed_of_names_that_are_no_text():
    write(b"\xff\n.csv", b"1,2\n3,4\n")
    script = (
        "import os, sys; from pipeline.command.cli import main; "
        "sys.exit(main(['feed', os.fsdecode(b'%s'), '--epochs', '2']))"
    )
    done = run_script(script % r"\xff\n.csv", env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("4 examples")
    done = run_script(script % r"\xff\n.txt", env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode != 0
    assert "Traceback" not in done.stderr


def test_pipe_without_an_end_is_bounded():
    os.mkfifo("pipe")
    call = run_in_thread(TextLineReader(max_record_bytes=MIB).read, closed_queue(["pipe"]))
    with open("pipe", "wb", buffering=0) as pipe:
        os.set_blocking(pipe.fileno(), False)  # nothing reads on after the error
        while call.alive():
            pipe.write(b"x" * 65536)
        with pytest.raises(ResourceExhaustedError, match="line 1 of pipe"):
            call.result()


@pytest.mark.parametrize("make", [TextLineReader, TFRecordReader, WholeFileReader, LMDBReader])
def test_socket_is_an_error(make):
    import socket

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        with pytest.raises(UnknownError, match="socket; No such device or address"):
            make().read(closed_queue(["socket"]))


def test_directory_as_a_database():
    os.makedirs("d/data.mdb")
    with pytest.raises(FailedPreconditionError, match="Is a directory"):
        LMDBReader().read(closed_queue(["d"]))


def test_many_empty_members_of_a_compressed_file():
    write("f", gzip.compress(b"") * 3000 + gzip.compress(b"abc"))
    assert read_all(FixedLengthRecordReader(3, encoding="GZIP"), ["f"]) == [b"f:0 abc"]
