"""csv: its errors and its log suggest a delimiter, a quote or dtypes, besides naming the line."""

import datetime
import logging
import os
import time

import numpy as np
import pytest
from helpers import raises, run_script

import pipeline
from pipeline.files.read_buffer import ReadBuffer


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.csv"


@pytest.mark.parametrize("delim", [";", "\t", "|"])
def test_another_delimiter(delim, path):
    names, row = delim.join(["name", "age", "x"]), delim.join(["Ada", "36", "1,65"])
    hint = f"with field_delim={delim!r} it has 3"
    for text in (f"{names}\n{row}\n", f"\n{names}\r\n\r\n{row}", f"{names}\n", names):
        path.write_text(text)
        for columns in (None, ["age"]):
            with raises(
                ValueError, f"csv: {path}: the header line has only one name, {names!r}: {hint}; for one column pass"
            ):
                pipeline.csv(path, columns)
    path.write_text(f"{names}\n{row}\n")
    assert next(iter(pipeline.csv(path, field_delim=delim))) == {"name": "Ada", "age": 36, "x": "1,65"}
    row = row.replace(",", ".")
    path.write_text(f"{row}\n")
    source = pipeline.csv(path, names=["name", "age", "x"])
    with raises(ValueError, f"csv: {path}, line 1: Expect 3 fields but have 1; {hint}"):
        next(iter(source))


def test_a_comma_where_another_delimiter_was_asked_for(path):
    path.write_text("a,b\n1,2\n")
    with raises(ValueError, f"csv: {path}: the header line has only one name, 'a,b': with field_delim=',' it has 2"):
        pipeline.csv(path, field_delim=";")


def test_a_name_with_a_delimiter_is_a_name(path):
    path.write_text("a;b\n1;2\n")
    assert list(pipeline.csv(path, names=["a;b"], skip_lines=1)) == [{"a;b": "1;2"}]
    for text in ("a;b\n1\n2\n", '"a;b"\n1;2\n'):
        path.write_text(text)
        assert list(next(iter(pipeline.csv(path)))) == ["a;b"]


@pytest.mark.parametrize("chunk", [64, 1 << 20])
def test_the_line_where_a_quote_began(chunk, path, monkeypatch):
    monkeypatch.setattr(ReadBuffer, "CHUNK", chunk)
    path.write_text('a,b\n\n1,x\n"1\n2","y\nz\n')
    with raises(ValueError, f"csv: {path}, line 4: Quoted field has to end with quote followed by delim or end; "):
        list(pipeline.batch(pipeline.csv(path, dtypes=str), 1))
    for row, line in (('"1\n2","y\nz\n', 5), ('"1","y\nz\n', 4), ('1,"y\nz\n3,"w"\n', 4)):
        path.write_text(f"a,b\n\n1,x\n{row}")
        with pytest.raises(ValueError, match=f"; the quote began in line {line}\\b"):
            list(pipeline.batch(pipeline.csv(path, dtypes=str), 1))
    path.write_text('# by hand\n\na,"b\n1,2\n')
    with pytest.raises(ValueError, match=r"the header line cannot be read: .*; the quote began in line 3"):
        pipeline.csv(path, skip_lines=1)


@pytest.mark.parametrize("options", [{}, {"num_threads": 0}, {"num_threads": 2}, {"deterministic": True}])
def test_the_record_key_is_file_and_line(options, path):
    for row, wrong in (("x,2", "column 'a'"), ("1,2,3", "Expect 2 fields")):
        path.write_text("a,b\n" + "1,2\n" * 50 + f"{row}\n" + "1,2\n" * 50)
        with pytest.raises(ValueError, match=f"line 52: {wrong}") as caught:
            list(pipeline.batch(pipeline.csv(path, dtypes=int), 5, **options))
        assert caught.value.record_key == f"{path}:52".encode()
        with pipeline.batch(pipeline.csv(path, dtypes=int), 5, on_error="skip", **options) as batches:
            assert sum(len(batch["a"]) for batch in batches) == 100
        assert [error.record_key for error in batches.errors] == [f"{path}:52".encode()]


def test_options_of_a_wrong_type(path):
    path.write_text("a\n1\n")
    for option in ("na_value", "field_delim"):
        for given in (None, 3, 1.5, ["-"]):
            with raises(TypeError, f"csv: {option} must be bytes or text, got {type(given).__name__} {given!r}"):
                pipeline.csv(path, **{option: given})


