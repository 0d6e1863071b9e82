"""csv: dates and times, and category numbers."""

import numpy as np
import pytest

import pipeline

TABLE = """day,city,n
2024-01-31,Oslo,1
2024-02-29,Rome,2
,Oslo,3
1969-12-31,Rome,4
"""


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(TABLE)


def written(*fields):
    with open("b.csv", "w") as file:
        file.write("x\n" + "".join(f"{field}\n" for field in fields))
    return "b.csv"


def test_dates_and_codes():
    source = pipeline.csv("a.csv", dtypes={"day": "datetime64[D]"}, codes={"city": ["Rome", "Oslo"]})
    [batch] = source.batch(4)
    wanted = np.array(["2024-01-31", "2024-02-29", "NaT", "1969-12-31"], "datetime64[D]")
    np.testing.assert_array_equal(batch["day"], wanted)
    assert batch["day"].dtype == wanted.dtype
    assert batch["city"].dtype == np.int64
    assert batch["city"].tolist() == [1, 0, 1, 0]
    assert [int(row["city"]) for row in source] == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("unit", "field", "wanted"),
    [
        ("D", "2024-01", "2024-01-01"),
        ("s", "2024-01-31 12:30", "2024-01-31T12:30:00"),
        ("ms", "2024-01-31T12:30:01.25", "2024-01-31T12:30:01.250"),
        ("ns", "2024-01-31", "2024-01-31T00:00:00"),
        ("Y", "2024-01-01", "2024"),
        ("us", "1600-01-31", "1600-01-31T00:00:00"),
    ],
)
def test_units(unit, field, wanted):
    dtype = np.dtype(f"datetime64[{unit}]")
    path = written(field, "2024-01-01")
    [batch] = pipeline.csv(path, dtypes={"x": dtype}).batch(2)
    assert batch["x"].tolist() == np.array([wanted, "2024-01-01"], dtype).tolist()
    assert batch["x"].dtype == dtype


@pytest.mark.parametrize(
    "field",
    [
        *("today", "31.01.2024", "2024-01-32", "2024-01-31T12:30", "2024-01-31Z", "NaT", "20240131x", "2024-13-01"),
        *("20240131", "1706659200", "202401"),  # to NumPy these are years
    ],
)
def test_other_fields_are_an_error_with_their_line(field):
    path = written("2024-01-31", field)
    with pytest.raises(pipeline.InvalidArgumentError, match=r"b\.csv, line 3: column 'x': .*" + field[:4]):
        list(pipeline.csv(path, dtypes={"x": "datetime64[D]"}))
    assert len(list(pipeline.csv(path, dtypes={"x": "datetime64[D]"}).map(lambda row: row, on_error="skip"))) == 1


@pytest.mark.parametrize("unit", ["ns", "ps", "as"])
def test_a_date_out_of_range(unit):
    with pytest.raises(pipeline.InvalidArgumentError, match="line 2: column 'x'"):
        list(pipeline.csv(written("1600-01-31"), dtypes={"x": f"datetime64[{unit}]"}))


def test_dtypes_of_another_byte_order():
    [row] = pipeline.csv(written("1.5"), dtypes={"x": ">f8"})
    assert row["x"] == 1.5
    assert row["x"].dtype == np.float64
    [row] = pipeline.csv(written("2024-01-31"), dtypes={"x": ">M8[D]"})
    assert row["x"] == np.datetime64("2024-01-31")


def test_fields_that_are_no_code():
    path = written("Oslo", "Bonn")
    with pytest.raises(pipeline.InvalidArgumentError, match=r"line 3: column 'x': 'Bonn' is not one of the 1 codes"):
        list(pipeline.csv(path, codes={"x": ["Oslo"]}))
    with open(path, "a") as file:
        file.write('""\n')
    assert [int(row["x"]) for row in pipeline.csv(path, codes={"x": ["", "Bonn", "Oslo"]})] == [2, 1, 0]
    assert [int(row["x"]) for row in pipeline.csv(path, codes={"x": ["Bonn", "Oslo"]}, defaults={"x": "Bonn"})] == [
        1,
        0,
        0,
    ]


def test_options_that_do_not_fit():
    for options, text in (
        ({"codes": ["Oslo"]}, "codes must be a dict of lists of names by column"),
        ({"codes": {"city": "Oslo"}}, "codes of column 'city' must be a list of names"),
        ({"codes": {"city": ["Oslo", "Oslo"]}}, "must be names, each once"),
        ({"codes": {"town": ["Oslo"]}}, "there is no column 'town'"),
        ({"codes": {"city": ["Oslo"]}, "dtypes": {"city": str}}, "column 'city' has codes"),
        ({"dtypes": {"day": "datetime64"}}, "datetime64 needs a unit"),
    ):
        with pytest.raises((pipeline.InvalidArgumentError, TypeError), match=text):
            pipeline.csv("a.csv", **options)


def test_a_state_knows_the_codes():
    state = iter(pipeline.csv("a.csv", codes={"city": ["Oslo", "Rome"]})).state_dict()
    with pytest.raises(pipeline.StateMismatchError):
        iter(pipeline.csv("a.csv", codes={"city": ["Rome", "Oslo"]})).load_state_dict(state)
