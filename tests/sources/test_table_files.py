"""parquet and feather: files with different schemas, Hive folders, expressions, and Arrow streams."""

import datetime
import itertools
import json
import math
import os
import sys
from decimal import Decimal

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet
import pytest
from helpers import raises
from source_contract import SourceContract

import pipeline

KINDS = ["parquet", "feather", "stream"]


def write(kind, path, table, rows=4):
    """Write a table in groups with this many rows."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if kind == "parquet":
        pa.parquet.write_table(table, path, row_group_size=rows)
        return
    with (pa.ipc.new_file if kind == "feather" else pa.ipc.new_stream)(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)


def function(kind):
    return pipeline.parquet if kind == "parquet" else pipeline.feather


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def read(kind, tmp_path):
    """Return a source over columns `a`, one per file, in groups with 4 rows, with options."""

    def read(*columns, **options):
        paths = [str(tmp_path / f"{i}") for i in range(len(columns))]
        for path, column in zip(paths, columns, strict=True):
            write(kind, path, column if isinstance(column, pa.Table) else pa.table({"a": column}))
        return function(kind)(paths, **options)

    return read


COUNT = 30


def numbers(batch):
    """Return the examples' numbers, `n`; they determine everything else."""
    found = batch["n"].tolist()
    assert batch["n"].dtype == np.int64
    assert batch["half"].dtype == np.float64
    np.testing.assert_array_equal(batch["half"], [i / 2 for i in found])
    assert batch["word"].tolist() == [f"{i}" for i in found]
    assert batch["at"].dtype == "datetime64[us]"
    assert batch["at"].astype("int64").tolist() == [1000 * i for i in found]
    return found


def part(first, end, of):
    """Return a file's rows: each file has other types for the same values."""
    rows = range(first, end)
    ints, floats = [(pa.int32(), pa.float32()), (pa.int64(), pa.float64()), (pa.uint8(), pa.float16())][of]
    words = pa.array([f"{i}" for i in rows], [pa.string(), pa.large_string(), pa.string()][of])
    at = pa.array([1000 * i for i in rows], pa.timestamp("us"))
    table = {
        "n": pa.array(rows, ints),
        "half": pa.array([np.float16(i / 2) if of == 2 else i / 2 for i in rows], floats),
        "word": words.dictionary_encode() if of == 2 else words,
        "at": at.cast(pa.timestamp("ms")) if of == 1 else at,
    }
    return pa.table(table)


class TestDifferentFiles(SourceContract):
    """Files with different schemas that still have a unique answer."""

    count = COUNT

    @pytest.fixture(autouse=True, params=KINDS)
    def _files(self, request, tmp_path):
        self.kind = request.param
        self.paths = [str(tmp_path / f"{i}") for i in range(3)]
        for i, (first, end) in enumerate([(0, 9), (9, 20), (20, 30)]):
            write(self.kind, self.paths[i], part(first, end, i))

    def make(self, **options):
        return function(self.kind)(self.paths, **options)

    numbers = staticmethod(numbers)


class TestRowsOfAnExpression(SourceContract):
    count = COUNT

    @pytest.fixture(autouse=True, params=[*KINDS, "arrow"])
    def _files(self, request, tmp_path):
        self.kind = request.param
        table = part(0, COUNT, 1).append_column("keep", pa.array([True] * COUNT))
        other = pa.concat_tables([table.slice(i, 7) for i in range(0, COUNT, 7)])
        left = other.set_column(4, "keep", pa.array([None if i % 2 else False for i in range(COUNT)], pa.bool_()))
        mixed = [each.slice(i, 1) for i in range(COUNT) for each in (left, table)]
        self.table = pa.concat_tables([*mixed, left]).combine_chunks()
        self.path = str(tmp_path / "t")
        if self.kind != "arrow":
            write(self.kind, self.path, self.table, 7)

    def make(self, **options):
        options |= {"columns": ["n", "half", "word", "at"], "where": pc.field("keep"), "dtypes": {"at": "M8[us]"}}
        if self.kind == "arrow":
            return pipeline.arrow(self.table, **options)
        return function(self.kind)(self.path, **options)

    numbers = staticmethod(numbers)


