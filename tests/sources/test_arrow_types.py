"""Columns with every Arrow type, in tables, Parquet files, Feather files and streams."""

import datetime
import decimal
import uuid

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet
import pytest
from helpers import raises

import pipeline

IDS = [uuid.UUID(int=i << 64) for i in range(4)]


def stored(kind, values, storage):
    return pa.ExtensionArray.from_storage(kind, pa.array(values, storage))


def tensors(shape=(2, 3), permutation=None, missing=False):
    """Return four NumPy tensors and a column with them."""
    kind = pa.fixed_shape_tensor(pa.int16(), shape, permutation=permutation)
    rows = [list(range(6 * i, 6 * i + 6)) for i in range(4)]
    column = stored(kind, [None, *rows[1:]] if missing else rows, pa.list_(pa.int16(), 6))
    arrays = np.array(rows, np.int16).reshape(4, *shape)
    order = range(len(shape)) if permutation is None else permutation
    return arrays.transpose(0, *(axis + 1 for axis in order)), column


@pytest.fixture(params=["arrow", "parquet", "feather", "stream"])
def read(request, tmp_path):
    """Read four rows from two chunks in the order 3, 0, 1, 2, and check them."""

    def read(column, **options):
        table = pa.table({"a": column, "n": range(len(column))})
        table = pa.concat_tables([table.slice(0, 1), table.slice(1)])
        return source(table, **options)

    def source(table, **options):
        path = str(tmp_path / "t")
        if request.param == "arrow":
            return pipeline.arrow(table, **options)
        if request.param == "parquet":
            pa.parquet.write_table(table, path, row_group_size=3)
            return pipeline.parquet(path, **options)
        make = pa.ipc.new_file if request.param == "feather" else pa.ipc.new_stream
        with make(path, table.schema) as writer:
            writer.write_table(table)
        return pipeline.feather(path, **options)

    return read


def check(source, wanted):
    """The rows come in any order, per example and in batches, with and without workers."""
    for data in (source, source.map(dict), source.map(dict, workers=pipeline.processes(1)), source.shuffle(3, seed=1)):
        rows = list(data)
        assert sorted(int(row["n"]) for row in rows) == list(range(len(wanted)))
        for row in rows:
            one = wanted[int(row["n"])]
            assert type(row["a"]) is type(one)
            if isinstance(one, np.ndarray):
                assert row["a"].dtype == one.dtype
            np.testing.assert_array_equal(row["a"], one)
    [batch] = source.batch(len(wanted), pad=0 if isinstance(wanted[0], np.ndarray) else None)
    return batch["a"]


@pytest.mark.parametrize(
    ("shape", "permutation"), [((2, 3), None), ((2, 3), [1, 0]), ((1, 2, 3), [2, 0, 1]), ((6,), None)]
)
def test_tensors(read, shape, permutation):
    wanted, column = tensors(shape, permutation)
    batch = check(read(column), list(wanted))
    assert batch.dtype == np.int16
    assert batch.shape == wanted.shape


def test_slices_of_tensors():
    wanted, column = tensors()
    table = pa.table({"a": column, "box": pa.StructArray.from_arrays([column], ["t"])})
    for given in (table.slice(1, 2), table.to_batches()[0].slice(1, 2)):
        [batch] = pipeline.arrow(given).batch(2)
        np.testing.assert_array_equal(batch["a"], wanted[1:3])
        np.testing.assert_array_equal(batch["box"]["t"], wanted[1:3])


def test_lists_of_tensors():
    wanted, column = tensors()
    lists = pa.ListArray.from_arrays([0, 1, 4], column)
    rows = [row["a"] for row in pipeline.arrow(pa.table({"a": lists}))]
    np.testing.assert_array_equal(rows[0], wanted[:1])
    np.testing.assert_array_equal(rows[1], wanted[1:])


def test_missing_tensors(read, request):
    if request.node.callspec.params["read"] == "parquet" and pa.cpp_version_info.major < 26:
        pytest.skip("pyarrow before 26 cannot read back a missing list of a fixed size")
    with pytest.raises(pipeline.InvalidArgumentError, match=r"column 'a' of type .* has missing values, 1 of"):
        list(read(tensors(missing=True)[1]))
    wanted = tensors()[0]
    for row in read(tensors(missing=True)[1], defaults={"a": [9] * 6}):
        np.testing.assert_array_equal(row["a"], wanted[row["n"]] if row["n"] else np.full((2, 3), 9))


