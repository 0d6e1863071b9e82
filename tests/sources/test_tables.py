"""arrow, parquet and feather: Arrow columns as arrays, from tables in memory and in files."""

import datetime
import decimal
import json
import re

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from helpers import raises, run_script, told
from source_contract import SourceContract

import pipeline

COUNT = 30


def rows(first, end):
    """Return a table with these examples, in several chunks, with columns of many types."""
    numbers = range(first, end)
    half = (end - first) // 2
    table = pa.table(
        {
            "n": pa.array(numbers, pa.int32()),
            "x": pa.array([None if i % 7 == 6 else i / 2 for i in numbers], pa.float32()),
            "word": [f"{i}é" for i in numbers],
            "kind": pa.array(["odd" if i % 2 else "even" for i in numbers]).dictionary_encode(),
            "vector": pa.array([[i, 2 * i] for i in numbers], pa.list_(pa.int64(), 2)),
            "left": [b"not chosen"] * (end - first),
            "box": [{"size": i, "flag": i % 3 == 0} for i in numbers],
        }
    )
    return pa.concat_tables([table.slice(0, half), table.slice(half)])


COLUMNS = ["n", "x", "word", "kind", "vector", "box"]


def check(batch):
    assert sorted(batch) == sorted(COLUMNS)
    numbers = batch["n"].tolist()
    assert batch["n"].dtype == np.int32
    assert batch["x"].dtype == np.float32
    assert np.array_equal(batch["x"], [np.nan if i % 7 == 6 else i / 2 for i in numbers], equal_nan=True)
    assert batch["word"].tolist() == [f"{i}é" for i in numbers]
    assert batch["kind"].tolist() == ["odd" if i % 2 else "even" for i in numbers]
    assert batch["vector"].tolist() == [[i, 2 * i] for i in numbers]
    assert batch["box"]["size"].tolist() == numbers
    assert batch["box"]["flag"].dtype == bool
    assert batch["box"]["flag"].tolist() == [i % 3 == 0 for i in numbers]
    return numbers


class TestArrow(SourceContract):
    count = COUNT

    def make(self, **options):
        return pipeline.arrow(rows(0, COUNT), COLUMNS, **options)

    def numbers(self, batch):
        return check(batch)

    @pytest.mark.parametrize("name", COLUMNS)
    def test_another_table_does_not_take_the_state(self, name):
        """A digest over some rows detects it; chunking makes no difference."""

        def loop(table):
            return pipeline.batch(pipeline.arrow(table, COLUMNS), 3, deterministic=True)

        with loop(rows(0, COUNT)) as batches:
            next(batches)
            state = batches.state_dict()
        with loop(rows(0, COUNT).combine_chunks()) as again:
            again.load_state_dict(state)
            next(again)
        place = rows(0, COUNT).schema.get_field_index(name)
        with loop(rows(0, COUNT).set_column(place, name, rows(1, COUNT + 1)[name])) as other:
            text = "arrow: its values have changed since the state was saved"
            with pytest.raises(pipeline.StateMismatchError, match=text):
                other.load_state_dict(state)


class TestParquet(SourceContract):
    count = COUNT

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.pattern = str(tmp_path / "part-*.parquet")
        for i, (first, end) in enumerate([(0, 11), (11, 11), (11, 30)]):
            table = rows(0, COUNT).slice(first, end - first)  # one file is empty
            pa.parquet.write_table(table, tmp_path / f"part-{i}.parquet", row_group_size=4)

    def make(self, **options):
        return pipeline.parquet(self.pattern, COLUMNS, **options)

    def numbers(self, batch):
        return check(batch)

    def test_another_file_does_not_take_the_state(self, tmp_path):
        with pipeline.batch(self.make(), 3, deterministic=True) as batches:
            next(batches)
            state = batches.state_dict()
        changed = rows(0, 11).set_column(0, "n", pa.array(range(1, 12), pa.int32()))
        pa.parquet.write_table(changed, tmp_path / "part-0.parquet", row_group_size=4)
        batches = pipeline.batch(self.make(), 3, deterministic=True)
        with pytest.raises(pipeline.StateMismatchError, match=r"part-0\.parquet' has other contents|bytes when"):
            batches.load_state_dict(state)


