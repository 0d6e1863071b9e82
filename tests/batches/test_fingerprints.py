"""What the fingerprint says of an order depends on the records, not on how they were read."""

import fractions
import itertools
import json
import sys
import zlib

import numpy as np
import pytest

import pipeline
from pipeline.errors import FailedPreconditionError, StateMismatchError

FILES = [13, 0, 20, 1, 34]
_MASK = (1 << 64) - 1


def mixed(value):
    """The finalizer of splitmix64, with its increment."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def folded(ids, value=0):
    for each in ids:
        value = (value * 0x9E3779B97F4A7C15 + mixed(each)) & _MASK
    return value


def text(ids):
    return f"{len(ids)}-{folded(ids):016x}"


def write(kind, folder):
    """Files of different lengths, and the fingerprint's number of each record of each file."""
    paths, numbers = [], []
    for i, count in enumerate(FILES):
        path, records = folder / str(i), [b"%d" % (10_000 + 100 * i + j) for j in range(count)]
        paths.append(path)
        if kind == "tfrecord":
            pytest.importorskip("google_crc32c", reason="the extra tfrecord is not installed")
            with pipeline.TFRecordWriter(path) as writer:
                for record in records:
                    writer.write(record)
            places = [21 * j for j in range(count)]
        elif kind == "lmdb":
            lmdb = pytest.importorskip("lmdb")
            with lmdb.open(str(path)) as database, database.begin(write=True) as transaction:
                for record in records:
                    transaction.put(record, record)
            places = range(count)
        elif kind in ("whole", "identity"):
            path.write_bytes(b"%d" % i)
            places = [0]
        else:
            path.write_bytes(b"".join(record + b"\n" for record in records))
            places = range(1, count + 1) if kind == "lines" else range(count)
        numbers.append([(i << 40) + place for place in places])
    return paths, numbers


READERS = {
    "lines": pipeline.TextLineReader,
    "tfrecord": pipeline.TFRecordReader,
    "fixed": lambda **options: pipeline.FixedLengthRecordReader(6, **options),
    "lmdb": pipeline.LMDBReader,
    "whole": pipeline.WholeFileReader,
    "identity": pipeline.IdentityReader,
}


@pytest.fixture(params=READERS)
def records(request, tmp_path):
    paths, numbers = write(request.param, tmp_path)

    def make(shard=None):
        files = pipeline.string_input_producer(paths, num_epochs=2, seed=4, shard=shard)
        return READERS[request.param](), files

    return make, numbers


def order(numbers, shard=(0, 1)):
    """The numbers of all records in the order in which the producer gives the files."""
    files = pipeline.range_input_producer(len(FILES), num_epochs=2, seed=4)
    epochs = [int(files._element(i)) for i in range(2 * len(FILES))]
    shares = [epochs[at : at + len(FILES)][shard[0] :: shard[1]] for at in (0, len(FILES))]
    return list(itertools.chain(*(numbers[file] for file in itertools.chain(*shares))))


def test_of_single_records(records):
    make, numbers = records
    for threads in (0, 1, 4):
        reader, files = make()
        with pipeline.batch(lambda r=reader, f=files: r.read(f), 1, num_threads=threads, deterministic=True) as loop:
            assert len(list(loop)) == len(order(numbers))
            assert loop.fingerprint() == text(order(numbers))


@pytest.mark.parametrize(("size", "batch_size"), [(2, 7), (5, 3), (64, 1)])
def test_of_blocks(records, size, batch_size):
    make, numbers = records
    reader, files = make()
    options = {"enqueue_many": True, "deterministic": True, "allow_smaller_final_batch": True, "num_threads": 2}
    with pipeline.batch(lambda: (reader.read_up_to(files, size).values,), batch_size, **options) as loop:
        list(loop)
        assert loop.fingerprint() == text(order(numbers))


def test_of_shares_of_the_files(records):
    make, numbers = records
    for host in range(2):
        reader, files = make((host, 2))
        with pipeline.batch(lambda r=reader, f=files: r.read(f), 1, deterministic=True) as loop:
            list(loop)
            assert loop.fingerprint() == text(order(numbers, (host, 2)))


def test_after_a_resume(records):
    make, numbers = records
    state, steps = None, 0
    while True:
        reader, files = make()
        loop = pipeline.shuffle_batch(
            lambda r=reader, f=files: r.read(f), 3, 40, 9, seed=2, deterministic=True, allow_smaller_final_batch=True
        )
        with loop:
            if state is not None:
                loop.load_state_dict(state)
            if not list(itertools.islice(loop, 4)):
                break
            state, steps = loop.state_dict(), steps + 1
    reader, files = make()
    with pipeline.shuffle_batch(
        lambda: reader.read(files), 3, 40, 9, seed=2, deterministic=True, allow_smaller_final_batch=True
    ) as whole:
        list(whole)
    assert (steps > 1) or len(order(numbers)) <= 12
    assert state["fingerprint"] == whole.fingerprint()


