"""Fuzz targets: every reader and decoder, each as a function on bytes, with good inputs to start from.

No bytes may make a target raise. It catches the errors documented for bad input; all others get through. If records
can be read both singly and in blocks, the two ways must agree.
"""

import gzip
import io
import os
import struct
import tempfile
import warnings
import zlib
from pathlib import Path

import google_crc32c
import numpy as np
from orchestration import closed_queue

import pipeline
from pipeline import errors
from pipeline.files.crc32c import mask
from pipeline.files.tfrecord import FOOTER, HEADER

LIMIT = 1 << 20  # for the readers and images here: bytes per record, pixels per image
_FILE = os.path.join(tempfile.mkdtemp(prefix="fuzz"), "f")

TARGETS = {}
SEEDS = {}


def target(*seeds):
    def register(function):
        TARGETS[function.__name__] = function
        SEEDS[function.__name__] = seeds
        return function

    return register


def outcome(function, *args, **kwargs):
    """Return a call's result, or the class of our error."""
    try:
        return function(*args, **kwargs)
    except errors.OpError as error:
        return type(error)


def same(one, other):
    """Return whether two outcomes are equal, including arrays; NaN equals itself."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, (np.ndarray, np.generic)):
        return np.array_equal(np.asarray(one), np.asarray(other), equal_nan=one.dtype.kind in "fc")
    return one == other


def read_file(make, data, take):
    """Return a file's records, in blocks with `take` records, and the class of the error at the end, or None."""
    Path(_FILE).write_bytes(data)
    reader, queue, found = make(), closed_queue([_FILE]), []
    try:
        while len(found) < 10_000:
            found += zip(*reader.read_up_to(queue, take), strict=True)
    except errors.OutOfRangeError:
        return found, None
    except errors.OpError as error:
        failure = error
    else:
        return found, "more"
    finally:
        reader.reset()
    assert _FILE in str(failure), failure
    return found, type(failure)


def read_both_ways(make, data):
    """Read blocks as `read_file` does; single records must agree. A block may lose the records before an error."""
    single, why = read_file(make, data, 1)
    block, other = read_file(make, data, 7)
    assert why == other or "more" in (why, other), (why, other)
    assert block[: len(single)] == single[: len(block)]
    return single, why


def record(data):
    size = struct.pack("<Q", len(data))
    crc = google_crc32c.value
    return size + FOOTER.pack(mask(crc(size))) + data + FOOTER.pack(mask(crc(data)))


LINES = b"a,1\r\nbb,2\n\n" + b"c" * 300 + b"\n\xff\0\n3"
RECORDS = record(b"abc") + record(b"") + record(b"x" * 400) * 9


@target(LINES, b"", b"\r\n\r\n\r")
def lines(data):
    found, why = read_both_ways(lambda: pipeline.TextLineReader(max_record_bytes=LIMIT), data)
    expected = [line.removesuffix(b"\r") for line in (data.replace(b"\r\n", b"\n")).split(b"\n")]
    if data.endswith(b"\n") or not expected[-1]:
        expected.pop()
    if why is None and b"\r\r" not in data:
        assert [value for _, value in found] == expected


@target(LINES, b"abcdef" * 40)
def fixed(data):
    read_both_ways(lambda: pipeline.FixedLengthRecordReader(5, 2, 1, 7), data)


@target(gzip.compress(LINES), gzip.compress(b"a") + gzip.compress(b"b" * 999), gzip.compress(bytes(1 << 20)))
def fixed_gzip(data):
    read_both_ways(lambda: pipeline.FixedLengthRecordReader(50, 2, encoding="GZIP"), data)


@target(RECORDS, record(struct.pack("<Q", 1 << 62)))
def tfrecord(data):
    read_both_ways(lambda: pipeline.TFRecordReader(max_record_bytes=LIMIT), data)


@target(RECORDS, b"\xff" * 40)
def tfrecord_of_any_length(data):
    """Lengths are chosen by the fuzzer, with correct checksums."""
    body = data[8:]
    size = data[:8].ljust(8, b"\0")
    header = size + FOOTER.pack(mask(google_crc32c.value(size)))
    found, why = read_both_ways(lambda: pipeline.TFRecordReader(max_record_bytes=LIMIT), RECORDS + header + body)
    whole = HEADER.unpack(header)[0] + FOOTER.size <= len(body)
    assert why in ((errors.DataLossError, None) if whole else (errors.DataLossError,))
    assert len(found) >= 11


@target(zlib.compress(RECORDS), zlib.compress(record(bytes(1 << 18))))
def tfrecord_zlib(data):
    read_both_ways(lambda: pipeline.TFRecordReader(options="ZLIB", max_record_bytes=LIMIT), data)


@target(LINES)
def whole(data):
    found, why = read_file(lambda: pipeline.WholeFileReader(max_record_bytes=LIMIT), data, 1)
    assert why is not None or found[0][1] == data