class TestFolders(SourceContract):
    """Files in Hive folders."""

    count = COUNT

    @pytest.fixture(autouse=True, params=KINDS)
    def _files(self, request, tmp_path):
        self.kind, self.pattern = request.param, str(tmp_path / "**" / "part")
        for i in range(6):
            folder = tmp_path / f"year={2020 + i // 2}" / f"half=h%20{i % 2}"
            write(self.kind, str(folder / "part"), pa.table({"n": range(5 * i, 5 * i + 5)}), 3)

    def make(self, **options):
        return function(self.kind)(self.pattern, **options)

    def numbers(self, batch):
        assert list(batch) == ["n", "year", "half"]
        found = batch["n"].tolist()
        assert batch["year"].tolist() == [2020 + i // 10 for i in found]
        assert batch["year"].dtype == np.int64
        assert batch["half"].tolist() == [f"h {i // 5 % 2}" for i in found]
        return found


ONE_ANSWER = [
    (pa.array([1, 2], pa.int32()), pa.array([1 << 40, 4]), np.array([1, 2, 1 << 40, 4])),
    (pa.array([1, 2], pa.uint32()), pa.array([-3, 4], pa.int8()), np.array([1, 2, -3, 4])),
    (pa.array([1, 2], pa.uint8()), pa.array([-3, 4], pa.int8()), np.array([1, 2, -3, 4], np.int16)),
    (pa.array([0.5, 2], pa.float32()), pa.array([0.1, 4]), np.array([0.5, 2, 0.1, 4])),
    (pa.nulls(0), pa.array([1, 2], pa.int16()), np.array([1, 2], np.int16)),
    (pa.nulls(2), pa.array([1.5]), np.array([np.nan, np.nan, 1.5])),
    (pa.array(["a"]), pa.array(["b"], pa.large_string()), ["a", "b"]),
    (pa.array(["a"]), pa.array(["b"]).dictionary_encode(), ["a", "b"]),
    (pa.array(["a"]).dictionary_encode(), pa.array(["b"], pa.dictionary(pa.int8(), pa.large_string())), ["a", "b"]),
    (pa.array([b"a"]), pa.array([b"b"], pa.large_binary()), [b"a", b"b"]),
    (pa.array([1], pa.timestamp("ms")), pa.array([2], pa.timestamp("us")), np.array([1000, 2], "M8[us]")),
    (
        pa.array([1], pa.timestamp("ns", "UTC")),
        pa.array([2], pa.timestamp("s", "Asia/Tokyo")),
        np.array([1, 2 * 10**9], "M8[ns]"),
    ),
    (pa.array([1], pa.duration("ms")), pa.array([2], pa.duration("us")), np.array([1000, 2], "m8[us]")),
    (pa.array([1], pa.time32("ms")), pa.array([2], pa.time64("us")), np.array([1000, 2], "m8[us]")),
    (pa.array([[1]], pa.list_(pa.int8())), pa.array([[2, 3]], pa.large_list(pa.int64())), [[1], [2, 3]]),
    (pa.array([[]]), pa.array([[2, 3]]), [[], [2, 3]]),
    (
        pa.array([[1, 2]], pa.list_(pa.int8(), 2)),
        pa.array([[2, 3]], pa.list_(pa.int64(), 2)),
        np.array([[1, 2], [2, 3]]),
    ),
    (
        pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8())),
        pa.array([[("b", 2)]], pa.map_(pa.string(), pa.int64())),
        [[("a", 1)], [("b", 2)]],
    ),
    (pa.array([[{"x": 1}]]), pa.array([[{"x": None}]]), [[{"x": 1}], [{"x": None}]]),
]  # fmt: skip

NO_ANSWER = [
    (pa.array([1]), pa.array(["a"])),
    (pa.array(["a"]), pa.array([b"a"])),
    (pa.array([1]), pa.array([0.5])),
    (pa.array([1], pa.uint64()), pa.array([1], pa.int64())),
    (pa.array([1]), pa.array([True])),
    (pa.array([1], pa.timestamp("ms")), pa.array([1], pa.timestamp("ms", "UTC"))),
    (pa.array([datetime.date(2024, 1, 1)]), pa.array([1], pa.timestamp("ms"))),
    (pa.array([[1, 2]], pa.list_(pa.int8(), 2)), pa.array([[1, 2, 3]], pa.list_(pa.int8(), 3))),
    (pa.array([[1, 2]]), pa.array([1])),
    (pa.array([{"x": 1}]), pa.array([{"x": 1, "y": 1}])),
    (pa.array([{"x": 1}]), pa.array([{"x": "a"}])),
]