class TestFeather(SourceContract):
    count = COUNT
    compression = "uncompressed"

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.paths = [tmp_path / "a.feather", tmp_path / "b.feather"]
        for path, (first, end) in zip(self.paths, [(0, 11), (11, 30)], strict=True):
            pa.feather.write_feather(rows(first, end), path, compression=self.compression, chunksize=4)

    def make(self, **options):
        return pipeline.feather(self.paths, COLUMNS, **options)

    def numbers(self, batch):
        return check(batch)


class TestCompressedFeather(TestFeather):
    compression = "lz4"


class TestMappedFeather(TestFeather):
    def make(self, **options):
        return super().make(**options, memory_map=True)


@pytest.mark.parametrize("workers", [2, "auto"])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_workers_get_no_rows_of_two_groups_as_those_of_one(tmp_path, kind, shuffle, workers):
    """If group sizes are multiples of 64, claims of 64 rows must not join two groups in one chunk."""
    path, table = tmp_path / "a", pa.table({"x": np.arange(400 * 64)})
    if kind == "parquet":
        pa.parquet.write_table(table, path, row_group_size=64)
    else:
        pa.feather.write_feather(table, path, chunksize=64)
    source = getattr(pipeline, kind)(path, shuffle=shuffle, seed=1 if shuffle else None)
    with iter(source.map(lambda row: row["x"], workers=workers).batch(100)) as batches:
        got = np.concatenate(list(batches))
    np.testing.assert_array_equal(got, np.concatenate([batch["x"] for batch in source.batch(100)]))


class TestRemote:
    @pytest.mark.parametrize("kind", ["parquet", "feather"])
    def test_pattern(self, kind):
        for i in range(3):
            with fsspec.open(f"memory://tables/{kind}/{i}.{kind}", "wb") as file:
                if kind == "parquet":
                    pa.parquet.write_table(rows(10 * i, 10 * i + 10), file, row_group_size=4)
                else:
                    pa.feather.write_feather(rows(10 * i, 10 * i + 10), file, chunksize=4)
        function = getattr(pipeline, kind)
        [got] = pipeline.batch(function(f"memory://tables/{kind}/*.{kind}", COLUMNS), COUNT)
        assert check(got) == list(range(COUNT))
        with raises(pipeline.NotFoundError, f"{kind}: 'memory://tables/{kind}/x*' matches no file"):
            function(f"memory://tables/{kind}/x*")
        with raises(pipeline.NotFoundError, f"memory://tables/{kind}/x"):
            function(f"memory://tables/{kind}/x")


