"""Loops with a fixed order by name, over files of any size, and the oracle's results for each.

Every example is made from a number: (number, three floats derived from it). So a batch shows which examples it holds,
and whether they are whole.
"""

import hashlib
import random
import struct
import time
from typing import NamedTuple

import lockstep
import numpy as np

import pipeline

SEED = 9
SEEDS = (87654321, SEED)  # the seeds derived from SEED without a global seed
FILES_SEED = 5
EPOCHS = 2
BATCH = 8
POOL = 50
BAD = 17  # if requested, every n-th example is not a number


class Settings(NamedTuple):
    """How a loop is run. None of it may change the result."""

    folder: str
    threads: int = 1
    room: int = 1  # in the queue, beyond the minimum
    chaos: bool = False


def features(number):
    return np.array([number, number / 7, -number % 13], np.float32)


class Chaos:
    """Waits in about every third call, for up to two milliseconds."""

    def __init__(self, on):
        self._random = random.Random() if on else None

    def __call__(self):
        if self._random is not None and self._random.random() < 0.3:
            time.sleep(self._random.random() * 0.002)


# The input -----------------------------------------------------------------------------------------------------------

SIZES = [37, 0, 80, 1, 61]  # lines in each file


def write_files(folder, scale=1):
    """Write the loops' files: lines, records with 8 bytes, TFRecords, and the same compressed."""
    (folder / "count").write_text(str(sum(SIZES) * scale))
    for index, numbers in enumerate(contents(scale)):
        # Line endings differ, and a file's last line has none.
        lines = b"a header\n" + b"".join(b"%d\r\n" % n if n % 5 == 0 else b"%d\n" % n for n in numbers)
        lines = lines.removesuffix(b"\n").removesuffix(b"\r")
        (folder / f"{index}.txt").write_bytes(lines)
        packed = b"head" + b"".join(struct.pack("<q", n) for n in numbers)
        (folder / f"{index}.bin").write_bytes(packed)
        for ending, compression in (("tfrecord", ""), ("tfrecord.gz", "GZIP")):
            with pipeline.TFRecordWriter(folder / f"{index}.{ending}", compression) as writer:
                for number in numbers:
                    writer.write(b"%d" % number)


def contents(scale=1):
    """Return the numbers in each file."""
    first = 0
    for size in SIZES:
        yield range(first, first + size * scale)
        first += size * scale


def _names(settings, ending):
    return [f"{settings.folder}/{index}.{ending}" for index in range(len(SIZES))]


def _order(shuffle=True):
    return {"num_epochs": EPOCHS, "shuffle": shuffle, "seed": FILES_SEED if shuffle else None}


def _files(settings, ending, name="files"):
    """Return a producer of file names, for functions that read."""
    return pipeline.string_input_producer(_names(settings, ending), EPOCHS, True, FILES_SEED, name=name, collection=[])


def _numbers(settings):
    """Return all numbers in the files, as an array."""
    with open(f"{settings.folder}/count") as file:
        return np.arange(int(file.read()))


# The loops -----------------------------------------------------------------------------------------------------------


def _shuffled(source, settings, **options):
    return pipeline.shuffle_batch(
        source,
        BATCH,
        POOL + settings.room,
        POOL,
        settings.threads,
        SEED,
        allow_smaller_final_batch=True,
        deterministic=True,
        **options,
    )


def _in_order(source, settings, **options):
    return pipeline.batch(
        source,
        BATCH,
        settings.threads,
        settings.room,
        allow_smaller_final_batch=True,
        deterministic=True,
        **options,
    )


def _examples(source, settings, number=int):
    """Return examples made from a source's records."""
    chaos = Chaos(settings.chaos)

    def example(record):
        chaos()
        return np.int64(number(record)), features(number(record))

    return source.map(example)


def _lines(settings, shuffle=True):
    return _examples(pipeline.text(_names(settings, "txt"), skip_lines=1, **_order(shuffle)), settings)


def _unpacked(record):
    return struct.unpack("<q", record)[0]


def lines(settings):
    return _shuffled(_lines(settings), settings)


def lines_in_order(settings):
    return _in_order(_lines(settings, shuffle=False), settings)


def line_blocks(settings):
    chaos = Chaos(settings.chaos)

    def block(texts):
        chaos()
        numbers = [int(text) for text in texts]
        return np.array(numbers), np.stack([features(number) for number in numbers])

    blocks = pipeline.text(_names(settings, "txt"), skip_lines=1, **_order()).batch(7).map(block)
    return _shuffled(blocks, settings, enqueue_many=True)