class TestSchemas:
    @pytest.mark.parametrize("turned", [False, True])
    @pytest.mark.parametrize(
        "case", range(len(ONE_ANSWER)), ids=lambda i: f"{ONE_ANSWER[i][0].type}-{ONE_ANSWER[i][1].type}"
    )
    def test_one_answer(self, read, case, turned):
        first, second, wanted = ONE_ANSWER[case]
        count = len(first)
        if turned:
            first, second = second, first
            wanted = (
                [*wanted[count:], *wanted[:count]]
                if isinstance(wanted, list)
                else np.concatenate([wanted[count:], wanted[:count]])
            )
        source = read(first, second)
        if isinstance(wanted, list):
            assert [np.asarray(row["a"], object).tolist() for row in source] == [
                np.asarray(each, object).tolist() for each in wanted
            ]
        else:
            [batch] = source.batch(len(source))
            assert batch["a"].dtype == wanted.dtype
            np.testing.assert_array_equal(batch["a"], wanted)

    @pytest.mark.parametrize(
        "case", range(len(NO_ANSWER)), ids=lambda i: f"{NO_ANSWER[i][0].type}-{NO_ANSWER[i][1].type}"
    )
    def test_no_answer(self, read, case, tmp_path):
        first, second = NO_ANSWER[case]
        for columns in ((first, second), (second, first), (first, first, second)):
            last = tmp_path / f"{len(columns) - 1}"
            text = f"'{last}' does not fit the other files: column 'a' is "
            with pytest.raises(pipeline.InvalidArgumentError, match=text) as error:
                read(*columns)
            assert str(columns[-1].type).replace("element", "item") in str(error.value).replace("element", "item")

    def test_dtypes_decide(self, read):
        for columns in ((pa.array([1]), pa.array(["2"])), (pa.array([0.5]), pa.array([2]))):
            [batch] = read(*columns, dtypes={"a": float}).batch(2)
            assert batch["a"].tolist() == [columns[0][0].as_py(), 2.0]
        [batch] = read(pa.array([Decimal("1.5")]), pa.array([Decimal("2.25")]), dtypes={"a": float}).batch(2)
        assert batch["a"].tolist() == [1.5, 2.25]

    @pytest.mark.parametrize("dtype", ["int64", str])
    def test_times_in_other_units_as_numbers(self, read, tmp_path, dtype):
        columns = [pa.array([1000, 2000], pa.timestamp("ms")), pa.array([3000, 4000], pa.timestamp("us"))]
        if dtype is str:
            assert len(read(*columns, dtypes={"a": dtype})) == 4
            return
        text = rf"'{tmp_path / '1'}' does not fit .*: column 'a' is timestamp\[us\], and timestamp\[ms\] in "
        with pytest.raises(pipeline.InvalidArgumentError, match=f"{text}.*: as numbers these count other units"):
            read(*columns, dtypes={"a": dtype})
        inside = [pa.table({"a": pa.StructArray.from_arrays([column], ["b"])}) for column in columns]
        with pytest.raises(pipeline.InvalidArgumentError, match="as numbers these count other units"):
            read(*inside, dtypes={"a/b": dtype})
        assert [int(row["a"]) for row in read(columns[0], columns[0], dtypes={"a": dtype})] == [1000, 2000] * 2

    def test_structs(self, read):
        boxes = (
            pa.array([{"x": 1, "y": "a"}]),
            pa.array([{"y": "b", "x": None}], pa.struct([("y", pa.large_string()), ("x", pa.null())])),
        )
        with pytest.raises(
            pipeline.InvalidArgumentError, match="column 'a/x' of type int64 has missing values, 1 of 1"
        ):
            list(read(*boxes))
        [batch] = read(*boxes, defaults={"a/x": 7}).batch(2)
        assert batch["a"]["x"].tolist() == [1, 7]
        assert batch["a"]["y"].tolist() == ["a", "b"]

    def test_null_and_string(self, read, kind, tmp_path):
        """Rows without a string raise an error with file, row group and column, or are filled in."""
        columns = pa.nulls(3), pa.array(["a", "b"])
        unit = "row group 0" if kind == "parquet" else "record batch 0"
        text = f"{tmp_path / '0'}, {unit}: column 'a' of type string has missing values, 3 of 3: see defaults="
        with pytest.raises(pipeline.InvalidArgumentError, match=text):
            list(read(*columns))
        [batch] = read(*columns, defaults={"a": "?"}).batch(5)
        assert batch["a"].tolist() == ["?", "?", "?", "a", "b"]

    @pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
    def test_columns_that_a_file_lacks(self, read, kind, tmp_path, order):
        """In any file order."""
        given = pa.table({"a": [1], "b": ["x"]}), pa.table({"a": [2]}), pa.table({"b": ["z"], "a": [3]})
        tables = [given[i] for i in order]
        lacks = order.index(1)
        text = f"{function(kind).__name__}: '{tmp_path / str(lacks)}' does not fit the other files: "
        text += f"column 'b' is missing, but exists in '{tmp_path / str(0 if lacks else 1)}': "
        text += "fill in missing columns with defaults=, or leave "
        for options in ({}, {"columns": ["b", "a"]}, {"columns": ["a"], "where": pc.field("b") == "x"}):
            with raises(pipeline.InvalidArgumentError, text + "them out with columns=['a']"):
                read(*tables, **options)
        for options in ({}, {"columns": ["a", "b"]}):
            [batch] = read(*tables, **options, defaults={"b": "?"}).batch(3)
            assert batch["a"].tolist() == [1 + i for i in order]
            assert batch["b"].tolist() == [["x", "?", "z"][i] for i in order]
        [batch] = read(*tables, columns=["a"]).batch(3)
        assert batch["a"].tolist() == [1 + i for i in order]
        [batch] = read(*tables, defaults={"b": "?"}, codes={"b": ["z", "x", "?"]}).batch(3)
        assert batch["b"].tolist() == [[1, 2, 0][i] for i in order]
        [batch] = read(*tables, defaults={"b": "?"}, where=pc.field("b").is_null()).batch(3)
        assert batch["a"].tolist() == [2]

    def test_options_name_columns_of_any_file(self, read):
        tables = pa.table({"a": [1]}), pa.table({"a": [2], "b": [0.5], "c": ["x"]})
        for given in (tables, tables[::-1]):
            [batch] = read(*given, columns=["b"], dtypes={"b": "float32"}, defaults={"b": 0}).batch(2)
            assert batch["b"].dtype == np.float32
            assert sorted(batch["b"].tolist()) == [0, 0.5]
            for options in ({"columns": ["z"]}, {"dtypes": {"z": float}}):
                with pytest.raises(pipeline.InvalidArgumentError, match="there is no column 'z'; the columns"):
                    read(*given, **options)

    def test_a_column_that_a_later_file_has_twice(self, read, tmp_path):
        twice = pa.table([pa.array([1]), pa.array([2]), pa.array([3])], names=["a", "b", "a"])
        tables = pa.table({"a": [1], "b": [2]}), twice
        for given in (tables, tables[::-1]):
            with pytest.raises(pipeline.InvalidArgumentError, match="there are 2 columns 'a': rename them"):
                read(*given)

    def test_a_column_is_read_where_one_file_has_it_as_an_index(self, read):
        frames = pytest.importorskip("pandas")
        index = pa.Table.from_pandas(frames.DataFrame({"a": [1]}, index=[7]))
        plain = pa.table({"a": [2], "__index_level_0__": [8]})
        for given in ((index, plain), (plain, index)):
            [batch] = read(*given).batch(2)
            assert sorted(batch["__index_level_0__"].tolist()) == [7, 8]
        [batch] = read(index, pa.table({"a": [2]})).batch(2)
        assert list(batch) == ["a"]

    def test_a_value_that_does_not_fit(self, read, kind, tmp_path):
        """A timestamp at 2**62 ms has no value in microseconds."""
        unit = "row group 1" if kind == "parquet" else "record batch 1"
        late = pa.array([0, 0, 0, 0, 1 << 62], pa.timestamp("ms"))
        source = read(pa.array([0], pa.timestamp("us")), late)
        text = (
            rf"{tmp_path / '1'}, {unit}: column 'a' of type timestamp\[ms\] has a value that does not become timestamp"
        )
        with pytest.raises(pipeline.InvalidArgumentError, match=text):
            list(source)
        assert len(list(source.take(5))) == 5