def test_the_log_tells_the_dtypes_once(path, caplog):
    path.write_text("n,x,s,t\n1,1.5,a,1\n2,,b,2\n")
    with caplog.at_level(logging.INFO, "pipeline.sources"):
        source = pipeline.csv(path, dtypes={"t": np.float32})
        for _ in range(2):
            list(pipeline.batch(source, 2))
        text = f"csv: {path}: dtypes, from the first 2 rows: n int64, x float64, s str; to change them pass dtypes="
        assert caplog.messages == [text]
        assert caplog.records[0].levelname == "INFO"
        caplog.clear()
        pipeline.csv(path, dtypes=str)
        assert caplog.messages == []


class TestIntegersThatFloatsRound:
    @pytest.mark.parametrize(
        ("fields", "text", "dtype"),
        [
            (["-9223372036854775809", "2"], "-9223372036854775809", "str"),
            (["1", "", "9007199254740993"], "9007199254740993", "'uint64'"),
            (['" 9007199254740993 "', "-"], "9007199254740993", "'uint64'"),
            (["1", "9" * 5000], "9" * 80, "str"),
        ],
    )
    def test_no_digit_is_lost_without_a_word(self, fields, text, dtype, path):
        path.write_text("n,h\n" + "".join(f"{n},{field}\n" for n, field in enumerate(fields)))
        expected = (
            f"csv: {path}: column 'h' of integers would become float64, which does not hold all digits of {text}: "
        )
        expected += f"see dtypes=, as in dtypes={{'h': {dtype}}}, and defaults="
        with raises(pipeline.InvalidArgumentError, expected):
            pipeline.csv(path, na_value="-")
        [batch] = pipeline.batch(pipeline.csv(path, dtypes={"h": bytes}), len(fields))
        assert batch["h"].tolist() == [field.strip('"').encode() for field in fields]
        assert next(iter(pipeline.csv(path, ["n"]))) == {"n": 0}
        assert next(iter(pipeline.csv(path, dtypes={"h": "float64"}, na_value="-")))["h"] == float(fields[0].strip('"'))

    @pytest.mark.parametrize(
        "fields", [["1", "18446744073709551615"], ["9223372036854775808"], ["0", str(10**19)], ["+2", f"+{2**63}"]]
    )
    def test_uint64_is_inferred_where_it_holds_all(self, fields, path):
        path.write_text("h\n" + "".join(f"{field}\n" for field in fields))
        [batch] = pipeline.batch(pipeline.csv(path), len(fields))
        assert batch["h"].dtype == np.uint64
        assert batch["h"].tolist() == list(map(int, fields))

    @pytest.mark.parametrize(
        ("fields", "low", "high"),
        [
            (["-1", str(2**63)], -1, 2**63),
            (["1", str(2**64)], 1, 2**64),
            (["", str(2**64), "1"], 1, 2**64),
            ([str(-(2**64)), "1"], -(2**64), 1),
        ],
    )
    def test_integers_that_no_dtype_holds_are_no_floats(self, fields, low, high, path):
        path.write_text("n,h\n" + "".join(f"{n},{field}\n" for n, field in enumerate(fields)))
        expected = (
            f"csv: {path}: column 'h' of integers would become float64, as neither int64 nor uint64, which has no "
        )
        expected += f"signs, holds {low} and {high}: see dtypes=, as in dtypes={{'h': 'float64'}}"
        with raises(pipeline.InvalidArgumentError, expected):
            pipeline.csv(path)
        assert next(iter(pipeline.csv(path, dtypes={"h": "float64"}, columns=["h"]).batch(9)))["h"].dtype == np.float64

    def test_a_default_counts_as_a_value(self, path):
        path.write_text(f"n,h\n1,{2**63}\n2,1\n")
        with raises(pipeline.InvalidArgumentError, f"csv: {path}: column 'h' of integers would become float64, as"):
            pipeline.csv(path, defaults={"h": -1})
        [batch] = pipeline.csv(path, ["h"], defaults={"h": 7}).batch(2)
        assert batch["h"].dtype == np.uint64

    def test_a_plus_makes_no_float(self, path):
        rows = [*range(1200), "+2", " +3 ", '"+4"', "-5"]
        path.write_text("n,h\n" + "".join(f"{n},{field}\n" for n, field in enumerate(["+1", *rows])))
        [batch] = pipeline.csv(path, ["h"]).batch(2000)
        assert batch["h"].dtype == np.int64
        assert batch["h"].tolist() == [1, *range(1200), 2, 3, 4, -5]
        [batch] = pipeline.csv(path, ["h"], {"h": "int32"}).batch(2000)
        assert batch["h"].dtype == np.int32
        for wrong in ("+", "++1", "+-1", "1+1", "+1_0", "+ 1"):
            path.write_text(f"h\n1\n{wrong}\n")
            with raises(
                pipeline.InvalidArgumentError, f"csv: {path}, line 3: column 'h' is not a valid int64: {wrong}"
            ):
                list(pipeline.csv(path, dtypes={"h": "int64"}))

    def test_uint64_holds_them(self, path):
        """By the compiled parser, and by Python for an unusual record, here because its name has quotes."""
        fields = [0, 1, 2**63 - 1, 2**63, 10**19 - 1, 10**19, 10**19 + 1, 2**64 - 1]
        for name in ("x", '"x ""y"""'):
            path.write_text(
                "n,h\n" + "".join(f"{name},{field}\n" for field in fields) + '"x","00018446744073709551615"\n"x", +7\n'
            )
            [batch] = pipeline.batch(pipeline.csv(path, dtypes={"h": "uint64"}, defaults={"h": 2**64 - 1}), 10)
            assert batch["h"].dtype == np.uint64
            assert batch["h"].tolist() == [*fields, 2**64 - 1, 7]

    @pytest.mark.parametrize(
        "field", ["-1", str(2**64), str(10**19 * 2), "9" * 20, "1" + "0" * 20, "1.0", "++1", "+-1", "x"]
    )
    def test_what_uint64_does_not_hold(self, field, path):
        path.write_text(f"n,h\n1,1\n2,{field}\n3,{field}\n")
        source = pipeline.csv(path, dtypes={"h": "uint64"})
        with raises(ValueError, f"csv: {path}, line 3: column 'h' is not a valid uint64: {field}"):
            list(pipeline.batch(source, 3))
        for default in (-1, 2**64, 1.5, "x"):
            with raises(ValueError, f"csv: {default!r} is not a valid default for column 'h' of uint64"):
                pipeline.csv(path, dtypes={"h": "uint64"}, defaults={"h": default})
        with raises(
            ValueError,
            "csv: column 'h' cannot be uint8: dtypes are float32, float64, int32, int64, uint64, bool, str, by",
        ):
            pipeline.csv(path, dtypes={"h": "uint8"})
        with raises(ValueError, "record_defaults[0]: decode_csv does not support dtype uint64"):
            pipeline.decode_csv(["1"], [np.uint64])

    def test_a_default_keeps_the_digits(self, path):
        path.write_text("n,h\n0,\n1,9007199254740993\n")
        [batch] = pipeline.batch(pipeline.csv(path, defaults={"h": -1}), 2)
        assert batch["h"].tolist() == [-1, 9007199254740993]

    @pytest.mark.parametrize(
        "fields", [["1", "", "9007199254740992"], ["1e300", "18446744073709551616"], ["0.5", str(2**64 - 1)]]
    )
    def test_what_floats_hold_or_are_is_float64(self, fields, path):
        path.write_text("n,h\n" + "".join(f"{n},{field}\n" for n, field in enumerate(fields)))
        [batch] = pipeline.batch(pipeline.csv(path), len(fields))
        assert batch["h"].dtype == np.float64
        np.testing.assert_equal(batch["h"], [float(field or "nan") for field in fields])


