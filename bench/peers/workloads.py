"""The workloads: their data, made once and shared in files, and the function that decodes.

A workload asks for shuffled or plain batches of 128. Everything is made from seeds, so every machine has the same data.
"""

import struct
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

BATCH = 128
POOL = 10_000  # rows to shuffle among
PAGE = 500  # the same, of images
COLUMNS = 17  # of the CSV file: floats, and an integer at the end
RECORD = 256  # bytes
LONGEST = 100  # of the rows of various lengths


class Work(NamedTuple):
    """A title, and what a batch must be: its shape after the first dimension (None: bytes, or padded) and its dtype."""

    title: str
    shape: tuple[int, ...] | None
    dtype: str | None
    pool: int = 0


WORKS = {
    "f32_4": Work("shuffled, f32[4] in memory", (4,), "float32", POOL),
    "f32_32": Work("shuffled, f32[32] in memory", (32,), "float32", POOL),
    "f32_784": Work("shuffled, f32[784] in memory", (784,), "float32", POOL),
    "image": Work("shuffled, uint8[224,224,3] in memory", (224, 224, 3), "uint8", PAGE),
    "lines": Work("lines of 64 bytes from a file", None, None),
    "csv": Work("CSV of 17 columns from a file", (COLUMNS,), "float32"),
    "tfrecord": Work("TFRecords of 256 bytes from a file", None, None),
    "jpeg": Work("JPEG files of 375 x 500, decoded, 224 x 224 cut out", (224, 224, 3), "uint8"),
    "padded": Work("f32 rows of 1 to 100, padded", None, "float32"),
    "decode_1": Work("Python decode function, 1 thread or worker or none", (32,), "float32"),
    "decode_2": Work("Python decode function, 2 threads or workers", (32,), "float32"),
    "decode_4": Work("Python decode function, 4 threads or workers", (32,), "float32"),
}

ROWS = {"f32_4": 30_000, "f32_32": 30_000, "f32_784": 30_000, "image": 1_000}
LINES = RECORDS = 100_000
CSV_ROWS = 20_000
PADDED_ROWS = 20_000
DECODED = 100_000  # numbers to decode
JPEGS = 2_000  # files, of 65 KB
TOP, LEFT, SIDE = 75, 138, 224  # what is cut out of an image


def decode(number):
    """An example, f32[32], from its number: some 50 us of Python and NumPy that hold the interpreter's lock."""
    state, values = int(number), []
    for _ in range(192):
        state = (state * 1_103_515_245 + 12_345) & 0x7FFFFFFF
        values.append(state / 0x7FFFFFFF)
    pixels = np.array(values, np.float32).reshape(6, 32)
    return (pixels - pixels.mean(axis=0)).std(axis=0)


def rows(directory, work):
    """The array of the rows in memory."""
    return np.load(Path(directory) / f"{work}.npy")


def padded_rows(directory):
    """The rows of various lengths, end to end, and where each begins; the last number is the end."""
    with np.load(Path(directory) / "padded.npz") as data:
        return data["values"], data["splits"]


def path(directory, work):
    """The file of lines, CSV or TFRecords."""
    return str(Path(directory) / work)


def jpegs(directory):
    """The files of images."""
    return sorted(str(name) for name in (Path(directory) / "jpeg").glob("*.jpg"))


def cut(image):
    """The middle of an image."""
    return image[TOP : TOP + SIDE, LEFT : LEFT + SIDE]


def generate(directory):
    """Write the files that are missing. Images need simplejpeg, and are left out without it."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    for work, count in ROWS.items():
        write(directory / f"{work}.npy", lambda file, work=work, count=count: np.save(file, make_rows(work, count)))
    write(directory / "lines", lambda file: file.writelines(b"%063d\n" % i for i in range(LINES)))
    write(directory / "csv", write_csv)
    write(directory / "tfrecord", write_records)
    write(directory / "padded.npz", write_padded)
    if find_spec("simplejpeg"):
        write_jpegs(directory / "jpeg")


def write(name, fill):
    if not name.exists():
        part = name.with_suffix(".part")
        with part.open("wb") as file:
            fill(file)
        part.rename(name)


def make_rows(work, count):
    random, shape = np.random.default_rng(1), WORKS[work].shape
    if WORKS[work].dtype == "uint8":
        return random.integers(0, 256, (count, *shape), np.uint8)
    return random.random((count, *shape), np.float32)


def write_csv(file):
    values = np.random.default_rng(2).random((CSV_ROWS, COLUMNS - 1))
    for i, row in enumerate(values):
        file.write(",".join([f"{value:.4f}" for value in row] + [str(i % 10)]).encode() + b"\n")


def write_padded(file):
    random = np.random.default_rng(3)
    splits = np.concatenate([[0], random.integers(1, LONGEST + 1, PADDED_ROWS).cumsum()])
    np.savez(file, values=random.random(splits[-1], np.float32), splits=splits)


def write_jpegs(directory):
    """Write images of soft shapes with some noise, which take as many bytes as photographs."""
    import simplejpeg  # the peers, who import this too, need not have it

    directory.mkdir(exist_ok=True)
    random = np.random.default_rng(5)
    down, across = np.mgrid[:375, :500] / 500
    for i in range(JPEGS):
        waves = random.uniform(2, 30, (3, 2, 1, 1))
        image = np.sin(waves[:, 0] * down + random.uniform(0, 6)) * np.cos(waves[:, 1] * across)
        image = 127 + 90 * image + random.normal(0, 9, (375, 500))
        pixels = np.ascontiguousarray(image.clip(0, 255).astype(np.uint8).transpose(1, 2, 0))
        write(directory / f"{i:04}.jpg", lambda file, pixels=pixels: file.write(simplejpeg.encode_jpeg(pixels, 85)))


def write_records(file):
    content = np.random.default_rng(4).integers(0, 256, (RECORDS, RECORD), np.uint8)
    header = struct.pack("<Q", RECORD)
    header += struct.pack("<I", masked_crc(header))
    for record in content:
        data = record.tobytes()
        file.write(header + data + struct.pack("<I", masked_crc(data)))


TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ 0x82F63B78 * (byte & 1)
    TABLE.append(byte)


def masked_crc(data):
    """The checksum of TFRecords: CRC-32C, rotated, plus a constant."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


if __name__ == "__main__":
    generate(sys.argv[1])