def test_uuids(read):
    column = stored(pa.uuid(), [each.bytes for each in IDS], pa.binary(16))
    check(read(column), [each.bytes for each in IDS])


def test_bool8(read):
    column = stored(pa.bool8(), [1, 0, 2, -1], pa.int8())
    assert check(read(column), [np.bool_(x) for x in (1, 0, 1, 1)]).dtype == bool
    with pytest.raises(pipeline.InvalidArgumentError, match="column 'a' of type int8 has missing values, 1 of"):
        list(read(stored(pa.bool8(), [1, None], pa.int8())))


TEXTS = ['{"a": 1}', "[]", '"é"', "3"]


def test_json_is_text(read):
    assert check(read(stored(pa.json_(), TEXTS, pa.string())), TEXTS).tolist() == TEXTS


def test_strings_as_text(read):
    check(read(pa.array(TEXTS), dtypes={"a": str}), TEXTS)
    check(read(pa.array(TEXTS).dictionary_encode(), dtypes={"a": str}), TEXTS)
    check(read(pa.array(TEXTS)), TEXTS)
    check(read(pa.array(TEXTS), dtypes={"a": bytes}), [text.encode() for text in TEXTS])


PRICES = [decimal.Decimal(x) for x in ("1.50", "-2.25", "0.00", "99.99")]


@pytest.mark.parametrize(
    "kind", [pa.decimal128(5, 2), pa.decimal256(50, 2), pa.decimal32(5, 2), pa.decimal64(9, 2)], ids=str
)
def test_decimals(read, kind):
    with pytest.raises(pipeline.InvalidArgumentError, match=r"pass dtypes=\{'a': float\}, or leave it out"):
        read(pa.array(PRICES, kind))
    for dtype in ("float64", "float32"):
        wanted = [np.dtype(dtype).type(each) for each in PRICES]
        assert check(read(pa.array(PRICES, kind), dtypes={"a": dtype}), wanted).dtype == dtype
    [batch] = read(pa.array([None, *PRICES[1:]], kind), dtypes={"a": float}).batch(4)
    assert batch["a"].tolist()[1:] == [-2.25, 0, 99.99]
    assert np.isnan(batch["a"][0])


def test_decimals_inside(read):
    kind = pa.list_(pa.decimal128(5, 2))
    check(
        read(pa.array([PRICES[:2], [], PRICES[2:]], kind), dtypes={"a/item": float}),
        [np.array(each, float) for each in ([1.5, -2.25], [], [0, 99.99])],
    )
    box = pa.array([{"price": each} for each in PRICES], pa.struct([("price", pa.decimal128(5, 2))]))
    with pytest.raises(pipeline.InvalidArgumentError, match=r"dtypes=\{'a/price': float\}"):
        read(box)
    check(read(box, dtypes={"a/price": float}), [{"price": np.float64(each)} for each in PRICES])


@pytest.mark.parametrize(
    ("kind", "unit"),
    [(pa.time32("s"), "s"), (pa.time32("ms"), "ms"), (pa.time64("us"), "us"), (pa.time64("ns"), "ns")],
    ids=str,
)
def test_times_of_day(read, kind, unit):
    times = [datetime.time(1, 2, 3), datetime.time(), datetime.time(23, 59, 59), datetime.time(0, 0, 1)]
    wanted = [
        np.timedelta64(each.hour * 3600 + each.minute * 60 + each.second, "s").astype(f"m8[{unit}]") for each in times
    ]
    units = {unit, "ms"} if unit == "s" else {unit}  # Parquet stores no seconds
    assert np.datetime_data(check(read(pa.array(times, kind)), wanted).dtype)[0] in units
    missing = pa.array([None, *times[1:]], kind)
    with pytest.raises(pipeline.InvalidArgumentError, match=r"column 'a' of type time.* has missing values, 1 of"):
        list(read(missing))
    for default, first in [
        (datetime.time(1, 2, 3), wanted[0]),
        (np.timedelta64(3723, "s"), wanted[0]),
        (np.timedelta64("NaT", "s"), np.timedelta64("NaT", unit)),
    ]:
        check(read(missing, defaults={"a": default}), [first, *wanted[1:]])
    with pytest.raises(ValueError, match="is not a valid default for column 'a' of time"):
        read(missing, defaults={"a": np.datetime64("2024-01-01")})


