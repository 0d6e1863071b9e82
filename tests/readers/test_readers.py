"""TextLineReader, and behaviour common to all readers."""

import os
import sys

import numpy as np
import pytest
from helpers import run_in_thread, run_script, wait_blocked
from orchestration import closed_queue, drain

import pipeline
from pipeline import (
    DeadlineExceededError,
    FailedPreconditionError,
    FIFOQueue,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    TextLineReader,
    UnimplementedError,
)
from pipeline.readers.records import RecordKeys

FILES = {
    "a": b"l1\nl2\r\n\nl4",
    "b": b"",
    "c": b"\n\n",
    "e": b"x\ry\r\r\nz\r",
    "f": b"a\n\r",
    "g": b"nul\0\xff\xfe\n",
    "h": b"one\ntwo\n",
}


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)


def read_all(names, **arguments):
    """Return all records in the files, as text `key value`."""
    reader, queue = TextLineReader(**arguments), closed_queue(names)
    return [b" ".join(record) for record in drain(lambda: reader.read(queue))]


def test_lines_of_several_files():
    expected = [b"a:1 l1", b"a:2 l2", b"a:3 ", b"a:4 l4", b"c:1 ", b"c:2 ", b"e:1 x\ry\r", b"e:2 z"]
    assert read_all("abce") == expected


@pytest.mark.parametrize("timeout", [None, 60])
@pytest.mark.parametrize("call", ["read", "reset"])
def test_a_call_within_a_read(call, timeout):
    """As by a signal handler; here the queue stands in for it. The read goes on."""
    reader, caught = TextLineReader(), []

    class Calling:
        def dequeue(self, timeout=None):
            assert reader.num_records_produced() == 0
            with pytest.raises(FailedPreconditionError, match="text_line_reader' was called within a call of it"):
                reader.reset() if call == "reset" else reader.read(self)
            caught.append(call)
            return b"a"

    assert reader.read(Calling(), timeout=timeout) == (b"a:1", b"l1")
    assert caught == [call]
    reader.reset()
    assert reader.num_records_produced() == 0


def test_header_lines_are_left_out_and_counted():
    assert read_all("abce", skip_header_lines=1) == [b"a:2 l2", b"a:3 ", b"a:4 l4", b"c:2 ", b"e:2 z"]
    assert read_all("abce", skip_header_lines=3) == [b"a:4 l4"]
    assert read_all("abce", skip_header_lines=9) == []


@pytest.mark.parametrize(
    ("name", "values"),
    [("f", [b"a"]), ("g", [b"nul\0\xff\xfe"]), ("h", [b"one", b"two"])],
)
def test_ends_of_lines(name, values):
    reader, queue = TextLineReader(), closed_queue([name])
    assert [record.value for record in drain(lambda: reader.read(queue))] == values


def test_end_of_input_is_the_error_of_the_queue():
    reader, queue = TextLineReader(), closed_queue([], name="files")
    with pytest.raises(OutOfRangeError, match=r"^FIFOQueue 'files' is closed and has insufficient elements"):
        reader.read(queue)


def test_read_up_to_stays_within_a_file():
    reader, queue = TextLineReader(), closed_queue("abc")
    blocks = drain(lambda: reader.read_up_to(queue, 3))
    assert [list(block.keys) for block in blocks] == [[b"a:1", b"a:2", b"a:3"], [b"a:4"], [b"c:1", b"c:2"]]
    assert [block.values for block in blocks] == [[b"l1", b"l2", b""], [b"l4"], [b"", b""]]


def test_read_up_to_does_not_wait_once_it_has_a_record():
    reader, queue = TextLineReader(), FIFOQueue(9, "string", [()])
    queue.enqueue("a")
    assert len(reader.read_up_to(queue, 100).values) == 4


def test_read_up_to_nothing_and_less():
    reader, queue = TextLineReader(), FIFOQueue(9, "string", [()])
    keys, values = reader.read_up_to(queue, 0)  # and does not wait
    assert (list(keys), list(values)) == ([], [])
    with pytest.raises(InvalidArgumentError, match="num_records must be >= 0 not -1"):
        reader.read_up_to(queue, -1)