def records(settings):
    source = pipeline.fixed_length(_names(settings, "bin"), 8, header_bytes=4, **_order())
    return _shuffled(_examples(source, settings, _unpacked), settings)


def tf_records(settings):
    return _shuffled(_examples(pipeline.tfrecord(_names(settings, "tfrecord"), **_order()), settings), settings)


def zipped_records(settings):
    source = pipeline.tfrecord(_names(settings, "tfrecord.gz"), compression="GZIP", **_order())
    return _shuffled(_examples(source, settings), settings)


def slices(settings):
    numbers = _numbers(settings)
    rows = np.stack([features(number) for number in numbers])
    source = pipeline.slice_input_producer([numbers, rows], EPOCHS, True, FILES_SEED, collection=[])
    return _shuffled(source, settings)


def slices_in_order(settings):
    numbers = _numbers(settings)
    rows = np.stack([features(number) for number in numbers])
    source = pipeline.slice_input_producer([numbers, rows], EPOCHS, False, collection=[])
    return _in_order(source, settings)


def sequence(settings):
    return _shuffled([(number, features(number)) for number in _numbers(settings)], settings)


def mapped(settings):
    """A function in threads."""
    chaos = Chaos(settings.chaos)

    def function(number):
        chaos()
        return number, features(number)

    dataset = pipeline.dataset(_numbers(settings)).map(function, workers=settings.threads or None)
    return _as_dataset(dataset, settings)


def _as_dataset(examples, settings):
    """The counterpart to `_shuffled`, written as a dataset."""
    return iter(examples.shuffle(POOL + 1, seed=SEED).batch(BATCH).prefetch(settings.room % 9))


def kept(settings):
    """Keep two in three examples."""
    return _as_dataset(_lines(settings).filter(lambda example: example[0] % 3), settings)


def _unless_bad(example):
    number, _ = example
    if number % BAD == 0:
        raise ValueError(f"{number} is bad")
    return example


def skipped(settings):
    """Some examples fail."""
    return _shuffled(_lines(settings).map(_unless_bad, on_error="skip"), settings)


def bucketed(settings):
    return pipeline.bucket_by_sequence_length(
        lambda example: int(example[0]) % 30,
        _lines(settings),
        BATCH,
        [10, 20],
        settings.threads,
        settings.room,
        allow_smaller_final_batch=True,
        deterministic=True,
    )


def joined(settings):
    """Two sources, turn by turn."""
    return pipeline.shuffle_batch_join(
        [_lines(settings), _lines(settings, shuffle=False)],
        BATCH,
        POOL + settings.room,
        POOL,
        SEED,
        allow_smaller_final_batch=True,
        deterministic=True,
    )


def two_sources(settings):
    """The number from one source, the floats from another."""
    others = pipeline.fixed_length(_names(settings, "bin"), 8, header_bytes=4, **_order())
    pairs = pipeline.zip(_lines(settings), others)
    return _shuffled(pairs.map(lambda pair: (pair[0][0], features(_unpacked(pair[1])))), settings)


def augmented(settings):
    """With noise, the same for equal examples."""

    def noisy(example):
        number, row = example
        return number, row + pipeline.example_rng().normal(size=3).astype(np.float32)

    return _as_dataset(_lines(settings).map(noisy, workers=settings.threads or None, seed=SEED), settings)


def _reading(settings):
    """Return a function reading the next line as an example."""
    files, chaos, reader = _files(settings, "txt"), Chaos(settings.chaos), pipeline.TextLineReader(1)

    def example():
        _, line = reader.read(files)
        chaos()
        return np.int64(int(line)), features(int(line))

    return example


def read(settings):
    return _shuffled(_reading(settings), settings)


def read_blocks(settings):
    files, chaos, reader = _files(settings, "txt"), Chaos(settings.chaos), pipeline.TextLineReader(1)

    def block():
        _, texts = reader.read_up_to(files, 7)
        chaos()
        numbers = [int(text) for text in texts]
        return np.array(numbers), np.stack([features(number) for number in numbers])

    return _shuffled(block, settings, enqueue_many=True)


def read_and_skipped(settings):
    inner = _reading(settings)
    return _shuffled(lambda: _unless_bad(inner()), settings, on_error="skip")


