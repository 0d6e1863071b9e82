"""Every reader on a file that is missing, empty, corrupt, a directory or unreadable; raising and skipping."""

import errno
import os

import pytest
from helpers import run_in_thread, wait_blocked
from orchestration import closed_queue, drain
from reading import counts, read_all
from tracing import memory_below

from pipeline import FIFOQueue
from pipeline.errors import (
    DataLossError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    PermissionDeniedError,
    UnknownError,
)
from pipeline.files.os_errors import os_error
from pipeline.files.tfrecord_writer import TFRecordWriter
from pipeline.readers.fixed import FixedLengthRecordReader
from pipeline.readers.text import TextLineReader
from pipeline.readers.tfrecord import TFRecordReader
from pipeline.readers.whole import IdentityReader, WholeFileReader

STREAMS = {
    "lines": TextLineReader,
    "fixed": lambda **kwargs: FixedLengthRecordReader(3, **kwargs),
    "tfrecord": TFRecordReader,
    "gzip": lambda **kwargs: TFRecordReader(options="GZIP", **kwargs),
}
ALL = {**STREAMS, "whole": WholeFileReader}


def make_good(kind):
    """The file `good`, with the one record `abc`."""
    if kind in ("tfrecord", "gzip"):
        with TFRecordWriter("good", "GZIP" if kind == "gzip" else "") as writer:
            writer.write(b"abc")
    else:
        with open("good", "wb") as file:
            file.write(b"abc")


@pytest.fixture(autouse=True)
def _directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dir").mkdir()
    (tmp_path / "empty").write_bytes(b"")


@pytest.mark.parametrize("kind", STREAMS)
def test_missing_file_is_one_error(kind):
    make_good(kind)
    reader, queue = STREAMS[kind](), closed_queue(["missing", "good/x", "good"])
    with pytest.raises(NotFoundError, match=r"^missing; No such file or directory$") as caught:
        reader.read(queue)
    assert caught.value.record_key == b"missing"
    with pytest.raises(FailedPreconditionError, match=r"^good/x; Not a directory$"):
        reader.read(queue)
    assert counts(reader) == (0, 0)
    assert reader.read(queue).value == b"abc"


@pytest.mark.parametrize("kind", ALL)
def test_directory_is_an_error_until_reset(kind):
    make_good(kind)
    reader, queue = ALL[kind](), closed_queue(["dir", "good"])
    for _ in range(3):
        with pytest.raises(FailedPreconditionError, match=r"^dir; Is a directory$"):
            reader.read(queue)
    assert counts(reader) == (0, 0)
    reader.reset()
    assert reader.read(queue).value == b"abc"


@pytest.mark.parametrize("kind", STREAMS)
def test_empty_file_is_no_error(kind):
    reader = STREAMS[kind]()
    assert read_all(reader, ["empty", "empty"]) == []
    assert counts(reader) == (0, 2)


@pytest.mark.parametrize("kind", ALL)
def test_name_that_cannot_be_one(kind):
    with pytest.raises(InvalidArgumentError, match="embedded null"):
        ALL[kind]().read(closed_queue(["a\0b"]))


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(kind):
    make_good(kind)
    os.chmod("good", 0)
    with pytest.raises(PermissionDeniedError, match="good; Permission denied"):
        ALL[kind]().read(closed_queue(["good"]))


@pytest.mark.parametrize("kind", ALL)
def test_skipping_goes_on_with_the_next_work(kind):
    make_good(kind)
    reader = ALL[kind](on_error="skip")
    names = ["missing", "dir", "good", "a\0b", "missing", "good", "dir"]
    assert [record.rpartition(b" ")[2] for record in read_all(reader, names)] == [b"abc", b"abc"]
    assert counts(reader) == (2, 2)
    assert reader.num_errors == 5
    expected = [NotFoundError, FailedPreconditionError, InvalidArgumentError, NotFoundError, FailedPreconditionError]
    assert [type(error) for error in reader.errors] == expected


def test_identity_has_nothing_to_skip():
    reader = IdentityReader(on_error="skip", max_errors=0)
    assert read_all(reader, ["missing"]) == [b"missing missing"]
    assert (reader.num_errors, reader.errors) == (0, [])


@pytest.mark.parametrize("kind", ALL)
def test_error_after_max_errors_is_raised(kind):
    make_good(kind)
    reader, queue = (
        ALL[kind](on_error="skip", max_errors=2),
        closed_queue(["missing", "good", "missing", "dir", "good"]),
    )
    assert reader.read(queue).value == b"abc"
    for _ in range(2):
        with pytest.raises(FailedPreconditionError, match="dir; Is a directory"):
            reader.read(queue)
    assert reader.num_errors == 2
    reader.reset()
    assert reader.num_errors == 2
    assert reader.read(queue).value == b"abc"


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO])
def test_what_no_file_is_to_blame_for_is_not_skipped(kind, code, monkeypatch):
    make_good(kind)
    reader, queue, really = ALL[kind](on_error="skip"), closed_queue(["good", "good"]), os.open

    def failing(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "open", failing)
    with pytest.raises(UnknownError, match=f"good; {os.strerror(code)}"):
        reader.read(queue)
    monkeypatch.setattr(os, "open", really)
    assert reader.num_errors == 0
    reader.reset()
    assert reader.read(queue).value == b"abc"