def _database(count, size):
    import lmdb

    path = _FILE + ".mdb"
    with lmdb.open(path, subdir=False, map_size=1 << 22, lock=False) as environment:
        with environment.begin(write=True) as transaction:
            for i in range(count):
                transaction.put(b"%04d" % i, b"v" * (size if i % 7 else 9000))
    data = Path(path).read_bytes()
    os.remove(path)
    return data


@target(_database(3, 10), _database(200, 90))
def lmdb(data):
    read_both_ways(lambda: pipeline.LMDBReader(max_record_bytes=LIMIT), data)


@target(pipeline.WholeFileReader().serialize_state(), b"\x08\x01\x10\x02\x18\x03")
def reader_state(data):
    outcome(pipeline.WholeFileReader().restore_state, data)


@target(b',"34,",23,45', b'1,2.5,"a ""b""",7', b"1e400,,x,-9223372036854775809", b'"1","2",3,4\n', b"nan,inf,0x1,00")
def csv(data):
    defaults = [[0], np.float32, [b""], np.int64]
    single = outcome(pipeline.decode_csv, data, defaults)
    block = outcome(pipeline.decode_csv, [b"1,2,3,4", data], defaults)
    if isinstance(single, type):
        assert block == single
    else:
        assert all(same(one, column[1]) for one, column in zip(single, block, strict=True))
    outcome(pipeline.decode_csv, data.split(b"\n"), [[1.0]], select_cols=[1], use_quote_delim=False, field_delim=";")


@target(b"\0" * 16, b"abcdefg")
def raw(data):
    for dtype in ("uint8", "bool", "int16", "float32", "complex128"):
        for little in (True, False):
            found = outcome(pipeline.decode_raw, data, dtype, little)
            assert found is errors.InvalidArgumentError or found.nbytes == len(data)


_FEATURES = {
    "ints": pipeline.FixedLenFeature([2], "int64", [7, 8]),
    "text": pipeline.VarLenFeature("string"),
    "rows": pipeline.FixedLenSequenceFeature([2], "float32", allow_missing=True),
}
_EXAMPLE = pipeline.Example(
    features=pipeline.Features(
        feature={
            "ints": pipeline.Feature(int64_list=pipeline.Int64List(value=[1, -(1 << 63)])),
            "text": pipeline.Feature(bytes_list=pipeline.BytesList(value=[b"a" * 200, b""])),
            "rows": pipeline.Feature(float_list=pipeline.FloatList(value=[0.5] * 40)),
        }
    )
)


@target(_EXAMPLE.SerializeToString(), b"\x0a\x00", b"\x0b" * 400 + b"\x0c" * 400)
def example(data):
    single = outcome(pipeline.parse_single_example, data, _FEATURES)
    block = outcome(pipeline.parse_example, [data], _FEATURES)
    assert (single is errors.InvalidArgumentError) == (block is errors.InvalidArgumentError)
    if isinstance(single, dict):
        assert same(single["ints"], block["ints"][0])
        assert same(single["rows"], block["rows"][0])
        assert same(single["text"], block["text"].values)
    outcome(pipeline.parse_example, [_EXAMPLE.SerializeToString(), data], _FEATURES)


def _images():
    array = np.arange(7 * 5 * 3, dtype=np.uint8).reshape(7, 5, 3)
    yield pipeline.encode_png(array)
    yield pipeline.encode_png(array.astype(np.uint16) * 257)
    yield pipeline.encode_jpeg(array)
    yield pipeline.encode_jpeg(array, progressive=True)
    from PIL import Image

    frames = [Image.fromarray(array + i) for i in range(3)]
    for kind, more in (("GIF", {"save_all": True, "append_images": frames[1:]}), ("BMP", {}), ("PNG", {})):
        file = io.BytesIO()
        image = frames[0].convert("P") if kind != "BMP" else frames[0]
        image.save(file, kind, **more)
        yield file.getvalue()