class TestColumns:
    def test_ragged(self):
        table = pa.table({"words": [["a"], [], ["b", "c"]], "ids": [[1, 2], [3], []]})
        [got] = pipeline.arrow(table.slice(1)).batch(2, collate="row_splits")
        assert [part.tolist() for part in got["ids"]] == [[3], [0, 1, 1]]
        assert [part.tolist() for part in got["words"]] == [["b", "c"], [0, 0, 2]]

    def test_times(self):
        moment = datetime.datetime(2024, 5, 6, 7, 8, 9)
        table = pa.table({"t": pa.array([moment], pa.timestamp("ms")), "d": pa.array([moment.date()])})
        [got] = pipeline.batch(pipeline.arrow(table), 1)
        assert got["t"].dtype == "datetime64[ms]"
        assert got["t"][0] == np.datetime64(moment, "ms")
        assert got["d"].tolist() == [moment.date()]

    def test_what_offers_a_stream(self):
        class Frame:
            def __arrow_c_stream__(self, requested_schema=None):
                return rows(0, COUNT).__arrow_c_stream__(requested_schema)

        [got] = pipeline.batch(pipeline.arrow(Frame(), COLUMNS), COUNT)
        assert check(got) == list(range(COUNT))

    def test_only_the_columns_that_are_chosen_are_read(self, tmp_path):
        """Another column's bytes are damaged."""
        path = tmp_path / "t.parquet"
        marker = b"not chosen" * 100
        table = pa.table({"n": [1, 2], "left": [marker, marker]})
        pa.parquet.write_table(table, path, compression="none", use_dictionary=False, write_statistics=False)
        data = path.read_bytes()
        at = data.index(marker)
        path.write_bytes(data[: at - 4] + b"\xff" * 4 + data[at:])  # the first value's length
        [got] = pipeline.batch(pipeline.parquet(path, ["n"]), 2)
        assert got["n"].tolist() == [1, 2]
        with pytest.raises(pipeline.OpError):
            list(pipeline.batch(pipeline.parquet(path), 2))

    @pytest.mark.parametrize("kind", ["arrow", "parquet", "feather"])
    def test_string_views(self, kind, tmp_path):
        """As in polars tables: in columns, lists, arrays, structs and dictionaries."""
        view = pa.string_view()
        words = pa.array(["a", None, "ä word of more than twelve bytes", "d"], view)
        table = pa.table(
            {
                "word": words,
                "bytes": pa.array([b"x", b"y" * 20, b"", b"z"], pa.binary_view()),
                "kind": pa.DictionaryArray.from_arrays(pa.array([1, 0, 1, 1], pa.uint32()), pa.array(["u", "v"], view)),
                "list": pa.array([["a"], [], ["b", "c" * 20], ["d"]], pa.large_list(view)),
                "pair": pa.array([["a", "b"]] * 4, pa.list_(view, 2)),
                "box": pa.array([{"name": str(i)} for i in range(4)], pa.struct([("name", view)])),
            }
        )
        path = str(tmp_path / "views")
        if kind == "parquet":  # it cannot hold dictionaries with views
            table = table.set_column(2, "kind", table["kind"].cast(pa.dictionary(pa.uint32(), pa.string())))
            pa.parquet.write_table(table, path)
        elif kind == "feather":
            with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as file:
                file.write_table(table)
        make = getattr(pipeline, kind)
        source = make(table if kind == "arrow" else path, defaults={"word": "none"}, shuffle=True, seed=2)
        rows = list(source)
        order = [int(row["box"]["name"]) for row in rows]
        assert sorted(order) == [0, 1, 2, 3]
        words = ["a", "none", "ä word of more than twelve bytes", "d"]
        assert [row["word"] for row in rows] == [words[i] for i in order]
        assert [row["bytes"] for row in rows] == [[b"x", b"y" * 20, b"", b"z"][i] for i in order]
        assert [row["kind"] for row in rows] == [["v", "u", "v", "v"][i] for i in order]
        lists = [["a"], [], ["b", "c" * 20], ["d"]]
        assert [row["list"].tolist() for row in rows] == [lists[i] for i in order]
        assert [row["pair"].tolist() for row in rows] == [["a", "b"]] * 4


CHATS = [[{"role": "user", "content": f"é {i}"}] * count for i, count in enumerate([2, 2, 1, 0, 3, 2])]


def same(example):
    return example


def answered(example):
    return {**example, "chat": pipeline.ListValue([*example["chat"], {"role": "assistant", "content": "yes"}])}