class TestHive:
    def make(self, kind, tmp_path, folders, **options):
        paths = []
        for i, folder in enumerate(folders):
            paths.append(str(tmp_path / folder / f"{i}"))
            write(kind, paths[-1], pa.table({"n": [10 * i, 10 * i + 1]}))
        return function(kind)(paths, **options)

    def test_types(self, kind, tmp_path):
        source = self.make(kind, tmp_path, ["a=1/b=x", "a=-02/b=2"])
        [batch] = source.batch(4)
        assert batch["a"].tolist() == [1, 1, -2, -2]
        assert batch["b"].tolist() == ["x", "x", "2", "2"]
        [batch] = self.make(kind, tmp_path, ["a=1/b=x", "a=-02/b=2"], dtypes={"a": "int8", "b": str}).batch(4)
        assert batch["a"].dtype == np.int8
        assert batch["b"].tolist() == ["x", "x", "2", "2"]
        [batch] = self.make(kind, tmp_path, ["d=2024-01-31", "d=2024-02-01"], dtypes={"d": "M8[D]"}).batch(4)
        assert batch["d"].tolist() == [datetime.date(2024, 1, 31)] * 2 + [datetime.date(2024, 2, 1)] * 2

    def test_texts_stay_as_they_are_written(self, kind, tmp_path):
        folders = ["a=01", "a=1"]
        for dtype, texts in ((str, ["01", "01", "1", "1"]), (bytes, [b"01", b"01", b"1", b"1"])):
            [batch] = self.make(kind, tmp_path, folders, dtypes={"a": dtype}).batch(4)
            assert batch["a"].tolist() == texts
        [batch] = self.make(kind, tmp_path, folders, codes={"a": ["1", "01"]}).batch(4)
        assert batch["a"].tolist() == [1, 1, 0, 0]
        [batch] = self.make(kind, tmp_path, folders, dtypes={"a": str}, where=pc.field("a") == "01").batch(4)
        assert batch["n"].tolist() == [0, 1]

    def test_missing(self, kind, tmp_path):
        folders = ["a=1", "a=__HIVE_DEFAULT_PARTITION__"]
        with pytest.raises(pipeline.InvalidArgumentError, match="column 'a' of type int64 has missing values, 2 of 2"):
            list(self.make(kind, tmp_path, folders))
        [batch] = self.make(kind, tmp_path, folders, defaults={"a": -1}).batch(4)
        assert batch["a"].tolist() == [1, 1, -1, -1]
        [batch] = self.make(kind, tmp_path, folders, where=pc.field("a").is_null(), columns=["n"]).batch(4)
        assert batch["n"].tolist() == [10, 11]

    def test_chosen_twice(self, kind, tmp_path):
        [batch] = self.make(kind, tmp_path, ["a=1"], columns=["a", "n", "a"]).batch(2)
        assert {name: array.tolist() for name, array in batch.items()} == {"a": [1, 1], "n": [0, 1]}

    def test_chosen(self, kind, tmp_path):
        [batch] = self.make(kind, tmp_path, ["a=1", "a=2"], columns=["a"]).batch(4)
        assert {name: array.tolist() for name, array in batch.items()} == {"a": [1, 1, 2, 2]}
        [batch] = self.make(kind, tmp_path, ["a=1", "a=2"], columns=["n"]).batch(4)
        assert list(batch) == ["n"]

    def test_other_folders(self, kind, tmp_path):
        for folders, name in ((["a=1", "b=1"], "a"), (["a", "b=1"], "b"), (["b=1", "a"], "b")):
            with pytest.raises(pipeline.InvalidArgumentError, match=f"column '{name}' is missing"):
                self.make(kind, tmp_path, folders)
            [batch] = self.make(kind, tmp_path, folders, columns=["n"]).batch(4)
            assert batch["n"].tolist() == [0, 1, 10, 11]

    def test_a_column_in_the_file_comes_first(self, kind, tmp_path):
        [batch] = self.make(kind, tmp_path, ["n=7"]).batch(2)
        assert batch["n"].tolist() == [0, 1]

    def test_urls(self):
        with fsspec.open("memory://hive/year=2024/a.parquet", "wb") as file:
            pa.parquet.write_table(pa.table({"n": [1, 2]}), file)
        [batch] = pipeline.parquet("memory://hive/*/a.parquet", where=pc.field("n") > 1).batch(2)
        assert {name: array.tolist() for name, array in batch.items()} == {"n": [2], "year": [2024]}


