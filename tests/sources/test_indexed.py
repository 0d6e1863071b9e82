"""index=True: lines, records and samples by index, and the index with their offsets."""

import json
import logging
import os
import pickle
import stat
import threading

import pytest
import test_fixed_length
import test_jsonl
import test_text
import test_tfrecord_sources
import test_webdataset
from helpers import run_script
from test_text import _small_chunks  # noqa: F401, as it is a fixture
from test_tokens import raises

import pipeline
from pipeline.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, OpError


class Indexed:
    """An indexed source; effects of the file order are not tested."""

    known = True

    def make(self, **options):
        return super().make(index=True, **options)


class TestText(Indexed, test_text.TestText):
    pass


class TestJsonl(Indexed, test_jsonl.TestJsonl):
    pass


class TestExamples(Indexed, test_tfrecord_sources.TestExamples):
    pass


class TestRecords(Indexed, test_tfrecord_sources.TestRecords):
    pass


class TestFixedLength(Indexed, test_fixed_length.TestFixedLength):
    pass


class TestShards(Indexed, test_webdataset.Shards):
    pass


LINES = [str(i) for i in range(500)]


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "lines.txt"
    made.write_text("\n".join(LINES))
    return made


@pytest.fixture
def folder(tmp_path, monkeypatch):
    found = tmp_path / "cache"
    monkeypatch.setenv("PIPELINE_INDEX_FOLDER", str(found))
    return found


@pytest.fixture
def heard(caplog):
    caplog.set_level(logging.INFO, logger="pipeline")
    return lambda: [record.getMessage() for record in caplog.records]


def index_of(folder):
    [found] = folder.glob("*.offsets")
    return found


class TestOrder:
    def test_all_lines_are_mixed_without_a_buffer(self, path):
        data = pipeline.text(path, index=True)
        assert len(data) == 500
        assert data[7] == "7"
        assert data[-1] == "499"
        mixed = list(data.shuffle(seed=1))
        assert sorted(mixed) == sorted(LINES)
        assert mixed != LINES
        assert mixed == list(pipeline.text(path, index=True).shuffle(seed=1))

    @pytest.mark.parametrize("size", [1, 7, 500])
    def test_lines_are_those_of_the_stream(self, tmp_path, size):
        texts = [
            b"",
            b"a",
            b"a\n",
            b"\n",
            b"\r",
            b"a\r",
            b"a\n\r",
            b"a\r\n\r\nb",
            b" \n\n x \n",
            b"\x0b\n",
            b"\xef\xbb\xbf",
        ]
        for number, text in enumerate(texts):
            (tmp_path / f"{number:02}.txt").write_bytes(text)
            (tmp_path / f"{number:02}.jsonl").write_bytes(text.replace(b"a", b'{"a": 1}').replace(b"x", b'{"x": 2}'))
        for skip in (0, 1):
            expected = list(pipeline.text(tmp_path / "*.txt", skip_lines=skip))
            assert list(pipeline.text(tmp_path / "*.txt", skip_lines=skip, index=True)) == expected
        (tmp_path / "07.jsonl").unlink()  # with a line that is not JSON
        names = tmp_path / "*.jsonl"
        assert list(pipeline.jsonl(names, index=True)) == list(pipeline.jsonl(names))

    def test_long_lines(self, tmp_path):
        lines = ["x" * 3_000_000, "y", "z" * 1_048_576, ""]
        (tmp_path / "a.txt").write_text("\n".join(lines) + "\n")
        assert list(pipeline.text(tmp_path / "a.txt", index=True)) == lines

    def test_a_wrong_line_is_named(self, tmp_path):
        (tmp_path / "a.jsonl").write_text('{"a": 1}\n\n{"a": 2}\n\n[3]\n{"a": 4}\n')
        data = pipeline.jsonl(tmp_path / "a.jsonl", index=True)
        assert len(data) == 4
        assert data[3] == {"a": 4}
        with raises(InvalidArgumentError, "a.jsonl, line 5: expected a JSON object"):
            data[2]
        with iter(data) as examples:
            assert [next(examples)["a"] for _ in range(2)] == [1, 2]
            with raises(InvalidArgumentError, "line 5"):
                next(examples)

    def test_it_pickles_without_its_offsets(self, path):
        data = pipeline.text(path, index=True).shuffle(seed=1)
        saved = pickle.dumps(data)
        assert len(saved) < 5000
        assert list(pickle.loads(saved)) == list(data)

    def test_workers(self, path):
        data = pipeline.text(path, index=True).shuffle(seed=1)
        assert list(data.map(int, workers=pipeline.processes(2))) == list(map(int, data))

    def test_the_states_of_the_stream_are_others(self, path):
        with iter(pipeline.text(path).batch(3)) as batches:
            next(batches)
            state = batches.state_dict()
        with pytest.raises(pipeline.errors.StateMismatchError):
            iter(pipeline.text(path, index=True).batch(3)).load_state_dict(state)