def read_one_or_two(settings):
    """An example consumes one line or two, in turn."""
    files, chaos, reader = _files(settings, "txt"), Chaos(settings.chaos), pipeline.TextLineReader(1)

    def example():
        _, line = reader.read(files)
        if int(line) % 4 == 1:
            _, line = reader.read(files)
        chaos()
        number = int(line)
        return np.int64(number), features(number)

    return _shuffled(example, settings)


def read_by_two(settings):
    """The number from one reader, the floats from another."""
    inner, others = _reading(settings), _files(settings, "bin", name="others")
    other = pipeline.FixedLengthRecordReader(8, header_bytes=4)

    def example():
        number, _ = inner()
        _, record = other.read(others)
        return number, features(_unpacked(record))

    return _shuffled(example, settings)


SAVED = {
    make.__name__: make
    for make in (
        lines,
        lines_in_order,
        line_blocks,
        records,
        zipped_records,
        tf_records,
        slices,
        slices_in_order,
        sequence,
        mapped,
        kept,
        skipped,
        bucketed,
        joined,
        two_sources,
        augmented,
    )
}
# Also for functions, because their order is fixed, although they have no states.
LOOPS = SAVED | {make.__name__: make for make in (read, read_blocks, read_and_skipped, read_one_or_two, read_by_two)}


def make(kind, folder, **settings):
    """Return the loop with this name; none of `settings` may change its output."""
    return LOOPS[kind](Settings(str(folder), **settings))


def random_settings(rng, chaos=False):
    return {"threads": rng.randrange(1, 9), "room": rng.choice([1, 2, 8, 100, 5000]), "chaos": chaos}


# Output --------------------------------------------------------------------------------------------------------------


def digest(batch):
    """Return a digest over a batch's bytes, row by row."""
    total = hashlib.blake2b(digest_size=8)
    for row in zip(*components(batch), strict=True):
        for part in row:
            total.update(part.tobytes())
    return total.hexdigest()


def components(batch):
    for part in batch:
        if isinstance(part, (list, tuple)):
            yield from components(part)
        else:
            yield part


def numbers_of(batch):
    return list(next(components(batch)))


# The oracle ----------------------------------------------------------------------------------------------------------


def permutation(seed, seed2, skip, rows):
    order = list(range(rows))
    for k in range(rows - 1):
        other = k + lockstep.word(seed, seed2, 4 * skip + k) % (rows - k)
        order[k], order[other] = order[other], order[k]
    return order


def epochs(rows, shuffle=True):
    """Rows in a producer's order."""
    for epoch in range(EPOCHS):
        yield from permutation(*(87654321, FILES_SEED), epoch * -(-(rows - 1) // 4), rows) if shuffle else range(rows)


def in_files(scale, shuffle=True):
    """The numbers in a reader's order."""
    files = list(contents(scale))
    return [number for file in epochs(len(files), shuffle) for number in files[file]]


def _in_turn(*sources):
    lists = [list(source) for source in sources]
    return [each[i] for i in range(max(map(len, lists))) for each in lists if i < len(each)]


def _arrivals(kind, scale):
    count = sum(SIZES) * scale
    if kind in ("slices", "slices_in_order"):
        return list(epochs(count, kind == "slices"))
    if kind in ("sequence", "mapped"):
        return list(range(count))
    read = in_files(scale, kind != "lines_in_order")
    if kind == "kept":
        return [number for number in read if number % 3]
    if kind == "read_and_skipped":
        return [number for number in read if number % BAD]
    if kind == "joined":
        return _in_turn(read, in_files(scale, False))
    if kind == "read_one_or_two":
        following = iter(read)
        return [
            number for each in following if (number := next(following, None) if each % 4 == 1 else each) is not None
        ]
    return read


def expected(kind, scale=1):
    """Return the numbers expected from a loop, in order; None where the oracle does not reach."""
    if kind == "bucketed":
        return None
    arrivals = _arrivals(kind, scale)
    if kind in ("lines_in_order", "slices_in_order"):
        return arrivals
    drawn = lockstep.play(*SEEDS, POOL, arrivals)[0]
    return [number for number in drawn if kind != "skipped" or number % BAD]  # a function is called for each draw


def expected_digests(kind, scale=1):
    """Return the digests of the batches expected from a loop; None where the oracle does not reach."""
    numbers = expected(kind, scale)
    if numbers is None or kind == "augmented":
        return None
    batches = [numbers[first : first + BATCH] for first in range(0, len(numbers), BATCH)]
    return [digest([np.array(batch, np.int64), np.stack([features(number) for number in batch])]) for batch in batches]