class TestWhere:
    ROWS = pa.table(
        {
            "n": range(40),
            "x": [float("nan") if i % 10 == 3 else i / 2 for i in range(40)],
            "i": [None if i % 10 == 4 else i for i in range(40)],
            "s": [f"{i:02}" for i in range(40)],
            "d": pa.array([i % 3 for i in range(40)]).cast(pa.string()).dictionary_encode(),
        }
    )
    EXPRESSIONS = (
        pc.field("n") > 17,
        pc.field("n").isin([1, 2, 39]),
        (pc.field("n") > 17) & (pc.field("s") < "21"),
        ~(pc.field("x") > 3),
        ~(pc.field("x") < 30),
        pc.field("x") != 2,
        pc.field("x").is_nan(),
        ~(pc.field("i") > 3),
        pc.field("i").is_null(),
        (pc.field("x") > 10) | (pc.field("i") < 3),
        pc.field("d") == "1",
        pc.starts_with(pc.field("s"), "3"),
        pc.scalar(True),
    )

    @pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
    def test_rows(self, read, expression):
        wanted = [row["n"] for row in self.ROWS.to_pylist()]
        wanted = self.ROWS.filter(expression)["n"].to_pylist()
        for make in (
            lambda: read(self.ROWS, columns=["n"], where=expression),
            lambda: read(self.ROWS, columns=["n", "x"], where=expression),
            lambda: pipeline.arrow(self.ROWS, ["n"], where=expression),
        ):
            source = make()  # reads the same file again
            assert len(source) == len(wanted)
            assert [int(row["n"]) for row in source] == wanted
            assert int(source[-1]["n"]) == wanted[-1]

    @pytest.mark.parametrize("seed", range(8))
    def test_any_expression(self, read, seed):
        """Statistics exclude no matching row, whatever its values are: NaN, missing, signed zeros."""
        rng = np.random.default_rng(seed)
        values = [float("nan"), None, 0.0, -0.0, 1.0, 2.0, float("inf")]
        columns = {name: [values[i] for i in rng.integers(0, 7, 24)] for name in "xy"}
        table = pa.table({**columns, "n": range(24)})

        def condition(depth):
            if depth and (kind := rng.integers(3)) < 2:
                one, other = condition(depth - 1), condition(depth - 1)
                return one & other if kind else one | other
            field, value = pc.field(str(rng.choice(["x", "y"]))), float(rng.integers(0, 3))
            made = [field > value, field <= value, field == value, field != value, field.is_null(), field.is_nan()]
            return ~made[rng.integers(6)] if rng.integers(2) else made[rng.integers(6)]

        for _ in range(12):
            expression = condition(2)
            wanted = table.filter(expression)["n"].to_pylist()
            if wanted:
                assert [row["n"] for row in read(table, columns=["n"], where=expression)] == wanted

    def test_row_groups_are_skipped_by_their_statistics(self, tmp_path):
        """The others are damaged."""
        path = tmp_path / "t.parquet"
        numbers = np.random.default_rng(1).integers(0, 1 << 40, 4000)
        table = pa.table({"n": np.arange(4000), "x": np.arange(4000) / 2, "y": numbers})
        pa.parquet.write_table(table, path, row_group_size=1000, compression="none", use_dictionary=False)
        file = pa.parquet.ParquetFile(path)
        data = bytearray(path.read_bytes())
        for group in (0, 2, 3):
            for column in range(3):
                start = file.metadata.row_group(group).column(column).data_page_offset
                data[start : start + 200] = b"\xff" * 200
        path.write_bytes(data)
        for expression in (
            (pc.field("n") >= 1000) & (pc.field("n") < 2000),
            (pc.field("x") >= 500) & (pc.field("x") < 1000),
            pc.field("n") == 1500,
        ):
            found = [int(row["n"]) for row in pipeline.parquet(path, where=expression)]
            assert found == ([1500] if len(found) == 1 else list(range(1000, 2000)))
        with pytest.raises(pipeline.DataLossError, match=str(path)):
            list(pipeline.parquet(path))

    def test_files_are_skipped_by_their_folders(self, kind, tmp_path):
        """The others are damaged."""
        for year in (2023, 2024):
            path = tmp_path / f"year={year}" / "t"
            write(kind, str(path), pa.table({"n": np.arange(4000)}), 1000)
            if year == 2023:
                data = path.read_bytes()
                start = data.index(np.arange(50, 60).tobytes()) if kind != "parquet" else 200
                path.write_bytes(data[:start] + b"\xff" * 300 + data[start + 300 :])
        source = function(kind)(str(tmp_path / "*" / "t"), where=(pc.field("year") == 2024) & (pc.field("n") < 3))
        assert [int(row["n"]) for row in source] == [0, 1, 2]

    def test_sees_the_dtypes(self, read):
        prices = pa.array([Decimal("1.50"), Decimal("3.25")])
        source = read(prices, dtypes={"a": float}, where=pc.field("a") > 2)
        assert [row["a"] for row in source] == [3.25]
        source = read(pa.array(["9", "10"]), dtypes={"a": int}, where=pc.field("a") > 9)
        assert [row["a"] for row in source] == [10]
        source = pipeline.arrow(pa.table({"a": prices}), dtypes={"a": float}, where=pc.field("a") > 2)
        assert [row["a"] for row in source] == [3.25]

    def test_of_files_that_differ(self, read):
        source = read(pa.array([1, 5], pa.int32()), pa.array([1 << 40, 2]), where=pc.field("a") > 2)
        assert [row["a"] for row in source] == [5, 1 << 40]

    def test_states_are_those_of_the_expression(self, read):
        table = pa.table({"n": range(20)})
        batches = iter(read(table, where=pc.field("n") > 4).batch(3))
        next(batches)
        state = json.loads(json.dumps(batches.state_dict()))
        rest = [batch["n"].tolist() for batch in batches]
        again = iter(read(table, where=pc.field("n") > 4).batch(3))
        again.load_state_dict(state)
        assert [batch["n"].tolist() for batch in again] == rest
        for other in (pc.field("n") > 5, None):
            with pytest.raises(pipeline.StateMismatchError):
                iter(read(table, where=other).batch(3)).load_state_dict(state)
        many = [pc.field("n").isin([*range(15), last]) for last in (18, 19)]
        state = iter(read(table, where=many[0]).batch(3)).state_dict()
        with pytest.raises(pipeline.StateMismatchError):
            iter(read(table, where=many[1]).batch(3)).load_state_dict(state)

    def test_errors_name_the_row_of_the_file(self, read, tmp_path):
        source = read(pa.table({"n": range(10)}), pa.table({"n": range(10)}), where=pc.field("n") > 6)

        def bad(row):
            if row["n"] == 8:
                raise ValueError("bad")
            return row

        with pytest.raises(ValueError, match="bad") as error:
            list(source.map(bad))
        if sys.version_info >= (3, 11):
            assert any(f"{tmp_path / '0'}:8" in note for note in error.value.__notes__)

    def test_wrong_expressions(self, read, tmp_path):
        column = pa.array([1, 2])
        for made in (
            lambda **options: read(column, **options),
            lambda **options: pipeline.arrow(pa.table({"a": column}), **options),
        ):
            with pytest.raises(pipeline.InvalidArgumentError, match=r"where=\(a > 5\) matches none of 2 rows"):
                made(where=pc.field("a") > 5)
            with pytest.raises(
                pipeline.InvalidArgumentError, match=r"where=\(b > 5\): No match .*; the columns are 'a'"
            ):
                made(where=pc.field("b") > 5)
            with pytest.raises(pipeline.InvalidArgumentError, match=r"where=.* must evaluate to bool"):
                made(where=pc.field("a") + 1)
            with pytest.raises(
                TypeError, match=r"where must be an expression such as pyarrow\.compute\.field\('x'\) > 3"
            ):
                made(where=[("a", ">", 1)])
            with pytest.raises(pipeline.InvalidArgumentError, match=r"where=.* cannot be computed: divide by zero"):
                made(where=pc.field("a") / 0 > 1)