class TestBools:
    WORDS = ("true", "True", "TRUE", "tRuE", "1", "false", "False", "FALSE", "fAlSe", "0")

    def test_the_usual_spellings(self, path):
        """By the compiled parser, one or two records at a time, and by Python, here because the name has quotes."""
        fields = [f"{before}{word}{after}" for word in self.WORDS for before, after in ("  ", " x", "x ")]
        fields = [field.replace("x", "") for field in fields]
        fields += [f'"{field}"' for field in fields]
        expected = [field.strip(' "').lower() in ("true", "1") for field in fields]
        for name in ("x", '"x ""y"""'):
            path.write_text("n,b,c\n" + "".join(f"{name},{field},{field}\n" for field in fields))
            for columns in (["n", "b"], ["b", "c"], ["c"]):
                source = pipeline.csv(path, columns, dtypes={each: bool for each in columns if each != "n"})
                [batch] = pipeline.batch(source, len(fields))
                for column in {*columns} - {"n"}:
                    assert batch[column].dtype == np.bool_
                    assert batch[column].tolist() == expected

    def test_among_numbers(self, path):
        path.write_text("b,i,u,f,g\n" + "true,-1,2,2.5,-3\n0,7,8,9,1\n" * 50)
        dtypes = {"b": bool, "i": "int32", "u": "uint64", "f": "float32", "g": "int64"}
        [batch] = pipeline.batch(pipeline.csv(path, dtypes=dtypes), 100)
        assert [batch[name][-2:].tolist() for name in dtypes] == [
            *([True, False], [-1, 7], [2, 8], [2.5, 9.0], [-3, 1])
        ]
        assert [batch[name].dtype for name in dtypes] == [np.dtype(dtype) for dtype in dtypes.values()]

    @pytest.mark.parametrize(
        "field", ["yes", "t", "T", "tru", "truer", "fals", "falsy", "2", "10", "00", "1.0", "-0", "-1", "+1", "1e0"]
    )
    @pytest.mark.parametrize("rows", [1, 2, 80])
    def test_what_is_none(self, field, rows, path):
        path.write_text("n,b\n" + "1,true\n" * rows + f"2,{field}\n" + "3,0\n" * rows)
        source = pipeline.csv(path, dtypes={"b": "bool"})
        text = f"csv: {path}, line {rows + 2}: column 'b' is not a valid bool (true, false, 1 or 0): {field}"
        with raises(ValueError, text) as caught:
            list(pipeline.batch(source, 1))
        assert caught.value.record_key == f"{path}:{rows + 2}".encode()
        with pipeline.batch(source, 2 * rows, on_error="skip") as batches:
            assert next(batches)["b"].tolist() == [True] * rows + [False] * rows

    @pytest.mark.parametrize("na", ["NA", "false", "t", "-"])
    def test_a_missing_one(self, na, path):
        path.write_text(f"n,b\n1,1\n2,\n3,{na}\n4,true\n5,0\n")
        with raises(ValueError, f"csv: {path}, line 3: column 'b' is required but missing"):
            list(pipeline.batch(pipeline.csv(path, dtypes={"b": "bool"}, na_value=na), 5))
        for default in (False, True, np.True_, 1):
            [batch] = pipeline.batch(pipeline.csv(path, None, {"b": bool}, {"b": default}, na_value=na), 5)
            assert batch["b"].tolist() == [True, bool(default), bool(default), True, False]
        for default in (2, 0.5, float("nan"), "true"):
            with raises(ValueError, f"csv: {default!r} is not a valid default for column 'b' of bool"):
                pipeline.csv(path, dtypes={"b": "bool"}, defaults={"b": default})