@target(*_images())
def image(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns about parts it skips
        for channels in (0, 1, 3, 4):
            found = outcome(pipeline.decode_image, data, channels, max_pixels=LIMIT)
            assert isinstance(found, type) or found.size <= 4 * LIMIT


def _photos():
    from PIL import Image

    rows, columns = np.mgrid[:40, :52]
    image = Image.fromarray((np.stack((rows * 7, columns * 5, rows * columns), 2) % 256).astype(np.uint8))
    turned = Image.Exif()
    turned[274] = 6
    kinds = [{"subsampling": each} for each in ("4:4:4", "4:2:2", "4:2:0", "4:1:1")]
    kinds += [{"progressive": True}, {"restart_marker_rows": 1}, {"exif": turned}]
    for mode, options in [("RGB", each) for each in kinds] + [("L", {}), ("CMYK", {})]:
        file = io.BytesIO()
        image.convert(mode).save(file, "JPEG", **{"quality": 40, **options})
        yield file.getvalue()


@target(*_photos())
def part(data):
    """Parts equal the same part of the whole image, with either decoder. Crops are complete, or an error."""
    image, options = pipeline.image, {"max_pixels": LIMIT, "dct_method": "INTEGER_ACCURATE"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for ratio in (1, 2, 8):
            whole = outcome(image.decode_jpeg, data, 3, ratio, **options)
            for box in ((0, 0, 2, 3), (1, 2, 4, 3), (5, 17, 19, 31), (32, 40, 8, 12)):
                inside = not isinstance(whole, type) and box[0] + box[2] <= len(whole)
                inside = inside and box[1] + box[3] <= whole.shape[1]
                found = outcome(image.decode_jpeg, data, 3, ratio, crop=box, **options)
                if inside:
                    assert same(found, whole[box[0] : box[0] + box[2], box[1] : box[1] + box[3]])
                else:
                    assert isinstance(found, type) or found.shape == (*box[2:], 3)
        small = outcome(image.decode_jpeg, data, min_size=(4, 9), max_pixels=LIMIT)
        assert isinstance(small, type) or small.ndim == 3
        rng = np.random.default_rng(len(data))
        form = {"mean": 0.5, "std": 0.5, "layout": "CHW", "max_pixels": LIMIT}
        for found in (
            outcome(image.random_resized_crop, data, 9, rng=rng, exif=True, **form),
            outcome(image.random_resized_crop, data, 9, rng=rng, shrink=False, **form),
            outcome(image.center_crop_resize, data, 9, **form),
        ):
            assert isinstance(found, type) or (found.shape == (3, 9, 9) and abs(found).max() <= 1.0001)


# Files with tables and arrays.


def _tables():
    import pyarrow as pa
    from pyarrow import feather, parquet

    numbers = range(40)
    table = pa.table(
        {
            "n": pa.array(numbers, pa.int32()),
            "x": [None if i % 7 == 6 else i / 2 for i in numbers],
            "word": [f"{i}é" for i in numbers],
            "kind": pa.array(["odd" if i % 2 else "even" for i in numbers]).dictionary_encode(),
            "pair": pa.array([[i, 2 * i] for i in numbers], pa.list_(pa.int64(), 2)),
            "words": [["a"] * (i % 3) for i in numbers],
            "chat": [[{"role": "user", "text": "a" * i}] * (i % 3) for i in numbers],
            "box": [{"size": i, "flag": i % 3 == 0} for i in numbers],
        }
    )
    files = {"feather": [], "parquet": []}
    for compression in ("uncompressed", "lz4"):
        feather.write_feather(table, _FILE, compression=compression, chunksize=16)
        files["feather"].append(Path(_FILE).read_bytes())
    for checksums in (False, True):
        parquet.write_table(table, _FILE, row_group_size=16, write_page_checksum=checksums)
        files["parquet"].append(Path(_FILE).read_bytes())
    return files


def read_rows(source, data, suffix=""):
    """Read a file's rows, or return our error, which names the file."""
    Path(_FILE + suffix).write_bytes(data)
    said = _FILE + suffix
    try:
        list(source(_FILE + suffix))
    except (errors.OpError, ValueError) as error:
        said = str(error)
    assert _FILE + suffix in said


@target(*_tables()["parquet"])
def parquet(data):
    read_rows(pipeline.parquet, data)


@target(*_tables()["feather"])
def feather(data):
    read_rows(pipeline.feather, data)


def _npy():
    for array in (np.arange(12.0).reshape(3, 4), np.asfortranarray(np.ones((3, 2), np.int8)), np.array([b"a", b"bc"])):
        file = io.BytesIO()
        np.save(file, array)
        yield file.getvalue()


@target(*_npy())
def npy(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns about headers written by Python 2
        read_rows(pipeline.arrays, data, ".npy")


# The drop-in's own formats.


def _tensors():
    from pipeline.compat.graph import dtypes
    from pipeline.compat.ops.sparse.strings import packed

    yield packed(np.arange(12, dtype=np.float32).reshape(3, 4), dtypes.float32)
    yield packed(np.array([b"a", b"bc"], object), dtypes.string)
    yield b"\x08\x01\x12\x0c\x12\x0a\x08" + b"\xff" * 8 + b"\x7f"


@target(*_tensors())
def tensor(data):
    from pipeline.compat.graph import dtypes
    from pipeline.compat.ops.sparse.strings import packed, parsed

    indices, shape = (packed(np.array(each), dtypes.int64) for each in ([[0, 1], [1, 0]], [2, 2]))
    for dtype in (dtypes.float32, dtypes.string, dtypes.int64, dtypes.bool, dtypes.complex64, dtypes.float16):
        outcome(parsed, 0, (indices, data, shape), dtype)
    outcome(parsed, 0, (data, data, data), dtypes.int64)