class TestIndex:
    def test_it_is_made_once(self, path, folder, monkeypatch):
        assert len(pipeline.text(path, index=True)) == 500
        written = index_of(folder).stat()
        assert list(pipeline.text(path, index=True)) == LINES
        assert index_of(folder).stat().st_ino == written.st_ino

    def test_each_kind_has_its_own(self, path, folder):
        pipeline.text(path, index=True)
        pipeline.jsonl(path, index=True)
        assert len(list(folder.glob("*.offsets"))) == 2

    def test_the_folder_of_an_option_comes_first(self, path, folder, tmp_path):
        pipeline.text(path, index=True, index_folder=tmp_path / "other")
        assert index_of(tmp_path / "other")
        assert not folder.exists()

    def test_the_users_cache_folder(self, path, tmp_path, monkeypatch):
        monkeypatch.delenv("PIPELINE_INDEX_FOLDER", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        pipeline.text(path, index=True)
        assert index_of(tmp_path / "xdg" / "queue-runner" / "index")

    def test_a_changed_file_is_indexed_again(self, path, folder):
        data = pipeline.text(path, index=True)
        path.write_bytes(b"a\nb\n")
        assert list(pipeline.text(path, index=True)) == ["a", "b"]
        with raises(FailedPreconditionError, "was changed since: make the dataset again"):
            list(data)

    def test_a_file_of_the_same_size(self, path, folder):
        pipeline.text(path, index=True)
        text = path.read_bytes()
        path.write_bytes(text.replace(b"0\n1\n", b"012\n"))
        os.utime(path, ns=(1, 1))
        assert next(iter(pipeline.text(path, index=True))) == "012"

    @pytest.mark.parametrize("replaced", [False, True], ids=["written", "replaced"])
    def test_a_file_of_the_same_size_and_time(self, path, folder, replaced):
        """As after `cp -p`, `rsync -t` or tar, however soon after the index was made."""
        for old, new in ((b"0\n1\n", b"012\n"), (b"012\n", b"0\n1\n")) * 3:
            before, text = path.stat(), path.read_bytes().replace(old, new, 1)
            pipeline.text(path, index=True)
            other = path.with_name("other") if replaced else path
            other.write_bytes(text)
            os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
            other.rename(path)
            assert path.stat().st_mtime_ns == before.st_mtime_ns
            assert list(pipeline.text(path, index=True)) == text.decode().split("\n")

    def test_the_users_cache_folder_is_private(self, path, tmp_path, monkeypatch):
        monkeypatch.delenv("PIPELINE_INDEX_FOLDER", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        before = os.umask(0)
        try:
            pipeline.text(path, index=True)
        finally:
            os.umask(before)
        made = tmp_path / "xdg" / "queue-runner"
        assert [stat.S_IMODE(each.stat().st_mode) for each in (made, made / "index")] == [0o700] * 2

    @pytest.mark.parametrize(
        "damage",
        [
            lambda data: b"",
            lambda data: data[:20],
            lambda data: data[:-8],
            lambda data: data[:-1],
            lambda data: data + bytes(8),
            lambda data: b"x" + data[1:],
            lambda data: data[:-20] + b"\x01" + data[-19:],
            lambda data: bytes(len(data)),
        ],
        ids=["empty", "header", "offset", "byte", "longer", "magic", "changed", "zeros"],
    )
    def test_a_damaged_index_is_made_again(self, path, folder, damage):
        pipeline.text(path, index=True)
        index = index_of(folder)
        right = index.read_bytes()
        index.write_bytes(damage(right))
        assert list(pipeline.text(path, index=True)) == LINES
        assert index.read_bytes() == right

    def test_a_large_index_is_mapped(self, tmp_path, folder):
        lines = [str(i) for i in range(200_000)]
        (tmp_path / "a.txt").write_text("\n".join(lines))
        for _ in range(2):
            data = pipeline.text(tmp_path / "a.txt", index=True)
            assert data[150_000] == "150000"
            assert list(data) == lines
        assert index_of(folder).stat().st_size > 1 << 20

    def test_threads_and_processes_that_begin_together(self, path, folder):
        script = f"""
import pipeline
data = pipeline.text({str(path)!r}, index=True)
print(len(data), int(data[499]))
"""
        said = []
        threads = [threading.Thread(target=lambda: said.append(run_script(script).stdout)) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert said == ["500 499\n"] * 4
        assert index_of(folder)
        assert not list(folder.glob("*.partial"))

    def test_another_process_that_makes_it_is_waited_for(self, path, folder, heard):
        import fcntl

        pipeline.text(path, index=True)
        index = index_of(folder)
        right = index.read_bytes()
        index.unlink()
        with open(f"{index}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            made = []
            waits = threading.Thread(target=lambda: made.append(pipeline.text(path, index=True)))
            waits.start()
            while not any("waiting for it" in said for said in heard()):
                threading.Event().wait(0.001)
            index.write_bytes(right)
        waits.join()
        assert list(made[0]) == LINES


class TestFoldersThatCannotBeWritten:
    @pytest.fixture
    def blocked(self, tmp_path):
        """A file where a folder should be, so that even root cannot write into it."""
        (tmp_path / "file").touch()
        return tmp_path / "file" / "folder"

    def test_a_folder_of_the_user(self, path, blocked, monkeypatch):
        with raises(OpError, f"the index cannot be written into '{blocked}'"):
            pipeline.text(path, index=True, index_folder=blocked)
        monkeypatch.setenv("PIPELINE_INDEX_FOLDER", str(blocked))
        with raises(OpError, f"the index cannot be written into '{blocked}'"):
            pipeline.text(path, index=True)

    def test_a_file_in_the_place_of_the_folder(self, path, blocked):
        for given in (blocked, blocked.parent):
            with raises(FailedPreconditionError, f"the index cannot be written into '{given}': Not a directory"):
                pipeline.text(path, index=True, index_folder=given)

    def test_the_cache_folder(self, path, blocked, monkeypatch, heard):
        monkeypatch.delenv("PIPELINE_INDEX_FOLDER", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
        assert list(pipeline.text(path, index=True)) == LINES
        assert any("each process makes its own: pass index_folder=, or set PIPELINE_INDEX" in said for said in heard())

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_read_only_folder_with_the_index(self, path, tmp_path):
        pipeline.text(path, index=True, index_folder=tmp_path / "cache")
        os.chmod(tmp_path / "cache", stat.S_IRUSR | stat.S_IXUSR)
        assert list(pipeline.text(path, index=True, index_folder=tmp_path / "cache")) == LINES


class TestWrong:
    def test_files_that_cannot_be_indexed(self, tmp_path):
        (tmp_path / "a.jsonl.gz").touch()
        with raises(InvalidArgumentError, "jsonl: index=True takes files that are not compressed", "a.jsonl.gz'"):
            pipeline.jsonl(tmp_path / "a.jsonl.gz", index=True)
        with raises(InvalidArgumentError, "text: index=True takes local files, and 'memory://a' is a URL"):
            pipeline.text("memory://a", index=True)
        with raises(InvalidArgumentError, "tfrecord: index=True takes files that are not compressed: leave out comp"):
            pipeline.tfrecord(tmp_path / "a.jsonl.gz", compression="GZIP", index=True)
        with raises(InvalidArgumentError, "text: index=True takes regular files"):
            pipeline.text(tmp_path, index=True)

    def test_other_encodings(self, path):
        for make in (pipeline.text, pipeline.jsonl):
            with raises(InvalidArgumentError, "index=True takes files in UTF-8, and encoding= is 'utf-16'"):
                make(path, encoding="utf-16", index=True)
            path.write_bytes("{}".encode("utf-16"))
            with raises(InvalidArgumentError, "is in UTF-16"):
                make(path, index=True)

    def test_options(self, path):
        with raises(InvalidArgumentError, "text: index_folder= is for index=True"):
            pipeline.text(path, index_folder="x")
        with raises(TypeError, "text: index must be"):
            pipeline.text(path, index="yes")

    def test_records_that_are_cut_short(self, tmp_path):
        with pipeline.TFRecordWriter(tmp_path / "a.tfrecord") as writer:
            for i in range(3):
                writer.write(b"%d" % i * 10)
        whole = (tmp_path / "a.tfrecord").read_bytes()
        for data in (whole[:-1], whole[:-27], whole + b"x", whole[:26] + b"\xff" * 8 + whole[34:]):
            (tmp_path / "a.tfrecord").write_bytes(data)
            with raises(DataLossError, "a.tfrecord"):
                pipeline.tfrecord(tmp_path / "a.tfrecord", index=True)

    def test_a_record_whose_checksum_is_wrong(self, tmp_path):
        with pipeline.TFRecordWriter(tmp_path / "a.tfrecord") as writer:
            for i in range(3):
                writer.write(b"%d" % i * 10)
        data = bytearray((tmp_path / "a.tfrecord").read_bytes())
        data[26 + 14] ^= 1
        (tmp_path / "a.tfrecord").write_bytes(data)
        source = pipeline.tfrecord(tmp_path / "a.tfrecord", index=True)
        assert source[2] == b"2" * 10
        with raises(DataLossError, "corrupted record at 38 of", "the CRC of its data is wrong"):
            source[1]

    def test_records_of_another_length(self, tmp_path):
        (tmp_path / "a.bin").write_bytes(bytes(11))
        with raises(DataLossError, "a.bin, record 5: the file ends after 1 of its 2 bytes"):
            pipeline.fixed_length(tmp_path / "a.bin", 2, index=True)
        assert len(pipeline.fixed_length(tmp_path / "a.bin", 2, index=True, drop_remainder=True)) == 5

    def test_a_tail_that_was_cut_while_it_was_read(self, tmp_path):
        (tmp_path / "a.jsonl").write_text("".join(json.dumps({"a": i}) + "\n" for i in range(100)))
        data = pipeline.jsonl(tmp_path / "a.jsonl", index=True)
        assert data[0] == {"a": 0}
        os.truncate(tmp_path / "a.jsonl", 500)
        with raises(FailedPreconditionError, "a.jsonl' had 990 bytes when it was indexed and was changed since"):
            list(data)

    def test_lines_that_moved_while_they_were_read(self, path):
        data = pipeline.text(path, index=True)
        assert data[0] == LINES[0]
        path.write_bytes(path.read_bytes().replace(b"0\n1\n", b"012\n"))
        os.utime(path, ns=(1, 1))
        for read in (lambda: data[5], lambda: list(data), lambda: list(data.shuffle(seed=1))):
            with raises(FailedPreconditionError, "was changed since: make the dataset again"):
                read()


def test_last_lines_without_an_end_are_lines_of_their_own_in_any_order(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.txt").write_bytes(b"".join(b"%d-%d\n" % (i, k) for k in range(7)) + b"%d-last\r" % i)
    files = [tmp_path / f"{i}.txt" for i in range(3)]
    lines = list(pipeline.text(files))
    data = pipeline.text(files, index=True, index_folder=tmp_path)
    for seed in range(5):
        shuffled = data.shuffle(seed=seed)
        expected = [shuffled[i] for i in range(len(lines))]
        assert sorted(expected) == sorted(lines)
        for size in (2, 7, 24):
            assert [x for batch in shuffled.batch(size) for x in batch] == expected
