"""Readers that a recorded function reads from: where each read stands, and that it goes on from there.

The private names are what a resumable run calls; a user sees their results only in its files.
"""

import itertools
import os

import pytest
from helpers import raises
from orchestration import closed_queue, drain, fresh_collection
from reading import PACK
from turns import Book, turn

import pipeline
from pipeline import FailedPreconditionError, FIFOQueue, TextLineReader
from pipeline.files.identity import Opened, difference, file_identity, merged, of_one, rolled

LINES = [b"l1\nl2\r\n\nl4", b"", b"\n\n", b"x\ry\r\r\nz\r", b"a\n\r", b"one\r\ntwo\r\n", b"last"]
BYTES = [b"", b"HHabcdefFabcde", b"HH", b"HHabFcdFefF", b"HHxxFyy"]


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with fresh_collection():
        yield


def write(contents, packing=""):
    """Files named 0, 1, ..."""
    for number, content in enumerate(contents):
        with open(str(number), "wb") as file:
            file.write(PACK[packing](content))
    return [str(number) for number in range(len(contents))]


def write_records(packing=""):
    for number, records in enumerate([[b"one", b"", b"three"], [], [b"x" * 300] * 20, [b"last"]]):
        with pipeline.TFRecordWriter(str(number), packing) as writer:
            for record in records:
                writer.write(record)
    return ["0", "1", "2", "3"]


def write_databases():
    lmdb = pytest.importorskip("lmdb")
    for number, count in enumerate([3, 0, 5]):
        with lmdb.open(str(number)) as database, database.begin(write=True) as transaction:
            for i in range(count):
                transaction.put(b"k%d" % i, b"v%d" % i)
    return ["0", "1", "2"]


KINDS = {
    "lines": (lambda: write(LINES), TextLineReader),
    "lines in short pieces": (lambda: write(LINES), TextLineReader),
    "lines after a header": (lambda: write([*LINES, b"1\n2\n3\n4\r\n5\n6\n7", b"8\n9\n10"]), lambda: TextLineReader(2)),
    "lines of a limit": (lambda: write([b"short\n", b"a\nb"]), lambda: TextLineReader(max_record_bytes=5)),
    "records": (write_records, pipeline.TFRecordReader),
    "records, gzip": (lambda: write_records("GZIP"), lambda: pipeline.TFRecordReader(options="GZIP")),
    "fixed": (lambda: write(BYTES[1:]), lambda: pipeline.FixedLengthRecordReader(2, 2)),
    "fixed, overlapping": (lambda: write(BYTES[1:]), lambda: pipeline.FixedLengthRecordReader(3, 2, 1, 1)),
    "fixed, gaps": (lambda: write(BYTES[1:]), lambda: pipeline.FixedLengthRecordReader(1, 1, 0, 3)),
    "fixed, zlib": (lambda: write(BYTES[1:], "ZLIB"), lambda: pipeline.FixedLengthRecordReader(2, 2, encoding="ZLIB")),
    "databases": (write_databases, pipeline.LMDBReader),
    "whole": (lambda: write(LINES), pipeline.WholeFileReader),
    "identity": (lambda: ["a", "b"], pipeline.IdentityReader),
}


@pytest.fixture(params=KINDS)
def kind(request, monkeypatch):
    if "short pieces" in request.param:
        monkeypatch.setattr("pipeline.files.read_buffer.ReadBuffer.CHUNK", 3)
    make_files, make_reader = KINDS[request.param]
    names = make_files()
    return lambda: (make_reader(), pipeline.string_input_producer(names, num_epochs=2, seed=5, name="files"))


def pulls(reader, files, how):
    """A function that pulls: single records, blocks, or now this and now that."""
    if how == "single":
        return lambda: [tuple(reader.read(files))]
    if how == "blocks":
        return lambda: list(zip(*reader.read_up_to(files, 3), strict=True))
    sizes = itertools.cycle([1, 4, 2])
    return lambda: list(zip(*reader._read_ahead(files, next(sizes)), strict=True))


def places(things):
    return {thing.name: thing._position() for thing in things}


@pytest.mark.parametrize("how", ["single", "blocks", "mixed"])
def test_every_position_can_be_gone_to(kind, how):
    reader, files = kind()
    take, before = pulls(reader, files, how), []

    def step():
        before.append(places([reader, files]))
        return take()

    with turn():
        seen = drain(step)
    assert (len(seen) > 2, len(before)) == (True, len(seen) + 1)
    for i, place in enumerate(before):
        reader, files = kind()
        with turn(Book(place)):
            rest = drain(lambda reader=reader, files=files: tuple(reader.read(files)))
        assert rest == list(itertools.chain(*seen[i:])), place