def test_an_empty_file_among_others_is_told(tmp_path, caplog):
    """For example a file never written, whose rows would be silently missing."""
    (tmp_path / "0.csv").write_text("n\n1\n2\n")
    (tmp_path / "1.csv").write_text("")
    (tmp_path / "2.csv").write_text("n\n3\n")
    [batch] = pipeline.batch(pipeline.csv(f"{tmp_path}/*.csv"), 3)
    assert batch["n"].tolist() == [1, 2, 3]
    [told] = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert told == f"csv: {tmp_path}/1.csv is empty, without a header line: it gives no rows"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_before_anything_is_read(tmp_path):
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    text = f"csv: {pipe} is a pipe, but csv reads a file more than once"
    ends = run_script(f"""
import pipeline
try:
    pipeline.csv({pipe!r})  # nobody writes to it: to open it would take forever
except pipeline.InvalidArgumentError as error:
    print(error)
""")
    assert ends.stdout.startswith(text)


@pytest.mark.parametrize("default", [np.datetime64("NaT", "s"), np.timedelta64("NaT", "s"), datetime.date(2020, 1, 1)])
@pytest.mark.parametrize("dtypes", [None, {"when": "float32"}, {"when": "int64"}, {"when": "str"}])
def test_times_are_no_defaults(default, dtypes, path):
    path.write_text("n,when\n1,2\n3,\n")
    with pytest.raises(pipeline.InvalidArgumentError) as caught:
        pipeline.csv(path, dtypes=dtypes, defaults={"when": default})
    assert f"{default!r} is not a valid default for column 'when' of " in str(caught.value)
    assert "write a time as text, such as '2024-01-31', with dtypes={'when': 'datetime64[D]'}" in str(caught.value)