class TestObjects:
    """Lists of structs and lists of lists become lists of Python objects."""

    @pytest.fixture(params=["arrow", "parquet", "feather"])
    def source(self, request, tmp_path):
        table = pa.table({"chat": CHATS, "n": range(6)})
        if request.param == "arrow":
            return pipeline.arrow(table)
        path = tmp_path / "t"
        if request.param == "parquet":
            pa.parquet.write_table(table, path, row_group_size=4)
            return pipeline.parquet(path)
        pa.feather.write_feather(table, path, chunksize=4)
        return pipeline.feather(path)

    @pytest.mark.parametrize(
        "options",
        [
            *[{}, {"num_threads": 0}, {"num_threads": 2}, {"deterministic": True}, {"dynamic_pad": True}],
        ],
        ids=told,
    )
    def test_chats(self, source, options):
        self.check(pipeline.batch(source, 2, **options), dict(enumerate(CHATS)))

    @pytest.mark.parametrize("workers", [None, 2, pipeline.processes(1)], ids=["none", "threads", "processes"])
    @pytest.mark.parametrize("options", [{}, {"pad": 0}, {"collate": "row_splits"}], ids=told)
    def test_chats_of_a_function(self, source, options, workers):
        wanted = {n: [*chat, {"role": "assistant", "content": "yes"}] for n, chat in enumerate(CHATS)}
        self.check(source.map(answered, workers=workers).batch(2, **options), wanted)

    def check(self, batches, wanted):
        got = {}
        for batch in batches:
            assert {type(each) for each in batch["chat"]} == {pipeline.ListValue}
            got |= dict(zip(batch["n"].tolist(), batch["chat"].tolist(), strict=True))
        assert got == wanted

    def test_in_buckets(self, source):
        lengths = {}
        for length, batch in pipeline.bucket_by_sequence_length(
            lambda example: len(example["chat"]), source, 1, [2], dynamic_pad=False
        ):
            lengths[int(batch["n"][0])] = int(length[0])
        assert lengths == {n: len(chat) for n, chat in enumerate(CHATS)}

    def test_examples(self, source):
        assert [example["chat"] for example in source] == CHATS
        assert source[4]["chat"] == CHATS[4]

    @pytest.mark.parametrize("list_", [pa.list_, pa.large_list])
    def test_lists_of_lists(self, list_):
        """With fixed-size inner lists they are arrays."""
        boxes = [[[0, 1], [2, 3]], [], [[4, 5]]]
        table = pa.table({"boxes": pa.array(boxes, list_(list_(pa.int64())))})
        [batch] = pipeline.batch(pipeline.arrow(table), 3)
        assert batch["boxes"].tolist() == boxes
        cast = pa.table({"boxes": table["boxes"].cast(pa.list_(pa.list_(pa.int64(), 2)))})
        [batch] = pipeline.arrow(cast).batch(3, collate="row_splits")
        values, splits = batch["boxes"]
        assert values.tolist() == [[0, 1], [2, 3], [4, 5]]
        assert splits.tolist() == [0, 2, 2, 3]
        [batch] = pipeline.arrow(cast).batch(3, pad=0)
        assert batch["boxes"].tolist() == [[[0, 1], [2, 3]], [[0, 0], [0, 0]], [[4, 5], [0, 0]]]

    @pytest.mark.parametrize(
        ("kind", "values"),
        [
            (pa.list_(pa.list_(pa.float32())), [[[1.5, None], None], []]),
            (pa.list_(pa.list_(pa.int8()), 2), [[[1], []], [[2, 3], [4]]]),
            (pa.list_(pa.map_(pa.string(), pa.int8())), [[[("a", 1)]], []]),
            (pa.list_(pa.struct([("x", pa.list_(pa.decimal128(3, 1)))])), [[{"x": [decimal.Decimal("1.5")]}], []]),
        ],
        ids=str,
    )
    def test_values_are_as_pyarrow_gives_them(self, kind, values):
        [batch] = pipeline.batch(pipeline.arrow(pa.table({"a": pa.array(values, kind)})), 2)
        assert batch["a"].tolist() == values

    def test_in_structs(self):
        table = pa.table({"a": [{"chat": chat, "n": 1} for chat in CHATS]})
        [batch] = pipeline.batch(pipeline.arrow(table), 6)
        assert batch["a"]["chat"].tolist() == CHATS

    def test_dictionaries_in_lists_are_the_values(self):
        kind = pa.list_(pa.dictionary(pa.int8(), pa.string()))
        rows = list(pipeline.arrow(pa.table({"a": pa.array([["x"], ["y", "x"]], kind)})))
        assert [row["a"].tolist() for row in rows] == [["x"], ["y", "x"]]

    def test_missing_rows(self):
        table = pa.table({"a": [None, *CHATS]})
        with pytest.raises(
            pipeline.InvalidArgumentError, match=r"column 'a' of type list<.*> has missing values, 1 of 7"
        ):
            list(pipeline.batch(pipeline.arrow(table), 7))
        [batch] = pipeline.batch(pipeline.arrow(table, defaults={"a": []}), 7)
        assert batch["a"].tolist() == [[], *CHATS]

    def test_text_that_is_none(self):
        bad = pa.array([[[b"\xff"]]], pa.list_(pa.list_(pa.binary())))
        text = pa.Array.from_buffers(pa.string(), 1, [None, *bad.buffers()[-2:]])
        inner = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), text)
        table = pa.table({"a": pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), inner)})
        with raises(pipeline.DataLossError, "arrow: column 'a': b'\\xff' is not UTF-8: leave it out"):
            list(pipeline.batch(pipeline.arrow(table), 1))


