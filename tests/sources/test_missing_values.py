"""Missing values in Arrow tables and files: defaults, skipped rows, errors."""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from helpers import raises

import pipeline

TABLE = pa.table(
    {
        "n": pa.array([0, 1, None, 3, 4, None, 6, 7, 8], pa.int16()),
        "word": ["a", None, "c", "d", None, "f", "g", "h", "i"],
        "kind": pa.array(["x", None, "y"] * 3).dictionary_encode(),
        "x": pa.array([0.5, None, 2.5] * 3, pa.float32()),
        "box": [{"size": 1, "name": "b"}, None, {"size": None, "name": "c"}] * 3,
        "list": [[1], None, [2, 3]] * 3,
        "pair": pa.array([[1, 2], None, [3, 4]] * 3, pa.list_(pa.int64(), 2)),
        "day": [datetime.date(2020, 1, 1), None, datetime.date(2020, 1, 2)] * 3,
        "row": range(9),
    }
)
PLACES = {"arrow": "arrow", "parquet": "parquet: {path}, row group 0", "feather": "feather: {path}, record batch 0"}


@pytest.fixture(params=PLACES)
def make(request, tmp_path):
    """Make a source over some columns, in groups with 3 rows; `where` begins its errors."""
    path = tmp_path / "t"

    def made(columns, **options):
        if request.param == "arrow":
            return pipeline.arrow(TABLE, columns, **options)
        if request.param == "parquet":
            try:
                pa.parquet.write_table(TABLE, path, row_group_size=3)
                pa.parquet.read_table(path, columns=columns)
            except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:  # before 26 it cannot read "pair"
                pytest.skip(f"pyarrow {pa.__version__} cannot write or read them: {error}")
        else:
            pa.feather.write_feather(TABLE, path, chunksize=3)
        return getattr(pipeline, request.param)(path, columns, **options)

    made.where = PLACES[request.param].format(path=path)
    made.source = f"{request.param}: {path}" if request.param != "arrow" else "arrow"
    return made


@pytest.mark.parametrize("options", [{}, {"shuffle": True, "seed": 1}])
def test_defaults(make, options):
    defaults = {"n": -1, "word": "none", "kind": b"z", "x": 9, "box/size": -2, "box/name": "none", "list": []}
    defaults |= {"pair": [7, 7], "day": datetime.date(1970, 1, 1)}
    [batch] = make(None, defaults=defaults, **options).batch(9, pad=0)
    order = np.argsort(batch["row"])
    got = {name: batch[name][order].tolist() for name in ("n", "word", "kind", "x", "pair")}
    assert got == {
        "n": [0, 1, -1, 3, 4, -1, 6, 7, 8],
        "word": ["a", "none", "c", "d", "none", "f", "g", "h", "i"],
        "kind": ["x", "z", "y"] * 3,
        "x": [0.5, 9, 2.5] * 3,
        "pair": [[1, 2], [7, 7], [3, 4]] * 3,
    }
    assert [batch["n"].dtype, batch["x"].dtype] == ["int16", "float32"]
    assert batch["box"]["size"][order].tolist() == [1, -2, -2] * 3
    assert batch["box"]["name"][order].tolist() == ["b", "none", "c"] * 3
    assert batch["list"][order].tolist() == [[1, 0], [0, 0], [2, 3]] * 3
    assert batch["day"][order].astype("M8[D]").astype(int).tolist() == [18262, 0, 18263] * 3
    [batch] = pipeline.batch(make(["box"], defaults={"box": {"size": 5, "name": "all"}, "box/size": 6}), 9)
    assert batch["box"]["size"].tolist() == [1, 5, 6] * 3


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_threads": 0},
        {"num_threads": 3},
        {"deterministic": True},
    ],
    ids=str,
)
@pytest.mark.parametrize(("column", "left"), [("n", [0, 1, 3, 4, 6, 7, 8]), ("word", [0, 2, 3, 5, 6, 7, 8])])
def test_rows_that_are_left_out(column, left, options, make):
    source = make([column, "row"], shuffle=True, seed=1)
    with pipeline.batch(source, 2, allow_smaller_final_batch=True, on_error="skip", **options) as batches:
        got = list(batches)
    assert sorted(np.concatenate([batch["row"] for batch in got]).tolist()) == left
    assert batches.num_errors == 2
    assert all(f"column {column!r}" in str(error) for error in batches.errors)


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ("n", "column 'n' of type int16 has missing values, 1 of 3: see defaults="),
        ("word", "column 'word' of type string has missing values, 1 of 3: see defaults="),
        ("box", "column 'box/size' of type int64 has missing values, 2 of 3: see defaults="),
        ("list", r"column 'list' of type list<.*> has missing values, 1 of 3: see defaults="),
        ("pair", r"column 'pair' of type fixed_size_list<.* has missing values, 1 of 3: see defaults="),
    ],
)
def test_errors_count_the_missing_values_of_a_group(column, told, make):
    if make.where == "arrow":
        told = told.replace("1 of 3", r"\d of 9").replace("2 of 3", "6 of 9")
    source = make([column])
    with pytest.raises(pipeline.InvalidArgumentError, match=f"^{make.where}: {told}"):
        list(pipeline.batch(source, 3))
    with pytest.raises(pipeline.InvalidArgumentError, match=f"^{make.where}: {told}"):
        source[2], source[1]


@pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.list_(pa.int64(), 2)])
def test_values_in_lists(kind, tmp_path):
    path = tmp_path / "t"
    pa.parquet.write_table(pa.table({"a": pa.array([[1, None], [2, 3]], kind)}), path)
    text = f"parquet: {path}, row group 0: column 'a/item' of type int64 has missing values, 1 of 4: see defaults="
    for defaults in ({}, {"a": [0, 0]}):
        with raises(ValueError, text):
            list(pipeline.batch(pipeline.parquet(path, defaults=defaults), 2))
    [batch] = pipeline.batch(pipeline.parquet(path, defaults={"a/item": -1}), 2)
    assert [row.tolist() for row in batch["a"]] == [[1, -1], [2, 3]]


def test_defaults_that_do_not_fit(make):
    for column, default in (("n", 1.5), ("n", None), ("n", 2**15), ("n", "x"), ("word", 1), ("list", 3), ("x", "x")):
        with raises(ValueError, f"{make.source}: {default!r} is not a valid default for column {column!r} of "):
            make(None, defaults={column: default})
    with raises(ValueError, f"{make.source}: defaults: there is no column 'm'; the columns are 'n', 'row'"):
        make(["n", "row"], defaults={"m": 1})
    with raises(TypeError, f"{make.source}: defaults must be a dict of values by column, not [1]"):
        make(None, defaults=[1])


def test_a_state_knows_the_defaults(make):
    def loop(default):
        return pipeline.batch(make(["n"], defaults={"n": default}), 3, deterministic=True)

    with loop(-1) as batches:
        next(batches)
        state = batches.state_dict()
    with loop(-1) as batches:
        batches.load_state_dict(state)
        assert next(batches)["n"].tolist() == [3, 4, -1]
    told = pytest.raises(pipeline.errors.StateMismatchError, match=r"defaults.*'-1'.*'-2'")
    with loop(-2) as batches, told:
        batches.load_state_dict(state)


class OfPolars:
    """Like a polars Series: its null count is a method."""

    def __init__(self, values):
        self._values = pa.array(values)

    def __len__(self):
        return len(self._values)

    def __getitem__(self, i):
        return self._values[i].as_py()

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self._values, dtype)

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.chunked_array([self._values]).__arrow_c_stream__(requested_schema)

    def null_count(self):
        return self._values.null_count


@pytest.mark.parametrize(
    "make_column",
    [
        pa.array,
        lambda values: pa.chunked_array([values[:1], values[1:]]),
        OfPolars,
        lambda values: np.ma.masked_values([-1 if value is None else value for value in values], -1),
    ],
    ids=["Array", "ChunkedArray", "Series", "MaskedArray"],
)
class TestColumnsByThemselves:
    """NumPy would make floats from these, with NaN, or drop the mask."""

    def test_missing_values_are_an_error(self, make_column):
        column = make_column([2**53 + 1, None, 3, None])
        text = "has 2 of 4 values missing: fill them in first, or leave out their rows"
        with raises(pipeline.InvalidArgumentError, f"arrays: the input {text}"):
            pipeline.batch(column, 2)
        with raises(pipeline.InvalidArgumentError, f"arrays: the input {text}"):
            pipeline.arrays(column)

    def test_without_them_no_digit_is_lost(self, make_column):
        column = make_column([2**53 + 1, 3])
        for source in (column, pipeline.arrays(column)):
            [batch] = pipeline.batch(source, 2)
            assert batch.dtype == np.int64
            assert batch.tolist() == [2**53 + 1, 3]