def test_what_turns_read_is_what_free_order_reads(kind):
    (reader, files), (other, _) = kind(), kind()
    work = [files._element(number) for number in range(files._numbered.total)]
    with turn():
        got = drain(lambda: tuple(reader.read(files)))
    queue = closed_queue(work)
    assert got == drain(lambda: tuple(other.read(queue)))
    assert reader.num_records_produced() == other.num_records_produced() == len(got)
    assert reader.num_work_units_completed() == other.num_work_units_completed()


def test_offsets_are_those_in_the_file():
    write([b"h\r\n\none\r\n" + b"two\r" + b"\n" * 3 + b"three"])
    reader, files = TextLineReader(1), pipeline.string_input_producer(["0"], num_epochs=1)
    seen = []
    with turn():
        drain(lambda: (seen.append(reader._position()), reader.read(files)))
    assert seen == [[-1, 0, 0], [0, 4, 3], [0, 9, 4], [0, 14, 5], [0, 15, 6], [0, 16, 7], [0, 21, 8]]


def test_a_large_file_of_lines_in_many_pieces():
    lines = [b"x" * (i * 37 % 300) + (b"\r" if i % 3 else b"") for i in range(20_000)]
    write([b"\n".join(lines)])
    offsets = [0, *itertools.accumulate(len(line) + 1 for line in lines)]

    def make():
        return TextLineReader(), pipeline.string_input_producer(["0"], num_epochs=1, name="files")

    reader, files = make()
    with turn():
        for number in range(0, 20_000, 80):
            expected = [-1, 0, 0] if number == 0 else [0, offsets[number], number + 1]
            assert reader._position() == expected
            assert len(reader.read_up_to(files, 80).values) == 80
    assert len(reader._starts._pieces) <= 2
    for number in (1, 777, 19_999):
        reader, files = make()
        with turn(Book({"text_line_reader": [0, offsets[number], number + 1], "files": [1]})):
            assert tuple(reader.read(files)) == (b"0:%d" % (number + 1), lines[number].removesuffix(b"\r"))


def test_a_line_that_is_too_long_is_met_again():
    write([b"a\nb\ntoo long\nc\n"])

    def make():
        reader = TextLineReader(max_record_bytes=4)
        return reader, pipeline.string_input_producer(["0"], num_epochs=1, name="files")

    reader, files = make()
    with turn():
        assert reader.read_up_to(files, 2).values == [b"a", b"b"]
        place = places([reader, files])
        with raises(pipeline.errors.ResourceExhaustedError, "line 3 of 0 has") as error:
            reader.read(files)
        assert places([reader, files]) == place == {"text_line_reader": [0, 4, 3], "files": [1]}
    reader, files = make()
    with turn(Book(place)), raises(pipeline.errors.ResourceExhaustedError, str(error.value)):
        reader.read(files)


def test_files_that_cannot_be_opened_are_left_out_in_every_order():
    write([b"a\n", b"b\n"])

    def make():
        files = pipeline.string_input_producer(["0", "none", "1"], num_epochs=1, shuffle=False, name="files")
        return TextLineReader(on_error="skip"), files

    reader, files = make()
    with turn():
        assert reader.read(files).value == b"a"
        assert places([reader, files]) == {"text_line_reader": [0, 2, 2], "files": [1]}
        assert reader.read(files).value == b"b"
        assert (reader._position(), reader.num_errors) == ([2, 2, 2], 1)
    reader, files = make()
    with turn(Book({"text_line_reader": [0, 2, 2], "files": [1]})):
        assert reader.read(files).value == b"b"


def test_a_read_is_one_pull_and_the_file_name_part_of_it():
    write([b"a\nb\n"])
    book, reader, files = Book(), TextLineReader(), pipeline.string_input_producer(["0"], name="files")
    with turn(book) as mine:
        reader.read(files)
        assert mine.pulls == 1
        reader._read_ahead(files, 7)
        assert mine.pulls == 2
    assert book.adopted == [reader, files]
    assert files.stats().enqueued == 0