def test_only_the_first_errors_are_kept():
    reader = TextLineReader(on_error="skip")
    assert read_all(reader, [f"missing{i}" for i in range(250)]) == []
    assert (reader.num_errors, len(reader.errors)) == (250, 100)
    assert str(reader.errors[99]).startswith("missing99; ")


def test_skipping_a_corrupt_file_keeps_the_records_before_the_error():
    make_good("tfrecord")
    with TFRecordWriter("bad") as writer:
        for i in range(10):
            writer.write(b"%d" % i)
    with open("bad", "r+b") as file:
        file.seek(17 * 7 + 12)
        file.write(b"x")
    for take in (1, 3, 7, 100):
        reader, queue = TFRecordReader(on_error="skip"), closed_queue(["bad", "good", "bad"])
        blocks = drain(lambda reader=reader, queue=queue, take=take: reader.read_up_to(queue, take))
        assert [v for b in blocks for v in b.values] == [*b"0 1 2 3 4 5 6".split(), b"abc", *b"0 1 2 3 4 5 6".split()]
        assert counts(reader) == (15, 1)
        assert [type(error) for error in reader.errors] == [DataLossError] * 2
        assert reader.errors[0].record_key == b"bad:119"


def test_skipping_a_short_header_does_not_end_the_input():
    make_good("fixed")
    reader = FixedLengthRecordReader(2, 1, on_error="skip")
    assert read_all(reader, ["empty", "good"]) == [b"good:0 bc"]
    assert isinstance(reader.errors[0], OutOfRangeError)


def test_errors_of_the_queue_are_not_skipped():
    reader, queue = TextLineReader(on_error="skip"), FIFOQueue(9, "int32")
    queue.enqueue(3)
    with pytest.raises(InvalidArgumentError, match="single string component"):
        reader.read(queue)
    queue.close()
    with pytest.raises(OutOfRangeError):
        reader.read(queue)
    assert reader.num_errors == 0


def test_skipped_work_leaves_a_state_that_can_be_restored():
    reader = WholeFileReader(on_error="skip")
    make_good("whole")
    read_all(reader, ["good", "missing"])
    other = WholeFileReader()
    other.restore_state(reader.serialize_state())
    assert counts(other) == (1, 1)


@pytest.mark.parametrize(
    "arguments", [{"on_error": "ignore"}, {"on_error": "skip", "max_errors": -1}, {"max_errors": 3}]
)
@pytest.mark.parametrize("kind", ALL)
def test_wrong_arguments(kind, arguments):
    with pytest.raises(ValueError, match=r"on_error|max_errors"):
        ALL[kind](**arguments)


def test_timeout_waits_for_the_queue_and_loses_nothing():
    make_good("lines")
    reader, queue = TextLineReader(), FIFOQueue(9, "string", [()])
    for call in (reader.read, lambda queue, timeout: reader.read_up_to(queue, 5, timeout=timeout)):
        with pytest.raises(DeadlineExceededError):
            call(queue, timeout=0.001)
    queue.enqueue("good")
    assert reader.read(queue, timeout=120).value == b"abc"


def test_timeout_waits_for_another_read():
    make_good("lines")
    reader, queue = TextLineReader(name="mine"), FIFOQueue(9, "string", [()])
    call = run_in_thread(reader.read, queue)
    wait_blocked(queue, dequeues=1)
    with pytest.raises(DeadlineExceededError, match="waiting for another call of TextLineReader 'mine'"):
        reader.read(queue, timeout=0.001)
    queue.enqueue("good")
    assert call.result().value == b"abc"


def test_long_line_is_held_once_or_twice_only():
    with open("long", "wb") as file:
        file.write(b"x" * 20_000_000)
    with memory_below(65_000_000):
        assert len(TextLineReader().read(closed_queue(["long"])).value) == 20_000_000


def test_pipe_gives_its_records_as_they_come():
    os.mkfifo("pipe")
    reader, queue = FixedLengthRecordReader(3), closed_queue(["pipe"])
    call = run_in_thread(reader.read, queue)
    with open("pipe", "wb", buffering=0) as pipe:
        pipe.write(b"abcd")
        assert call.result().value == b"abc"
        pipe.write(b"ef")
        assert reader.read(queue).value == b"def"
    with pytest.raises(OutOfRangeError):
        reader.read(queue)


def test_errors_of_the_system_that_are_not_known_keep_their_text():
    error = os_error(b"f", OSError(errno.EIO, "Input/output error"))
    assert (type(error).__name__, str(error)) == ("UnknownError", "f; Input/output error")


def test_a_name_is_no_queue_of_names():
    with pytest.raises(TypeError, match=r"from a queue, such as string_input_producer\(\['a.csv'\]\), not 'b.csv'"):
        TextLineReader().read("b.csv")


def test_errors_of_numbers_name_the_argument():
    with pytest.raises(TypeError, match=r"num_records must be an integer, got float 2.0"):
        TextLineReader().read_up_to(FIFOQueue(1, "string"), 2.0)
    with pytest.raises(TypeError, match=r"skip_header_lines must be an integer, got str '1'"):
        TextLineReader(skip_header_lines="1")
