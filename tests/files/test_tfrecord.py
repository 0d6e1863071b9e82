"""TFRecordWriter, tf_record_iterator, and the format between them."""

import gc
import gzip
import os
import sys
import zlib

import pytest
from helpers import run_in_thread, run_script
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from orchestration import closed_queue, drain

from pipeline.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, NotFoundError
from pipeline.files.tfrecord import TFRecordCompressionType, TFRecordOptions
from pipeline.files.tfrecord_cutter import tf_record_iterator
from pipeline.files.tfrecord_writer import TFRecordWriter
from pipeline.readers.tfrecord import TFRecordReader

RECORDS = [b"abc", b"", b"defgh"]
TYPES = ["", "GZIP", "ZLIB"]


def write(path, records, options=None):
    with TFRecordWriter(path, options) as writer:
        for record in records:
            writer.write(record)


def test_bytes_of_a_file(tmp_path):
    write(tmp_path / "f", RECORDS)
    content = (tmp_path / "f").read_bytes()
    assert len(content) == 56
    # The empty record, as every TFRecord implementation writes it.
    assert content[19:35] == bytes(8) + bytes.fromhex("29039807") + bytes.fromhex("d8ea82a2")


@pytest.mark.parametrize("options", [*TYPES, 0, 1, 2, None, TFRecordOptions("GZIP")])
def test_round_trip(tmp_path, options):
    path = tmp_path / "f"
    write(path, RECORDS, options)
    assert list(tf_record_iterator(path, options)) == RECORDS
    reader, queue = TFRecordReader(options=options), closed_queue([path])
    records = drain(lambda: reader.read(queue))
    assert [record.value for record in records] == RECORDS
    assert [record.key.rpartition(b":")[2] for record in records] == [b"0", b"19", b"35"]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.one_of(st.binary(max_size=30), st.integers(0, 2000).map(bytes)), max_size=40),
    st.sampled_from(TYPES),
    st.integers(1, 50),
)
def test_any_records(tmp_path, records, options, block):
    path = tmp_path / "f"
    write(path, records, options)
    assert list(tf_record_iterator(path, options)) == records
    reader, queue = TFRecordReader(options=options), closed_queue([path])
    assert [v for b in drain(lambda: reader.read_up_to(queue, block)) for v in b.values] == records


@pytest.mark.parametrize("options", TYPES)
def test_records_larger_than_what_is_read_at_once(tmp_path, options):
    path = tmp_path / "f"
    records = [os.urandom(size) for size in (1_000_000, 0, 262_143, 7, 600_000)] + [b"x" * 3_000_000]
    write(path, records, options)
    assert list(tf_record_iterator(path, options)) == records


@pytest.mark.parametrize("options", TYPES)
def test_runs_of_equal_lengths(tmp_path, options):
    path = tmp_path / "f"
    records = [b"%0*d" % (size, i) for size in (64, 3, 64, 1000) for i in range(9000)] + [b""] * 9000
    write(path, records, options)
    assert list(tf_record_iterator(path, options)) == records


def test_compressed_files_are_what_other_programs_read(tmp_path):
    write(tmp_path / "plain", RECORDS)
    write(tmp_path / "gz", RECORDS, "GZIP")
    write(tmp_path / "z", RECORDS, "ZLIB")
    plain = (tmp_path / "plain").read_bytes()
    assert gzip.decompress((tmp_path / "gz").read_bytes()) == plain
    assert zlib.decompress((tmp_path / "z").read_bytes()) == plain
    (tmp_path / "two").write_bytes(gzip.compress(plain) + gzip.compress(plain))
    assert list(tf_record_iterator(tmp_path / "two", "GZIP")) == RECORDS * 2


@pytest.mark.parametrize("options", TYPES)
def test_flush_lets_others_read(tmp_path, options):
    path = tmp_path / "f"
    writer = TFRecordWriter(path, options)
    writer.write(b"one")
    writer.flush()
    records = tf_record_iterator(path, options)
    assert next(records) == b"one"
    records.close()
    writer.close()
    assert list(tf_record_iterator(path, options)) == [b"one"]


@pytest.mark.parametrize("mode", [zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH])
def test_a_flush_mode_flushes_between_records(tmp_path, mode):
    """A reader sees records before the flush while the file is incomplete."""
    with TFRecordWriter(tmp_path / "f", TFRecordOptions("ZLIB", flush_mode=mode)) as writer:
        for _ in range(3):
            writer.write(bytes(150_000))
        writer.write(bytes(300_000))
    data = (tmp_path / "f").read_bytes()
    assert data.count(b"\x00\x00\xff\xff") >= 4  # before records 2, 3 and 4, which do not fit, and after 4
    assert [len(each) for each in tf_record_iterator(tmp_path / "f", "ZLIB")] == [150_000] * 3 + [300_000]


@pytest.mark.parametrize("mode", range(6))
def test_flush_with_each_flush_mode(tmp_path, mode):
    options = TFRecordOptions("GZIP", flush_mode=mode)
    with TFRecordWriter(tmp_path / "f", options) as writer:
        writer.write(b"one")
        writer.flush()
        writer.write(b"two")
    assert list(tf_record_iterator(tmp_path / "f", options)) == [b"one", b"two"]


def test_a_flush_mode_that_zlib_does_not_have(tmp_path):
    with pytest.raises(InvalidArgumentError, match=r"flush_mode must be one of .* got 6"):
        TFRecordWriter(tmp_path / "f", TFRecordOptions("ZLIB", flush_mode=6))