def test_times_that_are_read_as_str_can_be_converted(path):
    path.write_text("n,when\n1,2020-01-01\n3,\n")
    [batch] = pipeline.batch(pipeline.csv(path), 2)
    times = batch["when"].astype("datetime64[s]")
    assert (times[0], bool(np.isnat(times[1]))) == (np.datetime64("2020-01-01"), True)


LARGE = 9007199254740993  # float64 has none between its neighbours


def rows_with(*values):
    return "id,b\n" + "".join(f"{value},x\n" for value in values)


@pytest.mark.parametrize("missing", ["", "nan", "NaN", "-nan"])
def test_later_integers_that_floats_round(tmp_path, missing):
    path = tmp_path / "a.csv"
    numbers = [missing, *range(1200)]
    path.write_text(rows_with(*numbers, 2**60, LARGE, 5))
    rows = iter(pipeline.csv(str(path)))
    for _ in range(1202):
        next(rows)
    with pytest.raises(pipeline.InvalidArgumentError) as caught:
        next(rows)
    assert "a.csv, line 1,204: column 'id': float64 does not hold all digits of the integer 9007199254740993" in str(
        caught.value
    )
    path.write_text(rows_with(*numbers, LARGE))
    batches = pipeline.csv(str(path), dtypes={"id": bytes}).batch(1202)
    assert next(iter(batches))["id"][-1] == str(LARGE).encode()


@pytest.mark.parametrize("dtype", [str, "str", "U5", np.str_], ids=repr)
def test_strings_are_bytes_if_that_is_asked_for(dtype, path):
    path.write_text("city,land\nKöln,DE\n,NO\n")
    [batch] = pipeline.csv(path, dtypes={"land": bytes}).batch(2)
    assert batch["city"].tolist() == ["Köln", ""]
    assert batch["land"].tolist() == [b"DE", b"NO"]
    [batch] = pipeline.csv(path, dtypes={"city": dtype}, encoding=None).batch(2)
    assert batch["city"].tolist() == ["Köln", ""]
    assert batch["land"].tolist() == [b"DE", b"NO"]
    assert next(iter(pipeline.csv(path, dtypes=dtype, defaults={"city": "?"}).skip(1))) == {"city": "?", "land": "NO"}
    assert next(iter(pipeline.csv(path, dtypes=bytes)))["city"] == "Köln".encode()


def test_text_that_is_not_utf8(path):
    path.write_bytes(b"n,city\n1,Oslo\n2,K\xf6ln\n3,Turku\n")
    source = pipeline.csv(path)
    with raises(
        pipeline.DataLossError,
        f"csv: {path}, line 3: column 'city': b'K\\xf6ln' is not UTF-8: pass encoding=, such as 'latin-1'",
    ):
        list(source)
    with pipeline.batch(source, 2, on_error="skip") as batches:
        assert [batch["city"].tolist() for batch in batches] == [["Oslo", "Turku"]]


def test_a_state_of_bytes_is_none_of_text(path):
    path.write_text("city\nOslo\nTurku\n")
    with iter(pipeline.csv(path, dtypes=bytes)) as rows:
        next(rows)
        state = rows.state_dict()
    with iter(pipeline.csv(path, dtypes=str)) as rows, pytest.raises(ValueError, match="columns"):
        rows.load_state_dict(state)


def test_first_integers_beside_a_spelled_out_nan(tmp_path):
    path = tmp_path / "a.csv"
    for number in (LARGE, f"+{LARGE}"):
        path.write_text(rows_with(number, "nan"))
        with pytest.raises(pipeline.InvalidArgumentError, match=r"of integers would become float64.*'uint64'"):
            pipeline.csv(str(path))