NAT_TIME, NAT_SPAN = np.datetime64("NaT", "s"), np.timedelta64("NaT", "s")
TIMES = {
    "second": (pa.timestamp("s"), datetime.datetime(2020, 1, 1), np.datetime64("2021-01-01"), NAT_TIME),
    "nanosecond": (pa.timestamp("ns"), datetime.datetime(2020, 1, 1), np.datetime64("2021-01-01", "s"), NAT_TIME),
    "zone": (pa.timestamp("ms", "UTC"), datetime.datetime(2020, 1, 1), np.datetime64("2021-01-01", "ns"), NAT_TIME),
    "day": (pa.date32(), datetime.date(2020, 1, 1), np.datetime64("2021-01-01", "us"), NAT_TIME),
    "day64": (pa.date64(), datetime.date(2020, 1, 1), np.datetime64("2021-01-01"), NAT_TIME),
    "span": (pa.duration("us"), datetime.timedelta(1), np.timedelta64(3, "s"), NAT_SPAN),
}


@pytest.mark.parametrize("kind", TIMES)
def test_times_of_numpy_are_defaults_and_nat_is_one(kind):
    dtype, given, default, nat = TIMES[kind]
    table = pa.table({"when": pa.array([given, None], dtype), "at": [{"when": None}] * 2, "row": [0, 1]})
    table = table.set_column(1, "at", pa.array([{"when": given}, {"when": None}], pa.struct([("when", dtype)])))
    for value in (default, nat, type(nat)("NaT", "s")):
        [batch] = pipeline.batch(pipeline.arrow(table, defaults={"when": value, "at/when": value}), 2)
        for got in (batch["when"], batch["at"]["when"]):
            assert got.dtype.kind == ("m" if kind == "span" else "M")
            assert (not np.isnat(got[0]), bool(np.isnat(got[1]))) == (True, bool(np.isnat(value)))
            assert np.isnat(value) or got[1] == value
    other = NAT_TIME if nat is NAT_SPAN else NAT_SPAN
    for wrong in (other, None, float("nan"), 1.5):
        with pytest.raises(pipeline.InvalidArgumentError, match="is not a valid default for column 'when' of"):
            pipeline.arrow(table, defaults={"when": wrong})


def test_nat_of_pandas_is_a_default():
    pandas = pytest.importorskip("pandas")
    table = pa.table({"when": pa.array([1, None], pa.timestamp("ms"))})
    [batch] = pipeline.batch(pipeline.arrow(table, defaults={"when": pandas.NaT}), 2)
    assert np.isnat(batch["when"]).tolist() == [False, True]


def test_a_default_that_a_unit_would_round_is_refused():
    table = pa.table({"when": pa.array([1, None], pa.timestamp("s"))})
    with pytest.raises(pipeline.InvalidArgumentError, match="is not a valid default for column 'when' of timestamp"):
        pipeline.arrow(table, defaults={"when": np.datetime64("2021-01-01T00:00:00.5")})


def test_a_state_knows_a_default_of_nanoseconds():
    table = pa.table({"when": pa.array([1, None, 3], pa.timestamp("ns"))})

    def loop(nanosecond):
        default = np.datetime64(nanosecond, "ns")
        return pipeline.batch(pipeline.arrow(table, defaults={"when": default}), 1, deterministic=True)

    with loop(7) as batches:
        next(batches)
        state = batches.state_dict()
    with loop(7) as batches:
        batches.load_state_dict(state)
        assert next(batches)["when"].astype(int).tolist() == [7]
    with pytest.raises(pipeline.errors.StateMismatchError):
        loop(8).load_state_dict(state)


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "str", "int64[pyarrow]", "category"])
def test_missing_values_of_pandas_are_refused_as_those_of_arrow(dtype):
    pandas = pytest.importorskip("pandas")
    column = pandas.Series([1, None, 0], dtype=dtype)
    text = "arrays: component 'a' has 1 of 3 values missing: fill them in first, or leave out their rows"
    for given in (column, column.array):
        with raises(pipeline.InvalidArgumentError, text):
            pipeline.arrays({"a": given})
    with raises(pipeline.InvalidArgumentError, "batch: component 'a' has 1 of 3 values missing"):
        list(pipeline.dataset([{"a": column}]).batch(1))
    [batch] = pipeline.arrays({"a": column.iloc[::2]}).batch(2)
    assert len(batch["a"]) == 2


def test_nan_of_pandas_stays():
    pandas = pytest.importorskip("pandas")
    for dtype in ("float64", "Sparse[float64]"):
        [batch] = pipeline.arrays({"a": pandas.Series([1, None], dtype=dtype)}).batch(2)
        assert np.isnan(batch["a"]).tolist() == [False, True]
    [batch] = pipeline.arrays({"a": pandas.to_datetime(pandas.Series(["2020-01-01", None]))}).batch(2)
    assert np.isnat(batch["a"]).tolist() == [False, True]