def test_maps_are_lists_of_pairs(read):
    pairs = [[("a", 1), ("b", None)], [], [("c", 3)], [("a", 1), ("a", 2)]]
    column = pa.array(pairs, pa.map_(pa.string(), pa.int32()))
    batch = check(read(column), [pipeline.ListValue(each) for each in pairs])
    assert batch.tolist() == pairs
    missing = pa.array([None, *pairs[1:]], column.type)
    with pytest.raises(pipeline.InvalidArgumentError, match="has missing values, 1 of"):
        list(read(missing))
    check(read(missing, defaults={"a": []}), [pipeline.ListValue(each) for each in ([], *pairs[1:])])


def test_null_columns(read):
    """All their values are missing."""
    column = pa.nulls(4)
    with pytest.raises(pipeline.InvalidArgumentError, match=r"column 'a' of type null has missing values, \d of"):
        list(read(column))
    assert [list(row) for row in read(column, columns=["n"])] == [["n"]] * 4
    check(read(column, defaults={"a": 7}), [np.int64(7)] * 4)
    check(read(column, defaults={"a": "x"}), ["x"] * 4)
    check(read(column, dtypes={"a": "int16"}, defaults={"a": 7}), [np.int16(7)] * 4)
    check(read(column, dtypes={"a": float}), [np.float64("nan")] * 4)
    empty = pa.array([[], []])
    with pytest.raises(pipeline.InvalidArgumentError, match=r"pass dtypes=\{'a/item': float\}"):
        read(empty)
    check(read(empty, dtypes={"a/item": "int32"}), [np.empty(0, np.int32)] * 2)


@pytest.mark.parametrize("view", [pa.list_view, pa.large_list_view])
def test_list_views(read, view):
    rows = [["a", "b"], [], ["c" * 20], ["d"]]
    check(read(pa.array(rows, view(pa.string()))), [np.array(row, object) for row in rows])
    numbers = [[1, 2], [], [3], [4, 5, 6]]
    check(read(pa.array(numbers, view(pa.int32()))), [np.array(row, np.int32) for row in numbers])
    with pytest.raises(pipeline.InvalidArgumentError, match="has missing values, 1 of"):
        list(read(pa.array([None, *numbers[1:]], view(pa.int32()))))
    missing = read(pa.array([None, *numbers[1:]], view(pa.int32())), defaults={"a": []})
    check(missing, [np.array(row, np.int32) for row in ([], *numbers[1:])])


@pytest.mark.parametrize("view", [pa.list_view, pa.large_list_view])
def test_list_views_inside(view):
    """Items stored in any order, views into strings, slices, and lists, arrays and structs with them."""
    unordered = pa.ListViewArray.from_arrays(
        pa.array([3, 0, 1], pa.int32()), pa.array([2, 3, 1], pa.int32()), pa.array([1, 2, 3, 4, 5])
    )
    assert [row["a"].tolist() for row in pipeline.arrow(pa.table({"a": unordered}))] == [[4, 5], [1, 2, 3], [2]]
    words = pa.array([["a"], ["b", "c" * 20], []], view(pa.string_view()))
    assert [row["a"].tolist() for row in pipeline.arrow(pa.table({"a": words}).slice(1))] == [["b", "c" * 20], []]
    pairs = pa.array([[[1], [2]], [[], [3, 4]], [[5], []]], pa.list_(view(pa.int64()), 2))
    assert [row["a"] for row in pipeline.arrow(pa.table({"a": pairs}).slice(1))] == [[[], [3, 4]], [[5], []]]
    boxes = pa.array([{"v": [1, 2]}, {"v": []}, {"v": [3]}], pa.struct([("v", view(pa.int64()))]))
    assert [row["a"]["v"].tolist() for row in pipeline.arrow(pa.table({"a": boxes}).slice(1))] == [[], [3]]
    deep = pa.array([[[1], []], [], [[2, 3]]], view(view(pa.int64())))
    assert [row["a"] for row in pipeline.arrow(pa.table({"a": deep}).slice(1))] == [[], [[2, 3]]]


