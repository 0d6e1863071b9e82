"""Make the workloads' data files once. All data comes from seeds, so it is the same on every machine.

python bench/peers/data.py DIRECTORY
"""

import io
import struct
import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from workloads import (
    CLASSES,
    COLUMNS,
    CSV_ROWS,
    JPEGS,
    LINES,
    LONGEST,
    NAMES,
    PADDED_ROWS,
    RECORD,
    RECORDS,
    ROWS,
    SAMPLES,
    SHARDS,
    TABLES,
    TOKENS,
    WORKS,
    rows,
)


def generate(directory):
    """Write missing files. Images need simplejpeg and tables pyarrow; without these they are left out."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    for work, count in ROWS.items():
        write(directory / f"{work}.npy", lambda file, work=work, count=count: np.save(file, make_rows(work, count)))
    write(directory / "lines", lambda file: file.writelines(b"%063d\n" % i for i in range(LINES)))
    write(
        directory / "tokens", lambda file: np.random.default_rng(6).integers(0, 50_257, TOKENS, np.uint16).tofile(file)
    )
    write(directory / "csv", write_csv)
    write(directory / "tfrecord", write_records)
    write(directory / "padded.npz", write_padded)
    write_shards(directory / "tar", rows(directory, "f32_784")[:SAMPLES])
    if find_spec("pyarrow"):
        write_tables(directory, rows(directory, "f32_32")[:, : len(NAMES)])
    if find_spec("simplejpeg"):
        write_jpegs(directory / "jpeg")


def write(name, fill):
    name.parent.mkdir(parents=True, exist_ok=True)
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


def write_shards(directory, values):
    """Write samples with one row and its index, in WebDataset format."""
    for shard, numbers in enumerate(np.array_split(np.arange(len(values)), SHARDS)):
        write(directory / f"shard-{shard}.tar", lambda file, numbers=numbers: write_samples(file, values, numbers))


def write_samples(file, values, numbers):
    with tarfile.open(fileobj=file, mode="w") as archive:
        for number in numbers:
            content = io.BytesIO()
            np.save(content, values[number])
            for extension, data in (("npy", content.getvalue()), ("cls", b"%d" % number)):
                member = tarfile.TarInfo(f"{number:05}.{extension}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))


def write_tables(directory, values):
    """Write columns and row indices, as Parquet files and as one Arrow file."""
    import pyarrow  # peers without tables need not have it
    from pyarrow import feather, parquet

    columns = {name: values[:, i] for i, name in enumerate(NAMES)}
    table = pyarrow.table({**columns, "label": np.arange(len(values))})
    count = len(values) // TABLES
    for i in range(TABLES):
        part = table.slice(i * count, count)
        write(
            directory / "parquet" / f"part-{i}.parquet",
            lambda file, part=part: parquet.write_table(part, file, row_group_size=2500),
        )
    write(directory / "arrow", lambda file: feather.write_feather(table, file, compression="uncompressed"))


def write_jpegs(directory):
    """Write images with soft shapes and some noise, as large in bytes as photographs."""
    import simplejpeg  # peers import this module too, and need not have it

    random = np.random.default_rng(5)
    noise = random.normal(127, 9, (375, 500, 1)).astype(np.float32)
    down, across = np.arange(375, dtype=np.float32) / 500, np.arange(500, dtype=np.float32) / 500
    for i in range(JPEGS):
        waves = random.uniform(2, 30, (2, 3)).astype(np.float32)
        column = 90 * np.sin(waves[0] * down[:, None, None] + np.float32(random.uniform(0, 6)))
        image = column * np.cos(waves[1] * across[:, None]) + np.roll(noise, i, axis=0)
        pixels = image.clip(0, 255).astype(np.uint8)
        name = directory / f"{i % CLASSES}" / f"{i:04}.jpg"
        write(name, lambda file, pixels=pixels: file.write(simplejpeg.encode_jpeg(pixels, 85)))


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
    """Return the TFRecord checksum: CRC-32C, rotated, plus a constant."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


if __name__ == "__main__":
    generate(sys.argv[1])