OTHERS = {
    "dtype": {"a": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]},
    "values": {"a": list(range(6, 12))},
    "columns": {"b": list(range(6)), "a": list(range(6, 12))},
    "another column": {"b": list(range(6))},
}


class TestWrittenMeanwhile:
    """A file whose columns no longer match those at the dataset's creation."""

    @pytest.fixture(params=OTHERS)
    def other(self, request, kind, tmp_path):
        def write_other():
            noise = np.random.default_rng(0).bytes(6000)  # not a smaller file, because that would be a truncated one
            more = {"z": [noise[1000 * i : 1000 * i + 1000] for i in range(6)]}
            write(kind, str(tmp_path / "0"), pa.table({**OTHERS[request.param], **more}))
            os.utime(tmp_path / "0", ns=(0, 0))  # its clock may not have advanced since

        return write_other

    def message(self, kind, tmp_path):
        name = "parquet" if kind == "parquet" else "feather"
        return f"{name}: {tmp_path / '0'} has changed since the dataset was made: make a new dataset"

    def test_before_it_is_read(self, read, kind, other, tmp_path):
        source = read([0, 1, 2, 3, 4, 5])
        other()
        with raises(pipeline.errors.FailedPreconditionError, self.message(kind, tmp_path)):
            list(source)

    def test_between_two_groups(self, read, kind, other, tmp_path):
        with iter(read([0, 1, 2, 3, 4, 5])) as rows:
            assert next(rows)["a"] == 0
            other()
            with raises(pipeline.errors.FailedPreconditionError, self.message(kind, tmp_path)):
                list(rows)