def test_runs():
    column = pa.array([1, 1, 1, 5], pa.run_end_encoded(pa.int32(), pa.int64()))
    assert [row["a"] for row in pipeline.arrow(pa.table({"a": column}).slice(1))] == [1, 1, 5]


class TestDtypes:
    def test_numbers(self, read):
        column = pa.array([1, 2, 3, 4], pa.int64())
        assert check(read(column, dtypes={"a": np.int8}), [np.int8(i) for i in range(1, 5)]).dtype == np.int8
        check(read(pa.array([1, None, 3, 4]), dtypes={"a": float}), [np.float64(x) for x in (1, "nan", 3, 4)])
        check(read(pa.array(["1.5", "2", "3", "4"]), dtypes={"a": float}), [np.float64(x) for x in (1.5, 2, 3, 4)])

    def test_a_value_that_does_not_fit(self, read):
        """Nothing is silently rounded or cut."""
        for column, dtype in [
            (pa.array([1, 2, 3, 300]), "int8"),
            (pa.array([1, 2, 3, 0.5]), int),
            (pa.array([1, 2, 3, (1 << 53) + 1]), float),
            (pa.array(["1", "2", "3", "x"]), int),
            (pa.array([1, 2, 3, 1e300]), "float32"),
            (pa.array([1, 2, 3, 1e5]), "float16"),
            (pa.array([0, 1, 1, 2]), bool),
            (pa.array([0, 1, 1, 0.5]), bool),
            (pa.array([0, 1, 1, 2]).dictionary_encode(), bool),
        ]:
            with pytest.raises(pipeline.InvalidArgumentError, match=r"column 'a' of type .* does not become") as error:
                list(read(column, dtypes={"a": dtype}))
            assert (
                "arrow" in str(error.value) or "row group 1" in str(error.value) or "record batch 1" in str(error.value)
            )

    def test_a_value_inside_that_does_not_fit(self, read):
        items, fields = pa.array([[0.5], [1.5], [], [1e300]]), pa.array([{"b": i} for i in range(4)])
        for column, dtypes in ((items, {"a/item": "float32"}), (fields, {"a/b": bool})):
            with pytest.raises(
                pipeline.InvalidArgumentError, match=r"does not become .*: (1e\+300 is too large|2 is neither)"
            ):
                list(read(column, dtypes=dtypes))

    def test_infinite_and_missing_floats(self, read):
        column = pa.array([float("inf"), None, -float("inf"), 1.5])
        check(read(column, dtypes={"a": "float32"}), [np.float32(x) for x in ("inf", "nan", "-inf", 1.5)])

    def test_fields_of_one_name(self, read):
        column = pa.StructArray.from_arrays([pa.array([1, 2, 3, 4]), pa.array([5, 6, 7, 8])], ["b", "b"])
        with pytest.raises(pipeline.InvalidArgumentError, match=r"column 'a' has several fields 'b': rename them"):
            read(column)

    def test_wrong_dtypes(self, read):
        column = pa.array([[1], [2]])
        with pytest.raises(ValueError, match=r"dtypes: there is no column 'b'; the columns are 'a', 'a/item', 'n'"):
            read(column, dtypes={"b": float})
        with pytest.raises(
            ValueError, match=r"cannot be float64: dtypes= takes what is in it, as in \{'a/item': float\}"
        ):
            read(column, dtypes={"a": float})
        with pytest.raises(TypeError, match=r"dtypes of column 'n' must be a dtype, such as np\.float32, got str 'no'"):
            read(column, dtypes={"n": "no"})
        with pytest.raises(TypeError, match="dtypes must be a dict of dtypes by column, not "):
            read(column, dtypes=float)
        for bad in (object, "V8", "datetime64"):
            with pytest.raises(ValueError, match="column 'n' of type int64 cannot be "):
                read(column, dtypes={"n": bad})

    def test_text_that_is_none(self):
        bad = pa.array([b"\xff"])
        text = pa.Array.from_buffers(pa.string(), 1, bad.buffers())
        table = pa.table({"a": text})
        error = "arrow: column 'a': b'\\xff' is not UTF-8: pass dtypes={'a': bytes}"
        for options in ({}, {"dtypes": {"a": str}}):
            with raises(pipeline.DataLossError, error):
                list(pipeline.arrow(table, **options))
        assert list(pipeline.arrow(table, dtypes={"a": bytes})) == [{"a": b"\xff"}]

    def test_are_part_of_the_state(self, read):
        column = pa.array(["1", "2", "3", "4"])
        batches = iter(read(column).batch(1))
        next(batches)
        state = batches.state_dict()
        for dtype in (bytes, int):
            with pytest.raises(pipeline.StateMismatchError):
                iter(read(column, dtypes={"a": dtype}).batch(1)).load_state_dict(state)