def test_counters_see_the_end_of_a_file_with_the_read_after_it():
    reader, queue = TextLineReader(), closed_queue("aa")
    counts = []
    for _ in range(6):
        reader.read(queue)
        counts.append((reader.num_records_produced(), reader.num_work_units_completed()))
    assert counts == [(1, 0), (2, 0), (3, 0), (4, 0), (5, 1), (6, 1)]


def test_counters_and_blocks():
    reader, queue = TextLineReader(), closed_queue("aa")
    counts = []
    for n in (4, 3, 3):  # all bytes are read, but the end is not reached yet
        reader.read_up_to(queue, n)
        counts.append((reader.num_records_produced(), reader.num_work_units_completed()))
    assert counts == [(4, 0), (7, 1), (8, 2)]


def test_reset_gives_up_the_file_and_the_counts():
    reader, queue = TextLineReader(), closed_queue("ah")
    reader.read(queue)
    reader.reset()
    assert (reader.num_records_produced(), reader.num_work_units_completed()) == (0, 0)
    assert reader.read(queue) == (b"h:1", b"one")
    TextLineReader().reset()


def test_missing_file_is_one_error():
    reader, queue = TextLineReader(), closed_queue(["missing", "h"])
    with pytest.raises(NotFoundError, match=r"^missing; No such file or directory$"):
        reader.read(queue)
    assert (reader.num_records_produced(), reader.num_work_units_completed()) == (0, 0)
    assert reader.read(queue) == (b"h:1", b"one")


def test_directory_is_an_error_until_reset(tmp_path):
    (tmp_path / "dir").mkdir()
    reader, queue = TextLineReader(), closed_queue(["dir", "h"])
    for _ in range(3):
        with pytest.raises(FailedPreconditionError, match=r"^dir; Is a directory$"):
            reader.read(queue)
    reader.reset()
    assert reader.read(queue) == (b"h:1", b"one")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path):
    (tmp_path / "h").chmod(0)
    with pytest.raises(pipeline.PermissionDeniedError, match="h; Permission denied"):
        TextLineReader().read(closed_queue(["h"]))


def test_negative_header():
    with pytest.raises(InvalidArgumentError, match="skip_header_lines must be >= 0 not -1"):
        TextLineReader(skip_header_lines=-1)


def test_state_cannot_be_saved():
    reader = TextLineReader()
    assert not reader.supports_serialize
    with pytest.raises(UnimplementedError, match="Reader SerializeState"):
        reader.serialize_state()
    with pytest.raises(UnimplementedError, match="Reader RestoreState"):
        reader.restore_state(b"")


class TestQueue:
    @pytest.mark.parametrize(
        ("dtypes", "element", "text"),
        [
            (["string", "string"], ("h", "h"), "Expected single component queue"),
            (["int32"], 3, "Expected queue with single string component"),
            (["string"], [["h", "h"]], "Expected to dequeue a one-element string tensor"),
        ],
    )
    def test_wrong_elements_are_used_up(self, dtypes, element, text):
        queue = FIFOQueue(9, dtypes)
        queue.enqueue(element)
        with pytest.raises(InvalidArgumentError, match=text):
            TextLineReader().read(queue)
        assert queue.size() == 0

    @pytest.mark.parametrize(
        ("queue", "element"),
        [
            (FIFOQueue(9, "string"), [["h"]]),
            (FIFOQueue(9, "string", names=["file"]), {"file": "h"}),
            (FIFOQueue(9, object), ["h"]),
            (pipeline.RandomShuffleQueue(9, 0, "string"), "h"),
        ],
        ids=["vector", "names", "object", "shuffle"],
    )
    def test_any_queue_of_one_string_will_do(self, queue, element):
        queue.enqueue(element)
        assert TextLineReader().read(queue) == (b"h:1", b"one")

    def test_timeout_loses_nothing(self):
        class Impatient(FIFOQueue):
            def dequeue(self, name=None, *, timeout=None):
                return super().dequeue(timeout=0.001)

        reader, queue = TextLineReader(), Impatient(9, "string", [()])
        with pytest.raises(DeadlineExceededError):
            reader.read(queue)
        queue.enqueue("h")
        assert reader.read(queue) == (b"h:1", b"one")


