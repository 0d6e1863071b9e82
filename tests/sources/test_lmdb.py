"""lmdb: database entries by index, in key order."""

import pickle
import struct

import dataset_contract
import numpy as np
import pytest
from source_contract import SourceContract
from test_tokens import raises

import pipeline
from pipeline.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)

lmdb = pytest.importorskip("lmdb")

COUNT = 60
LARGE = 7  # every n-th value has separate pages


def entry(number):
    return b"%05d" % number, b"value %d " % number * (1000 if number % LARGE == 0 else 1)


def write(path, entries, **options):
    with lmdb.open(str(path), map_size=1 << 26, **options) as made, made.begin(write=True) as transaction:
        for key, value in entries:
            transaction.put(key, value)


@pytest.fixture(autouse=True)
def _index(tmp_path, monkeypatch):
    monkeypatch.setenv("PIPELINE_INDEX_FOLDER", str(tmp_path / "index"))


class TestEntries(SourceContract):
    count = COUNT

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path, _index):
        write(tmp_path / "a", [entry(number) for number in reversed(range(40))])
        write(tmp_path / "b.lmdb", [entry(number) for number in range(40, COUNT)], subdir=False)
        write(tmp_path / "none", [])
        self.paths = [tmp_path / "a", tmp_path / "none", tmp_path / "b.lmdb"]

    def make(self, **options):
        return pipeline.lmdb(self.paths, **options)

    def numbers(self, batch):
        keys, values = batch
        numbers = [int(key) for key in keys]
        assert [entry(number) for number in numbers] == list(zip(keys.tolist(), values.tolist(), strict=True))
        return numbers


def test_entries_are_those_of_lmdb(tmp_path):
    rng = np.random.default_rng(1)
    keys = [rng.bytes(int(rng.integers(1, 400))) for _ in range(3000)]
    write(tmp_path / "a", [(key, rng.bytes(int(rng.integers(0, 9000)))) for key in keys])
    with lmdb.open(str(tmp_path / "a"), readonly=True) as opened, opened.begin() as transaction:
        expected = list(transaction.cursor())
    data = pipeline.lmdb(tmp_path / "a")
    assert list(data) == expected
    assert sorted(data.shuffle(seed=1)) == expected
    assert data[-1] == expected[-1]


def test_a_database_that_was_written_to(tmp_path):
    write(tmp_path / "a", [entry(1)])
    data = pipeline.lmdb(tmp_path / "a")
    assert len(data) == 1
    write(tmp_path / "a", [entry(2)])
    with raises(FailedPreconditionError, "a/data.mdb' has changed since it was indexed: make a new dataset"):
        list(data)
    assert list(pipeline.lmdb(tmp_path / "a")) == [entry(1), entry(2)]


def test_the_index_is_kept_in_a_folder(tmp_path):
    write(tmp_path / "a", [entry(1)])
    for _ in range(2):
        assert list(pipeline.lmdb(tmp_path / "a", index_folder=tmp_path / "mine")) == [entry(1)]
    assert len(list((tmp_path / "mine").glob("*.offsets"))) == 1


def test_databases_within_a_database_are_refused(tmp_path):
    with lmdb.open(str(tmp_path / "a"), max_dbs=1) as made:
        made.open_db(b"inner")
    with raises(InvalidArgumentError, "lmdb: '", "the key b'inner' is the name of a database within it"):
        pipeline.lmdb(tmp_path / "a")


def test_missing_databases(tmp_path):
    with pytest.raises(NotFoundError):
        pipeline.lmdb(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with raises(NotFoundError, "empty/data.mdb"):
        pipeline.lmdb(tmp_path / "empty")
    with raises(InvalidArgumentError, "lmdb: databases must be local, and 'memory://a' is a URL: copy it"):
        pipeline.lmdb("memory://a")


def test_a_value_above_the_limit(tmp_path):
    write(tmp_path / "a", [entry(LARGE)])
    with raises(ResourceExhaustedError, "a value at byte", "more than the limit of 100 bytes"):
        list(pipeline.lmdb(tmp_path / "a", max_record_bytes=100))


def test_damaged_databases(tmp_path):
    write(tmp_path / "a", [entry(number) for number in range(300)])
    good = (tmp_path / "a" / "data.mdb").read_bytes()
    for content in (b"", b"no database" * 1000, good[: len(good) // 2]):
        (tmp_path / "a" / "data.mdb").write_bytes(content)
        with raises(DataLossError, "a/data.mdb"):
            list(pipeline.lmdb(tmp_path / "a"))


def test_a_page_that_lost_entries(tmp_path):
    """Each tree page that seems to hold fewer entries is noticed."""
    write(tmp_path / "a", [entry(number) for number in range(300)])
    path = tmp_path / "a" / "data.mdb"
    good, size = path.read_bytes(), 4096
    changed = 0
    for begin in range(2 * size, len(good), size):
        flags, lower = struct.unpack_from("<2H", good, begin + 10)
        if flags == 2 and lower > 40:  # a leaf
            bad = bytearray(good)
            struct.pack_into("<H", bad, begin + 12, lower - 4)
            path.write_bytes(bad)
            with raises(DataLossError, "its pages have", "entries, and its header says 300"):
                pipeline.lmdb(tmp_path / "a")
            changed += 1
    assert changed > 1


def test_a_page_that_moved(tmp_path):
    """One key's value is not read for another."""
    write(tmp_path / "a", [(b"%d" % number, bytes([number]) * 9000) for number in range(20)])
    path = tmp_path / "a" / "data.mdb"
    good = path.read_bytes()
    path.write_bytes(good[:8192] + good[8192 + 4096 :] + bytes(4096))
    with raises(DataLossError, "a/data.mdb", "it says that it is page"):
        list(pipeline.lmdb(tmp_path / "a"))


def test_entries_that_overlap(tmp_path):
    write(tmp_path / "a", [entry(number) for number in range(1, 6)])
    path = tmp_path / "a" / "data.mdb"
    good = path.read_bytes()
    page = next(at for at in range(8192, len(good), 4096) if struct.unpack_from("<H", good, at + 10)[0] == 2)
    for change in (2, 22, 400):
        bad = bytearray(good)
        (place,) = struct.unpack_from("<H", good, page + 18)
        struct.pack_into("<H", bad, page + 18, place - change)
        path.write_bytes(bad)
        with raises(DataLossError, "a/data.mdb", "does not end where the next one begins"):
            pipeline.lmdb(tmp_path / "a")


def test_damage_after_the_index_was_made(tmp_path):
    """Its size and time reveal the change, whatever a page seems to hold."""
    write(tmp_path / "a", [entry(number) for number in range(300)])
    data = pipeline.lmdb(tmp_path / "a")
    path = tmp_path / "a" / "data.mdb"
    path.write_bytes(b"\xff" * path.stat().st_size)
    with pytest.raises(FailedPreconditionError):
        list(data)


@pytest.mark.parametrize("workers", [None, 2])
def test_it_is_a_dataset_like_any_other(tmp_path, workers):
    write(tmp_path / "a", [entry(number) for number in range(20)])
    dataset_contract.check(pipeline.lmdb(tmp_path / "a").map(number_of, workers=workers), list(range(20)))


def number_of(example):
    return int(example[0])


def test_it_pickles(tmp_path):
    write(tmp_path / "a", [entry(number) for number in range(9)])
    data = pipeline.lmdb(tmp_path / "a", shuffle=True, seed=1)
    assert list(pickle.loads(pickle.dumps(data))) == list(data)