class TestErrors:
    def test_of_columns(self, tmp_path):
        table = pa.table({"a": [1], "b": [2]})
        with raises(ValueError, "arrow: there is no column 'c'; the columns are 'a', 'b'"):
            pipeline.arrow(table, ["a", "c"])
        with raises(ValueError, "arrow: no columns are chosen; the columns are 'a', 'b'"):
            pipeline.arrow(table, [])
        with raises(ValueError, "arrow: there are 2 columns 'a': rename them, or leave them out"):
            pipeline.arrow(table.rename_columns(["a", "a"]))
        assert pipeline.arrow(table.append_column("b", table["b"]), ["a"])[0] == {"a": 1}
        with raises(TypeError, "arrow: columns must be a list of names, such as ['a'], not 'a'"):
            pipeline.arrow(table, "a")
        path = tmp_path / "t.parquet"
        pa.parquet.write_table(table, path)
        with raises(ValueError, f"parquet: {path}: there is no column 'c'; the columns are 'a', 'b'"):
            pipeline.parquet(path, ["c"])
        pa.parquet.write_table(table.append_column("b", table["b"]), path)
        with raises(ValueError, f"parquet: {path}: there are 2 columns 'b': rename them, or leave them out"):
            pipeline.parquet(path)
        assert pipeline.parquet(path, ["a"])[0] == {"a": 1}
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema.append(table.schema[1])) as writer:
            writer.write_table(table.append_column("b", table["b"]))
        with raises(ValueError, f"feather: {path}: there are 2 columns 'b': rename them, or leave them out"):
            pipeline.feather(path)
        assert pipeline.feather(path, ["a"])[0] == {"a": 1}

    def test_of_types(self):
        for kind, name in [
            (pa.decimal128(5), "a"),
            (pa.list_(pa.decimal128(5)), "a/item"),
            (pa.list_(pa.list_(pa.decimal128(5), 2)), "a/item/item"),
            (pa.struct([("b", pa.decimal128(5))]), "a/b"),
            (pa.list_(pa.null()), "a/item"),
        ]:
            text = f"for which NumPy has no dtype: pass dtypes={{'{name}': float}}, or leave it out"
            with pytest.raises(ValueError, match=re.escape(text)):
                pipeline.arrow(pa.table({"a": pa.array([], kind)}))
        text = "arrow: column 'a' has the type month_day_nano_interval, for which NumPy has no dtype: cast it"
        with raises(ValueError, text):
            pipeline.arrow(pa.table({"a": pa.array([], pa.month_day_nano_interval())}))
        with raises(TypeError, "arrow: expected an Arrow table, got [1]"):
            pipeline.arrow([1])

    def test_of_schemas(self, tmp_path):
        a, b = tmp_path / "a.parquet", tmp_path / "b.parquet"
        pa.parquet.write_table(pa.table({"n": [1], "m": [1]}), a)
        pa.parquet.write_table(pa.table({"n": [1.5]}), b)
        text = f"parquet: '{b}' does not fit the other files: column 'n' is double, and int64 in '{a}'; column 'm' is"
        with raises(ValueError, text):
            pipeline.parquet([a, b])
        pa.parquet.write_table(pa.table({"m": ["x"], "n": [1]}), b)  # other columns may differ, and their order
        assert [got.tolist() for got in pipeline.parquet([a, b], ["n"])[0].values()] == [1]

    @pytest.mark.parametrize("function", [pipeline.parquet, pipeline.feather])
    def test_of_files(self, function, tmp_path):
        path = tmp_path / "no"
        with raises(pipeline.NotFoundError, f"No such file or directory: '{path}'"):
            function(path)
        path.write_bytes(b"no table" * 10)
        with raises(pipeline.DataLossError, f"{path}; "):
            function(path)
        with raises(
            pipeline.errors.FailedPreconditionError,
            f"{tmp_path}; Is a directory; for the files in it pass '{tmp_path}/*'",
        ):
            function(tmp_path)
        with raises(pipeline.NotFoundError, f"{function.__name__}: '{tmp_path}/*.x' matches no file"):
            function(f"{tmp_path}/*.x")
        with raises(pipeline.NotFoundError, f"{function.__name__}: there are no paths"):
            function([])
        for bad in (3, [3], {"a": 1}):
            with raises(TypeError, f"{function.__name__}: "):
                function(bad)

    def test_of_damaged_pages(self, tmp_path):
        path = tmp_path / "t.parquet"
        pa.parquet.write_table(pa.table({"n": np.random.default_rng(1).integers(0, 99, 5000)}), path)
        data = bytearray(path.read_bytes())
        data[200:1200] = b"\xff" * 1000
        path.write_bytes(data)
        source = pipeline.parquet(path)  # the schema, at the end of the file, can be read
        with raises(pipeline.DataLossError, f"{path}; "):
            list(pipeline.batch(source, 10))

    def test_of_any_flipped_bit_in_a_page(self, tmp_path):
        """With page checksums, files are read as written or not at all."""
        path = tmp_path / "t.parquet"
        numbers = np.random.default_rng(1).integers(0, 1 << 40, 500)
        pa.parquet.write_table(pa.table({"n": numbers}), path, write_page_checksum=True, use_dictionary=False)
        data = path.read_bytes()
        for bit in range(8 * 100, 8 * 2000, 37):
            flipped = bytearray(data)
            flipped[bit // 8] ^= 1 << bit % 8
            path.write_bytes(flipped)
            with raises(pipeline.DataLossError, f"{path}; "):
                list(pipeline.batch(pipeline.parquet(path), 10))

    @pytest.mark.parametrize("bit", [1, pytest.param(128, marks=pytest.mark.slow)])
    @pytest.mark.parametrize("kind", ["parquet", "feather"])
    def test_of_a_damaged_description(self, kind, bit, tmp_path):
        """Negative row counts, names that are no longer text: each error names the file."""
        path = tmp_path / "t"
        boxes = [{"size": {"height": i}} for i in range(30)]
        table = pa.table({"column": range(30), "other": [f"{i}" for i in range(30)], "box": boxes})
        if kind == "parquet":
            pa.parquet.write_table(table, path, row_group_size=10, store_schema=False)
        else:
            pa.feather.write_feather(table, path, chunksize=10, compression="uncompressed")
        data = path.read_bytes()
        size = int.from_bytes(data[-8:-4] if kind == "parquet" else data[-10:-6], "little")
        said = []
        for i in range(len(data) - 10 - size, len(data)):
            path.write_bytes(data[:i] + bytes([data[i] ^ bit]) + data[i + 1 :])
            try:
                got = list(getattr(pipeline, kind)(path))
                assert len(got) == 30 or (kind == "feather" and len(got) == 20)  # a batch missing from the list
            except pipeline.errors.OpError as error:
                said.append(str(error))
        assert len(said) > size / 8
        assert all(str(path) in each for each in said)

    def test_of_damaged_offsets(self, tmp_path):
        """Arrow would follow them into other memory."""
        path = tmp_path / "t.feather"
        for table, written, wrong in [
            (pa.table({"s": ["abc", "defgh", "ij"]}), [0, 3, 8, 10], [0, 3, 1 << 30, 10]),
            (pa.table({"s": ["abc", "defgh", "ij"]}), [0, 3, 8, 10], [0, -77, 8, 10]),
            (pa.table({"s": [[1] * 3, [2] * 5, [3] * 2]}), [0, 3, 8, 10], [0, 3, 1 << 20, 10]),
            (
                pa.table({"s": pa.array(["a", "b", "a", "b", "a"]).dictionary_encode()}),
                [0, 1, 0, 1, 0],
                [0, 1, 0, 9, 0],
            ),
        ]:
            pa.feather.write_feather(table, path, compression="uncompressed")
            before, after = (np.array(each, np.int32).tobytes() for each in (written, wrong))
            data = path.read_bytes()
            assert data.count(before) == 1
            path.write_bytes(data.replace(before, after))
            for mapped in (False, True):
                with raises(pipeline.DataLossError, f"{path}; "):
                    list(pipeline.feather(path, memory_map=mapped))

    def test_of_a_file_that_becomes_shorter(self, tmp_path):
        """The process survives, whereas reading a mapped file would end it by SIGBUS."""
        pa.feather.write_feather(
            pa.table({"n": np.arange(100_000)}), tmp_path / "n", chunksize=1000, compression="uncompressed"
        )
        script = f"""
import os
import pipeline
batches = pipeline.batch(pipeline.feather({str(tmp_path / "n")!r}), 100, num_threads=0)
print(next(batches)["n"][:3])
os.truncate({str(tmp_path / "n")!r}, 5000)
try:
    list(batches)
except pipeline.DataLossError as error:
    print(str(error).partition(";")[0])
"""
        assert run_script(script).stdout.splitlines() == ["[0 1 2]", str(tmp_path / "n")]

    def test_of_memory_maps(self, tmp_path):
        with raises(ValueError, "feather: memory_map=True is for local files, and 'memory://x' is a URL: leave it out"):
            pipeline.feather("memory://x", memory_map=True)
        with raises(TypeError, "feather: memory_map must be a bool, got 'no'"):
            pipeline.feather(tmp_path, memory_map="no")

    def test_without_pyarrow(self):
        script = """
import sys
sys.modules["pyarrow"] = None
import pipeline
for function in (pipeline.arrow, pipeline.parquet, pipeline.feather):
    try:
        function("x")
    except ImportError as error:
        print(error)
"""
        assert run_script(script).stdout.splitlines() == [
            f"{name} needs pyarrow: pip install pyarrow" for name in ("arrow", "parquet", "feather")
        ]


def nested_fixed(levels):
    """Return an array with 20 rows of nested fixed-size lists, and the expected rows."""
    rows = np.arange(20 * 2**levels, dtype=np.int32).reshape(20, *[2] * levels)
    array = pa.array(rows.ravel())
    for _ in range(levels):
        array = pa.FixedSizeListArray.from_arrays(array, 2)
    return array, rows


@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("chunks", [1, 2])
def test_slices_of_nested_lists_of_fixed_size(levels, chunks):
    array, rows = nested_fixed(levels)
    inner = pa.FixedSizeListArray.from_arrays(array.values.slice(12), 2)  # sliced inside only
    column = pa.chunked_array([array] * chunks)
    table = pa.table({"c": column, "s": pa.chunked_array([pa.StructArray.from_arrays([array], ["q"])] * chunks)})
    for given in (table, table.combine_chunks(), table.to_batches()[0]):
        sliced = given.slice(3, 12)
        found = list(pipeline.arrow(sliced))
        assert [each["c"].tolist() for each in found] == rows[3:15].tolist()
        assert [each["s"]["q"].tolist() for each in found] == rows[3:15].tolist()
        (batch,) = pipeline.arrow(sliced, shuffle=True, seed=1).batch(12)
        assert sorted(batch["c"].tolist()) == rows[3:15].tolist()
    assert [each["c"].tolist() for each in pipeline.arrow(pa.table({"c": inner}))] == rows[6:].tolist()


def test_dictionaries_without_the_value():
    """As in a file with a damaged dictionary page."""
    column = pa.DictionaryArray.from_arrays(pa.array([0, 5]), pa.array(["a"]), safe=False)
    with pytest.raises(pipeline.DataLossError, match="arrow: column 'c' has a value that its dictionary does not have"):
        list(pipeline.arrow(pa.table({"c": column})))


def test_structs_without_fields():
    with pytest.raises(pipeline.InvalidArgumentError, match="column 'c' has the type struct<>, for which NumPy"):
        pipeline.arrow(pa.table({"c": pa.array([{}] * 3, pa.struct([]))}))


def test_items_have_the_columns_in_their_order():
    source = pipeline.arrow(pa.table({"b": [1, 2], "a": [3, 4]}))
    assert [list(source[i]) for i in range(2)] == [list(example) for example in source] == [["b", "a"]] * 2


class TestIndexOfPandas:
    """Without a name it is not a feature: shuffled, dropped and concatenated frames have one."""

    INDEX = "__index_level_0__"

    def table(self, name, metadata=None):
        """Return a `pyarrow.table` from a shuffled frame whose index has a name, or None."""
        stored = self.INDEX if name is None else name
        said = {
            "index_columns": [stored],
            "columns": [{"name": "x", "field_name": "x"}, {"name": name, "field_name": stored}],
        }
        table = pa.table({"x": [3, 1, 2], stored: [2, 0, 1]})
        return table.replace_schema_metadata({"pandas": metadata or json.dumps(said)})

    @pytest.fixture(params=["arrow", "parquet", "feather"])
    def read(self, request, tmp_path):
        def reads(table, columns=None):
            path = tmp_path / "t"
            if request.param == "arrow":
                return list(pipeline.arrow(table, columns))
            if request.param == "parquet":
                pa.parquet.write_table(table, path)
            else:
                pa.feather.write_feather(table, path)
            return list(getattr(pipeline, request.param)(path, columns))

        return reads

    def test_without_a_name_it_is_left_out(self, read):
        assert read(self.table(None)) == [{"x": 3}, {"x": 1}, {"x": 2}]
        assert read(self.table(None), ["x", self.INDEX])[0] == {"x": 3, self.INDEX: 2}
        assert read(self.table("user"))[0] == {"x": 3, "user": 2}

    @pytest.mark.parametrize("metadata", ["no JSON", "[]", "3", '{"columns": 3, "index_columns": []}', "{}", b"\xff"])
    def test_other_metadata_tells_nothing(self, read, metadata):
        assert read(self.table(None, metadata))[0] == {"x": 3, self.INDEX: 2}

    def test_of_frames(self, read):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame({"x": [1, 2, 3]})
        for other in (frame.sample(frac=1, random_state=1), frame.drop(1), pandas.concat([frame, frame])):
            assert read(pa.table(other)) == [{"x": x} for x in other["x"]]


class TestColumnsOfPandas:
    """With dtypes unknown to Arrow."""

    @pytest.fixture
    def pandas(self):
        return pytest.importorskip("pandas")

    @pytest.mark.parametrize("values", [[1j, 2j], [2**70, 1], [1, "x"], [..., ...]], ids=repr)
    @pytest.mark.parametrize("read", [pipeline.arrow, pipeline.dataset], ids=["arrow", "dataset"])
    def test_errors_name_them(self, pandas, values, read):
        frame = pandas.DataFrame({"a": [1, 2], "z": values})
        with raises(ValueError, f"arrow: column 'z' of dtype {frame['z'].dtype} has no type in Arrow: "):
            read(frame)

    def test_columns_leaves_them_out(self, pandas):
        frame = pandas.DataFrame({"a": [1, 2], "z": [1j, 2j], "y": [2**70, 1]})
        assert list(pipeline.arrow(frame, ["a"])) == [{"a": 1}, {"a": 2}]


@pytest.mark.filterwarnings("ignore:Feather V1:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Feather V1:FutureWarning")
def test_feather_of_version_1(tmp_path):
    path = tmp_path / "a.feather"
    pyarrow.feather.write_feather(pa.table({"a": [1]}), str(path), version=1)
    with raises(ValueError, f"feather: '{path}' is a Feather file of version 1, which has no record batches: write it"):
        pipeline.feather(path)