def test_counters_wait_for_a_blocked_read():
    reader, queue = TextLineReader(), FIFOQueue(9, "string", [()])
    read = run_in_thread(reader.read, queue)
    wait_blocked(queue, dequeues=1)
    count = run_in_thread(reader.num_records_produced)
    assert count.alive()
    queue.enqueue("h")
    assert read.result() == (b"h:1", b"one")
    assert count.result() == 1


def test_threads_share_the_records():
    names = [f"{i}.txt" for i in range(8)]
    for name in names:
        with open(name, "wb") as file:
            file.writelines(b"%d\n" % i for i in range(500))
    reader, queue = TextLineReader(), closed_queue(names)
    calls = [run_in_thread(drain, lambda: reader.read_up_to(queue, 7)) for _ in range(4)]
    keys = [key for call in calls for block in call.result() for key in block.keys]
    assert sorted(keys) == sorted(f"{name}:{i}".encode() for name in names for i in range(1, 501))
    assert (reader.num_records_produced(), reader.num_work_units_completed()) == (4000, 8)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which files are open")
def test_open_file_is_closed_with_its_reader(tmp_path):
    def is_open():
        return any(os.path.realpath(f"/proc/self/fd/{n}") == str(tmp_path / "h") for n in os.listdir("/proc/self/fd"))

    reader = TextLineReader()
    reader.read(closed_queue("h"))
    assert is_open()
    del reader
    assert not is_open()


@pytest.mark.parametrize("kept", ["opening._Local(b'h')", "lmdb.LMDBReader()"])
def test_a_file_that_outlives_the_modules_is_closed_silently(kept):
    """At exit Python clears the modules still referenced, in reverse import order."""
    done = run_script(f"""
import os, sys, types
first = sys.modules["first"] = types.ModuleType("first")
from pipeline.files import opening
from pipeline.readers import lmdb

sys.alive = first, opening, lmdb
first.kept = {kept}
first.kept._file = os.open("h", os.O_RDONLY)
""")
    assert (done.returncode, done.stderr) == (0, "")


class TestKeys:
    def test_are_a_sequence_of_bytes(self):
        keys = RecordKeys(b"f", range(3, 7))
        assert len(keys) == 4
        assert list(keys) == [b"f:3", b"f:4", b"f:5", b"f:6"]
        assert (keys[0], keys[-1], keys[1:3]) == (b"f:3", b"f:6", [b"f:4", b"f:5"])
        assert keys != [b"f:3"]
        assert b"f:5" in keys
        assert repr(keys[:1]) == "RecordKeys([b'f:3'])"
        with pytest.raises(IndexError):
            keys[4]

    def test_go_into_arrays_and_queues(self):
        keys = RecordKeys(b"f", range(2))
        assert np.asarray(keys).tolist() == [b"f:0", b"f:1"]
        queue = FIFOQueue(9, ["string", "string"], [(), ()])
        queue.enqueue_many((keys, [b"x", b"y"]))
        assert queue.dequeue() == [b"f:0", b"x"]


@pytest.mark.parametrize(
    ("make", "content"),
    [
        (pipeline.TextLineReader, b"one\ntwo\n"),
        (lambda: pipeline.FixedLengthRecordReader(4), b"abcdefgh"),
        (pipeline.WholeFileReader, b"abc"),
    ],
    ids=["lines", "fixed", "whole"],
)
def test_bytes_read(tmp_path, make, content):
    """The count covers all files, including closed ones, and is zero before the first."""
    paths = [tmp_path / name for name in "abc"]
    for path in paths:
        path.write_bytes(content)
    reader, queue = make(), pipeline.FIFOQueue(3, ["string"])
    assert reader.bytes_read is None
    queue.enqueue_many(([str(path) for path in paths],))
    queue.close()
    drain(lambda: reader.read(queue))
    assert reader.bytes_read == 3 * len(content)
