"""TFRecordReader on files that are truncated, corrupt, or compressed another way."""

import logging
import random

import google_crc32c
import pytest
from orchestration import closed_queue, drain
from reading import PACK, counts, read_all
from tracing import memory_below

from pipeline.errors import DataLossError, OutOfRangeError
from pipeline.files.crc32c import mask
from pipeline.files.tfrecord import FOOTER
from pipeline.files.tfrecord_cutter import tf_record_iterator
from pipeline.files.tfrecord_writer import TFRecordWriter
from pipeline.readers.tfrecord import TFRecordReader

RECORDS = [b"abc", b"", b"defgh"]
KEYED = [b"f:0 abc", b"f:19 ", b"f:35 defgh"]


@pytest.fixture(name="content")
def _content(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with TFRecordWriter("f") as writer:
        for record in RECORDS:
            writer.write(record)
    return (tmp_path / "f").read_bytes()


def stuck(reader, queue, text):
    """Every read has the same error, until reset."""
    for _ in range(3):
        with pytest.raises(DataLossError, match=text):
            reader.read(queue)


@pytest.mark.parametrize("options", ["", "GZIP", "ZLIB"])
def test_cut_anywhere(tmp_path, content, options):
    starts = [0, 19, 35, 56]
    for size in range(56):
        (tmp_path / "f").write_bytes(PACK[options](content[:size]))
        whole = sum(start <= size for start in starts[1:])
        reader, queue = TFRecordReader(options=options), closed_queue(["f"])
        for i in range(whole):
            assert reader.read(queue) == tuple(KEYED[i].split(b" "))
        if size - starts[whole] < 12:
            with pytest.raises(OutOfRangeError):
                reader.read(queue)
            assert counts(reader) == (whole, 1)
        else:
            stuck(reader, queue, f"^truncated record at {starts[whole]} of f: ")
            assert counts(reader) == (whole, 0)


def test_an_end_within_a_header_is_said(tmp_path, content, caplog):
    for size, said in (19, []), (24, ["f is cut short: at 19, where its last record begins, it has 5 bytes"]):
        (tmp_path / "f").write_bytes(content[:size])
        for read in lambda: read_all(TFRecordReader(), ["f"]), lambda: list(tf_record_iterator("f")):
            caplog.clear()
            assert len(read()) == 1
            assert [record.getMessage().partition(" more")[0] for record in caplog.records] == said


def test_every_wrong_byte_is_found(tmp_path, content):
    starts = [0, 19, 35]
    for at in range(56):
        wrong = bytearray(content)
        wrong[at] ^= 0x10
        (tmp_path / "f").write_bytes(wrong)
        index = sum(start <= at for start in starts) - 1
        offset = starts[index] + (12 if at - starts[index] >= 12 else 0)
        reader, queue = TFRecordReader(), closed_queue(["f"])
        for _ in range(index):
            reader.read(queue)
        stuck(reader, queue, f"^corrupted record at {offset} of f: the CRC of its (length|data) is wrong")
        reader.reset()
        with pytest.raises(OutOfRangeError):
            reader.read(queue)


def test_every_wrong_record_of_many_is_found(tmp_path):
    path = tmp_path / "many"
    rng = random.Random(1)
    for sizes in ([20] * 500, [rng.randrange(30) for _ in range(500)]):
        with TFRecordWriter(path) as writer:
            for size in sizes:
                writer.write(bytes(size))
        content = path.read_bytes()
        for wrong in (0, 1, 7, 250, 498, 499):
            start = sum(sizes[:wrong]) + 16 * wrong
            path.write_bytes(content[: start + 12] + b"\xff" + content[start + 13 :])
            reader, queue = TFRecordReader(), closed_queue([path])
            assert all(reader.read(queue).value == bytes(size) for size in sizes[:wrong])
            stuck(reader, queue, f"corrupted record at {start + 12} of ")
            assert reader.num_records_produced() == wrong


def test_error_takes_the_records_of_its_block_with_it_but_counts_them(tmp_path, content):
    (tmp_path / "f").write_bytes(content[:-1])
    reader, queue = TFRecordReader(), closed_queue(["f"])
    with pytest.raises(DataLossError, match="truncated record at 35") as caught:
        reader.read_up_to(queue, 9)
    assert counts(reader) == (2, 0)
    assert caught.value.record_key == b"f:35"


def test_enormous_length_takes_no_memory(tmp_path, content):
    for length in (2**31, 2**62, 2**64 - 1):
        header = length.to_bytes(8, "little")
        data = content + header + FOOTER.pack(mask(google_crc32c.value(header))) + b"x" * 5000
        for options, pack in PACK.items():
            (tmp_path / "f").write_bytes(pack(data))
            reader, queue = TFRecordReader(options=options), closed_queue(["f"])
            assert [reader.read(queue).value for _ in RECORDS] == RECORDS
            with memory_below(4_000_000):
                stuck(reader, queue, f"^truncated record at 56 of f: it should have {length} bytes")


@pytest.mark.skipif(google_crc32c.implementation == "python", reason="120 MB take 17 s without compiled code")
def test_well_packed_file_is_read_in_little_memory(tmp_path):
    path = tmp_path / "f"
    with TFRecordWriter(path, "GZIP") as writer:
        for _ in range(60):
            writer.write(bytes(1_000_000))
    assert path.stat().st_size < 200_000
    reader, queue = TFRecordReader(options="GZIP"), closed_queue([path])
    assert reader.read(queue).value == bytes(1_000_000)  # imports its dependencies
    with memory_below(8_000_000):
        for _ in range(59):
            assert reader.read(queue).value == bytes(1_000_000)


@pytest.mark.parametrize("options", ["GZIP", "ZLIB"])
def test_wrong_compression(tmp_path, content, options):
    text = f"^f is damaged, or not compressed by {options.lower()}: "
    stuck(TFRecordReader(options=options), closed_queue(["f"]), text)
    (tmp_path / "f").write_bytes(PACK[options](content))
    stuck(TFRecordReader(), closed_queue(["f"]), "^corrupted record at 0 of f: .* Is this a TFRecord file")


@pytest.mark.parametrize("options", ["", "GZIP", "ZLIB"])
def test_empty_file(tmp_path, content, options):
    (tmp_path / "f").write_bytes(b"")
    reader = TFRecordReader(options=options)
    assert read_all(reader, ["f"]) == []
    assert counts(reader) == (0, 1)


@pytest.mark.parametrize("options", ["GZIP", "ZLIB"])
def test_compressed_file_that_ends_too_early_gives_what_it_holds(tmp_path, content, options):
    packed = PACK[options](content)
    (tmp_path / "f").write_bytes(packed[:-3])  # all data is there, but the checksum is cut
    reader, queue = TFRecordReader(options=options), closed_queue(["f"])
    assert [reader.read(queue).value for _ in RECORDS] == RECORDS
    stuck(reader, queue, f"f is damaged: it cannot be decompressed beyond byte {len(packed) - 3}: the compressed data")


def test_wrong_byte_in_compressed_data_does_not_take_the_records_before_it(tmp_path):
    path = tmp_path / "f"
    rng = random.Random(2)
    with TFRecordWriter(path, "GZIP") as writer:
        for _ in range(2000):
            writer.write(rng.randbytes(20))
            writer.flush()
    content = bytearray(path.read_bytes())
    at = len(content) * 3 // 4
    content[at : at + 200] = b"\xff" * 200
    path.write_bytes(content)
    reader, queue = TFRecordReader(options="GZIP"), closed_queue([path])
    with pytest.raises(DataLossError):
        drain(lambda: reader.read(queue))
    assert 1400 <= reader.num_records_produced() <= 1510


def test_unknown_compression_is_logged_and_read_as_it_is(content, caplog):
    with caplog.at_level(logging.ERROR):
        reader = TFRecordReader(options="SNAPPY")
    assert "Not a valid compression_type: \"SNAPPY\"; TFRecordReader 'tf_record_reader' reads" in caplog.text
    assert read_all(reader, ["f"]) == KEYED
