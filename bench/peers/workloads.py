"""The workloads, their data paths, and the decode function.

A workload needs shuffled or plain batches of 128 rows. `data.py` has made the files.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

BATCH = 128
POOL = 10_000  # rows in the shuffle buffer
PAGE = 500  # the same, for images
COLUMNS = 17  # in the CSV file: floats, and an integer at the end
RECORD = 256  # in bytes
LONGEST = 100  # maximum length, for rows with different lengths
PACKED = 1024  # numbers per packed row or token row
TOKENS = 20_000_000  # in the token file


class Work(NamedTuple):
    """A title, and the required form of a batch.

    That is its shape after the first dimension (None: bytes, or padded) and its dtype; `pool` is the shuffle buffer's
    row count. With `labels` a batch also has one integer per row: the row's index in this other workload's array, or
    with "class" its class index.
    """

    title: str
    shape: tuple[int, ...] | None
    dtype: str | None
    pool: int = 0
    labels: str | None = None


WORKS = {
    "f32_4": Work("shuffled, f32[4] in memory", (4,), "float32", POOL),
    "f32_32": Work("shuffled, f32[32] in memory", (32,), "float32", POOL),
    "f32_784": Work("shuffled, f32[784] in memory", (784,), "float32", POOL),
    "image": Work("shuffled, uint8[224,224,3] in memory", (224, 224, 3), "uint8", PAGE),
    "lines": Work("lines of 64 bytes from a file", None, None),
    "indexed": Work("lines of 64 bytes from a file, shuffled by an index", None, None),
    "tokens": Work("shuffled, rows of 1,024 tokens of uint16 from a file", (PACKED,), "uint16"),
    "csv": Work("CSV of 17 columns from a file", (COLUMNS,), "float32"),
    "tfrecord": Work("TFRecords of 256 bytes from a file", None, None),
    "parquet": Work("Parquet files of 16 f32 columns and labels", (16,), "float32", labels="f32_32"),
    "arrow": Work("shuffled, Arrow table of 16 f32 columns and labels", (16,), "float32", labels="f32_32"),
    "tar": Work("tar shards of f32[784] and labels", (784,), "float32", labels="f32_784"),
    "jpeg": Work(
        "shuffled, folders of JPEG files, 224 x 224 cut out, and labels", (224, 224, 3), "uint8", labels="class"
    ),
    "padded": Work("f32 rows of 1 to 100, padded", None, "float32"),
    "decode_1": Work("Python decode function, 1 thread or worker or none", (32,), "float32"),
    "decode_2": Work("Python decode function, 2 threads or workers", (32,), "float32"),
    "decode_4": Work("Python decode function, 4 threads or workers", (32,), "float32"),
    "mix": Work("two arrays of f32[32] mixed by weight", (32,), "float32"),
    "pack": Work("rows of 1 to 100 split in two, and packed into rows of 1,024", (1024,), "float32"),
    "filter": Work("filter, then the decode function in 2 threads or workers", (32,), "float32"),
    "once": Work("computed once and kept in a file, f32[784], shuffled", (784,), "float32"),
    "window": Work("windows of 16 rows, f32[4], every 4 rows", (16, 4), "float32"),
}
CHAINS = {"mix", "pack", "filter", "window"}  # with several transformations

ROWS = {"f32_4": 30_000, "f32_32": 30_000, "f32_784": 30_000, "image": 1_000}
LINES = RECORDS = 100_000
CSV_ROWS = 20_000
PADDED_ROWS = 20_000
DECODED = 100_000  # numbers to decode
WEIGHTS = [0.7, 0.3]  # mixing weights
WINDOW, STRIDE = 16, 4
JPEGS = 2_000  # files, 65 KB each
CLASSES = 10
NAMES = [f"c{i:02}" for i in range(16)]  # table columns
TABLES = SHARDS = 4  # files each
SAMPLES = 10_000  # in all shards together
TOP, LEFT, SIDE = 75, 138, 224  # cut out of each image
MIDDLE = (TOP, LEFT, SIDE, SIDE)


def decode(number):
    """Return an example, f32[32], from its number: about 50 us in Python and NumPy, with the GIL held."""
    state, values = int(number), []
    for _ in range(192):
        state = (state * 1_103_515_245 + 12_345) & 0x7FFFFFFF
        values.append(state / 0x7FFFFFFF)
    pixels = np.array(values, np.float32).reshape(6, 32)
    return (pixels - pixels.mean(axis=0)).std(axis=0)


def doubled(row):
    """Compute a row once."""
    return row * 2


def passes(number):
    """Return whether the filter keeps a number: two out of four, so a worker with every second number keeps half."""
    return number % 4 < 2


def halves(row):
    """Return a row as two."""
    return row[: len(row) // 2], row[len(row) // 2 :]


def two_arrays(directory):
    """Return the arrays to mix."""
    data = rows(directory, "f32_32")
    return data[: len(data) // 2], data[len(data) // 2 :]


def rows(directory, work):
    """Return the array with the rows in memory."""
    return np.load(Path(directory) / f"{work}.npy")


def padded_rows(directory):
    """Return rows with different lengths, end to end, and their start offsets, followed by the end."""
    with np.load(Path(directory) / "padded.npz") as data:
        return data["values"], data["splits"]


def path(directory, work):
    """Return the file with lines, tokens, CSV or TFRecords."""
    return str(Path(directory) / ("lines" if work == "indexed" else work))


def paths(directory, work):
    """Return the files for a workload with several."""
    return sorted(str(name) for name in (Path(directory) / work).iterdir() if name.is_file())


def line_places(name):
    """Return each line's offset in a file, followed by the end."""
    with open(name, "rb") as file:
        ends = np.cumsum([len(line) for line in file])
    return np.concatenate([[0], ends])


class Line:
    """A file's lines by index; it pickles."""

    def __init__(self, name):
        self.name, self.places, self.file = name, line_places(name), None

    def __len__(self):
        return len(self.places) - 1

    def __getitem__(self, number):
        if self.file is None:
            self.file = open(self.name, "rb")  # noqa: SIM115
        self.file.seek(self.places[number])
        return self.file.readline()[:-1]

    def __getstate__(self):
        return {**self.__dict__, "file": None}


class TokenRow:
    """The rows in a mapped token file by index, cut as in nanoGPT; it pickles."""

    def __init__(self, name):
        self.name, self.data = name, None

    def __len__(self):
        return TOKENS // PACKED

    def __getitem__(self, number):
        if self.data is None:
            self.data = np.memmap(self.name, np.uint16, "r")
        return np.array(self.data[number * PACKED : (number + 1) * PACKED])

    def __getstate__(self):
        return {**self.__dict__, "data": None}


def jpegs(directory):
    """Return the image files, and each one's class index, from its folder."""
    names = sorted((Path(directory) / "jpeg").glob("*/*.jpg"))
    return [str(name) for name in names], [int(name.parent.name) for name in names]


def cut(image):
    """Return an image's middle."""
    return image[TOP : TOP + SIDE, LEFT : LEFT + SIDE]