def test_of_blocks_whose_bad_records_are_left_out(tmp_path, request):
    paths, numbers = write("tfrecord", tmp_path)

    def decode(value):
        number = int(value)
        if number % 5 == 2:
            raise ValueError(number)
        return number

    kept = [number for number in order(numbers) if number % (1 << 40) // 21 % 5 != 2]
    before = sys.getswitchinterval()
    request.addfinalizer(lambda: sys.setswitchinterval(before))
    sys.setswitchinterval(1e-5)  # while one thread is given a record again, the other one reads on
    for blocks in [False, *[True] * 20]:
        files, reader = pipeline.string_input_producer(paths, num_epochs=2, seed=4), pipeline.TFRecordReader()
        source = (
            (lambda r=reader, f=files: np.array([decode(value) for value in r.read_up_to(f, 7).values]))
            if blocks
            else (lambda r=reader, f=files: decode(r.read(f).value))
        )
        options = {"enqueue_many": blocks, "on_error": "skip", "deterministic": True, "num_threads": 2}
        with pipeline.batch(source, 1, **options) as loop:
            assert len(list(loop)) == len(kept)
            assert loop.fingerprint() == text(kept)


def test_of_shares_of_hosts_make_that_of_all(tmp_path):
    """Of two runs of elements A, B: H(AB) = H(A) P^|B| + H(B)."""
    paths, numbers = write("lines", tmp_path)
    parts = []
    for host in range(2):
        files, reader = pipeline.string_input_producer(paths, num_epochs=2, seed=4), pipeline.TextLineReader()
        loop = pipeline.batch(lambda r=reader, f=files: r.read(f), 4, deterministic=True, shard=(host, 2))
        parts.append([loop.fingerprint() for _ in loop])
    assert len(parts[0]) == sum(FILES) * 2 // 8
    value, whole = 0, order(numbers)
    shares = [[int(text.partition("-")[2], 16) for text in ["0-0", *part]] for part in parts]
    power = pow(0x9E3779B97F4A7C15, 4, 1 << 64)
    for batch in range(1, len(parts[0]) + 1):
        for share in shares:
            of_batch = (share[batch] - share[batch - 1] * power) & _MASK
            value = (value * power + of_batch) & _MASK
    assert value == folded(whole[: 8 * len(parts[0])])


def examples(changed=-1):
    """Five components of several kinds; one value may be another."""
    for i in range(20):
        value = i + 100 * (i == changed)
        yield {
            "number": value,
            "row": np.arange(3, dtype=np.float32) + i,
            "bytes": b"x" * i,
            "text": "y" * (i % 4),
            "object": fractions.Fraction(i, 7),
        }


def content_of(batch_size, source=None, **options):
    loop = pipeline.batch(
        list(source or examples()), batch_size, fingerprint="content", allow_smaller_final_batch=True, **options
    )
    list(loop)
    return loop.fingerprint(content=True)


class TestContent:
    def test_does_not_depend_on_the_batch_size(self):
        assert len({content_of(size) for size in (1, 3, 7, 20)}) == 1

    def test_is_that_of_the_bytes(self):
        rows = np.random.default_rng(0).integers(0, 256, (50, 7), np.uint8)
        loop = pipeline.batch(rows, 8, fingerprint="content", allow_smaller_final_batch=True)
        list(loop)
        crc = zlib.crc32(zlib.crc32(rows.tobytes()).to_bytes(4, "little"))
        assert loop.fingerprint(content=True) == f"{loop.fingerprint()}-{crc:08x}"

    @pytest.mark.parametrize("changed", [0, 19])
    def test_finds_another_value_where_the_order_is_the_same(self, changed):
        one, other = content_of(6), content_of(6, examples(changed))
        assert one.rpartition("-")[0] == other.rpartition("-")[0]
        assert one != other

    def test_where_strings_end_counts(self):
        assert content_of(2, [b"ab", b"c"]) != content_of(2, [b"a", b"bc"])

    def test_goes_on_after_a_resume(self):
        def make(size=3):
            return pipeline.shuffle_batch(
                list(examples()), size, 30, 7, seed=1, fingerprint="content", allow_smaller_final_batch=True
            )

        whole = make(4)
        list(whole)
        with make() as loop:
            list(itertools.islice(loop, 3))
            state = loop.state_dict()
        loop = make()
        loop.load_state_dict(json.loads(json.dumps(state)))
        assert loop.fingerprint(content=True).endswith("-" + combined_text(state["content"]))
        list(loop)
        assert loop.fingerprint(content=True) == whole.fingerprint(content=True)

    def test_of_buckets(self):
        def run(threads, change=0):
            numbers = pipeline.range_input_producer(40, num_epochs=1, seed=2)
            source = lambda: np.full(int(numbers.dequeue()) % 7 + 1, 1 + change)  # noqa: E731
            loop = pipeline.bucket_by_sequence_length(len, source, 3, [3, 5], threads, fingerprint="content")
            list(loop)
            return loop.fingerprint(content=True)

        assert run(1) == run(4) != run(1, change=1)

    def test_must_be_asked_for_at_the_start(self):
        loop = pipeline.batch([1], 1, deterministic=True)
        with pytest.raises(FailedPreconditionError, match='pass fingerprint="content" to the batch function'):
            loop.fingerprint(content=True)
        state = loop.state_dict()
        with pytest.raises(StateMismatchError, match="fingerprint"):
            pipeline.batch([1], 1, fingerprint="content").load_state_dict(state)


def combined_text(hexes):
    crc = zlib.crc32(b"".join(int(each, 16).to_bytes(4, "little") for each in hexes))
    return f"{crc:08x}"
