"""decode_csv: types, missing fields, quotes, selected columns; single records and blocks."""

import numpy as np
import pytest

from pipeline import InvalidArgumentError, decode_csv


def both(line, defaults, **arguments):
    """Decode one line by itself and in a block; check that they agree; return the values."""
    one = decode_csv(line, defaults, **arguments)
    block = decode_csv([line, line], defaults, **arguments)
    for value, column in zip(one, block, strict=True):
        assert column.shape == (2,)
        assert column[0] == column[1] == value or (value != value and column[0] != column[0])
        assert column.dtype == (object if isinstance(value, bytes) else value.dtype)
    return one


class TestTypes:
    def test_from_python_defaults(self):
        values = both(b"1,2.5,x,y", [[0], [0.0], [""], [b""]])
        assert [type(value) for value in values] == [np.int32, np.float32, bytes, bytes]
        assert values == [1, 2.5, b"x", b"y"]

    @pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
    def test_from_dtypes_and_arrays(self, dtype):
        for default in (
            dtype,
            np.dtype(dtype),
            np.array([7], dtype),
            np.array(7, dtype),
            dtype(7),
            np.array([], dtype),
        ):
            assert both("5", [default]) == [5]
            assert type(decode_csv("5", [default])[0]) is dtype

    @pytest.mark.parametrize("default", [str, bytes, np.dtype("S"), np.array(["a"]), np.array([b"a"]), "a", ["a"]])
    def test_strings(self, default):
        assert both("5", [default]) == [b"5"]

    def test_equal_numbers_of_other_types_are_other_defaults(self):
        for default, kind in [(1, np.int32), (1.0, np.float32), (np.int64(1), np.int64), (1, np.int32)]:
            assert type(decode_csv(b"3", [default])[0]) is kind
            assert type(decode_csv(b"3", [[default]])[0]) is kind

    def test_empty_list_is_a_required_float(self):
        assert type(both(b"3", [[]])[0]) is np.float32

    @pytest.mark.parametrize("default", [np.int8, np.bool_, np.complex64, True, 1j])
    def test_other_types(self, default):
        with pytest.raises(InvalidArgumentError, match=r"record_defaults\[0\]: decode_csv does not support dtype"):
            decode_csv(b"1", [default])


class TestNumbers:
    @pytest.mark.parametrize(
        ("text", "value"),
        [("1", 1), ("-1", -1), (" 7 ", 7), ("007", 7), ("-0", 0), ("2147483647", 2**31 - 1), ("-2147483648", -(2**31))],
    )
    def test_integers(self, text, value):
        assert both(text, [np.int32]) == [value]
        assert both(text, [np.int64]) == [value]

    def test_large_integers(self):
        assert both("9223372036854775807,-9223372036854775808", [np.int64] * 2) == [2**63 - 1, -(2**63)]

    @pytest.mark.parametrize(
        "text",
        [
            "1",
            "-1",
            "1.5",
            ".5",
            "5.",
            "-.5",
            "1e3",
            "1E-3",
            "+2",
            "nan",
            "inf",
            "-inf",
            "1.7976931348623157e308",
            "-0.0",
        ],
    )
    def test_floats(self, text):
        value = both(text, [np.float64])[0]
        assert np.array_equal(value, float(text), equal_nan=True)
        assert np.signbit(value) == np.signbit(float(text))

    def test_too_large_for_a_float32_is_infinite(self):
        assert both("1e39,-1e39", [0.0, 0.0]) == [np.inf, -np.inf]

    @pytest.mark.parametrize("text", ["x", "1.5", "-", "--1", "1-2", "+1", "1_0", "1 2", "2147483648", "1e3", "0x1"])
    def test_invalid_int32(self, text):
        message = rf"^Field 1 in record 0 is not a valid int32: {text.replace('+', '[+]')}$"
        for record in (f"1,{text}", [f"1,{text}", "1,1"]):
            with pytest.raises(InvalidArgumentError, match=message):
                decode_csv(record, [0, 0])

    @pytest.mark.parametrize(
        "text", ["abc", "-", ".", "-.", "1.2.3", "1e", "1_0", "1-2", "0x1p3", "1.-2", "--1.5", "-1.5-"]
    )
    def test_invalid_float(self, text):
        for record in (f"1,{text}", [f"1,{text}", "1,1"]):
            with pytest.raises(InvalidArgumentError) as caught:
                decode_csv(record, [0.0, 0.0])
            assert str(caught.value) == f"Field 1 in record 0 is not a valid float: {text}"

    def test_names_of_types_in_errors(self):
        for dtype, name in [(np.int64, "int64"), (np.float64, "double"), (np.float32, "float"), (np.int32, "int32")]:
            with pytest.raises(InvalidArgumentError, match=f"is not a valid {name}: q"):
                decode_csv(b"q", [dtype])