class TestBatchesOfGroups:
    @pytest.mark.parametrize("mapped", [False, True])
    def test_are_copies(self, kind, tmp_path, mapped):
        """Changing a batch within a group, or across two, does not change later epochs."""
        plain, floats = pa.array(range(20)), pa.array(np.arange(40, dtype=np.float32))
        columns = {
            "plain": plain,
            "required": plain,
            "bool": pa.array([i % 3 == 0 for i in range(20)]),
            "missing": pa.array([None, *map(float, range(19))]),
            "text": pa.array([f"{i}" for i in range(20)]),
            "pair": pa.FixedSizeListArray.from_arrays(floats, 2),
            "struct": pa.StructArray.from_arrays([plain], ["x"]),
        }
        table = pa.table(columns)
        table = table.cast(table.schema.set(1, pa.field("required", pa.int64(), nullable=False)))
        write(kind, str(tmp_path / "t"), table, 7)
        options = {} if kind == "parquet" else {"memory_map": mapped}
        epochs = [[], []]
        for i, batch in enumerate(function(kind)(tmp_path / "t", num_epochs=2, **options).batch(4)):
            batch |= batch.pop("struct")
            epochs[i // 5] += zip(*[array.tolist() for array in batch.values()], strict=True)
            for array in batch.values():
                assert array.flags.owndata
                array[...] = 0
        columns["missing"], columns["struct"] = columns["missing"].fill_null(math.nan), plain
        expected = list(zip(*[column.to_pylist() for column in columns.values()], strict=True))
        assert str(epochs) == str([expected, expected])

    def test_of_large_groups(self, kind, tmp_path):
        write(kind, str(tmp_path / "t"), pa.table({"n": range(50_000)}), 40_000)
        source = function(kind)(tmp_path / "t", num_epochs=2)
        for _ in range(2):
            with iter(source.batch(999)) as batches:
                got = [next(batches)["n"] for _ in range(43)]
                state = batches.state_dict()
                got += [batch["n"] for batch in batches]
            assert [len(batch) for batch in got] == [999] * 100 + [100]
            assert np.array_equal(np.concatenate(got), np.tile(np.arange(50_000), 2))
        with iter(source.batch(999)) as batches:
            batches.load_state_dict(state)
            assert np.array_equal(next(batches)["n"], got[43])
        assert [row["n"] for row in source.skip(39_998).take(4)] == [39_998, 39_999, 40_000, 40_001]

    def test_until_a_missing_value(self, kind, tmp_path):
        write(kind, str(tmp_path / "t"), pa.table({"n": [*range(300), None, *range(301, 400)], "m": range(400)}), 350)
        with iter(function(kind)(tmp_path / "t").batch(7)) as batches:
            assert [next(batches)["n"].tolist() for _ in range(42)] == np.arange(294).reshape(42, 7).tolist()
            with pytest.raises(pipeline.InvalidArgumentError, match="has missing values, 1 of 350: see defaults="):
                next(batches)
        skipped = function(kind)(tmp_path / "t").map(dict, on_error="skip").batch(7)
        assert np.concatenate([batch["m"] for batch in skipped]).tolist() == [i for i in range(400) if i != 300]


class TestStreams:
    def test_dictionaries_that_change(self, tmp_path):
        """Each batch uses its stream's last dictionary, with later additions."""
        for deltas, mapped in itertools.product([False, True], [False, True]):
            words = [["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"], ["x", "y"]][: 3 if deltas else 4]
            batches = [
                pa.record_batch({"w": pa.array(each).dictionary_encode(), "n": range(len(each))}) for each in words
            ]
            options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)
            with pa.ipc.new_stream(str(tmp_path / "t"), batches[0].schema, options=options) as writer:
                for batch in batches:
                    writer.write_batch(batch)
            for columns in (None, ["w"], ["n", "w"]):
                source = pipeline.feather(tmp_path / "t", columns, memory_map=mapped)
                assert [row["w"] for row in source] == [word for each in words for word in each]
                got = sorted(row["w"] for row in pipeline.feather(tmp_path / "t", shuffle=True, seed=1))
                assert got == sorted(word for each in words for word in each)

    @pytest.mark.parametrize("options", [{"compression": "lz4"}, {"use_legacy_format": True}, {}], ids=str)
    def test_formats(self, tmp_path, options):
        table = pa.table({"n": range(1000), "s": [f"{i}" for i in range(1000)]})
        with pa.ipc.new_stream(str(tmp_path / "t"), table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
            writer.write_table(table, max_chunksize=100)
        [batch] = pipeline.feather(tmp_path / "t").batch(1000)
        assert batch["n"].tolist() == list(range(1000))
        assert len(pipeline.feather(tmp_path / "t", ["s"])) == 1000

    def test_without_rows(self, tmp_path):
        path, table = tmp_path / "t", pa.table({"n": [1, 2]})
        write("stream", str(path), table.slice(0, 0))
        assert list(pipeline.feather(path)) == []

    def test_of_a_url(self):
        with (
            fsspec.open("memory://streams/t.arrow", "wb") as file,
            pa.ipc.new_stream(file, pa.schema([("n", pa.int64())])) as writer,
        ):
            writer.write_table(pa.table({"n": range(10)}), max_chunksize=3)
        assert [row["n"] for row in pipeline.feather("memory://streams/*.arrow")] == list(range(10))

    def test_a_stream_whose_writer_was_stopped(self, tmp_path):
        """The format allows that, but it looks the same as a truncated stream."""
        path, table = tmp_path / "t", pa.table({"n": [1, 2]})
        with pa.ipc.new_stream(str(path), table.schema) as writer:
            writer.write_table(table)
            writer.write_table(table)
        path.write_bytes(path.read_bytes()[:-8])  # the end marker
        with raises(
            pipeline.DataLossError, f"{path}; neither an Arrow IPC file nor a stream, or damaged: it has no mark"
        ):
            pipeline.feather(str(path))

    def test_two_that_were_joined(self, tmp_path):
        """Otherwise the second would never be read."""
        path = tmp_path / "t"
        write("stream", str(path), pa.table({"n": [1, 2]}))
        path.write_bytes(2 * path.read_bytes())
        with raises(pipeline.DataLossError, f"{path}; neither an Arrow IPC file nor a stream, or damaged: it goes on"):
            pipeline.feather(path)

    @pytest.mark.parametrize("compression", [None, "zstd"])
    def test_of_damage(self, tmp_path, compression):
        """Cut or flipped anywhere: right rows, fewer whole batches at the end, or an error naming the file."""
        path = tmp_path / "t"
        table = pa.table({"n": range(12), "s": [f"{i}" for i in range(12)]})
        with pa.ipc.new_stream(
            str(path), table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)
        ) as writer:
            writer.write_table(table, max_chunksize=4)
        data, errors = path.read_bytes(), []
        cuts = [data[:i] for i in range(0, len(data), 7)]
        flips = [data[:i] + bytes([data[i] ^ bit]) + data[i + 1 :] for bit in (1, 128) for i in range(0, len(data), 3)]
        for other in cuts + flips:
            path.write_bytes(other)
            try:
                rows = list(pipeline.feather(path))
            except pipeline.errors.OpError as error:
                errors.append(str(error))
            else:
                assert len(rows) in (0, 4, 8, 12)
        assert len(errors) > len(cuts) / 2
        assert all(str(path) in each for each in errors)


def test_cache_files_of_hugging_face(tmp_path):
    datasets = pytest.importorskip("datasets")
    made = datasets.Dataset.from_dict({"n": range(30), "s": [f"{i}" for i in range(30)]})
    made.save_to_disk(tmp_path / "d", num_shards=2)
    source = pipeline.feather(str(tmp_path / "d" / "*.arrow"), shuffle=True, seed=1)
    assert sorted(int(row["n"]) for row in source) == list(range(30))


@pytest.mark.parametrize("names", [[b"y=%ff", b"y=%fe"], [b"y=\xff", b"y=\xfe"]])
def test_folders_that_are_no_text(tmp_path, names):
    """They would be one value, U+FFFD."""
    pa.parquet.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    for name in names:
        folder = os.fsencode(tmp_path) + b"/" + name
        os.mkdir(folder)
        os.link(tmp_path / "a.parquet", folder + b"/a.parquet")
    with raises(pipeline.InvalidArgumentError, f"parquet: the name of a folder of '{tmp_path}/y="):
        pipeline.parquet(str(tmp_path / "*" / "*.parquet"))
