"""LMDBReader.

`_file`, its descriptor, and `_root`, a tree's root page, are private: only they show whether a file is open, and the
reader does not support nested databases.
"""

import os
import random

import pytest
from helpers import run_in_thread
from orchestration import closed_queue, drain
from reading import counts, read_all

from pipeline.errors import DataLossError, NotFoundError, OutOfRangeError
from pipeline.files.lmdb_file import LMDBFile
from pipeline.readers.lmdb import LMDBReader

lmdb = pytest.importorskip("lmdb")

ENTRIES = [(b"%04d" % i, b"value %d" % i) for i in range(500)]


@pytest.fixture(autouse=True)
def _databases(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, entries, subdir in (("d", ENTRIES, True), ("f", ENTRIES[::-1], False), ("none", [], True)):
        with (
            lmdb.open(str(tmp_path / name), subdir=subdir) as environment,
            environment.begin(write=True) as transaction,
        ):
            for key, value in entries:
                transaction.put(key, value)


def test_entries_in_the_order_of_their_keys():
    reader = LMDBReader()
    assert read_all(reader, ["d", "none", "f"]) == [b" ".join(entry) for entry in ENTRIES] * 2
    assert counts(reader) == (1000, 3)


def test_blocks():
    reader, queue = LMDBReader(), closed_queue(["d"])
    blocks = drain(lambda: reader.read_up_to(queue, 300))
    assert [len(block.values) for block in blocks] == [300, 200]
    assert [pair for block in blocks for pair in zip(*block, strict=True)] == ENTRIES


def test_readers_of_one_database():
    queue = closed_queue(["d"] * 8)
    calls = [run_in_thread(read, LMDBReader(), queue) for _ in range(4)]
    assert sum(call.result() for call in calls) == 8 * 500


def read(reader, queue):
    return sum(len(block.values) for block in drain(lambda: reader.read_up_to(queue, 7)))


def test_reader_that_is_forgotten_or_reset_closes_the_file():
    reader = LMDBReader()
    reader.read(closed_queue(["d"]))
    first = reader._file
    reader.reset()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(first)
    reader.read(closed_queue(["d"]))
    second = reader._file
    del reader
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(second)


def test_environment_that_is_open_for_writing_can_be_read():
    with lmdb.open("d") as environment:
        transaction = environment.begin(write=True)  # without `with`: lmdb 1.8 does not end a committed one
        transaction.put(b"0000", b"not yet")
        assert read_block(LMDBReader(), "d")[1][0] == b"value 0"
        transaction.commit()
        assert read_block(LMDBReader(), "d")[1][0] == b"not yet"


@pytest.mark.parametrize("flags", [{}, {"dupfixed": True}, {"integerkey": True}])
def test_several_values_of_a_key(flags):
    """Records match those from the lmdb package's cursor, both for few values on one page and for many in a tree."""
    keys = [(i * 7).to_bytes(8, "little") if "integerkey" in flags else b"%d" % i for i in range(40)]
    rng = random.Random(1)
    with lmdb.open("several", max_dbs=1) as environment:
        database = environment.open_db(b"named", dupsort=True, **flags)
        with environment.begin(write=True) as transaction:
            for key in keys:
                for _ in range(rng.choice([1, 2, 30, 2000])):
                    transaction.put(key, rng.randbytes(8 if "dupfixed" in flags else rng.choice([8, 50])), db=database)
        with environment.begin() as transaction:
            expected = list(transaction.cursor(db=database))
    with open("several/data.mdb", "rb") as file:
        pages = LMDBFile(file.fileno(), 1 << 20)
        [(name, record)] = pages.entries()
        pages._root = int.from_bytes(record[40:], "little")  # a nested database is an entry in the main one
        assert name == b"named"
        assert list(pages.entries()) == expected


def test_missing_database_is_one_error(tmp_path):
    (tmp_path / "dir").mkdir()
    reader, queue = LMDBReader(), closed_queue(["missing", "dir", "d"])
    with pytest.raises(NotFoundError, match=r"^missing; No such file or directory$"):
        reader.read(queue)
    with pytest.raises(NotFoundError, match=r"^dir/data\.mdb; No such file or directory$"):
        reader.read(queue)
    assert counts(reader) == (0, 0)
    assert reader.read(queue) == ENTRIES[0]


@pytest.mark.parametrize("size", [0, 100, 4096, 8192, 12288])
def test_truncated_or_foreign_file(tmp_path, size):
    content = (tmp_path / "f").read_bytes()
    assert len(content) > 12288
    (tmp_path / "cut").write_bytes(content[:size])
    (tmp_path / "foreign").write_bytes(b"not a database" * 1000)
    reader, queue = LMDBReader(), closed_queue(["cut", "foreign", "d"])
    for name in ("cut", "foreign"):
        for _ in range(2):
            with pytest.raises(DataLossError, match=name):
                drain(lambda: reader.read(queue))
            if not reader.num_work_units_completed() and reader._file < 0:
                break  # it could not be opened, and is left out
        reader.reset()
    assert reader.read(queue) == ENTRIES[0]
    skipping = LMDBReader(on_error="skip")
    assert len(read_all(skipping, ["cut", "missing", "f"])) == 500
    assert skipping.num_errors == 2


def fill(path, seed):
    """Write a database with insertions and deletions; return the remaining entries."""
    rng = random.Random(seed)
    with lmdb.open(path, map_size=1 << 26, sync=False, subdir=False) as environment:
        for _ in range(12):
            with environment.begin(write=True) as transaction:
                for _ in range(rng.choice([1, 5, 100])):
                    key = b"%d" % rng.randrange(200)
                    if rng.random() < 0.5:
                        transaction.put(key, rng.randbytes(rng.choice([3, 100, 1500, 9000, 40000])))
                    else:
                        transaction.delete(key)
                if rng.random() < 0.2:
                    cursor = transaction.cursor()
                    while rng.random() < 0.98 and cursor.first():
                        cursor.delete()
        with environment.begin() as transaction:
            return list(transaction.cursor()), (environment.info()["last_pgno"] + 1) * environment.stat()["psize"]


def test_pages_that_were_given_up_need_not_be_there(tmp_path):
    short = 0
    for seed in range(20):
        path = str(tmp_path / f"random{seed}")
        entries, most = fill(path, seed)
        short += os.path.getsize(path) < most
        assert list(zip(*read_block(LMDBReader(), path), strict=True)) == entries
    assert short


def read_block(reader, name):
    queue = closed_queue([name])
    blocks = drain(lambda: reader.read_up_to(queue, 10**6))
    return blocks[0] if blocks else ([], [])


@pytest.mark.parametrize("seed", range(3))
def test_cut_at_any_page(tmp_path, seed):
    fill(str(tmp_path / "random"), seed)
    with lmdb.open(str(tmp_path / "random"), subdir=False) as environment, environment.begin(write=True) as transaction:
        for key, value in ENTRIES:
            transaction.put(key, value * 30)
        entries = list(transaction.cursor())
    content = (tmp_path / "random").read_bytes()
    lost = 0
    for size in range(8192, len(content), 4096):
        path = tmp_path / f"cut{size}"
        path.write_bytes(content[:size])
        reader = LMDBReader(on_error="skip")
        got = list(zip(*read_block(reader, path), strict=True))
        assert got == (entries[: len(got)] if reader.num_errors else entries)
        lost += reader.num_errors
        path.unlink()
    assert lost


def test_end_of_input():
    with pytest.raises(OutOfRangeError):
        LMDBReader().read(closed_queue([]))