class TestFields:
    @pytest.mark.parametrize(("line", "count"), [(b"1,2", 2), (b"1,2,3,4", 4), (b"", 0), (b"1,2,3,", 4)])
    def test_wrong_number(self, line, count):
        with pytest.raises(InvalidArgumentError, match=f"^Expect 3 fields but have {count} in record 0$"):
            decode_csv(line, [0, 0, 0])
        with pytest.raises(InvalidArgumentError, match=f"^Expect 3 fields but have {count} in record 1$") as caught:
            decode_csv([b"1,2,3", line, line], [0, 0, 0])
        assert caught.value.record == 1

    def test_wrong_numbers_that_add_up_are_noticed(self):
        with pytest.raises(InvalidArgumentError, match="Expect 2 fields but have 1 in record 1"):
            decode_csv([b"1,2", b"1", b"1,2,3"], [0, 0])

    def test_first_bad_record_is_named(self):
        with pytest.raises(InvalidArgumentError, match="Field 0 in record 1 is not a valid int32: x"):
            decode_csv([b'1,"a"', b"x,a", b'1,a"b'], [0, ""])

    def test_missing_fields_take_the_default(self):
        assert both(b",,", [[7], [1.5], ["d"]]) == [7, 1.5, b"d"]
        columns = decode_csv([b"1,", b",2", b"3,4"], [np.int64(-1), np.nan])
        assert columns[0].tolist() == [1, -1, 3]
        assert np.array_equal(columns[1], [np.nan, 2, 4], equal_nan=True)

    def test_required_fields(self):
        for default in ([], np.int32, np.array([], str)):
            for record in (b"1,,", [b"1,2,3", b"1,,"]):
                index = int(isinstance(record, list))
                message = f"^Field 1 is required but missing in record {index}!$"
                with pytest.raises(InvalidArgumentError, match=message):
                    decode_csv(record, [0, default, 0])

    def test_na_value(self):
        assert both(b"NA,NA,NA,", [[7], [1.5], ["d"], ["e"]], na_value="NA") == [7, 1.5, b"d", b"e"]
        with pytest.raises(InvalidArgumentError, match="is not a valid int32: NA"):
            decode_csv(b"NA", [0])

    def test_trailing_delimiter_is_an_empty_field(self):
        assert both(b"1,", [0, "d"]) == [1, b"d"]

    @pytest.mark.parametrize("delim", ["\t", ";", "|", " ", b":", "-", "5"])
    def test_delimiters(self, delim):
        text = delim.decode() if isinstance(delim, bytes) else delim
        assert both(text.join(["1", "2", "x"]), [0, 0.0, ""], field_delim=delim) == [1, 2, b"x"]

    def test_selected_columns(self):
        assert both(b"0,1,2,3", [0.0, 0], select_cols=[1, 3]) == [1, 3]
        assert both(b'0,1,"2,2",3', [""], select_cols=[2]) == [b"2,2"]
        assert both(b'0,1,a"', [0], select_cols=[1]) == [1]  # the rest is ignored
        columns = decode_csv([b"1,2", b"3,4,5"], [0], select_cols=[1])
        assert columns[0].tolist() == [2, 4]
        with pytest.raises(InvalidArgumentError, match="Expect 2 fields but have 1 in record 0"):
            decode_csv(b"1,2", [0, 0], select_cols=[1, 2])


class TestQuotes:
    @pytest.mark.parametrize(
        ("line", "fields"),
        [
            (b'"a,b",c', [b"a,b", b"c"]),
            (b'"a ""b""",c', [b'a "b"', b"c"]),
            (b'"","x"', [b"", b"x"]),
            (b'"a\r\nb",c', [b"a\r\nb", b"c"]),
            (b'"a",', [b"a", b""]),
            (b'\n"a",\r\nb', [b"a", b"b"]),
            (b'"""",b', [b'"', b"b"]),
        ],
    )
    def test_fields(self, line, fields):
        assert both(line, ["", ""]) == fields

    def test_numbers_may_be_quoted(self):
        assert both(b'"1","-2.5"', [0, 0.0]) == [1, -2.5]

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            (b'a"b,c', "Unquoted fields cannot have quotes/CRLFs inside"),
            (b"a\nb,c", "Unquoted fields cannot have quotes/CRLFs inside"),
            (b"a\r,c", "Unquoted fields cannot have quotes/CRLFs inside"),
            (b'"a"b",c', "Quote inside a string has to be escaped by another quote"),
            (b'"a,b', "Quoted field has to end with quote followed by delim or end"),
            (b'"', "Quoted field has to end with quote followed by delim or end"),
        ],
    )
    def test_errors(self, line, message):
        for record in (line, [b"x,y", line]):
            with pytest.raises(InvalidArgumentError, match=f"^{message}"):
                decode_csv(record, ["", ""])

    def test_quotes_may_be_nothing_special(self):
        assert both(b'"a,b"', ["", ""], use_quote_delim=False) == [b'"a', b'b"']
