"""tokens and write_tokens: rows and documents from token files, and damaged files."""

import os
import pickle
import re
import struct

import numpy as np
import pytest
from source_contract import SourceContract

import pipeline
from pipeline.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, NotFoundError


def raises(cls, *parts):
    """Expect an error with these texts in order."""
    return pytest.raises(cls, match=".*".join(map(re.escape, parts)))


COUNT, LENGTH = 60, 4
ENDS = [(0, 13), (13, 45), (45, COUNT)]  # rows in each file


def row(number):
    return number * 100 + np.arange(LENGTH, dtype=np.uint16)


def rows_of(first, end, rest=3):
    """Return the tokens in some rows, and some too few for a row."""
    return np.concatenate([row(i) for i in range(first, end)] + [np.full(rest, 9999, np.uint16)])


class TestRows(SourceContract):
    count = COUNT

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.pattern = tmp_path / "*.bin"
        for number, (first, end) in enumerate(ENDS):
            rows_of(first, end).tofile(tmp_path / f"{number}.bin")

    def make(self, **options):
        return pipeline.tokens(self.pattern, LENGTH, dtype="uint16", **options)

    def numbers(self, batch):
        assert batch.dtype == np.uint16
        assert batch.shape[1:] == (LENGTH,)
        assert (batch == batch[:, :1] + np.arange(LENGTH)).all()
        return (batch[:, 0] // 100).tolist()


class TestLabels(TestRows):
    def make(self, **options):
        return super().make(labels=True, **options)

    def numbers(self, batch):
        x, y = batch
        assert (x[:, 1:] == y[:, :-1]).all()
        return super().numbers(x)


class TestShorterRows(TestRows):
    """A file's last row may be shorter; here none is."""

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.pattern = tmp_path / "*.bin"
        for number, (first, end) in enumerate(ENDS):
            rows_of(first, end, 0).tofile(tmp_path / f"{number}.bin")

    def make(self, **options):
        return super().make(drop_remainder=False, **options)


class TestDocuments(SourceContract):
    count = COUNT

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.names = [tmp_path / str(number) for number in range(len(ENDS))]
        for name, (first, end) in zip(self.names, ENDS, strict=True):
            documents = [[i, i] for i in range(first, end)]  # so that batches stack
            pipeline.write_tokens(f"{name}.bin", documents, dtype="int32", index=True)

    def make(self, **options):
        return pipeline.tokens(self.names, documents=True, **options)

    def numbers(self, batch):
        assert batch.dtype == np.int32
        assert (batch[:, 0] == batch[:, 1]).all()
        return batch[:, 0].tolist()


@pytest.fixture
def tokens(tmp_path):
    """50 tokens in a raw file, and its name."""
    values = np.arange(50, dtype=np.uint16)
    values.tofile(tmp_path / "a.bin")
    return values, str(tmp_path / "a.bin")


def listed(data):
    return [each.tolist() for each in data]


class TestWhichRows:
    @pytest.mark.parametrize(("length", "stride"), [(1, 1), (7, 7), (10, 10), (10, 3), (3, 10), (50, 50), (49, 2)])
    @pytest.mark.parametrize("labels", [False, True])
    def test_windows(self, tokens, length, stride, labels):
        values, path = tokens
        if length + labels > 50:
            return
        data = pipeline.tokens(path, length, dtype="uint16", stride=stride, labels=labels)
        begins = range(0, 50 - length - labels + 1, stride)
        assert len(data) == len(begins)
        for got, begin in zip(data, begins, strict=True):
            x, y = got if labels else (got, None)
            assert (x == values[begin : begin + length]).all()
            assert y is None or (y == values[begin + 1 : begin + 1 + length]).all()

    def test_windows_of_arrays_are_the_same(self, tokens):
        values, path = tokens
        rows = pipeline.tokens(path, 8, dtype="uint16", stride=5)
        for windows in (values, np.memmap(path, np.uint16, "r")):
            assert listed(pipeline.arrays(windows).window(8, 5)) == listed(rows)

    @pytest.mark.parametrize(
        ("length", "stride", "labels", "last"),
        [
            (7, 7, False, [49]),
            (10, 10, False, list(range(40, 50))),
            (60, 60, False, list(range(50))),
            (20, 14, False, list(range(42, 50))),
            (20, 15, False, list(range(30, 50))),
            (10, 10, True, list(range(40, 50))),
            (8, 48, False, [48, 49]),
            (2, 48, False, [48, 49]),
        ],
    )
    def test_a_shorter_row_at_the_end(self, tokens, length, stride, labels, last):
        data = pipeline.tokens(tokens[1], length, dtype="uint16", stride=stride, labels=labels, drop_remainder=False)
        got = list(data)[-1]
        x, y = got if labels else (got, None)
        assert ([*x.tolist(), int(y[-1])] if labels else x.tolist()) == last
        assert len(list(data)) == len(data)

    def test_labels_need_a_token_more(self, tokens):
        assert len(pipeline.tokens(tokens[1], 50, dtype="uint16")) == 1
        with raises(InvalidArgumentError, f"'{tokens[1]}' has 50 tokens, fewer than the 51 of a row"):
            pipeline.tokens(tokens[1], 50, dtype="uint16", labels=True)

    def test_x_and_y_share_no_memory(self, tokens):
        for data in (pipeline.tokens(tokens[1], 40, dtype="uint16", labels=True),):
            for batch in (next(iter(data)), next(iter(data.batch(1)))):
                x, y = batch
                before = y.copy()
                x[...] = 7
                assert (y == before).all()

    def test_rows_span_no_files(self, tmp_path):
        for name, first in (("a", 0), ("b", 100)):
            np.arange(first, first + 10, dtype=np.uint16).tofile(tmp_path / f"{name}.bin")
        data = pipeline.tokens(tmp_path / "?.bin", 4, dtype="uint16")
        assert [each[0] for each in listed(data)] == [0, 4, 100, 104]

    def test_global_order(self, tokens):
        data = pipeline.tokens(tokens[1], 2, dtype="uint16")
        rows = listed(data)
        mixed = listed(data.shuffle(seed=1))
        assert sorted(mixed) == rows
        assert mixed != rows
        assert [each.tolist() for batch in data.shuffle(seed=1).batch(8) for each in batch] == mixed
        assert len(data.sample([1.0] * 25, 100, seed=3)) == 100
        assert sorted(listed(data.shard(0, 2)) + listed(data.shard(1, 2))) == rows


class TestFormats:
    def test_npy(self, tokens, tmp_path):
        np.save(tmp_path / "a.npy", tokens[0])
        assert listed(pipeline.tokens(tmp_path / "a.npy", 25)) == tokens[0].reshape(2, 25).tolist()

    def test_npy_without_a_header(self, tokens, tmp_path):
        tokens[0].tofile(tmp_path / "a.npy")
        assert listed(pipeline.tokens(tmp_path / "a.npy", 25, dtype="uint16")) == tokens[0].reshape(2, 25).tolist()

    @pytest.mark.parametrize(("magic", "dtype"), [(20240520, "uint16"), (20240801, "uint32")])
    def test_llm_c(self, tmp_path, magic, dtype):
        header = np.zeros(256, "<i4")
        header[:3] = magic, 1, 50
        (tmp_path / "a.bin").write_bytes(header.tobytes() + np.arange(50).astype(dtype).tobytes())
        data = pipeline.tokens(tmp_path / "a.bin", 25)
        assert next(iter(data)).dtype == dtype
        assert listed(data) == np.arange(50).reshape(2, 25).tolist()

    @pytest.mark.parametrize("count", [49, 51, 0, -1])
    @pytest.mark.parametrize("dtype", [None, "uint16"])
    def test_llm_c_of_another_size(self, tmp_path, count, dtype):
        header = np.zeros(256, "<i4")
        header[:3] = 20240520, 1, count
        (tmp_path / "a.bin").write_bytes(header.tobytes() + np.arange(50).astype("uint16").tobytes())
        with raises(DataLossError, rf"the header of llm.c has {count} tokens of uint16, which take {2 * count} bytes"):
            pipeline.tokens(tmp_path / "a.bin", 25, dtype=dtype)

    @pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "int32", "int64"])
    def test_megatron(self, tmp_path, dtype):
        documents = [[1, 2, 3], [], [4], [5, 6, 7, 8]]
        assert pipeline.write_tokens(tmp_path / "a.bin", documents, dtype=dtype, index=True) == 8
        for name in ("a", "a.bin"):
            data = pipeline.tokens(tmp_path / name, documents=True)
            assert next(iter(data)).dtype == dtype
            assert listed(data) == documents
            assert listed(pipeline.tokens(tmp_path / name, 3)) == [[1, 2, 3], [4, 5, 6]]

    def test_an_index_as_megatron_writes_it(self, tmp_path):
        """Documents with several sequences, and a byte for each one's kind."""
        np.arange(9, dtype=np.int32).tofile(tmp_path / "a.bin")
        begin = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 4, 4, 3)
        arrays = [np.array([2, 3, 1, 3], "<i4"), np.array([0, 8, 20, 24], "<i8"), np.array([0, 3, 4], "<i8")]
        (tmp_path / "a.idx").write_bytes(begin + b"".join(each.tobytes() for each in arrays) + bytes(4))
        assert listed(pipeline.tokens(tmp_path / "a", documents=True)) == [[0, 1, 2, 3, 4, 5], [6, 7, 8]]

    def test_documents_are_packed(self, tmp_path):
        documents = [[i] * (1 + i % 5) for i in range(40)]
        pipeline.write_tokens(tmp_path / "a.bin", documents, end=99, index=True)
        packed = list(pipeline.tokens(tmp_path / "a", documents=True).pack(8))
        assert len(packed) == -(-sum(len(each) + 1 for each in documents) // 8)

    def test_it_pickles(self, tokens):
        data = pipeline.tokens(tokens[1], 10, dtype="uint16").batch(2)
        before = listed(data)
        assert len(pickle.dumps(data)) < 5000
        assert listed(pickle.loads(pickle.dumps(data))) == before


class TestBadFiles:
    def test_an_odd_number_of_bytes(self, tmp_path):
        (tmp_path / "a.bin").write_bytes(bytes(11))
        with raises(DataLossError, "a.bin': at byte 10 the file ends after 1 of the 2 bytes of a token of uint16"):
            pipeline.tokens(tmp_path / "a.bin", 2, dtype="uint16")

    def test_a_raw_file_without_a_dtype(self, tokens):
        with raises(InvalidArgumentError, "is a raw file, which does not tell its dtype: pass dtype="):
            pipeline.tokens(tokens[1], 2)

    @pytest.mark.parametrize("dtype", ["float32", "bool", "S2", ">u2", "M8[s]", object])
    def test_dtypes_that_are_no_tokens(self, tokens, dtype):
        with raises(InvalidArgumentError, "expected integers in this machine's byte order"):
            pipeline.tokens(tokens[1], 2, dtype=dtype)

    def test_a_file_of_another_dtype(self, tokens, tmp_path):
        np.save(tmp_path / "b.npy", tokens[0].astype(np.int32))
        with raises(InvalidArgumentError, "b.npy' holds int32, and dtype= is uint16: leave dtype= out"):
            pipeline.tokens(tmp_path / "b.npy", 2, dtype="uint16")
        np.save(tmp_path / "c.npy", tokens[0])
        with raises(InvalidArgumentError, "c.npy' holds uint16 and", "b.npy' int32"):
            pipeline.tokens([tmp_path / "c.npy", tmp_path / "b.npy"], 2)

    def test_an_npy_file_of_rows(self, tmp_path):
        np.save(tmp_path / "a.npy", np.zeros((3, 4), np.uint16))
        with raises(InvalidArgumentError, "has shape (3, 4), not one dimension: read its rows by pipeline.arrays"):
            pipeline.tokens(tmp_path / "a.npy", 2)

    @pytest.mark.parametrize("length", [51, 1 << 40])
    def test_a_row_longer_than_the_file(self, tokens, length):
        with raises(InvalidArgumentError, f"'{tokens[1]}' has 50 tokens, fewer than the {length:,} of a row"):
            pipeline.tokens(tokens[1], length, dtype="uint16")

    def test_an_empty_file(self, tmp_path):
        (tmp_path / "a.bin").touch()
        for whole in (True, False):
            with raises(InvalidArgumentError, "a.bin' has 0 tokens"):
                pipeline.tokens(tmp_path / "a.bin", 2, dtype="uint16", drop_remainder=whole)

    def test_documents_of_a_file_without_an_index(self, tokens):
        with raises(InvalidArgumentError, "does not tell where documents end: that takes Megatron's .idx beside"):
            pipeline.tokens(tokens[1], dtype="uint16", documents=True)

    def test_contradictions(self, tokens):
        with raises(TypeError, "tokens: pass length=, the tokens in a row, or documents=True"):
            pipeline.tokens(tokens[1], dtype="uint16")
        for options in ({"length": 3}, {"stride": 3}, {"labels": True}, {"drop_remainder": False}):
            with raises(InvalidArgumentError, "documents=True gives whole documents"):
                pipeline.tokens(tokens[1], dtype="uint16", documents=True, **options)

    def test_no_files(self, tmp_path):
        with pytest.raises(NotFoundError):
            pipeline.tokens(tmp_path / "none.bin", 2)
        with raises(InvalidArgumentError, "is a URL, and only local files can be mapped"):
            pipeline.tokens("memory://a.bin", 2)
        with raises(InvalidArgumentError, "is not a regular file"):
            pipeline.tokens(tmp_path, 2)

    def test_a_file_that_changed(self, tokens):
        data = pipeline.tokens(tokens[1], 10, dtype="uint16")
        with open(tokens[1], "ab") as file:
            file.write(bytes(2))
        with raises(FailedPreconditionError, "had 100 bytes when the dataset was made and was changed since"):
            list(data)

    def test_a_state_of_a_file_that_changed(self, tokens):
        with iter(pipeline.tokens(tokens[1], 10, dtype="uint16").batch(2)) as batches:
            next(batches)
            state = batches.state_dict()
        tokens[0][::-1].tofile(tokens[1])
        with pytest.raises(pipeline.errors.StateMismatchError, match="other contents"):
            iter(pipeline.tokens(tokens[1], 10, dtype="uint16").batch(2)).load_state_dict(state)


class TestBadIndexes:
    @pytest.fixture
    def index(self, tmp_path):
        pipeline.write_tokens(tmp_path / "a.bin", [[1, 2, 3], [4], [5, 6]], index=True)
        return tmp_path / "a.idx"

    def broken(self, index, change):
        data = bytearray(index.read_bytes())
        index.write_bytes(bytes(change(data) or data))
        return index.parent / "a.bin"

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda data: data[:20], "at byte 0 there is no header of a Megatron index"),
            (lambda data: b"x" + data[1:], "a.idx': at byte 0 there is no header of a Megatron index"),
            (lambda data: data.__setitem__(9, 2), "expected version 1 and a code of a dtype from 1 to 8, got 2 and 8"),
            (lambda data: data.__setitem__(17, 77), "got 1 and 77"),
            (lambda data: data[:-1], "a.idx' has 101 bytes, and 3 sequences with 4 boundaries of documents take 102"),
            (lambda data: data.__setitem__(24, 255), "boundaries of documents take"),
            (lambda data: data.__setitem__(42, 3), "its last sequence ends at byte 14, the file at 12"),
        ],
    )
    def test_damage(self, index, change, said):
        path = self.broken(index, change)
        for options in ({"length": 2}, {"documents": True}):
            with raises(DataLossError, said):
                pipeline.tokens(path, **options)

    def test_a_file_of_another_length(self, index):
        with open(index.parent / "a.bin", "ab") as file:
            file.write(bytes(2))
        with raises(DataLossError, "a.idx' does not fit", "its last sequence ends at byte 12, the file at 14"):
            pipeline.tokens(index.parent / "a.bin", 2)

    def test_sequences_that_are_not_neighbours(self, index):
        path = self.broken(index, lambda data: data.__setitem__(34, 2))
        with raises(DataLossError, "sequence 1, whose length is at byte 38, does not begin where the one before it"):
            pipeline.tokens(path, documents=True)

    def test_boundaries_that_do_not_ascend(self, index):
        path = self.broken(index, lambda data: data.__setitem__(-8, 1))
        with raises(DataLossError, "the boundaries of documents do not ascend from 0 to its 3 sequences"):
            pipeline.tokens(path, documents=True)

    def test_an_index_instead_of_its_file(self, index):
        with raises(InvalidArgumentError, "a.idx' is an index: pass the path of its tokens,", "a.bin'"):
            pipeline.tokens(index, 2)