def test_closed_writer(tmp_path):
    writer = TFRecordWriter(str(tmp_path / "f"))
    writer.close()
    writer.close()
    for call in (writer.flush, lambda: writer.write(b"x")):
        with pytest.raises(FailedPreconditionError, match="Writer is closed"):
            call()


@pytest.mark.parametrize("options", TYPES)
def test_forgotten_writer_completes_its_file(tmp_path, options):
    writer = TFRecordWriter(tmp_path / "f", options)
    writer.write(b"x")
    del writer
    assert list(tf_record_iterator(tmp_path / "f", options)) == [b"x"]


def test_what_may_be_written(tmp_path):
    with TFRecordWriter(tmp_path / "f") as writer:
        writer.write(bytearray(b"a"))
        writer.write(memoryview(b"bcd")[::2])
        for wrong in ("text", 7, None):
            with pytest.raises(TypeError):
                writer.write(wrong)
    assert list(tf_record_iterator(tmp_path / "f")) == [b"a", b"bd"]


def test_threads_do_not_mix_records(tmp_path):
    with TFRecordWriter(tmp_path / "f", "GZIP") as writer:
        calls = [run_in_thread(lambda i=i: [writer.write(b"%d" % i * 50) for _ in range(200)]) for i in range(4)]
        for call in calls:
            call.result()
    assert sorted(tf_record_iterator(tmp_path / "f", "GZIP")) == sorted(
        b"%d" % i * 50 for i in range(4) for _ in range(200)
    )


def test_files_that_cannot_be_made(tmp_path):
    with pytest.raises(NotFoundError, match="No such file or directory"):
        TFRecordWriter(tmp_path / "no" / "f")
    with pytest.raises(FailedPreconditionError, match="Is a directory"):
        TFRecordWriter(tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("options", TYPES)
def test_full_disk_is_an_error(options):
    writer = TFRecordWriter("/dev/full", options)
    writer.write(b"x")
    with pytest.raises(Exception, match="/dev/full; No space left on device"):
        writer.close()


class TestIterator:
    def test_missing_file(self, tmp_path):
        records = tf_record_iterator(tmp_path / "f")
        with pytest.raises(NotFoundError, match="No such file"):
            next(records)

    def test_corrupt_file_gives_what_is_right(self, tmp_path):
        write(tmp_path / "f", [b"one", b"two", b"three"])
        content = bytearray((tmp_path / "f").read_bytes())
        content[19 + 12] ^= 1
        (tmp_path / "f").write_bytes(content)
        records = tf_record_iterator(tmp_path / "f")
        assert next(records) == b"one"
        with pytest.raises(DataLossError, match=r"corrupted record at 31 of .*f: the CRC of its data"):
            next(records)


class TestOptions:
    def test_names(self):
        name = TFRecordOptions.get_compression_type_string
        assert [name(kind) for kind in (TFRecordCompressionType.NONE, 1, 2)] == TYPES[:1] + ["ZLIB", "GZIP"]
        assert TFRecordOptions(TFRecordOptions("ZLIB")).compression_type == "ZLIB"

    @pytest.mark.parametrize("wrong", ["SNAPPY", "gzip", 3, 1.5, b"GZIP", ["GZIP"]])
    def test_unknown_type(self, tmp_path, wrong):
        for call in (
            TFRecordOptions,
            lambda o: TFRecordWriter(tmp_path / "f", o),
            lambda o: tf_record_iterator("f", o),
        ):
            with pytest.raises(InvalidArgumentError, match="Not a valid compression_type"):
                call(wrong)
        assert not (tmp_path / "f").exists()

    def test_settings_of_zlib(self, tmp_path):
        sizes = []
        for level in (0, 9):
            options = TFRecordOptions(
                "ZLIB", window_bits=12, compression_level=level, mem_level=9, compression_strategy=0
            )
            write(tmp_path / "f", [b"x" * 10_000], options)
            assert list(tf_record_iterator(tmp_path / "f", options)) == [b"x" * 10_000]
            sizes.append((tmp_path / "f").stat().st_size)
        assert sizes[0] > 10_000 > 10 * sizes[1]

    @pytest.mark.parametrize("wrong", [{"compression_level": 77}, {"window_bits": 99}, {"mem_level": 0}])
    def test_settings_that_zlib_does_not_take(self, tmp_path, wrong):
        with pytest.raises(InvalidArgumentError, match="zlib does not take"):
            TFRecordWriter(tmp_path / "f", TFRecordOptions("GZIP", **wrong))
        assert not (tmp_path / "f").exists()


def test_without_the_library_nothing_is_left_unchecked():
    script = """
import sys
sys.modules["google_crc32c"] = None
from pipeline import TFRecordReader, TFRecordWriter, tf_record_iterator
for make in (TFRecordReader, lambda: TFRecordWriter("f"), lambda: tf_record_iterator("f")):
    try:
        make()
    except ImportError as error:
        print(error)
"""
    done = run_script(script)
    assert done.stdout.count("pip install google-crc32c") == 3, done


def test_a_writer_that_was_never_open_ends_in_silence(monkeypatch):
    """Its finalizer found no attribute, and Python printed an "Exception ignored"."""
    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    with pytest.raises(TypeError, match=r"os\.PathLike"):
        TFRecordWriter(None)
    gc.collect()
    assert ignored == []