CITIES = ["Oslo", "Rome", "Oslo", "Zürich"]
NAMES = {"a": ["Zürich", "Bonn", "Oslo", "Rome"]}
STRINGS = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int8(), pa.string())]


@pytest.mark.parametrize("kind", STRINGS, ids=str)
def test_codes(read, kind):
    column = pa.array(CITIES).dictionary_encode() if pa.types.is_dictionary(kind) else pa.array(CITIES)
    batch = check(read(column.cast(kind), codes=NAMES), [np.int64(i) for i in (2, 3, 2, 0)])
    assert batch.dtype == np.int64


def test_codes_of_fields_and_items(read):
    column = pa.array([{"city": city, "tags": [city] * i} for i, city in enumerate(CITIES)])
    rows = read(column, codes={"a/city": NAMES["a"], "a/tags/item": CITIES[1:]})
    rows = sorted(((row["a"]["city"].item(), row["a"]["tags"].tolist()) for row in rows), key=lambda row: len(row[1]))
    assert rows == [(2, []), (3, [0]), (2, [1, 1]), (0, [2, 2, 2])]


def test_codes_of_missing_and_other_strings(read):
    column = pa.array(["Oslo", None, "Paris", None])
    with pytest.raises(pipeline.InvalidArgumentError, match=r"column 'a' .* has missing values, 1 of .*defaults="):
        list(read(column.slice(0, 2), codes=NAMES))
    source = read(column, codes=NAMES, defaults={"a": "Bonn"})
    with pytest.raises(pipeline.InvalidArgumentError, match="column 'a': 'Paris' is not one of the 4 codes"):
        list(source)
    assert sorted((int(row["n"]), int(row["a"])) for row in source.map(dict, on_error="skip")) == [
        (0, 2),
        (1, 1),
        (3, 1),
    ]
    nothing = read(pa.nulls(2), codes=NAMES, defaults={"a": "Rome"})
    assert [int(row["a"]) for row in nothing] == [3, 3]


def test_codes_are_not_those_of_the_file(read):
    column = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1], pa.int8()), ["Rome", "Oslo"])
    source = read(column, codes={"a": ["Oslo", "Rome"]}, where=pc.field("a") != "Rome")
    assert [int(row["a"]) for row in source] == [0, 0]
    state = iter(source).state_dict()
    with pytest.raises(pipeline.StateMismatchError):
        iter(read(column, codes={"a": ["Rome", "Oslo"]}, where=pc.field("a") != "Rome")).load_state_dict(state)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"codes": ["Oslo"]}, "codes must be a dict of lists of names by column"),
        ({"codes": {"a": "Oslo"}}, "codes of column 'a' must be a list of names"),
        ({"codes": {"a": []}}, "must be names, each once"),
        ({"codes": {"town": ["Oslo"]}}, "there is no column 'town'"),
        ({"codes": {"n": ["1"]}}, "column 'n' of type int64 cannot have codes"),
        ({"codes": NAMES, "dtypes": {"a": str}}, "column 'a' has codes"),
    ],
)
def test_codes_that_do_not_fit(read, options, text):
    with pytest.raises((pipeline.InvalidArgumentError, TypeError), match=text):
        read(pa.array(CITIES), **options)