class TestWriting:
    def test_no_documents(self, tmp_path):
        assert pipeline.write_tokens(tmp_path / "a.bin", iter([]), index=True) == 0
        assert listed(pipeline.tokens(tmp_path / "a", documents=True)) == []

    def test_an_end_for_each_document(self, tmp_path):
        assert pipeline.write_tokens(tmp_path / "a.bin", [np.array([1, 2]), (3,)], end=9) == 5
        assert np.fromfile(tmp_path / "a.bin", np.uint16).tolist() == [1, 2, 9, 3, 9]

    def test_no_file_is_left_beside_the_index_of_another_one(self, tmp_path, monkeypatch):
        pipeline.write_tokens(tmp_path / "a.bin", [[1, 2, 3], [4]], index=True)
        with raises(InvalidArgumentError, "a.idx' has the documents of another file: pass index=True, or remove it"):
            pipeline.write_tokens(tmp_path / "a.bin", [[5, 6], [7, 8]])
        assert len(list(pipeline.tokens(tmp_path / "a.bin", documents=True))) == 2
        replace = os.replace

        def fail(source, target):
            replace(source, target)
            raise OSError(5, "as if killed")

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(pipeline.errors.OpError, match=r"as if killed|Input/output"):
            pipeline.write_tokens(tmp_path / "a.bin", [[5, 6], [7, 8]], index=True)
        with raises(InvalidArgumentError, "a.bin' is a raw file"):
            pipeline.tokens(tmp_path / "a.bin", documents=True)

    @pytest.mark.parametrize(
        ("documents", "error", "said"),
        [
            ([[1], [2, 70_000]], InvalidArgumentError, "document 1 has the token 70,000, at place 1, and uint16 holds"),
            ([[1], [-1]], InvalidArgumentError, "document 1 has the token -1, at place 0, and uint16 holds 0 to 65535"),
            ([[2**70]], TypeError, "document 0 must be a sequence of token ids"),
            ([[1.5]], TypeError, "document 0 must be a sequence of token ids, got [1.5]"),
            ([["a"]], TypeError, "document 0 must be a sequence of token ids"),
            ([[[1], [2]]], TypeError, "document 0 must be a sequence of token ids"),
            ([[[1], [2, 3]]], TypeError, "document 0 must be a sequence of token ids"),
            ([1, 2], TypeError, "document 0 must be a sequence of token ids, got 1"),
            ("text", TypeError, "document 0 must be a sequence of token ids"),
            ([np.ma.array([1, 2], mask=[False, True])], InvalidArgumentError, "document 0 has 1 of 2 values missing"),
        ],
    )
    @pytest.mark.parametrize("index", [False, True])
    def test_tokens_that_do_not_fit(self, tmp_path, documents, error, said, index):
        pipeline.write_tokens(tmp_path / "a.bin", [[7]], index=index)
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        with raises(error, said):
            pipeline.write_tokens(tmp_path / "a.bin", documents, index=index)
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before

    def test_bad_options(self, tmp_path):
        with raises(InvalidArgumentError, "end has the token 70,000 and uint16 holds 0 to 65535"):
            pipeline.write_tokens(tmp_path / "a.bin", [], end=70_000)
        with raises(InvalidArgumentError, "Megatron's index has no dtype uint32: use int32 or int64"):
            pipeline.write_tokens(tmp_path / "a.bin", [], dtype="uint32", index=True)
        with raises(InvalidArgumentError, "with index=True the path must end in .bin"):
            pipeline.write_tokens(tmp_path / "a", [], index=True)
        with raises(InvalidArgumentError, "dtype must be an integer dtype"):
            pipeline.write_tokens(tmp_path / "a.bin", [], dtype="float32")
        with pytest.raises(NotFoundError):
            pipeline.write_tokens(tmp_path / "none" / "a.bin", [[1]])
        assert not list(tmp_path.iterdir())