def test_nobody_else_may_read():
    write([b"a\nb\nc\n"])
    reader, files = TextLineReader(), pipeline.string_input_producer(["0"], name="files")
    with turn():
        reader.read(files)
    for call in (reader.read, lambda queue: reader.read_up_to(queue, 2), lambda queue: reader.read(queue, timeout=9)):
        with raises(FailedPreconditionError, "'text_line_reader' belongs to an iterator whose order is fixed"):
            call(files)
    with turn(), raises(FailedPreconditionError, "'text_line_reader' belongs to an iterator whose order is fixed"):
        reader.read(files)
    with turn(), raises(FailedPreconditionError, "'files' belongs to an iterator whose order is fixed"):
        TextLineReader().read(files)
    assert reader._position() == [0, 2, 2]


def test_why_there_is_no_state():
    write([b"a\nb\n", b"c\n"])
    one, two = (pipeline.string_input_producer(["0", "1"], name=name) for name in ("one", "two"))
    reader = TextLineReader()
    assert reader._no_state() == "it has not been read from"
    with turn():
        reader.read(one)
        assert reader._no_state() is None
        reader.read(two)
    assert reader._no_state() == "it reads from two queues, 'one' and 'two'"
    reader, queue = TextLineReader(), closed_queue(["0"], name="mine")
    with turn():
        assert reader.read(queue).value == b"a"
    assert reader._no_state() == "'mine' is a queue that somebody fills; read from a string_input_producer"
    with raises(
        FailedPreconditionError, "TextLineReader 'text_line_reader' cannot go to a position: 'mine' is a queue"
    ):
        reader._go_to([0, 0, 0])
    reader, queue = TextLineReader(), FIFOQueue(1, "string", [()])
    queue.enqueue("0")
    reader.read(queue)
    with turn():
        reader.read(pipeline.string_input_producer(["0"]))
    assert reader._no_state().startswith("it was in the middle of a file when the loop began")


def test_facts():
    assert TextLineReader(3, name="r", on_error="skip")._facts() == {
        "name": "r", "kind": "TextLineReader", "options": {"skip_header_lines": 3, "on_error": "skip"},
    }  # fmt: skip
    assert pipeline.FixedLengthRecordReader(4, 1, 2, 3, encoding="GZIP")._facts()["options"] == {
        "record_bytes": 4, "header_bytes": 1, "footer_bytes": 2, "hop_bytes": 3, "compression": "GZIP",
        "on_error": "raise",
    }  # fmt: skip
    assert pipeline.TFRecordReader(options="ZLIB")._facts()["options"]["compression"] == "ZLIB"
    assert pipeline.WholeFileReader()._facts()["options"] == {"on_error": "raise"}


# Files that change.


def test_files_that_were_read_are_known_by_name():
    names = write([b"a\n" * 10, b"b\n"])
    reader, files = TextLineReader(), pipeline.string_input_producer(names, num_epochs=1, shuffle=False)
    with turn():
        reader.read(files)
        assert reader._files() == {"": [0, 1, rolled("", 0, 20)], "0": file_identity("0")}
        drain(lambda: reader.read(files))
    both = [0, 2, rolled(rolled("", 0, 20), 1, 2)]
    assert reader._files() == {"": both, **{name: file_identity(name) for name in names}}
    size, time, crc = reader._files()["0"]
    assert (size, time, len(crc)) == (20, os.stat("0").st_mtime_ns, 8)
    other = TextLineReader()
    other._remember_files(reader._files())
    assert other._files() == reader._files()
    reader, files = pipeline.WholeFileReader(), pipeline.string_input_producer(names, num_epochs=1, shuffle=False)
    with turn():
        drain(lambda: reader.read(files))
    assert reader._files() == {"": both, **{name: file_identity(name, ends=False) for name in names}}
    free, queue = TextLineReader(), closed_queue(names)
    drain(lambda: free.read(queue))
    assert free._files() == {}


def test_differences_of_files():
    write([b"x" * 200_000])
    saved = file_identity("0")
    assert difference("0", saved, saved) is None
    os.utime("0", ns=(1, 1))
    assert difference("0", saved, file_identity("0")) is None
    changed = "files: '0' was changed after the state was saved, or copied without its time; the size is the same"
    assert difference("0", [*saved[:2], None], file_identity("0")) == changed
    assert difference("0", saved, file_identity("0", ends=False)) == changed
    assert difference("0", saved, file_identity("0", ends=False), allow_mtime=True) is None
    for content in (b"y" + b"x" * 199_999, b"x" * 199_999 + b"y"):
        write([content])
        text = f"files: '0' has other contents than when the state was saved (checksum {saved[2]})"
        assert difference("0", saved, file_identity("0"), allow_mtime=True) == text
    write([b"x" * 48_209])
    text = "files: '0' had 200,000 bytes when the state was saved and has 48,209 now"
    assert difference("0", saved, file_identity("0")) == text
    os.remove("0")
    assert file_identity("0") is None
    assert difference("0", saved, None).endswith("had 200,000 bytes when the state was saved and is not there now")


