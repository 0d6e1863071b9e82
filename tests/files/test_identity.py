"""Changed files are detected: in states by name, and in earlier parts of a run by a digest of their sizes."""

import os

import pytest

import pipeline
from pipeline.files.identity import Opened, difference, file_identity, merged, of_one, rolled


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(contents):
    """Files named 0, 1, ..."""
    for number, content in enumerate(contents):
        with open(str(number), "wb") as file:
            file.write(content)
    return [str(number) for number in range(len(contents))]


def test_files_that_were_read_are_known_by_name():
    names = write([b"a\n" * 10, b"b\n"])
    with iter(pipeline.text(names)) as lines:
        assert lines.state_dict()["files"] == {}
        next(lines)
        assert lines.state_dict()["files"] == {"": [[0, 0, 1, rolled("", 0, 20)]], "0": file_identity("0")}
        list(lines)
        files = lines.state_dict()["files"]
    both = [0, 0, 2, rolled(rolled("", 0, 20), 1, 2)]
    assert files == {"": [both], **{name: file_identity(name) for name in names}}
    size, time, crc = files["0"]
    assert (size, time, len(crc)) == (20, os.stat("0").st_mtime_ns, 8)


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
    """Yield file names from an index on; the files are made with these sizes."""
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
    assert Opened().remember(listed, None) is None  # the names are not recorded


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


def test_the_digests_of_several_sources_are_kept_apart():
    one, other = opened_all([1, 2]).listed(), opened_all([3]).listed()
    files = merged([one, {}, other])
    assert files[""] == [[0, *one[""]], [2, *other[""]]]
    assert set(files) == {"", "0", "1"}
    assert of_one(files, 0)[""] == one[""]
    assert of_one(files, 2)[""] == other[""]
    assert set(of_one(files, 1)) == set(of_one(files, 0, renumbered=True)) == {"0", "1"}
    assert merged([{}, {"a": [1, 2, None]}]) == {"a": [1, 2, None]}


def test_files_are_listed_while_another_thread_opens_one():
    """The other thread gets its turn in the middle of the list."""

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