def test_floats_may_be_large(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(rows_with(1.5, *range(1200), LARGE, "1e300", "inf"))
    assert [row["id"] for row in pipeline.csv(str(path))][-3:] == [float(LARGE), 1e300, float("inf")]
    path.write_text(rows_with("", *range(1200), "1e300", "inf", 2.5))
    assert [row["id"] for row in pipeline.csv(str(path))][-3:] == [1e300, float("inf"), 2.5]


class TestAFirstLineOfNumbers:
    """It is probably a row of a file without a header line, which would be lost, so a warning names `names=`."""

    @pytest.mark.parametrize(
        ("first", "shown"), [("5.1,3.5,1", "5.1, 3.5, 1"), ("7, -2,1e3,.5", "7,  -2, 1e3, ..."), ("17", "17")]
    )
    def test_it_is_logged_once(self, first, shown, path, caplog):
        path.write_text(f"{first}\n{first}\n")
        assert len(list(pipeline.csv(path))) == 1
        (record,) = caplog.records
        assert record.getMessage() == (
            f"csv: {path}: the first line is used as column names, but has only numbers: {shown}. "
            "If it is a row, pass names=[...]"
        )
        assert (record.levelname, record.name) == ("WARNING", "pipeline.sources")

    def test_the_advice_works(self, path, caplog):
        path.write_text("5.1,1\n4.9,0\n")
        assert [row["y"] for row in pipeline.csv(path, names=["x", "y"])] == [1, 0]
        assert caplog.messages == []

    @pytest.mark.parametrize("first", ["0,1,2", "label,1,2", "0", "1x1,1x2", "2024-01,2024-02"])
    def test_names_of_other_kinds(self, first, path, caplog):
        """pandas names columns 0, 1, 2 and so on."""
        path.write_text(f"{first}\n{first}\n")
        assert len(list(pipeline.csv(path))) == 1
        assert caplog.messages == []


class TestAFewBadFieldsInAColumnOfNumbers:
    """They turn it into a string column, so a warning names the first bad field and the fix."""

    TEXT = (
        "csv: {path}, line {line}: column 'age' has 'unknown', and most of its values are numbers: all become strings. "
        "To read it as missing pass na_value='unknown'; to get an error dtypes={{'age': 'float64'}}; to keep "
        "strings dtypes={{'age': str}}"
    )

    def write(self, path, bad, rows=50, first="name,age\n"):
        path.write_text(first + "".join(f"n{i},{'unknown' if i in bad else i}\n" for i in range(rows)))

    def test_it_is_logged_once(self, path, caplog):
        self.write(path, [7, 20])
        source = pipeline.csv(path)
        for _ in range(2):
            assert next(iter(source))["age"] == "0"
        (record,) = caplog.records
        assert record.getMessage() == self.TEXT.format(path=path, line=9)
        assert (record.levelname, record.name) == ("WARNING", "pipeline.sources")

    def test_the_line_counts_lines_before_the_header_and_malformed_rows(self, path, caplog):
        self.write(path, [7], first="made by hand\n\nname,age\nwrong\n")
        pipeline.csv(path, skip_lines=1)
        (message,) = caplog.messages
        assert message == self.TEXT.format(path=path, line=12)

    def test_the_advice_works(self, path, caplog):
        self.write(path, [7])
        [batch] = pipeline.csv(path, na_value="unknown").batch(50)
        assert np.flatnonzero(np.isnan(batch["age"])).tolist() == [7]
        with raises(pipeline.InvalidArgumentError, f"csv: {path}, line 9: column 'age' is not a valid double: unknown"):
            list(pipeline.csv(path, dtypes={"age": "float64"}))
        assert next(iter(pipeline.csv(path, dtypes={"age": str})))["age"] == "0"
        assert caplog.messages == []

    @pytest.mark.parametrize("bad", [range(50), range(0, 50, 2), range(49), []])
    def test_columns_of_strings_and_of_numbers_are_what_they_are(self, bad, path, caplog):
        self.write(path, bad)
        pipeline.csv(path)
        assert caplog.messages == []


@pytest.mark.parametrize("value", ["{}1.5", "1.5{}", "{}nan", "nan{}", "{}1", "1{}", "{}", "{}x", '"{}1.5"'])
def test_blanks_take_time_by_their_number(path, value):
    """Time grows linearly with the number of blanks."""
    path.write_text(f"a,b\n0.5,1\n{value.format(' ' * 80_000)},2\n")
    begin = time.process_time()
    assert len(list(pipeline.csv(path))) == 2
    assert time.process_time() - begin < 10