def sizes_of(sizes):
    """What gives the names of files from a number on; the files are made, of such sizes."""
    for number, size in enumerate(sizes):
        with open(str(number), "wb") as file:
            file.truncate(size)
    return lambda first, count: [str(number) for number in range(first, first + count)]


def opened_all(sizes, numbers=None):
    opened = Opened()
    for number in range(len(sizes)) if numbers is None else numbers:
        opened.note(b"%d" % number, [sizes[number], 0, None], number)
    return opened


def test_sizes_of_all_files_of_the_first_epoch_are_in_a_digest(monkeypatch):
    monkeypatch.setattr("pipeline.files.identity.KEPT", 4)
    sizes = [5, 0, 7, 7, 1, 2, 3]
    names, opened = sizes_of(sizes), opened_all(sizes)
    listed = opened.listed()
    digest = ""
    for number, size in enumerate(sizes):
        digest = rolled(digest, number, size)
    assert listed[""] == [0, 7, digest]
    assert list(listed)[1:] == ["3", "4", "5", "6"]
    again = Opened()
    assert again.remember(listed, names) is None
    assert again.listed() == listed
    for number in (3, 0):  # read again after a resume, and in the second epoch
        again.note(b"%d" % number, [sizes[number], 0, None], number if number else None)
    again.note(b"none", None, None)
    assert again.listed()[""] == listed[""]
    assert list(again.listed())[1:] == ["4", "5", "6", "0"]
    assert Opened().remember(listed, None) is None  # nobody knows the names


@pytest.mark.parametrize(
    "change",
    [lambda: os.truncate("0", 4), lambda: os.remove("0"), lambda: os.truncate("1", 1)],
    ids=["shorter", "gone", "longer"],
)
def test_a_file_of_long_ago_that_has_another_size_is_found(monkeypatch, change):
    monkeypatch.setattr("pipeline.files.identity.KEPT", 4)
    sizes = [5, 0, 7, 7, 1, 2, 3]
    names, listed = sizes_of(sizes), opened_all(sizes).listed()
    change()
    text = (
        "files: of the 7 that were read when the state was saved, one of those before the last 4 has another size now, "
        "or is not there"
    )
    assert Opened().remember(listed, names) == text


def test_files_that_were_never_opened_are_in_no_digest(monkeypatch):
    monkeypatch.setattr("pipeline.files.identity.KEPT", 2)
    sizes = [5, 0, 7, 7, 1, 2, 3, 9]
    names, opened = sizes_of(sizes), opened_all(sizes, [2, 3, 6, 7])
    opened.note(b"/dev/zero", None, 8)
    assert opened.listed()[""][:2] + opened.listed()[""][3:] == [2, 9, 4, 5]
    os.remove("4")
    assert Opened().remember(opened.listed(), lambda *of: [*names(*of)[:-1], "/dev/zero"]) is None
    os.remove("3")
    assert Opened().remember(opened.listed(), lambda *of: [*names(*of)[:-1], "/dev/zero"]) is not None


def test_the_digests_of_several_readers_are_kept_apart():
    one, other = opened_all([1, 2]).listed(), opened_all([3]).listed()
    files = merged([one, {}, other])
    assert files[""] == [[0, *one[""]], [2, *other[""]]]
    assert set(files) == {"", "0", "1"}
    assert of_one(files, 0)[""] == one[""]
    assert of_one(files, 2)[""] == other[""]
    assert set(of_one(files, 1)) == set(of_one(files, 0, renumbered=True)) == {"0", "1"}
    assert merged([{}, {"a": [1, 2, None]}]) == {"a": [1, 2, None]}


def test_files_are_listed_while_another_thread_opens_one():
    """The other thread comes to its turn in the middle of the list."""

    class Identity(list):
        def __iter__(self):
            opened.note(b"/two", [7, 1], 3)
            return super().__iter__()

    opened = Opened()
    opened.note(b"/one", Identity([5, 1]), 0)
    alone = Opened()
    alone.note(b"/one", [5, 1], 0)
    assert opened.listed() == alone.listed()
    assert opened.listed()[""][:2] == [0, 4]
